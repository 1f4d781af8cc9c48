"""
The last lines of `powercut fstests`, and the words that page and CI files share.

In:       a FstestsRun, where its report is.
Out:      fstests_lines(), headline(), counts in words.
Not here: the page (reports/pages/fstests.py), CI files (reports/ci/fstests.py).
"""

from collections.abc import Sequence
from pathlib import Path

from reports.fstests.results import (
    DIED,
    FAIL,
    NOTRUN,
    PASS,
    FstestsResult,
    FstestsRun,
    RecordedLife,
    counts,
)
from reports.terminal.terminal import line
from reports.text.counting import number

ROWS_SHOWN = 20  # of what failed or died; the page has all


def count_words(results: Sequence[FstestsResult]) -> str:
    """ "90 pass, 1 fail, 10 notrun"; what there is none of is left out."""
    return (
        ", ".join(f"{count} {name}" for name, count in counts(results).items() if count) or "nothing was run"
    )


def by_filesystem(run: FstestsRun) -> dict[str, tuple[FstestsResult, ...]]:
    return {name: tuple(one for one in run.results if one.filesystem == name) for name in run.filesystems}


def headline(run: FstestsRun) -> str:
    broken = sum(one.is_broken for one in run.results)
    unknown = sum(one.is_unknown for one in run.results)
    passed = sum(one.result == PASS for one in run.results)
    if broken:
        return f"{number(broken, 'test')} failed"
    if left := run.planned - len(run.results):
        return f"{number(left, 'test')} of {run.planned} were not reached"
    if unknown:
        return f"{number(unknown, 'test')} gave no answer"
    return f"{number(passed, 'test')} passed" if passed else "no test passed, so nothing was shown"


def fstests_lines(run: FstestsRun, report: Path) -> list[str]:
    lines = [
        line("kernel", f"{run.kernel} ({run.sources.get(run.kernel, '')})"),
        line("fstests", f"{run.checkout}, {', '.join(run.groups) or 'tests by name'}"),
    ]
    if run.against:
        lines.append(line("baseline", run.against))
    lines += [line(name, count_words(results)) for name, results in by_filesystem(run).items()]
    bad = [one for one in run.results if one.result in (FAIL, DIED)]
    lines += [
        line(f"  {one.result}", f"{one.test} on {one.filesystem}: {one.reason}") for one in bad[:ROWS_SHOWN]
    ]
    if len(bad) > ROWS_SHOWN:
        lines.append(line("", f"and {len(bad) - ROWS_SHOWN} more; the report has all"))
    lines += recorded_lines(run)
    reasons = notrun_reasons(run.results)
    lines += [
        line("  notrun", f"{number(count, 'test')}: {reason}") for reason, count in reasons[:ROWS_SHOWN]
    ]
    if len(run.results) < run.planned:
        lines.append(line("INCOMPLETE", f"{len(run.results)} of {run.planned} tests were run"))
    lines.append(line("answer", f"{headline(run)} (exit status {run.exit})"))
    lines.append(line("report", str(report), cut=False))
    return lines


def recorded_lines(run: FstestsRun) -> list[str]:
    """Of --record: a line a test, and what is BROKEN in its log."""
    lines = []
    for one in run.results:
        for life in one.recorded:
            lines.append(line("  recorded", f"{one.test} on {one.filesystem}: {life_words(life)}"))
            lines += [line("    BROKEN", signature) for signature in life.findings]
    return lines


def life_words(life: RecordedLife) -> str:
    if life.trouble:
        return f"not examined: {life.trouble}"
    broken = sum(counts[1] for counts in life.verdicts.values())
    unknown = sum(counts[2] for counts in life.verdicts.values())
    words = f"{number(life.entries, 'entry', 'entries')}, {number(life.states, 'state')}"
    return f"{words}, {number(broken, 'verdict')} BROKEN, {unknown} UNKNOWN"


def notrun_reasons(results: Sequence[FstestsResult]) -> list[tuple[str, int]]:
    """Each reason with how many tests, most first."""
    found: dict[str, int] = {}
    for one in results:
        if one.result == NOTRUN:
            found[one.reason] = found.get(one.reason, 0) + 1
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))
