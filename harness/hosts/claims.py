"""
Claim a device of a machine, and release it: nothing else there is ever written.

In:       a Connection, what look() saw there, the agent's path there, a device by its link in
          /dev/disk/by-id/.
Out:      found(): the Device; to_claim(): the Claim to be made; forbidden(): why it may not be made;
          holding(): the device, held by the agent while the block lasts; go() writes or removes the token.
Not here: whether it is in use, its serial, size and token: the agent looks at them itself, while it holds the
          device (harness/guests/agent/claim.c). What is shown and asked (harness/commands/host.py).
"""

import contextlib
import difflib
import subprocess
import uuid
from collections.abc import Iterator
from typing import Literal

from harness.hosts.hosts import BadHost, Claim, Host, Role
from harness.hosts.look import Device, Machine
from harness.hosts.ssh import Connection, Unreachable, lines_of

BY_ID = "/dev/disk/by-id/"
ANSWER_S = 120.0  # a disk that spins up takes ten
ANSWERS = ("held", "refused", "trouble", "written", "removed")
# What wipefs calls a part of something larger, beside what ends in _member: md, LVM, ZFS, hardware RAID.
PARTS = ("bcache", "BitLocker", "ceph_bluestore", "crypto_LUKS", "drbd", "stratis", "vdo")
LVM = "LVM-"  # begin of the device mapper UUID of a volume


class Refused(BadHost):
    """The device may not be written; the message has the reason."""


def found(machine: Machine, path: str) -> Device:
    """The device of a link. Errors: Refused when it is another kind of path, or there is none."""
    links = {link: device for device in machine.devices for link in device.links}
    name = path.removeprefix(BY_ID)
    if name in links and path.startswith(BY_ID):
        return links[name]
    device = next((one for one in machine.devices if path == f"/dev/{one.name}"), None)
    if device is not None:
        names = [BY_ID + link for link in device.links]
        hint = f"Its names are: {', '.join(names)}" if names else "It has none: its disk has no serial number"
        raise Refused(f"{path} may be another device after a reboot: name it by its link in {BY_ID}. {hint}")
    near = difflib.get_close_matches(name, links, n=3, cutoff=0.5)
    hint = f"Similar names: {', '.join(near)}" if near else "powercut host show lists all"
    raise Refused(f"there is no {path} on this machine. {hint}")


def serial_of(machine: Machine, device: Device) -> str:
    """Of its disk, or, of an LVM volume, its UUID. Errors: Refused when it has none."""
    if device.dm_name:
        if not device.dm_uuid.startswith(LVM):
            raise Refused(f"{device.name} ({device.dm_name}) is of device mapper, and no LVM volume")
        return device.dm_uuid
    disk = machine.device(device.parent) if device.parent else device
    if not disk.serial:
        raise Refused(f"{disk.name} has no serial number, so it cannot be known again")
    return disk.serial


def to_claim(
    host: Host, machine: Machine, device: Device, path: str, role: Role, beside_mounted: bool
) -> Claim:
    """With a new identity. Errors: Refused when the role or the device is taken, or forbidden."""
    if (old := host.claim(role)) is not None:
        raise Refused(
            f"{host.name} has a claim with the role {role}: {old.device}. Release it first: "
            f"powercut host release {host.name} {old.device}"
        )
    for other in host.claims:
        if other.device.removeprefix(BY_ID) in device.links:
            raise Refused(f"{device.name} is claimed already: {other.device}, with the role {other.role}")
    serial = serial_of(machine, device)
    if reasons := forbidden(machine, device):
        raise Refused("\n  ".join([f"{path} ({device.name}) may not be claimed:", *reasons]))
    return Claim(
        role=role,
        device=path,
        serial=serial,
        size_bytes=device.size_bytes,
        identity=str(uuid.uuid4()),
        machine=machine.machine_id,
        part=device.part,
        beside_mounted=beside_mounted,
    )


def forbidden(machine: Machine, device: Device) -> tuple[str, ...]:
    """Signatures of something larger that it may be a part of, also where that is not running now."""
    if not machine.wipefs:
        return ("the machine has no wipefs, so what is on it is not known (package util-linux)",)
    reasons = [
        f"{one.name} is a part of something larger: {each.kind} {each.uuid or each.label}".rstrip()
        + f". If that is given up: wipefs -a /dev/{one.name} there"
        for one in (device, *machine.parts(device))
        for each in one.signatures
        if each.kind in PARTS or each.kind.endswith("_member")
    ]
    return tuple(reasons)


# --- the agent, which holds the device ---


class Held:
    """number: the device's, "259:0"."""

    def __init__(self, name: str, process: subprocess.Popen[bytes]) -> None:
        self._name = name
        self._process = process
        self.number = self.answer("held")

    def go(self, expected: Literal["written", "removed"]) -> None:
        """The agent looks again, and does it. Errors: Refused, Unreachable."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"go\n")
            self._process.stdin.flush()
        self.answer(expected)

    def answer(self, expected: str) -> str:
        """Errors: Refused, Unreachable."""
        for line in lines_of(self._process, ANSWER_S):
            word, _, rest = line.partition(" ")
            if word == expected:
                return rest
            if word == "refused":
                raise Refused(f"{self._name} may not be written: {rest}")
            if word in ANSWERS:
                raise Unreachable(f"{self._name}: the agent said `{line}`")
        self._process.kill()
        assert self._process.stderr is not None
        said = self._process.stderr.read().decode(errors="replace").strip()
        raise Unreachable(f"{self._name}: the agent has not answered: {said or 'the connection is lost'}")


@contextlib.contextmanager
def holding(
    connection: Connection,
    agent: str,
    claim: Claim,
    what: Literal["verify", "write", "remove"],
    number: str = "",
) -> Iterator[Held]:
    """The device of a claim, held with O_EXCL there. number: that of the device the user has seen; it must
    still have it. Errors: Refused, Unreachable."""
    with subprocess.Popen(
        connection.command([agent, "claim", what]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(told(claim, number).encode())
                process.stdin.flush()
            yield Held(claim.device, process)
        finally:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()  # it gives the device back
            try:
                process.wait(ANSWER_S)
            except subprocess.TimeoutExpired:
                process.kill()


def told(claim: Claim, number: str = "") -> str:
    """As claim_line() in claim.c reads it; the empty line ends it."""
    values = {
        "identity": claim.identity,
        "machine": claim.machine,
        "device": claim.device.removeprefix(BY_ID),
        "serial": claim.serial,
        "bytes": claim.size_bytes,
        "role": claim.role,
        "part": claim.part,
        "beside_mounted": int(claim.beside_mounted),
        **({"number": number} if number else {}),
    }
    return "".join(f"{key} {value}\n" for key, value in values.items()) + "\n"
