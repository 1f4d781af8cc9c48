"""
The name of a crash state: its grammar, and what it says of the disk.

In:       a state spec: "O:812", "R:812-803,805", "T:812/3", "T:812-805/3", "N:O:812/O:7", "A:O:812/O:40";
          of a damaged state "D:O:812/7680^1234"; of the kernel while the workload was recorded, before any
          power failure, "L:5" (live, during operation 5; as many as there are operations: at the unmount
          behind the last).
Out:      State, and parse() of its spec; its model, the length of its prefix; what each model is, and what it
          presumes of a device.
Not here: whether a log has such a state, and the disk (harness/states/); fault points, which are no crash
          states (workloads/faults.py).
"""

import functools
import re
from collections.abc import Iterable

import msgspec

MODELS = {
    "O": "ordered: every prefix of the log",
    "R": "reordered: any subset of the volatile writes since the last FLUSH is lost",
    "T": "torn: one write is cut at a sector boundary",
    "N": "nested: the power fails again during recovery",
    "A": "afterwards: the recovered filesystem is used, and the power fails again",
    "M": "members: of several devices one is behind, gone, or as it was",
}

# What a device must do for a state of that model alone to come about; of O every device is capable.
PRESUMES = {
    "R": "a volatile write cache that is written back in any order; FLUSH and FUA are honoured",
    "T": "a write of several sectors that the power failure cuts between two of them",
    "N": "a second power failure while the filesystem recovers from the first",
    "A": "a second power failure, soon after the recovery from the first",
    "M": "several devices, each with a cache of its own; where all is kept twice, one of them may be lost",
}

LATE, GONE = -1, -2  # of a device in model M, in place of the prefix that it shows

BLOCK_BYTES, SECTOR_BYTES = 4096, 512
MEMBER_FORMS = "M:12/1.late or M:12/0.gone,1.late or M:12/1.old7"
DAMAGE_FORMS = "D:O:12/7680^1234, D:O:12/7680.3=0, D:O:12/7680!read or D:O:12/7680!write"
FAILS = ("read", "write")  # what of a block fails
FORMS = f"O:12; R:12-3,5..7; T:12/3 or T:12-5/3; N:O:12/O:4; A:O:12/O:40; {MEMBER_FORMS}; {DAMAGE_FORMS}"
TWICE = ("N:", "A:")  # the power fails twice
SPECS_HELD = 4096  # parsed ones: a state is asked for its place more than once


class BadSpec(Exception):
    """A state spec or model that we do not understand, or that names no state of its log."""


