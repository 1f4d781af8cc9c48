"""redundant: what a scrub must mend, and what is there without a device; quiet's lines about wrong copies."""

import pytest

from oracles import quiet, redundant
from oracles.observation import Scrub
from oracles.tests.made import Bench, kinds, replaced, without

TREE = "run\n  mkdir A\n  write A/foo 0 8K\n  sync\n"
STALE = "3 BTRFS error (device dm-0): parent transid verify failed on logical 1 mirror 2 wanted 9 found 7"


@pytest.fixture
def bench():
    return Bench(TREE, "btrfs-raid1")


def test_nothing_is_said_where_nothing_was_scrubbed(bench):
    assert redundant.judge(bench.case(bench.tree())) is None


def test_copies_that_were_mended_are_fine(bench):
    case = bench.case(bench.tree(), scrub=Scrub(found=120), without=1)
    verdict = redundant.judge(case)
    assert not kinds(verdict)
    assert verdict.checked == 4
    assert redundant.judge(bench.case(bench.tree(), scrub=Scrub(found=120))).checked == 2


@pytest.mark.parametrize(
    ("scrub", "kind"),
    [
        (Scrub(error=5), "scrub failed"),
        (Scrub(found=3, unrepaired=1, found_again=1), "copy not mended"),
        (Scrub(found=3, found_again=3), "copy wrong after a scrub"),
        (Scrub(found_again=1), "copy wrong after a scrub"),
    ],
)
def test_a_scrub_mends_all_that_it_finds(bench, scrub, kind):
    assert kinds(redundant.judge(bench.case(bench.tree(), scrub=scrub))) == {kind}


def test_any_device_may_be_lost_after_a_scrub(bench):
    tree = bench.tree()
    refused = bench.case(tree, scrub=Scrub(), without=0, without_errno=5)
    assert kinds(redundant.judge(refused)) == {"mount refused without a device"}
    lost = bench.case(tree, scrub=Scrub(), without=0, without_tree=without(tree, "A/foo"))
    found = redundant.judge(lost)
    assert kinds(found) == {"lost with a device"}
    assert (found.violations[0].subject, found.violations[0].found) == (
        "A/foo",
        "without device 0: no such name",
    )
    again = bench.case(tree, scrub=Scrub(), without=0, returned_errno=5)
    assert kinds(redundant.judge(again)) == {"mount refused after a scrub"}


def test_what_is_written_in_place_may_be_on_one_device_alone():
    """Its copies have no checksums: an older one cannot be told from a newer one."""
    bench = Bench("run\n  mkdir A\n  chattr A +C\n  write A/foo 0 8K\n", "btrfs-raid1")
    tree = bench.tree()
    case = bench.case(
        tree, scrub=Scrub(), without=0, without_tree=replaced(tree, "A/foo", size=0, content=())
    )
    assert not kinds(redundant.judge(case))
    refused = bench.case(tree, scrub=Scrub(), without=0, without_errno=5)
    assert kinds(redundant.judge(refused)) == {"mount refused without a device"}


def test_times_may_differ_without_a_device(bench):
    tree = bench.tree()
    other = replaced(tree, "A/foo", times=(5, 6))
    assert not kinds(redundant.judge(bench.case(tree, scrub=Scrub(), without=0, without_tree=other)))


def test_lines_about_a_wrong_copy_are_no_trouble_where_the_other_one_is_right(bench):
    tree = bench.tree()
    assert kinds(quiet.judge(bench.case(tree, kernel_log=(STALE,)))) == {"filesystem error"}
    assert not kinds(quiet.judge(bench.case(tree, kernel_log=(STALE,), scrub=Scrub())))


@pytest.mark.parametrize(
    "line",
    [
        "3 BTRFS error (device dm-0): unable to fixup (regular) error at logical 1 on dev x physical 1",
        "3 BTRFS error (device dm-0 state C): open_ctree failed: -5",
        "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/scrub.c:1",
    ],
)
def test_other_lines_are_trouble_there_too(bench, line):
    assert kinds(quiet.judge(bench.case(bench.tree(), kernel_log=(line,), scrub=Scrub())))
