"""
A planted bug taken all the way: found, made small, handed on as programs that were tried.

In:       a planted bug, a stock kernel spec, a folder that keeps what was done.
Out:      Row after Row, one a workload that it took; the table of all rows in that folder.
Not here: what is asked of them (test_minimize.py).

Of a bug's findings those count that an oracle of its header sees in most repeats, the stock kernel in none;
of a device that fails or a damaged disk, which a run does not repeat, those that the stock kernel beside it
does not have.
The smallest workload of one often shows others, too: these are not made small again. A bug's rows are written
when all of them are there, so a stopped run goes on with the bugs that have none.
"""

import argparse
import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import indent

import msgspec
import pytest

from harness.commands.minimize import command_minimize
from harness.evidence.store import write_whole
from harness.evidence.sweep import Bug
from harness.evidence.triage import find
from harness.findings.export import require_tools, verified
from harness.findings.minimize import BUDGET, NAME
from harness.findings.reproducers import NoExport, NotInAnyWay
from harness.local.progress import Progress
from harness.local.root import ROOT
from harness.runs.reruns import TIMES
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from oracles.spec import in_order
from reports.programs.export import FORMS
from reports.results import CRASH, Finding, read_experiment, read_summary
from workloads.library import SUFFIX, select
from workloads.shrinking import operation_count
from workloads.text import parse

# What a program asks most plainly comes first: names and content, then use, then the checker and the log.
PREFERRED = (
    *("atomic", "durable", "historical", "told", "contained", "detected", "noticed"),
    *("usable", "fsck", "mounts", "alive", "quiet"),
)
TRIED, REFUSED, FAILED = "tried", "refused", "failed"
ROOMS = ("kernel", "workloads", "oracles", "reports", "harness")
KEPT = pytest.StashKey[Path]()  # of pytest's config: the folder whose table is shown at the end


class Program(msgspec.Struct, frozen=True):
    """answer: TRIED, it failed on the bug and passed on the stock kernel; REFUSED, its form cannot say it;
    or FAILED. said: in which way, or why not."""

    form: str
    answer: str
    said: str


class Row(msgspec.Struct, frozen=True):
    """folder: of the smallest run, below the one that keeps rows. before, after: operations of setup and run.
    shown: of TIMES recordings of the smallest workload; 0 when the stock kernel shows it.
    also: other findings that the same small workload shows."""

    planted: str
    folder: str
    signature: str
    workload: str
    state: str
    before: int
    after: int
    shown: int
    programs: tuple[Program, ...]
    seconds: float
    also: tuple[str, ...] = ()


def kept_in() -> Path:
    """Where rows are kept when nobody says: a folder for what the rooms hold now; none outlives a change."""
    digest = hashlib.sha256()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                content = path.read_bytes()
                digest.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return ROOT / "results" / "minimize" / digest.hexdigest()[:12]


def rows_of(bug: Bug, kernel: str, folder: Path, progress: Progress) -> tuple[Row, ...]:
    """From the folder, when they are there. Errors: as of run(), command_minimize(), verified()."""
    place = folder / f"{bug.name.rpartition('/')[2]}.json"
    if not place.exists():
        if not (rows := tuple(_rows(bug, kernel, folder / place.stem, progress))):
            return ()
        write_whole(place, msgspec.json.encode(rows))
    return msgspec.json.decode(place.read_bytes(), type=tuple[Row, ...])


def _rows(bug: Bug, kernel: str, folder: Path, progress: Progress) -> Iterator[Row]:
    progress.line(f"{bug.name}: {', '.join(bug.workloads)} on {bug.profiles[0]}")
    word = f"{kernel}+{bug.name}"
    of_crash = bug.kind == CRASH
    run_spec = _run_spec(bug, word) if of_crash else _run_spec(bug, kernel, word)
    first, summary = run(run_spec, folder / "first", progress)
    seen = {one.signature for one in summary.findings if one.kernel == kernel}
    for finding in sorted(summary.findings, key=preference):
        is_own = is_new(finding) if of_crash else not finding.known
        if finding.oracle in bug.oracles and is_own and finding.signature not in seen:
            row = _row(bug, finding, first, folder / finding.id, progress)
            seen |= {finding.signature, *row.also}
            yield row


