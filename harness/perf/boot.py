"""
One boot that is measured: the host's programs in a guest, a script on a fresh filesystem, its time.

In:       a GuestSpec, a PerfExperiment, one of its cases.
Out:      MeasuredGuest.run(): what the script said, and how long it took by the clock and by the processor;
          Place: where boots are measured.
Not here: the order of boots (measure.py), the places (here.py, there.py), reading what was said
          (reports/perf/tools.py), in the guest: agent/programs.c.

Processor time of User Mode Linux is that of the guest's processes on the host: its kernel, which is one
process, those that stand for its own, and what they have reaped. The guest is pinned to one processor; what
it waits for that is not in it, so other work on the host disturbs it less than the clock. Of a machine it is
how long its processors were busy, all together, for whatever.
"""

import contextlib
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import msgspec

from harness.guests.filesystem import make_filesystem
from harness.guests.guest import DISK, INBOX, OUTBOX, Guest, GuestSpec, boot
from harness.local.workspace import Workspace
from kernel.kernel import Kernel
from oracles.profiles import PROFILES, Profile
from reports.perf.results import Samples
from workloads.perf.experiment import Case, PerfExperiment, mkfs_of, mount_of

DEVICE_WRITES = 200
DEVICE_TIMEOUT_S = 60.0
GRACE_S = 60.0  # of the agent, to end what is left when a deadline has passed
MOUNT_TIMEOUT_S = 60.0
DEADLINE_PASSED = -1  # agent/programs.c


class NotMeasured(Exception):
    """A case gave no figure; the message says why and what to change."""


class ScriptReport(msgspec.Struct, frozen=True):
    """The agent's answer. status: as a shell tells it. busy_ms: of all its processors. kernel_log: "LEVEL
    text" lines."""

    status: int
    took_ms: float
    busy_ms: float
    said: str
    complained: str
    kernel_log: tuple[str, ...]


class Ran(msgspec.Struct, frozen=True):
    """What a script did. Both times are of the script alone, without mkfs and mount."""

    report: ScriptReport
    wall_s: float
    processor_s: float


class MeasuredGuest:
    """A booted guest with the host's programs. Use `bench`."""

    def __init__(self, guest: Guest) -> None:
        self.guest = guest

    def run(
        self, profile: Profile, script: str, deadline_s: float, started: Callable[[], None] = lambda: None
    ) -> Ran:
        """The script on a fresh filesystem. started: called when it is mounted.
        Errors: NotMeasured; NoFilesystemTool; LostGuest, GuestTrouble."""
        fresh = self.guest.scratch / "fresh"
        make_filesystem(profile, fresh)
        self.guest.load(DISK, fresh)
        fresh.unlink()
        options = profile.agent_options or "-"
        answer = self.guest.ask(f"enter {profile.filesystem} {options}", timeout_s=MOUNT_TIMEOUT_S)
        if int(answer[1]):
            raise NotMeasured(
                f"mount -t {profile.filesystem} -o {options} failed ({os.strerror(int(answer[1]))}) after "
                f"{shlex.join(profile.mkfs)}"
            )
        started()
        ran = self.execute(script, deadline_s)
        _check(ran.report, profile, deadline_s)
        answer = self.guest.ask("leave", timeout_s=deadline_s + MOUNT_TIMEOUT_S)
        if int(answer[1]):
            raise NotMeasured(
                f"umount failed: {os.strerror(int(answer[1]))}. Does the script leave a process running?"
            )
        return ran

    def execute(self, script: str, deadline_s: float) -> Ran:
        content = script.encode()
        self.guest.write(INBOX, 0, content)
        of_host = self.guest.pid != 0
        before = processor_s(self.guest.pid) if of_host else 0.0
        answer = self.guest.ask(f"execute {len(content)} {deadline_s:g}", timeout_s=deadline_s + GRACE_S)
        spent = processor_s(self.guest.pid) - before if of_host else 0.0
        report = msgspec.json.decode(self.guest.read(OUTBOX, 0, int(answer[1])), type=ScriptReport)
        spent = spent if of_host else report.busy_ms / 1000
        return Ran(report, report.took_ms / 1000, max(spent, 0.001))

    def device_us(self) -> float:
        """A synchronous write of 4 KiB to the bare device, the mean of 200. Errors: NotMeasured."""
        command = f"dd if=/dev/zero of=$DEV bs=4k count={DEVICE_WRITES} oflag=direct,dsync"
        said = self.execute(command, DEVICE_TIMEOUT_S).report.complained
        match = re.search(r"copied, ([\d.e-]+) s", said)
        if not match:
            raise NotMeasured(f"dd on the guest's device printed no time: {said!r}")
        return float(match[1]) / DEVICE_WRITES * 1e6


