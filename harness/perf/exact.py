"""
Figures that a machine cannot change: what the log of a workload says, and calls of kernel functions.

In:       a PerfExperiment's own small workload, a guest of the kernel; for calls one of the variant gcov.
Out:      OperationFigures by word, of each recording; calls by the name that the experiment gives them.
Not here: recording (harness/stages/record.py), counting (harness/stages/gcov.py).
"""

import struct
from collections.abc import Iterable
from pathlib import Path

from harness.guests.guest import Guest
from harness.stages.gcov import Counts, NotCounted, calls_from, count
from harness.stages.record import record
from harness.states.log import Entry, Log, open_log
from kernel.kernel import Kernel
from oracles.profiles import Profile
from reports.perf.results import OperationFigures
from reports.text.figures import log_figures
from workloads.entries import EntrySummary
from workloads.history import History
from workloads.perf.experiment import Exact, expanded
from workloads.text import parse
from workloads.workload import Workload

# fs/btrfs/fs.h BTRFS_SUPER_INFO_OFFSET; fs/btrfs/accessors.h, struct btrfs_super_block: magic at 64,
# log_root at 96.
SUPERBLOCK_SECTOR = 65536 // 512
MAGIC_AT, MAGIC, LOG_ROOT_AT = 64, b"_BHRfS_M", 96


def workload_of(exact: Exact, name: str) -> Workload:
    return parse(expanded(exact.workload), name)


def recorded_figures(
    guest: Guest, profile: Profile, exact: Exact, workload: Workload, pristine: Path, word: str
) -> tuple[OperationFigures, ...]:
    """One recording. Errors: as record()."""
    recording = record(guest, profile, workload, pristine, word)
    with open_log(recording.log) as log:
        return tuple(operation_figures(one, log, recording.history) for one in exact.words)


def operation_figures(word: str, log: Log, history: History) -> OperationFigures:
    steps = [step for step in history.run if step.operation.word == word]
    entries = [log.entry(at) for step in steps for at in range(step.begin_entry, step.end_entry)]
    figures = log_figures(
        [EntrySummary(one.flags, one.sector, one.sector_count, one.mark) for one in entries]
    )
    log_commits, transaction_commits = commits(entries)
    return OperationFigures(
        word=word,
        count=len(steps),
        flush=figures.flush,
        fua=figures.fua,
        log_commits=log_commits,
        transaction_commits=transaction_commits,
        bytes=figures.bytes,
        metadata_bytes=figures.metadata_bytes,
    )


def commits(entries: Iterable[Entry]) -> tuple[int, int]:
    """(of logs, of transactions): btrfs ends both with its superblock, which names a log tree or none."""
    found = [0, 0]
    for entry in entries:
        if entry.sector == SUPERBLOCK_SECTOR and entry.data[MAGIC_AT : MAGIC_AT + 8] == MAGIC:
            (log_root,) = struct.unpack_from("<Q", entry.data, LOG_ROOT_AT)
            found[log_root == 0] += 1
    return found[0], found[1]


def counted_calls(
    guest: Guest, kernel: Kernel, profile: Profile, exact: Exact, workload: Workload, pristine: Path
) -> dict[str, int]:
    """Errors: NotCounted; as record()."""
    counts = count(guest, kernel, profile, workload, pristine)
    return {wanted: calls(counts, wanted) for wanted in exact.calls}


def calls(counts: Counts, wanted: str) -> int:
    """FUNCTION, "CALLER > CALLED", or "FUNCTION @ LINE". Errors: NotCounted."""
    if " > " in wanted:
        caller, _, called = wanted.partition(" > ")
        return calls_from(counts, caller, called)
    if " @ " in wanted:
        function, _, start = wanted.partition(" @ ")
        found = [line.count for line in counts.lines.get(function, ()) if line.text.startswith(start)]
        if not found:
            raise NotCounted(f"{function}() of this kernel has no line that begins with {start!r}")
        return sum(found)
    if wanted not in counts.calls:
        raise NotCounted(f"this kernel does not count the function {wanted}()")
    return counts.calls[wanted]
