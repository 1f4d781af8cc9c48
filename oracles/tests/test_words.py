"""Words beyond the plain ones: for each what must be there, and that a tree without it is BROKEN."""

import errno

import msgspec
import pytest

from oracles import atomic, durable, historical, ordered
from oracles.case import prepare
from oracles.observation import Run
from oracles.profiles import profile
from oracles.tests.made import Bench, history_of, kinds, node_at, replaced, without
from workloads.text import parse

JOURNALS = ["btrfs", "ext4", "xfs"]


# --- bytes that look like those of a journal


def test_a_block_with_the_magic_holds_it_and_nothing_else():
    """Without it the bytes are those of no call; with the rest of them zero they are lost."""
    bench = Bench("setup\n  write foo 0 4K\nrun\n  pwrite foo 0 4K jbd2-magic\n  fsync foo\n", "ext4")
    whole = node_at(bench.tree(), "foo").content
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert "".join(run.hex for run in whole).startswith("c03b3998")
    for runs in ((Run(0, 4096, "w", 2),), (Run(0, 4096, "z"),)):
        tree = replaced(bench.tree(), "foo", content=runs)
        assert kinds(durable.judge(bench.case(tree))) == {"data lost"}


# --- rename with flags

EXCHANGE = "setup\n  write a 0 4K\n  write b 0 8K\nrun\n  rename a b exchange\n"


def numbers(bench, tree):
    return {node.path: node.ino for node in tree if node.path != "."}


def test_exchange_gives_each_file_the_other_s_name():
    """rename(2), RENAME_EXCHANGE; directories carry what is below them along."""
    bench = Bench(EXCHANGE)
    before, after = numbers(bench, bench.tree(0)), numbers(bench, bench.tree())
    assert (after["a"], after["b"]) == (before["b"], before["a"])
    bench = Bench("setup\n  mkdir A\n  creat A/f\n  creat b\nrun\n  rename A b exchange\n")
    assert [node.path for node in bench.tree()] == [".", "A", "b", "b/f"]


@pytest.mark.parametrize("name", JOURNALS)
def test_half_an_exchange_is_broken(name):
    """One file under both names and the other under none; each name leads to something."""
    bench = Bench(EXCHANGE, name)
    old = bench.tree(0)
    half = replaced(old, "b", ino=node_at(old, "a").ino, size=4096, content=node_at(old, "a").content)
    half = tuple(half)
    verdict = atomic.judge(bench.case(half, flying=True))
    assert {"both names", "no name"} <= kinds(verdict)
    assert not kinds(atomic.judge(bench.case(old, flying=True)))


@pytest.mark.parametrize("name", JOURNALS)
def test_an_exchange_loses_neither_name(name):
    """Both were synced, so after the exchange both lead to something."""
    bench = Bench(EXCHANGE, name)
    verdict = durable.judge(bench.case(without(bench.tree(), "a")))
    assert "name lost" in kinds(verdict)


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("btrfs", "fsync b", True),
        ("ext4", "fsync b", True),
        ("xfs", "fsync b", False),
        ("xfs", "fsync .", True),
    ],
)
def test_an_exchanged_name_is_promised_by_fsync(name, call, expected):
    """Afterwards its old owner may not be back. xfs logs the directories, not the files exchanged."""
    bench = Bench(EXCHANGE + f"  {call}\n", name)
    verdict = durable.judge(bench.case(bench.tree(0)))
    assert ("wrong object" in kinds(verdict)) is expected


@pytest.mark.parametrize("name", JOURNALS)
def test_a_whiteout_is_promised_with_its_directory(name):
    """A character device 0:0 stands at the old name."""
    bench = Bench("setup\n  creat a\nrun\n  rename a b whiteout\n  fsync .\n", name)
    left = node_at(bench.tree(), "a")
    assert (left.kind, left.mode, left.device) == ("chr", 0, "0:0")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(without(bench.tree(), "a")))) == {"name lost"}


