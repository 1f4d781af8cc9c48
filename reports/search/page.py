"""
The page of a search: what it reached over time, what it kept, what it found.

In:       a SearchReport, the findings of the run.
Out:      what its template, search.html, asks for.
Not here: the search (harness/search/), writing pages (reports/pages/html.py).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reports.drawings.charts import INK, KIND_COLOURS, Chart, svg
from reports.results import Finding
from reports.search.results import GUIDED, First, Sample, SearchReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORPUS_SHOWN = 200
POINTS_MAX = 400
ROWS = 5  # the height of a chart, as of one with so many rows
NEW_WORDS = {
    "recorded": "edges recorded",
    "recovered": "edges recovered",
    "roles": "sequences of blocks",
    "findings": "signatures",
}


def search_context(
    report: SearchReport, findings: Sequence[Finding], pages: Mapping[str, str]
) -> dict[str, Any]:
    """pages: of findings, by ID."""
    by_signature = {one.signature: one for one in findings}
    rows: list[tuple[First, Finding | None, str]] = [
        (one, found := by_signature.get(one.signature), pages.get(found.id, "") if found else "")
        for one in report.first
    ]
    samples = thinned(report.samples)
    return {
        "search": report,
        "guided": report.mode == GUIDED,
        "last": report.samples[-1] if report.samples else None,
        "rate": report.number / report.seconds if report.seconds else 0.0,
        "search_charts": charts(report, samples),
        "rows": sorted(rows, key=lambda row: (bool(row[1] and row[1].known), row[0].number)),
        "new_count": sum(bool(found) and not found.known for _, found, _ in rows if found),
        "corpus": sorted(report.corpus, key=lambda one: (-one.new.get("recovered", 0), one.name)),
        "corpus_shown": CORPUS_SHOWN,
        "new_words": NEW_WORDS,
    }


def thinned(samples: Sequence[Sample]) -> list[Sample]:
    """At most POINTS_MAX, the last one among them."""
    step = -(-len(samples) // POINTS_MAX) or 1
    return [*samples[:-1:step], *samples[-1:]]


def charts(report: SearchReport, samples: Sequence[Sample]) -> list[Chart]:
    if len(samples) < 2:
        return []
    found = [
        line_chart(
            "Workloads and signatures over time",
            "found",
            samples,
            {
                "workloads of the corpus": lambda one: one.corpus,
                "signatures": lambda one: one.findings,
            },
        )
    ]
    if report.mode != GUIDED:
        return found
    covered = line_chart(
        "Edges reached over time",
        "edges",
        samples,
        {"while recording": lambda one: one.recorded, "while recovering": lambda one: one.recovered},
    )
    return [covered, *found]


def line_chart(
    title: str, name: str, samples: Sequence[Sample], lines: Mapping[str, Callable[[Sample], int]]
) -> Chart:
    minutes = [one.seconds / 60 for one in samples]
    first, last = samples[0], samples[-1]
    words = "; ".join(
        f"{line}: {value(first):,} after {first.seconds:.0f} s, {value(last):,} after {last.seconds:.0f} s"
        for line, value in lines.items()
    )

    def draw(axes: "Axes") -> None:
        colours = (KIND_COLOURS["metadata"], KIND_COLOURS["flush"])
        for (line, value), colour, style in zip(lines.items(), colours, ("-", "--"), strict=True):
            axes.plot(minutes, [value(one) for one in samples], style, color=colour, lw=2, label=line)
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel("minutes of searching")
        axes.grid(axis="y", color=INK, lw=0.3, alpha=0.3)
        axes.legend(ncols=2, loc="lower center", bbox_to_anchor=(0.45, 1.0), frameon=False, labelcolor=INK)

    return Chart(title, words, svg(draw, name, ROWS))
