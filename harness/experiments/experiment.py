"""
One experiment: a workload on a profile and a kernel, recorded, every state recovered and judged, kept.

In:       a Plan, a guest to use, where to keep the evidence.
Out:      the experiment's folder, and what progress tells of it (Outcome).
Not here: many experiments at once (run.py), what each kind of experiment does with a recording
          (crash_states.py, faults.py, damage.py).
"""

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.evidence.store import (
    compress_file,
    experiment_folder,
    keep_base,
    keep_recoveries,
    write_experiment,
)
from harness.experiments.damage import DamageSweep
from harness.experiments.examination import (
    UNEXAMINED,
    UNRECORDED,
    Examination,
    Setting,
    record_in,
    recorded,
)
from harness.experiments.faults import FaultSweep
from harness.experiments.plan import Plan
from harness.experiments.program_states import crash_states
from harness.guests.guest import GuestSlot, LostGuest
from harness.local.root import executable
from harness.stages.counters import Tally, keep_executed
from harness.stages.explore import StatePlan
from harness.stages.judge import Ledger
from harness.stages.live import Died, Live
from harness.stages.record import Recording
from harness.states.log import SECTOR_BYTES, Log, open_log
from kernel.profiling import VARIANT
from oracles.spec import LIVE
from oracles.verdict import Answer
from reports.results import CRASH, DAMAGE, FAULTS, ExperimentFacts, Judgement, LogFigures
from reports.text.figures import log_figures
from workloads.history import History
from workloads.text import format as format_workload
from workloads.workload import Workload


class Outcome(msgspec.Struct, frozen=True):
    """What progress tells of it; the summary reads what was kept (summary.py)."""

    number: int
    trouble: str


Tell = Callable[[int], None]


# What a kind of experiment makes of a recording, by results.KINDS.
EXAMINATIONS: dict[str, Callable[[Setting, Recording, Log, StatePlan], Examination]] = {
    CRASH: crash_states,
    FAULTS: FaultSweep,
    DAMAGE: DamageSweep,
}


def run_experiment(
    plan: Plan, guest_slot: GuestSlot, pristine: Path, scratch: Path, run: Path, tell: Tell
) -> Outcome:
    """
    tell(n) is called with the number of states judged since the last call.
    Errors: OSError when the evidence cannot be kept, AuditFailed. Everything else becomes the experiment's
    trouble.
    """
    setting = Setting(
        guest_slot,
        plan.profile,
        plan.tier,
        plan.kernel,
        pristine,
        scratch,
        plan.with_fsck,
        plan.device,
        plan.audit,
        Tally() if VARIANT in plan.config else None,
    )
    started = time.monotonic()
    try:
        others = tuple(counted(setting, plan.workload) for _ in range(plan.recordings - 1))
        recording = record_in(setting, plan.workload)
    except UNRECORDED as error:
        return not_recorded(plan, guest_slot, run, error)
    recorded_s = time.monotonic() - started
    return examine(plan, setting, recording, run, tell, {"record": recorded_s}, others)


def examine(
    plan: Plan,
    setting: Setting,
    recording: Recording,
    run: Path,
    tell: Tell,
    seconds: dict[str, float],
    others: tuple[LogFigures, ...] = (),
) -> Outcome:
    """A recording, whatever its source, with every state recovered, judged and kept. seconds: by stage, what
    was spent before. others: other recordings of the same. Errors: as run_experiment()."""
    guest_slot = setting.guest_slot
    with open_log(recording.log) as log:
        examination = EXAMINATIONS[plan.kind](setting, recording, log, plan.state_plan)
        if recording.live is not None:
            add_live(examination.ledger, recording.live, plan)
            tell(1)
        trouble = ""
        started = time.monotonic()
        try:
            for _ in examination.judged():
                tell(1)
        except UNEXAMINED as error:
            guest_slot.drop()
            trouble = f"{examination.stage}: {error}"
        seconds = seconds | examination.seconds(time.monotonic() - started)
        facts = whole_facts(plan, trouble, recording, log, examination, seconds, others)
    return keep_evidence(run, plan, facts, recording, examination, setting.tally)


def whole_facts(
    plan: Plan,
    trouble: str,
    recording: Recording,
    log: Log,
    examination: Examination,
    seconds: dict[str, float],
    others: tuple[LogFigures, ...] = (),
) -> ExperimentFacts:
    """When judged() has come to its end. trouble: "" or what ended it early."""
    facts = msgspec.structs.replace(
        facts_of(plan, trouble or examination.trouble(), recording, log),
        seconds={stage: round(value, 4) for stage, value in seconds.items()},
        other_recordings=others,
        **examination.facts(),
    )
    if recording.live is None:
        return facts
    every = {"O": len(facts.entries) + 1} if plan.kind == CRASH else {}
    return msgspec.structs.replace(facts, planned=(facts.planned or every) | {LIVE: 1})


