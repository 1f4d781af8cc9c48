"""
Tests of fstests in a guest, by the checkout's own `./check`.

In:       a kernel, a built checkout, names of tests, a filesystem, a deadline for each test.
Out:      attempts(): a FstestsAttempt for each test that the guest came to.
Not here: the guest (guests/bare.py), what the output means (said.py), which tests, again and on which kernel
          (suite.py).

The guest sees the host's programs and the checkout read only. It writes to its own memory, to its disks, and
to one folder of results. The disks are sparse files in memory.
"""

import shlex
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.fstests import recording
from harness.fstests.said import TOO_LONG, answer, heard, last_lines, not_started, sections, short
from harness.guests.bare import run_in_guest
from harness.guests.filesystem import find_tool, run_tool
from harness.local.workspace import Workspace, memory_folder, room_bytes
from reports.fstests.results import FAIL, FstestsAttempt

# generic/048 asks for 10 GiB free on the scratch device, xfs/217 for 2 GiB on the other. What is not written
# takes no room.
TEST_BYTES = 4 << 30
SCRATCH_BYTES = 12 << 30
LOGWRITES_BYTES = 12 << 30
MEMORY_MIB = 1536  # fsx and fsstress of several processes, and what the tests keep in /tmp
ROOM_BYTES = 4 << 30  # of disks and memory: measured at most 3.4 GiB (generic/048)
START_S = 120.0  # of the guest and of ./check: about 300 processes, measured 5 s on a quiet machine
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
# what the kernel has not, in the middle of what ./check says. lvcreate writes an archive to /etc/lvm and ends
# without a word where it cannot. As udev does, /dev/mapper/NAME leads to dm-N:
# by that fstests finds /sys/fs/xfs/dm-N.
SCRIPT = """\
hostname powercut
mkdir -p /tmp/bin /mnt/test /mnt/scratch /mnt/results
for name in systemctl systemd-run systemd-cat logger coredumpctl; do
	printf '#!/bin/sh\\nexit {no_daemon}\\n' >/tmp/bin/$name
	chmod +x /tmp/bin/$name
done
printf '#!/bin/sh\nexec /usr/sbin/sysctl "$@" 2>/dev/null\n' >/tmp/bin/sysctl
cat >/tmp/bin/dmsetup <<'END'
#!/bin/bash
/usr/sbin/dmsetup "$@"
status=$?
for node in /dev/mapper/*; do
	[ -b $node ] && [ ! -L $node ] && ln -sf ../dm-$((0x$(stat -c %T $node))) $node
done
exit $status
END
printf '#!/bin/sh\nexit 0\n' >/tmp/bin/udevadm
chmod +x /tmp/bin/sysctl /tmp/bin/dmsetup /tmp/bin/udevadm
mkdir /tmp/lvm
export LVM_SYSTEM_DIR=/tmp/lvm
mount --bind /mnt/passwd /etc/passwd
mount --bind /mnt/group /etc/group
mount -t debugfs debugfs /sys/kernel/debug
mount -t devpts devpts /dev/pts
mount -t hostfs none /mnt/results -o {results} || mount -t hostfs none /mnt/results -o hostfs={results} ||
exit 99
export PATH=/tmp/bin:$PATH FSTYP={filesystem}
export TEST_DEV=/dev/ubda TEST_DIR=/mnt/test SCRATCH_DEV=/dev/ubdb SCRATCH_MNT=/mnt/scratch
export LOGWRITES_DEV=/dev/ubdc RESULT_BASE=/mnt/results HOST_OPTIONS=/dev/null
{before}{outputs}cd /mnt/beside
./check --exact-order {tests} >/mnt/results/said 2>&1 </dev/null
{after}"""

# A test that chooses its expected output links it to where ./check looks for it, in the folder of the test.
# So this folder is one of links to the checkout, which the guest cannot write to.
OUTPUTS = """\
[ -d /mnt/checkout ] || {{ mkdir /mnt/checkout && mount --bind /mnt/beside /mnt/checkout; }}
mkdir -p /tmp/tests/{kind}
cp -as /mnt/checkout/tests/{kind}/. /tmp/tests/{kind}
mount --bind /tmp/tests/{kind} /mnt/beside/tests/{kind}
"""
CHOOSES_OUTPUT = "_link_out_file"


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


