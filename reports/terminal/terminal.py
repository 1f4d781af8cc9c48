"""
The lines at the end of a run.

In:       a Summary, its Question, where the report is.
Out:      about ten lines of plain text, at most 100 columns.
Not here: progress while it runs (the command), colours.
"""

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from oracles.faults.damage import OUTCOMES, Outcome
from oracles.unjudged import OF_HISTORY
from reports.results import FAST, AnswerCounts, Finding, Question, Silence, StateCounts, Summary
from reports.text.counting import number
from reports.text.coverage import patch_lines
from reports.text.known import counts_words, fixes_of, known_words
from reports.text.models import model_words
from reports.text.orders import order_words
from reports.text.queue import queue_words
from reports.text.reruns import rerun_words
from reports.text.stops import stop_words
from reports.text.tree_words import visible
from reports.text.untried import untried_words
from reports.text.versions import rows, side_by_side, version_words

COLUMNS = 100
FINDINGS_SHOWN = 3
REASONS_SHOWN = 3
LABEL = 11  # columns of the words at the left


def summary_lines(summary: Summary, question: Question, report_path: Path) -> list[str]:
    """What was examined, what holds, what is broken, how fast, and where the report is.

    A line is cut at 100 columns, except commands and paths: half a command is of no use. Of a sweep of
    planted bugs the findings are not listed: they are expected.
    """
    answer = planted(summary) if summary.detection else [*holds(summary), *broken(summary), *known(summary)]
    answer += versions(summary, question)
    return [
        *examined(summary, question),
        *answer,
        *unknown(summary),
        *failed(summary),
        *speed(summary),
        *proofs(summary),
        *checks(summary),
        *patches(summary),
        *untried(summary, question),
        line("report", str(report_path), cut=False),
        line("exit", verdict(summary)),
    ]


def examined(summary: Summary, question: Question) -> list[str]:
    states = summary.states
    kernels, profiles = ", ".join(question.kernels), ", ".join(question.profiles)
    devices = "" if question.devices == (FAST,) else f"; devices {', '.join(question.devices)}"
    cpus = f"; {question.cpus} processors" if question.cpus > 1 else ""
    what = (
        f"kernel {kernels} ({question.guest}{cpus}); {profiles}{devices}; "
        f"{number(len(question.workloads), 'workload')}"
    )
    return [
        line("examined", f"{number(summary.experiments, 'experiment')}: {what}"),
        line(
            "states",
            f"{states.planned:,} planned, {states.checked:,} checked, "
            f"{states.skipped_identical:,} identical to a checked one, "
            f"{proven(states)}{states.unknown:,} unknown",
        ),
        line(
            "log",
            f"{summary.log_entries:,} entries; models {' '.join(question.models)}; tier {question.tier}",
        ),
        *models(summary),
        *damage(summary),
        *queue(summary),
        *recoveries(summary),
        *orders(summary),
        *stops(summary),
    ]


def orders(summary: Summary) -> list[str]:
    """How many orders the threads took, where workloads with threads were recorded several times."""
    return folded("orders", order_words(summary.orders)) if summary.orders else []


def stops(summary: Summary) -> list[str]:
    """Whether calls stopped, where they were to."""
    return folded("stops", stop_words(summary.stops)) if summary.stops else []


def versions(summary: Summary, question: Question) -> list[str]:
    """Of a run on several kernels: which of them have the findings."""
    kernels = side_by_side(question)
    if not kernels or summary.detection:
        return []
    return folded("kernels", version_words(rows(summary, question), kernels))


def patches(summary: Summary) -> list[str]:
    """How much of each kernel's series ran, where it was counted."""
    lines: list[str] = []
    for one in summary.patches:
        for text in patch_lines(one):
            lines += folded("" if lines else "coverage", text)
    return lines


def untried(summary: Summary, question: Question) -> list[str]:
    """What else a patch may be tried with. A sweep of planted bugs has for each what it needs."""
    words = untried_words(question)
    return folded("not tried", words) if words and not summary.detection else []


def queue(summary: Summary) -> list[str]:
    """What the queue of a real disk did while workloads were recorded."""
    return folded("queue", queue_words(summary.queue)) if summary.queue else []


def recoveries(summary: Summary) -> list[str]:
    """What came back when the states were recovered in another way."""
    lines = []
    for way, one in summary.recoveries.items():
        where = {"here": "on this machine", "disk": "on the real disk itself"}[way]
        said = f"{len(one.different):,} came back differently" if one.different else "all came back the same"
        lines.append(
            line("recovered", f"{where} ({', '.join(one.kernels)}): {number(one.states, 'state')}, {said}")
        )
        lines += [line("", f"   {each}") for each in one.different[:FINDINGS_SHOWN]]
        if (more := len(one.different) - FINDINGS_SHOWN) > 0:
            lines.append(line("", f"   and {more:,} more, in recoveries.json"))
    return lines


def proven(states: StateCounts) -> str:
    return f"{states.proven:,} proven, " if states.proven else ""


