"""The oracles of faults: runs on a failing device made by hand, each promise kept and broken."""

import errno

import pytest

from oracles.judge import judge_fault
from oracles.observation import FaultRun, FaultStep, Node, Observation, Run
from oracles.profiles import profile
from oracles.tests.made import Bench, node_at, replaced, without
from oracles.verdict import Answer, Tier

OVERWRITE = "setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n"
TWICE = OVERWRITE + "  write foo 0 8K\n  fsync foo\n"
TWO = """setup
  write foo 0 8K
run
  open foo @a
  open foo @b
  write @a 0 8K
  fsync @a
  fsync @b
"""
FAILS = "F:error-writes@2"


class Faulted:
    """A workload on a failing device: which operations failed, what a sound device then showed."""

    def __init__(self, source, name="btrfs"):
        self.bench = Bench(source, name)
        self.name = name

    def judge(self, spec, tree, failed=(), bad=(), kernel_log=(), seen=None, unseen=(), **run):
        """failed: operations that gave EIO. bad: operations during which a write met the fault. unseen: whose
        object could not be looked at."""
        steps = tuple(
            FaultStep(
                step.index,
                -errno.EIO if step.index in failed else 0,
                0 if step.index in unseen else step.inode,
                step.blocks,
                step.left_inode,
                0,
                int(step.index in bad),
            )
            for step in (*self.bench.history.setup, *self.bench.history.run)
        )
        fields = {"after_call": "", "root_inode": self.bench.history.root_inode, **run}
        fault = FaultRun(steps=steps, kernel_log=kernel_log, **fields)
        observation = Observation(tree=tree, probe_steps=1, fault=fault, **(seen or {}))
        verdicts = judge_fault(self.bench.history, profile(self.name), Tier.FS, spec, observation)
        assert not [verdict for verdict in verdicts if verdict.answer is Answer.UNKNOWN], verdicts
        return {verdict.oracle: [each.kind for each in verdict.violations] for verdict in verdicts}


def silent(found):
    return not any(found.values())


def test_a_write_error_that_fsync_tells_leaves_the_old_bytes():
    """The caller knows: nothing is owed but what was durable before."""
    one = Faulted(OVERWRITE)
    assert silent(one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2]))


def test_a_write_error_that_fsync_keeps_quiet_about_is_told_of():
    one = Faulted(OVERWRITE)
    found = one.judge(FAILS, one.bench.tree(0), bad=[2])
    assert found["told"] == ["data lost untold"]
    assert found["contained"] == []


def test_what_is_written_again_after_an_error_has_to_be_there():
    """A success after an error speaks of what was written since (vfs.rst)."""
    one = Faulted(TWICE)
    assert silent(one.judge(FAILS, one.bench.tree(), failed=[2], bad=[2]))
    found = one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2])
    assert found["told"] == ["data lost untold"]


def test_a_success_after_an_error_was_told_does_not_speak_of_what_was_lost():
    """Nothing was written since."""
    one = Faulted(OVERWRITE + "  fsync foo\n")
    assert silent(one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2]))


def test_each_descriptor_that_was_open_is_told():
    one = Faulted(TWO)
    spec = "F:error-writes@4"
    assert silent(one.judge(spec, one.bench.tree(0), failed=[4, 5], bad=[4]))
    found = one.judge(spec, one.bench.tree(0), failed=[4], bad=[4])
    assert found["told"] == ["data lost untold"]


def test_sync_cannot_tell():
    """sync(2) returns nothing; what it made durable is owed only where nothing failed."""
    one = Faulted("run\n  creat foo\n  sync\n  mkdir A\n")
    assert silent(one.judge("F:error-writes@1", one.bench.tree(0), bad=[1]))
    found = one.judge("F:error-writes@2", one.bench.tree(0))
    assert "object lost" in found["contained"] or "name lost" in found["contained"]


def test_what_was_acknowledged_before_the_fault_stays():
    one = Faulted(TWICE)
    lost = without(one.bench.tree(), "foo")
    found = one.judge("F:error-writes@4", lost, failed=[4], bad=[4])
    assert found["contained"]
    assert silent(one.judge("F:error-writes@4", one.bench.tree(2), failed=[4], bad=[4]))


