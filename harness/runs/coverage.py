"""
Which lines of a kernel's source a run executed, and which of a series' own.

In:       a run on kernels of the config variant gcov, with the counters of each experiment.
Out:      coverage.json: of each kernel every counted file and function, and each line that its series
          changes.
Not here: counting (stages/counters.py), reading counters (stages/gcov.py), what is shown (reports/coverage/).

A line of the series that is no code of its own, as the second one of a call, is answered by the statement
that it is a part of. Lines that were removed together left one place, and count as one line: it ran if the
code behind it ran, or, where its function ends there, the code before it.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import reading, write_whole
from harness.evidence.summary import experiment_folders
from harness.local.progress import Progress
from harness.stages.counters import Executed, added, read_executed
from harness.stages.gcov import SourceCounts, source_counts, source_counts_of
from kernel.build import by_key
from kernel.profiling import COUNTED
from reports import formats
from reports.coverage.results import (
    ADDED,
    CONTEXT,
    FILE,
    PHASES,
    REMOVED,
    CoverageReport,
    FileCoverage,
    Function,
    KernelCoverage,
    PatchFile,
    PatchLine,
)
from reports.results import read_facts

HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NAMES_SHOWN = 12  # workloads beside a line
AT_ONCE = 120  # phases of experiments in one call of gcov
ANY = "any"
# A statement ends with one of these; comments stand alone in the kernel's style.
_ENDS = (";", "{", "}", ":")
_COMMENT = ("/*", "*", "//", "#")
Sources = dict[str, SourceCounts]


class Counted(msgspec.Struct, frozen=True):
    """An experiment. phases: by phase, the sources that a series changes."""

    workload: str
    phases: dict[str, Sources]


def cover(run: Path, progress: Progress) -> CoverageReport | None:
    """coverage.json of the run; None, and no file, where none of its kernels counts.
    Errors: NotCounted, NoResults, BuildFailed where a kernel is gone from the cache, OSError."""
    by_kernel: dict[str, list[Path]] = {}
    for folder in experiment_folders(run):
        with reading(folder):
            by_kernel.setdefault(read_facts(folder).kernel, []).append(folder)
    found = [one for kernel, folders in by_kernel.items() if (one := _of_kernel(kernel, folders, progress))]
    if not found:
        return None
    report = CoverageReport(tuple(found))
    write_whole(run / FILE, formats.encode(FILE, report))
    return report


class _Build:
    """What experiments on one build of a kernel executed."""

    def __init__(self, key: str) -> None:
        self.place = Path(by_key(key).path).parent
        diff = self.place / "series.diff"
        self.diff = diff.read_text() if diff.is_file() else ""
        self.changed = tuple(file for file, _ in hunks(self.diff))
        # What a header inlines is not asked for one by one: it would be read out of every file.
        self._wanted = {f"{file.removesuffix('.c')}.gcda" for file in self.changed if file.endswith(".c")}
        self.total: Executed | None = None
        self.count = 0
        self._own: list[tuple[str, str, dict[str, bytes]]] = []  # workload, phase, counters of changed files

    @property
    def notes(self) -> Path:
        return self.place / "gcno"

    def add(self, workload: str, executed: Executed) -> None:
        self.count += 1
        self.total = added(self.total, executed) if self.total else executed
        if self._wanted:
            for phase in executed.phases:
                self._own.append((workload, phase, executed.counters(phase, self._wanted)))

    def each(self) -> Iterator[Counted]:
        """Of each experiment the files that the series changes. Errors: NotCounted."""
        for begin in range(0, len(self._own), AT_ONCE):
            some = self._own[begin : begin + AT_ONCE]
            with tempfile.TemporaryDirectory() as scratch:
                counts = source_counts_of([own for *_, own in some], self.notes, Path(scratch))
            for (workload, phase, _), sources in zip(some, counts, strict=True):
                yield Counted(workload, {phase: sources})


def _of_kernel(kernel: str, folders: list[Path], progress: Progress) -> KernelCoverage | None:
    """Its experiments may have several builds of it, with other config variants."""
    builds: dict[str, _Build] = {}
    progress.line(f"coverage of {kernel}: reading counters")
    for folder in folders:
        if (kept := read_executed(folder)) is not None:
            key, executed = kept
            if key not in builds:
                builds[key] = _Build(key)
            builds[key].add(read_facts(folder).workload, executed)
    if not builds:
        return None
    phases: dict[str, Sources] = {}
    for build in builds.values():
        assert build.total
        for phase, sources in phase_sources(build.total, build.notes).items():
            _add(phases.setdefault(phase, {}), sources)
    ordered = {phase: phases[phase] for phase in PHASES if phase in phases}
    first = next(iter(builds.values()))  # a series changes all builds alike
    each = [one for build in builds.values() for one in build.each()]
    counted = sum(build.count for build in builds.values())
    return KernelCoverage(
        kernel,
        counted,
        len(folders) - counted,
        tuple(ordered),
        patch_files(
            first.diff, ordered, each, _texts(first.changed, [build.notes for build in builds.values()])
        ),
        file_coverage(ordered),
        functions(ordered),
    )


def _texts(files: Iterable[str], notes: Sequence[Path]) -> dict[str, list[str]]:
    """The changed source, of files that were kept with a kernel."""
    found = {}
    for file in files:
        for place in notes:
            if (path := place / file).is_file():
                found[file] = path.read_text(errors="replace").splitlines()
    return found


def phase_sources(executed: Executed, notes: Path) -> dict[str, Sources]:
    """Every counted file in each phase. Errors: NotCounted."""
    found = {}
    for phase in executed.phases:
        with tempfile.TemporaryDirectory() as scratch:
            # gcov names lines and functions of files that did nothing as well: with zeros
            found[phase] = source_counts(executed.files | executed.counters(phase), notes, Path(scratch))
    return found


def _add(into: Sources, sources: Sources) -> None:
    for file, one in sources.items():
        if file not in into:
            into[file] = one
            continue
        for number, count in one.lines.items():
            into[file].lines[number] = into[file].lines.get(number, 0) + count
        for key, count in one.branches.items():
            into[file].branches[key] = into[file].branches.get(key, 0) + count
        into[file].functions.update(one.functions)


# --- a series -------------------------------------------------------------------------------------


def hunks(diff: str) -> Iterator[tuple[str, list[tuple[str, int, str]]]]:
    """By file: (mark, line of the changed source, text), as kernel/build.py writes series.diff."""
    file, number, old, new = "", 0, 0, 0
    lines: list[tuple[str, int, str]] = []
    for line in diff.splitlines():
        if old > 0 or new > 0:
            mark = line[:1] or CONTEXT
            lines.append((mark, number, line[1:]))
            old -= mark != ADDED
            new -= mark != REMOVED
            number += mark != REMOVED
        elif line.startswith("+++ "):
            if file:
                yield file, lines
            file, lines = line.removeprefix("+++ ").strip().removeprefix("b/"), []
        elif match := HUNK.match(line):
            old, number, new = (int(one) if one else 1 for one in match.groups())
    if file:
        yield file, lines


def patch_files(
    diff: str,
    phases: Mapping[str, Sources],
    each: Sequence[Counted],
    texts: Mapping[str, list[str]],
) -> tuple[PatchFile, ...]:
    found = []
    for file, lines in hunks(diff):
        if not file.startswith(tuple(f"{folder}/" for folder in COUNTED)):
            why = f"Powercut counts in {', '.join(COUNTED)} alone"
            found.append(PatchFile(file, tuple(PatchLine(*line) for line in lines), why))
            continue
        if not any(file in sources for sources in phases.values()):
            why = "this kernel does not compile the file"
            found.append(PatchFile(file, tuple(PatchLine(*line) for line in lines), why))
            continue
        found.append(PatchFile(file, tuple(_patch_lines(file, lines, phases, each, texts.get(file, [])))))
    return tuple(found)


def _patch_lines(
    file: str,
    lines: Sequence[tuple[str, int, str]],
    phases: Mapping[str, Sources],
    each: Sequence[Counted],
    text: Sequence[str],
) -> Iterator[PatchLine]:
    compiled = {number for sources in phases.values() if file in sources for number in sources[file].lines}
    ranges = [
        (function.first, function.last, name)
        for sources in phases.values()
        if file in sources
        for name, function in sources[file].functions.items()
    ]
    for at, (mark, number, words) in enumerate(lines):
        answered = _answered_by(lines, at, compiled, ranges, text)
        if not answered:
            yield PatchLine(mark, number, words)
            continue
        ran = tuple(
            phase for phase, sources in phases.items() if file in sources and _count(sources[file], answered)
        )
        by = dict.fromkeys(
            one.workload
            for one in each
            for sources in one.phases.values()
            if file in sources and _count(sources[file], answered)
        )
        function = next((name for first, last, name in ranges if first <= answered[0] <= last), "")
        yield PatchLine(mark, number, words, function, True, ran, len(by), tuple(by)[:NAMES_SHOWN])


def _count(source: SourceCounts, numbers: Iterable[int]) -> int:
    return max(source.lines.get(number, 0) for number in numbers)


def _answered_by(
    lines: Sequence[tuple[str, int, str]],
    at: int,
    compiled: set[int],
    ranges: Sequence[tuple[int, int, str]],
    text: Sequence[str],
) -> list[int]:
    """The compiled lines of the changed source that say whether this line of the series ran."""
    mark, number, words = lines[at]
    if not is_code(words):
        return []
    if mark != REMOVED:
        return sorted(statement(number, text) & compiled)
    if _is_replaced(lines, at) or _is_of_same_place(lines, at):
        return []  # what came in its place answers; the first one of them does
    for first, last, _ in ranges:
        if first <= number <= last:
            behind = [one for one in compiled if number <= one <= last]
            before = [one for one in compiled if first <= one < number]
            return [min(behind)] if behind else [max(before)] if before else []
    return []


def _is_replaced(lines: Sequence[tuple[str, int, str]], at: int) -> bool:
    """Whether lines were added where this one was removed."""
    for step in (1, -1):
        beside = at + step
        while 0 <= beside < len(lines) and lines[beside][0] == REMOVED:
            beside += step
        if 0 <= beside < len(lines) and lines[beside][0] == ADDED:
            return True
    return False


def _is_of_same_place(lines: Sequence[tuple[str, int, str]], at: int) -> bool:
    """Whether code was removed right before it: together they left one place."""
    before = at - 1
    while before >= 0 and lines[before][0] == REMOVED:
        if is_code(lines[before][2]):
            return True
        before -= 1
    return False


def is_code(words: str) -> bool:
    """Neither blank, a comment, for the preprocessor, nor a brace alone."""
    bare = words.strip()
    return bool(bare.strip("{};")) and not bare.startswith(_COMMENT)


def statement(number: int, text: Sequence[str]) -> set[int]:
    """The lines of the statement that this line, counted from 1, is a part of."""
    found = {number}
    above = number - 1
    while above >= 1 and above <= len(text) and _goes_on(text[above - 1]):
        found.add(above)
        above -= 1
    below = number
    while below < len(text) and _goes_on(text[below - 1]):
        below += 1
        found.add(below)
    return found


def _goes_on(words: str) -> bool:
    """Whether the statement of this line goes on in the next one."""
    return is_code(words) and not re.sub(r"/\*.*?\*/", "", words).rstrip().endswith(_ENDS)


# --- files ----------------------------------------------------------------------------------------


def file_coverage(phases: Mapping[str, Sources]) -> tuple[FileCoverage, ...]:
    found = []
    for file in _files(phases):
        every: Sources = {}
        for sources in phases.values():
            _add(every, {file: _copy(sources[file])} if file in sources else {})
        whole = every[file]
        of = {ANY: whole, **{phase: sources[file] for phase, sources in phases.items() if file in sources}}
        ran = {
            "lines": {phase: sum(map(bool, one.lines.values())) for phase, one in of.items()},
            "functions": {
                phase: sum(_reached(one, name) for name in one.functions) for phase, one in of.items()
            },
            "branches": {phase: sum(map(bool, one.branches.values())) for phase, one in of.items()},
        }
        sizes = (len(whole.lines), len(whole.functions), len(whole.branches))
        found.append(FileCoverage(file, *sizes, ran))
    return tuple(found)


def _copy(one: SourceCounts) -> SourceCounts:
    return SourceCounts(dict(one.lines), dict(one.branches), dict(one.functions))


def _files(phases: Mapping[str, Sources]) -> list[str]:
    """Of the filesystems; other headers are inlined everywhere."""
    inside = tuple(f"{folder}/" for folder in COUNTED)
    return sorted({file for sources in phases.values() for file in sources if file.startswith(inside)})


def _reached(source: SourceCounts, name: str) -> bool:
    one = source.functions[name]
    return any(source.lines.get(number, 0) for number in range(one.first, one.last + 1))


def functions(phases: Mapping[str, Sources]) -> tuple[Function, ...]:
    """By file and line."""
    found: dict[tuple[str, int, str], Function] = {}
    for file in _files(phases):
        for sources in phases.values():
            for name, one in sources[file].functions.items() if file in sources else ():
                if (file, one.first, name) in found:
                    continue
                inside = range(one.first, one.last + 1)
                numbers = [number for number in inside if number in sources[file].lines]
                ran = {
                    phase: sum(bool(other[file].lines.get(number)) for number in numbers)
                    for phase, other in phases.items()
                    if file in other
                }
                found[file, one.first, name] = Function(name, file, one.first, len(numbers), ran)
    return tuple(found[key] for key in sorted(found))
