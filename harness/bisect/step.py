"""
One step of a bisect: build a commit's kernel, run the workloads on it, say good, bad or skip.

In:       a commit, and a RunSpec for its kernel.
Out:      BisectStep, kept as steps/<run>/step.json beside the run itself; what was done once is not done
          again.
Not here: which commit is next (git.py), a run (run.py).
"""

import contextlib
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from harness.bisect.git import Commit
from harness.evidence.store import new_run, write_pretty
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from kernel.kernel import BadKernel, Unbuildable
from reports import formats
from reports.results import AnswerCounts, Summary

Answer = Literal["good", "bad", "skip"]


class Seen(msgspec.Struct, frozen=True):
    """A finding of the step that makes it bad.

    id:        in its run, as "F1".
    signature: as of a finding.
    oracle:    that reported it.
    workload:  of the witness.
    state:     of the witness.
    count:     states that show it.
    repro:     the command that shows it again.
    """

    id: str
    signature: str
    oracle: str
    workload: str
    state: str
    count: int
    repro: str


class BisectStep(msgspec.Struct, frozen=True):
    """step.json: one commit, tested.

    commit:   the commit.
    answer:   how it counts.
    reason:   why it was skipped, or "".
    run:      the folder of its run, below that of the bisection.
    states:   states that were judged.
    verdicts: counts by oracle.
    findings: those that count.
    seconds:  how long it took.
    """

    commit: Commit
    answer: Answer
    reason: str
    run: str
    states: int = 0
    verdicts: dict[str, AnswerCounts] = {}
    findings: tuple[Seen, ...] = ()
    seconds: float = 0.0


def examine(
    folder: Path,
    commit: Commit,
    run_spec: RunSpec,
    oracles: tuple[str, ...],
    progress: Progress,
    do: Callable[..., tuple[Path, Summary]] = run,
) -> BisectStep:
    """
    The step for a commit, kept before or done now.
    Errors: what `run` raises, but for a source that cannot be built: that is skipped.
    """
    for step in kept_steps(folder):
        if step.commit.hash == commit.hash:
            progress.line(f"{words(step)} (known)")
            return step
    began = time.monotonic()
    try:
        place, summary = do(run_spec, folder / "steps", progress)
    except (Unbuildable, BadKernel) as error:
        place = new_run(folder / "steps")
        reason = str(error).removeprefix(f"kernel {run_spec.kernels[0]} ")
        step = BisectStep(commit, "skip", reason, str(place.relative_to(folder)))
    else:
        answer, reason = answer_of(summary, oracles)
        step = BisectStep(
            commit,
            answer,
            reason,
            str(place.relative_to(folder)),
            summary.states.planned,
            summary.verdicts,
            seen(summary, oracles),
        )
    step = msgspec.structs.replace(step, seconds=round(time.monotonic() - began, 1))
    write_pretty(place / "step.json", step)
    progress.line(words(step))
    return step


def answer_of(summary: Summary, oracles: tuple[str, ...]) -> tuple[Answer, str]:
    """
    oracles: those that count; all when empty. The reason is that of a skip.
    A step is good only when every state was answered by every oracle that counts.
    """
    if seen(summary, oracles):
        return "bad", ""
    whole = summary.experiments >= summary.planned_experiments and not summary.undone_experiments
    if summary.exit not in (0, 1) and not (oracles and summary.states.unknown and whole):
        return "skip", "; ".join(summary.reasons[:3]) or "an UNKNOWN verdict remains"
    for name in oracles:
        counts = summary.verdicts.get(name, AnswerCounts())
        if counts.holds < summary.states.planned:
            missing = summary.states.planned - counts.holds
            return "skip", f"{name} has no verdict for {missing} of {summary.states.planned} states"
    return "good", ""


def seen(summary: Summary, oracles: tuple[str, ...]) -> tuple[Seen, ...]:
    return tuple(
        Seen(one.id, one.signature, one.oracle, one.workload, one.state, one.count, one.repro)
        for one in summary.findings
        if not oracles or one.oracle in oracles
    )


def kept_steps(folder: Path) -> list[BisectStep]:
    """Those that were done, in the order they were done in."""
    paths = (folder / "steps").glob("*/step.json")
    by_age = sorted(paths, key=lambda path: path.stat().st_mtime_ns)
    return [formats.read(path, BisectStep) for path in by_age if not path.parent.is_symlink()]


def remove_unfinished(folder: Path) -> None:
    """What was stopped in the middle is not believed."""
    for run_folder in (folder / "steps").glob("*"):
        if run_folder.is_symlink() or not (run_folder / "step.json").exists():
            with contextlib.suppress(OSError):
                run_folder.unlink() if run_folder.is_symlink() else shutil.rmtree(run_folder)


def words(step: BisectStep) -> str:
    """One line of it."""
    name = f"{step.commit.hash[:12]} {step.commit.subject}"
    if step.answer == "skip":
        return f"skip  {name}: {step.reason}"
    if step.answer == "good":
        return f"good  {name}: {step.states:,} states ({step.seconds:.0f} s)"
    first = step.findings[0]
    return f"bad   {name}: {first.signature} in {first.workload} {first.state} ({step.seconds:.0f} s)"
