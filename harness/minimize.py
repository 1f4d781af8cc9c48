"""
The smallest workload and state that still show a finding: `powercut minimize`.

In:       a run's folder and a finding of it; how many recordings it may cost.
Out:      a run of the smallest workload, with its report, and in it the workload as a file whose header says
          where it comes from; the first run's finding leads there.
Not here: what is tried (workloads/shrinking.py), one recording (examiner.py).

Every step is recorded and recovered anew, and counts only when the same signature comes again. The state
needs no search of its own: an examination ends at the first state that shows it, in the order of the models.
"""

import argparse
import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from harness.crash import DEFAULT_MODELS
from harness.examiner import Examiner, Sight, Subject, like
from harness.followups import find, learnt
from harness.machine import arch_of
from harness.progress import Progress
from harness.repeats import TIMES, repeat_one, spec_of
from harness.run import Wish, run, write_pages
from harness.store import NoResults, write_whole
from harness.summing import EXIT_HOLDS, EXIT_UNKNOWN, shown
from harness.workspace import workspace
from kernel.build import build
from kernel.word import source_word
from oracles.damage import split
from oracles.profiles import profile
from oracles.spec import MODELS, model_of
from oracles.verdict import Tier
from reports.repeats import repeat_words
from reports.results import DAMAGE, Experiment, Finding, Summary
from workloads.library import SUFFIX
from workloads.shrinking import Shrinker, config_lines, operation_count
from workloads.text import format as format_workload
from workloads.workload import Workload

BUDGET = 300
NAME = "minimal"
TELL_EVERY_S = 10.0


class BudgetSpent(Exception):
    """No further recording is allowed."""


class NotShown(Exception):
    """The finding did not come again, so nothing can be made smaller; the message says how often."""


class Question:
    """Whether a workload still shows the signature. Remembers the state of the last yes. What needed n
    recordings to show itself is asked n times before the answer is no.

    stock: asked, too, after each yes: what the series alone shows is not to become what every kernel shows.
    Not where it shows the first workload itself."""

    def __init__(
        self,
        examiner: Examiner,
        signature: str,
        budget: int,
        progress: Progress,
        stock: Examiner | None = None,
    ) -> None:
        self._examiner = examiner
        self._stock = stock
        self._signature = signature
        self._budget = budget
        self._progress = progress
        self._told = time.monotonic()
        self._times = 1
        self.smallest = 0
        self.state = ""

    @property
    def asked(self) -> int:
        return self._examiner.recordings + (self._stock.recordings if self._stock else 0)

    def __call__(self, workload: Workload) -> bool:
        """Errors: BudgetSpent."""
        for _ in range(self._times):
            if self.asked >= self._budget:
                raise BudgetSpent
            sight = self._examiner.examine(workload)
            self._heartbeat()
            if self._signature in sight.first:
                if self._stock_shows(workload):
                    return False
                self.state = sight.first[self._signature]
                return True
        return False

    def _stock_shows(self, workload: Workload) -> bool:
        if self._stock is None:
            return False
        return any(self._signature in self._stock.examine(workload).first for _ in range(self._times))

    def first(self, workload: Workload) -> Sight:
        """The workload as it was found: up to TIMES recordings until it shows itself. Errors: NotShown."""
        for self._times in range(1, TIMES + 1):
            sight = self._examiner.examine(workload)
            if self._signature in sight.first:
                self.state = sight.first[self._signature]
                self.smallest = operation_count(workload)
                if self._stock_shows(workload):
                    self._stock = None
                return sight
        trouble = f" ({sight.trouble})" if sight.trouble else ""
        raise NotShown(f"{self._signature}: not seen again in {TIMES} recordings{trouble}")

    def tell(self, workload: Workload, what: str) -> None:
        self.smallest = operation_count(workload)
        self._told = time.monotonic()
        self._progress.line(
            f"{self.asked:4} of {self._budget}: {self.smallest} operations, {self.state} ({what})"
        )

    def _heartbeat(self) -> None:
        self._progress.steps("minimize", self.asked, self._budget, f"{self.smallest} operations")
        if time.monotonic() - self._told >= TELL_EVERY_S:
            self._told = time.monotonic()
            self._progress.line(f"{self.asked:4} of {self._budget}: {self.smallest} operations")


def add_minimize(command: argparse.ArgumentParser, positive: Callable[[str], int]) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="a run's folder, as results/latest")
    command.add_argument("finding", metavar="FINDING", nargs="?", default="", help="as F1 (the first)")
    command.add_argument(
        "--budget", type=positive, default=BUDGET, metavar="N", help=f"recordings at most ({BUDGET})"
    )
    command.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="(results)")
    command.add_argument("--quiet", action="store_true", help="no progress")


