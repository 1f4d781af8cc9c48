"""
Add up a run: what was examined, what holds, what is broken.

In:       a run's experiments, as kept.
Out:      Summary.
Not here: judging (judge.py), showing it (reports/).
"""

import math
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from harness.evidence.bugs import known_as
from harness.evidence.detection import detect, silence, sweep_failed
from harness.evidence.named import explained, knows
from harness.evidence.orders import Orders
from harness.evidence.stops import Stops
from harness.evidence.store import reading
from harness.evidence.triage import Triages, read_triage, triage_of
from harness.local.root import COMMAND
from oracles.finding import Group, Witness, group
from oracles.spec import LIVE, is_live, model_of, operation_of, place_of, presumed
from oracles.verdict import Answer, Verdict
from reports.coverage.results import patch_ran, read_coverage
from reports.formats import NOT_KNOWN
from reports.pages.damage import kinds_of
from reports.results import (
    CRASH,
    DAMAGE,
    FAULTS,
    AnswerCounts,
    Coverage,
    DamageCounts,
    Experiment,
    Finding,
    FindingCounts,
    JudgedState,
    ModelCounts,
    QueueCounts,
    QueueFacts,
    Recoveries,
    RecoveryCounts,
    StateCounts,
    Summary,
    read_experiment,
    read_question,
    read_recoveries,
)
from workloads.entries import EntryFlag
from workloads.text import format_operation

EXIT_HOLDS, EXIT_BROKEN, EXIT_BAD_INPUT, EXIT_UNKNOWN = 0, 1, 2, 3
OPERATION_MAX = 150  # characters
REASONS_MAX = 50  # of states; beyond that they are counted


def experiment_folders(run: Path) -> list[Path]:
    """Whole experiments, by number."""
    found = (path for path in (run / "experiments").glob("[0-9]*") if path.name.isdecimal() and path.is_dir())
    return sorted(found, key=lambda path: int(path.name))


def experiments_missing(run: Path) -> str:
    """ "" of a run that is whole; else how many of the planned experiments are missing, and how to go on.
    Errors: NoResults."""
    if not (run / "run.json").exists():
        return "run.json is missing, so the number of planned experiments is not known"
    with reading(run):
        planned = read_question(run).planned
    found = len(experiment_folders(run))
    way_on = f"continue with: powercut run --resume {shown(run)}"
    if planned == NOT_KNOWN:
        return (
            "the older release that made it did not record how many experiments it planned; "
            f"{found} are here; {way_on}"
        )
    if found < planned:
        return f"{planned - found:,} of {planned:,} planned experiments are missing; {way_on}"
    return ""


def status_of(run: Path, status: int) -> int:
    """What a command that speaks of a run ends with, and the word about a run that is not whole: never 0."""
    if not (missing := experiments_missing(run)):
        return status
    print(f"powercut: {shown(run)} is incomplete: {missing}", file=sys.stderr)
    return status or EXIT_UNKNOWN


