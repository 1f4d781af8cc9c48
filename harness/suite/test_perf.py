"""
Performance experiments on real guests, small: `tox run -e perf`.

In:       6.12 and 6.12 with an improvement taken out again; dbench, fio and perf of the host.
Out:      each experiment gives figures of both kernels; a kernel against itself shows no difference; what a
          series changes exactly is counted; what goes wrong in an experiment is told and the rest kept.
Not here: whether a time is shorter: that takes more boots, and a quiet machine (README).
"""

import re

import msgspec
import pytest

from harness.local.progress import Progress
from harness.perf.measure import PerfWish, measure
from reports.perf.answers import Answer, differences
from reports.perf.counts import counts
from reports.perf.profiles import profiles
from reports.perf.results import read_perf
from workloads.perf.experiment import load, names, select

pytestmark = [pytest.mark.perf, pytest.mark.timeout(3600)]

# Only XFS needs it, and btrfs does not care: so one kernel without series serves all six.
ONE_BASE = ("xfs-debug",)
SMALL = 0.0003
# Over too soon for a profile at that scale.
SCALES = {"link-rename-latency": 0.5, "xattr-fsync": 0.002}
# What goes back with each series, exactly: before and after.
BEFORE = {
    "link-rename-latency": (
        "log-commit-on-rename-and-link",
        {"log commits by rename": (20, 0), "log commits by link": (20, 0)},
    ),
    "create-rename-fsync": (
        "delayed-items-flushed-for-directory-log",
        {"btrfs_commit_inode_delayed_items()": (3, 0)},
    ),
    "fsync-fio": ("fsync-waits-for-ordered-extents", {"btrfs_wait_ordered_range()": (4, 0)}),
    "xattr-fsync": ("xattr-search-per-fsync", {}),
    "xfs-large-dirs": ("full-hash-order-checks", {}),
}


def measured(tmp_path, experiments, against, **options):
    """What `powercut compare --perf` does, in one folder."""
    run_spec = PerfWish(experiments, against, "6.12", config=ONE_BASE, **options)
    with Progress() as progress:
        measure(run_spec, tmp_path, progress)
    return read_perf(tmp_path)


@pytest.mark.parametrize("name", names())
def test_an_experiment_gives_figures_of_both_kernels(tmp_path, name):
    """Every case, every number, a profile; with the same kernel no difference is shown, and none of
    the exact figures differs."""
    scale = SCALES.get(name, SMALL)
    run = measured(tmp_path, select((name,)), "6.12", noise=True, boots=2, scale=scale)
    (one,) = run.measured
    assert one.trouble == ()
    assert [boot.side for boot in one.boots] == ["A", "B", "B", "A"]
    found = differences(one)
    assert {each.case for each in found} == {case.name for case in one.experiment.case}
    assert {each.answer for each in found} <= {Answer.NONE, None}
    assert not [each.name for each in counts(one) if each.differs]
    (sampled,) = profiles(one)
    assert sampled.samples > 100
    assert all(each.answer is Answer.NONE for each in sampled.times)


@pytest.mark.parametrize("name", BEFORE)
def test_what_a_series_takes_out_is_counted(tmp_path, name):
    """Whatever the machine does meanwhile."""
    series, expected = BEFORE[name]
    run = measured(tmp_path, select((name,)), f"6.12+before/{series}", kinds=("exact",))
    (one,) = run.measured
    assert one.trouble == ()
    found = {each.name: (each.a, each.b) for each in counts(one) if each.differs}
    assert found
    for count, (before, after) in expected.items():
        assert found[count] == ((before, before), (after, after))


STUCK = """
about = "Never done"
filesystem = "ext4"
mkfs = "mkfs.ext4 -q -F"
reader = "pattern"
script = "echo once $((RANDOM)); @command@"
device_mib = 64
deadline_s = 3
[[case]]
name = "one"
values.command = "COMMAND"
[[number]]
name = "number"
key = 'once (\\d+)'
unit = "us"
better = "less"
"""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("sleep 60", "did not end within its deadline of 3 s.*0 of 2 boots are kept"),
        ("dd if=/dev/zero of=$MNT/x bs=1M count=100", "device of 64 MiB is too small.*kept: 0 of 2 boots"),
        ("exit 7", "ended with exit status 7"),
        ("true", ""),
    ],
)
def test_a_users_own_experiment_may_fail_and_says_how(tmp_path, command, said):
    """One small file; no guest is left hanging."""
    path = tmp_path / "stuck.toml"
    path.write_text(STUCK.replace("COMMAND", command))
    own = msgspec.structs.replace(load(path), boots=1)
    run = measured(tmp_path, (own,), "6.12", noise=True)
    told = " ".join(run.measured[0].trouble)
    if said:
        assert re.search(said, told), told
    else:
        assert told == ""
        assert len(run.measured[0].boots) == 2
