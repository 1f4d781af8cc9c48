"""junit.xml, results.ktap and the lines at the end: the same counts as the summary's."""

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest

from oracles.verdict import Answer
from reports.ci.junit import junit_xml, write_junit
from reports.ci.ktap import ktap, write_ktap
from reports.formats import pretty
from reports.pages.html import headline, write_report
from reports.results import (
    AnswerCounts,
    Attribution,
    Finding,
    FindingCounts,
    KnownAs,
    StateCounts,
    Summary,
    Triage,
    read_question,
    read_summary,
)
from reports.terminal.terminal import COLUMNS, summary_lines
from reports.tests.make_run import make_run
from reports.text.digest import digests


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_run(tmp_path_factory.mktemp("results"))


def test_junit_counts_what_the_summary_counts(run: Path) -> None:
    """A case an experiment; suites add up; broken states per oracle are the summary's."""
    root = ElementTree.parse(write_junit(run)).getroot()
    summary = read_summary(run)
    assert int(root.get("tests", 0)) == summary.experiments == len(list(root.iter("testcase")))
    for name in ("tests", "failures", "errors"):
        assert int(root.get(name, -1)) == sum(int(suite.get(name, -1)) for suite in root)
    for kind, answer in (("failure", "broken"), ("error", "unknown")):
        counted: dict[str, int] = {}
        for element in root.iter(kind):
            found = re.search(r"in (\d+) of", element.get("message", ""))
            assert found
            oracle = element.get("type", "")
            counted[oracle] = counted.get(oracle, 0) + int(found[1])
        expected = {name: getattr(counts, answer) for name, counts in summary.verdicts.items()}
        assert counted == {name: count for name, count in expected.items() if count}


def test_junit_failure_says_how_to_see_it_again(run: Path) -> None:
    """The command of the finding stands in the failure's text."""
    root = ElementTree.fromstring(write_junit(run).read_bytes())
    assert any("repro results/20250101T120000-ab12 F1" in (each.text or "") for each in root.iter("failure"))


def test_junit_survives_control_characters(run: Path) -> None:
    """XML 1.0 has no place for most control characters; they are shown as escapes."""
    one = msgspec.structs.replace(next(iter(digests(run))), workload="a\x00\x1b[31m", trouble="\x07 bell")
    root = ElementTree.fromstring(junit_xml([one], read_summary(run)))
    case = next(root.iter("testcase"))
    assert case.get("name") == r"a\x00\x1b[31m"


def test_an_experiment_that_examined_nothing_is_an_error(run: Path) -> None:
    """No state: never a passed case."""
    one = msgspec.structs.replace(next(iter(digests(run))), state_count=0, parts=())
    root = ElementTree.fromstring(junit_xml([one], read_summary(run)))
    assert root.get("errors") == "1"
    assert "no state was examined" in ElementTree.tostring(root, encoding="unicode")


def test_a_run_without_experiments_is_no_success(run: Path) -> None:
    """Both files then hold one test, and it is an error."""
    root = ElementTree.fromstring(junit_xml([], read_summary(run)))
    assert (root.get("tests"), root.get("errors"), len(list(root.iter("error")))) == ("1", "1", 1)
    assert ktap([]).splitlines()[1:] == ["1..1", "not ok 1 powercut # ERROR nothing was examined"]


def ktap_counts(lines: list[str], depth: int = 0) -> dict[int, list[str]]:
    """Result lines by depth, after checking versions, plans and numbering."""
    results: dict[int, list[str]] = {}
    indent = "  " * depth
    position = 0
    while position < len(lines):
        assert lines[position] == f"{indent}KTAP version 1"
        plan = re.fullmatch(rf"{indent}1\.\.(\d+)", lines[position + 1])
        assert plan
        position += 2
        number = 0
        inner: list[str] = []
        while number < int(plan[1]):
            line = lines[position]
            position += 1
            if line.startswith(indent + "  "):
                inner.append(line)
                continue
            if line.startswith(f"{indent}# "):
                continue
            if inner:
                for level, found in ktap_counts(inner, depth + 1).items():
                    results.setdefault(level, []).extend(found)
                inner = []
            number += 1
            assert re.fullmatch(rf"{indent}(not )?ok {number} [^#]+(# ERROR [^#]*)?", line), line
            results.setdefault(depth, []).append(line.strip())
    return results


