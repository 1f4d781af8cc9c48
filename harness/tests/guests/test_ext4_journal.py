"""harness/guests/ext4_journal.py: a journal that goes on just before its end, by the tools of ext4."""

import subprocess
from pathlib import Path

import pytest

from harness.guests.ext4_journal import NoFreshJournal, end_journal
from harness.guests.filesystem import find_tool, make_filesystem
from oracles.profiles import profile


def printed(image: Path) -> dict[str, str]:
    tool = find_tool("dumpe2fs", "e2fsprogs")
    said = subprocess.run([tool, "-h", image], capture_output=True, text=True, check=True).stdout
    return dict(line.split(":", 1) for line in said.splitlines() if line.startswith("Journal "))


def debugfs() -> str:
    return find_tool("debugfs", "e2fsprogs")


def test_the_journal_is_clean_and_its_numbers_are_nearly_used_up(tmp_path: Path) -> None:
    make_filesystem(profile("ext4-log-end"), tmp_path / "image")
    found = printed(tmp_path / "image")
    assert found["Journal sequence"].strip() == "0xfffffffc"
    assert found["Journal start"].strip() == "0"


def test_the_checker_finds_nothing(tmp_path: Path) -> None:
    one = profile("ext4-log-end")
    make_filesystem(one, tmp_path / "image")
    checker = [find_tool(one.fsck[0], one.package), *one.fsck[1:], str(tmp_path / "image")]
    assert subprocess.run(checker, capture_output=True, check=False).returncode == 0


def test_a_fresh_journal_begins_with_the_first_number(tmp_path: Path) -> None:
    """Without it this profile would be ext4."""
    make_filesystem(profile("ext4"), tmp_path / "image")
    assert printed(tmp_path / "image")["Journal sequence"].strip() == "0x00000001"


def test_an_image_without_such_a_journal_is_left_as_it_is(tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    with pytest.raises(NoFreshJournal, match="no first block"):
        end_journal(image, 24, debugfs())
    make_filesystem(profile("ext4"), image)
    before = image.read_bytes()
    for left in (0, 4096):
        with pytest.raises(NoFreshJournal, match="cannot end"):
            end_journal(image, left, debugfs())
    assert image.read_bytes() == before
