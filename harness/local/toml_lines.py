"""
The line of a TOML file that has a key, for messages.

In:       the text, which tomllib reads, and the path of a key: ("nuc1", "claims", 0, "role").
Out:      line_of(): its line, from 1.
Not here: reading the file; no TOML library of Python keeps lines.
"""

import tomllib
from collections.abc import Sequence
from typing import Any


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line on which the shortest beginning of the text that has this path begins to differ from the one
    before; 1 where none has it. The whole is parsed once a line, so only for a message."""
    lines = text.splitlines(keepends=True)
    begin = 0  # behind the last beginning that can be parsed: a value may take several lines
    for end in range(1, len(lines) + 1):
        try:
            content = tomllib.loads("".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue
        if _has(content, path):
            # Comments and empty lines end no value.
            blank = (line.strip() == "" or line.lstrip().startswith("#") for line in lines[begin:end])
            return begin + 1 + next((at for at, is_blank in enumerate(blank) if not is_blank), 0)
        begin = end
    return 1


def _has(content: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
