"""
The performance page of a run, and what stands of it on the page of the comparison.

In:       PerfRun.
Out:      context for templates/perf.html; headline(); the files beside perf.json.
Not here: figures (answers.py, counts.py, profiles.py), tables (tables.py, commit.py).
"""

from pathlib import Path
from typing import Any

import msgspec

from reports.drawings.charts import Chart
from reports.perf.answers import ALPHA, CONFIDENCE, Answer, Difference, differences
from reports.perf.bpftrace import script
from reports.perf.charts import latency_charts, profile_chart, ratio_chart
from reports.perf.commit import block, command_line, commit_message
from reports.perf.counts import Count, counts, per_operation, words
from reports.perf.profiles import FunctionTime, Profile, profiles
from reports.perf.published import Seed, seeds
from reports.perf.results import Measured, PerfRun, perf_folder
from reports.perf.tables import interval_words, middle, percent_words, plain

MARKS = {Answer.BETTER: "HOLDS", Answer.WORSE: "BROKEN", Answer.NONE: "none"}


class Section(msgspec.Struct, frozen=True):
    """One experiment on the page."""

    measured: Measured
    counts: tuple[Count, ...]
    differences: tuple[Difference, ...]
    profiles: tuple[Profile, ...]
    charts: tuple[Chart, ...]
    seeds: tuple[Seed, ...]
    block: str
    device_us: str
    boots: str


def section(run: PerfRun, measured: Measured) -> Section:
    found = differences(measured)
    sampled = profiles(measured)
    ratio = ratio_chart(measured, found)
    charts = [ratio] if ratio else []
    charts += [*latency_charts(measured), *(profile_chart(measured, one) for one in sampled)]
    writes = [boot.device_us for boot in measured.boots]
    return Section(
        measured=measured,
        counts=counts(measured),
        differences=found,
        profiles=sampled,
        charts=tuple(charts),
        seeds=tuple(seeds()[name] for name in measured.experiment.seeds if name in seeds()),
        block=block(run, measured),
        device_us=f"{min(writes):,.0f} to {max(writes):,.0f}" if writes else "not measured",
        boots=", ".join(f"{side} {sum(boot.side == side for boot in measured.boots)}" for side in "AB"),
    )


def headline(run: PerfRun) -> str:
    """All experiments in a sentence."""
    answers = [one.answer for each in run.measured for one in differences(each) if one.answer]
    answers += [one.answer for each in run.measured for profile in profiles(each) for one in profile.times]
    better, worse, none = (
        sum(one is answer for one in answers) for answer in (Answer.BETTER, Answer.WORSE, Answer.NONE)
    )
    counted = [one.differs for each in run.measured for one in counts(each)]
    exact = f"{sum(counted)} of {len(counted)} exact counts differ" if counted else "nothing was counted"
    parts = [f"{number} {name}" for number, name in ((better, "better"), (worse, "worse")) if number]
    parts.append(f"{none} with no difference shown")
    subject = "the same kernel twice" if run.noise else "B against A"
    return f"{subject}: {', '.join(parts)}; {exact}"


def perf_context(run: PerfRun) -> dict[str, Any]:
    sections = [section(run, measured) for measured in run.measured]
    return {
        "p": run,
        "perf_headline": headline(run),
        "sections": sections,
        "again": command_line(run),
        "count_words": words,
        "per_operation": per_operation,
        "interval_words": interval_words,
        "percent_words": percent_words,
        "middle": middle,
        "plain": plain,
        "marks": MARKS,
        "alpha": ALPHA,
        "confidence": CONFIDENCE,
        "loads": loads(run),
    }


def loads(run: PerfRun) -> str:
    found = [boot.load for measured in run.measured for boot in measured.boots]
    return f"{min(found):.1f} to {max(found):.1f}" if found else "not recorded"


def write_texts(folder: Path, run: PerfRun) -> None:
    """commit-message.txt of the run, and a bpftrace script of each experiment. Errors: OSError."""
    (folder / "commit-message.txt").write_text(commit_message(run))
    for measured in run.measured:
        sampled = measured.experiment.profile
        if sampled and sampled.functions:
            place = perf_folder(folder) / "bpftrace" / f"{measured.experiment.name}.bt"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(script(sampled.functions))


def noise_sentences(run: PerfRun) -> dict[str, str]:
    """Of a run of A against A, by experiment: what two equal kernels differ by here."""
    found = {}
    for measured in run.measured:
        asked = [one for one in differences(measured) if one.answer is not None]
        if asked:
            widest = max(asked, key=lambda one: max(abs(one.high - 1), abs(one.low - 1)))
            answers = sorted({str(one.answer) for one in asked})
            found[measured.experiment.name] = (
                f"{run.started[:10]}, {len(measured.boots) // 2} boots each: {', '.join(answers)}; the "
                f"widest "
                f"interval {interval_words(widest.low, widest.high)} ({widest.label})"
            )
    return found


__all__ = ["FunctionTime", "Section", "headline", "noise_sentences", "perf_context", "write_texts"]
