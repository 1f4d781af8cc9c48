"""Two kernels side by side: what counts as a difference, and that the page and the lines say it."""

import re
from pathlib import Path

import msgspec
import pytest

from oracles.verdict import Answer
from reports.pages.html import figure_words, pair_changes, write_report
from reports.results import KnownAs, read_experiment, read_question, read_summary
from reports.terminal.compare import comparison_lines
from reports.tests.make_compare import PER_KERNEL, A, B, make_compare, never
from reports.tests.make_run import change_question, make_run, write_judged
from reports.text.comparison import (
    Cell,
    Change,
    Comparison,
    Half,
    change,
    compare,
    differences,
    differing,
    exit_only_new,
    headline,
    log_differences,
    spread,
    verdict_words,
)
from reports.text.digest import digests

HOLDS, UNKNOWN, UNASKED = Half(Answer.HOLDS, 4), Half(Answer.UNKNOWN, unknown=1), Half()
LOST, LATE = (Half(Answer.BROKEN, broken=2, kinds=(kind,)) for kind in ("name lost (file)", "late (file)"))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return make_compare(tmp_path)


def compared(run: Path) -> Comparison:
    return compare(read_question(run), read_summary(run), digests(run))


def said(run: Path) -> str:
    return "\n".join(
        comparison_lines(compared(run), read_summary(run), read_question(run), Path("here/compare.html"))
    )


def text_of(path: Path) -> str:
    body = re.sub(r"<(style|script|svg).*?</\1>", "", path.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (HOLDS, HOLDS, Change.SAME),
        (HOLDS, LOST, Change.BROKEN),
        (LOST, HOLDS, Change.FIXED),
        (LOST, LOST, Change.BOTH),
        (LOST, LATE, Change.DIFFERENT),
        (UNKNOWN, HOLDS, Change.UNKNOWN),
        (HOLDS, UNKNOWN, Change.UNKNOWN),
        (UNKNOWN, LOST, Change.UNKNOWN),
        (UNASKED, HOLDS, Change.SILENT),
        (LOST, UNASKED, Change.SILENT),
    ],
)
def test_a_change_is_one_of_seven(a: Half, b: Half, expected: Change) -> None:
    """What one side could not say is no difference of the kernels, whatever the other side says."""
    assert change(a, b) is expected


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (HOLDS, HOLDS, 0),
        (HOLDS, LOST, 1),
        (LOST, HOLDS, 0),
        (LOST, LOST, 0),
        (LOST, LATE, 1),
        (UNASKED, LOST, 1),
        (LOST, UNASKED, 0),
        (UNKNOWN, HOLDS, 3),
        (HOLDS, UNKNOWN, 3),
        (UNKNOWN, LOST, 3),
    ],
)
def test_only_new_asks_whether_b_got_worse(run: Path, a: Half, b: Half, expected: int) -> None:
    """One cell decides. BROKEN in another way is new; UNKNOWN on one side is never a pass."""
    pair = compared(run).pairs[1]
    cell = Cell("durable", change(a, b), a, b)
    changes = {one.value: int(one is cell.change) for one in Change}
    one = msgspec.structs.replace(
        compared(run), exit=1, changes=changes, pairs=(msgspec.structs.replace(pair, cells=(cell,)),)
    )
    assert exit_only_new(one) == expected


def test_the_differences_are_found_worst_first(run: Path) -> None:
    """B's new break, A's break that B has not, the state nobody could judge; the common panic is none."""
    comparison = compared(run)
    found = [
        (pair.profile, pair.workload, cell.oracle, cell.change) for pair, cell in differences(comparison)
    ]
    assert found[:2] == [
        ("ext4", "replace-by-rename", "durable", Change.BROKEN),
        ("btrfs", "replace-by-rename", "durable", Change.FIXED),
    ]
    assert {one[3] for one in found[2:]} == {Change.UNKNOWN}
    assert comparison.changes["both"] == 1
    assert sum(comparison.changes.values()) == PER_KERNEL * 10


