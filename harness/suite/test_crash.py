"""
The whole library on the stock kernel: `tox run -e crash-btrfs` and its kin.

In:       --profile NAME, --kernel WORD.
Out:      that every verdict HOLDS and none is UNKNOWN, but for the known bugs of the kernel.
Not here: the demonstration set (test_smoke.py).
"""

import pytest

from harness.evidence.named import expected_findings, expected_of_faulty, found_in, signatures_everywhere
from workloads.library import names


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_library_on_the_stock_kernel(main_job, kernel_word, profile_name):
    """Nothing is UNKNOWN, and what is BROKEN is exactly what is known of this kernel."""
    _, summary = main_job(names(), [profile_name], kernel_word)
    assert summary.reasons == ()
    assert summary.states.unknown == 0
    assert summary.states.judged == summary.states.planned
    found = found_in(summary)
    everywhere = signatures_everywhere(kernel_word, profile_name)
    other = {one for one in found if one[0] not in everywhere}
    surely = expected_findings(kernel_word, profile_name) | expected_of_faulty(kernel_word, profile_name)
    maybe = expected_findings(kernel_word, profile_name, maybe=True)
    assert {one for one in surely if one[0] not in everywhere} <= other <= surely | maybe
    assert not everywhere or found > other
