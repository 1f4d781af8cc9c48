"""Counts of a log."""

from reports.results import LogFigures
from reports.text.figures import log_figures
from workloads.entries import EntryFlag, EntrySummary

MARK = EntrySummary(EntryFlag.MARK, 0, 0, "begin 0")
DATA = EntrySummary(0, 8, 16)
METADATA = EntrySummary(EntryFlag.METADATA, 64, 8)
FLUSH = EntrySummary(EntryFlag.FLUSH, 0, 0)
SUPER = EntrySummary(EntryFlag.FUA | EntryFlag.METADATA, 128, 8)
DISCARD = EntrySummary(EntryFlag.DISCARD, 0, 2048)


def test_a_log_is_counted_without_its_marks() -> None:
    """24 sectors of metadata and data before the FLUSH, a superblock after it: two windows."""
    found = log_figures((MARK, DATA, METADATA, FLUSH, SUPER, MARK))
    assert found == LogFigures(4, 1, 1, 32 * 512, 16 * 512, 2)


def test_a_discard_is_an_entry_and_writes_nothing() -> None:
    assert log_figures((DISCARD,)) == LogFigures(1, 0, 0, 0, 0, 1)


def test_a_log_that_ends_with_a_flush_has_no_open_window() -> None:
    assert log_figures((DATA, FLUSH)).windows == 1
    assert log_figures((MARK, MARK)).windows == 0
