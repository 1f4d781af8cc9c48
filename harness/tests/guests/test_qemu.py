"""The machine that QEMU is asked for, and the archive that is its root."""

from pathlib import Path

import pytest

from harness.guests import guest, qemu, uml
from harness.guests.spec import KINDS, PATIENCE, QEMU_KVM, QEMU_TCG, UML, GuestSpec, arch_of

SPEC = GuestSpec(Path("/k/vmlinux"), Path("/k/agent"), 256 << 20, 64 << 20, kind=QEMU_TCG)


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


def test_the_disks_come_in_the_order_that_the_agent_counts_on(tmp_path: Path) -> None:
    words = qemu.command(SPEC, tmp_path, (7,))
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


def test_a_panic_and_a_reboot_end_it(tmp_path: Path) -> None:
    words = qemu.command(SPEC, tmp_path, (7,))
    assert "-no-reboot" in words
    assert {"panic=-1", "oops=panic", "reboot=t"} <= set(after(words, "-append")[0].split())


@pytest.mark.parametrize(("kind", "accelerator"), [(QEMU_TCG, "tcg"), (QEMU_KVM, "kvm")])
def test_the_kind_says_what_runs_the_processor(tmp_path: Path, kind: str, accelerator: str) -> None:
    spec = GuestSpec(SPEC.kernel, SPEC.agent, 1 << 20, 1 << 20, kind=kind)
    assert after(qemu.command(spec, tmp_path, (7,)), "-accel") == [accelerator]


def test_every_kind_has_its_way_its_patience_and_its_kernels() -> None:
    assert set(guest.STARTS) == set(PATIENCE) == set(KINDS)
    assert [arch_of(kind) for kind in (UML, "qemu", QEMU_TCG, QEMU_KVM)] == ["um", *["x86_64"] * 3]
