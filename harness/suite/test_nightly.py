"""
Nights on a branch that moves, on real guests: `tox run -e nightly`.

In:       the repository of test_bisect.py, made from Debian's 6.12 source; a commit of it plants a bug.
Out:      that the second night names the finding, its smallest workload and the commit; that a night that is
          killed goes on, that two at once are refused, and that the budget is kept.
Not here: the parts of a night, with kernels and guests made up (harness/tests/nightly/).

The first run on a machine compiles a kernel (about four minutes on two processors); later ones take five
minutes.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from kcidb_io.schema import LATEST

from harness.local.processors import processors
from harness.nightly import trees
from harness.suite.test_bisect import repository  # noqa: F401  a fixture
from reports import formats
from reports.nights.results import Night
from reports.tests.test_html import Page
from workloads import text
from workloads.library import load, names

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(3600)]
ROOT = Path(__file__).parent.parent.parent
GOOD, CULPRIT, BAD = "main~4", "main~3", "main~2"  # of bisect_repository.py; the one between loses xattrs
XATTR = "btrfs durable: xattr lost (fsynced file)"
SHOWS = "xattrs-over-two-fsyncs"
FILE = """\
budget = "{budget}"
after = "30m"
profiles = ["btrfs"]
workloads = [{workloads}]
exports = ["sh", "c"]
seed = 1
hook = 'echo "$POWERCUT_SUBJECT" >>{folder}/told'

[[kernel]]
name = "next"
tree = "{tree}"
branch = "for-next"
config = ["small"]
"""


class Place:
    """A folder with a file of nights, and the tree that it watches."""

    def __init__(self, folder: Path, tree: Path) -> None:
        self.folder, self.tree = folder, tree
        self.results = folder / "nights"

    def file(self, workloads: tuple[str, ...], budget: str = "30m") -> None:
        listed = ", ".join(f'"{name}"' for name in workloads)
        words = FILE.format(budget=budget, workloads=listed, tree=self.tree, folder=self.folder)
        (self.folder / "nightly.toml").write_text(words)

    def at(self, revision: str) -> str:
        """The branch is there now; the commit."""
        git(self.tree, "update-ref", "refs/heads/for-next", revision)
        return git(self.tree, "rev-parse", revision)

    def start(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "harness.commands.main", "nightly", self.folder / "nightly.toml"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def night(self, status: int) -> tuple[Night, str]:
        process = self.start()
        out, err = process.communicate()
        assert process.returncode == status, out + err
        return formats.read(self.results / "latest" / "night.json", Night), out

    def experiments(self) -> dict[str, int]:
        """Those that are whole, with what tells one from another that took its place."""
        found = self.results.glob("0001/next/btrfs/2*/experiments/[0-9]*/experiment.json")
        return {path.parent.name: path.stat().st_mtime_ns for path in found}


def git(place: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", place, *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def place(tmp_path, repository):  # noqa: F811
    """Its tree is a copy of its own, whose branch may move; kernels come from the cache by their content."""
    tree = tmp_path / "linux.git"
    subprocess.run(["git", "clone", "--quiet", "--bare", repository, tree], check=True)
    yield Place(tmp_path, tree)
    shutil.rmtree(trees.place(str(tree)), ignore_errors=True)


def test_the_second_night_names_the_finding_its_smallest_workload_and_the_commit(place):
    place.file((SHOWS, "truncate-then-fsync"))
    good = place.at(GOOD)
    first, _ = place.night(0)
    assert [one.verdict for one in first.experiments] == ["HOLDS", "HOLDS"]
    bad = place.at(BAD)
    second, told = place.night(1)
    print(told)
    one = next(one for one in second.news if one.signature == XATTR)
    assert (one.good, one.bad) == (good, bad)
    assert one.culprit == git(place.tree, "rev-parse", CULPRIT)
    assert one.culprit_words.startswith("btrfs: log xattrs a little less often")
    assert (one.shown, one.times, one.note, one.todo) == (5, 5, "", "")
    assert "setxattr foo" in one.program
    assert len(one.program.splitlines()) < len(text.format(load(SHOWS)).splitlines())
    programs = [place.results / name for name in one.exports]
    assert {path.suffix for path in programs} == {".sh", ".c"}
    assert all(path.is_file() for path in programs)
    assert f"commit:   {one.culprit[:12]}" in told
    check_what_is_left(place, second)
    assert "2 new findings on next (night 2)" in (place.folder / "told").read_text()
    third, _ = place.night(0)
    assert third.kernels[0].skipped == "for-next has not moved since night 2"


def check_what_is_left(place: Place, night: Night) -> None:
    """Every link of both pages leads to a file; in CI what is new fails; KCIDB takes its file."""
    folder = place.results / f"{night.number:04}"
    for path in (place.results / "index.html", folder / "index.html"):
        targets = [link.partition("#")[0] for link in Page(path).links]
        assert [link for link in targets if link and not (path.parent / link).is_file()] == []
    report = ElementTree.parse(folder / "junit.xml").getroot()
    assert (report.get("tests"), report.get("failures"), report.get("errors")) == ("2", "1", "0")
    assert re.search(rf"^  not ok [12] {SHOWS}$", (folder / "results.ktap").read_text(), re.MULTILINE)
    made = msgspec.json.decode((folder / "kcidb.json").read_bytes())
    LATEST.validate(made)
    assert sorted(one["status"] for one in made["tests"]) == ["FAIL", "PASS"]


def test_a_night_that_is_killed_goes_on_and_a_second_one_beside_it_is_refused(place):
    place.file(("*",))
    place.at(GOOD)
    process = place.start()
    until = time.monotonic() + 900
    while len(place.experiments()) < 2 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.2)
    beside = place.start()
    _, said = beside.communicate()
    assert beside.returncode == 3
    assert re.search(rf"nights is in use by process {process.pid}", said)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    before = place.experiments()
    assert len(before) >= 2
    found, _ = place.night(0)
    after = place.experiments()
    assert found.number == 1
    assert {name: after[name] for name in before} == before
    assert len(after) == len(found.experiments) > len(before)


def test_the_budget_is_kept_and_what_it_had_no_room_for_is_named(place):
    place.file(("*",), "1m")
    place.at(GOOD)
    process = place.start()
    out, err = process.communicate()
    assert process.returncode in (0, 1), out + err
    found = formats.read(place.results / "latest" / "night.json", Night)
    left, done = set(found.cells[0].left), {one.workload for one in found.experiments}
    assert left | done == set(names())
    assert left
    assert done
    assert not left & done
    # By the clock of the workers: what was under way at the end is finished.
    worked = sum(one.seconds for one in found.experiments) / len(processors())
    print(f"{len(done)} experiments in about {worked:.0f} s, {len(left)} left")
    assert worked < 60 + 20
