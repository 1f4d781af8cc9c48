"""
One test of fstests in a guest of its own, by the checkout's own `./check`.

In:       a kernel, a built checkout, the name of a test, a filesystem, a deadline.
Out:      attempt(): a FstestsAttempt.
Not here: the guest (guests/bare.py), what the output means (said.py), which tests, again and on which kernel
          (suite.py).

Each test gets a guest of its own, so what one leaves in the kernel does not reach the next, and a guest that
dies costs one test. The guest sees the host's programs and the checkout read only; it writes to its own
memory, to its disks, and to one folder of results. The disks are sparse files in memory.
"""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.fstests.said import answer, last_lines
from harness.guests.bare import run_in_guest
from harness.guests.filesystem import find_tool, run_tool
from harness.local.workspace import Workspace, memory_folder, room_bytes
from reports.fstests.results import FstestsAttempt

# generic/048 asks for 10 GiB free on the scratch device, xfs/217 for 2 GiB on the other. What is not written
# takes no room.
TEST_BYTES = 4 << 30
SCRATCH_BYTES = 12 << 30
LOGWRITES_BYTES = 12 << 30
MEMORY_MIB = 1536  # fsx and fsstress of several processes, and what the tests keep in /tmp
ROOM_BYTES = 4 << 30  # of disks and memory: measured at most 3.4 GiB (generic/048)
GRACE_S = 20.0  # for the start of the guest, beside the deadline of the test
CONSOLE_LINES = 30
# By filesystem: mkfs for the test device, and the package that has it.
MKFS = {
    "btrfs": (("mkfs.btrfs", "-q", "-f"), "btrfs-progs"),
    "ext4": (("mkfs.ext4", "-q", "-F"), "e2fsprogs"),
    "xfs": (("mkfs.xfs", "-q", "-f"), "xfsprogs"),
    "f2fs": (("mkfs.f2fs", "-q", "-f"), "f2fs-tools"),
}
USERS = ("fsgqa", "fsgqa2", "123456-fsgqa")  # README of fstests
FIRST_ID = 61000

# Programs that would wait for a daemon that the guest has not: udev, systemd, syslog. sysctl complains about
# what the kernel has not, in the middle of what ./check says.
SCRIPT = """\
hostname powercut
mkdir -p /tmp/bin /mnt/test /mnt/scratch /mnt/results
for name in udevadm systemctl systemd-run systemd-cat logger coredumpctl; do
	printf '#!/bin/sh\\nexit {no_daemon}\\n' >/tmp/bin/$name
	chmod +x /tmp/bin/$name
done
printf '#!/bin/sh\nexec /usr/sbin/sysctl "$@" 2>/dev/null\n' >/tmp/bin/sysctl
chmod +x /tmp/bin/sysctl
cp {disguise}/passwd {disguise}/group /tmp/
mount --bind /tmp/passwd /etc/passwd
mount --bind /tmp/group /etc/group
mount -t debugfs debugfs /sys/kernel/debug
mount -t devpts devpts /dev/pts
mount -t hostfs none /mnt/results -o {results} || mount -t hostfs none /mnt/results -o hostfs={results} ||
exit 99
export PATH=/tmp/bin:$PATH FSTYP={filesystem}
export TEST_DEV=/dev/ubda TEST_DIR=/mnt/test SCRATCH_DEV=/dev/ubdb SCRATCH_MNT=/mnt/scratch
export LOGWRITES_DEV=/dev/ubdc RESULT_BASE=/mnt/results HOST_OPTIONS=/dev/null
{more}cd /mnt/beside
./check {test} >/mnt/results/said 2>&1 </dev/null
"""


class Bench(msgspec.Struct, frozen=True):
    """What all tests of a run share. kernel: its program. word: its kernel spec. checkout: built."""

    kernel: Path
    word: str
    checkout: Path
    deadline_s: float


