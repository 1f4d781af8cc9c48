"""`powercut run` and `powercut coverage`: words to a RunSpec, and what is refused."""

import msgspec
import pytest

from harness.commands.coverage import command_coverage
from harness.commands.main import main, understood
from harness.commands.run import run_spec_of
from harness.runs.run import RunSpec, counting_spec, require_for_pages
from oracles.profiles import profile
from reports.tests.make_coverage import make_coverage
from reports.tests.make_run import change_question, make_run
from workloads.library import BadSelection, load


def kernels(*words: str) -> tuple[str, ...]:
    return run_spec_of(understood(["run", "rename-*", *words])).kernels


def test_several_kernels_are_named_with_commas():
    """Each once, in the order asked."""
    assert kernels("--kernel", "6.1,6.12, 7.2,6.1") == ("6.1", "6.12", "7.2")
    assert kernels() == ("6.12",)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--kernel", "6.1,"), "a name is missing beside a comma"),
        (("--kernel", "6.1,6.12", "--planted"), "several kernels are for run and coverage"),
        (("--kernel", "6.1,6.12", "--guest", "lab"), "a machine runs one kernel at a time"),
    ],
)
def test_several_kernels_are_refused_where_one_is_meant(words, says):
    with pytest.raises(BadSelection, match=says):
        kernels(*words)


def spec(**other) -> RunSpec:
    made = RunSpec((load("rename-over-synced-file"),), (profile("btrfs"),), ("6.12+x.patch",))
    return msgspec.structs.replace(made, **other)


@pytest.mark.parametrize(
    "other",
    [
        {"kernels": ("6.12",)},
        {"coverage": False},
        {"against": "6.12"},
        {"guest": "qemu"},
        {"kind": "faults"},
        {"recover": ("here",)},
    ],
)
def test_nothing_is_counted_beside_a_run_that_has_no_use_for_it(other):
    """No series, told not to, a comparison, another guest, another kind: no kernel is looked for."""
    assert counting_spec(spec(**other)) is None


def test_f2fs_is_refused_where_pages_are_larger_than_its_blocks():
    """Before a kernel is built; the kernel would refuse each mount."""
    several = {"profiles": (profile("btrfs"), profile("f2fs-strict"))}
    require_for_pages(spec(guest="qemu", **several))
    require_for_pages(spec(guest="qemu-aarch64"))
    for guest in ("qemu-aarch64", "qemu-aarch64-tcg"):
        with pytest.raises(BadSelection, match="f2fs-strict: blocks of f2fs must be as large as a page"):
            require_for_pages(spec(guest=guest, **several))


def test_a_kernel_that_is_not_built_is_not_built_for_it(monkeypatch):
    asked = []
    monkeypatch.setattr("harness.runs.run.find", lambda *words: asked.append(words))
    assert counting_spec(spec()) is None
    assert asked == [("6.12+x.patch", ("gcov",))]


def test_a_kernel_that_is_built_is_used(monkeypatch):
    """On the same workloads, without what only verdicts need."""
    monkeypatch.setattr("harness.runs.run.find", lambda *_: "a kernel")
    counting = counting_spec(spec(models=("O", "R")))
    assert counting.config == ("gcov",)
    assert counting.workloads == spec().workloads
    assert (counting.models, counting.with_fsck, counting.repeats) == (("O",), False, False)


def test_the_coverage_of_a_run_is_shown_again(tmp_path, capsys):
    run = make_run(tmp_path)
    make_coverage(run)
    assert main(["coverage", str(run)]) == 1  # as the run
    said = capsys.readouterr().out
    assert "6.12+mine: 3 of 4 lines of the series ran" in said
    assert "report/coverage.html" in said
    main(["coverage", str(run), "--html"])
    assert capsys.readouterr().out.strip().endswith("report/coverage.html")


def test_a_run_that_did_not_count_is_refused(tmp_path, capsys):
    run = make_run(tmp_path)
    assert main(["coverage", str(run)]) == 2
    assert "has no coverage.json" in capsys.readouterr().err


def test_coverage_takes_no_sweep_of_planted_bugs():
    with pytest.raises(BadSelection, match="--planted are for run"):
        command_coverage(understood(["coverage", "--planted"]))


def test_coverage_continues_its_own_runs_alone(tmp_path, capsys):
    run = make_run(tmp_path)
    change_question(run, command=("powercut", "run", "rename-*"))
    assert main(["coverage", "--resume", str(run)]) == 2
    assert "was made by powercut run" in capsys.readouterr().err
