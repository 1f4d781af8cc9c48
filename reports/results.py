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


class LogFigures(msgspec.Struct, frozen=True):
    """entries: without our marks. flush, fua: entries with that flag. bytes: written, discards left out;
    metadata_bytes: those of them that the filesystem flagged as metadata.
    windows: what lies between two FLUSHes; an end without a FLUSH is one, too."""

    entries: int = 0
    flush: int = 0
    fua: int = 0
    bytes: int = 0
    metadata_bytes: int = 0
    windows: int = 0


class Coverage(msgspec.Struct, frozen=True):
    """
    Of one experiment and model, how many of all its states were examined, model O's equals among them.

    places:     R: cuts at which writes were volatile; T: writes that can be torn; N: recoveries that differ;
                D (no crash model, but damage at rest): blocks that a mount reads, each once with one content.
    whole:      places of which every state was examined; D: of which one was.
    space:      how many states there are; of R its binary logarithm, space_bits.
    unit_bytes: T: what a device does not tear. recorded: N: recoveries recorded to find those that differ.
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
    """A block of 4 KiB that the mount of a state read. name: of harness/states/block_names.py."""

    block: int
    name: str


class JudgedState(msgspec.Struct, frozen=True, array_like=True):
    """One crash state.

    spec:        "O:12". same_as: the spec of the earlier state with the same bytes, whose recovery
                 serves for this one too; "" when it was recovered itself.
    observation: index into Experiment.observations. verdict_set: index into Experiment.verdict_sets.
    outcome:     of a damaged state, what recovery made of it (oracles.faults.damage.Outcome); "" where
                 nobody could look.
    """

    spec: str
    same_as: str
    observation: int
    verdict_set: int
    outcome: str = ""


class ExperimentFacts(msgspec.Struct, frozen=True):
    """experiment.json: what one workload on one profile and kernel was, and how it went.

    trouble:   "" or why the experiment could not be done; then all its states are UNKNOWN.
    device:    what the recorded device said of itself (queue/write_cache, queue/fua ...).
    seconds:   per stage (record, recover, judge ...). device_bytes: size of the disk.
    config:    variants of its kernel. guest: its kind.
    kind:      of KINDS: what its states are. points_unmet: of a sweep of faults, points that nothing
               which was read or written came past; they are no states. points_left_out: of too many.
    other_recordings: what other recordings of the same amounted to; only this one was recovered.
    planned:   states by model; without it all of model O. coverage: of the other models.
    undamaged: of kind DAMAGE, by spec of each state of model O, index into Experiment.observations of what
    came
               back of it; these states are not judged. reads: by spec of each state that was damaged.
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


class Judgement(msgspec.Struct, frozen=True):
    """verdicts.json.zst: every state with its verdicts; equal sets of verdicts are written once."""

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
    """The witness recorded `times` more on this kernel: `shown` of them gave the finding again.
    stock: whether it is the source without any series. trouble: "" or what kept some from being examined."""

    kernel: str
    shown: int
    times: int
    stock: bool
    trouble: str = ""


class Attribution(msgspec.Struct, frozen=True):
    """A finding of one workload on one profile does not appear with this series (several are joined by "+"):
    it is the bug with this ID, or one of the bugs with these IDs."""

    profile: str
    workload: str
    ids: tuple[str, ...]
    series: str


class Triage(msgspec.Struct, frozen=True):
    """followups.json: what was learnt of a finding after its run.

    minimal: the run that minimize left, as a path. exports: files, relative to the run where they lie in it,
    that were tried on guests before they were kept, each with what was seen. attributed: by the command of
    that name.
    """

    repeats: tuple[Repeat, ...] = ()
    minimal: str = ""
    exports: tuple[tuple[str, str], ...] = ()
    attributed: tuple[Attribution, ...] = ()


class KnownAs(msgspec.Struct, frozen=True):
    """A known bug of stock kernels, as its page described it when the run was summed up.

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
    """BROKEN verdicts with one signature, with the earliest state of the shortest workload.

    id:        "F1", "F2" ... in the order of the run. signature: "btrfs durable: name lost (fsynced file)".
    experiment: the number of the witness' experiment. state: its spec.
    count:     states that show it, over all experiments. repro: the command that shows it again.
    known:     the known bugs that explain it; empty for a new finding.
    models:    crash models of the states that show it. presumes: what a device must do for it, "" where
               model O shows it.
    profile:   of the witness; profiles: all that show it.
    after:     what was learnt later.
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

    def seen_on(self, kernel: str, profile: str) -> bool:
        return self.kernel == kernel and profile in (self.profile, *self.profiles)


