"""
The commit that broke a promise, found among harmless ones on real guests: `tox run -e bisect`.

In:       a repository made from Debian's 6.12 source with two planted bugs (bisect_repository.py).
Out:      that `powercut bisect` names the planted commits: of a bug that a power failure shows and of one in
          which the kernel dies while it records; that it skips the one that does not compile, and that the
          findings are shown again by repro.
Not here: what bisect refuses, and going on after Ctrl-C (harness/tests/bisect/test_bisect.py).

The first run on a machine makes the repository and compiles its kernel once (about six minutes on two
processors); what is built stays in the cache.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from harness.bisect.bisect import Record
from harness.suite import bisect_repository
from harness.suite.example_repository import DIES, LOSES, silent
from kernel import cache
from kernel.patching import find_series
from kernel.release import unpacked
from kernel.source import examine
from kernel.word import parse

pytestmark = [pytest.mark.bisect, pytest.mark.timeout(5400)]
ROOT = Path(__file__).parent.parent.parent
WORKLOAD = "xattrs-over-two-fsyncs"
DIES_IN = "rename-then-reuse-name"


@pytest.fixture(scope="module")
def repository():
    """Made once a machine: the same place lets the next run build on what this one compiled."""
    source = parse("6.12").source
    version = examine(source, silent).version
    maker = Path(bisect_repository.__file__).read_bytes()
    parts = version.encode() + find_series(LOSES).content + find_series(DIES).content + maker
    place = cache.root() / "suite" / f"bisect-{hashlib.sha256(parts).hexdigest()[:12]}"
    cache.use(place)
    cache.touch(place)
    with cache.locked(place, lambda: None):
        if not place.is_dir():
            with cache.appearing(place) as made:
                bisect_repository.make_repository(unpacked(source, version, silent), made, LOSES, DIES)
    return place


def powercut(*words):
    return subprocess.run(
        [sys.executable, "-m", "harness.commands.main", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def bisected(repository, tmp_path, *words):
    """The record of a bisect that found its commit, and the folder that it is in."""
    asked = ("--tree", repository, "--fs", "btrfs", "--out", tmp_path, "--json", *words)
    done = powercut("bisect", *asked)
    assert done.returncode == 1, done.stderr
    (folder,) = tmp_path.iterdir()
    return msgspec.json.decode(done.stdout, type=Record), folder


def shown_again(record, folder):
    """What repro prints of the first finding of the commit that was named."""
    (step,) = (step for step in record.steps if step.commit == record.first_bad)
    again = powercut("repro", folder / step.run, step.findings[0].id)
    assert again.returncode == 1, again.stderr
    return again.stdout


def test_the_planted_commit_is_found_among_harmless_ones(repository, tmp_path):
    """Seven commits; the third does not compile, the fifth loses xattrs."""
    history = ("--good", "main~8", "--bad", "main~1")
    record, folder = bisected(repository, tmp_path, *history, "--oracle", "durable", WORKLOAD)
    assert record.first_bad.subject == "btrfs: log xattrs a little less often"
    assert record.before.subject == "btrfs: end the clean-up"
    answers = {step.commit.subject: step.answer for step in record.steps}
    assert answers["btrfs: a half-done clean-up"] == "skip"
    assert answers["a kernel"] == answers["btrfs: end the clean-up"] == "good"
    assert "durable     BROKEN" in shown_again(record, folder)


def test_the_commit_is_found_with_which_the_kernel_dies_while_it_records(repository, tmp_path):
    record, folder = bisected(repository, tmp_path, "--good", "main~3", "--bad", "main", DIES_IN)
    assert record.first_bad.subject == "btrfs: take inodes out of a list earlier"
    assert {step.answer for step in record.steps} == {"good", "bad"}
    assert "Kernel panic" in shown_again(record, folder)
