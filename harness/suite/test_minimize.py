"""
Proof that a finding ends small and can be handed on.

In:       some of kernel/series/planted/, built on the stock kernel; the workloads that their headers name.
Out:      of each a workload of at most 8 operations, and programs in every form that fail on it and pass on
          the stock kernel.
Not here: that the bugs are found at all (test_planted.py).
"""

import argparse

import pytest

from harness.export import NoExport, command_export
from harness.followups import find
from harness.minimize import command_minimize
from harness.progress import Progress
from harness.run import Wish, run
from harness.sweep import planted_bugs
from oracles.profiles import profile
from reports.export import FORMS
from reports.results import read_summary
from workloads.library import select
from workloads.shrinking import operation_count
from workloads.text import parse

pytestmark = [pytest.mark.minimize, pytest.mark.timeout(1800)]
OPERATIONS_MAX = 8

# Names, attributes, data, a flush that is missing, and what only use of the recovered tree shows.
BUGS = (
    "planted/old-name-kept-after-rename",
    "planted/xattr-lost-on-second-fsync",
    "planted/ext4-size-unknown-to-fdatasync",
    "planted/xfs-overwrite-fsync-without-flush",
)


@pytest.fixture(scope="module", params=BUGS)
def minimal(request, tmp_path_factory):
    """(folder, finding) of the smallest run of the bug's first finding that the stock kernel has not."""
    folder = tmp_path_factory.mktemp("minimize")
    (bug,) = [one for one in planted_bugs() if one.name == request.param]
    word = f"{request.config.getoption('--kernel')}+{bug.name}"
    wish = Wish(select(bug.workloads), (profile(bug.profiles[0]),), (word,))
    with Progress() as progress:
        first, summary = run(wish, folder / "first", progress)
    new = next(one for one in summary.findings if one.oracle in bug.oracles and is_new(one))
    words = argparse.Namespace(run=first, finding=new.id, budget=300, out=folder / "small", quiet=False)
    words.words = ["minimize", str(first), new.id]
    assert command_minimize(words) == 0
    small = (folder / "small" / "latest").resolve()
    again = next(one for one in read_summary(small).findings if one.signature == new.signature)
    return small, again


def is_new(finding):
    """Seen in all repeats on its own kernel and in none on the stock one."""
    return [one.shown for one in finding.after.repeats] == [5, 0]


def test_a_planted_bug_becomes_small(minimal):
    """At most 8 operations, seen 5 times of 5, and never on the stock kernel."""
    folder, finding = minimal
    workload = parse((folder / "minimal.workload").read_text())
    assert operation_count(workload) <= OPERATIONS_MAX
    assert is_new(finding), finding.after
    assert workload.comment[0].endswith(finding.signature)


@pytest.mark.parametrize("form", FORMS)
def test_its_programs_fail_on_it_and_pass_on_the_stock_kernel(minimal, form, capsys):
    """Tried by the command itself; it keeps only what did both."""
    folder, finding = minimal
    words = argparse.Namespace(run=folder, finding=finding.id, to=form, out=None, fstests=None, quiet=False)
    assert command_export(words) == 0
    said = capsys.readouterr().out
    assert f"on {finding.kernel}: fails" in said
    assert "on 6.12: passes" in said
    kept = find(folder, finding.id)[0].after.exports
    assert kept
    assert all((folder / file).is_file() for file, _ in kept)


def test_what_is_no_bug_of_this_kernel_is_not_exported(minimal, monkeypatch):
    """A program whose check cannot fail is not shown."""
    folder, finding = minimal
    monkeypatch.setattr("reports.export_sh.check_lines", lambda *_: [":"])
    words = argparse.Namespace(run=folder, finding=finding.id, to="sh", out=None, fstests=None, quiet=False)
    with pytest.raises(NoExport, match="no program shows it on"):
        command_export(words)
