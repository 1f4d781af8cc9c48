"""
What is said of the orders that threads took.

In:       OrderCounts of a Summary.
Out:      text.
Not here: counting them (harness/evidence/orders.py).
"""

from collections.abc import Sequence

from reports.results import OrderCounts
from reports.text.counting import number


def order_words(counts: Sequence[OrderCounts]) -> str:
    """Of all in one sentence. counts: one at least."""
    recordings = number(sum(len(one.calls) for one in counts), "recording")
    calls, logs = sum(one.calls[-1] for one in counts), sum(one.logs[-1] for one in counts)
    return (
        f"{recordings} of workloads with parallel blocks: {number(calls, 'order')} of their calls, "
        f"{number(logs, 'different log')}"
    )
