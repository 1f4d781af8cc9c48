"""
The generated parts of reference/fstests-audit.md: counts, missing features, a row for each test.

In:       the rows of workloads/fstests-audit.toml.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from collections import Counter
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from workloads.fstests_audit import Row, audit

PAGE = Path("docs/reference/fstests-audit.md")
KINDS = {
    "library": "The scenario is in the workloads that the row names.",
    "part": "Workloads have a part of it; the row says what the rest needs.",
    "option": "An option of `powercut run` asks it: `--faults`, `--damage` or a crash model.",
    "missing": "No workload has it; the row says which feature it needs.",
    "none": "The test crashes no filesystem whose recovery could be asked about; the row says what it does.",
}


def generated(root: Path) -> dict[Path, str]:
    rows = audit()
    parts = {"counts": counts(rows), "features": features(rows), "tests": tests(rows)}
    return {PAGE: filled(root / PAGE, parts)}


def counts(rows: tuple[Row, ...]) -> str:
    found: Counter[str] = Counter(row.kind for row in rows)
    named = {name for row in rows for name in row.workloads}
    kinds = table(
        ("kind", "tests", "meaning"), [(kind, str(found[kind]), text) for kind, text in KINDS.items()]
    )
    return f"{len(rows)} tests. {len(named)} workloads have the scenario of one of them or more.\n\n{kinds}"


def features(rows: tuple[Row, ...]) -> str:
    """Those that most tests need first."""
    needed: dict[str, list[str]] = {}
    for row in rows:
        if row.feature:
            needed.setdefault(row.feature, []).append(row.test)
    order = sorted(needed, key=lambda feature: (-len(needed[feature]), feature))
    return table(
        ("feature", "tests", "which"),
        [(feature, str(len(needed[feature])), ", ".join(needed[feature])) for feature in order],
    )


def tests(rows: tuple[Row, ...]) -> str:
    return table(
        ("test", "kind", "workloads", "what is missing, or is otherwise"),
        [(row.test, row.kind, ", ".join(map(code, row.workloads)), remark(row)) for row in rows],
    )


def remark(row: Row) -> str:
    return ": ".join(part for part in (row.feature, row.note) if part)
