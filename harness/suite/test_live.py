"""
Proof that it sees what needs no power failure: a kernel that dies, warns, or keeps its disk busy.

In:       one kernel with three planted bugs, each on the workload that its header names; one kernel, so
          that one build serves all.
Out:      findings of `alive`, `quiet` and `mounts`, which the stock kernel does not give, shown again by
          `repro`.
Not here: each of them alone on the whole library (`powercut run --planted`), made-up guests
          (harness/tests/).
"""

import pytest

from harness.evidence.sweep import planted_bugs
from harness.findings.export import verified
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from harness.suite.test_planted import shown_again
from oracles.profiles import profile
from reports.results import read_experiment
from workloads.library import select

pytestmark = [pytest.mark.planted, pytest.mark.timeout(1800)]

EXPECTED = {
    "planted/kernel-dies-at-fsync-of-reused-name": ("btrfs alive: panic (btrfs_log_inode())", "L:4"),
    "planted/directory-busy-after-fsync": ("btrfs quiet: warning (generic_shutdown_super())", "L:4"),
    "planted/file-kept-after-failed-seek": ("btrfs mounts: unmount failed (filesystem)", "O:"),
}
BUGS = [bug for bug in planted_bugs() if bug.name in EXPECTED]


def swept(folder, kernel):
    names = [name for bug in BUGS for name in bug.workloads]
    run_spec = RunSpec(select(names), (profile("btrfs"),), (kernel,))
    with Progress() as progress:
        return run(run_spec, folder, progress)


def test_each_is_found_in_the_recording_or_at_the_unmount(tmp_path, kernel_word):
    """Shown five times of five, and again by repro; the program of the panic kills that kernel alone."""
    kernel = "+".join((kernel_word, *sorted(EXPECTED)))
    folder, summary = swept(tmp_path / "results", kernel)
    assert summary.states.unknown == 0
    found = {one.signature: one for one in summary.findings}
    for bug in BUGS:
        signature, state = EXPECTED[bug.name]
        finding = found[signature]
        assert finding.state.startswith(state)
        assert finding.oracle in bug.oracles
        assert finding.workload in bug.workloads
        (own, *_) = finding.after.repeats
        assert own.shown == own.times
        shown_again(folder, finding)
    died = found[EXPECTED["planted/kernel-dies-at-fsync-of-reused-name"][0]]
    experiment = read_experiment(folder / f"experiments/{died.experiment:04d}")
    with Progress() as progress:
        chosen, seen = verified(died, experiment, "sh", None, folder, progress)
    assert (chosen.way, [one.shows for one in seen]) == ("plain", [True, False])


def test_where_an_unmount_fails_nothing_is_unknown(tmp_path, kernel_word):
    """The log is whole though the device stays busy, and behind a remount that fails the workload goes on in
    its filesystem."""
    run_spec = RunSpec(
        select(("copies-when-full", "other-words-before-run")),
        (profile("btrfs"),),
        (f"{kernel_word}+planted/file-kept-after-failed-seek",),
        repeats=False,
    )
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert (summary.undone_experiments, summary.states.unknown) == (0, 0)
    assert any("remount: " in each for each in summary.failed_operations)


def test_the_stock_kernel_is_content(tmp_path, kernel_word):
    _, summary = swept(tmp_path / "results", kernel_word)
    assert (summary.findings, summary.exit) == ((), 0)


def test_all_three_are_there():
    assert {bug.name for bug in BUGS} == set(EXPECTED)
