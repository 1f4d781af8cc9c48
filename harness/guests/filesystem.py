"""
Make a filesystem in an image, and check one, with the host's own tools.

In:       a profile, an image file.
Out:      a pristine image; Fsck, the checker's answer.
Not here: mounting (only guests mount).

The checker runs as a host process beside the guest: btrfs check costs 2.4 ms of processor there and
13 ms in a UML guest (a page fault costs 60 us in it), and it runs while the guest recovers the next state.
"""

import contextlib
import functools
import itertools
import os
import re
import select
import shutil
import signal
import subprocess
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from harness.guests.checker_reads import environment
from harness.guests.ext4_journal import end_journal
from harness.guests.xfs_log import end_log
from harness.states.disk import BLOCK_BYTES, copy_sparse, data_runs
from harness.states.members import SUPERBLOCKS_AT
from oracles.observation import Fsck
from oracles.profiles import Profile

# Debian keeps mkfs and fsck where an ordinary user's PATH does not look.
SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"
FSCK_TIMEOUT_S = 60
# Of ext4 with 4 KiB blocks: where the superblock lies and its UUID, where that of the journal lies, and whose
# journal it is (s_nr_users and s_users in include/linux/jbd2.h).
SUPERBLOCK_AT, UUID_AT, JOURNAL_AT, USERS_AT, USER_AT = 1024, 0x68, 4096, 0x40, 0x100
# The last line of fsck.f2fs: the one part of an answer that says nothing of the image.
ELAPSED = re.compile(r"^Done: [0-9.]+ secs$", re.MULTILINE)


class NoFilesystemTool(Exception):
    """mkfs or the checker is not installed, or mkfs failed."""


def find_tool(program: str, package: str) -> str:
    """Its path. Errors: NoFilesystemTool with the fix."""
    found = shutil.which(program, path=SYSTEM_PATH)
    if found is None:
        raise NoFilesystemTool(f"{program} is not installed: apt-get install {package}")
    return found


def _environment() -> dict[str, str]:
    return {"PATH": SYSTEM_PATH, "LC_ALL": "C", "HOME": os.environ.get("HOME", "/")}


def make_filesystem(profile: Profile, image: Path) -> None:
    """A fresh filesystem of the profile in `image`, which is replaced. Errors: NoFilesystemTool, OSError."""
    if profile.devices:
        _make_on_devices(profile, image)
        return
    with image.open("wb") as file:
        file.truncate(profile.size_bytes - profile.room_bytes)
    run_tool([find_tool(profile.mkfs[0], profile.package), *profile.mkfs[1:], str(image)])
    if profile.room_bytes:
        os.truncate(image, profile.size_bytes)
    if profile.log_left and profile.filesystem == "xfs":
        end_log(image, profile.log_left)
    elif profile.log_left:
        end_journal(image, profile.log_left, find_tool("debugfs", profile.package))
    _dig_holes(image)


def _make_on_devices(profile: Profile, image: Path) -> None:
    with _images(profile, image) as images:
        for device, size_bytes in zip(images, profile.devices, strict=True):
            with device.open("wb") as file:
                file.truncate(size_bytes)
        program = find_tool(profile.mkfs[0], profile.package)
        run_tool([program, *_named(profile.mkfs[1:], images)])
        if profile.filesystem == "ext4":
            _join_journal(profile, *images)
        with image.open("wb") as file:
            file.truncate(profile.size_bytes)
            starts = itertools.accumulate(profile.devices, initial=0)
            for device, start in zip(images, starts, strict=False):
                for offset, content in data_runs(device):
                    file.seek(start + offset)
                    file.write(content)


@contextlib.contextmanager
def _images(profile: Profile, image: Path) -> Iterator[list[Path]]:
    """Files beside the image for its devices, gone afterwards."""
    images = [image.with_name(f"{image.name}.{number}") for number in range(len(profile.devices))]
    try:
        yield images
    finally:
        for device in images:
            device.unlink(missing_ok=True)


def _without_missing(profile: Profile, images: Sequence[Path], first: int) -> Sequence[Path]:
    """The images; where the filesystem can be without any of them, from the first on that has a superblock,
    beginning with number `first`."""
    if not profile.redundant:
        return images
    turned = [*images[first:], *images[:first]]
    for number, image in enumerate(turned):
        with image.open("rb") as file:
            file.seek(SUPERBLOCKS_AT[0])
            if file.read(BLOCK_BYTES).strip(b"\0"):
                return [*turned[number:], *turned[:number]]
    return images


def _cut_out(profile: Profile, image: Path, images: Sequence[Path]) -> None:
    starts = [sum(profile.devices[:number]) for number in range(len(images))]
    ends = [start + size_bytes for start, size_bytes in zip(starts, profile.devices, strict=True)]
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(device.open("wb")) for device in images]
        for file, size_bytes in zip(files, profile.devices, strict=True):
            file.truncate(size_bytes)
        for offset, content in data_runs(image):
            for file, start, end in zip(files, starts, ends, strict=True):
                low, high = max(offset, start), min(offset + len(content), end)
                if low < high:
                    file.seek(low - start)
                    file.write(content[low - offset : high - offset])


