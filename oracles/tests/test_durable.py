"""durable: one behaviour a test; the trees come from the model, then one thing in them is changed."""

import msgspec
import pytest

from oracles import durable
from oracles.case import prepare
from oracles.observation import UNLISTED, Observation, Run
from oracles.profiles import profile
from oracles.tests.made import Bench, also, kinds, node_at, replaced, roles, without
from oracles.verdict import Tier

FSYNCED = "run\n  write foo 0 8K\n  fsync foo\n"
RENAMED = "setup\n  mkdir A\n  mkdir B\n  creat A/foo\nrun\n  rename A/foo B/foo\n"


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_fsync_of_a_new_file_promises_its_name(name):
    """Tier fs: without the name, BROKEN with the fsynced file as its role."""
    bench = Bench(FSYNCED, name)
    verdict = durable.judge(bench.case(without(bench.tree(), "foo")))
    assert kinds(verdict) == {"name lost"}
    assert roles(verdict) == {"fsynced file"}
    assert verdict.violations[0].tier is Tier.FS


def test_posix_promises_no_name_with_a_file():
    """Tier posix: fsync(2) leaves the name to an fsync of the directory."""
    bench = Bench(FSYNCED, tier=Tier.POSIX)
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "foo"))))


def test_an_fsync_in_flight_promises_nothing():
    """The same tree is legal while the fsync has not returned."""
    bench = Bench(FSYNCED)
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "foo"), flying=True)))


def test_a_failed_fsync_promises_nothing():
    """result < 0: as if it had not been called."""
    bench = Bench(FSYNCED)
    failed = msgspec.structs.replace(bench.history.run[-1], result=-5)
    history = msgspec.structs.replace(bench.history, run=(bench.history.run[0], failed))
    case = prepare(history, profile("btrfs")).case(6, Observation(tree=without(bench.tree(), "foo")))
    assert not kinds(durable.judge(case))


def test_data_that_was_fsynced_may_not_be_zero():
    """Zeros are no data."""
    bench = Bench(FSYNCED)
    tree = replaced(bench.tree(), "foo", content=(Run(0, 8192, "z"),))
    assert kinds(durable.judge(bench.case(tree))) == {"data lost"}


def test_size_that_was_fsynced_may_not_shrink():
    """Half the file is not the file."""
    bench = Bench(FSYNCED)
    tree = replaced(bench.tree(), "foo", size=4096, content=(Run(0, 4096, "w", 1),))
    assert kinds(durable.judge(bench.case(tree))) == {"size lost"}


def test_fdatasync_promises_content_but_no_xattr():
    """fdatasync(2): only what is needed to read the data."""
    bench = Bench("setup\n  creat foo\nrun\n  setxattr foo user.x 1\n  write foo 0 4K\n  fdatasync foo\n")
    bare = replaced(bench.tree(), "foo", xattrs={})
    assert not kinds(durable.judge(bench.case(bare)))
    empty = replaced(bare, "foo", size=0, content=())
    assert kinds(durable.judge(bench.case(empty))) == {"size lost"}


def test_fdatasync_of_a_new_file_promises_the_name_it_was_made_with():
    """Its inode and name are one transaction."""
    bench = Bench("run\n  write foo 0 4K\n  fdatasync foo\n")
    assert kinds(durable.judge(bench.case(without(bench.tree(), "foo")))) == {"name lost"}


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_fdatasync_after_a_rename_there_and_back_promises_neither_name(name):
    """The renames touch no data, so the file may be under the name between."""
    words = ("write foo 0 4K", "fsync foo", "rename foo bar", "fsync bar", "rename bar foo", "fdatasync foo")
    bench = Bench("run\n" + "".join(f"  {word}\n" for word in words), name)
    assert not kinds(durable.judge(bench.case(bench.tree(4))))
    assert not kinds(durable.judge(bench.case(bench.tree())))


def test_fdatasync_after_a_rename_leaves_the_first_name_to_others():
    """A new file that was renamed before its fdatasync says nothing of who has its first name now."""
    text = "setup\n  creat a\nrun\n  unlink a\n  write a 0 512\n  rename a b\n  fdatasync b\n"
    bench = Bench(text)
    old = node_at(bench.tree(0), "a")
    assert not kinds(durable.judge(bench.case(also(bench.tree(), "a", old))))


def test_later_writes_may_be_half_there():
    """After the fsync, an append may be there up to any byte, and unwritten parts of it are zero."""
    bench = Bench(FSYNCED + "  append foo 8K\n")
    for size in (8192, 10000, 12288, 16384):
        runs = (Run(0, 8192, "w", 1), *((Run(8192, size - 8192, "z"),) if size > 8192 else ()))
        tree = replaced(bench.tree(), "foo", size=size, content=runs)
        assert not kinds(durable.judge(bench.case(tree))), size


def test_an_overwrite_is_old_or_new_but_not_zero():
    """In place nothing is ever zero between the old data and the new."""
    bench = Bench(FSYNCED + "  write foo 0 4K\n")
    old, new = Run(0, 4096, "w", 1), Run(0, 4096, "w", 3)
    rest = Run(4096, 4096, "w", 1)
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", content=(old, rest)))))
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", content=(new, rest)))))
    zero = Run(0, 4096, "z")
    verdict = durable.judge(bench.case(replaced(bench.tree(), "foo", content=(zero, rest))))
    assert kinds(verdict) == {"data lost"}


def test_truncate_and_write_anew_may_show_zeros():
    """Replace by truncate: the new size may be there before the new data."""
    bench = Bench(FSYNCED + "  truncate foo 0\n  write foo 0 8K\n")
    tree = replaced(bench.tree(), "foo", content=(Run(0, 8192, "z"),))
    assert not kinds(durable.judge(bench.case(tree)))


def test_unaligned_writes_are_compared_byte_by_byte():
    """A cell that two operations made is explained by neither alone."""
    bench = Bench("run\n  write foo 0 16\n  write foo 3 6\n  fsync foo\n")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    first_only = replaced(bench.tree(), "foo", content=(Run(0, 16, "w", 1),))
    assert kinds(durable.judge(bench.case(first_only))) == {"data lost"}


def test_collapse_range_moves_promised_bytes():
    """After an fsync the bytes stand where the collapse put them."""
    bench = Bench("run\n  write foo 0 12K\n  fallocate foo collapse-range 4K 4K\n  fsync foo\n")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    unmoved = replaced(bench.tree(), "foo", content=(Run(0, 8192, "w", 1),))
    assert kinds(durable.judge(bench.case(unmoved))) == {"data lost"}


