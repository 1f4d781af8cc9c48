"""
told: a call that says that something is durable speaks the truth, or reports the error.

In:       a FaultCase: the calls that succeeded after the device had begun to fail.
Out:      a Verdict; none where the device lies (drop-writes, corrupt) or nothing was mounted afterwards.
Not here: what was acknowledged before the fault (contained).
"""

import msgspec

from oracles import durable
from oracles.case import best_reading
from oracles.faults.faulted import FaultCase
from oracles.profiles import promise, promise_text
from oracles.verdict import Tier, Verdict, Violation

NAME = "told"
CHECKS = (
    "For every fsync, fdatasync, msync, syncfs or write with O_SYNC or O_DSYNC that "
    "succeeded while the device failed, or afterwards: what it covered is there after a "
    "power failure at the end of the workload and a mount on a working device. A lost "
    "write is reported to each descriptor that was open before the fault, even if "
    "another descriptor received the report before. A success after an error covers what "
    "was written since the error."
)
NOT_CHECKED = (
    "sync and unmount, which cannot report an error. Lost writes that were not reported "
    "before the inode left the cache (evict, remount). The bytes of a file on which a "
    "write itself failed half-way. A FLUSH that fails loses nothing here, since the disk "
    "below has no cache; and device mapper repeats a FLUSH that comes with data without "
    "its error (dm.c, dm_io_complete())."
)

LYING = frozenset(("drop-writes", "corrupt"))
# Lines with which a filesystem says that it takes no more changes: fs/jbd2/journal.c, fs/btrfs/messages.c
# (__btrfs_handle_fs_error()), fs/xfs/xfs_fsops.c, fs/f2fs/super.c.
STOPPING = ("Aborting journal", "BTRFS: error (device ", "has been shut down", "Stopped filesystem")


def judge(case: FaultCase) -> Verdict | None:
    if case.kinds & LYING or case.observation.tree is None:
        return None
    checked, broken = best_reading(case.after, durable.judge_reading)
    _, before = best_reading(case.before, durable.judge_reading)
    known = {(each.kind, each.subject) for each in before}
    untold = [each for each in broken if (each.kind, each.subject) not in known and asked(case, each)]
    if not untold or not stopped(case):
        return case.verdict(NAME, checked, [retold(case, each) for each in untold])
    _, early = best_reading(case.before_errors(), durable.judge_reading)
    kept_quiet = {(each.kind, each.subject) for each in early}
    return case.verdict(
        NAME,
        checked,
        [
            retold(case, each) if (each.kind, each.subject) in kept_quiet else told_afterwards(case, each)
            for each in untold
        ],
    )


def asked(case: FaultCase, violation: Violation) -> bool:
    """Not of a rename, which is no call that makes durable; nor of files that a failed call left half-way."""
    if violation.subject in unsure_paths(case):
        return False
    flushed = promise(case.profile, "replace-via-rename")
    return flushed is None or violation.promise != promise_text(case.profile, flushed.key)


def unsure_paths(case: FaultCase) -> frozenset[str]:
    return frozenset(
        path
        for reading in case.after.readings
        for inode in case.unsure
        for path in reading.paths.get(inode, ())
    )


def retold(case: FaultCase, violation: Violation) -> Violation:
    """The same loss, as one that a call kept quiet about."""
    return Violation(
        f"{violation.kind} untold",
        violation.role,
        violation.subject,
        violation.expected,
        violation.found,
        case.promise("told"),
        Tier.POSIX,
    )


def stopped(case: FaultCase) -> bool:
    return any(words in line for line in case.run.kernel_log for words in STOPPING)


def told_afterwards(case: FaultCase, violation: Violation) -> Violation:
    """A success after another call had told of the error, of a filesystem that had stopped: whatever is lost
    by it, it is one bug, that nobody looked."""
    return msgspec.structs.replace(
        retold(case, violation), kind="success after the filesystem stopped", role="filesystem"
    )
