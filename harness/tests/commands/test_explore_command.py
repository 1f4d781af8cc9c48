"""explore and pack: bad input ends with one line and status 2, before a kernel is built; nothing is left."""

import pytest

from harness.commands.explore import experiment_of
from harness.evidence.store import NoResults
from harness.runs import explored
from harness.states.log import write_log
from harness.tests.made_log import OTHER_UUID, make_base, superblock_entry, written
from harness.tests.made_run import keep, question


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(explored, "build_for", lambda *_: pytest.fail("a kernel was about to be built"))
    return tmp_path


@pytest.fixture
def log(here):
    write_log(here / "some.log", [written(512)])
    make_base(here / "base.img")
    return here / "some.log"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("none.log",), "none.log: there is no such file"),
        (("some.log",), "--base IMAGE"),
        (("base.img", "--base", "base.img"), "is not a dm-log-writes log"),
        (("some.log", "--base", "base.img", "--fs", "xfs"), "holds ext4"),
        (("some.log", "--base", "base.img", "--fs", "zfs"), "there is no profile zfs"),
        (("some.log", "--base", "base.img", "--from", "here"), "has no mark 'here'"),
        (("some.log", "--base", "base.img", "--models", "Q"), "Q"),
        (("some.log", "--base", "base.img", "--config", "none"), "none"),
        (("some.log", "--base", "base.img", "--check", " "), "--check is empty"),
        (("some.log", "--base", "base.img", "--check", "base.img"), "base.img is not executable: chmod +x"),
    ],
)
def test_what_cannot_be_examined_is_refused(powercut, log, words, said):
    status, _, err = powercut("explore", *words, "--no-fsck")
    assert status == 2
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert not (log.parent / "results").exists()


def test_a_base_that_does_not_fit_is_refused(powercut, here, log):
    write_log(log, [superblock_entry("ext4", uuid=OTHER_UUID)])
    status, _, err = powercut("explore", log, "--base", "base.img", "--no-fsck")
    assert status == 2
    assert "some.log does not continue base.img" in err.replace(f"{here}/", "")


def test_a_pack_is_named_after_its_run_and_is_never_written_over(powercut, here):
    run = here / "20260101T000000Z-abcd"
    (run / "experiments").mkdir(parents=True)
    keep(run)
    question(run)
    status, out, _ = powercut("pack", run)
    assert status == 0
    packed = here / "20260101T000000Z-abcd-0001.powercut"
    content = packed.read_bytes()
    assert out.startswith("20260101T000000Z-abcd-0001.powercut: ")
    status, _, err = powercut("pack", run / "experiments" / "0001")
    assert status == 2
    assert "already exists" in err
    assert packed.read_bytes() == content
    assert sorted(path.name for path in here.iterdir()) == [run.name, packed.name]


def test_an_experiment_is_named_where_there_are_several(here):
    run = here / "run"
    (run / "experiments").mkdir(parents=True)
    keep(run, 1)
    keep(run, 2)
    assert experiment_of(run, 2).name == "0002"
    assert experiment_of(run / "experiments" / "0001", None).name == "0001"
    for place, number, said in (
        (run, None, r"2 experiments. Name one of them: powercut pack .* 1"),
        (run, 7, r"no experiment 7. Its experiments are 1 to 2"),
        (run / "experiments" / "0001", 1, "leave the number 1 out"),
        (here / "none", None, "neither the folder of a run"),
    ):
        with pytest.raises(NoResults, match=said):
            experiment_of(place, number)
