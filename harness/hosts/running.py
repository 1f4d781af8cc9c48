"""
The kernel that runs on a machine.

In:       a Connection.
Out:      look(): Running; running_kernel(): a Kernel without a program here, remembered by its key.
Not here: the kernel that the machine boots by itself (own.py), the one under test, brought there (deploy.py).
"""

import hashlib

import msgspec

from harness.hosts.agent import supported
from harness.hosts.hosts import BadHost
from harness.hosts.ssh import Connection
from kernel import cache
from kernel.kernel import BuildFailed, Kernel, Provenance
from kernel.machine import SUFFIX, build_id

RUNNING = "running"  # the kernel spec of whatever runs there
KEY_DIGITS = 20  # as of kernels in the cache
FOLDER = "machines"

LOOK = r"""
field() { printf '%s\t%s\n' "$1" "$2"; }
field arch "$(uname -m)"
field release "$(uname -r)"
field version "$(cat /proc/version)"
field machine "$(cat /etc/machine-id)"
field boot "$(cat /proc/sys/kernel/random/boot_id)"
field words "$(cat /proc/cmdline)"
field notes "$(od -An -v -tx1 /sys/kernel/notes | tr -d ' \n')"
config=$(zcat /proc/config.gz 2>/dev/null || cat "/boot/config-$(uname -r)" 2>/dev/null)
field config "$(printf %s "$config" | sha256sum | cut -d' ' -f1)"
while read -r name _; do field module "$name"; done </proc/modules
for driver in /sys/bus/*/drivers/*; do
    [ -e "$driver/module" ] || continue
    for device in "$driver"/*; do
        [ -e "$device/driver" ] || continue
        module=$(readlink "$driver/module")
        field driver "${module##*/}"
        break
    done
done
exit 0
"""


class Running(msgspec.Struct, frozen=True):
    """What runs on a machine. machine: /etc/machine-id. boot: another one after each boot. words: its command
    line. build_id: hex digits, "" where the kernel has none. config: SHA-256 of its configuration. drivers:
    the modules that drive a device."""

    arch: str
    release: str
    version: str
    machine: str
    boot: str
    words: str
    build_id: str
    config: str
    modules: tuple[str, ...]
    drivers: tuple[str, ...]

    @property
    def is_ours(self) -> bool:
        return self.release.endswith(SUFFIX)

    @property
    def key(self) -> str:
        """What names the kernel beside those of the cache."""
        return hashlib.sha256(f"{self.build_id} {self.version}".encode()).hexdigest()[:KEY_DIGITS]


def look(connection: Connection) -> Running:
    """Errors: RemoteFailed, Unreachable; BadHost where the machine has no identity."""
    said: dict[str, list[str]] = {}
    for line in connection.run(LOOK).decode(errors="replace").splitlines():
        key, _, value = line.partition("\t")
        said.setdefault(key, []).append(value)
    found = Running(
        **{name: said[name][0] for name in ("arch", "release", "version", "machine", "boot", "words")},
        config=said["config"][0],
        build_id=build_id(bytes.fromhex(said["notes"][0])),
        modules=tuple(sorted(said.get("module", ()))),
        drivers=tuple(sorted(set(said.get("driver", ())))),
    )
    if not found.machine:
        raise BadHost(
            f"{connection.host.name}: its /etc/machine-id is empty. Run systemd-machine-id-setup there"
        )
    return found


def running_kernel(connection: Connection) -> Kernel:
    """It is remembered by its key, for the workers of a run. Errors: of look(); OSError."""
    seen = look(connection)
    kernel = Kernel(
        path="",
        provenance=Provenance(
            word=RUNNING,
            key=seen.key,
            source_version=f"{seen.release}, build id {seen.build_id or 'none'}",
            series=(),
            config_sha256=seen.config,
            missing_options=(),
            compiler=seen.version,
            build_s=0.0,
            step_count=0,
            size_bytes=0,
            linux_sha256=seen.build_id,
            arch=supported(seen.arch, connection.host.name),
        ),
    )
    place = cache.root() / FOLDER / f"{seen.key}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_suffix(".partial")
    partial.write_bytes(msgspec.json.encode(kernel))
    partial.replace(place)
    return kernel


def is_remembered(key: str) -> bool:
    """Whether it is the key of a kernel that ran on a machine, and was not built here."""
    return (cache.root() / FOLDER / f"{key}.json").is_file()


def remembered(key: str) -> Kernel:
    """Errors: BuildFailed where this machine never saw it run."""
    place = cache.root() / FOLDER / f"{key}.json"
    if not is_remembered(key):
        raise BuildFailed(f"no machine was seen with the kernel {key}")
    return msgspec.json.decode(place.read_bytes(), type=Kernel)
