"""
What a run leaves, as data: the files of results/<run>/ that pages and summaries are made from.

In:       a results directory, as harness/evidence/store.py writes it.
Out:      Run, Experiment, Summary and their parts.
Not here: writing them (harness/evidence/store.py), the pages (html.py), logs and images.
"""

from pathlib import Path
from typing import Any

import msgspec
import zstandard

from oracles.observation import Observation
from oracles.verdict import Verdict
from reports import formats
from workloads.entries import EntrySummary
from workloads.history import History

CRASH, FAULTS, DAMAGE = "crash", "faults", "damage"
KINDS = (CRASH, FAULTS, DAMAGE)
FAST, SLOW = "fast", "slow"
DEVICES = (FAST, SLOW)


BLOCK_MS = 20  # so long that a guest which the host lets wait does not miss it


class Device(msgspec.Struct, frozen=True):
    """What a workload was recorded on.

    kind: fast completes writes in the order of their submission and at once; slow completes them late and out
          of order, and flushes at once.
    seed: of slow, what decides how late each write is.
    block_ms: of fast, how long a write takes while a parallel block runs; a read takes half of it. 0: no
          longer than else, so that threads meet only where there are several processors.
    """

    kind: str = FAST
    seed: int = 0
    block_ms: int = BLOCK_MS


class LogFigures(msgspec.Struct, frozen=True):
    """What a log amounts to.

    entries:        log entries, without our own marks.
    flush, fua:     entries with that flag.
    bytes:          bytes written, discards left out.
    metadata_bytes: those of them that the filesystem flagged as metadata.
    windows:        parts of the log between two FLUSHes, the end of the log included.
    """

    entries: int = 0
    flush: int = 0
    fua: int = 0
    bytes: int = 0
    metadata_bytes: int = 0
    windows: int = 0


class Coverage(msgspec.Struct, frozen=True):
    """How many of all states of one model were examined in one experiment, those that equal one of model O
    included.

    model:      R, T or N; O where not every prefix was examined; D for damage at rest, which is no crash
                model.
    places:     O: windows between two FLUSHes. R: cuts at which writes were volatile. T: writes that can be
                torn. N: recoveries that differ. D: blocks that a mount reads, each once with one content.
    whole:      places of which every state was examined; D: of which one was.
    examined:   states that were examined.
    space:      how many states there are.
    space_bits: R: the binary logarithm of that number, in place of space.
    unit_bytes: T: what a device does not tear.
    recorded:   N: recoveries that were recorded to find those that differ.
    """

    model: str
    places: int = 0
    whole: int = 0
    examined: int = 0
    space: int = 0
    space_bits: float = 0.0
    unit_bytes: int = 0
    recorded: int = 0


class ReadBlock(msgspec.Struct, frozen=True, array_like=True):
    """A block that the mount of a state read.

    block: its number, in blocks of 4 KiB.
    name:  what it belongs to, as harness/states/block_names.py names it.
    """

    block: int
    name: str


class JudgedState(msgspec.Struct, frozen=True, array_like=True):
    """One crash state.

    spec:        its name, as "O:12".
    same_as:     the spec of the earlier state with the same bytes, whose recovery serves for this one too;
                 "" when it was recovered itself.
    observation: index into observations.json.zst.
    verdict_set: index into verdict_sets.
    outcome:     of a damaged state, what recovery made of it; "" where that could not be seen.
    proven_by:   the spec of the earlier state whose recovery serves for this one too, because nothing differs
                 of what it read; "" when it was recovered itself, or has the bytes of another.
    """

    spec: str
    same_as: str
    observation: int
    verdict_set: int
    outcome: str = ""
    proven_by: str = ""


class Latency(msgspec.Struct, frozen=True):
    """Of requests to a device, from the driver to the completion.

    count:     how many.
    median_us: microseconds.
    max_us:    the longest.
    """

    count: int
    median_us: float
    max_us: float


class QueueRequest(msgspec.Struct, frozen=True, array_like=True):
    """One request to a real disk.

    kind:         write, FUA, FLUSH, read, discard or other.
    given_us:     when it was given to the disk, microseconds from the first one.
    completed_us: when it completed, likewise.
    overtook:     a write that completed before a write that had been given to the disk earlier.
    """

    kind: str
    given_us: float
    completed_us: float
    overtook: bool = False


