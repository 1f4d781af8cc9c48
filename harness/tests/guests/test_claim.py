"""
The agent's look at a claimed device, on loop devices with a made-up /sys, in a mount namespace of their own.

By the agent of each architecture; what that shows of aarch64, agents.py says. In the guest of
harness/suite/test_host.py the same is tried on real disks.
"""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from harness.hosts import token
from harness.hosts.agent import ARCHITECTURES
from harness.hosts.claims import told
from harness.hosts.hosts import Claim
from harness.tests.guests.agents import loops_work, words_of

MIB = 1 << 20
SIZE = 8 * MIB
MACHINE = "0123456789abcdef0123456789abcdef"
CLAIM = Claim("disk", "/dev/disk/by-id/nvme-M_S1", "S1", SIZE, "aaaa-bbbb", MACHINE)
# A disk that is the loop device $1, beside it the loop device $2 with the name of another disk.
NAMESPACE = """
set -e
mount --bind "$3/machine-id" /etc/machine-id
mount -t tmpfs none /sys
for device in "$1" "$2"; do
    place=/sys/devices/$device
    number=7:${device#loop}
    mkdir -p $place/holders $place/slaves $place/queue /sys/dev/block /sys/class/block
    ln -s ../../devices/$device /sys/dev/block/$number
    echo $number >$place/dev
    echo none >$place/queue/zoned
done
echo " S1  " >/sys/devices/$1/serial
echo S2 >/sys/devices/$2/serial
mount -t tmpfs none /dev
mknod /dev/null c 1 3
for device in "$1" "$2"; do mknod /dev/$device b 7 ${device#loop}; done
mkdir -p /dev/disk/by-id
ln -s ../../$1 /dev/disk/by-id/nvme-M_S1
disk=$1 other=$2 agent=$4
eval "$5"
"""


pytestmark = pytest.mark.skipif(not loops_work(), reason="loop devices need root and /dev/loop-control")


class Disks:
    """Two loop devices; run() gives the answer of a script in the namespace."""

    def __init__(self, folder: Path, agent: list[str]) -> None:
        self.folder = folder
        self.agent = agent
        self.file = folder / "disk"
        self.names = [self._attach(self.file), self._attach(folder / "other")]
        (folder / "machine-id").write_text(MACHINE + "\n")

    def _attach(self, file: Path) -> str:
        with file.open("wb") as out:
            out.truncate(SIZE)
        done = subprocess.run(["losetup", "-f", "--show", file], check=True, capture_output=True, text=True)
        return Path(done.stdout.strip()).name

    def detach(self) -> None:
        for name in self.names:
            subprocess.run(["losetup", "-d", f"/dev/{name}"], check=True)

    def run(self, what: str, claim: Claim = CLAIM, go: str = "", script: str = "", number: str = "") -> str:
        words = ["sh", "-c", NAMESPACE, "sh", *self.names, str(self.folder), " ".join(self.agent)]
        done = subprocess.run(
            ["unshare", "-m", "--propagation", "private", *words, f"{script}\n$agent claim {what}"],
            input=told(claim, number) + go,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 2), done
        assert (done.returncode == 2) == ("refused" in done.stdout)
        return done.stdout

    def content(self) -> bytes:
        return self.file.read_bytes()


@pytest.fixture(params=ARCHITECTURES)
def agent(request):
    return words_of(request.param)


@pytest.fixture
def disks(tmp_path, agent):
    made = Disks(tmp_path, agent)
    yield made
    made.detach()


@pytest.fixture
def claimed(disks):
    assert disks.run("write", go="go\n").endswith("written\n")
    return disks


def test_a_claim_is_the_token_and_zeros_at_both_ends(disks):
    """What was there is gone, and what lies between is left as it was."""
    disks.file.write_bytes(b"x" * SIZE)
    said = disks.run("write", go="go\n")
    assert said == f"held 7:{disks.names[0].removeprefix('loop')}\nwritten\n"
    assert disks.content() == (token.block(CLAIM) + bytes(MIB - 4096) + b"x" * (SIZE - 2 * MIB) + bytes(MIB))


@pytest.mark.parametrize(("size", "answer"), [(SIZE + 512, "written"), (4 * MIB - 512, "at least 4194304")])
def test_a_device_of_any_number_of_sectors_is_claimed(disks, size, answer):
    """From 4 MiB on: something must lie between the areas."""
    with disks.file.open("r+b") as file:
        file.truncate(size)
    subprocess.run(["losetup", "-c", f"/dev/{disks.names[0]}"], check=True)
    assert answer in disks.run("write", msgspec.structs.replace(CLAIM, size_bytes=size), "go\n")


def test_nothing_is_written_without_go(disks):
    """The connection may end before the user has answered."""
    disks.file.write_bytes(b"x" * SIZE)
    assert disks.run("write").startswith("held")
    assert disks.content() == b"x" * SIZE


def test_a_claimed_device_is_held(claimed):
    """By verify until the end of its input."""
    assert claimed.run("verify").startswith("held 7:")


