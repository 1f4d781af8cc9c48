"""
The user's commands that complete a machine: power, reset, console.

In:       a Host with the words of its commands.
Out:      power(), cycle(), reset(); console(): what its kernel prints, as a stream into a file.
Not here: when they are used (reach.py), what they do: a PDU, a relay, IPMI, labgrid.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from harness.hosts.hosts import BadHost, Host

COMMAND_S = 60.0  # a PDU waits before it switches on again


def power(host: Host, what: str) -> None:
    """what: off, on or cycle. Errors: BadHost."""
    _run(host, "power", (*host.power, what))


def cycle(host: Host) -> None:
    """Errors: BadHost."""
    power(host, "cycle")


def reset(host: Host) -> None:
    """Errors: BadHost."""
    _run(host, "reset", host.reset)


@contextlib.contextmanager
def console(host: Host, file: Path) -> Iterator[int]:
    """Its kernel's console goes to a file within the block. The process, which ends with all that it started;
    0 where the user has no such command. Errors: BadHost."""
    if not host.console:
        yield 0
        return
    with file.open("ab") as out:
        try:
            process = subprocess.Popen(
                host.console, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True
            )
        except OSError as error:
            raise BadHost(f"{host.name}: its command `console` cannot be started: {error}") from error
    try:
        yield process.pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _run(host: Host, name: str, words: tuple[str, ...]) -> None:
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BadHost(f"{host.name}: its command `{name}` failed: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-300:]
        raise BadHost(f"{host.name}: its command `{name}` ended with status {done.returncode}: {said}")
