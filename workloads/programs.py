"""
The programs that come with Powercut as workloads, each with the script that judges what it finds again.

In:       workloads/programs/NAME.toml, and files of the user's own.
Out:      Workloads with a Program; BadProgram with the place and the fix.
Not here: what a Program is (program.py), running it (harness/stages/trace.py), asking its script
          (harness/stages/ask.py), what the answer means (oracles/application.py).

A file has three scripts for bash, which find the filesystem mounted as their working directory:

    about = "A file replaced by rename, the new one synced first"
    promise = "after 'saved N' the file is version N or a later one, and never a part of one"
    needs = { sync = "coreutils" }
    setup = "echo version 0 >file"
    run = '''
    for n in 1 2 3; do
        echo version $n >file.new && sync file.new && mv file.new file && sync .
        echo saved $n
    done
    '''
    oracle = '''
    while read -r word number; do saved=$number; done
    read -r word version <file
    [ "$version" -ge "$saved" ] || broken "version $saved was saved, and the file is version $version"
    '''

setup is not recorded, and what it left is durable; run is recorded. A command that fails ends them. A line
of run's standard output counts as told to the world when it is written: the oracle reads from its standard
input the lines that were told when the power failed. It looks at the recovered tree, which it may change, and
ends with exit status 0 (the program kept its promise), by `broken TEXT`, or by `unknown TEXT`. Every other
status is UNKNOWN, too. A command that fails in it ends nothing and accuses nobody.

    [[variant]]
    name = "wal"
    values = { journal = "WAL" }

makes a program NAME-wal, where @journal@ stands for WAL everywhere in the file; a variant may have an `about`
and a `promise` of its own.
"""

import difflib
import fnmatch
import functools
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from workloads.program import Program, ProgramFile
from workloads.workload import Workload

LIBRARY = Path(__file__).parent / "programs"
SUFFIX = ".toml"
THEME = "programs"
PREFIX = f"{THEME}/"  # on the command line

BROKEN, UNKNOWN = 1, 3  # exit status of an oracle

_NAME = re.compile(r"[a-z0-9][a-z0-9.+-]*")
_VALUE = re.compile(r"@(\w+)@")
_SCRIPT = "#!/bin/bash\nset -e -o pipefail\n"
_ORACLE = f"""\
#!/bin/bash
broken() {{ printf '%s\\n' "$*"; exit {BROKEN}; }}
unknown() {{ printf '%s\\n' "$*"; exit {UNKNOWN}; }}
"""


class BadProgram(Exception):
    """The file cannot be used; the message names the place and the fix."""


class _Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    about: str = ""
    promise: str = ""
    values: dict[str, str] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """
    about:    one line. promise: what the program promises its users, one line; what a finding expects.
    setup, run, oracle: scripts; without an oracle only the filesystem is judged.
    needs:    what the scripts run beside bash, each with the Debian package that has it.
    planted:  a mistake that the program makes on purpose, one line: it must be found.
    timeout_s, oracle_timeout_s: how long run (and setup), and one call of the oracle, may take in the guest.
    content:  false where the files hold too much to be compared byte by byte: names, sizes and attributes are
              judged, and the oracle sees the whole tree.
    config:   variants of the kernel's config that it needs beside `programs`.
    variant:  the same with other values.
    """

    about: str = ""
    promise: str = ""
    setup: str = ""
    run: str = ""
    oracle: str = ""
    needs: dict[str, str] = {}
    planted: str = ""
    timeout_s: float = 60.0
    oracle_timeout_s: float = 20.0
    content: bool = True
    config: tuple[str, ...] = ()
    variant: tuple[_Variant, ...] = ()


def parse(text: str, name: str, place: str) -> tuple[Workload, ...]:
    """One for each variant, one alone where there are none. place: of the file, for messages.
    Errors: BadProgram."""
    try:
        file = msgspec.convert(tomllib.loads(text), _File)
    except tomllib.TOMLDecodeError as error:
        raise BadProgram(f"{place}: {error}") from error
    except msgspec.ValidationError as error:
        fields = ", ".join(_File.__struct_fields__)
        raise BadProgram(f"{place}: {error}. The fields are {fields}") from error
    if not _NAME.fullmatch(name):
        raise BadProgram(f"{place}: the name of a program's file has small letters, digits and -")
    if not file.variant:
        return (_workload(file, _Variant(""), name, place),)
    return tuple(_workload(file, one, f"{name}-{one.name}", place) for one in file.variant)


