"""mounts, quiet, fsck, usable, stable and consistent: what they see, and what they let pass."""

import pytest

from oracles import consistent, fsck, mounts, quiet, stable, usable
from oracles.observation import Fsck, Node, Observation, Run
from oracles.tests.made import Bench, also, kinds, node_at, replaced, roles, without
from oracles.verdict import Answer

TREE = "run\n  mkdir A\n  write A/foo 0 8K\n  link A/foo bar\n  symlink A/foo s\n  sync\n"


# --- mounts


def test_a_mounted_tree_is_fine():
    """No errno, no death."""
    bench = Bench(TREE)
    assert not kinds(mounts.judge(bench.case(bench.tree())))


def test_each_refused_call_is_told():
    """Mount, unmount and second mount apart, by the errno's name."""
    bench = Bench(TREE)
    case = bench.case(None, mount_errno=117, umount_errno=16, second_mount_errno=5)
    verdict = mounts.judge(case)
    assert kinds(verdict) == {"mount refused", "unmount failed", "second mount refused"}
    assert "EUCLEAN" in verdict.violations[0].found


def test_a_death_of_the_kernel_is_broken_with_its_stage():
    """Never UNKNOWN."""
    case = Bench(TREE).case(None, death="panic", death_during="mount", console=("Kernel panic",))
    verdict = mounts.judge(case)
    assert kinds(verdict) == {"panic"}
    assert "during mount" in verdict.violations[0].found


def test_a_mount_without_recovery_that_wrote_is_broken():
    """One that was refused, or that was not asked for, wrote nothing."""
    bench = Bench("run\n  creat foo\n", "xfs-ro-first")
    assert kinds(mounts.judge(bench.case(bench.tree(), norecovery_wrote=True))) == {
        "written without recovery"
    }
    assert not kinds(mounts.judge(bench.case(bench.tree(), norecovery_errno=30)))


def test_a_read_only_device_is_refused_or_shows_what_recovery_shows():
    bench = Bench("run\n  creat foo\n", "f2fs-ro-first")
    tree = bench.tree()
    assert not kinds(mounts.judge(bench.case(tree, device_errno=30)))
    assert not kinds(mounts.judge(bench.case(tree, device_tree=replaced(tree, "foo", times=(5, 6)))))
    assert kinds(mounts.judge(bench.case(tree, device_tree=without(tree, "foo")))) == {
        "read-only device shows another tree"
    }
    assert kinds(mounts.judge(bench.case(tree, device_wrote=True))) == {"read-only device written"}


# --- quiet


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("4 WARNING: CPU: 0 PID: 1 at fs/btrfs/tree-log.c:3100", "warning"),
        ("2 kernel BUG at fs/ext4/inode.c:1!", "kernel bug"),
        ("3 BTRFS error (device dm-0): parent transid verify failed", "filesystem error"),
        ("2 EXT4-fs error (device dm-0): ext4_lookup:1855: inode #2", "filesystem error"),
        ("1 XFS (dm-0): Metadata corruption detected at xfs_inode_buf_verify", "filesystem error"),
        ("3 F2FS-fs (dm-0): Inconsistent error blkaddr:1, sit bitmap:0", "filesystem error"),
        ("3 JBD2: Invalid checksum recovering block 12 in log", "filesystem error"),
        ("3 UBSAN: array-index-out-of-bounds in fs/btrfs/ctree.c", "sanitizer report"),
        ("4 WARNING: possible circular locking dependency detected", "lock report"),
        ("2 assertion failed: 0, in fs/btrfs/file.c:1", "assertion failed"),
        ("4 Call Trace:", "call trace"),
        ("4 Call trace:", "call trace"),
        ("3 INFO: task mount:12 blocked for more than 120 seconds.", "stall"),
    ],
)
def test_lines_that_are_trouble(line, kind):
    """By what they say, or by the filesystem's own level."""
    assert quiet.sign(line) == kind


@pytest.mark.parametrize(
    "line",
    [
        "6 BTRFS info (device dm-0): start tree-log replay",
        "6 BTRFS info (device dm-0): using crc32c (crc32c-generic) checksum algorithm",
        "6 EXT4-fs (dm-0): recovery complete",
        "6 EXT4-fs (dm-0): 1 orphan inode deleted",
        "5 F2FS-fs (dm-0): recover_inode: ino = 4, name = foo, inline = 1",
        "5 XFS (dm-0): Starting recovery (logdev: internal)",
        "4 XFS (dm-0): Torn write (CRC failure) detected at log block 0x10. Truncating head block",
        "4 EXT4-fs (dm-0): warning: mounting unchecked fs, running e2fsck is recommended",
        "3 Buffer I/O error on dev dm-0, logical block 0, async page read",
    ],
)
def test_lines_that_are_not(line):
    """Recovery's own notices, and the block device."""
    assert quiet.sign(line) == ""


