"""States have names, and names lead back to states."""

import pytest

from harness.crash import BadSpec, State, parse_models, parse_spec, states


def test_a_log_of_n_entries_has_n_plus_1_states_from_the_empty_prefix_on() -> None:
    assert [state.prefix for state in states(3)] == [0, 1, 2, 3]


def test_an_empty_log_has_the_state_before_it() -> None:
    assert [state.spec for state in states(0)] == ["O:0"]


def test_every_states_spec_leads_back_to_it() -> None:
    assert all(parse_spec(state.spec, 20) == state for state in states(20))


@pytest.mark.parametrize(
    "spec", ["", "12", "O:", "O:-1", "O:1.5", "O:12 ", "o:12", "O:1\n", "X:1", "O:1/O:2"]
)
def test_what_is_no_spec_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(BadSpec, match="no state spec; write O:NUMBER"):
        parse_spec(spec, 20)


@pytest.mark.parametrize("spec", ["R:12-3,5", "T:12/3", "N:O:12/O:7"])
def test_a_spec_of_a_model_to_come_is_refused_as_such(spec: str) -> None:
    with pytest.raises(BadSpec, match=rf"model {spec[0]} \(.*\) is not built yet"):
        parse_spec(spec, 20)


def test_the_last_prefix_is_a_state_and_the_one_behind_it_is_none() -> None:
    assert parse_spec("O:20", 20) == State(20)
    with pytest.raises(BadSpec, match="the log has 20 entries, so O:0 to O:20"):
        parse_spec("O:21", 20)


def test_models_may_be_written_with_spaces() -> None:
    assert parse_models(" O ,") == ("O",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R", r"model R \(reordered"),
        ("O,T", r"model T \(torn"),
        ("N", "not built yet; built: O"),
        ("Z", "no model 'Z'; there are O, R, T, N"),
        ("", "name at least one"),
        (" , ", "name at least one"),
    ],
)
def test_models_not_known_or_not_built_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        parse_models(text)
