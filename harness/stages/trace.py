"""
Run a program in a guest under the tracer, and write every block and every call down.

In:       a guest, a profile, a workload with a program.
Out:      Recording, as record.py gives it of a workload in words, with the Trace beside it.
Not here: what a call means (workloads/traced.py), the tracer (guests/agent/tracer.c), starting a program
          there (guests/agent/start.c).
"""

from pathlib import Path

import msgspec

from harness.guests.guest import DISK, INBOX, LOG, OUTBOX, Guest
from harness.stages.live import live_of
from harness.stages.record import NotRecorded, Recording, check_recorded, cut, recorded_log
from oracles.profiles import Profile
from workloads.history import NoHistory, history_of
from workloads.program import FILES_BYTES_MAX, Program, environment_of
from workloads.trace import CALLS, DATA, HASHED, NOTES, Output, Trace
from workloads.traced import adapted
from workloads.workload import Workload

DATA_OFFSET = 16 << 20  # agent/tracer.c: of the outbox
SHOWN_LINES = 5
NOT_FOUND, NO_FILTER, OVER = 127, 126, -1
# As hex in the report of a state, which has 4 MiB of the outbox together with the blocks of its recovery.
CONTENT_BYTES_MAX = 1 << 20
GRACE_S = 120.0  # beside the program's own time: mount, setup's sync, the walk, unmount


class TraceReport(msgspec.Struct, frozen=True):
    """The agent's answer; of a mount or a setup that failed it ends early."""

    mount_errno: int
    root_inode: int
    device: dict[str, str]
    kernel_log: tuple[str, ...]
    setup_status: int = 0
    umount_errno: int = 0
    setup: Output = Output()


class Took(msgspec.Struct, frozen=True):
    """Of a program that was run: exit status, milliseconds in the guest, what it complained of."""

    status: int
    took_ms: float
    complained: str


def program_text(profile: Profile, program: Program, untraced: bool = False) -> str:
    """The program as agent/start.c reads it."""
    lines = [
        f"mount\t{profile.filesystem}\t{profile.agent_options}\t{profile.size_bytes // 512}",
        f"seconds\t{program.timeout_s:g}",
        *(["within\t1"] if program.within else []),
        *(["untraced\t1"] if untraced else []),
        *([] if program.content else ["hashes\t1"]),
        *(
            f"file\t{file.name}\t{'755' if file.executable else '644'}\t{file.content.hex()}"
            for file in program.files
        ),
        f"stdin\t{program.stdin.hex()}",
        *(f"setup\t{word.encode().hex()}" for word in program.setup),
        *(f"argument\t{word.encode().hex()}" for word in program.arguments),
        *(
            f"environment\t{f'{key}={value}'.encode().hex()}"
            for key, value in environment_of(program).items()
        ),
    ]
    return "\n".join(lines) + "\n"


def record_program(
    guest: Guest, profile: Profile, workload: Workload, pristine: Path, kernel: str
) -> Recording:
    """pristine: as of record(). Errors: NotRecorded; LostGuest and GuestTrouble from the guest."""
    program = workload.program
    assert program is not None
    if sum(len(file.content) for file in program.files) + len(program.stdin) > FILES_BYTES_MAX:
        raise NotRecorded(
            f"the program's files and its input are larger than {FILES_BYTES_MAX >> 20} MiB together. Make "
            "them in the program's setup"
        )
    guest.forget_console()
    raw = _run(guest, profile, program, pristine)
    report, trace = _read(raw)
    check_recorded(report, profile, guest.size(LOG))
    _check_setup(report)
    assert trace is not None
    _check_program(program, trace)
    data = guest.read(OUTBOX, DATA_OFFSET, trace.data_bytes)
    with recorded_log(guest, report.umount_errno) as log:
        part = cut(log, pristine, guest.scratch, devices=profile.device_sectors)
    told = adapted(trace, data, part.marks)
    if program.content and (size_bytes := content_bytes(trace)) > CONTENT_BYTES_MAX:
        raise NotRecorded(
            f"the files of the program hold {size_bytes >> 10} KiB, and {CONTENT_BYTES_MAX >> 10} KiB at "
            "most can be compared byte by byte. Leave their content out: --no-content"
        )
    try:
        history = history_of(
            told.setup,
            told.run,
            told.marks,
            part.entry_count,
            profile=profile.name,
            kernel=kernel,
            root_inode=trace.root_inode,
            name=workload.name,
        )
    except NoHistory as error:
        raise NotRecorded(str(error)) from error
    history = msgspec.structs.replace(
        history,
        workload=msgspec.structs.replace(
            history.workload, comment=workload.comment, theme=workload.theme, program=program
        ),
        blocks=told.blocks,
        said=told.said,
        unjudged=told.unjudged,
        remarks=told.remarks if program.content else (HASHED, *told.remarks),
    )
    live = live_of(report.kernel_log, report.umount_errno, ())
    guest.used_up |= live is not None
    kept = guest.scratch / "trace.json"
    kept.write_bytes(msgspec.json.encode(trace))
    return Recording(part.base, part.log, history, report.device, report.kernel_log, live, kept)