def test_a_rename_that_replaces_nothing_asks_for_no_old_file():
    """noreplace: as a plain rename to a free name."""
    bench = Bench("setup\n  creat a\nrun\n  rename a b noreplace\n  fsync b\n")
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"name lost", "name came back"}


# --- device nodes and pipes

NODES = "run\n  mknod dev chr 1:3\n  mkfifo pipe\n  sync\n"


@pytest.mark.parametrize("name", JOURNALS)
def test_device_numbers_are_promised(name):
    """A node with another number is another device."""
    bench = Bench(NODES, name)
    for oracle in (durable, historical, ordered):
        assert not kinds(oracle.judge(bench.case(bench.tree())))
    other = replaced(bench.tree(), "dev", device="1:5")
    assert kinds(durable.judge(bench.case(other))) == {"device lost"}
    assert kinds(historical.judge(bench.case(other))) == {"device that never was"}
    assert kinds(ordered.judge(bench.case(other))) == {"not a prefix"}


def test_a_pipe_is_no_file():
    """A pipe that comes back as a regular file is somebody else."""
    bench = Bench(NODES)
    assert "wrong object" in kinds(durable.judge(bench.case(replaced(bench.tree(), "pipe", kind="file"))))


# --- writes that promise, mappings

THROUGH = "setup\n  write foo 0 4K\nrun\n  write foo 8K 4K\n  pwrite foo 4K 4K {}\n"


@pytest.mark.parametrize("how", ["dsync", "direct-dsync", "sync", "direct-sync"])
def test_a_synchronous_write_promises_its_range(how):
    """Zeros in it, or an end of file before it, are BROKEN."""
    bench = Bench(THROUGH.format(how))
    tree = bench.tree()
    assert not kinds(durable.judge(bench.case(tree)))
    runs = (Run(0, 4096, "w", 1), Run(4096, 8192, "z"))
    assert kinds(durable.judge(bench.case(replaced(tree, "foo", content=runs)))) == {"data lost"}
    short = replaced(tree, "foo", size=6000, content=(Run(0, 4096, "w", 1), Run(4096, 1904, "w", 3)))
    assert kinds(durable.judge(bench.case(short))) == {"size lost"}


def test_a_synchronous_write_promises_no_other_byte():
    """What was written before without the flag, behind it, may be missing; so may its size."""
    bench = Bench(THROUGH.format("dsync"))
    runs = (Run(0, 4096, "w", 1), Run(4096, 4096, "w", 3))
    for size, more in ((12288, (Run(8192, 4096, "z"),)), (8192, ())):
        tree = replaced(bench.tree(), "foo", size=size, blocks=16, content=(*runs, *more))
        assert not kinds(durable.judge(bench.case(tree))), size


def test_a_direct_write_promises_nothing():
    """O_DIRECT alone flushes nothing."""
    bench = Bench(THROUGH.format("direct"))
    assert not kinds(durable.judge(bench.case(bench.tree(0))))


def test_o_sync_promises_attributes_and_o_dsync_does_not():
    """open(2): O_SYNC as fsync, O_DSYNC as fdatasync."""
    text = "setup\n  write foo 0 4K\nrun\n  setxattr foo user.x 1\n  pwrite foo 0 4K {}\n"
    for how, expected in (("sync", {"xattr lost"}), ("dsync", set())):
        bench = Bench(text.format(how))
        assert kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", xattrs={})))) == expected


def test_msync_promises_mapped_bytes_and_its_range_alone():
    """Two ranges are dirty; the first is synced, then both by an fsync."""
    both = "mmapwrite foo 0 4K\n  mmapwrite foo 4K 4K"
    text = f"setup\n  write foo 0 8K\nrun\n  {both}\n  msync foo 0 4K\n  fsync foo\n"
    bench = Bench(text)
    first = replaced(bench.tree(0), "foo", content=(Run(0, 4096, "w", 2), Run(4096, 4096, "w", 1)))
    assert not kinds(durable.judge(bench.case(first, begun=3)))
    assert kinds(durable.judge(bench.case(bench.tree(0), begun=3))) == {"data lost"}
    assert kinds(durable.judge(bench.case(first))) == {"data lost"}


