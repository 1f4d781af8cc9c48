"""
A history need not come from the text of a workload: steps, marks, a base disk and a log are enough.

The source of this test is a program that was watched while it saved a file: what it called and where the log
had a mark then, as a tracer would write it down.
"""

from pathlib import Path

import msgspec
import pytest

from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import Setting
from harness.stages.explore import StatePlan
from harness.stages.judge import Judge
from harness.stages.record import Recording, cut
from harness.stages.recover import Recovered
from harness.states.disk import BLOCK_BYTES
from harness.states.log import Entry, open_log, write_log
from harness.tests.fake_guest import FakeGuestSlot
from oracles.case import prepare
from oracles.observation import Observation, Tree
from oracles.profiles import profile
from oracles.tests.made import kinds, tree_of, without
from oracles.verdict import Answer, Tier, Verdict
from workloads.entries import EntryFlag
from workloads.history import History, Step, history_of
from workloads.workload import Operation

SIZE_BYTES = 64 * BLOCK_BYTES
EXT4 = msgspec.structs.replace(profile("ext4"), size_bytes=SIZE_BYTES)
CALLS = (
    Step(0, Operation("mkdir", path="home"), 0, inode=12),
    Step(1, Operation("creat", path="home/save.tmp"), 0, inode=13),
    Step(2, Operation("fsync", path="home/save.tmp"), 0, inode=13),
    Step(3, Operation("rename", path="home/save.tmp", path2="home/save"), 0, inode=13),
    Step(4, Operation("fsync", path="home"), 0, inode=12),
)


def mark(text: str) -> Entry:
    return Entry(0, 0, EntryFlag.MARK, mark=text)


def call(index: int, *entries: Entry) -> list[Entry]:
    return [mark(f"begin-{index}"), *entries, mark(f"done-{index}")]


def written(sector: int, letter: bytes, flags: int = 0) -> Entry:
    return Entry(sector, 1, flags, letter * 512)


FLUSH = EntryFlag.FLUSH
LOG = (
    *(written(0, b"m"), mark("home is made"), mark("watched from here")),
    *(*call(1), *call(2, written(8, b"i"), written(9, b"c", FLUSH))),
    *(*call(3), written(16, b"x"), *call(4, written(17, b"r", FLUSH)), mark("program ended")),
)


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    """From the log of the whole program; what it did first is on the base disk."""
    (tmp_path / "fresh").write_bytes(bytes(SIZE_BYTES))
    write_log(tmp_path / "log", LOG)
    with open_log(tmp_path / "log") as log:
        part = cut(log, tmp_path / "fresh", tmp_path, "watched from here", "program ended")
    history = history_of(
        CALLS[:1],
        CALLS[1:],
        part.marks,
        part.entry_count,
        profile="ext4",
        kernel="6.12",
        root_inode=2,
        name="editor",
    )
    return Recording(part.base, part.log, history, {}, ())


def trees(history: History) -> list[Tree]:
    """What the filesystem held after each call, from the first one watched on."""
    model = prepare(history, EXT4, Tier.FS).model
    assert model is not None
    return [tree_of(model, time, "ext4") for time in range(1, len(CALLS) + 1)]


def judged(judge: Judge, prefix: int, tree: Tree) -> dict[str, Verdict]:
    """By oracle."""
    observation = msgspec.json.encode(Observation(tree=tree, probe_steps=1))
    return {one.oracle: one for one in judge.add(Recovered(f"O:{prefix}", prefix, "", observation))}


def test_the_disk_and_the_log_are_cut_at_any_two_marks(recording: Recording) -> None:
    assert recording.base.read_bytes()[:512] == b"m" * 512
    with open_log(recording.log) as log:
        assert tuple(log.entries()) == LOG[3:-1]
    assert [op.word for op in recording.history.workload.run] == ["creat", "fsync", "rename", "fsync"]


def test_its_states_are_judged_like_those_of_a_workload(recording: Recording) -> None:
    """What was fsynced must be there; the rename may be there or not until its directory was fsynced."""
    history = recording.history
    start, created, _, renamed, _ = trees(history)
    judge = Judge(history, EXT4, Tier.FS)
    end = history.entry_count
    fsynced = next(step for step in history.run if step.index == 2).end_entry + 1
    sound = ((0, start), (fsynced, created), (end - 1, created), (end - 1, renamed), (end, renamed))
    for prefix, tree in sound:
        found = judged(judge, prefix, tree)
        assert {found[name].answer for name in ("durable", "atomic", "historical")} == {Answer.HOLDS}
        assert [one for one in found.values() if one.answer is Answer.BROKEN] == []
    lost = ((fsynced, start), (end, created), (end, without(renamed, "home/save")))
    assert [judged(judge, *state)["durable"].answer for state in lost] == [Answer.BROKEN] * len(lost)
    assert kinds(judged(judge, end, created)["durable"]) == {"name lost", "name came back"}


def test_every_state_of_its_log_is_recovered(recording: Recording, tmp_path: Path) -> None:
    """By the same way as a workload's, from the right bytes."""
    setting = Setting(
        FakeGuestSlot(tmp_path, SIZE_BYTES), EXT4, Tier.FS, "6.12", tmp_path / "fresh", tmp_path, False
    )
    with open_log(recording.log) as log:
        examination = CrashStates(setting, recording, log, StatePlan())
        found = [one.spec for one in examination.judged()]
    assert found == [f"O:{prefix}" for prefix in range(recording.history.entry_count + 1)]
    logs = [one.kernel_log for one in examination.ledger.seen]
    assert len(set(logs)) == 5  # the base, and after each of four writes
