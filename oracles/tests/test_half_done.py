"""Calls that fail or are cut short: what they may have done is allowed, and nothing else."""

import errno

import msgspec
import pytest

from oracles import durable, historical, ordered, usable
from oracles.case import prepare
from oracles.content import ZERO, Extent, Source, difference_in, explained, explained_at_once
from oracles.model.steps import build
from oracles.observation import Observation, Room, Run
from oracles.profiles import profile
from oracles.tests.made import ENTRIES_PER_STEP, history_of, kinds, node_at, replaced, tree_of, without
from oracles.timeline import Timeline
from oracles.verdict import Answer

FILLED = 100 << 20
JOURNALS = ["btrfs", "ext4", "xfs"]


def left(size, *runs):
    return msgspec.Raw(msgspec.json.encode({"size": size, "content": runs}))


class Failing:
    """A workload with operations that failed: Failing(text, "ext4", {index: errno}, {index: left(...)})."""

    def __init__(self, source, name, failed, files=None, inodes=None):
        history = history_of(source, name)

        def changed(step):
            return msgspec.structs.replace(
                step,
                result=-failed.get(step.index, 0),
                file=(files or {}).get(step.index, step.file),
                inode=(inodes or {}).get(step.index, step.inode),
            )

        self.history = msgspec.structs.replace(
            history, setup=tuple(map(changed, history.setup)), run=tuple(map(changed, history.run))
        )
        self.profile = profile(name)
        self.prepared = prepare(self.history, self.profile)
        assert self.prepared.model is not None, self.prepared.trouble
        self.model = self.prepared.model

    def tree(self, done=None):
        count = len(self.history.run) if done is None else done
        return tree_of(self.model, self.model.base_time + count, self.profile.filesystem)

    def case(self, tree, begun=None, flying=False, **seen):
        count = len(self.history.run) if begun is None else begun
        prefix = count * ENTRIES_PER_STEP - flying
        return self.prepared.case(prefix, Observation(tree=tree, probe_steps=1, **seen))

    def broken(self, tree, **cut):
        case = self.case(tree, **cut)
        asked = (durable, historical, ordered)
        return set().union(*(kinds(verdict) for each in asked if (verdict := each.judge(case)) is not None))


# --- a reservation that ends in the middle

FILLER = "setup\n  creat filler\n  fallocate filler alloc 0 114M\nrun\n  creat foo\n  fsync foo\n"


@pytest.mark.parametrize("name", JOURNALS)
def test_a_reservation_cut_short_is_as_it_was_left(name):
    """Seen on 6.12, ext4: it fails with ENOSPC after it made the file longer. That length was then synced."""
    bench = Failing(FILLER, name, {1: errno.ENOSPC}, {1: left(FILLED, [0, FILLED, "z"])})
    assert node_at(bench.tree(), "filler").size == FILLED
    assert not bench.broken(bench.tree())
    longer = replaced(bench.tree(), "filler", size=114 << 20, content=(Run(0, 114 << 20, "z"),))
    assert bench.broken(longer) == {"size lost"}


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize("size", [0, 5 << 20, 114 << 20])
def test_where_nobody_looked_any_part_of_it_is_allowed(name, size):
    """A history of an earlier version does not tell what the call left."""
    bench = Failing(FILLER, name, {1: errno.ENOSPC})
    tree = replaced(bench.tree(), "filler", size=size, content=(Run(0, size, "z"),) if size else ())
    assert not bench.broken(tree)
    assert "name lost" in bench.broken(without(tree, "filler"))


def test_a_call_that_was_refused_did_nothing():
    """EINVAL is said before anything is done."""
    bench = Failing(FILLER, "ext4", {1: errno.EINVAL})
    tree = replaced(bench.tree(), "filler", size=FILLED, content=(Run(0, FILLED, "z"),))
    assert bench.broken(tree) == {"size lost", "size that never was"}


# --- a write that ends in the middle

SHORT = "setup\n  write foo 0 12K\nrun\n  write foo 4K 28K\n  fsync foo\n"
HALF = left(16384, [0, 4096, "w", 1], [4096, 12288, "w", 2])


