"""Operations that overlapped: every order that marks, results and the last tree allow, and no other."""

import copy
import errno
import itertools
import random

import msgspec
import pytest

from oracles.case import Prepared, prepare
from oracles.judge import BY_ORDER, judge_observation
from oracles.model.builder import Builder
from oracles.model.model import Disagreement, Model
from oracles.model.steps import do
from oracles.observation import Observation, Tree
from oracles.orders import Orders
from oracles.profiles import profile
from oracles.tests.made import Marks, Numbers, kinds, node_at, overlapping, replaced, tree_of, without
from oracles.verdict import Answer
from workloads.history import History, Step
from workloads.text import parse
from workloads.workload import Operation

PARALLEL = """
setup
  mkdir A
  write A/foo 0 4K
  creat bar
run
  parallel
    thread
      {}
    thread
      {}
"""


def two(first: str, second: str, marks: Marks, **more: object) -> History:
    """Two threads of one line each, or of lines joined by ; ."""
    lines = [thread.replace("; ", "\n      ") for thread in (first, second)]
    return overlapping(PARALLEL.format(*lines), marks, **more)


def orders_of(history: History) -> list[list[int]]:
    orders = Orders(history, profile(history.profile))
    found = []
    for number in itertools.count():
        model = orders.get(number)
        if model is None:
            return found
        found.append(model.order)


def judged(history: History, tree: Tree, prefix: int | None = None) -> set[str]:
    """The kinds of all violations of what the order decides, at the end or earlier."""
    prepared = prepare(history, profile(history.profile))
    seen = Observation(tree=tree, probe_steps=1)
    cut = history.entry_count if prefix is None else prefix
    verdicts = judge_observation(prepared, cut, seen)
    assert not [each for each in verdicts if each.answer is Answer.UNKNOWN], verdicts
    return set().union(*(kinds(each) for each in verdicts if each.oracle in BY_ORDER))


def end_of(history: History, order: list[int]) -> Tree:
    """The tree after all operations in that order."""
    return tree_of(model_of(history, order), len(history.setup) + len(order))


def model_of(history: History, order: list[int]) -> Model:
    orders = Orders(history, profile(history.profile))
    for number in itertools.count():
        model = orders.get(number)
        assert model is not None, "no such order"
        if model.order == order:
            return model
    raise AssertionError


def test_overlapping_operations_come_in_every_order():
    """Two calls whose marks overlap have two; the one that promises least comes first."""
    history = two("chmod A/foo 600", "fsync A/foo", {3: (0, 3), 4: (1, 2)})
    assert orders_of(history) == [[4, 3], [3, 4]]


def test_what_returned_comes_before_what_began_later():
    assert orders_of(two("chmod A/foo 600", "fsync A/foo", {3: (0, 1), 4: (2, 3)})) == [[3, 4]]
    assert orders_of(two("chmod A/foo 600", "fsync A/foo", {3: (2, 3), 4: (0, 1)})) == [[4, 3]]


def test_an_order_in_which_a_call_would_have_failed_is_none():
    """The file was there under its new name: the rename came first."""
    history = two("rename A/foo B", "chmod B 600", {3: (0, 3), 4: (1, 2)})
    assert orders_of(history) == [[3, 4]]


@pytest.mark.parametrize(
    ("word", "result", "order"),
    [("chmod A/foo 640", errno.ENOENT, [3, 4]), ("creat B", errno.EEXIST, [3, 4])],
)
def test_an_order_in_which_a_call_would_not_have_failed_is_none(word, result, order):
    """The old name was not there, or the new one was: the rename came first."""
    history = two("rename A/foo B", word, {3: (0, 3), 4: (1, 2)}, results={4: -result})
    assert orders_of(history) == [order]


def test_an_exchange_fails_where_its_second_name_is_not_there():
    words = ("rename A/foo bar exchange", "unlink bar")
    history = two(*words, {3: (0, 3), 4: (1, 2)}, results={3: -errno.ENOENT})
    assert orders_of(history) == [[4, 3]]


