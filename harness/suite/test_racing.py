"""
Proof that several processors see what one cannot: kernels with a race in which nothing sleeps.

In:       the series under kernel/series/planted/ whose header has a line `orders: N`; the first release whose
          User Mode Linux has several processors and that has a source package.
Out:      each is found in a guest with two processors, and those in which nothing sleeps in none with one;
          the stock kernel is silent; threads that are delayed take many orders.
Not here: threads that wait for each other, which one processor shows (test_threads.py).
"""

import pytest

from harness.evidence.sweep import planted_bugs, sweep_parts
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from workloads.library import select

pytestmark = [pytest.mark.racing, pytest.mark.timeout(3600)]
BUGS = [bug for bug in planted_bugs() if bug.orders]
# Of the others a task may sleep inside the window, and one processor shows them, too.
NEVER = (
    "planted/btrfs-rename-does-not-pin-the-log",
    "planted/ext4-two-tasks-at-the-orphan-list",
    "planted/f2fs-two-tasks-at-the-orphan-list",
    "planted/xfs-checkpoint-beside-a-commit",
)
ALONE = [bug for bug in BUGS if bug.name in NEVER]
KERNEL = "7.2"
TRIES = 3  # on a machine with other work the two processors rarely run at the same time


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_race_is_found_with_two_processors(tmp_path, bug):
    parts = sweep_parts(KERNEL, [bug], select(bug.workloads))
    for seed in range(TRIES):
        run_spec = RunSpec(
            workloads=parts[0].workloads,
            profiles=tuple(dict.fromkeys(part.profile for part in parts)),
            kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
            parts=parts,
            seed=seed,
        )
        with Progress() as progress:
            _, summary = run(run_spec, tmp_path / f"results{seed}", progress)
        assert [one.false for one in summary.stock] == [()] * len(bug.profiles)
        (detection,) = summary.detection
        if detection.found:
            break
    assert detection.found
    assert {sight.oracle for sight in detection.by_oracle} & set(bug.oracles), detection


@pytest.mark.parametrize("bug", ALONE, ids=[bug.name for bug in ALONE])
def test_it_is_not_found_with_one(tmp_path, bug):
    """The same threads, delayed in the same ways."""
    run_spec = RunSpec(
        select(bug.workloads),
        tuple(map(profile, bug.profiles)),
        (f"{KERNEL}+{bug.name}",),
        orders=bug.orders,
    )
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert not summary.findings
    assert summary.exit == 0


def test_threads_that_are_delayed_take_many_orders(tmp_path):
    workloads = select(("renamed-while-fsynced", "syncfs-beside-fsync"))
    run_spec = RunSpec(workloads, (profile("btrfs"), profile("ext4")), (KERNEL,), cpus=2, orders=20)
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert summary.exit == 0
    assert len(summary.orders) == 4
    assert all(len(one.calls) == 20 for one in summary.orders)
    assert all(one.calls[-1] >= 4 and one.logs[-1] >= one.calls[-1] for one in summary.orders)


def test_there_are_four_at_least_that_one_processor_never_shows():
    assert len(ALONE) == len(NEVER) >= 4
