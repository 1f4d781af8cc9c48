"""
Proof that the models R, T and N see what model O cannot: planted bugs that only one of them shows.

In:       the series under kernel/series/planted/ whose header has a line `models:`; stock kernels.
Out:      each is found in its model and silent in O; the stock kernel is silent in all; `repro` shows a state
          of each model again, from the same bytes.
Not here: the bugs that model O shows (test_planted.py), each model's states
          (harness/tests/states/test_crash_models.py).
"""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from harness.evidence.sweep import planted_bugs, sweep_parts
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from oracles.spec import MODELS, model_of
from oracles.verdict import Answer
from reports.results import read_experiment
from workloads.library import DEMONSTRATION, select

pytestmark = [pytest.mark.models, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parent.parent.parent
BUGS = [bug for bug in planted_bugs() if bug.models]
BUDGET = 150  # the workloads that the headers name have windows of ten writes and less


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_bug_is_found_in_its_model_alone(tmp_path, kernel_word, bug):
    """Every model looks for it; those of its header find it, none finds anything on the stock kernel."""
    parts = sweep_parts(kernel_word, [bug], select(bug.workloads))
    run_spec = RunSpec(
        workloads=parts[0].workloads,
        profiles=tuple(dict.fromkeys(part.profile for part in parts)),
        kernels=tuple(dict.fromkeys(part.kernel for part in parts)),
        parts=parts,
        models=tuple(MODELS),
        budget=BUDGET,
    )
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
    assert summary.states.unknown == 0
    (detection,) = summary.detection
    assert detection.models == bug.models
    assert {sight.oracle for sight in detection.by_oracle} & set(bug.oracles), detection
    assert [one.false for one in summary.stock] == [()] * len(bug.profiles)
    assert summary.exit == 0
    own = [one for one in summary.findings if one.kernel == detection.kernel and one.oracle in bug.oracles]
    assert own[0].presumes
    again = repro(folder, own[0].id)
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"{own[0].oracle:<11} BROKEN" in again.stdout


def test_each_model_has_a_bug_of_its_own():
    assert {model for bug in BUGS for model in bug.models} == set(MODELS) - {"O"}


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_stock_kernel_is_silent_on_the_demonstration_set(tmp_path, kernel_word, name):
    """In every model, with the budget that a user gets; and every spec rebuilds the same bytes."""
    run_spec = RunSpec(
        workloads=select(DEMONSTRATION),
        profiles=(profile(name),),
        kernels=(kernel_word,),
        models=tuple(MODELS),
    )
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
    assert [one.signature for one in summary.findings if not one.known] == []
    assert summary.states.unknown == 0
    assert set(summary.models) == set(MODELS)
    assert all(counts.planned == counts.judged for counts in summary.models.values())
    # Recovered, or proven by a state that was: of a model all may be.
    assert all(summary.models[model].judged for model in "ORNA")
    experiment = read_experiment(folder / "experiments/0001")
    for model in experiment.facts.planned:
        spec = next((one.spec for one in experiment.judgement.states if model_of(one.spec) == model), "")
        if spec:
            same_bytes_twice(folder / "experiments/0001", spec, tmp_path)


def same_bytes_twice(folder, spec, scratch):
    digests = []
    for number in range(2):
        image = scratch / f"{number}.img"
        again = repro(folder, "--state", spec, "--keep", str(image))
        assert again.returncode == 0, again.stdout + again.stderr
        assert f" state {spec}\n" in again.stdout
        assert str(Answer.BROKEN) not in again.stdout
        digests.append(hashlib.sha256(image.read_bytes()).digest())
        image.unlink()
    assert digests[0] == digests[1]


def repro(*words):
    return subprocess.run(
        [sys.executable, "-m", "harness.commands.main", "repro", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
