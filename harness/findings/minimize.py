"""
The smallest workload and state that still show a finding: `powercut minimize`.

In:       a run's folder and a finding of it; how many recordings it may cost.
Out:      a run of the smallest workload, with its report, and in it the workload as a file whose header says
          where it comes from; the first run's finding leads there.
Not here: what is tried (workloads/shrinking.py), one recording (interestingness.py).

Every step is recorded and recovered anew, and counts only when the same signature comes again. The state
needs no search of its own: an examination ends at the first state that shows it, in the order of the models.

A kernel's threads race: what the workload as found shows every time a smaller one may show now and then. So a
step has to show it several times in a row, and the smallest is recorded again in a new guest: when that shows
it less often than the workload as found did, the step before it is taken.
"""

import argparse
import contextlib
import time
from pathlib import Path

import msgspec

from harness.evidence.store import NoResults, write_whole
from harness.evidence.summary import EXIT_HOLDS, EXIT_UNKNOWN, shown, status_of
from harness.evidence.triage import learnt
from harness.experiments.interestingness import Answered, InterestingnessTest, Target, trigger_of
from harness.guests.kernels import build_for
from harness.guests.spec import SSH, UML, family, wanted_of
from harness.local.progress import Progress
from harness.local.root import COMMAND
from harness.local.workspace import workspace
from harness.runs.reruns import TIMES, rerun_one, spec_of
from harness.runs.run import RunSpec, run, write_pages
from harness.states.crash import DEFAULT_MODELS
from kernel.word import source_word
from oracles.faults.damage import split
from oracles.profiles import on_device, profile
from oracles.spec import LIVE, MODELS, model_of
from oracles.verdict import Tier
from reports.results import CRASH, DAMAGE, Experiment, Finding
from reports.text.device import device_words
from reports.text.reruns import rerun_words
from workloads.library import SUFFIX
from workloads.shrinking import Seen, Shrinker, config_lines, operation_count
from workloads.text import format as format_workload
from workloads.workload import Workload

BUDGET = 300
# Of a failing device or a damaged disk one recording is a sweep over all its points, and no race was seen.
YESES = 3
LONG = 40  # operations
NAME = "minimal"
TELL_EVERY_S = 10.0


class BudgetSpent(Exception):
    """No further recording is allowed."""


class NotShown(Exception):
    """The finding did not come again, so nothing can be made smaller; the message says how often."""


class Reduction(msgspec.Struct, frozen=True):
    """A workload that showed the signature at this state. The first step is the workload as found."""

    workload: Workload
    state: str


class Question:
    """Whether a workload still shows the signature. Remembers the state of the last yes, and the steps taken.
    What needed n recordings to show itself is asked n times before the answer is no.

    A workload in which more operations fail is no step: what they leave on a disk is an accident, and no
    program can say it.

    yeses: how often it must show it before the answer is yes; once while it has more than LONG operations:
    what races is seen when it is small, and the steps are gone back then.
    stock: asked, too, after each yes: what the series alone shows is not to become what every kernel shows.
    Not where it shows the first workload itself."""

    def __init__(
        self,
        interesting: InterestingnessTest,
        signature: str,
        budget: int,
        progress: Progress,
        stock: InterestingnessTest | None = None,
        yeses: int = 1,
    ) -> None:
        self._interesting = interesting
        self._stock = stock
        self._yeses = yeses
        self._signature = signature
        self._budget = budget
        self._progress = progress
        self._told = time.monotonic()
        self._times = 1
        self._failed = 0  # operations of the last step
        self.smallest = 0
        self.state = ""
        self.seen = Seen()
        self.steps: list[Reduction] = []

    @property
    def asked(self) -> int:
        return self._interesting.recordings + (self._stock.recordings if self._stock else 0)

    def __call__(self, workload: Workload) -> bool:
        """Errors: BudgetSpent."""
        results = [self._shown(workload)]
        yeses = self._yeses if operation_count(workload) <= LONG else 1
        while results[-1] is not None and results[-1].failed <= self._failed and len(results) < yeses:
            results.append(self._shown(workload))
        last = results[-1]
        if last is None or last.failed > self._failed or self._stock_shows(workload):
            return False
        self._take(last)
        return True

    def _shown(self, workload: Workload) -> Answered | None:
        """What shows it, or None. Errors: BudgetSpent."""
        for _ in range(self._times):
            if self.asked >= self._budget:
                raise BudgetSpent
            result = self._interesting.examine(workload)
            self._heartbeat()
            if self._signature in result.first:
                return result
        return None

    def _take(self, result: Answered) -> None:
        self.state, self._failed = result.first[self._signature], result.failed
        self.seen = result.seen.get(self._signature, Seen())

    def _stock_shows(self, workload: Workload) -> bool:
        if self._stock is None:
            return False
        return any(self._signature in self._stock.examine(workload).first for _ in range(self._times))

    def first(self, workload: Workload) -> Answered:
        """The workload as it was found: up to TIMES recordings until it shows itself. Errors: NotShown."""
        for self._times in range(1, TIMES + 1):
            result = self._interesting.examine(workload)
            if self._signature in result.first:
                self._take(result)
                self.smallest = operation_count(workload)
                self.steps = [Reduction(workload, self.state)]
                if self._stock_shows(workload):
                    self._stock = None
                return result
        trouble = f" ({result.trouble})" if result.trouble else ""
        raise NotShown(f"{self._signature} did not appear again in {TIMES} recordings{trouble}")

    def tell(self, workload: Workload, what: str) -> None:
        """It was a yes, and is the smallest now."""
        self.steps.append(Reduction(workload, self.state))
        self.smallest = operation_count(workload)
        self._told = time.monotonic()
        self._progress.line(
            f"recording {self.asked:4} of at most {self._budget}: {self.smallest} operations, "
            f"{self.state} ({what})"
        )

    def _heartbeat(self) -> None:
        self._progress.steps("minimize", self.asked, self._budget, f"{self.smallest} operations")
        if time.monotonic() - self._told >= TELL_EVERY_S:
            self._told = time.monotonic()
            self._progress.line(
                f"recording {self.asked:4} of at most {self._budget}: {self.smallest} operations"
            )


