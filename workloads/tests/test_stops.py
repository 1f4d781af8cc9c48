"""Calls that stop: the same calls, one of them stopped, beside its threads or beside another call."""

from workloads import threads
from workloads.library import select
from workloads.stops import Entered, Point, stopped
from workloads.text import format as format_workload
from workloads.text import parse
from workloads.workload import STOPS

ALONE = parse(
    "setup\n  creat foo\nrun\n  creat A/bar\n  mkdir A/B\n  wait 1\n  rename A/B A/C\n  fsync A\n", "alone"
)
THREADS = """
run
  chmod foo 600
  parallel
    thread
      fsync foo
    thread
      await 3
      rename foo bar
  sync
"""
BESIDE = parse(THREADS, "beside")
ENTERED = Entered({"first": 1, "often": 40}, {"worker": 2})


def calls_of(workload, entered=ENTERED):
    return (entered,) * len(workload.run)


def others(workload):
    return sorted(
        (op.word, op.path, op.path2)
        for op in workload.run
        if op.word not in ("stop", "await", "syncfs", "fsync")
    )


def points(workload):
    run = workload.run
    return [Point(place, op.name, op.length, op.mode) for place, op in enumerate(run) if op.word == "stop"]


def test_as_it_is_written_it_stays_and_so_where_nothing_was_counted():
    assert stopped(ALONE, calls_of(ALONE), 1, 0) == ALONE
    assert stopped(ALONE, (), 1, 3) == ALONE
    assert stopped(ALONE, calls_of(ALONE, Entered()), 1, 3) == ALONE


def test_a_draw_is_the_same_again_and_others_differ():
    texts = [format_workload(stopped(ALONE, calls_of(ALONE), 1, number)) for number in range(1, 30)]
    assert texts == [format_workload(stopped(ALONE, calls_of(ALONE), 1, number)) for number in range(1, 30)]
    assert len(set(texts)) > 20
    assert format_workload(stopped(ALONE, calls_of(ALONE), 2, 1)) != texts[0]


def test_every_draw_has_one_stop_and_all_the_calls_and_can_be_read_again():
    for one in (*select(("parallel/*",)), *select(("rename/*",))):
        for number in range(1, 6):
            drawn = stopped(one, calls_of(one), 3, number)
            (point,) = points(drawn)
            after = drawn.run[point.place + 1]
            assert after.word not in threads.WITHOUT_EFFECT
            assert threads.place_of(after) == threads.place_of(drawn.run[point.place])
            assert point.function in (*ENTERED.own, *ENTERED.workers)
            assert (point.function in ENTERED.workers) == (point.mode == "workers")
            assert 1 <= point.entry <= 40
            assert others(drawn) == others(one)
            assert STOPS in drawn.config
            assert STOPS not in one.config
            again = parse(format_workload(drawn), drawn.name, drawn.theme)
            assert format_workload(again) == format_workload(drawn)


def test_beside_threads_the_stop_stands_among_them():
    for number in range(1, 20):
        drawn = stopped(BESIDE, calls_of(BESIDE), 1, number)
        assert [op for op in drawn.run if op.word != "stop"] == list(BESIDE.run)
        (point,) = points(drawn)
        assert drawn.run[point.place].parallel == 1


def test_a_call_alone_is_put_beside_a_sync_or_what_comes_next():
    seen = set()
    for number in range(1, 60):
        drawn = stopped(ALONE, calls_of(ALONE), 1, number)
        (block,) = threads.blocks(drawn.run)
        first, second = threads.threads_of(block)
        assert [op.word for op in first] == ["stop", drawn.run[points(drawn)[0].place + 1].word]
        assert [op.word for op in second] == ["await", second[-1].word]
        seen.add(second[1].word)
    assert seen == {
        "syncfs",
        "fsync",
        "mkdir",
    }  # wait has no effect, so what comes behind it is beside nothing


def test_what_may_not_be_in_a_block_does_not_stop():
    one = parse("run\n  creat foo\n  remount\n  fsync foo\n", "remounts")
    for number in range(1, 40):
        drawn = stopped(one, calls_of(one), 1, number)
        assert {op.word for op in drawn.run if op.parallel} <= {"stop", "await", "creat", "fsync", "syncfs"}


def test_what_is_made_keeps_its_name_until_it_was_looked_at():
    one = parse("run\n  creat foo\n  rename foo bar\n  unlink bar\n", "takes its name")
    beside = set()
    for number in range(1, 60):
        (block,) = threads.blocks(stopped(one, calls_of(one), 1, number).run)
        beside.add(tuple(op.word for op in block if op.word not in ("stop", "await")))
    assert ("creat", "rename") not in beside
    assert ("rename", "unlink") in beside


def test_two_writes_that_may_mix_are_not_put_beside_each_other():
    """To one file, where one passes the page cache; to two files they may."""
    for path, expected in (("foo", False), ("bar", True)):
        one = parse(f"run\n  atomicwrite foo 0 8K\n  atomicwrite {path} 0 8K\n  fsync foo\n", "writes")
        beside = set()
        for number in range(1, 60):
            (block,) = threads.blocks(stopped(one, calls_of(one), 1, number).run)
            beside.add(tuple(op.word for op in block if op.word not in ("stop", "await")))
        assert (("atomicwrite", "atomicwrite") in beside) == expected


def test_who_opens_a_descriptor_has_it_alone():
    one = parse("run\n  open foo @a creat\n  fsync @a\n", "opens")
    for number in range(1, 40):
        drawn = stopped(one, calls_of(one), 1, number)
        parse(format_workload(drawn), drawn.name, drawn.theme)
