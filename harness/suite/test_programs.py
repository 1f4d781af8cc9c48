"""
Programs as workloads, on real guests: their promises hold, and a broken one is laid at the right door.

In:       workloads/programs/; --profile NAME,..., --kernel WORD. Builds two kernels.
Out:      that no script is UNKNOWN and no oracle accuses a stock filesystem; that the programs with a mistake
          on purpose are found and named as the program's; that a planted kernel bug is named as the
          filesystem's.
Not here: judging without a guest (oracles/tests/test_application.py), the tracer (test_traced.py).
"""

import pytest

from harness.evidence.summary import experiment_folders
from harness.local.packages import for_programs, missing
from harness.local.progress import Progress
from harness.runs.run import RunSpec, run
from oracles import application
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
}
# Programs whose own promise a stock filesystem need not keep; docs/reference/programs.md says why.
RELIES = {"sqlite-rollback-full", "gdbm"}
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


@pytest.mark.parametrize("name", SOUND)
def test_a_stock_kernel_is_not_accused(tmp_path, kernel_word, profile_name, name):
    """Every state is asked about; what a program itself got wrong is known, and named as the program's."""
    row, experiment = examined(tmp_path, name, profile_name, kernel_word)
    assert row.unknown == 0
    assert row.trees > 1
    assert row.asked >= row.trees
    assert broken_by(experiment) <= ({application.NAME} if name in RELIES else set())
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