class StateCounts(msgspec.Struct, frozen=True):
    """planned = checked + skipped_identical + unknown when every state was reached.

    checked: recovered and judged. skipped_identical: bytes equal to an earlier state's, judged from its
    recovery. unknown: states for which some oracle could not say. windows: what lies between two FLUSHes.
    """

    planned: int = 0
    checked: int = 0
    skipped_identical: int = 0
    unknown: int = 0


class ModelCounts(msgspec.Struct, frozen=True):
    """StateCounts of one crash model; broken: states in which some oracle saw a promise broken.
    coverage: over all experiments; None of model O, which has no others."""

    planned: int = 0
    checked: int = 0
    skipped_identical: int = 0
    unknown: int = 0
    broken: int = 0
    coverage: Coverage | None = None


class AnswerCounts(msgspec.Struct, frozen=True):
    """How many states an oracle answered with what."""

    holds: int = 0
    broken: int = 0
    unknown: int = 0


class OracleSight(msgspec.Struct, frozen=True):
    """What one oracle saw of a planted bug that the stock kernel does not show: in how many states of how
    many workloads, and where first. finding: that violation's, as "F3"."""

    oracle: str
    states: int
    workloads: int
    workload: str
    state: str
    experiment: int
    finding: str


class Detection(msgspec.Struct, frozen=True):
    """--planted: one planted bug, and the first verdict that saw it.

    seconds:       of its kernel's experiments, up to and with the one that saw it; swept_seconds: of all.
    by_oracle:     every oracle that saw it.
    models:        crash models in which it was seen.
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


class Silence(msgspec.Struct, frozen=True):
    """--planted: what the stock kernel gave on one profile. known, false: finding ids; false are those that
    no known bug explains."""

    kernel: str
    profile: str
    experiments: int
    states: int
    known: tuple[str, ...] = ()
    false: tuple[str, ...] = ()


class DamageCounts(msgspec.Struct, frozen=True):
    """Damage at rest to blocks of one name on one profile and kernel: how many came to what
    (oracles.faults.damage.Outcome)."""

    profile: str
    kernel: str
    name: str
    outcomes: dict[str, int]


class Summary(msgspec.Struct, frozen=True, omit_defaults=False):
    """summary.json, the answer. exit: 0 all HOLD, 1 something BROKEN, 3 UNKNOWN or nothing examined; of a
    sweep 0 when every planted bug was found and the stock kernel gave nothing but what is known, else 1 or 3.

    failed_operations: "WORKLOAD: OPERATION: ERROR", each once: they changed nothing, so they test nothing.
    planned_experiments: as Question.planned. undone_experiments: those that were tried and ended early.
    models: by letter, the states of each crash model. damage: of damage at rest, by profile and kind of
    block.
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


class Question(msgspec.Struct, frozen=True):
    """run.json, the question: enough to ask it again.

    kernels: name to provenance (source version, series with hashes, config hash, compiler).
    profiles: name to {mkfs, mount options, size, mkfs version}. machine: processor, memory, host kernel.
    against: of `compare`, the kernel the other one is held against; else "".
    budget: states of an experiment for each model but O.
    planned: experiments; a run with fewer is not whole. formats.NOT_KNOWN of some older runs.
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


def read_experiment(folder: Path) -> Experiment:
    """One experiment's folder. Errors: OSError, msgspec.DecodeError, UnknownFormat."""
    history_file = folder / "history.json"
    return Experiment(
        folder=folder.name,
        facts=formats.read(folder / "experiment.json", ExperimentFacts),
        workload_text=(folder / "workload").read_text(),
        history=formats.read(history_file, History) if history_file.exists() else None,
        judgement=msgspec.json.decode(read_packed(folder / "verdicts.json.zst"), type=Judgement),
        observations=msgspec.json.decode(
            read_packed(folder / "observations.json.zst"), type=tuple[Observation, ...]
        ),
    )
