"""
One experiment: a workload on a profile and a kernel, recorded, recovered at every state, judged, kept.

In:       a Plan, a guest to use, where to keep the evidence.
Out:      the experiment's folder, and what progress tells of it (Outcome).
Not here: many experiments at once (run.py), the parts themselves.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import (
    compress_file,
    experiment_folder,
    keep_base,
    keep_recoveries,
    write_experiment,
)
from harness.guests.guest import GuestTrouble, Keeper, LostGuest
from harness.guests.spec import UML
from harness.host.root import ROOT
from harness.stages.explore import Breadth, Examination
from harness.stages.judge import DamageJudge, FaultJudge, Judge
from harness.stages.record import NotRecorded, Recording, record
from harness.stages.recover import Recovery, asks_of
from harness.states.disk import BadEntry
from harness.states.log import SECTOR_BYTES, BadLog, Log, open_log
from oracles.profiles import Profile
from oracles.verdict import Tier
from reports.results import CRASH, ExperimentFacts, Judgement, LogFigures
from reports.text.figures import log_figures
from workloads.text import format as format_workload
from workloads.workload import Workload

LOUD = 5  # kernel log levels up to notice are worth keeping beside the record's own log
# What ends a recording: nothing of it can be judged.
UNRECORDED = (NotRecorded, BadEntry, BadLog, GuestTrouble, LostGuest)


class Plan(msgspec.Struct, frozen=True):
    """number: from 1. kernel: its KERNEL word. kernel_path: its binary, built with the variants config.
    recordings: how often the log is recorded; the last one is recovered, the others are only counted.
    guest: of machine.KINDS. breadth: crash models, and how many states of each. kind: of results.KINDS."""

    number: int
    kernel: str
    kernel_path: str
    profile: Profile
    workload: Workload
    tier: Tier
    with_fsck: bool
    config: tuple[str, ...] = ()
    recordings: int = 1
    guest: str = UML
    breadth: Breadth = Breadth()
    kind: str = CRASH


class Outcome(msgspec.Struct, frozen=True):
    """What progress tells of it; the summary reads what was kept (summing.py)."""

    number: int
    trouble: str


Tell = Callable[[int], None]


def run_experiment(
    plan: Plan, keeper: Keeper, pristine: Path, scratch: Path, run: Path, tell: Tell
) -> Outcome:
    """
    tell(n) is called with the number of states judged since the last call.
    Errors: OSError when the evidence cannot be kept. Everything else becomes the experiment's trouble.
    """
    started = time.monotonic()
    try:
        others = tuple(counted(plan, keeper, pristine) for _ in range(plan.recordings - 1))
        recording = record(keeper.guest(), plan.profile, plan.workload, pristine, plan.kernel)
    except UNRECORDED as error:
        return not_recorded(plan, keeper, run, error)
    seconds = {"record": time.monotonic() - started}
    with open_log(recording.log) as log:
        return _recover_and_keep(plan, keeper, recording, log, scratch, run, tell, seconds, others)


def counted(plan: Plan, keeper: Keeper, pristine: Path) -> LogFigures:
    """What one recording amounts to: background writes come or stay away from one to the next."""
    recording = record(keeper.guest(), plan.profile, plan.workload, pristine, plan.kernel)
    with open_log(recording.log) as log:
        return log_figures([log.summary(index) for index in range(len(log))])


def _recover_and_keep(
    plan: Plan,
    keeper: Keeper,
    recording: Recording,
    log: Log,
    scratch: Path,
    run: Path,
    tell: Tell,
    seconds: dict[str, float],
    others: tuple[LogFigures, ...],
) -> Outcome:
    judge = Judge(recording.history, plan.profile, plan.tier)
    asks = asks_of(recording.history)
    recovery = Recovery(keeper, plan.profile, plan.with_fsck, scratch, asks)
    examination = Examination(plan.breadth, plan.profile.atomic_bytes, log, scratch)
    trouble = ""
    started, judging_s = time.monotonic(), 0.0
    try:
        for recovered in examination.recovered(recovery, recording.base):
            before = time.monotonic()
            judge.add(recovered)
            judging_s += time.monotonic() - before
            tell(1)
    except (BadEntry, BadLog, GuestTrouble, LostGuest) as error:
        keeper.drop()
        trouble = f"recovering: {error}"
    seconds["judge"] = judging_s
    seconds["recover"] = time.monotonic() - started - judging_s
    judgement = judge.judgement()
    kernel_log = loud_lines(judgement, judge)
    rounded = {stage: round(value, 4) for stage, value in seconds.items()}
    facts = msgspec.structs.replace(
        facts_of(plan, trouble, recording, log),
        seconds=rounded,
        other_recordings=others,
        planned=examination.planned,
        coverage=examination.coverage,
    )
    return keep_evidence(run, plan, facts, recording, judge, judgement, kernel_log, examination.recoveries)


def keep_evidence(
    run: Path,
    plan: Plan,
    facts: ExperimentFacts,
    recording: Recording,
    judge: Judge | DamageJudge | FaultJudge,
    judgement: Judgement,
    kernel_log: Sequence[str],
    recoveries: Path | None = None,
) -> Outcome:
    """
    The experiment's folder. kernel_log: what was said after the recording. recoveries: as keep_recoveries().
    Errors: OSError.
    """
    lines = ["== while recording ==", *recording.kernel_log, *kernel_log]
    with experiment_folder(run, plan.number) as folder:
        compress_file(recording.log, folder / "log.zst")
        keep_base(recording.base, folder)
        if recoveries is not None:
            keep_recoveries(recoveries, folder)
        write_experiment(
            folder,
            facts,
            format_workload(plan.workload),
            recording.history,
            judgement,
            judge.observations(),
            "\n".join(lines) + "\n",
            repro_script(run, plan.number),
        )
    return Outcome(plan.number, facts.trouble)


def loud_lines(judgement: Judgement, judge: Judge | DamageJudge) -> list[str]:
    """The kernel's warnings and errors, each beside the first state that gave it."""
    lines: list[str] = []
    seen: set[int] = set()
    for state in judgement.states:
        if state.observation in seen:
            continue
        seen.add(state.observation)
        loud = [line for line in judge.kernel_log(state.observation) if int(line[0]) <= LOUD]
        lines += [f"== recovering {state.spec} ==", *loud] if loud else []
    return lines


