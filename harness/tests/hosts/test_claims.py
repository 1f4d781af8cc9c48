"""Which device is meant, and which may not be claimed whoever asks."""

import json
import zlib

import pytest

from harness.hosts import token
from harness.hosts.claims import Refused, forbidden, found, serial_of, to_claim, told
from harness.hosts.hosts import Claim, Host
from harness.hosts.look import content
from harness.tests.hosts.made_machine import HOST, block, machine

CLAIM = Claim("disk", "/dev/disk/by-id/nvme-x", "S 1", 1 << 30, "1d", "ab12", part=2)


def signed(name, *kinds):
    found = [{"type": kind, "offset": "0x0", "uuid": "u", "label": None} for kind in kinds]
    return f"block\t{name}\tsignatures\t{json.dumps({'signatures': found})}"


def disk(*records):
    return machine(
        block("sda", "8:0", 2048, serial="S1"),
        block("sda1", "8:1", 1024, parent="sda", partition=1),
        "link\tata-x\t../../sda",
        "link\tata-x-part1\t../../sda1",
        *records,
    )


def test_a_device_is_found_by_its_link():
    """Of the disk, and of a partition."""
    assert found(disk(), "/dev/disk/by-id/ata-x").name == "sda"
    assert found(disk(), "/dev/disk/by-id/ata-x-part1").name == "sda1"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/dev/sda", "name it by its link in /dev/disk/by-id/. Its names are: /dev/disk/by-id/ata-x"),
        ("/dev/disk/by-id/ata-y", "Similar names: ata-x"),
        ("ata-x", "there is no ata-x on this machine. Similar names: ata-x"),
        ("/dev/disk/by-id/zzz", "powercut host show lists all"),
    ],
)
def test_another_name_is_refused_with_the_right_one(path, expected):
    """A kernel's own name changes from boot to boot."""
    with pytest.raises(Refused) as caught:
        found(disk(), path)
    assert expected in str(caught.value)


def test_a_partition_has_the_serial_number_of_its_disk():
    """And its own number."""
    seen = disk()
    assert serial_of(seen, seen.device("sda1")) == "S1"
    claim = to_claim(HOST, seen, seen.device("sda1"), "/dev/disk/by-id/ata-x-part1", "log", False)
    assert (claim.serial, claim.part, claim.role, claim.machine) == ("S1", 1, "log", "ab12")


def test_a_volume_has_its_uuid():
    """Of LVM; another volume of device mapper has nothing that lasts."""
    seen = machine(
        block("dm-0", "253:0", 8, dm_name="vg-lv", dm_uuid="LVM-abc"),
        block("dm-1", "253:1", 8, dm_name="secret", dm_uuid="CRYPT-abc"),
    )
    assert serial_of(seen, seen.device("dm-0")) == "LVM-abc"
    with pytest.raises(Refused, match=r"dm-1 \(secret\) is of device mapper, and no LVM volume"):
        serial_of(seen, seen.device("dm-1"))


def test_a_disk_without_a_serial_number_is_refused():
    """It cannot be known again."""
    seen = machine(block("sda", "8:0", 8))
    with pytest.raises(Refused, match="sda has no serial number"):
        serial_of(seen, seen.device("sda"))


@pytest.mark.parametrize("kind", ["linux_raid_member", "LVM2_member", "crypto_LUKS", "bcache", "zfs_member"])
def test_a_part_of_something_larger_is_refused(kind):
    """On the disk, and on a partition of it."""
    for name in ("sda", "sda1"):
        seen = disk(signed(name, "gpt", kind))
        (reason,) = forbidden(seen, seen.device("sda"))
        assert reason.startswith(
            f"{name} is a part of something larger: {kind} u. If that is given up: wipefs"
        )


def test_a_filesystem_is_shown_and_may_be_wiped():
    """The user types the serial number."""
    seen = disk(signed("sda", "gpt", "PMBR"), signed("sda1", "ext4"))
    assert forbidden(seen, seen.device("sda")) == ()
    assert content(seen, seen.device("sda")) == ("gpt u", "PMBR u", "partition sda1: ext4 u")


def test_a_machine_without_wipefs_is_refused():
    """What is on the disk is not known."""
    seen = disk()
    without = type(seen)(**{**{f: getattr(seen, f) for f in seen.__struct_fields__}, "wipefs": False})
    assert "no wipefs" in forbidden(without, without.device("sda"))[0]


def test_a_role_and_a_device_are_claimed_once():
    """The message has the command that releases."""
    seen = disk()
    link = "/dev/disk/by-id/ata-x"
    host = Host("nuc1", "root@nuc1", claims=(Claim("disk", link, "S1", 1 << 20, "1d", "ab12"),))
    with pytest.raises(Refused, match=f"powercut host release nuc1 {link}"):
        to_claim(host, seen, seen.device("sda1"), f"{link}-part1", "disk", False)
    with pytest.raises(Refused, match="sda is claimed already"):
        to_claim(host, seen, seen.device("sda"), link, "log", False)


def test_the_token_is_a_block_of_text():
    """Lines, their CRC, zeros."""
    block = token.block(CLAIM)
    text, _, zeros = block.partition(b"\0")
    lines = text.decode().splitlines()
    assert (len(block), set(zeros)) == (4096, {0})
    assert lines[0] == "powercut-claim 1"
    assert "serial S 1" in lines
    assert "device nvme-x" in lines
    assert lines[-1] == f"crc32 {zlib.crc32(text[: text.rindex(b'crc32')]):08x}"


def test_a_token_is_told_in_a_sentence():
    """Whose it is, and whether it was made here."""
    lines = token.block(CLAIM).rstrip(b"\0").decode().replace("\n", "|")
    assert token.token_words(lines, "ab12") == (
        "a claim of Powercut, made on this machine: role disk, nvme-x, identity 1d"
    )
    assert "made on the machine ab12" in token.token_words(lines, "cd34")
    seen = disk(f"block\tsda\ttoken\t{lines}")
    assert content(seen, seen.device("sda"))[0].startswith("a claim of Powercut, made on this machine")


def test_the_agent_is_told_every_field():
    """Lines, then an empty one."""
    assert told(CLAIM, "8:0").splitlines() == [
        "identity 1d",
        "machine ab12",
        "device nvme-x",
        "serial S 1",
        "bytes 1073741824",
        "role disk",
        "part 2",
        "beside_mounted 0",
        "number 8:0",
        "",
    ]
