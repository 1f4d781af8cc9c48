"""
Have gcov read what a kernel counted: calls, lines, branches.

In:       a kernel of the config variant gcov, a guest of it, a profile, a workload; or counters that were
          kept.
Out:      Counts of the run part of a workload: calls of each function, executions of each of its lines, calls
          of one from another. SourceCounts of kept counters, by source file.
Not here: which files of the kernel count (kernel/profiling.py); in the guest, setting the counters to zero
          and copying them (agent/counters.c); adding up the counters of an experiment (counters.py).

The guest sets the counters to zero behind the mark "run" and copies them after the last operation, so setup,
mount and unmount are not in them. What a kernel thread does meanwhile is: name functions that only the
operations call, and the counts are the same on each run.
"""

import re
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import OUTBOX, Guest
from harness.stages.record import record
from kernel.kernel import Kernel
from kernel.make import OBJECTS
from oracles.profiles import Profile
from workloads.workload import Workload

# Requests to the agent: the counters of the last recording; those since the request "count".
OF_RECORDING = "counters"
COUNT = "count"


def since_count(filesystem: str) -> str:
    """The request for those of this filesystem since the request COUNT."""
    return f"counted {filesystem}"


class NotCounted(Exception):
    """There are no counts; the message says why and what to change."""


class Line(msgspec.Struct, frozen=True):
    """A line of the kernel's source that was compiled. text: "" in a header, which is not kept."""

    file: str
    number: int
    count: int
    text: str


class Counts(msgspec.Struct, frozen=True):
    """
    calls: how often each function was called, those of one name in several files together.
    lines: the lines of each function.
    """

    calls: dict[str, int]
    lines: dict[str, tuple[Line, ...]]


def calls_from(counts: Counts, caller: str, callee: str) -> int:
    """How often one function called another: executions of the lines of the first that name the second.
    gcov adds up the blocks of a line, so a line that calls within a condition of several parts may count too
    much. Errors: NotCounted."""
    places = [line for line in counts.lines.get(caller, ()) if re.search(rf"\b{callee}\(", line.text)]
    if not places:
        raise NotCounted(f"{caller}() of this kernel has no line that calls {callee}()")
    return sum(line.count for line in places)


class FunctionCounts(msgspec.Struct, frozen=True):
    """first, last: its lines. calls: how often it was called."""

    first: int
    last: int
    calls: int


class SourceCounts(msgspec.Struct, frozen=True):
    """Of one source file. lines: by number, how often each that was compiled was executed. branches: how
    often each way out of a line was taken, by (function, line, which). functions: by name."""

    lines: dict[int, int]
    branches: dict[tuple[str, int, int], int]
    functions: dict[str, FunctionCounts]


class _Branch(msgspec.Struct):
    count: int


class _Line(msgspec.Struct):
    line_number: int
    count: int
    function_name: str = ""
    branches: list[_Branch] = []


class _Function(msgspec.Struct):
    name: str
    execution_count: int
    start_line: int
    end_line: int


class _File(msgspec.Struct):
    file: str
    functions: list[_Function]
    lines: list[_Line]


class _Report(msgspec.Struct):
    """What `gcov --json-format` says of one object file; gcov(1) describes it."""

    data_file: str
    files: list[_File]


def count(guest: Guest, kernel: Kernel, profile: Profile, workload: Workload, pristine: Path) -> Counts:
    """
    pristine: the image as mkfs left it.
    Errors: NotCounted; as record().
    """
    notes = Path(kernel.path).parent / "gcno"
    if not notes.is_dir():
        raise NotCounted(
            f"{kernel.provenance.word} does not count calls. Build it with the config variant gcov"
        )
    record(guest, profile, workload, pristine, kernel.provenance.word)
    counters = dict(counters_in(told(guest, OF_RECORDING)))
    if not counters:
        raise NotCounted(f"{kernel.provenance.word}: the guest has no counters in debugfs")
    with tempfile.TemporaryDirectory(dir=guest.scratch) as scratch:
        return counts_of(counters, notes, Path(scratch))


def told(guest: Guest, request: str) -> bytes:
    """What the guest tells of its counters. Errors: LostGuest, GuestTrouble."""
    return guest.read(OUTBOX, 0, int(guest.ask(request, timeout_s=60)[1]))


