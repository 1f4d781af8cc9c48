"""
Runs made by hand, for tests: what a guest would have told is made up, the rest is the store's own.

In:       a folder; which states fail and how.
Out:      experiments in it, as experiments/experiment.py keeps them.
Not here: recording and recovery.
"""

import shutil
from pathlib import Path

import msgspec

from harness.evidence.store import (
    compress_file,
    experiment_folder,
    keep_base,
    write_experiment,
    write_question,
    write_summary,
)
from harness.evidence.summary import sum_up
from harness.stages.judge import DamageJudge, FaultJudge, Judge
from harness.stages.recover import Recovered
from harness.states.log import Entry, write_log
from oracles.observation import FaultRun, FaultStep, Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, without
from oracles.verdict import Tier
from reports.pages.html import write_report
from reports.results import DAMAGE, FAULTS, ExperimentFacts, Judgement, Question, ReadBlock, read_experiment
from reports.tests.make_run import make_run
from workloads.entries import EntryFlag, EntrySummary
from workloads.text import format as format_workload

SOURCE = "run\n  creat foo\n  fsync foo\n"
BENCH = Bench(SOURCE)
ENTRY_COUNT = BENCH.history.entry_count
FLUSHED = tuple(EntrySummary(EntryFlag.FLUSH, 8 * n, 1) for n in range(ENTRY_COUNT))
WHOLE = BENCH.tree()
EMPTY = BENCH.tree(0)
DEVICE_BYTES = 1 << 20


def seen(prefix: int, **instead: object) -> bytes:
    """What a good filesystem recovers to at this prefix: foo appears when its fsync has returned."""
    tree = WHOLE if prefix == ENTRY_COUNT else EMPTY
    return msgspec.json.encode(Observation(**{"tree": tree, "probe_steps": 1, **instead}))


def judged(
    reports: dict[int, bytes] | None = None, same: tuple[int, ...] = (), upto: int = ENTRY_COUNT
) -> Judge:
    """reports: by prefix, instead of the good ones. same: prefixes whose disk equals the one before."""
    judge = Judge(BENCH.history, profile("btrfs"), Tier.FS)
    for prefix in range(upto + 1):
        same_as = f"O:{prefix - 1}" if prefix in same else ""
        judge.add(Recovered(f"O:{prefix}", prefix, same_as, (reports or {}).get(prefix, seen(prefix))))
    return judge


def keep(
    run: Path,
    number: int = 1,
    judge: Judge | None = None,
    entries: tuple[EntrySummary, ...] = FLUSHED,
    trouble: str = "",
    recorded: bool = True,
) -> Path:
    """An experiment of the run. Not recorded: it has no history and no state."""
    judge = judge or judged()
    facts = ExperimentFacts(
        number, "made", "theme", "btrfs", "test", "fs", entries, {}, {"recover": 1.0}, trouble=trouble
    )
    checks = {"run": 2, "proven": 3, "audited": number}
    facts = msgspec.structs.replace(facts, device_bytes=DEVICE_BYTES, checks=checks)
    base, log = run / "base", run / "log"
    base.write_bytes(bytes(DEVICE_BYTES))
    write_log(log, (Entry(entry.sector, 1, EntryFlag.FLUSH, bytes([1]) * 512) for entry in FLUSHED))
    with experiment_folder(run, number) as folder:
        compress_file(log, folder / "log.zst")
        keep_base(base, folder)
        write_experiment(
            folder,
            facts if recorded else msgspec.structs.replace(facts, entries=()),
            format_workload(BENCH.history.workload),
            BENCH.history if recorded else None,
            judge.ledger.judgement() if recorded else Judgement((), ()),
            judge.ledger.observations() if recorded else b"[]",
            "kernel log\n",
            "#!/bin/sh\n",
        )
    base.unlink()
    log.unlink()
    return run / "experiments" / f"{number:04d}"


def of_one_kind(run: Path, bench: Bench, judge: FaultJudge | DamageJudge, **facts: object) -> Path:
    """A run of one experiment: the bench's workload, judged by this judge. facts: of ExperimentFacts. The
    report's folder."""
    make_run(run, good=True)
    first, *others = sorted((run / "experiments").iterdir())
    made = read_experiment(first).facts
    for folder in others:
        shutil.rmtree(folder)
    with experiment_folder(run, made.number) as folder:
        write_experiment(
            folder,
            msgspec.structs.replace(made, workload="w", **facts),
            format_workload(bench.history.workload),
            bench.history,
            judge.ledger.judgement(),
            judge.ledger.observations(),
            "",
            "",
        )
    write_summary(run, sum_up(run, 1.0))
    return write_report(run)


FAILED = "setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n"
FAULT_POINTS = ("F:error-writes@2:8192+8", "F:error-writes@2:16384+8", "F:error-writes@2")


def keep_faults(run: Path) -> Path:
    """A run of one experiment: at each of the points the fsync succeeds, and the write is not there."""
    bench = Bench(FAILED)
    judge = FaultJudge(bench.history, profile("btrfs"), Tier.FS)
    steps = tuple(
        FaultStep(step.index, 0, step.inode, 16, 0, 0, int(step.index == 2))
        for step in (*bench.history.setup, *bench.history.run)
    )
    fault = FaultRun(steps=steps, root_inode=256, after_call="")
    for spec in FAULT_POINTS:
        judge.add(spec, msgspec.json.encode(Observation(tree=bench.tree(0), probe_steps=1, fault=fault)))
    of_one_kind(run, bench, judge, kind=FAULTS, planned={})
    return run


BLOCK_NAME = "log tree leaf"


def keep_damages(run: Path) -> Path:
    """A run of one experiment: damages of two blocks take foo away, and nothing tells of it."""
    bench = Bench("setup\n  write foo 0 8K\nrun\n  write bar 0 8K\n  fsync bar\n")
    judge = DamageJudge(bench.history, profile("btrfs"), Tier.FS)
    lost = msgspec.json.encode(Observation(tree=without(bench.tree(), "foo")))
    for spec in ("O:4", "O:6"):
        judge.add_undamaged(spec, msgspec.json.encode(Observation(tree=bench.tree())))
    judge.read = {spec: (ReadBlock(9540, BLOCK_NAME), ReadBlock(9541, BLOCK_NAME)) for spec in ("O:4", "O:6")}
    for spec in ("D:O:4/9540^7", "D:O:6/9540.3=0", "D:O:6/9540^77", "D:O:6/9541.0=0"):
        judge.add(spec, "", lost)
    facts = {"undamaged": judge.undamaged, "reads": judge.read, "device_bytes": 256 << 20}
    of_one_kind(run, bench, judge, kind=DAMAGE, planned={"D": 4}, **facts)
    return run


def asked(command: tuple[str, ...] = ("powercut", "run"), planned: int = 1) -> Question:
    one = Question(command, "2026-01-01T00:00:00Z", "abc", 0, "fs", ("O",), "uml", ("made",), {}, {}, {})
    return msgspec.structs.replace(one, planned=planned)


def question(run: Path, command: tuple[str, ...] = ("powercut", "run"), planned: int = 1) -> None:
    write_question(run, asked(command, planned))
