"""
The generated parts of reference/nightly.md: the keys of the file of nights, and their schema for editors.

In:       NightFile and NightKernel, with their docstrings.
Out:      generated(): the page, and nightly.schema.json beside it.
Not here: the rest of the page, which is written by hand.
"""

import json
from pathlib import Path
from typing import Any

import msgspec

from harness.book.regions import filled
from harness.book.run_files import explained, fields_of, shown
from harness.book.tables import code, table
from harness.nightly.file import NightFile, NightKernel

PAGE = Path("docs/reference/nightly.md")
SCHEMA = Path("docs/reference/nightly.schema.json")


def generated(root: Path) -> dict[Path, str]:
    parts = {"file": keys(NightFile), "kernel": keys(NightKernel)}
    return {PAGE: filled(root / PAGE, parts), SCHEMA: schema()}


def keys(kind: type[msgspec.Struct]) -> str:
    _, meanings = explained(kind)
    rows = [
        (code(field.encode_name), shown_type(field.type), default_of(field), meanings[field.name])
        for field in fields_of(kind)
    ]
    return table(("key", "type", "default", "meaning"), rows)


def shown_type(kind: Any) -> str:
    if kind == str | float:
        return "string or number"
    return "tables" if kind == tuple[NightKernel, ...] else shown(kind)


def default_of(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "must be given"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return code(json.dumps(value)) if value not in ("", [], None) else ""


def schema() -> str:
    """JSON Schema, as editors read it for TOML, with the meaning of each key."""
    made = msgspec.json.schema(NightFile)
    for kind in (NightFile, NightKernel):
        about, meanings = explained(kind)
        part = made["$defs"][kind.__name__]
        part["description"] = about
        for field in fields_of(kind):
            part["properties"][field.encode_name]["description"] = meanings[field.name]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "nightly.toml of Powercut"}
    return json.dumps(head | made, indent=2, ensure_ascii=False) + "\n"
