"""
The project's own speed, as ratios within one run.

In:       a kernel, profiles.
Out:      bench.json in a results folder, and a table.
Not here: how fast the filesystems are; that is not what Powercut's clock is for.

States are checked as `run` does it, without fsck: recovered and judged, the start and the end of each log
included. The logs are those of the demonstration set, which are like the library's: a few operations and
some 20 entries each. Every ratio is taken in one guest on the same logs. The two loops it compares with
run in the agent (agent/loops.c), so neither pays for a shell or for Python:
bare      mount, walk, create, unlink, unmount of the disk as the log's end left it, on the guest's plain
          block device, nothing restored, nothing judged; each log weighs as much as it has states;
restart   for each crash point the log from its start, mount, unmount, as replay-log --limit does. What this
          costs grows with the log, so it is taken on two long logs, at points spread over each, and
          ours at windows of consecutive prefixes at their starts, middles and ends. Its crash points are
          the prefixes, each replayed, for it cannot tell that two disks are equal; we recover equal disks
          once and judge them wherever they occur. So the ratio counts prefixes on both sides; that of
          states recovered stands beside it. The one to reach is that on the longer log.
"""

import argparse
import json
import multiprocessing
import platform
import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.bench import history as bench_history
from harness.bench.recordings import JOURNALS, VARIANT, slow_ratio, traced_ratio
from harness.evidence.store import new_run, write_whole
from harness.evidence.summary import EXIT_BROKEN, EXIT_HOLDS, shown
from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import Setting
from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import DISK, LOG, GuestSlot, GuestSpec
from harness.local.memory import keep_memory
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.local.workspace import Workspace, workspace
from harness.runs.run import LOG_BYTES, machine_facts
from harness.stages.explore import StatePlan
from harness.stages.judge import Judge
from harness.stages.record import Recording, record
from harness.stages.recover import Recovered, Recovery
from harness.stages.session import SLOTS
from harness.states.disk import open_disk, writes_of
from harness.states.log import SECTOR_BYTES, Entry, Log, open_log, write_log
from kernel.build import build
from oracles.profiles import Profile, profile
from oracles.spec import State
from oracles.verdict import Tier
from reports.formats import FORMATS
from reports.pages.bench_history import FIGURES
from workloads.library import DEMONSTRATION, select
from workloads.text import parse
from workloads.workload import Workload

TURNS = 3
BARE_ROUNDS = 20  # a log and turn
# Rounds of what editors, mailers and package managers do, and the entries they give on btrfs.
LONG_ROUNDS = (47, 297)  # about 1,200 and 9,400
LONG_LOG_BYTES = 256 << 20
RECORDING_LOG_BYTES = 512 << 20  # SQLite's inserts on btrfs
WINDOW_STATES = 240
RESTART_POINTS = 8
HUGE_LOG_ENTRIES = 1_000_000
HUGE_LOG_STATES = 100
TOGETHER = ((0,), (0, 1), (1,))  # who works, step by step
TOGETHER_TURNS = 9
STEP_TIMEOUT_S = 600
TARGETS = {
    "ratio_to_bare_loop": 0.6,
    "ratio_to_fstests_loop": 50,
    "fsck_states_per_s": 40,
    "two_guests_ratio": 1.8,
}
AT_MOST = {"guest_start_s": 1.0, "traced_ratio": 3.0, "peak_host_bytes": 1 << 30}


class LogLength(msgspec.Struct, frozen=True):
    """A log of one length.

    entries: of the log.
    prefixes_per_s, states_per_s: at its start, middle and end. A prefix with the disk of another one is no
        further state.
    fstests_loop_per_s: states per second of a loop that replays the log from its start for each.
    ratio_to_fstests_loop: prefixes per second against that loop.
    ratio_of_states: the same of states that were recovered themselves.
    """

    entries: int
    prefixes_per_s: tuple[float, float, float]
    states_per_s: tuple[float, float, float]
    fstests_loop_per_s: float
    ratio_to_fstests_loop: float
    ratio_of_states: float


