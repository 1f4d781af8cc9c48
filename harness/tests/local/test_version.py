"""The version, where it stands and what is said of it."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.commands.main import main
from harness.local import root, version
from harness.local.root import ROOT


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of the commit's file in an installation."""
    monkeypatch.setattr(version, "IS_CHECKOUT", False)
    monkeypatch.setattr(version, "COMMIT_FILE", tmp_path / "commit")
    version.commit.cache_clear()
    yield tmp_path / "commit"
    version.commit.cache_clear()


def test_the_changelog_has_the_version() -> None:
    """A version that is not released yet stands under Unreleased; a released one has a heading and a date."""
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"
    released, is_dev = re.fullmatch(r"(\d+\.\d+\.\d+)(\.dev0)?", version.VERSION).groups()
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}", heading)[1] for heading in headings[1:]]
    assert (released in dated) is not bool(is_dev)


def test_no_other_file_has_the_number() -> None:
    """pyproject.toml reads it from version.py."""
    assert not re.search(r"^version *=", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)


def test_a_checkout_asks_git() -> None:
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "describe", "--always", "--dirty=+"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    version.commit.cache_clear()
    assert version.commit() == (done.stdout.strip() or "unknown")


def test_an_installation_has_the_commit_that_it_was_built_from(installed: Path) -> None:
    installed.write_text("0123456\n")
    assert version.title() == f"powercut {version.VERSION} (0123456)"


def test_an_installation_built_outside_git_does_not_know_it(installed: Path) -> None:
    assert version.commit() == "unknown"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert (stop.value.code, capsys.readouterr().out) == (0, f"{version.title()}\n")


def test_what_a_run_calls_to_repeat_a_state_is_the_command_that_made_it(monkeypatch) -> None:
    assert root.executable() == ROOT / "powercut"
    monkeypatch.setattr(root, "IS_CHECKOUT", False)
    assert root.executable().name == "powercut"
    assert root.executable().parent.name == "bin"
