"""
The pages of a run: an index, one page an experiment, one page a finding; of two kernels one side by side.

In:       a results directory, read by results.py.
Out:      report/ in it, whole or not at all; pages that need no network and no other file.
Not here: what the numbers mean (oracles/), the layout of the time line (timeline.py).
"""

import contextlib
import itertools
import os
import shlex
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jinja2
import markupsafe

from oracles.profiles import PROFILES, Profile
from oracles.promises import COMMON
from oracles.spec import (
    MODELS,
    PRESUMES,
    disk_words,
    in_order,
    is_live,
    model_of,
    operation_of,
    prefix_of,
)
from oracles.verdict import Answer, Verdict
from reports.coverage.page import coverage_context
from reports.coverage.results import read_coverage
from reports.drawings.charts import run_charts
from reports.drawings.queue import queue_drawing
from reports.drawings.timeline import PROVEN, SAME, Timeline, entry_rows, timeline
from reports.pages.damage import css_name, device_map, outcome_words
from reports.pages.faults import point_words, run_script
from reports.pages.faults import rows as fault_rows
from reports.pages.groups import OWN_TROUBLE, Trees, anchor, answer, groups, live_words, sighting
from reports.pages.known import known_sections
from reports.perf.page import perf_context
from reports.perf.results import PerfRun, read_perf
from reports.results import (
    CRASH,
    DAMAGE,
    FAULTS,
    AnswerCounts,
    Experiment,
    Finding,
    JudgedState,
    Question,
    Summary,
    read_experiment,
    read_question,
    read_summary,
)
from reports.search.page import search_context
from reports.search.results import read_search
from reports.terminal.terminal import new_first
from reports.text import comparison as compare
from reports.text import glossary
from reports.text.counting import number as plural
from reports.text.coverage import patch_words
from reports.text.device import device_words, guest_words
from reports.text.digest import ENTRY_KINDS, Digest, digest, experiment_folders
from reports.text.figures import FIGURES, LABELS, written_bytes
from reports.text.known import counts_words, fixes_of, upstream_words
from reports.text.matrix import matrix, stock_rows
from reports.text.models import coverage_words
from reports.text.queue import queue_words
from reports.text.reruns import rerun_words
from reports.text.script import Line, cut_place, cut_words, lines, operation_texts
from reports.text.tree_words import size_words, visible
from reports.text.versions import rows as rows_of_versions
from reports.text.versions import side_by_side

TEMPLATES = Path(__file__).parent / "templates"
SYMBOLS = {Answer.HOLDS: "✓", Answer.BROKEN: "✕", Answer.UNKNOWN: "?"}
NO_TEXTS: Mapping[str, tuple[str, str]] = {}
NO_PAGES: Mapping[str, str] = {}
SHADE_MARKS = {"first": "✕ ", "false": "! ", "also": "", "known": "", "none": ""}  # of the detection matrix
CSP = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
EXPERIMENT = "experiment.html"
COVERAGE = "coverage.html"
SEARCH = "search.html"
TEMPLATE_OF = {FAULTS: "fault.html", DAMAGE: "damage.html"}
UNKNOWNS_SHOWN = 12  # experiments under one reason; the table below has them all
MODEL_CELLS_SHOWN = 150  # their specs are longer
CELLS_SHOWN = 2000  # single cells of a page, at about 130 bytes each; beyond that one cell a run


