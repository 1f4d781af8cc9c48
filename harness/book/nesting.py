"""
What belongs to a list item, for GitHub and for the site alike.

In:       the Markdown files of docs/.
Out:      the lines that GitHub has in a list item, and Python-Markdown, which makes the site, behind it.
Not here: everything else that is asked of a document (commands.py, links.py).

GitHub takes a block that is indented as far as the item's text, Python-Markdown one of four blanks a level.
Behind a block with less, the site begins a new list, and counts from 1 again.
"""

from collections.abc import Iterator
from pathlib import Path

from markdown_it import MarkdownIt

from harness.book.documents import DOCS, paths

INDENT = 4


def complaints(root: Path) -> Iterator[str]:
    """A sentence for each such block. root: of the checkout."""
    for path in paths(root):
        if path.is_relative_to(root / DOCS):
            yield from complaints_about(f"{path.relative_to(root)}", path.read_text())


def complaints_about(path: str, text: str) -> Iterator[str]:
    """path: for the messages."""
    lines = text.splitlines()
    depth = 0
    seen = -1  # the line where the last block began: the first one there holds the others
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "list_item_close":
            depth -= 1
        if token.map is not None and token.map[0] != seen:
            seen = token.map[0]
            needed = INDENT * depth
            if len(lines[seen]) - len(lines[seen].lstrip()) < needed:
                yield f"{path}:{seen + 1}: indent this by {needed} blanks, or the site has it behind the list"
        if token.type == "list_item_open":
            depth += 1
