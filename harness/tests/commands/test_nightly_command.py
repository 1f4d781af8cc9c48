"""The command of nights: what it refuses, and with which status."""

from pathlib import Path

import pytest

from harness.nightly.history import STEPS, open_history
from harness.tests.conftest import Powercut

FILE = """\
budget = "6h"
workloads = ["replace-by-rename"]
[[kernel]]
name = "debian"
release = "6.12"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "nightly.toml"
    path.write_text(FILE)
    return path


def test_check_says_what_the_file_asks_for(powercut: Powercut, file: Path) -> None:
    status, out, _ = powercut("nightly", file, "--check")
    assert status == 0
    assert "debian: Debian's 6.12, on btrfs, in uml" in out
    assert "1 workload by name" in out
    assert not (file.parent / "nights").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('budgte = "6h"', "line 1: there is no key 'budgte'. Did you mean 'budget'?"),
        (
            'workloads = ["replace-by-renam"]',
            "unknown workload replace-by-renam. Similar names: replace-by-rename",
        ),
        ('guest = "no-such-machine"', "no-such-machine"),
        ('models = ["X"]', "X"),
        ('options = ["--no-such-option"]', "--no-such-option"),
    ],
)
def test_bad_input_ends_2_before_a_night_begins(powercut: Powercut, file: Path, line: str, said: str) -> None:
    key = line.split(maxsplit=1)[0]
    kept = [each for each in FILE.splitlines() if not each.startswith(f"{key} ")]
    file.write_text("\n".join([line, *kept]))
    status, _, err = powercut("nightly", file)
    assert status == 2
    assert said in err
    assert not (file.parent / "nights" / "nightly.db").exists()


def test_a_file_that_is_not_there_ends_2(powercut: Powercut, tmp_path: Path) -> None:
    status, _, err = powercut("nightly", tmp_path / "none.toml")
    assert status == 2
    assert "none.toml cannot be read" in err


def test_pages_without_a_night_end_2(powercut: Powercut, file: Path) -> None:
    status, _, err = powercut("nightly", file, "--pages")
    assert status == 2
    assert "no night was run there" in err


def test_a_history_of_a_newer_powercut_ends_2(powercut: Powercut, file: Path) -> None:
    results = file.parent / "nights"
    results.mkdir()
    with open_history(results / "nightly.db", (*STEPS, "CREATE TABLE later (a)")):
        pass
    status, _, err = powercut("nightly", file, "--pages")
    assert status == 2
    assert "written by a newer Powercut" in err
