"""Logs are written, bent, and read back."""

import os
import random
import struct
import tracemalloc
from pathlib import Path
from unittest import mock

import pytest

from harness.states.log import HEADER, MAGIC, SUPERBLOCK, BadLog, Entry, open_log, write_log
from workloads.entries import EntryFlag

FLUSH, FUA, DISCARD, MARK, METADATA = EntryFlag
WRITE = 0
SMALL = (
    Entry(8, 2, WRITE, b"a" * 1024),
    Entry(0, 0, FLUSH),
    Entry(0, 0, MARK, mark="begin-0"),
    Entry(16, 1, FUA | METADATA, b"b" * 512),
    Entry(0, 4096, DISCARD),
    Entry(0, 0, MARK, mark="end"),
)


def read(path: Path, until_end_mark: bool = False) -> tuple[Entry, ...]:
    with open_log(path, until_end_mark) as log:
        return tuple(log.entries())


def bend(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    write_log(tmp_path / "log", SMALL)
    return tmp_path / "log"


def test_the_reader_reads_what_the_writer_wrote(small: Path) -> None:
    assert read(small) == SMALL


@pytest.mark.parametrize("sector_size", [512, 4096])
def test_random_entries_come_back_whatever_the_sector_size(tmp_path: Path, sector_size: int) -> None:
    draw = random.Random(sector_size)
    unit = sector_size // 512
    counts = [draw.randrange(1, 5) * unit for _ in range(50)]
    entries = tuple(Entry(draw.randrange(99) * unit, n, WRITE, draw.randbytes(n * 512)) for n in counts)
    write_log(tmp_path / "log", entries, sector_size)
    assert read(tmp_path / "log") == entries


def test_on_disk_sectors_are_counted_in_the_logs_own_sector_size(tmp_path: Path) -> None:
    write_log(tmp_path / "log", [Entry(16, 8, WRITE, bytes(4096))], sector_size=4096)
    assert HEADER.unpack_from((tmp_path / "log").read_bytes(), 4096) == (2, 1, 0, 0)


def test_a_summary_is_the_entry_without_its_data(small: Path) -> None:
    with open_log(small) as log:
        summaries = [log.summary(index) for index in range(len(log))]
    assert [(s.flags, s.sector, s.sector_count, s.mark) for s in summaries] == [
        (e.flags, e.sector, e.sector_count, e.mark) for e in SMALL
    ]


def test_a_mark_is_found_by_its_text(small: Path) -> None:
    with open_log(small) as log:
        assert (log.mark_index("begin-0"), log.mark_index("end")) == (2, 5)
        with pytest.raises(BadLog, match="none of its 6 entries is the mark 'run'"):
            log.mark_index("run")


def test_a_log_of_nothing_has_no_entries(tmp_path: Path) -> None:
    assert write_log(tmp_path / "log", ()) == 0
    assert read(tmp_path / "log") == ()


def test_reading_on_to_the_end_mark_passes_a_superblock_that_lags(small: Path) -> None:
    bend(small, 8 + 8, struct.pack("<Q", 2))
    assert read(small) == SMALL[:2]
    assert read(small, until_end_mark=True) == SMALL


def test_reading_on_stops_at_the_end_mark(tmp_path: Path) -> None:
    write_log(tmp_path / "log", (*SMALL, Entry(0, 0, FLUSH)))
    assert read(tmp_path / "log", until_end_mark=True) == SMALL


def test_zeros_behind_the_last_entry_are_no_entries(small: Path) -> None:
    """As on a log device that is larger than its log."""
    with small.open("ab") as file:
        file.write(bytes(8192))
    bend(small, 8 + 8, struct.pack("<Q", 7))
    with pytest.raises(BadLog, match=r"entry 6 at byte \d+ is invalid"):
        read(small)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes are too small"),
        (b"PNG" * 500, "is not a dm-log-writes log: its magic"),
        (SUPERBLOCK.pack(MAGIC, 2, 0, 512), "version 2; only version 1"),
        (SUPERBLOCK.pack(MAGIC, 1, 0, 0), "sector size 0"),
        (SUPERBLOCK.pack(MAGIC, 1, 0, 1000), "sector size 1000"),
        (SUPERBLOCK.pack(MAGIC, 1, 5, 512), "ends after 0 entries, and its superblock says 5"),
    ],
)
def test_what_is_no_log_is_refused_with_the_reason(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "log").write_bytes(content)
    with pytest.raises(BadLog, match=message):
        read(tmp_path / "log")


