"""The preloaded library writes down which blocks of an image a program read."""

import subprocess
import sys
from pathlib import Path

import pytest

from harness.guests.checker_reads import blocks_read, environment
from harness.states.disk import BLOCK_BYTES

COUNT = 20
MAPS = "import mmap, sys; file = open(sys.argv[1], 'r+b'); mmap.mmap(file.fileno(), 0)[5 * 4096]"
KILLED = "import os, sys; os.pread(os.open(sys.argv[1], os.O_RDONLY), 10, 0); os.kill(os.getpid(), 9)"
READS = "import os, sys; os.pread(os.open(sys.argv[1], os.O_RDONLY), 10, 3 * 4096)"


@pytest.fixture
def image(tmp_path: Path) -> Path:
    (tmp_path / "image").write_bytes(bytes(COUNT * BLOCK_BYTES))
    return tmp_path / "image"


def read_by(command: list[str], image: Path) -> tuple[int, ...] | None:
    reads = image.with_name("reads")
    reads.unlink(missing_ok=True)
    variables = {"PATH": "/usr/bin:/bin"} | environment(image, reads)
    subprocess.run(command, env=variables, stdout=subprocess.DEVNULL, check=False)
    return blocks_read(reads, image.stat().st_size)


def test_blocks_are_told_that_a_read_touches(image: Path) -> None:
    assert read_by(["head", "-c", "5000", str(image)], image) == (0, 1)


def test_a_read_stands_where_the_program_has_moved_to(image: Path) -> None:
    assert read_by(["tail", "-c", "1", str(image)], image) == (COUNT - 1,)


def test_reads_of_other_files_do_not_count(image: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"x" * BLOCK_BYTES)
    assert read_by(["head", "-c", "5000", str(tmp_path / "other")], image) == ()


def test_a_program_that_maps_the_image_has_no_answer(image: Path) -> None:
    assert read_by([sys.executable, "-c", MAPS, str(image)], image) is None


@pytest.mark.parametrize("script", ["head -c 1 $1; head -c 1 $1", "exec head -c 1 $1"], ids=["child", "exec"])
def test_a_program_that_lets_another_read_has_no_answer(image: Path, script: str) -> None:
    assert read_by(["sh", "-c", script, "sh", str(image)], image) is None


def test_a_program_that_is_killed_has_no_answer(image: Path) -> None:
    assert read_by([sys.executable, "-c", READS, str(image)], image) == (3,)
    assert read_by([sys.executable, "-c", KILLED, str(image)], image) is None


def test_an_answer_about_another_size_is_none(image: Path) -> None:
    read_by(["head", "-c", "1", str(image)], image)
    assert blocks_read(image.with_name("reads"), BLOCK_BYTES) is None


@pytest.mark.parametrize("kept_bytes", [0, 10, 24, 31])
def test_half_an_answer_is_none(image: Path, kept_bytes: int) -> None:
    reads = image.with_name("reads")
    assert read_by(["head", "-c", "1", str(image)], image) == (0,)
    reads.write_bytes(reads.read_bytes()[:kept_bytes])
    assert blocks_read(reads, image.stat().st_size) is None