def test_a_collapse_in_flight_may_show_its_hole():
    """Extents move one after the other, and leave a hole."""
    bench = Bench("setup\n  write foo 0 12K\nrun\n  fallocate foo collapse-range 4K 4K\n  sync\n")
    runs = (Run(0, 4096, "w", 1), Run(4096, 8192, "z"))
    tree = replaced(bench.tree(0), "foo", content=runs)
    assert not kinds(durable.judge(bench.case(tree, begun=1, flying=True)))


def test_preallocation_is_promised_by_fsync():
    """Blocks behind the end of file count."""
    bench = Bench("run\n  write foo 0 8K\n  fsync foo\n  fallocate foo keep-size 8K 8K\n  fsync foo\n")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    tree = replaced(bench.tree(), "foo", blocks=16)
    assert kinds(durable.judge(bench.case(tree))) == {"preallocation lost"}


def test_a_removed_xattr_may_not_come_back():
    """generic/066."""
    bench = Bench("setup\n  creat foo\n  setxattr foo user.x 1\nrun\n  removexattr foo user.x\n  fsync foo\n")
    tree = replaced(bench.tree(), "foo", xattrs={"user.x": b"1".hex()})
    assert kinds(durable.judge(bench.case(tree))) == {"xattr came back"}


def test_a_lost_and_a_changed_xattr_are_told_apart():
    """lost: it is gone; value lost: an older value."""
    bench = Bench("setup\n  creat foo\n  setxattr foo user.x 1\nrun\n  setxattr foo user.x 2\n  fsync foo\n")
    gone = replaced(bench.tree(), "foo", xattrs={})
    assert kinds(durable.judge(bench.case(gone))) == {"xattr lost"}
    older = replaced(bench.tree(), "foo", xattrs={"user.x": b"1".hex()})
    assert kinds(durable.judge(bench.case(older))) == {"xattr value lost"}


def test_attributes_that_cannot_be_listed_are_not_lost():
    """listxattr(2) gives 64 KiB of names at most."""
    bench = Bench("setup\n  creat foo\nrun\n  setxattr foo user.x 2\n  fsync foo\n")
    unlisted = replaced(bench.tree(), "foo", xattrs={}, errors=(UNLISTED,))
    assert not kinds(durable.judge(bench.case(unlisted)))
    unread = replaced(bench.tree(), "foo", xattrs={}, errors=("listxattr: EIO",))
    assert kinds(durable.judge(bench.case(unread))) == {"xattr lost"}


def test_an_xattr_that_xfs_replaces_may_be_absent_when_it_is_large():
    """Two transactions, when it does not fit into the inode; ext4 has one."""
    text = (
        f"setup\n  creat f\n  setxattr f user.x {'a' * 300}\nrun\n  setxattr f user.x {'b' * 300}\n  sync\n"
    )
    for name, expected in (("xfs", set()), ("ext4", {"xattr lost"})):
        bench = Bench(text, name)
        tree = replaced(bench.tree(), "f", xattrs={})
        assert kinds(durable.judge(bench.case(tree, begun=1))) == expected


def test_the_old_name_is_settled_by_fsync_of_the_renamed_file():
    """The file may not be under the name that it had lost before its fsync."""
    bench = Bench(RENAMED + "  fsync B/foo\n")
    old = without(also(bench.tree(), "A/foo", node_at(bench.tree(), "B/foo")), "B/foo")
    assert kinds(durable.judge(bench.case(old))) == {"name lost", "name came back"}


def test_fsync_of_a_directory_settles_its_removed_names():
    """A/foo is gone for good once A was fsynced, in every tier."""
    bench = Bench("setup\n  mkdir A\n  creat A/foo\nrun\n  unlink A/foo\n  fsync A\n", tier=Tier.POSIX)
    verdict = durable.judge(bench.case(bench.tree(0)))
    assert kinds(verdict) == {"name came back"}
    assert roles(verdict) == {"unlinked entry of fsynced directory"}


def test_fsync_of_a_directory_promises_no_content():
    """The new file in it may be empty."""
    bench = Bench("setup\n  mkdir A\nrun\n  write A/foo 0 8K\n  fsync A\n")
    tree = replaced(bench.tree(), "A/foo", size=0, content=())
    assert not kinds(durable.judge(bench.case(tree)))


def test_fsync_below_a_renamed_directory_does_not_move_it():
    """The directory above must exist, under its old or its new name (B3-10 is disputed)."""
    bench = Bench("setup\n  mkdir A\nrun\n  rename A B\n  creat B/foo\n  fsync B/foo\n")
    tree = bench.tree()
    under_old = tuple(
        msgspec.structs.replace(node, path="A" + node.path[1:]) if node.path[0] == "B" else node
        for node in tree
    )
    assert not kinds(durable.judge(bench.case(under_old)))
    assert kinds(durable.judge(bench.case(without(tree, "B")))) == {"object lost"}


def test_f2fs_in_strict_mode_moves_the_renamed_directory_of_a_new_file():
    """Renamed before a sync, or above an old file: nothing is promised beyond the others."""
    text = "setup\n  mkdir A\n  creat A/old\nrun\n{}  creat B/foo\n  fsync B/{}\n"
    for between, name, broken in (
        ("  rename A B\n", "foo", True),
        ("  rename A B\n", "old", False),
    ):
        for strict in ("f2fs-strict", "f2fs"):
            bench = Bench(text.format(between, name), strict)
            under_old = tuple(
                msgspec.structs.replace(node, path="A" + node.path[1:]) if node.path[0] == "B" else node
                for node in bench.tree()
            )
            found = kinds(durable.judge(bench.case(under_old)))
            assert ("name came back" in found or "name lost" in found) == (broken and strict == "f2fs-strict")


def test_a_new_directory_above_an_fsynced_file_must_exist():
    """B3-3 and its kin: nothing may be told of the file alone."""
    bench = Bench("run\n  mkdir A\n  mkdir A/C\n  creat A/C/foo\n  fsync A/C/foo\n")
    verdict = durable.judge(bench.case(without(bench.tree(), "A")))
    assert "name lost" in kinds(verdict) or "object lost" in kinds(verdict)
    assert "directory above fsynced file" in roles(verdict)


