"""
The project's own speed, commit by commit.

In:       Point after Point, as `powercut bench` keeps them.
Out:      rows of a table, slowdowns, charts, a page.
Not here: measuring (harness/bench/bench.py), where the points are kept (harness/bench/history.py).

Only points of one machine are held against each other, and a slowdown is told of ratios within a run and of
the guest's start; states a second alone follow the machine's mood (README).
"""

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from reports.drawings.charts import FAINT, INK, KIND_COLOURS, Chart, svg
from reports.text.counting import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE = 5  # points that the newest one is held against: their median
SLOWER = 0.15  # of the median; quiet runs of one commit lie within a tenth of each other


class Figure(msgspec.Struct, frozen=True):
    """key: of a point's figures. less: whether less is faster. compared: whether a slowdown is told."""

    key: str
    words: str
    less: bool = False
    compared: bool = True


FIGURES = (
    Figure("ratio_to_bare_loop", "states per second against the bare loop"),
    Figure("ratio_to_fstests_loop", "crash points per second against replay of the log from its start"),
    Figure("proofs_ratio", "crash points per second with proofs against none"),
    Figure("two_guests_ratio", "two guests against one"),
    Figure("traced_ratio", "SQLite's inserts under the tracer against the same without it", less=True),
    Figure("guest_start_s", "guest: start to first answer, s", less=True),
    Figure("build_s", "kernel build, s", less=True, compared=False),
    Figure("states_per_s", "states per second", compared=False),
)


class Point(msgspec.Struct, frozen=True):
    """One bench, a line of the file.

    commit:  of Powercut.
    when:    in UTC.
    machine: what it ran on.
    kernel:  of the guests.
    load:    of the machine when it began.
    figures: by profile.
    """

    commit: str
    when: str
    machine: str
    kernel: str
    load: float
    figures: dict[str, dict[str, float]]


class Slowdown(msgspec.Struct, frozen=True):
    profile: str
    figure: Figure
    before: float
    now: float

    @property
    def words(self) -> str:
        change = 100 * (self.now / self.before - 1)
        return f"{self.profile}: {self.figure.words}: {self.before:.3g} -> {self.now:.3g} ({change:+.0f} %)"


def of_one_machine(points: Sequence[Point]) -> list[Point]:
    """Those made where the newest one was made, the oldest first."""
    return [point for point in points if point.machine == points[-1].machine]


def slowdowns(points: Sequence[Point]) -> list[Slowdown]:
    """Of the newest against the median of those before it."""
    same = of_one_machine(points)
    found = []
    for profile, figures in same[-1].figures.items():
        for figure in FIGURES:
            earlier = [p.figures.get(profile, {}).get(figure.key) for p in same[:-1]][-BEFORE:]
            known = [value for value in earlier if value]
            now = figures.get(figure.key)
            if not known or not now or not figure.compared:
                continue
            before = statistics.median(known)
            worse = now / before - 1 if figure.less else before / now - 1
            if worse > SLOWER:
                found.append(Slowdown(profile, figure, before, now))
    return found


def rows(points: Sequence[Point]) -> list[str]:
    """A line a point and profile."""
    lines = [f"{'commit':<14} {'when':<17} {'load':>5}  {'profile':<8}" + "".join(f"{h:>12}" for h in _HEADS)]
    for point in points:
        for profile, figures in point.figures.items():
            values = "".join(f"{_plain(figures.get(figure.key)):>12}" for figure in FIGURES)
            lines.append(f"{point.commit:<14} {point.when[:16]:<17} {point.load:>5.1f}  {profile:<8}{values}")
    return lines


_HEADS = ("bare loop", "fstests", "proofs", "two guests", "traced", "start s", "build s", "states/s")


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def charts(points: Sequence[Point]) -> list[Chart]:
    """One a figure: a line a profile over the points of one machine."""
    same = of_one_machine(points)
    return [chart for figure in FIGURES if (chart := _chart(figure, same))]


def _chart(figure: Figure, points: Sequence[Point]) -> Chart | None:
    profiles = list(dict.fromkeys(name for point in points for name in point.figures))
    series = {
        name: [point.figures.get(name, {}).get(figure.key, math.nan) for point in points] for name in profiles
    }
    if all(math.isnan(value) for values in series.values() for value in values):
        return None
    words = "; ".join(f"{name}: {', '.join(map(_plain, values))}" for name, values in series.items())
    colours = list(KIND_COLOURS.values())

    def draw(axes: "Axes") -> None:
        for colour, (name, values) in zip(colours, series.items(), strict=False):
            axes.plot(range(len(points)), values, "o-", color=colour, label=name, ms=5, lw=1.5)
        axes.set_xticks(range(len(points)), [point.commit[:8] for point in points], rotation=40, ha="right")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y", color=FAINT, lw=0.8)
        axes.legend(
            ncols=len(series), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, labelcolor=INK
        )

    return Chart(figure.words, words, svg(draw, f"bench-{figure.key}", 5))


def verdict(points: Sequence[Point]) -> list[str]:
    """What the newest says, in lines."""
    found = slowdowns(points)
    others = len(of_one_machine(points)) - 1
    if not others:
        return ["this is the first point of this machine: there is nothing to compare it with"]
    against = f"the median of the {number(min(others, BEFORE), 'point')} before"
    if not found:
        return [f"{points[-1].commit}: no ratio is slower than {against} by more than {100 * SLOWER:.0f} %"]
    return [f"{points[-1].commit}: slower than {against}:", *(f"  {one.words}" for one in found)]


def in_order(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda point: point.when)
