"""
No device of a machine is written that was not claimed: on real disks of the machine that is only reached by
ssh.

In:       the machine (harness/suite/machine/); with --machine FOLDER one that runs already.
Out:      each case is refused with exit status 2 and the reason, and no byte of the disk has changed.
Not here: every field of a claim, on loop devices (harness/tests/guests/test_claim.py).
"""

import contextlib
import hashlib
import os
import time
from pathlib import Path

import msgspec
import pytest

from harness.commands import main
from harness.guests.agent_binary import agent_binary
from harness.hosts import hosts, token
from harness.hosts.agent import put
from harness.hosts.claims import Refused, found, holding, to_claim
from harness.hosts.hosts import Host, keep
from harness.hosts.look import look
from harness.hosts.ssh import connect
from harness.suite.machine import monitor
from harness.suite.machine.machine import DEVICES, DISK_BYTES

pytestmark = [pytest.mark.host, pytest.mark.timeout(1800)]

BY_ID = "/dev/disk/by-id/"
LINKS = {device.serial: BY_ID + device.by_id for device in DEVICES}
NVME = LINKS["PCNVME0"]
MIB = 1 << 20
EXT4 = "mkfs.ext4 -q -F -E lazy_itable_init=0,lazy_journal_init=0"  # it writes nothing later


class Box:
    """The machine, one connection for what the tests do there themselves, and the files of its disks."""

    def __init__(self, machine, disks, connection, capsys):
        self.machine, self.disks, self.connection, self._capsys = machine, disks, connection, capsys
        self.agent = put(connection, agent_binary())

    def run(self, script):
        return self.connection.run(
            f"set -e\nexport PATH=$PATH:/usr/sbin:/sbin\n{script}", timeout_s=300
        ).decode()

    def monitor(self, line):
        said = monitor.words(self.machine.folder, line)
        assert not said.strip(), said

    def powercut(self, *words):
        """Exit status, and all that was said."""
        self._capsys.readouterr()
        status = main.main([str(word) for word in words])
        return status, "".join(self._capsys.readouterr())

    def claim(self, link=NVME, serial="PCNVME0", *more):
        return self.powercut("host", "claim", "box", link, "--role", "disk", "--yes-wipe", serial, *more)

    def release(self, link=NVME):
        return self.powercut("host", "release", "box", link)

    def digest(self, serial):
        """Of the disk's file, behind everything that the machine has still to write."""
        self.run("sync; udevadm settle")
        digest = hashlib.sha256()
        with (
            (self.disks / serial).open("rb") as file,
            contextlib.suppress(OSError),
        ):  # ENXIO: a hole up to the end
            at = 0
            while True:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
                digest.update(f"{at} ".encode() + os.pread(file.fileno(), 4096, at))
                at += 4096
        return digest.hexdigest()

    def agent_says(self, link):
        """Its own reason, whatever the controller found before."""
        machine = look(self.connection)
        device = found(machine, link)
        bare = msgspec.structs.replace(device, signatures=())
        without = msgspec.structs.replace(
            machine,
            devices=tuple(
                bare if one.name == device.name else msgspec.structs.replace(one, signatures=())
                for one in machine.devices
            ),
        )
        claim = to_claim(Host("box", "machine"), without, bare, link, "disk", False)
        with pytest.raises(Refused) as caught, holding(self.connection, self.agent, claim, "write"):
            pass
        return str(caught.value)


@pytest.fixture(scope="module")
def reached(machine, tmp_path_factory):
    """hosts.toml with the machine, and a connection."""
    place = tmp_path_factory.mktemp("hosts") / "hosts.toml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(hosts.PLACE, str(place))
        host = Host("box", "machine", ssh_config=str(machine.ssh_config))
        with connect(host) as connection:
            yield host, connection


@pytest.fixture
def box(machine, machine_disks, reached, capsys):
    host, connection = reached
    keep(host)  # without claims
    return Box(machine, machine_disks, connection, capsys)