def attempts(
    bench: Bench,
    tests: Sequence[str],
    filesystem: str,
    space: Workspace,
    recorded: bool = False,
) -> list[FstestsAttempt]:
    """One after another in one guest, as far as it came: each test that was taken up, at least the first.
    space: of this guest alone. recorded: with the scratch device recorded (recording.py).
    Errors: NoRoomForDisks, NoFilesystemTool, OSError."""
    require_room()
    results = space.path / "results"
    results.mkdir()
    disks = disks_for(filesystem, space, recorded)
    folder = script_for(tests, filesystem, results, bench.checkout, recorded)
    watch = Watch(results / "said", tests, bench.deadline_s)
    ran = run_in_guest(
        bench.kernel,
        folder,
        "bash ./try",
        space,
        beside=bench.checkout,
        timeout_s=len(tests) * bench.deadline_s + START_S,
        disks=disks,
        memory_mib=MEMORY_MIB,
        options=("oops=panic",),  # a kernel that goes on after one hangs sooner or later
        watch=watch,
    )
    watch()
    said, console = text_of(results / "said"), ran.lines[-CONSOLE_LINES:]
    found = sections(tests, said)
    lost = (console[-1] if console else "lost") if ran.status == -1 else ""
    if not found:
        answered = answer(tests[0], "", "", lost, console) if lost else not_started(said)
        return [attempt_of(bench, answered, watch.seconds(""), (said, console))]
    *whole, last = found
    made = []
    for test in (*whole, last):
        notrun = text_of(results / f"{test}.notrun")
        result, reason, death = answer(test, found[test], notrun, lost if test == last else "", console)
        alarm, around = heard(text_of(results / f"{test}.dmesg")) if result == FAIL else ("", ())
        answered = (result, short(f"{reason}: {alarm}") if alarm else reason, death)
        output = ("\n".join((found[test], *around)), console)
        made.append(attempt_of(bench, answered, watch.seconds(test), output))
    return made


def attempt_of(
    bench: Bench, answered: tuple[str, str, str], seconds: float, output: tuple[str, Sequence[str]]
) -> FstestsAttempt:
    result, reason, death = answered
    return FstestsAttempt(bench.word, result, reason, death, seconds, last_lines(*output, result))


class Watch:
    """Sees which test ./check is at, by what it has printed, and how long each takes."""

    def __init__(self, said: Path, tests: Sequence[str], deadline_s: float) -> None:
        self._said, self._tests, self._deadline_s = said, tests, deadline_s
        self._since = {"": time.monotonic()}  # by test, when it was seen first; "" for the start of the guest
        self._seen = self._since[""]

    def __call__(self) -> str:
        """Why the guest is to be stopped, or ""."""
        self._seen = time.monotonic()
        for test in sections(self._tests, text_of(self._said)):
            self._since.setdefault(test, self._seen)
        current = list(self._since)[-1]
        allowed_s = self._deadline_s if current else START_S + self._deadline_s
        late = self._seen - self._since[current] > allowed_s
        return f"{TOO_LONG} {allowed_s:g} s" if late else ""

    def seconds(self, test: str) -> float:
        """How long it took; the first test has the start of the guest and of ./check."""
        since = list(self._since.items())
        at = next((index for index, (name, _) in enumerate(since) if name == test), 0)
        end = since[at + 1][1] if at + 1 < len(since) else self._seen
        begin = since[0][1] if at == 1 else since[at][1]
        return round(end - begin, 1)


def disks_for(filesystem: str, space: Workspace, recorded: bool = False) -> tuple[Path, ...]:
    """The test device with a filesystem; empty: the scratch device, the one for dm-log-writes, and ours for
    the log. Errors: NoFilesystemTool, OSError."""
    command, package = MKFS[filesystem]
    scratch_bytes = recording.SCRATCH_BYTES if recorded else SCRATCH_BYTES
    test = space.file(recording.TEST, TEST_BYTES)
    scratch = space.file(recording.SCRATCH, scratch_bytes)
    disks = [test, scratch, space.file(recording.OWN_LOG, LOGWRITES_BYTES)]
    disks += [space.file(recording.RECORD, recording.LOG_BYTES)] if recorded else []
    run_tool([find_tool(command[0], package), *command[1:], str(test)])
    return tuple(disks)


def script_for(
    tests: Sequence[str], filesystem: str, results: Path, checkout: Path, recorded: bool = False
) -> Path:
    """A folder whose content the guest gets: the script `try`; passwd and group of this machine with the
    users that fstests wants."""
    folder = results.parent / "script"
    folder.mkdir()
    (folder / "try").write_text(
        SCRIPT.format(
            no_daemon=1,
            results=shlex.quote(str(results)),
            filesystem=filesystem,
            tests=shlex.join(tests),
            before=recording.SETUP if recorded else "",
            after=recording.TEARDOWN if recorded else "",
            outputs="".join(OUTPUTS.format(kind=kind) for kind in choosing(tests, checkout)),
        )
    )
    (folder / "wrapper").write_text(recording.WRAPPER)
    users, groups = Path("/etc/passwd").read_text(), Path("/etc/group").read_text()
    for number, name in enumerate(USERS, start=FIRST_ID):
        users += "" if f"\n{name}:" in users else f"{name}:x:{number}:{number}::/tmp:/bin/bash\n"
        groups += "" if f"\n{name}:" in groups else f"{name}:x:{number}:\n"
    (folder / "passwd").write_text(users)
    (folder / "group").write_text(groups)
    return folder


def choosing(tests: Sequence[str], checkout: Path) -> tuple[str, ...]:
    """The folders of those tests that choose their expected output."""
    found = (test.partition("/")[0] for test in tests if CHOOSES_OUTPUT in text_of(checkout / "tests" / test))
    return tuple(dict.fromkeys(found))


def text_of(path: Path) -> str:
    """ "" of a file that is not there; a guest that died may leave any bytes."""
    return path.read_bytes().decode(errors="replace").replace("\0", "") if path.is_file() else ""


def require_tools(filesystems: Sequence[str]) -> None:
    """Errors: NoFilesystemTool."""
    for name in filesystems:
        command, package = MKFS[name]
        find_tool(command[0], package)
