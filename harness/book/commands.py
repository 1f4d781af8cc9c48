"""
Every command that a document shows, read by the real parser.

In:       a Document.
Out:      the command lines in its blocks and in its inline code; a sentence for each that is wrong: an
          option, profile, workload, series, config, model, state spec or tox environment that does not
          exist; and for each block of commands without a mark.
Not here: running them (runner.py).

In inline code a command may be shown in the abstract: words all in capitals are placeholders, brackets around
options are left out, and arguments may be missing.
"""

import argparse
import configparser
import contextlib
import functools
import io
import itertools
import re
import shlex
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

import msgspec

from harness.bisect.bisect import BadBisect, chosen_oracles
from harness.book.documents import FILE, OF_COMMANDS, Document
from harness.commands.completion import SHELLS
from harness.commands.main import parser
from harness.commands.run import kind_of
from harness.commands.test import KINDS
from harness.states.crash import parse_models
from kernel.build import series
from kernel.fragments import check_variants
from kernel.kernel import BadKernel
from kernel.word import RELEASES
from oracles.profiles import UnknownProfile, profile
from oracles.spec import MODELS, BadSpec, is_live
from oracles.spec import parse as parse_spec
from workloads import faults, library, programs
from workloads.generate import space
from workloads.generate.space import BadBounds
from workloads.library import SUFFIX, BadSelection
from workloads.perf.experiment import BadExperiment
from workloads.perf.experiment import select as select_experiments
from workloads.programs import BadProgram
from workloads.text import BadWorkload
from workloads.text import parse as parse_workload

OURS = ("./powercut", "powercut")
TOX = ("tox", ".venv/bin/tox")
BEFORE = ("sudo", "time", "env")
VALUED = ("--only", "-k", "-m", "--profile")
END_OF_COMMAND = frozenset((";", "|", "||", "&&", "&", "(", ")"))
REDIRECTIONS = frozenset((">", ">>", "<", ">&", "&>", "<<"))
WORKLOAD_LANGUAGE = "workload"
PATCHES = (".patch", ".cocci", ".mbox", ".eml")
WRONG = (
    BadBisect,
    BadBounds,
    BadExperiment,
    BadKernel,
    BadProgram,
    BadSelection,
    BadSpec,
    UnknownProfile,
    argparse.ArgumentTypeError,
)
_PLACEHOLDER = re.compile(r"(?:[A-Z][A-Z0-9_]*|\.\.\.|…)(?:,?(?:\.\.\.|…))?")
_INDENTED = re.compile(r"(\$ |\./powercut\b|powercut [a-z]|tox (run|-e)\b)")
_VERSION = re.compile(r"\d+\.\d+")
_FAULT_POINT = re.compile(r"F:(script|[a-z-]+@\d+-?(:(flush|\d+\+\d+(,\d+\+\d+)*))?)")


class Command(msgspec.Struct, frozen=True):
    """
    One command line as it is shown.

    text:   the whole line, continuations joined. line: 1-based, in the document.
    output: of a console, the lines below it. inline: in a line of prose.
    """

    text: str
    line: int
    output: tuple[str, ...] = ()
    inline: bool = False


# --- finding them --------------------------------------------------------------------------------


def commands_of(text: str, language: str, line: int) -> tuple[Command, ...]:
    """Those of a block. line: that of its fence."""
    console = language == "console"
    found: list[Command] = []
    going_on = False
    for at, each in enumerate(text.splitlines(), line + 1):
        if console and not going_on and not each.startswith("$ "):
            if found:
                found[-1] = msgspec.structs.replace(found[-1], output=(*found[-1].output, each))
            continue
        words = each.removeprefix("> " if going_on else "$ ") if console else each
        if going_on:
            before = found.pop()
            found.append(Command(before.text + " " + words.strip(), before.line))
        elif words.strip() and not words.lstrip().startswith("#"):
            found.append(Command(words.strip(), at))
        else:
            continue
        going_on = found[-1].text.endswith("\\")
        if going_on:
            found[-1] = msgspec.structs.replace(found[-1], text=found[-1].text.removesuffix("\\").rstrip())
    return tuple(found)


