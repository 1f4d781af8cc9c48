"""
fstests' own tests on guests, a handful: `tox run -e fstests`.

In:       a built checkout of fstests, which POWERCUT_FSTESTS names; 6.12 with the config variant fstests.
Out:      pass, notrun with its reason, a failure on a planted bug, a deadline; the folder of a run.
Not here: reading what ./check prints (harness/tests/fstests/).
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.fstests.checkout import VARIABLE
from harness.local import packages
from harness.local.root import ROOT
from reports.fstests.results import DEADLINE, DIED, FAIL, NOTRUN, PASS, FstestsRun, read_fstests
from reports.results import read_summary

LACKING = packages.missing(packages.FSTESTS)
pytestmark = [
    pytest.mark.fstests,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        VARIABLE not in os.environ, reason=f"{VARIABLE} names no built checkout: see docs/howto/my-fstests.md"
    ),
    pytest.mark.skipif(bool(LACKING), reason=f"missing packages: {packages.install_line(LACKING)}"),
]


def fstests(out: Path, *words: str) -> tuple[int, Path, FstestsRun, str]:
    """What `powercut fstests` does: exit status, folder, fstests.json, standard output."""
    command = [sys.executable, "-P", "-m", "harness.commands.main", "fstests", *words, "--out", str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    folder = (out / "latest").resolve()
    found = read_fstests(folder)
    assert found is not None, done.stderr
    return done.returncode, folder, found, done.stdout


def test_a_test_passes_on_each_filesystem_and_the_folder_has_all_forms(tmp_path: Path) -> None:
    """generic/066 asks for xattrs after an fsync. btrfs/056 comes with btrfs alone."""
    status, folder, found, said = fstests(tmp_path, "generic/066", "btrfs/056", "--fs", "btrfs,ext4,xfs")
    assert status == 0, said
    assert [(one.test, one.filesystem, one.result) for one in found.results] == [
        ("btrfs/056", "btrfs", PASS),
        ("generic/066", "btrfs", PASS),
        ("generic/066", "ext4", PASS),
        ("generic/066", "xfs", PASS),
    ]
    assert ElementTree.parse(folder / "junit.xml").getroot().get("tests") == "4"
    assert "ok 1 btrfs/056" in (folder / "results.ktap").read_text()
    assert "generic/066" in (folder / "report" / "index.html").read_text()


def test_what_the_filesystem_cannot_is_notrun_and_no_pass(tmp_path: Path) -> None:
    """generic/501 asks for reflinks, which ext4 does not have."""
    status, _, found, said = fstests(tmp_path, "generic/501", "--fs", "ext4")
    (one,) = found.results
    assert (status, one.result) == (3, NOTRUN)
    assert "reflink" in one.reason.lower()
    assert one.reason in said


def test_a_planted_bug_fails_the_test_that_guards_it_and_the_baseline_does_not(tmp_path: Path) -> None:
    status, folder, found, _ = fstests(
        tmp_path,
        "generic/066",
        "--kernel",
        "6.12+planted/removed-xattr-comes-back",
        "--against",
        "6.12",
    )
    (one,) = found.results
    assert (status, one.result) == (1, FAIL)
    assert [each.result for each in one.attempts] == [FAIL, FAIL]
    assert one.baseline is not None
    assert one.baseline.result == PASS
    failure = next(ElementTree.parse(folder / "junit.xml").iter("failure"))
    assert "output mismatch" in failure.get("message", "")


def test_a_test_that_takes_longer_than_its_deadline_is_no_answer(tmp_path: Path) -> None:
    """generic/475 runs fsstress again and again, for minutes."""
    status, _, found, said = fstests(tmp_path, "generic/475", "--deadline", "5", "--json")
    (one,) = found.results
    assert (status, one.result, one.attempts[0].death) == (3, DIED, DEADLINE)
    assert json.loads(said)["results"][0]["result"] == DIED


def test_what_a_test_wrote_is_examined_crash_by_crash(tmp_path: Path) -> None:
    """generic/066 makes one filesystem; mkfs itself is not in what is examined."""
    status, folder, found, said = fstests(tmp_path, "generic/066", "--record")
    (one,) = found.results
    (life,) = one.recorded
    assert (status, one.result, life.trouble) == (0, PASS, ""), said
    assert life.states > life.entries > 10
    assert {"mounts", "fsck", "usable", "stable", "consistent"} <= life.verdicts.keys()
    assert "durable" not in life.verdicts  # nobody knows what the test did
    assert (folder / life.folder / "report" / "index.html").is_file()


def test_states_with_much_in_their_trees_are_judged(tmp_path: Path) -> None:
    """generic/547 runs fsstress: with whole contents in the reports a quarter of its states was UNKNOWN."""
    _, _, found, said = fstests(tmp_path, "generic/547", "--record", "--prefixes", "60")
    (life,) = found.results[0].recorded
    assert life.trouble == "", said
    assert life.states >= 60
    assert {unknown for _, _, unknown in life.verdicts.values()} == {0}


PROGRAMS = (
    ("fsx", (), ("-S", "1", "-N", "80", "-q", "f")),
    ("fsstress", ("--no-content",), ("-d", ".", "-s", "1", "-n", "60", "-p", "1", "-f", "fsync=20")),
)


@pytest.mark.parametrize("filesystem", ["btrfs", "ext4", "xfs"])
@pytest.mark.parametrize(("name", "options", "arguments"), PROGRAMS, ids=[name for name, _, _ in PROGRAMS])
def test_random_calls_of_fstests_programs_are_judged_by_all_oracles(
    tmp_path: Path, name: str, options: tuple[str, ...], arguments: tuple[str, ...], filesystem: str
) -> None:
    """fsstress asks for asynchronous I/O, and gives up where io_setup fails."""
    program = Path(os.environ[VARIABLE]) / "ltp" / name
    command = [sys.executable, "-P", "-m", "harness.commands.main", "record", "--fs", filesystem, *options]
    command += ["--file", str(program), "--jobs", "1", "--quiet", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--", f"/program/{name}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = read_summary(tmp_path / "latest")
    assert found.states.unknown == 0
    assert found.states.checked > 5
    assert {"durable", "atomic", "historical", "ordered"} <= found.verdicts.keys()
    assert ("io_uring_setup was refused" in done.stdout) == (name == "fsstress")
