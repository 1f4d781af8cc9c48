"""The one command before its environment exists."""

import ast
import os
import subprocess
import sys

import pytest

from harness.local import door, packages
from harness.local.root import ROOT
from kernel.packages import Requirement

FLEX = Requirement("flex", "no-such-flex", "parses")


@pytest.fixture
def commands(monkeypatch) -> list[list[str]]:
    """What would have been run. An install fails until the lists were fetched."""
    ran: list[list[str]] = []

    def watch(words: list[str]) -> tuple[int, list[str]]:
        fetched = any("update" in before for before in ran)
        ran.append(words)
        return (0 if fetched or "update" in words else 100, ["E: Unable to locate package flex"])

    monkeypatch.setattr(door.environment, "watch", watch)
    monkeypatch.setattr(packages, "is_debian", lambda: True)
    return ran


def test_an_old_python_is_told_what_is_needed() -> None:
    program = "import sys; sys.version_info = (3, 9, 2); exec(open(sys.argv[1]).read())"
    done = subprocess.run(
        [sys.executable, "-c", program, str(ROOT / "powercut")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.startswith("powercut: Python 3.11 or later is needed")


def test_an_old_python_can_read_the_command() -> None:
    ast.parse((ROOT / "powercut").read_text(), feature_version=(3, 4))


def test_before_the_environment_nothing_but_the_standard_library_is_imported() -> None:
    outside = "sys.path[:] = [p for p in sys.path if 'site-packages' not in p]"
    program = f"import sys; {outside}; import harness.local.door"
    subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, check=True)


def test_yes_is_taken_out_but_not_behind_two_dashes() -> None:
    assert door.take_yes(["run", "--yes", "a"]) == (["run", "a"], True)
    assert door.take_yes(["test", "--", "--yes"]) == (["test", "--", "--yes"], False)


def test_an_ordinary_user_is_given_the_line_and_nothing_is_run(monkeypatch, commands) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(door.Closed, match="apt-get install --no-install-recommends flex"):
        door.provide([FLEX], yes=False)
    assert commands == []


def test_with_yes_sudo_is_used(monkeypatch, commands) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "find", lambda program: "/usr/bin/" + program)
    monkeypatch.setattr(door, "has_lists", lambda: False)
    door.provide([FLEX], yes=True)
    assert {words[0] for words in commands} == {"sudo"}


def test_root_fetches_the_lists_when_the_install_fails_with_those_there_are(monkeypatch, commands) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(door, "has_lists", lambda: True)
    door.provide([FLEX], yes=False)
    assert [next(word for word in words if word in ("install", "update")) for words in commands] == [
        "install",
        "update",
        "install",
    ]
    assert commands[-1][-1] == "flex"


def test_without_an_environment_and_ensurepip_its_package_is_in_the_same_line(monkeypatch) -> None:
    monkeypatch.setattr(door.environment, "can_be_made", lambda: False)
    monkeypatch.setattr(packages, "needed_by", lambda _words: (FLEX,))
    assert packages.install_line(door.lacking(["run"], has_environment=False)).endswith("python3-venv flex")
    assert door.lacking(["run"], has_environment=True) == (FLEX,)


def test_the_command_sees_our_modules_only_and_the_folders_of_mkfs(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PATH", "/usr/bin")
    seen = door.inside(ROOT)
    assert seen["PYTHONPATH"] == str(ROOT)
    assert seen["PATH"] == "/usr/bin:/usr/sbin:/sbin"


def test_an_installation_finds_its_modules_by_itself(monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert "PYTHONPATH" not in door.inside(None)


class Started(Exception):
    """In place of the command."""


@pytest.fixture
def started(monkeypatch) -> list[str]:
    """The words of the process that this one would have become."""
    words: list[str] = []

    def execve(_program: object, arguments: list[str], _surroundings: object) -> None:
        words.extend(arguments)
        raise Started

    monkeypatch.setattr(os, "execve", execve)
    return words


def installed(monkeypatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["powercut", *words])
    return door.enter_installed()


def test_an_installation_uses_the_environment_that_it_is_in(monkeypatch, started) -> None:
    monkeypatch.setattr(door.environment, "make", lambda *_: pytest.fail("a second environment"))
    with pytest.raises(Started):
        installed(monkeypatch, "list", "-k", "xattr")
    assert started == [sys.executable, "-P", "-m", "harness.commands.main", "list", "-k", "xattr"]


def test_an_installation_names_missing_packages_as_a_checkout_does(monkeypatch, started, capsys) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(packages, "is_debian", lambda: True)
    monkeypatch.setattr(packages, "needed_by", lambda _words: (FLEX,))
    assert installed(monkeypatch, "run") == door.CANNOT
    assert "apt-get install --no-install-recommends flex" in capsys.readouterr().err
    assert started == []


def test_the_tests_need_a_checkout_and_no_package_is_asked_for_them(monkeypatch, started, capsys) -> None:
    monkeypatch.setattr(packages, "needed_by", lambda _words: pytest.fail("packages"))
    assert installed(monkeypatch, "test", "--fast") == door.BAD_INPUT
    assert "Clone the repository" in capsys.readouterr().err
    assert started == []


def test_names_alone_are_asked_of_a_small_module(monkeypatch, started) -> None:
    with pytest.raises(Started):
        installed(monkeypatch, "list", "--names", "profiles")
    assert started[3:] == ["harness.commands.names", "profiles"]


def test_a_shell_that_completes_a_word_makes_no_environment(monkeypatch, tmp_path, started) -> None:
    monkeypatch.setattr(door.environment, "find", lambda *_: None)
    monkeypatch.setattr(door.environment, "make", lambda *_: pytest.fail("an environment"))
    (tmp_path / "pyproject.toml").write_text("[project]\ndependencies = []\n")
    assert door.enter(tmp_path, ["list", "--names", "series"]) == door.CANNOT
    assert started == []
