"""
The line of a TOML file that has a key, for messages.

In:       the text, which tomllib reads, and the path of a key: ("nuc1", "claims", 0, "role").
Out:      line_of(): its line, from 1; TomlText, which says it with the file;
          complaint(): the path that msgspec complains of;
          near(): what may have been meant.
Not here: reading the file; no TOML library of Python keeps lines.
"""

import difflib
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

_AT = re.compile(r" - at `\$(?P<path>.*)`$")
_STEP = re.compile(r"\.(?P<key>\w+)|\[(?P<index>\d+)\]")


class TomlText(msgspec.Struct, frozen=True):
    """A file as it stands, for messages."""

    path: Path
    text: str

    def at(self, *keys: str | int) -> str:
        """Of a key that is left out, the line of its table; no line of the whole."""
        return f"{self.path}: line {line_of(self.text, keys)}" if keys else f"{self.path}"


def complaint(error: msgspec.ValidationError) -> tuple[str, list[str | int]]:
    """What msgspec says of a value, without the place that it appends, and that place as a path."""
    message = str(error)
    if at := _AT.search(message):
        steps = _STEP.finditer(at["path"])
        return message[: at.start()], [step["key"] or int(step["index"]) for step in steps]
    return message, []


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line on which the shortest beginning of the text that has this path begins to differ from the one
    before; of a path that is nowhere, the line of its table; 1 where that is nowhere either. The whole is
    parsed once a line, so only for a message."""
    for length in range(len(path), 0, -1):
        if line := _line_of(text, path[:length]):
            return line
    return 1


def _line_of(text: str, path: Sequence[str | int]) -> int | None:
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
    return None


def _has(content: Any, path: Sequence[str | int]) -> bool:
    for step in path:
        try:
            content = content[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True


def near(word: str, names: Iterable[str]) -> str:
    """A sentence that suggests one, or lists all."""
    known = list(names)
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"Did you mean {close[0]!r}?" if close else f"Known are {', '.join(known)}"