def write_report(
    run: Path,
    oracle_texts: Mapping[str, tuple[str, str]] = NO_TEXTS,
    profiles: Sequence[Profile] = PROFILES,
    bug_texts: Mapping[str, str] = NO_PAGES,
) -> Path:
    """Write run/report/ and return it; an older report is replaced.

    oracle_texts: by name (what it checks, what it does not check). bug_texts: docs/findings/ID.md, by ID.
    Errors: OSError, msgspec.DecodeError when the run's files are missing or not a run's.
    """
    question, summary, coverage = read_question(run), read_summary(run), read_coverage(run)
    pages = environment()
    pages.globals["has_coverage"] = coverage is not None
    search = read_search(run)
    pages.globals["has_search"] = search is not None
    pages.globals["has_known"] = any(finding.known for finding in summary.findings)
    with whole_folder(run / "report") as folder:
        digests = write_experiments(pages, folder, run, summary)
        context = index_context(question, summary, digests, oracle_texts, profiles)
        write_page(pages, folder / "index.html", "index.html", run=run.resolve().name, **context)
        write_glossary(pages, folder, run, oracle_texts)
        if coverage:
            name = run.resolve().name
            write_page(pages, folder / COVERAGE, COVERAGE, run=name, **coverage_context(coverage))
        if search:
            of_search = search_context(search, summary.findings, pages_of_findings(summary, digests))
            write_page(pages, folder / SEARCH, SEARCH, run=run.resolve().name, **of_search)
        if pages.globals["has_known"]:
            sections = known_sections(summary.findings, bug_texts)
            finding_pages = pages_of_findings(summary, digests)
            known = folder / "known.html"
            name = run.resolve().name
            write_page(pages, known, "known.html", run=name, sections=sections, finding_pages=finding_pages)
        if question.against:
            comparison = compare.compare(question, summary, digests)
            compare.write_compare(run, comparison)
            perf = read_perf(run)
            context = compare_context(comparison, question, summary)
            context["perf"] = perf_context(perf) if perf else None
            if perf:
                write_perf(pages, folder, run, perf, has_run=True)
            write_page(pages, folder / "compare.html", "compare.html", run=run.resolve().name, **context)
    return run / "report"


def write_report_again(run: Path, bug_texts: Mapping[str, str] = NO_PAGES) -> Path:
    """With what each oracle checks, as the run's own page had it. Errors: as write_report()."""
    from oracles.judge import EVERY_ORACLE  # noqa: PLC0415  reports know the oracles' texts only where asked

    texts = {oracle.NAME: (oracle.CHECKS, oracle.NOT_CHECKED) for oracle in EVERY_ORACLE}
    return write_report(run, texts, bug_texts=bug_texts)


def write_perf_page(run: Path, perf: PerfRun) -> Path:
    """The report of a run that only measured. Errors: OSError."""
    with whole_folder(run / "report") as folder:
        pages = environment()
        write_perf(pages, folder, run, perf, has_run=False)
        write_glossary(pages, folder, run, has_index=False)
    return run / "report"


def write_perf(pages: jinja2.Environment, folder: Path, run: Path, perf: PerfRun, has_run: bool) -> None:
    context = perf_context(perf)
    page = folder / "perf.html"
    write_page(pages, page, "perf.html", run=run.resolve().name, has_run=has_run, **context)


def write_glossary(
    pages: jinja2.Environment,
    folder: Path,
    run: Path,
    oracle_texts: Mapping[str, tuple[str, str]] = NO_TEXTS,
    has_index: bool = True,
) -> None:
    """One click away from every page: each links to it."""
    write_page(
        pages,
        folder / "glossary.html",
        "glossary.html",
        run=run.resolve().name,
        has_index=has_index,
        oracle_texts=oracle_texts,
        marks=glossary.marks(),
        model_terms=glossary.models(),
        ids=glossary.IDS,
        answers=glossary.ANSWERS,
        words=glossary.WORDS,
        outcomes=outcome_words(),
    )


def write_experiments(
    pages: jinja2.Environment, folder: Path, run: Path, summary: Summary
) -> tuple[Digest, ...]:
    """Every experiment's page and its findings' pages; one experiment in memory at a time."""
    digests = []
    folders = experiment_folders(run)
    for at, place in enumerate(folders):
        experiment = read_experiment(place)
        one = digest(experiment)
        digests.append(one)
        if not is_shown(one, summary):
            continue
        context = experiment_context(experiment, one, summary)
        following = folders[at + 1].name if at + 1 < len(folders) and not summary.detection else ""
        previous = folders[at - 1].name if at and not summary.detection else ""
        write_page(
            pages,
            folder / experiment_page(one.number),
            TEMPLATE_OF.get(one.kind, EXPERIMENT) if experiment.history else EXPERIMENT,
            run=run.resolve().name,
            previous=experiment_page(int(previous)) if previous else "",
            following=experiment_page(int(following)) if following else "",
            **context,
        )
        for finding in summary.findings:
            if finding.experiment == one.number:
                page = folder / finding_page(finding)
                write_page(
                    pages,
                    page,
                    "finding.html",
                    run=run.resolve().name,
                    **finding_context(finding, experiment),
                )
    return tuple(digests)


