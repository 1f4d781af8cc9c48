"""
Make a filesystem in an image, and check one, with the host's own tools.

In:       a profile, an image file.
Out:      a pristine image; Fsck, the checker's answer.
Not here: mounting (only guests mount).

The checker runs as a host process beside the guest: btrfs check costs 2.4 ms of processor there and
13 ms in a UML guest (a page fault costs 60 us in it), and it runs while the guest recovers the next state.
"""

import os
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path

from harness.guests.checker_reads import environment
from harness.states.disk import copy_sparse
from oracles.observation import Fsck
from oracles.profiles import Profile

# Debian keeps mkfs and fsck where an ordinary user's PATH does not look.
SYSTEM_PATH = "/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin"
FSCK_TIMEOUT_S = 60
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
    with image.open("wb") as file:
        file.truncate(profile.size_bytes - profile.room_bytes)
    run_tool([find_tool(profile.mkfs[0], profile.package), *profile.mkfs[1:], str(image)])
    if profile.room_bytes:
        os.truncate(image, profile.size_bytes)
    _dig_holes(image)


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


def check_filesystem(profile: Profile, image: Path, reads: Path | None = None) -> Fsck:
    """The checker's answer on an image that nothing has mounted. reads: a file where it leaves what it read
    of the image, for checker_reads.blocks_read(). Errors: NoFilesystemTool, AgentError."""
    command = [find_tool(profile.fsck[0], profile.package), *profile.fsck[1:], str(image)]
    preloaded = environment(image, reads) if reads is not None else {}
    try:
        status, said = _run_checker(command, preloaded)
        if status == -signal.SIGKILL:  # by somebody, as the OOM killer: it has no answer of its own
            status, said = _run_checker(command, preloaded)
    except subprocess.TimeoutExpired:
        return Fsck(exit=-1, output=f"it did not answer within {FSCK_TIMEOUT_S} s", timed_out=True)
    output = said.decode("latin-1").replace(str(image), "IMAGE")
    return Fsck(exit=status, output=ELAPSED.sub("Done: SECONDS secs", output))
