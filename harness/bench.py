"""
The project's own speed, as ratios within one run (DESIGN section 8).

In:       a kernel, profiles.
Out:      bench.json in a results folder, and a table.
Not here: how fast the filesystems are; that is not what Powercut's clock is for.

Every ratio is taken in one guest on one log. The two loops it compares with run in the agent
(agent/recover.c), so neither pays for a shell or for Python:
bare      mount, walk, create, unlink, unmount of the recorded disk, nothing restored, nothing judged;
restart   for each crash point the log from its start, mount, unmount, as replay-log --limit does.
"""

import argparse
import json
import multiprocessing
import platform
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness.agent_binary import agent_binary
from harness.crash import State, states
from harness.disk import copy_sparse
from harness.filesystem import make_filesystem
from harness.guest import GuestSpec, Keeper
from harness.judging import Judge
from harness.log import Entry, Log, open_log, write_log
from harness.progress import Progress
from harness.record import Recording, record
from harness.recover import Recovered, Recovery
from harness.run import LOG_BYTES, machine_facts, processors
from harness.store import new_run, point_latest, write_whole
from harness.summing import EXIT_BROKEN, EXIT_HOLDS, shown
from harness.workspace import Workspace, workspace
from kernel.build import build
from oracles.profiles import Profile, profile
from oracles.verdict import Tier
from reports.results import EntryFlag
from workloads.text import parse
from workloads.workload import Workload

# Twenty rounds of what editors, mailers and package managers do: about 1,000 entries on btrfs.
ROUNDS = 20
BARE_ROUNDS = 200
RESTART_POINTS = 12
LONG_LOG_ENTRIES = 1_000_000
LONG_LOG_STATES = 100
TARGETS = {
    "ratio_to_bare_loop": 0.6,
    "ratio_to_fstests_loop": 50,
    "fsck_states_per_s": 40,
    "two_guests_ratio": 1.8,
}
AT_MOST = {"guest_start_s": 1.0, "peak_host_bytes": 1 << 30}


class Speed(msgspec.Struct, frozen=True):
    """One profile. *_per_s: per second and guest. bare_loop_ram_per_s: the bare loop on the disk that our
    recoveries use, which is faster than the guest's plain block device. seconds_per_state of the long log:
    near its start and near its end."""

    profile: str
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
    guest_start_s: float
    two_guests_ratio: float


class LongLog(msgspec.Struct, frozen=True):
    """Memory and cost with a long log. peak_host_bytes: ours, the guest's, and files in memory."""

    entries: int
    peak_host_bytes: int
    first_states_per_s: float
    last_states_per_s: float


def bench_workload() -> Workload:
    lines = ["run", "  mkdir A", "  mkdir B"]
    for number in range(ROUNDS):
        lines += [
            f"  write A/tmp{number} 0 8K",
            f"  fsync A/tmp{number}",
            f"  rename A/tmp{number} A/file{number % 4}",
            f"  link A/file{number % 4} B/link{number}",
            "  fsync A",
        ]
        lines += [f"  unlink B/link{number - 3}"] if number >= 3 else []
    return parse("\n".join(lines) + "\n", name="bench")


def guest_spec(kernel: Path, one: Profile, processor: int) -> GuestSpec:
    return GuestSpec(kernel, agent_binary(), one.size_bytes, LOG_BYTES, processor)


def prepare(keeper: Keeper, one: Profile, space: Workspace) -> Recording:
    make_filesystem(one, space.path / "pristine")
    return record(keeper.guest(), one, bench_workload(), space.path / "pristine", "bench")


def replay(
    keeper: Keeper, one: Profile, recording: Recording, space: Workspace, fsck: bool
) -> tuple[int, float]:
    """All states once: how many were recovered and judged, in how many seconds."""
    judge = Judge(recording.history, one, Tier.FS)
    count = 0
    with open_log(recording.log) as log:
        started = time.perf_counter()
        for recovered in Recovery(keeper, one, fsck, space.path).run(recording.base, log, states(len(log))):
            judge.add(recovered)
            count += not recovered.same_as
        return count, time.perf_counter() - started


def timed(keeper: Keeper, command: str) -> float:
    """Seconds that the agent took."""
    return float(keeper.guest().ask(command, timeout_s=300)[1]) / 1000