def is_shown(one: Digest, summary: Summary) -> bool:
    """A sweep has thousands of experiments: those in which every verdict HOLDS get no page."""
    return not summary.detection or one.answer is not Answer.HOLDS


def experiment_page(number: int) -> str:
    return f"experiment-{number:04d}.html"


def finding_page(finding: Finding) -> str:
    return f"finding-{finding.id}.html"


# What each page shows.


def index_context(
    question: Question,
    summary: Summary,
    digests: tuple[Digest, ...],
    oracle_texts: Mapping[str, tuple[str, str]],
    profiles: Sequence[Profile],
) -> dict[str, Any]:
    shown = [one for one in digests if is_shown(one, summary)]
    oracles = oracle_order(summary, digests)
    pages = pages_of_findings(summary, digests)
    return {
        "patch_words": patch_words,
        "version_kernels": side_by_side(question),
        "version_rows": [
            (row, [(cell, pages.get(cell.finding.id, "") if cell.finding else "") for cell in row.cells])
            for row in rows_of_versions(summary, question, digests)
        ],
        "question": question,
        "summary": summary,
        "headline": headline(
            summary,
            kinds := frozenset(one.kind for one in digests),
            history_known := all(one.known for one in digests),
            failing := {one.failing for one in digests if one.kind == DAMAGE} == {True},
        ),
        "kinds": kinds,
        "failing": failing,
        "points": (sum(one.points_unmet for one in digests), sum(one.points_left_out for one in digests)),
        "history_known": history_known,
        "exit_meaning": (sweep_meaning if summary.detection else exit_meaning)(summary.exit),
        "command": shlex.join(question.command),
        "findings": by_kernel(summary, pages),
        "matrix": matrix(summary, oracles, pages),
        "stock_rows": stock_rows(summary, oracles, pages),
        "not_shown": len(digests) - len(shown),
        "unknowns": unknowns(digests),
        "unknowns_shown": UNKNOWNS_SHOWN,
        "reasons_beside": reasons_beside(summary, digests),
        "tables": experiment_tables(shown, oracles),
        "oracles": oracles,
        "oracle_texts": oracle_texts,
        "oracle_counts": summary.verdicts,
        "no_counts": AnswerCounts(),
        "models": MODELS,
        "presumes": PRESUMES,
        "model_counts": summary.models,
        "model_letters": tuple(summary.models) if len(summary.models) > 1 else (),
        "coverage_words": coverage_words,
        "profiles": [(name, made, promised(name, profiles)) for name, made in question.profiles.items()],
        "common": COMMON,
        "outcomes": outcome_words(),
        "charts": run_charts(digests, summary.orders),
        "cpus": max((one.cpus for one in digests), default=question.cpus),
        "entry_kinds": ENTRY_KINDS,
    }


def pages_of_findings(summary: Summary, digests: Sequence[Digest]) -> dict[str, str]:
    """By the finding's ID; none of an experiment that is not at hand."""
    written = {one.number for one in digests}
    return {f.id: finding_page(f) for f in summary.findings if f.experiment in written}


def by_kernel(summary: Summary, pages: Mapping[str, str]) -> list[tuple[str, list[tuple[Finding, str]]]]:
    """(kernel, its findings with their pages), new ones first. Only a sweep has many of each kernel and
    takes them apart; else there is one kernel, ""."""
    of_kernel: dict[str, list[tuple[Finding, str]]] = {}
    for one in new_first(summary.findings):
        kernel = one.kernel if summary.detection else ""
        of_kernel.setdefault(kernel, []).append((one, pages.get(one.id, "")))
    return sorted(of_kernel.items())


def compare_context(comparison: compare.Comparison, question: Question, summary: Summary) -> dict[str, Any]:
    tables: dict[str, list[compare.Pair]] = {}
    for pair in comparison.pairs:
        tables.setdefault(pair.profile, []).append(pair)
    columns = [pairs for pairs in tables.values() if len(pairs) == len(question.workloads)]
    return {
        "c": comparison,
        "question": question,
        "headline": compare.headline(comparison),
        "exit_meaning": exit_meaning(comparison.exit),
        "command": shlex.join(question.command),
        "known": {finding.id: finding.known for finding in summary.findings},
        "change_words": {change.value: words for change, words in compare.WORDS.items()},
        "alike": {change.value for change in compare.ALIKE},
        "differences": compare.differences(comparison),
        "tables": list(tables.items()),
        "rows": list(zip(*columns, strict=True)),
        "oracles": list(dict.fromkeys(cell.oracle for pair in comparison.pairs for cell in pair.cells)),
        "log_pairs": compare.log_differences(comparison),
        "recorded": compare.recorded(comparison),
        "times": max((len(pair.a_logs) for pair in comparison.pairs), default=0),
        "figure_names": FIGURES,
        "figure_labels": LABELS,
        "figure": figure_words,
        "apart": compare.apart,
    }


