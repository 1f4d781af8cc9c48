"""What a sweep saw of planted bugs, and of the kernel without them."""

import pytest

from harness.evidence.bugs import pages_folder
from harness.evidence.detection import detect, silence, stock_of, sweep_failed, table
from harness.evidence.known import EVERYWHERE, KNOWN
from harness.evidence.named import explained
from oracles.finding import Witness
from oracles.profiles import PROFILES
from oracles.verdict import Answer, Tier, Verdict, Violation
from reports.results import Detection, Finding, KnownAs, OracleSight, Silence
from workloads.library import names
from workloads.programs import library

STOCK, PLANTED = "6.12", "6.12+planted/a"


def broken(kernel, experiment, place, oracle="durable", kind="name lost", workload="w1", profile="ext4"):
    witness = Witness(experiment, profile, kernel, workload, 3, f"O:{place}", place)
    violation = Violation(kind, "fsynced file", "foo", "foo", "no such name", "a promise", Tier.POSIX)
    return witness, Verdict(oracle, Tier.FS, Answer.BROKEN, 1, (violation,))


def finding(number, kernel, oracle="durable", kind="name lost", known=(), profile="ext4"):
    return Finding(
        id=f"F{number}",
        signature=f"{profile} {oracle}: {kind} (fsynced file)",
        oracle=oracle,
        kind=kind,
        role="fsynced file",
        tier="posix",
        profile=profile,
        kernel=kernel,
        workload="w1",
        experiment=1,
        state="O:1",
        subject="foo",
        expected="",
        found="",
        promise="",
        count=1,
        workloads=("w1",),
        repro="",
        known=known,
    )


SECONDS = {STOCK: {1: 1.0, 2: 1.0}, PLANTED: {3: 2.0, 4: 4.0}}


def test_the_first_sight_is_told_with_all_who_saw_it_there():
    judged = [
        broken(PLANTED, 4, 1),
        broken(PLANTED, 3, 9, "atomic", "no name"),
        broken(PLANTED, 3, 7),
        broken(PLANTED, 3, 7, "fsck", "not clean"),
    ]
    (one,) = detect(judged, SECONDS, [finding(2, PLANTED), finding(1, PLANTED, "atomic", "no name")])
    assert (one.planted, one.found, one.oracle, one.workload, one.state) == (
        "planted/a",
        True,
        "durable, fsck",
        "w1",
        "O:7",
    )
    assert (one.seconds, one.swept_seconds) == (2.0, 6.0)
    assert one.by_oracle[0] == OracleSight("durable", 2, 1, "w1", "O:7", 3, "F2")
    assert {sight.oracle: sight.finding for sight in one.by_oracle} == {
        "durable": "F2",
        "atomic": "F1",
        "fsck": "",
    }


@pytest.mark.parametrize(
    ("changed", "found"),
    [({}, False), ({"kind": "size lost"}, True), ({"workload": "w2"}, True), ({"profile": "xfs"}, True)],
)
def test_what_the_stock_kernel_gives_too_detects_nothing(changed, found):
    """Unless it is another violation, workload or profile."""
    (one,) = detect([broken(STOCK, 1, 5), broken(PLANTED, 3, 6, **changed)], SECONDS, [])
    assert one.found is found


def test_a_bug_that_nobody_saw_is_not_found():
    (one,) = detect([], SECONDS, [])
    assert (one.planted, one.found, one.oracle, one.by_oracle) == ("planted/a", False, "", ())


def test_without_its_stock_kernel_a_planted_kernel_is_no_sweep():
    assert detect([broken(PLANTED, 3, 6)], {PLANTED: {3: 2.0}}, []) == []
    assert stock_of("6.12+mine.patch+planted/a") == "6.12+mine.patch"


