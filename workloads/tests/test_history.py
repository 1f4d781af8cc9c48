"""The bytes that tell which operation wrote them; histories of steps and marks."""

import pytest

from workloads.history import (
    CELL_MAGIC,
    JBD2_MAGIC,
    History,
    NoHistory,
    Step,
    history_of,
    stamped,
    with_magic,
)
from workloads.workload import Operation


def test_a_cell_names_its_operation_and_place():
    """A whole cell holds index + 1, the magic and its own number, little endian."""
    assert stamped(6, 16, 8) == (7).to_bytes(2, "little") + CELL_MAGIC.to_bytes(2, "little") + bytes(
        [2, 0, 0, 0]
    )


@pytest.mark.parametrize(("offset", "length"), [(0, 0), (0, 1), (3, 2), (7, 1), (7, 2), (8, 8), (4095, 4098)])
def test_a_range_is_cut_out_of_the_whole(offset, length):
    """What is written at any offset is what a write of the whole file would put there."""
    assert stamped(5, offset, length) == stamped(5, 0, 16384)[offset : offset + length]
    assert len(stamped(5, offset, length)) == length


def test_no_two_operations_and_no_two_places_look_alike():
    """The cells of different operations and offsets differ, and none is zero."""
    cells = {stamped(index, offset, 8) for index in range(50) for offset in range(0, 400, 8)}
    assert len(cells) == 50 * 50
    assert bytes(8) not in cells


def test_the_last_allowed_operation_has_a_stamp():
    """60,000 operations fit in the u16 of a stamp."""
    assert stamped(59_999, 0, 2) == (60_000).to_bytes(2, "little")


# --- of steps and marks ---------------------------------------------------------------------------


def step(index: int, word: str = "creat", **fields: object) -> Step:
    return Step(index, Operation(word, path="foo", **fields), 0)


def marks_of(**places: tuple[int, int]) -> dict[str, int]:
    """s3=(4, 6): step 3 begins at entry 4 and is done at entry 6."""
    return {
        f"{word}-{name[1:]}": place
        for name, both in places.items()
        for word, place in zip(("begin", "done"), both, strict=True)
    }


def made(setup: list[Step], run: list[Step], marks: dict[str, int], entry_count: int = 20) -> History:
    return history_of(
        setup, run, marks, entry_count, profile="ext4", kernel="test", root_inode=2, name="made"
    )


def test_steps_are_placed_by_their_marks() -> None:
    """Marks of nobody do no harm; the workload is what was done."""
    marks = {"checkpoint": 0, **marks_of(s1=(2, 5), s2=(6, 9))}
    history = made([step(0, "mkdir")], [step(2, "fsync"), step(1)], marks)
    assert [(one.begin_entry, one.end_entry) for one in (*history.setup, *history.run)] == [
        (-1, -1),
        (2, 5),
        (6, 9),
    ]
    assert [op.word for op in (*history.workload.setup, *history.workload.run)] == ["mkdir", "creat", "fsync"]
    assert (history.workload.name, history.parallel, history.entry_count) == ("made", False, 20)
    assert (history.begun_count(6), history.completed_count(6)) == (1, 1)


def test_what_overlaps_stands_in_a_parallel_block_in_the_order_of_its_beginnings() -> None:
    beside = {"parallel": 1}
    run = [step(0, thread=1, **beside), step(1, "fsync", thread=2, **beside), step(2, "sync")]
    history = made([], run, marks_of(s0=(3, 8), s1=(1, 5), s2=(9, 10)))
    assert [one.index for one in history.run] == [1, 0, 2]
    assert [op.word for op in history.workload.run] == ["creat", "fsync", "sync"]
    assert history.parallel
    assert history.returned(6) == {1}


@pytest.mark.parametrize(
    ("setup", "run", "marks", "message"),
    [
        ([], [step(0)], {"begin-0": 3}, r"no marks of operation 0 \(creat\)"),
        ([], [step(0)], {"done-0": 3}, r"no marks of operation 0 \(creat\)"),
        ([], [step(0)], marks_of(s0=(5, 4)), r"operation 0 \(creat\) ends before it begins"),
        ([], [step(0)], marks_of(s0=(5, 20)), "operation 0 ends after the last of the 20 entries"),
        (
            [],
            [step(1)],
            marks_of(s1=(0, 1)),
            r"must be numbered from 0 without a gap, and the numbers are \[1\]",
        ),
        ([step(1)], [step(0)], marks_of(s0=(0, 1)), "must be numbered from 0"),
        ([step(0)], [step(0)], marks_of(s0=(0, 1)), "must be numbered from 0"),
        (
            [],
            [step(0), step(1)],
            marks_of(s0=(0, 4), s1=(2, 6)),
            "operation 1 begins before operation 0 has ended",
        ),
        (
            [],
            [step(0), step(1)],
            marks_of(s0=(4, 5), s1=(0, 2)),
            "operation 0 begins before operation 1 has ended",
        ),
    ],
    ids=[
        *("not done", "not begun", "backwards", "behind the log", "a gap", "setup after run", "twice"),
        *("overlapping", "in another order"),
    ],
)
def test_steps_and_marks_that_do_not_fit_are_refused(
    setup: list[Step], run: list[Step], marks: dict[str, int], message: str
) -> None:
    with pytest.raises(NoHistory, match=message):
        made(setup, run, marks)


@pytest.mark.parametrize(("offset", "length"), [(0, 4096), (3, 5000), (1022, 3), (2046, 70000)])
def test_each_kib_begins_with_the_magic_wherever_a_piece_begins(offset, length):
    """All else is as it was, and pieces of a write have the same bytes as the whole of it."""
    plain, marked = stamped(3, offset, length), with_magic(stamped(3, offset, length), offset)
    for place, (before, after) in enumerate(zip(plain, marked, strict=True), offset):
        assert after == (JBD2_MAGIC[place % 1024] if place % 1024 < len(JBD2_MAGIC) else before)
    half = length // 2
    first, second = stamped(3, offset, half), stamped(3, offset + half, length - half)
    assert with_magic(first, offset) + with_magic(second, offset + half) == marked
