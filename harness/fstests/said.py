"""
What one run of fstests' `./check TEST` means.

In:       what ./check printed, the test's .notrun file; what became of its guest.
Out:      answer(): the result of FstestsAttempt and its reason.
Not here: running it (machine.py), what several attempts mean together (suite.py).

The last lines decide, which `_wrapup` of ./check prints: "Failures:", "Not run:", "Passed all 1 tests". A
test that has been taken up and has none of these did not come to its end.
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


def answer(test: str, said: str, notrun: str, ended: bool, console: Sequence[str]) -> tuple[str, str, str]:
    """(result, reason, death). said: the output of ./check, whole or as far as it came. ended: whether
    ./check ended
    by itself. console: what the guest said last."""
    panic = next((line for line in console if any(word in line for word in PANICS)), "")
    if panic:
        return DIED, short(f"the kernel ended: {panic.strip()}"), PANIC
    if not ended:
        last = console[-1] if console else ""
        if last.startswith("it did not end within"):
            return DIED, f"deadline: {last}", DEADLINE
        return DIED, "the guest ended, and its kernel said nothing", ENDED
    words = f"{test}\n"
    if f"\nFailures: {words}" in said:
        return FAIL, failure(test, said), ""
    if f"\nNot run: {words}" in said or notrun:
        return NOTRUN, short(notrun.strip() or "./check gave no reason"), ""
    if "\nPassed all 1 tests" in said:
        return PASS, "", ""
    lines = [line for line in said.splitlines() if line.strip()]
    return (
        DIED,
        short(f"./check did not run the test: {lines[-1] if lines else 'it printed nothing'}"),
        NO_START,
    )


def failure(test: str, said: str) -> str:
    """What ./check says behind the name of the test, and the first line of output that should not be
    there."""
    lines = said.splitlines()
    at = next((index for index, line in enumerate(lines) if line.startswith(test)), len(lines))
    words = []
    for line in lines[at:]:
        if line.startswith(("Ran:", "    ")):
            break
        text = SEE.sub("", TIMES.sub("", line.removeprefix(test))).strip().removeprefix("- ")
        words += [text] if text else []
    odd = next((line.strip()[1:] for line in lines[at:] if re.match(r"    \+(?!\+\+ )", line)), "")
    words += [f"first line that differs: {odd.strip()}"] if odd.strip() else []
    return short("; ".join(words) or "./check gave no reason")


def short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= REASON_COLUMNS else line[: REASON_COLUMNS - 3] + "..."


def last_lines(said: str, console: Sequence[str], result: str) -> tuple[str, ...]:
    """What is kept for people; nothing of a test that passed."""
    if result == PASS:
        return ()
    lines = [*said.splitlines()[-OUTPUT_LINES:], *(console if result == DIED else ())]
    return tuple(line.rstrip() for line in lines[-OUTPUT_LINES:])
