"""
Runs that are killed, and runs that find no room: `tox run -e chaos`.

In:       the stock kernel; --kills and --seed: how many kills, and the seed of who and when.
Out:      that every run, gone on with until it is done, gives what an undisturbed run gives; that nothing is
          left behind; a table of what was killed.
Not here: how a dead worker is replaced (harness/tests/runs/test_pool.py), what each file promises
          (harness/tests/evidence/).

A *life* is one process of `powercut run` or `run --resume`. A worker, a guest and a checker are each killed
once a life at most: what two workers in a row die over is UNKNOWN, by design.
"""

import contextlib
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from harness.evidence.store import LOCK, PARTIAL
from harness.local.root import ROOT
from harness.local.workspace import PREFIX
from reports.results import read_experiment, read_summary

pytestmark = pytest.mark.chaos

# Some hundred states with a finding of a stock kernel; their logs are hardly ever different.
WORKLOADS = ("rename-over-synced-file", "fsync-new-file")
PROFILES = "btrfs,ext4"
HELPERS = ("worker", "guest", "checker")
VICTIMS = ("controller", *HELPERS)
CONTROLLERS = 0.6  # of the lives lose their controller, if they last so long
UNDISTURBED = 3
LIVES = 4  # of one run that end by a kill
KILL_WITHIN_S = 1.0  # after it was first there; a worker has some seconds of work
LOOK_EVERY_S = 0.1
GONE_WITHIN_S = 20.0
ROOM_BYTES = 80 << 20  # for results; less than 64 MiB is refused at the start


