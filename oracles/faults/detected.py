"""
detected: a block that was corrupted, on its way to the disk or at rest, never reads as good.

In:       a FaultCase of corrupt writes, and the tree that a mount on a sound device then showed; or a
          DamageCase.
Out:      a Verdict; none for other faults. A mount that is refused has detected it.
Not here: what is lost with the block; a checksum can only tell.
"""

from oracles import historical
from oracles.case import Case, best_reading
from oracles.faults.damage import DamageCase
from oracles.faults.faulted import FaultCase
from oracles.recovered import Recovered
from oracles.verdict import Tier, Verdict, Violation

NAME = "detected"
CHECKS = (
    "After a byte of each write was changed on its way to the disk, the tree shows "
    "nothing that never existed: no such name, size, attribute or link, and on btrfs no "
    "such byte of a file. After damage at rest, which is done to blocks that the mount "
    "reads, no such byte of a file on any filesystem. A read may fail, and the mount may "
    "be refused."
)
NOT_CHECKED = (
    "What was lost, and whether a second copy could have repaired it. File data on ext4 "
    "and xfs, which have no checksums for it, and on btrfs with nodatacow or in files "
    "with the flag C. f2fs is not checked at all."
)

DATA_CHECKSUMS = ("btrfs",)
METADATA_CHECKSUMS = ("btrfs", "ext4", "xfs")
BAD_BLOCK = ("EBADMSG", "EUCLEAN")
CUT_DATA = "cut data came back"
OF_DATA = ("foreign bytes", "stale data", CUT_DATA)


def judge(case: FaultCase) -> Verdict | None:
    if "corrupt" not in case.kinds or case.profile.filesystem not in METADATA_CHECKSUMS:
        return None
    if not case.before.readings:
        return case.verdict(NAME, 1, [])
    checked, broken = best_reading(case.before, lambda one, reading: _judge_reading(case, one, reading))
    return case.verdict(NAME, checked, broken)


def _judge_reading(case: FaultCase, one: Case, reading: Recovered) -> tuple[int, list[Violation]]:
    checked, violations = historical.judge_reading(one, reading)
    refused = {node.path for node in one.observation.tree or () if any(map(is_bad_block, node.errors))}
    without = {path for inode in uncovered(one) for path in reading.paths.get(inode, ())}
    covered = case.profile.filesystem in DATA_CHECKSUMS and "nodatacow" not in case.profile.mount_options
    return checked, [
        Violation(
            f"{each.kind} undetected",
            each.role,
            each.subject,
            each.expected,
            each.found,
            case.promise("detected"),
            Tier.FS,
        )
        for each in violations
        if (each.kind not in OF_DATA or (covered and each.subject not in without))
        and each.subject not in refused
    ]


def judge_damaged(case: DamageCase) -> Verdict | None:
    """Of the first mount and the second: what recovery took for good must not get onto the disk either. Not
    whether cut data came back, which is a matter of how far the journal was replayed."""
    if case.profile.filesystem not in METADATA_CHECKSUMS:
        return None
    checked, violations = 1, list[Violation]()
    for one in case.cases:
        count, broken = best_reading(one, historical.judge_reading)
        checked += count
        violations += [_of_damage(case, each) for each in broken if each.kind != CUT_DATA]
    return case.verdict(NAME, checked, dict.fromkeys(violations))


def _of_damage(case: DamageCase, one: Violation) -> Violation:
    """Its role is that of the block: what was damaged says more of the cause than what was found."""
    return Violation(
        f"{one.kind} undetected",
        case.what,
        one.subject,
        one.expected,
        f"{one.found}, after {case.damage.words}",
        case.promise("detected"),
        Tier.FS,
    )


def is_bad_block(error: str) -> bool:
    """ "stat: EBADMSG" has detected it: the block does not have its checksum."""
    return error.endswith(BAD_BLOCK)


def uncovered(case: Case) -> list[int]:
    """Files that had the flag C at some time: btrfs keeps no checksums of their data."""
    return [inode for inode, letters in case.model.flags_changed.items() if "C" in letters]
