"""Completion of the command line, and the names that it asks for."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.commands import completion, names
from harness.commands.main import parser
from harness.local.root import ROOT
from harness.tests.conftest import Powercut
from kernel.build import series
from oracles.profiles import PROFILES
from workloads import library

# Asks the function that bash would, for the word that the cursor is on.
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_powercut
printf "%s\\n" "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program for each shell, and a `powercut` that knows names only."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in completion.SHELLS:
        (folder / shell).write_text(completion.program(parser(), shell))
    command = folder / "powercut"
    command.write_text(
        f'#!/bin/sh\nshift 2\nPYTHONPATH={ROOT} exec {sys.executable} -P -m harness.commands.names "$@"\n'
    )
    command.chmod(0o755)
    (folder / "mine.workload").touch()
    return folder


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_the_shell_can_read_its_program(place: Path, shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, "-n", place / shell], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("mini", ["minimize"]),
        ("run --cross", ["--cross-check"]),
        ("run exchange-thr", ["exchange-through-third"]),
        ("run exchange-through-third min", ["mine.workload"]),
        ("run --fs btrfs,ext4-one", ["btrfs,ext4-one-group"]),
        ("run --kernel 7", ["7.2"]),
        ("run --kernel 6.12+planted/xfs-size-logged-as", ["6.12+planted/xfs-size-logged-as-timestamp"]),
        (
            "run --kernel 6.12+fix/x+planted/xfs-size-logged-as",
            ["6.12+fix/x+planted/xfs-size-logged-as-timestamp"],
        ),
        ("run --models O,", ["O,O", "O,R", "O,T", "O,N", "O,A", "O,M"]),
        ("bisect --oracle dura", ["durable"]),
        ("compare --perf dben", ["dbench"]),
        ("kernel sh", ["show"]),
        ("kernel show 5", ["5.10"]),
        ("list --names ser", ["series"]),
        ("test --only li", ["lint"]),
        ("--print-completion z", ["zsh"]),
    ],
)
def test_bash_offers_what_can_stand_there(place: Path, line: str, wanted: list[str]) -> None:
    words = [str(place / "powercut"), *line.split(" ")]
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", str(place / "bash"), *words],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (wanted, "")


def test_each_argument_that_takes_a_word_is_known() -> None:
    """A new metavar needs a line in completion.py; one that is gone leaves none behind."""
    used = {action.metavar for action in completion.arguments_of(parser())}
    tables = (completion.ASKED, completion.LISTED, completion.FOLDERS, completion.FILES, completion.FREE)
    assert used == {metavar for table in tables for metavar in table}


def test_the_functions_that_arguments_ask_are_there(place: Path) -> None:
    for function in (*completion.ASKED.values(), *(function for function, _ in completion.LISTED.values())):
        assert f"\n{function}() {{" in (place / "bash").read_text()
        assert f"\n{function}() {{" in (place / "zsh").read_text()
        assert f"\nfunction {function}\n" in (place / "fish").read_text()


def test_the_command_prints_the_program_of_a_shell(powercut: Powercut, place: Path) -> None:
    exit_status, said, _ = powercut("--print-completion", "fish")
    assert (exit_status, said) == (0, (place / "fish").read_text() + "\n")


def test_names_are_those_that_the_commands_take(powercut: Powercut) -> None:
    assert set(names.names("workloads")) == set(library.names())
    assert names.names("profiles") == tuple(profile.name for profile in PROFILES)
    assert names.names("series") == tuple(change.name for change in series())
    assert powercut("list", "--names", "profiles")[1].split() == [profile.name for profile in PROFILES]


def test_a_shell_does_not_wait_for_what_names_do_not_need() -> None:
    program = "import sys, harness.commands.names; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"matplotlib", "rich", "jinja2", "shtab", "harness.runs.run"}.isdisjoint(done.stdout.split())


def test_an_unknown_kind_of_names_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert names.main(["colours"]) == 2
    assert "workloads, profiles" in capsys.readouterr().err
