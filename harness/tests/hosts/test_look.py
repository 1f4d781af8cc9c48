"""What is read from the records of look.sh, and what is said of it."""

import json
import os
import subprocess

import pytest

from harness.hosts.hosts import BadHost, Host
from harness.hosts.look import SCRIPT, content, parse, unfit, used_for
from harness.tests.hosts.made_machine import HOST, NOW, block, facts, machine


def test_the_script_reads_this_machine():
    """As it is: the numbers of its processors and of its root's disk are those of /proc."""
    done = subprocess.run(["sh", SCRIPT], capture_output=True, text=True, check=True)
    found = parse(done.stdout, (0, 2e9), HOST)
    assert found.kernel == os.uname().release
    assert found.processors >= 1
    assert found.page_bytes == os.sysconf("SC_PAGESIZE")
    assert found.memory_bytes > 1 << 20


def test_a_disk_has_its_facts_names_and_signatures():
    """Of several records."""
    wipefs = {"signatures": [{"type": "ext4", "offset": "0x438", "uuid": "u", "label": None}]}
    one = machine(
        block("nvme0n1", "259:0", 2048, model="M", serial="S", write_cache="write back"),
        "link\tnvme-M_S\t../../nvme0n1",
        f"block\tnvme0n1\tsignatures\t{json.dumps(wipefs)}",
    ).device("nvme0n1")
    assert (one.number, one.size_bytes, one.model, one.serial) == ("259:0", 1 << 20, "M", "S")
    assert (one.links, one.write_cache) == (("nvme-M_S",), "write back")
    assert [(each.kind, each.offset, each.uuid) for each in one.signatures] == [("ext4", 0x438, "u")]


@pytest.mark.parametrize(
    ("line", "where"),
    [
        ("24 1 8:1 / /srv rw - ext4 /dev/other rw", "/srv"),  # by its number
        ("24 1 0:40 /@ / rw - btrfs /dev/sda1 rw", "/"),  # a btrfs has a number of its own
        ("24 1 0:40 / /a\\040b rw shared:1 - btrfs /dev/disk/by-label/x rw", "/a b"),  # by a link
    ],
)
def test_a_mount_belongs_to_its_device(line, where):
    """By the number, or by what the source leads to."""
    found = machine(
        block("sda", "8:0", 8),
        block("sda1", "8:1", 4, parent="sda", partition=1),
        f"mount\t{line}",
        "path\t/dev/disk/by-label/x\t/dev/sda1",
    )
    assert found.device("sda1").mounts == (where,)
    assert found.device("sda").mounts == ()


def test_every_device_of_a_btrfs_is_mounted():
    """mountinfo names one of them."""
    found = machine(
        block("sda", "8:0", 8),
        block("sdb", "8:16", 8),
        "mount\t24 1 0:40 / /srv rw - btrfs /dev/sda rw",
        "btrfs\tsda",
        "btrfs\tsdb",
    )
    assert found.device("sdb").mounts == ("a btrfs",)
    assert found.device("sda").mounts == ("/srv",)


def test_swap_is_known_by_its_path():
    """Also where device mapper's path is a link."""
    found = machine(
        block("dm-0", "253:0", 8, dm_name="vg-swap"),
        "swap\t/dev/mapper/vg-swap partition\t1024\t0\t-2",
        "path\t/dev/mapper/vg-swap\t/dev/dm-0",
    )
    assert found.device("dm-0").swap


LVM = (
    block("sda", "8:0", 8),
    block("sda1", "8:1", 4, parent="sda", partition=1),
    "block\tsda1\tholders\tdm-0",
    block("dm-0", "253:0", 4, dm_name="vg-root"),
    "block\tdm-0\tslaves\tsda1",
    "mount\t24 1 253:0 / / rw - ext4 /dev/mapper/vg-root rw",
)


def test_what_would_be_lost_with_a_disk():
    """The root filesystem of a volume of a partition of it."""
    found = machine(*LVM)
    assert used_for(found, found.device("sda")) == (("dm-0", "mounted on /"),)
    assert content(found, found.device("sda")) == ("partition sda1: a part of dm-0",)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ()),
        ({"architecture": "aarch64"}, ()),
        (
            {"architecture": "riscv64"},
            ("its architecture is riscv64, and the agent is for x86_64 and aarch64",),
        ),
        ({"architecture": "armv7l"}, ("its architecture is armv7l",)),
        ({"memory_kib": str(512 << 10)}, ("it has 512 MiB of memory, and 1024 MiB",)),
        ({"clock": NOW - 100}, ("its clock is 99 s behind ours",)),
        ({"clock": NOW + 100}, ("its clock is 98 s ahead of ours",)),
        ({"machine_id": ""}, ("its /etc/machine-id is empty",)),
        ({"dm": False}, ("its kernel has no device mapper",)),
        ({"dm": False, "clock": 0}, ("its kernel has no device mapper", "its clock is")),
    ],
)
def test_everything_that_a_machine_lacks_is_listed(changed, expected):
    """Each with its fix; a clock is wrong by what the answer's time cannot explain."""
    found = unfit(parse(facts(**changed), (NOW, NOW + 2), HOST))
    assert len(found) == len(expected)
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True))


def test_another_system_is_refused():
    """Where the records of Linux are missing."""
    with pytest.raises(BadHost, match="it is no Linux"):
        parse("kernel\t14.1\n", (0, 1), Host("a", "a"))