@pytest.fixture
def claimed(box):
    """The first NVMe disk, claimed; its token is gone afterwards."""
    status, said = box.claim()
    assert status == 0, said
    yield box
    box.run(
        "udevadm trigger --settle -s block; "
        f"dd if=/dev/zero of={NVME} bs=4096 count=1 oflag=direct status=none"
    )


def test_a_disk_is_claimed_and_released(box):
    """The token is the first block, both ends are zero, and what was between stays."""
    box.run(f"dd if=/dev/urandom of={NVME} bs=1M count=3 oflag=direct status=none")
    old = (box.disks / "PCNVME0").read_bytes()[: 3 * MIB]
    status, said = box.claim()
    assert status == 0, said
    claim = hosts.host("box").claims[0]
    content = (box.disks / "PCNVME0").read_bytes()
    assert content[:MIB] == token.block(claim) + bytes(MIB - 4096)
    assert content[MIB : 3 * MIB] == old[MIB:]
    assert content[-MIB:] == bytes(MIB)
    shown = box.powercut("host", "show", "box")[1]
    assert f"claimed: {NVME}" in shown
    assert "a claim of Powercut, made on this machine: role disk" in shown
    status, said = box.claim(LINKS["PCNVME1"], "PCNVME1")
    assert (status, "has a claim with the role disk" in said) == (2, True)
    status, said = box.release()
    assert status == 0, said
    assert (box.disks / "PCNVME0").read_bytes()[:MIB] == bytes(MIB)
    assert hosts.host("box").claims == ()


