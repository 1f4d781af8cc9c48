"""`powercut bisect` on a real git and a tiny repository; what a commit's kernel would do is made up."""

import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from harness.bisect import bisect
from harness.bisect import step as bisect_step
from harness.bisect.bisect import Record, read_record, require_answers, run_words
from harness.bisect.git import NotBisected, borrow
from harness.bisect.step import answer_of, kept_steps
from harness.evidence.store import new_run
from harness.local.root import ROOT
from harness.tests.conftest import Powercut
from kernel.kernel import Unbuildable
from kernel.tests.tinytree import git, make_tree
from reports.results import AnswerCounts, Finding, StateCounts, Summary

LOST = Finding(
    "F1", "btrfs durable: name lost (file)", "durable", "name lost", "file", "fs", "btrfs", "K", "made", 1,
    "O:3", "foo", "foo", "nothing", "a promise", 1, ("made",), "./powercut repro DIR F1",
)  # fmt: skip


def summary(what: str) -> Summary:
    """What a kernel gives whose fs/a.c says `what`."""
    found = {"lost": (LOST,), "late": (msgspec.structs.replace(LOST, oracle="atomic"),)}.get(what, ())
    unknown = 4 * (what == "unknown")
    broken = {finding.oracle for finding in found}
    verdicts = {
        name: AnswerCounts(4 - unknown - (name in broken), int(name in broken), unknown) for name in NAMES
    }
    exit_status = 1 if found else 3 if unknown else 0
    reasons = ("guest lost",) if unknown else ()
    return Summary(exit_status, 1, StateCounts(4, 4 - unknown, 0, unknown), 3, verdicts, found, {}, reasons)


NAMES = ("durable", "atomic")


def made_up_run(run_spec, out, progress):
    """In place of harness.runs.run.run: fs/a.c of the commit says what its kernel does."""
    tree, _, commit = run_spec.kernels[0].partition("@")
    what = git(Path(tree), "show", f"{commit}:fs/a.c")
    with (Path(tree) / "asked").open("a") as asked:
        asked.write(f"{what} {commit}\n")
    if what == "does not compile":
        raise Unbuildable("kernel does not build: error: half_done")
    if what == "trouble":
        raise OSError(28, "No space left on device")
    if what == "dies":
        os._exit(1)
    if what == "waits" and not (Path(tree) / "go-on").exists():
        new_run(out)  # half done
        time.sleep(60)
    return new_run(out), summary(what)


STEP = """\
import functools, sys
from harness.bisect import bisect
from harness.commands import main
from harness.tests.bisect.test_bisect import made_up_run
bisect.examine = functools.partial(bisect.examine, do=made_up_run)
sys.exit(main.main(["bisect", "--step", sys.argv[1]]))
"""

