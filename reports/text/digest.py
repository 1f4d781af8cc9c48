"""
One experiment in a few numbers: what tables, JUnit and KTAP say of it.

In:       an Experiment.
Out:      Digest, small enough to keep one for every experiment of a run.
Not here: the pages (html.py), the numbers of the whole run (results.Summary).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from oracles.spec import in_order, is_live, model_of, parse
from oracles.verdict import Answer, Violation
from reports.results import (
    CRASH,
    DAMAGE,
    FAST,
    Coverage,
    Experiment,
    Finding,
    JudgedState,
    LogFigures,
    read_experiment,
)
from reports.text.figures import log_figures
from workloads.entries import EntryFlag, EntrySummary


class Part(msgspec.Struct, frozen=True):
    """What one oracle said of all states of one experiment.

    asked:    things looked at, over all states; 0 means that it had nothing to ask.
    violation, violation_state: the first one, and the spec of its state.
    kinds:    "kind (role)" of every violation, each once, in order: what a signature is made of.
    reason, reason_state: why UNKNOWN, the first time.
    """

    oracle: str
    holds: int = 0
    broken: int = 0
    unknown: int = 0
    asked: int = 0
    violation: Violation | None = None
    violation_state: str = ""
    kinds: tuple[str, ...] = ()
    reason: str = ""
    reason_state: str = ""

    @property
    def answer(self) -> Answer:
        return worst(self.broken, self.unknown)


class ModelPart(msgspec.Struct, frozen=True):
    """One crash model's states of one experiment. coverage: what share of all states they are, None of O."""

    model: str
    states: int = 0
    identical: int = 0
    proven: int = 0
    broken: int = 0
    unknown: int = 0
    coverage: Coverage | None = None

    @property
    def answer(self) -> Answer:
        return worst(self.broken, self.unknown)


class Digest(msgspec.Struct, frozen=True):
    """entry_kinds: how many entries of each kind of ENTRY_KINDS. seconds: over all stages.
    figures: of the log that was recovered, then of other recordings of the same.
    models: one part a crash model, in their order. known: of its history. failing: of kind DAMAGE, where
    blocks failed and none was damaged. stop: where a call was to stop, "FUNCTION ENTRY" or
    "FUNCTION ENTRY return", "" for nowhere."""

    number: int
    workload: str
    theme: str
    profile: str
    kernel: str
    tier: str
    trouble: str
    entry_kinds: dict[str, int]
    state_count: int
    identical_count: int
    proven_count: int
    seconds: float
    recover_seconds: float
    parts: tuple[Part, ...]
    figures: tuple[LogFigures, ...]
    models: tuple[ModelPart, ...] = ()
    kind: str = CRASH
    points_unmet: int = 0
    points_left_out: int = 0
    known: bool = True
    device: str = FAST
    cpus: int = 1
    order: int = 0
    failing: bool = False
    stop: str = ""

    @property
    def entry_count(self) -> int:
        return sum(self.entry_kinds.values())

    @property
    def reason(self) -> str:
        """Why nothing was examined, or ""."""
        if self.trouble:
            return self.trouble
        return "" if self.state_count and self.parts else "no state was examined"

    @property
    def answer(self) -> Answer:
        """The experiment's worst; BROKEN is worse than UNKNOWN, for it is certain."""
        broken = sum(part.broken for part in self.parts)
        return worst(broken, sum(part.unknown for part in self.parts) + bool(self.reason))


ENTRY_KINDS = ("data", "metadata", "fua", "flush", "discard", "mark")


def entry_kind(entry: EntrySummary) -> str:
    """One of ENTRY_KINDS; an entry with several flags counts once, as what weighs most in recovery."""
    if entry.flags & EntryFlag.MARK:
        return "mark"
    if entry.flags & EntryFlag.DISCARD:
        return "discard"
    if entry.flags & EntryFlag.FUA:
        return "fua"
    if entry.flags & EntryFlag.FLUSH and entry.sector_count == 0:
        return "flush"
    return "metadata" if entry.flags & EntryFlag.METADATA else "data"


def digest(experiment: Experiment) -> Digest:
    facts, judgement = experiment.facts, experiment.judgement
    kinds = dict.fromkeys(ENTRY_KINDS, 0)
    for entry in facts.entries:
        kinds[entry_kind(entry)] += 1
    return Digest(
        number=facts.number,
        workload=facts.workload,
        theme=facts.theme,
        profile=facts.profile,
        kernel=facts.kernel,
        tier=facts.tier,
        trouble=facts.trouble,
        entry_kinds=kinds,
        state_count=len(judgement.states),
        identical_count=sum(bool(state.same_as) for state in judgement.states),
        proven_count=sum(bool(state.proven_by) for state in judgement.states),
        seconds=sum(facts.seconds.values()),
        recover_seconds=facts.seconds.get("recover", 0.0),
        parts=parts(experiment),
        figures=(log_figures(facts.entries), *facts.other_recordings),
        kind=facts.kind,
        points_unmet=facts.points_unmet,
        points_left_out=facts.points_left_out,
        models=model_parts(experiment),
        known=experiment.history is None or experiment.history.known,
        device=facts.recorded_on.kind,
        cpus=facts.cpus,
        order=facts.order,
        failing=blocks_fail(experiment),
        stop=stop_of(experiment),
    )