def test_a_finding_of_both_is_one(run: Path) -> None:
    """Four findings are three: B's, A's, and the panic of both."""
    found = [(pair.side, pair.a, pair.b) for pair in compared(run).findings]
    assert found == [("B", "", "F4"), ("A", "F1", ""), ("both", "F2", "F3")]


def test_logs_are_compared_by_counts(run: Path) -> None:
    """One log has a FLUSH more on B, which closes a window that A leaves open."""
    (pair,) = log_differences(compared(run))
    assert (pair.profile, pair.b) == ("ext4", 10)
    assert [words.split()[0] for words in differing(pair)] == ["entries", "FLUSH"]
    assert pair.b_logs[0].flush == pair.a_logs[0].flush + 1


def test_figures_are_shown_from_a_to_b_where_they_differ(run: Path) -> None:
    pair = compared(run).pairs[3]
    flush = pair.a_logs[0].flush
    assert figure_words(pair, "flush") == f"{flush} → {flush + 1}"
    assert figure_words(pair, "fua") == str(pair.a_logs[0].fua)


def test_a_row_of_the_page_is_chosen_by_each_of_its_changes(run: Path) -> None:
    """And by "differs" when one of them is a difference, or nothing was judged."""
    pairs = compared(run).pairs
    assert pair_changes(pairs[3]).split() == ["same", "broken", "differs"]
    assert pair_changes(msgspec.structs.replace(pairs[3], cells=())) == "differs"
    alike = tuple(cell for cell in pairs[3].cells if cell.change is Change.SAME)
    assert pair_changes(msgspec.structs.replace(pairs[3], cells=alike)) == "same"


def test_what_varies_on_one_side_is_no_difference(run: Path) -> None:
    """B was recorded a second time, and without that FLUSH: the recordings of A and B overlap."""
    folder = run / "experiments" / "0010"
    experiment = read_experiment(folder)
    again = compared(run).pairs[3].a_logs[0]
    facts = msgspec.structs.replace(experiment.facts, other_recordings=(again,))
    write_judged(folder, facts, experiment.judgement)
    assert log_differences(compared(run)) == []
    assert str(spread(compared(run).pairs[3].b_logs, "flush")) == f"{again.flush} to {again.flush + 1}"


def test_workloads_of_one_name_are_kept_apart(run: Path) -> None:
    """Pairs are made by place in the run, not by name."""
    for number in (1, 2, 7, 8):
        folder = run / "experiments" / f"{number:04d}"
        experiment = read_experiment(folder)
        write_judged(folder, msgspec.structs.replace(experiment.facts, workload="mine"), experiment.judgement)
    assert [(pair.a, pair.b) for pair in compared(run).pairs][:2] == [(1, 7), (2, 8)]


def test_an_experiment_not_done_is_unknown(run: Path) -> None:
    """Where B is missing, nothing is said of it but that."""
    (run / "experiments" / "0009").rename(run / "experiments" / "0009.partial")
    pair = compared(run).pairs[2]
    assert (pair.a, pair.b, pair.b_trouble) == (3, 0, "the experiment was not done")
    assert {cell.change for cell in pair.cells} == {Change.UNKNOWN}
    assert pair.answers == (Answer.HOLDS, Answer.UNKNOWN)


def test_an_experiment_with_trouble_does_not_hold(run: Path) -> None:
    """Its judged states all hold, but not all were judged."""
    folder = run / "experiments" / "0009"
    experiment = read_experiment(folder)
    write_judged(
        folder, msgspec.structs.replace(experiment.facts, trouble="guest lost"), experiment.judgement
    )
    assert {cell.b.answer for cell in compared(run).pairs[2].cells} == {Answer.UNKNOWN}


def test_the_lines_say_what_differs(run: Path) -> None:
    lines = said(run).splitlines()
    assert len(lines) <= 20
    assert all(len(line) <= 100 or "repro" in line for line in lines)
    assert lines[0].split() == ["A", A, "(--against)"]
    assert lines[1].split() == ["B", B, "(--kernel)"]
    text = said(run)
    assert (
        "1 BROKEN in B only; 1 BROKEN in A only; 10 UNKNOWN; 1 BROKEN in both, in the same way"
        in " ".join(text.split())
    )
    assert "B only     F4 ext4 durable: name lost (renamed file)" in text
    assert "both       F2/F3 btrfs mounts: kernel died (filesystem)" in text
    assert "ext4 replace-by-rename: entries" in text
    assert text.endswith("exit       1: something is BROKEN in A and in B")