def figure_words(pair: compare.Pair, name: str) -> str:
    """ "5 → 4", or "5" when they are the same."""
    a, b = (str(compare.spread(logs, name)) for logs in (pair.a_logs, pair.b_logs))
    return a if a == b else f"{a} → {b}"


def pair_text(pair: compare.Pair) -> str:
    """What the page's filter looks in."""
    return f"{pair.workload} {pair.theme} {pair.profile}".lower()


def pair_answer(pair: compare.Pair) -> str:
    """The worse of the two sides."""
    answers = pair.answers
    return str(next((one for one in (Answer.BROKEN, Answer.UNKNOWN) if one in answers), Answer.HOLDS))


def pair_changes(pair: compare.Pair) -> str:
    """Every kind of change among its oracles, for the page's choice."""
    changes = dict.fromkeys(cell.change for cell in pair.cells)
    words = [change.value for change in changes]
    return " ".join([*words, "differs"] if not pair.cells or set(changes) - set(compare.ALIKE) else words)


def experiment_context(experiment: Experiment, one: Digest, summary: Summary) -> dict[str, Any]:
    history, states = experiment.history, experiment.judgement.states
    script = lines(experiment.workload_text, history)
    texts = operation_texts(script, history)
    answers = [answer(each) for each in experiment.judgement.verdict_sets]
    of_faults = one.kind == FAULTS and history is not None
    anchors = {state.spec: anchor(state.spec) for state in states}
    return {
        "experiment": experiment,
        "facts": experiment.facts,
        "digest": one,
        "rows": fault_rows(experiment, texts, anchors) if of_faults else (),
        "map": device_map(experiment, anchors) if one.kind == DAMAGE and history is not None else None,
        "outcomes": outcome_words(),
        "oracles": [part.oracle for part in one.parts],
        "script": script,
        "timeline": experiment_timeline(experiment, texts, answers),
        "entry_rows": entry_rows(experiment.facts.entries, history),
        "died_recording": not experiment.facts.entries and any(is_live(state.spec) for state in states),
        "cells": state_cells([state for state in states if model_of(state.spec) == "O"], answers),
        "model_cells": model_cells(states, answers),
        "models": MODELS,
        "coverage_words": coverage_words,
        "groups": groups(experiment, texts),
        "operation_bytes": operation_bytes(experiment, texts),
        "findings": [(f, finding_page(f)) for f in summary.findings if f.experiment == one.number],
    }


def model_cells(
    states: Sequence[JudgedState], answers: Sequence[Answer]
) -> list[tuple[str, list[tuple[JudgedState, JudgedState, Answer, str]]]]:
    """The same of every other crash model. A few thousand states say most by those that are not HOLDS."""
    found = []
    for model in in_order(model_of(state.spec) for state in states):
        of_model = [state for state in states if model_of(state.spec) == model]
        if model != "O":
            found.append((model, state_cells(of_model, answers, MODEL_CELLS_SHOWN)))
    return found


def state_cells(
    states: Sequence[JudgedState], answers: Sequence[Answer], shown: int = CELLS_SHOWN
) -> list[tuple[JudgedState, JudgedState, Answer, str]]:
    """(first state, last state, answer, anchor) of every cell: a state, or a run of equal answers."""
    cells = [(state, state, answers[state.verdict_set], anchor(state.spec)) for state in states]
    if len(cells) <= shown:
        return cells
    runs = [list(same) for _, same in itertools.groupby(cells, key=lambda cell: cell[2])]
    return [(run[0][0], run[-1][0], run[0][2], run[0][3]) for run in runs]


