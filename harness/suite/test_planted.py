"""
Proof that it sees: a kernel with a planted bug must be found out, by the oracle named for it.

In:       kernel/series/planted/, built on the stock kernel.
Out:      findings by oracle name, and that `repro` shows them again.
Not here: doctored logs (test_doctored.py); the stock kernel's silence (test_smoke.py, test_crash.py).
"""

import subprocess
import sys
from pathlib import Path

import pytest

from workloads.library import DEMONSTRATION

pytestmark = [pytest.mark.planted, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent.parent

PLANTED = (
    ("planted/old-name-kept-after-rename", "atomic", "move-out-of-logged-directory"),
    ("planted/xattr-lost-on-second-fsync", "durable", "xattrs-over-two-fsyncs"),
)


@pytest.mark.parametrize(("series", "oracle", "workload"), PLANTED)
def test_planted_bug_is_found(main_job, kernel_word, series, oracle, workload):
    """The demonstration set finds it, with the right oracle and workload, and repro shows it again."""
    folder, summary = main_job(DEMONSTRATION, ["btrfs"], f"{kernel_word}+{series}")
    assert summary.exit == 1
    assert summary.states.unknown == 0
    found = [one for one in summary.findings if one.oracle == oracle]
    assert [one.workload for one in found][:1] == [workload], summary.findings
    again = subprocess.run(
        [sys.executable, "-m", "harness.main", "repro", str(folder), found[0].id],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 1, again.stdout + again.stderr
    assert f"{oracle:<11} BROKEN" in again.stdout
    assert found[0].expected in again.stdout
