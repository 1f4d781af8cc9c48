"""
States that are proven by an earlier recovery: recovered all the same, they come back as it did.

In:       workloads of the library; kernel 6.12; the agent and the target in the guest, which prove.
Out:      how many were proven, and that each of them that was recovered too came back the same.
Not here: what an audit compares (harness/tests/stages/test_proofs.py).
"""

import pytest

from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from harness.stages.proofs import RECOVERED
from oracles.profiles import profile
from reports.results import Summary
from workloads.library import select

SOME = ["append-fsync-repeated", "rename-over-*", "link-into-new-directory", "nothing-synced-tree"]
WHOLE = 100_000  # proven states, all of them recovered too


def audited(tmp_path, names, profiles, models, budget, guest="uml") -> Summary:
    run_spec = RunSpec(
        kernels=("6.12",),
        profiles=tuple(profile(name) for name in profiles),
        workloads=tuple(select(names)),
        models=models,
        budget=budget,
        audit_percent=100.0,
        repeats=False,
        coverage=False,
        guest=guest,
    )
    with Progress() as progress:
        return run(run_spec, tmp_path / "results", progress)[1]


def all_came_back(summary: Summary, least: int) -> bool:
    """None of them otherwise: the run would have ended with an error."""
    proofs, states = summary.rates["proofs"], summary.states
    assert proofs["proven"] == proofs["audited"] == states.proven
    assert proofs[RECOVERED] == states.checked
    assert states.checked + states.skipped_identical + states.proven == states.planned
    return proofs["proven"] >= least


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "least"), [("btrfs", 30), ("ext4", 10), ("xfs", 1)])
def test_proven_states_come_back_as_the_state_that_proves_them(tmp_path, name, least):
    assert all_came_back(audited(tmp_path, SOME, [name], ("O", "R", "T"), 20), least)


@pytest.mark.audit
@pytest.mark.timeout(6 * 3600)
def test_a_hundred_thousand_of_them(tmp_path):
    """Models R and T with a budget that brings the whole library there."""
    profiles = ["btrfs", "ext4", "xfs", "f2fs"]
    assert all_came_back(audited(tmp_path, ["*"], profiles, ("O", "R", "T"), 250), WHOLE)
