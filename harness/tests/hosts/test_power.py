"""The user's command `console`: what it prints is kept, none of its processes is. Receivers of netconsole."""

import contextlib
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.hosts.hosts import Host
from harness.hosts.power import console

WAIT_S = 20.0
# What docs/howto/hardware.md names. An nc of each kind listens with these words.
RECEIVERS = ("socat -u UDP-RECV:{port},reuseaddr -", "nc -u -l -p {port}")


def eventually(holds: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + WAIT_S
    while not (found := holds()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def lives(pid: int) -> bool:
    """A zombie, whose parent has not asked for it, does not."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    return False


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_without_a_command_there_is_no_process_and_no_file(tmp_path: Path) -> None:
    with console(Host("box", "box"), tmp_path / "console") as pid:
        assert pid == 0
    assert not (tmp_path / "console").exists()


def test_it_ends_with_all_that_it_started(tmp_path: Path) -> None:
    file = tmp_path / "console"
    command = ("sh", "-c", "sleep 1000 & echo $!; wait")
    with console(Host("box", "box", console=command), file) as pid:
        assert eventually(lambda: file.exists() and file.read_text().endswith("\n"))
        child = int(file.read_text())
        assert lives(pid)
        assert lives(child)
    assert not lives(pid)
    assert eventually(lambda: not lives(child))


def test_one_that_has_ended_by_itself_is_no_trouble(tmp_path: Path) -> None:
    with console(Host("box", "box", console=("true",)), tmp_path / "console") as pid:
        assert eventually(lambda: not lives(pid))


@pytest.mark.parametrize("receiver", RECEIVERS)
def test_netconsole_is_received(receiver: str, tmp_path: Path) -> None:
    """Packets of one port, each with a line, as the kernel sends them (drivers/net/netconsole.c)."""
    port = free_port()
    command = tuple(receiver.format(port=port).split())
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed: apt-get install socat netcat-openbsd")
    file = tmp_path / "console"
    with (
        console(Host("box", "box", console=command), file) as pid,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as kernel,
    ):
        kernel.bind(("127.0.0.1", 0))

        def says(line: str) -> bool:
            with contextlib.suppress(ConnectionRefusedError):  # it does not listen yet
                kernel.sendto(f"{line}\n".encode(), ("127.0.0.1", port))
            return line in file.read_text()

        assert eventually(lambda: says("[   12.345678] BUG: kernel NULL pointer dereference"))
        assert eventually(lambda: says("[   12.345679] Kernel panic - not syncing: Fatal exception"))
        assert lives(pid)
    assert not lives(pid)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as again:  # the port is free
        again.bind(("0.0.0.0", port))