class Tally:
    """Counts over experiments; each is looked at once and let go."""

    def __init__(self) -> None:
        self.experiments = 0
        self.entries = 0
        self.flushes = 0
        self.planned = self.checked = self.identical = self.proven = self.unknown = 0
        self.live = 0  # states of a kernel that recorded, among those checked
        self.verdicts: dict[str, Counter[Answer]] = {}
        self.judged: list[tuple[Witness, Verdict]] = []
        self.troubles: list[str] = []
        self.undone = 0
        self.unknowns: dict[str, tuple[str, int]] = {}  # by reason: the first state, how many in all
        self.failed_operations: dict[str, None] = {}
        self.seconds: Counter[str] = Counter()
        self.checks: Counter[str] = Counter()  # as ExperimentFacts.checks
        self.proofs: Counter[str] = Counter()  # as ExperimentFacts.proofs
        self.kernel_seconds: dict[str, dict[int, float]] = {}
        self.examined: dict[tuple[str, str], tuple[int, int]] = {}  # experiments and states
        self.by_model: dict[str, Counter[str]] = {}  # by the names of ModelCounts
        self.coverage: dict[str, list[Coverage]] = {}
        self.queues: list[QueueFacts] = []
        self.orders = Orders()
        self.stops = Stops()
        self.damage: dict[tuple[str, str, str], Counter[str]] = {}  # by profile, kernel and kind of block

    def add(self, experiment: Experiment) -> None:
        facts = experiment.facts
        self.orders.add(experiment)
        self.stops.add(experiment)
        self.experiments += 1
        self.entries += len(facts.entries)
        self.flushes += sum(bool(e.flags & (EntryFlag.FLUSH | EntryFlag.FUA)) for e in facts.entries)
        self.seconds.update(facts.seconds)
        self.checks.update(facts.checks)
        self.proofs.update(facts.proofs)
        if facts.queue is not None:
            self.queues.append(facts.queue)
        self.kernel_seconds.setdefault(facts.kernel, {})[facts.number] = sum(facts.seconds.values())
        reached = len(experiment.judgement.states)
        experiments, states = self.examined.get((facts.kernel, facts.profile), (0, 0))
        self.examined[facts.kernel, facts.profile] = experiments + 1, states + reached
        by_model = dict(facts.planned or {"O": len(facts.entries) + 1}) if experiment.history else {}
        planned = (
            sum(by_model.values()) if facts.kind != FAULTS else reached
        )  # a sweep's are known at its end
        by_model.pop(LIVE, None)  # of no model
        if facts.kind != CRASH:
            by_model = {}
        self.planned += planned
        for model, count in by_model.items():
            self.by_model.setdefault(model, Counter())["planned"] += count
        for coverage in facts.coverage:
            self.coverage.setdefault(coverage.model, []).append(coverage)
        self.unknown += planned - reached
        if facts.trouble:
            self.undone += 1
            self.troubles.append(
                f"experiment {facts.number} ({facts.profile}, {facts.workload}): {facts.trouble}"
            )
        for step in (*experiment.history.setup, *experiment.history.run) if experiment.history else ():
            said = format_operation(step.operation)
            if step.result < 0 and experiment.history and said not in experiment.history.workload.may_fail:
                failed = f"{facts.workload}: {cut_short(said)}: {os.strerror(-step.result)}"
                self.failed_operations[failed] = None
        if facts.kind == DAMAGE:
            for (name, outcome), count in kinds_of(experiment).items():
                key = (facts.profile, facts.kernel, name)
                self.damage.setdefault(key, Counter())[outcome] += count
        for state in experiment.judgement.states:
            self._add_state(experiment, state)

    def _add_state(self, experiment: Experiment, state: JudgedState) -> None:
        spec, same_as = state.spec, state.same_as
        verdicts = experiment.judgement.verdict_sets[state.verdict_set]
        for verdict in verdicts:
            self.verdicts.setdefault(verdict.oracle, Counter())[verdict.answer] += 1
            if verdict.answer is Answer.BROKEN:
                self.judged.append((witness_of(experiment, spec), verdict))
        of_model: Counter[str] = Counter()  # of a point of a sweep: counted nowhere
        if experiment.facts.kind == CRASH and not is_live(spec):
            of_model = self.by_model.setdefault(model_of(spec), of_model)
        of_model["broken"] += any(verdict.answer is Answer.BROKEN for verdict in verdicts)
        if any(verdict.answer is Answer.UNKNOWN for verdict in verdicts) or not verdicts:
            self.unknown += 1
            of_model["unknown"] += 1
            reason = next(
                (v.reason for v in verdicts if v.answer is Answer.UNKNOWN), "no oracle could judge this state"
            )
            first, count = self.unknowns.get(reason, (f"{experiment.facts.workload} {spec}", 0))
            self.unknowns[reason] = first, count + 1
        elif same_as:
            self.identical += 1
            of_model["skipped_identical"] += 1
        elif state.proven_by:
            self.proven += 1
            of_model["proven"] += 1
        else:
            self.checked += 1
            self.live += is_live(spec)
            of_model["checked"] += 1

    def reasons(self) -> list[str]:
        """Why something is UNKNOWN: what ended experiments early, then each reason of states once."""
        told = [
            f"{first}: {reason}" + (f" (and in {count - 1:,} more states)" if count > 1 else "")
            for reason, (first, count) in self.unknowns.items()
        ]
        left = [count for _, count in self.unknowns.values()][REASONS_MAX:]
        more = [f"and {len(left):,} more reasons, in {sum(left):,} states"] if left else []
        return [*self.troubles, *told[:REASONS_MAX], *more]

    def models(self) -> dict[str, ModelCounts]:
        return {
            model: ModelCounts(**counts, coverage=merged(self.coverage.get(model, [])))
            for model, counts in self.by_model.items()
        }