def short(name="ext4"):
    return Failing(SHORT, name, {1: errno.ENOSPC}, {1: HALF})


@pytest.mark.parametrize("name", JOURNALS)
def test_what_a_short_write_left_is_promised_by_an_fsync(name):
    """4 KiB of the file are old, 12 KiB new: neither more nor less is there after the fsync."""
    bench = short(name)
    assert not bench.broken(bench.tree())
    old = bench.tree(0)
    assert bench.broken(old) == {"size lost", "data lost"}
    whole = replaced(
        bench.tree(), "foo", size=32768, content=(Run(0, 4096, "w", 1), Run(4096, 28672, "w", 2))
    )
    assert "size lost" in bench.broken(whole)


@pytest.mark.parametrize("flying", [True, False])
def test_until_then_any_part_of_it_may_be_there(flying):
    """The bytes it had put in and taken back, each by itself; those it never wrote to stay."""
    bench = short()
    mixed = (Run(0, 8192, "w", 1), Run(8192, 4096, "w", 2), Run(12288, 4096, "z"), Run(16384, 4096, "w", 2))
    tree = replaced(bench.tree(0), "foo", size=20480, content=mixed)
    assert not bench.broken(tree, begun=1, flying=flying)
    foreign = replaced(bench.tree(0), "foo", content=(Run(0, 4096, "w", 2), Run(4096, 8192, "w", 1)))
    assert "data lost" in bench.broken(foreign, begun=1, flying=flying)
    zeroed = replaced(bench.tree(0), "foo", content=(Run(0, 4096, "z"), Run(4096, 8192, "w", 1)))
    assert "data lost" in bench.broken(zeroed, begun=1, flying=flying)


def test_a_later_append_begins_where_the_file_was_left():
    """So its bytes are looked for there."""
    bench = Failing(SHORT + "  append foo 4K\n  fsync foo\n", "ext4", {1: errno.ENOSPC}, {1: HALF})
    assert [run.length for run in node_at(bench.tree(), "foo").content] == [4096, 12288, 4096]
    assert not bench.broken(bench.tree())


@pytest.mark.parametrize("made", [True, False])
def test_a_write_may_have_made_its_file(made):
    """It made the name and found no block: Step.inode tells. Then the name is promised like any other."""
    bench = Failing(
        "run\n  write foo 0 8K\n  fsync .\n",
        "ext4",
        {0: errno.ENOSPC},
        {0: left(0)} if made else {},
        {} if made else {0: 0},
    )
    assert ("foo" in {node.path for node in bench.tree()}) is made
    assert not bench.broken(bench.tree())
    if made:
        assert "name lost" in bench.broken(without(bench.tree(), "foo"))


def test_a_name_that_a_failed_call_left_is_a_finding():
    """creat and its like give a name whole or not at all."""
    bench = Failing("run\n  creat foo\n  fsync .\n", "ext4", {0: errno.ENOSPC}, inodes={0: 0})
    other = Failing("run\n  creat foo\n  fsync .\n", "ext4", {})
    assert not bench.broken(bench.tree())
    assert "name that never was" in bench.broken(other.tree())


def test_bytes_are_known_by_the_nearest_source():
    """Moved bytes and parts of cells are told by what the call would have written, or what was there."""
    old = (Extent(0, 4096, Source(1)),)
    new = (Extent(0, 2048, Source(1)), Extent(2048, 4096, Source(2, 100)))
    assert explained((Run(0, 4096, "z"),), (new, old))[0].source == ZERO
    assert {each.source for each in explained((Run(0, 4096, "w", 1),), (new, old))} == {Source(1)}
    assert explained((Run(0, 8, "x", 0, "ff" * 8),), (new, old)) is None


