"""
Coverage of a series: the lines that ran are found, and verdicts about a series that never ran are no pass.

In:       the series of before/, which take the project's first five patches out, and ten planted bugs,
          each on the workloads that its header names; kernels of the config variant gcov.
Out:      how many of their lines ran; the summary and the exit status where none did.
Not here: which line is answered by which counter (harness/tests/runs/test_coverage.py).
"""

import re

import pytest

from harness.commands.main import main
from harness.evidence.named import expected_findings
from harness.evidence.sweep import bug_of
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from kernel.build import series
from kernel.profiling import VARIANT
from oracles.profiles import profile
from reports.coverage.results import DIFFERING, RECORDED, RECOVERED, read_coverage
from workloads.library import select
from workloads.text import parse

pytestmark = [pytest.mark.coverage, pytest.mark.timeout(3600)]

# The five patches that the project grew from, each with a workload that needs it.
BEFORE = {
    "before/xattr-search-per-fsync": ("btrfs", "fsync-directory/*new*"),
    "before/delayed-items-flushed-for-directory-log": ("btrfs", "fsync-directory/*new*"),
    "before/fsync-waits-for-ordered-extents": ("btrfs", "overwrite-*"),
    "before/log-commit-on-rename-and-link": ("btrfs", "rename-*"),
    "before/full-hash-order-checks": ("xfs", "many-names-*"),
}
# Log writing, replay, the journal, its recovery, the log of XFS and its recovery.
PLANTED = (
    "planted/old-name-kept-after-rename",
    "planted/xattr-lost-on-second-fsync",
    "planted/directory-size-counted-twice",
    "planted/log-root-cleared-before-replay",
    "planted/ext4-size-unknown-to-fdatasync",
    "planted/jbd2-revoked-block-replayed",
    "planted/jbd2-commit-without-preflush",
    "planted/xfs-overwrite-fsync-without-flush",
    "planted/xfs-unlinked-inodes-left",
    "planted/xfs-icreate-of-freed-inodes-replayed",
)
REPLAYING = {  # their lines are of recovery
    "planted/directory-size-counted-twice",
    "planted/log-root-cleared-before-replay",
    "planted/jbd2-revoked-block-replayed",
    "planted/xfs-unlinked-inodes-left",
    "planted/xfs-icreate-of-freed-inodes-replayed",
}
SERIES = {one.name: one for one in series()}
ELSEWHERE = parse("# Touches no log: nothing is fsynced.\nrun\n  creat foo\n", "nothing-synced")


def covered(tmp_path, word, profile_name, workloads):
    run_spec = RunSpec(
        workloads=workloads,
        profiles=(profile(profile_name),),
        kernels=(word,),
        config=(VARIANT,),
        with_fsck=False,
        repeats=False,
    )
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
    (one,) = read_coverage(folder).kernels
    (patch,) = summary.patches
    return folder, summary, one, patch


@pytest.mark.parametrize("name", [*BEFORE, *PLANTED])
def test_the_lines_of_a_series_are_seen_to_run(tmp_path, kernel_word, name):
    """In the phase that they are of."""
    if name in BEFORE:
        profile_name, pattern = BEFORE[name]
        workloads = select((pattern,))
    else:
        bug = bug_of(SERIES[name])
        profile_name, workloads = bug.profiles[0], select(bug.workloads)
    _, _, one, patch = covered(tmp_path, f"{kernel_word}+{name}", profile_name, workloads)
    print(patch)
    assert patch.lines > 0
    assert patch.ran["any"] > 0, patch
    assert not patch.unreached
    phase = RECOVERED if name in REPLAYING else RECORDED
    assert patch.ran[phase] > 0, patch
    assert {RECORDED, RECOVERED, DIFFERING} <= set(one.phases)
    assert any(line.workloads for _, line in one.asked if line.phases)


def test_a_series_that_never_ran_is_no_pass(tmp_path, kernel_word, capsys):
    """Every verdict holds, and the exit status is 3: nothing is said about the series."""
    name = "planted/old-name-kept-after-rename"
    folder, summary, _, patch = covered(tmp_path, f"{kernel_word}+{name}", "btrfs", (ELSEWHERE,))
    assert patch.unreached
    assert summary.exit == 3
    assert not summary.findings
    assert "say nothing about its series" in (folder / "report/coverage.html").read_text()
    assert "say nothing about the series" in (folder / "report/index.html").read_text()
    assert main(["coverage", str(folder)]) == 3
    said = capsys.readouterr().out
    assert re.search(r"none of the \d+ lines? of the series ran", said)
    assert "fs/btrfs/" in said


def test_run_adds_the_lines_by_itself_where_the_build_is_there(tmp_path, kernel_word):
    """And without that build, or told not to, it does not; the verdicts are of the kernel that does not
    count."""
    name = "planted/old-name-kept-after-rename"
    word = f"{kernel_word}+{name}"
    covered(tmp_path / "first", word, "btrfs", (ELSEWHERE,))  # builds it
    workloads = select(bug_of(SERIES[name]).workloads)
    asked = RunSpec(workloads=workloads, profiles=(profile("btrfs"),), kernels=(word,), repeats=False)
    with Progress() as progress:
        folder, summary = run(asked, tmp_path / "second", progress)
        without, nothing = run(
            RunSpec(
                workloads=workloads,
                profiles=(profile("btrfs"),),
                kernels=(word,),
                repeats=False,
                coverage=False,
            ),
            tmp_path / "third",
            progress,
        )
    (patch,) = summary.patches
    assert patch.ran["any"] > 0
    assert summary.exit == 1
    assert summary.verdicts == nothing.verdicts
    assert nothing.patches == ()
    assert (folder / "coverage.json").exists()
    assert not (folder / "counted").exists()
    assert not (without / "coverage.json").exists()


def test_a_kernel_that_counts_has_the_findings_of_the_stock_kernel(tmp_path, kernel_word):
    """Counters change its timing and nothing else."""
    workloads = select(("replace-synced-fsync-other", "rename-over-synced-file"))
    run_spec = RunSpec(workloads, (profile("btrfs"),), (kernel_word,), (VARIANT,), repeats=False)
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    names = {workload.name for workload in workloads}
    expected = {
        signature for signature, workload in expected_findings(kernel_word, "btrfs") if workload in names
    }
    assert {one.signature for one in summary.findings} == expected
