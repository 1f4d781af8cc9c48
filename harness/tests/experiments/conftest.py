"""Disks of a small log, for the tests of what is done to the blocks of states."""

from pathlib import Path

import pytest

from harness.states.disk import BLOCK_BYTES
from harness.states.log import Entry, open_log, write_log
from harness.states.rebuild import Rebuilding
from workloads.entries import EntryFlag

FULL = bytes([7]) * BLOCK_BYTES


@pytest.fixture
def disks(tmp_path: Path):
    """Blocks 0 to 3 full, 4 to 7 zeros; then a log that writes blocks 1 and 5."""
    (tmp_path / "base").write_bytes(4 * FULL + bytes(4 * BLOCK_BYTES))
    entries = [Entry(8 * block, 8, EntryFlag.FUA, bytes([9]) * BLOCK_BYTES) for block in (1, 5)]
    write_log(tmp_path / "log", entries)
    with open_log(tmp_path / "log") as log, Rebuilding(tmp_path / "base", log) as rebuilding:
        yield rebuilding
