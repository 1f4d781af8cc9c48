"""
The page of all nights, and the page of each.

In:       Nights, Night.
Out:      index.html of the folder of nights; index.html of a night's own folder. They need no network and no
          other file, and lead to the reports of the runs by relative links.
Not here: the reports of the runs (html.py), where the data comes from (harness/nightly/results.py).
"""

import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2

from oracles.verdict import Answer
from reports.drawings.charts import FAINT, INK, KIND_COLOURS, Chart, svg
from reports.nights.lines import MEANINGS
from reports.nights.results import (
    FLAKY,
    GENERATED,
    GONE,
    NEW,
    SAME,
    STATES,
    Night,
    NightCell,
    NightExperiment,
    NightLine,
    Nights,
)
from reports.pages.html import environment, write_page
from reports.text.counting import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 60  # nights; the history has all
ANSWERS = {0: "HOLDS", 1: "BROKEN", 3: "UNKNOWN"}
# Of a finding, the answer whose colours it has.
LOOKS = {NEW: "BROKEN", SAME: "none", FLAKY: "UNKNOWN", GONE: "HOLDS"}
STATE_COLOURS = dict(zip(STATES, ("fua", "data", "metadata", "discard"), strict=True))


def write_nights(results: Path, found: Nights) -> Path:
    """index.html of all nights. Errors: OSError."""
    shown = found.nights[-SHOWN:]
    page = results / "index.html"
    aside = results / "index.html.tmp"
    write_page(
        templates(),
        aside,
        "nights.html",
        nights=shown[::-1],
        not_shown=len(found.nights) - len(shown),
        last=found.nights[-1],
        places=found.places,
        kernels=_grouped(found),
        findings=sorted(
            found.findings,
            key=lambda one: (-one.last_night, STATES.index(one.state), one.kernel, one.signature),
        ),
        night_pages={night.number: f"{night.folder}/index.html" for night in found.nights},
        charts=charts(shown, found.places),
        **_words(),
    )
    return aside.rename(page)


def write_night(folder: Path, night: Night, results: Path) -> Path:
    """index.html of one night. Errors: OSError."""
    page = folder / "index.html"
    aside = folder / "index.html.tmp"
    up = "/".join([".."] * len(folder.resolve().relative_to(results.resolve()).parts))
    rows = {
        state: [one for one in night.findings if one.state == state and not one.known]
        for state in (NEW, GONE, FLAKY, SAME)
    }
    write_page(
        templates(),
        aside,
        "night.html",
        night=night,
        up=up,
        rows=rows,
        known=[one for one in night.findings if one.known],
        experiments=_by_cell(night),
        **_words(),
    )
    return aside.rename(page)


@functools.cache
def templates() -> jinja2.Environment:
    """Compiled once: a night writes two pages, and again for its hook."""
    return environment()


def _words() -> dict[str, Any]:
    return {
        "answers": ANSWERS,
        "meanings": MEANINGS,
        "looks": LOOKS,
        "duration": duration,
        "cell_answer": cell_answer,
        "cell_words": cell_words,
        "report_of": report_of,
    }


def _grouped(found: Nights) -> dict[str, list[str]]:
    """Profiles by kernel."""
    groups: dict[str, list[str]] = {}
    for kernel, profile in found.places:
        groups.setdefault(kernel, []).append(profile)
    return groups


def _by_cell(night: Night) -> dict[tuple[str, str], tuple[list[NightExperiment], int]]:
    """What a page can list, and how many more there are: generated workloads that hold, tens of thousands."""
    found: dict[tuple[str, str], tuple[list[NightExperiment], int]] = {}
    for one in night.experiments:
        listed, more = found.get((one.kernel, one.profile), ([], 0))
        quiet = one.reason == GENERATED and one.verdict == Answer.HOLDS
        found[one.kernel, one.profile] = (listed if quiet else [*listed, one], more + quiet)
    return found


def cell_answer(cell: NightCell, new: int) -> str:
    """BROKEN for something new only."""
    if new:
        return "BROKEN"
    return "UNKNOWN" if cell.unknown or cell.trouble else "HOLDS"


def cell_words(cell: NightCell, new: int) -> str:
    if new:
        return f"✕ {new} new"
    if cell.trouble:
        return "? trouble"
    return f"? {cell.unknown}" if cell.unknown else f"✓ {cell.experiments}"


def report_of(folder: str, cell: NightCell) -> str:
    """The run's report, relative to the page; "" when there is none. folder: of the night, or "" on its own
    page."""
    return f"{folder}/{cell.run}/report/index.html".lstrip("/") if cell.run else ""


# --- charts --------------------------------------------------------------------------------------


def charts(nights: tuple[NightLine, ...], places: tuple[tuple[str, str], ...]) -> list[Chart]:
    """Findings by state, states and speed by cell, over the nights."""
    found = [_findings_chart(nights)]
    for key, title in (
        ("states", "Crash states examined, by kernel and profile"),
        ("states_per_s", "States per second, by kernel and profile"),
    ):
        series = {
            f"{kernel} {profile}": [
                getattr(night.cells[kernel, profile], key)
                if (kernel, profile) in night.cells and night.cells[kernel, profile].run
                else math.nan
                for night in nights
            ]
            for kernel, profile in places
        }
        found.append(_chart(title, f"nights-{key}", nights, series))
    return found


def _findings_chart(nights: tuple[NightLine, ...]) -> Chart:
    series = {state: [float(night.counts.get(state, 0)) for night in nights] for state in STATES}

    def draw(axes: "Axes") -> None:
        from matplotlib.ticker import MaxNLocator  # noqa: PLC0415  it takes long, and only charts need it

        below = [0.0] * len(nights)
        for state, values in series.items():
            colour = KIND_COLOURS[STATE_COLOURS[state]]
            axes.bar(range(len(nights)), values, bottom=below, width=0.7, color=colour, label=state)
            below = [before + value for before, value in zip(below, values, strict=True)]
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        _finish(axes, nights, len(series))

    words = _in_words(nights, series)
    return Chart(
        "Findings of each night, by state (known bugs left out)", words, svg(draw, "nights-findings", 5)
    )


def _chart(title: str, name: str, nights: tuple[NightLine, ...], series: Mapping[str, list[float]]) -> Chart:
    colours = list(KIND_COLOURS.values())

    def draw(axes: "Axes") -> None:
        for at, (label, values) in enumerate(series.items()):
            style = ("o-", "s--", "^:")[at // len(colours) % 3]
            axes.plot(
                range(len(nights)), values, style, color=colours[at % len(colours)], label=label, ms=5, lw=1.5
            )
        _finish(axes, nights, min(len(series), 3))

    return Chart(title, _in_words(nights, series), svg(draw, name, 5))


def _finish(axes: "Axes", nights: tuple[NightLine, ...], columns: int) -> None:
    every = max(1, len(nights) // 12)
    axes.set_xticks(range(0, len(nights), every), [str(night.number) for night in nights[::every]], color=INK)
    axes.set_xlim(-0.6, max(len(nights) - 0.4, 0.6))
    axes.set_xlabel("night")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=FAINT, lw=0.8)
    axes.legend(
        ncols=max(columns, 1), loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, labelcolor=INK
    )


def _in_words(nights: tuple[NightLine, ...], series: Mapping[str, list[float]]) -> str:
    def told(value: float) -> str:
        return "-" if math.isnan(value) else f"{value:g}"

    return "; ".join(
        f"{label}: "
        + ", ".join(
            f"night {night.number} {told(value)}" for night, value in zip(nights, values, strict=True)
        )
        for label, values in series.items()
    )
