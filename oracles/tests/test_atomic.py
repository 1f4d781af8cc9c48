"""atomic: renames, links and unlinks by half, and the mixtures that are legal."""

import pytest

from oracles import atomic
from oracles.tests.made import Bench, also, kinds, node_at, replaced, roles, without
from oracles.verdict import Tier

MOVE = "setup\n  mkdir A\n  mkdir B\n  creat A/foo\nrun\n  rename A/foo B/foo\n"
REPLACE = "setup\n  write foo 0 4K\n  write tmp 0 8K\nrun\n  rename tmp foo\n"


def both(bench, **changes):
    """The moved file under its old name too, as a good hard link."""
    tree = also(bench.tree(), "A/foo", node_at(bench.tree(), "B/foo"))
    return replaced(replaced(tree, "A/foo", nlink=2), "B/foo", nlink=2, **changes)


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_a_renamed_file_under_both_names_is_broken(name):
    """While nothing was fsynced, on every filesystem."""
    bench = Bench(MOVE, name)
    verdict = atomic.judge(bench.case(both(bench), flying=True))
    assert kinds(verdict) == {"both names"}
    assert roles(verdict) == {"renamed file"}


@pytest.mark.parametrize("call", ["fsync B/foo", "fsync A"])
def test_both_names_are_broken_on_btrfs_when_one_of_them_is_settled(call):
    """The file itself, or its old directory, was fsynced after the rename."""
    bench = Bench(MOVE + f"  {call}\n")
    assert "both names" in kinds(atomic.judge(bench.case(both(bench))))


def test_btrfs_may_show_both_names_when_only_the_new_directory_was_fsynced():
    """Seen on stock kernels; ext4 has the rename in one transaction."""
    for name, expected in (("btrfs", set()), ("ext4", {"both names"})):
        bench = Bench(MOVE + "  fsync B\n", name)
        assert kinds(atomic.judge(bench.case(both(bench)))) == expected


def test_posix_lets_both_names_be_seen():
    """rename(2) says that there may be a time in which both lead to the file."""
    bench = Bench(MOVE, "ext4", Tier.POSIX)
    assert not kinds(atomic.judge(bench.case(both(bench), flying=True)))


def test_hard_links_explain_as_many_names_as_there_are_links():
    """Two links, one of them renamed: two names are legal, three are not."""
    bench = Bench("setup\n  creat a\n  link a b\nrun\n  rename b c\n")
    a = node_at(bench.tree(), "a")
    assert not kinds(atomic.judge(bench.case(bench.tree())))
    three = tuple(replaced((n,), n.path, nlink=3)[0] if n.path != "." else n for n in bench.tree())
    verdict = atomic.judge(bench.case(also(three, "b", a, nlink=3), flying=True))
    assert kinds(verdict) == {"both names"}


def test_a_durable_file_that_a_rename_lost_is_broken():
    """Neither name: a durable file has one at every moment."""
    bench = Bench(MOVE + "  fsync A\n")
    assert kinds(atomic.judge(bench.case(without(bench.tree(), "B/foo")))) == {"no name"}


def test_a_file_that_was_never_durable_may_be_lost():
    """Made and renamed in run, nothing synced."""
    bench = Bench("run\n  creat a\n  rename a b\n")
    assert not kinds(atomic.judge(bench.case(bench.tree(0))))


def test_a_replaced_name_leads_to_the_old_or_the_new():
    """A rename happens as a whole."""
    bench = Bench(REPLACE, tier=Tier.SOMC)
    assert not kinds(atomic.judge(bench.case(bench.tree(0))))
    assert not kinds(atomic.judge(bench.case(bench.tree(1))))
    gone = without(bench.tree(0), "foo")
    verdict = atomic.judge(bench.case(gone, flying=True))
    assert kinds(verdict) == {"replaced name gone"}
    assert {(one.tier, "generic/335" in one.promise) for one in verdict.violations} == {(Tier.SOMC, True)}


def test_posix_does_not_say_that_a_replaced_name_survives_a_power_failure():
    """That rename(2) is atomic is a rule for running processes."""
    bench = Bench(REPLACE, tier=Tier.POSIX)
    assert not kinds(atomic.judge(bench.case(without(bench.tree(0), "foo"), flying=True)))


def test_a_replaced_name_that_was_fsynced_in_run_may_not_vanish():
    """Found on stock btrfs: the log drops the replaced file and does not get the new one. Tier fs: there an
    fsync of a file promises its name."""
    text = "run\n  creat bar\n  fsync bar\n  creat tmp\n  rename tmp bar\n  creat foo\n  fsync foo\n"
    for tier, expected in ((Tier.SOMC, set()), (Tier.FS, {"replaced name gone"})):
        bench = Bench(text, tier=tier)
        verdict = atomic.judge(bench.case(without(bench.tree(), "bar")))
        assert kinds(verdict) == expected
        assert {one.tier for one in verdict.violations} <= {Tier.FS}


def test_a_replaced_name_that_was_never_durable_may_be_missing():
    """Both files were made in run and nothing was synced."""
    bench = Bench("run\n  creat foo\n  creat tmp\n  rename tmp foo\n")
    assert not kinds(atomic.judge(bench.case(bench.tree(0))))


def test_a_renamed_directory_under_both_names_is_broken():
    """Always: a directory has but one name."""
    bench = Bench("setup\n  mkdir A\n  mkdir B\n  mkdir A/d\nrun\n  rename A/d B/d\n  fsync B\n")
    tree = also(bench.tree(), "A/d", node_at(bench.tree(), "B/d"))
    assert kinds(atomic.judge(bench.case(tree))) == {"both names"}


def test_half_a_link_and_half_an_unlink():
    """The count is the number of names, whichever of them are on disk."""
    bench = Bench("setup\n  creat a\nrun\n  link a b\n  unlink b\n")
    name_only = tuple(replaced((n,), n.path, nlink=1)[0] if n.kind == "file" else n for n in bench.tree(1))
    assert kinds(atomic.judge(bench.case(name_only, begun=1, flying=True))) == {"half a link"}
    count_only = replaced(bench.tree(2), "a", nlink=2)
    assert kinds(atomic.judge(bench.case(count_only, flying=True))) == {"half an unlink"}


def test_an_exchange_through_a_third_name_may_be_cut_anywhere():
    """Every tree of one time is legal, and none of the names is lost."""
    text = "setup\n  creat a\n  creat b\nrun\n  rename a t\n  rename b a\n  rename t b\n"
    bench = Bench(text, "xfs")
    for done in range(4):
        assert not kinds(atomic.judge(bench.case(bench.tree(done))))
