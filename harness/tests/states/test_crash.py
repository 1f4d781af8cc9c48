"""States have names, names lead back to states, and what may be lost is what no FLUSH had reached."""

import pytest

from harness.states.crash import Cut, cuts, parse_models, parse_spec, states, window_start
from oracles.spec import BadSpec, State
from workloads.entries import EntryFlag, EntrySummary

PLAIN = [EntrySummary(0, 8 * n, 8) for n in range(20)]


def log_of(letters: str) -> list[EntrySummary]:
    """w write, d discard, u FUA write, f FLUSH, F FLUSH with data, G FLUSH and FUA with data, m mark."""
    flags = {
        "w": 0,
        "d": EntryFlag.DISCARD,
        "u": EntryFlag.FUA,
        "f": EntryFlag.FLUSH,
        "F": EntryFlag.FLUSH,
        "G": EntryFlag.FLUSH | EntryFlag.FUA,
        "m": EntryFlag.MARK,
    }
    return [
        EntrySummary(flags[letter], 8 * at, 0 if letter in "fm" else 8, "mark" if letter == "m" else "")
        for at, letter in enumerate(letters)
    ]


def test_a_log_of_n_entries_has_n_plus_1_states_from_the_empty_prefix_on() -> None:
    assert [state.prefix for state in states(3)] == [0, 1, 2, 3]


def test_an_empty_log_has_the_state_before_it() -> None:
    assert [state.spec for state in states(0)] == ["O:0"]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec",
    [
        "O:0",
        "O:20",
        "R:12-3",
        "R:12-3,5..7,11",
        "T:12/3",
        "T:12-5/7",
        "N:O:12/O:7",
        "N:R:12-3,5/O:0",
        "N:T:12/3/O:7",
        "A:O:12/O:7",
        "A:R:12-3,5/O:0",
    ],
)
def test_every_states_spec_leads_back_to_it(spec: str) -> None:
    assert parse_spec(spec, PLAIN).spec == spec


@pytest.mark.parametrize(
    ("spec", "state"),
    [
        ("R:12-3,5", State(12, lost=(3, 5))),
        ("R:12-3..5", State(12, lost=(3, 4, 5))),
        ("T:12/3", State(12, torn=11, sectors=3)),
        ("T:12-5/3", State(12, torn=5, sectors=3)),
        ("N:O:12/O:7", State(12, nested=7)),
        ("A:O:12/O:7", State(12, nested=7, again=True)),
    ],
)
def test_what_a_spec_means(spec: str, state: State) -> None:
    assert parse_spec(spec, PLAIN) == state


@pytest.mark.parametrize(
    "spec",
    [
        *("", "12", "O:", "O:-1", "O:1.5", "O:12 ", "o:12", "O:1\n", "X:1", "O:1/O:2"),
        *("R:12", "R:12-", "R:12-3,", "R:12-a", "R:-3", "T:12", "T:12/", "T:12-/3"),
        *("N:O:12", "N:O:12/O:", "N:O:12/R:3-1", "N:N:O:12/O:1/O:2", "A:N:O:12/O:1/O:2", "A:O:12"),
    ],
)
def test_what_is_no_spec_is_refused_with_examples(spec: str) -> None:
    with pytest.raises(BadSpec, match=r"is not a state\. Write one such as O:12"):
        parse_spec(spec, PLAIN)


@pytest.mark.parametrize("spec", ["R:12-5,3", "R:12-3,3", "R:12-5..3"])
def test_lost_entries_are_named_once_and_in_order(spec: str) -> None:
    with pytest.raises(BadSpec, match="ascending order, each of them once"):
        parse_spec(spec, PLAIN)


def test_the_last_prefix_is_a_state_and_the_one_behind_it_is_none() -> None:
    assert parse_spec("O:20", PLAIN) == State(20)
    with pytest.raises(BadSpec, match="the log has 20 entries, so its states are O:0 to O:20"):
        parse_spec("O:21", PLAIN)
    with pytest.raises(BadSpec, match="the log has 20 entries"):
        parse_spec("N:R:21-3/O:1", PLAIN)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("R:7-0", "durable, because a later FLUSH"),
        ("R:7-4", "entry 4 has FUA"),
        ("R:9-7", "writes nothing"),
        ("R:5-6", "after the end of the prefix"),
        ("T:7-0/1", "was durable"),
        ("T:7-4/1", "was durable"),
        ("T:7-5/1", "no data that could be torn"),
        ("T:6/1", "no data that could be torn"),
        ("T:3/1", "no data that could be torn"),
        ("T:7/8", "after 1 to 7 of them"),
        ("T:7/0", "after 1 to 7 of them"),
        ("T:0/1", "no last write"),
        ("T:5-6/1", "after the end of the prefix"),
    ],
)
def test_a_state_that_no_device_can_leave_is_refused(spec: str, why: str) -> None:
    with pytest.raises(BadSpec, match=why):
        parse_spec(spec, log_of("wwfwudwmw"))


def test_a_write_with_fua_may_be_torn_while_it_is_on_its_way() -> None:
    assert parse_spec("T:5/1", log_of("wwfwudw")) == State(5, torn=4, sectors=1)


# --- what was volatile ----------------------------------------------------------------------------


def volatile(letters: str) -> list[tuple[int, tuple[int, ...]]]:
    return [(cut.prefix, cut.volatile) for cut in cuts(log_of(letters))]


def test_a_window_ends_before_its_flush_and_the_next_begins_behind_it() -> None:
    assert list(cuts(log_of("wwfwf"))) == [Cut(0, 2, (0, 1)), Cut(3, 4, (3,))]


def test_what_was_never_flushed_is_volatile_at_the_end() -> None:
    assert volatile("wfww") == [(1, (0,)), (4, (2, 3))]


def test_a_write_with_fua_is_never_volatile_and_no_barrier() -> None:
    """What came before it may still be lost behind it."""
    assert volatile("wuwf") == [(1, (0,)), (3, (0, 2))]


def test_discards_are_volatile_and_marks_are_not() -> None:
    assert volatile("dmw") == [(1, (0,)), (3, (0, 2))]


def test_data_of_a_flush_come_after_it_and_are_volatile_without_fua() -> None:
    """Documentation/block/writeback_cache_control.rst: the cache "has been flushed before the actual I/O"."""
    assert volatile("wFwf") == [(1, (0,)), (3, (1, 2))]
    assert volatile("wGwf") == [(1, (0,)), (3, (2,))]


def test_without_volatile_writes_there_is_no_cut() -> None:
    assert volatile("ufmuf") == []
    assert volatile("") == []


@pytest.mark.parametrize(
    ("letters", "prefix", "start"), [("wwf", 2, 0), ("wwf", 3, 3), ("wwfww", 5, 3), ("wFw", 3, 1)]
)
def test_the_window_of_a_prefix_begins_behind_its_last_flush(letters: str, prefix: int, start: int) -> None:
    assert (window_start(log_of(letters), prefix) or 0) == start


# --- models ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "models"), [(" O ,", ("O",)), ("N,R", ("R", "N")), ("O,R,T,N", ("O", "R", "T", "N"))]
)
def test_models_may_be_written_with_spaces_and_in_any_order(text: str, models: tuple[str, ...]) -> None:
    assert parse_models(text) == models


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Z", "there is no model 'Z'. The models are O, R, T, N"),
        ("O,o", "no model 'o'"),
        ("", "name at least one"),
        (" , ", "name at least one"),
    ],
)
def test_models_not_known_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        parse_models(text)
