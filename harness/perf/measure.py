"""
Performance experiments on two kernels: boot by boot in turn, and what each gave.

In:       a PerfWish: the experiments, the two kernel specs, scale, boots, kinds of figure.
Out:      PerfRun in <run>/perf/perf.json, whole after each experiment; the tools' own words in perf/raw/.
Not here: one boot (boot.py), counts (exact.py), samples (sampling.py), what the figures say (reports/perf/).

Boots go A B B A A B B A: what changes on the host in the meantime, slowly, falls on both alike. An
experiment that fails keeps what it has, and the next one goes on.
"""

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import write_whole
from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import NoFilesystemTool, make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec, GuestTrouble, LostGuest
from harness.guests.spec import INBOX_BYTES, OUTBOX_BYTES
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.local.workspace import Workspace, memory_folder, workspace
from harness.perf.boot import MeasuredGuest, NotMeasured, bench, profile_of, quietest_processor
from harness.perf.exact import counted_calls, recorded_figures, workload_of
from harness.perf.sampling import samples, sampling
from harness.runs.run import LOG_BYTES, NoRoom, machine_facts
from harness.stages.gcov import NotCounted
from harness.stages.record import NotRecorded
from harness.states.log import BadLog
from kernel import cache
from kernel.build import build, parse
from kernel.kernel import Kernel
from reports import formats
from reports.perf.results import (
    KINDS,
    Boot,
    CaseFacts,
    CaseRun,
    ExactSide,
    Measured,
    PerfRun,
    Samples,
    perf_folder,
)
from reports.perf.tools import Unreadable, read
from workloads.perf.experiment import (
    Case,
    PerfExperiment,
    mkfs_of,
    mount_of,
    numbers_of,
    script_at,
)

RECORDINGS = 2  # of exact figures: where the two differ, both are told
EXACT_DEVICE_BYTES = 512 << 20
MEASURE_LOG_BYTES = 1 << 20  # of the guests that are timed, which record nothing
DEBUG_OPTIONS = (
    "BTRFS_ASSERT",
    "BTRFS_DEBUG",
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_LIST",
    "DEBUG_PAGEALLOC",
    "GCOV_KERNEL",
    "KASAN",
    "PROVE_LOCKING",
    "SLUB_DEBUG_ON",
    "UBSAN",
    "XFS_DEBUG",
)
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
# One experiment's trouble, which leaves the others as they are.
TROUBLE = (
    BadLog,
    GuestTrouble,
    LostGuest,
    NoFilesystemTool,
    NotCounted,
    NotMeasured,
    NotRecorded,
    Unreadable,
)


class PerfWish(msgspec.Struct, frozen=True):
    """scale, boots: None for each experiment's own. kinds: of KINDS. config: beside the experiments' own."""

    experiments: tuple[PerfExperiment, ...]
    against: str
    kernel: str
    config: tuple[str, ...] = ()
    scale: float | None = None
    boots: int | None = None
    kinds: tuple[str, ...] = KINDS
    noise: bool = False
    guest: str = "uml"
    command: tuple[str, ...] = ()


def measure(run_spec: PerfWish, run: Path, progress: Progress) -> PerfRun:
    """Errors: kernel.kernel.KernelError, AgentError, NoRoom, OSError."""
    require_memory(run_spec.experiments)
    kernels = {variants: build_both(run_spec, variants, progress) for variants in all_variants(run_spec)}
    agent = agent_binary()
    perf_folder(run).mkdir(parents=True, exist_ok=True)
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done: list[Measured] = []
    for experiment in run_spec.experiments:
        one = Course(run_spec, experiment, kernels, agent, perf_folder(run) / "raw", progress).go()
        for sentence in one.trouble:
            progress.line(f"{experiment.name}: {sentence}")
        done.append(one)
        found = told(run_spec, kernels, started, tuple(done))
        write_whole(perf_folder(run) / "perf.json", formats.encode("perf.json", found) + b"\n")
    return found


def require_memory(experiments: Sequence[PerfExperiment]) -> None:
    """The guest's disk and memory are files in memory. Errors: NoRoom."""
    largest = max(experiments, key=lambda one: one.device_mib + one.memory_mib)
    needed = (largest.device_mib + largest.memory_mib << 20) + INBOX_BYTES + OUTBOX_BYTES
    room = os.statvfs(memory_folder())
    free = room.f_bavail * room.f_frsize
    if free < needed:
        raise NoRoom(
            f"{memory_folder()} has only {free >> 20} MiB free, and {largest.name} may need "
            f"{needed >> 20} MiB for the disk and memory of its guest. Free some space, or leave "
            "it out"
        )


# --- kernels -------------------------------------------------------------------------------------

Kernels = dict[tuple[str, ...], tuple[Kernel, Kernel]]  # A and B, by the variants of their config


def variants_of(run_spec: PerfWish, experiment: PerfExperiment) -> tuple[str, ...]:
    """The same for both kernels: also what a series of one of them needs. Errors: BadKernel."""
    needed = (name for word in (run_spec.against, run_spec.kernel) for name in parse(word).variants)
    return tuple(dict.fromkeys((*experiment.config, *run_spec.config, *needed)))


