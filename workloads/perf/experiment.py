"""
A performance experiment as data: one small file each.

In:       workloads/perf/library/NAME.toml, or a file of the user's.
Out:      PerfExperiment; its script with the numbers of a scale put in; BadExperiment with the place.
Not here: running it (harness/perf/), reading what its tools say (reports/perf/tools.py).

The file names a filesystem, a bash script that finds it mounted at $MNT, the tool whose output is read, and
the numbers to read from it:

    about = "Ten thousand files made, one after the other"
    filesystem = "btrfs"
    mkfs = "mkfs.btrfs -f"
    mount = "ssd"
    script = '''
    time_ns() { date +%s%N; }
    start=$(time_ns)
    for ((i = 1; i <= @files@; i++)); do echo -n > $MNT/file_$i; done
    echo "took $(( ($(time_ns) - start) / 1000 )) us"
    '''
    reader = "pattern"
    scaled.files = { least = 100 }
    [[case]]
    name = "one directory"
    values.files = 10000
    [[number]]
    name = "time"
    key = 'took (\\d+) us'
    unit = "us"
    better = "less"
    answer = true

@NAME@ in the script is a value of the case; those in `scaled` shrink with --scale, but not below `least`,
and stay multiples of `step`.
"""

import fnmatch
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

LIBRARY = Path(__file__).parent / "library"
_VALUE = re.compile(r"@(\w+)@")
_RANGE = re.compile(r"\{(\d+)\.\.(\d+)(?::(\d+))?\}")

Value = int | float | str


class BadExperiment(Exception):
    """The file cannot be used; the message names the place and the fix."""


class Scaled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far a value may shrink.

    least: the smallest value.
    step:  what it stays a multiple of.
    """

    least: int
    step: int = 1


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run of the script on a fresh filesystem.

    name: of the case.
    values: as the original has them.
    script, mkfs, mount: in place of those of the experiment.
    seed: the published result that it is from.
    """

    name: str
    values: dict[str, Value] = {}
    script: str = ""
    mkfs: str = ""
    mount: str = ""
    seed: str = ""


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number that the script's output has.

    name:     for readers.
    key:      where the reader finds it (reports/perf/tools.py); of the reader "pattern" a regular expression
              with one group.
    unit:     for readers.
    better:   whether more or less is better.
    clock:    "wall"; or "processor", when the time in it is that for which the guest had a processor, so
              that other work on the host counts less.
    answer:   whether it is asked if B is better or worse; of the others only the change is reported.
    cases:    those that have it, all when empty.
    may_miss: whether a short run may have none of it; it is reported only when every boot has it.
    """

    name: str
    key: str
    unit: str
    better: Literal["more", "less"]
    clock: Literal["wall", "processor"] = "wall"
    answer: bool = False
    cases: tuple[str, ...] = ()
    may_miss: bool = False


class Exact(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Counts of a small workload.

    workload: in the words of the library; a line with {1..300} in it stands for 300 lines, with {1..300:20}
              for numbers of 20 digits.
    words:    the operations whose shares of the log are reported.
    calls:    what a kernel of the variant gcov counts: FUNCTION, "CALLER > CALLED", or "FUNCTION @ LINE" for
              the executions of the line of it that begins so.
    about:    what is expected, and why.
    """

    workload: str
    words: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    about: str = ""


class Sampled(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is sampled once more with perf.

    cases:     which cases.
    functions: whose time counts what they call.
    """

    cases: tuple[str, ...]
    functions: tuple[str, ...] = ()


class PerfExperiment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A performance experiment, a file of workloads/perf/library/.

    about: in one line.
    filesystem: of the guest.
    mkfs: the command.
    script: in bash.
    reader: how the output is read.
    case: the cases.
    number: the numbers.
    name: of the file.
    place: of the file.
    mount: the options.
    seeds: of reports/perf/published.toml, whose numbers stand beside.
    needs: programs that must be there, each with its Debian package.
    files: beside the file, in $FILES.
    config: variants of the kernel's configuration.
    device_mib, memory_mib: of the guest.
    deadline_s: of one case.
    scale: the one it runs at when none is asked for.
    boots: of each kernel.
    scaled: which values shrink with the scale.
    exact: exact figures, or null.
    profile: what is sampled, or null.
    """

    about: str
    filesystem: Literal["btrfs", "ext4", "xfs"]
    mkfs: str
    script: str
    reader: Literal["dbench", "fio", "json", "pattern"]
    case: tuple[Case, ...]
    number: tuple[Number, ...]
    name: str = ""
    place: str = ""
    mount: str = ""
    seeds: tuple[str, ...] = ()
    needs: dict[str, str] = {}
    files: tuple[str, ...] = ()
    config: tuple[str, ...] = ("perf",)
    device_mib: int = 1024
    memory_mib: int = 512
    deadline_s: float = 300.0
    scale: float = 1.0
    boots: int = 8
    scaled: dict[str, Scaled] = {}
    exact: Exact | None = None
    profile: Sampled | None = None


def library() -> tuple[PerfExperiment, ...]:
    """Those that come with Powercut, by name. Errors: BadExperiment."""
    return tuple(load(path) for path in sorted(LIBRARY.glob("*.toml")))


def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in LIBRARY.glob("*.toml")))