def test_the_stock_kernel_is_told_profile_by_profile():
    examined = {(STOCK, "ext4"): (2, 30), (STOCK, "xfs"): (2, 20), (PLANTED, "ext4"): (2, 31)}
    findings = [
        finding(1, STOCK, known=(KnownAs("EXT4-1", "A bug"),)),
        finding(2, STOCK, "fsck"),
        finding(3, PLANTED),
        finding(4, STOCK, profile="xfs", known=(KnownAs("XFS-1", "Another"),)),
    ]
    assert silence(examined, findings) == [
        Silence(STOCK, "ext4", 2, 30, ("F1",), ("F2",)),
        Silence(STOCK, "xfs", 2, 20, ("F4",), ()),
    ]


@pytest.mark.parametrize(
    ("found", "false", "failed"), [(True, (), False), (False, (), True), (True, ("F1",), True)]
)
def test_a_sweep_fails_by_a_missed_bug_or_a_false_finding(found, false, failed):
    detection = Detection("planted/a", found, "", "", "", 0.0)
    assert sweep_failed([detection], [Silence(STOCK, "ext4", 1, 1, ("F2",), false)]) is failed


def test_the_table_has_a_row_for_who_was_first_and_one_for_all_who_saw():
    judged = [broken(PLANTED, 3, 7), broken(PLANTED, 4, 2, workload="w2")]
    detections = [*detect(judged, SECONDS, []), Detection("planted/b", False, "", "", "", 1.5)]
    lines = table(detections, [Silence(STOCK, "ext4", 2, 30, ("F1",))], ["durable", "fsck"])
    rows = [line.split() for line in lines]
    assert ["a", "durable", "w1", "O:7", "2.0"] in rows
    assert ["b", "NOT", "FOUND", "1.5"] in rows
    assert ["a", "2", "."] in rows
    assert ["b", ".", "."] in rows
    assert "detected 1 of 2" in lines
    assert "findings on the stock kernel that are no known bug: 0 (ext4; known bugs: 1)" in lines
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("bug", KNOWN, ids=lambda bug: f"{bug.id}-{bug.workload}-{bug.kernels[-1]}")
def test_a_known_bug_has_a_page_and_is_shown_by_a_workload_or_a_program(bug):
    page = (pages_folder() / f"{bug.id}.md").read_text()
    if bug.workload != EVERYWHERE:
        assert f"`{bug.workload}`" in page
        assert bug.workload in {*names(), *(one.name for one in library())}
    assert {one.name for one in PROFILES} >= set(bug.profiles)
    assert bug.filesystem in {one.filesystem for one in PROFILES}


BUG = next(bug for bug in KNOWN if bug.shown_on("6.12", "btrfs-single") and "7.2" not in bug.kernels)
SIGNATURE = f"btrfs {BUG.signatures[0]}"
HERE = ("btrfs-single", BUG.workload)


@pytest.mark.parametrize(
    ("kernel", "signature", "places", "known"),
    [
        ("6.12", SIGNATURE, [HERE], True),
        ("6.12", SIGNATURE, [HERE, ("btrfs", BUG.workload)], True),
        ("6.12+planted/a", SIGNATURE, [HERE], True),
        ("7.2", SIGNATURE, [HERE], False),
        ("7.2", SIGNATURE, [("btrfs", BUG.workload), HERE], False),
        ("6.12", f"ext4 {BUG.signatures[0]}", [("ext4", BUG.workload)], False),
        ("6.12", "btrfs atomic: other", [HERE], False),
        ("6.12", SIGNATURE, [HERE, ("btrfs-single", "link-fsync-new-name")], False),
    ],
)
def test_a_finding_is_known_when_all_of_its_places_are(kernel, signature, places, known):
    assert explained(kernel, signature, places).ids == ((BUG.id,) if known else ())


@pytest.mark.parametrize(
    ("signature", "known"),
    [
        ("btrfs told: name lost untold (fsynced file)", True),
        ("btrfs contained: name lost (fsynced file)", True),
        ("btrfs told: name lost untold (fsynced fifo)", False),
        ("btrfs detected: name lost (fsynced file)", False),
        ("ext4 told: name lost untold (fsynced file)", False),
    ],
)
def test_a_bug_of_a_power_failure_is_known_in_a_sweep_of_faults_too(signature, known):
    places = [("btrfs", "replace-synced-fsync-other")]
    assert bool(explained("6.12", signature, places).ids) == known
