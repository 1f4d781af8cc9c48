"""
The agent on a machine: copied once for each version.

In:       a Connection, the agent's static binary for the machine's architecture.
Out:      architecture(): the machine's, one of those that the agent is compiled for; put(): its path there.
Not here: how it is compiled (harness/guests/agent_binary.py), what it does (harness/guests/agent/).

It lies in a folder of root's, by the hash of its bytes, which are compared before each use. /run does not do:
Debian mounts it without the right to execute.
"""

import hashlib
from pathlib import Path

from harness.hosts.hosts import BadHost
from harness.hosts.ssh import Connection
from kernel.kernel import MachineArch

ARCHITECTURES: tuple[MachineArch, ...] = ("x86_64", "aarch64")
FOLDER = "/var/cache/powercut"
UNUSED_DAYS = 30
# The agent follows links in /dev/disk/by-id/, which come and go while udev looks at what was written.
HAVE = """
udevadm settle --timeout=30 2>/dev/null
umask 077
mkdir -p {folder}
echo "{digest}  {path}" | sha256sum -c --status && touch {path} && echo have
"""
# Written aside and renamed: whole, or not there.
COPY = """
set -e
cat >{path}.$$
chmod 700 {path}.$$
mv {path}.$$ {path}
find {folder} -type f -name 'agent-*' -mtime +{days} -delete
echo "{digest}  {path}" | sha256sum -c --status
"""


def architecture(connection: Connection) -> MachineArch:
    """Errors: BadHost when the agent is not compiled for it; RemoteFailed, Unreachable."""
    return supported(connection.run("uname -m\n").decode(errors="replace").strip(), connection.host.name)


def supported(found: str, name: str) -> MachineArch:
    """found: what uname -m says on the machine of this name. Errors: as of architecture()."""
    for one in ARCHITECTURES:
        if found == one:
            return one
    raise BadHost(f"{name}: {foreign(found)}")


def foreign(found: str) -> str:
    """Why a machine of another architecture cannot be used."""
    return f"its architecture is {found}, and the agent is for {' and '.join(ARCHITECTURES)}"


def put(connection: Connection, binary: Path) -> str:
    """Errors: RemoteFailed, Unreachable, OSError."""
    content = binary.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    words = {
        "folder": FOLDER,
        "path": f"{FOLDER}/agent-{digest[:16]}",
        "digest": digest,
        "days": UNUSED_DAYS,
    }
    if connection.run(HAVE.format(**words) + "exit 0").strip() != b"have":
        connection.run(COPY.format(**words), content)
    return str(words["path"])
