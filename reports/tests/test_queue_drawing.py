"""The drawing of a real disk's queue, and its words."""

from reports.drawings.queue import LANE_PX, WIDTH_PX, queue_drawing
from reports.results import QueueCounts, QueueFacts, QueueRequest
from reports.text.queue import queue_words


def drawn(*requests: tuple[str, float, float, bool]):
    return queue_drawing(
        QueueFacts("write back", "1", 2, 2, 1, 1, {}, tuple(QueueRequest(*one) for one in requests))
    )


def test_requests_under_way_at_once_are_in_lanes_of_their_own() -> None:
    first, second = drawn(("write", 0, 100, False), ("FUA", 50, 80, True)).bars
    assert (first.x, first.y, first.width) == (0, 0, WIDTH_PX)
    assert second.y > LANE_PX
    assert (second.x, second.kind) == (WIDTH_PX / 2, "fua")
    assert "completed before an earlier write" in second.title


def test_time_without_a_request_is_left_out() -> None:
    drawing = drawn(("write", 0, 100, False), ("FLUSH", 900, 1000, False))
    assert (drawing.span_us, drawing.idle_us) == (200, 800)
    assert [bar.x for bar in drawing.bars] == [0, WIDTH_PX / 2]
    assert len({bar.y for bar in drawing.bars}) == 1


def test_no_request_is_an_empty_drawing() -> None:
    assert drawn().bars == ()


def test_the_words_say_whether_the_cache_is_volatile() -> None:
    counts = QueueCounts(1, ("write back",), 4, 10, 3, 2, {"FLUSH": 850.0})
    assert queue_words(counts) == (
        "up to 4 requests under way; of 10 writes 3 began beside another, 2 completed before an earlier one; "
        "medians: FLUSH 850 us; the disk claims a volatile write cache"
    )
    through = QueueCounts(1, ("write through",), 1, 1, 0, 0, {})
    assert "so FLUSH and FUA do nothing there" in queue_words(through)
