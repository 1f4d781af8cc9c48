"""An experiment in a few numbers, its script and its time line."""

from pathlib import Path

import pytest

from oracles.spec import prefix_of
from oracles.verdict import Answer
from reports.drawings.timeline import PROVEN, SAME, timeline, windows
from reports.tests.make_run import REPLACE, make_run, recording
from reports.text.digest import digests, entry_kind
from reports.text.script import cut_place, lines
from workloads.entries import EntryFlag, EntrySummary

HISTORY, ENTRIES = recording("replace", "rename", REPLACE, "btrfs", 1)


def test_a_part_counts_states_and_keeps_the_first_witness(tmp_path: Path) -> None:
    """durable is BROKEN in the last two of 24 states; the first of them is kept."""
    one = next(iter(digests(make_run(tmp_path))))
    durable = next(part for part in one.parts if part.oracle == "durable")
    assert (durable.holds, durable.broken, durable.unknown) == (22, 2, 0)
    assert durable.violation_state == "O:22"
    assert one.answer is Answer.BROKEN


def test_experiments_come_in_numerical_order(tmp_path: Path) -> None:
    """Folder 10 comes after folder 9 and a folder without experiment.json is not believed."""
    run = make_run(tmp_path, copies=2)
    (run / "experiments" / "0007").rename(run / "experiments" / "7")
    (run / "experiments" / "0013").mkdir()
    assert [one.number for one in digests(run)] == list(range(1, 13))


@pytest.mark.parametrize(
    ("flags", "sector_count", "kind"),
    [
        (EntryFlag.FLUSH, 0, "flush"),
        (EntryFlag.FLUSH | EntryFlag.FUA | EntryFlag.METADATA, 8, "fua"),
        (EntryFlag.FLUSH, 8, "data"),
        (EntryFlag.METADATA, 32, "metadata"),
        (EntryFlag.DISCARD, 2048, "discard"),
        (EntryFlag.MARK, 0, "mark"),
    ],
)
def test_an_entry_has_one_kind(flags: int, sector_count: int, kind: str) -> None:
    """Several flags, one kind: what weighs most."""
    assert entry_kind(EntrySummary(flags, 0, sector_count)) == kind


def test_every_entry_lies_in_one_window() -> None:
    """Windows follow each other without a gap and end with a FLUSH, but for the last."""
    found = list(windows(tuple(ENTRIES), 0, 1))
    assert [each.first for each in found] == [0, *(each.last + 1 for each in found[:-1])]
    assert found[-1].last == len(ENTRIES) - 1
    assert all(ENTRIES[each.last].flags & EntryFlag.FLUSH for each in found[:-1])


def test_labels_of_operations_do_not_touch() -> None:
    """In one lane, the next bar begins behind the last label's end."""
    made = timeline(tuple(ENTRIES), HISTORY, {})
    by_lane: dict[float, float] = {}
    for bar in made.bars:
        assert bar.x >= by_lane.get(bar.y, 0)
        by_lane[bar.y] = bar.x + 6.7 * len(bar.label)


def test_many_operations_take_few_lanes() -> None:
    """Fifty times the workload: nine lanes, every operation with a bar and its title."""
    long, entries = recording("replace", "rename", REPLACE, "btrfs", 50)
    bars = timeline(tuple(entries), long, {}).bars
    assert len(bars) == 250
    assert len({bar.y for bar in bars}) <= 9
    assert all(bar.title for bar in bars)


def test_an_empty_log_has_a_time_line() -> None:
    """No entries and no history: an empty picture, no error."""
    assert timeline((), None, {}).bars == ()


def test_a_long_log_is_drawn_in_columns() -> None:
    """10,000 entries make no more than 1,500 bars, and a single BROKEN state is not drawn over."""
    entries = tuple(EntrySummary(0, 8 * at, 8) for at in range(10_000))
    answers = ("BROKEN" if prefix == 5003 else "HOLDS" for prefix in range(10_001))
    made = timeline(entries, None, {}, [(f"O:{n}", n, answer, "") for n, answer in enumerate(answers)])
    assert len(made.entries) <= 1500
    assert [cell.spec for cell in made.cells if cell.answer == "BROKEN"] == ["O:5003"]


def test_a_cell_of_several_states_shows_the_one_that_was_recovered() -> None:
    entries = tuple(EntrySummary(0, 8 * at, 8) for at in range(3000))
    bys = [SAME, PROVEN, SAME, "", *[PROVEN] * 2, *[SAME] * 2995]
    made = timeline(entries, None, {}, [(f"O:{n}", n, "HOLDS", by) for n, by in enumerate(bys)])
    assert [cell.by for cell in made.cells[:4]] == [PROVEN, "", PROVEN, SAME]


def test_lines_meet_their_steps_by_place() -> None:
    """setup lines take the setup's steps and run lines the run's, comments none."""
    script = lines(REPLACE, HISTORY)
    assert [line.step.index for line in script if line.step] == list(range(8))
    assert next(line for line in script if "nothing" in line.text).result == "ENOENT"


def test_the_cut_stands_under_the_last_that_had_begun() -> None:
    """Prefix 0: under "run". In the middle of the first fsync: under that fsync."""
    fsync = HISTORY.run[1]
    assert REPLACE.splitlines()[cut_place(lines(REPLACE, HISTORY, 0)) - 1] == "run"
    middle = lines(REPLACE, HISTORY, fsync.begin_entry + 1)
    assert REPLACE.splitlines()[cut_place(middle) - 1].split() == ["fsync", "A/foo.tmp"]
    assert [line.moment for line in middle if line.section == "run"][1:4] == ["done", "cut", "later"]


@pytest.mark.parametrize(
    ("spec", "prefix"),
    [("O:12", 12), ("R:812-803,805", 812), ("T:9/3", 9), ("N:O:812/O:7", 812), ("?", None)],
)
def test_a_spec_says_how_much_of_the_log_it_has(spec: str, prefix: int | None) -> None:
    """Every model's spec begins with a prefix of the recorded log."""
    assert prefix_of(spec) == prefix