def test_a_sector_size_beyond_reason_reads_no_more_than_there_is(small: Path) -> None:
    """A damaged superblock is a BadLog, and not the end of our memory."""
    bend(small, 8 + 8 + 8, struct.pack("<I", 0xFFFFFE00))
    with mock.patch("os.pread", wraps=os.pread) as pread, pytest.raises(BadLog, match="ends after 0 entries"):
        read(small)
    assert max(call.args[1] for call in pread.call_args_list) <= small.stat().st_size


def test_a_log_cut_off_anywhere_is_refused(small: Path) -> None:
    whole = small.read_bytes()
    for size_bytes in range(0, len(whole), 100):
        small.write_bytes(whole[:size_bytes])
        with pytest.raises(BadLog):
            read(small)


def test_a_cut_names_the_entry_and_whether_header_or_data_is_short(small: Path) -> None:
    whole = small.read_bytes()
    for size_bytes, message in ((512 + 20, "header of entry 0 at byte 512"), (1500, "middle of entry 0")):
        small.write_bytes(whole[:size_bytes])
        with pytest.raises(BadLog, match=message):
            read(small)


def test_more_entries_claimed_than_held_is_refused_with_both_numbers(small: Path) -> None:
    bend(small, 8 + 8, struct.pack("<Q", 1_000_000))
    with pytest.raises(BadLog, match="ends after 6 entries, and its superblock says 1000000"):
        read(small)


@pytest.mark.parametrize(
    "header",
    [
        (0, 1, 32, 0),
        (0, 1, 1 << 63, 0),
        (0, 0, 0, 0),
        (0, 0, MARK, 481),
        ((1 << 64) - 1, 1, FUA, 0),
        (0, (1 << 64) - 1, DISCARD, 0),
    ],
    ids=["flag 32", "flag 2^63", "nothing at all", "long mark", "far sector", "endless discard"],
)
def test_an_absurd_header_is_refused_with_its_place(small: Path, header: tuple[int, ...]) -> None:
    bend(small, 512, HEADER.pack(*header))
    with pytest.raises(BadLog, match="entry 0 at byte 512 is invalid"):
        read(small)


def test_a_file_that_shrinks_after_it_was_opened_is_noticed(small: Path) -> None:
    with open_log(small) as log:
        small.write_bytes(small.read_bytes()[:600])
        with pytest.raises(BadLog, match="cut off in the data of entry 0"):
            log.entry(0)


def test_an_unfinished_log_is_no_log(tmp_path: Path) -> None:
    def interrupted():
        yield SMALL[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_log(tmp_path / "log", interrupted())
    with pytest.raises(BadLog, match="magic number is 0x0"):
        read(tmp_path / "log")


def test_an_open_log_takes_less_than_60_bytes_an_entry(tmp_path: Path) -> None:
    count = 20_000
    flush = Entry(0, 0, FLUSH)
    write_log(tmp_path / "log", (flush for _ in range(count)))
    tracemalloc.start()
    try:
        with open_log(tmp_path / "log") as log:
            held_bytes, _ = tracemalloc.get_traced_memory()
            assert len(log) == count
    finally:
        tracemalloc.stop()
    assert held_bytes < 60 * count


def test_an_entry_costs_one_read_of_its_data_wherever_it_stands(tmp_path: Path) -> None:
    write_log(tmp_path / "log", (Entry(n, 1, WRITE, bytes([n % 251]) * 512) for n in range(2000)))
    with open_log(tmp_path / "log") as log, mock.patch("os.pread", wraps=os.pread) as pread:
        for index in (1999, 0, 1000):
            pread.reset_mock()
            assert log.entry(index).data == bytes([index % 251]) * 512
            assert [call.args[1] for call in pread.call_args_list] == [512]
