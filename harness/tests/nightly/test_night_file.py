"""The file of nights: what is read, and that each mistake is told with its line and the fix."""

from pathlib import Path

import pytest

from harness.nightly.file import BadNightFile, parse, seconds

GOOD = """\
budget = "6h"
profiles = ["btrfs", "xfs"]

[[kernel]]
name = "next"
tree = "../linux"
branch = "for-next"
"""


def test_what_is_not_said_has_its_default_and_folders_are_relative_to_the_file(tmp_path):
    asked = parse(GOOD, tmp_path / "a" / "nightly.toml")
    assert asked.budget_s == 6 * 3600
    assert asked.results == str(tmp_path / "a" / "nights")
    assert asked.kernel[0].tree == str(tmp_path / "linux")
    assert asked.profiles_of(asked.kernel[0]) == ("btrfs", "xfs")


@pytest.mark.parametrize("tree", ["https://git.example.org/linux.git", "git@example.org:linux.git"])
def test_a_url_stays_as_it_is(tree):
    assert parse(GOOD.replace("../linux", tree), Path("nightly.toml")).kernel[0].tree == tree


def test_a_release_of_debian_need_not_be_a_known_one():
    text = GOOD.replace('branch = "for-next"', "").replace('tree = "../linux"', 'release = "7.3"')
    assert parse(text, Path("nightly.toml")).kernel[0].release == "7.3"
    with pytest.raises(BadNightFile, match=r"there is no release 'sid'"):
        parse(text.replace("7.3", "sid"), Path("nightly.toml"))


@pytest.mark.parametrize(("text", "expected"), [("6h", 21600), ("90m", 5400), ("1h30m", 5400), (0.5, 1800)])
def test_times(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("budget =", "budgte =", "line 1: there is no key 'budgte'. Did you mean 'budget'?"),
        ("branch =", "brunch =", "line 7: there is no key 'brunch'. Did you mean 'branch'?"),
        ("branch =", "budget =", "line 7: there is no key 'budget'. It belongs above the first [[kernel]]"),
        ('budget = "6h"', 'budget = "six"', "line 1: budget: 'six' is not a time"),
        ('budget = "6h"', 'budget = "0m"', "line 1: budget: '0m' is not more than nothing"),
        ('"xfs"', '"xsf"', "line 2: there is no profile 'xsf'. Did you mean 'xfs'?"),
        ('"for-next"', "7", "line 7: Expected `str`, got `int`"),
        ('"next"', '"a b"', "line 5: 'a b' is not a name"),
        ('branch = "for-next"', "", "line 4: next needs tree and branch, or release alone"),
        ('branch = "for-next"', 'branch = "-x"', "line 7: '-x' is not the name of a branch"),
        ("[[kernel]]", "[kernel]", "line 4: write [[kernel]], with two brackets"),
        ('"6h"', '"6h', "line 1"),
        ('"xfs"', '"xfs",\n  "xsf"', "line 2: there is no profile 'xsf'"),
        ("budget =", 'hook = """\nbudget = 1\n"""\nbudget = "six"\n#', "line 4: budget: 'six' is not a time"),
        ("profiles =", 'generated = ["ace:9"]\nprofiles =', "line 2: generated: ace: there are no workloads"),
        ("profiles =", 'exports = ["zip"]\nprofiles =', "line 2: there is no form of export 'zip'"),
        ("profiles =", "models = []\nprofiles =", "line 2: models is empty"),
        (
            'branch = "for-next"',
            'branch = "b"\nconfig = ["smal"]',
            "line 8: there is no config variant 'smal'",
        ),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_fix(old, new, said):
    assert old in GOOD
    with pytest.raises(BadNightFile) as caught:
        parse(GOOD.replace(old, new, 1), Path("nightly.toml"))
    assert said in str(caught.value)
    assert str(caught.value).startswith("nightly.toml")


def test_two_kernels_of_one_name_could_not_be_told_apart():
    again = GOOD[GOOD.index("[[") :]
    with pytest.raises(BadNightFile, match="line 9: there are two kernels 'next'"):
        parse(GOOD + again, Path("nightly.toml"))


def test_a_file_without_a_kernel_is_refused():
    with pytest.raises(BadNightFile, match="required field `kernel`"):
        parse('budget = "6h"\n', Path("nightly.toml"))
