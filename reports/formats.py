"""
The format version of each JSON file that is kept, and how a file of an older release is read.

In:       a Struct to be kept, or a file that was kept.
Out:      its bytes, with the key "format" first; the Struct again.
Not here: where the files lie and that each appears whole (harness/evidence/store.py), what is in them
          (results.py and the other modules of the Structs).

A file without the key was written before there were versions: that is version 0. The number of a file goes up
when its old form can no longer be read as the new one; then OLDER gets the step that converts it. The version
of experiment.json is that of its whole folder: verdicts, observations and logs have none of their own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

FORMATS = {
    "run.json": 1,
    "summary.json": 1,
    "experiment.json": 1,
    "history.json": 1,
    "followups.json": 1,
    "compare.json": 1,
    "cross-check.json": 1,
    "bisect.json": 1,
    "step.json": 1,
    "bench.json": 1,
    "perf.json": 1,
}
Kept = TypeVar("Kept")
Older = dict[str, Any]
NOT_KNOWN = -1  # Question.planned


class UnknownFormat(Exception):
    """A file of a version that is not read here; the message names file, version and what is read."""


class _Head(msgspec.Struct):
    format: int = 0


def encode(name: str, data: msgspec.Struct) -> bytes:
    """JSON on one line, the version of the file of that name first."""
    content = msgspec.json.encode(data)
    assert content[:1] == b"{", f"{name}: an object has room for its version"
    rest = content[1:] if content == b"{}" else b"," + content[1:]
    return b'{"format":%d' % FORMATS[name] + rest


def pretty(name: str, data: msgspec.Struct) -> bytes:
    """The same, for people, too."""
    return msgspec.json.format(encode(name, data), indent=2) + b"\n"


def read(path: Path, kind: type[Kept]) -> Kept:
    """Errors: UnknownFormat; OSError, msgspec.DecodeError when it is missing or no such file."""
    content, newest = path.read_bytes(), FORMATS[path.name]
    version = msgspec.json.decode(content, type=_Head).format
    if version == newest:
        return msgspec.json.decode(content, type=kind)
    if version:
        raise UnknownFormat(
            f"{path}: format {version}, written by another release of Powercut; "
            f"this one reads {' and '.join(str(one) for one in range(newest + 1))}"
        )
    convert = OLDER.get(path.name)
    if convert is None:  # version 1 added nothing but its number
        return msgspec.json.decode(content, type=kind)
    older: Older = msgspec.json.decode(content, type=dict)
    return msgspec.convert(convert(older, path.parent), kind)


def with_planned(older: Older, run: Path) -> Older:
    """run.json of version 0 does not say how many experiments were planned: each workload on each profile and
    kernel. Of a sweep, where each planted bug has its own, it is what a summary counted, since the run itself
    wrote one only at its end; else nobody knows."""
    planned = len(older["kernels"]) * len(older["profiles"]) * len(older["workloads"])
    if "--planted" in older["command"]:
        summary = run / "summary.json"
        planned = msgspec.json.decode(summary.read_bytes())["experiments"] if summary.exists() else NOT_KNOWN
    return {**older, "planned": planned}


OLDER: dict[str, Callable[[Older, Path], Older]] = {"run.json": with_planned}
