"""
The generated part of reference/fstests.md: what fstests' crash groups gave, test by test.

In:       runs of `powercut fstests`, kept without their output in harness/book/fstests/; new ones by keep().
Out:      generated(): the page; `python -m harness.book.fstests RUN ...` keeps runs.
Not here: the runs (harness/fstests/), the rest of the page, which is written by hand.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from harness.book.regions import filled
from harness.book.tables import table
from harness.local.root import ROOT
from reports import formats
from reports.fstests.lines import by_filesystem
from reports.fstests.results import (
    FILE,
    NOTRUN,
    PASS,
    RESULTS,
    FstestsResult,
    FstestsRun,
    counts,
    read_fstests,
)

PAGE = Path("docs/reference/fstests.md")
KEPT = Path("harness/book/fstests")


def generated(root: Path) -> dict[Path, str]:
    found = measured(root)
    parts = {"figures": figures(found), "reasons": reasons(found), "tests": tests(found)}
    return {PAGE: filled(root / PAGE, parts)}


def measured(root: Path) -> tuple[FstestsRun, ...]:
    """Errors: OSError, msgspec.DecodeError, UnknownFormat."""
    places = sorted(path.parent for path in (root / KEPT).glob(f"*/{FILE}"))
    return tuple(run for run in map(read_fstests, places) if run is not None)


def keep(run: Path, root: Path) -> Path:
    """A run, without the output of its tests; it replaces an older one of its kernel and filesystems.
    Errors: OSError, msgspec.DecodeError, UnknownFormat."""
    found = read_fstests(run)
    assert found is not None, f"{run} is no run of fstests"
    kept = msgspec.structs.replace(found, results=tuple(map(without_output, found.results)))
    name = f"{found.kernel.replace('/', '_')}-{'-'.join(found.filesystems)}"
    place = root / KEPT / name / FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(formats.pretty(FILE, kept))
    return place


def without_output(one: FstestsResult) -> FstestsResult:
    attempts = tuple(msgspec.structs.replace(each, output=()) for each in one.attempts)
    baseline = one.baseline and msgspec.structs.replace(one.baseline, output=())
    return msgspec.structs.replace(one, attempts=attempts, baseline=baseline)


# --- the parts -----------------------------------------------------------------------------------


def figures(found: Iterable[FstestsRun]) -> str:
    rows = []
    for run in found:
        for name, results in by_filesystem(run).items():
            counted = counts(results)
            minutes = sum(one.seconds for one in results) / 60
            rows.append(
                (
                    name,
                    f"{run.kernel} ({run.sources.get(run.kernel, '')})",
                    str(len(results)),
                    *(str(counted[result]) for result in RESULTS),
                    f"{minutes:.0f}",
                    f"{run.deadline_s:g}",
                    run.started[:10],
                )
            )
    return table(("filesystem", "kernel", "tests", *RESULTS, "minutes", "deadline, s", "measured on"), rows)


def reasons(found: Sequence[FstestsRun]) -> str:
    """Each reason of notrun, with the tests that have it on each filesystem."""
    of: dict[str, dict[str, list[str]]] = {}
    for one in (each for run in found for each in run.results if each.result == NOTRUN):
        of.setdefault(one.reason, {}).setdefault(one.filesystem, []).append(one.test)
    rows = [
        (reason, "; ".join(f"{name}: {' '.join(sorted(listed))}" for name, listed in sorted(places.items())))
        for reason, places in sorted(of.items())
    ]
    return table(("reason, in the words of fstests", "tests"), rows) if rows else "Every test was run."


def tests(found: Sequence[FstestsRun]) -> str:
    """A row a test, a column a filesystem. Of the reasons those of notrun stand in their own table."""
    columns = sorted({(one.filesystem, run.kernel) for run in found for one in run.results})
    cells: dict[str, dict[tuple[str, str], FstestsResult]] = {}
    for run in found:
        for one in run.results:
            cells.setdefault(one.test, {})[one.filesystem, run.kernel] = one
    rows = []
    for test in sorted(cells):
        of = cells[test]
        notes = [
            f"{name}: {of[name, kernel].reason}"
            for name, kernel in columns
            if (name, kernel) in of and of[name, kernel].result not in (PASS, NOTRUN)
        ]
        rows.append((test, *(shown(of.get(column)) for column in columns), "; ".join(notes)))
    return table(("test", *(f"{name}, {kernel}" for name, kernel in columns), "what was found"), rows)


def shown(one: FstestsResult | None) -> str:
    if one is None:
        return ""
    return f"{one.result}, {one.seconds:.0f} s" if one.result != NOTRUN else one.result


if __name__ == "__main__":
    for word in sys.argv[1:]:
        print(keep(Path(word), ROOT))