SamplesOf = Callable[[str, int, str], Samples]  # of a side, the number of its boot, and a case


class Place(Protocol):
    """Where boots are measured."""

    def facts(self) -> dict[str, Any]:
        """What stands beside the figures: PerfRun.machine. Errors: of the machine."""

    def load(self) -> float:
        """Its load average of the last minute."""

    def booted(
        self, kernel: Kernel, experiment: PerfExperiment, space: Workspace
    ) -> contextlib.AbstractContextManager[MeasuredGuest]:
        """A new boot of this kernel. Errors: LostGuest, GuestTrouble, OSError; of a machine BadHost,
        RemoteFailed, Unreachable."""

    def sampling(
        self, guest: MeasuredGuest, kernel: Kernel, experiment: PerfExperiment, space: Workspace
    ) -> contextlib.AbstractContextManager[SamplesOf]:
        """Where the kernel spends its time within the block; the samples are there once it has ended.
        Errors: NotMeasured."""


def _check(report: ScriptReport, profile: Profile, deadline_s: float) -> None:
    told = [line.strip() for line in (report.complained or report.said).splitlines() if line.strip()]
    last = " | ".join(told[-3:]) or "it printed nothing"
    if report.status == DEADLINE_PASSED:
        raise NotMeasured(
            f"the script did not end within its deadline of {deadline_s:g} s. Raise deadline_s in "
            f"its file, or use a smaller --scale. Last line: {last}"
        )
    if "No space left" in report.complained + report.said:
        raise NotMeasured(
            f"the device of {profile.size_bytes >> 20} MiB is too small for the script. Raise "
            f"device_mib in its file, or use a smaller --scale. Last line: {last}"
        )
    if report.status:
        raise NotMeasured(f"the script ended with exit status {report.status}: {last}")


@contextlib.contextmanager
def bench(spec: GuestSpec, space: Workspace, experiment: PerfExperiment) -> Iterator[MeasuredGuest]:
    """Errors: LostGuest, GuestTrouble, OSError."""
    files = tuple(Path(experiment.place).parent / name for name in experiment.files)
    with boot(msgspec.structs.replace(spec, programs=True, files=files), space) as guest:
        guest.ask("programs")
        yield MeasuredGuest(guest)


def profile_of(experiment: PerfExperiment, case: Case, size_bytes: int) -> Profile:
    """The filesystem that the case asks for, with the tools of the profile of that name."""
    like = next(one for one in PROFILES if one.name == experiment.filesystem)
    return msgspec.structs.replace(
        like,
        name=f"{experiment.filesystem} ({experiment.name})",
        mkfs=tuple(shlex.split(mkfs_of(experiment, case))),
        mount_options=mount_of(experiment, case),
        size_bytes=size_bytes,
        config=(),
    )


# --- processor time ------------------------------------------------------------------------------


def processor_s(group: int) -> float:
    """Of a process group, what its processes used and what they have reaped; proc(5), fields 5, 14 to 17."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text(errors="replace").rpartition(") ")[2].split()
            if int(fields[2]) == group:
                ticks += sum(int(field) for field in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def quietest_processor(allowed: list[int], over_s: float = 0.5) -> int:
    """The one that idled most just now, of those we may use; proc(5), /proc/stat."""
    before = _idle_ticks()
    time.sleep(over_s)
    after = _idle_ticks()
    return max(allowed, key=lambda number: (after.get(number, 0) - before.get(number, 0), number))


def _idle_ticks() -> dict[int, int]:
    found = {}
    for line in Path("/proc/stat").read_text().splitlines():
        if match := re.match(r"cpu(\d+) (?:\d+ ){3}(\d+)", line):
            found[int(match[1])] = int(match[2])
    return found
