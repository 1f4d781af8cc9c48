"""
ACE's workloads of length 1, and random ones, on the stock kernel: `tox run -e generated`.

In:       --profile NAMES, --kernel WORD.
Out:      that no verdict is UNKNOWN, and every one HOLDS; of random ones that what is BROKEN is a
          known bug, since a kernel with its fix does not show it.
Not here: whether they are ACE's (workloads/tests/test_generate.py); longer ones, which are samples and whose
          findings are in docs/findings/generated-workloads.md.
"""

import pytest

from harness.evidence.summary import sum_up
from harness.local.progress import Progress
from harness.runs.attribution import attribute
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from workloads.generate.space import DRAWN, Asked, workloads


@pytest.mark.generated
@pytest.mark.timeout(3600)
def test_ace_of_length_1_on_the_stock_kernel(tmp_path, kernel_word, profile_name):
    """294 different workloads, power failing after every entry of each log."""
    different = tuple(one for one in workloads(Asked("ace", 1)) if one is not None)
    run_spec = RunSpec(different, (profile(profile_name),), (kernel_word,))
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert (summary.experiments, summary.reasons, summary.states.unknown) == (294, (), 0)
    assert not summary.findings
    assert summary.states.judged == summary.states.planned > 294


@pytest.mark.generated
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("bounds", DRAWN)
def test_random_workloads_on_the_stock_kernel(tmp_path, kernel_word, profile_name, bounds):
    """100 of 15 operations each. A kernel with a fix is built when there is something to attribute."""
    drawn = tuple(workloads(Asked(bounds, 15, sample=100, seed=1)))
    run_spec = RunSpec(drawn, (profile(profile_name),), (kernel_word,))
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
        assert (summary.experiments, summary.reasons, summary.states.unknown) == (100, (), 0)
        attribute(folder, progress)
    new = [one for one in sum_up(folder, 0.0).findings if not one.known]
    assert new == []
