"""
quiet: the kernel log of this state holds no bug, warning or filesystem error.

In:       a Case (Observation.kernel_log).
Out:      a Verdict; never none: a log without lines is a quiet one.
          starved(): whether the guest lacked memory.
Not here: the state of the disk.
"""

import re
from functools import lru_cache

from oracles.case import Case
from oracles.observation import Observation
from oracles.verdict import Tier, Verdict, Violation

NAME = "quiet"
CHECKS = (
    "The kernel log of the recovery and of the recording has no BUG, WARNING, Oops, "
    "failed assertion, stall or call trace, no report of lockdep, UBSAN or KASAN, and no "
    "line of the filesystem at level error or worse."
)
NOT_CHECKED = (
    "Lines of the filesystem at level warning and below, and errors of the block device. "
    "Where one of several devices was not as the others, lines about wrong copies are left to `redundant`. "
    "btrfs prints at most 100 lines of one level in 5 s (fs/btrfs/messages.c), so where "
    "many states have an error, some show none. Where the log says that the guest had no page "
    "left, every verdict is UNKNOWN."
)

ERROR_LEVEL = 3  # include/linux/kern_levels.h: KERN_ERR
FILESYSTEM_ERROR = "filesystem error"

# (kind, what shows it). The texts are those of kernel/panic.c, lib/bug.c, kernel/locking/lockdep.c,
# lib/ubsan.c, mm/kasan/report.c, kernel/watchdog.c, kernel/hung_task.c and kernel/rcu/.
SIGNS = (
    ("kernel bug", re.compile(r"\bkernel BUG at|\bBUG: |\bOops\b|general protection fault|Kernel panic")),
    ("sanitizer report", re.compile(r"\bUBSAN: |\bKASAN: |\bKCSAN: |\bKMSAN: |kmemleak: \d+ new suspected")),
    (
        "lock report",
        re.compile(
            r"possible (circular|recursive) locking|inconsistent lock state|suspicious RCU usage|"
            r"bad unlock balance|possible irq lock inversion|lock held when returning to user space|"
            r"INFO: trying to register non-static key"
        ),
    ),
    (
        "stall",
        re.compile(r"blocked for more than \d+ seconds|soft lockup|detected stalls? on|self-detected stall"),
    ),
    ("assertion failed", re.compile(r"\bassertion failed\b|Assertion failed", re.IGNORECASE)),
    ("warning", re.compile(r"\bWARNING: ")),
    ("call trace", re.compile(r"\bCall [Tt]race:")),  # arch/arm64/kernel/stacktrace.c has a small t
)
# The guest's memory was too small for the disk: mm/page_alloc.c warn_alloc() of one page, mm/oom_kill.c. What
# follows says nothing about the filesystem. A request for many pages at once may be one for a damaged
# length: it is no such line.
NO_MEMORY = re.compile(
    r"page allocation failure: order:0\b|System is deadlocked on memory|Out of memory: Kill|"
    r"Out of memory and no killable processes"
)
# Where a report comes from, as its line says: "WARNING: CPU: 0 PID: 1 at fs/btrfs/tree-log.c:99 f+0x1/0x2".
PLACE = re.compile(r"\bat (\S+\.[chS]):\d+")
FILESYSTEM_LINE = re.compile(r"^\s*(BTRFS|EXT4-fs|JBD2|jbd2|XFS|F2FS-fs|NILFS)\b")

# Lines at the level of an error that say no more than that a call is refused. Those at info and notice
# (start tree-log replay; recovery complete; Starting recovery) need no entry here, since only errors count.
ALLOWED: tuple[re.Pattern[str], ...] = (
    # fs/ext4/move_extent.c ext4_move_extents(), fs/ext4/ioctl.c EXT4_IOC_MOVE_EXT: EOPNOTSUPP
    re.compile(r"Online defrag not supported"),
)
# Of a wrong copy on one of several devices, in a state of model M where the other has a right one, which
# `redundant` asks for: fs/btrfs/scrub.c scrub_one_super(), fs/btrfs/disk-io.c btrfs_validate_extent_buffer(),
# fs/btrfs/volumes.c btrfs_dev_stat_inc_and_print(); of a mended one scrub_stripe_report_errors().
WRONG_COPY = re.compile(
    r"super block at physical \d+ devid \d+ has bad generation|parent transid verify failed on logical|"
    r"bad tree block start, mirror|level verify failed on logical|bdev \S+ errs: wr|"
    r"fixed up error at logical"
)


def starved(seen: Observation) -> str:
    """ "" or that the guest had no memory left, which is trouble of ours."""
    found = next((line for line in (*seen.kernel_log, *seen.console) if _lacks_memory(line)), "")
    return f"the guest's memory was too small: {_text(found)}" if found else ""


@lru_cache(maxsize=1024)  # states mostly log the same lines
def _lacks_memory(line: str) -> bool:
    return NO_MEMORY.search(line) is not None


def judge(case: Case) -> Verdict:
    lines = case.observation.kernel_log
    violations = []
    seen_kinds: set[str] = set()
    mended = case.observation.scrub is not None
    for line in lines:
        kind = "" if mended and WRONG_COPY.search(line) else sign(line)
        if kind and kind not in seen_kinds:
            seen_kinds.add(kind)
            violations.append(
                Violation(
                    kind, role(line), ".", "no such line", _text(line), case.promise("quiet"), Tier.POSIX
                )
            )
    # A call trace alone says less than the report that it belongs to.
    if len(violations) > 1:
        violations = [violation for violation in violations if violation.kind != "call trace"]
    return case.verdict(NAME, max(len(lines), 1), violations)


def role(line: str) -> str:
    """The source file that complains, where the line names it: two warnings are mostly two bugs."""
    place = PLACE.search(line)
    return f"kernel log, {place[1].rpartition('/')[2]}" if place else "kernel log"


@lru_cache(maxsize=1024)  # states mostly log the same lines
def sign(line: str) -> str:
    """The kind of trouble that a line "LEVEL text" shows, "" for none."""
    text = _text(line)
    if any(pattern.search(text) for pattern in ALLOWED):
        return ""
    for kind, pattern in SIGNS:
        if pattern.search(text):
            return kind
    if FILESYSTEM_LINE.match(text) and _level(line) <= ERROR_LEVEL:
        return FILESYSTEM_ERROR
    return ""


def _level(line: str) -> int:
    level = line.partition(" ")[0]
    return int(level) if level.isdigit() else ERROR_LEVEL + 1


def _text(line: str) -> str:
    level, space, text = line.partition(" ")
    return text if space and level.isdigit() else line
