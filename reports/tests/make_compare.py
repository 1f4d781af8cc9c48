"""
A small made-up comparison of two kernels on disk, for tests of its page and for looking at it.

In:       a folder.
Out:      a run as make_run.py makes it, on A ("6.12"), and the same again on B ("6.12+fix").
Not here: any truth about a filesystem.

What differs: on btrfs, A loses a name that B keeps; on ext4, B loses the one that A keeps, and writes one
FLUSH more. On btrfs both panic in the same state, and one state of ext4 is UNKNOWN on both.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from reports.results import Finding, Judgement, read_experiment, read_question, read_summary
from reports.tests.make_run import LOST, change_question, change_summary, finding, make_run, write_judged
from workloads.entries import EntryFlag, EntrySummary

A, B = "6.12", "6.12+fix"
PER_KERNEL = 6


def make_compare(run: Path) -> Path:
    make_run(run)
    for number in range(1, PER_KERNEL + 1):
        _copy(run, number, PER_KERNEL + number, BESIDE.get(number, lambda judgement: judgement))
    built = read_question(run).kernels[A]
    change_question(run, against=A, kernels={A: built, B: built | {"series": ["fix"]}})
    change_summary(run, experiments=2 * PER_KERNEL, findings=_findings(run))
    return run


def never(judgement: Judgement) -> Judgement:
    """Every state HOLDS."""
    states = (msgspec.structs.replace(state, verdict_set=0) for state in judgement.states)
    return msgspec.structs.replace(judgement, states=tuple(states))


def lost_at_the_end(judgement: Judgement) -> Judgement:
    """The last state has lost a name."""
    *before, last = judgement.states
    return msgspec.structs.replace(
        judgement, states=(*before, msgspec.structs.replace(last, verdict_set=1, same_as=""))
    )


BESIDE: dict[int, Callable[[Judgement], Judgement]] = {1: never, 4: lost_at_the_end}


def _copy(run: Path, number: int, to: int, change: Callable[[Judgement], Judgement]) -> None:
    source, target = run / "experiments" / f"{number:04d}", run / "experiments" / f"{to:04d}"
    experiment = read_experiment(source)
    entries = experiment.facts.entries
    if change is lost_at_the_end:
        entries = (*entries, EntrySummary(EntryFlag.FLUSH, 0, 0))
    facts = msgspec.structs.replace(experiment.facts, number=to, kernel=B, entries=entries)
    target.mkdir()
    for path in source.iterdir():
        (target / path.name).write_bytes(path.read_bytes())
    write_judged(target, facts, change(experiment.judgement))


def _findings(run: Path) -> tuple[Finding, ...]:
    """Those of A, the panic on B too, and the name lost on ext4 by B."""
    of_a = read_summary(run).findings
    panic = next(one for one in of_a if one.kind == "kernel died")
    last = read_experiment(run / "experiments" / "0010").judgement.states[-1]
    lost = finding(
        4, violation=LOST, oracle="durable", workload="replace-by-rename", experiment=10, state=last.spec
    )
    lost = msgspec.structs.replace(
        lost, signature=lost.signature.replace("btrfs", "ext4"), profile="ext4", kernel=B, count=1
    )
    again = msgspec.structs.replace(panic, id="F3", kernel=B, experiment=panic.experiment + PER_KERNEL)
    return (*of_a, again, lost)
