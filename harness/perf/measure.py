"""
Performance experiments on two kernels: boot by boot in turn, and what each gave.

In:       a PerfWish: the experiments, the two kernel specs, scale, boots, kinds of figure.
Out:      PerfRun in <run>/perf/perf.json, whole after each experiment; the tools' own words in perf/raw/.
Not here: one boot (boot.py), the places where boots are measured (here.py, there.py), counts (exact.py), what
          the figures say (reports/perf/).

Boots go A B B A A B B A: what changes on the host in the meantime, slowly, falls on both alike. An
experiment that fails keeps what it has, and the next one goes on. Exact figures are the same on every
machine, so they are always counted here, in User Mode Linux.
"""

import contextlib
import functools
import os
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import write_whole
from harness.guests.filesystem import NoFilesystemTool, make_filesystem
from harness.guests.guest import GuestSlot, GuestTrouble, LostGuest
from harness.guests.kernels import build_for
from harness.guests.spec import INBOX_BYTES, OUTBOX_BYTES, SSH, UML, family, host_of
from harness.hosts.hosts import BadHost, Host, host
from harness.local.progress import Progress
from harness.local.workspace import Workspace, memory_folder, workspace
from harness.perf import there
from harness.perf.boot import MeasuredGuest, NotMeasured, Place, SamplesOf, profile_of
from harness.perf.exact import counted_calls, recorded_figures, workload_of
from harness.perf.here import Here
from harness.perf.there import There
from harness.runs.run import LOG_BYTES, NoRoom
from harness.stages.gcov import NotCounted
from harness.stages.record import NotRecorded
from harness.states.log import BadLog
from kernel import cache
from kernel.build import parse
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
BOOTED = {"time", "profile"}  # kinds of figures for which boots are measured
OF_UML, OF_A_MACHINE = "perf", "bpf"  # the variant of the config that helps to measure
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
    BadHost,
    *there.TROUBLE,
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
    guest: str = UML
    command: tuple[str, ...] = ()


def measure(run_spec: PerfWish, run: Path, progress: Progress) -> PerfRun:
    """Errors: kernel.kernel.KernelError, AgentError, NoRoom, OSError; of a machine Refused, BadHost,
    RemoteFailed, Unreachable."""
    machine = host(host_of(run_spec.guest)) if family(run_spec.guest) == SSH else None
    if machine:
        there.require(machine, run_spec.experiments)
    if not machine or "exact" in run_spec.kinds:
        require_memory(run_spec.experiments)
    kernels = {wanted: build_both(run_spec, *wanted, progress) for wanted in all_kernels(run_spec)}
    on_machine = There(machine, progress.line) if machine else None
    tools = tool_versions(run_spec.experiments, machine)
    perf_folder(run).mkdir(parents=True, exist_ok=True)
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    done: list[Measured] = []
    for experiment in run_spec.experiments:
        place: Place = on_machine or Here()  # whose processor is the quietest by now
        one = Course(run_spec, experiment, kernels, place, perf_folder(run) / "raw", progress).go()
        for sentence in one.trouble:
            progress.line(f"{experiment.name}: {sentence}")
        done.append(one)
        found = told(run_spec, kernels, started, place.facts(), tools, tuple(done))
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

# A and B, by the kind of guest that they are for and the variants of their config.
Kernels = dict[tuple[str, tuple[str, ...]], tuple[Kernel, Kernel]]


def variants_of(run_spec: PerfWish, experiment: PerfExperiment) -> tuple[str, ...]:
    """The same for both kernels: also what a series of one of them needs. Errors: BadKernel."""
    needed = (name for word in (run_spec.against, run_spec.kernel) for name in parse(word).variants)
    return tuple(dict.fromkeys((*experiment.config, *run_spec.config, *needed)))