def cut_short(operation: str) -> str:
    """Its middle left out where it fills lines, as the longest target of a symlink."""
    if len(operation) <= OPERATION_MAX:
        return operation
    return f"{operation[: OPERATION_MAX * 2 // 3]}...{operation[-OPERATION_MAX // 3 :]}"


def merged(parts: list[Coverage]) -> Coverage | None:
    """Of several experiments."""
    if not parts:
        return None
    top = max(part.space_bits for part in parts)
    bits = top + math.log2(sum(2.0 ** (part.space_bits - top) for part in parts)) if top else 0.0
    units = {part.unit_bytes for part in parts}
    return Coverage(
        model=parts[0].model,
        places=sum(part.places for part in parts),
        whole=sum(part.whole for part in parts),
        examined=sum(part.examined for part in parts),
        space=sum(part.space for part in parts),
        space_bits=round(bits, 2),
        unit_bytes=min(units),
        recorded=sum(part.recorded for part in parts),
    )


def witness_of(experiment: Experiment, spec: str) -> Witness:
    facts = experiment.facts
    workload = experiment.history.workload if experiment.history else None
    return Witness(
        experiment=facts.number,
        profile=facts.profile,
        kernel=facts.kernel,
        workload=facts.workload,
        operation_count=len(workload.setup) + len(workload.run) if workload else 0,
        state=spec,
        place=ordering(experiment, spec),
        device=facts.recorded_on.kind,
    )


def ordering(experiment: Experiment, spec: str) -> int:
    """What orders the states of one experiment: the prefix of the log, or the place in a sweep; of the
    kernel that recorded, the operation."""
    if is_live(spec):
        return operation_of(spec)
    if experiment.facts.kind != FAULTS:
        return place_of(spec)
    return next(at for at, state in enumerate(experiment.judgement.states) if state.spec == spec)


def finding_of(number: int, found: Group, run: Path, followups: Triages) -> Finding:
    witness, violation = found.witness, found.violation
    after = triage_of(followups, witness.kernel, found.signature)
    bugs = explained(witness.kernel, found.signature, found.places, after.attributed, found.models)
    return Finding(
        id=f"F{number}",
        signature=found.signature,
        oracle=found.oracle,
        kind=violation.kind,
        role=violation.role,
        tier=violation.tier,
        profile=witness.profile,
        kernel=witness.kernel,
        workload=witness.workload,
        experiment=witness.experiment,
        state=witness.state,
        subject=violation.subject,
        expected=violation.expected,
        found=violation.found,
        promise=violation.promise,
        count=found.count,
        workloads=found.workloads,
        profiles=found.profiles,
        repro=f"{COMMAND} repro {shown(run)} F{number}",
        known=tuple(known_as(one) for one in bugs.ids),
        models=found.models,
        presumes=presumed(found.models),
        after=after,
        device=witness.device,
        by_fix=bugs.by_fix,
    )


def finding_counts(findings: Sequence[Finding]) -> FindingCounts:
    by_fix = sum(one.by_fix for one in findings)
    known = sum(bool(one.known) for one in findings)
    return FindingCounts(by_fix, known - by_fix, len(findings) - known)


def shown(run: Path) -> str:
    """The run as a user in the current folder would name it."""
    try:
        return str(run.resolve().relative_to(Path.cwd().resolve()))
    except ValueError:
        return str(run.resolve())


def nothing_examined(tally: Tally) -> str:
    """Why a run without BROKEN and UNKNOWN still says nothing, or ""."""
    if not tally.checked and not tally.unknown:
        return "no state was examined"
    if not tally.flushes and tally.checked > tally.live:
        return "no log has a FLUSH or FUA, so nothing was ever promised to be on disk"
    if tally.checked and not tally.verdicts:
        return "every oracle was skipped"
    return ""