class Tried(msgspec.Struct, frozen=True):
    """A step, run in a new guest. finding: as that run has it; None when it did not show itself."""

    step: Reduction
    folder: Path
    finding: Finding | None

    @property
    def shown(self) -> int:
        """Of TIMES recordings on its own kernel."""
        return self.finding.after.repeats[0].shown if self.finding is not None else -1


def run_again(
    finding: Finding,
    experiment: Experiment,
    step: Reduction,
    asked: int,
    arguments: argparse.Namespace,
    progress: Progress,
) -> Tried:
    named = with_header(step.workload, finding, experiment, arguments.run, asked)
    run_spec = run_spec_of(finding, experiment, named, arguments.words, step.state)
    folder, summary = run(run_spec, arguments.out, progress)
    write_whole(folder / f"{NAME}{SUFFIX}", format_workload(named).encode())
    found = next((one for one in summary.findings if one.signature == finding.signature), None)
    if found is not None:
        found, _ = rerun_one(folder, found.id, TIMES, progress)
        write_pages(folder)
    return Tried(msgspec.structs.replace(step, workload=named), folder, found)


def is_steady(tried: Tried, finding: Finding) -> bool:
    """It shows itself as often as the workload as found; where that was not repeated, every time."""
    own = [one.shown for one in finding.after.repeats if one.kernel == finding.kernel and not one.trouble]
    return tried.shown >= min([TIMES, *own])


def minimize(
    finding: Finding, experiment: Experiment, budget: int, progress: Progress
) -> tuple[list[Reduction], int]:
    """The steps, from the workload as found to the smallest, and how many recordings they took.
    Errors: NoResults of a program."""
    facts, history = experiment.facts, experiment.history
    assert history is not None
    if history.workload.program is not None:
        raise NoResults(
            f"{finding.id} was shown by a program, and only a workload in words can be made smaller. "
            f"The steps in experiments/{experiment.folder}/workload say what the program did"
        )
    own, stock = facts.kernel, source_word(facts.kernel)
    words = {own: experiment} | ({stock: beside(experiment)} if stock != own else {})
    with contextlib.ExitStack() as stack:
        interesting, *others = (
            stack.enter_context(
                InterestingnessTest(
                    target_on(word, finding, asked, progress), stack.enter_context(workspace())
                )
            )
            for word, asked in words.items()
        )
        yeses = YESES if facts.kind == CRASH else 1
        stock_one = others[0] if others else None
        question = Question(interesting, finding.signature, budget, progress, stock_one, yeses)
        result = question.first(history.workload)
        count = operation_count(history.workload)
        progress.line(
            f"{finding.signature}: {count} operations, state {question.state}, "
            f"{result.entry_count} log entries"
        )
        shrinker = Shrinker(history.workload, question, question.tell, lambda: question.seen)
        try:
            shrinker.run()
        except BudgetSpent:
            progress.line(
                f"the limit of {budget} recordings is reached, so a smaller workload may exist. "
                "--budget raises the limit"
            )
        return question.steps, question.asked


def beside(experiment: Experiment) -> Experiment:
    """As it is asked on the stock kernel: in place of a machine in User Mode Linux here, for each answer of
    the one kernel and then of the other would be a boot there."""
    if family(experiment.facts.guest) != SSH:
        return experiment
    return msgspec.structs.replace(experiment, facts=msgspec.structs.replace(experiment.facts, guest=UML))


