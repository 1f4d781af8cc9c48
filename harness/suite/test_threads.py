"""
Proof that threads are needed: bugs that show when two of them work at once, and not one after the other.

In:       the planted bugs whose workloads have parallel blocks; the same operations without them.
Out:      the bug is found with threads, and by nobody without; the stock kernel is silent on both.
Not here: races that need two processors (test_racing.py), other planted bugs (test_planted.py), the theme on
          stock kernels (test_crash.py).
"""

import msgspec
import pytest

from harness.evidence.sweep import planted_bugs
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from harness.suite.test_planted import sees
from oracles.profiles import profile
from workloads.library import select
from workloads.shrinking import alone

pytestmark = [pytest.mark.planted, pytest.mark.timeout(1800)]

BUGS = [
    bug
    for bug in planted_bugs()
    if all(workload.parallel for workload in select(bug.workloads)) and not bug.orders
]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_it_is_found_with_threads(tmp_path, kernel_word, bug):
    sees(tmp_path, kernel_word, bug)


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_it_is_not_found_one_after_the_other(tmp_path, kernel_word, bug):
    workloads = tuple(in_turn(workload) for workload in select(bug.workloads))
    run_spec = RunSpec(workloads, tuple(map(profile, bug.profiles)), (f"{kernel_word}+{bug.name}",))
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert not summary.findings
    assert summary.exit == 0


def in_turn(workload):
    """Its threads one after the other."""
    operations = tuple(alone(operation) for operation in workload.run if operation.word != "await")
    return msgspec.structs.replace(workload, name=f"{workload.name}-in-turn", run=operations)


def test_there_are_such_bugs():
    assert len(BUGS) >= 2
