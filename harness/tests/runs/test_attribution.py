"""Which known bug a finding of a generated workload is: the one whose fix takes it away."""

from itertools import count

from harness.evidence.known import FIXES, KNOWN, known_ids
from harness.evidence.triage import add_attributed, read_triage, triage_of
from harness.runs.attribution import Shown, attributions, fixes_for
from kernel.build import series
from reports.results import Attribution
from workloads.generate import drawn

LOST, GONE = "btrfs durable: name lost (synced file)", "btrfs atomic: replaced name gone (renamed file)"
BTRFS = [fix for fix in FIXES if fix.filesystem == "btrfs"]


def shown(number, *signatures, profile="btrfs"):
    return Shown(number, "6.12", profile, drawn.workload(5, 1, number), frozenset(signatures))


def a_kernel(without):
    """examine() as of kernels on which without[N, signature] are the series that, together, take a signature
    of experiment N away."""

    def examine(kernel, ones):
        series_on_it = set(kernel.split("+")[1:])
        return [
            frozenset(name for name in one.signatures if not without[one.experiment, name] <= series_on_it)
            for one in ones
        ]

    return examine


def test_a_finding_is_the_bug_whose_fix_takes_it_away():
    """Each signature of a workload by itself."""
    first, second = BTRFS[0], BTRFS[1]
    found = attributions(
        [shown(0, LOST, GONE)], a_kernel({(0, LOST): {second.series}, (0, GONE): {first.series}})
    )
    name = drawn.workload(5, 1, 0).name
    assert found == {
        ("6.12", LOST): [Attribution("btrfs", name, second.ids, second.series)],
        ("6.12", GONE): [Attribution("btrfs", name, first.ids, first.series)],
    }


def test_what_two_bugs_show_alike_goes_away_with_all_fixes():
    """Then it is one of them all, and says so."""
    needed = {BTRFS[0].series, BTRFS[2].series}
    (one,) = attributions([shown(0, LOST)], a_kernel({(0, LOST): needed}))["6.12", LOST]
    assert needed <= set(one.series.split("+"))
    assert {bug for fix in BTRFS for bug in fix.ids} == set(one.ids)


def test_what_no_fix_takes_away_stays_new():
    """And so does what its own kernel does not show again, or what could not be examined."""
    never = {"fix/of-the-future"}
    assert attributions([shown(0, LOST)], a_kernel({(0, LOST): never})) == {}
    assert attributions([shown(0, LOST)], a_kernel({(0, LOST): set()})) == {}
    assert attributions([shown(0, LOST)], lambda kernel, ones: [None] * len(ones)) == {}
    lost_with_fix = lambda kernel, ones: [one.signatures if kernel == "6.12" else None for one in ones]  # noqa: E731
    assert attributions([shown(0, LOST)], lost_with_fix) == {}


def now_and_then(fix, first):
    """examine() of a finding that comes in every third recording, first in that of this number, and
    never with this fix."""
    recordings = count()

    def examine(kernel, ones):
        comes = next(recordings) % 3 == first and fix not in kernel.split("+")
        return [one.signatures if comes else frozenset() for one in ones]

    return examine


def test_what_comes_and_goes_is_not_the_bug_of_a_fix_that_leaves_it():
    """One recording that does not show it says nothing of a fix."""
    assert attributions([shown(0, LOST)], now_and_then("fix/of-the-future", first=0)) == {}


def test_what_comes_and_goes_is_the_bug_whose_fix_keeps_it_away():
    """Its own kernel may show it only in the third recording."""
    fix = BTRFS[1]
    (one,) = attributions([shown(0, LOST)], now_and_then(fix.series, first=2))["6.12", LOST]
    assert one.series == fix.series


def test_only_fixes_that_are_for_the_source_are_tried():
    """5e85262e542d is in 7.2, so the bug is not."""
    without_links = "fix/btrfs-fsync-without-links-commits"
    assert without_links in {fix.series for fix in fixes_for("6.12", "btrfs")}
    assert without_links not in {fix.series for fix in fixes_for("7.2+planted/x", "btrfs")}


def test_a_filesystem_without_fixes_is_left_alone():
    """No kernel is built for it."""
    assert attributions([shown(0, "ext4 fsck: not clean (filesystem)", profile="ext4")], None) == {}


def test_a_finding_is_known_when_each_of_its_places_is():
    """By KNOWN, or by what was attributed."""
    one, other = ("btrfs", "random5-1-000000"), ("btrfs", "random5-1-000001")
    both = ("BTRFS-1", "BTRFS-4")
    by_fix = [Attribution(*one, ("BTRFS-1",), "fix/a"), Attribution(*other, both, "fix/a+fix/b")]
    assert known_ids("6.12", LOST, [one]) == ()
    assert known_ids("6.12", LOST, [one], by_fix) == ("BTRFS-1",)
    assert known_ids("6.12", LOST, [one, other], by_fix) == both
    assert known_ids("6.12", LOST, [one, ("btrfs", "random5-1-000002")], by_fix) == ()
    assert known_ids("6.12", LOST, [one, ("xfs", one[1])], by_fix) == ()


def test_attributions_are_kept_beside_what_is_known_already(tmp_path):
    """A second command replaces those of a place and leaves the others."""
    ids = ("BTRFS-1",)
    first, second = Attribution("btrfs", "a", ids, "fix/a"), Attribution("btrfs", "b", ids, "fix/a")
    add_attributed(tmp_path, {("6.12", LOST): [second, first]})
    again = Attribution("btrfs", "a", ("BTRFS-4",), "fix/b")
    add_attributed(tmp_path, {("6.12", LOST): [again], ("6.12", GONE): [first]})
    kept = read_triage(tmp_path)
    assert triage_of(kept, "6.12", LOST).attributed == (again, second)
    assert triage_of(kept, "6.12", GONE).attributed == (first,)
    assert triage_of(kept, "7.2", LOST).attributed == ()


def test_every_fix_is_a_series_and_of_bugs_that_are_known():
    """Of the same filesystem."""
    assert {fix.series for fix in FIXES} <= {one.name for one in series()}
    known = {(bug.filesystem, bug.id) for bug in KNOWN}
    assert {(fix.filesystem, bug) for fix in FIXES for bug in fix.ids} <= known
