"""
Proof that the slow device sees what the fast one cannot: kernels that do not wait for a write.

In:       the series under kernel/series/planted/ whose header has a line `device: slow`; a stock kernel.
Out:      each is found in recordings on the slow device, and in no model on the fast one; the stock kernel is
          silent on both; `repro` shows a state again.
Not here: the bugs that the fast device shows (test_planted.py, test_models.py).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.evidence.sweep import planted_bugs, sweep_parts
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from oracles.spec import MODELS
from reports.results import FAST, SLOW
from workloads.library import DEMONSTRATION, select

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parent.parent.parent
BUGS = [bug for bug in planted_bugs() if bug.device == SLOW]
BUDGET = 50  # states of each model except O
RECORDINGS = 3  # what completes first is decided by the guest's clock, too


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_missing_wait_is_found_on_the_slow_device(tmp_path, kernel_word, bug):
    parts = sweep_parts(kernel_word, [bug], select(bug.workloads))
    run_spec = RunSpec(
        workloads=parts[0].workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
    )
    for number in range(RECORDINGS):
        with Progress() as progress:
            folder, summary = run(run_spec, tmp_path / f"results{number}", progress)
        assert summary.states.unknown == 0
        assert [one.false for one in summary.stock] == [()] * len(bug.profiles)
        (detection,) = summary.detection
        if detection.found:
            break
    assert detection.found
    assert detection.device == SLOW
    assert {sight.oracle for sight in detection.by_oracle} & set(bug.oracles), detection
    own = [one for one in summary.findings if one.kernel == detection.kernel and one.oracle in bug.oracles]
    again = subprocess.run(
        [sys.executable, "-m", "harness.commands.main", "repro", str(folder), own[0].id],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert ", recorded on the slow device, state " in again.stdout


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_it_is_found_in_no_model_on_the_fast_device(tmp_path, kernel_word, bug):
    run_spec = RunSpec(
        workloads=select(bug.workloads),
        profiles=tuple(profile(name) for name in bug.profiles),
        kernels=(f"{kernel_word}+{bug.name}",),
        models=tuple(MODELS),
        budget=BUDGET,
        devices=(FAST,),
    )
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert [one.signature for one in summary.findings if not one.known] == []
    assert summary.states.unknown == 0
    assert summary.states.checked


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_stock_kernel_is_silent_on_both_devices(tmp_path, kernel_word, name):
    run_spec = RunSpec(select(DEMONSTRATION), (profile(name),), (kernel_word,), devices=(FAST, SLOW))
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert [one.signature for one in summary.findings if not one.known] == []
    assert summary.states.unknown == 0
