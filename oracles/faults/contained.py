"""
contained: an error stays what it is.

In:       a FaultCase: what was acknowledged before the fault, how the filesystem was after it.
Out:      a Verdict; none where the workload left nothing to look at.
Not here: what was said to be durable after the device had begun to fail (told).
"""

import errno

from oracles import durable
from oracles.case import best_reading
from oracles.faults.faulted import FaultCase
from oracles.faults.told import unsure_paths
from oracles.observation import FaultRun, errno_name
from oracles.profiles import promise
from oracles.verdict import Tier, Verdict, Violation

NAME = "contained"
CHECKS = (
    "What was acknowledged before the device failed is there after a mount on a working "
    "device. Once the device accepts writes again, the filesystem continues, is "
    "read-only or has shut down, as its profile documents. If no request failed, it "
    "continues."
)
NOT_CHECKED = (
    "Whether a filesystem that stopped could have continued. What was acknowledged, "
    "where the fault itself damages the disk: corrupt writes, and dropped writes that "
    "other writes follow."
)

GOES_ON, READ_ONLY, SHUT_DOWN = "goes on", "read-only", "shut down"
# What the profile's promise "after-error" says, in words that can be compared.
AFTER_ERROR = {
    "btrfs": (GOES_ON, READ_ONLY),
    "ext4": (GOES_ON, READ_ONLY, SHUT_DOWN),
    "xfs": (GOES_ON, SHUT_DOWN),
    "f2fs": (GOES_ON, READ_ONLY, SHUT_DOWN),
    "nilfs2": (GOES_ON, READ_ONLY),
}
# Faults of which a filesystem notices nothing at all; what was dropped, when it reads the block again.
UNNOTICED = frozenset(("drop-writes", "delay"))
READING_AGAIN = ("evict", "remount", "umount")
# fs/ext4/balloc.c ext4_wait_block_bitmap(): it takes no blocks any more from that group, 163a203ddb36 ("ext4:
# mark block group as corrupt on block bitmap error") (in v3.12). Where there is one group, none are left.
GROUP_GIVEN_UP = ": Cannot read block bitmap - "
# How it says that a block does not have its checksum; the filesystem needs not stop for that.
BAD_BLOCK = (errno.EUCLEAN, errno.EBADMSG)


def judge(case: FaultCase) -> Verdict | None:
    violations: list[Violation] = []
    checked = 0
    if case.observation.tree is not None and not case.disk_undone:
        checked, lost = best_reading(case.before, durable.judge_reading)
        unsure = unsure_paths(case)
        violations += [each for each in lost if each.subject not in unsure]
    if case.observation.mount_errno and not case.disk_undone:
        checked += 1
        violations.append(_unreachable(case))
    if case.run.after_call is not None:
        checked += 1
        violations += _behaviour(case)
    return case.verdict(NAME, checked, violations) if checked else None


def _unreachable(case: FaultCase) -> Violation:
    name = errno_name(case.observation.mount_errno)
    return Violation(
        "all lost",
        "filesystem",
        ".",
        "what was durable before the fault can be reached",
        f"mount on a working device: {name}",
        case.promise("mount"),
        Tier.POSIX,
    )


def behaviour(run: FaultRun) -> str:
    """What the filesystem did of what a profile may allow, or how it failed a new file."""
    if run.after_call == "" and not run.readonly:
        return GOES_ON
    if run.readonly or run.after_errno == errno.EROFS:
        return READ_ONLY
    name = errno_name(run.after_errno)
    if run.after_call == "create" and run.after_errno in (errno.EIO, errno.ESHUTDOWN, errno.EUCLEAN):
        return SHUT_DOWN
    return f"{run.after_call} of a new file failed with {name}"


def _behaviour(case: FaultCase) -> list[Violation]:
    seen = behaviour(case.run)
    if case.run.after_errno == errno.ENOSPC and promise(case.profile, "room") is None:
        return []
    if case.run.after_errno == errno.ENOSPC and any(GROUP_GIVEN_UP in line for line in case.run.kernel_log):
        return []
    if "corrupt" in case.kinds and case.run.after_errno in BAD_BLOCK:
        return []
    later = [step.operation.word for step in case.history.run if step.index >= case.point.operation]
    reads_again = "drop-writes" in case.kinds and not set(READING_AGAIN).isdisjoint(later)
    unnoticed = not case.met or (case.kinds <= UNNOTICED and not reads_again)
    allowed = (GOES_ON,) if unnoticed else AFTER_ERROR[case.profile.filesystem]
    if seen in allowed:
        return []
    return [
        Violation(
            "neither on nor off" if seen not in (READ_ONLY, SHUT_DOWN) else f"{seen} without need",
            "filesystem",
            ".",
            " or ".join(allowed),
            seen,
            case.promise("after-error"),
            Tier.FS,
        )
    ]