def counting(variants: tuple[str, ...]) -> tuple[str, ...]:
    """The same with counters; what only helps to measure is of no use there."""
    return (*(name for name in variants if name != "perf"), "gcov")


def all_variants(run_spec: PerfWish) -> tuple[tuple[str, ...], ...]:
    wanted: dict[tuple[str, ...], None] = {}
    for experiment in run_spec.experiments:
        variants = variants_of(run_spec, experiment)
        wanted[variants] = None
        if "exact" in run_spec.kinds and experiment.exact and experiment.exact.calls:
            wanted[counting(variants)] = None
    return tuple(wanted)


def build_both(run_spec: PerfWish, variants: tuple[str, ...], progress: Progress) -> tuple[Kernel, Kernel]:
    def one(word: str) -> Kernel:
        return build(parse(word, variants), progress.building(f"{word} ({', '.join(variants)})"))

    return one(run_spec.against), one(run_spec.kernel)


# --- one experiment ------------------------------------------------------------------------------


def order(boots: int) -> list[str]:
    """Sides of so many boots of each kernel: A B B A A B B A ..."""
    return [side for number in range(boots) for side in ("AB" if number % 2 == 0 else "BA")]


class Course:
    """One experiment, from its first boot to its last."""

    def __init__(
        self,
        run_spec: PerfWish,
        experiment: PerfExperiment,
        kernels: Kernels,
        agent: Path,
        raw: Path,
        progress: Progress,
    ) -> None:
        self._run_spec = run_spec
        self._experiment = experiment
        self._variants = variants_of(run_spec, experiment)
        self._kernels = kernels
        self._agent = agent
        self._raw = raw / experiment.name
        self._progress = progress
        self._scale = experiment.scale if run_spec.scale is None else run_spec.scale
        self._boots = run_spec.boots or experiment.boots
        self._processor = quietest_processor(processors())
        self.boots: list[Boot] = []
        self.samples: list[Samples] = []
        self.exact = [ExactSide(), ExactSide()]
        self.trouble: list[str] = []

    def go(self) -> Measured:
        begin = time.monotonic()
        self._raw.mkdir(parents=True, exist_ok=True)
        if "exact" in self._run_spec.kinds and self._experiment.exact:
            self._try("exact figures", self._count)
        if {"time", "profile"} & set(self._run_spec.kinds):
            self._try("boots", self._alternate)
        return Measured(
            experiment=self._experiment,
            scale=self._scale,
            boots_planned=self._boots,
            config=self._variants,
            cases=tuple(self._facts(case) for case in self._experiment.case),
            boots=tuple(self.boots),
            samples=tuple(self.samples),
            exact_a=self.exact[0],
            exact_b=self.exact[1],
            trouble=tuple(self.trouble),
            seconds=round(time.monotonic() - begin, 1),
        )

    def _try(self, what: str, work: Any) -> None:
        try:
            work()
        except TROUBLE as error:
            kept = f"; {len(self.boots)} of {2 * self._boots} boots are kept" if what == "boots" else ""
            self.trouble.append(f"{what}: {error}{kept}")

    def _facts(self, case: Case) -> CaseFacts:
        one = self._experiment
        return CaseFacts(
            name=case.name,
            seed=case.seed,
            mkfs=mkfs_of(one, case),
            mount=mount_of(one, case),
            script=script_at(one, case, self._scale),
            seed_script=script_at(one, case, 1),
        )

    # --- time and profile ---

    def _alternate(self) -> None:
        sides = order(self._boots)
        for number, side in enumerate(sides, 1):
            self._progress.line(f"{self._experiment.name}: boot {number} of {len(sides)} ({side})")
            self._boot(number, side)

    def _spec(self, kernel: Kernel, device_bytes: int, log_bytes: int) -> GuestSpec:
        return GuestSpec(
            kernel=Path(kernel.path),
            agent=self._agent,
            device_bytes=device_bytes,
            log_bytes=log_bytes,
            processor=self._processor,
            memory_mib=self._experiment.memory_mib,
        )

    def _boot(self, number: int, side: str) -> None:
        kernel = self._kernels[self._variants]["AB".index(side)]
        spec = self._spec(kernel, self._experiment.device_mib << 20, MEASURE_LOG_BYTES)
        load = os.getloadavg()[0]
        with workspace() as space, bench(spec, space, self._experiment) as guest:
            device_us = guest.device_us()
            runs = []
            for case in self._experiment.case:
                if "time" in self._run_spec.kinds:
                    runs.append(self._run(guest, number, side, case))
                if "profile" in self._run_spec.kinds and self._is_sampled(case):
                    self.samples.append(self._sample(guest, space, number, side, case))
        self.boots.append(Boot(side, number, round(load, 2), round(device_us, 1), tuple(runs)))

    def _is_sampled(self, case: Case) -> bool:
        return bool(self._experiment.profile) and case.name in self._experiment.profile.cases  # type: ignore[union-attr]

    def _run(self, guest: MeasuredGuest, number: int, side: str, case: Case) -> CaseRun:
        one = self._experiment
        profile = profile_of(one, case, one.device_mib << 20)
        try:
            ran = guest.run(profile, script_at(one, case, self._scale), one.deadline_s)
        except NotMeasured as error:
            raise NotMeasured(f"case {case.name!r} on {side}: {error}") from error
        name = re.sub(r"\W+", "-", case.name).strip("-")
        write_whole(self._raw / f"{number:02d}-{side}-{name}.txt", ran.report.said.encode())
        try:
            reading = read(one.reader, ran.report.said, numbers_of(one, case))
        except Unreadable as error:
            raise Unreadable(f"case {case.name!r} on {side}: {error}") from error
        return CaseRun(case.name, round(ran.wall_s, 4), round(ran.processor_s, 3), reading)

    def _sample(self, guest: MeasuredGuest, space: Workspace, number: int, side: str, case: Case) -> Samples:
        one = self._experiment
        assert one.profile is not None
        output = space.path / "perf.data"
        output.unlink(missing_ok=True)
        pid = guest.guest.pid
        with contextlib.ExitStack() as stack:
            profile = profile_of(one, case, one.device_mib << 20)
            guest.run(
                profile,
                script_at(one, case, self._scale),
                one.deadline_s,
                lambda: stack.enter_context(sampling(pid, output)),
            )
        program = Path(self._kernels[self._variants]["AB".index(side)].path).name
        return samples(output, program, one.profile.functions, side, number, case.name)

    # --- exact ---

    def _count(self) -> None:
        exact = self._experiment.exact
        assert exact is not None
        workload = workload_of(exact, self._experiment.name)
        profile = profile_of(self._experiment, self._experiment.case[0], EXACT_DEVICE_BYTES)
        words = (self._run_spec.against, self._run_spec.kernel)
        for at, word in enumerate(words):
            self._progress.line(f"{self._experiment.name}: exact figures of {word}")
            kernel = self._kernels[self._variants][at]
            with workspace() as space, self._guest_slot(kernel, space) as guest_slot:
                make_filesystem(profile, space.path / "pristine")
                place = space.path / "pristine"
                recordings = tuple(
                    recorded_figures(guest_slot.guest(), profile, exact, workload, place, word)
                    for _ in range(RECORDINGS)
                )
            self.exact[at] = ExactSide(recordings)
            if exact.calls:
                kernel = self._kernels[counting(self._variants)][at]
                with workspace() as space, self._guest_slot(kernel, space) as guest_slot:
                    place = space.path / "pristine"
                    make_filesystem(profile, place)
                    calls = tuple(
                        counted_calls(guest_slot.guest(), kernel, profile, exact, workload, place)
                        for _ in range(RECORDINGS)
                    )
                self.exact[at] = ExactSide(recordings, calls)

    def _guest_slot(self, kernel: Kernel, space: Workspace) -> GuestSlot:
        return GuestSlot(self._spec(kernel, EXACT_DEVICE_BYTES, LOG_BYTES), space)