def _named(words: Iterable[str], images: Sequence[Path]) -> list[str]:
    """With the images for "%0", "%1"."""
    return [
        functools.reduce(lambda text, at: text.replace(f"%{at}", str(images[at])), range(len(images)), word)
        for word in words
    ]


def _join_journal(profile: Profile, image: Path, journal: Path) -> None:
    """Make an image the journal of an ext4 without one. mke2fs and tune2fs take a block device alone
    (EXT2_ET_JOURNAL_NOT_BLOCK in lib/ext2fs/mkjournal.c), and ext2fs_add_journal_device() there does this."""
    debugfs = find_tool("debugfs", profile.package)
    run_tool(
        [find_tool("mke2fs", profile.package), "-q", "-F", "-b", "4096", "-O", "journal_dev", str(journal)]
    )
    with image.open("rb") as file, journal.open("r+b") as other:
        file.seek(SUPERBLOCK_AT + UUID_AT)
        user = file.read(16)
        other.seek(SUPERBLOCK_AT + UUID_AT)
        identity = uuid.UUID(bytes=other.read(16))
        other.seek(JOURNAL_AT + USERS_AT)
        other.write((1).to_bytes(4, "big"))
        other.seek(JOURNAL_AT + USER_AT)
        other.write(user)
    for request in ("feature has_journal", f"ssv journal_uuid {identity}", "ssv journal_inum 0"):
        run_tool([debugfs, "-w", "-R", request, str(image)])


def _dig_holes(image: Path) -> None:
    """mkfs.xfs writes the 64 MiB of its log as zeros. Each recording looks twice for what is not a hole."""
    sparse = image.with_name(f"{image.name}.sparse")
    try:
        sparse.touch()
        copy_sparse(image, sparse)
        copy_sparse(sparse, image)
    finally:
        sparse.unlink(missing_ok=True)


def run_tool(command: list[str]) -> None:
    """Errors: NoFilesystemTool, with what it said."""
    done = subprocess.run(command, capture_output=True, text=True, env=_environment(), check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise NoFilesystemTool(f"{' '.join(command)} failed: {said[-1] if said else done.returncode}")


def tool_version(profile: Profile) -> str:
    """What mkfs says of its version, for run.json."""
    tool = find_tool(profile.mkfs[0], profile.package)
    done = subprocess.run([tool, "-V"], capture_output=True, text=True, env=_environment(), check=False)
    said = (done.stdout + done.stderr).strip().splitlines()
    return said[0] if said else "unknown"


def _run_checker(command: list[str], preloaded: dict[str, str]) -> tuple[int, bytes]:
    """Its exit status, and what it said. A file takes that, and its end wakes us: subprocess.run() with a
    timeout looks for the end every half millisecond and more. Errors: subprocess.TimeoutExpired."""
    with os.fdopen(os.memfd_create("checker"), "r+b") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=_environment() | preloaded,
        )
        ended = select.poll()
        ending = os.pidfd_open(process.pid)
        try:
            ended.register(ending, select.POLLIN)
            if not ended.poll(FSCK_TIMEOUT_S * 1000):
                process.kill()
                raise subprocess.TimeoutExpired(command, FSCK_TIMEOUT_S)
        finally:
            os.close(ending)
            status = process.wait()
        said.seek(0)
        return status, said.read()


def check_filesystem(profile: Profile, image: Path, reads: Path | None = None, first: int = 0) -> Fsck:
    """The checker's answer on an image that nothing has mounted. reads: a file where it leaves what it read
    of the image, for checker_reads.blocks_read(). first: of several devices that hold the same, the one that
    it is given if that has a superblock. Errors: NoFilesystemTool, AgentError."""
    program = find_tool(profile.fsck[0], profile.package)
    if not profile.devices:
        preloaded = environment(image, reads) if reads is not None else {}
        return _answer([program, *profile.fsck[1:], str(image)], preloaded, [image])
    with _images(profile, image) as images:
        _cut_out(profile, image, images)
        words = _named(profile.fsck[1:], _without_missing(profile, images, first))
        return _answer([program, *words], {}, images)


def _answer(command: list[str], preloaded: dict[str, str], images: Sequence[Path]) -> Fsck:
    try:
        status, said = _run_checker(command, preloaded)
        if status == -signal.SIGKILL:  # by somebody, as the OOM killer: it has no answer of its own
            status, said = _run_checker(command, preloaded)
    except subprocess.TimeoutExpired:
        return Fsck(exit=-1, output=f"it did not answer within {FSCK_TIMEOUT_S} s", timed_out=True)
    output = said.decode("latin-1")
    for image in images:
        output = output.replace(str(image), f"IMAGE{image.suffix if len(images) > 1 else ''}")
    return Fsck(exit=status, output=ELAPSED.sub("Done: SECONDS secs", output))
