"""
Charts over a whole run, as SVG to be set into a page.

In:       the Digest of every experiment.
Out:      Chart: its title, the SVG text, and its words for who cannot see it.
Not here: the time line (timeline.py: our subject, drawn by hand) and the bars of one experiment
          (plain HTML: a bar a row needs no library, and a chart of Matplotlib takes about 0.2 s).
"""

import io
import re
import statistics
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import markupsafe
import msgspec

from reports.results import OrderCounts
from reports.text.digest import ENTRY_KINDS, Digest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Matplotlib writes fixed colours; each of these is exchanged for a variable of report.css, so that
# the charts follow the light and the dark page.
INK, FAINT = "#010203", "#040506"
KIND_COLOURS = {
    "data": "#0a0a01",
    "metadata": "#0a0a02",
    "fua": "#0a0a03",
    "flush": "#0a0a04",
    "discard": "#0a0a05",
    "mark": "#0a0a06",
}
VARIABLES = {INK: "--ink-2", FAINT: "--line", **{c: f"--k-{kind}" for kind, c in KIND_COLOURS.items()}}


class Chart(msgspec.Struct, frozen=True):
    title: str
    words: str
    svg: markupsafe.Markup


def run_charts(digests: Sequence[Digest], orders: Sequence[OrderCounts] = ()) -> list[Chart]:
    """What the logs are made of, and how fast each experiment went, of a sweep of faults only the first; the
    orders that threads took, where workloads were recorded several times."""
    if not any(one.entry_count for one in digests):
        return []
    charts = [entry_chart(digests)]
    if any(one.recover_seconds > 0 for one in digests):
        charts.append(speed_chart(digests))
    if orders:
        charts.append(order_chart(orders))
    return charts


def order_chart(counts: Sequence[OrderCounts]) -> Chart:
    """How many orders of calls each workload had shown after so many recordings."""
    words = "; ".join(
        f"{one.workload} on {one.profile}: {one.calls[-1]} orders of calls and {one.logs[-1]} logs in "
        f"{len(one.calls)} recordings"
        for one in counts
    )
    last = max(len(one.calls) for one in counts)

    def draw(axes: "Axes") -> None:
        axes.plot([1, last], [1, last], color=FAINT, lw=1, ls="--")
        for one in counts:
            axes.plot(
                range(1, len(one.calls) + 1), one.calls, color=KIND_COLOURS["metadata"], alpha=0.6, lw=1.5
            )
        axes.set_xlim(1, max(2, last))
        axes.set_ylim(bottom=0)
        axes.set_xlabel("recordings; a line for each workload, dashed: each recording another order")
        axes.set_ylabel("orders")

    return Chart("Orders of calls that threads took", words, svg(draw, "orders", 4))


def entry_chart(digests: Sequence[Digest]) -> Chart:
    """Entries by kind, a bar a profile."""
    sums = {
        profile: {
            kind: sum(one.entry_kinds[kind] for one in digests if one.profile == profile)
            for kind in ENTRY_KINDS
        }
        for profile in dict.fromkeys(one.profile for one in digests)
    }
    words = "; ".join(
        f"{profile}: " + ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        for profile, kinds in sums.items()
    )

    def draw(axes: "Axes") -> None:
        left = [0] * len(sums)
        for kind in ENTRY_KINDS:
            widths = [kinds[kind] for kinds in sums.values()]
            axes.barh(list(sums), widths, left=left, height=0.6, color=KIND_COLOURS[kind], label=kind)
            left = [before + width for before, width in zip(left, widths, strict=True)]
        axes.invert_yaxis()
        axes.set_xlabel("log entries")
        axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, labelcolor=INK)

    return Chart("Log entries by kind", words, svg(draw, "entries", len(sums)))


def speed_chart(digests: Sequence[Digest]) -> Chart:
    """States a second of each experiment while it recovered, a row a profile, the median as a line."""
    rates: dict[str, list[float]] = {}
    for one in digests:
        if one.recover_seconds > 0:
            rates.setdefault(one.profile, []).append(one.state_count / one.recover_seconds)
    words = "; ".join(
        f"{profile}: median {statistics.median(each):.0f} states per second, "
        f"{min(each):.0f} to {max(each):.0f}"
        for profile, each in rates.items()
    )

    def draw(axes: "Axes") -> None:
        for row, each in enumerate(rates.values()):
            axes.plot(each, [row] * len(each), "o", color=KIND_COLOURS["metadata"], alpha=0.5, ms=7, mew=0)
            axes.plot([statistics.median(each)] * 2, [row - 0.3, row + 0.3], color=INK, lw=2)
        axes.set_yticks(range(len(rates)), list(rates))
        axes.set_ylim(len(rates) - 0.5, -0.5)
        axes.set_xlim(left=0)
        axes.set_xlabel("states per second during recovery; one dot per experiment, line: median")

    return Chart("Recovery speed of each experiment", words, svg(draw, "speed", len(rates)))


def svg(draw: Callable[["Axes"], None], name: str, row_count: int) -> markupsafe.Markup:
    """One figure as SVG text without fixed colours, ids of its own, and no date: same input, same page."""
    # Here and not above: importing it takes 0.5 to 1.2 s, and JUnit, KTAP and the terminal do not need it.
    import matplotlib  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    settings: dict[Any, Any] = {
        "svg.fonttype": "none",
        "svg.hashsalt": name,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": FAINT,
        "xtick.color": INK,
        "ytick.color": INK,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(6.4, 1.5 + 0.42 * row_count), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.grid(axis="x", color=FAINT, lw=0.8)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(length=0)
        buffer = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return markupsafe.Markup(page_ready(buffer.getvalue(), name))


def page_ready(text: str, name: str) -> str:
    """Only the svg element, colours as variables, ids that no other chart of the page has."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", text)
    text = re.sub(r' (xmlns(:xlink)?)="[^"]*"', "", text, count=2).replace("xlink:href", "href")
    text = re.sub(r'font: ([\d.]+px)[^;"]*', r"font-size: \1", text)
    for colour, variable in VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    return text.replace("<svg", '<svg aria-hidden="true" focusable="false"', 1)