def test_a_descriptor_is_linked_only_while_its_file_has_a_name():
    text = PARALLEL.replace("run\n", "run\n  open A/foo @d\n").format("unlink A/foo", "link @d A/bar")
    marks = {3: (0, 1), 4: (2, 5), 5: (3, 4)}
    assert orders_of(overlapping(text, marks, results={5: -errno.ENOENT})) == [[3, 4, 5]]
    assert [3, 5, 4] in orders_of(overlapping(text, marks))


def test_a_descriptor_that_was_not_opened_leads_nowhere():
    text = PARALLEL.replace("run\n", "run\n  open B @d\n").format("unlink A/foo", "utimes @d 1")
    failed = {3: -errno.ENOENT, 5: -errno.ENOENT}
    history = overlapping(text, {3: (0, 1), 4: (2, 5), 5: (3, 4)}, results=failed)
    assert sorted(orders_of(history)) == [[3, 4, 5], [3, 5, 4]]


def test_a_path_may_have_been_looked_up_before_a_rename():
    """A write that opened the file under its old name may have come after the rename and what followed it."""
    history = two("write A/foo 0 4K", "rename A/foo B; fsync B", {3: (0, 5), 4: (1, 2), 5: (3, 4)})
    assert [4, 5, 3] in orders_of(history)
    assert judged(history, replaced(end_of(history, [4, 5, 3]), "B")) == set()
    # Before the write the file held setup's bytes; the fsync of B need not have what was written after it.
    old = node_at(end_of(history, [3, 4, 5]), "B")
    setup = tree_of(model_of(history, [4, 5, 3]), 5)
    assert judged(history, setup) == set()
    assert old != node_at(setup, "B")


def test_an_object_of_another_number_was_looked_up_at_another_time():
    """The number that a call was about tells which of two files it had opened."""
    words = {3: (0, 5), 4: (1, 2)}
    before = two("fsync A/foo", "rename bar A/foo", words, i3=258)
    assert orders_of(before) == [[3, 4], [4, 3]]
    after = two("fsync A/foo", "rename bar A/foo", words, i3=259)
    assert orders_of(after) == [[4, 3]]


def test_a_history_that_no_order_explains_is_not_judged():
    """It says which operation could not have been."""
    history = two("chmod A/foo 600", "chmod B 600", {3: (0, 3), 4: (1, 2)})
    with pytest.raises(Disagreement, match=r"operation 4 \(chmod B 600\) succeeded, but there is no B"):
        orders_of(history)
    assert "no order of the parallel operations" in prepare(history, profile("btrfs")).trouble


def test_direct_writes_to_the_same_bytes_at_once_are_not_judged():
    words = ("pwrite A/foo 0 4K direct", "write A/foo 0 8K")
    with pytest.raises(Disagreement, match="direct writes may mix"):
        orders_of(two(*words, {3: (0, 3), 4: (1, 2)}))
    assert len(orders_of(two(*words, {3: (0, 1), 4: (2, 3)}))) == 1


@pytest.mark.parametrize("order", [[3, 4], [4, 3]])
def test_the_tree_at_the_end_tells_the_order(order):
    """Of two writes to one place the last one is seen in the mounted file."""
    history = two("write A/foo 0 4K", "write A/foo 0 4K", {3: (0, 3), 4: (1, 2)})
    live = msgspec.Raw(msgspec.json.encode(end_of(history, order)))
    assert orders_of(msgspec.structs.replace(history, live=live)) == [order]


def test_a_tree_at_the_end_that_no_order_gives_is_not_judged():
    history = two("chmod A/foo 600", "fsync A/foo", {3: (0, 3), 4: (1, 2)})
    tree = without(end_of(history, [3, 4]), "bar")
    strange = msgspec.structs.replace(history, live=msgspec.Raw(msgspec.json.encode(tree)))
    with pytest.raises(
        Disagreement, match="the recorded tree at the end differs from the model: bar does not exist"
    ):
        orders_of(strange)


