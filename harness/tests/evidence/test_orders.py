"""How many orders threads took, over recordings of one workload."""

import msgspec

from harness.evidence.orders import Orders
from reports.results import BLOCK_MS, Device, Experiment, ExperimentFacts, Judgement
from reports.text.orders import order_words
from workloads.entries import EntryFlag, EntrySummary
from workloads.history import history_of
from workloads.text import parse

TEXT = "setup\n  creat foo\nrun\n  parallel\n    thread\n{}      fsync foo\n    thread\n      creat bar\n"
PLAIN, DELAYED = TEXT.format(""), TEXT.format("      await 1 50\n")


def experiment(text, marks, sector=0, number=1):
    """marks: the log, "" for a write."""
    workload = parse(text, "beside")
    flags = {True: EntryFlag.MARK, False: 0}
    entries = tuple(EntrySummary(flags[bool(mark)], sector, int(not mark), mark) for mark in marks)
    history = history_of(
        (), (), {}, len(marks), profile="ext4", kernel="7.2", root_inode=2, workload=workload
    )
    facts = ExperimentFacts(
        number, "beside", "", "ext4", "7.2", "fs", entries, {}, {}, recorded_on=Device(block_ms=BLOCK_MS)
    )
    return Experiment("0001", facts, text, history, Judgement((), ()), ())


def counted(*experiments):
    seen = Orders()
    for one in experiments:
        seen.add(one)
    return seen.counts()


FIRST = ("begin-1", "begin-2", "", "done-1", "done-2")
SECOND = ("begin-2", "begin-1", "", "done-1", "done-2")


def test_equal_recordings_are_one_order_and_one_log():
    (counts,) = counted(experiment(PLAIN, FIRST), experiment(PLAIN, FIRST))
    assert (counts.calls, counts.logs) == ((1, 1), (1, 1))


def test_another_order_of_calls_is_another_log_too():
    (counts,) = counted(experiment(PLAIN, FIRST), experiment(PLAIN, SECOND), experiment(PLAIN, FIRST))
    assert (counts.calls, counts.logs) == ((1, 2, 2), (1, 2, 2))


def test_a_write_at_another_place_is_another_log_and_no_other_order():
    (counts,) = counted(experiment(PLAIN, FIRST), experiment(PLAIN, FIRST, sector=8))
    assert (counts.calls, counts.logs) == ((1, 1), (1, 2))


def test_a_delay_gives_the_calls_other_numbers_and_no_other_order():
    later = ("begin-1", "done-1", "begin-2", "begin-3", "", "done-2", "done-3")
    (counts,) = counted(experiment(PLAIN, FIRST), experiment(DELAYED, later))
    assert (counts.calls, counts.logs) == ((1, 1), (1, 1))


def test_marks_that_tell_two_things_tell_them_in_their_order():
    both = ("begin-1", "begin-2", "", "done-1,done-2")
    (counts,) = counted(experiment(PLAIN, FIRST), experiment(PLAIN, both))
    assert (counts.calls, counts.logs) == ((1, 1), (1, 1))


def test_one_recording_and_workloads_without_threads_are_not_counted():
    alone = parse("run\n  creat foo\n", "alone")
    one = experiment(PLAIN, FIRST)
    without = msgspec.structs.replace(one, history=msgspec.structs.replace(one.history, workload=alone))
    assert counted(one) == ()
    assert counted(without, without) == ()


def test_what_is_said_of_them():
    counts = counted(experiment(PLAIN, FIRST), experiment(PLAIN, SECOND))
    said = "2 recordings of workloads with parallel blocks: 2 orders of their calls, 2 different logs"
    assert order_words(counts) == said