def _workload(file: _File, variant: _Variant, name: str, place: str) -> Workload:
    def filled(text: str, field: str) -> str:
        if missing := {key for key in _VALUE.findall(text) if key not in variant.values}:
            raise BadProgram(
                f"{place}: `{field}` names @{sorted(missing)[0]}@, and `values` of {name} do not have it"
            )
        return _VALUE.sub(lambda match: variant.values[match[1]], text)

    about, promise = (
        filled(getattr(variant, field) or getattr(file, field), field) for field in ("about", "promise")
    )
    setup, run, oracle = (filled(getattr(file, field), field) for field in ("setup", "run", "oracle"))
    _require(file, name, place, about, promise, run, oracle)
    scripts = {
        "setup": _SCRIPT + setup if setup else "",
        "run": _SCRIPT + run,
        "oracle": _ORACLE + oracle + "\nexit 0\n" if oracle else "",
    }
    program = Program(
        arguments=("/program/run",),
        setup=("/program/setup",) if setup else (),
        oracle=("/program/oracle",) if oracle else (),
        files=tuple(ProgramFile(key, script.encode()) for key, script in scripts.items() if script),
        timeout_s=file.timeout_s,
        promise=promise,
        oracle_timeout_s=file.oracle_timeout_s,
        content=file.content,
        config=file.config,
    )
    header = (about, *((f"planted: {filled(file.planted, 'planted')}",) if file.planted else ()))
    return Workload(name, (), (), header, THEME, program=program)


def _require(file: _File, name: str, place: str, about: str, promise: str, run: str, oracle: str) -> None:
    if not _NAME.fullmatch(name):
        raise BadProgram(
            f"{place}: the variant {name} has a name of other signs than small letters, digits and -"
        )
    for field, value in (("about", about), ("run", run)):
        if not value.strip():
            raise BadProgram(f"{place}: `{field}` is missing")
    if oracle and not promise:
        raise BadProgram(f"{place}: `promise` is missing: one line that says what `oracle` checks")
    for field in ("timeout_s", "oracle_timeout_s"):
        if not 0 < getattr(file, field) <= 3600:
            raise BadProgram(f"{place}: `{field}` must be more than 0 and at most 3600 seconds")


def read(path: Path) -> tuple[Workload, ...]:
    """Errors: BadProgram; OSError."""
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise BadProgram(f"{path}: not UTF-8 (byte {error.start})") from error
    return parse(text, path.name.removesuffix(SUFFIX), str(path))


@functools.cache
def library() -> tuple[Workload, ...]:
    """Every program of the library, by name."""
    found = (workload for path in LIBRARY.glob(f"*{SUFFIX}") for workload in read(path))
    return tuple(sorted(found, key=lambda workload: workload.name))


def is_program(word: str) -> bool:
    """Whether a word of the command line means a program, and no workload."""
    return word.startswith(PREFIX) or word.endswith(SUFFIX)


def select(words: Iterable[str]) -> tuple[Workload, ...]:
    """programs/NAME, programs/GLOB and files NAME.toml, each once, in the order asked. Errors: BadProgram."""
    chosen: dict[str, Workload] = {}
    for word in words:
        found = _in_library(word) if word.startswith(PREFIX) else ()
        if not found and Path(word).is_file():
            found = _of_user(Path(word))
        if not found:
            raise BadProgram(_unknown(word))
        chosen |= {workload.name: workload for workload in found}
    return tuple(chosen.values())


def _of_user(path: Path) -> tuple[Workload, ...]:
    try:
        return read(path)
    except OSError as error:
        raise BadProgram(f"cannot read {path}: {error.strerror}") from error


def _in_library(word: str) -> tuple[Workload, ...]:
    wanted = word.removeprefix(PREFIX)
    return tuple(workload for workload in library() if fnmatch.fnmatchcase(workload.name, wanted))


def _unknown(word: str) -> str:
    if not word.startswith(PREFIX):
        return f"there is no program file {word}"
    names = [workload.name for workload in library()]
    near = difflib.get_close_matches(word.removeprefix(PREFIX), names, n=3, cutoff=0.4)
    listed = ", ".join(PREFIX + name for name in near or names)
    return f"unknown program {word}. {'Similar names' if near else 'The programs are'}: {listed}"
