"""
The same experiments on aarch64 with pages of 64 KiB, in QEMU: the same verdicts as under User Mode Linux.

In:       the stock kernel and two with a planted bug, each built for both guests by its own compiler.
Out:      verdicts and findings, equal; proven states that come back the same; how the guest ends.
Not here: what a machine in QEMU has in common with x86_64 (test_qemu.py), the command line
          (harness/tests/guests/test_qemu.py).

A block of 4 KiB is a part of a page here: btrfs, ext4 and xfs read, write and log parts of a page, by code
that no other guest runs. The logs are not those of User Mode Linux, so answers are compared, and not states.
"""

from pathlib import Path

import pytest

from harness.guests import qemu
from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSlot, GuestSpec, GuestTrouble, LostGuest
from harness.guests.probe import accelerated
from harness.guests.spec import ACCELERATED, INBOX_BYTES, QEMU_AARCH64, arch_of
from harness.local import packages
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES
from harness.suite.test_proven import SOME, all_came_back, audited
from harness.suite.test_qemu import (
    PLANTED,
    folders_with_the_same_bug,
    kinds_with_the_same_verdicts,
    powercut,
)
from kernel.build import build

pytestmark = [pytest.mark.aarch64, pytest.mark.timeout(3600)]
GUESTS = ("uml", QEMU_AARCH64)


@pytest.fixture(scope="session", autouse=True)
def everything_is_there():
    if lacking := packages.missing(packages.QEMU_AARCH64):
        names = ", ".join(packages.names(lacking))
        pytest.skip(f"missing: {names}. Install them: {packages.install_line(lacking)}")


@pytest.fixture(scope="session")
def aarch64_kernel(kernel_word):
    """(kind, kernel): built by the cross compiler, when no earlier run on this machine has built it."""
    with Progress() as progress:
        kernel = build(kernel_word, progress.building(kernel_word), arch=arch_of(QEMU_AARCH64))
    return accelerated(QEMU_AARCH64, kernel), kernel


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_the_smoke_set_gives_the_same_verdicts(main_job, kernel_word, name):
    one, other = kinds_with_the_same_verdicts(main_job, kernel_word, name, GUESTS)
    assert one == "uml"
    assert other in ACCELERATED[QEMU_AARCH64]


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_bug_is_found_on_both(main_job, kernel_word, planted):
    folders_with_the_same_bug(main_job, kernel_word, planted, GUESTS)


@pytest.mark.parametrize(("name", "least"), [("btrfs", 1), ("ext4", 1), ("xfs", 0)])
def test_proven_states_come_back_as_the_state_that_proves_them(tmp_path, name, least):
    """What a recovery reads and writes is told in sectors and blocks, whatever a page is."""
    assert all_came_back(audited(tmp_path, SOME, [name], ("O", "R", "T"), 20, QEMU_AARCH64), least)


def slot_of(aarch64_kernel, space):
    kind, kernel = aarch64_kernel
    return GuestSlot(GuestSpec(Path(kernel.path), agent_binary(), 128 << 20, LOG_BYTES, kind=kind), space)


def test_a_machine_that_ends_is_a_lost_guest(aarch64_kernel):
    """A reboot, as after a panic, ends the machine: nobody waits for it until a deadline."""
    with workspace() as space, slot_of(aarch64_kernel, space) as guest_slot:
        guest = guest_slot.guest()
        guest.say(f"check 0 {INBOX_BYTES} 8 ext4 -")  # more than its buffer: the agent ends the machine
        with pytest.raises(GuestTrouble, match="read a device"):
            guest.hear()
        with pytest.raises(LostGuest, match="process ended \\(0\\)"):
            guest.hear()


def test_a_panic_is_told_at_once(aarch64_kernel, monkeypatch):
    """The kernel finds no init and panics."""
    words = qemu.kernel_words
    monkeypatch.setattr(qemu, "kernel_words", lambda spec: [*words(spec), "rdinit=/none"])
    with workspace() as space, slot_of(aarch64_kernel, space) as guest_slot:
        with pytest.raises(LostGuest, match="process ended") as lost:
            guest_slot.guest()
        assert lost.value.kind == "panic"


def test_f2fs_is_refused_before_a_kernel_is_built():
    asked = powercut("run", "--guest", QEMU_AARCH64, "--fs", "f2fs", "--kernel", "6.12")
    assert asked.returncode == 2
    assert "blocks of f2fs must be as large as a page" in asked.stderr