STARTED = """\
import functools, sys
from harness.bisect import bisect
from harness.commands import main
from harness.tests.bisect.test_bisect import STEP, made_up_run
bisect.examine = functools.partial(bisect.examine, do=made_up_run)
bisect.step_command = lambda folder: [sys.executable, "-c", STEP, str(folder)]
sys.exit(main.main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bisect, "examine", functools.partial(bisect_step.examine, do=made_up_run))
    monkeypatch.setattr(bisect, "step_command", lambda folder: [sys.executable, "-c", STEP, str(folder)])
    return tmp_path / "here"


@pytest.fixture
def history(tmp_path: Path) -> Callable[..., Path]:
    """history("good", "lost") -> a repository of a commit each, tagged c0, c1 ..."""

    def make(*each: str) -> Path:
        tree = make_tree(tmp_path / "linux")
        git(tmp_path, "init", "--quiet", "--initial-branch=main", str(tree))
        for number, what in enumerate(each):
            (tree / "fs" / "a.c").write_text(f"{what}\n")
            (tree / "fs" / "b.c").write_text(f"{number}\n")
            git(tree, "add", "--all")
            git(tree, "commit", "--quiet", "-m", f"change {number}")
            git(tree, "tag", f"c{number}")
        return tree

    return make


def words(tree: Path | str, *more: object, good: str = "c0", bad: str = "main") -> list[object]:
    return ["bisect", "--tree", tree, "--good", good, "--bad", bad, "replace-by-rename", *more]


def the_record(elsewhere: Path) -> tuple[Path, Record]:
    (folder,) = (elsewhere / "results").iterdir()
    return folder, read_record(folder)


def asked(tree: Path) -> list[str]:
    return [line.split()[-1] for line in (tree / "asked").read_text().splitlines()]


# --- the search ----------------------------------------------------------------------------------


def test_the_commit_is_found_around_one_that_does_not_build(
    powercut: Powercut, history: Callable[..., Path], elsewhere: Path
) -> None:
    """Seven commits, the third does not compile and is looked at first; the fifth loses a name."""
    tree = history("good", "good", "good", "does not compile", "good", "lost", "lost", "lost")
    exit_status, printed, said = powercut(*words(tree))
    folder, record = the_record(elsewhere)
    assert exit_status == 1
    assert "left after this one" in said
    assert record.first_bad.hash == git(tree, "rev-parse", "c5")
    assert record.before.subject == "change 4"
    assert [step.answer for step in record.steps][:3] == ["good", "bad", "skip"]
    assert f"first bad  {record.first_bad.hash} change 5" in printed
    assert "A <a@example.org>" in printed
    assert "bad        BROKEN: durable 1, in 4 states" in printed
    assert "change 4: all verdicts are HOLDS, in 4 states" in printed
    assert "does not build: error: half_done" in printed
    assert "# first bad commit: " in (folder / "bisect.log").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["bisect.json", "bisect.log", "steps"]


def test_a_repository_elsewhere_is_fetched_with_its_history(
    powercut: Powercut, history: Callable[..., Path], elsewhere: Path
) -> None:
    tree = history("good", "good", "lost", "lost")
    exit_status, printed, _ = powercut(*words(f"file://{tree}"))
    assert (exit_status, "change 2" in printed) == (1, True)
    assert Path(the_record(elsewhere)[1].hunt.tree).parent == elsewhere.parent / "cache/trees"
    assert powercut(*words(f"file://{tree}", bad="nonsense"))[0] == 2


def test_a_short_name_leads_to_a_folder(
    powercut: Powercut, history: Callable[..., Path], elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = history("good", "lost")
    monkeypatch.setenv("POWERCUT_MAINLINE", str(tree))
    assert powercut(*words("mainline"))[0] == 1
    assert the_record(elsewhere)[1].hunt.tree == str(tree)


def test_the_users_repository_stays_as_it_is(powercut: Powercut, history: Callable[..., Path]) -> None:
    """Files, HEAD, references, index and a bisect of the user's own: nothing is written there."""
    tree = history("good", "good", "lost", "lost")
    git(tree, "bisect", "start", "main", "c0")
    (tree / "fs" / "b.c").write_text("not committed\n")
    before = everything(tree)
    assert powercut(*words(tree))[0] == 1
    assert everything(tree) == before


