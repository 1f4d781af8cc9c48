"""
The requests that a real disk had under way while a workload was recorded, over time.

In:       QueueFacts.
Out:      QueueDrawing: a bar for each request, in lanes; places in pixels.
Not here: the markup (draw_queue() in templates/parts.html), where the facts come from (the harness).
"""

from collections.abc import Sequence

import msgspec

from reports.results import QueueFacts, QueueRequest

WIDTH_PX = 1000
LANE_PX = 14
GAP_PX = 3
BAR_MIN_PX = 2.0
LANES_MAX = 40
KINDS = {"write": "data", "FUA": "fua", "FLUSH": "flush", "discard": "discard", "read": "mark"}  # to a colour


class RequestBar(msgspec.Struct, frozen=True):
    """kind: a class of report.css. x, width: from the driver to the completion."""

    x: float
    y: float
    width: float
    kind: str
    title: str


class QueueDrawing(msgspec.Struct, frozen=True):
    """idle_us: time without any request, which is left out; span_us: all that is drawn."""

    width: float
    height: float
    span_us: float
    idle_us: float
    bars: tuple[RequestBar, ...]


def queue_drawing(facts: QueueFacts) -> QueueDrawing:
    requests = facts.requests
    starts, span_us = without_pauses(requests)
    scale = WIDTH_PX / max(span_us, 1.0)
    ends: list[float] = []
    bars = []
    for one, start_us in zip(requests, starts, strict=True):
        x = start_us * scale
        width = max(BAR_MIN_PX, (one.completed_us - one.given_us) * scale)
        lane = next((at for at, end in enumerate(ends) if end <= x), len(ends))
        if lane == len(ends):
            ends.append(0.0)
        ends[lane] = x + width
        if lane >= LANES_MAX:
            continue
        taken = f"{one.kind}, {one.completed_us - one.given_us:,.0f} us"
        bars.append(
            RequestBar(
                round(x, 1),
                lane * (LANE_PX + GAP_PX),
                round(width, 1),
                KINDS.get(one.kind, "mark"),
                f"{taken}; completed before an earlier write" if one.overtook else taken,
            )
        )
    height = max(1, min(len(ends), LANES_MAX)) * (LANE_PX + GAP_PX)
    all_us = max((one.completed_us for one in requests), default=0.0)
    return QueueDrawing(WIDTH_PX, height, round(span_us), round(all_us - span_us), tuple(bars))


def without_pauses(requests: Sequence[QueueRequest]) -> tuple[list[float], float]:
    """Where each request starts when the time without any request is left out, and how long all is then."""
    starts = []
    cut_us = end_us = 0.0
    for one in requests:
        cut_us += max(0.0, one.given_us - end_us)
        end_us = max(end_us, one.completed_us)
        starts.append(one.given_us - cut_us)
    return starts, end_us - cut_us
