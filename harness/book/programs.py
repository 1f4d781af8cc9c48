"""
The generated part of reference/programs.md: what each program does, and what it promises.

In:       the programs of the library.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand: what was measured, and why.
"""

from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from workloads.programs import library

PAGE = Path("docs/reference/programs.md")


def generated(root: Path) -> dict[Path, str]:
    return {PAGE: filled(root / PAGE, {"programs": programs()})}


def programs() -> str:
    rows = [
        (code(one.name), one.comment[0], one.program.promise) for one in library() if one.program is not None
    ]
    return table(("program", "what it does", "what it promises, and its script asks"), rows)
