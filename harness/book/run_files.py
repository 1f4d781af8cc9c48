"""
The generated parts of reference/files.md: the files of a run, their format versions and their keys.

In:       the Structs that are kept as JSON, with their docstrings; the format versions (reports/formats.py).
Out:      generated(): the page.
Not here: reading and writing the files (reports/formats.py, harness/evidence/store.py).

A docstring explains a key on a line "key: meaning", or several keys on one, as "a, b: meaning".
"""

import enum
import inspect
import re
import types
import typing
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from harness.bench.bench import HugeLog, Speed
from harness.bisect.bisect import Record
from harness.bisect.step import BisectStep
from harness.book.regions import filled
from harness.book.tables import code, table
from harness.runs.cross_check import CrossChecked
from oracles.verdict import Verdict
from reports.coverage.results import CoverageReport
from reports.formats import FORMATS
from reports.fstests.results import FstestsRun
from reports.nights.results import Night
from reports.pages.bench_history import Point
from reports.perf.results import PerfRun
from reports.results import (
    ExperimentFacts,
    Finding,
    Judgement,
    Question,
    Summary,
    Triage,
)
from reports.search.results import SearchReport
from reports.text.comparison import Comparison
from workloads.history import History

PAGE = Path("docs/reference/files.md")
# By file, what is in it. Those of Structs that other files contain follow them.
STRUCTS: dict[str, type] = {
    "run.json": Question,
    "summary.json": Summary,
    "experiment.json": ExperimentFacts,
    "history.json": History,
    "verdicts.json.zst": Judgement,
    "followups.json": Triage,
    "compare.json": Comparison,
    "cross-check.json": CrossChecked,
    "bisect.json": Record,
    "step.json": BisectStep,
    "perf.json": PerfRun,
    "fstests.json": FstestsRun,
    "night.json": Night,
    "coverage.json": CoverageReport,
    "search.json": SearchReport,
    "bench.json: each of `profiles`": Speed,
    "bench.json: `huge_log`": HugeLog,
    "bench-history.jsonl": Point,
}
# Explained once, where they are first met; the rest of what History holds is in workloads/.
ENOUGH = (Finding, Verdict)


def generated(root: Path) -> dict[Path, str]:
    return {PAGE: filled(root / PAGE, {"formats": formats(), "keys": "\n".join(keys())})}


def formats() -> str:
    return table(("file", "format version"), [(code(name), str(number)) for name, number in FORMATS.items()])


def keys() -> Iterator[str]:
    names = {kind: name for name, kind in STRUCTS.items()}
    for kind in all_structs():
        yield f"\n### {names[kind]}\n" if kind in names else f"\n#### {kind.__name__}\n"
        yield from section(kind)


def all_structs() -> Iterable[type]:
    """Each file's, followed by those within it that no file before it has."""
    found: dict[type, None] = {}
    for kind in STRUCTS.values():
        found |= dict.fromkeys((kind, *(part for part in parts_of(kind) if part not in found)))
    return tuple(found)


def section(kind: type) -> Iterator[str]:
    about, meanings = explained(kind)
    if about:
        yield f"{about}\n"
    if kind.__struct_config__.array_like:  # type: ignore[attr-defined]
        yield "It is kept as a list, in this order.\n"
    fields = fields_of(kind)
    yield table(
        ("key", "type", "meaning"),
        [(code(field.encode_name), shown(field.type), meanings.get(field.name, "")) for field in fields],
    )


def fields_of(kind: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


# --- what a docstring says -----------------------------------------------------------------------


def explained(kind: type) -> tuple[str, dict[str, str]]:
    """Its first sentences, and the meaning of each key."""
    text = " ".join((kind.__dict__.get("__doc__") or "").split())
    names = {field.name for field in fields_of(kind)}
    pieces = list(_marks(text, names))
    starts = [start for start, _, _ in pieces] + [len(text)]
    meanings = {
        name: fragment(text[begin:end])
        for (_, begin, listed), end in zip(pieces, starts[1:], strict=True)
        for name in listed
    }
    return sentence(text[: starts[0]]), meanings


def _marks(text: str, names: set[str]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Where an explanation begins: start of the names, start of the meaning, the names."""
    for match in re.finditer(r"(?:^|(?<=[.:;] )|(?<= ))((?:\w+, )*\w+): ", text):
        listed = tuple(match[1].split(", "))
        if set(listed) <= names:
            yield match.start(), match.end(), listed


def fragment(text: str) -> str:
    """As it stands; a single one without its full stop."""
    text = text.strip()
    return text.removesuffix(".") if ". " not in text else text


def sentence(text: str) -> str:
    """With a capital, unless it begins with a name; with a full stop. The file is named in the heading."""
    text = re.sub(r"^[\w-]+\.json(\.zst)?(: |, )", "", text.strip())
    if not text:
        return ""
    first = text if re.match(r"\w+[._]\w", text) else text[0].upper() + text[1:]
    return first if first.endswith((".", ":")) else f"{first}."


# --- what a type is called -----------------------------------------------------------------------


def shown(kind: Any) -> str:
    """ "list of Finding", of an annotation."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return f"list of {shown(arguments[0])}"
        return f"list: {', '.join(map(shown, arguments))}"
    if origin is dict:
        return f"object, {shown(arguments[0])} to {shown(arguments[1])}"
    if origin is typing.Literal:
        return " or ".join(code(str(each)) for each in arguments)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(map(shown, arguments))
    if inspect.isclass(kind) and issubclass(kind, enum.StrEnum):
        return "one of " + ", ".join(code(str(each.value)) for each in kind)
    if inspect.isclass(kind) and issubclass(kind, msgspec.Struct):
        return str(kind.__name__)
    return {
        str: "string",
        int: "number",
        float: "number",
        bool: "true or false",
        type(None): "null",
        Any: "any",
    }.get(kind, "JSON")


def parts_of(kind: type) -> Iterable[type]:
    """The Structs within it, each before those that it holds."""
    found: dict[type, None] = {}
    for field in fields_of(kind):
        for each in structs_in(field.type):
            if each not in found and each is not kind:
                found[each] = None
                found |= dict.fromkeys(part for part in parts_of(each) if part not in found)
    return tuple(found)


def structs_in(kind: Any) -> Iterator[type]:
    if inspect.isclass(kind) and issubclass(kind, msgspec.Struct):
        yield kind
    for argument in typing.get_args(kind):
        yield from structs_in(argument)
