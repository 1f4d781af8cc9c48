"""
A real sshd of this user, which ssh reaches through a pipe (sshd -i): no port, nothing to end.

In:       a folder.
Out:      a Host, and the configuration of ssh that leads to it.
Not here: the tests.
"""

import os
import shutil
import subprocess
from pathlib import Path

from harness.hosts.hosts import Host

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/sbin")


def key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path], check=True)


def known_as(public: Path, known_hosts: Path) -> None:
    known_hosts.write_text("box " + " ".join(public.read_text().split()[:2]) + "\n")


def machine(folder: Path) -> Host:
    """Its host key is known, and our key is accepted."""
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # sshd of root wants it
    for name in ("host_key", "own_key"):
        key(folder / name)
    shutil.copy(folder / "own_key.pub", folder / "authorized")
    known_as(folder / "host_key.pub", folder / "known_hosts")
    (folder / "sshd_config").write_text(
        f"HostKey {folder}/host_key\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nPidFile none\n"
    )
    (folder / "config").write_text(
        f"Host box\n  ProxyCommand {SSHD} -i -f {folder}/sshd_config -E {folder}/sshd.log\n"
        f"  IdentityFile {folder}/own_key\n  IdentitiesOnly yes\n"
        f"  UserKnownHostsFile {folder}/known_hosts\n  GlobalKnownHostsFile none\n"
    )
    return Host("box", "box", ssh_config=str(folder / "config"))
