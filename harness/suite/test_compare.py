"""
Two kernels side by side on real guests: `tox run -e compare`.

In:       a stock kernel and the same with a planted bug, on the demonstration set.
Out:      that the difference is the bug's, on the bug's side, and nothing else differs.
Not here: what counts as a difference (reports/tests/test_side_by_side.py).
"""

import msgspec
import pytest

from harness.commands.arguments import compare_lines
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from reports.text.comparison import ALIKE, Comparison, differences
from workloads.library import DEMONSTRATION, select

pytestmark = [pytest.mark.compare, pytest.mark.timeout(1800)]


def test_a_planted_bug_is_the_only_difference(tmp_path, kernel_word):
    """Against the kernel with the bug, the stock kernel has one verdict fixed and none broken."""
    planted = f"{kernel_word}+planted/xattr-lost-on-second-fsync"
    run_spec = RunSpec(select(DEMONSTRATION), (profile("btrfs"),), (planted, kernel_word), against=planted)
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
    assert summary.exit == 1
    comparison = msgspec.json.decode((folder / "compare.json").read_bytes(), type=Comparison)
    ((pair, cell),) = differences(comparison)
    assert (pair.workload, cell.oracle, cell.change) == ("xattrs-over-two-fsyncs", "durable", "fixed")
    assert {one.side for one in comparison.findings} == {"A"}
    assert {len(logs) for pair in comparison.pairs for logs in (pair.a_logs, pair.b_logs)} == {3}
    assert sum(comparison.changes[change] for change in ALIKE) == 10 * len(DEMONSTRATION) - 1
    assert compare_lines(folder)[-1] == "exit       1: something is BROKEN in A"