def test_what_overlapped_an_fsync_is_not_promised_by_it():
    """And what had returned before it began is."""
    after = {3: (0, 1), 4: (2, 3)}
    beside = {3: (0, 3), 4: (1, 2)}
    for marks, expected in ((after, {"mode lost"}), (beside, set())):
        history = two("chmod A/foo 600", "fsync A/foo", marks)
        tree = end_of(history, [3, 4])
        assert judged(history, replaced(tree, "A/foo", mode=0o644)) == expected
        assert judged(history, tree) == set()


def test_an_fsync_that_has_not_returned_promises_nothing():
    """At a cut before its end mark, whoever returned meanwhile."""
    synced = "setup\n  creat bar\nrun\n  creat foo\n"
    synced += "  parallel\n    thread\n      fsync foo\n    thread\n      sync\n"
    history = overlapping(synced, {1: (0, 1), 2: (2, 7), 3: (3, 5)})
    tree = without(end_of(history, [1, 2, 3]), "foo")
    assert judged(history, tree, 5) == set()
    assert "name lost" in judged(history, tree, 6)


def test_one_order_for_all_that_is_seen_in_a_state():
    """Of two writes to the same 8K the first half is of the one, the second of the other: each half is as by
    one of the orders, both together as by none."""
    lines = PARALLEL.format("write A/foo 0 8K", "write A/foo 0 8K") + "  sync\n"
    history = overlapping(lines, {3: (0, 3), 4: (1, 2), 5: (4, 5)})
    one, other = (node_at(end_of(history, order), "A/foo").content for order in ([3, 4, 5], [4, 3, 5]))
    tree = end_of(history, [3, 4, 5])
    half = [msgspec.structs.replace(run[0], offset=at, length=4096) for run, at in ((one, 0), (other, 4096))]
    assert judged(history, replaced(tree, "A/foo", content=one)) == set()
    assert judged(history, replaced(tree, "A/foo", content=other)) == set()
    assert judged(history, replaced(tree, "A/foo", content=tuple(half))) == {"data lost"}


def test_a_broken_state_says_how_many_orders_were_tried():
    history = two("chmod A/foo 600", "fsync bar", {3: (0, 3), 4: (1, 2)})
    prepared = prepare(history, profile("btrfs"))
    seen = Observation(tree=without(end_of(history, [3, 4]), "bar"), probe_steps=1)
    verdicts = [each for each in judge_observation(prepared, 4, seen) if each.oracle in BY_ORDER]
    expected = [violation.expected for verdict in verdicts for violation in verdict.violations]
    assert expected
    assert all(each.endswith("(by the nearest of 2 orders)") for each in expected)


def test_several_operations_in_flight_at_the_cut():
    """Each may have happened or not; on ext4 they are on disk as a prefix of one order all the same."""
    words = {3: (0, 6), 4: (1, 5)}
    history = two("chmod A/foo 600", "chmod bar 600", words, name="ext4")
    assert [step.index for step in history.in_flight(2)] == [3, 4]
    assert history.begun(1) == {3}
    assert history.returned(6) == {4}
    tree = end_of(history, [3, 4])
    for first, second in itertools.product((0o600, 0o644), repeat=2):
        assert judged(history, replaced(replaced(tree, "A/foo", mode=first), "bar", mode=second), 2) == set()
    assert judged(history, replaced(tree, "bar", mode=0o640), 2) == {
        "mode that never was",
        "mode lost",
        "not a prefix",
    }
    # Only the first has begun.
    assert "mode that never was" in judged(history, replaced(tree, "A/foo", mode=0o644), 1)


