"""
A log that was recorded elsewhere, made ready to be examined like one of ours.

In:       a dm-log-writes log, the disk it began on, perhaps a history; or the one file of `powercut pack`.
Out:      Foreign: a Recording in a scratch folder, its profile and name. pack_experiment(): that one file.
Not here: the states and verdicts (experiments/), what is in a superblock (states/superblock.py), the form of
          the one file (evidence/pack.py).

Log and base are given raw or compressed by zstd. A base is an image, with holes or without, or a log of the
writes that make it out of zeros, as an experiment keeps it. What such files say is not believed: that they
fit each other is seen here, before a kernel is built.
"""

import os
import shutil
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import zstandard

from harness.evidence.pack import HEAD, pack, unpack
from harness.evidence.store import NoResults, reading
from harness.stages.record import Recording
from harness.states.disk import (
    BLOCK_BYTES,
    BadEntry,
    copy_sparse,
    data_blocks,
    nonzero_runs,
    open_disk,
    writes_of,
)
from harness.states.log import MAGIC, SECTOR_BYTES, BadLog, Log, open_log, write_log
from harness.states.superblock import Superblock, misfit, superblock
from oracles.profiles import PROFILES, Profile, on_device, profile
from reports import formats
from reports.results import ExperimentFacts
from workloads.entries import EntryFlag
from workloads.history import BEGIN, DONE, History
from workloads.workload import Workload

ZSTD_MAGIC = zstandard.FRAME_HEADER[:4]
LOG_HEAD = struct.pack("<Q", MAGIC)
# What `pack` takes of an experiment: enough to examine it again, and nothing that was found out before.
PACKED = ("experiment.json", "history.json", "workload", "log.zst", "base.log.zst")
# A base is held in memory, by us and by the guest.
BASE_MAX_BYTES = 4 << 30
READ_BYTES = 64 << 10  # of a compressed file at a time
MARKS_SHOWN = 20


class BadSource(Exception):
    """A log, base or history from elsewhere that cannot be examined; the message names the file and why."""


class Source(msgspec.Struct, frozen=True):
    """What a user names. log: a log, or a pack, which has all the rest. base, history: files, or None.
    profile: its name, "" for that of the filesystem on the base. first, last: marks between which the log is
    examined, "" for its start and its end."""

    log: Path
    base: Path | None = None
    history: Path | None = None
    profile: str = ""
    first: str = ""
    last: str = ""


