"""
The kernel of a kernel spec, for a kind of guest.

In:       a kernel spec, config variants, the kind of the guest.
Out:      build_for() and by_key(): a Kernel; kernel_path(): its program on this machine.
Not here: the build (kernel/build.py), the kinds (spec.py), what runs on a machine (hosts/running.py), how a
          kernel comes there (hosts/deploy.py).
"""

import os
from pathlib import Path

import msgspec

from harness.guests.spec import SSH, arch_of, family, host_of
from harness.hosts.hosts import Host, host
from harness.hosts.own import kernel_for, own_kernel
from harness.hosts.reach import reached
from harness.hosts.running import RUNNING, is_remembered, look, remembered, running_kernel
from harness.hosts.ssh import connect
from harness.local.progress import Progress
from kernel import build as builds
from kernel.kernel import BadKernel, Kernel
from kernel.machine import ARCH


def build_for(kind: str, word: str, config: tuple[str, ...], progress: Progress) -> Kernel:
    """Errors: BadKernel, BuildFailed; of a machine BadHost, Unreachable."""
    if family(kind) != SSH:
        return builds.build(word, progress.building(word, config), config, arch_of(kind))
    if word != RUNNING:
        return _built_for_machine(host(host_of(kind)), word, config, progress)
    if config:
        raise BadKernel(
            f"the kernel that runs on {host_of(kind)} has the configuration that it has. Leave --config "
            f"{','.join(config)} out, or the workloads and profiles that need it"
        )
    with connect(host(host_of(kind))) as connection:
        return running_kernel(connection)


def _built_for_machine(machine: Host, word: str, config: tuple[str, ...], progress: Progress) -> Kernel:
    spec = builds.parse(word, config, ARCH)  # what is wrong with the word is told before the machine is asked
    with reached(machine) as connection:
        running = look(connection)
        own = own_kernel(connection, running)
    spec = msgspec.structs.replace(spec, machine=kernel_for(machine, running, own))
    return builds.build(spec, progress.building(word))


def by_key(kind: str, key: str) -> Kernel:
    """The kernel that build_for() gave in another process. Errors: BuildFailed."""
    if family(kind) == SSH and is_remembered(key):
        return remembered(key)
    return builds.by_key(key)


def under_test(path: Path) -> Kernel | None:
    """The Kernel of kernel_path(), as of a GuestSpec; None where it is what runs on the machine.
    Errors: BuildFailed."""
    return None if path == Path(os.devnull) else builds.by_key(path.parent.name)


def kernel_path(kernel: Kernel) -> Path:
    """Of its program, for its symbols and to start it; of one that only a machine has, a file without any."""
    return Path(kernel.path or os.devnull)
