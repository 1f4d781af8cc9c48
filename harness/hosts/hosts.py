"""
hosts.toml: the machines that the user has named, and what was claimed there.

In:       the file, which the user may edit; a Host that is to be kept.
Out:      hosts(), host(): Hosts by name; keep() and forget(), which leave the user's comments.
Not here: reaching a machine (ssh.py), what is on its devices (look.py), claiming one (claims.py).

    [nuc1]
    address = "root@nuc1"                          # as ssh understands it; an alias of its config will do
    power = "labgrid-client -p nuc1 power"         # off, on or cycle is added

    [[nuc1.claims]]                                # written by `powercut host claim`
    role = "disk"
    ...
"""

import contextlib
import difflib
import os
import re
import shlex
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import tomlkit
from filelock import FileLock
from platformdirs import user_config_path

from harness.local.toml_lines import complaint, line_of

PLACE = "POWERCUT_HOSTS"
GUEST_KINDS = ("auto", "uml", "qemu", "qemu-aarch64")  # of --guest: no machine can have these names
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

Role = Literal["disk", "log"]
ROLES: tuple[Role, ...] = ("disk", "log")


class BadHost(Exception):
    """hosts.toml is wrong, there is no such machine, or it is not as it must be. The message has the fix."""


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    A device that may be written, as the token on it says (token.py).

    device: a name below /dev/disk/by-id/. serial: of the disk; of a volume, its device mapper UUID.
    identity: UUID of this claim. machine: /etc/machine-id. part: of a partition, its number, else 0.
    beside_mounted: the user knows that the disk has mounted parts beside this one.
    """

    role: Role
    device: str
    serial: str
    size_bytes: int
    identity: str
    machine: str
    part: int = 0
    beside_mounted: bool = False


class Host(msgspec.Struct, frozen=True):
    """
    address: "user@machine" or an alias of ssh's configuration. ssh_config: a file in place of the user's own.
    port: 0 is that of the configuration. power, console, reset: words of the user's commands; empty where
    there is none. kernel_config: a file in place of its own kernel's config.
    """

    name: str
    address: str
    ssh_config: str = ""
    port: int = 0
    power: tuple[str, ...] = ()
    console: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    kernel_config: str = ""

    def claim(self, role: str) -> Claim | None:
        return next((claim for claim in self.claims if claim.role == role), None)


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine's table. A command is one string with words as in a shell, or an array of words."""

    address: str
    ssh_config: str = ""
    port: int = 0
    power: str | tuple[str, ...] = ()
    console: str | tuple[str, ...] = ()
    reset: str | tuple[str, ...] = ()
    kernel_config: str = ""
    claims: tuple[Claim, ...] = ()


def place() -> Path:
    """$POWERCUT_HOSTS, else hosts.toml in the user's folder for configuration."""
    if named := os.environ.get(PLACE):
        return Path(named).expanduser()
    return user_config_path("powercut") / "hosts.toml"


def hosts() -> dict[str, Host]:
    """In the order of the file; none where there is no file. Errors: BadHost."""
    file = place()
    try:
        text = file.read_text()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadHost(f"{file} cannot be read: {error}") from error
    return parse(text, str(file))


def host(name: str) -> Host:
    """Errors: BadHost when there is none of this name; similar names are suggested."""
    known = hosts()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f" Similar names: {', '.join(near)}." if near else ""
    raise BadHost(
        f"there is no machine {name} in {place()}.{hint} Add it: powercut host add {name} root@ADDRESS"
    )


# --- the file ---


