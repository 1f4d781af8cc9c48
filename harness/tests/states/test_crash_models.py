"""Each model's states are different, are possible, keep to the budget, and say what share of all they are."""

import itertools
from pathlib import Path

import pytest

from harness.states.crash import cuts, parse_spec
from harness.states.log import Entry, open_log, write_log
from harness.states.nested import Nesting, Recoveries, Used, file_name
from harness.states.reorder import Reordering
from harness.states.spread import even, shares
from harness.states.tear import Tearing
from harness.tests.states.test_crash import log_of
from oracles.spec import State
from workloads.entries import EntryFlag, EntrySummary

PLENTY = 10_000


def reordered(letters: str, budget: int = PLENTY, seed: int = 0) -> list[str]:
    entries = log_of(letters)
    found = [state.spec for state in Reordering(entries, budget, seed).states()]
    assert len(found) == len(set(found)) <= budget
    assert all(parse_spec(spec, entries).spec == spec for spec in found)
    return found


# --- R --------------------------------------------------------------------------------------------


def test_every_subset_is_lost_but_those_that_are_a_prefix_of_the_log() -> None:
    assert reordered("wwwf") == ["R:3-0", "R:3-1", "R:3-0,1", "R:3-0,2"]


def test_behind_a_write_with_fua_nothing_lost_before_it_is_a_prefix() -> None:
    assert reordered("wuf") == ["R:2-0"]
    assert reordered("wu") == ["R:2-0"]  # at the end of the log, too
    assert reordered("wuwf") == ["R:3-0", "R:3-0,2"]  # R:2-0 is the second of these


def test_behind_a_mark_what_is_lost_before_it_is_another_moment() -> None:
    """A sync that returned without its FLUSH."""
    assert reordered("wmf") == ["R:2-0"]
    assert reordered("wwmf") == ["R:2-0", "R:3-0", "R:3-1", "R:3-0,1"]


def test_a_small_window_is_examined_whole() -> None:
    entries = log_of("w" * 10 + "f")
    reordering = Reordering(entries, PLENTY, 0)
    states = list(reordering.states())
    subsets = {state.lost for state in states} | {tuple(range(at, 10)) for at in range(11)}
    assert subsets == {lost for size in range(11) for lost in itertools.combinations(range(10), size)}
    assert (reordering.coverage.examined, reordering.coverage.space_bits) == (1024, 10.0)
    assert (reordering.coverage.places, reordering.coverage.whole) == (1, 1)


def test_a_large_window_loses_each_write_alone_and_all_but_each_and_then_draws() -> None:
    lost = [parse_spec(spec, log_of("w" * 40)).lost for spec in reordered("w" * 40, 200)]
    assert len(lost) == 200
    assert {(n,) for n in range(39)} <= set(lost)
    assert {tuple(m for m in range(40) if m != n) for n in range(1, 40)} <= set(lost)
    sizes = [len(each) for each in lost]
    assert sum(1 < size < 10 for size in sizes) > 20
    assert sum(10 <= size <= 30 for size in sizes) > 20


def test_of_a_long_window_few_are_drawn_or_all_but_a_few() -> None:
    """So that a spec can be read, and pasted."""
    specs = reordered("w" * 3000, 400)
    assert max(map(len, specs)) < 2000
    lost = [len(parse_spec(spec, log_of("w" * 3000)).lost) for spec in specs]
    assert sum(1 < count < 130 for count in lost) > 50
    assert sum(2870 < count < 2999 for count in lost) > 50


def test_the_seed_decides_what_is_drawn_and_nothing_else() -> None:
    assert reordered("w" * 40, 200, 1) == reordered("w" * 40, 200, 1)
    assert reordered("w" * 40, 200, 1) != reordered("w" * 40, 200, 2)


def test_the_budget_of_r_is_spread_over_the_cuts() -> None:
    entries = log_of(("w" * 12 + "f") * 5)
    reordering = Reordering(entries, 100, 0)
    prefixes = [state.prefix for state in reordering.states()]
    assert {prefixes.count(cut.prefix) for cut in cuts(entries)} == {20}
    assert reordering.count == 100
    assert reordering.coverage.examined == 100 + 5 * 13
    assert reordering.coverage.space_bits == pytest.approx(14.32, abs=0.01)
    assert reordering.coverage.whole == 0


def test_a_window_of_thousands_has_a_share_that_no_float_holds() -> None:
    reordering = Reordering(log_of("w" * 3000), 10, 0)
    assert reordering.coverage.space_bits == 3000
    assert len(list(reordering.states())) == 10


# --- T --------------------------------------------------------------------------------------------


def torn(letters: str, unit: int = 1, budget: int = PLENTY) -> list[str]:
    entries = log_of(letters)
    found = [state.spec for state in Tearing(entries, unit, budget).states()]
    assert all(parse_spec(spec, entries).spec == spec for spec in found)
    return found


def test_a_write_is_torn_at_every_boundary_of_the_unit() -> None:
    assert torn("w", 2) == ["T:1/2", "T:1/4", "T:1/6"]
    assert torn("w", 8) == []


def test_units_lie_at_multiples_of_their_size() -> None:
    entries = [EntrySummary(0, 3, 8)]
    assert [state.sectors for state in Tearing(entries, 4, PLENTY).states()] == [1, 5]


def test_each_write_is_torn_as_the_last_and_each_volatile_one_among_its_window() -> None:
    assert torn("wuwfw", 4) == ["T:1/4", "T:2/4", "T:3/4", "T:3-0/4", "T:5/4"]


