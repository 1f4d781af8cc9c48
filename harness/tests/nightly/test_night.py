"""A night: what it runs, that it goes on, keeps its budget, compares, tells; guests are made up."""

import itertools
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from harness.bisect.bisect import Hunt, Record
from harness.bisect.git import Commit
from harness.bisect.step import BisectStep, Seen
from harness.evidence.named import Explained
from harness.evidence.store import RunInUse, new_run, only_one, write_summary
from harness.evidence.summary import sum_up
from harness.local.progress import Progress
from harness.local.root import ROOT
from harness.nightly import compare, followups, night, plan, trees
from harness.nightly.compare import STEPS
from harness.nightly.file import parse
from harness.nightly.followups import Ended, Setting, follow
from harness.nightly.history import NAME, open_history
from harness.nightly.night import do_night, share
from harness.nightly.results import night_of
from harness.runs.run import RunSpec, keep_left
from harness.tests.made_run import ENTRY_COUNT, asked, judged, keep, seen
from kernel import cache
from kernel.kernel import BuildFailed, Unbuildable
from kernel.prune import prune
from oracles.profiles import profile
from reports import formats
from reports.nights.results import FLAKY, GONE, NEW, SAME
from reports.pages import nights
from reports.results import Repeat, read_experiment
from workloads.library import select

QUIET = Progress(quiet=True)
LOST = "btrfs durable: name lost (fsynced file)"
FILE = """\
budget = "1h"
workloads = ["replace-by-rename", "truncate-then-fsync"]
hook = 'cat >"hook-$POWERCUT_EVENT-$POWERCUT_NIGHT"'
[[kernel]]
name = "next"
tree = "linux"
branch = "for-next"
"""


def git(place: Path, *words: str) -> str:
    settings = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", "-C", place, *settings, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