def test_ktap_is_well_formed_and_agrees(run: Path) -> None:
    """Versions, plans and numbers fit at every level; the answers are the digests'."""
    results = ktap_counts(write_ktap(run).read_text().splitlines())
    answers = [one.answer for one in digests(run)]
    workloads = results[1]
    assert len(results[0]) == 2
    assert len(workloads) == len(answers)
    assert sum(each.startswith("ok") for each in workloads) == answers.count(Answer.HOLDS)
    assert sum("# ERROR" in each for each in workloads) == answers.count(Answer.UNKNOWN)
    assert len(results[2]) == 10 * len(answers)


def test_the_lines_fit_and_say_it_all(run: Path) -> None:
    """Findings with their commands, UNKNOWN with its reason, counts, speed, report."""
    lines = summary_lines(read_summary(run), read_question(run), run / "report" / "index.html")
    told = "\n".join(lines)
    assert all(len(line) <= COLUMNS for line in lines if str(run) not in line)
    for each in (
        "106 planned, 47 checked, 58 identical to a checked one, 1 unknown",
        "F1 btrfs durable: name lost",
        "./powercut repro results/20250101T120000-ab12 F2",
        "the guest gave no answer in 20 s",
        "212 states recovered per second",
        str(run / "report" / "index.html"),
    ):
        assert each in told, each


def test_answers_of_the_checker_are_counted_where_some_are_proven(run: Path) -> None:
    summary = read_summary(run)
    counts = {"run": 62, "proven": 1231, "audited": 12}
    for checks, told in (
        ({}, []),
        ({"run": 62}, []),
        (counts, ["checker    ran 62 times; 1,231 answers proven from those, 12 audited"]),
    ):
        shown = msgspec.structs.replace(summary, rates={**summary.rates, "checks": checks})
        lines = summary_lines(shown, read_question(run), run)
        assert [line for line in lines if line.startswith("checker")] == told


def test_ten_lines_when_all_holds(tmp_path: Path) -> None:
    """A good run ends with at most ten lines, and says that nothing is broken."""
    run = make_run(tmp_path, good=True)
    lines = summary_lines(read_summary(run), read_question(run), run)
    assert len(lines) <= 10
    assert "BROKEN     nothing" in lines
    assert not any(line.startswith("UNKNOWN") for line in lines)


def test_an_oracle_that_holds_in_some_states_says_in_how_many(run: Path) -> None:
    """ "21" alone reads like a code."""
    counts = {
        "mounts": AnswerCounts(holds=22),
        "durable": AnswerCounts(21, 1),
        "atomic": AnswerCounts(19, 1, 2),
    }
    summary = msgspec.structs.replace(read_summary(run), verdicts=counts)
    lines = summary_lines(summary, read_question(run), run)
    at = lines.index("HOLDS      mounts")
    assert lines[at + 1] == "           partly: durable in 21 of 22 states, atomic in 19 of 22 states"


def test_many_findings_are_cut_short(run: Path) -> None:
    """Three are shown whole, the others counted; a long signature is cut, a command never."""
    summary = read_summary(run)
    long: Finding = msgspec.structs.replace(summary.findings[0], signature="x" * 300, repro="r" * 120)
    lines = summary_lines(msgspec.structs.replace(summary, findings=(long,) * 9), read_question(run), run)
    assert any("and 6 more" in line for line in lines)
    assert any("r" * 120 in line for line in lines)
    assert all(len(line) <= COLUMNS for line in lines if "r" * 120 not in line and str(run) not in line)


def test_ci_names_the_known_bug_of_a_failure(run: Path) -> None:
    """It fails all the same."""
    summary = read_summary(run)
    bug = KnownAs("EXT4-1", "A title", "reported")
    known = tuple(msgspec.structs.replace(one, known=(bug,)) for one in summary.findings)
    summary, ones = msgspec.structs.replace(summary, findings=known), tuple(digests(run))
    line = "known: EXT4-1 (docs/findings/EXT4-1.md): A title; upstream: reported"
    failures = [each.text or "" for each in ElementTree.fromstring(junit_xml(ones, summary)).iter("failure")]
    assert failures
    assert all(line in text.splitlines() for text in failures)
    said = ktap(ones, summary).splitlines()
    assert sum(each.strip() == f"# {line}" for each in said) == len(failures)
    assert any(each.startswith("not ok") for each in said)


def test_new_findings_come_first(run: Path) -> None:
    """Among many known findings the new one is shown; the headline says how many are known."""
    summary = read_summary(run)
    first = summary.findings[0]
    told: Finding = msgspec.structs.replace(first, known=(KnownAs("EXT4-1", "A bug"),))
    news: Finding = msgspec.structs.replace(first, id="F9", signature="ext4 durable: news")
    many = msgspec.structs.replace(summary, findings=(*(told,) * 8, news))
    lines = summary_lines(many, read_question(run), run)
    assert "F9 ext4 durable: news" in next(line for line in lines if line.startswith("BROKEN"))
    assert any("and 6 more, in the report, 6 of them known" in line for line in lines)
    assert "9 broken promises, 8 of them known, found in" in headline(many)