def models(summary: Summary) -> list[str]:
    """The states of each crash model, where there is more than one."""
    if len(summary.models) < 2:
        return []
    return folded("models", "; ".join(model_words(model, one) for model, one in summary.models.items()))


def damage(summary: Summary) -> list[str]:
    """What recovery made of damage at rest, and in which blocks it did not notice any."""
    if not summary.damage or summary.detection:
        return []
    counts: Counter[str] = Counter()
    for one in summary.damage:
        counts.update(one.outcomes)
    order = dict.fromkeys((*OUTCOMES, *counts))
    outcomes = "; ".join(f"{name} {counts[name]:,}" for name in order if counts[name])
    taken: Counter[str] = Counter()
    for one in summary.damage:
        taken[one.name] += one.outcomes.get(Outcome.UNNOTICED, 0)
    names = ", ".join(f"{name} {count:,}" for name, count in taken.most_common() if count)
    return [*folded("damage", outcomes), *(folded("", f"unnoticed: {names}") if names else [])]


def holds(summary: Summary) -> list[str]:
    """The oracles in one line; with the number of states only where it is not all that it judged."""
    whole = [name for name, counts in summary.verdicts.items() if only_holds(counts)]
    partly = [
        f"{name} in {counts.holds:,} of {counts.holds + counts.broken + counts.unknown:,} states"
        for name, counts in summary.verdicts.items()
        if name not in whole and counts.holds
    ]
    if not whole and not partly:
        return [line("HOLDS", "nothing")]
    lines = wrapped("HOLDS", whole) if whole else []
    return lines + (
        wrapped("" if whole else "HOLDS", ["partly: " + partly[0], *partly[1:]]) if partly else []
    )


def only_holds(counts: AnswerCounts) -> bool:
    return counts.holds > 0 and not counts.broken and not counts.unknown


def broken(summary: Summary) -> list[str]:
    if not summary.findings:
        return [line("BROKEN", "nothing")] if summary.exit != 1 else [line("BROKEN", broken_counts(summary))]
    lines = []
    findings = new_first(summary.findings)
    for at, finding in enumerate(findings[:FINDINGS_SHOWN]):
        lines += finding_lines("" if at else "BROKEN", finding, len({one.kernel for one in findings}) > 1)
    more = findings[FINDINGS_SHOWN:]
    count = sum(bool(finding.known) for finding in more)
    of_them = f", {count} of them known" if count else ""
    return [*lines, line("", f"and {len(more)} more, in the report{of_them}")] if more else lines


def known(summary: Summary) -> list[str]:
    """How many findings are known, and by what."""
    words = counts_words(summary.known)
    return [line("findings", f"{len(summary.findings):,}: {words}")] if words else []


def new_first(findings: Sequence[Finding]) -> list[Finding]:
    """New findings before known ones; else in order."""
    return sorted(findings, key=lambda finding: bool(finding.known))


def finding_lines(label: str, finding: Finding, several: bool = False) -> list[str]:
    """several: whether the findings are of more than one kernel."""
    device = "" if finding.device == FAST else f" on the {finding.device} device"
    kernel = f" on {finding.kernel}" if several else ""
    where = f"{finding.workload} {finding.state}{kernel}{device}, {number(finding.count, 'state')}"
    known = [part for one in finding.known for part in indented(f"known: {known_words(one)}")]
    fixes = fixes_of(finding)
    only = f"only in model {' '.join(finding.models)}, which requires {finding.presumes}"
    return [
        line(label, f"{finding.id} {finding.signature}"),
        line("", f"   {where}: {finding.repro}", cut=False),
        *(indented(only) if finding.presumes else []),
        *(
            [line("", f"   repeated: {rerun_words(finding.after.repeats)}", cut=False)]
            if finding.after.repeats
            else []
        ),
        *known,
        *(indented(f"gone with {fixes}") if fixes else []),
    ]


def indented(text: str) -> list[str]:
    """A sentence about a finding, below it."""
    parts = textwrap.wrap(visible(text), COLUMNS - LABEL - 3, break_long_words=False, break_on_hyphens=False)
    return [line("", f"   {part}", cut=False) for part in parts]


def broken_counts(summary: Summary) -> str:
    return ", ".join(
        f"{name} {counts.broken:,}" for name, counts in summary.verdicts.items() if counts.broken
    )


def unknown(summary: Summary) -> list[str]:
    if not summary.states.unknown and not summary.reasons:
        return []
    reasons = summary.reasons[:REASONS_SHOWN] or ("no reason recorded",)
    states = f"{number(summary.states.unknown, 'state')}: " if summary.states.unknown else ""
    lines = folded("UNKNOWN", f"{states}{reasons[0]}")
    for reason in reasons[1:]:
        lines += folded("", reason)
    more = len(summary.reasons) - REASONS_SHOWN
    return [*lines, line("", f"and {more} more, in the report")] if more > 0 else lines


