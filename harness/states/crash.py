"""
Turn a write log into the moments power could have failed.

In:       a Log, as recorded by dm-log-writes, or the summaries of its entries.
Out:      State after State of model O, earliest crash first; parse_spec() for one by its name; the cuts at
          which writes were volatile, from which the other models are made.
Not here: which of the states of the other models are examined (reorder.py, tear.py, nest.py), building the
          disks (rebuild.py), judging them (oracles/).

What was volatile: Documentation/block/writeback_cache_control.rst has a flush put "previously completed
write requests" on non-volatile storage, and a write with FUA itself, before it completes: FUA orders
nothing. drivers/md/dm-log-writes.c logs a plain write or a discard right before the FLUSH that was submitted
after its completion, when that FLUSH has completed (log_writes_map() splices unflushed_blocks); a write with
FUA at its own completion. So a *window* begins behind a FLUSH and ends before the next; what stands in it
without FUA may have been lost at any moment before its end, in any subset, and what stands before it may not.
A FLUSH with data is logged by a device that takes it whole; dm sends it as a flush and then the write
(drivers/md/dm.c dm_io_complete()). The flush comes first, so that data belongs to the new window.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from oracles.faults.damage import BLOCK_BYTES, Damage, split
from oracles.spec import MODELS
from reports.results import EntryFlag, EntrySummary

BUILT_MODELS = ("O", "R", "T", "N")
DEFAULT_MODELS = ("O",)
FORMS = (
    "O:NUMBER as in O:12; R:12-3,5..7; T:12/3 or T:12-5/3; N:O:12/O:4; D:O:12/7680^1234 or D:O:12/7680.3=0"
)


class BadSpec(Exception):
    """A state spec or model that we do not understand, or that names no state of this log."""


class Entries(Protocol):
    """A Log, or the summaries of one's entries."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> EntrySummary: ...

    def __iter__(self) -> Iterator[EntrySummary]: ...


class State(msgspec.Struct, frozen=True):
    """
    A crash after the first `prefix` entries.

    lost:    entries of the last window that never reached the disk, ascending (model R).
    torn:    the entry of which only the first `sectors` (512 B) did, -1 for none (T).
    nested:  entries of the log of this state's own recovery that are on the disk, too; -1 for a state that
             was not recovered before (N).
    damage:  what was then done to the disk at rest (oracles/faults/damage.py), of no model.
    """

    prefix: int
    lost: tuple[int, ...] = ()
    torn: int = -1
    sectors: int = 0
    nested: int = -1
    damage: Damage | None = None

    @property
    def model(self) -> str:
        if self.damage is not None:
            return "D"
        if self.nested >= 0:
            return "N"
        if self.torn >= 0:
            return "T"
        return "R" if self.lost else "O"

    @property
    def spec(self) -> str:
        if self.damage is not None:
            return f"D:{self.undamaged.spec}/{self.damage.spec}"
        if self.nested >= 0:
            return f"N:{self.outer.spec}/O:{self.nested}"
        if self.torn == self.prefix - 1 >= 0:
            return f"T:{self.prefix}/{self.sectors}"
        if self.torn >= 0:
            return f"T:{self.prefix}-{self.torn}/{self.sectors}"
        return f"R:{self.prefix}-{_ranges(self.lost)}" if self.lost else f"O:{self.prefix}"

    @property
    def outer(self) -> "State":
        """Of model N: the state whose recovery was cut."""
        return msgspec.structs.replace(self, nested=-1)

    @property
    def undamaged(self) -> "State":
        """The state whose disk was damaged; itself where none was."""
        return msgspec.structs.replace(self, damage=None)

    @property
    def whole(self) -> int:
        """So many entries at the front are on the disk as they are."""
        return min((*self.lost[:1], self.torn if self.torn >= 0 else self.prefix, self.prefix))


def states(entry_count: int) -> Iterator[State]:
    """entry_count + 1 states, from the empty prefix to the whole log."""
    return (State(prefix) for prefix in range(entry_count + 1))


# --- what was volatile ----------------------------------------------------------------------------


class Cut(msgspec.Struct, frozen=True):
    """A prefix at which writes were volatile. start: the first entry of its window."""

    start: int
    prefix: int
    volatile: tuple[int, ...]


def writes(entry: EntrySummary) -> bool:
    """Whether it changes the disk at all; a discard does."""
    return bool(entry.sector_count) and not entry.flags & EntryFlag.MARK


def is_volatile(entry: EntrySummary) -> bool:
    return writes(entry) and not entry.flags & EntryFlag.FUA


def cuts(entries: Iterable[EntrySummary]) -> Iterator[Cut]:
    """
    The fullest prefixes of every window: its end, and wherever a write with FUA or a mark comes between,
    for there the disk or the moment is another one. Any other prefix of the window with some of its writes
    lost is one of these with more of them lost.
    """
    start, volatile, fresh, index = 0, list[int](), False, -1
    for index, entry in enumerate(entries):
        ends = bool(entry.flags & EntryFlag.FLUSH)
        if fresh and (ends or not is_volatile(entry)):
            yield Cut(start, index, tuple(volatile))
            fresh = False
        if ends:
            start, volatile = index if entry.sector_count else index + 1, []
        if is_volatile(entry):
            volatile.append(index)
            fresh = True
    if fresh:
        yield Cut(start, index + 1, tuple(volatile))


