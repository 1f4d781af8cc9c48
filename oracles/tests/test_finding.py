"""finding: many violations with one signature are one finding, with the shortest witness."""

import msgspec
import pytest

from oracles.finding import Witness, group, signature
from oracles.verdict import Answer, Tier, Verdict, Violation

LOST = Violation("name lost", "fsynced file", "foo", "foo", "nothing", "said so", Tier.FS)
OTHER = Violation("size lost", "fsynced file", "foo", "8192", "0", "said so", Tier.POSIX)


def witness(workload="long", operation_count=9, place=5, experiment=1, profile="btrfs", model="O"):
    return Witness(experiment, profile, "6.12", workload, operation_count, f"{model}:{place}", place)


def verdict(*violations, answer=Answer.BROKEN):
    return Verdict("durable", Tier.FS, answer, 1, violations)


@pytest.mark.parametrize("profile", ["btrfs", "btrfs-single"])
def test_the_signature_names_filesystem_oracle_kind_and_role(profile):
    """Not the file's name, and not mkfs' options."""
    assert signature(profile, "durable", LOST) == "btrfs durable: name lost (fsynced file)"


def test_profiles_of_one_filesystem_share_a_finding():
    """Which ones is told."""
    (found,) = group([(witness(), verdict(LOST)), (witness(profile="btrfs-single"), verdict(LOST))])
    assert found.profiles == ("btrfs", "btrfs-single")
    assert found.places == (("btrfs", "long"), ("btrfs-single", "long"))


def test_of_workloads_with_as_many_operations_the_simplest_and_earliest_state_is_shown():
    """An ordered prefix before a reordering, whatever the workloads are called."""
    judged = [
        (witness("a", 3, 9), verdict(LOST)),
        (witness("b", 3, 4), verdict(LOST)),
        (witness("c", 3, 1, model="R"), verdict(LOST)),
    ]
    (found,) = group(judged)
    assert (found.witness.workload, found.witness.state) == ("b", "O:4")


def test_the_shortest_workload_and_earliest_state_are_the_witness():
    """Whatever the order they come in."""
    judged = [
        (witness(place=2), verdict(LOST)),
        (witness("short", 3, 8, 2), verdict(LOST)),
        (witness("short", 3, 7, 2), verdict(LOST)),
    ]
    for order in (judged, judged[::-1]):
        (found,) = group(order)
        assert (found.witness.workload, found.witness.state, found.count) == ("short", "O:7", 3)
        assert found.workloads == ("long", "short")


@pytest.mark.parametrize(
    ("specs", "shown"),
    [
        (("R:9-3,4,6,7", "R:9-4,5"), "R:9-4,5"),
        (("N:O:9/O:10", "N:O:9/O:9"), "N:O:9/O:9"),
        (("T:9/16", "T:9/8"), "T:9/8"),
    ],
)
def test_of_states_with_the_same_prefix_the_plainest_is_shown(specs, shown):
    """Least is lost, and the cut is the earliest."""
    one = witness(place=9)
    judged = [(msgspec.structs.replace(one, state=spec), verdict(LOST)) for spec in specs]
    (found,) = group(judged)
    assert found.witness.state == shown


def test_a_known_workload_does_not_stand_for_one_that_is_not():
    """Else what a patch breaks is repeated with a workload that the stock kernel breaks, too."""
    judged = [(witness("short", 3, 1), verdict(LOST)), (witness("long", 9, 5, model="R"), verdict(LOST))]
    (found,) = group(judged, lambda one, name: one.workload == "short" and "name lost" in name)
    assert (found.witness.workload, found.count) == ("long", 2)
    (found,) = group(judged, lambda one, name: True)
    assert found.witness.workload == "short"


def test_different_kinds_are_different_findings_and_order_is_fixed():
    """Sorted by signature."""
    groups = group([(witness(), verdict(OTHER, LOST))])
    assert [each.violation.kind for each in groups] == ["name lost", "size lost"]


def test_holds_and_unknown_make_no_finding():
    """Only BROKEN does."""
    assert (
        group([(witness(), verdict(answer=Answer.HOLDS)), (witness(), verdict(answer=Answer.UNKNOWN))]) == ()
    )


def test_what_the_slow_device_shows_is_a_finding_of_its_own():
    slow = msgspec.structs.replace(witness(), device="slow")
    found = group([(slow, verdict(LOST)), (witness(), verdict(LOST))])
    assert [(one.signature == found[0].signature, one.witness.device) for one in found] == [
        (True, "fast"),
        (True, "slow"),
    ]
