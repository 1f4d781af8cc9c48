"""What a disk says of itself, and whether a log goes on from it."""

import pytest

from harness.states.log import open_log, write_log
from harness.states.superblock import Superblock, misfit, superblock
from harness.tests.made_log import (
    OTHER_UUID,
    SIZE_BYTES,
    UUID,
    make_base,
    superblock_entry,
    superblock_of,
    written,
)

FILESYSTEMS = ("btrfs", "ext4", "xfs", "f2fs", "nilfs2")


def read_of(image):
    content = image.read_bytes()
    return lambda offset, length: content[offset : offset + length]


def misfit_of(tmp_path, base, entries, size_bytes=SIZE_BYTES):
    write_log(tmp_path / "log", entries)
    with open_log(tmp_path / "log") as log:
        return misfit(base, size_bytes, log)


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_each_filesystem_is_known_by_its_superblock(tmp_path, filesystem):
    """With its UUID and the size that the disk must have."""
    found = superblock(read_of(make_base(tmp_path / "base", filesystem)))
    assert found == Superblock(filesystem, UUID, SIZE_BYTES, 7 if filesystem == "btrfs" else 0)


@pytest.mark.parametrize("content", [b"", bytes(512), bytes(1 << 17), b"XFSB"])
def test_a_disk_without_one_is_no_filesystem(content):
    """Neither zeros nor a few bytes of a file."""
    assert superblock(lambda offset, length: content[offset : offset + length]) is None


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_log_that_writes_the_same_filesystem_fits(tmp_path, filesystem):
    base = superblock(read_of(make_base(tmp_path / "base", filesystem)))
    assert misfit_of(tmp_path, base, [written(512), superblock_entry(filesystem)]) == ""


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_a_log_of_another_filesystem_does_not(tmp_path, filesystem):
    """The first entry that says so is named."""
    base = superblock(read_of(make_base(tmp_path / "base", filesystem)))
    reason = misfit_of(tmp_path, base, [written(512), superblock_entry(filesystem, uuid=OTHER_UUID)])
    assert reason.startswith("entry 1 writes a filesystem with the UUID 10111213-")


def test_the_log_of_xfs_names_the_filesystem_too(tmp_path):
    """Its superblock is seldom written: a log record has the UUID."""
    base = superblock(lambda offset, length: superblock_of("xfs")[offset : offset + length])
    record = bytearray(4096)
    record[:4] = b"\xfe\xed\xba\xbe"
    for uuid, fits in ((UUID, True), (OTHER_UUID, False)):
        record[304:320] = uuid
        entry = written(1024)
        entry = type(entry)(entry.sector, entry.sector_count, 0, bytes(record))
        assert (misfit_of(tmp_path, base, [entry]) == "") is fits


@pytest.mark.parametrize(("generation", "fits"), [(6, False), (7, True), (8, True), (9, False)])
def test_the_next_transaction_of_btrfs_follows_the_last(tmp_path, generation, fits):
    """A base that was taken too early or too late is told from the first superblock of the log."""
    base = superblock(read_of(make_base(tmp_path / "base", "btrfs")))
    reason = misfit_of(tmp_path, base, [superblock_entry("btrfs", generation=generation)])
    assert (reason == "") is fits
    assert fits or f"transaction {generation}" in reason


def test_a_write_outside_the_disk_is_named(tmp_path):
    base = superblock(read_of(make_base(tmp_path / "base", "ext4")))
    reason = misfit_of(tmp_path, base, [written(8), written(SIZE_BYTES // 512 - 4)])
    assert (
        reason == f"entry 1 writes up to byte {SIZE_BYTES + 2048}, and the base image has {SIZE_BYTES} bytes"
    )
