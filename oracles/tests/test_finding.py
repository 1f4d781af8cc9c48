"""finding: many violations with one signature are one finding, with the shortest witness."""

from oracles.finding import Witness, group, signature
from oracles.verdict import Answer, Tier, Verdict, Violation

LOST = Violation("name lost", "fsynced file", "foo", "foo", "nothing", "said so", Tier.FS)
OTHER = Violation("size lost", "fsynced file", "foo", "8192", "0", "said so", Tier.POSIX)


def witness(workload="long", operation_count=9, place=5, experiment=1):
    return Witness(experiment, "btrfs", "6.12", workload, operation_count, f"O:{place}", place)


def verdict(*violations, answer=Answer.BROKEN):
    return Verdict("durable", Tier.FS, answer, 1, violations)


def test_the_signature_names_profile_oracle_kind_and_role():
    """Not the file's name."""
    assert signature("btrfs", "durable", LOST) == "btrfs durable: name lost (fsynced file)"


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


def test_different_kinds_are_different_findings_and_order_is_fixed():
    """Sorted by signature."""
    groups = group([(witness(), verdict(OTHER, LOST))])
    assert [each.violation.kind for each in groups] == ["name lost", "size lost"]


def test_holds_and_unknown_make_no_finding():
    """Only BROKEN does."""
    assert (
        group([(witness(), verdict(answer=Answer.HOLDS)), (witness(), verdict(answer=Answer.UNKNOWN))]) == ()
    )