def test_msync_without_a_range_is_of_the_whole_file():
    """msync PATH."""
    bench = Bench("setup\n  write foo 0 8K\nrun\n  mmapwrite foo 4K 4K\n  msync foo\n")
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"data lost"}


# --- descriptors

TMPFILE = "setup\n  mkdir A\nrun\n  tmpfile A @t\n  write @t 0 8K\n  fsync @t\n  link @t A/foo\n  fsync A\n"


def test_what_was_fsynced_before_it_had_a_name_is_promised_under_it():
    """open(2), O_TMPFILE: filled first, then linked."""
    bench = Bench(TMPFILE)
    assert not kinds(durable.judge(bench.case(bench.tree())))
    empty = replaced(bench.tree(), "A/foo", size=0, blocks=0, content=())
    assert kinds(durable.judge(bench.case(empty))) == {"size lost", "preallocation lost"}


def test_a_file_without_a_name_is_not_asked_for():
    """Before the link there is nothing to see, and afterwards the directory alone promises the name."""
    bench = Bench(TMPFILE)
    assert not kinds(durable.judge(bench.case(bench.tree(0), begun=3)))
    assert not kinds(durable.judge(bench.case(bench.tree(0), begun=4)))
    assert kinds(durable.judge(bench.case(bench.tree(0), begun=5))) == {"name lost"}


@pytest.mark.parametrize("name", JOURNALS)
def test_fdatasync_promises_no_name_that_a_link_gave(name):
    """Of a file made without one, the link touches no data; of a file made with it, it is promised."""
    linked = Bench(TMPFILE.replace("fsync @t", "evict A").replace("fsync A", "fdatasync @t"), name)
    assert not kinds(durable.judge(linked.case(linked.tree(0))))
    made = Bench("setup\n  mkdir A\nrun\n  write A/foo 0 8K\n  fdatasync A/foo\n", name)
    assert kinds(durable.judge(made.case(made.tree(0)))) == {"name lost"}


@pytest.mark.parametrize("name", JOURNALS)
def test_fsync_of_a_file_without_links_settles_that_it_is_gone(name):
    """generic/764: by the descriptor that is left."""
    bench = Bench("setup\n  write foo 0 4K\nrun\n  open foo @f\n  unlink foo\n  fsync @f\n", name)
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"name came back"}
    assert not kinds(durable.judge(bench.case(bench.tree(0), begun=2)))


def test_writes_through_a_descriptor_follow_the_file():
    """Under its new name, and with the descriptor's flags."""
    bench = Bench("setup\n  creat a\nrun\n  open a @a dsync\n  rename a b\n  write @a 0 4K\n")
    assert node_at(bench.tree(), "b").size == 4096
    assert "size lost" in kinds(durable.judge(bench.case(replaced(bench.tree(), "b", size=0, content=()))))


def test_open_with_trunc_empties_the_file():
    """O_TRUNC."""
    bench = Bench("setup\n  write a 0 4K\nrun\n  open a @a trunc\n  fsync @a\n")
    assert node_at(bench.tree(), "a").size == 0


# --- from one file to another


def test_a_clone_holds_the_other_file_s_bytes_at_its_own_place():
    """Moved by the distance between the offsets; blocks come along."""
    bench = Bench("setup\n  write a 0 12K\n  write b 0 4K\nrun\n  clone a b 4K 8K 8K\n  fsync b\n")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    node = node_at(bench.tree(), "b")
    assert node.size == 16384
    unmoved = (Run(0, 4096, "w", 2), Run(4096, 4096, "z"), Run(8192, 8192, "w", 1))
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "b", content=unmoved)))) == {"data lost"}
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "b", blocks=8)))) == {"preallocation lost"}
    old = bench.tree(0)
    assert kinds(durable.judge(bench.case(old))) == {"size lost", "preallocation lost"}
    assert not kinds(durable.judge(bench.case(old, begun=1)))


