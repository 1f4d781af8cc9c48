"""
The format version of each JSON file that is kept, and how a file of an older release is read.

In:       a Struct to be kept, or a file that was kept.
Out:      its bytes, with the key "format" first; the Struct again.
Not here: where the files lie and that each appears whole (harness/evidence/store.py), what is in them
          (results.py and the other modules of the Structs).

A file without the key was written before there were versions: that is version 0. The number of a file goes up
when its old form can no longer be read as the new one; then OLDER gets one more step, which converts it. The
version of experiment.json is that of its whole folder: verdicts, observations and logs have none of
their own.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from reports.headings import titles_by_id

FORMATS = {
    "run.json": 1,
    "summary.json": 2,
    "experiment.json": 1,
    "history.json": 1,
    "followups.json": 2,
    "compare.json": 1,
    "cross-check.json": 1,
    "bisect.json": 1,
    "step.json": 1,
    "bench.json": 1,
    "perf.json": 1,
    "fstests.json": 1,
    "night.json": 1,
    "coverage.json": 1,
    "search.json": 1,
    "campaign.json": 1,
    "state.json": 1,
}
Kept = TypeVar("Kept")
Older = dict[str, Any]
Step = Callable[[Older, Path], Older]  # an older file and its folder; the file in the next version
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
    return read_as(path.name, path, kind)


def read_as(name: str, path: Path, kind: type[Kept]) -> Kept:
    """The file of that name, wherever it lies now. Errors: as read()."""
    content, newest = path.read_bytes(), FORMATS[name]
    version = msgspec.json.decode(content, type=_Head).format
    if version > newest or version < 0:
        raise UnknownFormat(
            f"{path}: format {version}, written by another release of Powercut; this one reads 0 to {newest}"
        )
    steps = [step for step in OLDER.get(name, ())[version:] if step is not numbered]
    for step in steps:
        content = _converted(step, content, path.parent)
    return msgspec.json.decode(content, type=kind)


def _converted(step: Step, content: bytes, folder: Path) -> bytes:
    older: Older = msgspec.json.decode(content, type=dict)
    try:
        return msgspec.json.encode(step(older, folder))
    except (KeyError, TypeError, AttributeError) as error:
        raise msgspec.DecodeError(f"not what its version says: {error!r}") from error


def numbered(older: Older, folder: Path) -> Older:
    """Version 1 of most files adds nothing but its number."""
    return older


def with_planned(older: Older, run: Path) -> Older:
    """run.json of version 0 does not say how many experiments were planned: each workload on each profile and
    kernel. Of a sweep, where each planted bug has its own, it is what a summary counted, since the run itself
    wrote one only at its end; else nobody knows."""
    planned = len(older["kernels"]) * len(older["profiles"]) * len(older["workloads"])
    if "--planted" in older["command"]:
        summary = run / "summary.json"
        planned = msgspec.json.decode(summary.read_bytes())["experiments"] if summary.exists() else NOT_KNOWN
    return {**older, "planned": planned}


def with_ids_of_bugs(older: Older, folder: Path) -> Older:
    """summary.json: `known` of a finding was the headings of FINDINGS.md, joined. A heading stands for the
    title; the status upstream was not kept."""
    return {**older, "findings": [_with_ids(one) for one in older["findings"]]}


def with_ids_of_attributions(older: Older, folder: Path) -> Older:
    """followups.json: the same of `heading` of an attribution."""
    return {**older, "followups": {key: _attributed(one) for key, one in older["followups"].items()}}


def _with_ids(finding: Older) -> Older:
    filesystem = finding["signature"].partition(" ")[0]
    known = titles_by_id(finding.get("known", ""), filesystem)
    after = _attributed(finding.get("after", {}))
    return {**finding, "known": [{"id": one, "title": title} for one, title in known.items()], "after": after}


def _attributed(triage: Older) -> Older:
    ones = [
        {**one, "ids": list(titles_by_id(one["heading"], one["profile"].partition("-")[0]))}
        for one in triage.get("attributed", ())
    ]
    return {**triage, "attributed": ones}


# By file, the step from each version to the next, version 0 first. A file that is not here is as it was.
OLDER: dict[str, tuple[Step, ...]] = {
    "run.json": (with_planned,),
    "summary.json": (numbered, with_ids_of_bugs),
    "followups.json": (numbered, with_ids_of_attributions),
}