def shown(document: Document) -> tuple[Command, ...]:
    """All of a document: those in its blocks, and inline code that begins with our name."""
    blocks = [
        commands_of(block.text, block.language, block.line)
        for block in document.blocks
        if block.language in OF_COMMANDS
    ]
    inline = [
        Command(" ".join(code.text.split()), code.line, inline=True)
        for code in document.code
        if code.text.startswith(tuple(f"{name} " for name in (*OURS, *TOX)))
    ]
    return (*itertools.chain(*blocks), *inline)


def complaints(document: Document, root: Path) -> tuple[str, ...]:
    """What is wrong with the commands of a document, each with its place."""
    return tuple(itertools.chain(unmarked(document), bad_workloads(document), unparsed(document, root)))


def unmarked(document: Document) -> Iterator[str]:
    """Blocks of commands that do not say whether they are run; commands where nobody looks for them."""
    for block in document.blocks:
        if block.language in OF_COMMANDS and block.mark is None:
            yield (
                f"{document.path}:{block.line}: a block of commands without a mark: put <!-- run -->, "
                "<!-- long: REASON --> or <!-- shown: REASON --> on the line above it"
            )
        if not block.language:
            yield f"{document.path}:{block.line}: a fenced block without a language: write ```text"
    for code in document.indented:
        if _INDENTED.match(code.text):
            yield f"{document.path}:{code.line}: a command in an indented block: make it a fenced one"


def bad_workloads(document: Document) -> Iterator[str]:
    for block in document.blocks:
        if block.language == WORKLOAD_LANGUAGE:
            try:
                parse_workload(block.text, source=f"{document.path}, the workload at line {block.line}")
            except BadWorkload as error:
                yield f"{document.path}:{block.line + error.line}: {error.message}"


def unparsed(document: Document, root: Path) -> Iterator[str]:
    made = frozenset(block.mark.file for block in document.blocks if block.mark and block.mark.what == FILE)
    for command in shown(document):
        for reason in wrong(command, root, made):
            yield f"{document.path}:{command.line}: {command.text}: {reason}"


# --- reading one ---------------------------------------------------------------------------------


def wrong(command: Command, root: Path, made: Container[str] = frozenset()) -> list[str]:
    """Reasons. made: files that the document itself made."""
    try:
        calls = list(split(command.text))
    except ValueError as error:
        return [f"no shell reads it: {error}"]
    found: list[str] = []
    for each in calls:
        words = abstract(each) if command.inline else each
        if words[0] in OURS:
            found += _of_powercut(words[1:], root, made, command.inline)
        elif words[0] in TOX:
            found += _of_tox(words[1:], root, made, command.inline)
    return found


def abstract(words: Iterable[str]) -> list[str]:
    """Without the brackets and dots of a synopsis."""
    return [word for each in words if (word := each.strip("[]")) not in ("", "...", "…", "|")]


