"""
What the running kernel did while a workload was recorded: it died, hung, or said that something is wrong.

In:       a guest that was lost while it recorded, or the report of a recording that came to its end.
Out:      Live: the state's spec ("L:5") and Observation; Died, with a History up to the operation that was
          under way.
Not here: recording (record.py), what is made of it (oracles/live.py).

A kernel that gives no answer any more and says nothing is only slow, or lost by us, for all that one
recording shows: examination.py records again, and a hang at the same operation is then the kernel's.
"""

import re
from collections.abc import Sequence

import msgspec

from harness.guests.guest import LostGuest
from oracles.live import first_report, reports_of
from oracles.observation import Observation
from oracles.quiet import FILESYSTEM_ERROR, sign
from oracles.spec import live_spec
from workloads.history import History, Step
from workloads.text import format_operation
from workloads.workload import Workload

TRACE_LINES = 120  # from the first report on


class Live(msgspec.Struct, frozen=True):
    """A state of the kernel that recorded, and what was seen of it."""

    spec: str
    seen: Observation


class Died(LostGuest):
    """The kernel under test died while it recorded, and said so."""

    def __init__(self, lost: LostGuest, live: Live, history: History) -> None:
        Exception.__init__(self, f"the kernel stopped ({live.seen.death}) during {live.seen.death_during}")
        self.kind, self.console, self.stage = lost.kind, lost.console, lost.stage
        self.live, self.history = live, history


def died(
    lost: LostGuest,
    workload: Workload,
    profile: str,
    kernel: str,
    console: Sequence[str],
    hung: str | None = None,
) -> Died | None:
    """None where nothing accuses the kernel. console: what it said since the recording began. hung: the
    stage in which the guest before this one gave no answer; when this one gives none there either, its
    kernel hangs, though it says nothing."""
    hangs = lost.kind == "hang" and hung == lost.stage
    if lost.starved or (first_report(console) < 0 and not hangs):
        return None
    operations = (*workload.setup, *workload.run)
    at = operation_at(lost.stage, len(operations))
    during = lost.stage or "the mount"
    calling = at < len(operations) and lost.stage.startswith("operation")
    if calling:
        during = f"operation {at} ({format_operation(operations[at])})"
    death = "hang" if lost.kind == "hang" else "panic"
    first = max(0, first_report(console))
    seen = Observation(death=death, death_during=during, console=tuple(console[first : first + TRACE_LINES]))
    history = history_until(at, calling, workload, profile, kernel)
    return Died(lost, Live(live_spec(at), seen), history)


def operation_at(stage: str, count: int) -> int:
    """The index of the operation that the agent announced last; count of them at the unmount, 0 at the
    mount."""
    if found := re.fullmatch(r"operation (\d+)", stage):
        return min(int(found[1]), count)
    return count if stage == "unmount" else 0


def history_until(at: int, calling: bool, workload: Workload, profile: str, kernel: str) -> History:
    """The operations before `at`, whose results died with the agent; then, where the kernel died in a call,
    operation `at` itself, which never returned."""
    setup = len(workload.setup)
    tried = (*workload.setup, *workload.run)[: at + calling]
    steps = [
        Step(index, operation, 0, returned=index < at, reported=False)
        for index, operation in enumerate(tried)
    ]
    return History(
        workload=workload,
        profile=profile,
        kernel=kernel,
        setup=tuple(steps[:setup]),
        run=tuple(steps[setup:]),
        entry_count=0,
        root_inode=0,
        parallel=False,
    )


def live_of(
    kernel_log: Sequence[str],
    umount_errno: int,
    lines_by_step: Sequence[tuple[int, int]],
    injects: bool = False,
) -> Live | None:
    """
    Of a recording that came to its end; None where the kernel was content.

    lines_by_step: of each operation its index, and how many lines of the log there were when it had returned.
    injects: the workload makes the filesystem's code fail, so that the filesystem's own errors are what was
    asked for; all else is not.
    """
    if injects:
        kernel_log = ["" if sign(line) == FILESYSTEM_ERROR else line for line in kernel_log]
    reports = reports_of(kernel_log)
    if not reports and not umount_errno:
        return None
    count = max((index for index, _ in lines_by_step), default=-1) + 1
    at = count
    if reports:
        first = len(kernel_log) - max(len(lines) for _, lines in reports)
        at = next((index for index, lines in lines_by_step if lines > first), count)
    return Live(live_spec(at), Observation(umount_errno=umount_errno, kernel_log=tuple(kernel_log)))
