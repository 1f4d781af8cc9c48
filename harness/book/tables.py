"""
Tables in Markdown.

In:       headings and rows of text.
Out:      the lines.
Not here: what is in them.
"""

from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Each cell on one line, its bars escaped."""
    lines = [f"| {' | '.join(headings)} |", f"|{' --- |' * len(headings)}"]
    lines += [f"| {' | '.join(map(cell, row))} |" for row in rows]
    return "\n".join(lines)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """As inline code; nothing of nothing."""
    return f"`{text}`" if text else ""
