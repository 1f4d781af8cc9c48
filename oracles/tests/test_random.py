"""What random histories showed of the model and the oracles: each a mistake of ours, once."""

import errno

import msgspec
import pytest

from oracles import durable, historical, ordered
from oracles.case import prepare
from oracles.content import Extent, Source, part, runs_of, size_of
from oracles.model import steps as model
from oracles.model.model import CLOCK, Disagreement
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, history_of, kinds, node_at, replaced, without
from workloads.history import History

JOURNALS = ["btrfs", "ext4", "xfs"]


def with_steps(history: History, **changes: dict[str, object]) -> History:
    """s3={"result": -22}: other fields of step 3."""

    def changed(step):
        return msgspec.structs.replace(step, **changes.get(f"s{step.index}", {}))

    return msgspec.structs.replace(
        history, setup=tuple(map(changed, history.setup)), run=tuple(map(changed, history.run))
    )


def files(built):
    """Of each file what made it, and its size."""
    return {
        one.made_by: sum(extent.end - extent.start for extent in built.content[one.id].last)
        for one in built.inodes
        if one.kind == "file"
    }


# --- through symlinks


@pytest.mark.parametrize("call", ["write link 0 4K", "append link 4K", "pwrite link 0 4K dsync"])
def test_a_write_through_a_dangling_symlink_makes_its_target(call):
    """open(2), O_CREAT: the file is made where the symlink leads to; the next call finds it there."""
    source = f"run\n  mkdir A\n  symlink A/foo link\n  {call}\n  append A/foo 4K\n"
    history = with_steps(history_of(source), s2={"inode": 300}, s3={"inode": 300})
    built = model.build(history)
    assert files(built) == {call: 8192}
    assert built.names_at(built.root, 4).keys() == {"A", "link"}
    assert [built.inodes[each].number for each in built.names_at(1, 4).values()] == [300]


def test_a_symlink_is_followed_from_where_it_lies_and_on():
    """A chain of two, the first one in a directory."""
    links = "mkdir A\n  symlink bar A/one\n  symlink foo A/bar"
    source = f"run\n  {links}\n  open A/one @f creat,trunc\n  write @f 0 1K\n"
    built = model.build(with_steps(history_of(source), s3={"inode": 300}, s4={"inode": 300}))
    assert built.names_at(1, 5).keys() == {"one", "bar", "foo"}
    assert files(built) == {"open A/one @f creat,trunc": 1024}


def test_a_creat_does_not_follow():
    """O_EXCL: it fails where a symlink is."""
    history = history_of("run\n  symlink foo link\n  creat link\n")
    with pytest.raises(Disagreement, match="link already exists"):
        model.build(history)


def test_a_file_of_which_no_number_is_known_is_no_guess():
    """Older recordings have the symlink's number there."""
    history = history_of("run\n  symlink foo link\n  write link 0 4K\n")
    history = with_steps(history, s1={"inode": history.run[0].inode})
    with pytest.raises(Disagreement, match="is that of the symlink"):
        model.build(history)


def test_a_call_through_a_symlink_may_have_either_number():
    """That of the file, as recorded now, or of the symlink, as it was; no other."""
    history = history_of("setup\n  creat foo\n  symlink foo link\nrun\n  truncate link 4K\n  fsync link\n")
    file, link = (step.inode for step in history.setup)
    for number in (file, link):
        assert not prepare(with_steps(history, s2={"inode": number}), profile("btrfs")).trouble
    trouble = prepare(with_steps(history, s2={"inode": 999}), profile("btrfs")).trouble
    assert "the kernel shows inode 999 and the model has inode" in trouble


def test_a_symlink_that_leads_to_itself_ends():
    """The kernel says ELOOP; a history in which it did not is refused."""
    with pytest.raises(Disagreement, match="whose target does not exist"):
        model.build(history_of("run\n  symlink link link\n  write link 0 4K\n"))


# --- device nodes


@pytest.mark.parametrize("call", ["write null 0 4K", "append null 4K", "open null @n trunc"])
def test_what_goes_to_a_driver_changes_no_file(call):
    """mknod null chr 1:3: the driver takes the bytes."""
    bench = Bench(f"run\n  mknod null chr 1:3\n  {call}\n  sync\n")
    for oracle in (durable, historical, ordered):
        assert not kinds(oracle.judge(bench.case(bench.tree())))