def target_on(word: str, finding: Finding, experiment: Experiment, progress: Progress) -> Target:
    """What is asked of a workload on this kernel. Errors: KernelError."""
    facts = experiment.facts
    kernel = build_for(facts.guest, word, facts.config, progress)
    return Target(
        word,
        spec_of(kernel, experiment),
        on_device(profile(finding.profile), facts.device_bytes),
        Tier(facts.tier),
        (finding.signature,),
        models_up_to(finding),
        trigger_of(finding, experiment),
        facts.recorded_on,
    )


def models_up_to(finding: Finding) -> tuple[str, ...]:
    """Every simpler model is asked first: the smaller workload may show itself to it. A failing device and a
    damaged disk are of no model."""
    models = tuple(MODELS)
    if model_of(finding.state) not in models:
        return DEFAULT_MODELS
    return models[: models.index(model_of(finding.state)) + 1]


def with_header(
    workload: Workload, finding: Finding, experiment: Experiment, source: Path, asked: int
) -> Workload:
    """The workload under its new name, with where it comes from."""
    history = experiment.history
    assert history is not None
    before = operation_count(history.workload)
    theme = f"{experiment.facts.theme}/" if experiment.facts.theme else ""
    comment = (
        f"The smallest workload that shows: {finding.signature}",
        f"from: {theme}{finding.workload}, finding {finding.id} of {source.resolve().name}",
        f"on: {finding.profile}, kernel {finding.kernel}, tier {experiment.facts.tier}"
        + device_words(experiment.facts.recorded_on.kind),
        f"size: {before} operations became {operation_count(workload)} in {asked} recordings",
        *config_lines(history.workload),
    )
    return msgspec.structs.replace(workload, name=NAME, theme="", comment=comment)


def run_spec_of(
    finding: Finding, experiment: Experiment, workload: Workload, words: list[str], state: str
) -> RunSpec:
    """A run of it, as the first run was; with the damage of this state, which was the last that showed it."""
    facts = experiment.facts
    return RunSpec(
        workloads=(workload,),
        profiles=(on_device(profile(finding.profile), facts.device_bytes),),
        kernels=(facts.kernel,),
        config=facts.config,
        tier=Tier(facts.tier),
        jobs=1,
        with_fsck=any(seen.fsck is not None for seen in experiment.observations),
        guest=wanted_of(facts.guest),
        models=models_up_to(finding),
        command=("powercut", *words),
        repeats=False,
        kind=facts.kind,
        damages=(split(state)[1],) if facts.kind == DAMAGE else (),
        failing=facts.kind == DAMAGE and bool(split(state)[1].fails),
        devices=(facts.recorded_on.kind,),
        device_seed=facts.recorded_on.seed,
        cpus=facts.cpus,
        block_ms=facts.recorded_on.block_ms,
    )


def conclude(source: Path, finding: Finding, tried: Tried, asked: int) -> int:
    """What is left behind, and the last lines. The exit status: 0, or 3 when it came only sometimes."""
    folder, found = tried.folder, tried.finding
    if found is None:
        where = shown(folder)
        print(
            f"powercut: the finding appeared at {tried.step.state} during {asked} recordings, but "
            f"not in the final run: {where}"
        )
        return EXIT_UNKNOWN
    learnt(source, finding, msgspec.structs.replace(finding.after, minimal=str(folder.resolve())))
    write_pages(source)
    print("\n".join(lines(folder, tried.step.workload, found, asked)))
    sure = all(not repeat.trouble for repeat in found.after.repeats)
    return status_of(source, EXIT_HOLDS if sure else EXIT_UNKNOWN)


def lines(folder: Path, workload: Workload, finding: Finding, asked: int) -> list[str]:
    """For a reader: the workload, its state, how sure it is, the way on."""
    where = shown(folder)
    told = [finding.signature]
    bare = msgspec.structs.replace(workload, comment=())
    of_crash = "|fstests" if model_of(finding.state) in (*MODELS, LIVE) else ""
    told += [f"  {line}" for line in format_workload(bare).splitlines()]
    return [
        *told,
        f"  {finding.state}: {finding.subject}",
        f"    expected: {finding.expected}",
        f"    found:    {finding.found}",
        f"size      {operation_count(workload)} operations, after {asked} recordings",
        f"repeated  {rerun_words(finding.after.repeats)}",
        f"workload  {where}/{NAME}{SUFFIX}",
        f"again     {COMMAND} repro {where} {finding.id}",
        f"export    {COMMAND} export {where} {finding.id} --to sh|c{of_crash}",
        f"report    {where}/report/index.html",
    ]
