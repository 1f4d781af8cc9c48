"""
The function of a kernel that an address lies in.

In:       a kernel's program with its symbols, lines of its console.
Out:      the lines, with the function behind each "ip 0x6030e5b5" that a dying User Mode Linux prints.
Not here: which of the functions is at fault (oracles/live.py).
"""

import re
import subprocess
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

ADDRESS = re.compile(r"\bip 0x([0-9a-f]+)(?! \()")  # arch/um/kernel/trap.c segv(): "ip 0x%lx"


def with_functions(lines: Sequence[str], kernel: Path) -> tuple[str, ...]:
    """The lines as they are where there is no nm, or no symbols."""
    if not any(ADDRESS.search(line) for line in lines):
        return tuple(lines)
    symbols = symbols_of(kernel)

    def named(found: re.Match[str]) -> str:
        function = function_at(symbols, int(found[1], 16))
        return f"{found[0]} ({function})" if function else found[0]

    return tuple(ADDRESS.sub(named, line) for line in lines)


def symbols_of(kernel: Path) -> list[tuple[int, str]]:
    """Functions by ascending address."""
    try:
        done = subprocess.run(["nm", str(kernel)], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    words = (line.split() for line in done.stdout.splitlines())
    return sorted((int(each[0], 16), each[2]) for each in words if len(each) == 3 and each[1] in "tT")


def function_at(symbols: Sequence[tuple[int, str]], address: int) -> str:
    """As "%pS" prints it, "f+0x1a5/0x1b20"; "" where no function is known there."""
    at = bisect_right(symbols, (address, "\xff"))
    if not 0 < at < len(symbols):
        return ""
    (start, name), (end, _) = symbols[at - 1], symbols[at]
    return f"{name}+{address - start:#x}/{end - start:#x}"
