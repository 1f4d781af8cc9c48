"""
`powercut host`: machines that are reached by ssh.

In:       the arguments of the command.
Out:      lines, or JSON; exit status 0; BadHost, Unreachable as harness/hosts/ raises them.
Not here: the connection, what is looked at, what may be claimed (harness/hosts/).
"""

import argparse
import sys

import msgspec

from harness.guests.agent_binary import agent_binary
from harness.hosts import claims, hosts
from harness.hosts.agent import architecture, put, supported
from harness.hosts.hosts import BadHost, Claim, Host
from harness.hosts.look import MODULES, Device, Machine, content, look, unfit, used_for
from harness.hosts.ssh import connect
from reports.terminal.terminal import folded, line
from reports.text.counting import about


def add_host(command: argparse.ArgumentParser) -> None:
    commands = command.add_subparsers(
        dest="what", required=True, metavar="add|show|list|claim|release|remove"
    )
    adding = commands.add_parser(
        "add", help="look at a machine and add it to hosts.toml; nothing is changed there"
    )
    adding.add_argument("name", metavar="NAME", help="what --guest calls it")
    adding.add_argument("address", metavar="ADDRESS", help="user@machine, or a name of ssh's configuration")
    adding.add_argument("--ssh-config", metavar="FILE", default="", help="in place of ~/.ssh/config")
    adding.add_argument("--port", type=int, default=0, metavar="N", help="of sshd there")
    for name, text in (
        ("power", "the command that switches it: off, on or cycle is added"),
        ("console", "the command that prints its console"),
        ("reset", "the command that resets it"),
    ):
        adding.add_argument(f"--{name}", metavar="CMD", default="", help=text)
    showing = commands.add_parser("show", help="look at a machine and show what is on its devices")
    listing = commands.add_parser("list", help="list the machines of hosts.toml; none is asked")
    removing = commands.add_parser("remove", help="remove a machine without claims from hosts.toml")
    claiming = commands.add_parser("claim", help="allow Powercut to write a device, which is wiped")
    releasing = commands.add_parser("release", help="remove the token of a claim from its device")
    for one in (showing, removing, claiming, releasing):
        one.add_argument("name", metavar="HOST", help="a machine of hosts.toml")
    for one in (claiming, releasing):
        one.add_argument("device", metavar="DEVICE", help="its link: /dev/disk/by-id/NAME")
    claiming.add_argument(
        "--role", choices=hosts.ROLES, required=True, help="what it is for: recorded, or its log"
    )
    claiming.add_argument(
        "--yes-wipe", metavar="SERIAL", default="", help="its serial number, in place of the question"
    )
    claiming.add_argument(
        "--beside-mounted",
        action="store_true",
        help="a partition or volume whose disk has something mounted, too",
    )
    releasing.add_argument(
        "--forget", action="store_true", help="only in hosts.toml: the device is gone, or not the same"
    )
    for one in (adding, showing, listing):
        one.add_argument("--json", action="store_true", help="print JSON")


def command_host(arguments: argparse.Namespace) -> int:
    commands = {
        "add": _add,
        "show": _show,
        "list": _list,
        "claim": _claim,
        "release": _release,
        "remove": _remove,
    }
    return commands[arguments.what](arguments)


def _add(arguments: argparse.Namespace) -> int:
    if arguments.name in hosts.hosts():
        raise BadHost(
            f"{arguments.name} is in {hosts.place()} already. Change it there, or remove it: "
            f"powercut host remove {arguments.name}"
        )
    new = hosts.made(
        arguments.name,
        arguments.address,
        arguments.ssh_config,
        arguments.port,
        {"power": arguments.power, "console": arguments.console, "reset": arguments.reset},
    )
    machine = looked_at(new)
    _fit(new, machine)
    hosts.keep(new)
    _print(machine, new, arguments.json)
    if not arguments.json:
        print(line("added", f"{new.name} to {hosts.place()}", cut=False))
    return 0


def _fit(host: Host, machine: Machine) -> None:
    """Errors: BadHost with all that it lacks."""
    if lacking := unfit(machine):
        raise BadHost("\n  ".join([f"{host.name} cannot be used:", *lacking]))


def looked_at(host: Host) -> Machine:
    """Errors: BadHost, Unreachable."""
    with connect(host) as connection:
        return look(connection)


def _show(arguments: argparse.Namespace) -> int:
    host = hosts.host(arguments.name)
    machine = looked_at(host)
    _print(machine, host, arguments.json)
    return 0


