"""
What may stand around the word crash, after which a workload goes on with what recovery has left.

In:       the operations of run.
Out:      refused(): the operation that cannot stand where it is, and why.
Not here: what a crash leaves: the oracles take it that all before it was durable, so it must have been.
"""

from collections.abc import Sequence

from workloads.workload import Operation

CRASH = "crash"
# After these all that came before is durable.
WHOLE = ("sync", "syncfs", "freeze")
# Of these, when the object was fsynced, on every filesystem with a profile: its names, too.
BY_FSYNC = (
    *("creat", "mkdir", "write", "append", "pwrite", "mmapwrite", "truncate", "fallocate"),
    *("chmod", "chown", "utimes", "setxattr", "removexattr", "open"),
)
# Of these, when the directories of the names were.
BY_FSYNC_ABOVE = ("link", "unlink", "rmdir", "rename")
NOTHING = ("fsync", "fdatasync", "msync", "sync_file_range", "evict", "wait", "close", "thaw", "trim")
# These promise that everything is durable: also what the crash took, such as the times of a directory above.
# The last two commit what they have not been told to.
NOT_BEHIND = ("sync", "syncfs", "freeze", "remount", "umount", "subvol", "snapshot")
NOT_BESIDE = ("fault", "errortag", "stop")


def refused(run: Sequence[Operation]) -> tuple[Operation, str] | None:
    """None where all is well. Between the last sync, or the begin of run, and a crash each change must have
    been fsynced by the path or descriptor by which it was made, and of a name, its directory."""
    crashes = [at for at, operation in enumerate(run) if operation.word == CRASH]
    if not crashes:
        return None
    for at, operation in enumerate(run):
        if operation.word in NOT_BESIDE or operation.parallel:
            what = "parallel blocks" if operation.parallel else operation.word
            return operation, f"{what} and crash cannot stand in one workload"
        if at > crashes[0] and operation.word in NOT_BEHIND:
            return operation, (
                f"{operation.word} is not allowed behind crash: it would promise what the crash may have "
                "taken. Use fsync"
            )
    for crash in crashes:
        if found := _lost(run[:crash]):
            return found
    return None


def _lost(before: Sequence[Operation]) -> tuple[Operation, str] | None:
    for at, operation in enumerate(before):
        later = before[at + 1 :]
        if operation.word in (*NOTHING, *WHOLE, CRASH) or any(each.word in WHOLE for each in later):
            continue
        if operation.word == "open" and "creat" not in operation.mode and "trunc" not in operation.mode:
            continue
        fsynced = {each.path for each in later if each.word == "fsync"}
        if operation.word in BY_FSYNC:
            missing = (
                {operation.path} if fsynced.isdisjoint((operation.path, operation.descriptor)) else set()
            )
        elif operation.word in BY_FSYNC_ABOVE and not operation.mode:
            missing = {_above(path) for path in (operation.path, operation.path2) if path} - fsynced
        else:
            return operation, f"a crash may take what {operation.word} did. Put sync between the two"
        if missing:
            return operation, (
                f"a crash may take what this did. Put fsync {' and fsync '.join(sorted(missing))}, or sync, "
                "between the two"
            )
    return None


def _above(path: str) -> str:
    return path.rpartition("/")[0] or "."
