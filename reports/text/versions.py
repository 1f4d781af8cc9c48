"""
Findings of one run on several kernels, side by side by the first kernel that shows each.

In:       a Summary, its Question, the Digests of its experiments.
Out:      Row after Row, a signature each; a sentence for the terminal.
Not here: two kernels with their logs and speeds (comparison.py), planted bugs (matrix.py).
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from reports.results import Finding, Question, Summary
from reports.text.counting import number
from reports.text.digest import Digest

SHOWN, HOLDS, NOT_KNOWN = "shown", "holds", "not known"


class Cell(msgspec.Struct, frozen=True):
    """What one kernel has of a signature. finding: of a kernel that shows it. answer: "shown"; "holds" where
    the kernel was asked the same and kept it; "not known" where an experiment of the same workload has
    UNKNOWN verdicts or did not happen."""

    kernel: str
    answer: str
    finding: Finding | None = None


class Row(msgspec.Struct, frozen=True):
    """first: the index of the first kernel that shows it. known: IDs, of any of its findings."""

    signature: str
    first: int
    known: tuple[str, ...]
    cells: tuple[Cell, ...]


def side_by_side(question: Question) -> tuple[str, ...]:
    """The kernels in the order in which they were asked for; none where there is nothing to set beside."""
    kernels = tuple(question.kernels)
    return () if question.against or len(kernels) < 2 else kernels


def rows(summary: Summary, question: Question, digests: Sequence[Digest] = ()) -> tuple[Row, ...]:
    """By first kernel, then by signature. Without digests nothing is known to hold."""
    kernels = side_by_side(question)
    if not kernels or summary.detection:
        return ()
    unsure = {
        (one.kernel, one.workload, one.profile)
        for one in digests
        if one.reason or any(part.unknown for part in one.parts)
    }
    done = {(one.kernel, one.workload, one.profile) for one in digests}
    of_signature: dict[str, dict[str, Finding]] = {}
    for finding in summary.findings:
        of_signature.setdefault(finding.signature, {})[finding.kernel] = finding
    found = []
    for signature, by_kernel in of_signature.items():
        cells = tuple(_cell(kernel, by_kernel, done, unsure) for kernel in kernels)
        known = dict.fromkeys(bug.id for finding in by_kernel.values() for bug in finding.known)
        first = next(at for at, kernel in enumerate(kernels) if kernel in by_kernel)
        found.append(Row(signature, first, tuple(known), cells))
    return tuple(sorted(found, key=lambda row: (row.first, row.signature)))


Place = tuple[str, str, str]


def _cell(kernel: str, by_kernel: Mapping[str, Finding], done: set[Place], unsure: set[Place]) -> Cell:
    """A kernel that does not show it is judged by the experiments in which others may have shown it."""
    if kernel in by_kernel:
        return Cell(kernel, SHOWN, by_kernel[kernel])
    workloads = {name for finding in by_kernel.values() for name in finding.workloads}
    profiles = {name for finding in by_kernel.values() for name in finding.profiles or (finding.profile,)}
    asked = {(name, one) for of, name, one in done if of != kernel and name in workloads and one in profiles}
    sure = asked and all((kernel, *place) in done - unsure for place in asked)
    return Cell(kernel, HOLDS if sure else NOT_KNOWN)


def version_words(found: Iterable[Row], kernels: Sequence[str]) -> str:
    """As "2 findings on all of 6.1, 6.12, 7.2; 1 on 6.12 alone"."""
    by_kernels: dict[tuple[str, ...], int] = {}
    for row in found:
        shown = tuple(cell.kernel for cell in row.cells if cell.answer == SHOWN)
        by_kernels[shown] = by_kernels.get(shown, 0) + 1
    parts = []
    for shown, count in sorted(by_kernels.items(), key=lambda one: (-len(one[0]), one[0])):
        where = f"all of {', '.join(kernels)}" if len(shown) == len(kernels) else f"{', '.join(shown)} alone"
        parts.append(f"{number(count, 'finding')} on {where}")
    return "; ".join(parts) if parts else f"no finding on any of {', '.join(kernels)}"
