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
    """A line of dbench's table, in milliseconds.

    operation: as dbench names it.
    count:     how many.
    average:   latency.
    max:       latency.
    """

    operation: str
    count: int
    average: float
    max: float


class Reading(msgspec.Struct, frozen=True):
    """What a tool printed, as numbers.

    numbers: by key.
    samples: by name, of numbers that it printed one by one; mostly microseconds.
    table:   of dbench.
    line:    the line Throughput of dbench, or WRITE of fio.
    """

    numbers: dict[str, float] = {}
    samples: dict[str, tuple[float, ...]] = {}
    table: tuple[Row, ...] = ()
    line: str = ""


class CaseRun(msgspec.Struct, frozen=True):
    """One case in one boot.

    case:        its name.
    wall_s:      how long it took.
    processor_s: processor time of the guest, all its processes, on the host; of a machine, of all its
                 processors.
    reading:     what it printed.
    """

    case: str
    wall_s: float
    processor_s: float
    reading: Reading


class Boot(msgspec.Struct, frozen=True):
    """One boot of one kernel.

    side:      "A" or "B".
    number:    its place in the order of all boots.
    load:      the load average of the last minute when it began, of the host or the machine.
    device_us: a synchronous write of 4 KiB to the disk, the mean.
    runs:      one for each case.
    """

    side: str
    number: int
    load: float
    device_us: float
    runs: tuple[CaseRun, ...]


class Samples(msgspec.Struct, frozen=True):
    """One case, sampled in one boot.

    side:    "A" or "B".
    number:  of the boot.
    case:    its name.
    hertz:   samples a second of processor time.
    total:   samples.
    own:     samples in the function itself.
    under:   samples with the function on the stack; only of functions that were asked about.
    clocked: seconds between entry and return of those functions, all tasks together, where kprobes measured
             them.
    calls:   how often they were called, as above.
    """

    side: str
    number: int
    case: str
    hertz: int
    total: int
    own: dict[str, int]
    under: dict[str, int]
    clocked: dict[str, float] = {}
    calls: dict[str, int] = {}


class OperationFigures(msgspec.Struct, frozen=True):
    """What all operations of one word wrote together.

    word: of the workload.
    count: operations.
    flush, fua: entries with that flag.
    log_commits: superblocks that name a log tree.
    transaction_commits: superblocks that name none.
    bytes: bytes written.
    metadata_bytes: those of them that are metadata.
    """

    word: str
    count: int
    flush: int
    fua: int
    log_commits: int
    transaction_commits: int
    bytes: int
    metadata_bytes: int


class ExactSide(msgspec.Struct, frozen=True):
    """The exact figures of one kernel.

    recordings: of the same workload, one after the other.
    calls:      of each count, calls by function, as the experiment asks.
    """

    recordings: tuple[tuple[OperationFigures, ...], ...] = ()
    calls: tuple[dict[str, int], ...] = ()


class CaseFacts(msgspec.Struct, frozen=True):
    """How a case was run.

    name:        of the case.
    seed:        the published result that it is from.
    mkfs:        the command.
    mount:       the options.
    script:      as it was run.
    seed_script: as it was published.
    """

    name: str
    seed: str
    mkfs: str
    mount: str
    script: str
    seed_script: str


class Measured(msgspec.Struct, frozen=True):
    """One experiment on both kernels.

    experiment:       the experiment.
    scale:            how long it ran; 1 is the length of the original.
    boots_planned:    of each kernel.
    config:           variants of the kernels' configuration.
    cases:            how each was run.
    boots:            all that were done.
    samples:          of the profile.
    exact_a, exact_b: the exact figures of that kernel.
    trouble:          why something is missing, and what was kept.
    seconds:          how long it took.
    """

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
    """perf.json: performance experiments on two kernels.

    against:       kernel A.
    kernel:        kernel B.
    started:       when, in UTC.
    guest:         its kind.
    noise:         whether A and B are the same kernel, on purpose.
    machine:       processor, memory, kernel of the host, governor; of a machine, where it was measured, also
                   its name, device, scheduler, turbo.
    compiler:      of the kernels.
    tools:         programs, with their versions.
    debug:         options of the kernels' configuration that cost time.
    command:       the command line.
    measured:      one for each experiment.
    earlier_noise: by figure, what a kernel compared with itself showed earlier on this machine.
    """

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

    @property
    def on_a_machine(self) -> bool:
        return self.guest.startswith("ssh:")

    @property
    def is_virtual(self) -> bool:
        return self.machine.get("virtual", "") not in ("", "none")


def perf_folder(run: Path) -> Path:
    return run / "perf"


def read_perf(run: Path) -> PerfRun | None:
    """None when nothing was measured in this run. Errors: msgspec.DecodeError, UnknownFormat."""
    path = perf_folder(run) / "perf.json"
    return formats.read(path, PerfRun) if path.is_file() else None