class QueueFacts(msgspec.Struct, frozen=True):
    """What the queue of a real disk did while the run part of a workload was recorded, by the tracepoints
    block_rq_issue and block_rq_complete of its kernel.

    write_cache: a queue attribute of the disk: "write back" where it claims a volatile cache.
    fua:         another: "1" where it has FUA.
    depth:       the most requests that were under way at once.
    writes:      writes, with FUA or without, that began and completed while the workload was recorded.
    beside:      of these, those that were given to the disk while another write was under way.
    overtaking:  of these, those that completed before a write that had been given to the disk earlier.
    latencies:   by what the request is: write, FUA, FLUSH, read, discard, other.
    requests:    the first of them, in the order in which they were given to the disk.
    """

    write_cache: str
    fua: str
    depth: int
    writes: int
    beside: int
    overtaking: int
    latencies: dict[str, Latency]
    requests: tuple[QueueRequest, ...] = ()


class ExperimentFacts(msgspec.Struct, frozen=True):
    """experiment.json: what one workload on one profile and kernel was, and how it went.

    number:     of the experiment, from 1; its folder has this name.
    workload:   its name.
    theme:      the folder of the library that it lies in, "" for others.
    profile:    the profile's name.
    kernel:     the kernel, as it was asked for.
    tier:       one of posix, somc, fs.
    entries:    of the log, each as [flags, sector, sector count, mark].
    device:     what the recorded device reported of itself (queue/write_cache, queue/fua ...).
    seconds:    per stage: record, recover, judge ...
    sector_size: bytes of a sector of the log.
    trouble:    why the experiment could not be done, "" when it was; all its states are UNKNOWN then.
    device_bytes: size of the disk.
    config:     variants of the kernel's configuration.
    other_recordings: what other recordings of the same workload amounted to; only this one was recovered.
    guest:      its kind: uml, or qemu with its accelerator.
    planned:    states by model; all of model O are planned when it is empty.
    coverage:   of the models other than O, and of O where not every prefix was examined.
    kind:       what its states are: crash, faults or damage.
    points_unmet: of a run with --faults, points that no read or write came to; they are no states.
    points_left_out: of a run with --faults, points left out because there were too many.
    undamaged:  of a run with --damage or --failing-blocks, by the spec of each state of model O, an index
                into observations.json.zst: what came back of it without the damage. These are not judged.
    reads:      of a run with --damage or --failing-blocks, by the spec of each state that was damaged, the
                blocks that its mount read; of the second also those that were written.
    recorded_on: the device under the recording.
    checks:     how the checker's answers were got: run, by the checker; proven, from an earlier answer;
                audited, those of the proven for which the checker ran, too.
    proofs:     how states were done that have no earlier one's bytes: recovered; proven, by an earlier
                recovery; audited, those of the proven that were recovered, too; unsteady, those of the
                audited whose disk, and that of the earlier state, come back in more ways than one.
    queue:      of a recording on a real disk; None where there is none, or the kernel has no tracepoints.
    cpus:       processors of the guest that recorded it.
    order:      of a workload with parallel blocks whose threads were delayed, which draw of delays this is,
                from 1; 0 of one as it is written.
    """

    number: int
    workload: str
    theme: str
    profile: str
    kernel: str
    tier: str
    entries: tuple[EntrySummary, ...]
    device: dict[str, str]
    seconds: dict[str, float]
    sector_size: int = 512
    trouble: str = ""
    device_bytes: int = 0
    config: tuple[str, ...] = ()
    other_recordings: tuple[LogFigures, ...] = ()
    guest: str = "uml"
    planned: dict[str, int] = {}
    coverage: tuple[Coverage, ...] = ()
    kind: str = CRASH
    points_unmet: int = 0
    points_left_out: int = 0
    undamaged: dict[str, int] = {}
    reads: dict[str, tuple[ReadBlock, ...]] = {}
    recorded_on: Device = Device()
    checks: dict[str, int] = {}
    proofs: dict[str, int] = {}
    queue: QueueFacts | None = None
    cpus: int = 1
    order: int = 0


class Judgement(msgspec.Struct, frozen=True):
    """verdicts.json.zst: every state with its verdicts.

    states:       every state.
    verdict_sets: sets of verdicts; equal ones are written once.
    """

    states: tuple[JudgedState, ...]
    verdict_sets: tuple[tuple[Verdict, ...], ...]


