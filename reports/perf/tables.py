"""
Tables of A and B in the layout of kernel commit messages.

In:       Measured and what the figures say.
Out:      lines of plain text.
Not here: the sentences around them (commit.py), the page.

A table of a tool is that of one boot, the one whose first number is the median: what the tool printed then,
not a mixture. Percentages beside it are those of the medians of all boots.
"""

import math
from collections.abc import Sequence

from reports.perf.answers import Answer, Difference
from reports.perf.counts import Count, per_operation, words
from reports.perf.profiles import FunctionTime, Profile
from reports.perf.results import CaseRun, Measured, Row
from reports.perf.tools import value
from workloads.perf.experiment import numbers_of


def median_run(measured: Measured, side: str, case_name: str) -> CaseRun | None:
    """Of an even number of boots the lower one of the middle."""
    case = next(one for one in measured.experiment.case if one.name == case_name)
    number = numbers_of(measured.experiment, case)[0]
    runs = [run for boot in measured.boots if boot.side == side for run in boot.runs if run.case == case_name]
    runs.sort(key=lambda run: value(number, run, measured.experiment.reader))
    return runs[(len(runs) - 1) // 2] if runs else None


def dbench_lines(rows: Sequence[Row], throughput: str) -> list[str]:
    return [
        " Operation      Count    AvgLat    MaxLat",
        " ----------------------------------------",
        *(f" {row.operation:<12} {row.count:7d} {row.average:9.3f} {row.max:9.3f}" for row in rows),
        "",
        throughput,
    ]


def change(one: Difference) -> str:
    """ "+6.5% throughput"; "no difference shown in" goes before what was asked and not shown."""
    return f"{one.percent:+.1f}% {one.number.name}"


def percent_words(percent: float) -> str:
    """nan: both sides are zero, of which there is no ratio."""
    return "zero on both sides" if math.isnan(percent) else f"{percent:+.1f}%"


def interval_words(low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return "not defined"
    return f"{100 * (low - 1):+.1f}% to {100 * (high - 1):+.1f}%"


def number_table(found: Sequence[Difference]) -> list[str]:
    """Before, after and change of each number."""
    names = [f"{one.number.name} ({one.number.unit})" for one in found]
    width = max(map(len, [*names, ""]))
    lines = [f" {'':<{width}} {'before':>12} {'after':>12} {'change':>9}   95% interval"]
    for name, one in zip(names, found, strict=True):
        lines.append(
            f" {name:<{width}} {plain(middle(one.a)):>12} {plain(middle(one.b)):>12} "
            f"{one.percent:>+8.1f}%   {interval_words(one.low, one.high)}"
        )
    return lines


def middle(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def plain(amount: float) -> str:
    """Four digits, or all before the point."""
    if amount >= 1000:
        return f"{amount:,.0f}"
    return f"{amount:.4g}"


def answer_words(one: Difference) -> str:
    """What is said of one number, in a sentence without its end."""
    if one.answer is None:
        return f"{one.percent:+.1f}%, not tested"
    said = f"{one.answer}: {one.percent:+.1f}%, 95% interval {interval_words(one.low, one.high)}"
    if one.answer is Answer.NONE and one.published and one.boots_needed:
        seed = f"the published {one.published.percent:+.1f}%"
        few = one.boots_needed > len(one.a)
        said += f"; {one.boots_needed:,} boots of each kernel are needed to show {seed}" if few else ""
        said += "" if few else f"; these boots are enough to show {seed}"
    return said


def count_table(found: Sequence[Count]) -> list[str]:
    width = max(map(len, [*(one.name for one in found), ""]))
    lines = [f" {'':<{width}} {'before':>12} {'after':>12}   per operation"]
    for one in found:
        lines.append(
            f" {one.name:<{width}} {words(one.a):>12} {words(one.b):>12}   {per_operation(one)}".rstrip()
        )
    return lines


def profile_lines(profile: Profile) -> list[str]:
    """As perf report has them."""
    lines = [" before    after   function", " ------------------------------------"]
    lines += [f" {one.a:5.2f}%   {one.b:5.2f}%  [k] {one.function}" for one in profile.shares]
    return lines


def time_table(times: Sequence[FunctionTime]) -> list[str]:
    """Time in functions and what they call."""
    width = max(map(len, [*(one.function for one in times), ""])) + 2
    lines = [f" {'time in':<{width}} {'before':>10} {'after':>10} {'change':>9}   95% interval"]
    for one in times:
        before, after = (f"{middle(side) * 1000:.1f} ms" for side in (one.a, one.b))
        lines.append(
            f" {one.function + '()':<{width}} {before:>10} {after:>10} "
            f"{one.percent:>+8.1f}%   {interval_words(one.low, one.high)}"
        )
    return lines