def test_a_clone_of_everything_is_the_file():
    """clone SOURCE TARGET, over a longer file: what lies behind stays."""
    bench = Bench("setup\n  write a 0 4K\n  write b 0 8K\nrun\n  clone a b\n  fsync b\n")
    content = (Run(0, 4096, "w", 1), Run(4096, 4096, "w", 2))
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "b", content=content))))
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"data lost"}


def test_a_copy_may_be_half_there_before_its_fsync():
    """copy_file_range(2) promises nothing, and the file grows as it goes."""
    bench = Bench("setup\n  write a 0 8K\n  creat b\nrun\n  copyrange a b 0 8K 0\n")
    half = replaced(bench.tree(), "b", size=4096, blocks=8, content=(Run(0, 4096, "w", 1),))
    assert not kinds(durable.judge(bench.case(half)))
    assert not kinds(historical.judge(bench.case(half)))


@pytest.mark.parametrize(
    "call", ["copyrange a @b 4K 8K 8K", "copyrange a @b 13 5000 8K", "clone a @b 4K 8K 8K"]
)
@pytest.mark.parametrize("how", ["dsync", "sync"])
def test_a_copy_to_a_synchronous_descriptor_promises_its_range(call, how):
    """generic/628 and generic/629: once it has returned, what was there before is BROKEN."""
    bench = Bench(f"setup\n  write a 0 12K\n  write b 0 20K\n  open b @b {how}\nrun\n  {call}\n")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"data lost"}
    assert not kinds(durable.judge(bench.case(bench.tree(0), begun=0)))


@pytest.mark.parametrize("word", ["copyrange", "clone"])
@pytest.mark.parametrize("how", ["dsync", "sync", ""])
def test_the_copy_of_a_program_has_the_flags_of_its_descriptor_itself(word, how):
    """In a trace the target is a path, whatever descriptor the call had (workloads/traced.py)."""
    text = f"setup\n  write a 0 12K\n  write b 0 20K\nrun\n  {word} a b 4K 8K 8K\n"
    workload = parse(text, "copied")
    run = tuple(msgspec.structs.replace(operation, mode=how) for operation in workload.run)
    bench = Bench(msgspec.structs.replace(workload, run=run))
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == ({"data lost"} if how else set())


def test_a_copy_from_a_synchronous_descriptor_promises_nothing():
    """Where no blocks are shared, the flags of the target alone count (fs/splice.c). Nor does it make more of
    the target durable than its range."""
    text = (
        "setup\n  write a 0 12K\n  write b 0 8K\n  open {0} @d dsync\nrun\n  write b 8K 4K\n  copyrange {1}\n"
    )
    bench = Bench(text.format("a", "@d b 0 4K 0"))
    assert not kinds(durable.judge(bench.case(bench.tree(0))))
    bench = Bench(text.format("b", "a @d 0 4K 0"))
    content = (Run(0, 4096, "w", 1), Run(4096, 4096, "w", 2))
    short = replaced(bench.tree(), "b", size=8192, blocks=16, content=content)
    assert not kinds(durable.judge(bench.case(short)))


def test_a_copy_within_a_file_may_read_what_it_wrote():
    """By two names, behind the end: the first call copies 6,000 bytes, the second goes on behind them."""
    setup = "setup\n  write a 0 6000\n  link a b\nrun\n"
    bench = Bench(f"{setup}  copyrange a b 0 12000 10000\n  fsync a\n")
    (content,) = {node.content for node in bench.tree() if node.path in ("a", "b")}
    first, hole, copy, zeros, again = content
    assert [(run.offset, run.length) for run in (hole, zeros)] == [(6000, 4000), (16000, 4000)]
    assert (first.length, copy.length, again.length) == (6000, 6000, 2000)
    assert again.hex == copy.hex[:4000]
    assert not kinds(durable.judge(bench.case(bench.tree())))
    lost = (first, hole, copy, Run(16000, 6000, "z"))
    tree = replaced(replaced(bench.tree(), "a", content=lost), "b", content=lost)
    assert kinds(durable.judge(bench.case(tree))) == {"data lost"}