class NoRoomForDisks(Exception):
    """The folder in memory has too little space for the disks of a guest."""


def require_room() -> None:
    """Errors: NoRoomForDisks."""
    folder = memory_folder()
    if (free := room_bytes(folder)) < ROOM_BYTES:
        raise NoRoomForDisks(
            f"{folder} has only {free >> 20} MiB free, and a test may need {ROOM_BYTES >> 20} MiB for the "
            f"disks and the "
            "memory of its guest. Free some space, or use fewer --jobs"
        )


def attempt(
    bench: Bench, test: str, filesystem: str, space: Workspace, processor: int | None = None
) -> FstestsAttempt:
    """space: of this test alone. processor: as of GuestSpec.
    Errors: NoRoomForDisks, NoFilesystemTool, OSError."""
    require_room()
    started = time.monotonic()
    results = space.path / "results"
    results.mkdir()
    disks = disks_for(filesystem, space)
    script = script_for(test, filesystem, results, disguise(space))
    ran = run_in_guest(
        bench.kernel,
        script.parent,
        "bash ./try",
        space,
        beside=bench.checkout,
        timeout_s=bench.deadline_s + GRACE_S,
        disks=disks,
        memory_mib=MEMORY_MIB,
        options=("oops=panic",),  # a kernel that goes on after one hangs sooner or later
        processor=processor,
    )
    said, notrun = text_of(results / "said"), text_of(results / f"{test}.notrun")
    console = ran.lines[-CONSOLE_LINES:]
    result, reason, death = answer(test, said, notrun, ran.status != -1, console)
    return FstestsAttempt(
        kernel=bench.word,
        result=result,
        reason=reason,
        death=death,
        seconds=round(time.monotonic() - started, 1),
        output=last_lines(said, console, result),
    )


def disks_for(filesystem: str, space: Workspace) -> tuple[Path, ...]:
    """The test device with a filesystem, the scratch device and the one for dm-log-writes, both empty.
    Errors: NoFilesystemTool, OSError."""
    command, package = MKFS[filesystem]
    test, scratch, logwrites = (
        space.file(name, size)
        for name, size in (("test", TEST_BYTES), ("scratch", SCRATCH_BYTES), ("logwrites", LOGWRITES_BYTES))
    )
    run_tool([find_tool(command[0], package), *command[1:], str(test)])
    return test, scratch, logwrites


def script_for(test: str, filesystem: str, results: Path, disguise: Path, more: str = "") -> Path:
    """A folder of its own with the script `try`. more: lines before ./check."""
    folder = results.parent / "script"
    folder.mkdir()
    place = folder / "try"
    place.write_text(
        SCRIPT.format(
            no_daemon=1,
            disguise=shlex.quote(str(disguise)),
            results=shlex.quote(str(results)),
            filesystem=filesystem,
            test=shlex.quote(test),
            more=more,
        )
    )
    return place


def disguise(space: Workspace) -> Path:
    """passwd and group of this machine with the users that fstests wants, for the guest alone."""
    folder = space.path / "etc"
    folder.mkdir()
    users, groups = Path("/etc/passwd").read_text(), Path("/etc/group").read_text()
    for number, name in enumerate(USERS, start=FIRST_ID):
        users += "" if f"\n{name}:" in users else f"{name}:x:{number}:{number}::/tmp:/bin/bash\n"
        groups += "" if f"\n{name}:" in groups else f"{name}:x:{number}:\n"
    (folder / "passwd").write_text(users)
    (folder / "group").write_text(groups)
    return folder


def text_of(path: Path) -> str:
    """ "" of a file that is not there; a guest that died may leave any bytes."""
    return path.read_bytes().decode(errors="replace").replace("\0", "") if path.is_file() else ""


def require_tools(filesystems: Sequence[str]) -> None:
    """Errors: NoFilesystemTool."""
    for name in filesystems:
        command, package = MKFS[name]
        find_tool(command[0], package)