def test_findings_are_counted_by_what_they_are_known_by(run: Path, tmp_path: Path) -> None:
    """At the end of a run and on its first page; the fix stands below its finding."""
    summary = read_summary(run)
    by = Attribution("btrfs", "w", ("EXT4-1",), "fix/ext4-one")
    first = msgspec.structs.replace(
        summary.findings[0],
        known=(KnownAs("EXT4-1", "A bug"),),
        by_fix=True,
        after=Triage(attributed=(by,)),
    )
    counts = FindingCounts(by_fix=1, new=len(summary.findings) - 1)
    summary = msgspec.structs.replace(summary, findings=(first, *summary.findings[1:]), known=counts)
    lines = summary_lines(summary, read_question(run), run)
    words = f"known by fix 1, known by signature 0, new {counts.new}"
    assert f"findings   {len(summary.findings)}: {words}" in lines
    assert any(line.strip() == "gone with fix/ext4-one" for line in lines)
    older = msgspec.structs.replace(summary, known=FindingCounts())
    assert not any(line.startswith("findings") for line in summary_lines(older, read_question(run), run))
    make_run(tmp_path)
    (tmp_path / "summary.json").write_bytes(pretty("summary.json", summary))
    page = (write_report(tmp_path) / "index.html").read_text()
    assert words in page
    assert "<dt>gone with</dt><dd>fix/ext4-one</dd>" in page


def test_a_log_without_a_history_does_not_read_like_one_that_was_asked_everything(run: Path) -> None:
    summary = read_summary(run)
    held = msgspec.structs.replace(
        summary, findings=(), exit=0, states=msgspec.structs.replace(summary.states, unknown=0)
    )
    assert headline(held).startswith("Every promise was kept in")
    assert headline(held, history_known=False).startswith("Every promise that can be asked without a history")
    last = summary_lines(held, read_question(run), run / "index.html")[-1]
    assert last == "exit       0: every promise was kept in every state"
    without = msgspec.structs.replace(held, verdicts={"mounts": held.verdicts["mounts"]})
    last = summary_lines(without, read_question(run), run / "index.html")[-1]
    assert last == "exit       0: every promise that can be asked without a history was kept in every state"


def test_nothing_examined_does_not_read_like_success(run: Path) -> None:
    """No states: HOLDS nothing, and the exit says so."""
    lines = summary_lines(Summary(3, 0, StateCounts(), 0, {}, (), {}), read_question(run), run)
    assert "HOLDS      nothing" in lines
    assert "exit       3: nothing was examined" in lines


def test_a_run_that_promised_nothing_does_not_blame_a_verdict(run: Path) -> None:
    summary = read_summary(run)
    none = msgspec.structs.replace(
        summary,
        findings=(),
        exit=3,
        states=msgspec.structs.replace(summary.states, unknown=0),
        undone_experiments=0,
        planned_experiments=summary.experiments,
        reasons=("no log has a FLUSH",),
    )
    assert summary_lines(none, read_question(run), run)[-1] == "exit       3: nothing was tested, see UNKNOWN"
    some = msgspec.structs.replace(none, states=msgspec.structs.replace(summary.states, unknown=1))
    assert summary_lines(some, read_question(run), run)[-1] == "exit       3: some verdicts are UNKNOWN"


def test_an_exit_of_3_without_an_unknown_verdict_is_an_error(tmp_path: Path) -> None:
    """As when no log held a FLUSH: neither JUnit nor KTAP may read like a pass."""
    run = make_run(tmp_path, good=True)
    why = "no log held a FLUSH"
    summary = msgspec.structs.replace(read_summary(run), exit=3, reasons=(why,))
    ones = tuple(digests(run))
    root = ElementTree.fromstring(junit_xml(ones, summary))
    assert root.get("errors") == "1"
    assert [each.get("message") for each in root.iter("error")] == [why]
    assert ktap(ones, summary).splitlines()[-1].startswith("not ok")


def test_operations_that_did_nothing_are_named(run: Path) -> None:
    """A mistyped path must not pass in silence."""
    told = "typo: fsync fooo: No such file or directory"
    summary = msgspec.structs.replace(read_summary(run), failed_operations=(told,))
    assert any(told in each for each in summary_lines(summary, read_question(run), Path("index.html")))