class Experiment(msgspec.Struct, frozen=True):
    """One folder under experiments/, read back. `workload_text` is its workload file."""

    folder: str
    facts: ExperimentFacts
    workload_text: str
    history: History | None
    judgement: Judgement
    observations: tuple[Observation, ...]


class Repeat(msgspec.Struct, frozen=True):
    """A finding's witness, recorded again on one kernel.

    kernel:  the kernel.
    shown:   how many of the recordings showed the finding.
    times:   how many recordings there were.
    stock:   whether the kernel is the source without any series.
    trouble: why some of them could not be examined, or "".
    """

    kernel: str
    shown: int
    times: int
    stock: bool
    trouble: str = ""


class Attribution(msgspec.Struct, frozen=True):
    """A finding that went away with a fix: it is the known bug that the fix is for.

    profile:  where it was seen.
    workload: the generated workload that shows it.
    ids:      the known bugs that the fix is for.
    series:   the fix, below kernel/series/; several are joined by "+".
    """

    profile: str
    workload: str
    ids: tuple[str, ...]
    series: str


class Triage(msgspec.Struct, frozen=True):
    """followups.json: what was learnt of a finding after its run.

    repeats:    recordings of its witness again.
    minimal:    the run that `minimize` left, as a path.
    exports:    files that `export` wrote, relative to the run where they lie in it, each with what its
                trial in a guest showed.
    attributed: what `attribute` found out.
    """

    repeats: tuple[Repeat, ...] = ()
    minimal: str = ""
    exports: tuple[tuple[str, str], ...] = ()
    attributed: tuple[Attribution, ...] = ()


class KnownAs(msgspec.Struct, frozen=True):
    """A known bug of stock kernels, as its page described it when the run was summed up.

    id:       as "BTRFS-1".
    title:    of its page.
    upstream: "fixed", "reported", "not found" or "not searched"; "" where an older release did not keep it.
    """

    id: str
    title: str
    upstream: str = ""

    @property
    def page(self) -> str:
        """Relative to the root of the project."""
        return f"docs/findings/{self.id}.md"


class Finding(msgspec.Struct, frozen=True):
    """BROKEN verdicts with one signature, and the earliest state of the shortest workload that shows it.

    id:         "F1", "F2" ... in the order of the run.
    signature:  "btrfs durable: name lost (fsynced file)".
    oracle:     the oracle that reported it.
    kind:       the kind of violation, "name lost".
    role:       what the object was to the workload, "fsynced file".
    tier:       the lowest tier that asks for it.
    profile:    of the witness.
    kernel:     of the witness.
    workload:   of the witness.
    experiment: number of the witness' experiment.
    state:      spec of the witness' state.
    subject:    the path that it is about.
    expected:   what the promise allows.
    found:      what came back.
    promise:    the promise, with its source.
    count:      states that show it, over all experiments.
    workloads:  all that show it.
    repro:      the command that shows it again.
    known:      the known bugs that explain it; empty for a new finding.
    by_fix:     whether one of them is known by its fix, which removed the finding; else by what it shows.
    models:     crash models of the states that show it.
    presumes:   what a device must do for it, "" where model O shows it.
    profiles:   all that show it.
    after:      what was learnt later.
    device:     the device under the recording: fast or slow.
    """

    id: str
    signature: str
    oracle: str
    kind: str
    role: str
    tier: str
    profile: str
    kernel: str
    workload: str
    experiment: int
    state: str
    subject: str
    expected: str
    found: str
    promise: str
    count: int
    workloads: tuple[str, ...]
    repro: str
    known: tuple[KnownAs, ...] = ()
    models: tuple[str, ...] = ("O",)
    presumes: str = ""
    profiles: tuple[str, ...] = ()
    after: Triage = Triage()
    device: str = FAST
    by_fix: bool = False

    def seen_on(self, kernel: str, profile: str) -> bool:
        return self.kernel == kernel and profile in (self.profile, *self.profiles)


class StateCounts(msgspec.Struct, frozen=True):
    """Counts of states. planned is the sum of the others when every state was reached.

    planned:           states that were to be examined.
    checked:           recovered and judged.
    skipped_identical: bytes equal to those of an earlier state; judged from its recovery.
    unknown:           states for which some oracle has no answer.
    proven:            nothing differs of what the recovery of an earlier state read; judged from that.
    """

    planned: int = 0
    checked: int = 0
    skipped_identical: int = 0
    unknown: int = 0
    proven: int = 0

    @property
    def judged(self) -> int:
        """With an answer of every oracle, whatever the recovery."""
        return self.checked + self.skipped_identical + self.proven


