"""Threads that are delayed do the same calls, and meet elsewhere."""

from workloads import threads
from workloads.delays import AWAIT, LONG_US, SHORT_US, WRITES, delayed
from workloads.library import select
from workloads.text import format as format_workload
from workloads.text import parse

TEXT = """
setup
  creat foo
run
  chmod foo 600
  parallel
    thread
      fsync foo
      chmod foo 640
    thread
      await 3
      rename foo bar
      fsync bar
  sync
"""
BESIDE = parse(TEXT, "beside")


def calls(workload):
    return [(op.word, op.path, op.thread) for op in workload.run if op.word != AWAIT]


def test_as_it_is_written_it_stays():
    assert delayed(BESIDE, 1, 0) == BESIDE


def test_without_threads_nothing_is_delayed():
    alone = parse("run\n  creat foo\n  fsync foo\n")
    assert delayed(alone, 1, 5) == alone


def test_a_draw_is_the_same_again_and_others_differ():
    texts = [format_workload(delayed(BESIDE, 1, number)) for number in range(1, 30)]
    assert texts == [format_workload(delayed(BESIDE, 1, number)) for number in range(1, 30)]
    assert len(set(texts)) > 20
    assert format_workload(delayed(BESIDE, 2, 1)) != texts[0]


def test_every_draw_of_the_library_does_the_same_calls_and_can_be_read_again():
    chosen = [workload for workload in select(("*",)) if workload.parallel]
    assert len(chosen) > 20
    for workload in chosen:
        for number in range(1, 6):
            drawn = delayed(workload, 3, number)
            assert calls(drawn) == calls(workload)
            again = parse(format_workload(drawn), drawn.name, drawn.theme)
            assert format_workload(again) == format_workload(drawn)
            assert threads.order_count(drawn.run) == threads.order_count(workload.run)


def test_the_delays_are_within_what_a_block_takes():
    waits = [op for number in range(1, 200) for op in delayed(BESIDE, 1, number).run if op.word == AWAIT]
    assert {op.length for op in waits} == set(range(WRITES + 1))
    assert all(op.offset == 0 or SHORT_US <= op.offset <= LONG_US for op in waits)
    assert sum(op.offset == 0 for op in waits) in range(len(waits) // 3, 2 * len(waits) // 3)
    assert sum(0 < op.offset < 100 for op in waits) > 20
    assert sum(op.offset > 1000 for op in waits) > 20


def test_a_thread_never_waits_for_fewer_writes_than_before():
    for number in range(1, 100):
        drawn = delayed(BESIDE, 1, number)
        for thread in (1, 2):
            counts = [op.length for op in drawn.run if op.word == AWAIT and op.thread == thread]
            assert counts == sorted(counts)
