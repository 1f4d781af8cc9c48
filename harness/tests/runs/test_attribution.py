"""Which known bug a finding of a generated workload is: the one whose fix takes it away."""

from itertools import count

import msgspec
import pytest

from harness.evidence.known import FIXES, KNOWN
from harness.evidence.named import explained
from harness.evidence.triage import add_attributed, read_triage, triage_of
from harness.local.progress import Progress
from harness.runs import attribution
from harness.runs import run as runs
from harness.runs.attribution import (
    WORKLOADS_MAX,
    Shown,
    attribute_new,
    attributions,
    fixes_for,
    is_for_run,
    shown_by,
)
from harness.tests.made_run import EMPTY, ENTRY_COUNT, judged, keep, question, seen
from kernel.build import series
from kernel.kernel import BadKernel, KernelError, Unbuildable
from reports.results import SLOW, Attribution, Device, FindingCounts, Triage, read_experiment
from workloads.generate import drawn
from workloads.text import parse

LOST, GONE = "btrfs durable: name lost (synced file)", "btrfs atomic: replaced name gone (renamed file)"
BTRFS = [fix for fix in FIXES if fix.filesystem == "btrfs" and not fix.profiles]


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


def test_what_two_bugs_show_alike_is_both():
    """No fix alone takes it away; the fewest that do name them."""
    needed = {BTRFS[0].series, BTRFS[4].series}
    (one,) = attributions([shown(0, LOST)], a_kernel({(0, LOST): needed}))["6.12", LOST]
    assert set(one.series.split("+")) == needed
    assert one.ids == (*BTRFS[0].ids, *BTRFS[4].ids)


def test_of_two_bugs_the_one_that_the_workload_shows_besides_is_tried_first():
    """So that few kernels are built."""
    asked = []
    needed = {(0, LOST): {BTRFS[2].series, BTRFS[5].series}, (0, GONE): {BTRFS[5].series}}
    there = a_kernel(needed)

    def examine(kernel, ones):
        asked.append(kernel)
        return there(kernel, ones)

    (one,) = attributions([shown(0, LOST, GONE)], examine)["6.12", LOST]
    assert set(one.series.split("+")) == needed[0, LOST]
    pairs = [kernel for kernel in dict.fromkeys(asked) if kernel.count("+") == len(needed)]
    assert len(pairs) == BTRFS.index(BTRFS[2]) + 1


def test_what_all_fixes_together_leave_costs_one_kernel():
    """Nothing is built that removes less."""
    asked = []

    def examine(kernel, ones):
        asked.append(kernel)
        return [one.signatures for one in ones]

    assert attributions([shown(0, LOST)], examine) == {}
    assert asked == ["6.12", "+".join(["6.12", *(fix.series for fix in BTRFS)])]


def test_workloads_that_need_another_kernel_are_asked_about_apart():
    """One with a stop needs the config variant that can; what is asked together is asked of one kernel."""
    text = "run\n  parallel\n    thread\n      stop btrfs_link 1\n      sync\n    thread\n      sync\n"
    stopping = msgspec.structs.replace(shown(1, LOST), workload=parse(text, "stops"))
    together = []

    def examine(_kernel, ones):
        together.append({one.workload.config for one in ones})
        return [one.signatures for one in ones]

    attributions([shown(0, LOST), stopping, shown(2, LOST)], examine)
    assert all(len(configs) == 1 for configs in together)
    assert {(), ("stops",)} == set().union(*together)


@pytest.mark.parametrize("error", [Unbuildable, BadKernel])
@pytest.mark.parametrize("needed", [[0], [0, 4]], ids=["one fix", "two fixes"])
def test_a_fix_that_fits_no_kernel_is_told_and_left_out(needed, error):
    """The others are asked all the same, each alone and then together."""
    unfit, told, asked = BTRFS[2].series, [], []
    there = a_kernel({(0, LOST): {BTRFS[at].series for at in needed}})

    def examine(kernel, ones):
        if unfit in kernel.split("+"):
            asked.append(kernel)
            raise error("tree-log.c:12: no such member")
        return there(kernel, ones)

    (one,) = attributions([shown(0, LOST)], examine, tell=told.append)["6.12", LOST]
    assert one.series == "+".join(BTRFS[at].series for at in needed)
    why = "tree-log.c:12: no such member"
    alone = [f"{unfit}: {why}"] if len(needed) > 1 else []
    assert told == [f"{len(fixes_for('6.12', 'btrfs'))} fixes together: {why}", *alone]
    assert len(asked) == len(told), "what cannot be built is not tried again"


