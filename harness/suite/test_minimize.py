"""
Proof that a finding ends small and can be handed on.

In:       kernel/series/planted/, each bug built on the stock kernel; the workloads that their headers name;
          what a stopped run of the same sources left, or --keep FOLDER, whose rows are taken as they are.
Out:      of each bug a workload of at most 8 operations, programs in every form that fail on it and pass
          on the stock kernel; a table of them.
Not here: how that is done (smallest.py), that the bugs are found at all (test_planted.py).
"""

import argparse
from pathlib import Path

import pytest

from harness.commands.export import command_export
from harness.evidence.sweep import planted_bugs
from harness.evidence.triage import find
from harness.findings.reproducers import NoExport
from harness.local.progress import Progress
from harness.suite.smallest import FAILED, KEPT, TRIED, kept_in, rows_of
from reports.programs.export import FORMS
from reports.results import read_summary

pytestmark = [pytest.mark.minimize, pytest.mark.timeout(3600)]
OPERATIONS_MAX = 8
BUGS = [bug for bug in planted_bugs() if not bug.orders]  # which no recording shows for certain


@pytest.fixture(scope="module")
def kept(request):
    """Where rows are kept, and taken from; the table at the end is of them."""
    folder = Path(request.config.getoption("--keep") or kept_in()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    request.config.stash[KEPT] = folder
    return folder


@pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])
def test_a_planted_bug_becomes_small_and_its_programs_tell_the_kernels_apart(kept, kernel_word, bug):
    """At most 8 operations for each finding, seen in most recordings and never on the stock kernel. Of one
    finding at least there is a program in every form that can say it, and none that failed."""
    with Progress() as progress:
        rows = rows_of(bug, kernel_word, kept, progress)
    assert rows, "no finding is seen in most repeats here and in none on the stock kernel"
    for row in rows:
        assert row.after <= OPERATIONS_MAX, row.signature
        assert row.shown, row.signature
    assert any(handed_on(row) for row in rows), [one.said for row in rows for one in row.programs]


def handed_on(row):
    answers = {one.answer for one in row.programs}
    return TRIED in answers and FAILED not in answers


@pytest.fixture(scope="module")
def minimal(kept, kernel_word):
    """(folder, finding) of the smallest run of a bug."""
    (bug,) = [one for one in BUGS if one.name == "planted/old-name-kept-after-rename"]
    with Progress() as progress:
        (row, *_) = rows_of(bug, kernel_word, kept, progress)
    folder = kept / row.folder
    return folder, next(one for one in read_summary(folder).findings if one.signature == row.signature)


@pytest.mark.parametrize("form", FORMS)
def test_the_command_keeps_what_it_tried(minimal, form, capsys):
    """And says how it did on both kernels."""
    folder, finding = minimal
    assert command_export(words_of(minimal, form)) == 0
    said = capsys.readouterr().out
    assert f"on {finding.kernel}: fails" in said
    assert "on 6.12: passes" in said
    files = find(folder, finding.id)[0].after.exports
    assert files
    assert all((folder / file).is_file() for file, _ in files)


def test_what_is_no_bug_of_this_kernel_is_not_exported(minimal, monkeypatch):
    """A program whose check cannot fail is not shown."""
    monkeypatch.setattr("reports.programs.export.check_lines", lambda *_: [":"])
    with pytest.raises(NoExport, match="no program shows it on"):
        command_export(words_of(minimal, "sh"))


def words_of(minimal, form):
    folder, finding = minimal
    return argparse.Namespace(run=folder, finding=finding.id, to=form, out=None, fstests=None, quiet=False)