def finding_context(finding: Finding, experiment: Experiment) -> dict[str, Any]:
    of_live = is_live(finding.state)
    prefix = None if of_live else prefix_of(finding.state)
    of_fault = experiment.facts.kind == FAULTS and not of_live
    if of_live:
        script = lines(experiment.workload_text, experiment.history)
        place = live_place(script, finding.state)
    elif of_fault:
        script, place = run_script(experiment, finding.state)
    else:
        script = lines(experiment.workload_text, experiment.history, prefix)
        place = cut_place(script)
    texts = operation_texts(script, experiment.history)
    state = next((s for s in experiment.judgement.states if s.spec == finding.state), None)
    verdicts = experiment.judgement.verdict_sets[state.verdict_set] if state else ()
    answers = [answer(each) for each in experiment.judgement.verdict_sets]
    return {
        "finding": finding,
        "facts": experiment.facts,
        "script": script,
        "of_fault": of_fault,
        "of_devices": any(entry.device for entry in experiment.facts.entries),
        "of_program": experiment.history is not None and experiment.history.workload.program is not None,
        "of_live": of_live,
        "of_crash": experiment.facts.kind
        == CRASH,  # what is done next knows only those (harness/evidence/triage.py)
        "cut_place": place,
        "cut_words": what_happened(finding, experiment, script, texts),
        "prefix": prefix,
        "disk_words": disk_words(finding.state),
        "state": state,
        "verdicts": verdicts,
        "seen": seen_in(state, experiment, texts),
        "violations": violations(finding, verdicts),
        "timeline": experiment_timeline(experiment, texts, answers, prefix),
        "entry_rows": entry_rows(experiment.facts.entries, experiment.history),
        "state_link": f"{experiment_page(finding.experiment)}#{anchor(finding.state)}" if state else "",
        "experiment_link": experiment_page(finding.experiment),
    }


def live_place(script: Sequence[Line], spec: str) -> int:
    """The number of the line that was under way, or of the last."""
    tried = [line.number for line in script if line.step and line.step.index <= operation_of(spec)]
    return max(tried, default=0)


def what_happened(
    finding: Finding, experiment: Experiment, script: tuple[Line, ...], texts: Mapping[int, str]
) -> str:
    """The moment of a finding's state, in one line."""
    if is_live(finding.state):
        return (
            f"the kernel {'reports it' if finding.oracle == 'quiet' else 'does not continue'}: "
            + live_words(finding.state, texts)
        )
    if experiment.facts.kind == FAULTS:
        return fault_words(finding, experiment, texts)
    if experiment.history is not None and not experiment.history.known:
        return f"the power fails after {prefix_of(finding.state) or 0} entries of the log"
    return cut_words(script, finding.state)


def fault_words(finding: Finding, experiment: Experiment, texts: Mapping[int, str]) -> str:
    assert experiment.history is not None
    return f"the device fails: {point_words(finding.state, experiment.history, texts)}"


def seen_in(state: JudgedState | None, experiment: Experiment, texts: Mapping[int, str]) -> Any:
    if state is None or not experiment.observations:
        return None
    observation = experiment.observations[state.observation]
    return sighting([state], observation, Trees(texts, experiment.history), must=True)


def violations(finding: Finding, verdicts: tuple[Verdict, ...]) -> list[Any]:
    """The other promises that the same oracle saw broken in the witness."""
    return [
        violation
        for verdict in verdicts
        if verdict.oracle == finding.oracle
        for violation in verdict.violations
        if (violation.kind, violation.subject) != (finding.kind, finding.subject)
    ]


def served_by(state: JudgedState) -> str:
    return SAME if state.same_as else PROVEN if state.proven_by else ""


def experiment_timeline(
    experiment: Experiment, texts: Mapping[int, str], answers: Sequence[Answer], cut: int | None = None
) -> Timeline:
    cells = [
        (state.spec, int(state.spec[2:]), str(answers[state.verdict_set]), served_by(state))
        for state in experiment.judgement.states
        if state.spec.startswith("O:") and state.spec[2:].isdecimal()
    ]
    return timeline(experiment.facts.entries, experiment.history, texts, cells, cut)


