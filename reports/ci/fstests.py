"""
fstests.json as JUnit XML and as KTAP.

In:       a FstestsRun.
Out:      junit.xml and results.ktap: a suite a filesystem, a case a test.
Not here: the forms for crash states (junit.py, ktap.py).

A test that was not run is "skipped" in JUnit and SKIP in KTAP, so no reader counts it as passed. Source of
KTAP's words SKIP, XFAIL, TIMEOUT and ERROR: Documentation/dev-tools/ktap.rst.
"""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from reports.ci.junit import as_text, nothing_examined
from reports.ci.ktap import VERSION, indented
from reports.fstests.lines import by_filesystem, life_words
from reports.fstests.results import DEADLINE, KNOWN, NOTRUN, PASS, FstestsResult, FstestsRun
from reports.text.tree_words import visible


def write_ci(run: Path, found: FstestsRun) -> None:
    """Errors: OSError."""
    for name, text in (("junit.xml", junit_xml(found)), ("results.ktap", ktap(found))):
        aside = run / f"{name}.tmp"
        aside.write_text(text, encoding="utf-8")
        aside.rename(run / name)


def junit_xml(run: FstestsRun) -> str:
    root = ElementTree.Element("testsuites", name="powercut fstests")
    for name, results in by_filesystem(run).items():
        suite = ElementTree.SubElement(
            root, "testsuite", name=visible(f"fstests on {name}, kernel {run.kernel}")
        )
        count(suite, results)
        for one in results:
            add_case(suite, one)
    count(root, run.results)
    if (left := run.planned - len(run.results)) or not any(one.result == PASS for one in run.results):
        nothing_examined(
            root, f"{left} of {run.planned} tests were not reached" if left else "no test passed"
        )
    return as_text(root)


def add_case(suite: ElementTree.Element, one: FstestsResult) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", name=one.test, classname=f"fstests.{one.filesystem}", time=f"{one.seconds:.3f}"
    )
    kind = element_of(one)
    if not kind:
        return
    words = f"{one.result}: {one.reason}" if one.result == KNOWN else one.reason
    words = words or "; ".join(map(life_words, one.recorded))
    made = ElementTree.SubElement(case, kind, message=visible(words))
    if kind != "skipped":
        made.set("type", one.attempts[0].death or one.result)
        made.text = "\n".join(visible(line) for line in one.attempts[0].output)


def element_of(one: FstestsResult) -> str:
    if one.result in (NOTRUN, KNOWN):
        return "skipped"
    return "failure" if one.is_broken else "error" if one.is_unknown else ""


def count(element: ElementTree.Element, results: Sequence[FstestsResult]) -> None:
    kinds = [element_of(one) for one in results]
    element.set("tests", str(len(results)))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(name, str(kinds.count(kind)))
    element.set("time", f"{sum(one.seconds for one in results):.3f}")


def ktap(run: FstestsRun) -> str:
    suites = {name: results for name, results in by_filesystem(run).items() if results}
    left = run.planned - len(run.results)
    if not suites:
        return f"{VERSION}\n1..1\nnot ok 1 fstests # ERROR nothing was run\n"
    lines = [VERSION, f"1..{len(suites) + bool(left)}"]
    for at, (name, results) in enumerate(suites.items(), start=1):
        lines += indented([VERSION, f"1..{len(results)}"])
        for number, one in enumerate(results, start=1):
            lines += indented([f"# {visible(line)}" for line in comments(one)])
            lines += indented([result_line(number, one)])
        bad = any(one.is_broken or one.is_unknown for one in results)
        ran = any(one.result == PASS for one in results)
        words = "not ok" if bad or not ran else "ok"
        lines.append(f"{words} {at} fstests on {name}" + ("" if bad or ran else " # ERROR no test passed"))
    if left:
        lines.append(
            f"not ok {len(suites) + 1} powercut # ERROR {left} of {run.planned} tests were not reached"
        )
    return "\n".join(lines) + "\n"


def comments(one: FstestsResult) -> Sequence[str]:
    if not (one.is_broken or one.is_unknown):
        return ()
    return (*one.attempts[0].output, *(f"recorded: {life_words(life)}" for life in one.recorded))


def result_line(number: int, one: FstestsResult) -> str:
    reason = visible(one.reason).replace("#", "_")
    match one.result:
        case result if result == PASS and not one.is_broken and not one.is_unknown:
            return f"ok {number} {one.test}"
        case result if result == NOTRUN:
            return f"ok {number} {one.test} # SKIP {reason}"
        case result if result == KNOWN:
            return f"ok {number} {one.test} # XFAIL {reason}"
        case _ if one.is_unknown:
            word = "TIMEOUT" if one.attempts[0].death == DEADLINE else "ERROR"
            return f"not ok {number} {one.test} # {word} {reason}"
    return f"not ok {number} {one.test}"
