"""
A night as JUnit XML and as KTAP: only what is new fails.

In:       a Night.
Out:      junit.xml and results.ktap: a suite a kernel and profile, a case a workload.
Not here: the forms of one run (junit.py, ktap.py), in which every broken promise fails; KCIDB (kcidb.py).

A workload that shows only findings of earlier nights, or known bugs, is skipped in JUnit and XFAIL in KTAP;
what could not be tested is an error.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from reports.ci.junit import as_text, nothing_examined
from reports.ci.ktap import VERSION, indented
from reports.nights.results import Night, NightCell, NightExperiment, NightFinding
from reports.text.tree_words import visible

HOLDS, UNKNOWN = "HOLDS", "UNKNOWN"
PASS, FAILURE, ERROR, SKIPPED = "", "failure", "error", "skipped"


def write_ci(folder: Path, night: Night) -> None:
    """Errors: OSError."""
    for name, text in (("junit.xml", junit_xml(night)), ("results.ktap", ktap(night))):
        aside = folder / f"{name}.tmp"
        aside.write_text(text, encoding="utf-8")
        aside.rename(folder / name)


def cases(night: Night, cell: NightCell) -> list[tuple[NightExperiment, str, str]]:
    """Each experiment of a cell, what becomes of it, and why."""
    news = {one.signature: one for one in night.news if one.kernel == cell.kernel}
    return [
        (one, *outcome(one, news))
        for one in night.experiments
        if (one.kernel, one.profile) == (cell.kernel, cell.profile)
    ]


def outcome(one: NightExperiment, news: dict[str, NightFinding]) -> tuple[str, str]:
    new = [signature for signature in one.findings if signature in news]
    if new:
        return FAILURE, "; ".join(f"new: {signature}" for signature in new)
    if one.verdict == UNKNOWN:
        return ERROR, "a verdict is UNKNOWN"
    if one.verdict == HOLDS:
        return PASS, ""
    return SKIPPED, "; ".join(f"not new: {signature}" for signature in one.findings)


# --- JUnit ---------------------------------------------------------------------------------------


def junit_xml(night: Night) -> str:
    root = ElementTree.Element("testsuites", name=f"powercut night {night.number}")
    every: list[tuple[NightExperiment, str, str]] = []
    for cell in night.cells:
        found = cases(night, cell)
        every += found
        suite = ElementTree.SubElement(
            root, "testsuite", name=visible(f"{cell.profile} on kernel {cell.kernel}")
        )
        _count(suite, found)
        for one, kind, why in found:
            _add_case(suite, night, one, kind, why)
    _count(root, every)
    for sentence in night.trouble:
        nothing_examined(root, sentence)
    return as_text(root)


def _add_case(suite: ElementTree.Element, night: Night, one: NightExperiment, kind: str, why: str) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        name=visible(one.workload),
        classname=visible(f"{one.kernel}.{one.profile}"),
        time=f"{one.seconds:.3f}",
    )
    if not kind:
        return
    made = ElementTree.SubElement(case, kind, message=visible(why))
    if kind == FAILURE:
        made.set("type", "finding")
        made.text = "\n".join(
            visible(line)
            for finding in night.news
            if finding.kernel == one.kernel and finding.signature in one.findings
            for line in told(finding)
        )


def told(finding: NightFinding) -> list[str]:
    """What is known of a new finding, in lines."""
    lines = [
        finding.signature,
        f"expected: {finding.expected}",
        f"found: {finding.found}",
        f"witness: {finding.workload} on {finding.profile}, state {finding.spec}",
    ]
    if finding.times:
        lines.append(f"repeated: {finding.shown} of {finding.times} recordings show it")
    if finding.culprit:
        lines.append(f"commit: {finding.culprit} {finding.culprit_words}")
    if finding.program:
        lines += ["minimal:", *(f"  {line}" for line in finding.program.splitlines())]
    if finding.note:
        lines.append(f"note: {finding.note}")
    return lines


def _count(element: ElementTree.Element, found: Sequence[tuple[NightExperiment, str, str]]) -> None:
    kinds = [kind for _, kind, _ in found]
    element.set("tests", str(len(found)))
    for name, kind in (("failures", FAILURE), ("errors", ERROR), ("skipped", SKIPPED)):
        element.set(name, str(kinds.count(kind)))
    element.set("time", f"{sum(one.seconds for one, _, _ in found):.3f}")


# --- KTAP ----------------------------------------------------------------------------------------


def ktap(night: Night) -> str:
    suites = [(cell, found) for cell in night.cells if (found := cases(night, cell))]
    total = len(suites) + len(night.trouble)
    if not total:
        skipped = "; ".join(f"{one.name}: {one.skipped}" for one in night.kernels)
        return f"{VERSION}\n1..1\nok 1 powercut # SKIP {_plain(skipped)}\n"
    lines = [VERSION, f"1..{total}"]
    for at, (cell, found) in enumerate(suites, 1):
        lines += indented([VERSION, f"1..{len(found)}"])
        for number, (one, kind, why) in enumerate(found, 1):
            comments = [
                line
                for finding in night.news
                if kind == FAILURE and finding.kernel == one.kernel and finding.signature in one.findings
                for line in told(finding)
            ]
            lines += indented([f"# {visible(line)}" for line in comments])
            lines += indented([_result(number, one.workload, kind, why)])
        bad = any(kind in (FAILURE, ERROR) for _, kind, _ in found)
        lines.append(f"{'not ok' if bad else 'ok'} {at} {_plain(f'{cell.profile} on kernel {cell.kernel}')}")
    for at, sentence in enumerate(night.trouble, len(suites) + 1):
        lines.append(f"not ok {at} powercut # ERROR {_plain(sentence)}")
    return "\n".join(lines) + "\n"


def _result(number: int, name: str, kind: str, why: str) -> str:
    end = {PASS: "", FAILURE: "", ERROR: f" # ERROR {_plain(why)}", SKIPPED: f" # XFAIL {_plain(why)}"}[kind]
    return f"{'ok' if kind in (PASS, SKIPPED) else 'not ok'} {number} {_plain(name)}{end}"


def _plain(words: str) -> str:
    """A "#" begins a directive."""
    return visible(words).replace("#", "_")
