"""
Proof that calls which stop in the kernel show what threads that wait do not.

In:       the series under kernel/series/planted/ whose header has a line `stops: N`; the kernel 6.12 with the
          config variant stops.
Out:      each is found, and by none of as many orders; the stock kernel is silent; most of the stops come;
          calls stop near the functions that are asked for; a run that goes on has the stops that it drew.
Not here: which stops are drawn (workloads/tests/test_stops.py).
"""

import pytest

from harness.evidence.store import NoResults
from harness.evidence.sweep import planted_bugs, sweep_parts
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from reports.results import read_experiment
from workloads.library import select
from workloads.workload import Workload

pytestmark = [pytest.mark.stops, pytest.mark.timeout(3600)]
KERNEL = "6.12"
BUGS = [bug for bug in planted_bugs() if bug.stops]
WORKLOADS = ("file-rename-and-new-directory", "attributes-fsynced-during-a-commit")
STOPS = 6


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_bug_that_needs_a_stop_is_found(tmp_path, bug):
    parts = sweep_parts(KERNEL, [bug], select(bug.workloads))
    run_spec = RunSpec(
        workloads=parts[0].workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
    )
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert [one.false for one in summary.stock] == [()] * len(bug.profiles)
    (detection,) = summary.detection
    assert detection.found
    assert {sight.oracle for sight in detection.by_oracle} & set(bug.oracles), detection


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_it_is_not_found_by_as_many_orders(tmp_path, bug):
    run_spec = RunSpec(
        select(bug.workloads),
        tuple(map(profile, bug.profiles)),
        (f"{KERNEL}+{bug.name}",),
        orders=bug.stops,
    )
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert not summary.findings
    assert summary.exit == 0


def stopping(folder, seed: int) -> tuple:
    profiles = (profile("ext4"), profile("btrfs"))
    with Progress() as progress:
        return run(
            RunSpec(select(WORKLOADS), profiles, (KERNEL,), stops=STOPS, seed=seed, jobs=1), folder, progress
        )


def drawn(place) -> list[Workload]:
    found = [read_experiment(each) for each in sorted((place / "experiments").iterdir())]
    return [one.history.workload for one in found if one.history is not None]


def test_most_stops_come_and_the_stock_kernel_is_silent(tmp_path):
    _, summary = stopping(tmp_path, 3)
    assert summary.exit == 0
    assert [one.asked for one in summary.stops] == [STOPS * len(WORKLOADS)] * 2
    assert all(one.stopped > STOPS for one in summary.stops)


def test_calls_stop_near_what_is_asked_for_and_who_does_not_come_there_does_not_stop(tmp_path):
    """btrfs_rename() is entered by the first of the two workloads alone."""
    with Progress() as progress:
        _, summary = run(
            RunSpec(
                select(WORKLOADS),
                (profile("btrfs"),),
                (KERNEL,),
                stops=STOPS,
                near=("btrfs_rename",),
                seed=3,
            ),
            tmp_path,
            progress,
        )
    (counts,) = summary.stops
    assert counts.asked == STOPS
    assert counts.near > 1
    assert summary.experiments == len(WORKLOADS) + STOPS


def test_a_run_that_goes_on_has_the_stops_that_it_drew(tmp_path):
    place, _ = stopping(tmp_path, 3)
    before = drawn(place)
    (last,) = sorted((place / "experiments").iterdir())[-1:]
    for file in last.iterdir():
        file.unlink()
    last.rmdir()
    with Progress() as progress:
        run_spec = RunSpec(
            select(WORKLOADS), (profile("ext4"), profile("btrfs")), (KERNEL,), stops=STOPS, seed=3, jobs=1
        )
        run(run_spec, tmp_path, progress, resume=place)
        (place / "entered.json").unlink()
        with pytest.raises(NoResults, match=r"entered\.json"):
            run(run_spec, tmp_path, progress, resume=place)
    assert drawn(place) == before
