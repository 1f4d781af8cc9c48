"""reference/promises.md is made from the oracles, and each row has a source."""

import re

import pytest

from harness.book.promises import BASES, COLUMNS, EXAMPLES, cell, matrix, text
from oracles.profiles import PROFILES, asked, profile, promise
from oracles.promises import COMMON
from oracles.verdict import Tier
from workloads.text import WORDS


def test_every_word_of_a_workload_has_its_row():
    """Those that change something and those that write out."""
    told = text()
    rows = "\n".join(line.partition("| ")[2].partition(" |")[0] for line in told.splitlines())
    assert [word for word in WORDS if not re.search(rf"`{word}`", rows)] == []


def test_every_row_has_a_source():
    """The last column: a manual page, a file of the kernel, or a number of fstests."""
    source = re.compile(r"\w\([0-9]\)|fs/|Documentation/|(generic|btrfs)/\d+|fstests|no calls that write")
    lines = text().splitlines()
    tables = [
        line for line in lines if line.startswith("| ") and not line.startswith(("| ---", "| call", "| pro"))
    ]
    differing = lines.index("## Where a profile differs from its filesystem")
    assert len(tables) > 150
    for line in lines[:differing]:
        if line in tables:
            assert source.search(line.rstrip(" |").rpartition("| ")[2]), line


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.operation)
def test_sync_keeps_every_call(example):
    """But dedupe and defragment, which leave all bytes as they were."""
    asks = cell(
        "ext4" if not example.only or "ext4" in example.only else "btrfs",
        example,
        COLUMNS.index("after sync"),
    )
    assert asks == ("" if example.operation.startswith(("dedupe", "defragment")) else "posix: sync")


def test_a_promise_that_is_denied_is_asked_in_no_tier():
    """And in no weaker tier than its own."""
    f2fs, strict = profile("f2fs"), profile("f2fs-strict")
    assert promise(f2fs, "rename") is None
    assert not any(asked(f2fs, "rename", tier) for tier in Tier)
    assert [asked(strict, "rename", tier) for tier in Tier] == [False, True, True]
    keys = {each.key for each in COMMON}
    for one in PROFILES:
        made = keys | {each.key for each in one.promises}
        assert all(denied.key in made and denied.source for denied in one.denies)


@pytest.mark.parametrize("base", BASES)
def test_a_table_has_a_row_for_each_call_that_the_filesystem_has(base):
    """Only btrfs has subvolumes; ext4 and f2fs share no blocks."""
    rows = "\n".join(matrix(base))
    assert ("`subvol` create" in rows) is (base == "btrfs")
    assert ("`clone`" in rows) is (base in ("btrfs", "xfs"))