def test_a_disk_that_does_not_mount_has_lost_all():
    one = Faulted(OVERWRITE)
    found = one.judge(FAILS, None, failed=[2], bad=[2], seen={"mount_errno": errno.EIO})
    assert found["contained"] == ["all lost"]
    assert found["mounts"] == ["mount refused"]


@pytest.mark.parametrize(
    ("name", "run", "kind"),
    [
        ("btrfs", {"readonly": True, "after_call": "create", "after_errno": errno.EROFS}, ""),
        ("xfs", {"after_call": "create", "after_errno": errno.EIO}, ""),
        (
            "xfs",
            {"readonly": True, "after_call": "create", "after_errno": errno.EROFS},
            "read-only without need",
        ),
        ("btrfs", {"after_call": "fsync", "after_errno": errno.EIO}, "neither on nor off"),
        ("ext4", {"after_call": "write", "after_errno": errno.ENOSPC}, "neither on nor off"),
    ],
)
def test_after_an_error_the_filesystem_does_what_its_profile_says(name, run, kind):
    one = Faulted(OVERWRITE, name)
    found = one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2], **run)
    assert found["contained"] == ([kind] if kind else [])


def test_a_filesystem_that_nothing_happened_to_goes_on():
    """Dropped writes cannot be noticed, nor a slow device."""
    one = Faulted(OVERWRITE)
    gone = {"readonly": True, "after_call": "create", "after_errno": errno.EROFS}
    for spec in ("F:delay@2", "F:drop-writes@2"):
        found = one.judge(spec, one.bench.tree(), bad=[2], **gone)
        assert found["contained"] == ["read-only without need"]


def test_writes_that_were_dropped_until_the_end_are_a_power_failure():
    """What came before is owed; told has nothing to ask of a device that lies."""
    one = Faulted(TWICE)
    found = one.judge("F:drop-writes@3-", one.bench.tree(2), bad=[4])
    assert silent(found)
    assert "told" not in found
    assert one.judge("F:drop-writes@3-", one.bench.tree(0), bad=[4])["contained"] == ["data lost"]


def test_a_corrupted_byte_that_reads_as_good_is_undetected():
    """On btrfs in a file's data, too; on ext4, which has no checksum of it, only in metadata."""
    bad = (Run(0, 8, "x", 0, "ff" * 8), Run(8, 8184, "w", 2))
    one, other = Faulted(OVERWRITE), Faulted(OVERWRITE, "ext4")
    spec = "F:corrupt@2"
    assert silent(one.judge(spec, one.bench.tree(), bad=[2]))
    broken = replaced(one.bench.tree(), "foo", content=bad)
    assert one.judge(spec, broken, bad=[2])["detected"] == ["foreign bytes undetected"]
    assert silent(other.judge(spec, replaced(other.bench.tree(), "foo", content=bad), bad=[2]))
    mode = replaced(other.bench.tree(), "foo", mode=0o755)
    assert other.judge(spec, mode, bad=[2])["detected"] == ["mode that never was undetected"]


def test_a_read_error_or_a_refused_mount_has_detected_it():
    one = Faulted(OVERWRITE)
    unread = replaced(one.bench.tree(), "foo", content=(), errors=("read: EIO",))
    assert silent(one.judge("F:corrupt@2", unread, bad=[2]))
    assert silent(one.judge("F:corrupt@2", None, bad=[2], seen={"mount_errno": errno.EIO}))


@pytest.mark.parametrize(("error", "kinds"), [("EBADMSG", []), ("ENOENT", ["name leads nowhere undetected"])])
def test_a_name_whose_inode_does_not_have_its_checksum_is_detected(error, kinds):
    one = Faulted(OVERWRITE, "ext4")
    node = Node("foo", "unknown", 0, 0, 0, 0, 0, dtype="file", errors=(f"stat: {error}",))
    tree = tuple(node if each.path == "foo" else each for each in one.bench.tree())
    assert one.judge("F:corrupt@2", tree, bad=[2])["detected"] == kinds


