"""
alive: the kernel outlives the device.

In:       a FaultCase, a DamageCase, or an Observation of a guest that died.
Out:      a Verdict; never none.
Not here: error lines of the filesystem and the block layer, which are in order here.
"""

import errno
import re
from collections.abc import Iterable

from oracles.faults.damage import DamageCase
from oracles.observation import Observation, errno_name
from oracles.profiles import Profile, promise_text
from oracles.quiet import PLACE, sign
from oracles.verdict import Answer, Tier, Verdict, Violation

NAME = "alive"
CHECKS = (
    "While the device fails or has damage, the kernel neither panics nor hangs, and its "
    "log has no BUG, WARNING, Oops, stall, failed assertion, or report of a sanitizer or "
    "of lockdep. The unmount ends without an error and leaves no inode busy and no "
    "device open. While a workload is recorded on a working device, the kernel neither "
    "panics nor hangs, and the unmount succeeds."
)
NOT_CHECKED = "Memory that is never freed. How long a call took, if it ended within 30 s."

LINES_OF_ERRORS = "filesystem error"
BUSY = "Busy inodes after unmount"  # fs/super.c generic_shutdown_super()
# What comes with a call trace of its own: fs/xfs/xfs_error.c xfs_error_report(), xfs_corruption_error();
# fs/f2fs/checkpoint.c __is_bitmap_valid(), __f2fs_is_valid_blkaddr(); since Linux 6.15
# (4f91f074702a "f2fs: add dump_stack() in f2fs_handle_critical_error()") fs/f2fs/super.c after an error that
# stops f2fs.
REPORTS = (
    ": Internal error ",
    ": access invalid blkaddr:",
    ": Inconsistent error blkaddr:",
    ": Stopped filesystem due to reason:",
)
# A function that was under way, not one whose address alone lay on the stack: "btrfs_foo+0x12/0x34".
FUNCTION = re.compile(r"\b(\w+)\+0x(?!0/)[0-9a-f]+/")
OF_FILESYSTEM = ("btrfs_", "ext4_", "jbd2_", "xfs_", "xlog_", "f2fs_", "nilfs_")


def judge_seen(profile: Profile, tier: Tier, seen: Observation) -> Verdict:
    run = seen.fault
    violations = _of_kernel(profile, seen, "kernel")
    if run and run.umount_errno not in (0, errno.EINVAL):
        name = errno_name(run.umount_errno)
        violations.append(
            _violation(profile, "kernel", "unmount failed", "unmount succeeds", f"unmount: {name}")
        )
    elif run and run.open_count:
        violations.append(
            _violation(
                profile,
                "kernel",
                "device busy",
                "the device is closed after the unmount",
                f"still open {run.open_count} times",
            )
        )
    return _verdict(tier, seen, violations)


def judge_damaged(case: DamageCase) -> Verdict:
    """Of many damaged blocks two oopses are mostly two bugs: each has its place in the kernel for a role."""
    return _verdict(case.tier, case.observation, _of_kernel(case.profile, case.observation, ""))


def _of_kernel(profile: Profile, seen: Observation, whose: str) -> list[Violation]:
    """whose: the role, "" for what the kernel's own words say. XFS and f2fs print a call trace with their own
    reports of corruption."""
    violations = []
    if seen.death:
        stage = f" during {seen.death_during}" if seen.death_during else ""
        last = seen.console[-1] if seen.console else "the console is empty"
        violations.append(
            _violation(
                profile,
                whose or place((*seen.kernel_log, *seen.console)),
                seen.death,
                "the kernel continues to run",
                f"{seen.death}{stage}: {last}",
            )
        )
    lines = _lines(seen)
    kinds: dict[str, str] = {}
    for line in lines:
        kind = "busy inodes" if BUSY in line else sign(line)
        if kind and kind != LINES_OF_ERRORS:
            kinds.setdefault(kind, line[2:])
    if len(kinds) > 1 or any(report in line for line in lines for report in REPORTS):
        kinds.pop("call trace", None)  # it says less than the report that it belongs to
    return violations + [
        _violation(profile, whose or place((line, *lines)), kind, "no such line", line)
        for kind, line in kinds.items()
    ]


def place(lines: Iterable[str]) -> str:
    """The source file that the first line with one names; else, as a BUG of User Mode Linux tells it on a
    line that does not reach the console, the first function of the filesystem in the call trace, or the first
    of all."""
    lines = tuple(lines)
    for line in lines:
        if found := PLACE.search(line):
            return found[1].rpartition("/")[2]
    functions = [found[1] for line in lines for found in FUNCTION.finditer(line)]
    own = [name for name in functions if name.startswith(OF_FILESYSTEM)]
    return f"{(own or functions)[0]}()" if functions else "kernel"


def _lines(seen: Observation) -> tuple[str, ...]:
    return (*(seen.fault.kernel_log if seen.fault else ()), *seen.kernel_log)


def _verdict(tier: Tier, seen: Observation, violations: list[Violation]) -> Verdict:
    answer = Answer.BROKEN if violations else Answer.HOLDS
    checked = max(len(_lines(seen)), 2, len(violations))
    return Verdict(NAME, tier, answer, checked, tuple(violations))


def _violation(profile: Profile, role: str, kind: str, expected: str, found: str) -> Violation:
    return Violation(kind, role, ".", expected, found, promise_text(profile, "alive"), Tier.POSIX)
