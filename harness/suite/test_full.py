"""
The edge of a full filesystem: the theme `full` of the library on the stock kernel, xfs with one fix.

In:       the stock kernel; profiles on which, together, every word that takes room finds none.
Out:      that no state is BROKEN or UNKNOWN, that no operation fails but those whose header allows it, and
          which words were refused for want of room.
Not here: the other profiles (test_crash.py), planted bugs that show only there (test_planted.py).
"""

import errno

import msgspec
import pytest

from workloads.history import History
from workloads.library import library

pytestmark = [pytest.mark.smoke, pytest.mark.timeout(1800)]

# btrfs-nearly-full: data and metadata share their block groups, so names find no room there, either.
PROFILES = ("btrfs-nearly-full", "ext4", "xfs")
# On stock xfs a sync may leave data in the disk's cache (XFS-1), in any workload, now and then: with
# its fix the rest is silent.
WITH = {"xfs": "+fix/xfs-sync-flushes-the-data-device"}
BTRFS_ALONE = "subvolumes-when-full"
THEME = tuple(workload.name for workload in library() if workload.theme == "full")
REFUSED = {
    "creat",
    "mkdir",
    "mknod",
    "mkfifo",
    "symlink",
    "link",
    "rename",
    "open",
    "write",
    "append",
    "pwrite",
}
# setfacl is not among them: a short list fits into the inode, or into what is kept back for its tree.
REFUSED |= {"mmapwrite", "fallocate", "clone", "copyrange", "setxattr", "subvol", "snapshot"}


def test_full_filesystems_are_judged_in_silence(main_job, kernel_word):
    """On each profile; and every word that needs a block is refused one somewhere."""
    refused = set()
    for name in PROFILES:
        names = [each for each in THEME if each != BTRFS_ALONE or name.startswith("btrfs")]
        folder, summary = main_job(names, [name], kernel_word + WITH.get(name, ""))
        assert summary.reasons == ()
        assert summary.states.unknown == 0
        assert [finding.signature for finding in summary.findings] == []
        assert summary.failed_operations == ()
        for path in folder.glob("experiments/*/history.json"):
            history = msgspec.json.decode(path.read_bytes(), type=History)
            steps = (*history.setup, *history.run)
            refused |= {step.operation.word for step in steps if step.result == -errno.ENOSPC}
    assert REFUSED - refused == set()