def test_what_git_reads_from_the_environment_is_not_the_bisect_s(
    powercut: Powercut, history: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a hook: GIT_DIR names the user's own repository."""
    tree = history("good", "good", "lost", "lost")
    before = everything(tree)
    monkeypatch.setenv("GIT_DIR", str(tree / ".git"))
    assert powercut(*words(tree))[0] == 1
    assert everything(tree) == before


def everything(tree: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in tree.rglob("*") if path.is_file() and path.name != "asked")
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_a_repository_without_a_checkout_and_one_with_a_second_are_fine(
    powercut: Powercut, history: Callable[..., Path], tmp_path: Path
) -> None:
    """A bare clone, and a work tree that another repository lends its objects."""
    tree = history("good", "lost")
    git(tree, "clone", "--quiet", "--bare", str(tree), str(tmp_path / "bare"))
    git(tree, "worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    for place in ("bare", "beside"):
        exit_status, printed, _ = powercut(*words(tmp_path / place))
        assert (exit_status, "change 1" in printed) == (1, True)


def test_skipped_commits_leave_several(powercut: Powercut, history: Callable[..., Path]) -> None:
    """Two commits beside the bad one cannot be judged: three are named, and it is no answer."""
    tree = history("good", "unknown", "does not compile", "lost")
    exit_status, printed, _ = powercut(*words(tree))
    assert exit_status == 3
    assert "narrowed   to 3 commits" in printed
    assert all(f"change {number}" in printed for number in (1, 2, 3))
    assert "guest lost" in printed
    assert "exit       3: an UNKNOWN verdict remains" in printed


def test_an_oracle_limits_what_counts(powercut: Powercut, history: Callable[..., Path]) -> None:
    """A rename that is torn from the start does not hide the commit that loses a name."""
    tree = history("late", "late", "lost", "lost")
    exit_status, _, said = powercut(*words(tree))
    assert exit_status == 2
    assert "--good c0" in said
    assert "is already BROKEN: btrfs durable: name lost (file) in made O:3. Name an older commit" in said
    exit_status, printed, _ = powercut(*words(tree, "--oracle", "durable"))
    assert (exit_status, "first bad" in printed, "change 2" in printed) == (1, True, True)


def test_a_bad_end_that_holds_is_refused(powercut: Powercut, history: Callable[..., Path]) -> None:
    exit_status, _, said = powercut(*words(history("good", "good", "good")))
    assert exit_status == 2
    assert "--bad main" in said
    assert "every promise that counts was kept in 4 states. See results/" in said


def test_an_end_that_cannot_be_judged_is_no_bad_input(
    powercut: Powercut, history: Callable[..., Path]
) -> None:
    exit_status, _, said = powercut(*words(history("does not compile", "good", "lost")))
    assert exit_status == 3
    assert "cannot be judged: kernel does not build" in said


@pytest.mark.parametrize("what", ["trouble", "dies"])
def test_our_own_trouble_is_no_bad_commit(
    powercut: Powercut, history: Callable[..., Path], elsewhere: Path, what: str
) -> None:
    """A full disk, or a step that dies with the status that means bad to git."""
    exit_status, _, said = powercut(*words(history("good", what, "lost")))
    assert (exit_status, said.count("Traceback")) == (3, 0)
    assert the_record(elsewhere)[1].first_bad is None


def test_a_stopped_bisect_goes_on_where_it_was(
    powercut: Powercut, history: Callable[..., Path], elsewhere: Path
) -> None:
    """After SIGINT the way to go on is said; what was done is not done again, what was half done is."""
    tree = history("good", "good", "good", "waits", "good", "lost", "lost", "lost")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", STARTED, *map(str, words(tree))],
        stderr=subprocess.PIPE,
        env=environment,
        text=True,
    ) as process:
        wait_for(lambda: (tree / "asked").exists() and len(asked(tree)) == 3)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read()
        assert process.wait() == 130
    folder, _ = the_record(elsewhere)
    assert f"{tree} was not changed. Continue with: powercut bisect --resume results/{folder.name}" in said
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "the user goes on working")
    done = asked(tree)
    (tree / "go-on").touch()
    exit_status, printed, _ = powercut("bisect", "--resume", folder)
    assert (exit_status, "change 5" in printed) == (1, True)
    assert asked(tree)[3] == done[2]
    assert sorted(asked(tree)[3:]) == sorted(set(asked(tree)[2:]))
    assert len(kept_steps(folder)) == len(list((folder / "steps").iterdir()))


def wait_for(what: Callable[[], bool]) -> None:
    for _ in range(1200):
        if what():
            return
        time.sleep(0.1)
    pytest.fail("it did not come to that")


# --- what is refused -----------------------------------------------------------------------------


def test_what_is_missing_is_named_at_once(powercut: Powercut) -> None:
    exit_status, _, said = powercut("bisect")
    assert (exit_status, said.count("\n")) == (2, 1)
    assert "--tree, --good, --bad must be given too, as in: powercut bisect --tree linux" in said


@pytest.mark.parametrize(
    ("good", "bad", "more", "message"),
    [
        ("c9", "main", (), "--good c9: "),
        ("c0", "c9", (), "'c9' does not name exactly one commit"),
        ("c0^{tree}", "main", (), "does not name exactly one commit"),
        ("main", "c2", (), "are the same commit"),
        ("main", "c0", (), "Are they exchanged?"),
        ("side", "main", (), "--good side is not an ancestor of --bad main: their common ancestor is "),
        ("c0", "main", ("nothing-called-so",), "unknown workload nothing-called-so"),
        (
            "c0",
            "main",
            ("--oracle", "durability"),
            "there is no oracle durability. The oracles are mounts, quiet",
        ),
        ("c0", "main", ("--oracle", "fsck", "--no-fsck"), "cannot be used together with --no-fsck"),
        ("c0", "main", ("--oracle", "ordered", "--tier", "posix"), "checks nothing in tier posix"),
        ("c0", "main", ("--fs", "zfs"), "no profile zfs"),
        ("c0", "main", ("--kernel", "6.12"), "--kernel and --planted cannot be used here"),
        ("c0", "main", ("--models", "Z"), "no model 'Z'"),
    ],
)
def test_nonsense_is_refused_before_anything_is_made(
    powercut: Powercut,
    history: Callable[..., Path],
    elsewhere: Path,
    good: str,
    bad: str,
    more: tuple[str, ...],
    message: str,
) -> None:
    tree = history("good", "good", "lost")
    git(tree, "checkout", "--quiet", "-b", "side", "c1")
    git(tree, "commit", "--quiet", "--allow-empty", "-m", "beside")
    exit_status, _, said = powercut(*words(tree, *more, good=good, bad=bad))
    assert (exit_status, message in said) == (2, True), said
    assert not list(elsewhere.iterdir())