class Life:
    """One process of the command, known with all it starts by a word in their environment."""

    def __init__(self, *words: str, prefix: tuple[str, ...] = ()) -> None:
        self.word = f"POWERCUT_CHAOS={secrets.token_hex(8)}"
        name, _, value = self.word.partition("=")
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-P", "-m", "harness.commands.main", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.folders: set[str] = set()  # of scratch, as far as they were seen

    def lives(self) -> bool:
        return self.process.poll() is None

    def end(self) -> tuple[int, str]:
        """Its status and what it said."""
        out, said = self.process.communicate(timeout=600)
        return self.process.returncode, out + said

    def workers(self) -> list[int]:
        return [pid for pid in children(self.process.pid) if b"spawn_main" in command_line(pid)]

    def find(self, victim: str, draw: random.Random) -> int:
        """A process of that kind, 0 when there is none."""
        if victim == "controller":
            return self.process.pid
        workers = self.workers()
        if victim == "worker":
            return draw.choice(workers) if workers else 0
        mark = {"guest": b"umid=guest", "checker": b"state.disk"}[victim]
        for worker in workers:
            for pid in children(worker):
                line = command_line(pid)
                if mark in line or (victim == "checker" and is_checker(line)):
                    return pid
        return 0

    def look(self) -> None:
        """Note the scratch folders that are in use."""
        for pid in self.left():
            words = command_line(pid).decode(errors="replace").split("\0")
            self.folders.update(word for word in words if f"/{PREFIX}" in word and "=" not in word)

    def left(self) -> list[int]:
        """Processes of this life that are there still."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self.word.encode() in (place / "environ").read_bytes():
                    found.append(int(place.name))
        return found


def is_checker(line: bytes) -> bool:
    program = line.partition(b"\0")[0].rpartition(b"/")[2]
    return program == b"btrfs" or program.startswith((b"fsck", b"e2fsck"))


def children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def command_line(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def left_behind(life: Life, run: Path | None) -> list[str]:
    """Processes, guests, scratch folders, loop devices and half written folders that outlived it."""
    found = [f"process {pid}: {command_line(pid)[:80]!r}" for pid in life.left()]
    found += [f"folder {folder}" for folder in life.folders if Path(folder).exists()]
    for place in Path("/proc").glob("[0-9]*"):
        line = command_line(int(place.name))
        found += [f"guest {place.name}" for folder in life.folders if f"{folder}/".encode() in line]
    for device in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            found += [f"{device}" for folder in life.folders if folder in device.read_text()]
    if run is not None:
        found += [f"{path}" for path in (run / "experiments").glob(f"*{PARTIAL}")]
    return found


def all_gone(life: Life, run: Path | None) -> list[str]:
    """What is left when everything had time to go."""
    deadline = time.monotonic() + GONE_WITHIN_S
    while (found := left_behind(life, run)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


class Told(msgspec.Struct, frozen=True):
    """All that a run says and that does not tell of time. states: by number of the experiment and entries of
    its log, each state with its verdicts: a log may have an entry more on a busy machine."""

    exit: int
    experiments: int
    planned: int
    unknown: int
    reasons: tuple[str, ...]
    findings: tuple[tuple[object, ...], ...]
    states: dict[tuple[int, int], tuple[tuple[object, ...], ...]]


def told_of(run: Path) -> Told:
    summary = read_summary(run)
    states = {}
    for folder in sorted((run / "experiments").glob("????")):
        one = read_experiment(folder)
        states[one.facts.number, len(one.facts.entries)] = tuple(
            (
                state.spec,
                state.same_as,
                *((each.oracle, each.answer) for each in one.judgement.verdict_sets[state.verdict_set]),
            )
            for state in one.judgement.states
        )
    assert summary.states.planned == sum(entries + 1 for _, entries in states)
    return Told(
        summary.exit,
        summary.experiments,
        summary.planned_experiments,
        summary.states.unknown,
        summary.reasons,
        tuple((one.signature, one.workload, one.profile, one.experiment) for one in summary.findings),
        states,
    )


def differences(told: Told, undisturbed: Told) -> list[str]:
    """Where a log has as many entries as one that was undisturbed, each verdict on each state is the same;
    where none has, each state has its verdicts."""
    found = [
        f"{name}: {getattr(told, name)} != {getattr(undisturbed, name)}"
        for name in Told.__struct_fields__[:-1]
        if getattr(told, name) != getattr(undisturbed, name)
    ]
    for (number, entries), states in told.states.items():
        of_it = undisturbed.states.get((number, entries))
        if of_it is None:
            if len(states) != entries + 1 or any(len(state) < 3 for state in states):
                found.append(f"experiment {number}: {len(states)} states of {entries} entries")
        elif states != of_it:
            other = [pair for pair in zip(states, of_it, strict=False) if pair[0] != pair[1]]
            found.append(f"experiment {number}: {len(states)} states, not {len(of_it)}; {other[:2]}")
    return found


def run_words(out: Path, kernel: str) -> tuple[str, ...]:
    return (
        "run",
        *WORKLOADS,
        "--fs",
        PROFILES,
        "--jobs",
        "2",
        "--kernel",
        kernel,
        "--out",
        str(out),
        "--quiet",
    )


def run_in(out: Path) -> Path | None:
    """The run that is there, if it has come so far as to be one: then it is one that can go on."""
    runs = list(out.glob("2*"))
    assert all((run / "run.json").exists() for run in runs)
    assert len(runs) <= 1
    return runs[0] if runs else None


def went_on(run: Path | None, out: Path, kernel: str) -> Life:
    return Life("run", "--resume", str(run), "--quiet") if run else Life(*run_words(out, kernel))


@pytest.fixture(scope="session")
def undisturbed_runs(tmp_path_factory, stock_kernel, kernel_word):
    """What a run gives that nobody kills, and how long it takes; more than once, so that what
    differs by itself is seen first."""
    all_told, seconds = [], []
    for number in range(UNDISTURBED):
        out = tmp_path_factory.mktemp(f"undisturbed-{number}")
        began = time.monotonic()
        status, said = Life(*run_words(out, kernel_word)).end()
        seconds.append(time.monotonic() - began)
        assert status == 1, said
        all_told.append(told_of(run_in(out)))
        assert differences(all_told[-1], all_told[0]) == []
    assert all_told[0].findings
    assert all_told[0].unknown == 0
    states = {key: one for told in reversed(all_told) for key, one in told.states.items()}
    return msgspec.structs.replace(all_told[0], states=states), min(seconds)


@pytest.fixture(scope="session")
def undisturbed(undisturbed_runs):
    return undisturbed_runs[0]


@pytest.fixture(scope="session")
def undisturbed_s(undisturbed_runs):
    return undisturbed_runs[1]


@pytest.mark.timeout(7200)
def test_a_run_that_is_killed_again_and_again_gives_what_an_undisturbed_one_gives(
    tmp_path, kernel_word, undisturbed, undisturbed_s, request, capsys
):
    """kill -9 at random moments: controller, worker, guest, checker."""
    kills, seed = request.config.getoption("--kills"), request.config.getoption("--seed")
    draw = random.Random(seed)
    killed: Counter[str] = Counter()
    resumed = runs = compared = said_of = 0
    wrong: list[str] = []
    began = time.monotonic()
    while killed.total() < kills:
        out = tmp_path / f"run-{runs}"
        runs += 1
        for number in range(LIVES + 1):
            run = run_in(out)
            resumed += run is not None
            life = went_on(run, out, kernel_word)
            if number < LIVES and killed.total() < kills:
                hit = disturb(life, draw, kills - killed.total(), undisturbed_s)
                killed.update(hit)
            status, said = life.end()
            wrong += [
                f"run {runs}, life {number}: left behind: {each}" for each in all_gone(life, run_in(out))
            ]
            if status != -signal.SIGKILL:
                break
        run = run_in(out)
        if status != undisturbed.exit:
            wrong.append(f"run {runs}: ended {status}: {said[-600:]}")
        else:
            told = told_of(run)
            wrong += [f"run {runs}: {each}" for each in differences(told, undisturbed)]
            compared += len(told.states.keys() & undisturbed.states.keys())
            wrong += [f"left in the run: {path.name}" for path in unfinished(run)]
            beside = sorted(path.name for path in out.iterdir())
            if beside != sorted([run.name, "latest"]):
                wrong.append(f"run {runs}: left beside it: {beside}")
        shutil.rmtree(out)
        with capsys.disabled():
            print("\n".join(["", *wrong[said_of:], f"after {runs} runs: {counts(killed)}"]), flush=True)
        said_of = len(wrong)
    with capsys.disabled():
        print(
            f"\nchaos, seed {seed}: {killed.total()} kills in {runs} runs, resumed {resumed} times\n"
            f"logs as long as an undisturbed one: {compared} of {runs * undisturbed.planned}"
        )
        print(f"killed: {counts(killed)}; lost or left: {len(wrong)}; {time.monotonic() - began:.0f} s")
    assert wrong == []


def disturb(life: Life, draw: random.Random, limit: int, run_s: float) -> Counter[str]:
    """Kill some, each once, at a moment that is drawn; what was killed. The controller's counts from its
    start, and nothing is left to kill behind it; that of the others from when one of them was first there."""
    due = {victim: draw.uniform(0, KILL_WITHIN_S) for victim in draw.sample(HELPERS, draw.randint(1, 3))}
    waiting = set(due)  # for the first of them
    if draw.random() < CONTROLLERS:
        due["controller"] = draw.uniform(0, run_s)
        waiting.add("controller")
    hit: Counter[str] = Counter()
    looked = 0.0
    while life.lives() and due and hit.total() < limit:
        now = time.monotonic()
        if now - looked > LOOK_EVERY_S:
            life.look()
            looked = time.monotonic()
        for victim in list(due):
            pid = life.find(victim, draw)
            if pid and victim in waiting:
                waiting.remove(victim)
                due[victim] += now
            if not pid or now < due[victim]:
                continue
            if victim != "checker":  # it ends in some milliseconds
                life.look()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                hit[victim] += 1
            del due[victim]
            break
        time.sleep(0.001)
    return hit


def counts(killed: Counter[str]) -> str:
    return ", ".join(f"{victim} {killed[victim]}" for victim in VICTIMS)


def unfinished(run: Path) -> Iterator[Path]:
    for pattern in (f"*{PARTIAL}", "*.tmp*", LOCK):
        yield from run.glob(pattern)
        yield from run.glob(f"experiments/{pattern}")


def test_a_second_process_in_one_run_is_refused(tmp_path, kernel_word, undisturbed):
    """The first goes on as if nothing was."""
    first = Life(*run_words(tmp_path, kernel_word))
    while first.lives() and not list(tmp_path.glob("2*/experiments/0001")):
        time.sleep(0.05)
    run = run_in(tmp_path)
    first.process.send_signal(signal.SIGSTOP)  # or it might be done before the others have begun
    for words in (("run", "--resume", str(run)), ("judge", str(run))):
        status, said = Life(*words).end()
        assert (status, f"in use by process {first.process.pid}" in said) == (3, True), said
    first.process.send_signal(signal.SIGCONT)
    assert first.end()[0] == undisturbed.exit
    assert differences(told_of(run), undisturbed) == []


@pytest.fixture
def small(tmp_path):
    """A filesystem of its own for results, with little room."""
    if os.geteuid():
        pytest.skip("mounting a small tmpfs for results takes root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM_BYTES}", "powercut-chaos", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.parametrize("done", [0, 1, 3])
def test_a_full_disk_stops_a_run_that_goes_on_when_there_is_room(small, kernel_word, undisturbed, done):
    """The disk is full when so many experiments are there: one line says so, and nothing is half there."""
    life = Life(*run_words(small / "results", kernel_word))
    while life.lives() and len(list((small / "results").glob("2*/experiments/????"))) < done + (not done):
        if not done and run_in(small / "results"):
            break
        time.sleep(0.002)
    fill = small / "fill"
    with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    status, said = life.end()
    run = run_in(small / "results")
    fill.unlink()
    if run is None:  # full before there was a question
        assert status == 3, said
        return
    assert status in (3, undisturbed.exit), said
    assert status != 3 or f"--resume {run}" in said or "No space left" in said
    assert "Traceback" not in said
    assert all_gone(life, run) == []
    for place in (run / "experiments").iterdir():
        assert {"experiment.json", "verdicts.json.zst", "repro.sh"} <= {path.name for path in place.iterdir()}
    status, said = Life("run", "--resume", str(run), "--quiet").end()
    assert status == undisturbed.exit, said
    assert differences(told_of(run), undisturbed) == []


def test_results_that_are_read_only_are_told_and_stay_as_they_are(small, kernel_word, undisturbed):
    """No command that would write there changes anything; a run elsewhere is none of its business."""
    assert Life(*run_words(small, kernel_word)).end()[0] == undisturbed.exit
    run = run_in(small)
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    commands = (
        ("run", "--resume", str(run)),
        ("judge", str(run)),
        ("report", str(run)),
        run_words(small, kernel_word),
    )
    for words in commands:
        status, said = Life(*words).end()
        assert status == 3, said
        assert "Traceback" not in said
    subprocess.run(["mount", "-o", "remount,rw", small], check=True)
    assert differences(told_of(run), undisturbed) == []


@pytest.mark.parametrize("room_mib", [8, 32, 64, 80, 96, 112, 128, 160])
def test_a_guest_whose_files_find_no_room_is_not_believed(tmp_path, kernel_word, undisturbed, room_mib):
    """Its memory and disks are files in /dev/shm: no finding comes of that, no promise is taken as kept."""
    if os.geteuid():
        pytest.skip("a small /dev/shm of its own takes root")
    script = f'mount -t tmpfs -o size={room_mib}M powercut-chaos /dev/shm && exec "$@"'
    life = Life(*run_words(tmp_path, kernel_word), prefix=("unshare", "-m", "sh", "-c", script, "sh"))
    status, said = life.end()
    run = run_in(tmp_path)
    if status == undisturbed.exit and run is not None and not read_summary(run).reasons:
        assert differences(told_of(run), undisturbed) == []
        return
    assert "Traceback" not in said
    known = {one[0] for one in undisturbed.findings}
    summary = run / "summary.json" if run is not None else None
    if summary is not None and summary.exists():
        assert {one["signature"] for one in json.loads(summary.read_bytes())["findings"]} <= known
    assert status in (1, 3), said
    assert status == 3 or read_summary(run).reasons
