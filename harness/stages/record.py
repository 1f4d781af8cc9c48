"""
Run a workload in a guest and write every block down.

In:       a guest, a profile, a workload.
Out:      Recording: the base disk, the log from there on, the history, the kernel log.
Not here: mkfs (filesystem.py), which states the log means (crash.py).

The workload runs above dm-log-writes from its first setup operation. Setup ends in a sync and the mark
"run"; the base disk is the disk as the log up to that mark makes it, and the recorded log is what lies
between it and the mark "end". So the filesystem stays mounted between setup and run, with its inodes
cached, as it would in life.
"""

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from harness.guests.guest import DISK, INBOX, LOG, OUTBOX, Guest, LostGuest
from harness.guests.symbols import with_functions
from harness.stages.live import Live, died, live_of
from harness.stages.queue import queue_facts
from harness.states.disk import open_disk, writes_of
from harness.states.flushes import is_told, told_apart
from harness.states.log import Entry, Log, open_log, write_log
from harness.states.overtaken import overtaken, suspects
from oracles.profiles import Profile
from reports.results import BLOCK_MS, FAST, Device, QueueFacts
from workloads import acl
from workloads.history import History, NoHistory, Step, history_of
from workloads.workload import Operation, Workload

CONSOLE_LINES = 600  # a WARNING or two of long traces before the panic


class NotRecorded(Exception):
    """The experiment did not happen; the message says why and what to change."""


class StepReport(msgspec.Struct, frozen=True):
    """The agent's answer for one operation. log_lines: of the kernel log when it had returned, 0 of
    threads. file: as Step.file. entries: where they were counted, of each function of the kernel its name
    (within another one "OUTER:NAME"), whether it was left and not entered, how often, whether by a
    thread of the kernel, and how often of these OUTER called it itself."""

    index: int
    result: int
    inode: int
    blocks: int
    left: int
    times: tuple[int, int] = (0, 0)
    log_lines: int = 0
    file: msgspec.Raw = msgspec.Raw(b"null")
    entries: tuple[tuple[str, bool, int, bool, int], ...] = ()


class RecordReport(msgspec.Struct, frozen=True):
    """The agent's answer for a recording; device holds queue attributes of the recorded device.
    tree: of a workload with parallel blocks, as History.live.
    cut_ns: of a cross-check, the guest's clock at the mark "cut", nanoseconds since 1970.
    queue: of a recording on a real disk (agent/queue.c), JSON.
    umount_errno: of the unmount at its end; then the device stays busy, and this guest is of no more use."""

    mount_errno: int
    root_inode: int
    device: dict[str, str]
    steps: tuple[StepReport, ...]
    kernel_log: tuple[str, ...]
    tree: msgspec.Raw = msgspec.Raw(b"null")
    cut_ns: int = 0
    umount_errno: int = 0
    queue: msgspec.Raw = msgspec.Raw(b"null")


class Recording(msgspec.Struct, frozen=True):
    """What there is to examine, whatever its source: record() gives it of a workload, and nothing that
    examines it asks for more. base: the disk's image where the log begins. log: the file with the writes from
    there on and the marks of the operations. history: of history_of(). device: its queue's attributes.
    live: what the kernel that recorded it did wrong; None where it was content. trace: of a program, the file
    with its Trace, JSON. queue: of a recording on a real disk."""

    base: Path
    log: Path
    history: History
    device: dict[str, str]
    kernel_log: tuple[str, ...]
    live: Live | None = None
    trace: Path | None = None
    queue: QueueFacts | None = None


def program(
    profile: Profile, workload: Workload, block_ms: int = BLOCK_MS, near: Sequence[str] | None = None
) -> str:
    """The workload as agent/operations.c reads it. block_ms: of Device. near: where the functions of
    the kernel that each operation of run enters are counted, those in which they are counted once more."""
    phases = [("setup", op) for op in workload.setup] + [("run", op) for op in workload.run]
    sizes = Counter(op.parallel for op in workload.run)
    lines = (
        program_line(phase, index, op, sizes[op.parallel] if op.parallel else 0)
        for index, (phase, op) in enumerate(phases)
    )
    return "\n".join([program_head(profile, workload.parallel, block_ms, near), *lines]) + "\n"