def test_what_a_rename_moved_may_not_be_lost_with_its_old_directory():
    """generic/335: the old directory was fsynced, so the file is gone there; then it is in the new."""
    bench = Bench(RENAMED + "  fsync A\n")
    assert kinds(durable.judge(bench.case(without(bench.tree(), "B/foo")))) == {"object lost"}


def test_link_then_unlink_may_lose_what_no_call_made_durable():
    """Not a rename: the new name was never promised, and the old one is promised gone."""
    text = "setup\n  mkdir A\n  mkdir B\n  creat A/foo\nrun\n  link A/foo B/foo\n  unlink A/foo\n  fsync A\n"
    bench = Bench(text)
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "B/foo"))))


UNCOVERED = "setup\n  creat foo\nrun\n  unlink foo\n  creat b\n  rename b foo\n  fsync foo\n"


def test_a_removed_fsynced_name_may_uncover_its_older_owner_on_btrfs():
    """The older owner's removal was never fsynced."""
    bench = Bench(UNCOVERED + "  unlink foo\n")
    old = also(bench.tree(), "foo", node_at(bench.tree(0), "foo"))
    assert not kinds(durable.judge(bench.case(old)))


def test_while_the_fsynced_name_is_there_its_older_owner_is_not():
    """Nothing removed the name."""
    bench = Bench(UNCOVERED)
    old = also(without(bench.tree(), "foo"), "foo", node_at(bench.tree(0), "foo"))
    assert kinds(durable.judge(bench.case(old))) == {"wrong object"}


def test_a_removed_directory_may_be_back_under_an_older_name_on_btrfs():
    """rmdir takes it out of the log, which alone knew of the rename."""
    text = "setup\n  mkdir bar\nrun\n  rename bar c\n  fsync c\n  rmdir c\n  creat foo\n  fsync foo\n"
    for name, expected in (("btrfs", set()), ("xfs", {"name came back"})):
        bench = Bench(text, name)
        tree = also(bench.tree(), "bar", node_at(bench.tree(0), "bar"))
        if name == "xfs":
            tree = tuple(msgspec.structs.replace(n, ino=500) if n.path == "foo" else n for n in tree)
        assert expected <= kinds(durable.judge(bench.case(tree)))
        assert expected or not kinds(durable.judge(bench.case(tree)))


def test_a_reused_inode_number_does_not_accuse():
    """ext4 gives the number of the unlinked file to the next one: both readings are tried."""
    bench = Bench("setup\n  write foo 0 4K\nrun\n  unlink foo\n  write foo 0 8K\n  fsync foo\n", "ext4")
    assert node_at(bench.tree(0), "foo").ino == node_at(bench.tree(), "foo").ino
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert not kinds(durable.judge(bench.case(bench.tree(0), begun=2)))
    assert kinds(durable.judge(bench.case(bench.tree(0))))


def test_a_sync_promises_symlink_and_link_count():
    """The target is the symlink's content; one name is one link."""
    bench = Bench("run\n  symlink over-there s\n  creat f\n  sync\n")
    target = replaced(bench.tree(), "s", target="elsewhere!")
    assert kinds(durable.judge(bench.case(target))) == {"target lost"}
    links = replaced(bench.tree(), "f", nlink=2)
    assert kinds(durable.judge(bench.case(links))) == {"link count lost"}


def test_nothing_is_asked_without_a_tree():
    """A refused mount is told by mounts."""
    bench = Bench(FSYNCED)
    assert durable.judge(bench.case(None, mount_errno=5)) is None


def test_content_that_cannot_be_read_is_lost():
    """EIO where bytes were promised."""
    bench = Bench(FSYNCED)
    tree = replaced(bench.tree(), "foo", content=(), errors=("read: EIO",))
    assert kinds(durable.judge(bench.case(tree))) == {"data unreadable"}


REPLACED = """setup
  mkdir A
  write A/foo 0 8K
run
  write A/foo.tmp 0 8K
  {between}rename A/foo.tmp A/foo
  creat bar
  fsync bar
"""


def empty_foo(bench, done=None, **changes):
    """The tree with A/foo as it is when its data never reached the disk."""
    return replaced(bench.tree(done), "A/foo", **{"size": 0, "content": (), "blocks": 0, **changes})


def replaced_by(between=""):
    return REPLACED.format(between=f"{between}\n  " if between else "")


def test_a_file_renamed_over_another_on_ext4_keeps_its_size():
    """auto_da_alloc: a name that leads to the new file, and the new file empty, is BROKEN."""
    bench = Bench(replaced_by(), "ext4")
    verdict = durable.judge(bench.case(empty_foo(bench)))
    assert kinds(verdict) == {"size lost"}
    assert roles(verdict) == {"replacing file"}
    assert "auto_da_alloc" in verdict.violations[0].promise
    assert not kinds(durable.judge(bench.case(bench.tree())))


@pytest.mark.parametrize(
    ("name", "tier"), [("btrfs", Tier.FS), ("xfs", Tier.FS), ("ext4", Tier.POSIX), ("ext4", Tier.SOMC)]
)
def test_only_ext4_promises_the_size_of_a_replacement(name, tier):
    """An option of ext4, no rule of rename(2)."""
    bench = Bench(replaced_by(), name, tier)
    assert not kinds(durable.judge(bench.case(empty_foo(bench))))


def test_a_rename_in_flight_that_is_seen_promises_the_size():
    """ext4 flushes before it renames."""
    bench = Bench(replaced_by(), "ext4")
    case = bench.case(empty_foo(bench, 2), 2, flying=True)
    assert kinds(durable.judge(case)) == {"size lost"}


def test_a_replacement_that_is_not_seen_promises_nothing():
    """The old file under its name, the new one empty under its own."""
    bench = Bench(replaced_by(), "ext4")
    tree = replaced(bench.tree(1), "A/foo.tmp", size=0, content=(), blocks=0)
    assert not kinds(durable.judge(bench.case(tree, 2)))


def test_a_rename_to_a_free_name_promises_no_size():
    """ext4_rename() flushes only when there is a file to replace."""
    bench = Bench(replaced_by().replace("A/foo.tmp A/foo", "A/foo.tmp A/new"), "ext4")
    tree = replaced(bench.tree(), "A/new", size=0, content=(), blocks=0)
    assert not kinds(durable.judge(bench.case(tree)))


def test_bytes_of_a_replacement_may_be_zero():
    """dioread_nolock: the blocks are allocated unwritten, and no commit waits for their data."""
    bench = Bench(replaced_by(), "ext4")
    tree = replaced(bench.tree(), "A/foo", content=(Run(0, 8192, "z"),))
    assert not kinds(durable.judge(bench.case(tree)))


