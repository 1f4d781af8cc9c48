"""Plain writes that the log has behind a later write with FUA, and the disk that tells."""

from pathlib import Path

import pytest

from harness.states.log import Entry, Log, open_log, write_log
from harness.states.overtaken import overtaken, suspects
from workloads.entries import EntryFlag
from workloads.history import stamped

OLD, NEW = b"o" * 4096, b"n" * 4096
FUA_WRITE = Entry(8, 8, EntryFlag.FUA, NEW)
PLAIN_WRITE = Entry(8, 8, 0, OLD)
FLUSH = Entry(0, 0, EntryFlag.FLUSH)


def mark(text: str) -> Entry:
    return Entry(0, 0, EntryFlag.MARK, mark=text)


def put_right(
    folder: Path, entries: tuple[Entry, ...], disk: bytes
) -> tuple[tuple[Entry, ...], dict[int, str]]:
    """The entries in their order after the check, and the marks of the log."""
    write_log(folder / "log", entries)
    with open_log(folder / "log") as log:
        moves = overtaken(log, suspects(log), lambda offset, length: disk[offset : offset + length])
        moved: Log = log.moved(moves)
        return tuple(moved.entries()), moved.marks


def test_a_plain_write_that_the_disk_shows_to_be_older_goes_in_front(tmp_path: Path) -> None:
    entries = (mark("begin-0"), FUA_WRITE, mark("end-0"), PLAIN_WRITE, FLUSH, mark("end"))
    moved, marks = put_right(tmp_path, entries, bytes(4096) + NEW)
    assert moved == (mark("begin-0"), PLAIN_WRITE, FUA_WRITE, mark("end-0"), FLUSH, mark("end"))
    assert marks == {0: "begin-0", 3: "end-0", 5: "end"}


def test_a_plain_write_that_did_come_later_stays(tmp_path: Path) -> None:
    entries = (FUA_WRITE, PLAIN_WRITE, FLUSH)
    assert put_right(tmp_path, entries, bytes(4096) + OLD)[0] == entries


def test_two_plain_writes_keep_their_order(tmp_path: Path) -> None:
    with_fua = Entry(8, 16, EntryFlag.FUA, NEW + NEW)
    beside = Entry(16, 8, 0, OLD)
    moved, _ = put_right(tmp_path, (with_fua, PLAIN_WRITE, beside, FLUSH), bytes(4096) + NEW + NEW)
    assert moved == (PLAIN_WRITE, beside, with_fua, FLUSH)


@pytest.mark.parametrize("later", [Entry(8, 8, 0, NEW), Entry(0, 64, EntryFlag.DISCARD)])
def test_a_place_that_is_written_once_more_is_left_as_it_is(tmp_path: Path, later: Entry) -> None:
    entries = (FUA_WRITE, PLAIN_WRITE, FLUSH, later, FLUSH)
    assert put_right(tmp_path, entries, bytes(4096) + NEW)[0] == entries


@pytest.mark.parametrize(
    ("plain", "front", "moves"),
    [
        (stamped(2, 0, 4096), stamped(3, 0, 4096), True),
        (stamped(3, 0, 4096), stamped(2, 0, 4096), False),  # of a later operation
        (stamped(2, 0, 4096), stamped(3, 4096, 4096), False),  # of another place
        (stamped(2, 0, 4096), stamped(3, 0, 4000) + bytes(96), False),
        (bytes(4096), stamped(3, 0, 4096), False),
    ],
)
@pytest.mark.parametrize("later", [(8, 8, NEW), (8, 16, NEW + NEW), (0, 64, None)])
def test_a_place_that_is_written_once_more_is_told_by_stamps(tmp_path, plain, front, moves, later):
    sector, count, data = later
    last = Entry(sector, count, 0, data) if data else Entry(sector, count, EntryFlag.DISCARD)
    with_fua, without = Entry(8, 8, EntryFlag.FUA, front), Entry(8, 8, 0, plain)
    after = (FLUSH, last, FLUSH)
    moved, _ = put_right(tmp_path, (with_fua, without, *after), bytes(4096) + NEW)
    assert moved[:2] == ((without, with_fua) if moves else (with_fua, without))
    assert moved[2:] == after


@pytest.mark.parametrize(
    "entries",
    [
        (FUA_WRITE, Entry(16, 8, 0, OLD), FLUSH),
        (PLAIN_WRITE, FUA_WRITE, FLUSH),
        (FUA_WRITE, mark("end-0"), Entry(8, 8, EntryFlag.DISCARD), FLUSH),
    ],
)
def test_what_a_flush_or_another_place_parts_is_no_suspect(
    tmp_path: Path, entries: tuple[Entry, ...]
) -> None:
    write_log(tmp_path / "log", entries)
    with open_log(tmp_path / "log") as log:
        assert suspects(log) == []


def test_a_plain_write_that_another_flush_overtook_goes_in_front(tmp_path: Path) -> None:
    """Two tasks flush at once, and the FLUSH that took the later write completes first."""
    newer, older = Entry(16, 8, 0, NEW), Entry(8, 16, 0, OLD + OLD)
    entries = (newer, FLUSH, mark("end-1"), older, FLUSH)
    moved, marks = put_right(tmp_path, entries, bytes(4096) + OLD + NEW)
    assert moved == (older, newer, FLUSH, mark("end-1"), FLUSH)
    assert marks == {3: "end-1"}


@pytest.mark.parametrize(
    ("entries", "disk"),
    [
        ((PLAIN_WRITE, FLUSH, Entry(8, 8, 0, NEW), FLUSH), NEW),
        ((PLAIN_WRITE, FLUSH, Entry(8, 8, 0, NEW), FLUSH), b"x" * 4096),
        ((PLAIN_WRITE, FLUSH, Entry(8, 8, EntryFlag.FUA, NEW)), OLD),
        ((PLAIN_WRITE, FLUSH, Entry(8, 8, 0, NEW), FLUSH, Entry(0, 64, EntryFlag.DISCARD)), OLD),
    ],
    ids=["it did come later", "the disk has neither", "with FUA", "discarded"],
)
def test_what_the_disk_does_not_show_stays(tmp_path: Path, entries: tuple[Entry, ...], disk: bytes) -> None:
    assert put_right(tmp_path, entries, bytes(4096) + disk)[0] == entries