def facts_of(
    plan: Plan, trouble: str, recording: Recording | None = None, log: Log | None = None
) -> ExperimentFacts:
    """Without recording and log: of an experiment that did not happen. `seconds` comes later."""
    return ExperimentFacts(
        number=plan.number,
        workload=plan.workload.name,
        theme=plan.workload.theme,
        profile=plan.profile.name,
        kernel=plan.kernel,
        tier=plan.tier,
        entries=tuple(log.summary(index) for index in range(len(log))) if log is not None else (),
        device=recording.device if recording else {},
        seconds={},
        sector_size=log.sector_size if log is not None else SECTOR_BYTES,
        trouble=trouble,
        device_bytes=plan.profile.size_bytes,
        config=plan.config,
        guest=plan.guest,
        kind=plan.kind,
    )


def repro_script(run: Path, number: int) -> str:
    """repro.sh: shows a state of this experiment again; its argument is a state spec."""
    command = ROOT / "powercut"
    return (
        "#!/bin/sh\n"
        f"# Rebuild a state of experiment {number} of {run.name}, recover it, show expected and found.\n"
        "# Usage: repro.sh STATE [OPTION...], as in: repro.sh O:12 --keep state.img\n"
        "state=${1:?name a state, as in O:12}; shift\n"
        'here=$(cd "$(dirname "$0")" && pwd) || exit 2\n'
        f'exec "${{POWERCUT:-{command}}}" repro "$here" --state "$state" "$@"\n'
    )


def not_recorded(plan: Plan, keeper: Keeper, run: Path, error: Exception) -> Outcome:
    """What is kept after one of UNRECORDED; the next experiment has a guest of its own."""
    keeper.drop()
    console = "\n".join(error.console) if isinstance(error, LostGuest) else ""
    return not_done(plan, run, f"recording: {error}", console)


def not_done(plan: Plan, run: Path, trouble: str, console: str) -> Outcome:
    """The experiment did not happen: kept as such, so that nobody takes it for a pass."""
    facts = facts_of(plan, trouble)
    with experiment_folder(run, plan.number) as folder:
        write_experiment(
            folder,
            facts,
            format_workload(plan.workload),
            None,
            Judgement((), ()),
            b"[]",
            console + "\n",
            repro_script(run, plan.number),
        )
    return Outcome(plan.number, trouble)