def test_operations_without_effect_have_no_place_in_the_order():
    """wait, await and the like stand anywhere: two of them do not double the orders."""
    history = two(
        "await 1; chmod A/foo 600", "wait 5; fsync bar", {3: (0, 4), 4: (5, 8), 5: (1, 3), 6: (6, 7)}
    )
    assert [[i for i in order if i in (4, 6)] for order in orders_of(history)] == [[6, 4], [4, 6]]


def test_moments_count_what_began_and_what_returned():
    """Of threads the one that began last need not be the one that returns last."""
    history = two("chmod A/foo 600", "fsync A/foo", {3: (0, 3), 4: (1, 2)})
    counts = [(history.begun_count(prefix), history.completed_count(prefix)) for prefix in range(6)]
    assert counts == [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2), (2, 2)]


# --- no false BROKEN --------------------------------------------------------------------------------------

PATHS = ("A/foo", "A/bar", "B/foo", "foo")


def drawn(random_: random.Random, threads: int, count: int) -> tuple[History, Model, dict[int, int]]:
    """A history whose operations took effect in a known order, that order's model, and the moment of each."""
    setup = "setup\n  mkdir A\n  mkdir B\n  write A/foo 0 8K\n  creat foo\n"
    numbers = Numbers(256, reuse=False)
    base = parse(setup + "run\n  sync\n").setup
    steps = [Step(i, op, 0, inode=numbers.after(op), left_inode=0) for i, op in enumerate(base)]
    done: list[tuple[Operation, int]] = []
    while len(done) < count:
        operation = msgspec.structs.replace(draw(random_), parallel=1, thread=random_.randrange(threads) + 1)
        ahead = copy.deepcopy(numbers)
        try:
            step = Step(len(steps) + len(done), operation, 0, inode=ahead.after(operation), left_inode=0)
            true_model(steps, [*done, (operation, step.inode)])
        except (Disagreement, KeyError):
            continue
        numbers = ahead
        done.append((operation, step.inode))
    # In the order of the text the threads follow each other; in time each has its own clock.
    text_order = sorted(range(count), key=lambda at: done[at][0].thread)
    index = {at: len(steps) + place for place, at in enumerate(text_order)}
    points: list[tuple[float, str, int]] = []
    clock = dict.fromkeys(range(1, threads + 1), 0.0)
    for at, (operation, _) in enumerate(done):
        effect = at + 1.0
        begin = random_.uniform(clock[operation.thread], effect)
        later = [b + 1.0 for b in range(at + 1, count) if done[b][0].thread == operation.thread]
        end = random_.uniform(effect, min(later, default=count + 2.0))
        clock[operation.thread] = end
        points += [(begin, "begin", at), (effect, "effect", at), (end, "end", at)]
    place = {(kind, at): entry for entry, (_, kind, at) in enumerate(sorted(points))}
    run = [
        Step(index[at], op, 0, place["begin", at], place["end", at], inode)
        for at, (op, inode) in enumerate(done)
    ]
    model = true_model(steps, done, index)
    history = History(
        parse(setup + "run\n  sync\n"),
        "btrfs",
        "test",
        tuple(steps),
        tuple(sorted(run, key=lambda step: step.begin_entry)),
        3 * count,
        256,
        parallel=True,
    )
    return history, model, {at: place["effect", at] for at in range(count)}


def true_model(
    setup: list[Step], done: list[tuple[Operation, int]], index: dict[int, int] | None = None
) -> Model:
    """The operations in the order of their effects."""
    builder = Builder(History(parse("run\n  sync\n"), "btrfs", "test", tuple(setup), (), 0, 256))
    for step in setup:
        do(builder, step)
    for at, (operation, number) in enumerate(done):
        do(builder, Step(index[at] if index else len(setup) + at, operation, 0, inode=number))
    return builder.model