def stop_of(experiment: Experiment) -> str:
    """As Digest.stop: the first of its workload."""
    run = experiment.history.workload.run if experiment.history else ()
    stops = (f"{each.name} {each.length} {each.mode}".rstrip() for each in run if each.word == "stop")
    return next(stops, "")


def blocks_fail(experiment: Experiment) -> bool:
    """Whether blocks fail in its states during recovery; where none does, they are damaged at rest, or the
    experiment is of another kind. The states of one are all alike."""
    if experiment.facts.kind != DAMAGE:
        return False
    specs = (state.spec for state in experiment.judgement.states if not is_live(state.spec))
    damage = next((parse(spec).damage for spec in specs), None)
    return damage is not None and bool(damage.fails)


def model_parts(experiment: Experiment) -> tuple[ModelPart, ...]:
    coverage = {one.model: one for one in experiment.facts.coverage}
    answers = [{verdict.answer for verdict in verdicts} for verdicts in experiment.judgement.verdict_sets]
    found: dict[str, list[JudgedState]] = {model: [] for model in experiment.facts.planned}
    for state in experiment.judgement.states:
        found.setdefault(model_of(state.spec), []).append(state)
    return tuple(
        ModelPart(
            model=model,
            states=len(found[model]),
            identical=sum(bool(state.same_as) for state in found[model]),
            proven=sum(bool(state.proven_by) for state in found[model]),
            broken=sum(Answer.BROKEN in answers[state.verdict_set] for state in found[model]),
            unknown=sum(
                Answer.BROKEN not in answers[state.verdict_set]
                and (Answer.UNKNOWN in answers[state.verdict_set] or not answers[state.verdict_set])
                for state in found[model]
            ),
            coverage=coverage.get(model),
        )
        for model in in_order(found)
    )


def digests(run: Path) -> Iterator[Digest]:
    """Of every experiment of a run, in order; one experiment in memory at a time."""
    for folder in experiment_folders(run):
        yield digest(read_experiment(folder))


def experiment_folders(run: Path) -> list[Path]:
    """Finished ones in numerical order: a folder gets experiment.json when it is renamed into place."""
    found = [path.parent for path in (run / "experiments").glob("*/experiment.json")]
    return sorted((f for f in found if f.name.isdecimal()), key=lambda folder: int(folder.name))


def worst(broken: int, unknown: int) -> Answer:
    if broken:
        return Answer.BROKEN
    return Answer.UNKNOWN if unknown else Answer.HOLDS


def parts(experiment: Experiment) -> tuple[Part, ...]:
    """One part an oracle, in the order in which the verdicts name them.

    A set of verdicts is counted once for each state that has it, without walking it again.
    """
    first_state: dict[int, str] = {}
    state_counts: dict[int, int] = {}
    for state in experiment.judgement.states:
        first_state.setdefault(state.verdict_set, state.spec)
        state_counts[state.verdict_set] = state_counts.get(state.verdict_set, 0) + 1
    found: dict[str, Part] = {}
    for number, spec in first_state.items():
        for verdict in experiment.judgement.verdict_sets[number]:
            part = found.get(verdict.oracle, Part(verdict.oracle))
            count = state_counts[number]
            new_violation = verdict.violations and not part.violation
            kinds = {f"{each.kind} ({each.role})" for each in verdict.violations}
            new_reason = verdict.answer is Answer.UNKNOWN and not part.reason_state
            found[verdict.oracle] = Part(
                oracle=verdict.oracle,
                holds=part.holds + count * (verdict.answer is Answer.HOLDS),
                broken=part.broken + count * (verdict.answer is Answer.BROKEN),
                unknown=part.unknown + count * (verdict.answer is Answer.UNKNOWN),
                asked=part.asked + count * verdict.checked,
                violation=verdict.violations[0] if new_violation else part.violation,
                violation_state=spec if new_violation else part.violation_state,
                kinds=tuple(sorted({*part.kinds, *kinds})),
                reason=verdict.reason if new_reason else part.reason,
                reason_state=spec if new_reason else part.reason_state,
            )
    return tuple(found.values())


def shown_by(one: Digest, part: Part, findings: Iterable[Finding]) -> list[Finding]:
    """The findings that this workload shows by this oracle, here or in another experiment's witness."""
    return [
        finding
        for finding in findings
        if finding.oracle == part.oracle
        and finding.seen_on(one.kernel, one.profile)
        and one.workload in (finding.workload, *finding.workloads)
    ]
