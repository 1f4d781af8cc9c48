"""
The machine as a user has it: by its name of hosts.toml, with a claimed disk.

In:       a Machine that runs; pytest's monkeypatch and capsys.
Out:      claimed(): There, whose disk is given back at the end.
Not here: the machine itself (machine.py), what is tried on it (test_host.py, test_deploy.py).
"""

import contextlib
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.commands import main
from harness.hosts import hosts
from harness.hosts.hosts import Host, keep
from harness.hosts.running import Running, look
from harness.hosts.ssh import Unreachable, connect
from harness.local.root import ROOT
from harness.suite.machine.machine import DEVICES, NAME, Machine
from reports.results import Summary, read_summary

HOST = "box"
DISK = f"/dev/disk/by-id/{DEVICES[0].by_id}"
GONE_S = 150  # the agent's own limits (agent/machine.c) and a slow machine
BACK_S = 600.0
# What there must not be once nobody uses the machine.
LEFT = """
dmsetup ls | grep powercut- || true
losetup -a | grep -e /tmp/ram -e /tmp/log || true
pgrep -af 'agent-[0-9a-f]* machine' || true
grep powercut /proc/mounts || true
ls /sys/kernel/tracing/instances 2>/dev/null | grep powercut || true
"""


class There:
    """results: where runs go. It has connections of its own, for the tests' looks."""

    def __init__(self, name: str, results: Path, capsys: "pytest.CaptureFixture[str]") -> None:
        self.name, self.results, self._capsys = name, results, capsys

    @property
    def host(self) -> Host:
        return hosts.host(self.name)

    @property
    def folder(self) -> Path:
        """Of the last run."""
        return (self.results / "latest").resolve()

    def powercut(self, *words: Any) -> tuple[int, str]:
        """Exit status, and all that was said."""
        self._capsys.readouterr()
        status = main.main([str(word) for word in words])
        return status, "".join(self._capsys.readouterr())

    def run(self, *words: Any) -> tuple[Path, Summary, str]:
        """The folder of a run there, its Summary, what was said."""
        status, said = self.powercut("run", *words, "--guest", self.name, "--out", self.results)
        assert status in (0, 1), said
        return self.folder, read_summary(self.folder), said

    def does(self, script: str) -> str:
        with connect(self.host) as connection:  # a new one: it may have been reset
            return connection.run(script).decode()

    def runs(self) -> Running:
        with connect(self.host) as connection:
            return look(connection)

    def crash(self) -> None:
        with pytest.raises(Unreachable):
            self.does("echo c >/proc/sysrq-trigger")

    def await_nothing_left(self) -> None:
        deadline = time.monotonic() + GONE_S
        while (left := self.does(LEFT)) and time.monotonic() < deadline:
            time.sleep(2)
        assert left == ""

    def await_own(self, boot: str) -> None:
        """Its own kernel, in another boot than that one."""
        deadline = time.monotonic() + BACK_S
        while time.monotonic() < deadline:
            with contextlib.suppress(Unreachable):
                now = self.runs()
                if now.boot != boot:
                    assert not now.is_ours, now
                    return
            time.sleep(3)
        raise AssertionError("it has not come back")


@contextlib.contextmanager
def claimed(
    machine: Machine,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: "pytest.CaptureFixture[str]",
    kernel_config: str = "",
) -> Iterator[There]:
    monkeypatch.setenv(hosts.PLACE, str(results.parent / "hosts.toml"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    by_hand = [sys.executable, "-m", "harness.suite.machine"]
    folder = str(machine.folder)
    keep(
        Host(
            HOST,
            NAME,
            ssh_config=str(machine.ssh_config),
            reset=(*by_hand, "reset", folder),
            console=(*by_hand, "console", folder),
            kernel_config=kernel_config,
        )
    )
    one = There(HOST, results, capsys)
    claim = ("claim", HOST, DISK, "--role", "disk", "--yes-wipe", DEVICES[0].serial)
    status, said = one.powercut("host", *claim)
    assert status == 0, said
    yield one
    one.await_nothing_left()
    assert one.powercut("host", "release", HOST, DISK)[0] == 0
