"""
The kernel that a machine boots by itself: what one of ours is configured by, and what it must return to.

In:       a Connection, what runs there (running.py).
Out:      own_kernel(): Own, kept for later deployments; kernel_for(): what decides how one of ours is built.
Not here: building it (kernel/machine.py), booting it (deploy.py).

Own is kept in the cache when the machine's own kernel runs, for a kernel may be asked for while one of ours
does. Its list of modules grows by drivers alone: each other module that a test loads would make every kernel
be built anew.
"""

from pathlib import Path

import msgspec

from harness.hosts.hosts import BadHost, Host, place
from harness.hosts.running import Running
from harness.hosts.ssh import Connection
from kernel import cache
from kernel.kernel import Machine
from kernel.machine import ARCH

FOLDER = "hosts"
CONFIG = r"""
for file in "/boot/config-$(uname -r)" "/lib/modules/$(uname -r)/config" /proc/config.gz; do
    [ -e "$file" ] || continue
    case "$file" in *.gz) zcat "$file" ;; *) cat "$file" ;; esac
    exit
done
"""
OF_THE_LOADER = ("BOOT_IMAGE=", "initrd=")  # words that a boot loader adds


class Own(msgspec.Struct, frozen=True):
    """A machine's own kernel. words: its command line, without what the boot loader added. config: its text,
    "" where the machine has it nowhere."""

    release: str
    build_id: str
    words: str
    config: str
    modules: tuple[str, ...]


def own_kernel(connection: Connection, running: Running) -> Own:
    """As kept; asked for, and kept, when it runs. Errors: BadHost; those of run; OSError."""
    name = connection.host.name
    file = cache.root() / FOLDER / f"{running.machine}.json"
    kept = msgspec.json.decode(file.read_bytes(), type=Own) if file.is_file() else None
    if running.is_ours:
        if kept is None:
            raise BadHost(
                f"{name}: {running.release} runs there, which is a kernel of Powercut, and nothing is known "
                "here of the machine's own. Boot that one first (reboot), and try again"
            )
        return kept
    if kept is None or kept.build_id != running.build_id or kept.words != own_words(running.words):
        config = connection.run(CONFIG).decode(errors="replace")
        own = Own(
            running.release,
            running.build_id,
            own_words(running.words),
            config if "CONFIG_" in config else "",
            running.modules,
        )
        return _keep(own, file)
    if new := set(running.drivers) & set(running.modules) - set(kept.modules):
        modules = tuple(sorted({*kept.modules, *new}))
        return _keep(msgspec.structs.replace(kept, modules=modules), file)
    return kept


def own_words(command_line: str) -> str:
    return " ".join(word for word in command_line.split() if not word.startswith(OF_THE_LOADER))


def kernel_for(host: Host, running: Running, own: Own) -> Machine:
    """The machine's own config, reduced to its modules, or the file that the user named, as it is.
    Errors: BadHost."""
    if running.arch != ARCH:
        raise BadHost(
            f"{host.name}: it is {running.arch}, and a kernel can be built for {ARCH} only. Test the kernel "
            "that runs there: --kernel running"
        )
    if host.kernel_config:
        file = place().parent / Path(host.kernel_config).expanduser()
        try:
            config = file.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise BadHost(f"{place()}: [{host.name}] `kernel_config` cannot be read: {error}") from error
        if "CONFIG_" not in config:
            raise BadHost(f"{place()}: [{host.name}] `kernel_config`: {file} is no config of a kernel")
        return Machine(config, ())
    if not own.config:
        raise BadHost(
            f"{host.name}: the config of its kernel {own.release} is not there (/boot/config-*, "
            "/lib/modules/*/config, /proc/config.gz). Put it in /boot and boot that kernel, name a file by "
            f"`kernel_config` in {place()}, or use --kernel running"
        )
    return Machine(own.config, own.modules)


def _keep(own: Own, file: Path) -> Own:
    with cache.full_disk_explained():
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = file.with_suffix(".new")
        aside.write_bytes(msgspec.json.encode(own))
        aside.replace(file)
    return own