def operation_bytes(experiment: Experiment, texts: Mapping[int, str]) -> list[tuple[str, int]]:
    """(operation, bytes) logged from begin mark to end mark, of those that logged any; then the rest."""
    if experiment.history is not None and experiment.history.parallel:
        return bytes_of_threads(experiment, texts)
    found = []
    for step in experiment.history.run if experiment.history else ():
        between = experiment.facts.entries[step.begin_entry : step.end_entry + 1]
        found.append((f"{step.index} {texts.get(step.index, '')}", written_bytes(between)))
    rest = written_bytes(experiment.facts.entries) - sum(size for _, size in found)
    found.append(("between operations or after the last one", rest))
    return [(name, size) for name, size in found if size]


def bytes_of_threads(experiment: Experiment, texts: Mapping[int, str]) -> list[tuple[str, int]]:
    """The same where operations overlapped: of several at once nobody knows whose an entry is."""
    assert experiment.history is not None
    found: dict[tuple[int, ...], int] = {}
    for at, entry in enumerate(experiment.facts.entries):
        steps = (step for step in experiment.history.run if step.begin_entry <= at <= step.end_entry)
        whose = tuple(sorted(step.index for step in steps))
        found[whose] = found.get(whose, 0) + written_bytes([entry])
    names = {
        whose: " and ".join(f"{index} {texts.get(index, '')}" for index in whose)
        or "between operations or after the last one"
        for whose in found
    }
    return [(names[whose], found[whose]) for whose in sorted(found) if found[whose]]


def headline(
    summary: Summary,
    kinds: frozenset[str] = frozenset((CRASH,)),
    history_known: bool = True,
    failing: bool = False,
) -> str:
    """The answer in one sentence. kinds: of the experiments. history_known: of all of them. failing: blocks
    failed, and none was damaged."""
    damaged = "device error" if failing else "damaged state"
    moments = {FAULTS: "fault point", CRASH: "power failure", DAMAGE: damaged}
    moment = moments.get(min(kinds, default=""), "state") if len(kinds) == 1 else "state"
    states, findings = summary.states, len(summary.findings)
    if summary.detection:
        return sweep_headline(summary)
    where = f"{plural(states.planned, moment)} of {plural(summary.experiments, 'experiment')}"
    if findings or summary.exit == 1:
        also = f"; {plural(states.unknown, 'state')} UNKNOWN" if states.unknown else ""
        known = sum(bool(finding.known) for finding in summary.findings)
        of_them = f", {known if known < findings else 'all'} of them known" if known else ""
        return f"{plural(findings, 'broken promise')}{of_them}, found in {where}{also}."
    if not states.planned:
        return "Nothing was examined."
    if summary.exit or states.unknown:
        unknown = f"{states.unknown:,}" if states.unknown else "some"
        return f"No broken promise was found, but {unknown} of {where} remain UNKNOWN."
    promises = "Every promise" if history_known else "Every promise that can be asked without a history"
    return f"{promises} was kept in {where}."


def sweep_headline(summary: Summary) -> str:
    found = sum(one.found for one in summary.detection)
    false = sum(len(one.false) for one in summary.stock)
    bugs = plural(len(summary.detection), "planted bug")
    return f"{found} of {bugs} found; {plural(false, 'false finding')} on the stock kernel."


def sweep_meaning(status: int) -> str:
    """Of a sweep 0 and 1 say something else than of other runs."""
    return {
        0: "Exit status 0: every planted bug was found, and the stock kernel has only known findings",
        1: "Exit status 1: a planted bug was not found, or the stock kernel has a finding that is not known",
    }.get(status) or exit_meaning(status)


def exit_meaning(status: int) -> str:
    return {
        0: "Exit status 0: every verdict is HOLDS",
        1: "Exit status 1: something is BROKEN",
        2: "Exit status 2: wrong usage or bad input",
        3: "Exit status 3: some verdicts are UNKNOWN, or nothing was examined",
    }.get(status, f"Exit status {status}")


def unknown_reasons(one: Digest) -> list[tuple[str, str, str]]:
    """(reason, a state that has it, which oracles), for everything UNKNOWN in an experiment."""
    found: dict[tuple[str, str], list[str]] = {}
    for part in one.parts:
        if part.unknown:
            found.setdefault((part.reason, part.reason_state), []).append(f"{part.oracle} ({part.unknown})")
    reasons = [(reason, state, ", ".join(oracles)) for (reason, state), oracles in found.items()]
    return [(one.reason, "", "all oracles"), *reasons] if one.reason else reasons


