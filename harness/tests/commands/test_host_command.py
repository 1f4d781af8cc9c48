"""`powercut host` without a machine; with one, it is tried in harness/suite/test_host.py."""

import contextlib
import json

import pytest

from harness.commands import host as host_command
from harness.commands.host import _confirm, _not_changed, machine_lines
from harness.guests import agent_binary
from harness.hosts import hosts
from harness.hosts.claims import Refused
from harness.hosts.hosts import BadHost, Claim, Host, keep
from harness.hosts.look import parse
from harness.tests.conftest import Powercut
from harness.tests.hosts.made_machine import HOST, NOW, block, facts, machine

CLAIM = Claim("disk", "/dev/disk/by-id/nvme-x", "S1", 1 << 30, "1d", "ab12")


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv(hosts.PLACE, str(tmp_path / "hosts.toml"))


def test_the_list_asks_no_machine(powercut: Powercut):
    """What is in the file, one line each; nothing is said how to begin."""
    assert "powercut host add NAME" in powercut("host", "list")[1]
    keep(Host("nuc1", "root@nuc1", power=("p",), claims=(CLAIM,)))
    assert powercut("host", "list")[1] == "nuc1       root@nuc1; disk /dev/disk/by-id/nvme-x; power\n"
    assert json.loads(powercut("host", "list", "--json")[1])[0]["claims"][0]["serial"] == "S1"
    assert powercut("list", "--names", "hosts")[1] == "nuc1\n"


def test_a_machine_with_a_claim_is_not_removed(powercut: Powercut):
    """Its token would stay there."""
    keep(Host("nuc1", "root@nuc1", claims=(CLAIM,)))
    status, _, error = powercut("host", "remove", "nuc1")
    assert (status, "powercut host release nuc1" in error) == (2, True)
    keep(Host("nuc1", "root@nuc1"))
    assert powercut("host", "remove", "nuc1")[0] == 0
    assert hosts.hosts() == {}


def test_a_name_is_taken_once(powercut: Powercut):
    """Before anything is asked there; the same holds for a wrong address and a wrong name."""
    keep(Host("nuc1", "root@nuc1"))
    for words, expected in (
        (("nuc1", "root@nuc2"), "nuc1 is in"),
        (("qemu", "root@nuc2"), "cannot be called qemu"),
        (("nuc2", "root@nuc 2"), "`address` is what ssh connects to"),
    ):
        status, _, error = powercut("host", "add", *words)
        assert (status, expected in error) == (2, True)


def test_a_machine_that_cannot_be_reached_is_trouble_of_ours(powercut: Powercut):
    """Not bad input: it may only be off. Nothing is kept."""
    status, _, error = powercut("host", "add", "nuc1", "root@127.0.0.1", "--port", 1)
    assert (status, "nothing listens there" in error) == (3, True)
    assert hosts.hosts() == {}


def test_a_disk_is_shown_with_what_is_on_it():
    """Its facts, its names, its partitions, its claim."""
    found = machine(
        block("sda", "8:0", 4 << 21, model="M", serial="S", write_cache="write back"),
        "link\tnvme-x\t../../sda",
        block("sda1", "8:1", 1 << 11, parent="sda", partition=1),
        "mount\t24 1 8:1 / /srv rw - ext4 /dev/sda1 rw",
    )
    lines = machine_lines(Host("nuc1", "root@nuc1", claims=(CLAIM,)), found)
    assert lines[:3] == [
        "machine    nuc1 (root@nuc1)",
        "kernel     6.12.1 x86_64",
        "hardware   2 processors, 2.0 GiB of memory, pages of 4 KiB; clock right",
    ]
    assert lines[-4:] == [
        "sda        M, serial S, 4.0 GiB, volatile cache",
        "           /dev/disk/by-id/nvme-x",
        "           partition sda1: mounted on /srv",
        "           claimed: /dev/disk/by-id/nvme-x",
    ]


def test_what_the_kernel_lacks_is_shown():
    """Every module that the agent needs."""
    assert any("dm_log_writes" in text for text in machine_lines(HOST, machine()))


def test_a_disk_that_changed_while_the_user_was_asked_is_not_written():
    """What he has seen is not what would be lost; nor is a disk that has another number now."""
    sda, signed = (
        block("sda", "8:0", 8),
        'block\tsda\tsignatures\t{"signatures": [{"type": "ext4", "offset": "0x438"}]}',
    )
    seen = machine(sda)
    _not_changed(seen, machine(sda), seen.device("sda"))
    for now in (machine(sda, signed), machine(block("sda", "8:16", 8)), machine()):
        with pytest.raises(Refused, match="has changed since it was shown; nothing was written"):
            _not_changed(seen, now, seen.device("sda"))


@pytest.mark.parametrize(
    ("typed", "right"), [("S1", True), (" S1 ", True), ("s1", False), ("", False), ("y", False)]
)
def test_the_serial_number_is_typed(monkeypatch, capsys, typed, right):
    """As it is; nothing else stands for it."""
    device = machine(block("sda", "8:0", 8, serial="S1")).device("sda")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda: typed)
    if right:
        _confirm(device, CLAIM, "")
    else:
        with pytest.raises(BadHost, match="is not the serial number"):
            _confirm(device, CLAIM, "")
    assert "Type its serial number" in capsys.readouterr().out


def test_of_a_volume_the_name_is_typed():
    """Its UUID has 68 letters."""
    device = machine(block("dm-0", "253:0", 8, dm_name="vg-lv", dm_uuid="LVM-x")).device("dm-0")
    _confirm(device, CLAIM, "vg-lv")
    with pytest.raises(BadHost, match="is not the name"):
        _confirm(device, CLAIM, "LVM-x")


def test_without_a_terminal_the_serial_number_is_an_option(monkeypatch):
    """Nobody could be asked."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(BadHost, match="add --yes-wipe with its serial number"):
        _confirm(machine(block("sda", "8:0", 8)).device("sda"), CLAIM, "")


def test_a_claim_that_is_not_there_is_not_released(powercut: Powercut):
    """The message has those that are; --forget asks no machine."""
    keep(Host("nuc1", "root@nuc1", claims=(CLAIM,)))
    status, _, error = powercut("host", "release", "nuc1", "/dev/disk/by-id/y")
    assert (status, "Its claims: /dev/disk/by-id/nvme-x" in error) == (2, True)
    assert powercut("host", "release", "nuc1", CLAIM.device, "--forget")[0] == 0
    assert hosts.host("nuc1").claims == ()


def test_a_claim_on_aarch64_needs_the_cross_compiler(powercut: Powercut, monkeypatch):
    """The message has the packages; the disk was not touched."""
    there = parse(facts(architecture="aarch64") + block("sda", "8:0", 8, serial="S1"), (NOW, NOW + 2), HOST)
    monkeypatch.setattr(host_command, "connect", contextlib.nullcontext)
    monkeypatch.setattr(host_command, "look", lambda _: there)
    monkeypatch.setattr(agent_binary, "missing", tuple)
    keep(Host("nuc1", "root@nuc1"))
    status, _, error = powercut("host", "claim", "nuc1", CLAIM.device, "--role", "disk", "--yes-wipe", "S1")
    assert (status, "gcc-aarch64-linux-gnu libc6-dev-arm64-cross" in error) == (3, True)
    assert hosts.host("nuc1").claims == ()
