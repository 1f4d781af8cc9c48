"""shrinking: a workload gets smaller as long as the answer is yes, and never otherwise."""

import itertools

import pytest

from workloads import shrinking
from workloads.generate import drawn
from workloads.library import library
from workloads.shrinking import (
    MOVES,
    Seen,
    Shrinker,
    items_of,
    leaps,
    lines_of,
    operation_count,
    related,
    workload_of,
)
from workloads.text import format as format_workload
from workloads.text import format_operation, parse

CANDIDATES = 300  # of one move on one workload: what is made of hundreds of names takes a minute
LONG = """# A header
setup
  mkdir Dir
  mkdir Dir/deep
  write Dir/deep/old 0 64K
  creat Dir/deep/other
  setxattr Dir/deep/other user.long-name "a value"
run
  write Dir/deep/old 4K 12K
  open Dir/deep/old @o creat,sync
  fdatasync @o
  close @o
  rename Dir/deep/old Dir/deep/new noreplace
  chmod Dir/deep/other 640
  fsync Dir/deep/new
  fsync Dir/deep/other
"""


def shrunk(text, still):
    asked, told = [], []

    def asking(workload):
        asked.append(workload)
        return still(workload)

    smallest = Shrinker(parse(text), asking, lambda *what: told.append(what)).run()
    return smallest, asked, told


def words(workload):
    return [operation.word for operation in (*workload.setup, *workload.run)]


def body(workload):
    return lines_of(workload)


def renamed_and_fsynced(workload):
    """The bug: a name that a rename made is fsynced."""
    new = {op.path2 for op in workload.run if op.word == "rename" and op.path != op.path2}
    return any(op.word == "fsync" and op.path in new for op in workload.run)


def test_what_is_left_is_small_and_plain():
    """No directory, no flag, plain names."""
    smallest, _, told = shrunk(LONG, renamed_and_fsynced)
    assert body(smallest) == ["rename foo bar", "fsync bar"]
    assert operation_count(told[-1][0]) == 2


def test_every_step_that_is_told_was_a_yes_and_none_is_larger():
    _, _, told = shrunk(LONG, renamed_and_fsynced)
    counts = [operation_count(workload) for workload, _ in told]
    assert counts == sorted(counts, reverse=True)
    assert all(renamed_and_fsynced(workload) for workload, _ in told)


def test_a_question_is_asked_once_and_the_order_is_fixed():
    """An answer costs a recording."""
    first = shrunk(LONG, renamed_and_fsynced)[1]
    texts = [format_workload(workload) for workload in first]
    assert len(set(texts)) == len(texts)
    assert [format_workload(workload) for workload in shrunk(LONG, renamed_and_fsynced)[1]] == texts


def test_sizes_shrink_together_and_then_alone():
    text = "run\n  write foo 0 256K\n  fallocate foo punch-hole 64K 128K\n  fsync foo\n"

    def hole_inside(workload):
        lengths = {op.word: op.length for op in workload.run}
        return lengths.get("write", 0) > lengths.get("fallocate", 1 << 20)

    smallest, _, _ = shrunk(text, hole_inside)
    assert body(smallest)[:2] == ["write foo 0 8K", "fallocate foo alloc 0 4K"]


def test_when_nothing_helps_it_stays_as_it_is():
    smallest, asked, told = shrunk(LONG, lambda workload: False)
    assert format_workload(smallest) == format_workload(parse(LONG))
    assert asked
    assert not told


def test_what_the_question_raises_leaves_the_smallest_so_far():
    """As a budget does."""
    asked = []

    class Enough(Exception):
        pass

    def still(workload):
        asked.append(workload)
        if len(asked) > 10:
            raise Enough
        return renamed_and_fsynced(workload)

    shrinker = Shrinker(parse(LONG), still, lambda *_: None)
    with pytest.raises(Enough):
        shrinker.run()
    assert renamed_and_fsynced(shrinker.smallest)
    assert operation_count(shrinker.smallest) < operation_count(parse(LONG))


@pytest.mark.parametrize(
    ("move", "text", "expected"),
    [
        (
            shrinking.without_descriptors,
            "run\n  open foo @f creat\n  fsync @f\n  close @f\n",
            ["fsync foo"],
        ),
        (
            shrinking.fewer_directories,
            "run\n  mkdir A\n  creat A/foo\n  fsync A\n",
            ["creat foo", "fsync ."],
        ),
        (
            shrinking.fewer_names,
            "run\n  write tmp 0 4K\n  write foo 0 4K\n",
            ["write tmp 0 4K", "write tmp 0 4K"],
        ),
        (
            shrinking.plain_names,
            "run\n  mkdir music\n  creat music/a-song\n  rename music noise\n",
            ["mkdir A", "creat A/foo", "rename A B"],
        ),
        (
            shrinking.one_xattr_name,
            "run\n  setxattr foo user.long 1\n  removexattr foo user.long\n",
            ["setxattr foo user.x 1", "removexattr foo user.x"],
        ),
        (
            shrinking.fewer_extents_written,
            "run\n  write a 0 4K\n  write a 8K 4K\n  sync\n  write a 16K 4K\n  write a 24K 4K\n",
            ["write a 0 4K", "fallocate a alloc 0 28K", "write a 8K 4K", "sync"],
        ),
        (shrinking.plain_words, "run\n  rename a b exchange\n", ["rename a b"]),
        (shrinking.plain_words, "run\n  fdatasync a\n", ["fsync a"]),
        (shrinking.smaller_sizes, "run\n  write a 8K 40K\n", ["write a 4K 20K"]),
    ],
)
def test_the_first_candidate_of_a_move(move, text, expected):
    workload = parse(text)
    made = workload_of(next(iter(move(items_of(workload)))), workload)
    assert made is not None
    assert body(made) == expected


