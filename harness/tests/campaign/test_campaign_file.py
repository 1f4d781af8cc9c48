"""The file of a campaign: what is read, and that each mistake is told with its line and the fix."""

import pytest

from harness.campaign.file import BadCampaign, changed, parse, seconds

GOOD = """\
bounds = ["ace:2", "random:8"]
sample = 1000
profiles = ["btrfs", "xfs"]
scheduler = "local"
"""


def test_what_is_not_said_has_its_default_and_the_results_lie_beside_the_file(tmp_path):
    asked = parse(GOOD, tmp_path / "a" / "week.toml")
    assert asked.results == str(tmp_path / "a" / "campaigns" / "week")
    assert (asked.kernels, asked.models, asked.time_s) == (("6.12",), ("O",), 0)


@pytest.mark.parametrize(("text", "expected"), [("8h", 28800), ("1h30m", 5400), ("90s", 90)])
def test_times_of_a_campaign(text, expected):
    assert seconds(text) == expected


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bounds =", "bound =", "line 1: there is no key 'bound'. Did you mean 'bounds'?"),
        ('"xfs"', '"xsf"', "line 3: there is no profile 'xsf'. Did you mean 'xfs'?"),
        ('"xfs"', '"btrfs"', "line 3: profiles: 'btrfs' is there twice"),
        ("sample = 1000", "sample = -1", "line 2: sample is below 0"),
        ("sample = 1000", "", "the bounds random have no fixed number of workloads. Say how many"),
        ("sample = 1000", "sample = 1.5", "line 2: Expected `int`, got `float`"),
        ('"ace:2"', '"ace:9"', "line 1: ace: there are no workloads of length 9"),
        ('["ace:2", "random:8"]', "[]", "line 1: bounds is empty"),
        ('"local"', '"locl"', "line 4: 'locl' is not local, slurm"),
        ('"local"', '"local"\nlisten = "8786"', "line 5: '8786' is not HOST:PORT"),
        ('"local"', '"tcp://h:1"\nlisten = "0.0.0.0:1"', "line 5: listen is for scheduler"),
        ('"local"', '"local"\nremote_python = "p"', "line 5: remote_python is for ssh:// alone"),
        ('"local"', '"local"\ntime = "soon"', "line 5: time: 'soon' is not a time"),
        ('"local"', '"local"\nmodels = ["X"]', "line 5: there is no crash model 'X'"),
        ('"local"', '"local"\nguest = "nuc"', "line 5: there is no guest for campaigns 'nuc'"),
        ('"local"', '"local"\nshard = "3/2"', "line 5: shard: 3/2: the first part is 1/2, the last is 2/2"),
        ('"local"', '"local', "line 4"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_fix(old, new, said, tmp_path):
    with pytest.raises(BadCampaign) as told:
        parse(GOOD.replace(old, new), tmp_path / "week.toml")
    assert said in str(told.value)
    assert "week.toml" in str(told.value)


def test_who_works_may_change_and_what_is_examined_may_not(tmp_path):
    before = parse(GOOD, tmp_path / "week.toml")
    other = parse(GOOD.replace('"local"', '"tcp://head:8786"\ntime = "8h"'), tmp_path / "week.toml")
    assert changed(before, other) == []
    more = parse(GOOD.replace("1000", "2000"), tmp_path / "week.toml")
    assert changed(before, more) == ["sample: was 1000, is now 2000"]
