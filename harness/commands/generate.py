"""
`powercut generate` and `powercut import`; and the options of `run` that take generated workloads.

In:       the arguments of the command.
Out:      workload files in a folder, or their texts on standard output; what was counted on standard error.
          Exit status 0; 2 when a file is no J-lang; 3 when a line of one, or an operation of a workload, has
          no counterpart.
Not here: the bounds (workloads/generate/), J-lang (workloads/jlang.py), running them (run.py).
"""

import argparse
import re
import sys
import tarfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.evidence.store import write_whole
from harness.evidence.summary import EXIT_BAD_INPUT, EXIT_HOLDS, EXIT_UNKNOWN
from reports.text.counting import number
from workloads import jlang, text
from workloads.generate import space
from workloads.generate.space import BOUNDS, Asked, BadBounds
from workloads.library import SUFFIX, select
from workloads.text import BadWorkload
from workloads.workload import Workload

TOLD_EVERY_S = 10.0


class BadImport(Exception):
    """What was asked of `import` makes no sense, or there is nothing to read."""


# --- options -------------------------------------------------------------------------------------


def add_part(command: argparse.ArgumentParser) -> None:
    """Which part of the bounds; --seed is the command's own."""
    command.add_argument(
        "--sample", type=_count, default=0, metavar="N", help="draw N different workloads (default: all)"
    )
    command.add_argument(
        "--shard", default="1/1", metavar="I/N", help="only the I-th of N parts (default: 1/1)"
    )


def add_generated(command: argparse.ArgumentParser) -> None:
    """For `run`: generated workloads in place of named ones."""
    command.add_argument(
        "--generate",
        metavar="B:L",
        help=f"generate workloads: bounds ({', '.join(BOUNDS)}) and length, such as ace:1",
    )
    add_part(command)


def add_generate(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--length",
        type=int,
        required=True,
        metavar="N",
        help="how many core operations each workload has, 1 to 3",
    )
    command.add_argument(
        "--bounds", default="ace", metavar="B", help=f"bounds: {', '.join(BOUNDS)} (default: ace)"
    )
    command.add_argument(
        "--count", action="store_true", help="print how many there are, duplicates included, and stop"
    )
    add_part(command)
    command.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the sample (default: 0)")
    _add_output(command)


def add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "workloads", metavar="WORKLOAD", nargs="*", help="with --to: names or globs of the library, or files"
    )
    command.add_argument(
        "--jlang",
        nargs="+",
        type=Path,
        default=[],
        metavar="PATH",
        help="J-lang workloads to read: files, folders or tar archives",
    )
    _add_output(command)


def _add_output(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--to", choices=["jlang"], help="write CrashMonkey's J-lang, for workloads that it can express"
    )
    command.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write one file for each workload there (default: standard output)",
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")


def _count(words: str) -> int:
    if not words.isdecimal() or not int(words):
        raise argparse.ArgumentTypeError(f"{words!r} is not a number of at least 1")
    return int(words)


# --- generate ------------------------------------------------------------------------------------


def command_generate(arguments: argparse.Namespace) -> int:
    bounds, length = space.check(arguments.bounds, arguments.length)
    asked = Asked(bounds, length, space.parse_shard(arguments.shard), arguments.sample, arguments.seed)
    planned = space.planned(asked)
    if arguments.count:
        print(planned)
        return EXIT_HOLDS
    tally = Tally(planned, arguments.quiet)
    output = Output(arguments.out, arguments.to)
    for workload in tally.different(space.workloads(asked)):
        output.put(workload)
    tell(f"{bounds}:{length}: {tally}{output}")
    return output.exit


def generated(arguments: argparse.Namespace) -> tuple[Workload, ...]:
    """What `run --generate` is about. Errors: BadBounds."""
    if arguments.workloads or arguments.keyword is not None:
        raise BadBounds("--generate makes the workloads, so no workloads and no -k may be given with it")
    bounds, length = space.parse_space(arguments.generate)
    asked = Asked(bounds, length, space.parse_shard(arguments.shard), arguments.sample, arguments.seed)
    tally = Tally(space.planned(asked), arguments.quiet)
    made = tuple(tally.different(space.workloads(asked)))
    if not made:
        raise BadBounds(
            f"--shard {arguments.shard}: all workloads of this part are equal to workloads of other parts"
        )
    if not arguments.quiet:
        tell(f"{arguments.generate}: {tally}")
    return made


def refuse_part(arguments: argparse.Namespace) -> None:
    """Errors: BadBounds, when a part of nothing was asked for."""
    if arguments.sample or arguments.shard != "1/1":
        raise BadBounds(
            "--sample and --shard can be used only with generated workloads, such as --generate ace:2"
        )


class Tally:
    """Goes through what is made, counts it, and tells now and then that it goes on."""

    def __init__(self, planned: int, quiet: bool) -> None:
        self._planned, self._quiet = planned, quiet
        self._done = self._equal = 0

    def different(self, made: Iterable[Workload | None]) -> Iterator[Workload]:
        last = started = time.monotonic()
        for workload in made:
            self._done += 1
            if workload is None:
                self._equal += 1
            else:
                yield workload
            now = time.monotonic()
            if now - last > TOLD_EVERY_S and not self._quiet:
                last = now
                left = (now - started) / self._done * (self._planned - self._done)
                tell(f"{self._done:,} of {self._planned:,} workloads made, about {left:.0f} s left")

    def __str__(self) -> str:
        if not self._equal:
            return number(self._done, "workload")
        return (
            f"{number(self._done, 'workload')}; {self._equal:,} of them are left out, because they equal "
            "an earlier one"
        )


def tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Output:
    """Where workloads go: a file each, or one after the other on standard output."""

    def __init__(self, folder: Path | None, to: str | None) -> None:
        self._folder, self._to = folder, to
        self._written = self._refused = 0
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def put(self, workload: Workload) -> None:
        try:
            content = jlang.write(workload) if self._to else text.format(workload)
        except jlang.NotExpressed as error:
            self._refused += 1
            for each in error.reasons:
                tell(f"{workload.name}: {each.text}: {each.reason}")
            return
        self._written += 1
        if self._folder is None:
            print(f"# {workload.name}\n{content}")
        else:
            write_whole(self._folder / (workload.name + ("" if self._to else SUFFIX)), content.encode())

    @property
    def exit(self) -> int:
        return EXIT_UNKNOWN if self._refused else EXIT_HOLDS

    def __str__(self) -> str:
        where = f"; {self._written:,} written to {self._folder}" if self._folder else ""
        return where + (f"; {self._refused:,} left out that J-lang cannot express" if self._refused else "")


# --- import --------------------------------------------------------------------------------------


def command_import(arguments: argparse.Namespace) -> int:
    if arguments.to:
        if arguments.jlang:
            raise BadImport("import: --jlang reads J-lang, and --to jlang writes it. Use only one of them")
        return write_jlang(arguments)
    if not arguments.jlang or arguments.workloads:
        raise BadImport(
            "import: name J-lang files to read, --jlang PATH..., or workloads to write as "
            "J-lang, --to jlang WORKLOAD..."
        )
    return read_jlang(arguments)


def write_jlang(arguments: argparse.Namespace) -> int:
    output = Output(arguments.out, arguments.to)
    chosen = select(tuple(arguments.workloads))
    for workload in chosen:
        output.put(workload)
    tell(f"{number(len(chosen), 'workload')}{output}")
    return output.exit


def read_jlang(arguments: argparse.Namespace) -> int:
    """Every file is looked at, and each that gives no workload is told with its reasons."""
    output = Output(arguments.out, None)
    files = no_jlang = not_mapped = lines = 0
    names: dict[str, str] = {}
    seen: set[str] = set()
    for source, name, content in found(arguments.jlang):
        files += 1
        try:
            workload = jlang.read(text.decode(content, source), name, source)
        except (jlang.NotJlang, BadWorkload) as error:
            no_jlang += 1
            tell(str(error))
            continue
        except jlang.NotMapped as error:
            not_mapped += 1
            lines += len(error.reasons)
            for each in error.reasons:
                tell(f"{source}:{each.place}: not mapped: {each.text}: {each.reason}")
            continue
        if name in names:
            raise BadImport(
                f"{source}: {names[name]} has the same name. Import these files one after the other"
            )
        names[name] = source
        seen.add("\n".join(map(text.format_operation, (*workload.setup, *workload.run))))
        output.put(workload)
    if not files:
        raise BadImport(f"import: there is no file in {', '.join(map(str, arguments.jlang))}")
    equal = len(names) - len(seen)
    tell(
        f"{number(files, 'file')}: {number(len(names), 'workload')}"
        + (f", {equal:,} of them equal another one" if equal else "")
        + (f"; {number(not_mapped, 'file')} not mapped for {number(lines, 'line')}" if not_mapped else "")
        + (f"; not J-lang: {number(no_jlang, 'file')}" if no_jlang else "")
        + str(output)
    )
    return EXIT_BAD_INPUT if no_jlang else EXIT_UNKNOWN if not_mapped else EXIT_HOLDS


def found(paths: list[Path]) -> Iterator[tuple[str, str, bytes]]:
    """Source, name and content of each file, those of a folder or an archive in the order of their numbers.
    Errors: BadImport."""
    for path in paths:
        if path.is_dir():
            for each in sorted((one for one in path.rglob("*") if one.is_file()), key=by_number):
                yield str(each), each.name, each.read_bytes()
        elif not path.is_file():
            raise BadImport(f"import: there is no file or folder {path}")
        elif tarfile.is_tarfile(path):
            yield from _in_archive(path)
        else:
            yield str(path), path.name, path.read_bytes()


def _in_archive(path: Path) -> Iterator[tuple[str, str, bytes]]:
    with tarfile.open(path) as archive:
        for member in sorted(
            (one for one in archive if one.isfile()), key=lambda one: by_number(Path(one.name))
        ):
            file = archive.extractfile(member)
            assert file is not None  # it is a file
            yield f"{path}:{member.name}", Path(member.name).name, file.read()


def by_number(path: Path) -> list[tuple[int, str]]:
    """j-lang10 after j-lang9."""
    return [(int(each), "") if each.isdecimal() else (-1, each) for each in re.split("([0-9]+)", str(path))]
