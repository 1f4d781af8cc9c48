"""
QEMU's monitor: what stands for the power supply and the reset button of the machine.

In:       the folder of a machine, where QEMU listens on a socket.
Out:      ask(): what QEMU answered to a word of its own; power(), reset(), quit().
Not here: starting QEMU (machine.py).

Each call is a connection of its own: QEMU serves one at a time, and the next waits.
"""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SOCKET = "monitor"
TIMEOUT_S = 30.0
POWER = ("on", "off", "cycle")


class NoMonitor(Exception):
    """No QEMU answers in this folder, or it refuses."""


@contextmanager
def connected(folder: Path, name: str = SOCKET) -> Iterator[socket.socket]:
    """By way of /proc, since the name of a socket has at most 107 characters (unix(7)). Errors: NoMonitor."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(TIMEOUT_S)
        try:
            opened = os.open(folder, os.O_PATH | os.O_DIRECTORY)
            try:
                line.connect(f"/proc/self/fd/{opened}/{name}")
            finally:
                os.close(opened)
        except OSError as error:
            raise NoMonitor(f"no machine runs in {folder}: {error.strerror}") from error
        yield line


def ask(folder: Path, command: str, **arguments: Any) -> Any:
    """A command of QMP (qemu-qmp-ref), its answer as JSON. Errors: NoMonitor."""
    try:
        with connected(folder) as line, line.makefile("rw") as stream:
            stream.readline()  # its greeting
            _one(stream, "qmp_capabilities")
            return _one(stream, command, **arguments)
    except (OSError, ValueError) as error:
        raise NoMonitor(f"the machine in {folder} does not answer: {error}") from error


def _one(stream: Any, command: str, **arguments: Any) -> Any:
    stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if "error" in answer:
            raise NoMonitor(f"{command}: {answer['error']['desc']}")
        if "return" in answer:
            return answer["return"]  # all else is an event


def words(folder: Path, line: str) -> str:
    """A line as a person would type it at QEMU's monitor. Errors: NoMonitor."""
    said: str = ask(folder, "human-monitor-command", **{"command-line": line})
    return said


def reset(folder: Path) -> None:
    """The button: the machine begins anew, whatever it did. Errors: NoMonitor."""
    ask(folder, "system_reset")


def power(folder: Path, what: str) -> None:
    """what: of POWER. Without power it stands at its first instruction. Errors: NoMonitor."""
    assert what in POWER
    if what in ("off", "cycle"):
        ask(folder, "stop")
        ask(folder, "system_reset")
    if what in ("on", "cycle"):
        ask(folder, "cont")


def quit_now(folder: Path) -> None:
    """QEMU ends. Errors: NoMonitor."""
    ask(folder, "quit")
