"""What a recorded test of fstests left in its log, without a guest: what is asked, and what comes back."""

from pathlib import Path

import pytest

from harness.fstests.recording import MADE, OWN_LOG, RECORD, SCRATCH_BYTES
from harness.local.progress import Progress
from harness.runs import recorded_tests
from harness.runs.recorded_tests import examiner
from harness.stages.elsewhere import BadSource
from harness.states.log import Entry, write_log
from reports.results import AnswerCounts, Finding, KnownAs, StateCounts, Summary
from workloads.entries import EntryFlag

FINDING = Finding(
    "F1",
    "btrfs fsck: x",
    "fsck",
    "",
    "",
    "",
    "",
    "",
    "",
    1,
    "O:1",
    "",
    "",
    "",
    "",
    1,
    (),
    "",
    (KnownAs("BTRFS-1", "t"),),
)
SUMMARY = Summary(1, 1, StateCounts(3, 2, 1), 3, {"fsck": AnswerCounts(2, 1, 0)}, (FINDING,), {})


@pytest.fixture
def space(tmp_path: Path) -> Path:
    """The devices behind a test that recorded three writes."""
    folder = tmp_path / "space"
    folder.mkdir()
    (folder / OWN_LOG).write_bytes(bytes(4096))
    writes = [Entry(8 * at, 8, EntryFlag.FUA, bytes(4096)) for at in range(3)]
    write_log(folder / RECORD, [Entry(0, 0, EntryFlag.MARK, b"", f"{MADE}-mkfs.btrfs-1"), *writes])
    return folder


def test_each_filesystem_of_the_log_is_examined(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def opened(source, scratch):
        assert source.base.stat().st_size == SCRATCH_BYTES
        asked.append((source.first, source.last, source.profile))
        return "the log"

    def explored(foreign, question, scratch, out, progress):
        asked.append((question.kernel, question.config, question.state_plan.prefixes))
        return out / "a-run", SUMMARY

    monkeypatch.setattr(recorded_tests, "open_source", opened)
    monkeypatch.setattr(recorded_tests, "explore", explored)
    examine = examiner(tmp_path / "run", ("debug",), 500, (), Progress(quiet=True))
    (life,) = examine(space, "6.12", "generic/547", "btrfs")
    assert asked == [(f"{MADE}-mkfs.btrfs-1", "", "btrfs"), ("6.12", ("fstests", "debug"), 500)]
    assert (life.entries, life.states, life.exit) == (3, 3, 1)
    assert life.verdicts == {"fsck": (2, 1, 0)}
    assert life.findings == ("btrfs fsck: x (BTRFS-1)",)
    assert life.folder == "records/btrfs-generic-547/a-run"


def test_a_log_that_cannot_be_examined_says_why(
    space: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(source, scratch):
        raise BadSource("it holds no filesystem")

    monkeypatch.setattr(recorded_tests, "open_source", opened)
    examine = examiner(tmp_path / "run", (), 0, (), Progress(quiet=True))
    (life,) = examine(space, "6.12", "generic/547", "btrfs")
    assert (life.exit, life.trouble) == (3, "it holds no filesystem")
    assert not list(space.iterdir())  # before the examination: it needs their memory
    for name in (OWN_LOG, RECORD):
        (space / name).write_bytes(bytes(4096))
    (lost,) = examine(space, "6.12", "generic/547", "btrfs")
    assert "not a dm-log-writes log" in lost.trouble
