"""
What is said of calls that stopped in the middle of the kernel.

In:       StopCounts of a Summary.
Out:      text.
Not here: counting them (harness/evidence/stops.py).
"""

from collections.abc import Sequence

from reports.results import StopCounts
from reports.text.counting import number


def stop_words(counts: Sequence[StopCounts]) -> str:
    """Of all in one sentence. counts: one at least."""
    asked, stopped = sum(one.asked for one in counts), sum(one.stopped for one in counts)
    workers, functions = sum(one.workers for one in counts), max(one.functions for one in counts)
    where = f"at {number(functions, 'function')} of the kernel" + (" or more" if len(counts) > 1 else "")
    near = sum(one.near for one in counts)
    return (
        f"{number(asked, 'stop')} asked for, {stopped:,} came, {workers:,} of threads of the kernel, {where}"
        + (f", {near:,} within what was asked for" if near else "")
    )
