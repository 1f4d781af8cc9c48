"""
Which crash tests of fstests have their scenario in the library, and what the others need.

In:       fstests-audit.toml, beside this file, which explains its columns.
Out:      audit(): a row for each test.
Not here: the page (harness/book/fstests_audit.py), what each test compares (oracles/tests/guarded.toml).
"""

from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

FILE = Path(__file__).with_name("fstests-audit.toml")
Kind = Literal["library", "part", "option", "missing", "none"]


class Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """`feature` is empty where nothing is missing."""

    test: str
    kind: Kind
    names: str
    feature: str
    note: str

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(self.names.split())


@cache
def audit() -> tuple[Row, ...]:
    """In the order of the file. Errors: msgspec.ValidationError, for a row of another form."""
    table: dict[str, Any] = msgspec.toml.decode(FILE.read_bytes())
    return msgspec.convert(table["tests"], tuple[Row, ...])
