"""
Known bugs in other clothes are attributed to the right bug: `tox run -e attributed`.

In:       --profile NAME,..., --kernel WORD; kernels with a fix each are built.
Out:      the count of what was attributed right, wrongly and not at all; the share that the plan asks for.
Not here: the variants and the count (variants.py), how a finding is attributed (runs/attribution.py).
"""

import msgspec
import pytest

from harness.local.progress import Progress
from harness.suite.variants import ROWS, lines, measure

RIGHT = 48 / 50  # of the variants


@pytest.mark.attributed
@pytest.mark.timeout(7200)
def test_a_known_bug_in_other_clothes_is_attributed_to_its_id(request, tmp_path, kernel_word, profile_name):
    """None wrongly, and hardly one not at all."""
    with Progress() as progress:
        rows = measure(kernel_word, profile_name, tmp_path / "results", progress)
    (tmp_path / "rows.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=2))
    request.config.stash.setdefault(ROWS, []).extend(rows)
    assert rows
    assert [one for one in rows if one.answer == "wrong"] == []
    assert sum(one.answer == "right" for one in rows) >= RIGHT * len(rows) - 1, "\n".join(lines(rows))


@pytest.mark.attributed
def test_all_profiles_together_have_the_share_that_is_asked_for(request):
    """Of 50 variants 48."""
    rows = request.config.stash.get(ROWS, [])
    if not rows:
        pytest.skip("no variant was attributed. Run the whole file: tox run -e attributed")
    assert sum(one.answer == "right" for one in rows) >= RIGHT * len(rows), "\n".join(lines(rows))
