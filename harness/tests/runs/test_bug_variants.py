"""How variants of known bugs are counted: right, wrong, new."""

import pytest

from harness.evidence.known import FIXES, KNOWN
from harness.suite.variants import ALSO, Row, lines, originals
from workloads.library import names

ONE, OTHER = "ext4 mounts: mount refused (filesystem)", "ext4 fsck: not clean (filesystem)"


def a_row(ids, truth=("EXT4-4",)):
    return Row(
        "w-varied1-000", "w", "ext4-fast-commit", truth, (OTHER, ONE), ids, dict.fromkeys(ids, "fix/a")
    )


@pytest.mark.parametrize(
    ("ids", "answer"),
    [
        ({ONE: ("EXT4-4",), OTHER: ("EXT4-4",)}, "right"),
        ({ONE: ("EXT4-4",)}, "new"),
        ({}, "new"),
        ({ONE: ("EXT4-4",), OTHER: ("EXT4-5",)}, "wrong"),
        ({ONE: ("EXT4-4", "EXT4-5")}, "wrong"),
    ],
)
def test_a_variant_is_right_when_all_that_it_shows_is_its_bug(ids, answer):
    """One other ID makes it wrong, also beside the right one."""
    assert a_row(ids).answer == answer


def test_the_lines_count_and_name_what_is_not_right():
    said = list(lines([a_row({ONE: ("EXT4-4",), OTHER: ("EXT4-4",)}), a_row({ONE: ("EXT4-5",)})]))
    assert said[0] == "2 variants of known bugs: 1 right, 1 wrong, 0 new"
    assert "wrong: w-varied1-000 on ext4-fast-commit, of EXT4-4" in said[1]
    assert any("mount refused (filesystem): EXT4-5 fix/a" in line for line in said)


@pytest.mark.parametrize("profile", ["btrfs", "ext4-fast-commit", "xfs", "f2fs"])
def test_only_bugs_with_a_fix_are_varied(profile):
    """By workloads that surely show them: what comes and goes shows in variants even less."""
    found = originals("6.12", profile)
    assert found.keys() <= {*names()}
    assert {bug for ids in found.values() for bug in ids} <= {bug for fix in FIXES for bug in fix.ids}


def test_what_a_variant_may_show_besides_is_a_known_bug():
    assert {bug for ids in ALSO.values() for bug in ids} <= {one.id for one in KNOWN}
