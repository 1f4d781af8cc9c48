"""Workers that are killed: their task is done again once, and no other is lost."""

import os
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from harness.runs import pool
from harness.runs.pool import Lost, Pool, PoolFailed, Said


def work(folder: Path, line: Connection) -> None:
    """A task is a number; "die" of it is a file that says how many workers may still die over it."""
    while True:
        number = line.recv()
        line.send(Said("said", os.getpid()))
        dying = folder / f"die-{number}"
        if dying.exists():
            left = int(dying.read_text()) - 1
            dying.write_text(str(left)) if left else dying.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        if number == -1:
            line.send(Said("failed", "no room"))
        line.send(Said("done", (number, os.getpid())))


def done_by(folder: Path, tasks: list[int], jobs: int = 2) -> tuple[list[int], list[Lost[int]], int]:
    """What was done, in order of the tasks; what was lost; how many workers died."""
    done, lost = [], []
    with Pool[int](work, [folder] * jobs) as workers:
        for task, said in workers.perform(tasks):
            if isinstance(said, Lost):
                lost.append(said)
            elif said.kind == "done":
                assert said.content[0] == task
                done.append(task)
    return sorted(done), lost, workers.deaths


def test_tasks_are_shared_out(tmp_path: Path) -> None:
    assert done_by(tmp_path, list(range(20))) == (list(range(20)), [], 0)


def test_a_task_whose_worker_is_killed_is_done_again_by_another(tmp_path: Path) -> None:
    (tmp_path / "die-3").write_text("1")
    assert done_by(tmp_path, list(range(6))) == (list(range(6)), [], 1)


def test_the_only_worker_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "die-0").write_text("1")
    (tmp_path / "die-2").write_text("1")
    assert done_by(tmp_path, [0, 1, 2], jobs=1) == ([0, 1, 2], [], 2)


def test_a_task_over_which_two_workers_die_is_lost_alone(tmp_path: Path) -> None:
    (tmp_path / "die-1").write_text("9")
    assert done_by(tmp_path, list(range(5))) == ([0, 2, 3, 4], [Lost(1, "killed by signal 9")], 2)


def test_a_worker_killed_while_idle_takes_nothing_with_it(tmp_path: Path) -> None:
    """It has nothing to do when the others' last task is under way."""
    with Pool[int](work, [tmp_path] * 2) as workers:
        seen: list[int] = []
        for _, said in workers.perform([0, 1]):
            assert isinstance(said, Said)
            if said.kind == "done":
                seen.append(said.content[0])
                if len(seen) == 2:
                    os.kill(said.content[1], signal.SIGKILL)
                    time.sleep(0.1)
        seen += [said.content[0] for _, said in workers.perform([2, 3]) if said.kind == "done"]  # type: ignore[union-attr]
    assert sorted(seen) == [0, 1, 2, 3]
    assert workers.deaths == 1


def test_when_no_more_is_wanted_what_is_under_way_is_done_and_nothing_else_is_begun(tmp_path: Path) -> None:
    asked: list[int] = []

    def more() -> bool:
        asked.append(len(asked))
        return len(asked) <= 3

    with Pool[int](work, [tmp_path] * 2) as workers:
        done = [task for task, said in workers.perform(range(9), more) if said.kind == "done"]  # type: ignore[union-attr]
    assert sorted(done) == [0, 1, 2]
    assert len(asked) == 4


def test_when_nothing_is_wanted_nothing_is_begun(tmp_path: Path) -> None:
    with Pool[int](work, [tmp_path]) as workers:
        assert list(workers.perform([0, 1], lambda: False)) == []


def test_a_worker_that_says_that_nothing_can_go_on_ends_all(tmp_path: Path) -> None:
    with pytest.raises(PoolFailed, match="no room"):
        done_by(tmp_path, [0, -1, 1])


def test_workers_that_all_die_are_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "DEATHS_MAX", 4)
    for number in range(9):
        (tmp_path / f"die-{number}").write_text("9")
    with pytest.raises(PoolFailed, match="4 workers died in a row; the last one killed by signal 9"):
        done_by(tmp_path, list(range(9)))


def test_no_process_is_left(tmp_path: Path) -> None:
    with Pool[int](work, [tmp_path] * 2) as workers:
        pids = {said.content for _, said in workers.perform([0, 1, 2]) if said.kind == "said"}  # type: ignore[union-attr]
    assert pids
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
