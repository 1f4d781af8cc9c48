"""Which known bugs a finding is, by kernel, profile, signature and workload."""

import msgspec

from harness.evidence.named import (
    Explained,
    expected_findings,
    explained,
    is_named,
    knows,
    signatures_everywhere,
)
from oracles.finding import Witness
from reports.results import FAULTS, Attribution

LOST = "durable: name lost (fsynced file)"
FIRST_NODE = "F2FS-3"


def test_a_bug_that_may_show_in_any_workload_is_known_in_any():
    """By its signatures alone, and not among those that the suite expects exactly."""
    two = (("f2fs", "fsync-new-file"), ("f2fs", "link-then-fsync"))
    assert explained("6.12", f"f2fs {LOST}", two).ids == (FIRST_NODE,)
    assert explained("6.12", f"ext4 {LOST}", (("ext4", "fsync-new-file"),)).ids == ()
    assert f"f2fs {LOST}" in signatures_everywhere("6.12", "f2fs")


def test_a_kernel_with_a_fix_does_not_have_the_bug_any_more():
    """Where two bugs show alike, the other one is named; a finding that no other bug explains is new."""
    lost, hole = "f2fs durable: size lost (fsynced file)", ("f2fs", "punch-hole-across-end-fsync")
    fixed = "6.12+fix/f2fs-fsync-waits-for-first-node"
    assert explained("6.12", lost, (hole,)).ids == ("F2FS-3",)  # F2FS-1 shows in some recordings only
    assert explained(fixed, lost, (hole,)).ids == ("F2FS-1",)
    assert explained(fixed, lost, (("f2fs", "fsync-new-file"),)).ids == ()


def test_a_bug_that_shows_everywhere_hides_nothing_of_a_series():
    """On a kernel with a patch only an entry that names the workload, or a fix, says that it is the bug."""
    lost, place = "f2fs durable: mode lost (fsynced file)", ("f2fs", "chmod-fsync")
    fixed = "6.12+fix/f2fs-punched-hole-ends-at-the-end"
    assert explained("6.12", lost, (place,)).ids == explained(fixed, lost, (place,)).ids == ("F2FS-3",)
    assert explained("6.12+mine.patch", lost, (place,)).ids == ()
    by = (Attribution(*place, ("F2FS-3",), "fix/f2fs-fsync-waits-for-first-node"),)
    assert explained("6.12+mine.patch", lost, (place,), by).ids == ("F2FS-3",)
    opened = "f2fs stable: times changed (recovered tree)"  # has no fix
    assert explained("6.12+mine.patch", opened, (place,)).ids == ("F2FS-4",)


def test_a_bug_may_show_in_some_models_only():
    lost, place = "f2fs durable: mode lost (fsynced file)", ("f2fs", "chmod-fsync")
    assert explained("6.12", lost, (place,), models=("N",)).ids == ("F2FS-10",)
    assert explained("6.12", lost, (place,), models=("O", "N")).ids == ("F2FS-3",)
    fixed = "6.12+fix/f2fs-fsync-waits-for-first-node"
    assert explained(fixed, lost, (place,), models=("N",)).ids == ("F2FS-10",)
    assert explained(fixed, lost, (place,), models=("O",)).ids == ()
    both = f"{fixed}+fix/f2fs-recovery-spares-what-it-reads"
    assert explained(both, lost, (place,), models=("N",)).ids == ()


def test_a_bug_with_two_fixes_needs_both():
    lost = "btrfs durable: wrong object (renamed fsynced file)"
    places = (("btrfs", "replaced-name-fsync-other-name"),)
    one = "6.12+fix/btrfs-rename-notes-the-replaced-name"
    assert explained(one, lost, places).ids == ("BTRFS-3",)
    assert explained(f"{one}+fix/btrfs-conflicting-inode-logs-its-directories", lost, places).ids == ()


def test_what_a_failing_device_shows_anywhere_a_power_failure_does_not() -> None:
    assert not signatures_everywhere("6.12", "ext4")
    assert all(" told: " in one for one in signatures_everywhere("6.12", "ext4", FAULTS))
    assert signatures_everywhere("6.12", "ext4", FAULTS)
    assert (f"f2fs {LOST}", "*") not in expected_findings("6.12", "f2fs")


def test_a_run_of_model_o_is_not_held_to_what_another_model_shows():
    one = ("f2fs durable: xattr lost (synced file)", "attribute-replaced-beside-others-in-a-node")
    assert one not in expected_findings("6.12", "f2fs")
    assert one in expected_findings("6.12", "f2fs", models=("O", "T"))


def test_what_shows_only_in_some_recordings_is_known_and_not_required():
    one = ("f2fs durable: data lost (fdatasynced file)", "overwritten-while-another-flushes")
    fixed = "6.12+fix/f2fs-fsync-waits-for-first-node"
    assert one in expected_findings(fixed, "f2fs", maybe=True)
    assert one not in expected_findings(fixed, "f2fs")
    assert explained(fixed, one[0], (("f2fs", one[1]),)).ids


