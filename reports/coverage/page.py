"""
The page of coverage: the series as a patch in which each line says when it ran, and the files of the kernel.

In:       a CoverageReport.
Out:      what its template, coverage.html, asks for.
Not here: how it is found out (harness/runs/coverage.py), writing pages (reports/pages/html.py).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from reports.coverage.lines import by_folder, percent, total, unreached
from reports.coverage.results import (
    CONTEXT,
    PHASES,
    CoverageReport,
    FileCoverage,
    KernelCoverage,
    PatchLine,
    patch_ran,
)
from reports.text.coverage import patch_words

FUNCTIONS_SHOWN = 60


class Row(NamedTuple):
    """A line of the series. text: with blanks for tabs. shade: the class of the line. cells: for each phase
    whether it ran. gap: whether lines of the source are left out before it."""

    line: PatchLine
    text: str
    shade: str
    cells: tuple[bool, ...]
    gap: bool


def coverage_context(report: CoverageReport) -> dict[str, Any]:
    return {
        "kernels": report.kernels,
        "phase_words": PHASES,
        "patch_of": patch_ran,
        "patch_words": patch_words,
        "rows": rows,
        "folders": folders,
        "percent": percent,
        "total": total,
        "unreached": lambda one: unreached(one.functions),
        "functions_shown": FUNCTIONS_SHOWN,
        "mood": mood,
        "phases": tuple(phase for phase in PHASES if any(phase in one.phases for one in report.kernels)),
    }


def mood(one: KernelCoverage) -> str:
    ran = patch_ran(one)
    if ran is None:
        return "none"
    return "UNKNOWN" if ran.unreached else "HOLDS"


def folders(one: KernelCoverage) -> dict[str, list[FileCoverage]]:
    """In each the files with most lines that never ran first."""
    return {
        name: sorted(files, key=lambda file: file.ran["lines"]["any"] - file.lines)
        for name, files in by_folder(one.files).items()
    }


def rows(lines: tuple[PatchLine, ...], phases: tuple[str, ...]) -> Iterator[Row]:
    before = 0
    for line in lines:
        shade = "ctx" if line.mark == CONTEXT or not line.counted else "ran" if line.phases else "never"
        cells = tuple(phase in line.phases for phase in phases)
        yield Row(line, line.text.expandtabs(8), shade, cells, bool(before) and line.number > before + 1)
        before = line.number
