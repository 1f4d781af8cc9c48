"""
How much of a kernel's series ran, in words.

In:       PatchRan.
Out:      a sentence; lines.
Not here: the coverage of whole files (reports/coverage/).
"""

from reports.results import PatchRan
from reports.text.counting import number


def patch_words(one: PatchRan) -> str:
    """In one sentence, as "31 of 34 lines of the series ran: 30 recorded, 12 recovered"."""
    if not one.lines:
        return "no line of the series is code that this kernel counts"
    phases = ", ".join(f"{count:,} {phase}" for phase, count in one.ran.items() if phase != "any")
    if one.unreached:
        return f"none of the {number(one.lines, 'line')} of the series ran"
    return f"{one.ran['any']:,} of {number(one.lines, 'line')} of the series ran: {phases}"


def patch_lines(one: PatchRan) -> list[str]:
    """Of a kernel's series: how much of it ran, and where it did not."""
    lines = [f"{one.kernel}: {patch_words(one)}"]
    if one.unreached:
        lines.append("the verdicts say nothing about the series: no line of it was executed")
    if one.never:
        more = f" and {one.left} more" if one.left else ""
        lines.append(f"never: {', '.join(one.never)}{more}")
    return lines
