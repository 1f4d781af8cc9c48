"""
Programs as workloads, on real guests: their promises hold, and a broken one is laid at the right door.

In:       workloads/programs/, and bad ones from here; --profile NAME,..., --kernel WORD. Builds two
          kernels: its config variant `programs`, and a planted bug.
Out:      that no script is UNKNOWN and no oracle accuses a stock filesystem but of its known bugs; that the
          programs with a mistake on purpose are found and named as the program's; that a planted kernel bug
          is named as the filesystem's; that a program or a script which misbehaves ends as a sentence, never
          as a verdict.
Not here: judging without a guest (oracles/tests/test_application.py), the tracer (test_traced.py).
"""

import base64
import errno
import json
import subprocess

import pytest

from harness.evidence.named import expected_findings
from harness.evidence.summary import experiment_folders
from harness.local.packages import for_programs, missing
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles import application
from oracles.finding import signature
from oracles.profiles import profile
from oracles.verdict import Answer
from reports.results import read_experiment
from reports.terminal.programs import rows_of
from workloads.programs import PREFIX, library, select

pytestmark = [pytest.mark.programs, pytest.mark.timeout(3600)]
PLANTED = {
    # The mistake, and the profiles where it shows. ext4 writes the data before such a rename (auto_da_alloc).
    "planted-acknowledge-before-fsync": {"btrfs", "ext4", "xfs"},
    "planted-rename-without-fsync": {"btrfs", "xfs"},
    "lmdb-nosync": {"btrfs", "ext4", "xfs"},
    "leveldb-nosync": {"btrfs", "ext4", "xfs"},
}
# Programs whose own promise a stock filesystem need not keep; docs/reference/programs.md says why.
RELIES = {
    "sqlite-rollback-full",
    "git-fsync-default",
    "git-fsync-all",
    "git-fsync-none",
    "dpkg-safe-io",
    "dpkg-unsafe-io",
    "mercurial",
    "sed-in-place",
    "gdbm",
    "systemd-journald",  # in some recordings: which of two threads is first
}
# The one object that a known bug spoils, by program. Which bug, on which kernel: harness/evidence/known.py.
KNOWN_IN = dict.fromkeys(("postgresql-fdatasync", "postgresql-open-datasync"), "db/pg_logical")
SOUND = tuple(one.name for one in library() if one.name not in PLANTED)
# fdatasync of a grown file does not commit its size: what an appended log relies on.
BUG, BUG_PROFILE, VICTIM = "planted/ext4-size-unknown-to-fdatasync", "ext4", "append-log"


def examined(tmp_path, name, profile_name, kernel):
    """(the row of the program, its experiment)."""
    lacking = missing(for_programs([PREFIX + name]))
    if lacking:
        pytest.skip(f"Debian packages are missing: {', '.join(sorted({one.package for one in lacking}))}")
    spec = RunSpec(select([PREFIX + name]), (profile(profile_name),), (kernel,), repeats=False)
    with Progress() as progress:
        folder, summary = run(spec, tmp_path / "results", progress)
    assert summary.reasons == ()
    (place,) = experiment_folders(folder)
    experiment = read_experiment(place)
    (row,) = rows_of([experiment])
    return row, experiment


def broken_by(experiment):
    """Names of the oracles that are BROKEN somewhere."""
    return {
        verdict.oracle
        for verdicts in experiment.judgement.verdict_sets
        for verdict in verdicts
        if verdict.answer is Answer.BROKEN
    }


def accusations(experiment):
    """(signature of the finding, subject) of every violation of an oracle of the filesystem."""
    return {
        (signature(experiment.facts.profile, verdict.oracle, violation), violation.subject)
        for verdicts in experiment.judgement.verdict_sets
        for verdict in verdicts
        if verdict.answer is Answer.BROKEN and verdict.oracle != application.NAME
        for violation in verdict.violations
    }


def known_accusations(kernel, profile_name, name):
    """The same of the known bugs that this program shows; none where it shows none."""
    known = expected_findings(kernel, profile_name, maybe=True)
    return {(one, KNOWN_IN[name]) for one, workload in known if workload == name}


@pytest.mark.parametrize("name", SOUND)
def test_a_stock_kernel_is_not_accused(tmp_path, kernel_word, profile_name, name):
    """Every state is asked about, and what is BROKEN is known: a bug of this kernel, or what a program itself
    got wrong, which is named as the program's."""
    row, experiment = examined(tmp_path, name, profile_name, kernel_word)
    assert row.unknown == 0
    assert row.trees > 1
    assert row.asked >= row.trees
    assert accusations(experiment) == known_accusations(kernel_word, profile_name, name)
    assert name in RELIES or row.broken == 0
    assert set(row.whose) <= {application.OF_APPLICATION}


