"""Which tests a checkout of fstests has, and what is said of one that cannot be used."""

from pathlib import Path

import pytest

from harness.fstests.check import NoCheckout
from harness.fstests.checkout import (
    BUILT,
    CRASH_GROUPS,
    VARIABLE,
    NoSuchTest,
    folder_of,
    groups_of,
    lack,
    selected,
    version,
)
from harness.tests.conftest import Powercut

LISTS = {
    "generic": "# a comment\n001 auto quick\n475 shutdown auto log metadata # slow\n547 auto log\n\n1004 "
    "auto\n",
    "btrfs": "056 auto log\n",
    "xfs": "051 shutdown auto log\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like one that was built."""
    for file, _, _ in BUILT:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    for kind, lines in LISTS.items():
        (tmp_path / "tests" / kind).mkdir(exist_ok=True)
        (tmp_path / "tests" / kind / "group.list").write_text(lines)
    (tmp_path / "VERSION").write_text(
        "#\nPACKAGE_MAJOR=1\nPACKAGE_MINOR=1\nPACKAGE_REVISION=2\nPACKAGE_BUILD=1\n"
    )
    return tmp_path


def test_groups_are_read_without_comments(checkout: Path) -> None:
    found = groups_of(checkout, "generic")
    assert found["generic/475"] == {"shutdown", "auto", "log", "metadata"}
    assert set(found) == {"generic/001", "generic/475", "generic/547", "generic/1004"}
    assert groups_of(checkout, "nosuch") == {}


def test_each_filesystem_gets_the_generic_tests_and_its_own(checkout: Path) -> None:
    assert selected(checkout, ("btrfs", "ext4", "xfs"), CRASH_GROUPS[:1], ()) == {
        "btrfs": ("btrfs/056", "generic/475", "generic/547"),
        "ext4": ("generic/475", "generic/547"),
        "xfs": ("generic/475", "generic/547", "xfs/051"),
    }


def test_a_name_takes_the_test_whatever_its_groups(checkout: Path) -> None:
    assert selected(checkout, ("btrfs",), (), ("generic/001",)) == {"btrfs": ("generic/001",)}
    assert selected(checkout, ("btrfs",), (), ("generic/*4*",)) == {
        "btrfs": ("generic/1004", "generic/475", "generic/547")
    }


def test_groups_narrow_names(checkout: Path) -> None:
    assert selected(checkout, ("btrfs",), ("shutdown",), ("generic/*",)) == {"btrfs": ("generic/475",)}
    with pytest.raises(NoSuchTest, match="generic/001 is in the groups shutdown"):
        selected(checkout, ("btrfs",), ("shutdown",), ("generic/001",))


@pytest.mark.parametrize(
    ("groups", "tests", "said"),
    [
        ((), ("generic/999",), "has no test 'generic/999'"),
        ((), ("xfs/051",), "xfs/051 is a test for xfs only: add --fs xfs"),
        (("nosuch",), (), "no test for these filesystems is in the group 'nosuch'. The groups are: auto, "),
    ],
)
def test_what_does_not_exist_is_named(checkout: Path, groups: tuple, tests: tuple, said: str) -> None:
    with pytest.raises(NoSuchTest, match=said.replace("(", r"\(")):
        selected(checkout, ("btrfs",), groups, tests)


@pytest.mark.parametrize(("file", "words"), [(file, words) for file, _, words in BUILT])
def test_a_checkout_that_is_not_built_says_what_builds_it(checkout: Path, file: str, words: str) -> None:
    assert lack(checkout) == ""
    (checkout / file).unlink()
    said = lack(checkout)
    assert words in said
    assert ("make -j" in said and "apt-get install" in said) == (file != "check")


def test_the_folder_comes_from_the_option_or_the_environment(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert folder_of(checkout) == checkout
    with pytest.raises(NoCheckout, match=VARIABLE):
        folder_of(None)
    monkeypatch.setenv(VARIABLE, str(checkout))
    assert folder_of(None) == checkout
    with pytest.raises(NoCheckout, match="no such folder"):
        folder_of(checkout / "nosuch")


def test_the_version_is_that_of_its_file_outside_git(checkout: Path) -> None:
    assert version(checkout) == "1.1.2"


def test_bad_input_is_told_before_anything_is_built(
    checkout: Path, powercut: Powercut, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = tmp_path / "known"
    bad.write_text("generic/475 btrfs\n")
    for words, part in (
        (["--fstests", str(checkout / "tests")], "not a checkout"),
        (["--fstests", str(checkout), "generic/999"], "no test 'generic/999'"),
        (["--fstests", str(checkout), "-g", "nosuch"], "group 'nosuch'"),
        (["--fstests", str(checkout), "--fs", "zfs"], "--fs zfs"),
        (
            ["--fstests", str(checkout), "-g", "log", "--known", str(bad)],
            "line 1: expected TEST FILESYSTEM REASON",
        ),
    ):
        exit_status, said, complained = powercut("fstests", *words)
        assert (exit_status, said) == (2, "")
        assert part in complained
        assert complained.count("\n") == 1
    assert not (tmp_path / "results").exists()
