"""
A run as JUnit XML, for CI that shows test results.

In:       the Digest of every experiment, the run's Summary.
Out:      junit.xml: a suite a kernel and profile, a case a workload; of a sweep a case a planted bug.
Not here: the trees and logs behind it (html.py), the kernel's own form (ktap.py).

The format has no standard; this keeps to what Jenkins and GitLab read alike:
https://github.com/testmoapp/junitxml.
"""

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

from oracles.verdict import Answer
from reports.results import Finding, Summary, read_summary
from reports.text.device import device_words
from reports.text.digest import Digest, Part, digests, shown_by
from reports.text.known import known_words
from reports.text.matrix import sweep_cases
from reports.text.tree_words import visible


def write_junit(run: Path) -> Path:
    """Write run/junit.xml and return it. Errors: OSError, msgspec.DecodeError."""
    text = junit_xml(tuple(digests(run)), read_summary(run))
    aside = run / "junit.xml.tmp"
    aside.write_text(text, encoding="utf-8")
    return aside.rename(run / "junit.xml")


def junit_xml(experiments: Iterable[Digest], summary: Summary) -> str:
    """BROKEN is a failure, UNKNOWN an error: one element an oracle; a case counts once, as its worst."""
    root = ElementTree.Element("testsuites", name="powercut")
    if summary.detection:
        return sweep_xml(root, summary)
    suites: dict[tuple[str, str], list[Digest]] = {}
    for one in experiments:
        suites.setdefault((f"{one.kernel}{device_words(one.device)}", one.profile), []).append(one)
    for (kernel, profile), ones in suites.items():
        suite = ElementTree.SubElement(root, "testsuite", name=visible(f"{profile} on kernel {kernel}"))
        count(suite, ones)
        properties = ElementTree.SubElement(suite, "properties")
        states = sum(one.state_count for one in ones)
        for name, value in (("kernel", kernel), ("profile", profile), ("states", str(states))):
            ElementTree.SubElement(properties, "property", name=name, value=visible(value))
        for one in ones:
            case(suite, one, summary.findings)
    count(root, [one for ones in suites.values() for one in ones])
    if not suites:
        nothing_examined(root, "nothing was examined")
    elif summary.exit == 3 and root.get("errors") == "0":
        nothing_examined(root, "; ".join(summary.reasons) or "some verdicts are UNKNOWN")
    return as_text(root)


def as_text(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def sweep_xml(root: ElementTree.Element, summary: Summary) -> str:
    """Of a sweep of planted bugs: a case a bug, and one a profile of the stock kernel."""
    asked = sweep_cases(summary)
    suite = ElementTree.SubElement(root, "testsuite", name="planted bugs")
    for element in (root, suite):
        for name, value in (
            ("failures", sum(bool(one.wrong) for one in asked)),
            ("errors", 0),
            ("skipped", 0),
        ):
            element.set(name, str(value))
        element.set("tests", str(len(asked)))
        element.set("time", f"{sum(one.seconds for one in asked):.3f}")
    for one in asked:
        made = ElementTree.SubElement(suite, "testcase", name=visible(one.name), classname=one.group)
        made.set("time", f"{one.seconds:.3f}")
        if one.wrong:
            ElementTree.SubElement(made, "failure", type=one.group, message=visible(one.wrong))
    if summary.exit == 3:
        nothing_examined(root, "; ".join(summary.reasons) or "some verdicts are UNKNOWN")
    return as_text(root)


def nothing_examined(root: ElementTree.Element, why: str) -> None:
    """A run that learnt nothing must not look like one without a failure."""
    suite = ElementTree.SubElement(root, "testsuite", name="powercut")
    case = ElementTree.SubElement(suite, "testcase", name="run", classname="powercut", time="0")
    ElementTree.SubElement(case, "error", type="experiment", message=visible(why))
    for element in (root, suite):
        for name, value in (("tests", 1), ("failures", 0), ("errors", 1), ("skipped", 0)):
            element.set(name, str(int(element.get(name, "0")) + value))


def count(element: ElementTree.Element, ones: list[Digest]) -> None:
    answers = [one.answer for one in ones]
    element.set("tests", str(len(ones)))
    element.set("failures", str(answers.count(Answer.BROKEN)))
    element.set("errors", str(answers.count(Answer.UNKNOWN)))
    element.set("skipped", "0")
    element.set("time", f"{sum(one.seconds for one in ones):.3f}")


def case(suite: ElementTree.Element, one: Digest, findings: tuple[Finding, ...]) -> None:
    element = ElementTree.SubElement(
        suite,
        "testcase",
        name=visible(one.workload),
        classname=visible(f"{one.profile}.{one.theme or 'workload'}"),
        time=f"{one.seconds:.3f}",
    )
    if one.reason:
        error = ElementTree.SubElement(element, "error", type="experiment", message=visible(one.reason))
        error.text = visible(one.reason)
    if len(one.models) > 1:
        properties = ElementTree.SubElement(element, "properties")
        for part_of in one.models:
            value = f"{part_of.states} states, {part_of.broken} BROKEN, {part_of.unknown} UNKNOWN"
            ElementTree.SubElement(properties, "property", name=f"model {part_of.model}", value=value)
    for part in one.parts:
        if part.broken:
            failure(element, one, part, findings)
        if part.unknown:
            message = visible(f"{part.oracle} UNKNOWN in {part.unknown} of {one.state_count} states")
            error = ElementTree.SubElement(element, "error", type=part.oracle, message=message)
            error.text = visible(f"first in {part.reason_state}: {part.reason}")


def failure(element: ElementTree.Element, one: Digest, part: Part, findings: tuple[Finding, ...]) -> None:
    message = visible(f"{part.oracle} BROKEN in {part.broken} of {one.state_count} states")
    made = ElementTree.SubElement(element, "failure", type=part.oracle, message=message)
    lines = [f"first in state {part.violation_state}"]
    if part.violation:
        lines += [
            f"{part.violation.kind}: {part.violation.role} {part.violation.subject}",
            f"expected: {part.violation.expected}",
            f"found: {part.violation.found}",
            f"promise: {part.violation.promise} (tier {part.violation.tier})",
        ]
    for finding in shown_by(one, part, findings):
        lines.append(f"again: {finding.repro}")
        lines += [f"known: {known_words(each)}" for each in finding.known]
        if finding.presumes:
            lines.append(f"only in model {' '.join(finding.models)}, which requires {finding.presumes}")
    made.text = "\n".join(visible(line) for line in lines)