def counters_in(told: bytes) -> Iterator[tuple[str, bytes]]:
    """Name within the kernel's source, as fs/btrfs/tree-log.gcda, and content; as agent/counters.c tells."""
    for name, begin, end in places_in(told):
        yield name, told[begin:end]


def places_in(told: bytes) -> Iterator[tuple[str, int, int]]:
    """The same, with where the content begins and ends."""
    at = 0
    while at < len(told):
        begin = told.index(b"\n", at) + 1
        path, _, size = told[at : begin - 1].decode().rpartition(" ")
        at = begin + int(size)
        yield path.rpartition(f"/{OBJECTS}/")[2], begin, at


def counts_of(counters: dict[str, bytes], notes: Path, scratch: Path) -> Counts:
    """Have gcov read them. notes: the folder gcno/ of the kernel. Errors: NotCounted."""
    _put(counters, notes, scratch)
    return _add_up(_read(sorted(counters), scratch), notes)


def source_counts(counters: dict[str, bytes], notes: Path, scratch: Path) -> dict[str, SourceCounts]:
    """By source file, as fs/btrfs/tree-log.c. What is inlined from a header counts there, that of all files
    together. Errors: NotCounted."""
    return source_counts_of([counters], notes, scratch)[0] if counters else {}


def source_counts_of(
    many: Sequence[dict[str, bytes]], notes: Path, scratch: Path
) -> list[dict[str, SourceCounts]]:
    """The same of several, by one call of gcov. Errors: NotCounted."""
    names = []
    for number, counters in enumerate(many):
        place = scratch / f"{number}"
        _put(counters, notes, place)
        names += [f"{number}/{name}" for name in sorted(counters)]
    found: list[dict[str, SourceCounts]] = [{} for _ in many]
    for report in _read(names, scratch) if names else ():
        number = int(report.data_file.partition("/")[0])
        for file in report.files:
            name = file.file.removeprefix("../")
            _join(found[number].setdefault(name, SourceCounts({}, {}, {})), file)
    return found


def _join(into: SourceCounts, file: _File) -> None:
    for function in file.functions:
        before = into.functions.get(function.name)
        calls = function.execution_count + (before.calls if before else 0)
        into.functions[function.name] = FunctionCounts(function.start_line, function.end_line, calls)
    for line in file.lines:
        into.lines[line.line_number] = into.lines.get(line.line_number, 0) + line.count
        for which, branch in enumerate(line.branches):
            key = (line.function_name, line.line_number, which)
            into.branches[key] = into.branches.get(key, 0) + branch.count


def _put(counters: dict[str, bytes], notes: Path, scratch: Path) -> None:
    """Each beside the notes of the compiler, where gcov looks for them. Errors: NotCounted."""
    for name, content in counters.items():
        place = scratch / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        kept = (notes / name).with_suffix(".gcno")
        if not kept.is_file():
            raise NotCounted(
                f"{kept} is missing. Delete the kernel (powercut kernel prune) and build it again"
            )
        place.with_suffix(".gcno").symlink_to(kept.resolve())


def _read(names: list[str], folder: Path) -> list[_Report]:
    """A line of JSON for each. gcov reads what does not fit its notes as zeros, with a word of warning."""
    try:
        done = subprocess.run(
            ["gcov", "--json-format", "--branch-probabilities", "--stdout", *names],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
            capture_output=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise NotCounted("gcov is not installed: apt-get install gcc") from error
    said = done.stderr.decode(errors="replace").strip()
    if done.returncode != 0 or "stamp mismatch" in said:
        raise NotCounted(
            f"gcov cannot read the counters: {said.splitlines()[0] if said else done.returncode}"
        )
    return [msgspec.json.decode(line, type=_Report) for line in done.stdout.splitlines() if line]


def _add_up(reports: list[_Report], notes: Path) -> Counts:
    calls: dict[str, int] = defaultdict(int)
    lines: dict[str, list[Line]] = defaultdict(list)
    for file in (file for report in reports for file in report.files):
        name = file.file.removeprefix("../")  # from the kernel's OBJECTS directory
        text = _source(notes / name)
        for function in file.functions:
            calls[function.name] += function.execution_count
        for one in file.lines:
            there = text[one.line_number - 1].strip() if text else ""
            lines[one.function_name].append(Line(name, one.line_number, one.count, there))
    return Counts(dict(calls), {function: tuple(found) for function, found in lines.items()})


def _source(kept: Path) -> list[str]:
    return kept.read_text(errors="replace").splitlines() if kept.is_file() else []