class ModelCounts(msgspec.Struct, frozen=True):
    """Counts of the states of one crash model.

    planned:           states that were to be examined.
    checked:           recovered and judged.
    skipped_identical: bytes equal to those of an earlier state; judged from its recovery.
    unknown:           states for which some oracle has no answer.
    proven:            nothing differs of what the recovery of an earlier state read; judged from that.
    broken:            states in which some oracle reported a broken promise.
    coverage:          over all experiments; null where every state is examined, as of model O.
    """

    planned: int = 0
    checked: int = 0
    skipped_identical: int = 0
    unknown: int = 0
    proven: int = 0
    broken: int = 0
    coverage: Coverage | None = None

    @property
    def judged(self) -> int:
        """As of StateCounts."""
        return self.checked + self.skipped_identical + self.proven


class FindingCounts(msgspec.Struct, frozen=True):
    """How many findings are known, and by what.

    by_fix:       known by a fix that removed them.
    by_signature: known by what they show, in a workload or on a profile that is known for it.
    new:          the rest.
    """

    by_fix: int = 0
    by_signature: int = 0
    new: int = 0


class AnswerCounts(msgspec.Struct, frozen=True):
    """How many states one oracle gave which answer.

    holds:   HOLDS.
    broken:  BROKEN.
    unknown: UNKNOWN.
    """

    holds: int = 0
    broken: int = 0
    unknown: int = 0


class OracleSight(msgspec.Struct, frozen=True):
    """What one oracle reported of a planted bug that it does not report of the stock kernel.

    oracle:     its name.
    states:     in how many states.
    workloads:  of how many workloads.
    workload:   the first one.
    state:      its state.
    experiment: its experiment's number.
    finding:    the finding, as "F3".
    """

    oracle: str
    states: int
    workloads: int
    workload: str
    state: str
    experiment: int
    finding: str


class Detection(msgspec.Struct, frozen=True):
    """Of `run --planted`: one planted bug, and the first verdict that detected it.

    planted:       its series.
    found:         whether it was detected.
    oracle:        the first oracle that detected it.
    workload:      the first workload.
    state:         the first state.
    seconds:       of its kernel's experiments, up to and with the first that detected it.
    kernel:        the kernel with the bug.
    profiles:      where it was looked for.
    swept_seconds: of all experiments of its kernel.
    by_oracle:     every oracle that detected it.
    models:        crash models in which it was detected.
    device:        the device under the recordings: fast or slow.
    """

    planted: str
    found: bool
    oracle: str
    workload: str
    state: str
    seconds: float
    kernel: str = ""
    profiles: tuple[str, ...] = ()
    swept_seconds: float = 0.0
    by_oracle: tuple[OracleSight, ...] = ()
    models: tuple[str, ...] = ()
    device: str = FAST


class Silence(msgspec.Struct, frozen=True):
    """Of `run --planted`: what the stock kernel showed on one profile.

    kernel:      the stock kernel.
    profile:     the profile.
    experiments: how many were done.
    states:      how many were judged.
    known:       known findings, by id.
    false:       findings that no known bug explains, by id.
    """

    kernel: str
    profile: str
    experiments: int
    states: int
    known: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


class DamageCounts(msgspec.Struct, frozen=True):
    """Of `run --damage` and `run --failing-blocks`: what became of blocks of one name.

    profile:  the profile.
    kernel:   the kernel.
    name:     of the blocks.
    outcomes: how many came to which outcome.
    """

    profile: str
    kernel: str
    name: str
    outcomes: dict[str, int]


class Difference(msgspec.Struct, frozen=True):
    """A state that came back otherwise in another way of recovery.

    state: its spec.
    what:  what differs, in one line.
    """

    state: str
    what: str


class Recoveries(msgspec.Struct, frozen=True):
    """recoveries.json, one for each experiment and way: its states recovered in another way.

    experiment: its number.
    way:        "here", by a guest of the machine that powercut runs on; "disk", on the real disk itself.
    kernel:     its kernel spec there.
    states:     how many were compared.
    different:  those that came back otherwise.
    trouble:    why not all were compared, "" where they were.
    """

    experiment: int
    way: str
    kernel: str
    states: int = 0
    different: tuple[Difference, ...] = ()
    trouble: str = ""


