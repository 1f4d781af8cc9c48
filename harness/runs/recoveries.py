"""
Recover the states of an experiment in another way, and hold what came back against what came back first.

In:       an experiment that is done, its Plan, a way of WAYS.
Out:      again(): Recoveries: how many states, and which came back differently.
Not here: the run itself (run.py), recovery in a guest (stages/recover.py), on a real disk
          (stages/on_disk.py).

A run on a machine recovers its states there, from memory. The other ways: "here", by User Mode Linux with a
kernel of the same source; "disk", on the real disk itself, which takes longer, so only the states at the end
of each operation. Inode numbers, places on the disk and clocks may differ; trees and verdicts may not. Where
they do, a driver, a page size or a race is the cause, or something of ours. It is told in any case.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.evidence.store import reading
from harness.experiments.crash_states import CrashStates, walk_asks
from harness.experiments.examination import Setting
from harness.experiments.plan import Plan
from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSlot, GuestTrouble, LostGuest
from harness.guests.kernels import build_for, kernel_path
from harness.guests.spec import UML, GuestSpec, host_of, memory_for
from harness.hosts.running import RUNNING, remembered
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.stages.elsewhere import Foreign, Source, open_source, pack_experiment
from harness.stages.judge import Judge
from harness.stages.on_disk import OnDisk
from harness.stages.record import NotRecorded
from harness.states.log import open_log
from kernel.kernel import BadKernel
from kernel.word import RELEASES
from oracles.observation import Observation, identity
from oracles.spec import State
from oracles.verdict import Answer, Verdict
from reports.results import Difference, Experiment, Recoveries, read_experiment
from workloads.history import History

THERE, HERE, DISK = "there", "here", "disk"
WAYS = (THERE, HERE, DISK)

Back = tuple[Observation, tuple[Verdict, ...]]  # of one state


def again(run: Path, plan: Plan, way: str, progress: Progress) -> Recoveries:
    """Errors: NoResults, KernelError, BadHost, Unreachable, OSError."""
    folder = run / "experiments" / f"{plan.number:04d}"
    with reading(folder):
        experiment = read_experiment(folder)
    word = plan.kernel if way == DISK else kernel_here(plan)
    if experiment.history is None or not experiment.judgement.states:
        return Recoveries(plan.number, way, word, trouble="the experiment has no states")
    first = dict(backs(experiment))
    states = 0
    different: list[Difference] = []
    try:
        for spec, back in recovered(folder, plan, way, word, progress):
            states += 1
            if spec in first and (what := difference(first[spec], back)):
                different.append(Difference(spec, what))
    except (GuestTrouble, LostGuest, NotRecorded) as error:
        return Recoveries(plan.number, way, word, states, tuple(different), f"{way}: {error}")
    return Recoveries(plan.number, way, word, states, tuple(different))


def kernel_here(plan: Plan) -> str:
    """The kernel spec of the same source. Errors: BadKernel."""
    if plan.kernel != RUNNING:
        return plan.kernel
    release = remembered(plan.kernel_key).provenance.source_version.split(",")[0]
    word = ".".join(release.split(".")[:2])
    if word not in RELEASES:
        raise BadKernel(
            f"--recover here: {host_of(plan.guest)} runs {release}, whose source is not known here. The "
            f"releases are {', '.join(RELEASES)}; or name a tree by --kernel"
        )
    return word


def recovered(
    folder: Path, plan: Plan, way: str, word: str, progress: Progress
) -> Iterator[tuple[str, Back]]:
    with workspace() as space:
        (packing := space.path / "packing").mkdir()
        pack_experiment(folder, space.path / "pack", packing)
        (opened := space.path / "opened").mkdir()
        foreign = open_source(Source(space.path / "pack"), opened)
        spec = guest_of(plan, way, word, foreign, progress)
        with GuestSlot(spec, space) as guest_slot:
            setting = Setting(
                guest_slot,
                plan.profile,
                plan.tier,
                plan.kernel,
                space.path / "pristine",
                space.path,
                plan.with_fsck,
                audit=plan.audit,
            )
            yield from (on_disk if way == DISK else here)(plan, setting, foreign)


def guest_of(plan: Plan, way: str, word: str, foreign: Foreign, progress: Progress) -> GuestSpec:
    kind = plan.guest if way == DISK else UML
    config = plan.config if word != RUNNING else ()
    kernel = build_for(kind, word, config, progress)
    return GuestSpec(
        kernel_path(kernel),
        agent_binary(),
        plan.profile.size_bytes,
        plan.log_bytes,
        kind=kind,
        memory_mib=memory_for(foreign.held_bytes),
    )


def here(plan: Plan, setting: Setting, foreign: Foreign) -> Iterator[tuple[str, Back]]:
    with open_log(foreign.recording.log) as log:
        states = CrashStates(setting, foreign.recording, log, plan.state_plan)
        for judged in states.judged():
            yield judged.spec, (states.ledger.seen[states.ledger.last.observation], judged.verdicts)


def on_disk(plan: Plan, setting: Setting, foreign: Foreign) -> Iterator[tuple[str, Back]]:
    history = foreign.recording.history
    judge = Judge(history, setting.profile, setting.tier)
    asks = walk_asks(history, setting.profile, setting.tier)
    with (
        open_log(foreign.recording.log) as log,
        OnDisk(setting.guest_slot, setting.profile, foreign.recording.base, log, asks) as disk,
    ):
        for state in ends_of_operations(history, len(log)):
            verdicts = judge.add(disk.recover(state))
            yield state.spec, (judge.ledger.seen[judge.ledger.last.observation], verdicts)


def ends_of_operations(history: History, entry_count: int) -> Iterator[State]:
    """The prefixes up to each operation's end, and the whole log."""
    ends = {step.end_entry + 1 for step in history.run if step.returned and step.end_entry >= 0}
    for prefix in sorted(ends | {entry_count}):
        yield State(min(prefix, entry_count))


def backs(experiment: Experiment) -> Iterator[tuple[str, Back]]:
    judgement = experiment.judgement
    for state in judgement.states:
        seen = experiment.observations[state.observation]
        yield state.spec, (seen, judgement.verdict_sets[state.verdict_set])


def difference(first: Back, other: Back) -> str:
    """In one line, "" where a program could not tell them apart and the oracles say the same."""
    mounted = [back[0].mount_errno for back in (first, other)]
    if mounted[0] != mounted[1]:
        return f"the mount gave errno {mounted[0]} first, and {mounted[1]} in this way"
    trees = [back[0].tree for back in (first, other)]
    if trees[0] is not None and trees[1] is not None and identity(trees[0]) != identity(trees[1]):
        return f"the trees differ: {tree_words(first[0], other[0])}"
    answers = [{one.oracle: one.answer for one in back[1]} for back in (first, other)]
    words = [
        f"{oracle} is {answers[0][oracle]} first, and {answers[1][oracle]} in this way"
        for oracle in sorted(answers[0].keys() & answers[1].keys())
        if answers[0][oracle] != answers[1][oracle]
        and Answer.UNKNOWN not in (answers[0][oracle], answers[1][oracle])
    ]
    return "; ".join(words)


def tree_words(first: Observation, other: Observation) -> str:
    """The first path whose node differs."""
    trees = [{node.path: identity((node,)) for node in back.tree or ()} for back in (first, other)]
    path = min(path for path in trees[0].keys() | trees[1].keys() if trees[0].get(path) != trees[1].get(path))
    if path not in trees[1]:
        return f"{path} is there first, and not in this way"
    return f"{path} is not there first" if path not in trees[0] else path
