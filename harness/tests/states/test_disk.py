"""Disks move forward write by write, and know when two are equal."""

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.states.disk import (
    BLOCK_BYTES,
    BadEntry,
    Disk,
    DiskWrite,
    copy_sparse,
    data_blocks,
    open_disk,
    private_disk,
    writes_of,
)
from harness.states.log import Entry
from workloads.entries import EntryFlag

SIZE_BYTES = 64 * BLOCK_BYTES
LARGE_BYTES = 4096 * BLOCK_BYTES


def sparse(path: Path, size_bytes: int = SIZE_BYTES) -> Path:
    with path.open("wb") as file:
        file.truncate(size_bytes)
    return path


@contextlib.contextmanager
def empty_disk(folder: Path, size_bytes: int = SIZE_BYTES) -> Iterator[Disk]:
    number = len(list(folder.iterdir()))
    with open_disk(folder / f"disk{number}", sparse(folder / f"zeros{number}", size_bytes)) as disk:
        yield disk


def random_writes(seed: int, count: int, size_bytes: int = SIZE_BYTES) -> list[DiskWrite]:
    """Writes at sectors, every third one of zeros, half of these as a discard."""
    draw = random.Random(seed)
    writes = []
    for _ in range(count):
        start, length = draw.randrange(size_bytes // 512) * 512, draw.randrange(1, 30) * 512
        length = min(length, size_bytes - start)
        data = draw.choice((draw.randbytes(length), bytes([draw.randrange(3)]) * length, bytes(length), None))
        writes.append(DiskWrite(start, length, data))
    return writes


def apply_to(model: bytearray, write: DiskWrite) -> None:
    model[write.offset : write.offset + write.length] = write.data or bytes(write.length)


@pytest.mark.parametrize("seed", range(5))
def test_a_disk_holds_what_a_bytearray_holds(tmp_path: Path, seed: int) -> None:
    model = bytearray(SIZE_BYTES)
    with empty_disk(tmp_path) as disk:
        for write in random_writes(seed, 60):
            disk.apply(write)
            apply_to(model, write)
            assert disk.image[:] == model


def test_identities_are_equal_exactly_when_bytes_are(tmp_path: Path) -> None:
    """Small disks of few values, so that different histories often meet."""
    draw = random.Random(3)
    seen: dict[bytes, int] = {}
    with empty_disk(tmp_path, 2 * BLOCK_BYTES) as disk:
        for _ in range(600):
            data = draw.choice((b"\1" * 4096, b"\2" * 4096, None))
            disk.apply(DiskWrite(draw.randrange(0, 9) * 512, 4096, data))
            assert seen.setdefault(disk.image[:], disk.identity()) == disk.identity()
    assert len(set(seen.values())) == len(seen)
    assert 20 < len(seen) < 600


def test_the_order_of_writes_apart_from_each_other_does_not_matter(tmp_path: Path) -> None:
    writes = [DiskWrite(block * BLOCK_BYTES + 512, 1024, bytes([block + 1]) * 1024) for block in range(20)]
    with empty_disk(tmp_path) as forward, empty_disk(tmp_path) as backward:
        for one, other in zip(writes, reversed(writes), strict=True):
            forward.apply(one)
            backward.apply(other)
        assert forward.identity() == backward.identity() != 0


def test_the_same_bytes_in_another_block_are_another_disk(tmp_path: Path) -> None:
    with empty_disk(tmp_path) as disk, empty_disk(tmp_path) as other:
        disk.apply(DiskWrite(0, BLOCK_BYTES, b"a" * BLOCK_BYTES))
        other.apply(DiskWrite(BLOCK_BYTES, BLOCK_BYTES, b"a" * BLOCK_BYTES))
        assert disk.identity() != other.identity()


def test_zeros_written_and_zeros_discarded_are_the_same_disk(tmp_path: Path) -> None:
    with empty_disk(tmp_path) as disk:
        before = disk.identity()
        for zeros in (bytes(8192), None):
            disk.apply(DiskWrite(1024, 8192, b"x" * 8192))
            assert disk.identity() != before
            disk.apply(DiskWrite(1024, 8192, zeros))
            assert disk.identity() == before


@pytest.mark.parametrize("data", [None, bytes(LARGE_BYTES - 1024)], ids=["discard", "zeros"])
def test_a_large_range_of_zeros_spares_what_lies_beside_it(tmp_path: Path, data: bytes | None) -> None:
    with empty_disk(tmp_path, LARGE_BYTES) as disk, empty_disk(tmp_path, LARGE_BYTES) as other:
        for write in random_writes(1, 50, LARGE_BYTES):
            disk.apply(write)
        edges = [DiskWrite(0, 1024, b"a" * 1024), DiskWrite(LARGE_BYTES - 1024, 1024, b"b" * 1024)]
        for write in edges:
            disk.apply(write)
            other.apply(write)
        disk.apply(DiskWrite(1024, LARGE_BYTES - 2048, data[: LARGE_BYTES - 2048] if data else None))
        assert disk.image[:] == other.image[:]
        assert disk.identity() == other.identity()
        assert disk.nonzero_blocks() == [0, 4095]


def test_a_large_write_counts_as_its_parts_do(tmp_path: Path) -> None:
    data = random.Random(2).randbytes(LARGE_BYTES // 2)
    with empty_disk(tmp_path, LARGE_BYTES) as whole, empty_disk(tmp_path, LARGE_BYTES) as parts:
        whole.apply(DiskWrite(512, len(data), data))
        for start in range(0, len(data), 1 << 20):
            part = data[start : start + (1 << 20)]
            parts.apply(DiskWrite(512 + start, len(part), part))
        assert whole.identity() == parts.identity()


@pytest.mark.parametrize("data", [b"x" * 1024, None])
def test_a_write_beyond_the_end_is_refused_and_changes_nothing(tmp_path: Path, data: bytes | None) -> None:
    with empty_disk(tmp_path) as disk:
        with pytest.raises(BadEntry, match=f"lies outside the disk of {SIZE_BYTES}"):
            disk.apply(DiskWrite(SIZE_BYTES - 512, 1024, data))
        assert (disk.identity(), disk.nonzero_blocks()) == (0, [])


def test_a_disk_starts_as_its_base_and_leaves_the_base_alone(tmp_path: Path) -> None:
    base = sparse(tmp_path / "base")
    with base.open("r+b") as file:
        file.seek(3 * BLOCK_BYTES + 100)
        file.write(b"base")
    with open_disk(tmp_path / "disk", base) as disk, private_disk(base) as other:
        for each in (disk, other):
            assert each.image[:] == base.read_bytes()
            assert (each.identity(), each.nonzero_blocks()) == (0, [3])
            each.apply(DiskWrite(0, 512, b"x" * 512))
            each.apply(DiskWrite(3 * BLOCK_BYTES, 512, None))
            assert each.nonzero_blocks() == [0]
        assert disk.identity() == other.identity() != 0
        disk.apply(DiskWrite(3 * BLOCK_BYTES + 100, 4, b"base"))
        assert disk.differing(other) == {3}
        disk.apply(DiskWrite(0, 512, None))
        assert (disk.identity(), disk.nonzero_blocks()) == (0, [3])
    assert base.read_bytes()[:512] == bytes(512)


def test_a_disk_made_anew_over_an_old_file_forgets_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "disk").write_bytes(b"old" * 100_000)
    with open_disk(tmp_path / "disk", sparse(tmp_path / "base")) as disk:
        assert disk.image[:] == bytes(SIZE_BYTES)
        assert disk.identity() == 0


def test_a_size_that_is_no_multiple_of_a_block_is_kept(tmp_path: Path) -> None:
    size_bytes = 2 * BLOCK_BYTES + 512
    with empty_disk(tmp_path, size_bytes) as disk:
        disk.apply(DiskWrite(2 * BLOCK_BYTES, 512, b"z" * 512))
        copy_sparse(disk.path, sparse(tmp_path / "copy", 0))
        assert (tmp_path / "copy").read_bytes() == disk.image[:]
        disk.apply(DiskWrite(2 * BLOCK_BYTES, 512, None))
        assert disk.identity() == 0


def test_a_copy_is_equal_and_sparse_and_keeps_the_targets_inode(tmp_path: Path) -> None:
    source = sparse(tmp_path / "source", LARGE_BYTES)
    with source.open("r+b") as file:
        file.write(bytes(1 << 20))
        file.seek(LARGE_BYTES // 2)
        file.write(b"in the middle")
    target = tmp_path / "target"
    target.write_bytes(b"longer" * 5_000_000)
    inode = target.stat().st_ino
    copy_sparse(source, target)
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_ino == inode
    assert list(data_blocks(target)) == [LARGE_BYTES // 2 // BLOCK_BYTES]


@pytest.mark.parametrize(
    ("entry", "writes"),
    [
        (Entry(8, 2, EntryFlag.FUA, b"d" * 1024), (DiskWrite(4096, 1024, b"d" * 1024),)),
        (Entry(8, 2, EntryFlag.DISCARD), (DiskWrite(4096, 1024, None),)),
        (Entry(1, 1, EntryFlag.FLUSH, b"d" * 512), (DiskWrite(512, 512, b"d" * 512),)),
        (Entry(0, 0, EntryFlag.FLUSH), ()),
        (Entry(0, 0, EntryFlag.MARK, mark="end"), ()),
    ],
    ids=["write", "discard", "flush with data", "empty flush", "mark"],
)
def test_an_entry_means_its_writes(entry: Entry, writes: tuple[DiskWrite, ...]) -> None:
    assert writes_of(entry) == writes