class Speed(msgspec.Struct, frozen=True):
    """The figures of one profile. Rates are per second and guest.

    profile: its name.
    logs: how many were recorded.
    entries: of all logs.
    states: recovered in a turn.
    states_per_s: recovered and judged, without the checker.
    bare_loop_per_s: of a loop of mount, walk, create, unlink and unmount.
    ratio_to_bare_loop: of the two.
    bare_loop_ram_per_s: of that loop on the disk that recoveries use, which is faster than the guest's plain
        block device.
    ratio_to_bare_loop_ram: against that loop.
    fstests_loop_per_s: of the longest log, of a loop that replays it from its start for each state.
    ratio_to_fstests_loop: against that loop.
    fsck_states_per_s: with the checker.
    points_per_s: crash points with the checker; of them some have the disk of another, or are proven by it.
    proofs_ratio: that rate against the same where no state is proven.
    host_ms: processor time of this side for a state that is recovered and judged, without the checker; its
        log's own costs, as building the model of its history, among it.
    guest_start_s: from the start of a guest to its first answer.
    two_guests_ratio: two guests against one.
    two_bare_loops_ratio: the bare loop in two guests against one.
    traced_ratio: SQLite's inserts with a rollback journal, under the tracer, against the same without it.
    traced_wal_ratio: the same with a write-ahead log.
    slow_ratio: recording on a slow device against that on a fast one.
    by_log_length: logs of several lengths.
    """

    profile: str
    logs: int
    entries: int
    states: int
    states_per_s: float
    bare_loop_per_s: float
    ratio_to_bare_loop: float
    bare_loop_ram_per_s: float
    ratio_to_bare_loop_ram: float
    fstests_loop_per_s: float
    ratio_to_fstests_loop: float
    fsck_states_per_s: float
    points_per_s: float
    proofs_ratio: float
    host_ms: float
    guest_start_s: float
    two_guests_ratio: float
    two_bare_loops_ratio: float
    traced_ratio: float
    traced_wal_ratio: float
    slow_ratio: float
    by_log_length: tuple[LogLength, ...]


class HugeLog(msgspec.Struct, frozen=True):
    """Memory and cost with a log of a million entries.

    entries: of the log.
    peak_host_bytes: memory of Powercut and the guest, and files in memory.
    first_states_per_s: near the start of the log.
    last_states_per_s: near its end.
    """

    entries: int
    peak_host_bytes: int
    first_states_per_s: float
    last_states_per_s: float


def long_workload(rounds: int) -> Workload:
    """Names come again, as a program's own do: judging costs more with each name that ever was."""
    lines = ["run", "  mkdir A", "  mkdir B"]
    for number in range(rounds):
        lines += [
            f"  write A/tmp{number % 4} 0 8K",
            f"  fsync A/tmp{number % 4}",
            f"  rename A/tmp{number % 4} A/file{number % 4}",
            f"  link A/file{number % 4} B/link{number % 8}",
            "  fsync A",
        ]
        lines += [f"  unlink B/link{(number - 3) % 8}"] if number >= 3 else []
    return parse("\n".join(lines) + "\n", name="bench")


def guest_spec(
    kernel: Path, one: Profile, log_bytes: int = LOG_BYTES, processor: int | None = None
) -> GuestSpec:
    return GuestSpec(kernel, agent_binary(), one.size_bytes, log_bytes, processor)


def record_all(
    guest_slot: GuestSlot, one: Profile, workloads: Sequence[Workload], space: Workspace
) -> list[Recording]:
    """Recordings whose files stay when the next one is made."""
    pristine = space.path / "pristine"
    make_filesystem(one, pristine)
    recordings = []
    for number, workload in enumerate(workloads):
        made = record(guest_slot.guest(), one, workload, pristine, "bench")
        base = made.base.rename(space.path / f"base{number}")
        log = made.log.rename(space.path / f"log{number}")
        recordings.append(msgspec.structs.replace(made, base=base, log=log))
    return recordings


def replay(
    guest_slot: GuestSlot, one: Profile, recording: Recording, space: Workspace, fsck: bool
) -> tuple[int, float]:
    """All states of one log, none of them proven: how many were recovered and judged, in how many seconds."""
    setting = setting_of(guest_slot, one, space, fsck)
    with open_log(recording.log) as log:
        started = time.perf_counter()
        examination = CrashStates(
            msgspec.structs.replace(setting, proving=False), recording, log, StatePlan()
        )
        count = sum(not judged.same_as for judged in examination.judged())
        return count, time.perf_counter() - started


def points(
    guest_slot: GuestSlot, one: Profile, recordings: list[Recording], space: Workspace, proving: bool
) -> tuple[int, float]:
    """All crash points of these logs, with the checker: how many, in how many seconds."""
    setting = msgspec.structs.replace(setting_of(guest_slot, one, space, fsck=True), proving=proving)
    count, started = 0, time.perf_counter()
    for recording in recordings:
        with open_log(recording.log) as log:
            count += sum(1 for _ in CrashStates(setting, recording, log, StatePlan()).judged())
    return count, time.perf_counter() - started


