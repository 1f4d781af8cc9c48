"""
What a performance comparison leaves, as data: perf/perf.json of a run.

In:       nothing; harness/perf/ fills these.
Out:      PerfRun and its parts, frozen; read_perf().
Not here: what the numbers say of A and B (answers.py), tables and pages.

Three kinds of figure, never mixed: exact (counts of a recorded log, counted calls), profile (shares of
samples), time (each boot one value). A is the kernel held against (--against), B the one in question.
"""

from pathlib import Path
from typing import Any

import msgspec

from reports import formats
from workloads.perf.experiment import PerfExperiment

KINDS = ("exact", "profile", "time")


class Row(msgspec.Struct, frozen=True, array_like=True):
    """A line of dbench's table; milliseconds."""

    operation: str
    count: int
    average: float
    max: float


class Reading(msgspec.Struct, frozen=True):
    """What a tool said, as numbers. samples: by name, of those it gave one by one; microseconds mostly.
    table: dbench's. line: its Throughput line, or fio's WRITE line."""

    numbers: dict[str, float] = {}
    samples: dict[str, tuple[float, ...]] = {}
    table: tuple[Row, ...] = ()
    line: str = ""


class CaseRun(msgspec.Struct, frozen=True):
    """One case in one boot. processor_s: of the guest, all its processes, on the host's processors."""

    case: str
    wall_s: float
    processor_s: float
    reading: Reading


class Boot(msgspec.Struct, frozen=True):
    """side: "A" or "B". number: its place in the order of all boots. load: the host's load average of the
    last minute when it began. device_us: a synchronous write of 4 KiB to the guest's disk, the median."""

    side: str
    number: int
    load: float
    device_us: float
    runs: tuple[CaseRun, ...]


class Samples(msgspec.Struct, frozen=True):
    """One case sampled in one boot. hertz: samples a second of processor time. own: samples in the function
    itself. under: samples with it on the stack; only of the functions that were asked about."""

    side: str
    number: int
    case: str
    hertz: int
    total: int
    own: dict[str, int]
    under: dict[str, int]


class OperationFigures(msgspec.Struct, frozen=True):
    """What all operations of one word wrote together. log_commits: superblocks that name a log tree;
    transaction_commits: those that name none."""

    word: str
    count: int
    flush: int
    fua: int
    log_commits: int
    transaction_commits: int
    bytes: int
    metadata_bytes: int


class ExactSide(msgspec.Struct, frozen=True):
    """recordings: of the same workload, one after the other. calls: as the experiment asks, of each count."""

    recordings: tuple[tuple[OperationFigures, ...], ...] = ()
    calls: tuple[dict[str, int], ...] = ()


class CaseFacts(msgspec.Struct, frozen=True):
    """How a case was run: the script as executed, and as the seed has it."""

    name: str
    seed: str
    mkfs: str
    mount: str
    script: str
    seed_script: str


class Measured(msgspec.Struct, frozen=True):
    """One experiment on both kernels. trouble: why something of it is missing, and what was kept."""

    experiment: PerfExperiment
    scale: float
    boots_planned: int
    config: tuple[str, ...]
    cases: tuple[CaseFacts, ...]
    boots: tuple[Boot, ...] = ()
    samples: tuple[Samples, ...] = ()
    exact_a: ExactSide = ExactSide()
    exact_b: ExactSide = ExactSide()
    trouble: tuple[str, ...] = ()
    seconds: float = 0.0


class PerfRun(msgspec.Struct, frozen=True):
    """perf.json. machine: processor, memory, host kernel, governor. debug: options of the kernels' config
    that cost time. noise: A and B are the same kernel, on purpose."""

    against: str
    kernel: str
    started: str
    guest: str
    noise: bool
    machine: dict[str, Any]
    compiler: str
    tools: dict[str, str]
    debug: tuple[str, ...]
    command: tuple[str, ...]
    measured: tuple[Measured, ...]
    earlier_noise: dict[str, str] = {}


def perf_folder(run: Path) -> Path:
    return run / "perf"


def read_perf(run: Path) -> PerfRun | None:
    """None when nothing was measured in this run. Errors: msgspec.DecodeError, UnknownFormat."""
    path = perf_folder(run) / "perf.json"
    return formats.read(path, PerfRun) if path.is_file() else None
