"""
Generated parts inside a document that is otherwise written by hand.

In:       a document's text with lines <!-- generated: NAME --> and <!-- end: NAME -->; what belongs between.
Out:      the text with it. BadRegions where a line, or the part that it names, is missing.
Not here: the parts themselves (a module each).
"""

import re
from collections.abc import Mapping
from pathlib import Path

_REGION = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- end: \2 -->)", re.DOTALL)


class BadRegions(Exception):
    """The document and its generator disagree on which parts there are."""


def filled(path: Path, parts: Mapping[str, str]) -> str:
    """The text of the document at `path`, every part of it anew. Errors: BadRegions, OSError."""
    return with_parts(path.read_text(), parts, str(path))


def with_parts(text: str, parts: Mapping[str, str], source: str = "<text>") -> str:
    """Errors: BadRegions."""
    there = [match[2] for match in _REGION.finditer(text)]
    if sorted(there) != sorted(parts):
        raise BadRegions(
            f"{source} has the generated parts {', '.join(there) or 'none'}; its generator makes "
            f"{', '.join(parts)}. Each stands once, between <!-- generated: NAME --> and <!-- end: NAME -->"
        )
    return _REGION.sub(lambda match: f"{match[1]}\n{parts[match[2]].strip()}\n\n{match[3]}", text)
