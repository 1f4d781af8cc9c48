"""The machine that QEMU is asked for, and the archive that is its root."""

from pathlib import Path

import pytest

from harness.guests import guest, qemu, uml
from harness.guests.spec import (
    AARCH64_KVM,
    AARCH64_TCG,
    KINDS,
    PATIENCE,
    QEMU_KVM,
    QEMU_TCG,
    UML,
    GuestSpec,
    arch_of,
    machine_of,
    wanted_of,
)

SPEC = GuestSpec(Path("/k/vmlinux"), Path("/k/agent"), 256 << 20, 64 << 20, kind=QEMU_TCG)
ON_AARCH64 = GuestSpec(Path("/k/Image"), Path("/k/agent"), 256 << 20, 64 << 20, kind=AARCH64_TCG)


def after(words: list[str], option: str) -> list[str]:
    """The values of an option, in order."""
    return [words[index + 1] for index, word in enumerate(words) if word == option]


def unpacked(archive: bytes) -> dict[str, tuple[int, int, bytes]]:
    """name to (mode, number of the device, content), read as the kernel reads it: init/initramfs.c."""
    found, at = {}, 0
    while True:
        assert archive[at : at + 6] == b"070701"
        field = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name = archive[at + 110 : at + 110 + field[11] - 1].decode()
        start = at + 110 + field[11] + -(110 + field[11]) % 4
        if name == "TRAILER!!!":
            assert start == len(archive)
            return found
        found[name] = (field[1], field[9] << 8 | field[10], archive[start : start + field[6]])
        at = start + field[6] + -field[6] % 4


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 100_001])
def test_the_archive_holds_the_program_and_empty_mount_points(size: int) -> None:
    content = bytes(range(1, 250)) * (size // 249 + 1)
    held = unpacked(qemu.archive(content[:size]))
    assert held.pop("init") == (0o100755, 0, content[:size])
    assert held.pop("dev/console") == (0o020600, 5 << 8 | 1, b"")
    assert held == dict.fromkeys(("dev", "proc", "sys", "mnt"), (0o040755, 0, b""))


@pytest.mark.parametrize("spec", [SPEC, ON_AARCH64], ids=["x86_64", "aarch64"])
def test_the_disks_come_in_the_order_that_the_agent_counts_on(tmp_path: Path, spec: GuestSpec) -> None:
    words = qemu.command(spec, tmp_path, (7,))
    files = [drive.split("file=")[1].split(",")[0] for drive in after(words, "-drive")]
    assert files == [str(tmp_path / name) for name in ("disk", "log", "inbox", "outbox")]
    ubds = [word for word in uml.command(SPEC, tmp_path, (7, 8)) if word.startswith("ubd")]
    assert ubds == [f"ubd{number}={file}" for number, file in enumerate(files)]


def test_the_cache_is_written_back_and_shared_with_the_host(tmp_path: Path) -> None:
    """Else the kernel would leave out FLUSH and FUA, or an answer would not be where we look for it."""
    for drive in after(qemu.command(SPEC, tmp_path, (7,)), "-drive"):
        assert "cache=writeback" in drive.split(",")
        assert "format=raw" in drive.split(",")


def test_a_disk_has_one_request_under_way(tmp_path: Path) -> None:
    """Else the same workload gives its writes in another order from run to run."""
    assert "virtio_blk.queue_depth=1" in after(qemu.command(SPEC, tmp_path, (7,)), "-append")[0].split()


def test_a_comma_in_a_path_is_part_of_it(tmp_path: Path) -> None:
    first, *_ = after(qemu.command(SPEC, tmp_path / "a,b", (7,)), "-drive")
    assert f"file={tmp_path}/a,,b/disk," in first


@pytest.mark.parametrize(("spec", "of_its_own"), [(SPEC, {"reboot=t"}), (ON_AARCH64, set())])
def test_a_panic_and_a_reboot_end_it(tmp_path: Path, spec: GuestSpec, of_its_own: set[str]) -> None:
    words = qemu.command(spec, tmp_path, (7,))
    assert "-no-reboot" in words
    assert {"panic=-1", "oops=panic"} | of_its_own <= set(after(words, "-append")[0].split())


@pytest.mark.parametrize(
    ("kind", "program", "accelerator"),
    [
        (QEMU_TCG, "qemu-system-x86_64", "tcg"),
        (QEMU_KVM, "qemu-system-x86_64", "kvm"),
        (AARCH64_TCG, "qemu-system-aarch64", "tcg"),
        (AARCH64_KVM, "qemu-system-aarch64", "kvm"),
    ],
)
def test_the_kind_says_which_processor_it_is_and_what_runs_it(
    tmp_path: Path, kind: str, program: str, accelerator: str
) -> None:
    words = qemu.command(GuestSpec(SPEC.kernel, SPEC.agent, 1 << 20, 1 << 20, kind=kind), tmp_path, (7,))
    assert words[0] == program
    assert after(words, "-accel") == [accelerator]


def test_with_larger_pages_it_has_more_memory(tmp_path: Path) -> None:
    (less,), (more,) = (after(qemu.command(spec, tmp_path, (7,)), "-m") for spec in (SPEC, ON_AARCH64))
    assert int(more) == 2 * int(less) == ON_AARCH64.given_mib


def test_its_root_has_the_agent_of_its_architecture(tmp_path: Path, monkeypatch) -> None:
    """Named by the same hash as that of x86_64, which is what a worker is told."""
    (tmp_path / "hash").write_bytes(b"of x86_64")
    (tmp_path / "other").write_bytes(b"of aarch64")
    asked = []
    monkeypatch.setattr(qemu, "agent_of", lambda *words: asked.append(words) or tmp_path / "other")
    for kind, content in ((QEMU_TCG, b"of x86_64"), (AARCH64_TCG, b"of aarch64")):
        qemu.prepare(GuestSpec(SPEC.kernel, tmp_path / "hash", 1 << 20, 1 << 20, kind=kind), tmp_path)
        assert unpacked((tmp_path / qemu.INITRAMFS).read_bytes())["init"][2] == content
    assert asked == [("hash", "aarch64")]


def test_every_kind_has_its_way_its_patience_and_its_kernels() -> None:
    assert set(guest.STARTS) == set(PATIENCE) == set(KINDS)
    assert [arch_of(kind) for kind in (UML, "qemu", QEMU_TCG, QEMU_KVM)] == ["um", *["x86_64"] * 3]
    for kind in ("qemu-aarch64", AARCH64_TCG, AARCH64_KVM):
        assert (arch_of(kind), machine_of(kind), wanted_of(kind)) == ("arm64", "aarch64", "qemu-aarch64")
    assert [wanted_of(kind) for kind in (UML, QEMU_TCG, QEMU_KVM, "ssh:nuc1")] == [
        "uml",
        "qemu",
        "qemu",
        "ssh:nuc1",
    ]
