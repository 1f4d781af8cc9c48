"""
A log that somebody else recorded is examined like one of ours.

In:       runs of workloads on stock kernels and on kernels with a planted bug, packed; a log that the host's
          own dmsetup and mkfs made in a guest, with the marks that fstests sets.
Out:      `explore` reproduces the verdicts of `run` state by state, without a history those that need none;
          its run folder can be judged and shown again.
Not here: what is refused (harness/tests/stages/test_elsewhere.py).
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.evidence.store import base_disk, expand_file
from harness.evidence.sweep import planted_bugs
from harness.guests.bare import run_in_guest
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import RunSpec, run
from harness.states.disk import copy_sparse
from harness.states.log import open_log
from harness.states.rebuild import Rebuilding
from oracles.judge import BY_ORDER
from oracles.profiles import profile
from oracles.spec import State
from oracles.verdict import Answer
from reports.results import read_experiment, read_question, read_summary
from workloads.library import select

pytestmark = [pytest.mark.explore, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parent.parent.parent
SAMPLE = (
    "replace-by-rename",
    "link-into-new-directory",
    "append-fsync-repeated",
    "append-fdatasync-repeated",
)
MODELS = ("O", "R", "T")  # N records recoveries anew, and background writes may come otherwise
BUDGET = 60
# Names, sizes and data; a flush that is missing; recovery itself.
PLANTED = (
    "planted/old-name-kept-after-rename",
    "planted/ext4-size-unknown-to-fdatasync",
    "planted/jbd2-revoked-block-replayed",
    "planted/xfs-overwrite-fsync-without-flush",
)
NEEDS_NO_HISTORY = "planted/directory-size-counted-twice"  # replay does it, so the log is that of any kernel
BUGS = [bug for bug in planted_bugs() if bug.name in PLANTED]


def powercut(*words):
    return subprocess.run(
        [sys.executable, "-m", "harness.commands.main", *map(str, words)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def recorded(tmp_path, names, profiles, kernel, models=MODELS):
    """A run, which is what the packs are made of."""
    run_spec = RunSpec(
        select(names),
        tuple(profile(name) for name in profiles),
        (kernel,),
        models=models,
        budget=BUDGET,
        jobs=1,
        repeats=False,
    )
    with Progress() as progress:
        return run(run_spec, tmp_path / "results", progress)[0]


def explored(tmp_path, log, *options):
    """The folder of the exploration, and its exit status."""
    done = powercut("explore", log, *options, "--out", tmp_path / "explored", "--quiet")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return (tmp_path / "explored" / "latest").resolve(), done.returncode


def verdicts_of(experiment):
    """By state, what the oracles said: answer and violations of each. Not how much they looked at: a kernel
    says some lines only the first time."""
    sets = [
        tuple((verdict.oracle, verdict.answer, verdict.violations) for verdict in each)
        for each in experiment.judgement.verdict_sets
    ]
    return {state.spec: sets[state.verdict_set] for state in experiment.judgement.states}


def same_verdicts(tmp_path, folder):
    """Of each experiment of a run, packed and explored. How many states are BROKEN."""
    broken = 0
    for place in sorted((folder / "experiments").iterdir()):
        packed = tmp_path / f"{place.name}.powercut"
        done = powercut("pack", place, "--out", packed)
        assert done.returncode == 0, done.stderr
        again, status = explored(tmp_path, packed, "--models", ",".join(MODELS), "--budget", BUDGET)
        first, second = read_experiment(place), read_experiment(again / "experiments" / "0001")
        assert verdicts_of(second) == verdicts_of(first)
        count = sum(
            any(answer is Answer.BROKEN for _, answer, _ in verdicts)
            for verdicts in verdicts_of(second).values()
        )
        assert status == (1 if count else 0)
        broken += count
    return broken


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_packed_logs_give_the_verdicts_of_the_run(tmp_path, kernel_word, name):
    """On the stock kernel, in the models O, R and T: every state the same, and none BROKEN."""
    folder = recorded(tmp_path, SAMPLE, [name], kernel_word)
    assert same_verdicts(tmp_path, folder) == 0


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_packed_logs_show_a_planted_bug_at_the_same_states(tmp_path, kernel_word, bug):
    """The kernel that recovers is that of the pack."""
    folder = recorded(tmp_path, bug.workloads[:1], bug.profiles[:1], f"{kernel_word}+{bug.name}")
    assert same_verdicts(tmp_path, folder) > 0


def test_the_fourth_model_and_the_commands_that_follow(tmp_path, kernel_word):
    """Recoveries are recorded and cut; the run can be judged and reported again, and a state shown."""
    folder = recorded(tmp_path, ("replace-by-rename",), ["ext4"], kernel_word, ("O",))
    assert powercut("pack", folder, "--out", tmp_path / "one").returncode == 0
    again, status = explored(tmp_path, tmp_path / "one", "--models", "O,N", "--budget", BUDGET)
    assert status == 0
    assert read_summary(again).models["N"].checked > 0
    assert read_question(again).command[:2] == ("powercut", "explore")
    assert (again / "report" / "index.html").exists()
    before = verdicts_of(read_experiment(again / "experiments" / "0001"))
    assert powercut("judge", again).returncode == 0
    assert verdicts_of(read_experiment(again / "experiments" / "0001")) == before
    shown = powercut("repro", again, "--state", "O:3")
    assert shown.returncode == 0, shown.stdout + shown.stderr


def without_history(tmp_path, name, filesystem, kernel_word):
    """A run of one workload, and the exploration of its log and base as files of their own."""
    folder = recorded(tmp_path, (name,), [filesystem], kernel_word, ("O",))
    place = folder / "experiments" / "0001"
    expand_file(place / "log.zst", tmp_path / "raw.log")
    (scratch := tmp_path / "scratch").mkdir()
    with base_disk(place, scratch, profile(filesystem).size_bytes) as disk:
        (tmp_path / "base.img").touch()
        copy_sparse(disk.path, tmp_path / "base.img")
    again, status = explored(tmp_path, tmp_path / "raw.log", "--base", tmp_path / "base.img")
    assert status == 0
    return place, again


def test_without_its_history_what_needs_none_is_judged_the_same(tmp_path, kernel_word):
    """Log and base as files of their own: six oracles, and their verdicts are those of the run."""
    place, again = without_history(tmp_path, "replace-by-rename", "btrfs", kernel_word)
    expected = {
        spec: tuple(one for one in verdicts if one[0] not in BY_ORDER)
        for spec, verdicts in verdicts_of(read_experiment(place)).items()
    }
    assert verdicts_of(read_experiment(again / "experiments" / "0001")) == expected
    assert "The log came without a history" in (again / "report" / "index.html").read_text()
    refused = powercut("minimize", again)
    assert refused.returncode == 2


def test_without_a_history_a_long_attribute_is_its_hash(tmp_path, kernel_word):
    """The same bytes have the same one in every state. Whole, attributes made reports larger than the agent's
    buffer."""
    _, again = without_history(tmp_path, "unlinked-open-file-with-long-attribute", "xfs", kernel_word)
    seen = read_experiment(again / "experiments" / "0001").observations
    values = {node.xattrs["user.long"] for each in seen for node in each.tree if "user.long" in node.xattrs}
    assert len(values) == 1
    assert re.fullmatch(r"h:[0-9a-f]{16}:3200", values.pop())


def test_a_check_of_the_user_judges_each_tree(tmp_path, kernel_word):
    """It sees the tree of each state: the name that the workload replaces is always there, another never."""
    folder = recorded(tmp_path, ("replace-by-rename",), ["ext4"], kernel_word, ("O",))
    assert powercut("pack", folder, "--out", tmp_path / "one").returncode == 0
    again, status = explored(tmp_path, tmp_path / "one", "--check", "test -d $MNT")
    assert status == 0
    assert read_summary(again).verdicts["application"].holds
    script = tmp_path / "check.sh"
    script.write_text("#!/bin/sh\n[ -e $MNT/never ] || { echo it is not there; exit 1; }\n")
    script.chmod(0o755)
    again, status = explored(tmp_path, tmp_path / "one", "--check", script)
    assert status == 1
    (finding,) = read_summary(again).findings
    assert (finding.oracle, finding.kind) == ("application", "the check of the tree failed")


def test_a_planted_bug_shows_without_a_history(tmp_path, kernel_word):
    """Of those that need none, usable, consistent and fsck see it; the log is explored on both kernels."""
    bug = next(one for one in planted_bugs() if one.name == NEEDS_NO_HISTORY)
    folder = recorded(tmp_path, bug.workloads[:1], bug.profiles[:1], kernel_word, ("O",))
    place = folder / "experiments" / "0001"
    files = (place / "log.zst", "--base", place / "base.log.zst", "--fs", bug.profiles[0])
    again, status = explored(tmp_path, *files, "--kernel", kernel_word)
    assert status == 0
    again, status = explored(tmp_path, *files, "--kernel", f"{kernel_word}+{bug.name}")
    assert status == 1
    assert {one.oracle for one in read_summary(again).findings} & set(bug.oracles) - BY_ORDER


# --- a log of another tool ------------------------------------------------------------------------

# As common/dmlogwrites of fstests makes one: the target is created on a device that held nothing, mkfs is
# part of the log, and marks are messages of dmsetup.
OTHER_TOOLS = """
set -e
truncate -s {size} disk; truncate -s 256M log
D=$(losetup -f --show disk); L=$(losetup -f --show log)
dmsetup create logwrites --table "0 $(blockdev --getsz $D) log-writes $D $L"
{mkfs} /dev/mapper/logwrites >mkfs.txt 2>&1
dmsetup message logwrites 0 mark mkfs
mkdir m; mount -t {filesystem} /dev/mapper/logwrites m
for name in one two three; do
    dd if=/dev/urandom of=m/$name bs=4k count=5 conv=fsync status=none
    dmsetup message logwrites 0 mark $name
