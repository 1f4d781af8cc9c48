"""
Runs with `--cold`, where nothing of what setup made is in memory: `tox run -e cold`.

In:       --kernel WORD; a planted bug of XFS.
Out:      that a bug shows which the same workload hides while its directory is in memory; that the whole
          library, mounted anew behind its setup, is BROKEN on a stock kernel where that is known.
Not here: which workloads can be cold (workloads/tests/test_cold.py).
"""

import msgspec
import pytest

from harness.evidence.named import expected_findings, expected_of_faulty, found_in, signatures_everywhere
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from workloads.cold import cold
from workloads.library import library, load

pytestmark = [pytest.mark.cold, pytest.mark.timeout(3600)]
# Seen with the same inodes in memory too, by other workloads: BTRFS-3 of a name beside the fsynced one.
MORE = {("btrfs durable: wrong object (renamed fsynced file)", "replaced-name-fsync-name-beside")}


def broken(tmp_path, workloads, profile_name: str, kernel: str):
    run_spec = RunSpec(tuple(workloads), (profile(profile_name),), (kernel,), attribute=False)
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert summary.reasons == ()
    assert summary.states.unknown == 0
    return found_in(summary)


@pytest.mark.parametrize("is_cold", [False, True])
def test_a_block_that_is_dirty_hides_what_is_not_logged(tmp_path, kernel_word, is_cold):
    one = load("one-name-more-in-a-directory-on-disk")
    warm = msgspec.structs.replace(one, setup=one.setup[:-1])
    chosen = cold(warm) if is_cold else warm
    assert (len(chosen.setup) == len(one.setup)) == is_cold
    planted = f"{kernel_word}+planted/xfs-room-in-a-leaf-not-logged"
    assert bool(broken(tmp_path, [chosen], "xfs", planted)) == is_cold


@pytest.mark.parametrize("where", ["btrfs", "ext4", "xfs", "f2fs"])
def test_the_cold_library_on_the_stock_kernel(tmp_path, kernel_word, where):
    """Some known bugs need what is in memory: they may be missing."""
    found = broken(tmp_path, map(cold, library()), where, kernel_word)
    known = expected_findings(kernel_word, where)
    known |= expected_findings(kernel_word, where, maybe=True) | expected_of_faulty(kernel_word, where) | MORE
    everywhere = signatures_everywhere(kernel_word, where)
    assert {one for one in found if one[0] not in everywhere} <= known
