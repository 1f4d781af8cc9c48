"""One run on several kernels: which of them shows what, by the first that does."""

from pathlib import Path

import msgspec
import pytest

from reports.pages.html import write_report
from reports.results import Finding, KnownAs, Question, Summary, read_experiment, read_question, read_summary
from reports.terminal.terminal import summary_lines
from reports.tests.make_run import change_question, change_summary, make_run
from reports.text.digest import Digest, digest
from reports.text.versions import HOLDS, NOT_KNOWN, SHOWN, rows, side_by_side, version_words

KERNELS = ("6.1", "6.12", "7.2")


class Made(msgspec.Struct):
    summary: Summary
    question: Question
    digests: tuple[Digest, ...]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("results"))


def made(run: Path, *findings: tuple[str, str], unsure: tuple[str, ...] = (), missing: str = "") -> Made:
    """findings: (signature, kernel). unsure: kernels with UNKNOWN verdicts. missing: a kernel of which no
    experiment was done."""
    (place,) = sorted((run / "experiments").iterdir())[:1]
    one = digest(read_experiment(place))
    digests = tuple(
        msgspec.structs.replace(one, kernel=kernel, trouble="lost" if kernel in unsure else "")
        for kernel in KERNELS
        if kernel != missing
    )
    model = read_summary(run).findings[0]
    found = tuple(
        msgspec.structs.replace(
            model,
            id=f"F{number}",
            signature=signature,
            kernel=kernel,
            workload=one.workload,
            workloads=(one.workload,),
            profile=one.profile,
            profiles=(one.profile,),
        )
        for number, (signature, kernel) in enumerate(findings, 1)
    )
    question = msgspec.structs.replace(read_question(run), kernels={name: {} for name in KERNELS})
    return Made(msgspec.structs.replace(read_summary(run), findings=found), question, digests)


def answers(one: Made) -> dict[str, list[str]]:
    return {
        row.signature: [cell.answer for cell in row.cells]
        for row in rows(one.summary, one.question, one.digests)
    }


def test_rows_are_in_the_order_of_the_first_kernel_that_shows_them(run: Path) -> None:
    one = made(run, ("late", "7.2"), ("early", "6.1"), ("early", "7.2"), ("between", "6.12"))
    assert answers(one) == {
        "early": [SHOWN, HOLDS, SHOWN],
        "between": [HOLDS, SHOWN, HOLDS],
        "late": [HOLDS, HOLDS, SHOWN],
    }


def test_a_kernel_without_a_certain_answer_does_not_hold(run: Path) -> None:
    """Its experiment has UNKNOWN verdicts, or was not done."""
    assert answers(made(run, ("one", "6.12"), unsure=("7.2",)))["one"] == [HOLDS, SHOWN, NOT_KNOWN]
    assert answers(made(run, ("one", "6.12"), missing="6.1"))["one"] == [NOT_KNOWN, SHOWN, HOLDS]


def test_known_ids_stand_beside_the_row(run: Path) -> None:
    one = made(run, ("one", "6.1"), ("one", "6.12"))
    known = (KnownAs("BTRFS-1", "title", "status"),)
    findings: tuple[Finding, ...] = (
        one.summary.findings[0],
        msgspec.structs.replace(one.summary.findings[1], known=known),
    )
    (row,) = rows(msgspec.structs.replace(one.summary, findings=findings), one.question, one.digests)
    assert (row.first, row.known) == (0, ("BTRFS-1",))


def test_one_kernel_and_a_comparison_have_nothing_side_by_side(run: Path) -> None:
    question = read_question(run)
    assert side_by_side(question) == ()
    two = msgspec.structs.replace(question, kernels={"6.1": {}, "6.12": {}})
    assert side_by_side(two) == ("6.1", "6.12")
    assert side_by_side(msgspec.structs.replace(two, against="6.1")) == ()


def test_the_words_count_by_kernels(run: Path) -> None:
    one = made(run, ("a", "6.1"), ("a", "6.12"), ("a", "7.2"), ("b", "6.12"), ("c", "6.12"))
    found = rows(one.summary, one.question, one.digests)
    assert version_words(found, KERNELS) == ("1 finding on all of 6.1, 6.12, 7.2; 2 findings on 6.12 alone")
    assert version_words((), KERNELS) == "no finding on any of 6.1, 6.12, 7.2"


def test_the_page_and_the_last_lines_show_them(tmp_path: Path) -> None:
    """With a link to the finding's page; the kernel that was not run is not said to hold."""
    made_run = make_run(tmp_path)
    change_question(made_run, kernels={"6.12": {}, "7.2": {}})
    summary = change_summary(made_run)
    write_report(made_run)
    page = (made_run / "report/index.html").read_text()
    assert "The kernels side by side" in page
    assert '<a class="a BROKEN" href="finding-F1.html">F1</a>' in page
    assert '<span class="a UNKNOWN">not known</span>' in page
    lines = "\n".join(summary_lines(summary, read_question(made_run), made_run / "report/index.html"))
    assert "kernels    2 findings on 6.12 alone" in lines


def test_with_several_kernels_each_finding_names_its_own(tmp_path: Path) -> None:
    """On the terminal; of one kernel the first line has said it."""
    run = make_run(tmp_path)
    findings = read_summary(run).findings
    question, report = read_question(run), run / "report/index.html"
    alone = "\n".join(summary_lines(read_summary(run), question, report))
    assert f"{findings[0].state}, " in alone
    other = msgspec.structs.replace(findings[1], kernel="7.2")
    both = "\n".join(summary_lines(change_summary(run, findings=(findings[0], other)), question, report))
    assert f"{findings[0].state} on 6.12, " in both
    assert f"{other.state} on 7.2, " in both