@pytest.mark.parametrize("name", JOURNALS)
def test_a_node_made_with_device_0_0_has_the_mode_it_was_made_with(name):
    """Only the rename that leaves a whiteout makes it with mode 0 (include/linux/fs.h, WHITEOUT_MODE)."""
    bench = Bench("run\n  mknod null chr 0:0\n  sync\n", name)
    assert node_at(bench.tree(), "null").mode == 0o644
    assert "mode lost" in kinds(durable.judge(bench.case(replaced(bench.tree(), "null", mode=0))))


# --- times that were set


@pytest.mark.parametrize(("name", "kept"), [("btrfs", True), ("ext4", True), ("xfs", False)])
def test_on_xfs_an_exchange_sets_the_time_of_a_directory_that_moves(name, kept):
    """fs/xfs/libxfs/xfs_dir2.c xfs_dir_exchange_children(): its ".." changes; within one directory not."""
    setup = "setup\n  mkdir A\n  creat foo\n  mkdir A/B\n  mkdir C\n"
    bench = Bench(f"{setup}run\n  utimes A/B 81060449\n  rename foo A/B exchange\n  sync\n", name)
    assert bench.model.mtimes[bench.model.entry((0, "foo"), 7)].last == frozenset(
        (81060449 if kept else CLOCK,)
    )
    found = replaced(bench.tree(), "foo", mtime=-1)
    assert ("mtime lost" in kinds(durable.judge(bench.case(found)))) is kept
    beside = Bench(f"{setup}run\n  utimes A 81060449\n  rename C A exchange\n  sync\n", name)
    assert "mtime lost" in kinds(durable.judge(beside.case(replaced(beside.tree(), "C", mtime=-1))))


@pytest.mark.parametrize("mode", ["", "exchange"])
def test_on_f2fs_a_directory_that_gets_another_parent_may_have_another_time(mode):
    """fs/f2fs/dir.c f2fs_set_link(): for the entry ".."."""
    setup, new = "setup\n  mkdir A\n  mkdir A/B\n  mkdir C\n", "C" if mode else "D"
    bench = Bench(f"{setup}run\n  utimes A/B 81060449\n  rename A/B {new} {mode}\n  sync\n", "f2fs")
    found = replaced(bench.tree(), new, mtime=-1)
    assert "mtime lost" not in kinds(durable.judge(bench.case(found)))


@pytest.mark.parametrize("name", JOURNALS)
def test_a_call_that_fails_may_have_set_the_time(name):
    """collapse-range at the end of file: EINVAL, after file_modified()."""
    source = "setup\n  write foo 0 4K\n  utimes foo 5\nrun\n  fallocate foo collapse-range 0 4K\n  sync\n"
    history = with_steps(history_of(source, name), s2={"result": -errno.EINVAL})
    bench = Bench(source, name)
    tree = bench.tree(0)
    prepared = prepare(history, profile(name))
    for seconds, broken in ((5, False), (-1, False), (6, True)):
        found = replaced(tree, "foo", mtime=seconds)
        verdict = durable.judge(prepared.case(history.entry_count, Observation(tree=found, probe_steps=1)))
        assert ("mtime lost" in kinds(verdict)) is broken


def test_a_snapshot_has_the_time_of_before_its_own_entry():
    """fs/btrfs/transaction.c create_pending_snapshot(): btrfs_copy_root() comes before the parent's time."""
    bench = Bench("run\n  utimes . 491105105\n  snapshot . A\n  sync\n")
    assert node_at(bench.tree(), "A").mtime == 491105105
    assert node_at(bench.tree(), ".").mtime == CLOCK


# --- what was promised, and what not


def test_a_promise_to_all_files_asks_for_no_blocks_of_a_later_one():
    """pwrite with O_SYNC makes its range durable; other blocks of a new file wait for their writeback."""
    bench = Bench("run\n  write foo 1 12288\n  pwrite foo 6144 512 sync\n", "ext4")
    tree = bench.tree()
    extents = ((4096, 8192, 0),)
    foo = replaced(tree, "foo", extents=extents, blocks=8)
    assert "preallocation lost" not in kinds(durable.judge(bench.case(foo)))