def test_a_fix_that_fits_beside_another_alone_is_tried_with_it():
    """It does not apply without what the other one changed."""
    base, later = BTRFS[0].series, BTRFS[3].series
    there = a_kernel({(0, LOST): {base, later}})

    def examine(kernel, ones):
        series_on_it = kernel.split("+")
        if later in series_on_it and base not in series_on_it:
            raise BadKernel("matches no code")
        return there(kernel, ones)

    (one,) = attributions([shown(0, LOST)], examine)["6.12", LOST]
    assert one.series == f"{base}+{later}"


def test_what_a_fix_that_fits_no_kernel_would_take_away_stays_new():
    unfit = BTRFS[2].series

    def examine(kernel, ones):
        if unfit in kernel.split("+"):
            raise Unbuildable("no")
        return [one.signatures for one in ones]

    assert attributions([shown(0, LOST)], examine) == {}


def test_its_own_kernel_must_be_there():
    """What was recorded on it cannot be asked about without it."""

    def examine(kernel, ones):
        raise Unbuildable(kernel)

    with pytest.raises(Unbuildable, match=r"^6\.12$"):
        attributions([shown(0, LOST)], examine)


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
    without_links = "fix/btrfs-fsync-of-a-removed-file-commits"
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
    assert explained("6.12", LOST, [one]).ids == ()
    assert explained("6.12", LOST, [one], by_fix).ids == ("BTRFS-1",)
    assert explained("6.12", LOST, [one, other], by_fix).ids == both
    assert explained("6.12", LOST, [one, ("btrfs", "random5-1-000002")], by_fix).ids == ()
    assert explained("6.12", LOST, [one, ("xfs", one[1])], by_fix).ids == ()


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


FOO_LOST = "btrfs durable: name lost (fsynced file)"


def an_experiment(run, kernel="6.12", **facts):
    """In which the fsynced file is lost in the last state."""
    lost = judged({ENTRY_COUNT: seen(ENTRY_COUNT, tree=EMPTY)})
    question(run)
    experiment = read_experiment(keep(run, judge=lost))
    return msgspec.structs.replace(
        experiment, facts=msgspec.structs.replace(experiment.facts, kernel=kernel, **facts)
    )


def test_what_no_id_claims_is_asked_about(tmp_path):
    """With the device under its recording, and the crash models whose states show it."""
    device = Device(SLOW, 7)
    one = shown_by(an_experiment(tmp_path, recorded_on=device), {})
    assert (one.profile, one.device, one.models) == ("btrfs", device, ("O",))
    assert FOO_LOST in one.signatures


def test_what_is_attributed_or_named_is_not_asked_about(tmp_path, monkeypatch):
    experiment = an_experiment(tmp_path)
    names = shown_by(experiment, {}).signatures
    by = Attribution("btrfs", experiment.facts.workload, ("BTRFS-1",), "fix/a")
    kept = {f"6.12 {name}": Triage(attributed=(by,)) for name in names}
    assert shown_by(experiment, kept) is None
    models = []
    monkeypatch.setattr(attribution, "is_named", lambda *args: models.append(args[3:]) or True)
    assert shown_by(experiment, {}) is None
    assert models
    assert all(one == ({"O"},) for one in models), "those that show it"


@pytest.mark.parametrize(
    ("kernel", "guest", "asked"),
    [
        ("6.12", "uml", True),
        ("7.2+fix/btrfs-whiteout-is-not-logged-in-part", "uml", True),
        ("6.12", "qemu-tcg", False),
        ("6.12", "ssh:lab", False),
        ("6.12+my-fix.patch", "uml", False),
        ("6.12+planted/old-name-kept-after-rename", "uml", False),
        ("../linux", "uml", False),
    ],
)
def test_run_asks_by_itself_on_stock_kernels_that_boot_at_once(kernel, guest, asked):
    """A fix may not apply to what a user has patched; `attribute` tries it."""
    assert is_for_run(msgspec.structs.replace(shown(0, LOST), kernel=kernel, guest=guest)) == asked


