"""
The lines at the end of a comparison.

In:       a Comparison, the Summary and Question of its run, where the report is.
Out:      ten to twenty lines of plain text, at most 100 columns.
Not here: what is compared (compare.py), the page (html.py).
"""

from pathlib import Path

from reports.results import Question, Summary
from reports.terminal.terminal import failed, folded, line, unknown
from reports.text.comparison import (
    Change,
    Comparison,
    differences,
    differing,
    exit_only_new,
    log_differences,
    recorded,
    verdict_words,
)
from reports.text.counting import number
from reports.text.known import ids_of

FINDINGS_SHOWN = 4
LOGS_SHOWN = 3


def comparison_lines(
    comparison: Comparison,
    summary: Summary,
    question: Question,
    report_path: Path,
    only_new: bool = False,
) -> list[str]:
    """Ten to twenty lines: the two kernels, what differs, what both break, the logs, the report. only_new:
    the exit status is that of B's own."""
    models = f"models {' '.join(question.models)}; tier {question.tier}"
    what = f"{', '.join(question.profiles)}; {number(len(question.workloads), 'workload')}; {models}"
    states = [sum(getattr(pair, name) for pair in comparison.pairs) for name in ("a_states", "b_states")]
    return [
        line("A", f"{comparison.against} (--against)"),
        line("B", f"{comparison.kernel} (--kernel)"),
        *([line("", "A and B are the same program, byte for byte")] if comparison.same_program else []),
        line("examined", f"{what} ({question.guest})"),
        line("states", f"A {states[0]:,}, B {states[1]:,}; {summary.states.unknown:,} unknown"),
        *folded("verdicts", verdict_words(comparison)),
        *cell_lines(comparison),
        *finding_lines(comparison, summary),
        *unknown(summary),
        *failed(summary),
        *log_lines(comparison),
        line("report", str(report_path), cut=False),
        line("exit", only_new_words(comparison) if only_new else exit_words(comparison)),
    ]


def cell_lines(comparison: Comparison) -> list[str]:
    """Verdicts broken on one side only, whose finding both sides have by other workloads; worst first."""
    alone = {name for pair in comparison.findings if pair.side != "both" for name in (pair.a, pair.b)}
    lines = [
        line(
            {"broken": "B only", "fixed": "A only"}[cell.change],
            f"{pair.profile} {cell.oracle}: {pair.workload}",
        )
        + f" ({', '.join(one.findings)}, which the other kernel shows elsewhere)"
        for pair, cell in differences(comparison)
        if cell.change in (Change.BROKEN, Change.FIXED)
        and not alone.intersection((one := cell.b if cell.change is Change.BROKEN else cell.a).findings)
    ]
    more = len(lines) - FINDINGS_SHOWN
    return [*lines[:FINDINGS_SHOWN], *([line("", f"and {more} more, in the report")] if more > 0 else [])]


def finding_lines(comparison: Comparison, summary: Summary) -> list[str]:
    by_id = {finding.id: finding for finding in summary.findings}
    lines = []
    for at, pair in enumerate(comparison.findings[:FINDINGS_SHOWN]):
        label = {"B": "B only", "A": "A only", "both": "both"}[pair.side]
        one = by_id[pair.b or pair.a]
        before = comparison.findings[at - 1].side if at else ""
        ids = "/".join(name for name in (pair.a, pair.b) if name)
        counts = ", ".join(
            f"{side} {number(count, 'state')}"
            for side, count in (("A", pair.a_count), ("B", pair.b_count))
            if count
        )
        lines.append(line(label if pair.side != before else "", f"{ids} {pair.signature}"))
        lines.append(line("", f"   {one.workload} {one.state}, {counts}: {one.repro}", cut=False))
        lines += [line("", f"   known: {ids_of(one.known)}")] if one.known else []
    more = len(comparison.findings) - FINDINGS_SHOWN
    return [*lines, line("", f"and {number(more, 'finding')} more, in the report")] if more > 0 else lines


def log_lines(comparison: Comparison) -> list[str]:
    """Counts of the recorded logs where they differ; never a time."""
    found, both = log_differences(comparison), recorded(comparison)
    if not both:
        return []
    times = min(min(len(pair.a_logs), len(pair.b_logs)) for pair in both)
    counted = f"counted in {number(times, 'recording')} per kernel"
    if not found:
        return [line("logs", f"no difference in entries, FLUSH, FUA or bytes of {len(both):,}, {counted}")]
    lines = [line("logs", f"{len(found):,} of {len(both):,} differ, {counted} (A -> B):")]
    several = len({pair.profile for pair in comparison.pairs}) > 1
    for pair in found[:LOGS_SHOWN]:
        name = f"{pair.profile} {pair.workload}" if several else pair.workload
        lines.append(line("", f"   {name}: {', '.join(differing(pair))}"))
    more = len(found) - LOGS_SHOWN
    return [*lines, line("", f"   and {more:,} more, in the report")] if more > 0 else lines


def only_new_words(comparison: Comparison) -> str:
    return {
        0: "0: nothing is BROKEN in B only",
        1: "1: something is BROKEN in B only",
        3: "3: nothing is BROKEN in B only, but some verdicts are UNKNOWN",
    }[exit_only_new(comparison)]


def exit_words(comparison: Comparison) -> str:
    sides_broken = [
        name
        for name, broken in (
            ("A", any(pair.a for pair in comparison.findings)),
            ("B", any(pair.b for pair in comparison.findings)),
        )
        if broken
    ]
    return {
        0: "0: every promise was kept in every state, on both kernels",
        1: f"1: something is BROKEN in {' and in '.join(sides_broken)}",
        3: "3: some verdicts are UNKNOWN",
    }.get(comparison.exit, str(comparison.exit))
