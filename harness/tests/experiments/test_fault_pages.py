"""The pages of a device that fails: made by the oracles themselves, of runs made by hand."""

import errno

import msgspec
import pytest

from harness.stages.judge import FaultJudge
from harness.tests.made_run import of_one_kind
from oracles.observation import FaultRun, FaultStep, Observation
from oracles.profiles import profile
from oracles.tests.made import Bench
from oracles.verdict import Tier
from reports.results import FAULTS, read_summary

WORKLOAD = "setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n"
POINTS = {"F:drop-writes@1-": 0, "F:error-writes@2": 0, "F:error-writes@2:8192+8": -errno.EIO}


def observed(bench, result):
    """The write never reached the disk; fsync said `result`."""
    steps = tuple(
        FaultStep(step.index, result if step.index == 2 else 0, step.inode, 16, 0, 0, int(step.index == 2))
        for step in (*bench.history.setup, *bench.history.run)
    )
    run = FaultRun(steps=steps, root_inode=256, after_call="", kernel_log=("3 BTRFS error (device dm-4)",))
    return msgspec.json.encode(Observation(tree=bench.tree(0), probe_steps=1, fault=run))


@pytest.fixture
def report(tmp_path):
    return fault_report(tmp_path)


def fault_report(run):
    """Of a run whose one experiment is a sweep of three points, one of them BROKEN."""
    bench = Bench(WORKLOAD)
    judge = FaultJudge(bench.history, profile("btrfs"), Tier.FS)
    for spec, result in POINTS.items():
        judge.add(spec, observed(bench, result))
    return of_one_kind(run, bench, judge, kind=FAULTS, points_unmet=4, planned={})


def test_every_point_is_a_row_with_what_failed_and_what_the_calls_said(report):
    page = (report / "experiment-0001.html").read_text()
    for spec in POINTS:
        assert f"<code>{spec}</code>" in page
    assert "writes fail (sectors 8192+8)" in page
    assert "2 fsync foo: EIO" in page
    assert "at 4 more no read or write met the fault" in page
    assert "goes on" in page


def test_the_summary_counts_points_and_the_finding_leads_back_to_one(report):
    summary = read_summary(report.parent)
    assert (summary.exit, summary.states.planned, summary.states.checked) == (1, 3, 3)
    assert summary.models == {}  # points are no states of a crash model, whose table would not know them
    (finding,) = summary.findings
    assert (finding.signature, finding.state) == (
        "btrfs told: data lost untold (fsynced file)",
        "F:error-writes@2",
    )
    page = (report / "finding-F1.html").read_text()
    assert "Where the device failed" in page
    assert "the device fails: writes fail, during 2 fsync foo" in page
    assert "BTRFS error" in page


def test_the_index_tells_faults_from_power_failures(report):
    page = (report / "index.html").read_text()
    assert "3 fault points of 1 experiment" in page
    assert "on a device that fails" in page
    assert "Faults of the device: <strong>examined</strong>" in page
