"""
The oracles of a recording: what the kernel did while the workload ran, before any power failed.

In:       an Observation of the recording: how the kernel ended and its console, or its log.
Out:      Verdicts of `alive` (it died, hung, or did not unmount) and `quiet` (its log has a report).
Not here: taking the observation (harness/stages/live.py), what a power failure leaves (the other oracles).

Two deaths are mostly one bug when the same function was under way: that function is the violation's role. A
kernel names it in one of several ways, the surest first. x86_64 has "RIP: 0010:f+0x1/0x2", arm64 "pc :
f+0x1/0x2" (arch/arm64/kernel/process.c, __show_regs()); a BUG() of User Mode Linux "BUG: failure at
fs/btrfs/x.c:9/f()!" (include/asm-generic/bug.h); a WARNING "at fs/btrfs/x.c:9 f+0x1/0x2"; a fault of User
Mode Linux only an address, "ip 0x6030e5b5", to which harness/guests/symbols.py adds "(f+0x1/0x2)". Else it is
the first function of a filesystem in the call trace.
"""

import re
from collections.abc import Iterable, Sequence

from oracles.faults import alive
from oracles.faults.alive import FUNCTION, OF_FILESYSTEM
from oracles.observation import Observation, errno_name
from oracles.profiles import Profile, promise_text
from oracles.quiet import NAME as QUIET
from oracles.quiet import sign
from oracles.verdict import Answer, Tier, Verdict, Violation

# What names the function at fault, by how sure it is.
NAMED = (
    re.compile(r"\bRIP: [0-9a-f]+:(\w+)\+0x"),
    re.compile(r"\bpc : (\w+)\+0x"),
    re.compile(r"\bBUG: failure at \S+/(\w+)\(\)"),
    re.compile(r"\bip 0x[0-9a-f]+ \((\w+)\+0x"),
    re.compile(r"\bWARNING: .*\bat \S+\.[chS]:\d+ (\w+)\+0x"),
)
# Checks and reports that many callers share: the bug is in whoever called them.
GENERIC = re.compile(
    r"^_*(list_\w+|warn_\w+|dump_stack\w*|dump_backtrace|switch_to|show_\w+|panic|report_bug|handle_bug|exc_\w+|asm_\w+|bad_area\w*|"
    r"page_fault\w*|die\w*|oops\w*|refcount_\w+|mutex_\w+|down_\w+|up_\w+|schedule\w*|lock_\w+|lockdep\w*|"
    r"debug_\w+|print_\w+|um_\w+|unblock_signals|block_signals|segv\w*|sig_\w+|kasan_\w+|ubsan_\w+|"
    r"mem\w+|kfree|kmem_\w+|kmalloc\w*|io_schedule\w*|wait_\w+|do_raw_\w+|raw_spin_\w+|spin_\w+)$"
)
# What comes with our guest or our agent, and accuses no kernel. "Attempted to kill init" is what follows a
# fault of the agent; where the kernel's own fault killed it, an Oops stands before that.
OURS = ("Out of memory", "deadlocked on memory", "Attempted to kill init", "Killed process", "oom-killer")


def judge_live(profile: Profile, tier: Tier, seen: Observation) -> tuple[Verdict, ...]:
    """alive always; quiet of a recording that came to its end."""
    if seen.trouble:
        return tuple(Verdict(name, tier, Answer.UNKNOWN, reason=seen.trouble) for name in (alive.NAME, QUIET))
    if seen.death:
        return (_verdict(alive.NAME, tier, 1, [_died(profile, seen)]),)
    unmount = []
    if seen.umount_errno:
        name = errno_name(seen.umount_errno)
        unmount.append(
            _violation(profile, "unmount failed", "kernel", "unmount succeeds", f"unmount: {name}")
        )
    reports = [
        _violation(profile, kind, culprit(lines) or "kernel log", "no such line", _text(lines[0]))
        for kind, lines in reports_of(seen.kernel_log)
    ]
    return (
        _verdict(alive.NAME, tier, 2, unmount),
        _verdict(QUIET, tier, max(1, len(seen.kernel_log)), reports),
    )


def _died(profile: Profile, seen: Observation) -> Violation:
    first = first_report(seen.console)
    role = culprit(seen.console[first:]) if first >= 0 else ""
    said = _text(seen.console[first]) if first >= 0 else "the console is empty"
    during = seen.death_during
    word = during.partition("(")[2].partition(" ")[0].rstrip(")")
    return _violation(
        profile,
        seen.death,
        role or word or "kernel",
        "the kernel continues to run",
        f"during {during}: {said}",
    )


def reports_of(lines: Sequence[str]) -> list[tuple[str, Sequence[str]]]:
    """Each kind of report in a kernel log once, with the lines from its first on; a call trace belongs to the
    report before it."""
    found: dict[str, Sequence[str]] = {}
    for at, line in enumerate(lines):
        if kind := sign(line):
            found.setdefault(kind, lines[at:])
    if len(found) > 1:
        found.pop("call trace", None)
    busy = next((at for at, line in enumerate(lines) if alive.BUSY in line), -1)
    if not found and busy >= 0:  # newer kernels print a WARNING as well
        found["busy inodes"] = lines[busy:]
    return list(found.items())


def first_report(lines: Sequence[str]) -> int:
    """The index of the first line by which the kernel accuses itself, -1 where none does. Not where the
    reports are of our guest alone."""
    at = [index for index, line in enumerate(lines) if sign(line)]
    loud = [index for index in at if sign(lines[index]) != "filesystem error"]
    if any(words in line for line in lines for words in OURS) and not any(
        "Oops" in lines[index] or "BUG" in lines[index] or "WARNING" in lines[index] for index in loud
    ):
        return -1
    return (loud or at or [-1])[0]


def culprit(lines: Iterable[str]) -> str:
    """ "f()" of the function that was under way, "" where none is named."""
    lines = tuple(lines)
    functions = [found[1] for line in lines for found in FUNCTION.finditer(line)]
    named = [found[1] for pattern in NAMED for line in lines if (found := pattern.search(line))]
    own = [name for name in functions if name.startswith(OF_FILESYSTEM)]
    for name in (*named[:1], *own, *functions):
        if not GENERIC.match(name):
            return f"{name.partition('.')[0]}()"
    return ""


def _text(line: str) -> str:
    """Without the level of a kernel log, and without a time stamp."""
    return re.sub(r"^(?:[0-7] )?(?:\[ *\d+\.\d+\] ?)?", "", line).strip()


def _verdict(oracle: str, tier: Tier, checked: int, violations: list[Violation]) -> Verdict:
    answer = Answer.BROKEN if violations else Answer.HOLDS
    return Verdict(oracle, tier, answer, max(checked, len(violations)), tuple(violations))


def _violation(profile: Profile, kind: str, role: str, expected: str, found: str) -> Violation:
    return Violation(kind, role, ".", expected, found, promise_text(profile, "live"), Tier.POSIX)
