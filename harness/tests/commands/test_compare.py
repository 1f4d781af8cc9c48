"""`powercut compare` on the command line: what is refused, what is asked of the run, and showing it again."""

from pathlib import Path

import msgspec
import pytest

from harness.commands import compare, main
from harness.commands import run as run_command
from harness.evidence.store import new_run, write_question
from harness.runs import run
from harness.tests.conftest import Powercut
from harness.tests.made_run import ENTRY_COUNT, judged, keep, question, seen
from kernel.kernel import Kernel, Provenance
from kernel.tests.tinytree import make_tree
from oracles.profiles import profile
from reports.results import Question, read_question
from workloads.library import select


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder and a cache of its own; no kernel is built by mistake."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(run, "build_for", lambda *_: pytest.fail("a kernel was about to be built"))
    return tmp_path / "here"


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two source trees that are the same, and one that is not."""
    return (
        make_tree(tmp_path / "one"),
        make_tree(tmp_path / "two"),
        make_tree(tmp_path / "three", a="int other;\n"),
    )


@pytest.fixture
def made(elsewhere: Path) -> Path:
    """A compare that was done: A loses foo at the end of its log, B keeps it."""
    folder = new_run(elsewhere / "results")
    question(folder, ("powercut", "compare", "replace-by-rename", "--against", "A", "--kernel", "B"))
    asked = msgspec.structs.replace(
        read_question(folder), kernels={"A": {}, "B": {}}, profiles={"btrfs": {}}, against="A", planned=2
    )
    write_question(folder, asked)
    worse = judged({ENTRY_COUNT: seen(0)})
    for number, kernel, judge in ((1, "A", worse), (2, "B", judged())):
        place = keep(folder, number, judge)
        facts = msgspec.json.decode((place / "experiment.json").read_bytes())
        (place / "experiment.json").write_bytes(msgspec.json.encode(facts | {"kernel": kernel}))
    run.finish(folder, 1.0, 0)
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "compare: name the second kernel: powercut compare --kernel 6.12 --against"),
        (["replace-by-rename"], "compare: name the second kernel"),
        (["--against", "nowhere"], "is not a release"),
        (["--against", "6.12+planted/no-such"], "no-such"),
        (["--against", "6.1", "--planted"], "powercut run --planted"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_made(
    powercut: Powercut, elsewhere: Path, words: list[str], message: str
) -> None:
    exit_status, _, said = powercut("compare", *words)
    assert exit_status == 2
    assert message in said
    assert not list(elsewhere.iterdir())


def test_a_kernel_against_itself_is_refused_with_its_key(
    powercut: Powercut, trees: tuple[Path, Path, Path]
) -> None:
    """Two words, one kernel: the same files in two places."""
    one, two, _ = trees
    exit_status, _, said = powercut("compare", "--kernel", one, "--against", two, "--quiet")
    assert exit_status == 2
    assert f"{two} and {one} are the same kernel (key " in said
    assert f"powercut run --kernel {one}" in said


def test_one_run_is_asked_for_with_both_kernels(
    powercut: Powercut, trees: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A first, B second, with the options of run."""
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    words = ("--kernel", trees[0], "--against", trees[2], "--quiet", "--no-fsck", "replace-by-rename")
    assert powercut("compare", *words)[0] == 0
    (run_spec,) = run_specs
    assert run_spec.kernels == (str(trees[2]), str(trees[0]))
    assert (run_spec.against, run_spec.with_fsck) == (str(trees[2]), False)
    assert [one.name for one in run_spec.workloads] == ["replace-by-rename"]


def test_what_is_compared_is_recorded_three_times() -> None:
    """A run records once: its log is only recovered, not counted against another."""
    provenance = Provenance("K", "key", "6.12", (), "", (), "gcc", 1.0, 1, 1, "")
    kernels = {(word, ()): Kernel(word, provenance) for word in ("A", "B")}
    run_spec = run.RunSpec(select(("replace-by-rename",)), (profile("btrfs"),), ("A", "B"))
    for against, recordings in (("A", 3), ("", 1)):
        plans = run.plans_of(msgspec.structs.replace(run_spec, against=against), kernels)
        assert [(plan.kernel, plan.recordings) for plan in plans] == [("A", recordings), ("B", recordings)]


