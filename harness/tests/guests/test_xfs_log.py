"""harness/guests/xfs_log.py: a log that goes on just before its end, by the tools of XFS."""

import re
import subprocess
from pathlib import Path

import pytest

from harness.guests.filesystem import find_tool, make_filesystem
from harness.guests.xfs_log import LOOKED_AT, NoFreshLog, _halves, end_log
from oracles.profiles import profile

BLOCKS = (64 << 20) // 512


def printed(image: Path) -> str:
    tool = find_tool("xfs_logprint", "xfsprogs")
    return subprocess.run([tool, "-t", image], capture_output=True, text=True, check=True).stdout


def test_the_log_goes_on_there_and_is_clean(tmp_path: Path) -> None:
    make_filesystem(profile("xfs-log-end"), tmp_path / "image")
    head = BLOCKS - profile("xfs-log-end").log_left
    assert re.search(rf"log tail: {head} head: {head} state: <CLEAN>", printed(tmp_path / "image"))


def test_the_checker_finds_nothing(tmp_path: Path) -> None:
    one = profile("xfs-log-end-256k")
    make_filesystem(one, tmp_path / "image")
    checker = [find_tool(one.fsck[0], one.package), *one.fsck[1:], str(tmp_path / "image")]
    assert subprocess.run(checker, capture_output=True, check=False).returncode == 0


def test_a_fresh_log_begins_at_its_begin(tmp_path: Path) -> None:
    """Without it this profile would be xfs."""
    make_filesystem(profile("xfs"), tmp_path / "image")
    assert re.search(r"log tail: 2 head: 2 state: <CLEAN>", printed(tmp_path / "image"))


def test_an_image_without_such_a_log_is_left_as_it_is(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(4096))
    with pytest.raises(NoFreshLog, match="has no XFS superblock"):
        end_log(image, 10)
    make_filesystem(profile("xfs"), image)
    before = image.read_bytes()
    for left in (BLOCKS, BLOCKS - LOOKED_AT):
        with pytest.raises(NoFreshLog, match="cannot end"):
            end_log(image, left)
    assert image.read_bytes() == before
    end_log(image, 10)
    with pytest.raises(NoFreshLog, match="does not begin with a record"):
        end_log(image, 10)


@pytest.mark.parametrize("found", [0, 5, 100, LOOKED_AT - 1])
def test_every_block_by_which_recovery_halves_has_its_cycle(found: int) -> None:
    """xlog_find_cycle_start(), for a head that is already in the next cycle."""
    written = {*_halves(BLOCKS, BLOCKS - 12), *range(LOOKED_AT)}
    first, last = 0, BLOCKS - 1
    while first < (middle := (first + last) // 2) < last:
        assert middle in written
        first, last = (first, middle) if middle >= found else (middle, last)


@pytest.mark.parametrize("head", [BLOCKS - 12, BLOCKS - 5, BLOCKS - 2])
def test_and_for_a_head_that_is_still_before_the_end(head: int) -> None:
    """xlog_find_zeroed(): the blocks behind the head have no cycle yet."""
    written = {*_halves(BLOCKS, BLOCKS - 12), *range(BLOCKS - 12 - LOOKED_AT, head)}
    first, last = 0, BLOCKS - 1
    while first < (middle := (first + last) // 2) < last:
        assert middle in written or middle >= head
        first, last = (first, middle) if middle < head else (middle, last)
