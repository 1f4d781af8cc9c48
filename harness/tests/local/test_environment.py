"""The virtual environment: when it is made again, and that it is there whole or not at all."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from harness.local import environment
from harness.local.environment import NoEnvironment, find, is_usable, make, python_of, requirements
from harness.local.root import ROOT


class FakeMaker:
    """Makes the outside of an environment, and counts how often."""

    def __init__(self) -> None:
        self.made: list[list[str]] = []

    def __call__(self, place: Path, needed, lock: int) -> None:
        (place / "bin").mkdir(parents=True)
        (place / "lib/python3/site-packages").mkdir(parents=True)
        python_of(place).symlink_to(os.path.realpath(sys.executable))
        (place / "bin" / "tool").write_text(f"#!{place}/bin/python\n")
        self.made.append(list(needed))


@pytest.fixture
def maker() -> FakeMaker:
    return FakeMaker()


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))


def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "checkout"
    root.mkdir()
    return root


def silent(_message: str) -> None:
    pass


def test_what_is_made_is_found_again_and_not_made_twice(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    assert find(root, ["rich"]) is None
    place = make(root, ["rich"], silent, maker)
    assert find(root, ["rich"]) == place == root / ".venv"
    make(root, ["rich"], silent, maker)
    assert maker.made == [["rich"]]


def test_its_python_finds_our_modules_from_any_folder(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    packages = make(root, ["rich"], silent, maker) / "lib/python3/site-packages"
    assert (packages / "powercut.pth").read_text() == f"{root}\n"
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-P", "-c", "import harness.local; print(harness.local.__file__)"]
    shown = subprocess.run(
        command, cwd=tmp_path, env=surroundings, capture_output=True, text=True, check=False
    )
    assert shown.stdout.startswith(str(ROOT)), shown.stderr


def test_one_with_more_than_is_needed_will_do(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    make(root, ["rich", "pytest"], silent, maker)
    assert find(root, ["rich"])


def test_a_new_requirement_makes_it_anew_and_leaves_nothing_of_the_old(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    said: list[str] = []
    make(root, ["rich"], said.append, maker)
    make(root, ["rich", "jinja2"], said.append, maker)
    assert len(maker.made) == 2
    assert "(only once;" in said[0]
    assert "(again, for other packages or another Python;" in said[1]
    assert {path.name for path in root.iterdir()} == {".venv", ".venv.lock"}


def test_another_python_behind_the_same_link_makes_it_unusable(tmp_path, maker) -> None:
    place = make(checkout(tmp_path), ["rich"], silent, maker)
    stamp = place / environment.STAMP
    stamp.write_text(stamp.read_text().replace(stamp.read_text().splitlines()[0], "3.10", 1))
    assert not is_usable(place, ["rich"])


def test_one_whose_python_is_gone_is_unusable(tmp_path, maker) -> None:
    place = make(checkout(tmp_path), ["rich"], silent, maker)
    python_of(place).unlink()
    assert not is_usable(place, ["rich"])


def test_scripts_begin_with_the_final_path(tmp_path, maker) -> None:
    place = make(checkout(tmp_path), ["rich"], silent, maker)
    assert (place / "bin" / "tool").read_text() == f"#!{place}/bin/python\n"


def test_a_failed_making_leaves_nothing_and_keeps_the_old(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    make(root, ["rich"], silent, maker)

    def fails(place: Path, needed, lock: int) -> None:
        place.mkdir()
        raise NoEnvironment("no network")

    with pytest.raises(NoEnvironment, match="no network"):
        make(root, ["rich", "jinja2"], silent, fails)
    assert find(root, ["rich"])
    assert not (root / ".venv.partial").exists()


def test_what_a_killed_making_left_is_swept_away(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    (root / ".venv.partial").mkdir()
    (root / ".venv.partial" / "half").touch()
    assert not (make(root, ["rich"], silent, maker) / "half").exists()


def test_an_environment_of_the_user_is_set_aside_not_deleted(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    (root / ".venv").mkdir()
    (root / ".venv" / "mine").touch()
    said: list[str] = []
    make(root, ["rich"], said.append, maker)
    assert (root / f".venv.old-{os.getpid()}" / "mine").exists()
    assert "was not made by powercut" in said[-1]


def test_two_at_once_make_one_and_the_second_says_that_it_waits(tmp_path, maker) -> None:
    root = checkout(tmp_path)
    inside, waited = threading.Event(), threading.Event()

    def slow(place: Path, needed, lock: int) -> None:
        inside.set()
        assert waited.wait(10)
        maker(place, needed, lock)

    first = threading.Thread(target=make, args=(root, ["rich"], silent, slow))
    first.start()
    assert inside.wait(10)
    said: list[str] = []

    def say(message: str) -> None:
        said.append(message)
        waited.set()

    make(root, ["rich"], say, maker)
    first.join()
    assert len(maker.made) == 1
    assert len(said) == 1
    assert said[0].startswith("waiting")


def test_a_checkout_that_cannot_be_written_has_its_environment_in_the_cache(
    tmp_path, maker, monkeypatch
) -> None:
    root = checkout(tmp_path)
    # Root may write everywhere, so the mode of the folder would not show it.
    monkeypatch.setattr(environment.os, "access", lambda place, mode: place != root)
    place = make(root, ["rich"], silent, maker)
    assert place.parent == tmp_path / "cache" / "environments"
    assert find(root, ["rich"]) == place


def test_the_tools_for_developing_are_asked_for_only_when_wanted(tmp_path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["rich"]\n[project.optional-dependencies]\ndev = ["pytest"]\n'
    )
    assert requirements(tmp_path, ()) == ["rich"]
    assert requirements(tmp_path, ("dev",)) == ["rich", "pytest"]


def test_when_pip_fails_its_last_lines_and_the_fix_are_said(tmp_path) -> None:
    command = [sys.executable, "-c", "print('ERROR: no such index'); raise SystemExit(1)"]
    with pytest.raises(NoEnvironment, match=r"(?s)pip failed.*no such index.*Fix: a network"):
        environment._run(command, os.open(tmp_path, os.O_RDONLY), "pip failed", "Fix: a network")


def test_a_child_that_outlives_its_killed_parent_keeps_the_lock(tmp_path) -> None:
    program = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from harness.local import environment as e\n"
        "def maker(place, needed, lock):\n"
        "    e.watch(['sh', '-c', 'kill -9 $PPID; sleep 1; touch ended'], (lock,))\n"
        "e.make(Path(sys.argv[2]), ['rich'], print, maker)\n"
    )
    root = checkout(tmp_path)
    repository = ROOT
    done = subprocess.run(
        [sys.executable, "-c", program, str(repository), str(root)], cwd=tmp_path, check=False
    )
    assert done.returncode == -9
    make(root, ["rich"], silent, FakeMaker())
    assert (tmp_path / "ended").exists()