class Foreign(msgspec.Struct, frozen=True):
    """recording: its files are in the scratch folder. profile: with the size of the base. facts: of a pack,
    those of the experiment that it was; else None."""

    recording: Recording
    profile: Profile
    name: str
    facts: ExperimentFacts | None = None

    @property
    def data_bytes(self) -> int:
        """Of the base, what is no hole."""
        return BLOCK_BYTES * sum(1 for _ in data_blocks(self.recording.base))

    @property
    def held_bytes(self) -> int:
        """What a disk of its states holds at most: the data of the base, and the blocks that the log writes.
        Errors: BadLog, OSError."""
        blocks = set(data_blocks(self.recording.base))
        with open_log(self.recording.log) as log:
            for entry in log:
                if not entry.flags & (EntryFlag.MARK | EntryFlag.DISCARD):
                    start, stop = (
                        entry.sector * SECTOR_BYTES,
                        (entry.sector + entry.sector_count) * SECTOR_BYTES,
                    )
                    blocks.update(range(start // BLOCK_BYTES, -(-stop // BLOCK_BYTES)))
        return BLOCK_BYTES * len(blocks)


# --- one file ------------------------------------------------------------------------------------


def pack_experiment(experiment: Path, target: Path, scratch: Path) -> None:
    """experiment: its folder. scratch: an empty folder. Errors: NoResults when it has no recording,
    BadSource, BadPack, OSError."""
    missing = [name for name in PACKED if not (experiment / name).is_file()]
    if missing:
        raise NoResults(f"{experiment} cannot be packed: it has no {', no '.join(missing)}")
    if target.exists():
        raise BadSource(f"{target} already exists and was not changed. Name another file with --out")
    for name in PACKED:
        shutil.copy(experiment / name, scratch / name)
    pack(scratch, target)


def is_pack(path: Path) -> bool:
    """Whether the first thing in it is the head of a pack. Errors: OSError."""
    return _begins(path, len(HEAD)) == HEAD.encode()


# --- opening -------------------------------------------------------------------------------------


def open_source(source: Source, scratch: Path) -> Foreign:
    """scratch: an empty folder, in which the recording's files then lie. Errors: BadSource, BadLog, BadEntry,
    BadPack, NoResults, UnknownProfile, OSError."""
    for path in (source.log, source.base, source.history):
        if path is not None and not path.is_file():
            raise BadSource(f"{path}: there is no such file")
    if is_pack(source.log):
        return _of_pack(source, scratch)
    if source.base is None and _begins(source.log, len(LOG_HEAD)) != LOG_HEAD:
        raise BadSource(
            f"{source.log} is neither a dm-log-writes log nor a file of powercut pack, or is damaged"
        )
    if source.base is None:
        raise BadSource(
            f"{source.log} is a log alone. Name the image of the disk as it was when the log began: "
            "--base IMAGE"
        )
    return _of_files(source, scratch)


def _of_pack(source: Source, scratch: Path) -> Foreign:
    given = [
        option
        for option, value in (
            ("--base", source.base),
            ("--history", source.history),
            ("--from", source.first),
            ("--to", source.last),
        )
        if value
    ]
    if given:
        raise BadSource(f"{source.log} is a pack and has all of that: leave out {', '.join(given)}")
    folder = scratch / "unpacked"
    unpack(source.log, folder)
    if missing := [name for name in PACKED if not (folder / name).is_file()]:
        raise BadSource(f"{source.log} is a pack, but not of an experiment: it has no {missing[0]}")
    with reading(folder):
        facts = formats.read(folder / "experiment.json", ExperimentFacts)
    found = _of_files(
        Source(
            folder / "log.zst",
            folder / "base.log.zst",
            folder / "history.json",
            source.profile or facts.profile,
        ),
        scratch,
        facts.device_bytes,
    )
    shutil.rmtree(folder)  # it lies in memory
    return msgspec.structs.replace(found, name=facts.workload, facts=facts)


def _of_files(source: Source, scratch: Path, device_bytes: int = 0) -> Foreign:
    """device_bytes: of a base that is kept as a log, which does not say how large its disk is; 0 for that of
    the profile."""
    assert source.base is not None
    named = profile(source.profile) if source.profile else None
    log, image = scratch / "given.log", scratch / "given.base"
    _expand_to(source.log, log, BadLog)
    _base_to(source.base, image, device_bytes or (named.size_bytes if named else 0))
    with open_log(log) as opened:
        base, recorded = _part(opened, image, source, scratch)
    found = _superblock_of(base)
    if found is None:
        raise BadSource(_no_filesystem(source, log))
    with open_log(recorded) as opened:
        return _checked(source, found, opened, base, recorded, named)


def _checked(
    source: Source, found: Superblock, log: Log, base: Path, recorded: Path, named: Profile | None
) -> Foreign:
    of = named or next(each for each in PROFILES if each.filesystem == found.filesystem)
    size_bytes = base.stat().st_size
    assert source.base is not None
    if of.filesystem != found.filesystem:
        raise BadSource(
            f"{source.base} holds {found.filesystem}, and --fs {of.name} is a profile of {of.filesystem}"
        )
    if found.size_bytes > size_bytes:
        raise BadSource(
            f"{source.base} is cut off: its filesystem has {found.size_bytes} bytes, and the image "
            f"{size_bytes}"
        )
    if not len(log):
        raise BadSource(f"{source.log}: there is no entry to examine")
    if reason := misfit(found, size_bytes, log):
        raise BadSource(
            f"{source.log} does not continue {source.base}: {reason}. The base must be the disk as it was "
            "when the log began; where the log begins before mkfs, name a mark behind it with --from"
        )
    history = _history_of(source, of, log)
    one = on_device(of, size_bytes)
    return Foreign(Recording(base, recorded, history, {}, ()), one, history.workload.name)


def _no_filesystem(source: Source, log: Path) -> str:
    known = ", ".join(dict.fromkeys(each.filesystem for each in PROFILES))
    with open_log(log) as opened:
        marks = list(dict.fromkeys(opened.marks.values()))[:MARKS_SHOWN]
    told = f"The marks of the log are: {', '.join(marks)}" if marks else "The log has no marks"
    return (
        f"{source.base} holds no filesystem that Powercut knows ({known}), where the log "
        f"{'has the mark ' + source.first if source.first else 'begins'}. Where the log begins before mkfs, "
        f"name a mark behind it with --from MARK. {told}"
    )


def _superblock_of(base: Path) -> Superblock | None:
    with base.open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            file.seek(offset)
            return file.read(length)

        return superblock(read)


# --- the part that is examined -------------------------------------------------------------------


def _part(log: Log, image: Path, source: Source, scratch: Path) -> tuple[Path, Path]:
    """Base and log of what lies between the two marks; with no marks named these are the files themselves.
    Errors: BadSource, BadEntry, BadLog."""
    first = _mark(log, source, source.first, 0) + 1 if source.first else 0
    last = _mark(log, source, source.last, first) if source.last else len(log)
    if (first, last) == (0, len(log)):
        return image, scratch / "given.log"
    base, recorded = scratch / "base", scratch / "recorded.log"
    with open_disk(base, image) as disk:
        for index, entry in enumerate(log.entries(0, first)):
            try:
                for write in writes_of(entry):
                    disk.apply(write)
            except BadEntry as error:
                raise BadSource(f"{source.log} does not fit {source.base}: entry {index}: {error}") from error
    image.unlink()
    write_log(recorded, log.entries(first, last))
    return base, recorded


def _mark(log: Log, source: Source, text: str, since: int) -> int:
    """Errors: BadSource, with the marks there are."""
    for index, mark in log.marks.items():
        if mark == text and index >= since:
            return index
    marks = list(dict.fromkeys(log.marks.values()))
    shown = ", ".join(marks[:MARKS_SHOWN]) + (" ..." if len(marks) > MARKS_SHOWN else "")
    raise BadSource(f"{source.log} has no mark {text!r} there. Its marks are: {shown or 'none'}")


# --- history -------------------------------------------------------------------------------------


def _history_of(source: Source, of: Profile, log: Log) -> History:
    """Errors: BadSource where it is not of this log."""
    name = source.log.name.removesuffix(".zst").removesuffix(".log") or "log"
    if source.history is None:
        return unknown_history(name, of, len(log))
    with reading(source.history.parent):
        try:
            history = formats.read_as("history.json", source.history, History)
        except msgspec.DecodeError as error:
            raise BadSource(f"{source.history} is not the history.json of an experiment: {error}") from error
    if history.known and (reason := _not_of(history, len(log), log.marks)):
        raise BadSource(f"{source.history} is not the history of {source.log}: {reason}")
    return history


def unknown_history(name: str, of: Profile, entry_count: int) -> History:
    """Of a log that came without one."""
    comment = (
        "A log that was recorded elsewhere and came without a history.",
        "not asked: durable, atomic, historical, ordered",
    )
    workload = Workload(name, (), (), comment)
    return History(workload, of.name, "", (), (), entry_count, 0, known=False)


def _not_of(history: History, entry_count: int, marks: Mapping[int, str]) -> str:
    """Why, or ""."""
    if history.entry_count != entry_count:
        return f"it is of a log of {history.entry_count} entries, and this one has {entry_count}"
    traced = (
        history.workload.program is not None
    )  # its marks have the numbers of calls, and some are two in one
    for step in history.run:
        for word, index in ((BEGIN, step.begin_entry), (DONE, step.end_entry)):
            wanted = f"{word}-" if traced else f"{word}-{step.index}"
            found = marks.get(index, "").split(",")
            if not any(one.startswith(wanted) if traced else one == wanted for one in found):
                return f"entry {index} is not the mark {word}-{step.index}"
    return ""


# --- files ---------------------------------------------------------------------------------------


def _begins(path: Path, length: int) -> bytes:
    """The first bytes of a file, of those in it where it is one zstd frame. Errors: OSError."""
    with path.open("rb") as file:
        raw = file.read(max(length, len(ZSTD_MAGIC)))
        if not raw.startswith(ZSTD_MAGIC):
            return raw[:length]
        file.seek(0)
        try:
            with zstandard.ZstdDecompressor().stream_reader(file) as reader:
                return reader.read(length)
        except zstandard.ZstdError:
            return b""


def _is_zstd(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC


def _expand_to(given: Path, target: Path, error: type[Exception]) -> None:
    """A copy, expanded where it is compressed; zeros become holes. Errors: `error`, OSError."""
    target.touch()
    if not _is_zstd(given):
        copy_sparse(given, target)
        return
    at = 0
    rest = b""  # less than a block: runs are of whole blocks
    try:
        with target.open("r+b") as file:
            for chunk in _expanded(given):
                content = rest + chunk
                whole = len(content) // BLOCK_BYTES * BLOCK_BYTES
                for offset, some in nonzero_runs(at, content[:whole]):
                    os.pwrite(file.fileno(), some, offset)
                at, rest = at + whole, content[whole:]
            file.truncate(at + len(rest))
            os.pwrite(file.fileno(), rest, at)
    except zstandard.ZstdError as bad:
        raise error(f"{given} is damaged: {bad}") from bad


def _expanded(given: Path) -> Iterator[bytes]:
    """Of a file of one zstd frame or several, as parallel compressors write it. Errors: ZstdError when it is
    cut off, too; OSError."""
    expander = zstandard.ZstdDecompressor().decompressobj()
    with given.open("rb") as file:
        while chunk := file.read(READ_BYTES):
            yield expander.decompress(chunk)
            while expander.eof and (left := expander.unused_data):
                expander = zstandard.ZstdDecompressor().decompressobj()
                yield expander.decompress(left)
    if not expander.eof:
        raise zstandard.ZstdError("it is cut off")


def _base_to(given: Path, target: Path, device_bytes: int) -> None:
    """The base as an image of whole blocks. Errors: BadSource, BadLog, BadEntry, OSError."""
    if _begins(given, len(LOG_HEAD)) == LOG_HEAD:
        _base_of_log(given, target, device_bytes)
    else:
        _expand_to(given, target, BadSource)
    size_bytes = target.stat().st_size
    if not size_bytes:
        raise BadSource(f"{given} is empty")
    if size_bytes % BLOCK_BYTES:  # a partition may end between blocks
        with target.open("r+b") as file:
            file.truncate(-(-size_bytes // BLOCK_BYTES) * BLOCK_BYTES)
    held_bytes = BLOCK_BYTES * sum(1 for _ in data_blocks(target))
    if held_bytes > BASE_MAX_BYTES:
        raise BadSource(
            f"{given} holds {held_bytes >> 20} MiB of data, and at most {BASE_MAX_BYTES >> 20} MiB can be "
            "examined: the disk is held in memory. Record on a smaller filesystem, or trim it first"
        )


def _base_of_log(given: Path, target: Path, device_bytes: int) -> None:
    if not device_bytes:
        raise BadSource(
            f"{given} is a base disk as an experiment keeps it, which does not say how large the disk is. "
            "Name the profile with --fs"
        )
    plain, zeros = target.with_name("base.log"), target.with_name("zeros")
    _expand_to(given, plain, BadSource)
    with zeros.open("wb") as file:
        file.truncate(device_bytes)
    with open_log(plain) as log, open_disk(target, zeros) as disk:
        for entry in log.entries():
            if entry.flags & EntryFlag.MARK:
                raise BadSource(f"{given} is a log with marks, not a base disk")
            for write in writes_of(entry):
                disk.apply(write)
    plain.unlink()
    zeros.unlink()