def measure(one: Profile, kernel: Path, progress: Progress) -> Speed:
    """Ours and the loops in turn, in one guest."""
    with workspace() as space, Keeper(guest_spec(kernel, one, processors()[-1]), space) as keeper:
        started = time.perf_counter()
        keeper.guest()
        guest_start_s = time.perf_counter() - started
        recording = prepare(keeper, one, space)
        with open_log(recording.log) as log:
            entry_count = len(log)
        options = one.mount_options or "-"
        rates: dict[str, list[float]] = {"ours": [], "bare": [], "ram": []}
        for turn in range(3):
            progress.line(f"{one.name}: states and bare loop, turn {turn + 1} of 3")
            bare_s = timed(keeper, f"bare /dev/ubda {one.filesystem} {options} {BARE_ROUNDS}")
            rates["bare"].append(BARE_ROUNDS / bare_s)
            count, seconds = replay(keeper, one, recording, space, fsck=False)
            rates["ours"].append(count / seconds)
            ram_s = timed(keeper, f"bare /dev/state {one.filesystem} {options} {BARE_ROUNDS}")
            rates["ram"].append(BARE_ROUNDS / ram_s)
        progress.line(f"{one.name}: with fsck")
        checked, fsck_s = replay(keeper, one, recording, space, fsck=True)
        progress.line(f"{one.name}: the log from its start for each crash point")
        restart_s = restart_loop(keeper, one, recording, entry_count)
    progress.line(f"{one.name}: two guests")
    ours = median(rates["ours"])
    return Speed(
        profile=one.name,
        entries=entry_count,
        states=count,
        states_per_s=round(ours, 1),
        bare_loop_per_s=round(median(rates["bare"]), 1),
        ratio_to_bare_loop=ratio(rates["ours"], rates["bare"]),
        bare_loop_ram_per_s=round(median(rates["ram"]), 1),
        ratio_to_bare_loop_ram=ratio(rates["ours"], rates["ram"]),
        fstests_loop_per_s=round(1 / restart_s, 2),
        ratio_to_fstests_loop=round(ours * restart_s, 1),
        fsck_states_per_s=round(checked / fsck_s, 1),
        guest_start_s=round(guest_start_s, 3),
        two_guests_ratio=two_guests(one, kernel),
    )


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def ratio(ours: list[float], theirs: list[float]) -> float:
    """The median of the ratios turn by turn: the machine's speed drifts, a turn is short."""
    return round(median([a / b for a, b in zip(ours, theirs, strict=True)]), 2)


def restart_loop(keeper: Keeper, one: Profile, recording: Recording, entry_count: int) -> float:
    """Seconds a crash point, over points spread evenly over the log."""
    folder = keeper.guest().folder
    copy_sparse(recording.base, folder / "disk")
    content = recording.log.read_bytes()
    with (folder / "log").open("r+b") as file:
        file.write(content)
    options = one.mount_options or "-"
    total = 0.0
    for point in range(RESTART_POINTS):
        first = int((point + 0.5) * entry_count / RESTART_POINTS)
        total += timed(keeper, f"restart {one.filesystem} {options} {first} 1")
    return total / RESTART_POINTS


# --- two guests ----------------------------------------------------------------------------------


def one_of_several(name: str, kernel: str, processor: int, start: Any, results: Any) -> None:
    """A worker: the same log as everybody, from the same moment on."""
    one = profile(name)
    with workspace() as space, Keeper(guest_spec(Path(kernel), one, processor), space) as keeper:
        recording = prepare(keeper, one, space)
        replay(keeper, one, recording, space, fsck=False)
        start.wait()
        results.put([replay(keeper, one, recording, space, fsck=False) for _ in range(2)])


def together(one: Profile, kernel: Path, count: int) -> float:
    """States a second of that many guests, each with its processor."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(count), context.Queue()
    available = processors()
    workers = [
        context.Process(
            target=one_of_several,
            args=(one.name, str(kernel), available[-1 - number % len(available)], start, results),
        )
        for number in range(count)
    ]
    for worker in workers:
        worker.start()
    measured = [results.get(timeout=600) for _ in workers]
    for worker in workers:
        worker.join()
    return sum(sum(n for n, _ in turns) / sum(s for _, s in turns) for turns in measured)


def two_guests(one: Profile, kernel: Path) -> float:
    """Two guests against one, one before and one after."""
    before = together(one, kernel, 1)
    both = together(one, kernel, 2)
    after = together(one, kernel, 1)
    return round(both / ((before + after) / 2), 2)


# --- a long log ----------------------------------------------------------------------------------


def long_entries(log: Log, one: Profile) -> Iterator[Entry]:
    """The log, then small writes all over the last 8 MiB of the disk, which the filesystem does not use."""
    yield from log.entries()
    first = (one.size_bytes >> 9) - (8 << 11)
    for number in range(LONG_LOG_ENTRIES - len(log)):
        sector = first + number * 7919 % (8 << 11)  # a prime: neighbours in time are far apart
        yield Entry(sector, 1, EntryFlag(0), number.to_bytes(8, "little") * 64)


def long_log(one: Profile, kernel: str, scratch: str, results: Any) -> None:
    """In a process of its own, so that the peak is this one's."""
    with workspace() as space, Keeper(guest_spec(Path(kernel), one, processors()[-1]), space) as keeper:
        recording = prepare(keeper, one, space)
        place = Path(scratch) / "long.log"
        with open_log(recording.log) as short:
            start = len(short)
            write_log(place, long_entries(short, one))
        with open_log(place) as log:
            first = [State(start + n) for n in range(LONG_LOG_STATES)]
            last = [State(len(log) - LONG_LOG_STATES + n) for n in range(LONG_LOG_STATES)]
            rates = list(rates_of(Recovery(keeper, one, False, space.path), recording, log, first, last))
        place.unlink()
        results.put(LongLog(LONG_LOG_ENTRIES, peak_bytes(keeper, space), *rates))


