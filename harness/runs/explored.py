"""
A run of one experiment whose log was recorded elsewhere.

In:       a Foreign: log, base disk, history; what is asked of it.
Out:      results/<run>/, as of any run: judge, report and repro work on it.
Not here: reading log and base (stages/elsewhere.py), the command line (commands/explore.py), runs that record
          their own logs (run.py).
"""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from harness.evidence.store import new_run, only_one, partial_folder, point_latest
from harness.evidence.summary import shown
from harness.experiments.examination import Setting
from harness.experiments.experiment import examine
from harness.experiments.plan import Plan
from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSlot
from harness.guests.kernels import build_for, kernel_path
from harness.guests.probe import accelerated, prefer
from harness.guests.spec import LOG_BYTES, UML, GuestSpec, memory_for
from harness.local.progress import Progress
from harness.local.workspace import Workspace
from harness.runs.run import (
    RESULTS_BYTES,
    Counted,
    RunSpec,
    config_of,
    finish,
    question_of,
    require_room,
    require_scratch,
)
from harness.stages.elsewhere import Foreign
from harness.stages.explore import StatePlan
from oracles.verdict import Tier
from reports.results import Summary


class Asked(msgspec.Struct, frozen=True):
    """What is asked of a log. kernel: a kernel spec, which recovers. config: its variants. guest: of
    words.WANTED. log_bytes: of the guest's log device, for recoveries that are recorded (model N)."""

    kernel: str
    config: tuple[str, ...] = ()
    tier: Tier = Tier.FS
    state_plan: StatePlan = StatePlan()
    with_fsck: bool = True
    guest: str = UML
    log_bytes: int = LOG_BYTES
    command: tuple[str, ...] = ()


def explore(
    foreign: Foreign, asked: Asked, space: Workspace, out: Path, progress: Progress
) -> tuple[Path, Summary]:
    """
    space: with the recording's files. Errors: KernelError, AgentError, NoGuest, NoRoom, LostGuest,
    GuestTrouble, OSError.
    """
    run_spec = run_spec_of(foreign, asked)
    one, history = foreign.profile, foreign.recording.history
    config = config_of(run_spec, one, history.workload)
    require_room(out, RESULTS_BYTES + 2 * foreign.data_bytes)
    guest = prefer(asked.guest, asked.kernel, config, progress)
    kernel = build_for(guest, asked.kernel, config, progress)
    guest = accelerated(guest, kernel)
    plan = Plan(
        1,
        asked.kernel,
        kernel.provenance.key,
        agent_binary().name,
        one,
        history.workload,
        asked.tier,
        asked.with_fsck,
        config,
        guest=guest,
        state_plan=asked.state_plan,
        log_bytes=asked.log_bytes,
    )
    spec = GuestSpec(
        kernel=kernel_path(kernel),
        agent=agent_binary(),
        device_bytes=one.size_bytes,
        log_bytes=asked.log_bytes,
        kind=guest,
        memory_mib=memory_for(foreign.held_bytes),
    )
    folder = new_run(out, question_of(run_spec, {(asked.kernel, config): kernel}, guest))
    started = time.monotonic()
    with only_one(folder), told_where(folder, progress):
        space.half_written(partial_folder(folder, plan.number))
        progress.experiments(1, 1)
        progress.starting(plan)
        with GuestSlot(spec, space) as guest_slot:
            counted = Counted(progress.states)
            setting = Setting(
                guest_slot,
                one,
                asked.tier,
                asked.kernel,
                space.path / "pristine",
                space.path,
                asked.with_fsck,
            )
            recording = msgspec.structs.replace(
                foreign.recording,
                history=msgspec.structs.replace(history, profile=one.name, kernel=asked.kernel),
            )
            progress.done(examine(plan, setting, recording, folder, checked(space, counted.add), {}))
            counted.flush()
            boots = guest_slot.boots
        summary = finish(folder, time.monotonic() - started, boots)
        point_latest(folder)
    return folder, summary


def checked(space: Workspace, tell: Callable[[int], None]) -> Callable[[int], None]:
    """tell, as long as there is room for the guest's devices. It raises OSError."""

    def told(count: int) -> None:
        require_scratch(space.path)
        tell(count)

    return told


@contextlib.contextmanager
def told_where(folder: Path, progress: Progress) -> Iterator[None]:
    """An exploration that was stopped cannot be continued: it is started again."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit, OSError):
        progress.line(f"stopped: {shown(folder)} is not complete. Start the same command again")
        raise


def run_spec_of(foreign: Foreign, asked: Asked) -> RunSpec:
    """The question, as that of a run."""
    return RunSpec(
        workloads=(foreign.recording.history.workload,),
        profiles=(foreign.profile,),
        kernels=(asked.kernel,),
        config=asked.config,
        tier=asked.tier,
        models=asked.state_plan.models,
        budget=asked.state_plan.budget,
        prefixes=asked.state_plan.prefixes,
        atomic_bytes=asked.state_plan.atomic_bytes,
        jobs=1,
        seed=asked.state_plan.seed,
        with_fsck=asked.with_fsck,
        log_bytes=asked.log_bytes,
        guest=asked.guest,
        command=asked.command,
        repeats=False,
    )