def points_and_ratio(
    guest_slot: GuestSlot, one: Profile, recordings: list[Recording], space: Workspace
) -> tuple[float, float]:
    """Crash points per second, and the ratio to the same without proofs; medians of turns."""
    rates, ratios = [], []
    for _ in range(TURNS):
        _, without_s = points(guest_slot, one, recordings, space, proving=False)
        count, with_s = points(guest_slot, one, recordings, space, proving=True)
        rates.append(count / with_s)
        ratios.append(without_s / with_s)
    return median(rates), median(ratios)


def setting_of(guest_slot: GuestSlot, one: Profile, space: Workspace, fsck: bool) -> Setting:
    return Setting(guest_slot, one, Tier.FS, "bench", space.path / "pristine", space.path, fsck)


def replay_all(
    guest_slot: GuestSlot, one: Profile, recordings: list[Recording], space: Workspace, fsck: bool
) -> tuple[int, float]:
    """The same for several logs, one after another."""
    done = [replay(guest_slot, one, recording, space, fsck) for recording in recordings]
    return sum(count for count, _ in done), sum(seconds for _, seconds in done)


def timed(guest_slot: GuestSlot, command: str) -> float:
    """Seconds that the agent took."""
    return float(guest_slot.guest().ask(command, timeout_s=300)[1]) / 1000


def bare_s(guest_slot: GuestSlot, one: Profile, device: str) -> float:
    """Seconds a round of the bare loop."""
    options = one.agent_options or "-"
    return timed(guest_slot, f"bare {device} {one.filesystem} {options} {BARE_ROUNDS}") / BARE_ROUNDS


def put_end_on_disk(guest_slot: GuestSlot, recording: Recording) -> None:
    """The disk as the whole log makes it, on the guest's plain block device."""
    guest = guest_slot.guest()
    end = guest.scratch / "end.disk"
    with open_disk(end, recording.base) as disk, open_log(recording.log) as log:
        for entry in log.entries():
            for write in writes_of(entry):
                disk.apply(write)
    guest.load(DISK, end)


class Turn(msgspec.Struct, frozen=True):
    """Seconds for `states` states: ours, and as many rounds of the bare loop as each log has states. host: of
    ours, processor time of this process."""

    states: int
    ours: float
    bare: float
    ram: float
    host: float


def turn(guest_slot: GuestSlot, one: Profile, recordings: list[Recording], space: Workspace) -> Turn:
    """Ours and the bare loop side by side on each log: the machine's speed drifts, this is short."""
    states_done, ours, bare, ram, host = 0, 0.0, 0.0, 0.0, 0.0
    for recording in recordings:
        put_end_on_disk(guest_slot, recording)
        bare_round_s = bare_s(guest_slot, one, "/dev/disk")
        began = time.process_time()
        count, seconds = replay(guest_slot, one, recording, space, fsck=False)
        host += time.process_time() - began
        guest_slot.guest().ask(f"fresh {one.size_bytes // SECTOR_BYTES}")
        ram += count * bare_s(guest_slot, one, "/dev/state")
        bare += count * bare_round_s
        ours += seconds
        states_done += count
    return Turn(states_done, ours, bare, ram, host)


