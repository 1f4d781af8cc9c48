"""Fault points: their specs lead back to them."""

import pytest

from workloads.faults import CORRUPT_BYTE, DELAY_MS, FaultPoint, kinds_of, parse_point, script_point
from workloads.text import format_operation, parse

WORKLOAD = parse("setup\n  mkdir A\nrun\n  creat A/foo\n  fsync A/foo\n")
SCRIPT = parse(
    "run\n  creat foo\n  fault delay 5\n  fsync foo\n  fault off\n  fault error-writes log\n  sync\n"
)


@pytest.mark.parametrize(
    "point",
    [
        FaultPoint("error-writes", 1),
        FaultPoint("error-writes", 2, part="flush"),
        FaultPoint("error-writes", 2, part="8+8,64+1"),
        FaultPoint("drop-writes", 1, stays=True),
        FaultPoint("corrupt", 2, part="128+8"),
    ],
)
def test_a_spec_leads_back_to_its_point(point):
    assert parse_point(point.spec, WORKLOAD) == point


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("F:smoke@1", "not a fault point"),
        ("F:error-writes", "not a fault point"),
        ("F:error-writes@0", "1 to 2"),
        ("F:error-writes@3", "1 to 2"),
        ("F:script", "has no fault line"),
    ],
)
def test_a_spec_that_is_none_is_refused(spec, message):
    """With what is wrong: operations of setup run on a sound device."""
    with pytest.raises(ValueError, match=message):
        parse_point(spec, WORKLOAD)


def test_a_point_is_a_line_of_a_workload():
    """What the sweep does can be written down, but for the sectors."""
    assert format_operation(FaultPoint("error-writes", 1).on()) == "fault error-writes all"
    assert format_operation(FaultPoint("error-writes", 1, part="flush").on()) == "fault error-writes flush"
    assert format_operation(FaultPoint("delay", 1).on()) == f"fault delay {DELAY_MS}"
    assert format_operation(FaultPoint("corrupt", 1).on()).startswith(f"fault corrupt {CORRUPT_BYTE} ")


def test_a_script_begins_where_its_first_fault_line_stands():
    point = script_point(SCRIPT)
    assert (point.spec, point.operation) == ("F:script", 1)
    assert parse_point("F:script", SCRIPT) == point
    assert kinds_of(point, SCRIPT) == {"delay", "error-writes"}