def test_a_stopped_compare_goes_on_as_one(
    powercut: Powercut, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `run --resume`, which is what Ctrl-C says, and by `compare --resume`."""
    run_specs: list[run.RunSpec] = []
    monkeypatch.setattr(run_command, "do_run", lambda run_spec, *_: run_specs.append(run_spec) or 0)
    for command in ("run", "compare"):
        assert powercut(command, "--resume", made)[0] == 0
    assert [(run_spec.kernels, run_spec.against) for run_spec in run_specs] == [(("A", "B"), "A")] * 2


def test_a_compare_is_shown_again_from_disk(powercut: Powercut, made: Path) -> None:
    """The page is written again, and the last lines say what they said."""
    (made / "report" / "compare.html").unlink()
    (made / "compare.json").unlink()
    exit_status, printed, _ = powercut("compare", made)
    assert exit_status == 1
    assert "1 BROKEN in A only" in printed
    assert printed.splitlines()[-1] == "exit       1: something is BROKEN in A"
    assert (made / "report" / "compare.html").exists()
    assert (made / "compare.json").exists()


@pytest.mark.parametrize(
    ("against", "kernel", "expected", "words"),
    [
        ("A", "B", 0, "0: nothing is BROKEN in B only"),
        ("B", "A", 1, "1: something is BROKEN in B only"),
    ],
)
def test_only_new_ends_1_for_what_the_kernel_in_question_alone_breaks(
    powercut: Powercut, made: Path, against: str, kernel: str, expected: int, words: str
) -> None:
    """A loses foo. Held against A, B got better; held against B, A got worse."""
    asked = msgspec.structs.replace(read_question(made), kernels={against: {}, kernel: {}}, against=against)
    (made / "run.json").write_bytes(msgspec.json.encode(asked))
    assert powercut("compare", made)[0] == 1
    exit_status, printed, _ = powercut("compare", made, "--only-new")
    assert (exit_status, printed.splitlines()[-1]) == (expected, f"exit       {words}")


def test_only_new_does_not_pass_a_run_with_missing_experiments(powercut: Powercut, made: Path) -> None:
    """B's experiment is missing: nobody knows whether it is worse."""
    (made / "experiments" / "0002").rename(made / "experiments" / "0002.partial")
    exit_status, printed, said = powercut("compare", made, "--only-new")
    assert exit_status == 3
    assert "UNKNOWN" in printed.splitlines()[-1]
    assert "is incomplete" in said


def test_the_data_is_printed_alone(powercut: Powercut, made: Path) -> None:
    exit_status, printed, said = powercut("compare", made, "--json")
    assert (exit_status, said) == (1, "")
    assert msgspec.json.decode(printed)["changes"]["fixed"] == 1


def test_a_run_of_one_kernel_is_no_compare(powercut: Powercut, elsewhere: Path) -> None:
    folder = new_run(elsewhere / "results")
    question(folder)
    exit_status, _, said = powercut("compare", folder)
    assert exit_status == 2
    assert "is a run of one kernel" in said


def test_a_question_from_before_compare_is_read(elsewhere: Path) -> None:
    """run.json of an older run has no `against`."""
    folder = new_run(elsewhere / "results")
    question(folder)
    content = msgspec.json.decode((folder / "run.json").read_bytes())
    del content["against"]
    assert msgspec.convert(content, Question).against == ""


def test_a_folder_named_like_a_workload_is_only_taken_alone(made: Path) -> None:
    """With --against, a folder is a mistyped workload, which is refused as such."""
    taken = main.parser().parse_args(["compare", str(made)])
    other = main.parser().parse_args(["compare", str(made), "--against", "6.1"])
    assert compare.compared_folder(taken) == made
    assert compare.compared_folder(other) is None
