"""What runs on a machine: its build id, and how it is remembered."""

import struct
from pathlib import Path

import pytest

from harness.guests import kernels
from harness.hosts.running import remembered, running_kernel
from kernel.kernel import BuildFailed

VERSION = "Linux version 6.12.1-test (gcc 14)"


def note(name: bytes, kind: int, value: bytes) -> bytes:
    """elf(5): name and value each end at a multiple of four bytes."""
    padded = [part + bytes(-len(part) % 4) for part in (name, value)]
    return struct.pack("<III", len(name), len(value), kind) + b"".join(padded)


class Told:
    """A connection that tells a kernel."""

    def __init__(self, notes: bytes, release: str = "6.12.1-test") -> None:
        told = {"arch": "x86_64", "release": release, "version": VERSION, "machine": "0a1b", "boot": "7"}
        self.told = {**told, "words": "quiet", "notes": notes.hex(), "config": "c0ffee"}

    def run(self, _script: str) -> bytes:
        return "".join(f"{key}\t{value}\n" for key, value in self.told.items()).encode()


def test_a_kernel_that_runs_is_known_again_by_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path))
    one = running_kernel(Told(note(b"GNU\0", 3, b"one.")))  # type: ignore[arg-type]
    other = running_kernel(Told(note(b"GNU\0", 3, b"two.")))  # type: ignore[arg-type]
    assert one.provenance.key != other.provenance.key
    assert remembered(one.provenance.key) == one
    assert one.provenance.source_version == f"6.12.1-test, build id {b'one.'.hex()}"
    assert kernels.kernel_path(one).read_bytes() == b""
    with pytest.raises(BuildFailed, match="no machine was seen"):
        remembered("0" * 20)
