"""
The detection matrix: planted bugs by oracles, for the page and for CI.

In:       the Summary of a sweep, the oracles in their order, the findings' pages.
Out:      MatrixRow after MatrixRow, a bug each; StockRow, a profile of the stock kernel each; the same as
          SweepCases for CI.
Not here: which bugs were seen by what (harness/evidence/detection.py), the HTML (templates/planted.html).
"""

from collections.abc import Mapping, Sequence

import msgspec

from reports.results import Detection, Finding, OracleSight, Silence, Summary
from reports.text.counting import number
from reports.text.known import ids_of


class Cell(msgspec.Struct, frozen=True):
    """shade: "first" of who saw it first, "also" of the others, "known" or "false" on a stock kernel, "none".
    words: for who points at it. page: of the finding, or ""."""

    shade: str
    text: str = "·"
    words: str = ""
    page: str = ""


class MatrixRow(msgspec.Struct, frozen=True):
    detection: Detection
    cells: tuple[Cell, ...]


class StockRow(msgspec.Struct, frozen=True):
    silence: Silence
    cells: tuple[Cell, ...]


def matrix(summary: Summary, oracles: Sequence[str], pages: Mapping[str, str]) -> list[MatrixRow]:
    """pages: of findings, by id."""
    return [
        MatrixRow(each, tuple(bug_cell(each, oracle, pages) for oracle in oracles))
        for each in summary.detection
    ]


def bug_cell(detection: Detection, oracle: str, pages: Mapping[str, str]) -> Cell:
    sight = next((one for one in detection.by_oracle if one.oracle == oracle), None)
    if sight is None:
        return Cell("none", words=f"{oracle} did not find {detection.planted}")
    first = oracle in detection.oracle.split(", ")
    return Cell(
        "first" if first else "also", str(sight.workloads), sight_words(sight), pages.get(sight.finding, "")
    )


def sight_words(sight: OracleSight) -> str:
    seen = f"{number(sight.states, 'state')} of {number(sight.workloads, 'workload')}"
    return f"{sight.oracle}: {seen}, first {sight.workload} {sight.state}"


def stock_rows(summary: Summary, oracles: Sequence[str], pages: Mapping[str, str]) -> list[StockRow]:
    by_id = {finding.id: finding for finding in summary.findings}
    return [
        StockRow(one, tuple(stock_cell(one, oracle, by_id, pages) for oracle in oracles))
        for one in summary.stock
    ]


def stock_cell(silence: Silence, oracle: str, by_id: Mapping[str, Finding], pages: Mapping[str, str]) -> Cell:
    false = [by_id[name] for name in silence.false if by_id[name].oracle == oracle]
    known = [by_id[name] for name in silence.known if by_id[name].oracle == oracle]
    for shade, found in (("false", false), ("known", known)):
        if found:
            words = f"{oracle}: {shade}, " + "; ".join(ids_of(one.known) or one.signature for one in found)
            return Cell(shade, str(len(found)), words, pages.get(found[0].id, ""))
    return Cell("none", words=f"{oracle} found nothing on {silence.kernel}, {silence.profile}")


class SweepCase(msgspec.Struct, frozen=True):
    """A test for CI: that a bug is found, or that the stock kernel is silent. wrong: "" or why it fails."""

    group: str
    name: str
    seconds: float
    wrong: str


def sweep_cases(summary: Summary) -> list[SweepCase]:
    """Experiments of planted kernels are no tests of their own: they are meant to be BROKEN."""
    bugs = [
        SweepCase("planted", one.planted, one.swept_seconds, "" if one.found else "no oracle found it")
        for one in summary.detection
    ]
    signatures = {finding.id: finding.signature for finding in summary.findings}
    stock = [
        SweepCase(
            "stock",
            f"{one.kernel} on {one.profile} has only known findings",
            0.0,
            "; ".join(f"{name} {signatures[name]}" for name in one.false),
        )
        for one in summary.stock
    ]
    return bugs + stock
