"""
fsck: the checker finds the recovered filesystem clean.

In:       a Case (Observation.fsck).
Out:      a Verdict; none where fsck was not run.
Not here: running it (harness/).
"""

import re

from oracles.case import Case
from oracles.verdict import Answer, Tier, Verdict, Violation

NAME = "fsck"
CHECKS = (
    "The exit status and the output of the filesystem's checker, on the disk after "
    "recovery and a clean unmount. (Before recovery the checker of btrfs would ignore "
    "the log tree.)"
)
NOT_CHECKED = "The disk before recovery, and whether the checker could repair what it found."

# Statuses that say the checker itself did not come to an answer: sh's for "not found" and "killed".
NOT_RUN_STATUS = range(124, 255)
# fsck.f2fs(8) fails with -1, whatever it is about: only its lines tell whether that is its answer.
FAILED_STATUS = 255

# Lines that mean an error even where the checker exits 0.
ERROR_LINES = {
    "btrfs": re.compile(r"^ERROR: |error\(s\) found|\berrors [0-9a-f]+, "),
    "ext4": re.compile(r"^(WARNING|ERROR): |still has errors|\bFix\? no|\bClear\? no"),
    "xfs": re.compile(r"^(ERROR|fatal error)|\bwould (have |be |clear|reset|junk|rebuild|correct|move|fix)"),
    "f2fs": re.compile(r"\[Fail\]|^\[(ASSERT|FIX)\]"),
}


def judge(case: Case) -> Verdict | None:
    fsck = case.observation.fsck
    if fsck is None:
        return None
    if fsck.timed_out:
        return Verdict(NAME, case.tier, Answer.UNKNOWN, reason="the checker did not end before its deadline")
    lines = error_lines(fsck.output, case)
    if fsck.exit < 0 or fsck.exit in NOT_RUN_STATUS or (fsck.exit == FAILED_STATUS and not lines):
        reason = f"the checker could not run (exit {fsck.exit}): {_last_line(fsck.output)}"
        return Verdict(NAME, case.tier, Answer.UNKNOWN, reason=reason)
    if fsck.exit in case.profile.fsck_clean and not lines:
        return case.verdict(NAME, 1, ())
    first = lines[0] if lines else _last_line(fsck.output)
    command = " ".join(case.profile.fsck)
    found = f"exit {fsck.exit}: {first}"
    expected = f"{command} finds nothing"
    return case.verdict(
        NAME,
        1,
        [Violation("not clean", "filesystem", ".", expected, found, case.promise("fsck"), Tier.POSIX)],
    )


def error_lines(output: str, case: Case) -> list[str]:
    pattern = ERROR_LINES[case.profile.filesystem]
    return [
        line.strip()
        for line in output.splitlines()
        if pattern.search(line) and not any(noise in line for noise in case.profile.fsck_noise)
    ]


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