class Damage(msgspec.Struct, frozen=True):
    """block: of 4 KiB. bit: of the block, from its first byte's lowest one; -1 where sector `sector` of it is
    zeroed. fails: of FAILS, where the block keeps its bytes and cannot be read, or written, until recovery
    has ended; "" of damage at rest."""

    block: int
    bit: int = -1
    sector: int = -1
    fails: str = ""

    @property
    def spec(self) -> str:
        if self.fails:
            return f"{self.block}!{self.fails}"
        return f"{self.block}^{self.bit}" if self.bit >= 0 else f"{self.block}.{self.sector}=0"

    def of(self, content: bytes) -> bytes:
        """The block with the damage; as it is where it only fails."""
        if self.fails:
            return content
        changed = bytearray(content)
        if self.bit >= 0:
            changed[self.bit // 8] ^= 1 << self.bit % 8
        else:
            start = self.sector * SECTOR_BYTES
            changed[start : start + SECTOR_BYTES] = bytes(SECTOR_BYTES)
        return bytes(changed)

    @property
    def words(self) -> str:
        if self.fails:
            done = "read" if self.fails == "read" else "written"
            return f"block {self.block} could not be {done} during recovery"
        if self.bit < 0:
            return f"sector {self.sector} of block {self.block} zeroed"
        byte, bit = divmod(self.bit, 8)
        return f"bit {bit} of byte {byte} of block {self.block} flipped"


class State(msgspec.Struct, frozen=True):
    """
    A crash after the first `prefix` entries.

    lost:    entries of the last window that never reached the disk, ascending (model R).
    torn:    the entry of which only the first `sectors` (512 B) did, -1 for none (T).
    nested:  entries of the log of this state's own recovery that are on the disk, too; -1 for a state that
             was not recovered before (N, A).
    again:   the log is that of the recovery and of what the filesystem was used for then (A). Of no entry:
             the power does not fail again; how the kernel got on is looked at.
    members: devices that are not as the others (M), each with the prefix that it shows, LATE or GONE. `lost`
             has their writes, where the log is known (harness/states/crash.py settled()).
    damage:  what was then done to the disk at rest, or which block fails during recovery (Damage), of no
             model.
    """

    prefix: int
    lost: tuple[int, ...] = ()
    torn: int = -1
    sectors: int = 0
    nested: int = -1
    again: bool = False
    damage: Damage | None = None
    members: tuple[tuple[int, int], ...] = ()

    @property
    def model(self) -> str:
        if self.damage is not None:
            return "D"
        if self.members:
            return "M"
        if self.nested >= 0:
            return "A" if self.again else "N"
        if self.torn >= 0:
            return "T"
        return "R" if self.lost else "O"

    @property
    def spec(self) -> str:
        if self.damage is not None:
            return f"D:{self.undamaged.spec}/{self.damage.spec}"
        if self.members:
            return f"M:{self.prefix}/{','.join(f'{device}.{_since(at)}' for device, at in self.members)}"
        if self.nested >= 0:
            return f"{self.model}:{self.outer.spec}/O:{self.nested}"
        if self.torn == self.prefix - 1 >= 0:
            return f"T:{self.prefix}/{self.sectors}"
        if self.torn >= 0:
            return f"T:{self.prefix}-{self.torn}/{self.sectors}"
        return f"R:{self.prefix}-{_ranges(self.lost)}" if self.lost else f"O:{self.prefix}"

    @property
    def outer(self) -> "State":
        """Of models N and A: the state that was recovered before."""
        return msgspec.structs.replace(self, nested=-1, again=False)

    @property
    def is_use(self) -> bool:
        """Of model A: whether the power does not fail again."""
        return self.again and not self.nested

    def is_before(self, other: "State") -> bool:
        """Of models N and A: whether the other one cuts the same recovery, there or later."""
        return other.nested >= self.nested and (other.again, other.outer) == (self.again, self.outer)

    @property
    def undamaged(self) -> "State":
        """The state whose disk was damaged; itself where none was."""
        return msgspec.structs.replace(self, damage=None)

    @property
    def whole(self) -> int:
        """So many entries at the front are on the disk as they are."""
        return min((*self.lost[:1], self.torn if self.torn >= 0 else self.prefix, self.prefix))


def _since(at: int) -> str:
    return {LATE: "late", GONE: "gone"}.get(at, f"old{at}")


@functools.lru_cache(SPECS_HELD)
def parse(spec: str) -> State:
    """The state of that name, of whichever log. Errors: BadSpec."""
    if spec.startswith("D:"):
        return _damaged(spec)
    outer, slash, inner = spec.rpartition("/")
    if spec.startswith(TWICE) and slash and re.fullmatch(r"O:\d+", inner) and outer[2:4] not in TWICE:
        return msgspec.structs.replace(parse(outer[2:]), nested=int(inner[2:]), again=spec.startswith("A:"))
    if match := re.fullmatch(r"O:(\d+)", spec):
        return State(int(match[1]))
    if match := re.fullmatch(r"R:(\d+)-((?:\d+(?:\.\.\d+)?)(?:,\d+(?:\.\.\d+)?)*)", spec):
        return State(int(match[1]), lost=_numbers(spec, match[2]))
    if match := re.fullmatch(r"T:(\d+)(?:-(\d+))?/(\d+)", spec):
        prefix = int(match[1])
        torn = int(match[2]) if match[2] else prefix - 1
        if torn < 0:
            raise BadSpec(f"{spec}: an empty prefix has no last write that could be torn")
        return State(prefix, torn=torn, sectors=int(match[3]))
    if match := re.fullmatch(r"M:(\d+)/(\d\.(?:late|gone|old\d+)(?:,\d\.(?:late|gone|old\d+))*)", spec):
        return State(int(match[1]), members=_members(spec, int(match[1]), match[2]))
    raise BadSpec(f"{spec!r} is not a state. Write one such as {FORMS}")


def _members(spec: str, prefix: int, text: str) -> tuple[tuple[int, int], ...]:
    found: dict[int, int] = {}
    for part in text.split(","):
        device, _, word = part.partition(".")
        at = {"late": LATE, "gone": GONE}.get(word)
        if at is None:
            at = int(word.removeprefix("old"))
        if int(device) in found:
            raise BadSpec(f"{spec}: device {device} is named twice")
        if at > prefix:
            raise BadSpec(f"{spec}: entry {at} is after the end of the prefix, so no device can be as old")
        found[int(device)] = at
    return tuple(found.items())


def _damaged(spec: str) -> State:
    outer, slash, text = spec.removeprefix("D:").rpartition("/")
    match = re.fullmatch(r"(\d+)(?:\^(\d+)|\.(\d+)=0|!(read|write))", text)
    if not slash or not match or outer.startswith("D:"):
        raise BadSpec(f"{spec} is not a damaged state. Write one such as {DAMAGE_FORMS}")
    if match[4]:
        damage = Damage(int(match[1]), fails=match[4])
    elif match[2]:
        damage = Damage(int(match[1]), bit=int(match[2]))
    else:
        damage = Damage(int(match[1]), sector=int(match[3]))
    if damage.bit >= 8 * BLOCK_BYTES:
        raise BadSpec(f"{spec}: the bits of a block are 0 to {8 * BLOCK_BYTES - 1}")
    if damage.sector >= BLOCK_BYTES // SECTOR_BYTES:
        raise BadSpec(f"{spec}: the sectors of a block are 0 to {BLOCK_BYTES // SECTOR_BYTES - 1}")
    return msgspec.structs.replace(parse(outer), damage=damage)


def _numbers(spec: str, text: str) -> tuple[int, ...]:
    """ "3,5..7" as 3, 5, 6, 7: each once, ascending."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        if int(last or first) - int(first) > 1 << 20:
            raise BadSpec(f"{spec}: the range {part} is too long")
        found += range(int(first), int(last or first) + 1)
    if found != sorted(set(found)) or not found:
        raise BadSpec(f"{spec}: write the lost entries in ascending order, each of them once")
    return tuple(found)


def _ranges(numbers: tuple[int, ...]) -> str:
    """ "3,5..7" of 3, 5, 6, 7."""
    parts: list[str] = []
    at = 0
    while at < len(numbers):
        end = at
        while end + 1 < len(numbers) and numbers[end + 1] == numbers[end] + 1:
            end += 1
        if end - at > 1:
            parts.append(f"{numbers[at]}..{numbers[end]}")
        else:
            parts += [str(number) for number in numbers[at : end + 1]]
        at = end + 1
    return ",".join(parts)


LIVE = "L"


def live_spec(operation: int) -> str:
    """operation: its index over setup and run, from 0."""
    return f"{LIVE}:{operation}"


def is_live(spec: str) -> bool:
    """Whether it names the running kernel of a recording: no power failed, and there is no disk to
    recover."""
    return spec.startswith(f"{LIVE}:")


def operation_of(spec: str) -> int:
    """5 of "L:5"."""
    return int(spec.partition(":")[2])


def model_of(spec: str) -> str:
    """ "N" of "N:O:812/O:7"."""
    return spec[:1]


def place_of_model(spec: str) -> int:
    """What orders models: O first; a fault point (workloads/faults.py), a damaged state (damage.py) and a
    recording are of none, and come last."""
    return [*MODELS, model_of(spec)].index(model_of(spec))


def prefix_of(spec: str) -> int | None:
    """How many entries a state's disk was built from: 812 of "O:812", "R:812-803", "N:O:812/O:7"; None of a
    fault point, which is no state."""
    try:
        return parse(spec).prefix
    except BadSpec:
        return None


def place_of(spec: str) -> int:
    """The same of a spec that a run of ours has written."""
    return parse(spec).prefix


def disk_words(spec: str) -> str:
    """What was on the disk when the power failed: "the first 12 log entries without 3, 5..7"; "" of a fault
    point."""
    try:
        return _words(parse(spec))
    except BadSpec:
        return ""


def _member_words(device: int, at: int) -> str:
    if at == LATE:
        return f"device {device} without what it was sent since its own last FLUSH"
    if at == GONE:
        return f"device {device} is gone"
    return f"device {device} as it was after {_entries(str(at), 'log ')}"


def _words(state: State) -> str:
    if state.damage is not None:
        return f"{_words(state.undamaged)}; then {state.damage.words}"
    if state.nested >= 0:
        wrote = "recovery and what followed it wrote" if state.again else "its recovery wrote"
        return f"{_words(state.outer)}; then {_entries(str(state.nested))} that {wrote}"
    words = _entries(str(state.prefix), "log ")
    if state.members:
        return "; ".join([words, *(_member_words(device, at) for device, at in state.members)])
    if state.lost:
        words += f" without {_ranges(state.lost).replace(',', ', ')}"
    if state.torn >= 0:
        torn = "the last one" if state.torn == state.prefix - 1 else f"entry {state.torn}"
        words += f", of {torn} only {_counted('the first {} sector', str(state.sectors))}"
    return words


def _entries(count: str, kind: str = "") -> str:
    return f"no {kind}entry" if count == "0" else _counted("the first {} " + f"{kind}entry", count)


def _counted(text: str, count: str) -> str:
    plural = text.replace("entry", "entries") if text.endswith("entry") else f"{text}s"
    return (text if count == "1" else plural).format(count).replace("first 1 ", "first ")


def in_order(models: Iterable[str]) -> tuple[str, ...]:
    """Each once, O first: the model that presumes least."""
    wanted = set(models)
    return tuple(model for model in MODELS if model in wanted)


def presumed(models: Iterable[str]) -> str:
    """What a device must do for something seen in these models alone; "" when O is among them."""
    found = in_order(models)
    return "" if "O" in found else "; or ".join(PRESUMES[model] for model in found)
