"""
The generated parts of reference/fstests.md: what fstests' crash groups gave, and what was recorded.

In:       harness/book/fstests.json, collected from folders of `powercut fstests`; why each failure is one,
          from harness/book/fstests.toml.
Out:      generated(): the page. `python -m harness.book.fstests RUN ...` collects the data anew.
Not here: running the tests (harness/fstests/), the rest of the page, which is written by hand.
"""

import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.book.regions import filled
from harness.book.tables import table
from harness.evidence.store import NoResults
from harness.fstests import checkout
from harness.local.root import ROOT
from reports.fstests.results import DIED, FAIL, KNOWN, NOTRUN, PASS, RecordedLife, read_fstests

PAGE = Path("docs/reference/fstests.md")
DATA = Path("harness/book/fstests.json")
REASONS = Path("harness/book/fstests.toml")
FILESYSTEMS = ("btrfs", "ext4", "xfs")
RAN = (PASS, FAIL, KNOWN, DIED)


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of one test: as FstestsResult; deadline_s of one that died of it, else 0."""

    result: str
    reason: str = ""
    seconds: float = 0.0
    deadline_s: float = 0.0


class Suite(msgspec.Struct, frozen=True):
    """kernel: its spec. source: the version of its source. planned: tests of the crash groups, in order; of
    those without an outcome nothing is known."""

    kernel: str
    source: str
    filesystem: str
    planned: tuple[str, ...]
    outcomes: dict[str, Outcome]


class RecordedTest(msgspec.Struct, frozen=True):
    """Of --record, what all filesystems that a test made showed together. verdicts: HOLDS, BROKEN,
    UNKNOWN."""

    test: str
    filesystem: str
    kernel: str
    result: str
    entries: int
    states: int
    verdicts: tuple[int, int, int]
    findings: tuple[str, ...]
    troubles: tuple[str, ...]


class Measured(msgspec.Struct, frozen=True):
    """fstests.json. fstests: the version of the checkout."""

    fstests: str
    suites: tuple[Suite, ...]
    recorded: tuple[RecordedTest, ...]


# --- collecting ----------------------------------------------------------------------------------------


def collected(planned: dict[str, tuple[str, ...]], runs: Sequence[Path]) -> Measured:
    """planned: by filesystem, the tests of the crash groups. Of the same test the last run counts. Errors:
    NoResults, OSError."""
    version = ""
    suites: dict[tuple[str, str], Suite] = {}
    recorded: dict[tuple[str, str, str], RecordedTest] = {}
    for folder in runs:
        found = read_fstests(folder)
        if found is None:
            raise NoResults(f"{folder} is no run of fstests")
        version = found.checkout
        for one in found.results:
            if one.recorded:
                recorded[one.test, one.filesystem, found.kernel] = recorded_test(
                    one.test, one.filesystem, found.kernel, one.result, one.recorded
                )
                continue
            key = (found.kernel, one.filesystem)
            suite = suites.setdefault(
                key,
                Suite(found.kernel, found.sources[found.kernel], one.filesystem, planned[one.filesystem], {}),
            )
            died = one.result == DIED
            suite.outcomes[one.test] = Outcome(
                one.result, one.reason, round(one.seconds), found.deadline_s if died else 0.0
            )
    return Measured(
        version,
        tuple(suites[key] for key in sorted(suites)),
        tuple(recorded[key] for key in sorted(recorded)),
    )


def recorded_test(
    test: str, filesystem: str, kernel: str, result: str, lives: Sequence[RecordedLife]
) -> RecordedTest:
    counts = [each for life in lives for each in life.verdicts.values()]
    return RecordedTest(
        test,
        filesystem,
        kernel,
        result,
        sum(life.entries for life in lives),
        sum(life.states for life in lives),
        (sum(one[0] for one in counts), sum(one[1] for one in counts), sum(one[2] for one in counts)),
        tuple(dict.fromkeys(finding for life in lives for finding in life.findings)),
        tuple(dict.fromkeys(life.trouble for life in lives if life.trouble)),
    )


def read_measured(root: Path) -> Measured:
    return msgspec.json.decode((root / DATA).read_bytes(), type=Measured)


def read_reasons(root: Path) -> dict[str, str]:
    """By "TEST FILESYSTEM KERNEL", of which the last two may be *, why it failed or died."""
    return tomllib.loads((root / REASONS).read_text())


def why(reasons: dict[str, str], test: str, filesystem: str, kernel: str) -> str:
    """ "" where nobody wrote it down."""
    for key in (f"{test} {filesystem} {kernel}", f"{test} {filesystem} *", f"{test} * *"):
        if key in reasons:
            return reasons[key]
    return ""


# --- the page ------------------------------------------------------------------------------------------


def generated(root: Path) -> dict[Path, str]:
    """Errors: BadRegions, OSError."""
    found, reasons = read_measured(root), read_reasons(root)
    parts = {
        "counts": counts(found),
        "notrun": notrun(found),
        "failed": failed(found, reasons),
        "not-reached": not_reached(found),
        "recorded": recorded(found),
    }
    return {PAGE: filled(root / PAGE, parts)}


def counts(found: Measured) -> str:
    rows = []
    for suite in found.suites:
        of = Counter(one.result for one in suite.outcomes.values())
        ran = sum(of[name] for name in RAN)
        left = len(suite.planned) - len(suite.outcomes)
        numbers = (len(suite.planned), ran, of[PASS], of[FAIL] + of[KNOWN], of[DIED], of[NOTRUN], left)
        rows.append((suite.kernel, suite.filesystem, *map(str, numbers)))
    sources = ", ".join(dict.fromkeys(f"{suite.kernel} is {suite.source}" for suite in found.suites))
    headings = ("kernel", "filesystem", "tests", "ran", "passed", "failed", "died", "notrun", "not reached")
    return f"fstests {found.fstests}; {sources}.\n\n{table(headings, rows)}"


def notrun(found: Measured) -> str:
    where: dict[str, dict[str, list[str]]] = {}
    for suite in found.suites:
        for test, one in suite.outcomes.items():
            if one.result == NOTRUN:
                tests = where.setdefault(one.reason, {}).setdefault(f"{suite.filesystem} {suite.kernel}", [])
                tests.append(test)
    rows = [
        (reason, "; ".join(f"{place}: {len(tests)}" for place, tests in places.items()), all_of(places))
        for reason, places in sorted(where.items(), key=lambda item: (-len(item[1]), item[0]))
    ]
    return table(("reason, as fstests says it", "how many", "tests"), rows) if rows else "None."


def all_of(places: dict[str, list[str]]) -> str:
    return " ".join(dict.fromkeys(test for tests in places.values() for test in tests))


def failed(found: Measured, reasons: dict[str, str]) -> str:
    rows = []
    for suite in found.suites:
        for test, one in suite.outcomes.items():
            if one.result in (FAIL, KNOWN, DIED):
                text = why(reasons, test, suite.filesystem, suite.kernel)
                rows.append((test, suite.filesystem, suite.kernel, one.result, one.reason, text))
    headings = ("test", "filesystem", "kernel", "result", "what fstests said", "why")
    return table(headings, sorted(rows)) if rows else "None."


def not_reached(found: Measured) -> str:
    rows = []
    for suite in found.suites:
        left = [test for test in suite.planned if test not in suite.outcomes]
        if left:
            rows.append((suite.kernel, suite.filesystem, " ".join(left)))
    return table(("kernel", "filesystem", "tests"), rows) if rows else "None."


def recorded(found: Measured) -> str:
    def rows() -> Iterator[tuple[str, ...]]:
        for one in found.recorded:
            numbers = (one.entries, one.states, *one.verdicts)
            told = "; ".join((*one.findings, *one.troubles)) or "none"
            yield one.test, one.filesystem, one.result, *(f"{number:,}" for number in numbers), told

    headings = (
        "test",
        "filesystem",
        "the test",
        "entries",
        "states",
        "HOLDS",
        "BROKEN",
        "UNKNOWN",
        "findings",
    )
    return table(headings, rows()) if found.recorded else "None."


def main(words: Sequence[str]) -> int:
    """Errors: NoCheckout, NoResults, OSError."""
    planned = checkout.selected(checkout.folder_of(None), FILESYSTEMS, checkout.CRASH_GROUPS, ())
    found = collected(planned, [Path(word) for word in words])
    (ROOT / DATA).write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