def test_dedupe_changes_no_byte():
    """Zeros after it are lost data."""
    text = "setup\n  write a 0 8K\n  creat b\n  copyrange a b 0 8K 0\nrun\n  dedupe a b 0 4K 0\n  fsync b\n"
    bench = Bench(text)
    assert bench.tree() == bench.tree(0)
    zeros = replaced(bench.tree(), "b", content=(Run(0, 4096, "z"), Run(4096, 4096, "w", 1)))
    assert kinds(durable.judge(bench.case(zeros))) == {"data lost"}


@pytest.mark.parametrize("word", ["dedupe", "copyrange"])
def test_of_no_bytes_nothing_is_copied_or_shared(word):
    """Of a clone none are all (fs/remap_range.c). A search found it: a file had to have another's blocks."""
    text = f"setup\n  write a 0 8K\n  creat b\nrun\n  {word} a b 0 0 0\n  fsync b\n"
    bench = Bench(text, "xfs")
    assert node_at(bench.tree(), "b").size == 0
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "b", blocks=0))))
    cloned = Bench(text.replace(f"{word} a b 0 0 0", "clone a b 0 0 0"), "xfs")
    assert node_at(cloned.tree(), "b").size == 8192


# --- attributes

SET = {
    "chmod foo 640": ("mode", 0o644, "mode lost"),
    "chown foo 7:0": ("uid", 0, "owner lost"),
    "utimes foo 99": ("mtime", -1, "mtime lost"),
    "chattr foo +d": ("flags", "", "flags lost"),
}


@pytest.mark.parametrize("call", SET)
def test_an_attribute_is_promised_by_fsync_and_not_by_fdatasync(call):
    """generic/535 and its kin; before the fsync the old value is as good."""
    field, old, kind = SET[call]
    for sync, expected in (("fsync", {kind}), ("fdatasync", set())):
        bench = Bench(f"setup\n  creat foo\nrun\n  {call}\n  {sync} foo\n")
        tree = replaced(bench.tree(), "foo", **{field: old})
        assert kinds(durable.judge(bench.case(tree))) == expected
        assert not kinds(durable.judge(bench.case(bench.tree())))


@pytest.mark.parametrize(
    ("call", "change", "kind"),
    [
        ("chmod foo 640", {"mode": 0o600}, "mode that never was"),
        ("chown foo 7:8", {"gid": 9}, "owner that never was"),
        ("utimes foo 99", {"mtime": 98}, "time that never was"),
        ("chattr foo -d", {"flags": "d"}, "flags that never were"),
        ("sync", {"mtime": 0}, "time that never was"),
    ],
)
def test_attributes_that_never_were_are_broken(call, change, kind):
    """Whatever was or was not synced."""
    bench = Bench(f"setup\n  creat foo\nrun\n  {call}\n")
    assert kinds(historical.judge(bench.case(replaced(bench.tree(), "foo", **change)))) == {kind}


def test_a_time_that_was_set_is_over_with_the_next_write():
    """Then a clock's time may be there, or still the one that was set."""
    bench = Bench("setup\n  creat foo\nrun\n  utimes foo 99\n  write foo 0 4K\n  fsync foo\n")
    for mtime in (99, -1):
        assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", mtime=mtime))))


def test_a_directory_s_time_is_over_with_its_next_name():
    """A clock sets it; the one that was set is then no longer there once the directory is fsynced."""
    bench = Bench("setup\n  mkdir A\nrun\n  utimes A 99\n  creat A/f\n  fsync A\n")
    for mtime, expected in ((-1, set()), (99, {"mtime lost"})):
        assert kinds(durable.judge(bench.case(replaced(bench.tree(), "A", mtime=mtime)))) == expected


