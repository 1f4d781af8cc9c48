"""
A run as KTAP, the kernel's own form of test results.

In:       the Digest of every experiment.
Out:      results.ktap: kernel and profile, in it workloads, in it oracles; of a sweep the planted bugs.
Not here: the trees and logs behind it (html.py).

Source: Documentation/dev-tools/ktap.rst, version 1: "ERROR" is its word for a test that could
not be executed, which is our UNKNOWN.
"""

from collections.abc import Iterable
from pathlib import Path

from oracles.verdict import Answer
from reports.results import Finding, Summary, read_summary
from reports.text.device import device_words
from reports.text.digest import Digest, Part, digests, shown_by
from reports.text.known import known_words
from reports.text.matrix import sweep_cases
from reports.text.tree_words import visible

VERSION = "KTAP version 1"


def write_ktap(run: Path) -> Path:
    """Write run/results.ktap and return it. Errors: OSError, msgspec.DecodeError."""
    aside = run / "results.ktap.tmp"
    aside.write_text(ktap(tuple(digests(run)), read_summary(run)), encoding="utf-8")
    return aside.rename(run / "results.ktap")


def ktap(experiments: Iterable[Digest], summary: Summary | None = None) -> str:
    if summary is not None and summary.detection:
        return sweep_ktap(summary)
    suites: dict[str, list[Digest]] = {}
    for one in experiments:
        suites.setdefault(f"{one.profile} on kernel {one.kernel}{device_words(one.device)}", []).append(one)
    if not suites:
        return f"{VERSION}\n1..1\n" + result(1, "powercut", Answer.UNKNOWN, "nothing was examined") + "\n"
    answered = {one.answer for ones in suites.values() for one in ones}
    silent = summary is not None and summary.exit == 3 and Answer.UNKNOWN not in answered
    findings = summary.findings if summary is not None else ()
    lines = [VERSION, f"1..{len(suites) + silent}"]
    for number, (name, ones) in enumerate(suites.items(), start=1):
        inner = [VERSION, f"1..{len(ones)}"]
        for at, one in enumerate(ones, start=1):
            inner += indented(workload_lines(one, findings))
            reason = one.reason or next((part.reason for part in one.parts if part.unknown), "")
            inner.append(result(at, one.workload, one.answer, reason))
        answers = [one.answer for one in ones]
        unknown = answers.count(Answer.UNKNOWN)
        lines += indented(inner)
        lines.append(result(number, name, worst_of(answers), f"{unknown} of {len(ones)} workloads UNKNOWN"))
    if silent and summary is not None:
        why = "; ".join(summary.reasons) or "some verdicts are UNKNOWN"
        lines.append(result(len(suites) + 1, "powercut", Answer.UNKNOWN, why))
    return "\n".join(lines) + "\n"


def sweep_ktap(summary: Summary) -> str:
    """Of a sweep of planted bugs: a line a bug, and one a profile of the stock kernel."""
    asked = sweep_cases(summary)
    silent = summary.exit == 3
    lines = [VERSION, f"1..{len(asked) + silent}"]
    for number, one in enumerate(asked, start=1):
        lines += [f"# {visible(one.wrong)}"] if one.wrong else []
        lines.append(result(number, one.name, Answer.BROKEN if one.wrong else Answer.HOLDS))
    if silent:
        why = "; ".join(summary.reasons) or "some verdicts are UNKNOWN"
        lines.append(result(len(asked) + 1, "powercut", Answer.UNKNOWN, why))
    return "\n".join(lines) + "\n"


def workload_lines(one: Digest, findings: tuple[Finding, ...]) -> list[str]:
    """The oracles of one experiment. A plan of 0 tests is not allowed, so no oracle means no lines."""
    if not one.parts:
        return []
    lines = [VERSION, f"1..{len(one.parts)}"]
    if len(one.models) > 1:
        told = (f"{part.model} {part.states} ({part.broken} BROKEN)" for part in one.models)
        lines.append(f"# states by model: {', '.join(told)}")
    for number, part in enumerate(one.parts, start=1):
        lines += [f"# {visible(line)}" for line in diagnostics(one, part, findings)]
        lines.append(result(number, part.oracle, part.answer, part.reason))
    return lines


def diagnostics(one: Digest, part: Part, findings: tuple[Finding, ...]) -> list[str]:
    if part.answer is Answer.HOLDS:
        return []
    lines = [f"{part.oracle}: {part.holds} HOLDS, {part.broken} BROKEN, {part.unknown} UNKNOWN states"]
    if part.violation:
        lines.append(f"first in state {part.violation_state} of experiment {one.number}")
        lines.append(f"expected: {part.violation.expected}")
        lines.append(f"found: {part.violation.found}")
    known = (each for finding in shown_by(one, part, findings) for each in finding.known)
    return [*lines, *(f"known: {each}" for each in dict.fromkeys(map(known_words, known)))]


def result(number: int, name: str, answer: Answer, reason: str = "") -> str:
    """One result line; a name cannot hold "#", which begins a directive."""
    told = visible(name).replace("#", "_")
    if answer is Answer.HOLDS:
        return f"ok {number} {told}"
    error = f" # ERROR {visible(reason).replace('#', '_')}".rstrip() if answer is Answer.UNKNOWN else ""
    return f"not ok {number} {told}{error}"


def worst_of(answers: list[Answer]) -> Answer:
    for each in (Answer.BROKEN, Answer.UNKNOWN):
        if each in answers:
            return each
    return Answer.HOLDS


def indented(lines: list[str]) -> list[str]:
    return [f"  {line}" for line in lines]
