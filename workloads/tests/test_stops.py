"""Calls that stop: the same calls, one of them stopped, beside its threads or beside another call."""

from collections import Counter

from workloads import threads
from workloads.beside import SYNCING
from workloads.library import select
from workloads.stops import Moment, Point, comes_near, stopped
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
ENTERED = (
    Moment("first", 1),
    Moment("often", 40),
    Moment("often", 38, returning=True),
    Moment("worker", 2, worker=True),
)
NEAR = (
    *ENTERED,
    Moment("outer", 2),
    Moment("outer", 2, returning=True),
    Moment("outer", 2, returning=True, within="outer"),
    Moment("often", 7, within="outer"),
    Moment("often", 7, returning=True, within="outer"),
    Moment("worker", 2, worker=True, within="outer"),
)


def calls_of(workload, entered=ENTERED):
    return (entered,) * len(workload.run)


def others(workload):
    """But for syncs, of which more are drawn."""
    calls = [op for op in workload.run if op.word not in ("stop", "await", *SYNCING)]
    return sorted((op.word, op.path, op.path2) for op in calls)


def drawn_change(workload):
    """Beside a sync that stops."""
    for block in threads.blocks(workload.run):
        first, second = threads.threads_of(block)[:2]
        if first[0].word == "stop" and first[-1].word in SYNCING:
            return [(op.word, op.path, op.path2) for op in second if op.word not in ("await", *SYNCING)]
    return []


def points(workload):
    run = workload.run
    return [Point(place, op.name, op.length, op.mode) for place, op in enumerate(run) if op.word == "stop"]


def test_as_it_is_written_it_stays_and_so_where_nothing_was_counted():
    assert stopped(ALONE, calls_of(ALONE), 1, 0) == ALONE
    assert stopped(ALONE, (), 1, 3) == ALONE
    assert stopped(ALONE, calls_of(ALONE, ()), 1, 3) == ALONE


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
            (moment,) = [each for each in ENTERED if (each.name, each.mode) == (point.name, point.mode)]
            assert (point.name == "worker") == (point.mode == "workers")
            assert 1 <= point.entry <= moment.times
            more = Counter(others(drawn)) - Counter(others(one))
            assert not Counter(others(one)) - Counter(others(drawn))
            made = [call for call in more if call[0] == "creat" and call[1] == after.path]
            assert [call for call in more if call not in made] in ([], drawn_change(drawn))
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
    # wait has no effect, so what comes behind it is beside nothing; the last four are beside the fsync of A
    assert seen == {"syncfs", "fsync", "mkdir", "creat", "setxattr", "chmod"}


def test_beside_a_sync_is_a_change_which_is_synced_behind_both():
    one = parse("setup\n  mkdir A\n  write A/foo 0 4K\nrun\n  fdatasync A/foo\n  sync\n  fsync A\n", "syncs")
    seen = {}
    for number in range(1, 300):
        drawn = stopped(one, calls_of(one), 1, number)
        (block,) = threads.blocks(drawn.run)
        first, second = threads.threads_of(block)
        after = drawn.run[points(drawn)[0].place + 4 :][:1]
        if second[1].word not in SYNCING:
            seen.setdefault(first[1].word, set()).add((second[1].word, second[1].path2 or second[1].path))
            assert after[0].path in (second[1].path, "A")
            assert after[0].word in (("fsync", "fdatasync") if first[1].word == "sync" else (first[1].word,))
    of_file = {(word, "A/foo") for word in ("setxattr", "chmod", "write", "truncate", "fallocate")}
    assert seen["fdatasync"] == seen["sync"] == {*of_file, ("link", "A/foo.beside")}
    assert seen["fsync"] == {
        ("setxattr", "A"),
        ("chmod", "A"),
        ("creat", "A/file.beside"),
        ("mkdir", "A/directory.beside"),
    }