def test_flags_that_the_workload_never_changed_are_nobody_s_business():
    """A filesystem may set some of its own."""
    bench = Bench("setup\n  creat foo\nrun\n  chattr foo +d\n  fsync foo\n")
    assert not kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", flags="Cd"))))


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_modes_and_owners_come_in_order(name):
    """The later chown without the earlier chmod is no prefix."""
    bench = Bench("setup\n  creat foo\nrun\n  chmod foo 640\n  chown foo 1:1\n", name)
    tree = replaced(bench.tree(), "foo", mode=0o644)
    assert kinds(ordered.judge(bench.case(tree))) == {"not a prefix"}


# --- sync and its kin


def test_syncfs_is_a_sync_and_sync_file_range_is_not():
    """syncfs(2), sync_file_range(2)."""
    for call, expected in (("syncfs", {"name lost"}), ("sync_file_range foo 0 4K", set()), ("wait 9", set())):
        bench = Bench(f"run\n  write foo 0 4K\n  {call}\n")
        assert kinds(durable.judge(bench.case(bench.tree(0)))) == expected, call


# --- subvolumes

SNAPSHOT = "setup\n  subvol create S\n  write S/foo 0 8K\n  link S/foo S/bar\nrun\n  snapshot S T\n"


def test_a_snapshot_holds_what_its_source_held():
    """With inode numbers of its own, hard links among themselves; not what came later to its source."""
    bench = Bench(SNAPSHOT + "  write S/foo 0 4K\n  unlink S/bar\n  sync\n")
    tree = bench.tree()
    assert [node.path for node in tree] == [".", "S", "S/foo", "T", "T/bar", "T/foo"]
    assert node_at(tree, "T/foo").ino == node_at(tree, "T/bar").ino != node_at(tree, "S/foo").ino
    assert node_at(tree, "T/foo").content == (Run(0, 8192, "w", 2),)
    assert node_at(tree, "T/foo").nlink == 2
    for oracle in (durable, historical, ordered, atomic):
        assert not kinds(oracle.judge(bench.case(tree))), oracle.NAME


def test_a_synced_snapshot_may_not_lose_anything():
    """Names, bytes, and the snapshot itself."""
    bench = Bench(SNAPSHOT + "  sync\n")
    assert kinds(durable.judge(bench.case(without(bench.tree(), "T")))) == {"name lost"}
    assert "name lost" in kinds(durable.judge(bench.case(without(bench.tree(), "T/foo"))))
    zeros = (Run(0, 8192, "z"),)
    zeros = replaced(replaced(bench.tree(), "T/foo", content=zeros), "T/bar", content=zeros)
    assert "data lost" in kinds(durable.judge(bench.case(zeros)))


def test_bytes_written_after_a_snapshot_are_foreign_in_it():
    """historical: the snapshot's file never held them."""
    bench = Bench(SNAPSHOT + "  write S/foo 0 8K\n  sync\n")
    later = node_at(bench.tree(), "S/foo").content
    tree = replaced(replaced(bench.tree(), "T/foo", content=later), "T/bar", content=later)
    assert "stale data" in kinds(historical.judge(bench.case(tree)))


def test_a_subvolume_is_deleted_with_all_that_is_in_it():
    """And is promised gone with its directory: btrfs/118."""
    bench = Bench("setup\n  subvol create S\n  mkdir S/A\n  creat S/A/f\nrun\n  subvol delete S\n  fsync .\n")
    assert [node.path for node in bench.tree()] == ["."]
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert "name came back" in kinds(durable.judge(bench.case(bench.tree(0))))


def test_a_snapshot_of_a_plain_directory_cannot_have_succeeded():
    """The model and the history would tell different stories."""
    assert (
        "is not a subvolume"
        in prepare(history_of("run\n  mkdir A\n  snapshot A B\n"), profile("btrfs")).trouble
    )


# --- access control lists

LISTED = "setup\n  creat foo\nrun\n  setfacl foo u::rw-,u:7:r--,g::r--,m::rw-,o::---\n"