def on_a_machine(variants: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(OF_A_MACHINE if name == OF_UML else name for name in variants)


def counting(variants: tuple[str, ...]) -> tuple[str, ...]:
    """The same with counters; what only helps to measure is of no use there."""
    return (*(name for name in variants if name != "perf"), "gcov")


def all_kernels(run_spec: PerfWish) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """As Kernels has them: for the boots those of the guest, for exact figures those of User Mode Linux."""
    wanted: dict[tuple[str, tuple[str, ...]], None] = {}
    of_machine = family(run_spec.guest) == SSH
    for experiment in run_spec.experiments:
        variants = variants_of(run_spec, experiment)
        exact = experiment.exact if "exact" in run_spec.kinds else None
        if of_machine and BOOTED & set(run_spec.kinds):
            wanted[run_spec.guest, on_a_machine(variants)] = None
        if exact or not of_machine:
            wanted[UML, variants] = None
        if exact and exact.calls:
            wanted[UML, counting(variants)] = None
    return tuple(wanted)


def build_both(
    run_spec: PerfWish, guest: str, variants: tuple[str, ...], progress: Progress
) -> tuple[Kernel, Kernel]:
    return (
        build_for(guest, run_spec.against, variants, progress),
        build_for(guest, run_spec.kernel, variants, progress),
    )


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
        place: Place,
        raw: Path,
        progress: Progress,
    ) -> None:
        self._run_spec = run_spec
        self._of_machine = family(run_spec.guest) == SSH
        self._experiment = by_wall_clock(experiment) if self._of_machine else experiment
        self._variants = variants_of(run_spec, experiment)
        self._kernels = kernels
        self._place = place
        self._raw = raw / experiment.name
        self._progress = progress
        self._scale = experiment.scale if run_spec.scale is None else run_spec.scale
        self._boots = run_spec.boots or experiment.boots
        self.boots: list[Boot] = []
        self.samples: list[Samples] = []
        self.exact = [ExactSide(), ExactSide()]
        self.trouble: list[str] = []

    @functools.cached_property
    def _here(self) -> Here:
        """Where exact figures are counted."""
        return self._place if isinstance(self._place, Here) else Here()

    def go(self) -> Measured:
        begin = time.monotonic()
        self._raw.mkdir(parents=True, exist_ok=True)
        if "exact" in self._run_spec.kinds and self._experiment.exact:
            self._try("exact figures", self._count)
        if BOOTED & set(self._run_spec.kinds):
            self._try("boots", self._alternate)
        return Measured(
            experiment=self._experiment,
            scale=self._scale,
            boots_planned=self._boots,
            config=on_a_machine(self._variants) if self._of_machine else self._variants,
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

    def _kernel(self, side: str) -> Kernel:
        """Of a boot."""
        variants = on_a_machine(self._variants) if self._of_machine else self._variants
        return self._kernels[self._run_spec.guest, variants]["AB".index(side)]

    def _boot(self, number: int, side: str) -> None:
        kernel = self._kernel(side)
        with workspace() as space, self._place.booted(kernel, self._experiment, space) as guest:
            load = self._place.load()
            device_us = guest.device_us()
            runs = []
            for case in self._experiment.case:
                if "time" in self._run_spec.kinds:
                    runs.append(self._run(guest, number, side, case))
                if "profile" in self._run_spec.kinds and self._is_sampled(case):
                    self.samples.append(self._sample(guest, kernel, space, number, side, case))
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

    def _sample(
        self, guest: MeasuredGuest, kernel: Kernel, space: Workspace, number: int, side: str, case: Case
    ) -> Samples:
        one = self._experiment
        found: list[SamplesOf] = []
        with contextlib.ExitStack() as stack:
            profile = profile_of(one, case, one.device_mib << 20)
            guest.run(
                profile,
                script_at(one, case, self._scale),
                one.deadline_s,
                lambda: found.append(stack.enter_context(self._place.sampling(guest, kernel, one, space))),
            )
        return found[0](side, number, case.name)

    # --- exact ---

    def _count(self) -> None:
        exact = self._experiment.exact
        assert exact is not None
        workload = workload_of(exact, self._experiment.name)
        profile = profile_of(self._experiment, self._experiment.case[0], EXACT_DEVICE_BYTES)
        words = (self._run_spec.against, self._run_spec.kernel)
        for at, word in enumerate(words):
            self._progress.line(f"{self._experiment.name}: exact figures of {word}")
            kernel = self._kernels[UML, self._variants][at]
            with workspace() as space, self._guest_slot(kernel, space) as guest_slot:
                make_filesystem(profile, space.path / "pristine")
                place = space.path / "pristine"
                recordings = tuple(
                    recorded_figures(guest_slot.guest(), profile, exact, workload, place, word)
                    for _ in range(RECORDINGS)
                )
            self.exact[at] = ExactSide(recordings)
            if exact.calls:
                kernel = self._kernels[UML, counting(self._variants)][at]
                with workspace() as space, self._guest_slot(kernel, space) as guest_slot:
                    place = space.path / "pristine"
                    make_filesystem(profile, place)
                    calls = tuple(
                        counted_calls(guest_slot.guest(), kernel, profile, exact, workload, place)
                        for _ in range(RECORDINGS)
                    )
                self.exact[at] = ExactSide(recordings, calls)

    def _guest_slot(self, kernel: Kernel, space: Workspace) -> GuestSlot:
        return GuestSlot(self._here.spec(kernel, self._experiment, EXACT_DEVICE_BYTES, LOG_BYTES), space)


def by_wall_clock(experiment: PerfExperiment) -> PerfExperiment:
    """On a machine a script waits for no one else's work, and has several processors: what counts is how long
    it takes."""
    numbers = tuple(msgspec.structs.replace(number, clock="wall") for number in experiment.number)
    return msgspec.structs.replace(experiment, number=numbers)


# --- what stands beside the figures --------------------------------------------------------------


def told(
    run_spec: PerfWish,
    kernels: Kernels,
    started: str,
    facts: dict[str, Any],
    tools: dict[str, str],
    measured: tuple[Measured, ...],
) -> PerfRun:
    first = next(iter(kernels.values()))[1]
    timed = [pair[1] for (guest, variants), pair in kernels.items() if is_timed(run_spec, guest, variants)]
    return PerfRun(
        against=run_spec.against,
        kernel=run_spec.kernel,
        started=started,
        guest=run_spec.guest,
        noise=run_spec.noise,
        machine=facts,
        compiler=first.provenance.compiler,
        tools=tools,
        debug=debug_options(timed),
        command=run_spec.command,
        measured=measured,
        earlier_noise=read_noise(run_spec.guest),
    )


def is_timed(run_spec: PerfWish, guest: str, variants: tuple[str, ...]) -> bool:
    return guest == run_spec.guest and "gcov" not in variants


def debug_options(kernels: Any) -> tuple[str, ...]:
    """Options that cost time, of those that the kernels have."""
    text = "\n".join((Path(kernel.path).parent / "config").read_text() for kernel in kernels)
    return tuple(name for name in DEBUG_OPTIONS if f"CONFIG_{name}=y\n" in text)


def tool_versions(experiments: Sequence[PerfExperiment], machine: Host | None) -> dict[str, str]:
    """Of the programs that they need, as their Debian packages tell, where they run."""
    packages = sorted({package for one in experiments for package in one.needs.values()})
    if machine:
        found = there.versions(machine, (*packages, "bpftrace"))
        return {package: found.get(package, "unknown") for package in packages} | found
    found = {}
    for package in packages:
        with contextlib.suppress(OSError):
            done = subprocess.run(
                ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
            )
            found[package] = done.stdout.strip() or "unknown"
    return found


def noise_file(guest: str) -> Path:
    return cache.root() / ("noise.json" if guest == UML else f"noise-{host_of(guest)}.json")


def read_noise(guest: str) -> dict[str, str]:
    """What the last run of A against A there gave, by experiment."""
    try:
        return msgspec.json.decode(noise_file(guest).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {}


def keep_noise(guest: str, sentences: dict[str, str]) -> None:
    place = noise_file(guest)
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, msgspec.json.encode(read_noise(guest) | sentences))
