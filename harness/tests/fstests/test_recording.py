"""Which parts of a recorded log hold a filesystem, and which log of a test is taken."""

from pathlib import Path

import pytest

from harness.fstests.recording import (
    END,
    GONE,
    LOG_BYTES,
    MADE,
    OWN_LOG,
    RECORD,
    SCRATCH,
    SETUP,
    TEARDOWN,
    TEST,
    WRAPPER,
    Life,
    free_devices,
    is_log,
    keep_log,
    lives,
)
from harness.states.log import BadLog, Entry, write_log
from workloads.entries import EntryFlag

MKFS = "mkfs.btrfs"


def marked(*texts: str) -> dict[int, str]:
    """Each mark with three entries behind it."""
    return {4 * number: text for number, text in enumerate(texts)}


def test_a_life_begins_behind_mkfs_and_ends_before_the_next() -> None:
    marks = marked(
        "powercut-gone-wipefs-1",
        f"{GONE}-{MKFS}-2",
        f"{MADE}-{MKFS}-2",
        f"{GONE}-{MKFS}-3",
        f"{MADE}-{MKFS}-3",
    )
    assert lives(marks, 20) == (
        Life(f"{MADE}-{MKFS}-2", f"{GONE}-{MKFS}-3", 3),
        Life(f"{MADE}-{MKFS}-3", "", 3),
    )
    assert lives({**marks, 20: END}, 21)[-1] == Life(f"{MADE}-{MKFS}-3", END, 3)


def test_what_check_does_before_it_wipes_the_device_is_left_out() -> None:
    marks = marked(f"{GONE}-{MKFS}-1", f"{MADE}-{MKFS}-1", f"{GONE}-wipefs-2", f"{MADE}-{MKFS}-3")
    assert [life.first for life in lives(marks, 16)] == [f"{MADE}-{MKFS}-3"]


def test_a_mkfs_that_failed_leaves_no_filesystem() -> None:
    assert lives(marked(f"{GONE}-{MKFS}-1", f"{GONE}-{MKFS}-2"), 8) == ()


def test_marks_of_the_test_count_as_no_entries() -> None:
    marks = {0: f"{MADE}-{MKFS}-1", 1: "mkfs", 2: "fsync"}
    assert lives(marks, 4) == ()
    assert lives(marks, 5)[0].entry_count == 2


def log_file(path: Path, *marks: str) -> None:
    entries = [Entry(0, 0, EntryFlag.MARK, b"", mark) for mark in marks]
    write_log(path, [*entries, *(Entry(8 * at, 8, EntryFlag.FUA, bytes(4096)) for at in range(3))])
    with path.open("r+b") as file:
        file.truncate(1 << 20)  # as a device: zeros behind the log


def test_the_log_of_the_test_itself_is_taken_where_it_has_one(tmp_path: Path) -> None:
    log_file(tmp_path / RECORD, f"{MADE}-{MKFS}-1")
    (tmp_path / OWN_LOG).write_bytes(bytes(4096))
    assert not is_log(tmp_path / OWN_LOG)
    assert keep_log(tmp_path, tmp_path / "kept")[0].first == f"{MADE}-{MKFS}-1"
    log_file(tmp_path / OWN_LOG, f"{MADE}-{MKFS}-7")
    assert keep_log(tmp_path, tmp_path / "kept")[0].first == f"{MADE}-{MKFS}-7"
    log_file(tmp_path / OWN_LOG)  # without a filesystem in it
    assert keep_log(tmp_path, tmp_path / "kept")[0].first == f"{MADE}-{MKFS}-1"
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["base.img", "log.zst"]


def test_the_devices_of_the_guest_are_given_back_and_the_log_stays(tmp_path: Path) -> None:
    log_file(tmp_path / RECORD, f"{MADE}-{MKFS}-1")
    for name in (TEST, SCRATCH, OWN_LOG):
        (tmp_path / name).write_bytes(bytes(4096))
    keep_log(tmp_path, tmp_path / "kept")
    free_devices(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_guest_that_died_before_it_recorded_has_no_log(tmp_path: Path) -> None:
    for name in (OWN_LOG, RECORD):
        (tmp_path / name).write_bytes(bytes(4096))
    with pytest.raises(BadLog):
        keep_log(tmp_path, tmp_path / "kept")
    assert not (tmp_path / "kept").exists()


def test_the_script_is_one_for_bash() -> None:
    """No brace of Python is left in it, and the programs' names are."""
    for text in (WRAPPER, SETUP, TEARDOWN):
        assert "{{" not in text
    assert f"mark {GONE}" in WRAPPER
    assert WRAPPER.startswith("#!/bin/bash\n")
    assert "mkfs.xfs" in SETUP
    assert " SOAK_DURATION=10\n" in SETUP
    assert LOG_BYTES > 1 << 30