def test_a_report_and_its_call_trace_are_one():
    """The trace alone says less."""
    bench = Bench(TREE)
    case = bench.case(bench.tree(), kernel_log=("4 WARNING: CPU: 0", "4 Call Trace:"))
    assert kinds(quiet.judge(case)) == {"warning"}


def test_the_role_names_the_source_file_that_complains():
    """Two warnings are mostly two bugs."""
    bench = Bench(TREE)
    line = "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/tree-log.c:4711 btrfs_log_inode+0x1/0x2"
    assert roles(quiet.judge(bench.case(bench.tree(), kernel_log=(line,)))) == {"kernel log, tree-log.c"}
    assert roles(quiet.judge(bench.case(bench.tree(), kernel_log=("2 BTRFS critical: x",)))) == {"kernel log"}


# --- fsck


def checked(name, exit_status, output="", timed_out=False):
    bench = Bench(TREE, name)
    return fsck.judge(bench.case(bench.tree(), fsck=Fsck(exit_status, output, timed_out)))


def test_a_clean_checker_holds_and_an_unclean_one_is_broken():
    """By exit status."""
    assert not kinds(checked("ext4", 0, "disk: 12/100 files, 20/400 blocks"))
    assert kinds(checked("ext4", 4, "Inode 12 ref count is 2, should be 1.  Fix? no")) == {"not clean"}
    assert kinds(checked("xfs", 1, "a line that no pattern knows")) == {"not clean"}


def test_an_error_line_counts_even_with_status_0():
    """btrfs check has done that."""
    assert kinds(checked("btrfs", 0, "root 5 inode 257 errors 200, dir isize wrong")) == {"not clean"}
    assert not kinds(checked("btrfs", 0, "found 147456 bytes used, no error found"))


def test_fsck_f2fs_fails_with_minus_one_and_its_lines_say_why():
    """fsck.f2fs(8); without a line it is our trouble."""
    fail = "[FSCK] Hard link checking for regular file            [Fail] [0x1]"
    assert kinds(checked("f2fs", 255, fail)) == {"not clean"}
    assert kinds(checked("f2fs", 0, fail)) == {"not clean"}
    assert checked("f2fs", 255, "Error: Not available on mounted device!").answer is Answer.UNKNOWN
    assert not kinds(checked("f2fs", 0, "[FSCK] Hard link checking for regular file            [Ok..] [0x0]"))


def test_a_checker_that_did_not_end_is_unknown():
    """Ours, not the filesystem's."""
    assert checked("xfs", 0, timed_out=True).answer is Answer.UNKNOWN
    assert checked("xfs", 127, "sh: xfs_repair: not found").answer is Answer.UNKNOWN
    assert checked("xfs", -9).answer is Answer.UNKNOWN


def test_no_verdict_without_a_checker():
    """--no-fsck."""
    bench = Bench(TREE)
    assert fsck.judge(bench.case(bench.tree())) is None


# --- usable


def test_a_failed_call_of_the_probe_is_broken():
    """Kind and path from what the agent told."""
    bench = Bench(TREE)
    verdict = usable.judge(bench.case(bench.tree(), probe=("rmdir A: ENOTEMPTY",)))
    assert kinds(verdict) == {"rmdir failed"}
    assert verdict.violations[0].subject == "A"
    assert verdict.violations[0].found == "ENOTEMPTY"


def test_a_failed_call_in_the_mount_that_replayed_is_broken():
    """The second mount's probe cannot speak of what the first had in memory."""
    bench = Bench(TREE)
    verdict = usable.judge(bench.case(bench.tree(), first_probe=("create .: EEXIST",)))
    assert [violation.kind for violation in verdict.violations] == ["create failed"]
    assert verdict.violations[0].found == "EEXIST"
    assert not kinds(usable.judge(bench.case(bench.tree())))


def test_a_file_that_does_not_read_is_broken():
    """What the first walk could not read counts, though the probe deleted it without trouble."""
    bench = Bench(TREE)
    tree = replaced(bench.tree(), "A/foo", errors=("read: EIO",))
    assert kinds(usable.judge(bench.case(tree))) == {"read failed"}


def test_a_probe_that_never_ran_is_no_pass():
    """No steps: no verdict."""
    bench = Bench(TREE)
    case = bench.prepared.case(0, Observation(tree=bench.tree(0)))
    assert usable.judge(case) is None


def test_a_death_during_the_probe_is_broken():
    """The filesystem could not be used."""
    bench = Bench(TREE)
    case = bench.case(bench.tree(), death="panic", death_during="probe")
    assert kinds(usable.judge(case)) == {"kernel died"}


# --- stable


def test_an_equal_second_tree_is_stable():
    """The agent leaves it out then."""
    bench = Bench(TREE)
    assert not kinds(stable.judge(bench.case(bench.tree())))


def test_a_tree_that_was_not_walked_again_was_not_compared():
    """Where nothing was written there is nothing to ask: it holds, with nothing checked."""
    bench = Bench(TREE)
    verdict = stable.judge(bench.case(bench.tree(), untouched=True))
    assert (verdict.answer, verdict.checked) == (Answer.HOLDS, 0)


