"""
Damage at rest: one block of a crash state's disk with a bit flipped or a sector zeroed; or one that fails.

In:       nothing (Damage), or the spec of a damaged state (split); what came back with and without the
          damage.
Out:      Damage, its spec, the bytes that it leaves; what recovery made of it (Outcome); DamageCase.
Not here: which damage is done (harness/experiments/damaged_states.py), what is asked (noticed.py,
          detected.py, alive.py), asking all of them (judge.py).

    D:O:812/7680^1234     bit 1234 of block 7680 flipped: bit 2 of its byte 154
    D:O:812/7680.3=0      sector 3 of that block zeroed
    D:O:812/7680!read     no read of that block succeeds until recovery has ended; !write: no write

Blocks are 4 KiB of the device, sectors 512 B. Before the slash stands a state of any crash model.
"""

import enum
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from oracles.case import Case
from oracles.observation import Observation, Tree
from oracles.profiles import Profile, asked, promise_text
from oracles.spec import DAMAGE_FORMS, BadSpec, Damage, parse
from oracles.trees import settled
from oracles.verdict import Answer, Tier, Verdict, Violation

NOTHING = "zeros"  # the name of a block with nothing in it (harness/states/block_names.py)
WARNING_LEVEL = 4  # include/linux/kern_levels.h: KERN_WARNING
HELD_BACK = " callbacks suppressed"  # lib/ratelimit.c ___ratelimit()
# What an I/O error alone makes the kernel say, whoever met it: fs/buffer.c buffer_io_error(), block/blk-mq.c
# blk_print_req_error(); drivers/md. No filesystem has told anything by it.
OF_BLOCK_LAYER = re.compile(
    r"\d (Buffer I/O error on dev|I/O error, dev|[Ll]ost (async|sync) page write|device-mapper:)"
)


def split(spec: str) -> tuple[str, Damage]:
    """The state's spec without the damage, and the damage. Errors: BadSpec."""
    state = parse(spec)
    if state.damage is None:
        raise BadSpec(f"{spec} is not a damaged state. Write one such as {DAMAGE_FORMS}")
    return state.undamaged.spec, state.damage


class Outcome(enum.StrEnum):
    """What recovery made of the damage, best first. "untold" is a change without a report."""

    REFUSED = "refused"
    REPAIRED = "repaired"
    TOLD = "changed, told"
    UNNOTICED = "unnoticed"
    OLDER = "older, untold"
    CHANGED = "changed, untold"
    DIED = "died"


OUTCOMES = tuple(str(one) for one in Outcome)
UNTOLD = (Outcome.UNNOTICED, Outcome.OLDER, Outcome.CHANGED)
WORDS = {
    Outcome.REFUSED: "the mount fails with an error",
    Outcome.REPAIRED: (
        "the same tree; the kernel log reports the damage, or the block on the disk was repaired"
    ),
    Outcome.TOLD: "a different tree, and a report: a warning in the kernel log, or a call that fails",
    Outcome.UNNOTICED: (
        "the same tree, and no report: the damaged bytes are not used, or replay overwrites them"
    ),
    Outcome.OLDER: (
        "the tree of an earlier state, and no report: the journal or log seemed to end there, "
        "as after a power failure"
    ),
    Outcome.CHANGED: "a tree that never existed, and no report",
    Outcome.DIED: "a panic or a hang",
}


def tree_key(tree: Tree | None) -> bytes:
    """Equal for equal trees, but for times."""
    return msgspec.json.encode(settled(tree))


def outcome_of(undamaged: Observation, seen: Observation, is_older: Callable[[], bool]) -> Outcome:
    """
    undamaged: what came back of the state without the damage. is_older: whether the tree is that of an
    earlier time, asked only where nothing was told.
    """
    assert not seen.trouble, "nobody could look"
    if seen.death:
        return Outcome.DIED
    if seen.mount_errno or seen.tree is None:
        return Outcome.REFUSED
    told = bool(notices(undamaged, seen))
    if settled(seen.tree) == settled(undamaged.tree):
        return Outcome.REPAIRED if told or seen.mended else Outcome.UNNOTICED
    if told:
        return Outcome.TOLD
    return Outcome.OLDER if is_older() else Outcome.CHANGED


def notices(undamaged: Observation, seen: Observation) -> tuple[str, ...]:
    """What tells of the damage: lines of the kernel log from warning on that the state without it did not
    give, and calls that failed in the walk. That lines of states before it were held back tells of those."""
    usual = set(undamaged.kernel_log)
    lines = [
        line
        for line in seen.kernel_log
        if level(line) <= WARNING_LEVEL
        and line not in usual
        and HELD_BACK not in line
        and not OF_BLOCK_LAYER.match(line)
    ]
    failed = {error for node in undamaged.tree or () for error in node.errors}
    calls = [error for node in seen.tree or () for error in node.errors if error not in failed]
    return (*lines, *calls)


def level(line: str) -> int:
    """Of a line "LEVEL text" of the kernel log."""
    return int(line[:1]) if line[:1].isdigit() else WARNING_LEVEL + 1


@dataclass(frozen=True)
class DamageCase:
    """
    what:     the damaged block is, as "log tree leaf".
    cases:    what came back, held against all that ever was before the cut: of the first mount, and of the
              second where that showed another tree; empty where nothing was mounted.
    """

    profile: Profile
    tier: Tier
    damage: Damage
    what: str
    undamaged: Observation
    observation: Observation
    outcome: Outcome
    cases: tuple[Case, ...]

    def asks_for(self, key: str) -> bool:
        return asked(self.profile, key, self.tier)

    def promise(self, key: str) -> str:
        return promise_text(self.profile, key)

    def verdict(self, oracle: str, checked: int, violations: Iterable[Violation]) -> Verdict:
        broken = tuple(violations)
        answer = Answer.BROKEN if broken else Answer.HOLDS
        return Verdict(oracle, self.tier, answer, max(checked, len(broken)), broken)
