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
import zstandard

from reports import formats
from reports.results import ExperimentFacts, Judgement, Summary, read_experiment, read_question, read_summary
from reports.tests.make_run import LOST, finding, make_run
from workloads.entries import EntryFlag, EntrySummary

A, B = "6.12", "6.12+fix"
PER_KERNEL = 6


def make_compare(run: Path) -> Path:
    make_run(run)
    for number in range(1, PER_KERNEL + 1):
        _copy(run, number, PER_KERNEL + number, BESIDE.get(number, lambda judgement: judgement))
    question, summary = read_question(run), read_summary(run)
    question = msgspec.structs.replace(
        question, against=A, kernels={A: question.kernels[A], B: question.kernels[A] | {"series": ["fix"]}}
    )
    (run / "run.json").write_bytes(msgspec.json.encode(question))
    (run / "summary.json").write_bytes(formats.encode("summary.json", _with_findings(run, summary)))
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
    write(target, facts, change(experiment.judgement))


def write(folder: Path, facts: ExperimentFacts, judgement: Judgement) -> None:
    pack = zstandard.ZstdCompressor().compress
    (folder / "experiment.json").write_bytes(msgspec.json.encode(facts))
    (folder / "verdicts.json.zst").write_bytes(pack(msgspec.json.encode(judgement)))


def _with_findings(run: Path, summary: Summary) -> Summary:
    """Those of A, the panic on B too, and the name lost on ext4 by B."""
    panic = next(one for one in summary.findings if one.kind == "kernel died")
    last = read_experiment(run / "experiments" / "0010").judgement.states[-1]
    lost = finding(
        4, violation=LOST, oracle="durable", workload="replace-by-rename", experiment=10, state=last.spec
    )
    lost = msgspec.structs.replace(
        lost, signature=lost.signature.replace("btrfs", "ext4"), profile="ext4", kernel=B, count=1
    )
    again = msgspec.structs.replace(panic, id="F3", kernel=B, experiment=panic.experiment + PER_KERNEL)
    return msgspec.structs.replace(
        summary, experiments=2 * PER_KERNEL, findings=(*summary.findings, again, lost)
    )
