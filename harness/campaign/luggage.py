"""
What a worker on another machine needs of the head, by hash: the agent and the kernels.

In:       hashes; files.
Out:      Luggage; packed() on the head, unpacked() into the cache of the worker.
Not here: how it comes to the worker (engine.py).
"""

import io
import tarfile
from collections.abc import Iterable

import msgspec

from harness.campaign.identity import Identity
from harness.evidence.store import write_whole
from harness.guests.agent_binary import agent_binary, agent_hash
from kernel import cache
from kernel.build import by_key
from kernel.kernel import BuildFailed


class Luggage(msgspec.Struct, frozen=True):
    """identity: of the head. kernels: by key, the files of the kernel, as tar. agent: its hash and the
    program.
    results: the folder of the campaign, for messages."""

    identity: Identity
    kernels: dict[str, bytes]
    agent: str
    agent_program: bytes
    profiles: tuple[str, ...]
    name: str


def packed(identity: Identity, keys: Iterable[str], profiles: tuple[str, ...], name: str) -> Luggage:
    """Errors: BuildFailed, AgentError, OSError."""
    kernels = {}
    for key in sorted(set(keys)):
        by_key(key)  # nobody removes it now
        kernels[key] = _tar(key)
    return Luggage(identity, kernels, agent_hash(), agent_binary().read_bytes(), profiles, name)


def _tar(key: str) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:xz", preset=1) as tar:
        for path in sorted((cache.root() / "builds" / key).iterdir()):
            if path.is_file():
                tar.add(path, path.name)
    return content.getvalue()


def unpacked(luggage: Luggage) -> None:
    """What this machine has not yet. Errors: OSError, BuildFailed."""
    for key, content in luggage.kernels.items():
        place = cache.root() / "builds" / key
        if (place / "provenance.json").is_file():
            continue
        with cache.locked(place, lambda: None):
            if (place / "provenance.json").is_file():
                continue
            with (
                cache.appearing(place) as aside,
                tarfile.open(fileobj=io.BytesIO(content), mode="r:xz") as tar,
            ):
                tar.extractall(aside, filter="data")
    binary = cache.root() / "agents" / luggage.agent
    if not binary.exists():
        binary.parent.mkdir(parents=True, exist_ok=True)
        with cache.locked(binary, lambda: None):
            if not binary.exists():
                write_whole(binary, luggage.agent_program)
                binary.chmod(0o755)


def has_kernel(key: str) -> bool:
    try:
        by_key(key)
    except BuildFailed:
        return False
    return True
