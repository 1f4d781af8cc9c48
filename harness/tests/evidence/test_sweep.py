"""Which bugs are planted, and what is run to find them."""

import pytest

from harness.evidence.sweep import Bug, NothingToSweep, bug_of, plantable, planted_bugs, sweep_parts
from kernel.build import series
from kernel.kernel import BadKernel, Facts, Series
from oracles.judge import EVERY_ORACLE
from oracles.profiles import PROFILES, profile
from oracles.spec import MODELS
from reports.results import DAMAGE, FAST, FAULTS, SLOW
from workloads.library import names, select

BUGS = (Bug("planted/a", ("btrfs",), (), ()), Bug("planted/b", ("ext4", "xfs"), (), ()))
TWO = select(("fsync-new-file", "replace-by-rename"))


def summary_of(parts):
    return [(part.kernel, part.profile.name) for part in parts]


def test_the_stock_kernel_comes_first_on_every_profile_that_a_bug_is_swept_on():
    assert summary_of(sweep_parts("6.12", BUGS, TWO)) == [
        ("6.12", "btrfs"),
        ("6.12", "ext4"),
        ("6.12", "xfs"),
        ("6.12+planted/a", "btrfs"),
        ("6.12+planted/b", "ext4"),
        ("6.12+planted/b", "xfs"),
    ]


def test_a_bug_that_other_models_show_gets_them_on_its_workloads_and_so_does_the_stock_kernel():
    bug = Bug("planted/c", ("btrfs",), ("replace-by-rename",), (), ("R",))
    parts = sweep_parts("6.12", (BUGS[0], bug), TWO)
    assert [(part.kernel, [one.name for one in part.workloads], part.models) for part in parts] == [
        ("6.12", ["fsync-new-file"], ()),
        ("6.12", ["replace-by-rename"], ("R",)),
        ("6.12+planted/a", ["fsync-new-file", "replace-by-rename"], ()),
        ("6.12+planted/c", ["fsync-new-file"], ()),
        ("6.12+planted/c", ["replace-by-rename"], ("R",)),
    ]


def test_a_bug_of_the_slow_device_is_recorded_on_that_alone_on_its_own_workloads_and_so_is_the_stock_kernel():
    bug = Bug("planted/c", ("btrfs",), ("fsync-new-file",), (), device=SLOW)
    parts = sweep_parts("6.12", (BUGS[0], bug), TWO)
    assert [(part.kernel, [one.name for one in part.workloads], part.device) for part in parts] == [
        ("6.12", ["fsync-new-file"], SLOW),
        ("6.12+planted/c", ["fsync-new-file"], SLOW),
        ("6.12", ["fsync-new-file", "replace-by-rename"], FAST),
        ("6.12+planted/a", ["fsync-new-file", "replace-by-rename"], FAST),
    ]


def test_a_race_is_recorded_several_times_on_its_own_workloads_and_so_is_the_stock_kernel():
    bug = Bug("planted/c", ("btrfs",), ("fsync-new-file",), (), orders=30)
    parts = sweep_parts("7.2", (BUGS[0], bug), TWO)
    assert [(part.kernel, [one.name for one in part.workloads], part.orders) for part in parts] == [
        ("7.2", ["fsync-new-file"], 30),
        ("7.2+planted/c", ["fsync-new-file"], 30),
        ("7.2", ["fsync-new-file", "replace-by-rename"], 0),
        ("7.2+planted/a", ["fsync-new-file", "replace-by-rename"], 0),
    ]


def test_what_shows_with_stops_alone_is_recorded_with_them_and_so_is_the_stock_kernel():
    bug = Bug("planted/c", ("btrfs",), ("fsync-new-file",), (), stops=60)
    parts = sweep_parts("6.12", (BUGS[0], bug), TWO)
    assert [(part.kernel, [one.name for one in part.workloads], part.stops) for part in parts] == [
        ("6.12", ["fsync-new-file"], 60),
        ("6.12+planted/c", ["fsync-new-file"], 60),
        ("6.12", ["fsync-new-file", "replace-by-rename"], 0),
        ("6.12+planted/a", ["fsync-new-file", "replace-by-rename"], 0),
    ]


def test_a_race_is_left_out_where_a_guest_has_one_processor_only():
    races = [bug for bug in planted_bugs() if bug.orders]
    possible, left_out = plantable("6.12", races)
    assert races
    assert not possible
    assert all("User Mode Linux has several processors from 6.19 on" in said for said in left_out)
    assert plantable("7.2", races) == (races, [])


def test_a_series_says_which_device_shows_its_bug():
    devices = {bug.name: bug.device for bug in planted_bugs()}
    assert devices["planted/btrfs-log-tree-not-waited-for"] == SLOW
    assert devices["planted/jbd2-commit-without-preflush"] == FAST


def test_only_the_profiles_asked_for_are_swept():
    wanted = [profile("xfs"), profile("btrfs-single")]
    assert summary_of(sweep_parts("6.12", BUGS, TWO, wanted)) == [("6.12", "xfs"), ("6.12+planted/b", "xfs")]


def test_a_profile_without_bugs_is_refused_with_those_that_have_some():
    with pytest.raises(NothingToSweep, match=r"btrfs-single. There are some for btrfs, ext4, xfs"):
        sweep_parts("6.12", BUGS, TWO, [profile("btrfs-single")])


@pytest.mark.parametrize("kind", [FAULTS, DAMAGE])
def test_a_bug_that_needs_faults_or_damage_is_swept_on_its_own_workloads_and_so_is_the_stock_kernel(
    kind,
):
    """A sweep of faults takes long."""
    bug = Bug("planted/c", ("btrfs",), ("fsync-new-file",), (), kind=kind)
    parts = sweep_parts("6.12", (BUGS[1], bug), TWO)
    assert [
        (part.kernel, part.kind, len(part.workloads)) for part in parts if part.profile.name == "btrfs"
    ] == [
        ("6.12", kind, 1),
        ("6.12+planted/c", kind, 1),
    ]


def test_a_header_says_where_a_bug_is_looked_for_and_by_whom():
    facts = Facts(profiles=("ext4",), workloads=("fsync-new-file",), oracles=("durable", "fsck"))
    bug = bug_of(Series("planted/a", ".patch", b"", "A bug", facts))
    assert bug == Bug("planted/a", ("ext4",), ("fsync-new-file",), ("durable", "fsck"))
    assert bug_of(Series("planted/a", ".patch", b"", "")).profiles == ("btrfs",)


def test_a_bug_without_a_change_for_the_version_is_left_out_and_named():
    some = planted_bugs()[:1]
    possible, left_out = plantable("6.12", (*some, Bug("planted/no-such", ("btrfs",), (), ())))
    assert possible == list(some)
    assert len(left_out) == 1
    assert "planted/no-such" in left_out[0]


def test_an_unknown_kernel_is_no_reason_to_leave_bugs_out():
    with pytest.raises(BadKernel, match=r"6\.99\.1"):
        plantable("6.99.1", planted_bugs())


@pytest.mark.parametrize("bug", planted_bugs(), ids=lambda bug: bug.name)
def test_every_planted_bug_says_what_it_re_creates_and_what_finds_it(bug):
    text = next(one.content.decode() for one in series() if one.name == bug.name)
    assert "re-creates:" in text
    assert set(bug.profiles) <= {one.name for one in PROFILES}
    assert bug.workloads
    assert set(bug.workloads) <= set(names())
    assert bug.oracles
    assert set(bug.oracles) <= {oracle.NAME for oracle in EVERY_ORACLE}
    assert set(bug.models) <= set(MODELS) - {"O"}