PARTED = (
    f"printf 'label: gpt\\n,64M\\n,\\n' | sfdisk -q {NVME}; udevadm settle; "
    f"{EXT4} {NVME}-part1; mount -o ro {NVME}-part1 /mnt"
)
UNPARTED = (
    f"umount /mnt; wipefs -qa {NVME}-part1; sfdisk -q --delete {NVME}; wipefs -qa {NVME}; udevadm settle"
)
WIPED = f"wipefs -qa {NVME}; udevadm settle"
# What is done with the disk; its name; the reason at `host claim`, that of the agent; the way back.
CASES = {
    "mounted": (
        f"{EXT4} {NVME}; mount -o ro {NVME} /mnt",
        NVME,
        "it is in use: mounted on /mnt",
        "it is in use: mounted on /mnt",
        f"umount /mnt; {WIPED}",
    ),
    "btrfs of two disks, the second of which mountinfo does not name": (
        f"mkfs.btrfs -q -f {LINKS['PCNVME1']} {NVME}; btrfs device scan -q 2>/dev/null || true; "
        f"mount -o ro {LINKS['PCNVME1']} /mnt",
        NVME,
        "it is in use: a part of a btrfs that is mounted",
        "it is in use: a part of a btrfs that is mounted",
        f"umount /mnt; wipefs -qa {LINKS['PCNVME1']}; {WIPED}",
    ),
    "swap": (
        f"mkswap -q {NVME}; swapon {NVME}",
        NVME,
        "it is in use: swap that is in use",
        "it is in use: swap that is in use",
        f"swapoff {NVME}; {WIPED}",
    ),
    "whole disk with a mounted partition": (
        PARTED,
        NVME,
        "its partition nvme0n1p1 is in use: mounted on /mnt",
        "its partition nvme0n1p1 is in use: mounted on /mnt",
        UNPARTED,
    ),
    "partition of a mounted disk": (
        PARTED,
        f"{NVME}-part2",
        "it is on the same disk as nvme0n1p1, which is mounted on /mnt. --beside-mounted allows that",
        "it is on the same disk as nvme0n1p1",
        UNPARTED,
    ),
    "md member": (
        f"mdadm --create /dev/md0 --quiet --run --level=1 --raid-devices=2 {NVME} missing; udevadm settle",
        NVME,
        "nvme0n1 is a part of something larger: linux_raid_member",
        "it is a part of md0",
        f"mdadm --stop --quiet /dev/md0; mdadm --zero-superblock {NVME}; {WIPED}",
    ),
    "LVM physical volume": (
        f"vgcreate -qq vg {NVME}; lvcreate -qq -y -L 64M -n lv vg; udevadm settle",
        NVME,
        "nvme0n1 is a part of something larger: LVM2_member",
        "it is a part of dm-0 (vg-lv)",
        f"vgremove -qq -f vg; pvremove -qq {NVME}; {WIPED}",
    ),
    "LVM physical volume that is not active": (
        f"vgcreate -qq vg {NVME}",
        NVME,
        "nvme0n1 is a part of something larger: LVM2_member",
        "",
        f"vgremove -qq -f vg; pvremove -qq {NVME}; {WIPED}",
    ),
    "LUKS": (
        f"printf x | cryptsetup luksFormat -q --pbkdf pbkdf2 --pbkdf-force-iterations 1000 {NVME} -; "
        f"printf x | cryptsetup open --key-file - {NVME} secret; udevadm settle",
        NVME,
        "nvme0n1 is a part of something larger: crypto_LUKS",
        "it is a part of dm-0 (secret)",
        f"cryptsetup close secret; {WIPED}",
    ),
    "bcache": (
        f"modprobe bcache; make-bcache -B {NVME} >/dev/null; udevadm settle; "
        f"[ -e /sys/block/bcache0 ] || echo $(readlink -f {NVME}) >/sys/fs/bcache/register; udevadm settle",
        NVME,
        "nvme0n1 is a part of something larger: bcache",
        "it is a part of bcache0",
        f"echo 1 >/sys/block/bcache0/bcache/stop; udevadm settle; sleep 1; {WIPED}",
    ),
    "a table of device mapper": (
        f"echo 0 2048 linear {NVME} 0 | dmsetup create other; udevadm settle",
        NVME,
        "it is a part of dm-0 (other)",
        "it is a part of dm-0 (other)",
        "dmsetup remove other",
    ),
    "a loop device above it": (
        f"losetup -r /dev/loop5 $(readlink -f {NVME})",
        NVME,
        "it is in use: the disk of loop5",
        "it is in use: the disk of loop5",
        "losetup -d /dev/loop5",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_device_with_another_use_is_refused(box, name):
    """By the controller, which sees signatures, and by the agent, which asks the kernel."""
    setup, link, reason, of_agent, way_back = CASES[name]
    box.run(setup)
    try:
        before = box.digest("PCNVME0")
        status, said = box.claim(link)
        assert (status, reason in said) == (2, True), said
        if of_agent:
            assert of_agent in box.agent_says(link)
        assert box.digest("PCNVME0") == before
        assert hosts.host("box").claims == ()
    finally:
        box.run(way_back)


def test_the_root_disk_is_refused(box):
    """Through its partition."""
    status, said = box.claim(f"{BY_ID}virtio-PCROOT", "PCROOT")
    assert (status, "its partition vda1 is in use: mounted on /" in said) == (2, True), said


def test_a_partition_beside_a_mounted_one_is_claimed_when_that_is_said(box):
    """The mounted one stays as it is."""
    box.run(PARTED)
    try:
        before = box.run(f"sha256sum {NVME}-part1")
        status, said = box.claim(f"{NVME}-part2", "PCNVME0", "--beside-mounted")
        assert status == 0, said
        assert hosts.host("box").claims[0].beside_mounted
        assert box.run(f"sha256sum {NVME}-part1") == before
        status, said = box.release(f"{NVME}-part2")
        assert status == 0, said
    finally:
        box.run(UNPARTED)


def test_a_volume_of_LVM_is_claimed_by_its_name(box):
    """Its UUID stands for a serial number."""
    box.run(f"vgcreate -qq vg {NVME}; lvcreate -qq -y -L 64M -n lv vg; udevadm settle")
    try:
        link = box.run("ls /dev/disk/by-id/dm-uuid-LVM-*").strip()
        status, said = box.claim(link, "vg-lv")
        assert status == 0, said
        assert hosts.host("box").claims[0].serial == link.rpartition("dm-uuid-")[2]
        status, said = box.release(link)
        assert status == 0, said
    finally:
        box.run(f"vgremove -qq -f vg; pvremove -qq {NVME}; {WIPED}")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("/dev/nvme0n1", "PCNVME0"), "/dev/nvme0n1 may be another device after a reboot"),
        ((NVME[:-1] + "9", "PCNVME9"), "Similar names: nvme-QEMU_NVMe_Ctrl_PCNVME"),
        ((NVME, "PCNVME1"), "'PCNVME1' is not the serial number of"),
    ],
)
def test_a_device_is_named_exactly(box, words, reason):
    """By its link, and by its serial number."""
    before = box.digest("PCNVME0")
    status, said = box.claim(*words)
    assert (status, reason in said) == (2, True), said
    assert box.digest("PCNVME0") == before