def test_the_first_difference_is_told():
    """Names first, then fields."""
    bench = Bench(TREE)
    tree = bench.tree()
    gone = tuple(node for node in tree if node.path != "s")
    assert kinds(stable.judge(bench.case(tree, second_tree=gone))) == {"name gone"}
    assert kinds(stable.judge(bench.case(gone, second_tree=tree))) == {"name appeared"}
    smaller = replaced(tree, "bar", size=1)
    assert kinds(stable.judge(bench.case(tree, second_tree=smaller))) == {"size changed"}


def test_xfs_may_give_back_extents_behind_the_end():
    """Within the file every extent stays as it was."""
    before = ((0, 4096, 0), (8192, 16384, 1))
    for name, after, expected in (
        ("xfs", ((0, 4096, 0),), set()),
        ("xfs", ((0, 4096, 1), (8192, 16384, 1)), {"extents changed"}),
        ("ext4", ((0, 4096, 0),), {"extents changed"}),
    ):
        bench = Bench(TREE, name)
        tree = replaced(bench.tree(), "bar", extents=before, size=4096, content=())
        second = replaced(tree, "bar", extents=after)
        assert kinds(stable.judge(bench.case(tree, second_tree=second))) == expected


def test_what_the_page_cache_has_of_unwritten_blocks_may_count_as_data_or_not():
    """generic/475 on xfs, in a guest that was short of memory. btrfs does not ask the page cache."""
    for name, expected in (("xfs", set()), ("ext4", set()), ("btrfs", {"data changed"})):
        bench = Bench(TREE, name)
        tree = replaced(bench.tree(), "bar", data=((0, 8192),))
        second = replaced(tree, "bar", data=((0, 4096),))
        assert kinds(stable.judge(bench.case(tree, second_tree=second))) == expected
        zeros = replaced(second, "bar", content=(Run(0, node_at(tree, "bar").size, "z"),))
        assert kinds(stable.judge(bench.case(tree, second_tree=zeros))) == {"content changed"}


def test_xfs_may_give_back_blocks_behind_the_end():
    """Fewer blocks at the second mount; more are not explained, nor fewer on ext4."""
    for name, blocks, expected in (
        ("xfs", 8, set()),
        ("xfs", 99, {"blocks changed"}),
        ("ext4", 8, {"blocks changed"}),
    ):
        bench = Bench(TREE, name)
        second = replaced(bench.tree(), "bar", blocks=blocks)
        assert kinds(stable.judge(bench.case(bench.tree(), second_tree=second))) == expected


# --- consistent


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_a_good_tree_is_consistent(name):
    """Each filesystem counts a directory's links its own way."""
    bench = Bench(TREE, name)
    assert not kinds(consistent.judge(bench.case(bench.tree())))


@pytest.mark.parametrize(
    ("path", "changes", "kind"),
    [
        ("s", {"size": 99}, "symlink size"),
        ("A", {"nlink": 7}, "wrong link count"),
        ("A", {"dtype": "file"}, "wrong entry type"),
        ("A", {"size": 99}, "directory size"),
        ("A/foo", {"nlink": 3}, "wrong link count"),
        ("bar", {"size": 5}, "names differ"),
        ("bar", {"size": 9000}, "content does not cover size"),
        ("bar", {"blocks": 0, "data": ((0, 8192),)}, "too few blocks"),
        ("bar", {"errors": ("read: EIO",)}, "read failed"),
        ("s", {"ino": 0}, "no inode number"),
    ],
)
def test_each_disagreement_is_told(path, changes, kind):
    """One field of a good tree is wrong."""
    bench = Bench(TREE)
    assert kind in kinds(consistent.judge(bench.case(replaced(bench.tree(), path, **changes))))


def test_attributes_that_the_kernel_cannot_list_are_no_disagreement():
    """More than 64 KiB of names, seen in generic/753; any other error of listxattr is one."""
    bench = Bench(TREE)
    for errno, expected in (("E2BIG", set()), ("EIO", {"listxattr failed"})):
        tree = replaced(bench.tree(), "A", errors=(f"listxattr: {errno}",))
        assert kinds(consistent.judge(bench.case(tree))) == expected


def test_a_directory_with_two_names_is_broken():
    """Two names of one directory inode."""
    bench = Bench(TREE)
    twice = also(bench.tree(), "Z", node_at(bench.tree(), "A"))
    assert "directory twice" in kinds(consistent.judge(bench.case(twice)))


def test_lost_and_found_must_stay_empty():
    """A file there lost its name."""
    bench = Bench(TREE, "ext4")
    found = Node("lost+found", "dir", 11, 0o700, 2, 12288, 24)
    tree = replaced(also(bench.tree(), "lost+found", found), ".", nlink=4)
    assert not kinds(consistent.judge(bench.case(tree)))
    tree = also(tree, "lost+found/#12", Node("", "file", 99, 0o644, 1, 0, 0))
    assert kinds(consistent.judge(bench.case(tree))) == {"file without a name"}
