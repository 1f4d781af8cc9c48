"""What the walk of a recovered state is asked to report, and which copies have checksums."""

import pytest

from harness.experiments.crash_states import walk_asks
from harness.stages.session import WANT_DIRECTORY_TIMES, WANT_TIMES
from oracles.profiles import profile
from oracles.redundant import has_checksums
from oracles.tests.made import history_of
from oracles.verdict import Tier

FSYNCED = "run\n  mkdir A\n  fsync A\n"


@pytest.mark.parametrize(
    ("text", "name", "tier", "expected"),
    [
        (FSYNCED, "btrfs", Tier.FS, WANT_TIMES | WANT_DIRECTORY_TIMES),
        (FSYNCED, "btrfs", Tier.POSIX, WANT_TIMES),
        (FSYNCED, "ext4", Tier.FS, WANT_TIMES),
        ("run\n  mkdir A\n  sync\n", "btrfs", Tier.FS, 0),
    ],
)
def test_the_walk_reports_times_of_directories_where_they_are_promised(text, name, tier, expected):
    assert walk_asks(history_of(text, name), profile(name), tier) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [("chattr A +C", False), ("chattr A -C", True), ("chattr A +A", True), ("sync", True)],
)
@pytest.mark.parametrize("part", ["setup", "run"])
def test_what_is_written_in_place_has_no_checksums(line, expected, part):
    texts = {"setup": "mkdir A", "run": "sync"}
    texts[part] = "mkdir A\n  " + line if part == "setup" else line
    text = f"setup\n  {texts['setup']}\nrun\n  {texts['run']}\n"
    assert has_checksums(history_of(text, "btrfs-raid1")) == expected