@pytest.mark.parametrize("name", ["ext4", "xfs"])
@pytest.mark.parametrize(
    ("mode", "at", "shown"),
    [("insert-range", 4096, 0), ("collapse-range", 0, 4096)],
)
def test_a_write_behind_a_move_that_is_not_on_disk_shows_where_the_block_was(name, mode, at, shown):
    """The write goes in place to the block that the move gave another offset."""
    text = f"setup\n  write foo 0 16K\nrun\n  fallocate foo {mode} 0 4K\n  write foo {at} 4K\n"
    bench = Bench(text, name)
    old = bench.model.content[1].at(bench.model.base_time)
    content = [extent for extent in old if extent.end <= shown]
    moved = Source(3, shown - at)
    before = tuple(each for each in (old[0]._replace(end=shown),) if each.start < each.end)
    after = (old[0]._replace(start=shown + 4096),)
    content = (*before, old[0]._replace(start=shown, end=shown + 4096, source=moved), *after)
    found = replaced(bench.tree(0), "foo", content=runs_of(content))
    for oracle in (durable, historical):
        assert not kinds(oracle.judge(bench.case(found)))
    wrong = tuple(
        e._replace(source=Source(3, e.source.moved + 8)) if e.source == moved else e for e in content
    )
    found = replaced(bench.tree(0), "foo", content=runs_of(wrong))
    assert "foreign bytes" in kinds(historical.judge(bench.case(found)))


@pytest.mark.parametrize(("shown", "allowed"), [(8192, True), (4096, True), (0, True), (12288, False)])
def test_a_write_behind_two_moves_shows_where_the_last_or_both_are_missing(shown, allowed):
    moves = "  fallocate foo insert-range 0 4K\n" * 2
    bench = Bench(f"setup\n  write foo 0 16K\nrun\n{moves}  write foo 8K 4K\n", "xfs")
    old = bench.model.content[1].at(bench.model.base_time + shown // 4096 if allowed else 0)
    written = Extent(shown, shown + 4096, Source(4, shown - 8192))
    content = (*part(old, 0, shown), written, *part(old, shown + 4096, 32768))
    found = replaced(bench.tree(0), "foo", content=runs_of(content), size=size_of(content))
    assert ("foreign bytes" not in kinds(historical.judge(bench.case(found)))) == allowed


def test_many_moves_cost_no_more_than_their_square():
    """fsx makes dozens; before, each doubled what may be found, and 200 of its calls were not judged in 20
    minutes."""
    moves = "".join(f"  fallocate foo insert-range 0 4K\n  write foo {at}K 4K\n" for at in range(0, 120, 4))
    bench = Bench(f"setup\n  write foo 0 64K\nrun\n{moves}", "ext4")
    assert len(bench.case(bench.tree(0)).allowed._not_moved(1, bench.model.base_time)) <= 61 * 30


def test_an_fsync_of_a_subvolume_does_not_promise_its_new_name():
    """Its entry is its parent's, and its own inode was not changed; an fsync of the parent promises it."""
    setup = "setup\n  subvol create S\n"
    bench = Bench(f"{setup}run\n  rename S T\n  fsync T\n")
    assert not kinds(durable.judge(bench.case(bench.tree(0))))
    bench = Bench(f"{setup}run\n  rename S T\n  fsync .\n")
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"name lost", "name came back"}


def test_an_msync_behind_the_end_of_file_promises_no_size():
    """Its pages hold nothing; what was written before them was not its business."""
    bench = Bench("setup\n  creat foo\nrun\n  write foo 0 8K\n  msync foo 12K 1\n", "ext4")
    assert not kinds(durable.judge(bench.case(bench.tree(0))))
    bench = Bench("setup\n  creat foo\nrun\n  write foo 0 8K\n  msync foo 4K 8K\n", "ext4")
    assert "size lost" in kinds(durable.judge(bench.case(bench.tree(0))))


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_an_msync_of_a_hole_promises_no_size(name):
    """Its pages were never written; the write that left the hole may come to the disk later."""
    bench = Bench("setup\n  creat foo\nrun\n  write foo 124K 64K\n  msync foo 20K 4K\n", name)
    assert not kinds(durable.judge(bench.case(bench.tree(0))))
    bench = Bench("setup\n  creat foo\nrun\n  write foo 124K 64K\n  msync foo 120K 8K\n", name)
    assert "size lost" in kinds(durable.judge(bench.case(bench.tree(0))))


def test_an_fallocate_by_a_synchronous_descriptor_may_commit():
    """xfs: it forces the log; what comes later into a new directory has a checkpoint of its own."""
    setup = "setup\n  write foo 0 8K\n  open foo @d{}\nrun\n"
    run = "  mkdir dir\n  fallocate @d zero-range 0 4K\n  mkfifo dir/bar\n  fsync .\n"
    bench = Bench(setup.format(" sync") + run, "xfs")
    assert not kinds(durable.judge(bench.case(without(bench.tree(), "dir/bar"))))
    bench = Bench(setup.format("") + run, "xfs")
    assert "name lost" in kinds(durable.judge(bench.case(without(bench.tree(), "dir/bar"))))