def test_a_truncate_after_the_rename_may_shrink_a_replacement():
    """What came later may be there."""
    bench = Bench(replaced_by() + "  truncate A/foo 0\n", "ext4")
    assert not kinds(durable.judge(bench.case(empty_foo(bench))))


@pytest.mark.parametrize(
    "between",
    [
        "append A/foo.tmp 512",
        "link A/foo.tmp other",
        "setxattr A/foo.tmp user.x 1",
        "evict A/foo",
        "fsync A/foo",
        "fsync .",
    ],
)
def test_what_leaves_the_reservation_leaves_the_promise(between):
    """Blocks of the new file are still to be allocated."""
    bench = Bench(replaced_by(between), "ext4")
    assert kinds(durable.judge(bench.case(empty_foo(bench)))) == {"size lost"}


@pytest.mark.parametrize(
    "between",
    [
        "truncate A/foo.tmp 9K",
        "fallocate A/foo.tmp keep-size 0 16K",
        "fsync A/foo.tmp\n  append A/foo.tmp 512",
    ],
)
def test_a_file_with_more_than_writes_before_the_rename_is_not_asked(between):
    """Without a block reservation ext4_alloc_da_blocks() does nothing."""
    bench = Bench(replaced_by(between), "ext4")
    last = bench.model.base_time + len(bench.history.run)
    assert bench.prepared.allowed(bench.history.entry_count).now == last
    assert not bench.prepared.allowed(bench.history.entry_count).replacing_renames()


def test_a_truncate_through_a_symlink_before_the_rename_leaves_it_unasked():
    """The recorded inode is the symlink's."""
    text = "setup\n  creat foo\n  symlink tmp s\nrun\n  write tmp 0 4K\n  truncate tmp 0\n  rename tmp foo\n"
    bench = Bench(text, "ext4")
    number = node_at(bench.tree(), "s").ino
    through = bench.history.run[1]
    operation = msgspec.structs.replace(through.operation, path="s")
    through = msgspec.structs.replace(through, operation=operation, inode=number)
    run = (bench.history.run[0], through, bench.history.run[2])
    prepared = prepare(msgspec.structs.replace(bench.history, run=run), profile("ext4"))
    assert not prepared.allowed(bench.history.entry_count).replacing_renames()


def test_a_replacement_with_a_used_inode_number_is_not_asked():
    """The new file has the number of one that is gone: which of them is empty cannot be told."""
    text = "setup\n  creat foo\n  creat old\nrun\n  unlink old\n  write tmp 0 4K\n  rename tmp foo\n"
    bench = Bench(text, "ext4")
    assert bench.model.ids(node_at(bench.tree(), "foo").ino, "file", 99)[1:]
    tree = replaced(bench.tree(), "foo", size=0, content=(), blocks=0)
    assert not kinds(durable.judge(bench.case(tree)))


def test_a_file_that_had_the_name_before_is_not_asked():
    """The name leads to the file, and yet the second rename may not be on disk."""
    text = "run\n  write foo 0 4K\n  rename foo b\n  creat foo\n  append b 4K\n  rename b foo\n"
    bench = Bench(text, "ext4")
    tree = replaced(bench.tree(), "foo", size=0, content=(), blocks=0)
    assert not kinds(durable.judge(bench.case(tree)))


def test_a_replacement_from_before_the_last_sync_is_not_asked():
    """Its blocks are allocated already, so an append may have reserved none."""
    text = "setup\n  creat foo\n  write tmp 0 512\nrun\n  append tmp 512\n  rename tmp foo\n"
    bench = Bench(text, "ext4")
    tree = replaced(bench.tree(), "foo", size=512, content=(Run(0, 512, "w", 2),))
    assert not kinds(durable.judge(bench.case(tree)))


def test_a_replacement_that_was_fsynced_is_accused_once():
    """The fsync is the stronger promise."""
    bench = Bench(replaced_by() + "  fsync A/foo\n", "ext4")
    violations = durable.judge(bench.case(empty_foo(bench))).violations
    assert [violation.role for violation in violations if violation.kind == "size lost"] == ["fsynced file"]


def test_a_failed_call_before_the_rename_leaves_it_unasked():
    """An append that failed may have done part of its work."""
    bench = Bench(replaced_by("append A/foo.tmp 512"), "ext4")
    run = [msgspec.structs.replace(s, result=-5) if s.index == 3 else s for s in bench.history.run]
    history = msgspec.structs.replace(bench.history, run=tuple(run))
    case = prepare(history, profile("ext4")).case(15, Observation(tree=empty_foo(bench)))
    assert not kinds(durable.judge(case))


@pytest.mark.parametrize(
    ("text", "path", "role"),
    [
        ("run\n  creat foo\n  fsync foo\n", "foo", "fsynced file"),
        ("setup\n  creat foo\nrun\n  rename foo bar\n  fsync bar\n", "bar", "renamed fsynced file"),
        ("setup\n  creat foo\nrun\n  link foo bar\n  fsync bar\n", "bar", "hard-linked fsynced file"),
        ("run\n  mkdir A\n  creat A/foo\n  fsync A\n", "A/foo", "entry of fsynced directory"),
        (
            "setup\n  mkdir A\n  creat foo\nrun\n  link foo A/foo\n  fsync A\n",
            "A/foo",
            "hard-linked entry of fsynced directory",
        ),
    ],
)
def test_the_role_of_a_lost_name_says_how_it_was_made(text, path, role):
    """Whatever it is called: a lost link and a lost rename are two findings."""
    bench = Bench(text)
    verdict = durable.judge(bench.case(without(bench.tree(), path)))
    assert (kinds(verdict), roles(verdict)) == ({"name lost"}, {role})


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("setup\n  creat foo\n  link foo b\nrun\n  rename foo bar\n  fsync bar\n", "renamed fsynced file"),
        ("setup\n  creat foo\n  link foo bar\nrun\n  unlink foo\n  fsync bar\n", "unlinked fsynced file"),
    ],
)
def test_the_role_of_a_name_that_came_back_says_how_it_went(text, role):
    bench = Bench(text)
    tree = also(bench.tree(), "foo", node_at(bench.tree(), "bar"))
    verdict = durable.judge(bench.case(tree))
    assert (kinds(verdict), roles(verdict)) == ({"name came back"}, {role})


