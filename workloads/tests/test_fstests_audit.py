"""The table of fstests' crash tests (fstests-audit.toml): it is whole, and names what there is."""

import re
from collections import Counter

from workloads.fstests_audit import audit
from workloads.library import library, names

TEST = re.compile(r"\b(?:btrfs|ext4|f2fs|generic|overlay|xfs)/\d{3}\b")
# How many of each group were found in fstests, when its tests were read.
GROUPS = {"btrfs": 33, "ext4": 4, "f2fs": 1, "generic": 137, "overlay": 2, "xfs": 53}


def test_each_crash_test_has_one_row():
    """In order, so that a row is found."""
    tests = [row.test for row in audit()]
    assert all(TEST.fullmatch(test) for test in tests)
    assert tests == sorted(set(tests))
    assert Counter(test.partition("/")[0] for test in tests) == GROUPS
    assert len(tests) == 230


def test_each_workload_that_a_row_names_exists():
    """And a row names none twice."""
    for row in audit():
        assert set(row.workloads) <= set(names()), row
        assert len(set(row.workloads)) == len(row.workloads), row


def test_each_kind_has_what_it_needs():
    """Workloads where there are some, a feature where something is missing, and a reason everywhere else."""
    for row in audit():
        assert bool(row.workloads) or row.kind in ("option", "missing", "none"), row
        assert not row.workloads or row.kind in ("library", "part", "option"), row
        assert bool(row.feature) == (row.kind in ("part", "missing")), row
        assert row.note or row.kind == "library", row


def test_each_workload_that_guards_a_crash_test_stands_in_its_row():
    """Its header names the test. Tests that crash nothing have no row."""
    rows = {row.test: row.workloads for row in audit()}
    for workload in library():
        (guards,) = [line for line in workload.comment if line.startswith("guards: ")]
        if "no known bug" in guards:
            continue
        for test in TEST.findall(guards):
            assert workload.name in rows.get(test, (workload.name,)), (test, workload.name)
