"""What runs on a machine: its build id, and how it is remembered."""

import struct
from pathlib import Path

import pytest

from harness.guests import kernels
from harness.hosts.hosts import BadHost, Host
from harness.hosts.running import remembered, running_kernel
from kernel.kernel import BuildFailed

VERSION = "Linux version 6.12.1-test (gcc 14)"


def note(name: bytes, kind: int, value: bytes) -> bytes:
    """elf(5): name and value each end at a multiple of four bytes."""
    padded = [part + bytes(-len(part) % 4) for part in (name, value)]
    return struct.pack("<III", len(name), len(value), kind) + b"".join(padded)


class Told:
    """A connection that tells a kernel."""

    host = Host("nuc1", "root@nuc1")

    def __init__(self, notes: bytes, release: str = "6.12.1-test", arch: str = "x86_64") -> None:
        told = {"arch": arch, "release": release, "version": VERSION, "machine": "0a1b", "boot": "7"}
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


def test_a_kernel_that_runs_is_of_the_machines_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path))
    kernel = running_kernel(Told(note(b"GNU\0", 3, b"one."), arch="aarch64"))  # type: ignore[arg-type]
    assert remembered(kernel.provenance.key).provenance.arch == "aarch64"
    with pytest.raises(BadHost, match="nuc1: its architecture is riscv64, and the agent is for x86_64 and"):
        running_kernel(Told(note(b"GNU\0", 3, b"one."), arch="riscv64"))  # type: ignore[arg-type]
