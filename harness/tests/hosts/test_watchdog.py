"""The watchdog of a machine, by the real ssh; a file stands for the device."""

import os
import time

import pytest

from harness.hosts import watchdog
from harness.hosts.ssh import connect
from harness.hosts.watchdog import fed
from harness.tests.hosts import real_sshd

pytestmark = [
    pytest.mark.skipif(
        real_sshd.SSHD is None, reason="sshd is not installed: apt-get install openssh-server"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root behind sshd either"),
]


@pytest.fixture
def connection(tmp_path, monkeypatch):
    monkeypatch.setattr(watchdog, "DEVICE", str(tmp_path / "watchdog"))
    monkeypatch.setattr(watchdog, "SOFTWARE", "no-such-module")
    monkeypatch.setattr(watchdog, "FEED_S", 0.05)
    with connect(real_sshd.machine(tmp_path)) as one:
        yield one


def test_it_is_fed_while_the_block_lasts_and_disarmed_behind_it(connection, tmp_path):
    """V is what disarms it (watchdog-api.rst); anything else is food."""
    file = tmp_path / "watchdog"
    file.touch()
    with fed(connection) as why:
        assert why == ""
        deadline = time.monotonic() + 20
        while len(file.read_text()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert set(file.read_text()) == {"."}
        assert len(file.read_text()) >= 3
    assert file.read_text().rstrip("V").endswith(".")
    assert file.read_text().endswith("V")


def test_a_machine_without_one_is_told(connection):
    """And without the module that would be one."""
    with fed(connection) as why:
        assert why == "there is none"


def test_one_that_cannot_be_opened_is_left_alone(connection, tmp_path):
    """A folder refuses to be written, as a watchdog does that systemd holds."""
    (tmp_path / "watchdog").mkdir()
    with fed(connection) as why:
        assert why == "another program holds it"
