"""
Run the commands of a document, in order, as its reader would.

In:       a Document, the checkout.
Out:      a sentence for each command that ends otherwise than the document says, or does not print what the
          document shows.
Not here: finding and parsing them (commands.py).

The commands of one document share a scratch folder that looks like a fresh checkout. Its .venv is ours, and
kernels come from the user's cache.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from harness.book.commands import Command, commands_of
from harness.book.documents import FILE, OF_COMMANDS, RUN, Block, Document

SHOWN_LINES = 30
ANYTHING = "..."
# What differs from run to run: names of runs; times, rates, shares and sizes; a process' number.
VARYING = (
    (re.compile(r"\b\d{8}T\d{6}Z-[0-9a-f]{4}\b"), "<run>"),
    (
        re.compile(r"\b[\d.,]+ ?(s|ms|µs|us|min|h|KiB|MiB|GiB|%|states/s|states per second)(?![\w/])"),
        r"<number> \1",
    ),
)
Tell = Callable[[str], None]


class Ended(msgspec.Struct, frozen=True):
    """status: as a shell has it, or None when the time was up. printed: both streams, as they came."""

    status: int | None
    printed: str


def run_document(document: Document, root: Path, tell: Tell = print) -> list[str]:
    """What went wrong; nothing when the document has no block to run."""
    if not any(block.mark and block.mark.what == RUN for block in document.blocks):
        return []
    with scratch(root) as folder:
        return [wrong for block in document.blocks for wrong in _block(document, block, folder, tell)]


def _block(document: Document, block: Block, folder: Path, tell: Tell) -> Iterator[str]:
    if block.mark is None:
        return
    if block.mark.what == FILE:
        place = folder / block.mark.file
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(block.text)
        return
    if block.mark.what != RUN or block.language not in OF_COMMANDS:
        return
    commands = commands_of(block.text, block.language, block.line)
    until = time.monotonic() + block.mark.timeout_s
    for command in commands:
        tell(f"{document.path}:{command.line}: {command.text}")
        expected = block.mark.exit if command is commands[-1] else 0
        ended = call(command.text, folder, max(1.0, until - time.monotonic()))
        for reason in differences(command, expected, ended):
            tail = "\n    ".join(ended.printed.splitlines()[-SHOWN_LINES:])
            yield f"{document.path}:{command.line}: {command.text}\n  {reason}\n  it printed:\n    {tail}"


def differences(command: Command, expected: int, ended: Ended) -> Iterator[str]:
    if ended.status is None:
        yield "it did not end in time"
    elif ended.status != expected:
        yield f"it ended {ended.status}; the document says {expected}"
    elif line := missing_line(command.output, ended.printed):
        yield f"it did not print, in this place: {line}"


def missing_line(shown: Sequence[str], printed: str) -> str:
    """The first line shown that is not printed behind the ones before it; "" when all are."""
    lines = iter([plain(line) for line in printed.splitlines()])
    for line in shown:
        wanted = plain(line)
        if not wanted or wanted == ANYTHING:
            continue
        pattern = re.compile(".*".join(re.escape(part) for part in wanted.split(ANYTHING)))
        if not any(pattern.fullmatch(each) for each in lines):
            return line.strip()
    return ""


def plain(line: str) -> str:
    """Blanks collapsed, and what varies made equal."""
    line = " ".join(line.split())
    for pattern, instead in VARYING:
        line = pattern.sub(instead, line)
    return line


def call(text: str, folder: Path, timeout_s: float) -> Ended:
    """One command in a shell of its own; what it started and left running is ended with it."""
    environment = os.environ | {
        "PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}",
        "TERM": "dumb",
        "COLUMNS": "120",
        "PYTHONUNBUFFERED": "1",
    }
    for name in ("PYTHONPATH", "PYTEST_CURRENT_TEST", "VIRTUAL_ENV"):  # the scratch checkout's own modules
        environment.pop(name, None)
    with subprocess.Popen(
        ["bash", "-c", text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                printed, _ = process.communicate(timeout=30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                printed, _ = process.communicate()
            return Ended(None, printed)
    return Ended(process.returncode, printed)


@contextmanager
def scratch(root: Path) -> Iterator[Path]:
    """A copy of the checkout: what git would commit, with the environment that we run in."""
    with tempfile.TemporaryDirectory(prefix="powercut-book-") as name:
        folder = Path(name) / "powercut"
        folder.mkdir()
        for path in files_of(root):
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, place, follow_symlinks=False)
        environment = root / ".venv"
        if environment.exists():
            (folder / ".venv").symlink_to(environment.resolve())
        yield folder


def files_of(root: Path) -> list[Path]:
    """Tracked files, and new ones that are not ignored, that are there."""
    listed = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={root}",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ],
        cwd=root,
        capture_output=True,
        check=True,
    ).stdout.decode()
    return [Path(name) for name in listed.split("\0") if name and (root / name).is_file()]
