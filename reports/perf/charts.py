"""
Charts of a performance comparison.

In:       Measured and what its figures say.
Out:      Chart after Chart: ratios with intervals, distribution of latencies, profile before and after.
Not here: how a chart becomes part of a page (reports/drawings/charts.py).
"""

import math
import statistics
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from reports.drawings.charts import FAINT, INK, KIND_COLOURS, Chart, svg
from reports.perf.answers import Difference
from reports.perf.profiles import Profile
from reports.perf.results import Measured
from reports.perf.tables import interval_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes

A_COLOUR, B_COLOUR = KIND_COLOURS["data"], KIND_COLOURS["fua"]
POINTS = 200  # of a distribution's curve


def ratio_chart(measured: Measured, found: Sequence[Difference]) -> Chart | None:
    """A row a number: B against A in percent, its interval as a bar, every boot of B as a dot."""
    shown = [one for one in found if one.answer is not None and math.isfinite(one.ratio)]
    if not shown:
        return None
    labels = [row_label(one, shown) for one in shown]
    words = "; ".join(
        f"{one.label}: {one.percent:+.1f} %, interval {interval_words(one.low, one.high)}" for one in shown
    )

    def draw(axes: "Axes") -> None:
        for row, one in enumerate(shown):
            base = statistics.median(one.a)
            axes.plot(
                [100 * (x / base - 1) for x in one.a],
                [row - 0.16] * len(one.a),
                "o",
                color=A_COLOUR,
                alpha=0.35,
                ms=4,
                mew=0,
            )
            axes.plot(
                [100 * (x / base - 1) for x in one.b],
                [row + 0.16] * len(one.b),
                "o",
                color=B_COLOUR,
                alpha=0.35,
                ms=4,
                mew=0,
            )
            axes.plot([100 * (one.low - 1), 100 * (one.high - 1)], [row, row], color=INK, lw=2)
            axes.plot([one.percent], [row], "D", color=INK, ms=6, mew=0)
        axes.axvline(0, color=FAINT, lw=1.5)
        axes.set_yticks(range(len(shown)), labels)
        axes.set_ylim(len(shown) - 0.5, -0.5)
        axes.set_xlabel("% against the median of A; one dot per boot")

    return Chart(
        "B against A, with 95 % intervals", words, svg(draw, f"ratio-{measured.experiment.name}", len(shown))
    )


def row_label(one: Difference, shown: Sequence[Difference]) -> str:
    """Only what tells the rows apart, in lines that leave room for the chart."""
    cases, names = len({each.case for each in shown}), len({each.number.name for each in shown})
    label = one.label if cases > 1 and names > 1 else one.case if cases > 1 else one.number.name
    return textwrap.fill(label, 34)


def latency_charts(measured: Measured) -> list[Chart]:
    """Of each case that gave latencies one by one: the share of calls that took no longer, A and B."""
    charts = []
    for case in measured.experiment.case:
        sides = [_samples(measured, side, case.name) for side in "AB"]
        names = [name for name in sides[0] if name in sides[1]]
        if names:
            charts.append(_latency_chart(measured, case.name, names, sides))
    return charts


def _samples(measured: Measured, side: str, case: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for boot in measured.boots:
        for run in boot.runs:
            if boot.side == side and run.case == case:
                for name, values in run.reading.samples.items():
                    found.setdefault(name, []).extend(values)
    return found


def _latency_chart(
    measured: Measured, case: str, names: Sequence[str], sides: Sequence[dict[str, list[float]]]
) -> Chart:
    words = "; ".join(
        f"{name}: median {statistics.median(sides[0][name]):.0f} us with A, "
        f"{statistics.median(sides[1][name]):.0f} us with B"
        for name in names
    )
    styles = ("-", "--", ":", "-.")

    def draw(axes: "Axes") -> None:
        for name, style in zip(names, styles, strict=False):
            for side, colour, values in zip("AB", (A_COLOUR, B_COLOUR), sides, strict=True):
                ordered = sorted(values[name])
                at = [ordered[min(len(ordered) - 1, len(ordered) * i // POINTS)] for i in range(POINTS)]
                axes.plot(
                    at,
                    [100 * i / POINTS for i in range(POINTS)],
                    style,
                    color=colour,
                    lw=1.6,
                    label=f"{name}, {side}",
                )
        axes.set_xscale("log")
        axes.set_ylim(0, 100)
        axes.set_ylabel("% of calls")
        axes.set_xlabel("microseconds, no longer than")
        axes.legend(
            ncols=len(names), loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, labelcolor=INK
        )

    name = f"latency-{measured.experiment.name}-{case}".replace(" ", "-").replace("'", "")
    return Chart(f"Latency of each call: {case}", words, svg(draw, name, 6))


def profile_chart(measured: Measured, profile: Profile) -> Chart:
    """The functions that take most, A above and B below."""
    words = "; ".join(f"{one.function}: {one.a:.1f} % with A, {one.b:.1f} % with B" for one in profile.shares)

    def draw(axes: "Axes") -> None:
        rows = range(len(profile.shares))
        axes.barh(
            [row - 0.2 for row in rows],
            [one.a for one in profile.shares],
            height=0.36,
            color=A_COLOUR,
            label="A",
        )
        axes.barh(
            [row + 0.2 for row in rows],
            [one.b for one in profile.shares],
            height=0.36,
            color=B_COLOUR,
            label="B",
        )
        axes.set_yticks(rows, [one.function for one in profile.shares])
        axes.invert_yaxis()
        axes.set_xlabel("% of the samples of the kernel, in the function itself")
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, labelcolor=INK)

    name = f"profile-{measured.experiment.name}-{profile.case}".replace(" ", "-").replace("'", "")
    return Chart(f"Profile before and after: {profile.case}", words, svg(draw, name, len(profile.shares)))
