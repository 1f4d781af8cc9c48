"""A scratch folder is gone afterwards, however its owner ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.local import workspace as subject
from harness.local.root import ROOT
from harness.local.workspace import Workspace, workspace

# Opens a workspace, registers a child, tells both, and waits for ever.
OWNER = """
import subprocess, sys, time
from harness.local.workspace import workspace
with workspace() as space:
    child = subprocess.Popen(["sleep", "300"], start_new_session=True)
    space.register(child.pid)
    space.file("disk", 1 << 20)
    print(space.path, child.pid, flush=True)
    time.sleep(300)
"""


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(subject, "memory_folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen]:
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as process:
        yield process
        process.kill()


def within_2_s(true) -> bool:
    deadline = time.monotonic() + 2
    while not true() and time.monotonic() < deadline:
        time.sleep(0.01)
    return true()


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_the_folder_is_there_and_then_gone(memory: Path) -> None:
    with workspace() as space:
        (space.path / "scratch").write_text("x")
        assert [space.path] == list(memory.iterdir())
    assert not list(memory.iterdir())


def test_an_exception_leaves_nothing_either(memory: Path) -> None:
    def fail() -> None:
        with workspace() as space:
            (space.path / "scratch").write_text("x")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not list(memory.iterdir())


def test_what_was_registered_ends_with_it(sleeper: subprocess.Popen) -> None:
    with workspace() as space:
        space.register(sleeper.pid)
        assert sleeper.poll() is None
    assert sleeper.wait(2) == -signal.SIGKILL


def test_what_was_registered_below_ends_with_the_whole(sleeper: subprocess.Popen) -> None:
    with workspace() as space:
        space.below("recorder").register(sleeper.pid)
        assert space.below("recorder").path == space.path / "recorder"
    assert sleeper.wait(5) == -signal.SIGKILL


def test_a_number_that_has_gone_to_a_stranger_is_spared(sleeper: subprocess.Popen) -> None:
    """What is killed is what was registered, not what has its number now."""
    with workspace() as space:
        (space.path / "pids").write_text(f"{sleeper.pid} 12345\n")
    with pytest.raises(subprocess.TimeoutExpired):
        sleeper.wait(0.2)


def test_a_stranger_in_the_list_does_not_save_those_after_it(sleeper: subprocess.Popen) -> None:
    with workspace() as space:
        (space.path / "pids").write_text("1 99\n2147483647 1\n")
        space.register(sleeper.pid)
    assert sleeper.wait(2) == -signal.SIGKILL


def test_a_process_that_has_ended_can_be_registered() -> None:
    with workspace() as space:
        space.register(2147483647)
        assert not (space.path / "pids").exists()


@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_folder_and_children_vanish_when_the_owner_is_killed(deadly: signal.Signals) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    path, child = owner.stdout.readline().split()
    assert Path(path, "disk").exists()
    assert runs(int(child))
    os.kill(owner.pid, deadly)
    assert within_2_s(lambda: not Path(path).exists() and not runs(int(child)))
    owner.stdout.close()
    owner.wait()


def test_a_file_made_anew_is_zeros_and_keeps_its_inode(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    path = space.file("disk", 8192)
    path.write_bytes(b"x" * 100_000)
    inode = path.stat().st_ino
    assert space.file("disk", 4096) == path
    assert (path.read_bytes(), path.stat().st_ino) == (bytes(4096), inode)
