"""The table of planted bugs made small: kept rows are not done again, and each missing program says why."""

from pathlib import Path

import msgspec
import pytest

from harness.progress import Progress
from harness.suite import smallest
from harness.suite.smallest import REFUSED, TRIED, Program, Row, rows_of, table
from harness.sweep import Bug

BUG = Bug("planted/name-lost", ("btrfs",), ("fsync-new-file",), ("durable",))
ROW = Row(
    planted=BUG.name,
    folder="name-lost/F1/now",
    signature="btrfs durable: name lost (fsynced file)",
    workload="fsync-new-file",
    state="O:12",
    before=7,
    after=2,
    shown=5,
    programs=(
        Program("sh", TRIED, "flakey: foo is missing"),
        Program("c", REFUSED, "F1 is not exported to c: no"),
        Program("fstests", REFUSED, "F1 is not exported to fstests: no"),
    ),
    seconds=12.3,
)


def test_a_bug_whose_rows_are_kept_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was stopped before all of its rows were there is."""
    done = []

    def make(bug, kernel, folder, progress):
        done.append((bug.name, kernel))
        if len(done) == 1:
            raise KeyboardInterrupt
        yield ROW

    monkeypatch.setattr(smallest, "_rows", make)
    with pytest.raises(KeyboardInterrupt):
        rows_of(BUG, "6.12", tmp_path, Progress(quiet=True))
    assert rows_of(BUG, "6.12", tmp_path, Progress(quiet=True)) == (ROW,)
    assert rows_of(BUG, "6.12", tmp_path, Progress(quiet=True)) == (ROW,)
    assert done == [("planted/name-lost", "6.12")] * 2


def test_the_table_has_a_line_for_each_row_and_the_way_out_of_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "name-lost.json").write_bytes(msgspec.json.encode((ROW,)))
    head, line, *reasons = table(tmp_path)
    assert head.split() == ["planted", "bug", "operations", "state", "seen", "sh", "c", "fstests", "seconds"]
    assert line.split() == [
        "name-lost",
        "7",
        "->",
        "2",
        "O:12",
        "5",
        "of",
        "5",
        "flakey",
        "refused",
        "refused",
        "12.3",
    ]
    assert reasons == ["  c, fstests: F1 is not exported: no"]
