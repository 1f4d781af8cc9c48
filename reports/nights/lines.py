"""
A night in a few lines: what the terminal shows last, and what a mail about it says.

In:       a Night.
Out:      lines().
Not here: the pages (reports/pages/nights.py), where the lines go (harness/nightly/results.py).
"""

from collections.abc import Iterator
from pathlib import Path

from reports.nights.results import FLAKY, GONE, SAME, Night, NightFinding
from reports.text.counting import duration, number
from reports.text.tree_words import visible

MEANINGS = {0: "nothing new", 1: "new findings", 3: "trouble: not everything could be tested"}
SHOWN = 20


def lines(night: Night, page: str) -> list[str]:
    """page: the night's page, as the reader would name it; so are the files of findings."""
    results = Path(page).parent.parent
    return [*_lines(night, results), f"page       {page}", f"exit       {night.exit}: {MEANINGS[night.exit]}"]


def subject(night: Night) -> str:
    """For a mail's first line."""
    if night.news:
        kernels = ", ".join(dict.fromkeys(one.kernel for one in night.news))
        return f"powercut: {number(len(night.news), 'new finding')} on {kernels} (night {night.number})"
    if night.trouble:
        return f"powercut: trouble in night {night.number}: {visible(night.trouble[0])}"
    return f"powercut: nothing new in night {night.number}"


def _lines(night: Night, results: Path) -> Iterator[str]:
    states = sum(cell.states for cell in night.cells)
    yield (
        f"night      {night.number}: {number(len(night.experiments), 'experiment')}, "
        f"{number(states, 'state')}; {duration(night.spent_s)}"
    )
    for kernel in night.kernels:
        told = kernel.skipped or kernel.trouble or f"{kernel.short} {kernel.subject}"
        yield visible(f"kernel     {kernel.name}: {told}")
    for one in night.news:
        yield from _new(one, results)
    yield from (visible(f"learnt     {sentence}") for sentence in night.learnt)
    for state in (GONE, FLAKY, SAME):
        found = [one for one in night.findings if one.state == state and not one.known]
        if found:
            yield f"{state:<10} {number(len(found), 'finding')}"
        if state != SAME:
            yield from (
                visible(f"           {one.kernel}: {one.signature}: {one.words}") for one in found[:SHOWN]
            )
    if known := [one for one in night.findings if one.known and one.state != GONE]:
        ids = sorted({each for one in known for each in one.known})
        yield f"known      {number(len(known), 'finding')}: {', '.join(ids)}"
    if left := [f"{name} on {cell.profile}" for cell in night.cells for name in cell.left]:
        more = ", ..." if len(left) > 3 else ""
        yield f"left       {number(len(left), 'experiment')} for the next night: {', '.join(left[:3])}{more}"
    for sentence in night.trouble:
        yield visible(f"trouble    {sentence}")


def _new(one: NightFinding, results: Path) -> Iterator[str]:
    yield visible(f"new        {one.kernel}: {one.signature}")
    yield visible(f"           {one.workload} on {one.profile}, state {one.spec}: {one.words}")
    yield visible(f"           expected: {one.expected}")
    yield visible(f"           found:    {one.found}")
    if one.times:
        yield f"           repeated: {one.shown} of {one.times} recordings show it"
    if one.culprit:
        yield visible(f"           commit:   {one.culprit[:12]} {one.culprit_words}")
    if one.program:
        yield "           minimal:"
        yield from (visible(f"             {line}") for line in one.program.splitlines())
    for name in one.exports:
        yield visible(f"           program:  {results / name}")
    if one.note:
        yield visible(f"           note:     {one.note}")
    if one.todo:
        yield f"           not yet:  {one.todo.replace(' ', ', ')}"
