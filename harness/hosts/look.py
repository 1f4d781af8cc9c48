"""
What a machine is, and what is on each of its block devices.

In:       a Connection; the records that look.sh prints there.
Out:      look(): a Machine; parse(), which is pure; unfit(), content(), used_for(): what is said of them.
Not here: whether a device may be claimed (claims.py), how it is shown (harness/commands/host.py).

One script over the connection, which only reads.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.hosts.agent import ARCHITECTURES, foreign
from harness.hosts.hosts import BadHost, Host
from harness.hosts.ssh import Connection
from harness.hosts.token import token_words

SCRIPT = Path(__file__).with_name("look.sh")
MEMORY_BYTES = 1 << 30  # a state's disk and its changes are in memory there, as in our guests
CLOCK_S = 60.0  # the lines of both machines' logs stand beside each other
SECTOR_BYTES = 512
# What the agent needs of the running kernel; a kernel that we build has them.
MODULES = ("dm_mod", "dm_log_writes", "dm_flakey", "dm_snapshot", "dm_delay", "dm_dust", "brd", "loop")


class Signature(msgspec.Struct, frozen=True):
    """kind: as wipefs calls it: ext4, LVM2_member, gpt."""

    kind: str
    offset: int = 0
    label: str = ""
    uuid: str = ""


class Device(msgspec.Struct, frozen=True):
    """
    A block device, a partition or a volume.

    number: "259:0". links: names below /dev/disk/by-id/. part: number of a partition, else 0; parent: its
    disk. holders: devices made of this one; slaves: those that it is made of. token: of a claim of ours, its
    lines with | between. mounts: where it is mounted. write_cache: as the queue says: "write back" is a
    volatile cache.
    """

    name: str
    number: str
    size_bytes: int
    model: str = ""
    serial: str = ""
    links: tuple[str, ...] = ()
    parent: str = ""
    part: int = 0
    rotational: bool = False
    write_cache: str = ""
    zoned: str = "none"
    block_bytes: int = SECTOR_BYTES
    read_only: bool = False
    removable: bool = False
    dm_name: str = ""
    dm_uuid: str = ""
    md_level: str = ""
    backing_file: str = ""
    holders: tuple[str, ...] = ()
    slaves: tuple[str, ...] = ()
    signatures: tuple[Signature, ...] = ()
    token: str = ""
    mounts: tuple[str, ...] = ()
    swap: bool = False


class Machine(msgspec.Struct, frozen=True):
    """page_bytes: of memory; larger than the blocks of a filesystem, they ask more of it (hardware.md).
    clock_s: how far its clock is from ours, at least; 0 when it may be right. modules: those of MODULES
    that it has. wipefs: whether it can say what is on a device."""

    kernel: str
    architecture: str
    processors: int
    page_bytes: int
    memory_bytes: int
    machine_id: str
    clock_s: float
    modules: tuple[str, ...]
    wipefs: bool
    devices: tuple[Device, ...]

    def device(self, name: str) -> Device:
        return next(device for device in self.devices if device.name == name)

    def parts(self, disk: Device) -> tuple[Device, ...]:
        return tuple(device for device in self.devices if device.parent == disk.name)


def look(connection: Connection) -> Machine:
    """Errors: BadHost when it is no Linux that we understand; RemoteFailed, Unreachable."""
    begun = time.time()
    output = connection.run(SCRIPT.read_text(), timeout_s=300)
    return parse(output.decode(errors="replace"), (begun, time.time()), connection.host)


def parse(output: str, between: tuple[float, float], host: Host) -> Machine:
    """between: our time before and after. Errors: BadHost."""
    records = [line.split("\t") for line in output.splitlines()]
    facts = {record[0]: record[1] for record in records if len(record) == 2}
    try:
        clock = int(facts["clock"])
        return Machine(
            kernel=facts["kernel"],
            architecture=facts["architecture"],
            processors=int(facts["processors"]),
            page_bytes=int(facts["page_kib"]) << 10,
            memory_bytes=int(facts["memory_kib"]) << 10,
            machine_id=facts["machine_id"],
            # It says whole seconds.
            clock_s=min(0.0, clock + 1 - between[0]) + max(0.0, clock - between[1]),
            modules=_modules(records),
            wipefs=["tool", "wipefs"] in records,
            devices=_devices(records),
        )
    except (KeyError, ValueError) as error:
        raise BadHost(f"{host.name}: it is no Linux with /proc, /sys and a POSIX shell: {error!r}") from error


def _modules(records: Iterable[list[str]]) -> tuple[str, ...]:
    """As loaded, dm_mod, or as files, /dm-mod.ko."""
    names = {record[1] for record in records if record[0] == "module"}
    found = {name.strip("/").removesuffix(".ko").replace("-", "_") for name in names}
    return tuple(name for name in MODULES if name in found)


def unfit(machine: Machine) -> tuple[str, ...]:
    """All that this machine lacks, each with its fix."""
    found = []
    if machine.architecture not in ARCHITECTURES:
        found.append(foreign(machine.architecture))
    if "dm_mod" not in machine.modules:
        found.append(
            "its kernel has no device mapper: install the package of all its modules (on Debian, "
            "linux-image-amd64 in place of a cloud kernel)"
        )
    if machine.memory_bytes < MEMORY_BYTES * 7 // 8:  # the kernel keeps a part for itself
        found.append(
            f"it has {machine.memory_bytes >> 20} MiB of memory, and {MEMORY_BYTES >> 20} MiB are needed"
        )
    if abs(machine.clock_s) > CLOCK_S:
        way = "ahead of" if machine.clock_s > 0 else "behind"
        found.append(f"its clock is {abs(machine.clock_s):.0f} s {way} ours: set it, for example by NTP")
    if not machine.machine_id:
        found.append("its /etc/machine-id is empty: systemd-machine-id-setup makes one")
    return tuple(found)


# --- devices ---


def _devices(records: Iterable[list[str]]) -> tuple[Device, ...]:
    values: dict[str, dict[str, str]] = defaultdict(dict)
    lists: dict[tuple[str, str], list[str]] = defaultdict(list)
    links: dict[str, list[str]] = defaultdict(list)
    paths: dict[str, str] = {}
    mounts: dict[str, list[str]] = defaultdict(list)
    mounted_numbers: dict[str, list[str]] = defaultdict(list)
    swaps: list[str] = []
    of_btrfs: list[str] = []
    for record in records:
        match record:
            case ["block", name, ("holders" | "slaves") as what, other]:
                lists[name, what].append(other)
            case ["block", name, key, value]:
                values[name][key] = value
            case ["link", link, target]:
                links[Path(target).name].append(link)
            case ["path", path, target]:
                paths[path] = Path(target).name
            case ["mount", line]:
                number, point, source = _mount(line)
                mounted_numbers[number].append(point)
                mounts[source].append(point)
            case ["btrfs", name]:
                of_btrfs.append(name)
            case ["swap", *rest]:
                swaps.append("\t".join(rest).split()[0])
    by_name = {paths.get(source, Path(source).name): points for source, points in mounts.items()}
    swapped = {paths.get(source, Path(source).name) for source in swaps}
    return tuple(
        _device(
            name,
            of,
            links[name],
            (*lists[name, "holders"],),
            (*lists[name, "slaves"],),
            tuple(dict.fromkeys([*mounted_numbers[of["number"]], *by_name.get(name, ())]))
            or (("a btrfs",) if name in of_btrfs else ()),
            name in swapped,
        )
        for name, of in sorted(values.items())
    )


def _mount(line: str) -> tuple[str, str, str]:
    """Number, mount point and source of a line of mountinfo: proc(5)."""
    before, _, after = line.partition(" - ")
    return before.split(" ")[2], _unescaped(before.split(" ")[4]), _unescaped(after.split(" ")[1])


def _unescaped(text: str) -> str:
    for code in (" ", "\t", "\n", "\\"):
        text = text.replace(f"\\{ord(code):03o}", code)
    return text


def _device(
    name: str,
    of: dict[str, str],
    links: list[str],
    holders: tuple[str, ...],
    slaves: tuple[str, ...],
    mounts: tuple[str, ...],
    swap: bool,
) -> Device:
    return Device(
        name=name,
        number=of["number"],
        size_bytes=int(of["sectors"]) * SECTOR_BYTES,
        model=of.get("model", ""),
        serial=of.get("serial", "").strip(),
        links=tuple(sorted(links)),
        parent=of.get("parent", ""),
        part=int(of.get("partition") or 0),
        rotational=of.get("rotational") == "1",
        write_cache=of.get("write_cache", ""),
        zoned=of.get("zoned", "none"),
        block_bytes=int(of.get("block_bytes") or SECTOR_BYTES),
        read_only=of.get("read_only") == "1",
        removable=of.get("removable") == "1",
        dm_name=of.get("dm_name", ""),
        dm_uuid=of.get("dm_uuid", ""),
        md_level=of.get("md_level", ""),
        backing_file=of.get("backing_file", ""),
        holders=holders,
        slaves=slaves,
        signatures=signatures(of.get("signatures", "")),
        token=of.get("token", ""),
        mounts=mounts,
        swap=swap,
    )


def signatures(of_wipefs: str) -> tuple[Signature, ...]:
    """From the JSON of wipefs; nothing where there was none."""
    found = json.loads(of_wipefs)["signatures"] if of_wipefs.strip() else ()
    return tuple(
        Signature(one["type"], int(one["offset"], 16), one.get("label") or "", one.get("uuid") or "")
        for one in found
    )


# --- what is on one ---


def content(machine: Machine, device: Device) -> tuple[str, ...]:
    """What is on it and on its partitions, one a line; nothing where it is empty."""
    own = [*_uses(device), *(_signature_words(one) for one in device.signatures)]
    if device.token:
        own.append(token_words(device.token, machine.machine_id))
    for part in machine.parts(device):
        inside = content(machine, part)
        own.append(f"partition {part.name}: {'; '.join(inside) or 'nothing that is known'}")
    return tuple(own)


def _uses(device: Device) -> list[str]:
    found = [f"mounted on {point}" for point in device.mounts]
    found += ["swap that is in use"] if device.swap else []
    return found + [f"a part of {holder}" for holder in device.holders]


def _signature_words(one: Signature) -> str:
    return one.kind + (f" {one.label!r}" if one.label else "") + (f" {one.uuid}" if one.uuid else "")


def used_for(machine: Machine, device: Device) -> tuple[tuple[str, str], ...]:
    """Mounts and swaps that would be lost with this device, on what is made of it and of its partitions: the
    name of each, and how it is used."""
    direct = {device.name, *(part.name for part in machine.parts(device))}
    seen: dict[str, None] = {}
    todo = [device.name]
    while todo:
        name = todo.pop()
        one = next((each for each in machine.devices if each.name == name), None)
        if one is not None and name not in seen:
            seen[name] = None
            todo += [*one.holders, *(part.name for part in machine.parts(one))]
    above = [machine.device(name) for name in seen if name not in direct]
    return tuple(
        (one.name, use)
        for one in above
        for use in [
            *(f"mounted on {point}" for point in one.mounts),
            *(["swap that is in use"] if one.swap else []),
        ]
    )