def test_no_repository_and_no_kernel_are_told_apart(
    powercut: Powercut, tmp_path: Path, history: Callable[..., Path]
) -> None:
    (tmp_path / "empty").mkdir()
    assert "is not a git repository" in powercut(*words(tmp_path / "empty"))[2]
    assert "no such directory" in powercut(*words(tmp_path / "nowhere"))[2]
    tree = history("good", "lost")
    git(tree, "rm", "--quiet", "Kconfig")
    git(tree, "commit", "--quiet", "-m", "no kernel any more")
    assert "is not a kernel source tree: it has no Kconfig" in powercut(*words(tree))[2]
    assert "not the folder of a bisect" in powercut("bisect", "--resume", tmp_path / "empty")[2]


# --- its parts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("what", "oracles", "answer"),
    [
        ("good", (), "good"),
        ("good", ("durable",), "good"),
        ("lost", (), "bad"),
        ("lost", ("durable",), "bad"),
        ("lost", ("atomic",), "good"),
        ("unknown", (), "skip"),
        ("unknown", ("durable",), "skip"),
        ("good", ("ordered",), "skip"),
    ],
)
def test_an_answer_needs_every_state_of_what_counts(what: str, oracles: tuple[str, ...], answer: str) -> None:
    """An oracle that counts and said nothing leaves the commit unjudged."""
    assert answer_of(summary(what), oracles)[0] == answer


def test_what_does_not_count_may_stay_unknown() -> None:
    """Every state was answered by the oracle that counts."""
    verdicts = {"durable": AnswerCounts(4, 0, 0), "atomic": AnswerCounts(0, 0, 4)}
    seen = msgspec.structs.replace(summary("unknown"), verdicts=verdicts)
    assert [answer_of(seen, oracles)[0] for oracles in (("durable",), ("atomic",), ())] == [
        "good",
        "skip",
        "skip",
    ]


def test_a_run_that_examined_nothing_is_skipped() -> None:
    nothing = msgspec.structs.replace(summary("good"), exit=3, reasons=("no log held a FLUSH or FUA",))
    for oracles in ((), ("durable",)):
        assert answer_of(nothing, oracles) == ("skip", "no log held a FLUSH or FUA")


@pytest.mark.parametrize("lacking", [{"planned_experiments": 2}, {"undone_experiments": 1}])
def test_an_experiment_that_is_missing_makes_a_step_no_good_one(lacking: dict[str, int]) -> None:
    """Also when all that counts holds in every state of the others."""
    of_others = msgspec.structs.replace(
        summary("kept"), exit=3, states=StateCounts(4, 3, 0, 1), reasons=("fsck: killed",), **lacking
    )
    assert answer_of(of_others, ("durable",))[0] == "skip"
    whole = msgspec.structs.replace(of_others, planned_experiments=1, undone_experiments=0)
    assert answer_of(whole, ("durable",))[0] == "good"


def test_what_git_was_told_must_be_what_a_step_said() -> None:
    log = "# bad: [ab] x\ngit bisect start '--no-checkout' 'ab' 'cd'\n# bad: [ef] y\ngit bisect bad ef\n"
    require_answers(log, {"ef": "bad"})
    for answers in ({}, {"ef": "good"}):
        with pytest.raises(NotBisected, match="ef: git recorded the answer bad"):
            require_answers(log, answers)


def test_a_step_is_asked_as_a_run() -> None:
    """Its own run can be asked again by its command: without our options, with its kernel."""
    given = (
        "powercut",
        "bisect",
        "--tree",
        "linux",
        "a",
        "--good=x",
        "--bad",
        "y",
        "--tier",
        "fs",
        "--jobs",
        "2",
    )
    assert run_words(given, "linux@z") == ["run", "a", "--tier", "fs", "--jobs", "2", "--kernel", "linux@z"]


def test_objects_are_borrowed_of_a_shallow_clone_too(history: Callable[..., Path], tmp_path: Path) -> None:
    tree = history("good", "good", "lost")
    git(tmp_path, "clone", "--quiet", "--depth=2", tree.as_uri(), str(tmp_path / "shallow"))
    head = git(tmp_path / "shallow", "rev-parse", "HEAD")
    borrow(tmp_path / "shallow", tmp_path / "ours", head)
    assert git(tmp_path / "ours", "log", "--format=%s").split("\n") == ["change 2", "change 1"]