def select(wanted: Sequence[str]) -> tuple[PerfExperiment, ...]:
    """Names or files; NAME:CASE, a name or glob, leaves other cases out; none means the whole library.
    Errors: BadExperiment."""
    return tuple(_one(word) for word in wanted) if wanted else library()


def _one(word: str) -> PerfExperiment:
    if word.endswith(".toml"):
        return load(Path(word))
    name, _, case = word.partition(":")
    if name not in names():
        raise BadExperiment(
            f"--perf: there is no experiment {name!r}. The experiments are {', '.join(names())}; "
            "a file NAME.toml is accepted too"
        )
    found = load(LIBRARY / f"{name}.toml")
    if not case:
        return found
    chosen = tuple(one for one in found.case if fnmatch.fnmatchcase(one.name, case))
    if not chosen:
        have = ", ".join(repr(one.name) for one in found.case)
        raise BadExperiment(f"--perf: {name} has no case {case!r}. Its cases are {have}")
    kept = {one.name for one in chosen}
    sampled = found.profile and msgspec.structs.replace(
        found.profile, cases=tuple(name for name in found.profile.cases if name in kept)
    )
    return msgspec.structs.replace(found, case=chosen, profile=sampled)


def load(path: Path) -> PerfExperiment:
    """Errors: BadExperiment."""
    try:
        content = tomllib.loads(path.read_text())
        found = msgspec.convert(content, PerfExperiment)
    except FileNotFoundError as error:
        raise BadExperiment(f"{path}: no such file") from error
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, UnicodeDecodeError, OSError) as error:
        raise BadExperiment(f"{path}: {error}") from error
    _check(found, path)
    return msgspec.structs.replace(found, name=path.stem, place=str(path))


def _check(one: PerfExperiment, path: Path) -> None:
    """What the types do not say. Errors: BadExperiment."""
    if not one.case or not one.number:
        raise BadExperiment(f"{path}: the file needs at least one [[case]] and one [[number]]")
    for case in one.case:
        missing = [name for name in _VALUE.findall(case.script or one.script) if name not in case.values]
        if missing:
            raise BadExperiment(
                f"{path}: case {case.name!r} has no value for @{missing[0]}@, which the script uses"
            )
    for name in one.scaled:
        if not all(isinstance(case.values.get(name, 0), int) for case in one.case):
            raise BadExperiment(f"{path}: scaled.{name}: only whole numbers can be scaled")
    for name in one.files:
        if not (path.parent / name).is_file():
            raise BadExperiment(f"{path}: files: {path.parent / name} does not exist")
    for number in one.number if one.reader == "pattern" else ():
        _check_pattern(number, path)
    asked = [("profile", one.profile.cases)] if one.profile else []
    for what, cases in [*asked, *((f"number {number.name!r}", number.cases) for number in one.number)]:
        for name in cases:
            if name not in [case.name for case in one.case]:
                raise BadExperiment(f"{path}: {what}: cases: there is no case {name!r}")


def _check_pattern(number: Number, path: Path) -> None:
    try:
        groups = re.compile(number.key).groups
    except re.error as error:
        raise BadExperiment(f"{path}: number {number.name!r}: {number.key!r}: {error}") from error
    if groups != 1:
        raise BadExperiment(
            f"{path}: number {number.name!r}: the pattern {number.key!r} needs exactly one group"
        )


def mkfs_of(one: PerfExperiment, case: Case) -> str:
    return case.mkfs or one.mkfs


def mount_of(one: PerfExperiment, case: Case) -> str:
    return case.mount or one.mount


def values_at(one: PerfExperiment, case: Case, scale: float) -> dict[str, Value]:
    """The case's values at that scale; 1 gives the seed's own."""
    return {name: _scaled(value, one.scaled.get(name), scale) for name, value in case.values.items()}


def _scaled(value: Value, how: Scaled | None, scale: float) -> Value:
    if how is None or isinstance(value, str) or scale == 1:
        return value
    return max(how.least, round(value * scale / how.step) * how.step)


def script_at(one: PerfExperiment, case: Case, scale: float) -> str:
    values = values_at(one, case, scale)
    return _VALUE.sub(lambda match: str(values[match[1]]), case.script or one.script).lstrip("\n")


def numbers_of(one: PerfExperiment, case: Case) -> tuple[Number, ...]:
    """Those that the case gives."""
    return tuple(number for number in one.number if not number.cases or case.name in number.cases)


def expanded(text: str) -> str:
    """A workload with a line for each number of its {FIRST..LAST} or {FIRST..LAST:DIGITS}."""
    return "\n".join(made for line in text.strip("\n").splitlines() for made in _lines(line)) + "\n"


def _lines(line: str) -> list[str]:
    match = _RANGE.search(line)
    if not match:
        return [line]
    first, last, digits = int(match[1]), int(match[2]), int(match[3] or 0)
    return [_RANGE.sub(f"{number:0{digits}}", line) for number in range(first, last + 1)]