def test_a_released_device_has_no_token(claimed):
    """All else stays zero."""
    assert claimed.run("remove", go="go\n").endswith("removed\n")
    assert claimed.content() == bytes(SIZE)
    assert "there is no token of Powercut on it" in claimed.run("verify")


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"identity": "cccc"}, "its token says `identity aaaa-bbbb` where the claim has `identity cccc`"),
        ({"role": "log"}, "its token says `role disk` where the claim has `role log`"),
        ({"machine": "f" * 32}, f"the claim was made on the machine {'f' * 32}, and this is {MACHINE}"),
        ({"serial": "S9"}, "its serial number is S1, and S9 was claimed"),
        ({"size_bytes": SIZE + 4096}, f"its size is {SIZE} bytes, and {SIZE + 4096} were claimed"),
        ({"part": 1}, "it is the partition 0, and 1 was claimed"),
        ({"device": "/dev/disk/by-id/nvme-none"}, "/dev/disk/by-id/nvme-none is not there"),
        ({"device": "/dev/disk/by-id/../../sda"}, "a device is named by a link"),
    ],
)
def test_every_field_of_a_claim_is_compared(claimed, changed, reason):
    """With the device, or with its token."""
    before = claimed.content()
    for what in ("verify", "remove"):
        assert f"refused {reason}" in claimed.run(what, msgspec.structs.replace(CLAIM, **changed), "go\n")
    assert claimed.content() == before


@pytest.mark.parametrize("offset", [4096, MIB - 1, SIZE - MIB, SIZE - 1])
def test_a_byte_of_somebody_else_is_seen(claimed, offset):
    """At both edges of both areas."""
    with claimed.file.open("r+b") as file:
        file.seek(offset)
        file.write(b"\1")
    assert f"refused somebody wrote at byte {offset}" in claimed.run("verify")


def test_a_byte_between_the_areas_is_ours(claimed):
    """There stands what was recorded."""
    with claimed.file.open("r+b") as file:
        for offset in (MIB, SIZE - MIB - 1):
            file.seek(offset)
            file.write(b"\1")
    assert claimed.run("verify").startswith("held")


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("ln -sf ../../$other /dev/disk/by-id/nvme-M_S1", "its serial number is S2, and S1 was claimed"),
        ("ln -sf ../../null /dev/disk/by-id/nvme-M_S1", "leads to no block device"),
        ("rm /sys/devices/$disk/serial", "it has no serial number"),
        ("echo host-managed >/sys/devices/$disk/queue/zoned", "it is a zoned device (host-managed)"),
        (
            "mkdir -p /sys/devices/$disk/holders/md0; echo 9:0 >/sys/devices/$disk/holders/md0/dev",
            "a part of md0",
        ),
        (
            "mkdir -p /sys/devices/$disk/p1; echo 1 >/sys/devices/$disk/p1/partition; "
            "echo 7:99 >/sys/devices/$disk/p1/dev",
            "it has partitions: p1",
        ),
        ("mkdir /sys/devices/$disk/dm; echo CRYPT-1 >/sys/devices/$disk/dm/uuid", "it is of device mapper"),
        (
            "mkdir -p /sys/class/block/loop9/loop; echo /dev/$disk >/sys/class/block/loop9/loop/backing_file",
            "it is in use: the disk of loop9",
        ),
        (
            "mkdir -p /sys/fs/btrfs/uuid/devices; ln -s /sys/devices/$disk /sys/fs/btrfs/uuid/devices/$disk",
            "it is in use: a part of a btrfs that is mounted",
        ),
        (
            "blockdev --setro /dev/$disk; trap 'blockdev --setrw /dev/$disk' EXIT",
            "it is read-only",
        ),
        ("mount --bind /dev/null /etc/machine-id", "this machine has no /etc/machine-id"),
    ],
)
def test_what_sysfs_says_is_heeded(claimed, script, reason):
    """One thing is other than when it was claimed."""
    before = claimed.content()
    for what in ("verify", "remove"):
        said = claimed.run(what, go="go\n", script=script)
        assert said.startswith("refused")
        assert reason in said
    assert claimed.content() == before


def test_the_number_that_the_user_saw_must_hold(disks):
    """Between the look and the write a disk may have been plugged in."""
    assert "led to 7:99 and leads to 7:" in disks.run("write", go="go\n", number="7:99")


@pytest.mark.parametrize("kind", ["a mount", "swap", "another of us"])
def test_a_device_that_somebody_holds_is_refused(claimed, kind):
    """Really: by the kernel's O_EXCL, or, of swap and mounts, with how it is used."""
    before = claimed.content()
    node = f"/dev/{claimed.names[0]}"
    if kind == "another of us":
        holder = os.open(node, os.O_RDONLY | os.O_EXCL)
        try:
            said = claimed.run("remove", go="go\n")
        finally:
            os.close(holder)
        assert "held by another program" in said
        assert claimed.content() == before
        return
    make, use, end = {
        "a mount": (["mkfs.ext4", "-q", "-F", node], ["mount", node, claimed.folder / "m"], ["umount", node]),
        "swap": (["mkswap", "-q", node], ["swapon", node], ["swapoff", node]),
    }[kind]
    (claimed.folder / "m").mkdir()
    subprocess.run(make, check=True)
    subprocess.run(use, check=True)
    try:
        said = claimed.run("write", go="go\n")
    finally:
        subprocess.run(end, check=True)
    assert "refused it is in use: " + {"a mount": "mounted on", "swap": "swap"}[kind] in said


def test_the_agent_knows_its_words(agent):
    """Others are a mistake of ours."""
    done = subprocess.run([*agent, "claim", "x"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (3, "usage: agent claim verify|write|remove\n")