def test_a_file_without_checksums_is_not_asked_about():
    """chattr +C: nodatacow."""
    one = Faulted("setup\n  creat foo\n  chattr foo +C\nrun\n  write foo 0 8K\n  fsync foo\n")
    bad = (Run(0, 8, "x", 0, "ff" * 8), Run(8, 8184, "w", 3))
    tree = replaced(one.bench.tree(), "foo", content=bad)
    assert one.judge("F:corrupt@3", tree, bad=[3])["detected"] == []


@pytest.mark.parametrize(
    ("run", "kind"),
    [
        ({"kernel_log": ("3 BTRFS error (device dm-4): bdev errs",)}, ""),
        ({"kernel_log": ("4 WARNING: CPU: 0 PID: 1 at fs/btrfs/disk-io.c:1",)}, "warning"),
        ({"kernel_log": ("4 Call Trace:",)}, "call trace"),
        ({"kernel_log": ("1 XFS (dm-4): Internal error xfs_trans_cancel at line 978", "4 Call Trace:")}, ""),
        ({"kernel_log": ("4 Call Trace:", "4 F2FS-fs (dm-2): Stopped filesystem due to reason: 3")}, ""),
        (
            {"kernel_log": ("4 Call Trace:", "4 F2FS-fs (dm-2): Remounting filesystem read-only")},
            "call trace",
        ),
        ({"kernel_log": ("2 VFS: Busy inodes after unmount of dm-4",)}, "busy inodes"),
        ({"umount_errno": errno.EBUSY}, "unmount failed"),
        ({"umount_errno": errno.EINVAL}, ""),
        ({"open_count": 1}, "device busy"),
    ],
)
def test_the_kernel_outlives_the_device(run, kind):
    """Error lines are in order; reports of the kernel's own trouble are not."""
    one = Faulted(OVERWRITE)
    found = one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2], **run)
    assert found["alive"] == ([kind] if kind else [])


def test_a_guest_that_died_is_not_alive():
    one = Faulted(OVERWRITE)
    seen = Observation(death="panic", death_during="run", console=("Kernel panic",))
    (verdict,) = judge_fault(one.bench.history, profile("btrfs"), Tier.FS, FAILS, seen)
    assert [each.kind for each in verdict.violations] == ["panic"]


def test_what_the_kernel_cannot_do_is_unknown():
    """Never a pass."""
    one = Faulted(OVERWRITE)
    seen = Observation(fault=FaultRun(refused=True))
    verdicts = judge_fault(one.bench.history, profile("btrfs"), Tier.FS, FAILS, seen)
    assert {verdict.answer for verdict in verdicts} == {Answer.UNKNOWN}


def test_of_a_write_that_failed_half_way_the_bytes_are_not_asked():
    """Part of it may be there, and later calls build on it."""
    source = "setup\n  write foo 0 8K\nrun\n  pwrite foo 0 8K direct-dsync\n  append foo 4K\n  fsync foo\n"
    one = Faulted(source)
    tree = one.bench.tree()
    torn = replaced(tree, "foo", content=(Run(0, 4096, "w", 2), *node_at(tree, "foo").content[1:]))
    assert silent(one.judge("F:error-writes@1", torn, failed=[1], bad=[1]))


STOPPED_LOG = ("3 Aborting journal on device dm-4-8.",)
TWO_FILES = "setup\n  sync\nrun\n  creat foo\n  creat bar\n  fsync foo\n  fsync bar\n"


def test_a_success_after_the_filesystem_stopped_is_one_finding_whatever_it_lost():
    """And only what no call before the first error had promised."""
    one = Faulted(TWO_FILES, "ext4")
    lost = without(without(one.bench.tree(), "foo"), "bar")
    found = one.judge("F:error-writes@3-", lost, failed=[3], bad=[3], kernel_log=STOPPED_LOG)
    assert found["told"] == ["success after the filesystem stopped"]
    found = one.judge("F:error-writes@3-", lost, failed=[3], bad=[3])
    assert found["told"] == ["name lost untold"]
    found = one.judge("F:error-writes@3-", lost, failed=[4], bad=[3, 4], kernel_log=STOPPED_LOG)
    assert found["told"] == ["name lost untold"]