def _run_spec(bug: Bug, *kernels: str) -> RunSpec:
    models = in_order(("O", *bug.models))
    return RunSpec(
        select(bug.workloads),
        (profile(bug.profiles[0]),),
        kernels,
        models=models,
        kind=bug.kind,
        failing=bug.failing,
    )


def preference(finding: Finding) -> tuple[int, str]:
    known = finding.oracle in PREFERRED
    return (PREFERRED.index(finding.oracle) if known else len(PREFERRED), finding.signature)


def is_new(finding: Finding) -> bool:
    """Seen in most repeats on its own kernel, and in none on the stock one: a race is not won every time."""
    shown = [one.shown for one in finding.after.repeats]
    return len(shown) == 2 and 2 * shown[0] > TIMES and not shown[1]


def _row(bug: Bug, finding: Finding, first: Path, folder: Path, progress: Progress) -> Row:
    began = time.monotonic()
    words = argparse.Namespace(run=first, finding=finding.id, budget=BUDGET, out=folder, quiet=False)
    words.words = ["minimize", str(first), finding.id]
    assert command_minimize(words) == 0, f"{finding.signature}: came only sometimes"
    small = (folder / "latest").resolve()
    found = read_summary(small).findings
    again = next(one for one in found if one.signature == finding.signature)
    history = read_experiment(first / "experiments" / f"{finding.experiment:04d}").history
    assert history is not None
    return Row(
        planted=bug.name,
        folder=f"{folder.parent.name}/{folder.name}/{small.name}",
        signature=finding.signature,
        workload=finding.workload,
        state=again.state,
        before=operation_count(history.workload),
        after=operation_count(parse((small / f"{NAME}{SUFFIX}").read_text())),
        shown=again.after.repeats[0].shown if is_new(again) else 0,
        programs=tuple(_program(form, small, again.id, progress) for form in FORMS),
        seconds=round(time.monotonic() - began, 1),
        also=tuple(one.signature for one in found if one.signature != finding.signature),
    )


def _program(form: str, small: Path, wanted: str, progress: Progress) -> Program:
    require_tools(form)
    finding, experiment = find(small, wanted)
    try:
        one, seen = verified(finding, experiment, form, None, small, progress)
    except NotInAnyWay as error:
        return Program(form, REFUSED, str(error))
    except NoExport as error:
        return Program(form, FAILED, str(error))
    return Program(form, TRIED, f"{one.way}: {seen[0].said}")


# --- as text -------------------------------------------------------------------------------------

NAME_WIDTH, STATE_WIDTH, SEEN_WIDTH, CELL_WIDTH = 46, 28, 8, 9


def table(folder: Path) -> list[str]:
    """Of all rows that are kept there: a line each, and below it why a program is missing."""
    head = f"{'planted bug':<{NAME_WIDTH}}{'operations':<12}{'state':<{STATE_WIDTH}}{'seen':<{SEEN_WIDTH}}"
    lines = [head + "".join(f"{form:<{CELL_WIDTH}}" for form in FORMS) + "seconds"]
    for place in sorted(folder.glob("*.json")):
        for row in msgspec.json.decode(place.read_bytes(), type=tuple[Row, ...]):
            lines += _lines(row)
    return lines


def _lines(row: Row) -> Iterable[str]:
    name = row.planted.rpartition("/")[2]
    line = f"{name:<{NAME_WIDTH}}{f'{row.before} -> {row.after}':<12}{row.state:<{STATE_WIDTH}}"
    line += f"{f'{row.shown} of {TIMES}':<{SEEN_WIDTH}}"
    yield line + "".join(f"{_cell(one):<{CELL_WIDTH}}" for one in row.programs) + f"{row.seconds:7.1f}"
    for reason in _reasons(row.programs):
        yield indent(reason, "  ")


def _cell(one: Program) -> str:
    return one.said.partition(":")[0] if one.answer == TRIED else one.answer


def _reasons(programs: Sequence[Program]) -> list[str]:
    """Forms with the same reason together, which begins with a finding's number."""
    by_reason: dict[str, list[str]] = {}
    for one in programs:
        if one.answer != TRIED:
            by_reason.setdefault(one.said.replace(f" to {one.form}", "", 1), []).append(one.form)
    return [f"{', '.join(forms)}: {reason}" for reason, forms in by_reason.items()]
