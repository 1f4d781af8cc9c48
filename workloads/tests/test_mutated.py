"""Mutants are valid workloads, and the same ones for the same dice."""

import random

import pytest

from workloads.generate import drawn
from workloads.generate.mutated import (
    MOVES,
    OPERATIONS_MAX,
    REFUSED,
    Bench,
    fitting,
    followed,
    is_seed,
    is_valid,
    mutated,
    operation_of,
    plain,
    words_for,
)
from workloads.library import library, load
from workloads.shrinking import items_of, workload_of
from workloads.text import format as format_workload
from workloads.text import parse

FILESYSTEMS = ("btrfs", "ext4", "xfs")


def seeds(filesystem: str):
    return [workload for workload in library() if is_seed(workload, filesystem)]


def bench(filesystem: str, seed: str, others=()) -> Bench:
    return Bench(random.Random(seed), words_for(filesystem), others)


@pytest.mark.parametrize("filesystem", FILESYSTEMS)
def test_mutants_of_the_library_are_valid(filesystem):
    """Each parses as it is written, differs from its parent, and has no word that is refused."""
    every = seeds(filesystem)
    assert len(every) > 250
    for parent in every:
        made = mutated(parent, bench(filesystem, parent.name, every), "mutant")
        again = parse(format_workload(made), "mutant", "search")
        assert plain(again.run) == plain(made.run)
        assert plain(again.setup) == plain(made.setup)
        assert (plain(made.setup), plain(made.run)) != (plain(parent.setup), plain(parent.run))
        assert is_valid(made)
        assert not {op.word for op in (*made.setup, *made.run[:-1])} & set(REFUSED)
        assert len(made.setup) + len(made.run) <= max(OPERATIONS_MAX, len(parent.setup) + len(parent.run))


def test_same_dice_same_mutant():
    """The seed decides, and nothing else."""
    parent, others = load("replace-by-rename"), seeds("btrfs")
    one, other = (mutated(parent, bench("btrfs", "7", others), "a") for _ in range(2))
    assert one == other
    assert mutated(parent, bench("btrfs", "8", others), "a") != one


def test_mutants_of_mutants_stay_valid_and_short():
    """A hundred generations of one workload."""
    made, others = load("replace-by-rename"), seeds("btrfs")
    for number in range(100):
        made = mutated(made, bench("btrfs", f"{number}", others), f"m{number}")
        assert is_valid(made)
        assert 0 < len(made.setup) + len(made.run) <= OPERATIONS_MAX


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.__name__)
def test_each_move_changes_something_valid(move):
    """Of 40 tries on a workload with all kinds of operations, some."""
    source = (
        "setup\n  mkdir A\n  write A/foo 0 8K\n  setxattr A/foo user.a 1\nrun\n  open A/foo @d1\n"
        "  write @d1 4K 4K\n  pwrite A/foo 0 4K direct\n  link A/foo A/bar\n  rename A/bar baz\n"
        "  fallocate A/foo punch-hole 0 4K\n  fsync A/foo\n  close @d1\n  sync\n"
    )
    parent, changed = parse(source), 0
    for seed in range(40):
        items = move(bench("btrfs", f"{seed}", (load("rename-chain-reuse-name"),)), items_of(parent))
        made = workload_of(items, parent)
        if made is not None and is_valid(made):
            changed += plain(made.run) != plain(parent.run) or plain(made.setup) != plain(parent.setup)
    assert changed >= 8


def test_a_new_operation_knows_what_is_there():
    """The tree follows names, descriptors and sizes."""
    source = (
        "setup\n  mkdir A\n  write A/foo 0 8K\nrun\n  rename A B\n  link B/foo bar\n  unlink B/foo\n"
        "  append bar 4K\n  open bar @d1\n  rmdir B\n  tmpfile . @d2\n  close @d1\n"
    )
    tree = followed(items_of(parse(source)), "0")
    assert tree.paths() == ["bar"]
    assert tree.at("bar").size == 12 << 10
    assert list(tree.kept) == ["@d2"]


def test_words_that_a_filesystem_lacks_are_left_out():
    """Of a random workload what is left fits; no seed has them."""
    workload = parse("run\n  creat foo\n  snapshot . A\n  clone foo bar\n  fsync foo\n")
    assert [op.word for op in fitting(workload, "ext4").run] == ["creat", "fsync"]
    assert [op.word for op in fitting(workload, "xfs").run] == ["creat", "clone", "fsync"]
    assert fitting(parse("run\n  snapshot . A\n"), "ext4") is None
    assert not is_seed(workload, "ext4")
    assert is_seed(workload, "btrfs")


def test_faults_and_config_variants_are_no_seeds():
    """They are other kinds of experiments, or need another kernel."""
    assert not is_seed(parse("run\n  fault drop-writes\n  creat foo\n  fault off\n  sync\n"), "btrfs")
    assert not is_seed(parse("# x\n# config: debug\nrun\n  creat foo\n"), "btrfs")


def test_two_writers_and_a_direct_one_are_not_valid():
    """No order tells what two such writes leave (oracles/model/builder.py)."""
    text = "run\n  creat foo\n  parallel\n    thread\n      {}\n    thread\n      write foo 0 4K\n  sync\n"
    assert not is_valid(parse(text.format("pwrite foo 0 4K direct")))
    assert is_valid(parse(text.format("write foo 4K 4K")))


def test_a_line_becomes_an_operation_whatever_descriptors_it_has():
    """They are open in the workload that it goes into."""
    for word, (_, draw) in drawn.WORDS.items():
        if word == "close":
            continue
        tree = followed(items_of(parse("setup\n  creat foo\n  mkdir A\nrun\n  open foo @d7\n")), word)
        line = draw(tree)
        operation = operation_of(line)
        assert operation is not None, line
    assert operation_of("close @d1").word == "close"
    assert operation_of("no such word") is None