def window_start(entries: Entries, prefix: int, since: int = 0) -> int | None:
    """The first entry behind the last FLUSH before the cut; None when there is no FLUSH from `since` on."""
    for index in range(prefix - 1, since - 1, -1):
        if entries[index].flags & EntryFlag.FLUSH:
            return index if entries[index].sector_count else index + 1
    return None


# --- names ----------------------------------------------------------------------------------------


def parse_spec(spec: str, entries: Entries, device_bytes: int = 0) -> State:
    """The state of this log with that name. device_bytes: of the disk, 0 where it is not known. Errors:
    BadSpec."""
    state = _parsed(spec)
    if state.damage and 0 < device_bytes <= state.damage.block * BLOCK_BYTES:
        raise BadSpec(f"{spec}: the disk has the blocks 0 to {device_bytes // BLOCK_BYTES - 1}")
    if state.prefix > len(entries):
        raise BadSpec(f"{spec}: the log has {len(entries)} entries, so O:0 to O:{len(entries)}")
    if state.lost:
        _check_lost(spec, state, entries)
    if state.torn >= 0:
        _check_torn(spec, state, entries)
    return state


def _parsed(spec: str) -> State:
    if spec.startswith("D:"):
        try:
            state, damage = split(spec)
        except ValueError as error:
            raise BadSpec(str(error)) from error
        return msgspec.structs.replace(_parsed(state), damage=damage)
    outer, slash, inner = spec.rpartition("/")
    if spec.startswith("N:") and slash and re.fullmatch(r"O:\d+", inner) and not outer.startswith("N:N:"):
        return msgspec.structs.replace(_parsed(outer[2:]), nested=int(inner[2:]))
    if match := re.fullmatch(r"O:(\d+)", spec):
        return State(int(match[1]))
    if match := re.fullmatch(r"R:(\d+)-((?:\d+(?:\.\.\d+)?)(?:,\d+(?:\.\.\d+)?)*)", spec):
        return State(int(match[1]), lost=_numbers(spec, match[2]))
    if match := re.fullmatch(r"T:(\d+)(?:-(\d+))?/(\d+)", spec):
        prefix = int(match[1])
        torn = int(match[2]) if match[2] else prefix - 1
        if torn < 0:
            raise BadSpec(f"{spec}: an empty prefix has no last write")
        return State(prefix, torn=torn, sectors=int(match[3]))
    raise BadSpec(f"{spec}: no state spec; write {FORMS}")


def _numbers(spec: str, text: str) -> tuple[int, ...]:
    """ "3,5..7" as 3, 5, 6, 7: each once, ascending."""
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("..")
        if int(last or first) - int(first) > 1 << 20:
            raise BadSpec(f"{spec}: {part} is longer than any window")
        found += range(int(first), int(last or first) + 1)
    if found != sorted(set(found)) or not found:
        raise BadSpec(f"{spec}: name lost entries in ascending order, each once")
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


def _check_lost(spec: str, state: State, entries: Entries) -> None:
    start = window_start(entries, state.prefix) or 0
    for index in state.lost:
        if index >= state.prefix:
            raise BadSpec(f"{spec}: entry {index} is behind the cut, and not on the disk anyhow")
        if index < start:
            raise BadSpec(f"{spec}: entry {index} was durable: a FLUSH behind it had completed")
        if not writes(entries[index]):
            raise BadSpec(f"{spec}: entry {index} writes nothing")
        if not is_volatile(entries[index]):
            raise BadSpec(f"{spec}: entry {index} has FUA: it was durable when it completed")


def _check_torn(spec: str, state: State, entries: Entries) -> None:
    if state.torn >= state.prefix:
        raise BadSpec(f"{spec}: entry {state.torn} is behind the cut, and not on the disk anyhow")
    entry = entries[state.torn]
    if not writes(entry) or entry.flags & EntryFlag.DISCARD:
        raise BadSpec(f"{spec}: entry {state.torn} writes no data that could be torn")
    if not 0 < state.sectors < entry.sector_count:
        raise BadSpec(
            f"{spec}: entry {state.torn} has {entry.sector_count} sectors, so cuts from 1 to "
            f"{entry.sector_count - 1}"
        )
    if state.torn == state.prefix - 1:
        return  # it was on its way, FUA or not
    if state.torn < (window_start(entries, state.prefix) or 0) or not is_volatile(entry):
        raise BadSpec(f"{spec}: entry {state.torn} was durable before the cut")


def parse_models(text: str) -> tuple[str, ...]:
    """`--models O,R`; in the order O, R, T, N. Errors: BadSpec."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for model in wanted:
        if model not in MODELS:
            raise BadSpec(f"--models {text}: no model {model!r}; there are {', '.join(MODELS)}")
    if not wanted:
        raise BadSpec("--models: name at least one, as in --models O")
    return tuple(model for model in MODELS if model in wanted)
