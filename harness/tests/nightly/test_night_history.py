"""The history of nights: its schema moves on step by step, and it answers what a plan asks."""

import sqlite3

import pytest

from harness.nightly.history import STEPS, VERSION, BadHistory, Last, open_history


@pytest.fixture
def history(tmp_path):
    with open_history(tmp_path / "nightly.db") as made:
        yield made


def ran(history, night, workload, verdict="HOLDS", seconds=2.0):
    history.put(
        "experiment",
        night=night,
        kernel="next",
        profile="btrfs",
        workload=workload,
        round=0,
        number=1,
        hash="h",
        powercut="p",
        bounds="",
        seconds=seconds,
        states=9,
        verdict=verdict,
    )


def test_an_empty_file_gets_the_newest_schema(tmp_path, history):
    version = sqlite3.connect(tmp_path / "nightly.db").execute("PRAGMA user_version").fetchone()[0]
    assert version == VERSION == len(STEPS)


def test_a_history_of_an_older_version_keeps_its_rows_and_gets_the_next_step(tmp_path):
    path = tmp_path / "nightly.db"
    with open_history(path) as before:
        ran(before, 1, "a")
    with open_history(path, (*STEPS, "ALTER TABLE experiment ADD COLUMN bytes INTEGER DEFAULT 7")) as after:
        assert [row["bytes"] for row in after.rows("SELECT bytes FROM experiment")] == [7]
    with (
        pytest.raises(BadHistory, match=f"schema version {VERSION + 1}, written by a newer Powercut"),
        open_history(path),
    ):
        pass


def test_a_step_that_fails_changes_nothing(tmp_path):
    path = tmp_path / "nightly.db"
    with open_history(path):
        pass
    broken = "CREATE TABLE more (a); CREATE TABLE night (b)"
    with pytest.raises(BadHistory, match="night"), open_history(path, (*STEPS, broken)):
        pass
    with open_history(path) as after:
        assert not after.rows("SELECT name FROM sqlite_master WHERE name = 'more'")


def test_a_file_that_is_no_database_is_told(tmp_path):
    (tmp_path / "nightly.db").write_text("no database, but long enough to be looked at" * 9)
    with (
        pytest.raises(BadHistory, match="cannot be read as a history"),
        open_history(tmp_path / "nightly.db"),
    ):
        pass


def test_the_last_run_of_each_workload(history):
    ran(history, 1, "a")
    ran(history, 2, "a", "BROKEN", 3.0)
    ran(history, 1, "b")
    assert history.last_runs("next", "btrfs") == {
        "a": Last(2, "h", "p", "BROKEN", 3.0),
        "b": Last(1, "h", "p", "HOLDS", 2.0),
    }
    assert history.last_runs("next", "xfs") == {}


def test_what_failed_in_the_last_nights_that_ran_anything(history):
    for night, workload in ((1, "old"), (3, "older"), (5, "new")):
        ran(history, night, workload, "BROKEN")
    ran(history, 5, "good")
    assert history.failed_since("next", "btrfs", 2) == {"new", "older"}