def command_minimize(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, NotShown, KernelError, NoFilesystemTool, LostGuest, OSError."""
    finding, experiment = find(arguments.run, arguments.finding)
    if experiment.history is None:
        raise NoResults(f"{arguments.run}: nothing was recorded: {experiment.facts.trouble}")
    with Progress(arguments.quiet) as progress:
        smallest, state, asked = minimize(finding, experiment, arguments.budget, progress)
        named = with_header(smallest, finding, experiment, arguments.run, asked)
        folder, summary = run(
            wish_of(finding, experiment, named, arguments.words, state), arguments.out, progress
        )
        again = next((one for one in summary.findings if one.signature == finding.signature), None)
        if again is not None:
            again, summary = repeat_one(folder, again.id, TIMES, progress)
            write_pages(folder)
    return conclude(arguments.run, finding, folder, named, again, summary, asked, state)


def minimize(
    finding: Finding, experiment: Experiment, budget: int, progress: Progress
) -> tuple[Workload, str, int]:
    """The smallest workload, its state, and how many recordings it took."""
    facts, history = experiment.facts, experiment.history
    assert history is not None
    own, stock = facts.kernel, source_word(facts.kernel)
    with contextlib.ExitStack() as stack:
        examiner, *beside = (
            stack.enter_context(
                Examiner(subject_on(word, finding, experiment, progress), stack.enter_context(workspace()))
            )
            for word in dict.fromkeys((own, stock))
        )
        question = Question(examiner, finding.signature, budget, progress, *beside)
        sight = question.first(history.workload)
        count = operation_count(history.workload)
        progress.line(f"{finding.signature}: {count} operations, {question.state} of {sight.entry_count}")
        shrinker = Shrinker(history.workload, question, question.tell)
        try:
            shrinker.run()
        except BudgetSpent:
            progress.line(f"{budget} recordings are spent: this is as small as it got; --budget allows more")
        return shrinker.smallest, question.state, question.asked


def subject_on(word: str, finding: Finding, experiment: Experiment, progress: Progress) -> Subject:
    """What is asked of a workload on this kernel. Errors: KernelError."""
    facts = experiment.facts
    kernel = build(word, progress.building(word), facts.config, arch_of(facts.guest))
    return Subject(
        word,
        spec_of(kernel, experiment),
        profile(finding.profile),
        Tier(facts.tier),
        (finding.signature,),
        models_up_to(finding),
        like(finding, experiment),
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
        f"The least that shows: {finding.signature}",
        f"from: {theme}{finding.workload}, finding {finding.id} of {source.resolve().name}",
        f"on: {finding.profile}, kernel {finding.kernel}, tier {experiment.facts.tier}",
        f"size: {before} operations became {operation_count(workload)} in {asked} recordings",
        *config_lines(history.workload),
    )
    return msgspec.structs.replace(workload, name=NAME, theme="", comment=comment)


def wish_of(
    finding: Finding, experiment: Experiment, workload: Workload, words: list[str], state: str
) -> Wish:
    """A run of it, as the first run was; with the damage of this state, which was the last that showed it."""
    facts = experiment.facts
    return Wish(
        workloads=(workload,),
        profiles=(profile(finding.profile),),
        kernels=(facts.kernel,),
        config=facts.config,
        tier=Tier(facts.tier),
        jobs=1,
        with_fsck=any(seen.fsck is not None for seen in experiment.observations),
        guest=facts.guest.partition("-")[0],
        models=models_up_to(finding),
        command=("powercut", *words),
        repeats=False,
        kind=facts.kind,
        damages=(split(state)[1],) if facts.kind == DAMAGE else (),
    )


def conclude(
    source: Path,
    finding: Finding,
    folder: Path,
    workload: Workload,
    again: Finding | None,
    summary: Summary,
    asked: int,
    state: str,
) -> int:
    """What is left behind, and the last lines. The exit status: 0, or 3 when it came only sometimes."""
    write_whole(folder / f"{NAME}{SUFFIX}", format_workload(workload).encode())
    if again is None:
        print(f"powercut: seen at {state} in {asked} recordings, and not in the last one: {shown(folder)}")
        return EXIT_UNKNOWN
    learnt(source, finding, msgspec.structs.replace(finding.after, minimal=str(folder.resolve())))
    write_pages(source)
    print("\n".join(lines(folder, workload, again, asked)))
    return EXIT_HOLDS if all(not repeat.trouble for repeat in again.after.repeats) else EXIT_UNKNOWN


def lines(folder: Path, workload: Workload, finding: Finding, asked: int) -> list[str]:
    """For a reader: the workload, its state, how sure it is, the way on."""
    where = shown(folder)
    told = [finding.signature]
    bare = msgspec.structs.replace(workload, comment=())
    of_crash = "|fstests" if model_of(finding.state) in MODELS else ""
    told += [f"  {line}" for line in format_workload(bare).splitlines()]
    return [
        *told,
        f"  {finding.state}: {finding.subject}",
        f"    expected: {finding.expected}",
        f"    found:    {finding.found}",
        f"size      {operation_count(workload)} operations, after {asked} recordings",
        f"repeated  {repeat_words(finding.after.repeats)}",
        f"workload  {where}/{NAME}{SUFFIX}",
        f"again     ./powercut repro {where} {finding.id}",
        f"export    ./powercut export {where} {finding.id} --to sh|c{of_crash}",
        f"report    {where}/report/index.html",
    ]