def test_discards_and_flushes_are_not_torn() -> None:
    assert torn("dfm", 1) == []


def test_the_budget_of_t_is_spread_over_the_writes() -> None:
    tearing = Tearing(log_of("wwww"), 1, 14)
    assert [state.sectors for state in tearing.states()] == [1, 7] * 7
    assert (tearing.coverage.places, tearing.coverage.whole) == (7, 0)
    assert (tearing.coverage.examined, tearing.coverage.space) == (14, 49)


# --- N --------------------------------------------------------------------------------------------


def a_recovery(folder: Path, places: tuple[int, ...]) -> Path:
    mark = Entry(0, 0, EntryFlag.MARK, b"", "mounted")
    entries = [Entry(8 * place, 8, 0, bytes([place]) * 4096) for place in places]
    write_log(folder / "log", [*entries, mark])
    return folder / "log"


def recoveries_of(folder: Path, *all_places: tuple[int, ...]) -> Recoveries:
    recoveries = Recoveries(folder / "recoveries")
    for number, places in enumerate(all_places):
        with open_log(a_recovery(folder, places)) as log:
            recoveries.add(State(number), log, len(log))
    return recoveries


def test_a_recovery_is_cut_behind_each_of_its_writes(tmp_path: Path) -> None:
    nesting = Nesting(recoveries_of(tmp_path, (1, 2)), PLENTY)
    assert [state.spec for state in nesting.states()] == ["N:O:0/O:1", "N:O:0/O:2"]


def test_of_recoveries_that_write_alike_the_last_stands_for_all(tmp_path: Path) -> None:
    recoveries = recoveries_of(tmp_path, (1, 2), (), (1, 2), (2, 1))
    assert [(kept.state.outer.spec, kept.alike) for kept in recoveries.kept] == [("O:2", 2), ("O:3", 1)]
    assert recoveries.recorded == 4
    assert sorted(path.name for path in recoveries.folder.iterdir()) == ["O-2.log", "O-3.log"]


def test_the_budget_of_n_is_spread_over_the_recoveries(tmp_path: Path) -> None:
    nesting = Nesting(recoveries_of(tmp_path, tuple(range(9)), (3,)), 4)
    specs = [state.spec for state in nesting.states()]
    assert specs == ["N:O:0/O:1", "N:O:0/O:5", "N:O:0/O:9", "N:O:1/O:1"]
    assert (nesting.coverage.places, nesting.coverage.whole) == (2, 1)
    assert (nesting.coverage.examined, nesting.coverage.space) == (4, 10)


def test_recoveries_of_different_states_have_different_files() -> None:
    specs = ["O:12", "R:12-3,5", "T:12/3", "T:12-3/5", "R:12-3..5", "A:O:12/O:1"]
    assert len({file_name(parse_spec(spec, log_of("w" * 20))) for spec in specs}) == len(specs)


# --- the budget -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "budget", "given"),
    [
        ([3, 3, 3], 100, [3, 3, 3]),
        ([1, 100, 100], 21, [1, 10, 10]),
        ([100, 0, 100], 5, [2, 0, 3]),
        ([1, 1, 1, 1, 1], 2, [1, 0, 0, 0, 1]),
        ([], 5, []),
        ([0, 0], 5, [0, 0]),
    ],
)
def test_shares_of_a_budget(wanted: list[int], budget: int, given: list[int]) -> None:
    assert list(shares(wanted, budget)) == given


def test_numbers_evenly_apart() -> None:
    assert even(5, 9) == [0, 1, 2, 3, 4]
    assert even(9, 3) == [0, 4, 8]
    assert even(9, 1) == [4]
    assert even(9, 0) == []
    assert even(0, 3) == []


# --- A --------------------------------------------------------------------------------------------


def used(folder: Path) -> Recoveries:
    """A recovery of one write, then two steps of one write each."""
    marks = {
        text: Entry(0, 0, EntryFlag.MARK, b"", text) for text in ("mounted", "after-1", "after-2", "after")
    }
    writes = [Entry(8 * place, 8, 0, bytes([place]) * 4096) for place in (1, 2, 3)]
    entries = [
        *(writes[0], marks["mounted"], writes[1], marks["after-1"]),
        *(writes[2], marks["after-2"], marks["after"]),
    ]
    write_log(folder / "log", entries)
    recoveries = Recoveries(folder / "recoveries", again=True)
    with open_log(folder / "log") as log:
        recoveries.add(State(7), log, len(log), b'{"tree":[]}')
    return recoveries


def test_what_was_recovered_is_cut_behind_its_recovery(tmp_path: Path) -> None:
    """What the mount itself wrote is model N's."""
    nesting = Nesting(used(tmp_path), PLENTY)
    assert [state.spec for state in nesting.states()] == ["A:O:7/O:3", "A:O:7/O:5"]
    assert nesting.coverage.model == "A"


def test_a_step_is_done_once_its_mark_is_there(tmp_path: Path) -> None:
    known = Used(used(tmp_path).folder)
    done = [known.told(parse_spec(f"A:O:7/O:{n}", log_of("w" * 9))) for n in (3, 4, 5, 6, 7)]
    assert done == [b'{"done":%d,"seen":{"tree":[]}}' % n for n in (0, 1, 1, 2, 2)]


def test_one_recovery_kept_for_many_has_one_report(tmp_path: Path) -> None:
    recoveries = used(tmp_path)
    with open_log(tmp_path / "log") as log:
        recoveries.add(State(8), log, len(log), b"{}")
    names = sorted(path.name for path in recoveries.folder.iterdir())
    assert names == ["A-O-8.json", "A-O-8.log"]
