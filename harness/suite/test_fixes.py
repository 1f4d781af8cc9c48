"""
The fixes that attribution tries together compile together: `tox run -e fixes`.

In:       known.FIXES, the profiles, two releases; a kernel is built for each set.
Out:      the sets of fixes of which no kernel can be made, with what the build said.
Not here: that each alone applies to every release (test_series.py), or removes its bug (test_attributed.py).

attribution.py goes on without what does not compile, but then builds a kernel for each fix, and says "new" of
what only that fix removes.
"""

import pytest

from harness.local.progress import Progress
from harness.runs.attribution import fixes_for
from kernel.build import build
from oracles.profiles import PROFILES, profile

pytestmark = [pytest.mark.fixes, pytest.mark.timeout(3600)]
RELEASES = ("6.12", "7.2")


def sets():
    """A release and a profile for each; what a larger set has is not built by itself."""
    tried = {
        (release, one.config, frozenset(fix.series for fix in fixes)): (release, one.name)
        for release in RELEASES
        for one in PROFILES
        if (fixes := fixes_for(release, one.name))
    }
    return [
        chosen
        for (release, config, names), chosen in tried.items()
        if not any(other[:2] == (release, config) and names < other[2] for other in tried)
    ]


@pytest.mark.parametrize(("release", "made_for"), sets())
def test_fixes_that_are_tried_together_compile_together(release, made_for):
    word = "+".join((release, *(fix.series for fix in fixes_for(release, made_for))))
    with Progress() as progress:
        kernel = build(word, progress.building(word), profile(made_for).config)
    assert [one.name for one in kernel.provenance.series] == word.split("+")[1:]