def test_a_cell_without_its_first_byte_is_no_zeros():
    """A write from offset 1 on: the cell of operation 0 begins with a zero, and the agent reports stamp 0."""
    content = (Extent(0, 1, ZERO), Extent(1, 4096, Source(1)))
    runs = (Run(0, 8, "w", 0), Run(8, 4088, "w", 1))
    assert explained(runs, (content,)) == content
    assert not explained_at_once(runs[0], frozenset((ZERO,)))
    lost = difference_in(runs[0], frozenset((ZERO,)), 0, 8)
    assert lost is not None
    assert lost.offset == 2


# --- attributes


@pytest.mark.parametrize("name", JOURNALS)
@pytest.mark.parametrize(
    ("words", "field", "old", "new"),
    [
        ("chmod foo 600", "mode", 0o644, 0o600),
        ("chown foo 7:0", "uid", 0, 7),
        ("setxattr foo user.x new", "xattrs", {"user.x": b"old".hex()}, {"user.x": b"new".hex()}),
        ("removexattr foo user.x", "xattrs", {"user.x": b"old".hex()}, {}),
    ],
)
def test_an_attribute_is_the_old_one_or_the_new_one(name, words, field, old, new):
    """Also after an fsync; never a third, and after the next success that one alone."""
    source = f"setup\n  creat foo\n  setxattr foo user.x old\nrun\n  {words}\n  fsync foo\n"
    bench = Failing(source, name, {2: errno.ENOSPC})
    for value in (old, new):
        assert not bench.broken(replaced(bench.tree(), "foo", **{field: value}))
    third = {"mode": 0o700, "uid": 9, "xattrs": {"user.x": b"third".hex()}}[field]
    assert bench.broken(replaced(bench.tree(), "foo", **{field: third}))
    bench = Failing(f"{source}  {words}\n  fsync foo\n", name, {2: errno.ENOSPC})
    assert bench.broken(replaced(bench.tree(), "foo", **{field: old}))


def test_values_beside_end_with_the_next_change():
    """From the failure on, and no longer than to the next sure value."""
    line = Timeline(0, "a")
    line.maybe(3, "b")
    line.passing(4, "c")
    line.change(6, "a")
    assert [set(line.within(time, time)) for time in (2, 3, 5, 6)] == [{"a"}, {"a", "b"}, {"a", "b"}, {"a"}]
    assert set(line.within(3, 4)) == {"a", "b", "c"}
    assert set(line.within(4, 6)) == {"a", "b"}


# --- fsync that fails for want of room


def test_what_a_failed_fsync_left_unwritten_is_promised_by_none_after_it():
    """fsync(2): a second one may succeed, for the error was told."""
    bench = Failing(
        "setup\n  write foo 0 4K\nrun\n  write foo 0 4K\n  fsync foo\n  fsync foo\n", "xfs", {2: errno.ENOSPC}
    )
    assert not bench.broken(bench.tree(0))
    bench = Failing("setup\n  write foo 0 4K\nrun\n  write foo 0 4K\n  fsync foo\n", "xfs", {})
    assert bench.broken(bench.tree(0)) == {"data lost"}


# --- threads


def test_a_failed_write_of_a_thread_leaves_its_file_untold():
    """Nobody can look in between, so nothing is asked of its bytes."""
    source = (
        "setup\n  creat foo\nrun\n  parallel\n    thread\n      write foo 0 8K\n      fsync foo\n"
        "    thread\n      sync\n"
    )
    history = history_of(source, "ext4")
    model = build(
        msgspec.structs.replace(
            history,
            parallel=True,
            run=(msgspec.structs.replace(history.run[0], result=-errno.ENOSPC), *history.run[1:]),
        )
    )
    assert list(model.untold) == [1]


# --- a full disk

FULL = "setup\n  creat filler\n  fallocate filler alloc 0 114M\nrun\n  creat foo\n  fsync foo\n"
NO_ROOM = ("create .powercut-probe: ENOSPC",)


def used(blocks, room=None, probe=NO_ROOM):
    bench = Failing(FULL, "ext4", {}, {})
    tree = replaced(bench.tree(), "filler", blocks=blocks)
    verdict = usable.judge(bench.case(tree, probe=probe, room=room))
    return verdict.answer