def unknowns(digests: Sequence[Digest]) -> list[tuple[str, list[tuple[Digest, str, str]]]]:
    """(reason, [(experiment, a state that has it, which oracles)]): one lost guest is shown once."""
    found: dict[str, list[tuple[Digest, str, str]]] = {}
    for one in digests:
        for reason, state, oracles in unknown_reasons(one):
            found.setdefault(reason, []).append((one, state, oracles))
    return list(found.items())


def reasons_beside(summary: Summary, digests: Sequence[Digest]) -> list[str]:
    """The run's reasons that no experiment's own card shows already."""
    shown = [reason for one in digests for reason, _, _ in unknown_reasons(one) if reason]
    return [reason for reason in summary.reasons if not any(each in reason for each in shown)]


class Table(NamedTuple):
    """Experiments of one kernel, profile, kind and device. themes: (theme, digests), in the order of the run.
    oracles: those that looked at some of them."""

    kernel: str
    profile: str
    kind: str
    device: str
    themes: list[tuple[str, list[Digest]]]
    oracles: list[str]


def experiment_tables(digests: Sequence[Digest], oracles: Sequence[str]) -> list[Table]:
    """In the order of the run."""
    tables: dict[tuple[str, str, str, str], dict[str, list[Digest]]] = {}
    for one in digests:
        key = (one.kernel, one.profile, one.kind, one.device)
        tables.setdefault(key, {}).setdefault(one.theme, []).append(one)
    return [
        Table(*key, list(themes.items()), own_oracles(themes.values(), oracles))
        for key, themes in tables.items()
    ]


def own_oracles(themes: Iterable[list[Digest]], oracles: Sequence[str]) -> list[str]:
    """All where nobody looked: then none is left out in silence."""
    asked = {part.oracle for ones in themes for one in ones for part in one.parts}
    return [name for name in oracles if name in asked] or list(oracles)


def oracle_order(summary: Summary, digests: Sequence[Digest]) -> list[str]:
    named = [part.oracle for one in digests for part in one.parts]
    return list(dict.fromkeys([*named, *summary.verdicts]))


def promised(name: str, profiles: Sequence[Profile]) -> Profile | None:
    return next((profile for profile in profiles if profile.name == name), None)


# Templates and files.


def environment() -> jinja2.Environment:
    """Everything is escaped; control characters are made visible on the way."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(
        css=markupsafe.Markup((TEMPLATES / "report.css").read_text()),
        js=markupsafe.Markup((TEMPLATES / "report.js").read_text()),
        csp=CSP,
        symbols=SYMBOLS,
        shade_marks=SHADE_MARKS,
        tier_words=glossary.TIER_WORDS,
        has_known=False,
        has_coverage=False,
        has_search=False,
        anchor=anchor,
        own_trouble=OWN_TROUBLE,
        css_name=css_name,
        experiment_page=experiment_page,
        plural=plural,
        rerun_words=rerun_words,
        device_words=device_words,
        guest_words=guest_words,
        queue_words=queue_words,
        queue_drawing=queue_drawing,
    )
    made.filters.update(
        upstream=upstream_words,
        visible=visible,
        visible_lines=visible_lines,
        size=size_words,
        counts_words=counts_words,
        fixes_of=fixes_of,
    )
    made.filters.update(pair_text=pair_text, pair_answer=pair_answer, pair_changes=pair_changes)
    return made


def visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.splitlines()))


def write_page(pages: jinja2.Environment, path: Path, template: str, **context: Any) -> None:
    # A lone surrogate (a file name that is no UTF-8) must not stop the report.
    path.write_text(
        pages.get_template(template).render(**context), encoding="utf-8", errors="backslashreplace"
    )


@contextlib.contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of `path` when all went well, else vanishes.

    Leftovers of a writer that was killed go first. Between the two renames there is a moment
    without `path`: Linux renames a folder over an empty one only.
    """
    for leftover in path.parent.glob(f"{path.name}.tmp-*"):
        shutil.rmtree(leftover)
    new = path.with_name(f"{path.name}.tmp-{os.getpid()}")
    old = path.with_name(f"{path.name}.tmp-{os.getpid()}-old")
    new.mkdir()
    try:
        yield new
        if path.exists():
            path.rename(old)
        new.rename(path)
    finally:
        for each in (new, old):
            shutil.rmtree(each, ignore_errors=True)
