"""
Where everything of one experiment lies on a line that the log's entries measure.

In:       entries, a history, states with their answers.
Out:      Timeline: bars, windows, entries and cells with their places in pixels; the same log as rows of a
          table, for a reader who cannot see the drawing.
Not here: the markup (draw_timeline() in templates/parts.html), the entries' data.
"""

import itertools
import math
from collections.abc import Iterable, Mapping

import msgspec

from oracles.verdict import Answer
from reports.text.digest import entry_kind
from workloads.entries import ALL_DEVICES, EntryFlag, EntrySummary
from workloads.history import History

LABEL_CHARACTER_PX = 6.7  # of the 11 px monospace font that templates/report.css sets for labels
LANE_PX = 22
LANES_SHOWN = 8  # more would hide the log; then labels give way, not bars
ENTRIES_PX = 56
STRIP_PX = 18
GUTTER_PX = 84  # for the names of the bands
WIDE_PX = 1060  # what a page of 1400 px has room for
COLUMNS_DRAWN = 1500  # at about 150 bytes each; a longer log is drawn with several entries a column
WORST = (Answer.HOLDS, Answer.UNKNOWN, Answer.BROKEN)
LETTERS = {"data": "w", "metadata": "m", "fua": "U", "flush": "F", "discard": "d", "mark": ""}
LETTER_MIN_PX = 9  # under it the letters below the entries would touch
CELL_HEIGHTS = {
    Answer.HOLDS: 9.0,
    Answer.UNKNOWN: 13.0,
    Answer.BROKEN: 18.0,
}  # not only colour tells them apart
CELL_MARKS = {Answer.UNKNOWN: "?", Answer.BROKEN: "\u2715"}
ENTRIES_LISTED = 400  # rows of a table, at about 130 bytes each


class Bar(msgspec.Struct, frozen=True):
    """One operation. x, width: from its begin mark to its end mark. label_x: where its text starts."""

    index: int
    x: float
    y: float
    width: float
    label: str
    failed: bool
    title: str


class LogWindow(msgspec.Struct, frozen=True):
    """What lies between two FLUSHes; entries first to last."""

    x: float
    width: float
    first: int
    last: int