def test_two_controllers_at_once(claimed):
    """The second finds the device held."""
    claim = hosts.host("box").claims[0]
    with holding(claimed.connection, claimed.agent, claim, "verify"):
        status, said = claimed.release()
    assert (status, "held by another program" in said) == (2, True), said


def test_a_link_that_moved(claimed):
    """The other disk is left as it is."""
    before = [claimed.digest(serial) for serial in ("PCNVME0", "PCNVME1")]
    claimed.run(f"ln -sfn ../../nvme1n1 {NVME}")
    status, said = claimed.release()
    assert (status, "its serial number is PCNVME1, and PCNVME0 was claimed" in said) == (2, True), said
    assert [claimed.digest(serial) for serial in ("PCNVME0", "PCNVME1")] == before


def test_a_token_of_another_machine(claimed):
    """A disk that was pulled there and plugged in here."""
    claim = msgspec.structs.replace(hosts.host("box").claims[0], machine="f" * 32)
    with (claimed.disks / "PCNVME0").open("r+b") as file:
        file.write(token.block(claim))
    before = claimed.digest("PCNVME0")
    status, said = claimed.release()
    assert (status, f"its token says `machine {'f' * 32}`" in said) == (2, True), said
    assert claimed.digest("PCNVME0") == before


def test_a_filesystem_that_was_made_on_it_since(claimed):
    """Somebody else has taken it."""
    claimed.run(f"{EXT4} {NVME}")
    before = claimed.digest("PCNVME0")
    status, said = claimed.release()
    assert status == 2
    assert "somebody wrote at byte" in said or "there is no token of Powercut on it" in said
    assert claimed.digest("PCNVME0") == before
    claimed.run(WIPED)


def test_a_disk_that_grew(box):
    """Its end is another than the one that was wiped."""
    link = LINKS["PCVIRTIO0"]
    status, said = box.claim(link, "PCVIRTIO0")
    assert status == 0, said
    box.monitor("block_resize pcvirtio0 3G")
    try:
        status, said = box.release(link)
        assert status == 2
        assert f"its size is {3 << 30} bytes, and {DISK_BYTES} were claimed" in said
    finally:
        box.monitor("block_resize pcvirtio0 2G")
    status, said = box.release(link)
    assert status == 0, said


# --- disks that are pulled out and plugged in ---


def pull(box, serial, link):
    box.monitor(f"device_del disk-{serial.lower()}")
    box.run(f"for i in $(seq 100); do [ -e {link} ] || exit 0; sleep 0.1; done; exit 1")


def plug(box, device, name, serial, file):
    """As QEMU's device `device`. With some kinds of devices QEMU lets the drive go, too."""
    deadline = time.monotonic() + 60
    while (drive := drive_of(box, name)).get("qdev"):
        assert time.monotonic() < deadline, drive
        time.sleep(0.1)
    if not drive:
        said = monitor.words(box.machine.folder, f"drive_add 0 if=none,id={name},file={file},format=raw")
        assert said.strip() == "OK", said
    box.monitor(f"device_add {device},id=disk-{name},drive={name},serial={serial}")


def drive_of(box, name):
    """As QEMU describes it; nothing when there is none."""
    return next((one for one in monitor.ask(box.machine.folder, "query-block") if one["device"] == name), {})


SCSI = LINKS["PCSCSI0"]


