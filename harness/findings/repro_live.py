"""
Show again what the kernel did while a workload was recorded: record it anew, print its trace.

In:       an experiment with a state "L:5", a guest.
Out:      what was seen this time, its verdicts, and text for standard output.
Not here: states that a power failure leaves (repro.py).
"""

import os
from pathlib import Path

from harness.experiments.examination import Setting, record_in
from harness.findings.verdict_text import verdict_lines
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot
from harness.stages.live import Died, Live
from oracles.live import first_report, judge_live
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.spec import live_spec, operation_of
from oracles.verdict import Tier, Verdict
from reports.results import Experiment
from reports.text.device import device_words
from workloads.text import format_operation

TRACE_LINES = 40


def record_again(
    guest_slot: GuestSlot, experiment: Experiment, scratch: Path
) -> tuple[Live, tuple[Verdict, ...]]:
    """Where the kernel is content this time, that is what was seen. Errors: NotRecorded, LostGuest,
    GuestTrouble, BadLog, NoFilesystemTool, OSError."""
    history, facts = experiment.history, experiment.facts
    assert history is not None
    one, tier = profile(facts.profile), Tier(facts.tier)
    make_filesystem(one, scratch / "pristine")
    setting = Setting(
        guest_slot, one, tier, facts.kernel, scratch / "pristine", scratch, device=facts.recorded_on
    )
    try:
        recording = record_in(setting, history.workload)
        count = len(history.workload.setup) + len(history.workload.run)
        live = recording.live or Live(live_spec(count), Observation(kernel_log=recording.kernel_log))
    except Died as death:
        live = death.live
    return live, judge_live(one, tier, live.seen)


def live_lines(
    experiment: Experiment, signature: str, live: Live, verdicts: tuple[Verdict, ...]
) -> list[str]:
    facts, seen = experiment.facts, live.seen
    assert experiment.history is not None
    workload = experiment.history.workload
    device = device_words(facts.recorded_on.kind)
    lines = [
        f"{facts.workload} on {facts.profile}, kernel {facts.kernel}{device}, recorded again: "
        f"state {live.spec}"
    ]
    lines += [f"finding: {signature}"] if signature else []
    lines += ["", *(["setup"] if workload.setup else [])]
    at = operation_of(live.spec)
    for index, operation in enumerate((*workload.setup, *workload.run)):
        lines += ["run"] if index == len(workload.setup) else []
        lines.append(f"    {format_operation(operation)}")
        lines += [f"  ---- {what_happened(seen)} ----"] if index == at else []
    if at == len(workload.setup) + len(workload.run):
        lines.append(f"  ---- unmount: {what_happened(seen)} ----")
    return [
        *lines,
        "",
        "the kernel says:",
        *(f"    {line}" for line in trace(seen)),
        *verdict_lines(verdicts),
    ]


def what_happened(seen: Observation) -> str:
    if seen.death:
        return f"the kernel stopped ({seen.death})"
    if seen.umount_errno:
        return f"the unmount failed: {os.strerror(seen.umount_errno)}"
    return "the kernel reports a bug" if first_report(seen.kernel_log) >= 0 else "the kernel reported nothing"


def trace(seen: Observation) -> tuple[str, ...]:
    """From the first report on."""
    said = seen.console if seen.death else seen.kernel_log
    first = first_report(said)
    return said[first : first + TRACE_LINES] if first >= 0 else ("nothing",)
