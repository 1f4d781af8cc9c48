"""The states of every model that was asked for, once each, with their number and share."""

from collections import Counter
from pathlib import Path

import pytest

from harness.stages.explore import Explorer, StatePlan, may_write
from harness.stages.recover import Recovered
from harness.states.log import Entry, open_log
from harness.tests.stages.test_recover import Scene, written
from oracles.spec import model_of
from workloads.entries import EntryFlag

FLUSH = Entry(0, 0, EntryFlag.FLUSH)
MARK = Entry(0, 0, EntryFlag.MARK, b"", "done-1")
LONG = Entry(40, 4, 0, b"long".ljust(4 * 512, b"."))
ENTRIES = (written(0, b"one"), written(8, b"two"), LONG, FLUSH, MARK, written(16, b"three"), FLUSH)


def examined(
    folder: Path, state_plan: StatePlan, atomic_bytes: int = 512
) -> tuple[Explorer, list[Recovered]]:
    scene = Scene(folder, ENTRIES)
    with open_log(folder / "log.file") as log:
        examination = Explorer(state_plan, atomic_bytes, log, folder)
        return examination, list(examination.recovered(scene.recovery, folder / "base"))


def specs(found: list[Recovered], model: str) -> list[str]:
    return [one.spec for one in found if model_of(one.spec) == model]


def test_every_model_asked_for_in_order(tmp_path: Path) -> None:
    examination, found = examined(tmp_path, StatePlan(("O", "R", "T", "N", "A")))
    assert Counter(model_of(one.spec) for one in found) == examination.planned
    assert len({one.spec for one in found}) == len(found)
    assert specs(found, "R") == ["R:3-0", "R:3-1", "R:3-0,1", "R:3-0,2"]
    assert specs(found, "T") == ["T:3/1", "T:3/2", "T:3/3"]
    assert [one.model for one in examination.coverage] == ["R", "T", "N", "A"]


def test_model_o_ends_when_enough_was_seen(tmp_path: Path) -> None:
    """minimize asks thousands of workloads: each state behind the answer costs a recovery."""
    scene, asked = Scene(tmp_path, ENTRIES), iter([False, False, True])
    with open_log(tmp_path / "log.file") as log:
        explorer = Explorer(StatePlan(), 512, log, tmp_path, lambda: next(asked))
        found = list(explorer.recovered(scene.recovery, tmp_path / "base"))
    assert [one.spec for one in found] == ["O:0", "O:1"]


def test_model_o_alone_is_what_was_examined_before(tmp_path: Path) -> None:
    examination, found = examined(tmp_path, StatePlan())
    assert specs(found, "O") == [one.spec for one in found] == [f"O:{n}" for n in range(8)]
    assert (examination.planned, examination.coverage) == ({"O": 8}, ())


def test_of_equal_disks_the_last_is_recovered_for_n(tmp_path: Path) -> None:
    """More was promised to it: the mark says that a call had returned."""
    _, found = examined(tmp_path, StatePlan(("O", "N")))
    assert specs(found, "N") == [f"N:O:{n}/O:1" for n in (0, 1, 2, 5, 7)]


def test_n_alone_recovers_any_prefix(tmp_path: Path) -> None:
    examination, found = examined(tmp_path, StatePlan(("N",)))
    assert specs(found, "N") == [f"N:O:{n}/O:1" for n in (0, 1, 2, 5, 7)]
    assert examination.planned == {"N": 5}


def test_the_budget_holds_for_each_model(tmp_path: Path) -> None:
    examination, _ = examined(tmp_path, StatePlan(("O", "R", "T", "N"), budget=2))
    assert examination.planned == {"O": 8, "R": 2, "T": 2, "N": 2}


def test_a_unit_that_was_asked_for_counts_more_than_the_profiles(tmp_path: Path) -> None:
    _, found = examined(tmp_path, StatePlan(("T",)), atomic_bytes=1024)
    assert specs(found, "T") == ["T:3/2"]
    _, found = examined(tmp_path, StatePlan(("T",), atomic_bytes=512), atomic_bytes=1024)
    assert specs(found, "T") == ["T:3/1", "T:3/2", "T:3/3"]


@pytest.mark.parametrize(
    ("report", "may"),
    [
        (b'{"mount_errno":0,"tree":[]}', True),
        (b'{"mount_errno":5,"tree":[]}', False),
        (b'{"mount_errno":0,"tree":[],"untouched":true}', False),
        (b'{"death":"panic"}', False),
    ],
)
def test_only_a_recovery_that_may_write_is_recorded(report: bytes, may: bool) -> None:
    assert may_write(report) is may


def test_a_part_of_model_o_is_whole_disks_and_says_what_share_it_is(tmp_path: Path) -> None:
    """Three of the five disks of this log, one of each window, each with all its prefixes."""
    examination, found = examined(tmp_path, StatePlan(prefixes=3))
    assert specs(found, "O") == ["O:1", "O:3", "O:4", "O:5", "O:6", "O:7"]
    assert examination.planned == {"O": 6}
    (share,) = examination.coverage
    assert (share.model, share.examined, share.space) == ("O", 3, 5)