def _print(machine: Machine, host: Host, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(
            msgspec.json.format(msgspec.json.encode({"host": host, "machine": machine})).decode()
        )
        print()
    else:
        print("\n".join(machine_lines(host, machine)))


def _list(arguments: argparse.Namespace) -> int:
    known = hosts.hosts()
    if arguments.json:
        print(msgspec.json.format(msgspec.json.encode(list(known.values()))).decode())
        return 0
    if not known:
        print("no machine is known. Add one: powercut host add NAME root@ADDRESS")
    for host in known.values():
        claims = ", ".join(f"{claim.role} {claim.device}" for claim in host.claims)
        commands = ", ".join(name for name in ("power", "console", "reset") if getattr(host, name))
        print(
            line(host.name, f"{host.address}; {claims or 'no claim'}; {commands or 'no commands'}", cut=False)
        )
    return 0


def _remove(arguments: argparse.Namespace) -> int:
    host = hosts.host(arguments.name)
    if host.claims:
        devices = ", ".join(claim.device for claim in host.claims)
        raise BadHost(
            f"{host.name} has claims: {devices}. Release each first: powercut host release {host.name} DEVICE"
        )
    hosts.forget(host.name)
    print(line("removed", host.name))
    return 0


# --- claims ---


def _claim(arguments: argparse.Namespace) -> int:
    host = hosts.host(arguments.name)
    with connect(host) as connection:
        machine = look(connection)
        _fit(host, machine)
        binary = agent_binary(supported(machine.architecture, host.name))
        device = claims.found(machine, arguments.device)
        print("\n".join(device_lines(host, machine, device)))
        claim = claims.to_claim(
            host, machine, device, arguments.device, arguments.role, arguments.beside_mounted
        )
        agent = put(connection, binary)
        # Held from here on: what is shown is what is wiped.
        with claims.holding(connection, agent, claim, "write", device.number) as held:
            _confirm(device, claim, arguments.yes_wipe)
            _not_changed(machine, look(connection), device)
            held.go("written")
    hosts.keep(msgspec.structs.replace(host, claims=(*host.claims, claim)))
    print(line("claimed", f"{claim.device} as {claim.role} of {host.name}: {hosts.place()}", cut=False))
    return 0


def _confirm(device: Device, claim: Claim, given: str) -> None:
    """By the serial number; of a volume, by its name. Errors: BadHost."""
    wanted = device.dm_name or claim.serial
    what = "name" if device.dm_name else "serial number"
    if not given:
        if not sys.stdin.isatty():
            raise BadHost(f"to wipe {claim.device}, add --yes-wipe with its {what}")
        print(line("", f"All of it will be lost. Type its {what} to go on:"))
        given = input()
    if given.strip() != wanted:
        raise BadHost(f"{given.strip()!r} is not the {what} of {claim.device}; nothing was written")


def _not_changed(before: Machine, now: Machine, device: Device) -> None:
    """What is on it, while the user was asked. Errors: Refused."""
    again = next((one for one in now.devices if one.name == device.name), None)
    if again is None or content(now, again) != content(before, device) or again.number != device.number:
        raise claims.Refused(f"what is on {device.name} has changed since it was shown; nothing was written")


def _release(arguments: argparse.Namespace) -> int:
    host = hosts.host(arguments.name)
    claim = next((one for one in host.claims if one.device == arguments.device), None)
    if claim is None:
        known = ", ".join(one.device for one in host.claims) or "none"
        raise BadHost(f"{host.name} has no claim of {arguments.device}. Its claims: {known}")
    if not arguments.forget:
        with connect(host) as connection:
            agent = put(connection, agent_binary(architecture(connection)))
            with claims.holding(connection, agent, claim, "remove") as held:
                held.go("removed")
    hosts.keep(msgspec.structs.replace(host, claims=tuple(one for one in host.claims if one is not claim)))
    print(line("released", f"{claim.device} of {host.name}", cut=False))
    return 0


# --- lines ---


def machine_lines(host: Host, machine: Machine) -> list[str]:
    """What it is, then a paragraph for each disk."""
    clock = (
        "right"
        if not machine.clock_s
        else f"{abs(machine.clock_s):.0f} s " + ("ahead" if machine.clock_s > 0 else "behind")
    )
    missing = [name for name in MODULES if name not in machine.modules]
    lines = [
        line("machine", f"{host.name} ({host.address})"),
        line("kernel", f"{machine.kernel} {machine.architecture}"),
        line(
            "hardware",
            f"{machine.processors} processors, {about(machine.memory_bytes)} of memory, pages of "
            f"{machine.page_bytes >> 10} KiB; clock {clock}",
        ),
        *(folded("lacks", f"{', '.join(missing)}: of the kernel that runs now") if missing else ()),
        *(line("unfit", text, cut=False) for text in unfit(machine)),
    ]
    for device in machine.devices:
        if not device.parent:
            lines += device_lines(host, machine, device)
    return lines


def device_lines(host: Host, machine: Machine, device: Device, label: str = "") -> list[str]:
    """What it is, its names, what is on it."""
    found = [line(label or device.name, f"{device_words(device)}", cut=False)]
    found += [line("", f"/dev/disk/by-id/{link}", cut=False) for link in device.links]
    found += [line("", text, cut=False) for text in content(machine, device)]
    found += [line("", f"{name}: {use}", cut=False) for name, use in used_for(machine, device)]
    mine = {claim.device for claim in host.claims}
    names = {f"/dev/disk/by-id/{link}" for one in (device, *machine.parts(device)) for link in one.links}
    found += [line("", f"claimed: {name}", cut=False) for name in sorted(mine & names)]
    return found


def device_words(device: Device) -> str:
    """One line: model, serial, size, cache."""
    kind = [
        device.model or _kind(device),
        f"serial {device.serial}" if device.serial else "no serial",
        about(device.size_bytes),
        "rotational" if device.rotational else "",
        {"write back": "volatile cache", "write through": "no volatile cache"}.get(device.write_cache, ""),
        "read-only" if device.read_only else "",
        f"zoned {device.zoned}" if device.zoned != "none" else "",
    ]
    return ", ".join(part for part in kind if part)


def _kind(device: Device) -> str:
    if device.dm_name:
        return f"volume {device.dm_name}"
    if device.md_level:
        return f"md {device.md_level}"
    if device.backing_file:
        return f"file {device.backing_file}"
    return "disk"