def sum_up(run: Path, wall_s: float, boots: int = 0) -> Summary:
    """Errors: NoResults."""
    tally = Tally()
    for experiment in _experiments(run):
        tally.add(experiment)
    reasons = tally.reasons()
    if nothing := nothing_examined(tally):
        reasons.append(nothing)
    if missing := experiments_missing(run):
        reasons.insert(0, missing)
    groups, followups = group(tally.judged, knows()), read_triage(run)
    findings = tuple(finding_of(n, found, run, followups) for n, found in enumerate(groups, 1))
    rates: dict[str, Any] = {
        "states_per_s": round(tally.checked / wall_s, 1) if wall_s else 0.0,
        "wall_s": round(wall_s, 2),
        "guest_boots": boots,
        "seconds": {stage: round(value, 2) for stage, value in sorted(tally.seconds.items())},
        "checks": dict(sorted(tally.checks.items())),
        "proofs": dict(sorted(tally.proofs.items())),
    }
    sweep = not compared(run)
    detection = tuple(detect(tally.judged, tally.kernel_seconds, findings)) if sweep else ()
    stock = tuple(silence(tally.examined, findings)) if sweep else ()
    recoveries = recovery_counts(read_recoveries(run))
    reasons += [f"{one.experiment:04d}: {one.trouble}" for one in read_recoveries(run) if one.trouble]
    covered = read_coverage(run)
    patches = tuple(one for kernel in (covered.kernels if covered else ()) if (one := patch_ran(kernel)))
    broken = sweep_failed(detection, stock) if detection else bool(findings)
    broken = broken or any(one.different for one in recoveries.values())
    unsure = bool(reasons or tally.unknown or any(one.unreached for one in patches))
    return Summary(
        exit=EXIT_BROKEN if broken else EXIT_UNKNOWN if unsure else EXIT_HOLDS,
        experiments=tally.experiments,
        states=StateCounts(tally.planned, tally.checked, tally.identical, tally.unknown, tally.proven),
        log_entries=tally.entries,
        verdicts={
            name: AnswerCounts(count[Answer.HOLDS], count[Answer.BROKEN], count[Answer.UNKNOWN])
            for name, count in tally.verdicts.items()
        },
        findings=findings,
        rates=rates,
        reasons=tuple(reasons),
        failed_operations=tuple(tally.failed_operations),
        detection=detection,
        stock=stock,
        models=tally.models(),
        damage=tuple(DamageCounts(*key, dict(counts)) for key, counts in tally.damage.items()),
        planned_experiments=read_question(run).planned if (run / "run.json").exists() else NOT_KNOWN,
        undone_experiments=tally.undone,
        recoveries=recoveries,
        queue=queue_counts(tally.queues),
        patches=patches,
        known=finding_counts(findings),
        orders=tally.orders.counts(),
        stops=tally.stops.counts(),
    )


def queue_counts(queues: Sequence[QueueFacts]) -> QueueCounts | None:
    """None where no recording was on a real disk."""
    if not queues:
        return None
    kinds = sorted({kind for one in queues for kind in one.latencies})
    return QueueCounts(
        len(queues),
        tuple(sorted({one.write_cache for one in queues})),
        max(one.depth for one in queues),
        sum(one.writes for one in queues),
        sum(one.beside for one in queues),
        sum(one.overtaking for one in queues),
        {
            kind: round(median(one.latencies[kind].median_us for one in queues if kind in one.latencies), 1)
            for kind in kinds
        },
    )


def recovery_counts(done: Iterable[Recoveries]) -> dict[str, RecoveryCounts]:
    """By way."""
    counts: dict[str, RecoveryCounts] = {}
    for one in done:
        before = counts.get(one.way, RecoveryCounts())
        counts[one.way] = RecoveryCounts(
            tuple(dict.fromkeys((*before.kernels, one.kernel))),
            before.states + one.states,
            (
                *before.different,
                *(f"{one.experiment:04d} {each.state}: {each.what}" for each in one.different),
            ),
        )
    return counts


def compared(run: Path) -> bool:
    """Whether two kernels are held against each other here: then a planted bug is one side, and no sweep."""
    return (run / "run.json").exists() and bool(read_question(run).against)


def _experiments(run: Path) -> Iterator[Experiment]:
    for folder in experiment_folders(run):
        with reading(folder):
            experiment = read_experiment(folder)
        yield experiment