# --- what stands beside the figures --------------------------------------------------------------


def told(run_spec: PerfWish, kernels: Kernels, started: str, measured: tuple[Measured, ...]) -> PerfRun:
    first = next(iter(kernels.values()))[1]
    return PerfRun(
        against=run_spec.against,
        kernel=run_spec.kernel,
        started=started,
        guest=run_spec.guest,
        noise=run_spec.noise,
        machine=machine_facts() | {"governor": governor(), "load": list(os.getloadavg())},
        compiler=first.provenance.compiler,
        tools=tool_versions(run_spec.experiments),
        debug=debug_options(pair[1] for variants, pair in kernels.items() if "gcov" not in variants),
        command=run_spec.command,
        measured=measured,
        earlier_noise=read_noise(),
    )


def governor() -> str:
    try:
        return GOVERNOR.read_text().strip()
    except OSError:
        return "not known"


def debug_options(kernels: Any) -> tuple[str, ...]:
    """Options that cost time, of those that the kernels have."""
    text = "\n".join((Path(kernel.path).parent / "config").read_text() for kernel in kernels)
    return tuple(name for name in DEBUG_OPTIONS if f"CONFIG_{name}=y\n" in text)


def tool_versions(experiments: Sequence[PerfExperiment]) -> dict[str, str]:
    """Of the programs that they need, as their Debian packages tell."""
    found = {}
    for package in sorted({package for one in experiments for package in one.needs.values()}):
        with contextlib.suppress(OSError):
            done = subprocess.run(
                ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
            )
            found[package] = done.stdout.strip() or "unknown"
    return found


def read_noise() -> dict[str, str]:
    """What the last run of A against A on this machine gave, by experiment."""
    try:
        return msgspec.json.decode((cache.root() / "noise.json").read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def keep_noise(sentences: dict[str, str]) -> None:
    place = cache.root() / "noise.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, msgspec.json.encode(read_noise() | sentences))