def test_a_filesystem_that_stopped_without_telling_anyone_lost_it_untold():
    one = Faulted(OVERWRITE)
    found = one.judge(FAILS, one.bench.tree(0), bad=[2], kernel_log=STOPPED_LOG)
    assert found["told"] == ["data lost untold"]


def test_a_sync_whose_flush_failed_promises_nothing():
    """A FLUSH is not counted, and sync(2) cannot tell."""
    one = Faulted("run\n  creat foo\n  sync\n  mkdir A\n")
    assert silent(one.judge("F:error-writes@1:flush", one.bench.tree(0)))


def test_a_block_that_is_not_what_its_checksum_says_needs_not_stop_the_filesystem():
    one = Faulted(OVERWRITE, "xfs")
    gone = {"after_call": "fsync", "after_errno": errno.EUCLEAN}
    assert not one.judge("F:corrupt@2", one.bench.tree(0), bad=[2], **gone)["contained"]
    assert one.judge(FAILS, one.bench.tree(0), failed=[2], bad=[2], **gone)["contained"]


def test_dropped_writes_are_noticed_where_the_block_is_read_again():
    gone = {"after_call": "create", "after_errno": errno.EUCLEAN}
    for last, kinds in (("evict foo", []), ("chmod foo 600", ["shut down without need"])):
        one = Faulted(OVERWRITE + f"  {last}\n", "xfs")
        assert one.judge("F:drop-writes@3", one.bench.tree(), bad=[3], **gone)["contained"] == kinds


READS_FAIL = """setup
  write foo 0 8K
run
  evict foo
  fault error-reads
  setxattr foo user.a one
  fault off
"""


def test_a_filesystem_may_stop_where_a_failed_read_was_told_and_only_there():
    """XFS shuts down when a read fails in a transaction that has changed something; such reads are not
    counted."""
    one = Faulted(READS_FAIL, "xfs")
    gone = {"after_call": "create", "after_errno": errno.EIO}
    assert not one.judge("F:script", one.bench.tree(), failed=[3], **gone)["contained"]
    assert one.judge("F:script", one.bench.tree(), **gone)["contained"] == ["shut down without need"]


@pytest.mark.parametrize(("said", "kinds"), [("bitmap", []), ("inode table", ["neither on nor off"])])
def test_where_the_only_block_group_was_given_up_there_is_no_room(said, kinds):
    one = Faulted(READS_FAIL, "ext4-one-group")
    log = (f"2 EXT4-fs error (device dm-2): f:1: comm a: Cannot read block {said} - block_group = 0",)
    full = {"after_call": "write", "after_errno": errno.ENOSPC, "kernel_log": log}
    assert one.judge("F:script", one.bench.tree(), failed=[3], **full)["contained"] == kinds


def test_of_writes_that_fail_no_call_that_failed_takes_the_place_of_a_count():
    one = Faulted(OVERWRITE, "xfs")
    gone = {"after_call": "create", "after_errno": errno.EIO}
    assert one.judge(FAILS, one.bench.tree(0), failed=[2], **gone)["contained"] == ["shut down without need"]


def test_of_a_write_that_failed_with_its_filesystem_the_bytes_are_not_asked():
    """The filesystem has shut down, so the agent cannot say which inode it was."""
    source = "setup\n  write foo 0 8K\nrun\n  write foo 0 4K\n  pwrite foo 4K 4K sync\n"
    one = Faulted(source, "xfs")
    assert silent(one.judge("F:error-writes@2", one.bench.tree(), failed=[2], bad=[2], unseen=[2]))


def test_a_snapshot_of_what_could_not_be_written_has_the_old_bytes():
    source = """setup
  subvol create S
  write S/foo 0 8K
run
  write S/foo 0 4K
  snapshot S T
  sync
"""
    one = Faulted(source)
    old = node_at(one.bench.tree(0), "S/foo").content
    tree = replaced(one.bench.tree(), "T/foo", content=old)
    assert silent(one.judge("F:error-writes@3", tree, bad=[3]))
    assert one.judge("F:error-writes@4", tree, bad=[4])["historical"] == ["stale data"]
