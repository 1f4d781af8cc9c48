"""
Experiments on a machine that is only reached by ssh: recorded on its NVMe disk, recovered there, on the disk
itself, and here.

In:       the machine (harness/suite/machine/); with --machine FOLDER one that runs already; POWERCUT_HOST
          names one of the user's own hosts.toml instead.
Out:      the same verdicts in each way; out-of-order completion seen; nothing left there, however we end.
Not here: which devices may be written (test_claims.py), the kernel under test there (test_deploy.py).
"""

import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSlot, GuestSpec
from harness.guests.machine import EDGE_BYTES
from harness.guests.spec import LOG_BYTES
from harness.hosts import hosts
from harness.hosts.hosts import keep
from harness.local.root import ROOT
from harness.local.workspace import workspace
from harness.states.log import MAGIC
from harness.suite.machine.machine import DEVICES
from harness.suite.machine.there import There, claimed
from oracles.profiles import profile
from reports.results import read_experiment, read_summary
from workloads.library import DEMONSTRATION

pytestmark = [pytest.mark.host, pytest.mark.timeout(5400)]

MOMENTS = 10
# In the background there, once: the device that is recorded has a name only while it is.
CRASH_WHILE_IT_RECORDS = """
nohup sh -c '
while :; do
    for name in /sys/block/dm-*/dm/name; do
        read -r is 2>/dev/null <"$name" && [ "$is" = powercut-recorded ] && echo c >/proc/sysrq-trigger
    done
    sleep 0.1
done' >/dev/null 2>&1 </dev/null &
"""
RECORDS = "find /sys/fs/pstore /var/lib/systemd/pstore -name 'dmesg-*' 2>/dev/null | sort; exit 0"


@pytest.fixture
def there(request, tmp_path, monkeypatch, capsys):
    """POWERCUT_HOST is a machine that is claimed already; ours gets a claim that is given back."""
    if name := os.environ.get("POWERCUT_HOST"):
        yield There(name, tmp_path / "results", capsys)
        return
    machine = request.getfixturevalue("machine")
    with claimed(machine, tmp_path / "results", monkeypatch, capsys) as one:
        yield one


def test_the_demonstration_set_comes_back_alike_in_three_ways(there):
    """From the machine's memory, on its real disk, and in User Mode Linux on this machine."""
    folder, summary, said = there.run("--fs", "btrfs,ext4,xfs", "--recover", "here,disk")
    assert summary.experiments == 3 * len(DEMONSTRATION)
    assert summary.states.unknown == 0, said
    assert {way: one.different for way, one in summary.recoveries.items()} == {"here": (), "disk": ()}
    assert summary.recoveries["here"].states == summary.states.planned
    assert summary.recoveries["disk"].states >= summary.experiments
    assert [one.signature for one in summary.findings if not one.known] == []
    assert "The queue of the disk" in (folder / "report" / "experiment-0001.html").read_text()


def test_a_real_queue_completes_writes_out_of_order(there):
    """With two processors and a queue; the machine's own guests on this machine never do."""
    _, summary, said = there.run("append-fsync-repeated", "nothing-synced-tree", "--fs", "btrfs,ext4")
    assert summary.queue.depth > 1
    assert summary.queue.beside > 0
    assert summary.queue.overtaking > 0
    assert "completed before an earlier one" in " ".join(said.split())


@pytest.mark.parametrize(
    "words",
    [
        ("--models", "O,R,T,N", "--budget", "20"),
        ("--device", "slow"),
        ("--faults",),
        ("--damage", "--budget", "20"),
    ],
    ids=lambda words: words[0],
)
def test_models_faults_and_damage_are_what_they_are_in_a_guest(there, words):
    """Of one workload; the kernel may lack a target (dm-dust), which is said."""
    _, summary, said = there.run("replace-by-rename", "--fs", "ext4", *words)
    assert summary.experiments == 1
    assert summary.states.planned > 0
    assert summary.states.unknown == 0, said
    assert [one.signature for one in summary.findings if not one.known] == []


def test_the_log_lies_on_a_device_that_was_claimed_for_it(there, machine_disks):
    """And is what dm-log-writes writes: its magic number is in the second disk's file."""
    second = DEVICES[1]
    disk = f"/dev/disk/by-id/{second.by_id}"
    claim = ("claim", there.name, disk, "--role", "log", "--yes-wipe", second.serial)
    status, said = there.powercut("host", *claim)
    assert status == 0, said
    try:
        _, summary, said = there.run("replace-by-rename", "--fs", "ext4")
        assert (summary.experiments, summary.states.unknown) == (1, 0), said
        with (machine_disks / second.serial).open("rb") as file:
            file.seek(EDGE_BYTES)
            assert struct.unpack("<Q", file.read(8)) == (MAGIC,)
    finally:
        assert there.powercut("host", "release", there.name, disk)[0] == 0


