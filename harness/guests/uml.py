"""
A guest as a program of the host: User Mode Linux.

In:       a GuestSpec, a folder with its devices' files.
Out:      BACKEND: its root, its channel, its command line.
Not here: starting it and talking with it (local.py).

Commands and answers are lines on ttyS0, a pair of pipes. Measured per 4 KiB on one machine, pinned to a
processor: ubd 49 us to read; a file on hostfs 83 us to write and sync; a line on a tty 33 us, but no more
than 4 KiB and no blocks. So bulk goes through ubd and the bell through the tty.
"""

import fcntl
import os
import shutil
from pathlib import Path

from harness.guests.spec import FILES, LINE_BYTES, LOOPS_PER_JIFFY, Backend, Channel, GuestSpec


def prepare(spec: GuestSpec, folder: Path) -> None:
    """What the guest sees as /: the agent and empty mount points, nothing else of the host. usr and etc are
    for the host's programs, when the agent is asked for them (agent/programs.c); the links are Debian's."""
    root = folder / "root"
    for name in ("dev", "proc", "sys", "mnt", "usr", "etc", "tmp"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        if not (root / name).is_symlink():
            (root / name).symlink_to(f"usr/{name}")
    shutil.copy(spec.agent, root / "init")
    for file in spec.files:
        (root / FILES).mkdir(exist_ok=True)
        shutil.copy(file, root / FILES / file.name)


def channel() -> Channel:
    guest_in, to_guest = os.pipe()
    from_guest, guest_out = os.pipe()
    fcntl.fcntl(from_guest, fcntl.F_SETPIPE_SZ, LINE_BYTES)
    return Channel(to_guest, from_guest, (guest_in, guest_out))


def command(spec: GuestSpec, folder: Path, theirs: tuple[int, ...]) -> list[str]:
    """The kernel is the program."""
    guest_in, guest_out = theirs
    devices = [f"ubd{number}={folder / name}" for number, (name, _) in enumerate(spec.devices())]
    return [
        str(spec.kernel),
        f"mem={spec.memory_mib}M",
        f"lpj={LOOPS_PER_JIFFY}",
        "quiet",
        "oops=panic",
        # From 6.16 on seccomp filters may hold the guest's processes instead of ptrace, with which some
        # processors have trouble. Measured on 7.2: a round of bench's bare loop costs 2.9 ms of processor
        # instead of 3.3 on btrfs, the same on xfs. Older kernels hand the word on to the agent, to no effect.
        # With several processors nothing else will do.
        *(("seccomp=auto",) if spec.cpus == 1 else ("seccomp=on", f"ncpus={spec.cpus}")),
        # Of kernels with SMP: a grace period takes less than a tick, and mounts and tables wait for many.
        "rcupdate.rcu_expedited=1",
        "rootfstype=hostfs",
        "root=/dev/root",
        f"rootflags={folder / 'root'}",
        "rw",
        "init=/init",
        *devices,
        "brd.rd_nr=3",
        f"brd.rd_size={spec.device_bytes >> 10}",
        "con=null",
        "con0=null,fd:1",
        "ssl=null",
        f"ssl0=fd:{guest_in},fd:{guest_out}",
        f"uml_dir={folder}/",
        "umid=guest",
    ]


BACKEND = Backend(prepare, channel, command, nudge=True)