class World:
    """A tree whose branch moves, and kernels that break promises."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tree = folder / "linux"
        self.broken: set[str] = set()
        self.trouble: Exception | None = None
        self.runs: list[tuple[str, ...]] = []
        self.stop_after = math.inf
        self.text = FILE
        (self.tree / "arch/um").mkdir(parents=True)
        for name in ("Kconfig", "arch/um/Kconfig"):
            (self.tree / name).touch()
        (self.tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
        git(self.tree, "init", "--quiet", "--initial-branch=for-next")
        git(self.tree, "add", ".")
        self.commit("a kernel")

    def commit(self, subject: str) -> str:
        git(self.tree, "commit", "--quiet", "--allow-empty", "-m", subject)
        return git(self.tree, "rev-parse", "HEAD")

    def run_spec_of(self, words: list[str]) -> RunSpec:
        names = {one.name for one in select(())}
        files = [word for word in words if word.endswith(".workload")]
        order = select(tuple(word for word in words if word in names or word in files)) if names else ()
        kernel = words[words.index("--kernel") + 1]
        return RunSpec(tuple(order), (profile("btrfs"),), (kernel,), command=("powercut", *words))

    def run(self, run_spec, out, progress, resume=None, more=lambda: True):
        """In place of runs.run.run()."""
        if self.trouble is not None:
            raise self.trouble
        question = msgspec.structs.replace(
            asked(run_spec.command, len(run_spec.workloads)),
            workloads=tuple(one.name for one in run_spec.workloads),
            kernels={run_spec.kernels[0]: {"arch": "um", "compiler": "gcc", "build_s": 9.0}},
        )
        folder = resume or new_run(out, question)
        done = []
        for number, workload in enumerate(run_spec.workloads, 1):
            if (folder / f"experiments/{number:04d}").exists():
                continue
            if not more():
                break
            done.append(workload.name)
            self.keep(folder, number, workload.name)
            if len(done) == self.stop_after:
                raise KeyboardInterrupt
        self.runs.append(tuple(done))
        plans = [Named(number, each) for number, each in enumerate(run_spec.workloads, 1)]
        keep_left(folder, plans)
        summary = sum_up(folder, 2.0)
        write_summary(folder, summary)
        return folder, summary

    def keep(self, folder: Path, number: int, name: str) -> None:
        wrong = {ENTRY_COUNT: seen(0)} if name in self.broken else {}
        place = keep(folder, number, judged(wrong))
        facts = msgspec.structs.replace(read_experiment(place).facts, workload=name)
        (place / "experiment.json").write_bytes(formats.encode("experiment.json", facts))

    def night(self):
        file = parse(self.text, self.folder / "nightly.toml")
        return do_night(file, self.run_spec_of, QUIET)[1]


class Named(msgspec.Struct):
    """What keep_left() asks of a Plan."""

    number: int
    workload: object
    profile: object = profile("btrfs")
    kernel: str = "next"


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(night, "run", made.run)
    monkeypatch.setattr(night, "follow", lambda *_: None)
    monkeypatch.setattr(night.version, "commit", lambda: "abc")
    monkeypatch.setattr(nights, "charts", lambda *_: [])  # they take 0.5 s
    return made


def repeats(monkeypatch, shown: int) -> None:
    """So many of five more recordings show it."""

    def repeated(experiment, signatures, times, progress, **_):
        return {one: (Repeat("next", shown, times, True),) for one in signatures}

    monkeypatch.setattr(compare, "repeated", repeated)


# --- what is run ---------------------------------------------------------------------------------


def test_a_first_night_runs_everything_and_ends_0(world):
    found = world.night()
    assert (found.exit, len(found.experiments), found.trouble) == (0, 2, ())
    assert {one.reason for one in found.experiments} == {"never run"}
    assert (world.folder / "nights/latest/night.json").is_file()
    assert (world.folder / "nights/index.html").is_file()
    assert not list(world.folder.glob("hook-*"))


def test_a_branch_that_has_not_moved_is_skipped_and_one_that_has_is_not(world):
    world.night()
    still = world.night()
    assert still.kernels[0].skipped == "for-next has not moved since night 1"
    assert (still.exit, still.cells) == (0, ())
    commit = world.commit("a change")
    moved = world.night()
    assert (moved.kernels[0].hash, moved.kernels[0].skipped) == (commit, "")
    assert {one.reason for one in moved.experiments} == {"rotation"}


def test_another_powercut_runs_what_has_not_moved(world, monkeypatch):
    world.night()
    monkeypatch.setattr(night.version, "commit", lambda: "def")
    assert {one.reason for one in world.night().experiments} == {"changed"}


def test_a_kernel_may_go_on_with_its_rotation(world):
    world.night()
    world.text += 'unmoved = "run"\n'
    assert len(world.night().experiments) == 2


def test_what_failed_comes_first(world):
    world.broken = {"truncate-then-fsync"}
    world.night()
    world.commit("a change")
    world.night()
    assert world.runs[-1][0] == "truncate-then-fsync"


def test_a_branch_that_is_rebased_loses_no_commit_of_a_night(world):
    first = world.night().kernels[0].hash
    git(world.tree, "checkout", "--quiet", "--orphan", "other")
    git(world.tree, "branch", "--quiet", "-D", "for-next")
    git(world.tree, "checkout", "--quiet", "-b", "for-next")
    world.commit("written anew")
    git(world.tree, "reflog", "expire", "--expire=now", "--all")
    git(world.tree, "gc", "--quiet", "--prune=now")
    world.night()
    assert trees.commit(trees.place(str(world.tree)), first).subject == "a kernel"


# --- the copy of a tree in the cache --------------------------------------------------------------


FETCH = """\
import sys
from harness.nightly import trees
print(trees.fetch(sys.argv[1], "for-next").folder, flush=True)
sys.stdin.read()
"""


def test_a_copy_stays_while_a_night_lives_and_goes_afterwards_without_harm_to_the_tree(world):
    """git knows of no clone, so there is nothing to be set right in the user's repository."""
    with subprocess.Popen(
        [sys.executable, "-c", FETCH, world.tree],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        copy = Path(process.stdout.readline().strip())
        assert prune(keep_bytes=0)[0] == []
        process.communicate("")
    assert [Path(thing.path) for thing in prune(keep_bytes=0)[0]] == [copy]
    assert not copy.exists()
    assert git(world.tree, "fsck", "--full", "--strict") == ""
    assert git(world.tree, "worktree", "list", "--porcelain").count("worktree ") == 1
    assert trees.fetch(str(world.tree), "for-next").folder == copy


def test_a_night_that_goes_on_uses_its_copies_again(world):
    world.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        world.night()
    copy = trees.place(str(world.tree))
    os.close(cache._in_use.pop(copy))  # as the end of the process does
    world.stop_after = math.inf
    world.night()
    assert copy in cache._in_use


def test_what_is_gone_of_a_copy_is_told(world):
    commit = world.commit("a change")
    fetched = trees.fetch(str(world.tree), "for-next")
    assert trees.gone(fetched.folder, commit) == ""
    assert "commit 000000000000 is not in" in trees.gone(fetched.folder, commit, "0" * 40)
    assert (
        trees.gone(world.folder / "a.git", commit) == f"{world.folder / 'a.git'} was removed from the cache"
    )


def test_further_runs_have_generated_workloads_and_leave_no_folder_when_they_show_nothing(world, monkeypatch):
    monkeypatch.setattr(plan, "GENERATED_MAX", 2)
    turns = iter([*[True] * 4, True, *[True] * 2, True, *[True] * 2, False])
    monkeypatch.setattr(night, "share", lambda *_: lambda: next(turns))
    world.text = 'generated = ["ace:1"]\n' + world.text
    found = world.night()
    assert [len(done) for done in world.runs] == [4, 2, 2]
    assert [one.reason for one in found.experiments].count("generated") == 6
    assert len({one.workload for one in found.experiments}) == 8
    assert found.cells[0].further == ()
    assert len(list((world.folder / "nights/0001/next/btrfs").iterdir())) == 1


def test_small_bounds_are_run_once_a_night(world, monkeypatch):
    monkeypatch.setattr(plan, "GENERATED_MAX", 2)
    monkeypatch.setattr(night, "share", lambda *_: lambda: True)
    three = [msgspec.structs.replace(one, name=f"made-{at}") for at, one in enumerate(select(())[:3])]
    round_and_round = [(place, three[place % 3]) for place in range(9)]
    monkeypatch.setattr(plan, "rotation", lambda _bounds, _seed, start: iter(round_and_round[start:]))
    world.text = 'generated = ["ace:1"]\n' + world.text
    found = world.night()
    assert [len(done) for done in world.runs] == [4, 1]
    assert len(found.experiments) == 5


def test_a_further_run_that_shows_something_is_kept_and_its_workload_comes_first_next_night(
    world, monkeypatch
):
    monkeypatch.setattr(plan, "GENERATED_MAX", 1)
    turns = iter([*[True] * 3, True, True, False])
    monkeypatch.setattr(night, "share", lambda *_: lambda: next(turns))
    world.text = 'generated = ["ace:1"]\n' + world.text
    quiet, failing = (workload.name for _, workload in itertools.islice(plan.rotation("ace:1", 0, 0), 2))
    world.broken = {failing}
    found = world.night()
    assert [one.workload for one in found.news] == [failing] * len(found.news)
    assert quiet in {one.workload for one in found.experiments}
    assert found.news[0].run == f"0001/{found.cells[0].further[0]}"
    world.commit("a change")
    monkeypatch.setattr(night, "share", lambda *_: lambda: len(world.runs) < 3)
    world.night()
    assert world.runs[2][0] == failing


# --- budget, going on ----------------------------------------------------------------------------


def test_what_the_budget_has_no_room_for_is_named(world, monkeypatch):
    turns = iter([True, False, False])
    monkeypatch.setattr(night, "share", lambda *_: lambda: next(turns))
    found = world.night()
    assert len(found.experiments) == 1
    left = found.cells[0].left
    assert {*left, found.experiments[0].workload} == {"replace-by-rename", "truncate-then-fsync"}
    world.commit("a change")
    monkeypatch.undo()


def test_a_share_is_reckoned_from_the_first_experiment_on(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    more = share(160.0, 2)
    now[0] = 120.0  # a build
    assert more()
    now[0] = 139.0
    assert more()
    now[0] = 140.0
    assert not more()


def test_a_night_that_was_stopped_goes_on_and_does_nothing_twice(world):
    world.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        world.night()
    before = world.commit("what came meanwhile is for the next night")
    world.stop_after = math.inf
    found = world.night()
    assert found.number == 1
    assert found.kernels[0].hash != before
    assert len(found.experiments) == 2
    assert [len(done) for done in world.runs] == [1]


def test_the_budget_of_a_night_that_goes_on_is_what_was_left(world, monkeypatch):
    world.stop_after = 1
    with pytest.raises(KeyboardInterrupt):
        world.night()
    with open_history(world.folder / "nights" / NAME) as history:
        history.change("night", {"number": 1}, session=time.time() - 3000)
    ends = []
    monkeypatch.setattr(night, "share", lambda end, _: ends.append(end) or (lambda: True))
    world.stop_after = math.inf
    world.night()
    assert 500 < ends[0] - time.monotonic() < 601  # of an hour


def test_two_nights_at_once_are_refused(world):
    (world.folder / "nights").mkdir()
    with only_one(world.folder / "nights"), pytest.raises(RunInUse):
        world.night()


# --- comparison ----------------------------------------------------------------------------------


def test_a_finding_is_new_once_and_then_the_same(world):
    world.night()
    world.broken = {"replace-by-rename"}
    world.commit("a planted bug")
    found = world.night()
    assert found.exit == 1
    assert [(one.signature, one.state, one.first_night) for one in found.news] == [(LOST, NEW, 2)]
    hook = json.loads((world.folder / "hook-new-2").read_text())
    assert hook["findings"][0]["signature"] == LOST
    world.commit("another change")
    again = world.night()
    assert again.exit == 0
    assert [(one.state, one.words) for one in again.findings if one.signature == LOST] == [
        (SAME, "since night 2")
    ]
    assert not (world.folder / "hook-new-3").exists()


def test_a_finding_is_named_by_the_models_that_show_it(world, monkeypatch):
    told = []
    monkeypatch.setattr(
        "harness.nightly.compare.explained", lambda *_, models: told.append(models) or Explained()
    )
    world.broken = {"replace-by-rename"}
    world.night()
    assert told
    assert all(models == {"O"} for models in told)


def shown_then_not(world, monkeypatch, shown: int):
    world.broken = {"replace-by-rename"}
    world.night()
    world.broken = set()
    world.commit("a fix")
    repeats(monkeypatch, shown)
    found = world.night()
    return next(one for one in found.findings if one.signature == LOST)


def test_a_finding_that_no_recording_shows_any_more_is_gone(world, monkeypatch):
    assert shown_then_not(world, monkeypatch, 0).state == GONE
    world.broken = {"replace-by-rename"}
    world.commit("broken again")
    back = next(one for one in world.night().findings if one.signature == LOST)
    assert (back.state, back.first_night) == (NEW, 1)
    assert back.words == "it was gone, and is back; last seen in night 1"


def test_a_finding_that_some_recordings_show_is_flaky(world, monkeypatch):
    one = shown_then_not(world, monkeypatch, 2)
    assert (one.state, one.words) == (FLAKY, "not seen in the run, and in 2 of 5 more recordings")


def test_a_finding_whose_workload_was_not_run_keeps_its_state(world):
    world.broken = {"replace-by-rename"}
    world.night()
    world.text = world.text.replace('"replace-by-rename", ', "")
    world.commit("a change")
    assert [one for one in world.night().findings if one.signature == LOST] == []
    with open_history(world.folder / "nights" / NAME) as history:
        assert {row["state"] for row in history.rows("SELECT state FROM finding")} == {NEW}


def test_a_new_finding_lies_between_the_commits_of_two_nights(world):
    good = world.night().kernels[0].hash
    world.commit("one")
    bad = world.commit("two")
    world.broken = {"replace-by-rename"}
    (one, *_) = world.night().news
    assert (one.good, one.bad) == (good, bad)


# --- trouble -------------------------------------------------------------------------------------


def test_a_tree_that_is_not_there_is_trouble_and_the_others_are_tested(world):
    world.text += '[[kernel]]\nname = "lost"\ntree = "nowhere"\nbranch = "b"\n'
    found = world.night()
    assert found.exit == 3
    assert len(found.experiments) == 2
    assert "lost: " in found.trouble[0]
    assert (world.folder / "hook-trouble-1").exists()


@pytest.mark.parametrize(("error", "build"), [(Unbuildable("no"), "FAIL"), (BuildFailed("no"), "ERROR")])
def test_a_kernel_that_does_not_build_is_trouble_and_is_tried_again(world, error, build):
    world.trouble = error
    found = world.night()
    assert (found.exit, found.kernels[0].build, found.trouble) == (3, build, ("next: no",))
    world.trouble = None
    assert world.night().kernels[0].skipped == ""


def test_a_hook_that_fails_is_trouble(world):
    world.text = world.text.replace("cat >", "false; exit 7; cat >")
    world.broken = {"replace-by-rename"}
    found = world.night()
    assert found.exit == 1  # what is new is more important
    assert found.trouble == ("the hook ended with status 7",)


# --- what is new ---------------------------------------------------------------------------------


@pytest.fixture
def news(world):
    """A history with a new finding, and the setting of what follows."""
    world.night()
    world.commit("a planted bug")
    world.broken = {"replace-by-rename"}
    world.night()
    results = world.folder / "nights"
    with open_history(results / NAME) as history:
        yield history, Setting(2, results, results / "0002", (), ("sh",), time.monotonic() + 60)


def todo_of(history) -> str:
    return history.one("SELECT todo FROM finding WHERE signature = ?", LOST)["todo"]


def test_what_is_new_is_repeated_made_small_exported_and_bisected(news, monkeypatch):
    history, setting = news
    done = []
    for step in STEPS:
        monkeypatch.setitem(followups.DO, step, lambda *_, step=step: done.append(step) or True)
    follow(history, "next", setting, QUIET)
    assert done[:4] == list(STEPS)
    assert todo_of(history) == ""


def test_what_is_not_reached_stays_for_the_next_night(news, monkeypatch):
    history, setting = news
    monkeypatch.setitem(followups.DO, "repeat", lambda *_: True)
    monkeypatch.setitem(followups.DO, "minimize", lambda *_: False)
    follow(history, "next", setting, QUIET)
    assert todo_of(history) == "minimize export bisect"
    follow(history, "next", msgspec.structs.replace(setting, end=0.0), QUIET)
    assert todo_of(history) == "minimize export bisect"


def test_what_was_left_to_do_is_done_although_the_finding_is_no_longer_new(news, monkeypatch):
    history, setting = news
    monkeypatch.setitem(followups.DO, "repeat", lambda *_: True)
    for step in STEPS[1:]:
        monkeypatch.setitem(followups.DO, step, lambda *_: True)
    history.change("finding", {"kernel": "next"}, state=SAME)
    follow(history, "next", setting, QUIET)
    assert todo_of(history) == ""


def test_a_step_that_fails_leaves_a_note_and_the_next_step_comes(news, monkeypatch):
    history, setting = news

    def fails(*_):
        raise OSError("no space")

    monkeypatch.setitem(followups.DO, "repeat", fails)
    words = "powercut: it did not appear again"
    monkeypatch.setattr(followups, "command", lambda *_: Ended(3, "", f"x\n{words}\n"))
    follow(history, "next", setting, QUIET)
    row = history.one("SELECT * FROM finding WHERE signature = ?", LOST)
    assert row["todo"] == ""
    assert row["note"].startswith("repeat: no space; not made smaller: it did not appear again; not exported")
    assert "not bisected" in row["note"]


def test_the_commit_of_an_older_finding_is_told_in_the_night_that_finds_it(news, monkeypatch):
    history, setting = news
    row = history.one("SELECT * FROM finding WHERE signature = ?", LOST)
    one = Commit(row["bad"], "a planted bug", "A", "2026-11-25")
    seen_one = Seen("F1", LOST, "durable", "w", "O:1", 1, "")
    hunt = Hunt((), "", "", "", one, one, "", "", (), 1)
    record = Record(hunt, (BisectStep(one, "bad", "", "", findings=(seen_one,)),), one, one, exit=1)
    out = msgspec.json.encode(record).decode()
    monkeypatch.setattr(followups, "command", lambda *_: Ended(1, out, ""))
    for state in (NEW, SAME):
        history.change("finding", {"kernel": "next"}, state=state)
        row = history.one("SELECT * FROM finding WHERE signature = ?", LOST)
        assert followups.bisect(history, row, setting, QUIET)
        told = night_of(history, 2, setting.results, 1.0, "").learnt
        words = f"next: {LOST}: commit {one.hash[:12]} a planted bug (A)"
        assert told == (() if state == NEW else (words,))


def test_the_first_night_has_nothing_to_bisect(world):
    world.broken = {"replace-by-rename"}
    world.night()
    results = world.folder / "nights"
    with open_history(results / NAME) as history:
        row = history.one("SELECT * FROM finding")
        followups.bisect(history, row, Setting(1, results, results / "0001", (), (), 0.0), QUIET)
        note = history.one("SELECT note FROM finding WHERE signature = ?", row["signature"])["note"]
    assert note == "no earlier night tested another commit, so there is nothing to bisect"
