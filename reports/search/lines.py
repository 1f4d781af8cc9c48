"""
The last lines of a search.

In:       a SearchReport, the summary of its findings.
Out:      lines for the terminal.
Not here: the page (page.py), the lines of findings in general (reports/terminal/).
"""

from pathlib import Path

from reports.results import Summary
from reports.search.results import GUIDED, SearchReport
from reports.text.counting import number

FINDINGS_SHOWN = 20


def search_lines(report: SearchReport, summary: Summary, folder: Path, page: Path) -> list[str]:
    last = report.samples[-1] if report.samples else None
    rate = report.number / report.seconds if report.seconds else 0.0
    lines = [
        f"searched    {report.profile} on {report.kernel}, {report.mode}, seed {report.seed}: "
        f"{number(report.number, 'workload')}, {number(report.states, 'state')} in {report.seconds:.0f} s "
        f"({rate:.1f} workloads/s)",
    ]
    if report.mode == GUIDED and last is not None:
        shown_twice = report.flaky + report.confirmed
        lines += [
            f"edges       {last.recorded:,} while recording, {last.recovered:,} while recovering, "
            f"of {report.edge_count:,}",
            f"corpus      {number(len(report.corpus), 'workload')} that show all of it, "
            f"of {report.minimized:,}",
            f"again       {report.confirmed:,} of {shown_twice:,} with a little that was new "
            "showed it a second time",
        ]
    if report.undone or report.unknown:
        why = f": {report.reasons[0]}" if report.reasons else ""
        lines.append(
            f"unknown     {number(report.undone, 'workload')} not examined, "
            f"{number(report.unknown, 'state')} without an answer{why}"
        )
    new = [one for one in summary.findings if not one.known]
    lines.append(f"findings    {len(summary.findings)}, of them {len(new)} that no known bug explains")
    ordered = [*new, *(one for one in summary.findings if one.known)]
    for one in ordered[:FINDINGS_SHOWN]:
        known = ", ".join(bug.id for bug in one.known) or "NEW"
        small = f"; smaller: {one.after.minimal}" if one.after.minimal else ""
        lines.append(f"  {one.id:4} {known:10} {one.signature} ({one.workload} {one.state}){small}")
    if len(ordered) > FINDINGS_SHOWN:
        lines.append(f"  and {len(ordered) - FINDINGS_SHOWN} more")
    return [
        *lines,
        f"report      {page}",
        f"page        {page.with_name('search.html')}",
        f"go on       powercut search --resume {folder}",
    ]