def split(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a line, without assignments before it and redirections."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    lexer.wordchars += "~*?=:@+[]{}^,.%!…-/"
    words: list[str] = []
    skip = False
    for word in (*lexer, ";"):
        if word in END_OF_COMMAND:
            while words and (words[0] in BEFORE or re.match(r"\w+=", words[0])):
                words.pop(0)
            if words:
                yield words
            words = []
        elif word in REDIRECTIONS:
            if words and words[-1].isdigit():
                words.pop()
            skip = True
        elif skip:
            skip = False
        else:
            words.append(word)


def is_placeholder(word: str) -> bool:
    """WORKLOAD, N, DIR, K,..."""
    return _PLACEHOLDER.fullmatch(word) is not None


def _of_powercut(words: list[str], root: Path, made: Container[str], inline: bool) -> Iterable[str]:
    words = [word for word in words if word != "--yes"]
    if not words or is_placeholder(words[0]):
        return ()
    if inline and len(words) == 1 and not words[0].startswith("-"):  # the command alone is spoken of
        return () if words[0] in command_names() else (f"there is no command {words[0]}",)
    if words[0] == "test":
        return _of_test(words[1:], root)
    if words[0] == "--print-completion":  # the parser would do it, and be changed by it
        return [f"no shell {word}" for word in words[1:] if word not in SHELLS and not is_placeholder(word)]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            arguments = lenient_parser().parse_args(words)
    except SystemExit as stop:
        reason = said.getvalue().strip().rpartition(": error: ")[2]
        if not stop.code or (inline and "arguments are required" in reason):
            return ()
        return (reason,)
    return [reason for check in CHECKS for reason in check(arguments, root, made)]


@functools.cache
def command_names() -> frozenset[str]:
    return frozenset(
        name
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
        for name in action.choices
    )


def _of_test(words: list[str], root: Path) -> Iterator[str]:
    for before, word in zip(("", *words), words, strict=False):
        if before == "--only" and (unknown := set(word.split(",")) - set(KINDS)):
            yield f"there is no step {', '.join(sorted(unknown))}. The steps are {', '.join(KINDS)}"
        place = word.partition("::")[0]
        is_path = "/" in word and not word.startswith("-") and before not in VALUED
        if is_path and not (root / place).exists():
            yield f"{place} does not exist"


def _of_tox(words: list[str], root: Path, made: Container[str], inline: bool) -> Iterator[str]:
    ours, _, for_command = " ".join(words).partition(" -- ")
    listed = ours.split()
    for before, word in zip(("", *listed), listed, strict=False):
        if before == "-e":
            for name in word.split(","):
                if not is_placeholder(name) and "…" not in name and name not in tox_environments(root):
                    yield f"tox.ini has no environment {name}"
            if word == "repro" and for_command:
                yield from _of_powercut(["run", *for_command.split()], root, made, inline)


@functools.cache
def tox_environments(root: Path) -> frozenset[str]:
    read = configparser.ConfigParser(interpolation=None)
    read.read(root / "tox.ini")
    listed = {name for line in read["tox"]["env_list"].split() for name in _expanded(line.strip(","))}
    return frozenset(listed | {name.removeprefix("testenv:") for name in read if name.startswith("testenv:")})


def _expanded(text: str) -> Iterator[str]:
    """crash-{btrfs,ext4} as crash-btrfs, crash-ext4."""
    before, brace, rest = text.partition("{")
    inside, _, after = rest.partition("}")
    for each in inside.split(",") if brace else ("",):
        yield f"{before}{each}{after}"


# --- a parser that takes placeholders ------------------------------------------------------------


class _OrPlaceholder(Container[str]):
    """The choices of an option, and words in capitals."""

    def __init__(self, choices: Iterable[str]) -> None:
        self._choices = tuple(choices)

    def __contains__(self, word: object) -> bool:
        return word in self._choices or (isinstance(word, str) and is_placeholder(word))

    def __iter__(self) -> Iterator[str]:
        return iter(self._choices)


@functools.cache
def lenient_parser() -> argparse.ArgumentParser:
    """The command line's own, in which a placeholder may stand for every value."""
    made = parser()
    _accept_placeholders(made)
    return made


def _accept_placeholders(of: argparse.ArgumentParser) -> None:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in set(action.choices.values()):
                _accept_placeholders(each)
        else:
            if action.choices is not None:
                action.choices = _OrPlaceholder(action.choices)
            if callable(action.type):
                action.type = _unless_placeholder(action.type)


def _unless_placeholder(convert: Callable[[str], object]) -> Callable[[str], object]:
    def converted(word: str) -> object:
        return word if is_placeholder(word) else convert(word)

    converted.__name__ = getattr(convert, "__name__", "value")
    return converted


# --- what the parser leaves to the commands ------------------------------------------------------


def _refused(check: Callable[[], object]) -> Iterator[str]:
    try:
        check()
    except WRONG as error:
        yield str(error).splitlines()[0]


def _workloads(arguments: argparse.Namespace, _root: Path, made: Container[str]) -> Iterator[str]:
    words = getattr(arguments, "workloads", None) or []
    if arguments.command == "compare" and not arguments.against:  # a run, to be shown again
        words = words[1:]
    for word in words:
        if is_placeholder(word) or word in made or word.removeprefix("./") in made or word.endswith(SUFFIX):
            continue
        choose = programs.select if programs.is_program(word) else library.select
        yield from _refused(functools.partial(choose, (word,)))
    keyword = getattr(arguments, "keyword", None)
    if keyword and not is_placeholder(keyword):
        yield from _refused(lambda: library.select((), keyword))


def _profiles(arguments: argparse.Namespace, _root: Path, _made: Container[str]) -> Iterator[str]:
    for name in (getattr(arguments, "fs", None) or "").split(","):
        if name.strip(".…") and not is_placeholder(name):
            yield from _refused(functools.partial(profile, name.strip()))


def _kernels(arguments: argparse.Namespace, _root: Path, _made: Container[str]) -> Iterator[str]:
    given = [getattr(arguments, name, None) for name in ("kernel", "against", "word")]
    for word in (one.strip() for words in given if isinstance(words, str) for one in words.split(",")):
        if word:
            source, *rest = word.split("+")
            if _VERSION.fullmatch(source) and source not in RELEASES:
                yield f"no kernel {source}; there are {', '.join(RELEASES)}"
            for name in rest:
                if not is_placeholder(name) and not name.endswith(PATCHES) and name not in series_names():
                    yield f"no series {name}; ./powercut list shows all"
    variants = getattr(arguments, "config", ())
    if not isinstance(variants, str):
        wanted = tuple(name for name in variants if not is_placeholder(name) and name.strip(".…"))
        yield from _refused(lambda: check_variants(wanted))


@functools.cache
def series_names() -> frozenset[str]:
    """And with a capital word as its last part, as planted/NAME."""
    names = {one.name for one in series()}
    return frozenset(names | {f"{name.partition('/')[0]}/NAME" for name in names})


def _states(arguments: argparse.Namespace, _root: Path, _made: Container[str]) -> Iterator[str]:
    models = getattr(arguments, "models", None)
    if models and not _stands_for_models(models):
        yield from _refused(lambda: parse_models(models))
    spec = getattr(arguments, "state", None)
    if spec and not is_placeholder(spec):
        if spec.startswith("F:"):
            kind = re.split("[@:]", spec)[1]
            if not _FAULT_POINT.fullmatch(spec) or kind not in (*faults.KINDS, faults.SCRIPT):
                yield f"{spec} is not a fault point"
        elif is_live(spec):
            if not spec.removeprefix("L:").isdigit():
                yield f"{spec} is not a state of a recording"
        else:
            yield from _refused(lambda: parse_spec(spec))


def _stands_for_models(word: str) -> bool:
    """A placeholder; but R is a model."""
    return is_placeholder(word) and not set(word.split(",")) <= set(MODELS)


def _generated(arguments: argparse.Namespace, _root: Path, _made: Container[str]) -> Iterator[str]:
    bounds = getattr(arguments, "generate", None)
    if bounds and not all(is_placeholder(word) for word in bounds.split(":")):
        yield from _refused(lambda: space.parse_space(bounds))
    counted = arguments.command == "generate" and isinstance(arguments.length, int)
    if counted and not is_placeholder(arguments.bounds):
        yield from _refused(lambda: space.check(arguments.bounds, arguments.length))
    shard = getattr(arguments, "shard", None)
    if shard and not all(is_placeholder(word) for word in shard.split("/")):
        yield from _refused(lambda: space.parse_shard(shard))


def _experiments(arguments: argparse.Namespace, _root: Path, made: Container[str]) -> Iterator[str]:
    for word in getattr(arguments, "perf", None) or ():
        if not is_placeholder(word) and word not in made and not word.endswith(".toml"):
            yield from _refused(functools.partial(select_experiments, (word,)))


def _together(arguments: argparse.Namespace, _root: Path, _made: Container[str]) -> Iterator[str]:
    """Options that are known and do not go together."""
    if arguments.command in ("run", "compare", "bisect") and not _stands_for_models(arguments.models):
        yield from _refused(lambda: kind_of(arguments))
    if arguments.command != "record" and getattr(arguments, "oracle", ""):  # of record it is a script's path
        names = ",".join(name for name in arguments.oracle.split(",") if not is_placeholder(name))
        asked = argparse.Namespace(**{**vars(arguments), "oracle": names})
        yield from _refused(lambda: chosen_oracles(asked))


CHECKS = (_workloads, _profiles, _kernels, _states, _generated, _experiments, _together)
