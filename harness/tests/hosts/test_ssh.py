"""A connection by the real ssh to a real sshd."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.hosts import ssh
from harness.hosts.hosts import BadHost, Host
from harness.hosts.ssh import NoEntry, RemoteFailed, Unreachable, connect
from harness.tests.hosts import real_sshd

pytestmark = [
    pytest.mark.skipif(
        real_sshd.SSHD is None, reason="sshd is not installed: apt-get install openssh-server"
    ),
]
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="this user is not root behind sshd either")


@pytest.fixture
def box(tmp_path):
    return real_sshd.machine(tmp_path)


@as_root
def test_a_script_gets_its_input_and_gives_its_output(box):
    """Byte for byte, whatever quotes the script has."""
    data = bytes(range(256)) * 1000
    with connect(box) as connection:
        assert connection.run("cat", data) == data
        assert connection.run("""printf '%s' "it's" 'a "b"' \\$x""") == b"""it'sa "b"$x"""


@as_root
def test_all_go_through_one_connection(box, tmp_path):
    """sshd has seen one login."""
    with connect(box) as connection:
        for _ in range(3):
            connection.run("true")
    assert (tmp_path / "sshd.log").read_text().count("Accepted publickey") == 1


@as_root
def test_a_script_that_fails_is_no_lost_connection(box):
    """Even with the status that ssh uses itself."""
    with connect(box) as connection, pytest.raises(RemoteFailed, match="status 255: so sad"):
        connection.run("echo so sad >&2; exit 255")


@as_root
def test_a_command_keeps_its_input_and_output(box):
    """As a process of ours: what goes in comes out, and the status is that of the program."""
    with connect(box) as connection:
        words = connection.command(["sh", "-c", "read a; echo got $a; exit 7"])
        done = subprocess.run(words, check=False, input=b"x\n", capture_output=True)
    assert (done.stdout, done.returncode) == (b"got x\n", 7)


@as_root
def test_a_lost_connection_is_not_made_again_silently(box):
    """What was set up there is gone with it."""
    with connect(box) as connection:
        connection._master.send_signal(signal.SIGKILL)
        connection._master.wait()
        assert not connection.is_alive()
        with pytest.raises(Unreachable, match="the connection is lost"):
            connection.run("true")


@as_root
def test_a_script_that_does_not_end_is_trouble(box):
    """After its deadline."""
    with connect(box) as connection, pytest.raises(Unreachable, match=r"has not ended in 0\.5 s"):
        connection.run("sleep 20", timeout_s=0.5)


@as_root
def test_nothing_stays_when_the_controller_is_killed(box, tmp_path):
    """By -9: the ssh that holds the connection ends by itself, and the folder of its socket is empty."""
    program = (
        "import os, sys, time\nfrom harness.hosts.hosts import Host\nfrom harness.hosts.ssh import connect\n"
        f"with connect(Host('box', 'box', ssh_config={box.ssh_config!r})) as one:\n"
        "    print(one._master.pid, one._socket, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as controller:
        pid, socket = controller.stdout.readline().split()
        controller.kill()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert not Path(socket).exists()


def test_an_unknown_host_key_is_refused(box, tmp_path):
    """With the command by which the user accepts it."""
    (tmp_path / "known_hosts").write_text("")
    with (
        pytest.raises(NoEntry, match=f"host key is not known. .*: ssh -F {tmp_path}/config box"),
        connect(box),
    ):
        pass


def test_a_changed_host_key_is_refused(box, tmp_path):
    """With the command that forgets the old one."""
    real_sshd.key(tmp_path / "other")
    real_sshd.known_as(tmp_path / "other.pub", tmp_path / "known_hosts")
    with pytest.raises(NoEntry, match=r"not the one in known_hosts.*ssh-keygen -R box"), connect(box):
        pass


def test_a_key_that_is_not_accepted_is_no_question(box, tmp_path):
    """Nobody may be there to type a password."""
    (tmp_path / "authorized").write_text("")
    with pytest.raises(NoEntry, match="accepts no key of yours"), connect(box):
        pass


def test_a_machine_without_root_is_refused(box, tmp_path):
    """Neither by the address nor by sudo: here, because `id` and `sudo` are others."""
    for name, text in (
        ("id", "#!/bin/sh\n[ $1 = -u ] && echo 1000 || echo jane\n"),
        ("sudo", "#!/bin/sh\nexit 1\n"),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with (tmp_path / "sshd_config").open("a") as config:
        config.write(f"SetEnv PATH={tmp_path}:/usr/bin:/bin\n")
    with pytest.raises(BadHost, match="jane is not root there, and `sudo -n true` is refused"), connect(box):
        pass


def test_what_root_does_for_a_user_goes_through_sudo(box, tmp_path):
    """Here a sudo that says so."""
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "sudo").write_text(
        '#!/bin/sh\n[ "$1 $2" = "-n true" ] && exit\nshift 2; echo by sudo; exec "$@"\n'
    )
    for name in ("id", "sudo"):
        (tmp_path / name).chmod(0o755)
    with (tmp_path / "sshd_config").open("a") as config:
        config.write(f"SetEnv PATH={tmp_path}:/usr/bin:/bin\n")
    with connect(box) as connection:
        done = subprocess.run(connection.command(["echo", "yes"]), capture_output=True, check=True)
        assert done.stdout == b"by sudo\nyes\n"
        assert connection.run("echo also") == b"also\n"


def test_a_port_where_nobody_listens():
    """The kernel refuses at once."""
    with (
        pytest.raises(Unreachable, match="nothing listens there"),
        connect(Host("a", "root@127.0.0.1", port=1)),
    ):
        pass


def test_a_configuration_that_is_not_there(tmp_path):
    """ssh's own words say which."""
    with (
        pytest.raises(NoEntry, match="`ssh_config` cannot be read"),
        connect(Host("a", "a", ssh_config=str(tmp_path / "none"))),
    ):
        pass


@pytest.mark.parametrize(
    ("said", "kind", "expected"),
    [
        (
            "ssh: Could not resolve hostname nuc: Name or service not known",
            NoEntry,
            "its name has no address",
        ),
        ("ssh: connect to host n port 22: No route to host", Unreachable, "no way to it"),
        ("ssh: connect to host n port 22: Connection timed out", Unreachable, "no answer in 15 s"),
        ("Connection timed out during banner exchange", Unreachable, "no answer in 15 s"),
        ("something new", Unreachable, "ssh said: something new. Try by hand: ssh -p 3 root@n"),
        ("", Unreachable, "no answer in 30 s"),
    ],
)
def test_what_ssh_says_is_explained(said, kind, expected):
    """What it says otherwise is shown as it is."""
    error = ssh.trouble(Host("n", "root@n", port=3), said)
    assert type(error) is kind
    assert expected in str(error)
