"""Words beyond the plain ones: for each what must be there, and that a tree without it is BROKEN."""

import pytest

from oracles import atomic, durable, historical, ordered
from oracles.tests.made import Bench, kinds, node_at, replaced, without

JOURNALS = ["btrfs", "ext4", "xfs"]


# --- rename with flags

EXCHANGE = "setup\n  write a 0 4K\n  write b 0 8K\nrun\n  rename a b exchange\n"


def numbers(bench, tree):
    return {node.path: node.ino for node in tree if node.path != "."}


def test_exchange_gives_each_file_the_other_s_name():
    """rename(2), RENAME_EXCHANGE; directories carry what is below them along."""
    bench = Bench(EXCHANGE)
    before, after = numbers(bench, bench.tree(0)), numbers(bench, bench.tree())
    assert (after["a"], after["b"]) == (before["b"], before["a"])
    bench = Bench("setup\n  mkdir A\n  creat A/f\n  creat b\nrun\n  rename A b exchange\n")
    assert [node.path for node in bench.tree()] == [".", "A", "b", "b/f"]


@pytest.mark.parametrize("name", JOURNALS)
def test_half_an_exchange_is_broken(name):
    """One file under both names and the other under none; each name leads to something."""
    bench = Bench(EXCHANGE, name)
    old = bench.tree(0)
    half = replaced(old, "b", ino=node_at(old, "a").ino, size=4096, content=node_at(old, "a").content)
    half = tuple(half)
    verdict = atomic.judge(bench.case(half, flying=True))
    assert {"both names", "no name"} <= kinds(verdict)
    assert not kinds(atomic.judge(bench.case(old, flying=True)))


@pytest.mark.parametrize("name", JOURNALS)
def test_an_exchange_loses_neither_name(name):
    """Both were synced, so after the exchange both lead to something."""
    bench = Bench(EXCHANGE, name)
    verdict = durable.judge(bench.case(without(bench.tree(), "a")))
    assert "name lost" in kinds(verdict)


@pytest.mark.parametrize(
    ("name", "call", "expected"),
    [
        ("btrfs", "fsync b", True),
        ("ext4", "fsync b", True),
        ("xfs", "fsync b", False),
        ("xfs", "fsync .", True),
    ],
)
def test_an_exchanged_name_is_promised_by_fsync(name, call, expected):
    """Afterwards its old owner may not be back. xfs logs the directories, not the files exchanged."""
    bench = Bench(EXCHANGE + f"  {call}\n", name)
    verdict = durable.judge(bench.case(bench.tree(0)))
    assert ("wrong object" in kinds(verdict)) is expected


@pytest.mark.parametrize("name", JOURNALS)
def test_a_whiteout_is_promised_with_its_directory(name):
    """A character device 0:0 stands at the old name."""
    bench = Bench("setup\n  creat a\nrun\n  rename a b whiteout\n  fsync .\n", name)
    left = node_at(bench.tree(), "a")
    assert (left.kind, left.mode, left.device) == ("chr", 0, "0:0")
    assert not kinds(durable.judge(bench.case(bench.tree())))
    assert kinds(durable.judge(bench.case(without(bench.tree(), "a")))) == {"name lost"}


def test_a_rename_that_replaces_nothing_asks_for_no_old_file():
    """noreplace: as a plain rename to a free name."""
    bench = Bench("setup\n  creat a\nrun\n  rename a b noreplace\n  fsync b\n")
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"name lost", "name came back"}


# --- device nodes and pipes

NODES = "run\n  mknod dev chr 1:3\n  mkfifo pipe\n  sync\n"


@pytest.mark.parametrize("name", JOURNALS)
def test_device_numbers_are_promised(name):
    """A node with another number is another device."""
    bench = Bench(NODES, name)
    for oracle in (durable, historical, ordered):
        assert not kinds(oracle.judge(bench.case(bench.tree())))
    other = replaced(bench.tree(), "dev", device="1:5")
    assert kinds(durable.judge(bench.case(other))) == {"device lost"}
    assert kinds(historical.judge(bench.case(other))) == {"device that never was"}
    assert kinds(ordered.judge(bench.case(other))) == {"not a prefix"}


def test_a_pipe_is_no_file():
    """A pipe that comes back as a regular file is somebody else."""
    bench = Bench(NODES)
    assert "wrong object" in kinds(durable.judge(bench.case(replaced(bench.tree(), "pipe", kind="file"))))