CLOCKED = "setup\n  write foo 0 8K\nrun\n  write foo 0 4K\n  fsync foo\n"


@pytest.mark.parametrize(("times", "expected"), [((7, 0), "mtime lost"), ((0, 7), "ctime lost")])
def test_fsync_promises_the_times_that_a_clock_set(times, expected):
    """generic/392: as they were at the fsync, to the nanosecond; not asked where the walk told none."""
    bench = Bench(CLOCKED)
    tree = replaced(bench.tree(), "foo", times=(0, 0))
    assert not kinds(durable.judge(bench.case(tree)))
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(replaced(tree, "foo", times=times)))) == {expected}


@pytest.mark.parametrize(
    "later", ["write foo 0 4K", "chmod foo 600", "setxattr foo user.x 1", "link foo bar", "rename foo bar"]
)
def test_a_later_change_may_have_set_the_times(later):
    """And a call that failed may have done so, too; an fsync of another file sets nothing."""
    bench = Bench(CLOCKED + f"  {later}\n")
    path = "bar" if later.startswith("rename") else "foo"
    tree = replaced(bench.tree(), path, times=(7, 7))
    assert not kinds(durable.judge(bench.case(tree)))
    bench = Bench(CLOCKED + "  creat other\n  fsync other\n")
    tree = replaced(bench.tree(), "foo", times=(7, 7))
    assert kinds(durable.judge(bench.case(tree))) == {"mtime lost"}


CLOCKED_DIRECTORY = (
    "setup\n  mkdir A\n  creat A/foo\n  creat A/bar\nrun\n  unlink A/foo\n  creat A/new\n  fsync A\n"
)


@pytest.mark.parametrize(("times", "expected"), [((7, 0), "mtime lost"), ((0, 7), "ctime lost")])
def test_fsync_of_a_directory_promises_its_times_on_btrfs(times, expected):
    """f022499f24e5 and generic/547; not asked where the walk reported none, nor below tier fs."""
    bench = Bench(CLOCKED_DIRECTORY)
    tree = replaced(bench.tree(), "A", times=(0, 0))
    assert not kinds(durable.judge(bench.case(tree)))
    assert not kinds(durable.judge(bench.case(bench.tree())))
    wrong = replaced(tree, "A", times=times)
    verdict = durable.judge(bench.case(wrong))
    assert (kinds(verdict), roles(verdict)) == ({expected}, {"fsynced directory"})
    assert "f022499f24e5" in verdict.violations[0].promise
    assert not kinds(durable.judge(Bench(CLOCKED_DIRECTORY, tier=Tier.POSIX).case(wrong)))


@pytest.mark.parametrize("name", ["xfs", "f2fs"])
def test_fsync_of_a_directory_promises_its_times_on_xfs_and_f2fs(name):
    bench = Bench(CLOCKED_DIRECTORY, name)
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "A", times=(0, 0)))))
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "A", times=(7, 7))))) == {"mtime lost"}


LABELLED = "setup\n  mkdir A\nrun\n  setxattr A user.label 1\n  write A/foo 0 4K\n  fsync A/foo\n"


@pytest.mark.parametrize(("name", "expected"), [("f2fs", {"xattr lost"}), ("ext4", set())])
def test_the_first_fsync_of_a_new_file_keeps_the_attributes_of_its_directory_on_f2fs(name, expected):
    """bbf156f7afa7 ("f2fs: fix lost xattrs of directories"). On ext4 it is the oracle `ordered` that asks."""
    bench = Bench(LABELLED, name)
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "A", xattrs={})))) == expected


@pytest.mark.parametrize(
    "lines",
    [
        "write A/foo 0 4K\n  setxattr A user.label 1\n  fsync A/foo",
        "setxattr A user.label 1\n  write A/old 0 4K\n  fsync A/old",
        "setxattr A user.label 1\n  creat A/foo\n  creat B\n  fsync B",
        "setxattr A user.label 1\n  creat bar\n  link bar A/foo\n  fsync A/foo",
    ],
)
def test_attributes_of_a_directory_are_not_asked_of_a_file_that_is_older_or_elsewhere(lines):
    bench = Bench(f"setup\n  mkdir A\n  creat A/old\nrun\n  {lines}\n", "f2fs")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "A", xattrs={}))))


def test_on_ext4_the_times_of_a_fsynced_directory_are_not_asked():
    bench = Bench(CLOCKED_DIRECTORY, "ext4")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "A", times=(7, 7)))))


@pytest.mark.parametrize(
    "later", ["creat A/later", "unlink A/bar", "rename A/bar A/bar2", "link A/bar A/bar2", "mkdir A/C"]
)
def test_a_later_entry_may_have_set_the_times_of_its_directory(later):
    """One in another directory has not, nor has a write to a file in it."""
    bench = Bench(CLOCKED_DIRECTORY + f"  {later}\n")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "A", times=(7, 7)))))
    bench = Bench(CLOCKED_DIRECTORY + "  creat other\n  write A/bar 0 4K\n  fsync A/bar\n")
    wrong = replaced(bench.tree(), "A", times=(7, 7))
    assert kinds(durable.judge(bench.case(wrong))) == {"mtime lost"}


def test_of_a_fsynced_directory_that_was_renamed_only_the_mtime_is_asked():
    """Replay takes its old name away, which sets its ctime, on 7.2 as well."""
    bench = Bench("setup\n  mkdir A\nrun\n  rename A B\n  creat B/foo\n  fsync B\n")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "B", times=(0, 7)))))
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "B", times=(7, 7))))) == {"mtime lost"}


@pytest.mark.parametrize("call", ["fsync A/new", "fdatasync A", "sync"])
def test_times_of_a_directory_that_was_not_fsynced_itself_are_not_asked(call):
    """It may be in the log as a directory above a file, with as much as that file needs."""
    bench = Bench(CLOCKED_DIRECTORY.replace("fsync A\n", f"{call}\n"))
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "A", times=(7, 7)))))


def test_a_truncate_that_is_durable_has_given_its_blocks_back():
    """Not what a later reservation has, nor what the trees of the file may need."""
    text = "run\n  write foo 0 2M\n  truncate foo 64K\n  fsync foo\n"
    for rest, blocks, expected in (
        ("", 128, set()),
        ("", 640, set()),
        ("", 4096, {"blocks kept behind the end"}),
        ("  fallocate foo keep-size 64K 2M\n", 4096, set()),
        ("  truncate foo 2M\n", 4096, set()),
    ):
        bench = Bench(text + rest)
        tree = replaced(bench.tree(), "foo", blocks=blocks)
        assert kinds(durable.judge(bench.case(tree))) == expected, (rest, blocks)