def test_a_change_that_stops_is_made_durable_now_and_then():
    one = parse("setup\n  mkfifo B\nrun\n  creat foo\n  chmod B 600\n", "changes")
    after = set()
    for number in range(1, 100):
        drawn = stopped(one, calls_of(one), 1, number)
        point = points(drawn)[0]
        if one.run[point.place].word == "creat":
            after.add(tuple((op.word, op.path) for op in drawn.run[point.place + 4 :][:1]))
        else:
            assert len(drawn.run) == 5  # a pipe cannot be opened without somebody who reads it
    assert {(("fsync", "foo"),), (("fdatasync", "foo"),)} < after


def test_what_may_not_be_in_a_block_does_not_stop():
    one = parse("run\n  creat foo\n  remount\n  fsync foo\n", "remounts")
    for number in range(1, 40):
        drawn = stopped(one, calls_of(one), 1, number)
        assert "remount" not in {op.word for op in drawn.run if op.parallel}


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


def test_a_moment_is_an_entry_or_a_return_of_the_call_or_of_a_thread_of_the_kernel():
    modes = {points(stopped(ALONE, calls_of(ALONE), 1, number))[0].mode for number in range(1, 60)}
    assert modes == {"", "return", "workers"}
    assert Moment("f", 1, returning=True, worker=True).mode == "return,workers"
    assert Moment("f", 1, within="g").name == "g:f"


def test_where_calls_come_near_a_function_most_stops_are_within_it_or_at_its_beginning():
    assert comes_near([ENTERED, NEAR])
    assert not comes_near([ENTERED, ENTERED])
    calls = (*calls_of(ALONE)[:-1], NEAR)  # the fsync alone
    drawn = [stopped(ALONE, calls, 1, number) for number in range(1, 100)]
    stops = [points(one)[0] for one in drawn]
    assert sum(each.name.startswith("outer") for each in stops[:20]) > 12
    near = [each for each in stops if each.name.startswith("outer")]
    assert {each.name for each in near} == {"outer", "outer:often", "outer:outer", "outer:worker"}
    assert len(set(near)) == len(near) > 16  # none is drawn twice while there are others
    assert not [each for each in near if each.name == "outer:often" and each.entry > 7]
    for one in drawn:
        assert format_workload(parse(format_workload(one), one.name)) == format_workload(one)


def test_half_of_what_is_near_is_called_by_the_function_itself():
    deep = [Moment(f"deep{number}", 1, within="outer") for number in range(60)]
    calls = (*calls_of(ALONE)[:-1], (*NEAR[:-3], *deep, Moment("often", 7, within="outer", called=True)))
    names = [points(stopped(ALONE, calls, 1, number))[0].name for number in range(1, 13)]
    assert 2 < names.count("outer:often") < len(names)
    assert any(name.startswith("outer:deep") for name in names)


def test_a_write_that_makes_its_file_finds_it_made():
    """A thread's write makes none."""
    one = parse("run\n  write foo 0 4K\n  write foo 4K 4K\n", "writes")
    for number in range(1, 20):
        drawn = stopped(one, calls_of(one), 1, number)
        made = [op for op in drawn.run if op.word == "creat"]
        assert len(made) == (one.run[points(drawn)[0].place - len(made)] == one.run[0])


def test_what_is_near_is_drawn_anywhere_where_nothing_is_near():
    names = {points(stopped(ALONE, calls_of(ALONE), 1, number))[0].name for number in range(1, 60)}
    assert names == {"first", "often", "worker"}


def test_a_call_is_put_beside_a_sync_of_the_object_that_it_works_on():
    one = parse("run\n  write A/foo 0 4K\n  creat A/bar\n", "writes")
    paths = set()
    for number in range(1, 80):
        (block,) = threads.blocks(stopped(one, calls_of(one), 1, number).run)
        first, second = threads.threads_of(block)
        paths.add((first[1].word, second[1].word, second[1].path))
    assert ("write", "fsync", "A/foo") in paths
    assert ("write", "fsync", "A") in paths
    assert ("creat", "fsync", "A") in paths
    assert ("creat", "fsync", "A/bar") not in paths  # it has no name yet