def await_link(box, link):
    box.run(f"for i in $(seq 100); do udevadm settle; [ -e {link} ] && exit 0; sleep 0.1; done; exit 1")


def test_a_disk_with_another_serial_number(box):
    """Under the same name: udev takes what the disk says, so here the link is made by hand."""
    status, said = box.claim(SCSI, "PCSCSI0")
    assert status == 0, said
    before = box.digest("PCSCSI0")
    pull(box, "PCSCSI0", SCSI)
    plug(box, "scsi-hd,bus=scsi.0", "pcscsi0", "OTHER", box.disks / "PCSCSI0")
    other = SCSI.replace("PCSCSI0", "OTHER")
    await_link(box, other)
    try:
        status, said = box.release(SCSI)
        assert (status, "is not there, or leads to no block device" in said) == (2, True), said
        box.run(f"ln -sfn $(readlink {other}) {SCSI}")
        status, said = box.release(SCSI)
        assert (status, "its serial number is OTHER, and PCSCSI0 was claimed" in said) == (2, True), said
        assert box.digest("PCSCSI0") == before
        assert box.powercut("host", "release", "box", SCSI, "--forget")[0] == 0
        assert box.digest("PCSCSI0") == before
    finally:
        box.run(f"rm -f {SCSI}")
        pull(box, "PCSCSI0", other)
        plug(box, "scsi-hd,bus=scsi.0", "pcscsi0", "PCSCSI0", box.disks / "PCSCSI0")
        await_link(box, SCSI)


def test_disks_that_changed_their_numbers(box, tmp_path):
    """The claim goes with the disk, and the one that has its number now is not written."""
    new = SCSI.replace("PCSCSI0", "NEWDISK")
    number = look(box.connection).device(box.run(f"basename $(readlink -f {SCSI})").strip()).number
    status, said = box.claim(SCSI, "PCSCSI0")
    assert status == 0, said
    claim = hosts.host("box").claims[0]
    file = box.disks / "NEWDISK"
    with file.open("wb") as out:
        out.truncate(DISK_BYTES)
    pull(box, "PCSCSI0", SCSI)
    plug(box, "scsi-hd,bus=scsi.0", "newdisk", "NEWDISK", file)
    await_link(box, new)
    plug(box, "scsi-hd,bus=scsi.0", "pcscsi0", "PCSCSI0", box.disks / "PCSCSI0")
    await_link(box, SCSI)
    try:
        devices = {link: found(look(box.connection), link) for link in (SCSI, new)}
        assert devices[new].number == number != devices[SCSI].number
        with (
            pytest.raises(Refused, match=f"led to {number} and leads to {devices[SCSI].number} now"),
            holding(box.connection, box.agent, claim, "write", number),
        ):
            pass
        before = box.digest("NEWDISK")
        status, said = box.release(SCSI)
        assert status == 0, said
        assert box.digest("NEWDISK") == before
        assert (box.disks / "PCSCSI0").read_bytes()[:MIB] == bytes(MIB)
    finally:
        pull(box, "NEWDISK", new)
        file.unlink()


def test_a_disk_that_is_pulled_out_while_the_user_is_asked(box):
    """It is gone before the write."""
    link = LINKS["PCNVME1"]
    machine = look(box.connection)
    device = found(machine, link)
    claim = to_claim(hosts.host("box"), machine, device, link, "disk", False)
    before = box.digest("PCNVME1")
    try:
        with holding(box.connection, box.agent, claim, "write", device.number) as held:
            pull(box, "PCNVME1", link)
            with pytest.raises(Refused, match="is not there"):
                held.go("written")
        assert box.digest("PCNVME1") == before
    finally:
        plug(box, "nvme,bus=port1", "pcnvme1", "PCNVME1", box.disks / "PCNVME1")
        await_link(box, link)


def test_the_machine_is_as_it_was(box):
    """After all of this."""
    shown = box.powercut("host", "show", "box")[1]
    assert shown.count("mounted on") == shown.count("partition vda1: mounted on /;") == 1
    assert "swap" not in shown
    assert Path(box.disks / "PCNVME0").stat().st_size == DISK_BYTES
