"""
`powercut run --cross-check`: our states held against what dm-flakey keeps, over workloads and profiles.

In:       a RunSpec.
Out:      cross-check.json in a run's folder of its own, a table on standard output, the exit status.
Not here: one crossing (cross_check.py).
"""

import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.evidence.store import new_run, point_latest, write_pretty
from harness.evidence.summary import EXIT_BROKEN, EXIT_HOLDS, EXIT_UNKNOWN, shown
from harness.experiments.cross_check import Agreement, Crossing, cross_check
from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec, GuestTrouble, LostGuest
from harness.guests.kernels import build_for, kernel_path
from harness.guests.probe import accelerated, prefer
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import RunSpec, config_of, on_profile
from harness.stages.record import NotRecorded
from harness.states.disk import BadEntry
from harness.states.log import BadLog
from kernel.kernel import Kernel
from oracles.profiles import Profile

SHOWN = 12


class CrossChecked(msgspec.Struct, frozen=True):
    """cross-check.json: states compared with those that dm-flakey leaves.

    kernel:    the kernel.
    crossings: one for each end of an operation.
    undone:    why a workload could not be compared, each as "PROFILE WORKLOAD: why".
    wall_s:    how long it took.
    """

    kernel: str
    crossings: tuple[Crossing, ...]
    undone: tuple[str, ...]
    wall_s: float


def cross(run_spec: RunSpec, out: Path, progress: Progress) -> tuple[Path, CrossChecked]:
    """Errors: KernelError, AgentError, NoFilesystemTool, NoGuest, OSError."""
    started = time.monotonic()
    word = run_spec.kernels[0]
    guest = prefer(run_spec.guest, word, run_spec.config, progress)
    found: list[Crossing] = []
    undone: list[str] = []
    for profile in run_spec.profiles:
        variants = config_of(run_spec, profile, run_spec.workloads[0])
        kernel = build_for(guest, word, variants, progress)
        for each in _of_profile(run_spec, profile, kernel, accelerated(guest, kernel), progress):
            if isinstance(each, Crossing):
                found.append(each)
            else:
                undone.append(each)
    checked = CrossChecked(word, tuple(found), tuple(undone), round(time.monotonic() - started, 1))
    folder = new_run(out)
    write_pretty(folder / "cross-check.json", checked)
    point_latest(folder)
    return folder, checked


def _of_profile(
    run_spec: RunSpec, profile: Profile, kernel: Kernel, guest: str, progress: Progress
) -> Iterator[Crossing | str]:
    with workspace() as space:
        make_filesystem(profile, space.path / "pristine")
        spec = GuestSpec(
            kernel=kernel_path(kernel),
            agent=agent_binary(),
            device_bytes=profile.size_bytes,
            log_bytes=run_spec.log_bytes,
            kind=guest,
        )
        with GuestSlot(spec, space) as guest_slot:
            for number, workload in enumerate(run_spec.workloads, 1):
                own = on_profile(workload, profile)
                try:
                    yield from cross_check(guest_slot, profile, own, space.path / "pristine", space.path)
                except (NotRecorded, BadEntry, BadLog, GuestTrouble, LostGuest) as error:
                    guest_slot.drop()
                    yield f"{profile.name} {workload.name}: {error}"
                if number % 10 == 0 or number == len(run_spec.workloads):
                    progress.line(f"{profile.name}: {number} of {len(run_spec.workloads)} workloads compared")


def lines(folder: Path, checked: CrossChecked) -> list[str]:
    """For a terminal."""
    told = [
        (
            f"kernel {checked.kernel}: the disk at the end of each operation, as dm-flakey "
            "drop_writes leaves it and as model O rebuilds it"
        ),
        "",
    ]
    told.append(f"{'profile':<16}{'ends':>7}{'equal':>7}{'unflushed':>11}{'other tree':>12}{'DIFFERENT':>11}")
    profiles = dict.fromkeys(each.profile for each in checked.crossings)
    for profile in profiles:
        ones = [each for each in checked.crossings if each.profile == profile]
        count = Counter(each.agreement for each in ones)
        other = sum(each.agreement is Agreement.UNFLUSHED and not each.same_tree for each in ones)
        told.append(
            f"{profile:<16}{len(ones):>7}{count[Agreement.EQUAL]:>7}{count[Agreement.UNFLUSHED]:>11}"
            f"{other:>12}{count[Agreement.DIFFERENT]:>11}"
        )
    told += [
        "",
        (
            "equal: the same bytes and the same tree. unflushed: the disks differ only in bytes "
            "that no FLUSH had followed"
        ),
    ]
    told += [
        ("yet, each of them in the log after the mark. other tree: those of unflushed whose trees differ.")
    ]
    apart = [
        each for each in checked.crossings if each.agreement is Agreement.DIFFERENT or not each.same_tree
    ]
    told += [""] if apart else []
    for each in apart[:SHOWN]:
        told.append(
            f"{each.agreement} {each.profile} {each.workload}, operation {each.operation} ({each.text}):"
        )
        told.append(f"    {each.detail}")
    told += [f"and {len(apart) - SHOWN} more, in cross-check.json"] if len(apart) > SHOWN else []
    told += [f"not compared: {each}" for each in checked.undone[:SHOWN]]
    told += ["", f"{shown(folder)}/cross-check.json, {checked.wall_s:.0f} s"]
    return told


def status(checked: CrossChecked) -> int:
    """1 for a disagreement, 3 when something could not be compared, or nothing was."""
    if any(each.agreement is Agreement.DIFFERENT for each in checked.crossings):
        return EXIT_BROKEN
    return EXIT_UNKNOWN if checked.undone or not checked.crossings else EXIT_HOLDS
