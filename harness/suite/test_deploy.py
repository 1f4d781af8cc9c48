"""
The kernel under test on a machine that is only reached by ssh: built for it, booted there once, and gone
after a reset.

In:       the machine (harness/suite/machine/), its small kernel.config; with --machine FOLDER one that runs
          already. A planted bug of btrfs that is in the code of every kernel we build.
Out:      the bug found, minimized and exported from there; panic, hang and forbidden kexec survived.
Not here: what a machine as a guest can do (test_host.py), how it is built (kernel/tests/test_machine.py).
"""

import subprocess
import sys
import time

import msgspec
import pytest

from harness.guests.kernels import build_for
from harness.hosts import deploy
from harness.hosts.deploy import return_to_own, with_kernel
from harness.hosts.hosts import BadHost, keep
from harness.hosts.running import look
from harness.hosts.ssh import Unreachable, connect
from harness.local.progress import Progress
from harness.local.root import ROOT
from harness.suite.machine.there import claimed
from reports.results import read_summary
from workloads.library import DEMONSTRATION

pytestmark = [pytest.mark.host, pytest.mark.timeout(5400)]

SERIES, WORKLOAD = "planted/attribute-change-not-noted", "chmod-fsync"
SOURCE = "6.12"
WORD = f"{SOURCE}+{SERIES}"
BEGUN_S = 1200.0
# It stands still for good: nothing runs but a loop with interrupts off. A loop of the highest priority in
# user mode is not enough since 6.8, whose fair server leaves others a twentieth.
HANG = """
echo 0 >/proc/sys/kernel/panic
nohup sh -c 'sleep 1; echo c >/proc/sysrq-trigger' >/dev/null 2>&1 </dev/null &
exit 0
"""
CONFIG = ROOT / "harness" / "suite" / "machine" / "kernel.config"


def built(there):
    return build_for(f"ssh:{there.name}", WORD, (), Progress(quiet=True))


@pytest.fixture
def there(request, tmp_path, monkeypatch, capsys):
    """With a claimed disk, which is given back, and its own kernel at the end."""
    machine = request.getfixturevalue("machine")
    with claimed(machine, tmp_path / "results", monkeypatch, capsys, str(CONFIG)) as one:
        yield one
        with connect(one.host) as connection:
            return_to_own(connection)
        assert not one.runs().is_ours


def test_a_planted_bug_is_found_minimized_and_exported_there(there):
    """By kexec, known by its build id; the run itself brings the kernel."""
    words = [WORKLOAD, "--fs", "btrfs", "--guest", there.name, "--kernel", WORD, "--out", there.results]
    status, said = there.powercut("run", *words)
    assert status == 1, said
    now = there.runs()
    assert now.build_id == built(there).provenance.build_id
    assert "panic=10" in now.words
    assert "BOOT_IMAGE=" not in now.words, "GRUB booted it, and not kexec"
    assert there.powercut("host", "show", there.name)[0] == 0
    folder = there.folder
    findings = [one for one in read_summary(folder).findings if not one.known]
    assert {one.oracle for one in findings} == {"durable"}
    finding = findings[0]
    status, said = there.powercut("minimize", folder, finding.id, "--out", there.results)
    assert status == 0, said
    assert "3 operations" in said
    assert f"0 of 5 on {SOURCE} (stock)" in said
    folder = there.folder
    (finding,) = read_summary(folder).findings
    status, said = there.powercut("export", folder, finding.id, "--to", "sh", "--out", folder / "export")
    assert status == 0, said


def test_a_panic_leads_back_to_its_own_kernel_and_ours_is_booted_again(there):
    """By panic=10 alone, and without sending the kernel again."""
    kernel = built(there)
    with with_kernel(there.host, kernel) as connection:
        boot = look(connection).boot
        with pytest.raises(Unreachable):
            connection.run("echo c >/proc/sysrq-trigger", timeout_s=30)
    there.await_own(boot)
    said = []
    with with_kernel(there.host, kernel, tell=said.append) as connection:
        assert look(connection).build_id == kernel.provenance.build_id
    assert [line for line in said if "sending" in line] == []


def test_a_hang_is_ended_by_reset(there, monkeypatch):
    """Its network is gone, so it is as silent as one that hangs; the next start resets it, and boots ours."""
    monkeypatch.setattr("harness.hosts.reach.ALONE_S", 5)
    kernel = built(there)
    with with_kernel(there.host, kernel) as connection:
        before = look(connection).boot
        connection.run("nohup sh -c 'sleep 1; ip link set eth0 down' >/dev/null 2>&1 </dev/null &")
    time.sleep(3)
    with with_kernel(there.host, kernel, lost=True) as connection:
        now = look(connection)
    assert now.build_id == kernel.provenance.build_id
    assert now.boot != before


def test_a_hang_in_the_middle_of_a_run_is_ended_by_the_watchdog(there):
    """Nobody resets it, and it does not by itself. The board's watchdog, which is no longer fed, does; ours
    is booted again, and the run goes on."""
    words = ["--fs", "ext4", "--guest", there.name, "--kernel", WORD]
    keep(msgspec.structs.replace(there.host, reset=()))
    command = [sys.executable, "-m", "harness.commands.main", "run", *words, "--out", str(there.results)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + BEGUN_S
    while not list(there.results.glob("2*/experiments/0001")) and process.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.5)
    before = there.runs()
    assert before.is_ours
    there.does(HANG)
    said, _ = process.communicate(timeout=2400)
    now = there.runs()
    assert now.boot != before.boot
    assert now.build_id == before.build_id
    assert process.returncode == 0, said
    summary = read_summary(there.folder)
    assert (summary.experiments, summary.states.unknown) == (len(DEMONSTRATION), 0)


def test_where_kexec_is_forbidden_grub_boots_it_once(there):
    """And a reset leads back."""
    there.does("echo 1 >/proc/sys/kernel/kexec_load_disabled")
    kernel = built(there)
    with with_kernel(there.host, kernel) as connection:
        now = look(connection)
        assert now.build_id == kernel.provenance.build_id
        assert "BOOT_IMAGE=" in now.words
        return_to_own(connection)
    assert not there.runs().is_ours


def test_where_grub_cannot_either_it_is_refused_with_the_fix(there):
    """Nothing is booted then."""
    there.does("echo 1 >/proc/sys/kernel/kexec_load_disabled; mv /etc/default/grub.d/machine.cfg /root/")
    try:
        boot = there.runs().boot
        with (
            pytest.raises(BadHost, match=r"kexec is forbidden.*Set GRUB_DEFAULT=saved"),
            with_kernel(there.host, built(there)),
        ):
            pass
        assert there.runs().boot == boot
    finally:
        there.does("mv /root/machine.cfg /etc/default/grub.d/")


def test_a_boot_that_never_answers_is_told_after_a_reset(there, monkeypatch):
    """A root that does not exist: the initramfs waits for it."""
    monkeypatch.setattr(deploy, "BOOT_S", 240.0)
    kernel = built(there)
    with connect(there.host) as connection:
        deploy.put(connection, kernel)
        before = look(connection).boot
        deploy.boot(connection, "root=UUID=none console=ttyS0,115200 rootdelay=3600")
    with pytest.raises(deploy.NeverAnswered, match=r"never answered.*After reset it is back"):
        deploy.came_back(there.host, before)
    assert not there.runs().is_ours
