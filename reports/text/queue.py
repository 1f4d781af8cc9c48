"""
What the queue of a real disk did, in words.

In:       QueueCounts.
Out:      queue_words(): for the terminal and the page.
Not here: the drawing (drawings/queue.py).
"""

from reports.results import QueueCounts

VOLATILE = "write back"  # Documentation/block/writeback_cache_control.rst


def queue_words(counts: QueueCounts) -> str:
    claims = (
        "the disk claims a volatile write cache"
        if VOLATILE in counts.caches
        else "the disk claims no volatile write cache, so FLUSH and FUA do nothing there"
    )
    if not counts.median_us:
        return f"no request was seen; {claims}"
    latencies = ", ".join(f"{kind} {us:,.0f} us" for kind, us in counts.median_us.items())
    return (
        f"up to {counts.depth:,} requests under way; of {counts.writes:,} writes {counts.beside:,} began "
        f"beside another, {counts.overtaking:,} completed before an earlier one; medians: "
        f"{latencies}; {claims}"
    )
