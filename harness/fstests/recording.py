"""
Record the scratch device of a test of fstests by dm-log-writes.

In:       the device that the test would get, one for the log.
Out:      SETUP and TEARDOWN, lines of the script around ./check; keep_log(); lives(): the parts of a log in
          which a filesystem is on the device.
Not here: the test (machine.py), what is done with its log (harness/runs/recorded_tests.py).

The log lies below all that the test puts on its device, dm-flakey for one: a write that dm-flakey drops is
not in it. mkfs, and what else writes to the device without the kernel's filesystem, is called through a
program of ours that marks its begin and its end in the log. Between them nothing is promised.

A test with a log of its own (generic/455 and others) puts dm-thin on the scratch device. There the log of the
test is examined; the same programs mark it, for they mark every log that there is.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.evidence.store import compress_file
from harness.states.log import MAGIC, open_log, write_log

GONE, MADE, END = "powercut-gone", "powercut-made", "powercut-end"
DEVICE = "powercut-scratch"
SCRATCH_BYTES = 2 << 30  # the disk of a state is held in memory, what is written of it
LOG_BYTES = 8 << 30
# Programs that write to a device; those that do unless they are told "-n"; one that leaves no filesystem.
MAKERS = ("mkfs.btrfs", "mkfs.ext4", "mke2fs", "mkfs.xfs", "mkfs.f2fs", "btrfstune", "tune2fs", "resize2fs")
MENDERS = ("e2fsck", "xfs_repair", "fsck.f2fs")
WIPER = "wipefs"  # ./check calls it before the test
MIN_ENTRIES = 2
OWN_LOG, RECORD = "logwrites", "record"  # the files of the two devices
TEST, SCRATCH = "test", "scratch"  # those of the other two
# fsstress and fsx in a loop: generic/475 in 50 rounds writes 187,871 entries and 3.4 GB to the log, of which
# 300 prefixes were not recovered in 20 minutes. fstests' own variable ends a loop (common/rc
# _soak_loop_running()).
SOAK_S = 10

# The programs' name is $0; the real one is next in PATH. A number keeps the marks apart.
WRAPPER = f"""\
#!/bin/bash
name=${{0##*/}}
real=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin type -P $name)
[[ " $* " == *" /dev/mapper/"* ]] || exec $real "$@"
case $name in {"|".join(MENDERS)})
	[[ " $* " =~ " -"[a-zA-Z]*n ]] && exec $real "$@" ;;
esac
number=$(($(cat /tmp/powercut-number 2>/dev/null || echo 0) + 1))
echo $number >/tmp/powercut-number
mark()
{{
	dmsetup table --target log-writes 2>/dev/null | sed 's/: .*//' |
	while read -r log; do dmsetup message "$log" 0 mark "$1-$name-$number"; done
}}
mark {GONE}
$real "$@"
status=$?
[ $status -ne 0 ] || [ $name = {WIPER} ] || mark {MADE}
exit $status
"""
SETUP = f"""\
cp /mnt/wrapper /tmp/bin/wrapper
chmod +x /tmp/bin/wrapper
for name in {" ".join((*MAKERS, *MENDERS, WIPER))}; do ln -s wrapper /tmp/bin/$name; done
dmsetup create {DEVICE} --table "0 $(blockdev --getsz /dev/ubdb) log-writes /dev/ubdb /dev/ubdd" || exit 98
export SCRATCH_DEV=/dev/mapper/{DEVICE} SOAK_DURATION={SOAK_S}
"""
TEARDOWN = f"""\
status=$?
umount /mnt/scratch 2>/dev/null
dmsetup message {DEVICE} 0 mark {END}
sync
exit $status
"""


class Life(msgspec.Struct, frozen=True):
    """A filesystem between its mkfs and the next one. first: the mark behind mkfs. last: the mark that ends
    it, "" for the end of the log. entry_count: without marks."""

    first: str
    last: str
    entry_count: int


def keep_log(space: Path, target: Path) -> tuple["Life", ...]:
    """The log of the test that was done in this folder, the test's own where it has one, as log.zst in
    `target`, and the disk that it begins on, base.img. What they hold. Errors: BadLog when there is none;
    OSError."""
    own, ours = space / OWN_LOG, space / RECORD
    with open_log(own if is_log(own) else ours) as log:
        target.mkdir(parents=True, exist_ok=True)
        plain = target / "log.plain"
        write_log(plain, log.entries())
        found = lives(log.marks, len(log))
    compress_file(plain, target / "log.zst")
    plain.unlink()
    with (target / "base.img").open("wb") as file:
        file.truncate(SCRATCH_BYTES)  # empty, as the test got it
    return found


def free_devices(space: Path) -> None:
    """What the guest of a test had, which nobody needs when its log is kept. Errors: OSError."""
    for name in (TEST, SCRATCH, OWN_LOG, RECORD):
        (space / name).unlink(missing_ok=True)


def is_log(path: Path) -> bool:
    """Whether a test made a log of its own there, and a filesystem in it. Errors: BadLog, OSError."""
    with path.open("rb") as file:
        if file.read(8) != MAGIC.to_bytes(8, "little"):
            return False
    with open_log(path) as log:
        return bool(lives(log.marks, len(log)))


def lives(marks: Mapping[int, str], entry_count: int) -> tuple[Life, ...]:
    """marks: by their entry_index. What ./check does with the device before the test is left out: it ends
    with wiping the device. So are lives in which next to nothing was written."""
    ours = [(at, text) for at, text in sorted(marks.items()) if text.startswith("powercut-")]
    begin = next((at for at, text in ours if text.startswith(f"{GONE}-{WIPER}-")), -1)
    found = []
    for at, text in ours:
        if at < begin or not text.startswith(MADE):
            continue
        end, last = next(((after, mark) for after, mark in ours if after > at), (entry_count, ""))
        of_marks = sum(at < index < end for index in marks)
        found.append(Life(text, last, end - at - 1 - of_marks))
    return tuple(life for life in found if life.entry_count >= MIN_ENTRIES)
