"""
Which faults a workload is put through: the sweep.

In:       a History and the entries of its log, recorded on a sound device.
Out:      FaultPoint after FaultPoint, in a fixed order; the program of the run at one of them.
Not here: the runs (inject.py), what they mean (oracles/).

The fault moves through the log as SQLite moves an I/O error through a test: each write entry is made to fail
once, alone, by its sectors during the operation that wrote it. Two entries of one operation with the same
sectors are one point. Beside them the whole device fails during each operation, and from each on.
"""

from collections.abc import Iterator, Sequence

from harness.stages.record import program_head, program_line
from oracles.profiles import Profile
from workloads.entries import EntryFlag, EntrySummary
from workloads.faults import FLUSH, KINDS, OFF, SCRIPT, FaultPoint, script_point
from workloads.history import History
from workloads.workload import Operation, Workload

POINTS_MAX = 400  # a workload; what is left out is said (points_of)
LASTING = ("error-writes", "drop-writes")
PROBE = Operation("fault", mode="probe")
DROP = Operation("fault", mode="drop-writes")
SEGMENTS_MAX = 250  # harness/guests/agent/faults.c: half of SEGMENTS_MAX, as each needs two


def points_of(history: History, entries: Sequence[EntrySummary]) -> tuple[list[FaultPoint], int]:
    """The points, and how many more there would be. A workload with fault lines has one: its own."""
    if history.workload.faulty:
        return [script_point(history.workload)], 0
    found = list(dict.fromkeys(_all_points(history, entries)))
    if len(found) <= POINTS_MAX:
        return found, 0
    chosen = [found[at * len(found) // POINTS_MAX] for at in range(POINTS_MAX)]
    return chosen, len(found) - POINTS_MAX


def _all_points(history: History, entries: Sequence[EntrySummary]) -> Iterator[FaultPoint]:
    for step in history.run:
        index = step.index
        written = [entry for entry in entries[step.begin_entry + 1 : step.end_entry] if is_write(entry)]
        for kind in KINDS:
            yield FaultPoint(kind, index)
        for kind in LASTING:
            yield FaultPoint(kind, index, stays=True)
        if any(entry.flags & EntryFlag.FLUSH for entry in written):
            yield FaultPoint("error-writes", index, part=FLUSH)
        for entry in written:
            if entry.sector_count:
                part = f"{entry.sector}+{entry.sector_count}"
                yield FaultPoint("error-writes", index, part=part)
                yield FaultPoint("corrupt", index, part=part)


def is_write(entry: EntrySummary) -> bool:
    return not entry.flags & (EntryFlag.MARK | EntryFlag.DISCARD)


def fault_program(
    profile: Profile, workload: Workload, point: FaultPoint, entries: Sequence[EntrySummary]
) -> str:
    """
    The workload as agent/faults.c reads it, with the fault where it belongs.

    At its end the power fails: all writes are dropped from there on, and the filesystem is asked how it is
    and unmounted. Where a fault of the device lasts, it is unmounted with that instead.
    """
    lines = [program_head(profile)]
    for index, op in enumerate((*workload.setup, *workload.run)):
        phase = "setup" if index < len(workload.setup) else "run"
        of_point = point.kind != SCRIPT and index == point.operation
        lines += [program_line("fault", 0, point.on())] if of_point else []
        lines.append(program_line(phase, index, with_sectors(op, entries)))
        lines += [program_line("fault", 0, OFF)] if of_point and not point.stays else []
    if workload.run[-1].word != "umount" and not (point.stays and point.kind in LASTING):
        lines += [program_line("fault", 0, DROP), program_line("fault", 0, PROBE)]
    return "\n".join(lines) + "\n"


def with_sectors(op: Operation, entries: Sequence[EntrySummary]) -> Operation:
    """A fault line about the log or the data: the sectors that the same workload writes flagged as metadata,
    or without that flag, on a sound device."""
    if op.word != "fault" or op.name not in ("log", "data"):
        return op
    want = op.name == "log"
    about = EntryFlag.METADATA | EntryFlag.FUA
    chosen = [
        (entry.sector, entry.sector + entry.sector_count)
        for entry in entries
        if is_write(entry) and entry.sector_count and bool(entry.flags & about) == want
    ]
    parts = ",".join(f"{start}+{end - start}" for start, end in joined(chosen)[:SEGMENTS_MAX])
    return Operation("fault", mode=op.mode, name=op.name, target=parts or "0+0", line=op.line)


def joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """In ascending order, none touching another."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found
