"""
noticed: damage that changes what is found is told.

In:       a DamageCase.
Out:      a Verdict; none where the profile does not promise it.
Not here: bytes and names that never were (detected), whether the kernel survives (alive).
"""

from oracles.faults.damage import DamageCase, Outcome
from oracles.trees import difference
from oracles.verdict import Tier, Verdict, Violation

NAME = "noticed"
CHECKS = (
    "A flipped bit or a zeroed sector in a block that recovery reads either does not "
    "change the recovered tree or is reported: the mount is refused, a call fails, or "
    "the kernel log has a line at level warning or worse that it does not have without "
    "the damage. On btrfs also: the log tree of fsync is not skipped without a report. "
    "The same of a block that cannot be read or written during recovery; a log or journal "
    "that seems to end there is then no excuse, and what the block layer reports does "
    "not count."
)
NOT_CHECKED = (
    "Whether a second copy could have repaired what was lost. The end of an ext4 journal "
    "or an xfs log: a power failure can leave an invalid record there too, so the tree "
    "of an earlier state is allowed. f2fs is not checked, because its nodes have no "
    "checksum."
)


def judge(case: DamageCase) -> Verdict | None:
    if not case.asks_for("noticed"):
        return None
    if case.outcome is Outcome.CHANGED:
        kind, key = "changed tree untold", "noticed"
    elif case.outcome is Outcome.OLDER and case.damage.fails:
        kind, key = "log left out untold", "noticed"
    elif case.outcome is Outcome.OLDER and case.asks_for("log-checked"):
        kind, key = "log left out untold", "log-checked"
    else:
        return case.verdict(NAME, 1, [])
    differing = difference(case.undamaged.tree, case.observation.tree)
    assert differing is not None, "the outcome says so"
    path, expected, found = differing
    violation = Violation(
        kind, case.what, path, expected, f"{found}, after {case.damage.words}", case.promise(key), Tier.FS
    )
    return case.verdict(NAME, 1, [violation])
