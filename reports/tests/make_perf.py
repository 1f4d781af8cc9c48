"""
A made-up performance comparison, for tests of its words and page and for looking at it.

In:       how much faster B is, how noisy a boot.
Out:      PerfRun with a latency experiment (counts, samples, times), dbench and fio.
Not here: real figures.
"""

import random
import statistics

from msgspec.structs import replace

from reports.perf.results import (
    Boot,
    CaseFacts,
    CaseRun,
    ExactSide,
    Measured,
    OperationFigures,
    PerfRun,
    Reading,
    Row,
    Samples,
)
from reports.perf.tools import write_line
from workloads.perf.experiment import Case, PerfExperiment, mkfs_of, mount_of, script_at, select


def boots(experiment: PerfExperiment, count: int, factor: float, noise: float) -> tuple[Boot, ...]:
    """B takes `factor` of A's time; each boot is off by about `noise`."""
    made = []
    draw = random.Random(experiment.name)
    for number, side in enumerate([side for n in range(count) for side in ("AB" if n % 2 == 0 else "BA")], 1):
        time = (factor if side == "B" else 1.0) * draw.lognormvariate(0, noise)
        runs = tuple(
            CaseRun(case.name, 2.0 * time, 1.5 * time, reading(experiment, case, time, draw))
            for case in experiment.case
        )
        made.append(Boot(side, number, 1.5, 90.0, runs))
    return tuple(made)


def reading(experiment: PerfExperiment, case: Case, time: float, draw: random.Random) -> Reading:
    if experiment.reader == "dbench":
        rows = tuple(Row(name, int(1000 / time), 0.1 * time, 20 * time) for name in ("NTCreateX", "Rename"))
        numbers = {"throughput": 900 / time, "max_latency": 100 * time}
        for row in rows:
            numbers |= {f"{row.operation}.average": row.average, f"{row.operation}.max": row.max}
        line = f"Throughput {900 / time:.2f} MB/sec  16 clients  16 procs  max_latency={100 * time:.3f} ms"
        return Reading(numbers, table=rows, line=line)
    if experiment.reader == "fio":
        numbers = {"bw": 36.6 / time, "runtime": 223689 * time, "sync.p50": 900 * time}
        return Reading(numbers, line=write_line(36.6 * (1 << 20) / time, 8 << 30, 223689 * time))
    samples = {}
    numbers = {}
    for name in ("rename", "link", "fsync"):
        values = tuple(80 * time * draw.lognormvariate(0, 0.2) for _ in range(60))
        samples[name] = values
        numbers |= {f"{name}.median": statistics.median(values), f"{name}.mean": statistics.fmean(values)}
        numbers[f"{name}.p99"] = max(values)
    return Reading(numbers, samples)


def facts(experiment: PerfExperiment, scale: float) -> tuple[CaseFacts, ...]:
    return tuple(
        CaseFacts(
            case.name,
            case.seed,
            mkfs_of(experiment, case),
            mount_of(experiment, case),
            script_at(experiment, case, scale),
            script_at(experiment, case, 1),
        )
        for case in experiment.case
    )


def samples(experiment: PerfExperiment, count: int) -> tuple[Samples, ...]:
    assert experiment.profile
    case = experiment.profile.cases[0]
    made = []
    for number in range(count):
        made.append(
            Samples("A", number, case, 4999, 1000, {"sync": 400 + number, "copy": 100}, {"f": 300 + number})
        )
        made.append(
            Samples("B", number, case, 4999, 1000, {"sync": 10, "copy": 150 + number}, {"f": 30 + number})
        )
    return tuple(made)


def exact(commits: int) -> ExactSide:
    figures = (
        OperationFigures("rename", 20, commits, commits, commits, 0, 4096 * commits, 4096 * commits),
        OperationFigures("fsync", 2, 2, 2, 2, 0, 8192, 8192),
    )
    return ExactSide((figures, figures), ({"btrfs_sync_log": commits + 2},) * 2)


def make_perf(factor: float = 0.25, noise: float = 0.05, count: int = 8) -> PerfRun:
    measured = []
    for name in ("link-rename-latency", "dbench", "fsync-fio"):
        (one,) = select((name,))
        first = name == "link-rename-latency"
        measured.append(
            Measured(
                experiment=one,
                scale=0.5,
                boots_planned=count,
                config=("perf",),
                cases=facts(one, 0.5),
                boots=boots(one, count, factor, noise),
                samples=samples(one, count) if first else (),
                exact_a=exact(20) if first else ExactSide(),
                exact_b=exact(0) if first else ExactSide(),
                trouble=("boots: made up",) if name == "fsync-fio" else (),
                seconds=12.0,
            )
        )
    return PerfRun(
        against="6.12+before/log-commit-on-rename-and-link",
        kernel="6.12",
        started="2026-11-21T20:00:00Z",
        guest="uml",
        noise=False,
        machine={"processor": "made up", "processors": 2, "host_kernel": "6.1", "governor": "performance"},
        compiler="gcc 12",
        tools={"dbench": "4.0-2.1"},
        debug=(),
        command=("powercut", "compare", "--perf"),
        measured=tuple(measured),
    )


def make_perf_there(virtual: str = "none") -> PerfRun:
    """The same on a machine of the user's, where kprobes timed a function."""
    run = make_perf()
    first, *others = run.measured
    clocked = tuple(
        replace(one, clocked={"f": (0.6 if one.side == "A" else 0.35) + one.number / 1000}, calls={"f": 3})
        for one in first.samples
    )
    facts = {
        "processor": "Made Up 3000",
        "processors": 12,
        "memory_bytes": 64 << 30,
        "host_kernel": "6.12.1",
        "governor": "performance",
        "turbo": "off",
        "virtual": virtual,
        "scheduler": "none",
        "requests": "1023",
        "write_cache": "write back",
        "model": "Fast SSD",
        "name": "nuc1",
        "device": "/dev/disk/by-id/nvme-Fast_SSD_1",
        "load": [0.1, 0.1, 0.1],
    }
    measured = (replace(first, samples=clocked, config=("bpf",)), *others)
    return replace(run, guest="ssh:nuc1", machine=facts, measured=measured)
