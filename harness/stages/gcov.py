"""
Count the calls of kernel functions while the run part of a workload runs.

In:       a kernel of the config variant gcov, a guest of it, a profile, a workload.
Out:      Counts: calls of each function, executions of each of its lines, calls of one from another.
Not here: which files of the kernel count (kernel/profiling.py); in the guest, setting the counters to zero
          and copying them (agent/counters.c).

The guest sets the counters to zero behind the mark "run" and copies them after the last operation, so setup,
mount and unmount are not in them. What a kernel thread does meanwhile is: name functions that only the
operations call, and the counts are the same on each run.
"""

import re
import shutil
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.guests.guest import OUTBOX, Guest
from harness.stages.record import record
from kernel.kernel import Kernel
from kernel.make import OBJECTS
from oracles.profiles import Profile
from workloads.workload import Workload


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


class _Line(msgspec.Struct):
    line_number: int
    count: int
    function_name: str = ""


class _Function(msgspec.Struct):
    name: str
    execution_count: int


class _File(msgspec.Struct):
    file: str
    functions: list[_Function]
    lines: list[_Line]


class _Report(msgspec.Struct):
    """What `gcov --json-format` says of one object file; gcov(1) describes it."""

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
    size = int(guest.ask("counters", timeout_s=60)[1])
    counters = dict(counters_in(guest.read(OUTBOX, 0, size)))
    if not counters:
        raise NotCounted(f"{kernel.provenance.word}: the guest has no counters in debugfs")
    with tempfile.TemporaryDirectory(dir=guest.scratch) as scratch:
        return counts_of(counters, notes, Path(scratch))


def counters_in(told: bytes) -> Iterator[tuple[str, bytes]]:
    """Name within the kernel's source, as fs/btrfs/tree-log.gcda, and content; as agent/counters.c tells."""
    at = 0
    while at < len(told):
        end = told.index(b"\n", at)
        path, _, size = told[at:end].decode().rpartition(" ")
        at = end + 1 + int(size)
        yield path.rpartition(f"/{OBJECTS}/")[2], told[end + 1 : at]


def counts_of(counters: dict[str, bytes], notes: Path, scratch: Path) -> Counts:
    """Have gcov read them. notes: the folder gcno/ of the kernel. Errors: NotCounted."""
    for name, content in counters.items():
        place = scratch / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        kept = (notes / name).with_suffix(".gcno")
        if not kept.is_file():
            raise NotCounted(
                f"{kept} is missing. Delete the kernel (powercut kernel prune) and build it again"
            )
        shutil.copyfile(kept, place.with_suffix(".gcno"))
    return _add_up(_read(sorted(counters), scratch), notes)


def _read(names: list[str], folder: Path) -> list[_Report]:
    """A line of JSON for each. gcov reads what does not fit its notes as zeros, with a word of warning."""
    try:
        done = subprocess.run(
            ["gcov", "--json-format", "--stdout", *names],
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
