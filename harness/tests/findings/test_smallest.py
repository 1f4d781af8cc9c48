"""The table of planted bugs made small: kept rows are not done again, and each missing program says why."""

from pathlib import Path

import msgspec
import pytest

from harness.evidence.sweep import Bug
from harness.local.progress import Progress
from harness.suite import smallest
from harness.suite.smallest import REFUSED, TRIED, Program, Row, rows_of, table
from reports.results import FAULTS, Finding, KnownAs, StateCounts, Summary

BUG = Bug("planted/name-lost", ("btrfs",), ("fsync-new-file",), ("durable",))
ROW = Row(
    planted=BUG.name,
    folder="name-lost/F1/now",
    signature="btrfs durable: name lost (fsynced file)",
    workload="fsync-new-file",
    state="O:12",
    before=7,
    after=2,
    shown=5,
    programs=(
        Program("sh", TRIED, "flakey: foo is missing"),
        Program("c", REFUSED, "F1 is not exported to c: no"),
        Program("fstests", REFUSED, "F1 is not exported to fstests: no"),
    ),
    seconds=12.3,
)


def test_a_bug_whose_rows_are_kept_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was stopped before all of its rows were there is."""
    done = []

    def make(bug, kernel, folder, progress):
        done.append((bug.name, kernel))
        if len(done) == 1:
            raise KeyboardInterrupt
        yield ROW

    monkeypatch.setattr(smallest, "_rows", make)
    with pytest.raises(KeyboardInterrupt):
        rows_of(BUG, "6.12", tmp_path, Progress(quiet=True))
    assert rows_of(BUG, "6.12", tmp_path, Progress(quiet=True)) == (ROW,)
    assert rows_of(BUG, "6.12", tmp_path, Progress(quiet=True)) == (ROW,)
    assert done == [("planted/name-lost", "6.12")] * 2


def test_the_table_has_a_line_for_each_row_and_the_way_out_of_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "name-lost.json").write_bytes(msgspec.json.encode((ROW,)))
    head, line, *reasons = table(tmp_path)
    assert head.split() == ["planted", "bug", "operations", "state", "seen", "sh", "c", "fstests", "seconds"]
    assert line.split() == [
        "name-lost",
        "7",
        "->",
        "2",
        "O:12",
        "5",
        "of",
        "5",
        "flakey",
        "refused",
        "refused",
        "12.3",
    ]
    assert reasons == ["  c, fstests: F1 is not exported: no"]


def finding(number: int, signature: str, kernel: str, known: tuple[KnownAs, ...] = ()) -> Finding:
    return Finding(
        id=f"F{number}",
        signature=signature,
        oracle="told",
        kind="data lost untold",
        role="fsynced file",
        tier="fs",
        profile="btrfs",
        kernel=kernel,
        workload="fsync-new-file",
        experiment=1,
        state="F:error-writes@1",
        subject="foo",
        expected="",
        found="",
        promise="",
        count=1,
        workloads=("fsync-new-file",),
        repro="",
        known=known,
    )


def test_of_a_failing_device_what_the_stock_kernel_beside_it_shows_is_not_the_bugs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run does not repeat such findings, so both kernels are swept."""
    own = "6.12+planted/name-lost"
    found = (
        finding(1, "a", own),
        finding(2, "b", own),
        finding(3, "b", "6.12"),
        finding(4, "c", own, known=(KnownAs("BTRFS-1", "a title"),)),
    )
    run_specs = []

    def run(run_spec, out, progress):
        run_specs.append(run_spec)
        return tmp_path, Summary(1, 2, StateCounts(), 0, {}, found, {})

    monkeypatch.setattr(smallest, "run", run)
    monkeypatch.setattr(
        smallest, "_row", lambda bug, one, *_: msgspec.structs.replace(ROW, signature=one.signature)
    )
    bug = msgspec.structs.replace(BUG, oracles=("told",), kind=FAULTS)
    assert [row.signature for row in rows_of(bug, "6.12", tmp_path, Progress(quiet=True))] == ["a"]
    assert [(run_spec.kernels, run_spec.kind) for run_spec in run_specs] == [(("6.12", own), FAULTS)]
