"""
One batch, done on a worker.

In:       a Batch; what the head sent once (Luggage).
Out:      Done: a row for each number, and the whole evidence of a few.
Not here: who asks for it (head.py), one experiment (harness/experiments/), a worker's process
          (harness/runs/run.py).

The experiments are done by a process of their own, as those of a run: one that dies, or whose kernel does, is
tried again, and takes no other with it. A batch may be done twice, by two workers or one after the other; it
gives the same rows each time.
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from harness.campaign.batches import Batch, experiment_number, numbers
from harness.campaign.rows import Row, Witnesses, equal_row, row_of
from harness.campaign.trouble import AuditBroken, BatchFailed
from harness.evidence.pack import pack
from harness.experiments.experiment import not_done
from harness.experiments.plan import Plan
from harness.guests.agent_binary import agent_hash
from harness.guests.filesystem import tool_version
from harness.guests.kernels import by_key
from harness.guests.probe import NoGuest
from harness.local.workspace import workspace
from harness.runs.pool import TRIES, Lost, Pool, PoolFailed
from harness.runs.run import AUDIT_FAILED, RunSpec, Worker, done_already, plans_of, work
from kernel.kernel import KernelError
from oracles.profiles import profile
from oracles.verdict import Tier
from workloads.generate import space
from workloads.workload import Workload


class Done(msgspec.Struct, frozen=True):
    """key: of the batch. witnesses: packed folders of experiments, by their number. tools: the version of
    mkfs.
    seconds: from its beginning to its end. sent: when that was, by the clock of the worker."""

    key: str
    rows: tuple[Row, ...]
    witnesses: dict[int, bytes]
    worker: str
    tools: str
    seconds: float
    sent: float


def examine(batch: Batch, worker: str, going: Callable[[], bool] = lambda: True) -> Done:
    """going: asked before each experiment; when it says no, the batch is given up.
    Errors: BatchFailed, AuditBroken."""
    started = time.monotonic()
    try:
        with workspace() as scratch:
            rows, witnesses = _examine(batch, worker, scratch.path, going)
        tools = tool_version(profile(batch.profile))
    except (OSError, PoolFailed, KernelError, NoGuest) as error:
        raise BatchFailed(f"{error}") from error
    return Done(batch.key, rows, witnesses, worker, tools, round(time.monotonic() - started, 2), time.time())


def _examine(
    batch: Batch, worker: str, scratch: Path, going: Callable[[], bool]
) -> tuple[tuple[Row, ...], dict[int, bytes]]:
    run = scratch / "run"
    (run / "experiments").mkdir(parents=True)
    made = {number: space.made(batch.asked, number) for number in numbers(batch)}
    rows = {
        number: equal_row(batch, number, experiment_number(batch, number))
        for number, workload in made.items()
        if workload is None
    }
    by_experiment = {experiment_number(batch, number): number for number in made}
    kept = Witnesses(batch.witnesses)
    asked = plans(batch, {number: one for number, one in made.items() if one is not None})
    with audited(run), Pool[Plan](work, [Worker(str(run))]) as pool:
        for plan, said in pool.perform(asked, going):
            if isinstance(said, Lost):
                if done_already(plan, run) is None:
                    not_done(
                        plan, run, f"the worker was {said.how}, {TRIES} times during this experiment", ""
                    )
            elif said.kind != "done":
                continue
            folder = run / "experiments" / f"{plan.number:04d}"
            number = by_experiment[plan.number]
            rows[number] = row_of(batch, number, folder, worker)
            before = kept.experiments()
            kept.add(rows[number])
            for useless in (before | {plan.number}) - kept.experiments():
                shutil.rmtree(run / "experiments" / f"{useless:04d}")
    if len(rows) < len(made):
        raise BatchFailed("the campaign was stopped")
    return tuple(rows[number] for number in sorted(rows)), _packed(run, kept)


@contextlib.contextmanager
def audited(run: Path) -> Iterator[None]:
    """Errors: AuditBroken in place of PoolFailed, where that was the failure."""
    try:
        yield
    except PoolFailed as error:
        if not (run / AUDIT_FAILED).exists():
            raise
        pack(run / AUDIT_FAILED, run / "audit.pack")
        raise AuditBroken(str(error), (run / "audit.pack").read_bytes()) from None


def _packed(run: Path, kept: Witnesses) -> dict[int, bytes]:
    found = {}
    for experiment in sorted(kept.experiments()):
        file = run / f"{experiment}.pack"
        pack(run / "experiments" / f"{experiment:04d}", file)
        found[experiment] = file.read_bytes()
        with contextlib.suppress(OSError):
            file.unlink()
    return found


def plans(batch: Batch, made: dict[int, Workload]) -> list[Plan]:
    """One for each workload, numbered as in the whole campaign. Errors: BuildFailed."""
    if not made:
        return []
    asked = run_spec(batch, tuple(made.values()))
    kernels = {(batch.kernel, batch.config): by_key(batch.guest, batch.kernel_key)}
    return [
        msgspec.structs.replace(plan, number=experiment_number(batch, number), sparing=True)
        for number, plan in zip(made, plans_of(asked, kernels, batch.guest, agent_hash()), strict=True)
    ]


def run_spec(batch: Batch, workloads: tuple[Workload, ...]) -> RunSpec:
    """The run that would do the same."""
    return RunSpec(
        workloads=workloads,
        profiles=(profile(batch.profile),),
        kernels=(batch.kernel,),
        config=batch.config,
        tier=Tier(batch.tier),
        models=batch.models,
        budget=batch.budget,
        seed=batch.seed,
        with_fsck=batch.fsck,
        guest=batch.guest,
        repeats=False,
        prefixes=batch.prefixes,
        audit_percent=batch.audit,
        coverage=False,
    )
