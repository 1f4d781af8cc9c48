"""
What a recorded log amounts to, counted.

In:       the entries of one log.
Out:      LogFigures (results.py): counts and bytes, exact for this log.
Not here: times (a log has none), the entries' data, what they are for.
"""

from collections.abc import Iterable, Sequence

from reports.results import LogFigures
from workloads.entries import EntryFlag, EntrySummary

SECTOR_BYTES = 512


FIGURES = ("entries", "flush", "fua", "windows", "bytes", "metadata_bytes")
LABELS = ("entries", "FLUSH", "FUA", "windows", "bytes", "metadata bytes")


def log_figures(entries: Sequence[EntrySummary]) -> LogFigures:
    written = [entry for entry in entries if not entry.flags & EntryFlag.MARK]
    flush = sum(bool(entry.flags & EntryFlag.FLUSH) for entry in written)
    open_end = bool(written) and not written[-1].flags & EntryFlag.FLUSH
    return LogFigures(
        entries=len(written),
        flush=flush,
        fua=sum(bool(entry.flags & EntryFlag.FUA) for entry in written),
        bytes=written_bytes(written),
        metadata_bytes=written_bytes(entry for entry in written if entry.flags & EntryFlag.METADATA),
        windows=flush + open_end,
    )


def written_bytes(entries: Iterable[EntrySummary]) -> int:
    """A discard has sectors and writes none."""
    return SECTOR_BYTES * sum(e.sector_count for e in entries if not e.flags & EntryFlag.DISCARD)
