"""
alive: the kernel outlives the device.

In:       a FaultCase, or an Observation of a guest that died.
Out:      a Verdict; never none.
Not here: error lines of the filesystem and the block layer, which are in order here.
"""

import errno

from oracles.observation import Observation
from oracles.profiles import Profile, promise_text
from oracles.quiet import sign
from oracles.verdict import Answer, Tier, Verdict, Violation

NAME = "alive"
CHECKS = (
    "That the kernel neither panics nor hangs while the device fails, that its log shows no BUG, WARNING, "
    "Oops, stall, failed assertion or report of a sanitizer or of lockdep, that the unmount ends without an "
    "error and leaves nothing busy behind: no inode, no open device."
)
NOT_CHECKED = "Memory that is lost for good, and how long a call took, as long as it ended within 30 s."

LINES_OF_ERRORS = "filesystem error"
BUSY = "Busy inodes after unmount"  # fs/super.c generic_shutdown_super()


def judge_seen(profile: Profile, tier: Tier, seen: Observation) -> Verdict:
    violations = []
    if seen.death:
        stage = f" during {seen.death_during}" if seen.death_during else ""
        last = seen.console[-1] if seen.console else "its console is empty"
        violations.append(
            _violation(profile, seen.death, "the kernel goes on", f"{seen.death}{stage}: {last}")
        )
    run = seen.fault
    lines = (*(run.kernel_log if run else ()), *seen.kernel_log)
    kinds: dict[str, str] = {}
    for line in lines:
        kind = "busy inodes" if BUSY in line else sign(line)
        if kind and kind != LINES_OF_ERRORS:
            kinds.setdefault(kind, line[2:])
    if len(kinds) > 1:
        kinds.pop("call trace", None)  # it says less than the report that it belongs to
    violations += [_violation(profile, kind, "no such line", line) for kind, line in kinds.items()]
    if run and run.umount_errno not in (0, errno.EINVAL):
        name = errno.errorcode.get(run.umount_errno, str(run.umount_errno))
        violations.append(_violation(profile, "unmount failed", "unmount succeeds", f"unmount: {name}"))
    elif run and run.open_count:
        violations.append(
            _violation(profile, "device busy", "nobody has it open", f"open {run.open_count} times")
        )
    answer = Answer.BROKEN if violations else Answer.HOLDS
    return Verdict(NAME, tier, answer, max(len(lines), 2, len(violations)), tuple(violations))


def _violation(profile: Profile, kind: str, expected: str, found: str) -> Violation:
    return Violation(kind, "kernel", ".", expected, found, promise_text(profile, "alive"), Tier.POSIX)
