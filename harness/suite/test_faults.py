"""
A device that fails, on real guests: the oracles of faults wake at planted bugs, stock kernels are as known.

In:       the planted bugs whose header says `faults: sweep`; --profile NAME, --kernel WORD.
Out:      that each is found; the fault workloads and the demonstration set on the stock kernel; that
          dm-flakey and our own states agree.
Not here: the oracles themselves (oracles/tests/test_faults.py), the whole library (`run --faults '*'`).
"""

import msgspec
import pytest

from harness.evidence.named import expected_findings, found_in, signatures_everywhere
from harness.evidence.sweep import planted_bugs
from harness.experiments.cross_check import Agreement, cross_check
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from harness.suite.test_planted import sees
from oracles.judge import FAULT_ORACLES
from oracles.profiles import profile
from reports.results import FAULTS, read_experiment
from workloads.library import FAULTED, library, select

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3600)]
BUGS = [bug for bug in planted_bugs() if bug.kind == FAULTS]
CROSSED = ("fsync-new-file", "replace-by-rename", "overwrite-in-place", "unaligned-writes-fsync")


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_planted_bug_is_found(tmp_path, kernel_word, bug):
    """By an oracle that its header names, and not on the stock kernel; `repro` shows it again."""
    sees(tmp_path, kernel_word, bug)


def test_each_oracle_of_faults_has_a_planted_bug():
    seen = {name for bug in BUGS for name in bug.oracles}
    assert {oracle.NAME for oracle in FAULT_ORACLES} <= seen


def sweep(tmp_path, names, profile_name, kernel):
    run_spec = RunSpec(select(names), (profile(profile_name),), (kernel,), kind=FAULTS)
    with Progress() as progress:
        return run(run_spec, tmp_path / "results", progress)


def test_the_default_set_on_a_failing_device(tmp_path, kernel_word, profile_name):
    """What is BROKEN is exactly what is known of this kernel; no guest is booted for a run."""
    folder, summary = sweep(tmp_path, FAULTED, profile_name, kernel_word)
    assert summary.reasons == ()
    everywhere = signatures_everywhere(kernel_word, profile_name, FAULTS)
    found = found_in(summary)
    known = {one for one in expected_findings(kernel_word, profile_name, FAULTS) if one[1] in FAULTED}
    assert known <= found
    assert {one for one in found if one[0] not in everywhere} <= known
    assert summary.rates["guest_boots"] <= summary.experiments
    kinds = {
        state.spec.partition("@")[0]
        for place in sorted((folder / "experiments").iterdir())
        for state in read_experiment(place).judgement.states
    }
    assert kinds >= {"F:error-writes", "F:drop-writes", "F:corrupt", "F:delay"}


def test_the_fault_workloads_do_what_their_lines_say(tmp_path, kernel_word, profile_name):
    """Each is one point, and every promise is kept."""
    names = tuple(one.name for one in library() if one.faulty)
    _, summary = sweep(tmp_path, names, profile_name, kernel_word)
    assert (summary.exit, summary.states.checked) == (0, len(names))


def test_dm_flakey_and_our_states_agree(keeper_for, profile_name):
    """At the end of each operation: the same bytes and the same tree, or bytes that no FLUSH had followed."""
    one = profile(profile_name)
    with keeper_for(one) as (guest_slot, scratch):
        found = [
            crossing
            for workload in select(CROSSED)
            for crossing in cross_check(guest_slot, one, workload, scratch / "pristine", scratch)
        ]
    assert Agreement.EQUAL in {crossing.agreement for crossing in found}
    assert Agreement.DIFFERENT not in {crossing.agreement for crossing in found}, [
        msgspec.to_builtins(crossing) for crossing in found if crossing.agreement is Agreement.DIFFERENT
    ]
