"""-o sync: what a call makes durable when it returns, held against the same filesystem without it."""

import pytest

from oracles import durable
from oracles.observation import Run
from oracles.tests.made import Bench, kinds, replaced, without

SYNC, PLAIN = "ext4-sync", "ext4"
WSYNC, XFS = "xfs-wsync", "xfs"


def lost(name, words, damage, flying=False):
    """What durable calls lost of the tree that damage() makes of the right one."""
    bench = Bench(words, name)
    return kinds(durable.judge(bench.case(damage(bench.tree()), flying=flying)))


def gone(path):
    return lambda tree: without(tree, path)


@pytest.mark.parametrize(
    ("words", "path"),
    [
        ("run\n  creat foo\n", "foo"),
        ("run\n  mkdir A\n", "A"),
        ("run\n  symlink there foo\n", "foo"),
        ("setup\n  creat foo\nrun\n  link foo bar\n", "bar"),
    ],
)
def test_a_name_is_durable_when_the_call_returns(words, path):
    """And only there, and only then."""
    assert "name lost" in lost(SYNC, words, gone(path)) or "object lost" in lost(SYNC, words, gone(path))
    assert not lost(PLAIN, words, gone(path))
    assert not lost(SYNC, words, gone(path), flying=True)


def test_what_was_written_is_durable():
    """As with O_DSYNC: the bytes and the size that reading them needs."""
    words = "setup\n  creat foo\nrun\n  write foo 0 8K\n"

    def half(tree):
        return replaced(tree, "foo", size=4096, content=(Run(0, 4096, "w", 2),))

    assert "size lost" in lost(SYNC, words, half)
    assert not lost(PLAIN, words, half)


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs", "f2fs"])
@pytest.mark.parametrize("how", ["", "direct"])
def test_a_write_to_a_file_with_the_flag_is_durable(name, how):
    """chattr(1), S; until the flag is cleared."""
    call = "pwrite foo 0 8K direct" if how else "write foo 0 8K"

    def found(flags):
        first, second = flags
        words = f"setup\n  creat foo\n  chattr foo {first}\n  chattr foo {second}\nrun\n  {call}\n"
        half = (Run(0, 4096, "w", 4),)
        return lost(name, words, lambda tree: replaced(tree, "foo", size=4096, content=half))

    assert "size lost" in found(("+d", "+S"))
    assert not found(("+d", "-d"))
    assert not found(("+S", "-S"))


def test_a_clone_into_a_file_with_the_flag_is_durable():
    words = "setup\n  write bar 0 8K\n  creat foo\n  chattr foo +S\nrun\n  clone bar foo\n"
    assert "size lost" in lost("btrfs", words, lambda tree: replaced(tree, "foo", size=0, content=()))
    plain = words.replace("  chattr foo +S\n", "")
    assert not lost("btrfs", plain, lambda tree: replaced(tree, "foo", size=0, content=()))


def test_an_attribute_is_durable():
    words = "setup\n  creat foo\nrun\n  setxattr foo user.x 1\n"

    def bare(tree):
        return replaced(tree, "foo", xattrs={})

    assert "xattr lost" in lost(SYNC, words, bare)
    assert not lost(PLAIN, words, bare)


def test_a_truncation_is_durable_where_it_makes_the_file_shorter():
    shorter = "setup\n  write foo 0 8K\nrun\n  truncate foo 4K\n"

    def long(tree):
        return replaced(tree, "foo", size=8192, content=(Run(0, 8192, "w", 1),))

    assert lost(SYNC, shorter, long)
    assert not lost(PLAIN, shorter, long)


def test_the_right_tree_is_silent():
    words = "setup\n  creat foo\nrun\n  write foo 0 8K\n  rename foo bar\n  unlink bar\n  mkdir A\n"
    assert not lost(SYNC, words, lambda tree: tree)


def test_wsync_is_for_names():
    """Not for the bytes, the size and the attributes of the file that has the name."""
    assert lost(WSYNC, "run\n  creat foo\n", gone("foo"))
    assert not lost(XFS, "run\n  creat foo\n", gone("foo"))

    def bare(tree):
        return replaced(tree, "foo", xattrs={})

    assert not lost(WSYNC, "setup\n  creat foo\nrun\n  setxattr foo user.x 1\n", bare)
