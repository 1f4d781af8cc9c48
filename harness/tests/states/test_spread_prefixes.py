"""A part of model O: whole disks, spread over the windows of a log."""

import pytest

from harness.states.crash import states
from harness.states.spread_prefixes import Prefixes
from workloads.entries import EntryFlag, EntrySummary

FLUSH = EntrySummary(EntryFlag.FLUSH, 0, 0)
WRITE = EntrySummary(0, 8, 8)
MARK = EntrySummary(EntryFlag.MARK, 0, 0, "done-0")


def prefixes(entries, budget):
    return [state.prefix for state in Prefixes(entries, budget).states]


@pytest.mark.parametrize(
    "entries", [[], [MARK], [WRITE], [WRITE, MARK, FLUSH, MARK, WRITE, WRITE, FLUSH], [FLUSH, WRITE]]
)
def test_with_budget_enough_it_is_model_o(entries):
    """Every prefix once, in order."""
    assert prefixes(entries, 1000) == [state.prefix for state in states(len(entries))]
    coverage = Prefixes(entries, 1000).coverage
    assert (coverage.whole, coverage.examined) == (coverage.places, coverage.space)


def test_a_disk_comes_with_every_prefix_that_has_it():
    """The marks behind a write are of its disk: the last of them is promised most."""
    entries = [WRITE, MARK, MARK, WRITE, MARK]
    assert prefixes(entries, 1) in ([0], [1, 2, 3], [4, 5])
    assert prefixes(entries, 2) == [0, 4, 5]


def test_the_budget_counts_disks_and_is_used():
    """Each costs a recovery; what is not examined is counted."""
    entries = ([WRITE, MARK] * 10 + [FLUSH]) * 5
    some = Prefixes(entries, 20)
    assert (some.coverage.model, some.coverage.examined, some.coverage.space) == ("O", 20, 51)
    assert len(some.states) < len(entries) + 1


def test_every_window_has_its_share():
    """A window of a thousand writes does not take it from the others."""
    entries = [WRITE] * 1000 + [FLUSH] + [WRITE, FLUSH] * 9
    found = prefixes(entries, 20)
    assert sum(prefix > 1000 for prefix in found) >= 9
    assert 0 in found
    assert len(entries) in found