def test_a_disk_that_is_not_what_was_claimed_ends_with_2_before_anything_is_written(there):
    host = hosts.host(there.name)
    other = msgspec.structs.replace(host.claims[0], identity="00000000-0000-0000-0000-000000000000")
    keep(msgspec.structs.replace(host, claims=(other,)))
    try:
        status, said = there.powercut(
            "run", "replace-by-rename", "--guest", there.name, "--out", there.results
        )
    finally:
        keep(host)
    assert status == 2, said
    assert "identity" in said
    assert not there.results.exists()


def test_one_controller_at_a_time(there):
    one = profile("ext4")
    spec = GuestSpec(Path(os.devnull), agent_binary(), one.size_bytes, LOG_BYTES, kind=f"ssh:{there.name}")
    with workspace() as space, GuestSlot(spec, space) as guest_slot:
        guest_slot.guest()
        status, said = there.powercut(
            "run", "replace-by-rename", "--guest", there.name, "--out", there.results
        )
    assert status == 2, said
    assert "another powercut uses this machine" in said


def test_a_machine_that_panics_is_reset_and_the_run_goes_on(there):
    """Its own kernel stands still after a panic. The state that was recovered then is recovered again, and
    holds: a death that does not come again is not the filesystem's."""
    words = ["replace-by-rename", "link-into-new-directory", "symlink-fsync-parent", "--fs", "ext4"]
    command = [sys.executable, "-m", "harness.commands.main", "run", *words, "--guest", there.name]
    process = subprocess.Popen(
        [*command, "--out", str(there.results)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    deadline = time.monotonic() + 600
    while not list(there.results.glob("2*/experiments/0001")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    before = there.runs().boot
    there.crash()
    said, _ = process.communicate(timeout=2400)
    assert there.runs().boot != before
    assert process.returncode == 0, said
    summary = read_summary(there.folder)
    assert (summary.experiments, summary.states.unknown) == (3, 0)


def test_what_a_panic_left_in_pstore_is_what_its_finding_says(there):
    """Without the command `console`: it dies while it records, and nothing comes by ssh any more. Its own
    kernel stands still, so it is reset; systemd-pstore.service has moved the dump before sshd starts."""
    host = there.host
    assert there.does("cat /sys/module/pstore/parameters/backend").strip() != "(null)", "no persistent store"
    records = there.does(RECORDS)
    keep(msgspec.structs.replace(host, console=()))
    there.does(CRASH_WHILE_IT_RECORDS)
    try:
        folder, summary, said = there.run("append-fsync-repeated", "--fs", "ext4")
    finally:
        keep(host)
    (finding,) = summary.findings
    assert finding.oracle == "alive", said
    headline, first, *_ = (folder / "experiments" / "0001" / "kernel.log").read_text().splitlines()
    assert headline == "== while recording =="
    assert first == "Kernel panic - not syncing: sysrq triggered crash"
    assert set(there.does(RECORDS).split()) > set(records.split())  # nothing was deleted


def test_a_controller_that_is_killed_leaves_nothing_and_its_run_goes_on(there):
    """Kill -9 of all its processes here, at ten moments of one run."""
    draw = random.Random(18)
    words = ["append-fsync-repeated", "replace-by-rename", "--fs", "btrfs,ext4"]
    begin = ["run", *words, "--guest", there.name, "--out", there.results]
    command = [sys.executable, "-m", "harness.commands.main"]
    for moment in range(MOMENTS):
        made = sorted(there.results.glob("2*")) if there.results.exists() else []
        resume = ["run", "--resume", made[-1]] if made else begin
        process = subprocess.Popen(
            [*command, *map(str, resume)], cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL
        )
        time.sleep(draw.uniform(2, 30))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        there.await_nothing_left()
        assert moment < MOMENTS
    made = sorted(there.results.glob("2*"))
    status, said = there.powercut(*map(str, ["run", "--resume", made[-1]] if made else begin))
    assert status == 0, said
    assert read_summary(there.folder).experiments == 4
    done = sorted((there.folder / "experiments").iterdir())
    assert [read_experiment(one).facts.trouble for one in done] == [""] * 4
