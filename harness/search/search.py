"""
Search for workloads that show something new: `powercut search`.

In:       a SearchSpec: a kernel, a profile, workloads to begin with, the dice's seed, a budget.
Out:      the folder of a run: the corpus, search.json, and an experiment for what each new signature was
          shown by.
Not here: one workload (examine.py), how workloads are changed (workloads/generate/mutated.py), the corpus
          (corpus.py), what is done with findings afterwards (runs/, findings/, commands/search.py).

The engine is our own, because the kept ones (atheris, python-afl, libafl) instrument the program that they
run in, and take bytes as input; here the coverage comes out of a guest, in two phases, and the input is a
text with a grammar, for which we have parser, generator and shrinker. Hypothesis' target() takes a number
to raise, and no set of edges.

The workloads to begin with come first. Then each workload is a random one, or one of the corpus changed in
one to four places. Guided, a workload enters the corpus when it shows what none before it did, and shows it
again in a second recording, where it is no more than FEW numbers: edges that threads of the kernel take now
and then are no news. Sampled, the corpus stays what it was in the beginning, any of it is changed as often
as any other, and nothing is counted.

The number-th workload of a search has dice of its own, and the corpus changes only between batches of
BATCH, in the order of their numbers. So the same seed gives the same search, with any number of workers, as
far as the kernel does the same; and nothing but the budget reads a clock.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import (
    new_run,
    only_one,
    point_latest,
    reading,
    remove_partial,
    write_question,
    write_whole,
)
from harness.evidence.summary import experiment_folders, shown
from harness.experiments.interestingness import signatures_of
from harness.experiments.plan import Plan
from harness.guests.agent_binary import agent_binary
from harness.guests.kernels import build_for
from harness.guests.spec import UML
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.runs.pool import Lost, Pool, PoolFailed
from harness.runs.run import (
    RunSpec,
    WorkerFailed,
    config_of,
    finish,
    on_profile,
    plans_of,
    question_of,
    require_room,
)
from harness.search.corpus import (
    Corpus,
    Entry,
    both,
    keep_counts,
    keep_entry,
    merged,
    minimized,
    read_corpus,
    read_entries,
    remove_entry,
    without,
)
from harness.search.examine import Seen, Task, work
from harness.search.features import RECORDED, RECOVERED, ROLES, Features
from kernel.fragments import check_variants
from kernel.profiling import VARIANT
from oracles.profiles import Profile, profile
from oracles.verdict import Tier
from reports import formats
from reports.results import Experiment, Summary, read_experiment, read_facts, read_question
from reports.search.results import FILE, GUIDED, SAMPLED, First, Kept, Sample, SearchReport
from workloads.generate import drawn
from workloads.generate.mutated import Bench, fitting, mutated, words_for
from workloads.workload import Workload

BATCH = 12
FEW = 6  # numbers that are new: what threads of the kernel do now and then is less than that
RANDOM_PERCENT = 15
LENGTHS = (8, 15, 30, 50)  # of random workloads
PREFIXES = 120  # states of a workload
AGAIN = 3
WITNESSES = 3  # experiments that are kept of a signature
CORPUS = "corpus"
SAVE_EVERY_S = 15.0
TELL_EVERY_S = 10.0
REASONS_MAX = 20
RESULTS_BYTES = 256 << 20


class SearchSpec(msgspec.Struct, frozen=True):
    """What is searched. config: variants of the kernel beside those that counting needs. seeds: workloads to
    begin with. corpora: folders of earlier searches, whose workloads come behind them. workloads, seconds:
    the budget, 0 for none of that kind. prefixes: states of a workload, spread over its log."""

    kernel: str
    profile: Profile
    seeds: tuple[Workload, ...]
    mode: str = GUIDED
    config: tuple[str, ...] = ()
    corpora: tuple[Path, ...] = ()
    seed: int = 0
    workloads: int = 0
    seconds: float = 0.0
    jobs: int = 0
    prefixes: int = PREFIXES
    tier: Tier = Tier.FS
    with_fsck: bool = True
    guest: str = UML
    attribute: bool = True
    command: tuple[str, ...] = ()


Each = Callable[[Task, Seen], bool]  # a workload was examined; whether the search is to go on


def search(
    spec: SearchSpec, out: Path, progress: Progress, resume: Path | None = None
) -> tuple[Path, SearchReport, Summary]:
    """Errors: BadWorkload, KernelError, AgentError, NoFilesystemTool, NoRoom, NoResults, WorkerFailed,
    OSError."""
    require_room(resume or out, RESULTS_BYTES)
    begun = begin(spec, out, progress, resume)
    folder = begun.folder
    with only_one(folder):
        remove_partial(folder)
        begun.save()  # a search that is killed at once goes on, too
        try:
            begun.go_on(progress)
        except (KeyboardInterrupt, SystemExit, WorkerFailed, OSError):
            progress.line(f"continue with: powercut search --resume {shown(folder)}")
            raise
        finally:
            begun.save()
        begun.end()
        progress.line(f"{begun.words()}; summing up")
        if begun.guided:
            begun.without_counters(progress)
        stock = progress if spec.attribute else None
        summary = finish(folder, begun.report.seconds, 0, progress, stock)
        point_latest(folder)
    return folder, begun.report, summary


def begin(spec: SearchSpec, out: Path, progress: Progress, resume: Path | None = None) -> "Search":
    """The kernel is built, the folder is there, and nothing was examined. Errors: as search()."""
    variants = (*spec.config, VARIANT) if spec.mode == GUIDED else spec.config
    run_spec = RunSpec(
        workloads=spec.seeds[:1],
        profiles=(spec.profile,),
        kernels=(spec.kernel,),
        config=check_variants(variants),
        tier=spec.tier,
        jobs=spec.jobs,
        seed=spec.seed,
        prefixes=spec.prefixes,
        with_fsck=spec.with_fsck,
        guest=spec.guest,
        command=spec.command,
    )
    config = config_of(run_spec, spec.profile, spec.seeds[0])
    kernels = {(spec.kernel, config): build_for(spec.guest, spec.kernel, config, progress)}
    (plan,) = plans_of(run_spec, kernels, spec.guest, agent_binary().name)
    entries = merged(
        (Entry(seed, 0, {}) for seed in spec.seeds),
        (one for place in spec.corpora for one in read_entries(place)),
    )
    seeds = tuple(entry.workload for entry in entries)
    if resume is not None:
        with reading(resume):
            report = formats.read(resume / FILE, SearchReport)
        corpus = read_corpus(resume / CORPUS)
        return Search(spec, plan, seeds, resume, corpus, report)
    question = msgspec.structs.replace(question_of(run_spec, kernels, spec.guest), workloads=(), planned=0)
    folder = new_run(out, question)
    report = SearchReport(spec.mode, spec.kernel, spec.profile.name, config, spec.seed, len(seeds))
    return Search(spec, plan, seeds, folder, Corpus(), report)


class Search:
    """One that is under way. report: as of the last save()."""

    def __init__(
        self,
        spec: SearchSpec,
        plan: Plan,
        seeds: Sequence[Workload],
        folder: Path,
        corpus: Corpus,
        report: SearchReport,
    ) -> None:
        self.spec, self.folder, self.corpus, self.report = spec, folder, corpus, report
        self.number = report.number
        self._plan = plan
        self._order = list(seeds)
        random.Random(f"seeds {spec.seed}").shuffle(self._order)
        self._words = words_for(spec.profile.filesystem)
        self._shown: Counter[str] = Counter()  # experiments kept, by signature
        self._first = {one.signature: one for one in report.first}
        for signature in self._first:
            self._shown[signature] = WITNESSES
        self._states, self._unknown, self._undone = report.states, report.unknown, report.undone
        self._confirmed, self._flaky = report.confirmed, report.flaky
        self._reasons = list(report.reasons)
        self._samples = list(report.samples)
        self._kept = {one.name: one for one in report.corpus}
        self._before_s, self._started = report.seconds, 0.0
        self._stopped_s = 0.0
        if not self.guided:
            corpus.entries = [Entry(workload, 0, {}) for workload in self._order]

    @property
    def guided(self) -> bool:
        return self.spec.mode == GUIDED

    @property
    def seconds(self) -> float:
        """Of searching."""
        if not self._started:
            return self._before_s
        return self._before_s + time.monotonic() - self._started - self._stopped_s

    def without(self, seconds: float) -> None:
        """So long something else was done."""
        self._stopped_s += seconds

    def is_over(self) -> bool:
        """The budget is spent."""
        by_time = self.spec.seconds and self.seconds >= self.spec.seconds
        by_count = self.spec.workloads and self.number >= self.spec.workloads
        return bool(by_time or by_count)

    def go_on(self, progress: Progress, each: Each = lambda task, seen: True) -> None:
        """Until the budget is spent, or `each` says no. Errors: WorkerFailed, OSError."""
        jobs = self.spec.jobs or len(processors())
        saved = told = time.monotonic()
        self._started = time.monotonic()
        try:
            with Pool[Task](work, [str(self.folder)] * jobs) as pool:
                while not self.is_over():
                    if not self._batch(pool, each):
                        return
                    now = time.monotonic()
                    if now - saved >= SAVE_EVERY_S:
                        self.save()
                        saved = now
                    if now - told >= TELL_EVERY_S:
                        progress.line(self.words())
                        told = now
        except PoolFailed as error:
            raise WorkerFailed(str(error)) from error

    def words(self) -> str:
        """How far it is, on one line."""
        now = self._sample()
        rate = now.workloads / max(now.seconds, 0.1)
        covered = f", edges {now.recorded:,} recorded and {now.recovered:,} recovered" if self.guided else ""
        return (
            f"{now.seconds:.0f} s: {now.workloads:,} workloads ({rate:.1f}/s), {now.states:,} states, "
            f"corpus {now.corpus:,}{covered}, {now.findings} signatures"
        )

    # --- a batch

    def _batch(self, pool: Pool[Task], each: Each) -> bool:
        """Whether the search is to go on."""
        count = min(BATCH, self.spec.workloads - self.number) if self.spec.workloads else BATCH
        enough = frozenset(one for one, shown in self._shown.items() if shown >= WITNESSES)
        energies = self.corpus.energies() if self.guided else []
        tasks = [self._task(self.number + at, energies, enough) for at in range(1, count + 1)]
        self.number += count
        answers = self._answers(pool, tasks)
        again = []
        goes_on = True
        for task, seen in zip(tasks, answers, strict=True):
            self._note(task, seen)
            goes_on = each(task, seen) and goes_on
            if self.guided and seen.layout:
                self.corpus.begin(seen.layout, seen.edge_count)
                if self._is_news(task, seen):
                    again.append((task, seen))
                else:
                    self.corpus.count(seen.features)
        if goes_on and again:
            self._confirm(pool, again)
        return goes_on

    def _task(self, number: int, energies: Sequence[float], enough: frozenset[str]) -> Task:
        workload = self._order[number - 1] if number <= len(self._order) else self._made(number, energies)
        plan = msgspec.structs.replace(
            self._plan, number=number, workload=on_profile(workload, self.spec.profile)
        )
        return Task(plan, enough, keep=number == 1)

    def _made(self, number: int, energies: Sequence[float]) -> Workload:
        """A random one, or one of the corpus changed."""
        dice = random.Random(f"search {self.spec.seed} {number}")
        name = f"search{self.spec.seed}-{number:06}"
        if not self.corpus.entries or dice.randrange(100) < RANDOM_PERCENT:
            random_one = drawn.workload(dice.choice(LENGTHS), self.spec.seed, number)
            found = fitting(random_one, self.spec.profile.filesystem)
            if found is not None:
                return msgspec.structs.replace(found, name=name, theme="search", comment=("Random.",))
        entries = self.corpus.entries
        if not entries:
            return self._order[number % len(self._order)]
        (chosen,) = dice.choices(entries, energies if len(energies) == len(entries) else None)
        parent = chosen.workload
        if self.guided:
            self.corpus.chosen[parent.name] = self.corpus.chosen.get(parent.name, 0) + 1
        others = [dice.choice(entries).workload for _ in range(8)]
        return mutated(parent, Bench(dice, self._words, others), name)

    def _answers(self, pool: Pool[Task], tasks: Sequence[Task]) -> list[Seen]:
        """In the order of the tasks."""
        found: dict[int, Seen] = {}
        for task, said in pool.perform(tasks):
            if isinstance(said, Lost):
                found[task.plan.number] = Seen(trouble=f"the worker was {said.how} over it")
            elif said.kind == "done":
                found[task.plan.number] = said.content
        return [found[task.plan.number] for task in tasks]

    def _note(self, task: Task, seen: Seen) -> None:
        self._states += seen.states
        self._unknown += seen.unknown
        if seen.trouble:
            self._undone += 1
            if len(self._reasons) < REASONS_MAX:
                self._reasons.append(f"{task.workload.name}: {seen.trouble}")
        for signature in seen.signatures:
            self._shown[signature] += 1
            if signature not in self._first:
                made = " ".join(task.workload.comment) if task.workload.theme == "search" else "to begin with"
                self._first[signature] = First(
                    signature, task.workload.name, task.plan.number, round(self.seconds, 1), made
                )

    def _is_news(self, task: Task, seen: Seen) -> bool:
        return not seen.trouble and bool(self.corpus.new_in(seen.features))

    def _confirm(self, pool: Pool[Task], again: Sequence[tuple[Task, Seen]]) -> None:
        """What is unsure once more; what comes again then is news."""
        unsure = [(task, seen) for task, seen in again if self._is_unsure(task, seen)]
        asked = [
            msgspec.structs.replace(task, seen=task.seen | {*seen.signatures}, keep=False)
            for task, seen in unsure
        ]
        numbers = [task.plan.number for task in asked]
        answers = dict(zip(numbers, self._answers(pool, asked), strict=True))
        for task, seen in again:
            features, second = seen.features, answers.get(task.plan.number)
            if second is not None:
                features = both(seen.features, second.features) if not second.trouble else {}
            new = self.corpus.new_in(features)
            if second is not None:
                self._confirmed += bool(new)
                self._flaky += not new
                self.corpus.miss(without(self.corpus.new_in(seen.features), new))
            if new:
                self._keep(task, seen, features, new)
            self.corpus.count(features)

    def _is_unsure(self, task: Task, seen: Seen) -> bool:
        """Whether its news may be an accident. Those that the search began with are believed."""
        count = sum(len(own) // 4 for own in self.corpus.new_in(seen.features).values())
        return task.plan.number > len(self._order) and count <= FEW

    def _keep(self, task: Task, seen: Seen, features: Features, new: Features) -> None:
        entry = Entry(task.workload, seen.states, features)
        self.corpus.add(entry)
        keep_entry(self.folder / CORPUS, self.corpus.layout, entry)
        counts = {kind: len(own) // 4 for kind, own in new.items()}
        made = " ".join(task.workload.comment) if task.plan.number > len(self._order) else "to begin with"
        self._kept[task.workload.name] = Kept(task.workload.name, entry.size, seen.states, counts, made)

    # --- what is left behind

    def without_counters(self, progress: Progress) -> None:
        """What was found, once more on the kernel that does not count, with all states: so the findings are
        of the kernel that was asked about, and what is done with them needs no other builds. What does not
        come again in AGAIN recordings is no finding; search.json has it.
        Errors: KernelError, WorkerFailed, OSError."""
        spec, folders = self.spec, experiment_folders(self.folder)
        if not folders:
            return
        config = config_of(RunSpec((), (), (), check_variants(spec.config)), spec.profile, self._order[0])
        kernel = build_for(spec.guest, spec.kernel, config, progress)
        plan = msgspec.structs.replace(
            self._plan,
            kernel_key=kernel.provenance.key,
            config=config,
            state_plan=msgspec.structs.replace(self._plan.state_plan, prefixes=0),
        )
        left = []
        for folder in folders:
            with reading(folder):
                experiment = read_experiment(folder)
            if experiment.facts.config == config or experiment.history is None:
                continue
            workload = msgspec.structs.replace(experiment.history.workload, name=experiment.facts.workload)
            number = experiment.facts.number
            task = Task(msgspec.structs.replace(plan, number=number, workload=workload), keep=True)
            left.append((task, signatures_in(experiment)))
        progress.line(f"{len(left)} workloads once more, on {spec.kernel} without counters")
        try:
            with Pool[Task](work, [str(self.folder)] * (spec.jobs or len(processors()))) as pool:
                for _ in range(AGAIN):
                    answers = self._answers(pool, [task for task, _ in left])
                    left = [
                        (task, wanted)
                        for (task, wanted), seen in zip(left, answers, strict=True)
                        if not wanted <= {*seen.signatures}
                    ]
        except PoolFailed as error:
            raise WorkerFailed(str(error)) from error

    def _sample(self) -> Sample:
        corpus = self.corpus
        return Sample(
            round(self.seconds, 1),
            self.number,
            self._states,
            corpus.seen(RECORDED),
            corpus.seen(RECOVERED),
            corpus.seen(ROLES),
            len(corpus.entries),
            len(self._first),
        )

    def save(self) -> None:
        """search.json, the counts, and how many experiments there are. Errors: OSError."""
        self._samples.append(self._sample())
        self.report = msgspec.structs.replace(
            self.report,
            number=self.number,
            seconds=round(self.seconds, 1),
            states=self._states,
            unknown=self._unknown,
            undone=self._undone,
            reasons=tuple(self._reasons),
            confirmed=self._confirmed,
            flaky=self._flaky,
            edge_count=self.corpus.edge_count,
            samples=tuple(self._samples),
            first=tuple(self._first.values()),
            corpus=tuple(self._kept[one.workload.name] for one in self.corpus.entries if self.guided),
        )
        if self.guided and self.corpus.layout:
            keep_counts(self.folder / CORPUS, self.corpus)
        write_whole(self.folder / FILE, formats.encode(FILE, self.report))
        kept = experiment_folders(self.folder)
        with reading(self.folder):
            question = read_question(self.folder)
        names = tuple(dict.fromkeys(_name_of(one) for one in kept))
        write_question(self.folder, msgspec.structs.replace(question, planned=len(kept), workloads=names))

    def end(self) -> None:
        """The corpus is made small. Errors: OSError."""
        if self.guided:
            before = self.corpus.entries
            self.corpus.entries = minimized(before)
            left = {entry.workload.name for entry in self.corpus.entries}
            for entry in before:
                if entry.workload.name not in left:
                    remove_entry(self.folder / CORPUS, entry.workload.name)
            self.report = msgspec.structs.replace(self.report, minimized=len(before))
        self._before_s, self._started = self.report.seconds, 0.0
        self.save()


def signatures_in(experiment: Experiment) -> set[str]:
    """What its states showed."""
    one = profile(experiment.facts.profile)
    return set().union(*(signatures_of(one, verdicts) for verdicts in experiment.judgement.verdict_sets))


def _name_of(folder: Path) -> str:
    with reading(folder):
        return read_facts(folder).workload


__all__ = ["GUIDED", "SAMPLED", "Search", "SearchSpec", "begin", "search"]
