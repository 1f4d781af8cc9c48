"""
Proof that it sees: a kernel with a planted bug must be found out, by an oracle named for it.

In:       some of kernel/series/planted/, built on the stock kernel; the workloads that their headers name.
Out:      findings by oracle name, the stock kernel's silence on the same, and that `repro` shows them again.
Not here: all of them on the whole library (`powercut run --planted`, which is `tox run -e planted`); doctored
          logs (test_doctored.py).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.evidence.sweep import plantable, planted_bugs, sweep_parts
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from workloads.library import select

pytestmark = [pytest.mark.planted, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent.parent

NEWER = "7.2"

# One of each kind: names and attributes of the btrfs log tree, what fdatasync takes for done, a flush that
# is missing, and recovery itself.
QUICK = (
    "planted/old-name-kept-after-rename",
    "planted/xattr-lost-on-second-fsync",
    "planted/ext4-size-unknown-to-fdatasync",
    "planted/jbd2-revoked-block-replayed",
    "planted/xfs-overwrite-fsync-without-flush",
)
BUGS = [bug for bug in planted_bugs() if bug.name in QUICK]


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_planted_bug_is_found(tmp_path, kernel_word, bug):
    """Its workloads show it to an oracle that its header names, and not on the stock kernel."""
    sees(tmp_path, kernel_word, bug)


def planted_in(kernel_word, bug):
    """This kernel, or the newer one where the code that the bug changes is not in this one."""
    return next(word for word in (kernel_word, NEWER) if plantable(word, [bug])[0])


def sees(tmp_path, kernel_word, bug):
    kernel_word = planted_in(kernel_word, bug)
    parts = sweep_parts(kernel_word, [bug], select(bug.workloads))
    run_spec = RunSpec(
        workloads=parts[0].workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
    )
    # How threads take turns is chance: on a busy machine three recordings were seen to miss the moment.
    recordings = 8 if any(workload.parallel for workload in run_spec.workloads) else 1
    for number in range(recordings):
        with Progress() as progress:
            folder, summary = run(run_spec, tmp_path / f"results{number}", progress)
        assert summary.states.unknown == 0
        (detection,) = summary.detection
        if detection.found:
            break
    assert detection.found
    assert set(detection.oracle.split(", ")) & set(bug.oracles), detection
    assert [one.false for one in summary.stock] == [()] * len(bug.profiles)
    assert summary.exit == 0
    own = [one for one in summary.findings if one.kernel == detection.kernel and one.oracle in bug.oracles]
    shown_again(folder, own[0])


def shown_again(folder, finding):
    again = subprocess.run(
        [sys.executable, "-m", "harness.commands.main", "repro", str(folder), finding.id],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"{finding.oracle:<11} BROKEN" in again.stdout
    assert finding.expected in again.stdout


def test_the_quick_ones_exist():
    assert len(BUGS) == len(QUICK) <= 5