def program_head(
    profile: Profile, parallel: bool = False, block_ms: int = BLOCK_MS, near: Sequence[str] | None = None
) -> str:
    numbers = (profile.size_bytes // 512, int(parallel), block_ms)
    counts = "-" if near is None else f"+{','.join(near)}"
    return "\t".join((profile.filesystem, profile.agent_options, *map(str, numbers), counts))


def program_line(phase: str, index: int, op: Operation, beside: int = 0) -> str:
    """One operation. phase: "setup", "run" or, of the host's own, "fault". beside: how many operations its
    parallel block has."""
    name, value = op.name, op.value.encode()
    if op.word == "setfacl":
        name, value = acl.ACCESS, acl.encoded(acl.entries(op.value))
    texts = (op.word, op.path, op.path2, op.target, op.mode, name, value.hex())
    device = op.device.replace(":", "\t") or "0\t0"
    fields = (phase, index, *texts, op.descriptor, op.offset, op.length, op.at, device, beside, op.thread)
    return "\t".join(str(field) for field in fields)


def record(
    guest: Guest,
    profile: Profile,
    workload: Workload,
    pristine: Path,
    kernel: str,
    hung: str | None = None,
    device: Device = Device(),  # noqa: B008  frozen
) -> Recording:
    """
    pristine: the image as mkfs left it, of profile.size_bytes. hung: of died(). device: what the run part of
    the workload writes to; setup is done on the fast one.
    Errors: Died, where the kernel ended and said so; NotRecorded; LostGuest and GuestTrouble from the guest.
    """
    guest.forget_console()
    try:
        report = recorded(guest, request_of(device), profile, workload, pristine, device.block_ms)
    except LostGuest as lost:
        console = with_functions(guest.console(CONSOLE_LINES), guest.kernel)
        if death := died(lost, workload, profile.name, kernel, console, hung):
            raise death from lost
        raise
    with recorded_log(guest, report.umount_errno) as log:
        recording = _split(log, report, profile, workload, pristine, kernel, guest.scratch)
    lines_by_step = [(step.index, step.log_lines) for step in report.steps]
    live = live_of(report.kernel_log, report.umount_errno, lines_by_step, workload.injects)
    guest.used_up |= live is not None
    return msgspec.structs.replace(recording, live=live)


def request_of(device: Device) -> str:
    """The agent's word for a recording on it."""
    return "record" if device.kind == FAST else f"late {device.seed}"


@contextlib.contextmanager
def recorded_log(guest: Guest, umount_errno: int) -> Iterator[Log]:
    """The log of a recording that has ended, with each plain write in front of the write that came after it
    (overtaken.py). umount_errno: of the recording. Errors: BadLog, OSError."""
    with guest.as_file(LOG) as path, open_log(path, until_end_mark=True) as log:
        pairs = suspects(log)
        if not pairs or umount_errno:  # what is still mounted writes on, and not all of it is in the log
            yield log
            return
        with open_log(path) as whole:
            moves = overtaken(whole, pairs, lambda offset, length: guest.read(DISK, offset, length))
        yield log.moved(moves)


def recorded(
    guest: Guest,
    request: str,
    profile: Profile,
    workload: Workload,
    pristine: Path,
    block_ms: int = BLOCK_MS,
    near: Sequence[str] | None = None,
) -> RecordReport:
    """
    The workload run by the agent on its disk, made anew from pristine, and its log, made empty.

    request: the agent's word for the way it records. block_ms: of Device. near: of program().
    Errors: NotRecorded; LostGuest and GuestTrouble from the guest.
    """
    guest.load(DISK, pristine)
    guest.empty(LOG)
    text = program(profile, workload, block_ms, near).encode()
    guest.write(INBOX, 0, text)
    answer = guest.ask(f"{request} {len(text)}", timeout_s=120)
    guest.stage = ""
    report = _read_report(guest.read(OUTBOX, 0, int(answer[1])))
    check_recorded(report, profile, guest.size(LOG))
    check_stops(report, workload)
    return report


def check_stops(report: RecordReport, workload: Workload) -> None:
    """Errors: NotRecorded."""
    operations = (*workload.setup, *workload.run)
    for step in report.steps:
        operation = operations[step.index]
        if operation.word == "stop" and step.result:
            raise NotRecorded(
                f"{workload.name}: stop {operation.name}: the kernel has no function of this name that can "
                "stop. It may have been inlined; and the kernel must have the config variant stops"
            )


def _read_report(raw: bytes) -> RecordReport:
    try:
        return msgspec.json.decode(raw, type=RecordReport)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotRecorded(f"the report of the agent is invalid: {error}") from error


class Recorded(Protocol):
    """What the report of any recording says of its device."""

    @property
    def mount_errno(self) -> int: ...

    @property
    def device(self) -> dict[str, str]: ...

    @property
    def kernel_log(self) -> tuple[str, ...]: ...


def check_recorded(report: Recorded, profile: Profile, log_bytes: int) -> None:
    """Errors: NotRecorded."""
    if report.mount_errno:
        log = "; ".join(report.kernel_log[-3:])
        raise NotRecorded(
            f"{profile.name}: the new filesystem could not be mounted (error {report.mount_errno}): {log}"
        )
    if any("Ran out of space" in line for line in report.kernel_log):  # dm-log-writes.c says it only there
        raise NotRecorded(
            f"the log device of {log_bytes >> 20} MiB is full. Use a larger one: --log-size "
            f"{log_bytes >> 18}M"
        )
    if report.device.get("write_cache") != "write back":
        raise NotRecorded(
            f"the recorded device is {report.device.get('write_cache')!r}, not 'write back'. The "
            "kernel would remove FLUSH and FUA, and nothing could be judged"
        )


def _split(
    log: Log,
    report: RecordReport,
    profile: Profile,
    workload: Workload,
    pristine: Path,
    kernel: str,
    folder: Path,
) -> Recording:
    part = cut(log, pristine, folder, devices=profile.device_sectors)
    steps = [_step(answer, workload) for answer in report.steps]
    setup_count = len(workload.setup)
    try:
        history = history_of(
            (step for step in steps if step.index < setup_count),
            (step for step in steps if step.index >= setup_count),
            part.marks,
            part.entry_count,
            profile=profile.name,
            kernel=kernel,
            root_inode=report.root_inode,
            workload=workload,
            live=report.tree,
        )
    except NoHistory as error:
        raise NotRecorded(str(error)) from error
    queue = queue_facts(report.queue)
    return Recording(part.base, part.log, history, report.device, report.kernel_log, queue=queue)


class Part(msgspec.Struct, frozen=True):
    """A part of a log as a log of its own, and the disk where it begins. marks: by text, in that log."""

    base: Path
    log: Path
    entry_count: int
    marks: dict[str, int]


def cut(
    log: Log,
    pristine: Path,
    folder: Path,
    first: str = "run",
    last: str = "end",
    devices: Sequence[int] = (),
) -> Part:
    """What lies between two marks of a log that began with the disk `pristine`, as files of the folder.
    devices: sectors of each, where there are several. Errors: BadLog, BadEntry, OSError."""
    run, end = log.mark_index(first), log.mark_index(last)
    base = folder / "base"
    with open_disk(base, pristine) as disk:
        for entry in log.entries(0, run):
            for write in writes_of(entry):
                disk.apply(write)
    kept = folder / "recorded.log"
    entries = log.entries(run + 1, end)
    if devices:
        entries = told_apart(entries, devices, is_told(log, devices))
    marks: dict[str, int] = {}

    def noted() -> Iterator[Entry]:
        for index, entry in enumerate(entries):
            if entry.mark:  # tracer.c: two at one place
                marks.update(dict.fromkeys(entry.mark.split(","), index))
            yield entry

    return Part(base, kept, write_log(kept, noted()), marks)


def _step(answer: StepReport, workload: Workload) -> Step:
    operations: tuple[Operation, ...] = workload.setup + workload.run
    return Step(
        index=answer.index,
        operation=operations[answer.index],
        result=answer.result,
        inode=answer.inode,
        blocks=answer.blocks,
        left_inode=answer.left,
        times=answer.times,
        file=answer.file,
    )