def test_bugs_that_show_alike_are_each_named_once():
    signature = "btrfs durable: name lost (fsynced file)"
    names = ("rename-over-synced-file", "replace-synced-fsync-other", "fsynced-file-leaves-whiteout")
    assert explained("6.12", signature, [("btrfs", name) for name in names]).ids == ("BTRFS-1", "BTRFS-4")
    assert explained("6.12", signature, ()).ids == ()


def test_a_bug_of_one_workload_is_news_in_another():
    """Though the signature is the same."""
    signature = "ext4 durable: name lost (hard-linked fsynced file)"
    known, news = ("ext4-fast-commit", "many-names-fsync"), ("ext4-fast-commit", "fsync-new-file")
    assert explained("6.12", signature, (known,)).ids
    assert explained("6.12", signature, (known, news)).ids == ()
    assert explained("6.12", signature, (("ext4", "many-names-fsync"),)).ids == ()


def test_what_little_space_decides_is_known_on_the_nearly_full_profile_alone():
    """There the fsync commits in most recordings, so that the suite must not require it."""
    lost, workload = "btrfs durable: name lost (fsynced file)", "replace-synced-fsync-other"
    assert (lost, workload) in expected_findings("6.12", "btrfs")
    assert (lost, workload) not in expected_findings("6.12", "btrfs-nearly-full")
    assert (lost, workload) in expected_findings("6.12", "btrfs-nearly-full", maybe=True)
    times = "btrfs durable: mtime lost (fsynced directory)"
    assert explained("6.12", times, (("btrfs-nearly-full", "replace-by-rename"),)).ids == ("BTRFS-15",)
    assert explained("6.12", times, (("btrfs", "replace-by-rename"),)).ids == ()
    assert explained("7.2", times, (("btrfs-nearly-full", "replace-by-rename"),)).ids == ()


def test_of_a_witness_is_known_what_its_own_place_shows() -> None:
    kernel = "6.12+my.patch"
    lost = "btrfs durable: data lost (fsynced file)"
    known = Witness(1, "btrfs", kernel, "same-file-fsynced-at-once-in-first-log", 7, "O:7", 7)
    assert knows()(known, lost)
    assert not knows()(msgspec.structs.replace(known, workload="punch-overlapping-holes"), lost)
    assert not knows()(msgspec.structs.replace(known, profile="xfs"), lost)


def test_a_bug_that_a_program_shows_is_known_of_it_on_its_profile_and_without_the_fix():
    lost, place = "btrfs durable: mtime lost (fsynced directory)", ("btrfs", "postgresql-fdatasync")
    fixed = "6.12+fix/btrfs-replayed-removal-keeps-the-times-of-its-directory"
    assert explained("6.12", lost, (place,)).ids == ("BTRFS-15",)
    assert explained("7.2", lost, (place,)).ids == ()
    assert explained(fixed, lost, (place,)).ids == ()
    assert explained("6.12", lost, (("btrfs", "git-fsync-all"),)).ids == ()


UNCLEAN, FAST = "ext4 fsck: not clean (filesystem)", "ext4-fast-commit"


def test_an_entry_for_the_workload_says_more_than_one_for_every_workload():
    """EXT4-9 may show anywhere; this workload is known for EXT4-7."""
    assert explained("6.12", UNCLEAN, [(FAST, "many-xattrs-then-write")]) == Explained(("EXT4-7",))
    assert explained("6.12", UNCLEAN, [(FAST, "random12-1-000000")]) == Explained(("EXT4-9",))


def test_a_fix_says_more_than_an_entry_for_every_workload_and_less_than_one_for_the_workload():
    by = [Attribution(FAST, name, ("EXT4-5",), "fix/a") for name in ("a", "many-xattrs-then-write")]
    assert explained("6.12", UNCLEAN, [(FAST, "a")], by) == Explained(("EXT4-5",), by_fix=True)
    assert explained("6.12", UNCLEAN, [(FAST, "many-xattrs-then-write")], by) == Explained(("EXT4-7",))
    both = [(FAST, "a"), (FAST, "many-xattrs-then-write")]
    assert explained("6.12", UNCLEAN, both, by) == Explained(("EXT4-5", "EXT4-7"), by_fix=True)


def test_what_several_bugs_show_anywhere_is_not_named():
    """Many bugs leave a filesystem of fast commits unclean; one bug of f2fs loses a mode."""
    assert not is_named("6.12", UNCLEAN, (FAST, "a"))
    assert is_named("6.12", UNCLEAN, (FAST, "many-xattrs-then-write"))
    assert is_named("6.12", "f2fs durable: mode lost (fsynced file)", ("f2fs", "a"))
    assert not is_named("6.12", "btrfs durable: name lost (fsynced file)", ("btrfs", "a"))