class QueueCounts(msgspec.Struct, frozen=True):
    """What the queues of real disks did, over all recordings.

    recordings: those on a real disk whose requests were seen.
    caches:     what the disks claim: "write back" for a volatile cache.
    depth:      the most requests that were under way at once.
    writes:     as QueueFacts has them.
    beside:     as QueueFacts.
    overtaking: as QueueFacts.
    median_us:  by kind of request, the median of the recordings' medians, in microseconds.
    """

    recordings: int
    caches: tuple[str, ...]
    depth: int
    writes: int
    beside: int
    overtaking: int
    median_us: dict[str, float]


class RecoveryCounts(msgspec.Struct, frozen=True):
    """States that were recovered in another way.

    kernels:   the kernel specs that recovered them.
    states:    how many were compared.
    different: those that came back otherwise, as "EXPERIMENT STATE: what".
    """

    kernels: tuple[str, ...] = ()
    states: int = 0
    different: tuple[str, ...] = ()


class PatchRan(msgspec.Struct, frozen=True):
    """In a summary: how much of a kernel's series ran. kernel: its kernel spec. lines: how many are code.
    ran: how many of them ran, by phase and under "any". never: the first of those that never ran, as
    "fs/btrfs/tree-log.c:4711 (copy_items)". left: how many more."""

    kernel: str
    lines: int
    ran: dict[str, int]
    never: tuple[str, ...] = ()
    left: int = 0

    @property
    def unreached(self) -> bool:
        """Verdicts of this kernel say nothing about its series."""
        return not self.ran["any"]


class OrderCounts(msgspec.Struct, frozen=True):
    """How many orders the threads of a workload took, over its recordings.

    workload: its name.
    profile:  the profile's name.
    kernel:   the kernel.
    device:   under the recordings.
    calls:    recording after recording, how many different orders of the begins and ends of calls were seen
              up to there, so the last number is of all.
    logs:     the same of the logs: sequences of kinds, places and lengths of writes, and of marks.
    """

    workload: str
    profile: str
    kernel: str
    device: str
    calls: tuple[int, ...]
    logs: tuple[int, ...]


class StopCounts(msgspec.Struct, frozen=True):
    """Where calls stopped in the middle of the kernel, over the recordings of workloads with the word `stop`.

    profile:   the profile's name.
    kernel:    the kernel.
    asked:     how many stops there were to be.
    stopped:   how many there were; the other calls did not come to that entry of the function.
    workers:   of those, stops of the kernel's own threads.
    functions: different functions at whose entry or end a task stopped.
    near:      of the stops that there were, those within a function that was asked for.
    """

    profile: str
    kernel: str
    asked: int
    stopped: int
    workers: int
    functions: int
    near: int = 0


class Summary(msgspec.Struct, frozen=True, omit_defaults=False):
    """summary.json, the answer.

    exit:        0 all HOLD, 1 something BROKEN, 3 UNKNOWN or nothing examined. Of `run --planted`: 0
                 when every planted bug was detected and the stock kernel showed only known findings, else 1
                 or 3.
    experiments: how many were done.
    states:      counts over all experiments.
    log_entries: of all logs together.
    verdicts:    counts by oracle.
    findings:    all, in the order of the run.
    rates:       states per second, seconds per stage, boots of guests, answers of the checker (checks).
    queue:       of recordings on a real disk: requests to it, as QueueCounts.
    known:       how many findings are known by a fix, known by their signature, and new.
    reasons:     why something is UNKNOWN, or was not examined.
    planned_experiments: as planned in run.json.
    undone_experiments:  those that were tried and ended early.
    failed_operations: "WORKLOAD: OPERATION: ERROR", each once. They changed nothing, so they test nothing.
    detection:   of `run --planted`: each planted bug.
    stock:       of `run --planted`: the stock kernel.
    models:      by letter, the states of each crash model.
    damage:      of `run --damage` and `run --failing-blocks`: by profile and kind of block.
    recoveries:  of `run --recover`: by way, the states that were compared and those that came back otherwise,
                 as "EXPERIMENT STATE: what".
    patches:     of kernels with series that count what they execute: how much of the series ran.
    orders:      of workloads with parallel blocks that were recorded several times.
    stops:       of recordings in which calls were to stop in the middle of the kernel.
    """

    exit: int
    experiments: int
    states: StateCounts
    log_entries: int
    verdicts: dict[str, AnswerCounts]
    findings: tuple[Finding, ...]
    rates: dict[str, Any]
    reasons: tuple[str, ...] = ()
    planned_experiments: int = 0
    undone_experiments: int = 0
    failed_operations: tuple[str, ...] = ()
    detection: tuple[Detection, ...] = ()
    stock: tuple[Silence, ...] = ()
    models: dict[str, ModelCounts] = {}
    damage: tuple[DamageCounts, ...] = ()
    recoveries: dict[str, RecoveryCounts] = {}
    queue: QueueCounts | None = None
    patches: tuple[PatchRan, ...] = ()
    known: FindingCounts = FindingCounts()
    orders: tuple[OrderCounts, ...] = ()
    stops: tuple[StopCounts, ...] = ()


