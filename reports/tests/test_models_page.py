"""A reader is told how many states of each crash model there are, their share of all, what they presume."""

import msgspec
import pytest

from oracles.finding import Witness, group
from oracles.spec import disk_words, model_of, place_of, prefix_of, presumed
from oracles.verdict import Answer, Tier, Verdict, Violation
from reports.results import Coverage, ModelCounts
from reports.text.models import coverage_words, model_words, power_words


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("O:12", "the first 12 log entries"),
        ("O:1", "the first log entry"),
        ("O:0", "no log entry"),
        ("R:12-3,5..7", "the first 12 log entries without 3, 5..7"),
        ("T:12/3", "the first 12 log entries, of the last one only the first 3 sectors"),
        ("T:12-5/1", "the first 12 log entries, of entry 5 only the first sector"),
        ("N:O:12/O:7", "the first 12 log entries; then the first 7 entries that its recovery wrote"),
        ("N:R:2-1/O:1", "the first 2 log entries without 1; then the first entry that its recovery wrote"),
        ("N:R:2-1/O:0", "the first 2 log entries without 1; then no entry that its recovery wrote"),
        ("?", ""),
    ],
)
def test_what_was_on_the_disk(spec: str, words: str) -> None:
    assert disk_words(spec) == words


@pytest.mark.parametrize(
    ("spec", "model", "prefix"),
    [("O:812", "O", 812), ("R:9-3,5", "R", 9), ("T:8-1/3", "T", 8), ("N:T:7/3/O:4", "N", 7)],
)
def test_a_states_model_and_moment(spec: str, model: str, prefix: int) -> None:
    assert (model_of(spec), prefix_of(spec), place_of(spec)) == (model, prefix, prefix)


def test_what_model_o_shows_presumes_nothing() -> None:
    assert presumed(["R", "O"]) == ""
    assert presumed(["T"]) == "a write of several sectors that the power failure cuts between two of them"
    assert presumed(["N", "R"]).count("; or ") == 1


@pytest.mark.parametrize(
    ("coverage", "words"),
    [
        (None, "all"),
        (
            Coverage("R", places=54, whole=43, examined=6887, space_bits=30.0),
            "43 of 54 windows complete; 6,887 of 2^30 subsets",
        ),
        (
            Coverage("T", places=9, whole=9, examined=31, space=31, unit_bytes=512),
            "9 of 9 writes complete; 31 of 31 cuts, at 512 B",
        ),
        (
            Coverage("N", places=3, whole=2, examined=5, space=12, recorded=40),
            "2 of 3 recoveries complete; 5 of 12 cuts; 40 recorded, 3 differ",
        ),
    ],
)
def test_what_share_of_all_states_was_examined(coverage: Coverage | None, words: str) -> None:
    assert coverage_words(coverage) == words


def test_a_small_space_is_written_out() -> None:
    assert [power_words(bits) for bits in (1.0, 6.3219, 19.0, 20.0, 3000.4)] == [
        "2",
        "80",
        "524,288",
        "2^20",
        "2^3000",
    ]


def test_a_models_states_in_a_line() -> None:
    assert model_words("O", ModelCounts(planned=1200)) == "O 1,200"
    counts = ModelCounts(planned=30, broken=2, coverage=Coverage("R", places=4, whole=3, examined=40))
    assert model_words("R", counts) == "R 30, 2 BROKEN (3 of 4 windows complete)"


# --- findings -------------------------------------------------------------------------------------


def judged(*states: tuple[str, str, int]) -> list[tuple[Witness, Verdict]]:
    """Workload, state, operations."""
    violation = Violation("name lost", "fsynced file", "foo", "there", "nothing", "", Tier.POSIX)
    verdict = Verdict("durable", Tier.POSIX, Answer.BROKEN, violations=(violation,))
    return [
        (Witness(1, "btrfs", "6.12", workload, count, state, place_of(state)), verdict)
        for workload, state, count in states
    ]


def test_a_finding_tells_the_models_that_show_it() -> None:
    (found,) = group(judged(("a", "N:O:3/O:1", 5), ("a", "R:9-2", 5), ("a", "R:9-3", 5)))
    assert found.models == ("R", "N")
    assert found.witness.state == "R:9-2"


def test_a_state_of_model_o_is_the_witness_wherever_there_is_one() -> None:
    (found,) = group(judged(("short", "R:3-1", 2), ("long", "O:30", 9)))
    assert found.witness.state == "O:30"
    assert found.models == ("O", "R")


def test_models_are_kept_with_the_summary() -> None:
    counts = ModelCounts(planned=3, coverage=Coverage("R", places=1))
    assert msgspec.json.decode(msgspec.json.encode(counts), type=ModelCounts) == counts
