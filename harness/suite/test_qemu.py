"""
The same experiments in QEMU: the same verdicts as under User Mode Linux.

In:       the stock kernel and one with a planted bug, each built for both guests.
Out:      verdicts and findings, equal; what a run and repro say of their guest; nothing left of a killed run.
Not here: the command line and the archive (harness/tests/guests/test_qemu.py), which guest is chosen
          (harness/tests/guests/test_probe.py).

Mostly the two logs are the same, entry by entry. But time runs otherwise in an emulator: a commit by a timer
may fall into the run on one guest, and btrfs then allocates elsewhere. So what is compared is the answers of
each oracle on each workload, and the findings, not state by state.
"""

import json
import os
import signal
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from harness.guests import qemu
from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec, GuestTrouble, LostGuest
from harness.guests.probe import accelerated
from harness.guests.spec import INBOX_BYTES
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES
from harness.stages.record import record
from harness.stages.recover import Recovery
from harness.states.disk import open_disk, writes_of
from harness.states.log import open_log
from kernel.build import build
from oracles.profiles import profile
from oracles.spec import State
from reports.results import read_experiment, read_question
from workloads.library import load

pytestmark = [pytest.mark.qemu, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parent.parent.parent
GUESTS = ("uml", "qemu")
CHOSEN = (
    "replace-by-rename",
    "link-into-new-directory",
    "append-fsync-repeated",
    "xattrs-over-two-fsyncs",
    "nothing-synced-tree",
)
PLANTED = (
    ("planted/xattr-lost-on-second-fsync", "xattrs-over-two-fsyncs", "durable"),
    ("planted/old-name-kept-after-rename", "move-out-of-logged-directory", "atomic"),
)


@pytest.fixture(scope="session")
def qemu_kernel(kernel_word):
    """(kind, kernel): built for QEMU, when no earlier run on this machine has built it."""
    with Progress() as progress:
        kernel = build(kernel_word, progress.building(kernel_word), arch="x86_64")
    return accelerated("qemu", kernel), kernel


def answers(folder):
    """workload and oracle to the answers that its states got."""
    found = {}
    for place in sorted((folder / "experiments").iterdir()):
        experiment = read_experiment(place)
        for state in experiment.judgement.states:
            for verdict in experiment.judgement.verdict_sets[state.verdict_set]:
                key = experiment.facts.workload, verdict.oracle
                found.setdefault(key, set()).add(verdict.answer)
    return found


def findings(summary):
    return {(one.signature, one.workload) for one in summary.findings}


def kinds_with_the_same_verdicts(main_job, kernel_word, name, guests):
    """The smoke set on two guests: every promise is judged in every state, and is kept, on one as on the
    other. The kinds that they were."""
    runs = {guest: main_job(CHOSEN, [name], kernel_word, guest) for guest in guests}
    for _, summary in runs.values():
        assert (summary.exit, summary.findings, summary.reasons) == (0, (), ())
        assert summary.states.unknown == 0
        assert summary.states.judged == summary.states.planned
    (one, _), (other, _) = runs.values()
    assert answers(one) == answers(other)
    return read_question(one).guest, read_question(other).guest


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_smoke_set_gives_the_same_verdicts(main_job, kernel_word, name):
    one, other = kinds_with_the_same_verdicts(main_job, kernel_word, name, GUESTS)
    assert one == "uml"
    assert other in ("qemu-tcg", "qemu-kvm")


def folders_with_the_same_bug(main_job, kernel_word, planted, guests):
    """A planted bug is found on two guests with the same findings; and repro shows one again on the second.
    The folders of both."""
    series, workload, oracle = planted
    word = f"{kernel_word}+{series}"
    runs = {guest: main_job([workload], ["btrfs"], word, guest) for guest in guests}
    (one, of_one), (other, of_other) = runs.values()
    assert oracle in {finding.oracle for finding in of_one.findings}
    assert findings(of_one) == findings(of_other)
    again = powercut("repro", str(other), of_other.findings[0].id)
    assert again.returncode == 1, again.stdout + again.stderr
    assert of_other.findings[0].expected in again.stdout
    return one, other


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_bug_is_found_on_both(main_job, kernel_word, planted):
    uml, qemu = folders_with_the_same_bug(main_job, kernel_word, planted, GUESTS)
    assert answers(uml) == answers(qemu)


def powercut(*words):
    command = [sys.executable, "-m", "harness.commands.main", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def keeper_of(qemu_kernel, one, space):
    kind, kernel = qemu_kernel
    spec = GuestSpec(Path(kernel.path), agent_binary(), one.size_bytes, LOG_BYTES, kind=kind)
    return GuestSlot(spec, space)


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_machine_sees_the_bytes_that_the_log_says(qemu_kernel, name):
    """The inbox is written while the machine runs, over and over: nothing old may come out of a cache."""
    one = profile(name)
    with workspace() as space, keeper_of(qemu_kernel, one, space) as guest_slot:
        make_filesystem(one, space.path / "pristine")
        for workload in ("replace-by-rename", "append-fsync-repeated"):
            recording = record(guest_slot.guest(), one, load(workload), space.path / "pristine", "6.12")
            with open_log(recording.log) as log:
                for prefix in (0, len(log) // 2, len(log)):
                    recovery = Recovery(guest_slot, one, True, space.path)
                    assert len(list(recovery.run(recording.base, log, [State(prefix)]))) == 1
                    answer = guest_slot.guest().ask(f"digest {one.size_bytes // 512}", timeout_s=60)
                    with open_disk(space.path / "expected", recording.base) as disk:
                        for entry in log.entries(0, prefix):
                            for write in writes_of(entry):
                                disk.apply(write)
                        assert answer == ["digest", str(zlib.crc32(disk.image))]


def test_the_recorded_disk_has_a_write_cache_and_fua(qemu_kernel):
    """Without them no log would hold a FLUSH, and every pass would be empty."""
    one = profile("ext4")
    with workspace() as space, keeper_of(qemu_kernel, one, space) as guest_slot:
        make_filesystem(one, space.path / "pristine")
        recording = record(
            guest_slot.guest(), one, load("replace-by-rename"), space.path / "pristine", "6.12"
        )
    assert recording.device["write_cache"] == "write back"


def test_a_machine_that_ends_is_a_lost_guest(qemu_kernel):
    """A reboot, as after a panic, ends the machine: nobody waits for it until a deadline."""
    with workspace() as space, keeper_of(qemu_kernel, profile("ext4"), space) as guest_slot:
        guest = guest_slot.guest()
        guest.say(f"check 0 {INBOX_BYTES} 8 ext4 -")  # more than its buffer: the agent ends the machine
        with pytest.raises(GuestTrouble, match="read a device"):
            guest.hear()
        with pytest.raises(LostGuest) as lost:
            guest.hear()
        assert lost.value.kind == "exit"
        assert "process ended (0)" in str(lost.value)


def test_a_panic_is_told_at_once(qemu_kernel, monkeypatch):
    """The kernel finds no init and panics."""
    words = qemu.kernel_words
    monkeypatch.setattr(qemu, "kernel_words", lambda spec: [*words(spec), "rdinit=/none"])
    with workspace() as space, keeper_of(qemu_kernel, profile("ext4"), space) as guest_slot:
        with pytest.raises(LostGuest) as lost:
            guest_slot.guest()
        assert lost.value.kind == "panic"
        assert "process ended" in str(lost.value)


def test_a_killed_run_leaves_no_machine(qemu_kernel, kernel_word, tmp_path):
    """kill -9 of the run: its machines go with it."""
    words = ("run", "--guest", "qemu", "--kernel", kernel_word, "--jobs", "2", "--out", str(tmp_path))
    command = [sys.executable, "-m", "harness.commands.main", *words]
    run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (machines := machines_under(run.pid)):
        assert run.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    run.send_signal(signal.SIGKILL)
    run.wait()
    deadline = time.monotonic() + 60
    while any(is_machine(pid) for pid in machines):
        assert time.monotonic() < deadline
        time.sleep(0.2)


def machines_under(ancestor):
    """Process numbers of QEMU among its descendants: proc(5), /proc/pid/stat, field 4."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(") ")[2].split()[1])
        except OSError:
            continue
    found, level = [], {ancestor}
    while level:
        level = {pid for pid, parent in parents.items() if parent in level}
        found += [pid for pid in level if is_machine(pid)]
    return found


def is_machine(pid):
    try:
        return os.path.basename((Path(f"/proc/{pid}/exe")).readlink()) == "qemu-system-x86_64"  # noqa: PTH119
    except OSError:
        return False


def test_doctor_says_what_each_guest_can_do(qemu_kernel):
    """It boots them: UML and QEMU do, and of KVM it says so or why not."""
    checks = {one["name"]: one for one in json.loads(powercut("doctor", "--json").stdout)["checks"]}
    assert checks["guest: qemu"]["ok"] is True
    assert "boots and answers" in checks["guest: qemu"]["found"]
    kvm = checks["guest: qemu, kvm"]
    assert kvm["ok"] is (True if qemu_kernel[0] == "qemu-kvm" else None)
    assert kvm["found"]