def draw(random_: random.Random) -> Operation:
    path, other = random_.sample(PATHS, 2)
    word = random_.choice(
        [
            "creat",
            "write",
            "truncate",
            "unlink",
            "link",
            "rename",
            "chmod",
            "setxattr",
            "fsync",
            "fsync",
            "sync",
        ]
    )
    match word:
        case "write":
            return Operation(word, path, offset=4096 * random_.randrange(3), length=4096)
        case "truncate":
            return Operation(word, path, length=4096 * random_.randrange(3))
        case "link" | "rename":
            return Operation(word, path, other)
        case "chmod":
            return Operation(word, path, mode=random_.choice(["600", "640"]))
        case "setxattr":
            return Operation(word, path, name="user.x", value=random_.choice("ab"))
        case "fsync":
            return Operation(word, random_.choice([*PATHS, "A", "B", "."]))
        case "sync":
            return Operation(word)
    return Operation(word, path)


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("known_end", [False, True])
def test_a_filesystem_that_loses_nothing_is_never_broken(seed, known_end):
    """Whatever overlaps: at each cut the tree with all effects so far, and that with all effects up to any
    later moment at which nothing more had begun, break no promise."""
    random_ = random.Random(seed)
    history, model, effects = drawn(random_, threads=2 + seed % 2, count=6)
    base = len(history.setup)
    if known_end:
        live = msgspec.json.encode(tree_of(model, base + 6))
        history = msgspec.structs.replace(history, live=msgspec.Raw(live))
    prepared = prepare(history, profile("btrfs"))
    for prefix in range(history.entry_count + 1):
        had = sum(effect < prefix for effect in effects.values())
        assert not broken(prepared, prefix, tree_of(model, base + had)), (prefix, model.order)


@pytest.mark.parametrize("seed", range(40))
def test_a_filesystem_that_forgets_what_was_synced_is_broken(seed):
    """A sync that returned alone, with what had returned before it: the tree before that is BROKEN."""
    random_ = random.Random(seed)
    history, model, _ = drawn(random_, threads=2, count=4)
    last = max(step.end_entry for step in history.run)
    sync = Step(len(history.setup) + 4, Operation("sync"), 0, last + 1, last + 2)
    whole = msgspec.structs.replace(history, run=(*history.run, sync), entry_count=last + 3)
    before = tree_of(model, model.base_time)
    after = tree_of(model, model.base_time + 4)
    prepared = prepare(whole, profile("btrfs"))
    assert not broken(prepared, last + 3, after)
    if before != after:
        assert broken(prepared, last + 3, before), model.order


def broken(prepared: Prepared, prefix: int, tree: Tree) -> list[str]:
    seen = Observation(tree=tree, probe_steps=1)
    verdicts = judge_observation(prepared, prefix, seen)
    assert not [each for each in verdicts if each.answer is Answer.UNKNOWN], verdicts
    return [
        f"{each.oracle}: {violation}"
        for each in verdicts
        if each.oracle in BY_ORDER
        for violation in each.violations
    ]


@pytest.mark.parametrize(("name", "expected"), [("xfs", set()), ("ext4", {"size lost"})])
def test_a_truncate_that_waits_beside_an_fsync_keeps_xfs_from_moving_the_size(name, expected):
    """In memory the file is short at once, and the write that ends then leaves the size on disk alone."""
    marks = {3: (0, 1), 4: (2, 5), 5: (3, 8)}
    history = two("write A/foo 4K 4K; fsync A/foo", "truncate A/foo 1K", marks, name=name)
    as_before = tree_of(model_of(history, [3, 4, 5]), len(history.setup))
    assert judged(history, as_before, prefix=6) == expected


def test_a_truncate_that_begins_after_the_fsync_finds_the_size_on_disk():
    marks = {3: (0, 1), 4: (2, 3), 5: (4, 8)}
    history = two("write A/foo 4K 4K; fsync A/foo", "truncate A/foo 1K", marks, name="xfs")
    as_before = tree_of(model_of(history, [3, 4, 5]), len(history.setup))
    assert "size lost" in judged(history, as_before, prefix=6)
