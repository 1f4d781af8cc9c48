"""
Damage at rest, on real guests: its oracles wake at planted bugs, stock kernels break no promise.

In:       the planted bugs whose header says `damage: sweep` or `damage: failing`; --profile NAME, --kernel
          WORD.
Out:      that each is found; that the stock kernel breaks no promise on the demonstration set; that a spec
          rebuilds the same bytes.
Not here: the oracles themselves (oracles/tests/test_damage.py), which damage is done
          (harness/tests/experiments/test_damaged_states.py).
"""

import pytest

from harness.evidence.summary import experiment_folders
from harness.evidence.sweep import planted_bugs
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from harness.suite.test_models import repro
from harness.suite.test_planted import sees
from oracles.faults.damage import OUTCOMES, Outcome, split
from oracles.judge import DAMAGE_ORACLES
from oracles.profiles import profile
from oracles.spec import is_live
from reports.results import DAMAGE, read_experiment
from workloads.library import DEMONSTRATION, select

pytestmark = [pytest.mark.damage, pytest.mark.timeout(3600)]
BUGS = [bug for bug in planted_bugs() if bug.kind == DAMAGE]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_planted_bug_is_found(tmp_path, kernel_word, bug):
    """By an oracle that its header names, and not on the stock kernel; `repro` shows it again."""
    sees(tmp_path, kernel_word, bug)


def test_each_oracle_of_damage_has_a_planted_bug():
    seen = {name for bug in BUGS for name in bug.oracles}
    assert {oracle.NAME for oracle in DAMAGE_ORACLES} <= seen


def damaged(tmp_path, names, profile_name, kernel, **more):
    run_spec = RunSpec(select(names), (profile(profile_name),), (kernel,), kind=DAMAGE, **more)
    with Progress() as progress:
        return run(run_spec, tmp_path / "results", progress)


def outcomes_of(summary):
    """By outcome how many, over all kinds of blocks."""
    return {name: sum(one.outcomes.get(name, 0) for one in summary.damage) for name in OUTCOMES}


def test_the_stock_kernel_breaks_no_promise_on_the_demonstration_set(tmp_path, kernel_word, profile_name):
    _, summary = damaged(tmp_path, DEMONSTRATION, profile_name, kernel_word)
    assert [one.signature for one in summary.findings if not one.known] == []
    assert summary.reasons == ()
    # Where two states differ in one sector alone, and that is zeroed, the damaged disks are the same.
    judged = summary.states.judged
    assert (summary.states.unknown, summary.states.planned) == (0, judged)
    counts = outcomes_of(summary)
    assert sum(counts.values()) == judged
    assert counts[Outcome.REFUSED]
    assert counts[Outcome.DIED] == 0


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs-single"])
def test_a_block_that_fails_during_recovery_costs_that_mount_alone(tmp_path, kernel_word, name):
    """On the stock kernel, for reads and writes; most mounts are refused, and each disk is mounted again."""
    run, summary = damaged(tmp_path, DEMONSTRATION, name, kernel_word, budget=60, failing=True)
    assert [one.signature for one in summary.findings if not one.known] == []
    assert summary.verdicts["healed"].holds == summary.states.judged
    assert outcomes_of(summary)[Outcome.REFUSED]
    failed = {
        split(state.spec)[1].fails
        for folder in experiment_folders(run)
        for state in read_experiment(folder).judgement.states
        if not is_live(state.spec)
    }
    assert failed == {"read", "write"}


@pytest.mark.smoke
@pytest.mark.parametrize(("name", "of_log"), [("btrfs", Outcome.REPAIRED), ("btrfs-single", Outcome.REFUSED)])
def test_a_log_tree_has_two_copies_or_none_to_spare(tmp_path, kernel_word, name, of_log):
    """Every damage to a log tree is repaired from the other copy, or the mount refused; the superblock has
    none that a mount takes by itself."""
    _, summary = damaged(tmp_path, ("append-fsync-repeated",), name, kernel_word, budget=60)
    assert summary.exit == 0
    found = {one.name: set(one.outcomes) for one in summary.damage}
    assert found["log tree leaf"] == {of_log}
    assert found["superblock"] == {Outcome.REFUSED}


@pytest.mark.smoke
def test_a_damaged_state_is_shown_again_from_the_same_bytes(tmp_path, kernel_word):
    """A budget bounds a run; the same seed damages the same; repro leaves the damaged disk."""
    folder, summary = damaged(tmp_path, ("append-fsync-repeated",), "ext4", kernel_word, budget=40)
    assert (summary.exit, summary.states.planned) == (0, 40)
    place = folder / "experiments/0001"
    refused = next(
        state.spec
        for state in read_experiment(place).judgement.states
        if state.outcome == Outcome.REFUSED and "^" in state.spec
    )
    images = []
    for spec in (refused, refused, refused[2:].partition("/")[0]):
        image = tmp_path / "disk.img"
        again = repro(place, "--state", spec, "--keep", image)
        assert again.returncode == 0, again.stdout + again.stderr
        assert (f"then: {Outcome.REFUSED}:" in again.stdout) == (spec == refused)
        images.append(image.read_bytes())
        image.unlink()
    damaged_disk, same, whole = images
    assert damaged_disk == same
    block = int(refused.rpartition("/")[2].partition("^")[0])
    assert damaged_disk[: block * 4096] == whole[: block * 4096]
    assert damaged_disk[block * 4096 :][:4096] != whole[block * 4096 :][:4096]
    assert damaged_disk[(block + 1) * 4096 :] == whole[(block + 1) * 4096 :]