@pytest.mark.parametrize("move", [move for _, move in MOVES], ids=[name for name, _ in MOVES])
def test_no_move_makes_any_workload_of_the_library_longer(move):
    """What it makes is a workload, or refused as none. Of many, every so many-th; of very many, as a workload
    with hundreds of names has, only those that come first."""
    for workload in library():
        candidates = list(itertools.islice(move(items_of(workload)), CANDIDATES))
        for items in candidates[:: 1 + len(candidates) // 100]:
            made = workload_of(items, workload)
            assert made is None or operation_count(made) <= operation_count(workload)
            assert made is None or made.comment == workload.comment


def test_threads_become_fewer_as_far_as_the_answer_is_yes():
    """All of a block one after the other, else two threads as one, else operations that go."""
    text = "run\n  parallel\n    thread\n      fsync foo\n      sync\n"
    text += "    thread\n      fsync bar\n    thread\n      sync\n"
    assert format_workload(shrunk(text, lambda workload: True)[0]) in ("run\n  fsync foo\n", "run\n  sync\n")

    def beside(workload):
        return len({operation.thread for operation in workload.run if operation.word == "fsync"}) == 2

    smallest = format_workload(shrunk(text, beside)[0])
    assert smallest == "run\n  parallel\n    thread\n      fsync foo\n    thread\n      fsync foo\n"


def test_a_simpler_call_stays_in_its_thread():
    text = "run\n  parallel\n    thread\n      fdatasync A\n    thread\n      fdatasync A\n"
    smallest, _, _ = shrunk(text, lambda workload: len({op.thread for op in workload.run}) == 2)
    assert [(op.word, op.parallel, op.thread) for op in smallest.run] == [("fsync", 1, 1), ("fsync", 1, 2)]


def test_a_descriptor_that_nobody_opened_is_no_workload():
    workload = parse("run\n  open foo @f creat\n  fsync @f\n")
    assert workload_of(items_of(workload)[1:], workload) is None
    assert workload_of([], workload) is None


def test_many_writes_become_a_reservation_and_two():
    """Five extents, each part that is not written too long for ext4 to write zeros there."""
    text = "".join(f"  write a {at}K 4K\n" for at in range(0, 40, 8))
    workload = parse(f"setup\n  creat b\n{text}run\n  write a 0 4K\n  fsync a\n")
    *_, last = shrinking.fewer_extents_written(items_of(workload))
    made = workload_of(last, workload)
    assert made is not None
    assert body(made) == [
        "creat b",
        "creat a",
        "fallocate a alloc 0 256K",
        "write a 64K 4K",
        "write a 192K 4K",
        "write a 0 4K",
        "fsync a",
    ]


# --- leaps ---------------------------------------------------------------------------------------

STORY = """setup
  mkdir A
  creat A/old
  creat other
run
  write other 0 64K
  rename A/old B
  sync
  write B 0 4K
  mkdir C
  fsync B
  unlink other
  fsync other
"""


def leapt(seen, text=STORY):
    """By name, what each leap leaves of run."""
    return {
        name: [format_operation(operation) for block, operation in left if block == "run"]
        for name, left in leaps(items_of(parse(text)), seen)
    }


def test_what_had_not_begun_is_left_out_at_once():
    found = leapt(Seen(begun=3))
    assert found == {"nothing after the power failure": ["write other 0 64K", "rename A/old B", "sync"]}


def test_what_the_path_is_about_is_kept_by_all_its_names():
    """Its directory is kept, and with the second leap the calls that are about the whole filesystem."""
    found = leapt(Seen(begun=6, path="B"))
    near = ["rename A/old B", "write B 0 4K", "fsync B"]
    assert found["what the path is about"] == near
    assert found["what the path is about, and syncs"] == [near[0], "sync", *near[1:]]
    kept = [operation.path for _, operation in related(items_of(parse(STORY)), "B")]
    assert kept == ["A", "A/old", "A/old", "B", "B"]


def test_the_last_call_that_had_begun_is_kept_whatever_it_is_about():
    """It is what the power failed in."""
    assert leapt(Seen(begun=7, path="B"))["what the path is about"][-1] == "unlink other"


def test_descriptors_belong_to_their_file():
    text = "run\n  open foo @f creat\n  creat bar\n  write @f 0 4K\n  fsync @f\n"
    assert leapt(Seen(4, "foo"), text)["what the path is about"] == [
        "open foo @f creat",
        "write @f 0 4K",
        "fsync @f",
    ]


def test_threads_are_not_leapt_over():
    """No order of the text says what had begun."""
    text = "run\n  parallel\n    thread\n      creat foo\n    thread\n      creat bar\n  fsync foo\n"
    assert leapt(Seen(1, "foo"), text) == {}


def test_a_long_history_is_small_after_few_questions():
    """One of 300 operations matters, and what makes its path. ddmin alone asks more often."""
    workload = drawn.workload(300, 1, 3)
    place = [at for at, op in enumerate(workload.run) if op.word == "write" and op.path[0] != "@"][5]
    wanted = workload.run[place]
    path = wanted.path

    def still(candidate):
        return any((op.word, op.path, op.offset) == ("write", path, wanted.offset) for op in candidate.run)

    counts = []
    for seen in (Seen(place + 1, path), Seen()):
        asked = []

        def asking(candidate, asked=asked):
            asked.append(candidate)
            return still(candidate)

        shrinker = Shrinker(workload, asking, lambda *_: None, lambda seen=seen: seen)
        shrinker._less_at_once()
        shrinker._fewer_operations()
        assert operation_count(shrinker.smallest) <= 3
        counts.append(len(asked))
    assert counts[0] < counts[1]
