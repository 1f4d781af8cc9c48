"""The agent's copy on a machine, by the real ssh."""

import os

import pytest

from harness.hosts import agent
from harness.hosts.agent import architecture, put
from harness.hosts.ssh import connect
from harness.tests.hosts import real_sshd

pytestmark = [
    pytest.mark.skipif(
        real_sshd.SSHD is None, reason="sshd is not installed: apt-get install openssh-server"
    ),
    pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root behind sshd either"),
]


@pytest.fixture
def connection(tmp_path, monkeypatch):
    monkeypatch.setattr(agent, "FOLDER", str(tmp_path / "there"))
    with connect(real_sshd.machine(tmp_path)) as one:
        yield one


@pytest.fixture
def binary(tmp_path):
    (tmp_path / "agent").write_bytes(b"#!/bin/sh\necho it runs\n")
    return tmp_path / "agent"


def test_the_architecture_is_the_machines(connection):
    """Here it is this one."""
    assert architecture(connection) == os.uname().machine


def test_the_copy_runs_and_is_roots_alone(connection, binary, tmp_path):
    """Nothing else lies beside it."""
    path = put(connection, binary)
    assert connection.run(path) == b"it runs\n"
    assert [one.stat().st_mode & 0o777 for one in (tmp_path / "there", tmp_path / "there" / path)] == [
        0o700
    ] * 2
    assert len(list((tmp_path / "there").iterdir())) == 1


def test_it_is_copied_once(connection, binary, monkeypatch):
    """The second time only its hash is compared."""
    path = put(connection, binary)
    monkeypatch.setattr(agent, "COPY", "exit 1")
    assert put(connection, binary) == path


def test_a_damaged_copy_is_replaced(connection, binary):
    """It would run as root."""
    path = put(connection, binary)
    connection.run(f"echo damage >>{path}")
    assert connection.run(put(connection, binary)) == b"it runs\n"


def test_another_version_has_another_name(connection, binary):
    """Two controllers with different agents do not disturb each other."""
    first = put(connection, binary)
    binary.write_bytes(b"#!/bin/sh\necho another\n")
    second = put(connection, binary)
    assert (connection.run(first), connection.run(second)) == (b"it runs\n", b"another\n")


def test_what_was_not_used_for_long_goes(connection, binary):
    """When a new version comes."""
    first = put(connection, binary)
    connection.run(f"touch -d '31 days ago' {first}")
    binary.write_bytes(b"other")
    put(connection, binary)
    assert connection.run(f"[ -e {first} ] || echo gone") == b"gone\n"