done
mkdir m/below; mv m/one m/below/one; ln m/two m/below/two; sync
truncate -s 1T m/sparse; dd if=m/three of=m/sparse bs=4k seek=99999999 conv=notrunc,fsync status=none
dmsetup message logwrites 0 mark last
umount m; dmsetup remove logwrites; losetup -d $D; losetup -d $L
mkdir out; mount -t hostfs none out -o {out}
cp --sparse=always log out/recorded.log
umount out
"""


@pytest.fixture
def foreign_log(tmp_path, stock_kernel):
    """foreign_log(profile) -> the log, and the disk as it was before mkfs."""

    def make(one):
        (empty := tmp_path / "empty").mkdir()
        (out := tmp_path / "out").mkdir()
        script = OTHER_TOOLS.format(
            size=one.size_bytes, mkfs=" ".join(one.mkfs), filesystem=one.filesystem, out=out
        )
        (empty / "make").write_text(script)
        with workspace() as space:
            ran = run_in_guest(Path(stock_kernel.path), empty, "sh make", space)
        assert ran.status == 0, ran.lines
        base = tmp_path / "before-mkfs"
        base.touch()
        with base.open("r+b") as file:
            file.truncate(one.size_bytes)
        return out / "recorded.log", base

    return make


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_a_log_of_other_tools_is_examined(tmp_path, foreign_log, name):
    """With mkfs in it, the states begin behind its mark; every one of them holds. A file of 1 TiB with
    next to nothing in it is compared like any other."""
    log, base = foreign_log(profile(name))
    refused = powercut("explore", log, "--base", base, "--out", tmp_path / "explored")
    assert refused.returncode == 2
    assert "--from MARK. The marks of the log are: mkfs, one, two, three, last" in refused.stderr
    again, status = explored(
        tmp_path, log, "--base", base, "--from", "mkfs", "--models", "O,R,T", "--budget", BUDGET
    )
    assert status == 0
    summary = read_summary(again)
    assert summary.states.unknown == 0
    assert summary.states.checked > 20
    assert set(summary.verdicts) == {"mounts", "quiet", "fsck", "usable", "stable", "consistent"}


def test_our_states_are_those_of_replay_log(tmp_path, foreign_log, request):
    """Byte for byte, at places all over the log: fstests' own reader of this format is the judge."""
    program = request.config.getoption("--replay-log")
    if not program:
        pytest.skip("name the program of a built fstests: --replay-log DIR/src/log-writes/replay-log")
    log, base = foreign_log(profile("ext4"))
    with open_log(log) as opened, Rebuilding(base, opened) as rebuilding:
        for prefix in range(0, len(opened) + 1, max(len(opened) // 8, 1)):
            rebuilding.move(State(prefix))
            image = tmp_path / "theirs"
            image.write_bytes(b"")
            with image.open("r+b") as file:
                file.truncate(base.stat().st_size)
            if prefix:
                subprocess.run(
                    [program, "--log", log, "--replay", image, "--limit", str(prefix)],
                    check=True,
                    capture_output=True,
                )
            ours = hashlib.sha256(rebuilding.disk.image).digest()
            assert hashlib.sha256(image.read_bytes()).digest() == ours, prefix