class EntryBar(msgspec.Struct, frozen=True):
    """One entry; its height grows with the logarithm of its sectors."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    letter: str
    flush: bool
    title: str
    device: str = ""  # its number, where there are several and it has room


SAME, PROVEN = "same", "proven"
BY = ("", PROVEN, SAME)  # of several states in one cell the first is shown


class Cell(msgspec.Struct, frozen=True):
    """A state of model O, at the border behind the last entry it has. mark: "" where it has no room. by:
    how an earlier state serves for it, SAME or PROVEN; "" where it was recovered itself."""

    x: float
    width: float
    height: float
    answer: str
    mark: str
    spec: str
    by: str


class EntryRow(msgspec.Struct, frozen=True):
    """One entry in words. operations: the numbers of those in flight."""

    number: int
    kind: str
    words: str
    operations: tuple[int, ...]


class Timeline(msgspec.Struct, frozen=True):
    """y_*: tops of the bands. ticks: (x, entry number). cut_x: where the power failed, or None.
    entry_count: of the log, of which a column may show several."""

    width: float
    height: float
    entry_px: float
    entry_count: int
    y_entries: float
    y_strip: float
    y_axis: float
    bars: tuple[Bar, ...]
    windows: tuple[LogWindow, ...]
    entries: tuple[EntryBar, ...]
    cells: tuple[Cell, ...]
    ticks: tuple[tuple[float, int], ...]
    cut_x: float | None


def timeline(
    entries: tuple[EntrySummary, ...],
    history: History | None,
    texts: Mapping[int, str],
    cells: Iterable[tuple[str, int, str, str]] = (),
    cut: int | None = None,
) -> Timeline:
    """cells: (spec, prefix, answer, by) of each state of model O. texts: operation to its line."""
    per_column = max(1, math.ceil(len(entries) / COLUMNS_DRAWN))
    entry_px = max(2.0 / per_column, min(26.0, WIDE_PX / max(1, len(entries) + 1)))
    left = GUTTER_PX + entry_px / 2  # room for half the cell of O:0
    bars, lane_count = operation_bars(history, texts, left, entry_px)
    y_entries = lane_count * LANE_PX + 8
    y_strip = y_entries + ENTRIES_PX + 16
    width = left + entry_px * (len(entries) + 0.5) + 6
    for bar in bars:
        width = max(width, bar.x + label_px(bar.label) + 4)
    return Timeline(
        width=round(width, 1),
        height=y_strip + STRIP_PX + 22,
        entry_px=entry_px,
        entry_count=len(entries),
        y_entries=y_entries,
        y_strip=y_strip,
        y_axis=y_strip + STRIP_PX + 4,
        bars=bars,
        windows=tuple(windows(entries, left, entry_px)),
        entries=tuple(columns(entry_bars(entries, left, entry_px), per_column)),
        cells=tuple(cell_columns(cells, left, entry_px, per_column)),
        ticks=tuple((round(left + at * entry_px, 1), at) for at in tick_places(len(entries), entry_px)),
        cut_x=None if cut is None else round(left + cut * entry_px, 1),
    )


def operation_bars(
    history: History | None, texts: Mapping[int, str], left: float, entry_px: float
) -> tuple[tuple[Bar, ...], int]:
    """Each in the first lane whose last label it does not touch; and how many lanes that took.

    Where all lanes are taken it goes, without a label, into the first of those below whose last bar it does
    not touch: there is one of them, and of a parallel block one for each thread at most.
    """
    lane_ends: list[float] = []
    bars = []
    for step in history.run if history else ():
        x = left + step.begin_entry * entry_px
        width = max((step.end_entry + 1 - step.begin_entry) * entry_px, 2.0)
        text = texts.get(step.index, step.operation.word)
        thread = f"\u2016{step.operation.thread} " if step.operation.parallel else ""
        label = f"{thread}{step.index} {text}" + (" failed" if step.result < 0 else "")
        end = max(x + width, x + label_px(label))
        lane = next((n for n, lane_end in enumerate(lane_ends) if lane_end <= x), len(lane_ends))
        if lane >= LANES_SHOWN:
            label, end = "", x + width if step.operation.parallel else x
        lane_ends[lane:] = [end, *lane_ends[lane + 1 :]]
        thread = f" of thread {step.operation.thread}" if step.operation.parallel else ""
        title = f"operation {step.index}{thread}: {text}, entries {step.begin_entry} to {step.end_entry}"
        bars.append(
            Bar(step.index, round(x, 1), lane * LANE_PX, round(width, 1), label, step.result < 0, title)
        )
    return tuple(bars), len(lane_ends)


def label_px(label: str) -> float:
    return len(label) * LABEL_CHARACTER_PX + 12


def windows(entries: tuple[EntrySummary, ...], left: float, entry_px: float) -> Iterable[LogWindow]:
    """A FLUSH ends its window: what was written before it is durable once it is in the log."""
    ends = [at + 1 for at, entry in enumerate(entries) if entry.flags & EntryFlag.FLUSH]
    if not ends or ends[-1] < len(entries):
        ends.append(len(entries))
    for first, end in itertools.pairwise([0, *ends]):
        yield LogWindow(round(left + first * entry_px, 1), round((end - first) * entry_px, 1), first, end - 1)


def entry_bars(entries: tuple[EntrySummary, ...], left: float, entry_px: float) -> Iterable[EntryBar]:
    top = math.log2(max((entry.sector_count for entry in entries), default=1) + 1) or 1.0
    several = any(entry.device > 0 for entry in entries)
    for at, entry in enumerate(entries):
        kind = entry_kind(entry)
        height = 5.0 if kind == "mark" else max(7.0, ENTRIES_PX * math.log2(entry.sector_count + 1) / top)
        yield EntryBar(
            x=round(left + at * entry_px + entry_px * 0.1, 1),
            y=round(ENTRIES_PX - height, 1),
            width=round(entry_px * 0.8, 1),
            height=round(height, 1),
            kind=kind,
            letter=LETTERS[kind] if entry_px >= LETTER_MIN_PX else "",
            flush=bool(entry.flags & EntryFlag.FLUSH),
            title=entry_words(at, entry),
            device=str(entry.device) if several and kind != "mark" and entry_px >= LETTER_MIN_PX else "",
        )


def columns(bars: Iterable[EntryBar], per_column: int) -> Iterable[EntryBar]:
    """The highest of every `per_column` bars, as wide as they all; a FLUSH among them is kept."""
    if per_column == 1:
        yield from bars
        return
    waiting = iter(bars)
    while chunk := list(itertools.islice(waiting, per_column)):
        yield msgspec.structs.replace(
            max(chunk, key=lambda bar: bar.height),
            x=chunk[0].x,
            width=round(chunk[-1].x + chunk[-1].width - chunk[0].x, 1),
            flush=any(bar.flush for bar in chunk),
            title=f"{chunk[0].title} … {chunk[-1].title}",
        )


def cell_columns(
    cells: Iterable[tuple[str, int, str, str]], left: float, entry_px: float, per_column: int
) -> Iterable[Cell]:
    """One cell a state; in a long log one for `per_column` states, with the worst answer of them."""
    waiting = iter(cells)
    while chunk := list(itertools.islice(waiting, per_column)):
        spec, _, answer, _ = max(chunk, key=lambda cell: WORST.index(Answer(cell[2])))
        width = round((chunk[-1][1] - chunk[0][1] + 1) * entry_px, 1)
        yield Cell(
            x=round(left + (chunk[0][1] - 0.5) * entry_px, 1),
            width=width,
            height=CELL_HEIGHTS[Answer(answer)],
            answer=answer,
            mark=CELL_MARKS.get(Answer(answer), "") if width >= LETTER_MIN_PX else "",
            spec=spec,
            by=min((by for _, _, _, by in chunk), key=BY.index),
        )


def entry_rows(entries: tuple[EntrySummary, ...], history: History | None) -> tuple[EntryRow, ...]:
    """Of a log that is not too long for a table; else none."""
    if len(entries) > ENTRIES_LISTED:
        return ()
    steps = history.run if history else ()
    return tuple(
        EntryRow(
            at,
            entry_kind(entry),
            what_entry(entry),
            tuple(step.index for step in steps if step.begin_entry <= at <= step.end_entry),
        )
        for at, entry in enumerate(entries)
    )


def entry_words(at: int, entry: EntrySummary) -> str:
    """ "entry 12: FLUSH FUA METADATA, 8 sectors at 128"."""
    return f"entry {at}: {what_entry(entry)}"


def what_entry(entry: EntrySummary) -> str:
    if entry.flags & EntryFlag.MARK:
        return f"mark {entry.mark}"
    flags = " ".join(str(flag.name) for flag in EntryFlag if entry.flags & flag) or "write"
    device = {0: "", ALL_DEVICES: " of all devices"}.get(entry.device, f" of device {entry.device}")
    if not entry.sector_count:
        return flags + device
    return f"{flags}, {entry.sector_count} sectors at {entry.sector}{device}"


def tick_places(entry_count: int, entry_px: float) -> range:
    """Multiples of 1, 2 or 5 times a power of ten, at least 45 px apart."""
    steps = (base * 10**power for power in itertools.count() for base in (1, 2, 5))
    return range(0, entry_count + 1, next(step for step in steps if step * entry_px >= 45))
