"""
The lines at the end of a performance comparison.

In:       PerfRun, where the report and the block for the commit message are.
Out:      plain text: counts that differ, profile, answers, of each experiment.
Not here: the tables (tables.py, commit.py).
"""

from pathlib import Path

from reports.perf.answers import differences
from reports.perf.counts import counts, words
from reports.perf.profiles import profiles
from reports.perf.results import Measured, PerfRun
from reports.perf.tables import answer_words, interval_words, percent_words
from reports.terminal.terminal import line

KINDS_SHOWN = 6


def perf_lines(run: PerfRun, report: Path, message: Path) -> list[str]:
    lines = [line("A", f"{run.against} (--against)"), line("B", f"{run.kernel} (--kernel)")]
    if run.noise:
        lines.append(line("", "the same kernel twice: differences are noise"))
    for measured in run.measured:
        lines += experiment_lines(measured)
    lines.append(line("clock", clock(run), cut=False))
    lines.append(line("report", str(report), cut=False))
    lines.append(line("message", str(message), cut=False))
    return lines


def clock(run: PerfRun) -> str:
    """What the times are of."""
    if not run.on_a_machine:
        return "User Mode Linux, one processor: a time is a hint, not a benchmark"
    emulated = f", {run.machine['virtual']}: a time is a hint" if run.is_virtual else ""
    return (
        f"{run.machine['name']}, {run.machine['processors']} processors, governor {run.machine['governor']}, "
        f"scheduler {run.machine['scheduler'] or 'none'}{emulated}"
    )


def experiment_lines(measured: Measured) -> list[str]:
    sides = [sum(boot.side == side for boot in measured.boots) for side in "AB"]
    name = measured.experiment.name
    lines = [line("measured", f"{name}, --scale {measured.scale:g}, boots A {sides[0]}, B {sides[1]}")]
    lines += [line("  TROUBLE", sentence, cut=False) for sentence in measured.trouble]
    lines += exact_lines(measured)
    for profile in profiles(measured):
        for one in profile.times:
            lines.append(
                line(
                    "  profile",
                    f"time in {one.function}(): {one.answer}: {percent_words(one.percent)}, "
                    f"95% interval {interval_words(one.low, one.high)}",
                    cut=False,
                )
            )
    for difference in differences(measured):
        if difference.answer is not None:
            lines.append(line("  time", f"{difference.label}: {answer_words(difference)}", cut=False))
    return lines


def exact_lines(measured: Measured) -> list[str]:
    found = counts(measured)
    if not found:
        return []
    differing = [one for one in found if one.differs]
    if not differing:
        return [line("  exact", f"no difference in {len(found)} counts")]
    lines = [
        line("  exact", f"{one.name}: {words(one.a)} -> {words(one.b)}") for one in differing[:KINDS_SHOWN]
    ]
    more = len(differing) - KINDS_SHOWN
    return [*lines, line("", f"and {more} more counts, in the report")] if more > 0 else lines
