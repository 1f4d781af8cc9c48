"""What the queue of a real disk did, from the requests that the agent tells."""

import msgspec
import pytest

from harness.stages.queue import kind_of, queue_facts
from reports.results import QueueFacts

FLUSH_SECTOR = 2**64 - 1  # a FLUSH completes at no sector


def facts(*requests: tuple[int, float, str, int]) -> QueueFacts:
    told = [[what, time_us, rwbs, sector, 8] for what, time_us, rwbs, sector in requests]
    raw = msgspec.json.encode({"write_cache": "write back", "fua": "1", "requests": told})
    seen = queue_facts(msgspec.Raw(raw))
    assert seen is not None
    return seen


@pytest.mark.parametrize(
    ("rwbs", "kind"),
    [
        ("W", "write"),
        ("WS", "write"),
        ("WSM", "write"),
        ("WFS", "FUA"),
        ("FF", "FLUSH"),
        ("FWS", "FLUSH"),
        ("FWFS", "FLUSH"),
        ("RA", "read"),
        ("D", "discard"),
        ("N", "other"),
    ],
)
def test_a_request_has_a_kind(rwbs: str, kind: str) -> None:
    """As blk_fill_rwbs() writes it (kernel/trace/blktrace.c)."""
    assert kind_of(rwbs) == kind


def test_nothing_was_seen_where_there_is_no_real_disk() -> None:
    assert queue_facts(msgspec.Raw(b"null")) is None


def test_one_after_the_other_is_no_queue() -> None:
    seen = facts((0, 0, "W", 8), (1, 10, "W", 8), (0, 10, "W", 16), (1, 30, "W", 16))
    assert (seen.depth, seen.writes, seen.beside, seen.overtaking) == (1, 2, 0, 0)
    assert (seen.latencies["write"].count, seen.latencies["write"].median_us) == (2, 15)


def test_a_write_that_completes_before_an_earlier_one_overtakes_it() -> None:
    seen = facts((0, 0, "W", 8), (0, 5, "W", 16), (1, 10, "W", 16), (1, 30, "W", 8))
    assert (seen.depth, seen.beside, seen.overtaking) == (2, 1, 1)
    assert [one.overtook for one in seen.requests] == [False, True]


def test_a_write_that_waits_for_its_turn_is_beside_and_overtakes_none() -> None:
    seen = facts((0, 0, "W", 8), (0, 5, "W", 16), (1, 10, "W", 8), (1, 30, "W", 16))
    assert (seen.beside, seen.overtaking) == (1, 0)


def test_a_flush_is_matched_without_its_sector() -> None:
    seen = facts((0, 0, "FF", 0), (1, 40, "FF", FLUSH_SECTOR))
    assert (seen.writes, seen.latencies["FLUSH"].max_us) == (0, 40)


def test_what_began_before_or_did_not_end_is_left_out() -> None:
    seen = facts((1, 1, "W", 8), (0, 2, "W", 16))
    assert (seen.writes, seen.depth, seen.latencies) == (0, 0, {})