def parse(text: str, where: str) -> dict[str, Host]:
    """where: for messages. Errors: BadHost with the line."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadHost(f"{where}: {error}") from error
    found = {}
    for name, table in content.items():
        line = f"{where}:{line_of(text, [name])}"
        if not isinstance(table, dict):
            raise BadHost(f"{line}: `{name}` stands outside of a machine's table, such as [nuc1]")
        found[name] = _host(check_name(name, line), table, text, where)
    return found


def check_name(name: str, where: str = "") -> str:
    """Errors: BadHost."""
    prefix = f"{where}: " if where else ""
    if name in GUEST_KINDS:
        raise BadHost(f"{prefix}a machine cannot be called {name}: --guest {name} has another meaning")
    if not _NAME.fullmatch(name):
        raise BadHost(f"{prefix}the name of a machine has letters, digits, - and _, and {name!r} does not")
    return name


def _host(name: str, table: dict[str, Any], text: str, where: str) -> Host:
    try:
        read = msgspec.convert(table, _Table)
    except msgspec.ValidationError as error:
        raise BadHost(_complaint(name, error, text, where)) from error
    at = f"{where}:{line_of(text, [name, 'address'])}"
    if not read.address or read.address.startswith("-") or re.search(r"\s", read.address):
        raise BadHost(f"{at}: `address` is what ssh connects to, such as root@nuc1, not {read.address!r}")
    for role in ROLES:
        if sum(claim.role == role for claim in read.claims) > 1:
            raise BadHost(f"{where}: {name} has more than one claim with the role {role}")
    commands = {
        field: _words(getattr(read, field), f"{where}:{line_of(text, [name, field])}: `{field}`")
        for field in ("power", "console", "reset")
    }
    return Host(
        name,
        read.address,
        read.ssh_config,
        read.port,
        **commands,
        kernel_config=read.kernel_config,
        claims=read.claims,
    )


def _words(command: str | tuple[str, ...], where: str) -> tuple[str, ...]:
    if not isinstance(command, str):
        return command
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise BadHost(f"{where}: {error}: {command}") from error


_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*?)`")


def _complaint(name: str, error: msgspec.ValidationError, text: str, where: str) -> str:
    """What msgspec says, with the line and, for an unknown key, the one that may be meant."""
    message, keys = complaint(error)
    path = [name, *keys]
    fields = Claim.__struct_fields__ if "claims" in path else _Table.__struct_fields__
    if unknown := _UNKNOWN.search(message):
        path.append(unknown["field"])
        near = difflib.get_close_matches(unknown["field"], fields, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"the keys are {', '.join(fields)}"
        message = f"unknown key `{unknown['field']}`; {hint}"
    elif len(path) > 1:
        message = f"`{path[-1]}`: {message}"
    return f"{where}:{line_of(text, path)}: [{name}] {message}"


# --- changes ---


def made(name: str, address: str, ssh_config: str, port: int, commands: dict[str, str]) -> Host:
    """From words of the command line. Errors: BadHost."""
    check_name(name)
    table: dict[str, Any] = {"address": address, "ssh_config": ssh_config, "port": port, **commands}
    return _host(name, table, "", "command line")


def keep(new: Host) -> None:
    """Write this machine; what the user wrote beside its values stays. Errors: BadHost, OSError."""
    with _changing() as document:
        table = document.setdefault(check_name(new.name), tomlkit.table())
        for field, value in _values(new).items():
            if value:
                if table.get(field) != value:
                    table[field] = value
            elif field in table:
                del table[field]


def forget(name: str) -> None:
    """Errors: BadHost when there is none of this name; OSError."""
    host(name)
    with _changing() as document:
        document.pop(name, None)


def _values(new: Host) -> dict[str, Any]:
    """As they stand in the file. Commands stay as the user wrote them where they mean the same."""
    old = hosts().get(new.name)
    values: dict[str, Any] = {
        field: getattr(new, field) for field in ("address", "ssh_config", "port", "kernel_config")
    }
    for field in ("power", "console", "reset"):
        words = getattr(new, field)
        if old is None or getattr(old, field) != words:
            values[field] = shlex.join(words)
    claims = tomlkit.aot()
    for claim in new.claims:
        table = tomlkit.table()
        table.update(msgspec.to_builtins(claim))
        claims.append(table)
    return {**values, "claims": claims}


@contextlib.contextmanager
def _changing() -> Iterator[tomlkit.TOMLDocument]:
    """The file under a lock, written whole behind the block, and only when the result can be read."""
    file = place().resolve()  # a link to a file elsewhere stays one
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_name(f".{file.name}.lock")):
        hosts()  # what cannot be understood is not changed
        document = tomlkit.parse(file.read_text() if file.exists() else "")
        yield document
        text = tomlkit.dumps(document)
        parse(text, str(file))
        mode = file.stat().st_mode & 0o777 if file.exists() else 0o644
        descriptor, aside = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(descriptor, "w") as out:
                out.write(text)
                out.flush()
                os.fchmod(out.fileno(), mode)
                os.fsync(out.fileno())
            Path(aside).replace(file)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