def failed(summary: Summary) -> list[str]:
    """Operations that failed, as one on a mistyped path: they test nothing. Without those that may fail by
    the header of the workload."""
    if not summary.failed_operations:
        return []
    first = number(len(summary.failed_operations), "operation") + " failed:"
    lines = folded("failed", f"{first} {summary.failed_operations[0]}")
    for one in summary.failed_operations[1:REASONS_SHOWN]:
        lines += folded("", one)
    more = len(summary.failed_operations) - REASONS_SHOWN
    return [*lines, line("", f"and {more} more, in summary.json")] if more > 0 else lines


def planted(summary: Summary) -> list[str]:
    """What a sweep found, and the findings of the kernel without the bugs."""
    missed = [each.planted for each in summary.detection if not each.found]
    found = len(summary.detection) - len(missed)
    share = f"{found} of {number(len(summary.detection), 'bug')} found"
    lines = folded("planted", share + (f"; missed: {', '.join(missed)}" if missed else ""))
    for at, one in enumerate(summary.stock):
        lines += folded("" if at else "stock", stock_words(one))
    return lines


def stock_words(one: Silence) -> str:
    false = f"false BROKEN: {', '.join(one.false)}" if one.false else "no false BROKEN"
    known = f"; known: {', '.join(one.known)}" if one.known else ""
    return f"{one.kernel} on {one.profile}, {number(one.states, 'state')}: {false}{known}"


def speed(summary: Summary) -> list[str]:
    rate, seconds = summary.rates.get("states_per_s"), summary.rates.get("seconds")
    parts = [f"{rate:,.0f} states recovered per second"] if isinstance(rate, int | float) else []
    if isinstance(seconds, dict):
        parts.append(", ".join(f"{stage} {each:.1f} s" for stage, each in seconds.items()))
    return [line("speed", "; ".join(parts))] if parts else []


def proofs(summary: Summary) -> list[str]:
    """How many states were proven by earlier recoveries, and how many of them recovered all the same."""
    counts = summary.rates.get("proofs", {})
    if not counts.get("proven"):
        return []
    own, proven, audited = (counts.get(each, 0) for each in ("recovered", "proven", "audited"))
    return folded(
        "proofs", f"{number(own, 'state')} recovered; {proven:,} proven by those, {audited:,} audited"
    )


def checks(summary: Summary) -> list[str]:
    """How the checker's answers were got, where some were proven."""
    counts = summary.rates.get("checks", {})
    if not counts.get("proven"):
        return []
    own, proven, audited = (counts.get(each, 0) for each in ("run", "proven", "audited"))
    return folded(
        "checker", f"ran {number(own, 'time')}; {proven:,} answers proven from those, {audited:,} audited"
    )


def verdict(summary: Summary) -> str:
    if summary.exit == 3 and not summary.states.planned:
        return "3: nothing was examined"
    if summary.exit == 3 and summary.experiments < summary.planned_experiments:
        return "3: the run is not complete"
    if summary.exit == 3 and not (summary.states.unknown or summary.reasons):
        return "3: no line of the series ran, see coverage"
    if summary.exit == 3 and not (summary.states.unknown or summary.undone_experiments):
        return "3: nothing was tested, see UNKNOWN"
    if summary.detection and summary.exit != 3:
        return sweep_verdict(summary)
    without_history = "mounts" in summary.verdicts and not summary.verdicts.keys() & set(OF_HISTORY)
    promises = "every promise that can be asked without a history" if without_history else "every promise"
    return {
        0: f"0: {promises} was kept in every state",
        1: "1: something is BROKEN",
        3: "3: some verdicts are UNKNOWN",
    }.get(summary.exit, str(summary.exit))


def sweep_verdict(summary: Summary) -> str:
    if not summary.exit:
        return "0: every planted bug was found, and the stock kernel has only known findings"
    why = [] if all(one.found for one in summary.detection) else ["a planted bug was not found"]
    why += ["the stock kernel has a finding that is not known"] if any(s.false for s in summary.stock) else []
    return f"{summary.exit}: {' and '.join(why)}"


def wrapped(label: str, words: Iterable[str]) -> list[str]:
    """Words with commas, over as many lines as they need."""
    lines = [""]
    for word in words:
        longer = f"{lines[-1]}, {word}" if lines[-1] else word
        if len(longer) > COLUMNS - LABEL - 1:  # the comma
            lines[-1] += ","
            lines.append(word)
        else:
            lines[-1] = longer
    return [line("" if at else label, each) for at, each in enumerate(lines)]


def folded(label: str, text: str) -> list[str]:
    """A sentence over as many lines as it needs: what to do often stands at its end."""
    parts = textwrap.wrap(visible(text), COLUMNS - LABEL, break_long_words=False) or [""]
    return [line("" if at else label, part, cut=False) for at, part in enumerate(parts)]


def line(label: str, text: str, cut: bool = True) -> str:
    whole = f"{label:<{LABEL}}{visible(text)}"
    return whole[: COLUMNS - 1] + "…" if cut and len(whole) > COLUMNS else whole
