"""
The generated parts of reference/faults-and-damage.md: fault points, and the outcomes of damage.

In:       workloads/faults.py, oracles/faults/damage.py.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from pathlib import Path
from types import MappingProxyType

from harness.book.regions import filled
from harness.book.tables import code, table
from harness.experiments.damaged_states import STATES_MAX
from harness.stages.fault_points import POINTS_MAX
from oracles.faults.damage import WORDS, Outcome
from workloads.faults import KINDS, parse_point
from workloads.text import FAULTS
from workloads.text import parse as parse_workload

PAGE = Path("docs/reference/faults-and-damage.md")
# Of a workload of four operations; each is parsed when the page is made.
POINTS = (
    ("F:error-writes@3", "every write and every FLUSH during operation 3 fails"),
    ("F:error-writes@3:8192+8", "only writes to 8 sectors from sector 8192 on fail"),
    ("F:error-writes@3:flush", "only the FLUSH fails"),
    ("F:drop-writes@3-", "writes are dropped from operation 3 on, until the workload has ended"),
    ("F:script", "the device fails as the workload's own `fault` lines say"),
)
BROKEN = MappingProxyType({Outcome.OLDER: "on btrfs", Outcome.CHANGED: "except on f2fs", Outcome.DIED: "yes"})


def generated(root: Path) -> dict[Path, str]:
    parts = {"kinds": kinds(), "points": points(), "outcomes": outcomes(), "bounds": bounds()}
    return {PAGE: filled(root / PAGE, parts)}


def kinds() -> str:
    return table(("kind", "the device"), [(code(kind), FAULTS[kind].meaning) for kind in KINDS])


def points() -> str:
    workload = parse_workload("run\n  creat a\n  creat b\n  creat c\n  fault error-writes\n")
    rows = []
    for spec, words in POINTS:
        assert parse_point(spec, workload).spec == spec, spec
        rows.append((code(spec), words))
    return table(("fault point", "meaning"), rows)


def outcomes() -> str:
    rows = [(str(outcome), words, BROKEN.get(outcome, "no")) for outcome, words in WORDS.items()]
    return table(("outcome", "what came back", "BROKEN"), rows)


def bounds() -> str:
    return (
        f"At most {POINTS_MAX} points of a workload are examined. What is left out is counted. For damage, "
        f"up to {STATES_MAX} states of a log are chosen."
    )
