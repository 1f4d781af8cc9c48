"""Calls that stopped: how many were asked for and came, and what the report says of each."""

from harness.evidence.stops import Stops
from reports.results import Experiment, ExperimentFacts, Judgement
from reports.text.device import guest_words
from reports.text.digest import stop_of
from reports.text.script import result_words
from reports.text.stops import stop_words
from workloads.history import Step, history_of
from workloads.text import parse

TEXT = """
setup
  creat foo
run
  parallel
    thread
      stop {} {}
      fsync foo
    thread
      await 1000
      syncfs
"""


def experiment(function: str, more: str, came: bool, profile: str = "ext4") -> Experiment:
    text = TEXT.format(function, more)
    workload = parse(text, "beside")
    steps = [
        Step(index, operation, 0, 0, blocks=int(came and operation.word == "stop"))
        for index, operation in enumerate(workload.run, 1)
    ]
    marks = {f"{what}-{step.index}": at for step in steps for at, what in enumerate(("begin", "done"))}
    made = (Step(0, workload.setup[0], 0),)
    history = history_of(
        made, steps, marks, 2, profile=profile, kernel="6.12", root_inode=2, workload=workload
    )
    facts = ExperimentFacts(1, "beside", "", profile, "6.12", "fs", (), {}, {}, order=3)
    return Experiment("0001", facts, text, history, Judgement((), ()), ())


def counted(*experiments: Experiment):
    seen = Stops()
    for one in experiments:
        seen.add(one)
    return seen.counts()


def test_stops_are_counted_by_profile_and_functions_once():
    of_ext4, of_xfs = counted(
        experiment("ext4_link", "1", came=True),
        experiment("ext4_link", "2", came=True),
        experiment("jbd2_journal_write_metadata_buffer", "1 workers", came=True),
        experiment("jbd2_log_do_checkpoint:ext4_link", "3 return", came=True),
        experiment("ext4_unlink", "1", came=False),
        experiment("xfs_link", "1", came=False, profile="xfs"),
    )
    assert (of_ext4.asked, of_ext4.stopped, of_ext4.workers, of_ext4.functions) == (5, 4, 1, 2)
    assert of_ext4.near == 1
    assert (of_xfs.asked, of_xfs.stopped, of_xfs.functions) == (1, 0, 0)
    assert stop_words((of_ext4, of_xfs)) == (
        "6 stops asked for, 4 came, 1 of threads of the kernel, at 2 functions of the kernel or more, "
        "1 within what was asked for"
    )


def test_a_recording_without_a_stop_is_none():
    one = experiment("ext4_link", "1", came=True)
    plain = parse("run\n  sync\n", "plain")
    assert one.history is not None
    history = history_of((), (), {}, 0, profile="ext4", kernel="6.12", root_inode=2, workload=plain)
    assert counted(Experiment("0001", one.facts, "", history, Judgement((), ()), ())) == ()


def test_the_report_names_the_place_and_says_whether_the_call_came_there():
    came, missed = experiment("ext4_link", "7", came=True), experiment("ext4_link", "7", came=False)
    assert stop_of(came) == "ext4_link 7"
    assert guest_words(came.facts, stop_of(came)) == ", stop at ext4_link 7"
    assert stop_of(experiment("f:ext4_link", "7 return", came=True)) == "f:ext4_link 7 return"
    assert guest_words(came.facts) == ", order 3 of its threads"
    assert came.history is not None
    assert missed.history is not None
    assert next(map(result_words, came.history.run)) == "stopped"
    assert [result_words(step) for step in missed.history.run][:2] == ["did not come", "ok"]
