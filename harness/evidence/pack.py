"""
A folder of results as one file, to be sent to another machine.

In:       a folder: an experiment's, or a whole run's; a file that pack() made.
Out:      pack(): that file, the same bytes for the same content; unpack(): the folder, whole or not at all.
Not here: what lies in the folder (store.py), sending it.

A pack is tar in one zstd frame with a checksum. Its first member is no file: it says what this is, in which
format, and how many members follow. There are directories and ordinary files, each below its directory, with
no owner and no time, and of the modes only whether a program may be run. What a pack says is not believed: it
comes from another machine, and may be damaged, of something else, or made to write where it should not.
"""

import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec
import zstandard

from harness.evidence.store import LEVEL, PARTIAL
from harness.states.disk import RUN_BYTES, nonzero_runs

FORMAT = 1
HEAD = "powercut-pack"  # the name of the first member
# What a pack may hold unless more is asked for; a crash run of the whole library has less than 1 GiB.
LIMIT_BYTES = 64 << 30
READ_BYTES = 4 << 10  # of a frame at a time: zstd makes at most 128 MiB of that, 128 KiB of 4 bytes
PADDING_BYTES = 2 * tarfile.RECORDSIZE  # of zeros, at the end of tar


class BadPack(Exception):
    """The file is no pack of ours, or damaged, or the folder cannot be packed; the message says why."""


class Head(msgspec.Struct, frozen=True):
    """The content of the first member. members: how many follow it."""

    format: int
    members: int


# --- pack ----------------------------------------------------------------------------------------


def pack(folder: Path, target: Path) -> None:
    """Write the content of a folder to `target`, which appears whole. Equal content gives equal bytes,
    wherever the folder lies and whoever made it. Errors: BadPack, OSError."""
    names = _names(folder)
    aside = target.with_name(target.name + PARTIAL)
    compressor = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
    try:
        with (
            aside.open("wb") as file,
            compressor.stream_writer(file) as writer,
            tarfile.open(fileobj=writer, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            head = msgspec.json.encode(Head(FORMAT, len(names)))
            tar.addfile(_member(HEAD, len(head)), io.BytesIO(head))
            for name in names:
                _add(tar, folder, name)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)


def _names(folder: Path) -> list[str]:
    """Of all below the folder, a directory before its content. Errors: BadPack."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            raise BadPack(f"{path} is neither a directory nor a regular file, so it cannot be packed")
        found.append(path.relative_to(folder).as_posix())
    return found


def _add(tar: tarfile.TarFile, folder: Path, name: str) -> None:
    path = folder / name
    if path.is_dir():
        made = _member(name, 0, 0o755)
        made.type = tarfile.DIRTYPE
        tar.addfile(made)
        return
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        tar.addfile(_member(name, status.st_size, 0o755 if status.st_mode & 0o100 else 0o644), file)


def _member(name: str, size_bytes: int, mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)  # owner and time are zero
    made.size, made.mode = size_bytes, mode
    return made


# --- unpack --------------------------------------------------------------------------------------


def unpack(packed: Path, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
    """Make the folder anew from a pack; zeros become holes. limit_bytes: of all its files.
    Errors: BadPack, and then there is no folder; FileExistsError, OSError."""
    if folder.exists():
        raise FileExistsError(f"{folder} already exists")
    aside = folder.with_name(folder.name + PARTIAL)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    try:
        with packed.open("rb") as file:
            _unpack(file, aside, limit_bytes)
        aside.rename(folder)
    except (tarfile.TarError, zstandard.ZstdError, msgspec.DecodeError, ValueError, EOFError) as error:
        raise BadPack(
            f"{packed} is not an experiment that Powercut packed, or it is damaged: {error}"
        ) from error
    except BadPack as error:
        raise BadPack(f"{packed}: {error}") from error
    finally:
        shutil.rmtree(aside, ignore_errors=True)


class _Frame:
    """What the one zstd frame of a file holds, to be read in order."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._expander = zstandard.ZstdDecompressor().decompressobj()
        self._ready = io.BytesIO()

    def read(self, size: int) -> bytes:
        """Fewer than size bytes at the end of the frame. Errors: ZstdError, BadPack."""
        parts: list[bytes] = []
        while size:
            part = self._ready.read(size)
            if not part:
                if self._expander.eof:
                    break
                if not (raw := self._file.read(READ_BYTES)):
                    raise BadPack("cut off")
                self._ready = io.BytesIO(self._expander.decompress(raw))
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def end(self) -> None:
        """What is left must be padding, and the end of the file. Errors: ZstdError, BadPack."""
        rest = self.read(PADDING_BYTES + 1)
        if len(rest) > PADDING_BYTES or any(rest) or self._expander.unused_data or self._file.read(1):
            raise BadPack("there is data after its last member")


def _unpack(file: IO[bytes], folder: Path, limit_bytes: int) -> None:
    frame = _Frame(file)
    with tarfile.open(fileobj=frame, mode="r|") as tar:  # type: ignore[call-overload]
        members: Iterator[tarfile.TarInfo] = iter(tar)
        head = _head(tar, next(members, None))
        directories, names = {"."}, {HEAD}
        for member in members:
            name = _checked(member, directories, names)
            limit_bytes -= member.size
            if limit_bytes < 0:
                raise BadPack("it contains more than the limit")
            names.add(name)
            if member.isdir():
                directories.add(name)
                (folder / name).mkdir()
            else:
                _write(tar, member, folder / name)
        if len(names) - 1 != head.members:
            raise BadPack(f"it has {len(names) - 1} of {head.members} members")
    frame.end()


def _head(tar: tarfile.TarFile, member: tarfile.TarInfo | None) -> Head:
    content = tar.extractfile(member) if member is not None and member.name == HEAD else None
    if content is None:
        raise BadPack("it was not packed by Powercut")
    head = msgspec.json.decode(content.read(1 << 10), type=Head)
    if head.format != FORMAT:
        raise BadPack(f"it has format {head.format}, and this version of Powercut reads format {FORMAT}")
    return head


def _checked(member: tarfile.TarInfo, directories: set[str], names: set[str]) -> str:
    """Its name: one level below a directory of this pack. Errors: BadPack."""
    name = member.name
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or str(path) != name or name == ".":
        raise BadPack(f"{name!r} points outside the folder")
    if member.issparse() or not (member.isdir() or member.type == tarfile.REGTYPE):
        raise BadPack(f"{name!r} is neither a directory nor a regular file")
    if name in names or str(path.parent) not in directories:
        raise BadPack(f"{name!r} occurs twice, or its directory is missing")
    return name


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    content = tar.extractfile(member)
    assert content is not None, "an ordinary file"
    at = 0
    with path.open("xb") as file:
        while part := content.read(RUN_BYTES):
            for offset, some in nonzero_runs(at, part):
                file.seek(offset)
                file.write(some)
            at += len(part)
        file.truncate(member.size)
    if at != member.size:
        raise BadPack(f"{member.name!r} is cut off")
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