def test_an_access_control_list_is_promised_with_the_mode_that_goes_with_it():
    """As any attribute; the mask shows as the group's permissions."""
    bench = Bench(LISTED + "  fsync foo\n")
    assert node_at(bench.tree(), "foo").mode == 0o660
    for oracle in (durable, historical):
        assert not kinds(oracle.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(replaced(bench.tree(), "foo", xattrs={})))) == {"xattr lost"}
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"xattr lost", "mode lost"}


def test_chmod_changes_the_list_too():
    """Its mask; the list of before was there as well, and no other."""
    bench = Bench(LISTED + "  chmod foo 640\n  fsync foo\n")
    older = replaced(bench.tree(), "foo", xattrs=node_at(bench.tree(1), "foo").xattrs)
    assert kinds(durable.judge(bench.case(older))) == {"xattr value lost"}
    assert not kinds(historical.judge(bench.case(older)))


# --- freeze, thaw, grow, remount ro

CHANGED = "setup\n  write a 0 4K\nrun\n  write b 0 8K\n  rename a c\n"


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("word", ["freeze", "remount ro"])
def test_what_makes_all_durable_must_keep_it(name, word):
    """As sync does: a tree without what came before is BROKEN once the call has returned."""
    bench = Bench(f"{CHANGED}  {word}\n", name)
    assert not kinds(durable.judge(bench.case(bench.tree(3), 3)))
    assert kinds(durable.judge(bench.case(bench.tree(1), 3)))
    assert not kinds(durable.judge(bench.case(bench.tree(1), 3, True)))  # not yet returned


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("word", ["thaw", "grow", "relocate", "trim", "remount rw"])
def test_what_only_changes_the_mount_promises_nothing(name, word):
    """An older tree is right after it; no file changes."""
    bench = Bench(f"{CHANGED}  {word}\n", name)
    assert not kinds(durable.judge(bench.case(bench.tree(0), 3)))
    assert bench.tree(2) == bench.tree(3)


def test_what_a_frozen_or_read_only_filesystem_refuses_has_no_effect():
    """EBUSY of the agent, EROFS of the kernel: neither the refused name nor its lack of promise counts."""
    history = history_of(f"{CHANGED}  freeze\n  rename c d\n  fsync b\n", "xfs")
    refused = tuple(
        msgspec.structs.replace(step, result=-errno.EBUSY, inode=0) if step.index > 3 else step
        for step in history.run
    )
    model = prepare(msgspec.structs.replace(history, run=refused), profile("xfs")).model
    assert model is not None
    assert [persist.like for persist in model.persists] == ["sync"]
    assert set(model.names_at(model.root, model.end_time)) == {"b", "c"}


@pytest.mark.parametrize(("word", "commits"), [("relocate", True), ("trim", True), ("evict foo", False)])
def test_what_may_commit_at_any_time_beside_other_calls(word, commits):
    """fs/btrfs/relocation.c relocate_block_group() ends one transaction after the other; fs/xfs/xfs_discard.c
    xfs_trim_gather_extents() forces the log for each allocation group, and again for each 100 extents."""
    threads = f"  parallel\n    thread\n      {word}\n    thread\n      write foo 0 4K\n      chmod foo 600\n"
    history = history_of(f"setup\n  creat foo\nrun\n  chmod foo 640\n{threads}  chmod foo 644\n", "btrfs")
    before, *beside, after = [step.index + 1 for step in history.run]
    may_commit = prepare(history, profile("btrfs")).model.may_commit
    assert [time for time in beside if time in may_commit] == (beside if commits else [])
    assert before not in may_commit
    assert after not in may_commit


def test_a_crash_promises_nothing_and_closes_descriptors():
    """What was fsynced before it is asked for, and nothing more: a directory above may have its old times."""
    text = "setup\n  creat foo\nrun\n  open foo @a\n  write @a 0 4K\n  fsync @a\n  crash\n  write foo 4K 4K\n"
    bench = Bench(text)
    assert not kinds(durable.judge(bench.case(bench.tree(3))))
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"size lost"}
    assert bench.tree(3) == bench.tree(4)
    again = Bench(text + "  open foo @a\n  fsync @a\n")
    assert kinds(durable.judge(again.case(again.tree(4))))