CUT = "run\n  write foo 0 128K\n  fsync foo\n  truncate foo 20K\n"


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs", "f2fs"])
@pytest.mark.parametrize(
    ("rest", "start", "end", "expected"),
    [
        ("", 32768, 131072, {"data lost"}),
        ("", 65536, 69632, {"data lost"}),
        ("  append foo 8K\n", 32768, 131072, {"data lost"}),
        # The rest of the block, or cluster, of the new end: zeroed in memory, and written like any other.
        ("", 20480, 32768, set()),
        # These have made it as long again, and what they wrote may not be there.
        ("  truncate foo 128K\n", 32768, 131072, set()),
        ("  write foo 124K 8K\n", 32768, 131072, set()),
    ],
)
def test_what_a_truncate_cuts_off_is_there_as_long_as_the_size_is(name, rest, start, end, expected):
    """Or blocks were discarded, or given to another file, before the truncate was durable."""
    bench = Bench(CUT + rest, name)
    content = (Run(0, start, "w", 1), Run(start, end - start, "z"), Run(end, 131072 - end, "w", 1))
    tree = replaced(bench.tree(), "foo", size=131072, content=tuple(run for run in content if run.length))
    assert kinds(durable.judge(bench.case(tree))) == expected


def test_preallocation_is_promised_at_its_place():
    """generic/677: as many blocks elsewhere are not those that were reserved."""
    text = "run\n  write foo 0 8K\n  fallocate foo keep-size 16K 8K\n  fsync foo\n"
    bench = Bench(text)
    good = ((0, 8192, 0), (16384, 24576, 1))
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", extents=good))))
    moved = replaced(bench.tree(), "foo", extents=((0, 16384, 0),))
    assert kinds(durable.judge(bench.case(moved))) == {"preallocation lost"}
    assert not kinds(durable.judge(bench.case(replaced(moved, "foo", extents=None))))


def test_blocks_in_several_extents_are_blocks():
    """Neighbours, however the filesystem cut them, written or reserved."""
    bench = Bench("run\n  fallocate foo alloc 0 16K\n  fsync foo\n".replace("run\n", "run\n  creat foo\n"))
    parts = ((0, 4096, 0), (4096, 8192, 1), (8192, 20480, 0))
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", extents=parts))))


def test_times_of_a_file_that_got_a_name_are_not_asked():
    """btrfs's replay of the name sets them anew; and where more is lost, that is told."""
    bench = Bench("setup\n  write foo 0 8K\nrun\n  link foo bar\n  write foo 0 4K\n  fsync foo\n")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", times=(7, 7)))))
    bench = Bench(CLOCKED)
    old = replaced(bench.tree(0), "foo", times=(7, 7))
    assert kinds(durable.judge(bench.case(old))) == {"data lost"}


LOST_BY_FSYNC = "setup\n  creat foo\nrun\n  rename foo bar\n  creat foo\n  fsync foo\n"


@pytest.mark.parametrize(("name", "expected"), [("f2fs", set()), ("f2fs-strict", {"object lost"})])
def test_f2fs_promises_the_renamed_file_in_strict_mode_alone(name, expected):
    """generic/342; Documentation/filesystems/f2fs.rst, fsync_mode."""
    bench = Bench(LOST_BY_FSYNC, name)
    tree = without(bench.tree(), "bar")
    assert kinds(durable.judge(bench.case(tree))) == expected


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("ext4", (Run(0, 4096, "w", 1), Run(4096, 4096, "x", 0, "c3" * 4096)), {"data lost"}),
        ("ext4-writeback", (Run(0, 4096, "w", 1), Run(4096, 4096, "x", 0, "c3" * 4096)), set()),
        ("ext4-writeback", (Run(0, 4096, "x", 0, "c3" * 4096), Run(4096, 4096, "w", 3)), {"data lost"}),
    ],
)
def test_data_writeback_may_show_stale_bytes_in_what_was_not_synced_alone(name, content, expected):
    """What an fsync wrote stays; what was appended since may hold anything."""
    bench = Bench("run\n  write foo 0 4K\n  fsync foo\n  append foo 4K\n", name)
    tree = replaced(bench.tree(), "foo", content=content)
    assert kinds(durable.judge(bench.case(tree))) == expected


@pytest.mark.parametrize(("name", "expected"), [("xfs", False), ("btrfs", True), ("ext4", True)])
def test_what_leaves_the_cache_of_xfs_may_have_been_committed(name, expected):
    """Then an fsync of the directory above the new one has nothing to force."""
    bench = Bench("run\n  mkdir dir\n  evict .\n  creat dir/foo\n  fsync .\n", name)
    found = kinds(durable.judge(bench.case(without(bench.tree(), "dir/foo"))))
    assert bool(found) is expected
    before = Bench("run\n  mkdir dir\n  creat dir/foo\n  evict .\n  fsync .\n", name)
    assert kinds(durable.judge(before.case(without(before.tree(), "dir/foo"))))


NEW_BELOW = "run\n  mkdir dir\n  creat dir/foo\n  mkdir dir/sub\n  creat dir/sub/bar\n"


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs", "f2fs"])
def test_fsync_of_a_directory_promises_the_entries_of_new_ones_below(name):
    """generic/785: not only the new directory's own name."""
    bench = Bench(NEW_BELOW + "  fsync .\n", name)
    for path in ("dir/foo", "dir/sub", "dir/sub/bar"):
        verdict = durable.judge(bench.case(without(bench.tree(), path)))
        assert roles(verdict) == {"entry of new directory below fsynced one"}, path
        assert verdict.violations[0].tier is Tier.FS


def test_an_old_directory_below_a_fsynced_one_keeps_its_entries_to_itself():
    """de6bc7f59896 ("btrfs: stop trying to log subdirectories created in past transactions")."""
    bench = Bench("setup\n  mkdir dir\nrun\n  creat dir/foo\n  mkdir new\n  fsync .\n")
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "dir/foo"))))