@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_of_the_program_is_the_programs(tmp_path, kernel_word, profile_name, name):
    """It is found where the filesystem does not make up for it, and no oracle accuses the filesystem."""
    row, experiment = examined(tmp_path, name, profile_name, kernel_word)
    shown = profile_name in PLANTED[name]
    assert (row.broken > 0) is shown
    assert broken_by(experiment) == ({application.NAME} if shown else set())
    assert row.whose == ((application.OF_APPLICATION,) if shown else ())


def test_a_planted_kernel_bug_is_the_filesystems(tmp_path, kernel_word):
    """The program is right on the stock kernel, and both it and durable are BROKEN with the bug."""
    row, experiment = examined(tmp_path, VICTIM, BUG_PROFILE, f"{kernel_word}+{BUG}")
    assert row.broken > 0
    assert row.whose == (application.OF_FILESYSTEM,)
    assert broken_by(experiment) >= {application.NAME, "durable"}


def ran(tmp_path, kernel, run_script, **fields):
    """(the reasons of UNKNOWN, the experiment) of a program of the user's, on ext4."""
    place = tmp_path / "bad.toml"
    given = {"about": "bad", "promise": "none", "run": run_script, **fields}
    place.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items()))
    spec = RunSpec(select([str(place)]), (profile("ext4"),), (kernel,), repeats=False)
    with Progress() as progress:
        folder, summary = run(spec, tmp_path / "results", progress)
    (found,) = experiment_folders(folder)
    return " ".join(" ".join(summary.reasons).split()), read_experiment(found)


@pytest.mark.parametrize(
    ("run_script", "words"),
    [
        ("no-such-program", ("could not be run in the guest", "no-such-program: command not found")),
        ("sleep 1000", ("did not end within 10 s", "--timeout")),
        ("f() { f | f & }; f; sleep 1000", ("did not end within 10 s", "Resource temporarily unavailable")),
    ],
    ids=["not there", "for ever", "forks without end"],
)
def test_a_program_that_cannot_be_recorded_says_why(tmp_path, kernel_word, run_script, words):
    """Nothing is judged, and the guest is neither lost nor blamed."""
    reasons, experiment = ran(tmp_path, kernel_word, run_script, timeout_s=10)
    assert [word for word in words if word not in reasons] == []
    assert experiment.judgement.states == ()


def test_a_program_that_needs_a_missing_library_says_why(tmp_path, kernel_word):
    """The dynamic linker's own sentence."""
    for name in ("needs", "gone"):
        (tmp_path / f"{name}.c").write_text("int gone(void);\nint main(void) { return gone(); }\n")
    (tmp_path / "gone.c").write_text("int gone(void) { return 0; }\n")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", "libgone.so", "gone.c"], cwd=tmp_path, check=True)
    subprocess.run(["gcc", "-o", "needs", "needs.c", "-L.", "-lgone"], cwd=tmp_path, check=True)
    linked = base64.b64encode((tmp_path / "needs").read_bytes()).decode()
    setup = f"echo {linked} | base64 -d >/tmp/needs && chmod +x /tmp/needs"
    reasons, _ = ran(tmp_path, kernel_word, "exec /tmp/needs", setup=setup)
    assert "libgone.so: cannot open shared object file" in reasons


def test_a_device_that_is_not_there_and_files_outside_are_remarked(tmp_path, kernel_word):
    """What the program did on the filesystem is judged all the same."""
    script = "echo x >a; sync; echo y >/var/outside; cat /dev/kvm"
    reasons, experiment = ran(tmp_path, kernel_word, script)
    assert reasons == ""
    assert broken_by(experiment) == set()
    assert "written outside the mount, not judged: /var/outside" in experiment.history.remarks
    assert any("/dev/kvm" in remark for remark in experiment.history.remarks)


def test_a_program_that_fills_the_disk_is_judged(tmp_path, kernel_word):
    """What its last write left behind is known, and holds."""
    setup = ": >full; fallocate -n -l $(($(stat -f -c %f .) * $(stat -f -c %s .) - 3000000)) full"
    script = "head -c 500K /dev/urandom >a || true; sync; echo y >b; sync"
    reasons, experiment = ran(tmp_path, kernel_word, script, setup=setup)
    assert reasons == ""
    assert broken_by(experiment) == set()
    assert any(step.result == -errno.ENOSPC for step in experiment.history.run)


@pytest.mark.parametrize(
    ("oracle", "words"),
    [
        ("echo waiting; sleep 1000", "did not end within its time limit: waiting"),
        ("echo here; kill -SEGV $$", "exit status 139: here"),
        ("f() { f | f & }; f; sleep 1000", "did not end within its time limit"),
    ],
    ids=["hangs", "crashes", "forks without end"],
)
def test_a_script_that_misbehaves_is_unknown_with_its_text(tmp_path, kernel_word, oracle, words):
    """It accuses nobody, and the guest goes on."""
    reasons, experiment = ran(tmp_path, kernel_word, "echo x >a; sync", oracle=oracle, oracle_timeout_s=3)
    assert words in reasons
    assert broken_by(experiment) == set()
