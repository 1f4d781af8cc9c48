"""
`powercut --print-completion SHELL`: the program by which a shell completes the words of our command line.

In:       the parser, a shell of SHELLS.
Out:      program(), made by shtab.
Not here: the functions of each shell that complete our own kinds of words (completion.bash, .zsh, .fish), the
          names that these ask for (names.py).

What an argument takes is decided by its metavar, so each metavar of the parser is listed here.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import shtab

from harness.commands.test import KINDS as STEPS
from harness.fstests.checkout import CRASH_GROUPS
from harness.fstests.machine import MKFS
from harness.runs.recoveries import WAYS
from kernel.fragments import known_variants
from oracles.judge import EVERY_ORACLE
from reports.perf.results import KINDS as KINDS_OF_FIGURES
from reports.results import DEVICES
from workloads.generate.space import BOUNDS

Completion = dict[str, str | dict[str, str]]  # of an argument, as shtab wants it: by shell
SHELLS = ("bash", "zsh", "fish")
# By metavar: a function of completion.bash, .zsh and .fish.
ASKED = {
    "WORKLOAD": "_powercut_workload_or_file",
    "P,...": "_powercut_profiles",
    "P": "_powercut_profiles",
    "K": "_powercut_kernel_or_dir",
    "KERNEL": "_powercut_kernel_or_dir",
    "EXPERIMENT": "_powercut_experiments",
    "GUEST": "_powercut_guests",
    "HOST": "_powercut_hosts",
}
# By metavar: a function's name and the words of a list with commas; they change only with a release.
LISTED: dict[str, tuple[str, Sequence[str]]] = {
    "D,...": ("_powercut_devices", DEVICES),
    "WAY,...": ("_powercut_ways", WAYS),
    "V,...": ("_powercut_variants", known_variants()),
    "O,R,T,N,A,M": ("_powercut_models", ("O", "R", "T", "N", "A", "M")),
    "NAME,...": ("_powercut_oracles", tuple(oracle.NAME for oracle in EVERY_ORACLE)),
    "K,...": ("_powercut_figures", KINDS_OF_FIGURES),
    "B": ("_powercut_bounds", BOUNDS),
    "STEP,...": ("_powercut_steps", STEPS),
    "GROUP,...": ("_powercut_groups", CRASH_GROUPS),
    "FS,...": ("_powercut_filesystems", tuple(MKFS)),
}
FOLDERS = ("CAMPAIGN", "DIR", "PATH")
FILES = ("FILE", "IMAGE", "LOG", "PROGRAM", "SCRIPT")
# By metavar: nothing to choose from.
FREE = (
    "DEVICE",
    "SERIAL",
    "ADDRESS",
    "B:L",
    "BYTES",
    "CMD",
    "COMMAND",
    "DAYS",
    "EXPR",
    "FINDING",
    "FUNCTION,...",
    "H",
    "I/N",
    "MARK",
    "N",
    "NAME",
    "NUMBER",
    "PERCENT",
    "QUERY",
    "REV",
    "SECONDS",
    "SIZE",
    "SPEC",
    "TEST",
    "TEXT",
    "X",
)


class PrintCompletion(argparse.Action):
    """Prints the program of the shell that is its value, and ends."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        _namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option: str | None = None,
    ) -> None:
        print(program(parser, str(values)))
        parser.exit()


def program(parser: argparse.ArgumentParser, shell: str) -> str:
    """It changes the parser, which is of no use afterwards."""
    for action in arguments_of(parser):
        action.complete = completion_of(action)  # type: ignore[attr-defined] # where shtab looks
        if shell == "zsh" and isinstance(action.metavar, str):
            action.metavar = action.metavar.replace(":", r"\:")  # it ends the name of an argument there
    own = (Path(__file__).parent / f"completion.{shell}").read_text()
    made = shtab.complete(parser, shell, preamble="\n".join((own, *lists(shell))))
    # shtab 1.13 writes an argument that may come any number of times as one that comes once.
    return made.replace('"(*)::', '"*:') if shell == "zsh" else made


def arguments_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Of it and its commands: each that takes a word we may know."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in dict.fromkeys(action.choices.values()):
                yield from arguments_of(command)
        elif action.nargs != 0 and not action.choices and action.help != argparse.SUPPRESS:
            yield action


def completion_of(action: argparse.Action) -> Completion:
    metavar = action.metavar
    assert isinstance(metavar, str), f"{action.dest} has a metavar"
    if metavar in FOLDERS:
        return shtab.DIRECTORY
    if metavar in FILES:
        return shtab.FILE
    if metavar in FREE:
        return {}
    function = ASKED[metavar] if metavar in ASKED else LISTED[metavar][0]
    return {"bash": function, "zsh": function, "fish": f"({function})"}


def lists(shell: str) -> Iterator[str]:
    """The functions of LISTED."""
    for function, words in LISTED.values():
        spaced = " ".join(words)
        if shell == "bash":
            yield f'{function}() {{\n  _powercut_list "{spaced}" "$1"\n}}\n'
        elif shell == "zsh":
            yield f"{function}() {{\n  _powercut_list {spaced}\n}}\n"
        else:
            yield f"function {function}\n  _powercut_list {spaced}\nend\n"