def test_a_new_directory_that_moved_on_promises_nothing_where_it_was():
    """Nobody fsynced the directory it is in now."""
    bench = Bench("setup\n  mkdir A\nrun\n  mkdir dir\n  creat dir/foo\n  rename dir A/dir\n  fsync .\n")
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "A/dir"))))


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("btrfs", {"dir/early": set(), "dir/late": set()}),
        ("xfs", {"dir/early": {"name lost"}, "dir/late": set()}),
        ("ext4", {"dir/early": {"name lost"}, "dir/late": {"name lost"}}),
        ("f2fs", {"dir/early": {"name lost"}, "dir/late": {"name lost"}}),
    ],
)
def test_a_call_in_between_may_have_committed_or_logged(name, lost):
    """Only ext4 and f2fs write everything when a directory is fsynced."""
    text = (
        "run\n  mkdir dir\n  creat dir/early\n  creat dir/foo\n  fsync dir/foo\n  creat dir/late\n  fsync .\n"
    )
    bench = Bench(text, name)
    for path, expected in lost.items():
        assert kinds(durable.judge(bench.case(without(bench.tree(), path)))) == expected, path


def test_a_name_given_after_an_fsync_may_log_the_new_directory_beside_it():
    """btrfs logs the new directory with the entries it has at the rename, and leaves it so."""
    text = "setup\n  creat file1\nrun\n  write file1 0 1K\n  fsync file1\n  mkdir dir\n  creat dir/foo\n"
    bench = Bench(text + "  rename file1 file2\n  creat dir/late\n  fsync .\n")
    assert kinds(durable.judge(bench.case(without(bench.tree(), "dir/foo")))) == {"name lost"}
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "dir/late"))))


def test_a_file_that_left_a_new_directory_is_not_asked_for_there():
    """Its old name may be there, or not, and so may the file."""
    text = (
        "setup\n  mkdir A\nrun\n  mkdir dir\n  creat dir/foo\n  creat x\n  fsync x\n  rename dir/foo A/foo\n"
    )
    bench = Bench(text + "  fsync .\n", "xfs")
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "A/foo"))))


ONE_OF_TWO = "setup\n  mkdir A\n  creat A/foo\n  creat A/bar\nrun\n  link A/bar A/bar2\n"


def test_fsync_of_a_renamed_or_linked_file_promises_its_directory_on_btrfs():
    """generic/104: the other file's new name, too."""
    bench = Bench(ONE_OF_TWO + "  link A/foo A/foo2\n  fsync A/bar\n")
    tree = replaced(without(bench.tree(), "A/foo2"), "A/foo", nlink=1)
    verdict = durable.judge(bench.case(tree))
    assert kinds(verdict) == {"name lost"}
    assert roles(verdict) == {"hard-linked entry of a directory that had the fsynced file"}


def test_what_was_moved_out_of_the_directory_of_a_fsynced_file_is_durable_there():
    """generic/336: one that lost a name in the directory that another left."""
    text = "setup\n  mkdir a\n  mkdir b\n  mkdir c\n  creat a/foo\n  link a/foo b/foo2\n  creat b/bar\n"
    bench = Bench(text + "run\n  unlink b/foo2\n  rename b/bar c/bar\n  fsync a/foo\n")
    bar = node_at(bench.tree(), "c/bar")
    tree = also(without(bench.tree(), "c/bar"), "b/bar", bar)
    assert "name came back" in kinds(durable.judge(bench.case(tree)))


@pytest.mark.parametrize(
    "rest",
    [
        "  creat A/x\n  fsync A/x\n  creat A/y\n  fsync A/bar\n",  # A may be in the log already
        "  creat A/y\n  fsync A/foo\n",  # nothing about its names
    ],
)
def test_the_directory_of_a_fsynced_file_is_promised_at_the_first_fsync_of_a_changed_one(rest):
    """Only where the log has to have it."""
    bench = Bench(ONE_OF_TWO + rest)
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "A/y"))))


def test_the_directory_of_a_fsynced_file_is_promised_by_btrfs_alone():
    """Elsewhere it is in the same transaction, or not."""
    bench = Bench(ONE_OF_TWO + "  link A/foo A/foo2\n  fsync A/bar\n", "ext4")
    tree = replaced(without(bench.tree(), "A/foo2"), "A/foo", nlink=1)
    assert not kinds(durable.judge(bench.case(tree)))


def test_fdatasync_promises_reserved_blocks():
    """Tier fs alone: generic/468 compares them, fdatasync(2) does not ask for them."""
    text = "run\n  write foo 0 4K\n  fsync foo\n  fallocate foo keep-size 4K 64K\n  fdatasync foo\n"
    for tier, expected in ((Tier.FS, {"preallocation lost"}), (Tier.POSIX, set())):
        bench = Bench(text, tier=tier)
        assert kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", blocks=8)))) == expected


def test_of_a_fsynced_file_that_was_renamed_only_the_mtime_is_asked():
    """btrfs/236 compares both, to the second; replay sets the ctime anew."""
    bench = Bench("setup\n  creat foo\nrun\n  rename foo bar\n  write bar 0 4K\n  fsync bar\n")
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "bar", times=(1, 0))))) == {"mtime lost"}
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "bar", times=(0, 1)))))


def test_fsync_promises_the_names_of_those_that_had_its_name_on_btrfs():
    """generic/502: both names of a file moved on, and a new file has the one."""
    text = "setup\n  creat foo\n  link foo bar\nrun\n  rename foo baz\n  rename bar foo\n"
    text += "  creat bar\n  fsync bar\n"
    for name, expected in (("btrfs", {"renamed former owner of a fsynced name"}), ("ext4", set())):
        bench = Bench(text, name)
        tree = replaced(without(bench.tree(), "baz"), "foo", nlink=1)
        assert roles(durable.judge(bench.case(tree))) == expected


LOGGED = "setup\n  mkdir A\n  write A/foo 0 4K\n  setxattr A/foo user.x 1\n  creat other\n"


def test_a_link_of_a_logged_file_is_durable_after_the_next_fsync_on_btrfs():
    """generic/066: with its attributes; what came after it is not asked."""
    text = "run\n  append A/foo 4K\n  fsync A/foo\n  removexattr A/foo user.x\n  link A/foo bar\n"
    bench = Bench(LOGGED + text + "  chmod A/foo 600\n  append other 4K\n  fsync other\n")
    lost = replaced(without(bench.tree(), "bar"), "A/foo", nlink=1)
    assert roles(durable.judge(bench.case(lost))) == {"hard-linked logged file"}

    def both(**changes):
        return bench.case(replaced(replaced(bench.tree(), "A/foo", **changes), "bar", **changes))

    assert kinds(durable.judge(both(xattrs={"user.x": b"1".hex()}))) == {"xattr came back"}
    assert not kinds(durable.judge(both(mode=0o644)))


