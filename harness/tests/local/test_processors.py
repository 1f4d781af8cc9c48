import os

import pytest

from harness.local.processors import claimed, processors


@pytest.fixture
def name() -> str:
    return f"powercut-test-{os.getpid()}"


def test_two_claims_at_once_hold_different_processors_while_there_are_any(name: str) -> None:
    with claimed(1, name) as first, claimed(1, name) as second:
        assert len({*first, *second}) == min(2, len(processors()))


def test_each_is_held_once_before_one_is_held_twice(name: str) -> None:
    every = processors()
    with claimed(len(every) + 1, name) as held:
        assert sorted(held[:-1]) == every
        assert held[-1] == every[-1]


def test_a_claim_ends_with_its_block(name: str) -> None:
    with claimed(1, name) as before:
        pass
    with claimed(1, name) as after:
        assert after == before
