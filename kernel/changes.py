"""
Which functions a change to C source is in.

In:       the lines of a file before and after.
Out:      names of functions, as they are after it.
Not here: what the change is as a patch (build.py), which lines of it ran (harness/runs/coverage.py).

The kernel's style is relied upon: the braces of a function's body stand at the beginning of a line, and those
of nothing else with parentheses in front of it do (Documentation/process/coding-style.rst, 3).
"""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

# In front of a name, with parentheses of their own.
ATTRIBUTES = ("__printf", "__scanf", "__attribute__", "__section", "__aligned")


def changed_functions(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """Each once, in the order of the file. What is taken out counts to the function that it was in. Of a new
    function the one in front of it may count, too, where the ends of both look the same."""
    spans = tuple(functions(after))
    found: dict[str, None] = {}
    for kind, _, _, begin, end in SequenceMatcher(None, before, after).get_opcodes():
        if kind == "equal":
            continue
        # Of lines that were taken out the place between two that are left.
        first, last = (begin, end - 1) if end > begin else (begin - 1, begin)
        for name, opens, closes in spans:
            if opens <= last and first <= closes and not (end == begin and first == closes):
                found[name] = None
    return tuple(found)


def functions(lines: Sequence[str]) -> Iterator[tuple[str, int, int]]:
    """Name, and the lines of the braces of its body, from 0."""
    opens, name = -1, ""
    for place, line in enumerate(lines):
        if line.startswith("{"):
            opens, name = place, _name_above(lines, place)
        elif line.startswith("}") and name:
            yield name, opens, place
            name = ""


def _name_above(lines: Sequence[str], place: int) -> str:
    """Of the function whose body begins here; "" where it is none."""
    head: list[str] = []
    for line in reversed(lines[max(0, place - 20) : place]):
        text = line.strip()
        if not text or text.startswith(("#", "}", "/*", "*", "//")) or text.endswith((";", "*/")):
            break
        head.insert(0, text)
    names = re.findall(r"(\w+)\s*\(", " ".join(head))
    return next((name for name in names if name not in ATTRIBUTES), "")