@pytest.mark.parametrize(
    "text",
    [
        "run\n  fsync A/foo\n  link A/foo bar\n  append other 4K\n  fsync other\n",  # it had nothing to write
        "run\n  append A/foo 4K\n  fsync A/foo\n  link A/foo bar\n  fsync other\n",  # nor has this one
        "run\n  creat new\n  unlink new\n  append A/foo 4K\n  fsync A/foo\n  link A/foo bar\n"
        "  append other 4K\n  fsync other\n",  # it may have committed
    ],
)
def test_a_link_of_what_may_not_be_in_the_log_is_not_promised(text):
    """Then the next fsync writes another log, or none."""
    bench = Bench(LOGGED + text)
    tree = replaced(without(bench.tree(), "bar"), "A/foo", nlink=1)
    assert not kinds(durable.judge(bench.case(tree)))


@pytest.mark.parametrize(
    ("then", "broken"), [("fsync A", False), ("chmod A 700\n  fsync A", True), ("creat A/x\n  fsync A", True)]
)
def test_an_fsync_of_what_was_logged_with_a_directory_above_writes_nothing(then, broken):
    """So it takes no name along."""
    bench = Bench(f"run\n  mkdir A\n  fsync .\n  creat foo\n  rename foo bar\n  {then}\n")
    found = roles(durable.judge(bench.case(without(bench.tree(), "bar"))))
    assert ("renamed logged file" in found) is broken


@pytest.mark.parametrize(("length", "broken"), [("128K", True), ("256K", False), ("132K", False)])
def test_an_extent_that_may_need_a_new_block_group_makes_the_fsync_commit_everything(length, broken):
    """Then the rename belongs to the next transaction, in which nothing was logged."""
    text = f"setup\n  creat foo\nrun\n  fallocate foo alloc 0 {length}\n  creat bar\n  fsync bar\n"
    bench = Bench(text + "  rename bar baz\n  fsync foo\n")
    tree = also(without(bench.tree(), "baz"), "bar", node_at(bench.tree(), "baz"))
    assert ("renamed logged file" in roles(durable.judge(bench.case(tree)))) is broken


def test_what_left_a_logged_directory_is_durable_after_the_next_fsync():
    """btrfs/239."""
    text = (
        "setup\n  mkdir A\n  mkdir A/dir\n  creat A/one\nrun\n  chmod A 700\n  fsync A\n  rename A/dir dir\n"
    )
    bench = Bench(text + "  write A/one 0 4K\n  fsync A/one\n")
    tree = also(without(bench.tree(), "dir"), "A/dir", node_at(bench.tree(), "dir"))
    assert {"logged directory", "renamed logged directory"} & roles(durable.judge(bench.case(tree)))


@pytest.mark.parametrize(("name", "expected"), [("xfs", set()), ("ext4", {"preallocation lost"})])
def test_zero_range_of_xfs_may_show_its_hole_until_it_is_durable(name, expected):
    """It gives the blocks back in one transaction, and takes others in the next."""
    words = "setup\n  write foo 0 16K\nrun\n  fallocate foo zero-range 4K 8K\n  fsync foo\n"
    bench = Bench(words, name)
    hole = replaced(bench.tree(1), "foo", blocks=16)
    assert kinds(durable.judge(bench.case(hole, begun=1))) == expected
    assert kinds(durable.judge(bench.case(hole))) == {"preallocation lost"}


@pytest.mark.parametrize(("name", "expected"), [("ext4", set()), ("btrfs", {"preallocation lost"})])
def test_zero_range_of_ext4_beside_a_sync_may_show_a_hole_for_what_was_in_memory(name, expected):
    """It drops the pages in front of the transaction that takes blocks. Once it is durable they are asked
    for, and so they are where nothing is beside it."""
    call = "fallocate foo zero-range 60K 4K\n"
    words = (
        f"run\n  write foo 0 64K\n  parallel\n    thread\n      syncfs\n    thread\n      {call}  fsync foo\n"
    )
    bench = Bench(words, name)
    hole = replaced(bench.tree(1), "foo", blocks=120)
    assert kinds(durable.judge(bench.case(hole, begun=3))) == expected
    assert "preallocation lost" in kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", blocks=120))))
    alone = Bench(f"run\n  write foo 0 64K\n  syncfs\n  {call}", name)
    hole = replaced(alone.tree(1), "foo", blocks=120)
    assert kinds(durable.judge(alone.case(hole, begun=3))) == {"preallocation lost"}


@pytest.mark.parametrize(("name", "expected"), [("xfs", set()), ("ext4", {"size lost"})])
def test_a_longer_truncate_of_xfs_may_have_written_its_zeros_alone(name, expected):
    """The size on disk follows the block with zeros behind the old end."""
    words = "setup\n  write foo 0 20001\nrun\n  truncate foo 64K\n  fsync foo\n"
    bench = Bench(words, name)
    tree = replaced(bench.tree(0), "foo", size=20480, content=(Run(0, 20001, "w", 1), Run(20001, 20480, "z")))
    assert kinds(durable.judge(bench.case(tree, begun=1))) == expected
    assert "size lost" in kinds(durable.judge(bench.case(tree)))


@pytest.mark.parametrize(("name", "expected"), [("ext4", {"data lost"}), ("ext4-writeback", set())])
def test_blocks_of_a_removed_file_may_be_gone_before_the_removal_is_on_disk_in_writeback_mode(name, expected):
    """A crash takes the removal back; what was discarded meanwhile reads as zeros. One name that stays keeps
    the blocks."""
    zeros = (Run(0, 8192, "z"),)
    bench = Bench("setup\n  write foo 0 8K\nrun\n  unlink foo\n", name)
    assert kinds(durable.judge(bench.case(replaced(bench.tree(0), "foo", content=zeros)))) == expected
    assert kinds(durable.judge(bench.case(replaced(bench.tree(0), "foo", content=zeros), begun=0))) == {
        "data lost"
    }
    bench = Bench("setup\n  write foo 0 8K\n  link foo bar\nrun\n  unlink foo\n", name)
    both = replaced(replaced(bench.tree(0), "foo", content=zeros), "bar", content=zeros)
    assert kinds(durable.judge(bench.case(both))) == {"data lost"}
