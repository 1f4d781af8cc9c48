"""Variants of a workload: the same from the same seed, well-formed, and nothing made durable that was not."""

import random

import pytest

from workloads.generate.varied import (
    below_a_directory,
    bystanders,
    other_names,
    other_sizes,
    other_words,
    varied,
)
from workloads.library import load, select
from workloads.shrinking import items_of, lines_of, workload_of
from workloads.text import format as format_workload
from workloads.text import format_operation, parse

DURABLE = ("fsync", "fdatasync", "sync", "syncfs", "msync", "freeze", "umount", "remount")
REPLACED = "setup\n  creat foo\n  sync\nrun\n  write bar 0 8K\n  rename bar foo\n  fsync .\n"


def moved(move, text, seed=1):
    workload = parse(text)
    made = workload_of(move(random.Random(seed), items_of(workload)), workload)
    assert made is not None
    return lines_of(made)


def test_the_same_seed_and_number_make_the_same_variant():
    original = load("rename-over-synced-file")
    assert varied(original, 1, 2) == varied(original, 1, 2)
    assert format_workload(varied(original, 1, 2)) != format_workload(varied(original, 1, 3))


@pytest.mark.parametrize("seed", range(3))
def test_every_workload_of_the_library_has_variants(seed):
    """They are well-formed, and say what they were made from."""
    for original in select(["*"]):
        one = varied(original, seed, 0)
        assert parse(format_workload(one)).run
        assert (one.setup, one.run) != (original.setup, original.run)
        assert one.comment[0] == f"Varied from {original.name}."
        assert one.config == original.config


@pytest.mark.parametrize("seed", range(10))
def test_a_variant_makes_nothing_durable_that_the_workload_does_not(seed):
    """As many calls that do, in the same order of kinds; sync and syncfs are one."""
    original = load("rename-over-synced-file")
    count = lambda one: sum(op.word in DURABLE for op in one.run)  # noqa: E731
    assert count(varied(original, seed, 0)) == count(original)


def test_names_are_others_and_long_ones_stay():
    long = "n" * 200
    lines = moved(other_names, f"run\n  creat {long}\n  creat foo\n  rename foo A/foo\n  fsync A/foo\n")
    assert lines[0] == f"creat {long}"
    first = lines[1].removeprefix("creat ")
    assert first != "foo"
    assert lines[2].endswith(f"/{first}")


def test_all_is_in_a_directory_that_is_durable():
    """The root's part is the directory's."""
    lines = moved(below_a_directory, REPLACED)
    directory = lines[0].removeprefix("mkdir ")
    assert lines[1] == f"creat {directory}/foo"
    assert lines[-1] == f"fsync {directory}"


def test_sizes_grow_together():
    lines = moved(other_sizes, "run\n  write foo 4K 8K\n  truncate foo 6K\n")
    write, size = lines
    assert write in ("write foo 8K 16K", "write foo 12K 24K", "write foo 16K 32K")
    assert size in ("truncate foo 12K", "truncate foo 18K", "truncate foo 24K")


def test_what_is_only_named_may_be_of_another_kind():
    """What is fsynced or written to may not."""
    seen = {moved(other_words, "run\n  creat a\n  rename a b\n  fsync .\n", seed)[0] for seed in range(40)}
    assert seen == {"creat a", "symlink nowhere a", "mkfifo a", "write a 0 4K"}
    seen = {moved(other_words, "run\n  creat a\n  rename a b\n  fsync b\n", seed)[0] for seed in range(40)}
    assert seen == {"creat a", "open a @v0 creat"}


def test_bystanders_stand_outside_of_parallel_blocks():
    """Which stay as they are."""
    workload = load("same-file-fsynced-at-once-in-first-log")
    inside = [format_operation(op) for op in workload.run if op.parallel]
    assert inside
    for seed in range(20):
        made = workload_of(bystanders(random.Random(seed), items_of(workload)), workload)
        assert [format_operation(op) for op in made.run if op.parallel] == inside