def took(guest: Guest, profile: Profile, program: Program, pristine: Path, untraced: bool) -> Took:
    """The program recorded as record_program() does it, and nothing made of it, or with the tracer away.
    Errors: NotRecorded; LostGuest and GuestTrouble from the guest."""
    raw = _run(guest, profile, program, pristine, untraced)
    report, _ = _read(raw)
    check_recorded(report, profile, guest.size(LOG))
    _check_setup(report)
    return msgspec.json.decode(raw, type=Took)


def _run(guest: Guest, profile: Profile, program: Program, pristine: Path, untraced: bool = False) -> bytes:
    """The agent's report."""
    guest.load(DISK, pristine)
    guest.empty(LOG)
    text = program_text(profile, program, untraced).encode()
    guest.write(INBOX, 0, text)
    answer = guest.ask(f"program {len(text)}", timeout_s=2 * program.timeout_s + GRACE_S)
    guest.stage = ""
    return guest.read(OUTBOX, 0, int(answer[1]))


def content_bytes(trace: Trace) -> int:
    """How much all files may hold, at most, at any time after their setup: of each the size that it had then,
    or the farthest byte that the program wrote."""
    ends: dict[int, int] = {}
    for node in msgspec.json.decode(trace.tree) or ():
        if node["kind"] == "file":
            ends[node["ino"]] = node["size"]
    for call in trace.calls:
        if call.data[1]:
            ends[call.inode] = max(ends.get(call.inode, 0), call.offset + call.length)
    return sum(ends.values())


def _read(raw: bytes) -> tuple[TraceReport, Trace | None]:
    try:
        report = msgspec.json.decode(raw, type=TraceReport)
        done = report.mount_errno or report.setup_status
        return report, None if done else msgspec.json.decode(raw, type=Trace)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NotRecorded(f"the report of the agent is invalid: {error}") from error


def _check_setup(report: TraceReport) -> None:
    if report.setup_status == OVER:
        raise NotRecorded("the setup of the program did not end in time; give it more with --timeout")
    if report.setup_status:
        raise NotRecorded(
            f"the setup of the program ended with status {report.setup_status}: {last_words(report.setup)}"
        )


def _check_program(program: Program, trace: Trace) -> None:
    """A program that failed is recorded all the same; one that never ran, or never ended, is not."""
    said = last_words(Output(trace.status, trace.said, trace.complained))
    if trace.status == OVER:
        raise NotRecorded(
            f"the program did not end within {program.timeout_s:g} s. Give it more with --timeout, or end "
            f"it sooner: {said}"
        )
    if trace.status in (NOT_FOUND, NO_FILTER) and not trace.calls:
        raise NotRecorded(
            f"{program.arguments[0]} could not be run in the guest, which has the host's /usr and /etc: "
            f"{said}"
        )
    for note in (DATA, CALLS):
        if note in trace.notes:
            raise NotRecorded(f"{NOTES[note]}. Use a shorter program")


def last_words(output: Output) -> str:
    """The end of what it said, its complaints first."""
    lines = (output.complained or output.said).strip().splitlines()
    return "; ".join(lines[-SHOWN_LINES:]) or "it said nothing"
