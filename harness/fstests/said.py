"""
What fstests' `./check TEST ...` printed of each test means.

In:       what ./check printed, a test's .notrun file; what became of the guest.
Out:      sections(): the lines of each test; answer(): the result of FstestsAttempt and its reason.
Not here: running it (machine.py), what several attempts mean together (suite.py).

./check prints the name of a test when it takes it up, and behind it "7s" when it passed, "[not run]", or what
is wrong. Its last lines ("Passed all 2 tests") count what was not run as passed, and do not come when a guest
dies.
"""

import re
from collections.abc import Sequence

from reports.fstests.results import DEADLINE, DIED, ENDED, FAIL, NO_START, NOTRUN, PANIC, PASS

PANICS = ("Kernel panic", "Kernel mode fault", "Kernel mode signal")
REASON_COLUMNS = 160
OUTPUT_LINES = 40
# What ./check prints behind the name of a test: "[failed, exit status 1]", "- output mismatch (see FILE)",
# "_check_dmesg: something found in dmesg (see FILE)". The place of the file is that of the guest.
SEE = re.compile(r"\s*\(see [^)]*\)")
TIMES = re.compile(r"^(\s*\d+s\s*\.\.\.)?\s*")
PASSED = re.compile(r"^(?!    )(.*\s)?\d+s$", re.MULTILINE)  # no line of a diff, which has four blanks
TOO_LONG = "it did not end within"
# As _check_dmesg() of fstests looks for, in what the kernel said; the words are the kernel's.
ALARM = re.compile(
    r"kernel BUG at|WARNING:|\bBUG:|Oops:|possible recursive locking|suspicious RCU usage"
    r"|possible circular locking|general protection fault:|BUG .* remaining|oom-kill|UBSAN:"
)
STAMP = re.compile(r"^\[[^]]*\]\s*")
HEARD_BEFORE, HEARD_LINES = 3, 15


def sections(tests: Sequence[str], said: str) -> dict[str, str]:
    """What ./check printed of each test that it took up, in order; of the last one perhaps not all."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in said.splitlines():
        name = line.split(maxsplit=1)[0] if line[:1].strip() else ""
        if name in tests and name not in found:
            lines = found[name] = []
        elif line.startswith(("Ran: ", "Interrupted!")):
            lines = []
        lines.append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}


def answer(test: str, section: str, notrun: str, lost: str, console: Sequence[str]) -> tuple[str, str, str]:
    """(result, reason, death). section: what ./check printed of this test. notrun: the content of its .notrun
    file. lost: of the test that was running when its guest was lost, the last that is known of that; else "".
    console: what the guest said last."""
    if lost:
        panic = next((line for line in console if any(word in line for word in PANICS)), "")
        if panic:
            return DIED, short(f"the kernel ended: {panic.strip()}"), PANIC
        if lost.startswith(TOO_LONG):
            return DIED, f"deadline: {lost}", DEADLINE
        return DIED, "the guest ended, and its kernel said nothing", ENDED
    if notrun or "[not run]" in section.partition("\n")[0]:
        return NOTRUN, short(notrun or section.partition("[not run]")[2]), ""
    if PASSED.search(section):
        return PASS, "", ""
    return FAIL, failure(test, section), ""


def not_started(said: str) -> tuple[str, str, str]:
    """(result, reason, death) when ./check ended before it took up a test."""
    lines = [line for line in said.splitlines() if line.strip()]
    return (
        DIED,
        short(f"./check did not run the test: {lines[-1] if lines else 'it printed nothing'}"),
        NO_START,
    )


def failure(test: str, section: str) -> str:
    """What ./check says behind the name of the test, and the first line that should not be there."""
    words, odd = [], ""
    for line in section.splitlines():
        if line.startswith("    "):
            if not odd and re.match(r"    \+(?!\+\+ )", line):
                odd = line.strip()[1:].strip()
            continue
        text = SEE.sub("", TIMES.sub("", line.removeprefix(test))).strip().removeprefix("- ")
        words += [text] if text else []
    words += [f"first line that differs: {odd}"] if odd else []
    return short("; ".join(words) or "./check gave no reason")


def heard(dmesg: str) -> tuple[str, tuple[str, ...]]:
    """dmesg: what the kernel said during a test that failed by it, "" of another test. The line that made it
    fail, and what stands around it."""
    lines = [STAMP.sub("", line) for line in dmesg.splitlines()]
    at = next((at for at, line in enumerate(lines) if ALARM.search(line)), -1)
    if at < 0:
        return "", ()
    start = max(at - HEARD_BEFORE, 0)
    return lines[at].strip(), tuple(lines[start : start + HEARD_LINES])


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_COLUMNS else line[: REASON_COLUMNS - 3] + "..."


def last_lines(said: str, console: Sequence[str], result: str) -> tuple[str, ...]:
    """What is kept for people; nothing of a test that passed."""
    if result == PASS:
        return ()
    lines = [*said.splitlines()[-OUTPUT_LINES:], *(console if result == DIED else ())]
    return tuple(line.rstrip() for line in lines[-OUTPUT_LINES:])