def test_run_asks_about_so_many_and_names_the_command_for_the_rest(tmp_path, monkeypatch, capsys):
    asked = []

    def examine(self, kernel, ones):
        asked.append(ones)
        return [None for _ in ones]

    monkeypatch.setattr(attribution.Recorder, "examine", examine)
    with Progress() as progress:
        assert not attribute_new(tmp_path, [shown(at, LOST) for at in range(WORKLOADS_MAX + 3)], progress)
    assert len(asked[0]) == WORKLOADS_MAX
    assert f"for 3 more: powercut attribute {tmp_path}" in capsys.readouterr().err


def test_a_kernel_that_cannot_be_built_ends_it_and_keeps_what_was_found(tmp_path, monkeypatch, capsys):
    first, second = BTRFS[0].series, BTRFS[1].series
    there = a_kernel({(0, LOST): {first}, (1, LOST): {"fix/later"}})

    def examine(self, kernel, ones):
        if kernel == f"6.12+{second}":
            raise KernelError("no compiler")
        every = kernel.count("+") > 1
        return [frozenset() for _ in ones] if every else there(kernel, ones)

    monkeypatch.setattr(attribution.Recorder, "examine", examine)
    with Progress() as progress:
        assert attribute_new(tmp_path, [shown(0, LOST), shown(1, LOST)], progress)
    (by,) = triage_of(read_triage(tmp_path), "6.12", LOST).attributed
    assert by.series == first
    assert "the rest is not attributed: no compiler" in capsys.readouterr().err


def test_a_run_attributes_before_it_sums_up(tmp_path, monkeypatch):
    """Its summary counts what is known by a fix, and what is new is repeated after that."""
    experiment = an_experiment(tmp_path)
    by = Attribution("btrfs", experiment.facts.workload, ("BTRFS-1",), "fix/a")
    names = shown_by(experiment, {}).signatures

    def attributed(folder, asked, progress):
        assert (folder / "summary.json").exists(), "what there is, should the user not wait"
        add_attributed(folder, {("test", name): [by] for name in names})
        return True

    monkeypatch.setattr(runs, "unclaimed", lambda folder: ["one"])
    monkeypatch.setattr(runs, "attribute_new", attributed)
    with Progress(quiet=True) as progress:
        summary = runs.finish(tmp_path, 1.0, 0, by_fix=progress)
    assert summary.known == FindingCounts(by_fix=len(names))
    assert all(one.by_fix and one.known for one in summary.findings)
    assert runs.finish(tmp_path, 1.0, 0).known == FindingCounts(by_fix=len(names))


def test_a_run_that_does_not_attribute_counts_what_is_new(tmp_path):
    an_experiment(tmp_path)
    summary = runs.finish(tmp_path, 1.0, 0)
    assert summary.known == FindingCounts(new=len(summary.findings))


def test_after_a_kernel_that_cannot_be_built_the_one_before_gets_a_new_guest(tmp_path, monkeypatch):
    """Its guest has ended."""
    guests = []

    class Guest:
        def __init__(self, target, space):
            self.open = True
            guests.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.open = False

    def target(self, kernel, ones):
        if kernel == "6.12+fix/a":
            raise Unbuildable("no")

    monkeypatch.setattr(attribution, "InterestingnessTest", Guest)
    monkeypatch.setattr(attribution.Recorder, "_target", target)
    ones = [shown(0, LOST)]
    with Progress(quiet=True) as progress, attribution.Recorder(tmp_path, progress) as recorder:
        first = recorder._guest("6.12", ones)
        with pytest.raises(Unbuildable):
            recorder._guest("6.12+fix/a", ones)
        assert not first.open
        assert recorder._guest("6.12", ones).open
    assert not any(guest.open for guest in guests)
