"""
What is learnt of a finding after its run, kept beside it.

In:       a run's folder; a finding.
Out:      followups.json: Triage by kernel and signature, so that judging again keeps it.
Not here: learning it (reruns.py, minimize.py, export.py), showing it (reports/).
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.evidence.store import NoResults, reading, write_pretty, write_summary
from reports import formats
from reports.results import (
    Attribution,
    Experiment,
    Finding,
    Summary,
    Triage,
    read_experiment,
    read_summary,
)

FILE = "followups.json"
Triages = dict[str, Triage]


class _Kept(msgspec.Struct, frozen=True):
    followups: Triages


def key_of(kernel: str, signature: str) -> str:
    return f"{kernel} {signature}"


def read_triage(run: Path) -> Triages:
    """Errors: NoResults."""
    if not (run / FILE).exists():
        return {}
    with reading(run):
        return formats.read(run / FILE, _Kept).followups


def triage_of(followups: Triages, kernel: str, signature: str) -> Triage:
    return followups.get(key_of(kernel, signature), Triage())


def keep_triage(run: Path, findings: Iterable[Finding]) -> None:
    """What these findings know by now, into followups.json."""
    followups = read_triage(run)
    followups |= {key_of(one.kernel, one.signature): one.after for one in findings if one.after != Triage()}
    write_pretty(run / FILE, _Kept(dict(sorted(followups.items()))))


def add_attributed(run: Path, found: dict[tuple[str, str], list[Attribution]]) -> None:
    """Into followups.json, by kernel and signature; judging again then has them. Errors: NoResults."""
    followups = read_triage(run)
    for (kernel, signature), ones in found.items():
        before = triage_of(followups, kernel, signature)
        kept = {(one.profile, one.workload): one for one in (*before.attributed, *ones)}
        attributed = tuple(kept[place] for place in sorted(kept))
        followups[key_of(kernel, signature)] = msgspec.structs.replace(before, attributed=attributed)
    write_pretty(run / FILE, _Kept(dict(sorted(followups.items()))))


def learnt(run: Path, finding: Finding, after: Triage) -> Summary:
    """The run's summary with this of one finding, on disk, too."""
    summary = read_summary(run)
    findings = tuple(
        msgspec.structs.replace(one, after=after) if one.id == finding.id else one for one in summary.findings
    )
    keep_triage(run, findings)
    summary = msgspec.structs.replace(summary, findings=findings)
    write_summary(run, summary)
    return summary


def require_workload(run: Path, experiment: Experiment) -> None:
    """For what records the workload of a finding again. Errors: NoResults."""
    if experiment.history is None:
        raise NoResults(f"{run} has no recording: {experiment.facts.trouble}")
    if not experiment.history.known:
        raise NoResults(
            f"{run} is of a log that was recorded elsewhere and came without a history, so there is no "
            "workload that could be recorded again. To keep the disk of a state: powercut repro --keep FILE"
        )


def find(run: Path, wanted: str) -> tuple[Finding, Experiment]:
    """A finding of a run and its witness. wanted: "F1", or "" for the first. Errors: NoResults."""
    if not (run / "summary.json").exists():
        raise NoResults(
            f"{run} is not the folder of a finished run: it has no summary.json. Continue a "
            f"stopped run with powercut run --resume {run}"
        )
    with reading(run):
        findings = {one.id: one for one in read_summary(run).findings}
        if not findings:
            raise NoResults(f"{run}: this run has no findings")
        if wanted and wanted not in findings:
            raise NoResults(f"{run}: there is no finding {wanted}. The findings are {', '.join(findings)}")
        finding = findings[wanted or next(iter(findings))]
        experiment = read_experiment(run / "experiments" / f"{finding.experiment:04d}")
    return finding, experiment