def add_live(ledger: Ledger, live: Live, plan: Plan) -> None:
    ledger.add_live(live.spec, ledger.observe(msgspec.json.encode(live.seen)), plan.profile, plan.tier)


def counted(setting: Setting, workload: Workload) -> LogFigures:
    """What one recording amounts to: background writes come or stay away from one to the next."""
    with recorded(setting, workload) as (_, log):
        return log_figures([log.summary(index) for index in range(len(log))])


def keep_evidence(
    run: Path,
    plan: Plan,
    facts: ExperimentFacts,
    recording: Recording,
    examination: Examination,
    tally: Tally | None = None,
) -> Outcome:
    """The experiment's folder. Errors: OSError."""
    lines = ["== while recording ==", *recording.kernel_log, *examination.kernel_log()]
    judgement = examination.ledger.judgement()
    with experiment_folder(run, plan.number) as folder:
        if not plan.sparing or facts.trouble or not is_quiet(judgement):
            compress_file(recording.log, folder / "log.zst")
            keep_base(recording.base, folder)
            if recording.trace is not None:
                compress_file(recording.trace, folder / "trace.json.zst")
            if examination.recoveries is not None:
                keep_recoveries(examination.recoveries, folder)
        if tally and (executed := tally.executed(judgement.states)):
            keep_executed(folder, plan.kernel_key, executed)
        write_in(folder, plan, run, facts, recording.history, examination.ledger, "\n".join(lines))
    return Outcome(plan.number, facts.trouble)


def is_quiet(judgement: Judgement) -> bool:
    """Whether there were states, and every verdict on them is HOLDS."""
    return bool(judgement.states) and all(
        verdict.answer is Answer.HOLDS for verdicts in judgement.verdict_sets for verdict in verdicts
    )


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
        recorded_on=plan.device,
        cpus=plan.cpus,
        order=plan.order,
        queue=recording.queue if recording else None,
    )


def repro_script(run: Path, number: int) -> str:
    """repro.sh: shows a state of this experiment again; its argument is a state spec."""
    return (
        "#!/bin/sh\n"
        f"# Rebuild a state of experiment {number} of {run.name}, recover it, and show what was expected\n"
        "# and found.\n"
        "# Usage: repro.sh STATE [OPTION...], such as: repro.sh O:12 --keep state.img\n"
        "state=${1:?name a state, such as O:12}; shift\n"
        'here=$(cd "$(dirname "$0")" && pwd) || exit 2\n'
        f'exec "${{POWERCUT:-{executable()}}}" repro "$here" --state "$state" "$@"\n'
    )


def not_recorded(plan: Plan, guest_slot: GuestSlot, run: Path, error: Exception) -> Outcome:
    """What is kept after one of UNRECORDED; the next experiment has a guest of its own."""
    guest_slot.drop()
    if isinstance(error, Died):
        return keep_death(plan, run, error)
    console = "\n".join(error.console) if isinstance(error, LostGuest) else ""
    return not_done(plan, run, f"recording: {error}", console)


def keep_death(plan: Plan, run: Path, death: Died) -> Outcome:
    """The experiment is the one state that there was: the kernel, until it died. There is no log to go on
    with: what was on it is no longer of interest where the kernel does not get that far."""
    ledger = Ledger()
    add_live(ledger, death.live, plan)
    facts = msgspec.structs.replace(facts_of(plan, ""), planned={LIVE: 1})
    said = "\n".join(("== while recording ==", *death.live.seen.console))
    return keep_without_log(plan, run, facts, death.history, ledger, said)


def not_done(plan: Plan, run: Path, trouble: str, console: str) -> Outcome:
    """The experiment did not happen: kept as such, so that nobody takes it for a pass."""
    return keep_without_log(plan, run, facts_of(plan, trouble), None, Ledger(), console)


def keep_without_log(
    plan: Plan, run: Path, facts: ExperimentFacts, history: History | None, ledger: Ledger, said: str
) -> Outcome:
    """The folder of an experiment whose recording did not come to its end. said: on the console."""
    with experiment_folder(run, plan.number) as folder:
        write_in(folder, plan, run, facts, history, ledger, said)
    return Outcome(plan.number, facts.trouble)


def write_in(
    folder: Path,
    plan: Plan,
    run: Path,
    facts: ExperimentFacts,
    history: History | None,
    ledger: Ledger,
    kernel_log: str,
) -> None:
    """All files but those of the log and the disks."""
    write_experiment(
        folder,
        facts,
        format_workload(history.workload if plan.workload.program and history else plan.workload),
        history,
        ledger.judgement(),
        ledger.observations(),
        kernel_log + "\n",
        repro_script(run, plan.number),
    )