def test_a_break_on_one_side_of_a_finding_of_both_is_named(run: Path) -> None:
    """B has A's finding, too, but by another workload: the one that differs is told by name."""
    summary = read_summary(run)
    first = summary.findings[0]
    other = msgspec.structs.replace(
        first, id="F5", kernel=B, experiment=8, workload="link-new-name", workloads=("link-new-name",)
    )
    summary = msgspec.structs.replace(summary, findings=(*summary.findings, other))
    comparison = compare(read_question(run), summary, digests(run))
    lines = comparison_lines(comparison, summary, read_question(run), Path("compare.html"))
    assert "A only     btrfs durable: replace-by-rename (F1, which the other kernel shows elsewhere)" in lines


def test_a_known_finding_has_its_id(run: Path) -> None:
    summary = read_summary(run)
    known = (KnownAs("EXT4-1", "A title"), KnownAs("EXT4-2", "Another"))
    findings = tuple(msgspec.structs.replace(one, known=known) for one in summary.findings)
    summary = msgspec.structs.replace(summary, findings=findings)
    comparison = compare(read_question(run), summary, digests(run))
    lines = comparison_lines(comparison, summary, read_question(run), Path("compare.html"))
    at = lines.index("B only     F4 ext4 durable: name lost (renamed file)")
    assert lines[at + 2] == "              known: EXT4-1, EXT4-2"


def test_no_difference_is_said(run: Path) -> None:
    """A and B with the same verdicts, all HOLDS."""
    for number in range(1, 2 * PER_KERNEL + 1):
        folder = run / "experiments" / f"{number:04d}"
        experiment = read_experiment(folder)
        write_judged(folder, experiment.facts, never(experiment.judgement))
    summary = msgspec.structs.replace(read_summary(run), findings=(), exit=0)
    comparison = compare(read_question(run), summary, digests(run))
    assert verdict_words(comparison) == "no difference in 60 verdicts per kernel, all HOLD"
    assert headline(comparison) == "No difference: A and B keep every promise."
    last = comparison_lines(comparison, summary, read_question(run), Path("compare.html"))[-1]
    assert last == "exit       0: every promise was kept in every state, on both kernels"


def test_the_page_and_the_data_are_there(run: Path) -> None:
    """The index leads to the page; the page has the differences before the matrix, and no time."""
    write_report(run)
    page = run / "report" / "compare.html"
    text = text_of(page)
    assert text.index(" Differences workload oracle") < text.index("All profiles")
    assert headline(compared(run)) in text
    assert 'href="compare.html"' in (run / "report" / "index.html").read_text()
    links = {link.partition("#")[0] for link in re.findall(r'href="([^"#]+)', page.read_text())}
    assert {"finding-F1.html", "finding-F4.html", "experiment-0010.html"} <= links
    assert all((run / "report" / link).exists() for link in links if link != "data:,")
    assert msgspec.json.decode((run / "compare.json").read_bytes(), type=Comparison) == compared(run)


def test_anchors_of_the_page_exist(run: Path) -> None:
    write_report(run)
    for target, anchor in re.findall(
        r'href="(experiment-\d+\.html)#([^"]+)"', (run / "report" / "compare.html").read_text()
    ):
        assert f'id="{anchor}"' in (run / "report" / target).read_text()


def test_a_run_of_one_kernel_has_no_such_page(tmp_path: Path) -> None:
    write_report(make_run(tmp_path))
    assert not (tmp_path / "report" / "compare.html").exists()
    assert not (tmp_path / "compare.json").exists()
    assert "compare.html" not in (tmp_path / "report" / "index.html").read_text()


def test_the_same_program_is_told(run: Path) -> None:
    """Two words, one binary: what differs then is chance."""
    one = {"linux_sha256": "ab"}
    change_question(run, kernels={A: one, B: one})
    assert "A and B are the same program, byte for byte" in said(run)
