"""What is learnt of a finding later stays with it."""

from pathlib import Path

import msgspec
import pytest

from harness.evidence.store import NoResults, new_run, write_summary
from harness.evidence.summary import sum_up
from harness.evidence.triage import find, keep_triage, learnt, read_triage
from harness.tests.made_run import keep, question
from reports.results import Repeat, Triage, read_summary
from reports.text.reruns import rerun_words

ONCE = Repeat("6.12+fix", 5, 5, False), Repeat("6.12", 0, 5, True)


def test_a_finding_is_found_with_its_witness(run: Path) -> None:
    finding, experiment = find(run, "F1")
    assert finding == find(run, "")[0]
    assert (finding.id, experiment.facts.number) == ("F1", finding.experiment)


@pytest.mark.parametrize(
    ("place", "wanted", "message"),
    [
        (".", "F9", "there is no finding F9. The findings are F1"),
        ("experiments", "F1", "not the folder of a finished run"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(run: Path, place: str, wanted: str, message: str) -> None:
    with pytest.raises(NoResults, match=message):
        find(run / place, wanted)


def test_a_run_without_a_finding_says_so(tmp_path: Path) -> None:
    run = new_run(tmp_path)
    question(run)
    keep(run)
    write_summary(run, sum_up(run, 1.0))
    with pytest.raises(NoResults, match="this run has no finding"):
        find(run, "")


def test_what_is_learnt_is_in_the_summary_and_survives_judging_again(run: Path) -> None:
    finding, _ = find(run, "F1")
    learnt(run, finding, Triage(ONCE, "elsewhere", (("F1.sh", "fails"),)))
    assert read_summary(run).findings[0].after.repeats == ONCE
    assert sum_up(run, 1.0).findings[0].after == Triage(ONCE, "elsewhere", (("F1.sh", "fails"),))


def test_it_belongs_to_the_signature_on_its_kernel(run: Path) -> None:
    """Numbers change when a run is judged in another tier."""
    finding, _ = find(run, "F1")
    other = msgspec.structs.replace(finding, kernel="another", after=Triage(ONCE))
    keep_triage(run, [other])
    assert sum_up(run, 1.0).findings[0].after == Triage()
    assert len(read_triage(run)) == 1


def test_a_damaged_file_is_told(run: Path) -> None:
    (run / "followups.json").write_text("{")
    with pytest.raises(NoResults, match="damaged"):
        read_triage(run)


@pytest.mark.parametrize(
    ("repeats", "words"),
    [
        ((), ""),
        (ONCE, "5 of 5 on 6.12+fix, 0 of 5 on 6.12 (stock)"),
        ((Repeat("6.12", 4, 5, True),), "4 of 5 on 6.12, which is the stock kernel"),
        ((Repeat("6.12", 0, 5, True, "lost"),), "0 of 5 on 6.12, which is the stock kernel; lost"),
    ],
)
def test_repeats_in_words(repeats: tuple[Repeat, ...], words: str) -> None:
    assert rerun_words(repeats) == words