def measure(one: Profile, kernel: Path, progress: Progress) -> Speed:
    """Ours and the loops in turn, in one guest."""
    with workspace() as space, GuestSlot(guest_spec(kernel, one), space) as guest_slot:
        started = time.perf_counter()
        guest_slot.guest()
        guest_start_s = time.perf_counter() - started
        recordings = record_all(guest_slot, one, select(DEMONSTRATION), space)
        turns = []
        for number in range(TURNS):
            progress.line(f"{one.name}: measuring states and the bare loop, round {number + 1} of {TURNS}")
            turns.append(turn(guest_slot, one, recordings, space))
        progress.line(f"{one.name}: with fsck")
        checked, fsck_s = replay_all(guest_slot, one, recordings, space, fsck=True)
        progress.line(f"{one.name}: with proofs")
        points_per_s, proofs_ratio = points_and_ratio(guest_slot, one, recordings, space)
    progress.line(
        f"{one.name}: measuring long logs, and the loop of fstests, which replays from the "
        "start for each crash point"
    )
    lengths = tuple(log_length(one, kernel, rounds) for rounds in LONG_ROUNDS)
    progress.line(f"{one.name}: recording under the tracer, and on a slow device")
    with (
        workspace() as space,
        GuestSlot(guest_spec(kernel, one, RECORDING_LOG_BYTES), space) as guest_slot,
    ):
        guest, pristine = guest_slot.guest(), space.path / "pristine"
        make_filesystem(one, pristine)
        traced, traced_wal = (traced_ratio(guest, one, pristine, journal) for journal in JOURNALS)
        slow = slow_ratio(guest, one, pristine, select(DEMONSTRATION))
    progress.line(f"{one.name}: two guests")
    two_ours, two_bare = two_guests(one, kernel)
    return Speed(
        profile=one.name,
        logs=len(recordings),
        entries=sum(recording.history.entry_count for recording in recordings),
        states=turns[0].states,
        states_per_s=round(median([t.states / t.ours for t in turns]), 1),
        bare_loop_per_s=round(median([t.states / t.bare for t in turns]), 1),
        ratio_to_bare_loop=round(median([t.bare / t.ours for t in turns]), 3),
        bare_loop_ram_per_s=round(median([t.states / t.ram for t in turns]), 1),
        ratio_to_bare_loop_ram=round(median([t.ram / t.ours for t in turns]), 3),
        fstests_loop_per_s=lengths[-1].fstests_loop_per_s,
        ratio_to_fstests_loop=lengths[-1].ratio_to_fstests_loop,
        fsck_states_per_s=round(checked / fsck_s, 1),
        points_per_s=round(points_per_s, 1),
        proofs_ratio=round(proofs_ratio, 2),
        host_ms=round(median([1000 * t.host / t.states for t in turns]), 3),
        guest_start_s=round(guest_start_s, 3),
        two_guests_ratio=two_ours,
        two_bare_loops_ratio=two_bare,
        traced_ratio=traced,
        traced_wal_ratio=traced_wal,
        slow_ratio=slow,
        by_log_length=lengths,
    )


def median(values: list[float]) -> float:
    return float(statistics.median(values))


# --- long logs -----------------------------------------------------------------------------------


def log_length(one: Profile, kernel: Path, rounds: int) -> LogLength:
    """One log, in a guest of its own with a larger log device."""
    spec = guest_spec(kernel, one, LONG_LOG_BYTES)
    with workspace() as space, GuestSlot(spec, space) as guest_slot:
        [recording] = record_all(guest_slot, one, [long_workload(rounds)], space)
        windows = window_rates(guest_slot, one, recording, space)
        restart_s = restart_loop(guest_slot, one, recording)
    prefixes, recovered = zip(*windows, strict=True)
    return LogLength(
        entries=recording.history.entry_count,
        prefixes_per_s=prefixes,
        states_per_s=recovered,
        fstests_loop_per_s=round(1 / restart_s, 2),
        ratio_to_fstests_loop=round(statistics.mean(prefixes) * restart_s, 1),
        ratio_of_states=round(statistics.mean(recovered) * restart_s, 1),
    )


