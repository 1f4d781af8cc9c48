"""ddmin: what is left still does it, and nothing more of it can go."""

import itertools

import pytest

from workloads.ddmin import ddmin


@pytest.mark.parametrize("needed", [{0}, {7}, {0, 7}, {2, 3}, {1, 4, 6}, set(range(8))])
def test_only_what_is_needed_is_left(needed):
    assert ddmin(range(8), lambda items: needed <= set(items)) == sorted(needed)


def test_what_needs_nothing_keeps_one_item():
    """An empty list is never asked about."""
    assert len(ddmin(range(8), lambda items: True)) == 1


@pytest.mark.parametrize("one_of", [(1, 2), (0, 5, 9)])
def test_of_what_is_needed_in_either_form_one_stays(one_of):
    """1-minimal: leaving out any single item of the answer makes it a no."""

    def still(items):
        return any(item in one_of for item in items) and 7 in items

    left = ddmin(range(10), still)
    assert still(left)
    assert not any(still(left[:at] + left[at + 1 :]) for at in range(len(left)))


def test_the_same_questions_come_in_the_same_order():
    asked = []

    def still(items):
        asked.append(tuple(items))
        return {3, 11} <= set(items)

    ddmin(range(16), still)
    first, asked[:] = list(asked), []
    ddmin(range(16), still)
    assert asked == first
    assert len(first) < 60


def test_every_subset_is_found():
    """Small enough to try all."""
    for count in (1, 2, 3):
        for needed in itertools.combinations(range(6), count):
            assert ddmin(range(6), lambda items, n=frozenset(needed): n <= set(items)) == list(needed)