LARGE, SMALL = (114 << 20) // 512, 8
NOTHING_FREE, HALF_FREE = Room(120 << 20, 0, 0), Room(120 << 20, 60 << 20, 60 << 20)


@pytest.mark.parametrize("room", [None, NOTHING_FREE])
def test_a_full_disk_may_find_no_room(room):
    """Its files hold it all."""
    assert used(LARGE, room) is Answer.HOLDS
    assert used(LARGE, room, ("write A/.powercut-probe: ENOSPC",)) is Answer.HOLDS


@pytest.mark.parametrize(("blocks", "room"), [(SMALL, None), (SMALL, NOTHING_FREE), (LARGE, HALF_FREE)])
def test_a_disk_that_is_not_full_may_not(blocks, room):
    """Its files hold little, so the space is lost; or there is plenty, and none is given."""
    assert used(blocks, room) is Answer.BROKEN


@pytest.mark.parametrize("failure", ["unlink filler: ENOSPC", "create-again .powercut-probe: ENOSPC"])
def test_a_full_disk_can_be_emptied(failure):
    """What is full can be deleted, and then there is room."""
    assert used(LARGE, NOTHING_FREE, (*NO_ROOM, failure)) is Answer.BROKEN


# --- code of the filesystem that is made to fail ---------------------------------------------------

EIO = errno.EIO
STOPPED = "setup\n  write a 0 8K\n  write b 0 8K\nrun\n  write a 0 4K\n  fsync a\n  errortag free_extent\n"


def test_a_call_in_which_the_filesystem_stopped_happened_or_not():
    """Both trees are right; one with half of the call is not, nor one without what was fsynced before."""
    one = Failing(STOPPED + "  rename a c\n  fsync b\n", "xfs", {5: EIO, 6: EIO}, inodes={5: 0})
    before, after = one.tree(3), one.tree(4)
    assert one.broken(before) == set()
    assert one.broken(after) == set()
    assert one.broken(without(after, "c"))
    assert one.broken((*before, node_at(after, "c")))
    assert one.broken(one.tree(0))  # as before the fsync


def test_a_fsync_in_which_the_filesystem_stopped_promises_nothing():
    one = Failing(STOPPED + "  write b 0 4K\n  fsync b\n", "xfs", {6: EIO}, inodes={6: 0})
    assert one.broken(one.tree(3)) == set()
    assert one.broken(one.tree(5)) == set()


def test_sync_promises_nothing_while_an_error_tag_is_on():
    """sync(2) reports no error, syncfs(2) does; off again, sync promises as ever."""
    for call, silent in (("sync", True), ("syncfs", False), ("umount", True)):
        one = Failing(STOPPED + f"  rename a c\n  {call}\n", "xfs", {})
        assert (one.broken(one.tree(3)) == set()) is silent, call
    off = Failing(STOPPED + "  rename a c\n  errortag free_extent off\n  sync\n", "xfs", {})
    assert off.broken(off.tree(3))


def test_an_error_with_no_tag_on_stops_nothing():
    """A tag that could not be set has no effect: where the filesystem is not XFS."""
    one = Failing(STOPPED + "  rename a c\n  fsync b\n", "ext4", {4: errno.ENOENT, 5: EIO})
    assert one.model.stopped is None
    assert one.broken(one.tree(3)) == set()


@pytest.mark.parametrize(
    ("more", "failed", "why"),
    [
        ("  creat d\n", {5: EIO}, "no inode number"),
        ("  rename a c\n  rename c d\n", {5: EIO}, "succeeded, but the filesystem had stopped"),
    ],
)
def test_what_nobody_can_say_of_a_stopped_filesystem_is_not_judged(more, failed, why):
    """The number of an object that it may have made; a call that cannot have succeeded."""
    history = history_of(STOPPED + more, "xfs")
    run = tuple(
        msgspec.structs.replace(
            step, result=-failed.get(step.index, 0), inode=0 if step.index in failed else step.inode
        )
        for step in history.run
    )
    prepared = prepare(msgspec.structs.replace(history, run=run), profile("xfs"))
    assert why in prepared.trouble