def rates_of(
    recovery: Recovery, recording: Recording, log: Log, first: list[State], last: list[State]
) -> Iterator[float]:
    """States a second within each group, without the way between them."""
    run: Iterator[Recovered] = recovery.run(recording.base, log, [*first, *last])
    for group in (first, last):
        next(run)
        started = time.perf_counter()
        for _ in group[1:]:
            next(run)
        yield round((len(group) - 1) / (time.perf_counter() - started), 1)


def peak_bytes(keeper: Keeper, space: Workspace) -> int:
    """Our peak, the guest's (its memory is a file, mapped), and what lies in the scratch folder."""
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    status = Path(f"/proc/{keeper.guest().process.pid}/status").read_text()
    guest = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    files = sum(path.stat().st_blocks * 512 for path in space.path.iterdir() if path.is_file())
    return own + guest + files


def measure_long_log(one: Profile, kernel: Path, scratch: Path) -> LongLog:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    worker = context.Process(target=long_log, args=(one, str(kernel), str(scratch), results))
    worker.start()
    measured: LongLog = results.get(timeout=900)
    worker.join()
    return measured


# --- the command ---------------------------------------------------------------------------------


def bench(arguments: argparse.Namespace) -> int:
    """Exit status 0 when every target is reached."""
    profiles = [profile(name.strip()) for name in arguments.fs.split(",")]
    with Progress(arguments.quiet or arguments.json) as progress:
        kernel = Path(build(arguments.kernel, progress.building(arguments.kernel)).path)
        speeds = [measure(one, kernel, progress) for one in profiles]
        folder = new_run(arguments.out)
        progress.line(f"{profiles[0].name}: a log of {LONG_LOG_ENTRIES:,} entries")
        long = measure_long_log(profiles[0], kernel, folder)
    content = {
        "kernel": arguments.kernel,
        "machine": machine_facts(),
        "python": platform.python_version(),
        "targets": {**TARGETS, **AT_MOST},
        "profiles": {speed.profile: msgspec.to_builtins(speed) for speed in speeds},
        "long_log": msgspec.to_builtins(long),
    }
    text = json.dumps(content, indent=2)
    write_whole(folder / "bench.json", text.encode() + b"\n")
    point_latest(folder)
    print(
        text
        if arguments.json
        else "\n".join([*table(speeds, long), f"written to {shown(folder)}/bench.json"])
    )
    return EXIT_HOLDS if not missed(speeds, long) else EXIT_BROKEN


def missed(speeds: list[Speed], long: LongLog) -> list[str]:
    """Targets that were not reached. The ratios are asked of the first profile, as DESIGN asks them of btrfs."""
    first = msgspec.to_builtins(speeds[0]) | msgspec.to_builtins(long)
    below = [name for name, target in TARGETS.items() if first[name] < target]
    return below + [name for name, limit in AT_MOST.items() if first[name] > limit]


def table(speeds: list[Speed], long: LongLog) -> list[str]:
    """A line a figure, a column a profile."""
    names = [name for name in Speed.__struct_fields__ if name != "profile"]
    lines = [f"{'':<26}" + "".join(f"{speed.profile:>14}" for speed in speeds) + "    to reach"]
    for name in names:
        target = TARGETS.get(name, AT_MOST.get(name))
        sign = "" if target is None else f"    {'>=' if name in TARGETS else '<='} {target:g}"
        lines.append(f"{name:<26}" + "".join(f"{getattr(s, name):>14,}" for s in speeds) + sign)
    peak = long.peak_host_bytes >> 20
    lines.append(f"log of {long.entries:,} entries: peak {peak} MiB (to reach: <= 1024), states per second")
    lines.append(f"  at its start {long.first_states_per_s}, at its end {long.last_states_per_s}")
    first = missed(speeds, long)
    lines.append(
        f"not reached ({speeds[0].profile}): {', '.join(first)}" if first else "every target is reached"
    )
    return lines