class Question(msgspec.Struct, frozen=True):
    """run.json, the question: enough to ask it again.

    command:  the command line.
    started:  when, in UTC.
    powercut_commit: the commit of this checkout, or the one that this installation was built from, with "+"
              when files had changed; "unknown" outside git.
    seed:     of everything that is drawn.
    tier:     one of posix, somc, fs.
    models:   crash models.
    guest:    the kind of guest.
    workloads: their names.
    kernels:  by name the provenance: source version, series with hashes, hash of the configuration, compiler.
    profiles: by name: mkfs, mount options, size, version of mkfs.
    machine:  processor, memory, kernel of the host.
    jobs:     guests at once.
    against:  of `compare`, the kernel that the other one is compared with; else "".
    budget:   states of an experiment for each model other than O.
    powercut_version: "" of runs of older releases.
    planned:  how many experiments; a run with fewer is not complete. -1 in some runs of older releases.
    devices:  under the recordings: fast, slow.
    recover:  the ways in which states were recovered: there, here, disk.
    host:     of a run on a machine: its name, address, and the claimed disk: link, serial number, bytes.
    left:     experiments that were not begun, because the time for the run was over; planned does not count
              them.
    cpus:     processors of the guests that recorded.
    orders:   recordings of each workload with parallel blocks, each with other delays; 0: one, as written.
    stops:    recordings of each workload in which a call stops in the middle of the kernel, beside others.
    near:     functions of the kernel near which they stop, as asked for; () for those that its series change.
    """

    command: tuple[str, ...]
    started: str
    powercut_commit: str
    seed: int
    tier: str
    models: tuple[str, ...]
    guest: str
    workloads: tuple[str, ...]
    kernels: dict[str, Any]
    profiles: dict[str, Any]
    machine: dict[str, Any]
    jobs: int = 1
    against: str = ""
    budget: int = 0
    planned: int = 0
    powercut_version: str = ""
    devices: tuple[str, ...] = (FAST,)
    recover: tuple[str, ...] = ()
    host: dict[str, str] = {}
    left: tuple[str, ...] = ()
    cpus: int = 1
    orders: int = 0
    stops: int = 0
    near: tuple[str, ...] = ()


def read_recoveries(run: Path) -> tuple[Recoveries, ...]:
    """Errors: OSError, msgspec.DecodeError."""
    path = run / "recoveries.json"
    return msgspec.json.decode(path.read_bytes(), type=tuple[Recoveries, ...]) if path.exists() else ()


def read_question(run: Path) -> Question:
    """Errors: OSError, msgspec.DecodeError when run.json is missing or no Question; UnknownFormat."""
    return formats.read(run / "run.json", Question)


def read_summary(run: Path) -> Summary:
    """Errors: as read_question."""
    return formats.read(run / "summary.json", Summary)


def read_packed(path: Path) -> bytes:
    """A .zst file's content, whole."""
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        return stream.read()


def read_facts(folder: Path) -> ExperimentFacts:
    """Of an experiment's folder. Errors: as read_experiment()."""
    return formats.read(folder / "experiment.json", ExperimentFacts)


def read_experiment(folder: Path) -> Experiment:
    """One experiment's folder. Errors: OSError, msgspec.DecodeError, UnknownFormat."""
    history_file = folder / "history.json"
    return Experiment(
        folder=folder.name,
        facts=read_facts(folder),
        workload_text=(folder / "workload").read_text(),
        history=formats.read(history_file, History) if history_file.exists() else None,
        judgement=msgspec.json.decode(read_packed(folder / "verdicts.json.zst"), type=Judgement),
        observations=msgspec.json.decode(
            read_packed(folder / "observations.json.zst"), type=tuple[Observation, ...]
        ),
    )