def window_rates(
    guest_slot: GuestSlot, one: Profile, recording: Recording, space: Workspace
) -> tuple[tuple[float, float], ...]:
    """(prefixes judged, states recovered) per second at the start, the middle and the end of the log,
    without the way to the first state of each window."""
    judge = Judge(recording.history, one, Tier.FS)
    setting = setting_of(guest_slot, one, space, fsck=False)
    with open_log(recording.log) as log:
        last = len(log) - WINDOW_STATES

        def rate(first: int) -> tuple[float, float]:
            wanted = [State(first + number) for number in range(WINDOW_STATES)]
            run = CrashStates(setting, recording, log, StatePlan(), judge).judged_alone(wanted)
            next(run)
            started, prefix_count, count = time.perf_counter(), 0, 0
            for judged in run:
                prefix_count += 1
                count += not judged.same_as
            seconds = time.perf_counter() - started
            return round(prefix_count / seconds, 1), round(count / seconds, 1)

        return rate(0), rate(last // 2), rate(last)


def restart_loop(guest_slot: GuestSlot, one: Profile, recording: Recording) -> float:
    """Seconds a crash point, over points spread evenly over the log."""
    guest = guest_slot.guest()
    guest.load(DISK, recording.base)
    guest.write(LOG, 0, recording.log.read_bytes())
    options = one.agent_options or "-"
    total = 0.0
    for point in range(RESTART_POINTS):
        first = int((point + 0.5) * recording.history.entry_count / RESTART_POINTS)
        total += timed(guest_slot, f"restart {one.filesystem} {options} {first} 1")
    return total / RESTART_POINTS


# --- two guests ----------------------------------------------------------------------------------


def one_of_two(name: str, kernel: str, number: int, step: Any, results: Any) -> None:
    """A worker of two, on the processor of its number: in turn it alone, both, and the other alone.
    results: (number, rates), of rates[ours or bare][step of TOGETHER] those of its own steps a turn."""
    keep_memory()
    one = profile(name)
    available = processors()
    processor = available[-1 - number % len(available)]
    with (
        workspace() as space,
        GuestSlot(guest_spec(Path(kernel), one, processor=processor), space) as guest_slot,
    ):
        recordings = record_all(guest_slot, one, select(DEMONSTRATION), space)
        put_end_on_disk(guest_slot, recordings[-1])

        def ours() -> float:
            count, seconds = replay_all(guest_slot, one, recordings, space, fsck=False)
            return count / seconds

        def bare() -> float:
            return 1 / statistics.mean(bare_s(guest_slot, one, "/dev/disk") for _ in recordings)

        rates: list[list[list[float]]] = []
        for work in (ours, bare):
            work()
            rates.append([[] for _ in TOGETHER])
            for _ in range(TOGETHER_TURNS):
                for of_step, working in zip(rates[-1], TOGETHER, strict=True):
                    step.wait(STEP_TIMEOUT_S)
                    if number in working:
                        of_step.append(work())
        results.put((number, rates))


def two_guests(one: Profile, kernel: Path) -> tuple[float, float]:
    """Two guests against one of them, median of the turns; and the same of the bare loop alone, where the
    host does nothing: what two processors of this machine can do at that moment."""
    context = multiprocessing.get_context("spawn")
    step, results = context.Barrier(2), context.Queue()
    workers = [
        context.Process(target=one_of_two, args=(one.name, str(kernel), number, step, results))
        for number in range(2)
    ]
    for worker in workers:
        worker.start()
    measured = dict(results.get(timeout=STEP_TIMEOUT_S) for _ in workers)
    for worker in workers:
        worker.join()
    first, second = measured[0], measured[1]
    ratios = [
        median([2 * (b0 + b1) / (a0 + a1) for a0, b0, b1, a1 in zip(*mine[:2], *his[1:], strict=True)])
        for mine, his in zip(first, second, strict=True)
    ]
    return round(ratios[0], 2), round(ratios[1], 2)


# --- a huge log ----------------------------------------------------------------------------------


def huge_entries(log: Log, one: Profile) -> Iterator[Entry]:
    """The log, then small writes all over the last 8 MiB of the disk, which the filesystem does not use."""
    yield from log.entries()
    first = (one.size_bytes >> 9) - (8 << 11)
    for number in range(HUGE_LOG_ENTRIES - len(log)):
        sector = first + number * 7919 % (8 << 11)  # a prime: neighbours in time are far apart
        yield Entry(sector, 1, 0, number.to_bytes(8, "little") * 64)


def huge_log(one: Profile, kernel: str, scratch: str, results: Any) -> None:
    """In a process of its own, so that the peak is this one's."""
    with (
        workspace() as space,
        GuestSlot(guest_spec(Path(kernel), one), space) as guest_slot,
    ):
        [recording] = record_all(guest_slot, one, [long_workload(20)], space)
        place = Path(scratch) / "huge.log"
        with open_log(recording.log) as short:
            start = len(short)
            write_log(place, huge_entries(short, one))
        with open_log(place) as log:
            first = [State(start + n) for n in range(HUGE_LOG_STATES)]
            last = [State(len(log) - HUGE_LOG_STATES + n) for n in range(HUGE_LOG_STATES)]
            rates = list(rates_of(Recovery(guest_slot, one, False, space.path), recording, log, first, last))
        place.unlink()
        results.put(HugeLog(HUGE_LOG_ENTRIES, peak_bytes(guest_slot, space), *rates))


def rates_of(
    recovery: Recovery, recording: Recording, log: Log, first: list[State], last: list[State]
) -> Iterator[float]:
    """States a second within each group, without the way between them."""
    run: Iterator[Recovered] = recovery.run(recording.base, log, [*first, *last])
    for group in (first, last):
        stamps = [time.perf_counter() for _ in zip(group, run, strict=False)]
        counted = len(group) - 2 * SLOTS  # what is under way at a group's end comes after the way
        yield round(counted / (stamps[counted] - stamps[0]), 1)


def peak_bytes(guest_slot: GuestSlot, space: Workspace) -> int:
    """Our peak, the guest's (its memory is a file, mapped), and what lies in the scratch folder."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    status = Path(f"/proc/{guest_slot.guest().pid}/status").read_text()
    guest = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    files = sum(path.stat().st_blocks * 512 for path in space.path.rglob("*") if path.is_file())
    return own + guest + files


def measure_huge_log(one: Profile, kernel: Path, scratch: Path) -> HugeLog:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    worker = context.Process(target=huge_log, args=(one, str(kernel), str(scratch), results))
    worker.start()
    measured: HugeLog = results.get(timeout=900)
    worker.join()
    return measured


# --- the command ---------------------------------------------------------------------------------


def bench(arguments: argparse.Namespace) -> int:
    """Exit status 0 when every target is reached."""
    if arguments.history:
        return bench_history.show(arguments.out, arguments.json)
    profiles = [profile(name.strip()) for name in arguments.fs.split(",")]
    load = bench_history.load_now()
    with Progress(arguments.quiet or arguments.json) as progress:
        built = build(arguments.kernel, progress.building(arguments.kernel), (VARIANT,))
        kernel = Path(built.path)
        speeds = [measure(one, kernel, progress) for one in profiles]
        folder = new_run(arguments.out)
        progress.line(f"{profiles[0].name}: measuring a log of {HUGE_LOG_ENTRIES:,} entries")
        huge = measure_huge_log(profiles[0], kernel, folder)
    content = {
        "format": FORMATS["bench.json"],
        "kernel": arguments.kernel,
        "machine": machine_facts(),
        "python": platform.python_version(),
        "targets": {**TARGETS, **AT_MOST},
        "profiles": {speed.profile: msgspec.to_builtins(speed) for speed in speeds},
        "huge_log": msgspec.to_builtins(huge),
    }
    text = json.dumps(content, indent=2)
    write_whole(folder / "bench.json", text.encode() + b"\n")
    bench_history.keep(arguments.kernel, load, kept_figures(speeds, built.provenance.build_s))
    print(
        text
        if arguments.json
        else "\n".join([*table(speeds, huge), f"written to {shown(folder)}/bench.json"])
    )
    return EXIT_HOLDS if not missed(speeds, huge) else EXIT_BROKEN


def kept_figures(speeds: list[Speed], build_s: float) -> dict[str, dict[str, float]]:
    """By profile, what bench --history shows over commits."""
    names = [figure.key for figure in FIGURES if figure.key != "build_s"]
    return {
        speed.profile: {name: float(getattr(speed, name)) for name in names} | {"build_s": round(build_s, 1)}
        for speed in speeds
    }


def missed(speeds: list[Speed], huge: HugeLog) -> list[str]:
    """Targets not reached. They are asked of the first profile, which is btrfs unless --fs says otherwise."""
    first = msgspec.to_builtins(speeds[0]) | msgspec.to_builtins(huge)
    below = [name for name, target in TARGETS.items() if first[name] < target]
    return below + [name for name, limit in AT_MOST.items() if first[name] > limit]


def table(speeds: list[Speed], huge: HugeLog) -> list[str]:
    """A line a figure, a column a profile."""
    names = [name for name in Speed.__struct_fields__ if name not in ("profile", "by_log_length")]
    lines = [f"{'':<26}" + "".join(f"{speed.profile:>14}" for speed in speeds) + "    target"]
    for name in names:
        target = TARGETS.get(name, AT_MOST.get(name))
        sign = "" if target is None else f"    {'>=' if name in TARGETS else '<='} {target:g}"
        lines.append(f"{name:<26}" + "".join(f"{getattr(s, name):>14,}" for s in speeds) + sign)
    for speed in speeds:
        for one in speed.by_log_length:
            start, middle, end = one.prefixes_per_s
            lines.append(
                f"{speed.profile}, log of {one.entries:,} entries: prefixes per second {start} at its "
                f"start, {middle} in its middle, {end} at its end; loop of fstests "
                f"{one.fstests_loop_per_s}, ratio {one.ratio_to_fstests_loop} ({one.ratio_of_states} "
                "of the recovered states)"
            )
    peak = huge.peak_host_bytes >> 20
    lines.append(
        f"log of {huge.entries:,} entries: peak memory {peak} MiB (target: <= 1024); states per second"
    )
    lines.append(f"  {huge.first_states_per_s} at its start, {huge.last_states_per_s} at its end")
    first = missed(speeds, huge)
    lines.append(
        f"targets not reached ({speeds[0].profile}): {', '.join(first)}"
        if first
        else "all targets are reached"
    )
    return lines
