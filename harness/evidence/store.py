"""
Keep the evidence: the files of results/<run>/, each there whole or not at all.

In:       what an experiment gave, the question, the summary.
Out:      results/<UTC time>-<id>/ with experiments/<n>/, run.json, summary.json; results/latest.
Not here: reading them back as data (reports/results.py), the pages (reports/pages/html.py).

A base disk is kept as a log of the writes that make it out of zeros: sparse, and in a format that is
there already.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import msgspec
import zstandard

from harness.states.disk import BLOCK_BYTES, Disk, copy_sparse, data_blocks, open_disk, writes_of
from harness.states.log import SECTOR_BYTES, Entry, open_log, write_log
from reports import formats
from reports.results import ExperimentFacts, Judgement, Question, Summary
from workloads.history import History

LEVEL = 3  # zstd's default: logs shrink by 20 times at 300 MB/s
PARTIAL = ".partial"


class NoResults(Exception):
    """The folder is no results of ours, or not whole; the message names what is missing."""


class RunInUse(Exception):
    """Another process writes to this run; the message names it."""


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[None]:
    """What is damaged or missing there is told as such. Errors: NoResults."""
    try:
        yield
    except formats.UnknownFormat as error:
        raise NoResults(str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, zstandard.ZstdError) as error:
        raise NoResults(f"{folder} is damaged: {error}") from error
    except FileNotFoundError as error:
        raise NoResults(f"{folder} is incomplete: {error.filename} is missing") from error


def new_run(folder: Path, question: Question | None = None) -> Path:
    """results/<UTC time>-<id>, appearing with its question in it, if it has one. Errors: OSError."""
    name = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()) + "-" + secrets.token_hex(2)
    run, aside = folder / name, _aside(folder, name)
    try:
        (aside / "experiments").mkdir(parents=True)
        if question is not None:
            write_question(aside, question)
        aside.rename(run)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    return run


def point_latest(run: Path) -> None:
    """results/latest leads to this run."""
    aside = _aside(run.parent, "latest")
    with contextlib.suppress(FileNotFoundError):
        aside.unlink()
    aside.symlink_to(run.name)
    aside.replace(run.parent / "latest")


def _aside(folder: Path, name: str) -> Path:
    """Where this process prepares what then appears in the folder of all runs. What a process prepared that
    was killed over it is removed here."""
    for left in folder.glob(f".*{PARTIAL}"):
        pid = left.suffixes[-2].removeprefix(".") if len(left.suffixes) > 1 else ""
        if not pid.isdecimal() or Path("/proc", pid).exists():
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    return folder / f".{name}.{os.getpid()}{PARTIAL}"


def write_whole(path: Path, content: bytes) -> None:
    """Aside, then renamed. Errors: OSError."""
    aside = path.with_name(path.name + PARTIAL)
    try:
        aside.write_bytes(content)
        aside.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def write_pretty(path: Path, data: msgspec.Struct) -> None:
    """JSON for people, too, with the version of the file of that name. Errors: OSError."""
    write_whole(path, formats.pretty(path.name, data))


def write_question(run: Path, question: Question) -> None:
    write_pretty(run / "run.json", question)


def write_summary(run: Path, summary: Summary) -> None:
    write_pretty(run / "summary.json", summary)


def partial_folder(run: Path, number: int) -> Path:
    """Where this process writes an experiment before it is whole. What another one left half written is
    removed by a janitor (workspace.py), which must not meet what is written anew."""
    return run / "experiments" / f"{number:04d}.{os.getpid()}{PARTIAL}"


def remove_partial(run: Path) -> None:
    """What a run left half done that nobody could clear up after, as when the machine stopped. Nobody may
    write there (only_one)."""
    for place in (*run.glob(f"*{PARTIAL}"), *(run / "experiments").glob(f"*{PARTIAL}")):
        shutil.rmtree(place) if place.is_dir() else place.unlink()


LOCK = ".lock"


@contextlib.contextmanager
def only_one(run: Path) -> Iterator[None]:
    """Nobody else writes to this run meanwhile. The kernel lets go of the lock however we end.
    Errors: RunInUse; OSError."""
    path = run / LOCK
    with _locked(path) as file:
        file.write(str(os.getpid()))
        file.flush()
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                path.unlink()


def _locked(path: Path) -> TextIO:
    """The open file, emptied. Errors: RunInUse; OSError."""
    while True:
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and path.stat().st_ino == os.fstat(file.fileno()).st_ino:
                file.truncate(0)
                return file
        except BlockingIOError:
            file.seek(0)
            pid = file.read().strip() or "of another"
            file.close()
            raise RunInUse(
                f"{path.parent} is in use by process {pid}. Wait until it ends, or stop it"
            ) from None
        file.close()  # the one before us was just done, and took its file away


@contextlib.contextmanager
def experiment_folder(run: Path, number: int) -> Iterator[Path]:
    """experiments/<n>, appearing when the block ends well; an older one of that number is replaced."""
    final = run / "experiments" / f"{number:04d}"
    aside = partial_folder(run, number)
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    try:
        yield aside
        older = aside.with_name(f"{final.name}.older{PARTIAL}")
        with contextlib.suppress(FileNotFoundError):
            final.rename(older)  # half removed under its name it would be believed
        aside.rename(final)
        shutil.rmtree(older, ignore_errors=True)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def compress_file(source: Path, target: Path) -> None:
    """source, as zstd, in target. Errors: OSError."""
    with source.open("rb") as reader, target.open("wb") as writer:
        zstandard.ZstdCompressor(level=LEVEL).copy_stream(reader, writer)


def expand_file(source: Path, target: Path) -> None:
    """Errors: OSError, NoResults when source is damaged."""
    expander = zstandard.ZstdDecompressor().decompressobj()
    try:
        with source.open("rb") as reader, target.open("wb") as writer:
            while chunk := reader.read(1 << 20):
                writer.write(expander.decompress(chunk))
    except zstandard.ZstdError as error:
        raise NoResults(f"{source} is damaged: {error}") from error
    if not expander.eof:  # copy_stream() would take it for the whole
        raise NoResults(f"{source} is damaged: it is cut off")


def compress(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=LEVEL).compress(content)


def image_entries(image: Path) -> Iterator[Entry]:
    """Writes that make the image out of zeros, neighbouring blocks together, 1 MiB at most."""
    start = count = 0
    with image.open("rb") as file:
        for block in [*data_blocks(image), -1]:
            if count and (block != start + count or count == 256):
                data = os.pread(file.fileno(), count * BLOCK_BYTES, start * BLOCK_BYTES)
                if data != bytes(len(data)):
                    sectors = BLOCK_BYTES // SECTOR_BYTES
                    yield Entry(start * sectors, len(data) // SECTOR_BYTES, 0, data)
                count = 0
            if not count:
                start = block
            count += 1


def keep_base(base: Path, folder: Path) -> None:
    """base.log.zst: the base disk."""
    plain = folder / "base.log"
    write_log(plain, image_entries(base))
    compress_file(plain, folder / "base.log.zst")
    plain.unlink()


def keep_recoveries(recoveries: Path, folder: Path) -> None:
    """recoveries/: the logs of recoveries that nested states cut, by the state that was recovered. Taken
    from `recoveries`, which is gone then."""
    if not recoveries.exists():
        return
    (folder / recoveries.name).mkdir()
    for log in sorted(recoveries.iterdir()):
        compress_file(log, folder / recoveries.name / f"{log.name}.zst")
    shutil.rmtree(recoveries)


@contextlib.contextmanager
def base_disk(folder: Path, scratch: Path, device_bytes: int) -> Iterator[Disk]:
    """The base disk of a kept experiment, in `scratch`. Errors: NoResults, BadLog, OSError."""
    source = folder / "base.log.zst"
    if not source.exists():
        raise NoResults(f"{folder} has no base.log.zst, so no disk can be rebuilt")
    expand_file(source, scratch / "base.log")
    zeros = scratch / "zeros"
    with zeros.open("wb") as file:
        file.truncate(device_bytes)
    with open_disk(scratch / "state.img", zeros) as disk, open_log(scratch / "base.log") as log:
        for entry in log.entries():
            for write in writes_of(entry):
                disk.apply(write)
        yield disk


def write_experiment(
    folder: Path,
    facts: ExperimentFacts,
    workload_text: str,
    history: History | None,
    judgement: Judgement,
    observations: bytes,
    kernel_log: str,
    repro: str,
) -> None:
    """All but the log and the base disk, which are files already."""
    (folder / "workload").write_text(workload_text)
    (folder / "experiment.json").write_bytes(formats.encode("experiment.json", facts))
    if history is not None:
        (folder / "history.json").write_bytes(formats.pretty("history.json", history))
    (folder / "verdicts.json.zst").write_bytes(compress(msgspec.json.encode(judgement)))
    (folder / "observations.json.zst").write_bytes(compress(observations))
    (folder / "kernel.log").write_text(kernel_log)
    script = folder / "repro.sh"
    script.write_text(repro)
    script.chmod(0o755)


def copy_image(source: Path, target: Path) -> None:
    """A sparse copy for the user to keep. Errors: OSError."""
    target.touch(exist_ok=False)
    copy_sparse(source, target)
