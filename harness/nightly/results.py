"""
A night as data, as pages and as files for CI; the hook; the end of a night.

In:       the history.
Out:      Night, Nights; in NUMBER/ night.json, junit.xml, results.ktap, kcidb.json, night.txt and index.html;
          index.html of all nights; the hook's process.
Not here: what the files hold (reports/ci/, reports/pages/nights.py), the history's rows (history.py).
"""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import point_latest, write_pretty, write_whole
from harness.evidence.summary import EXIT_BROKEN, EXIT_HOLDS, EXIT_UNKNOWN, shown
from harness.findings.minimize import NAME as MINIMAL
from harness.local.progress import Progress
from harness.nightly.compare import commit_before
from harness.nightly.file import NightFile
from harness.nightly.history import History, Row
from reports import formats
from reports.ci import kcidb
from reports.ci.nights import write_ci
from reports.nights.lines import lines, subject
from reports.nights.results import (
    NEW,
    STATES,
    Night,
    NightCell,
    NightExperiment,
    NightFinding,
    NightKernel,
    NightLine,
    Nights,
)
from reports.pages.nights import write_night, write_nights
from workloads import text
from workloads.library import SUFFIX
from workloads.library import read as read_workload

HOOK_S = 60.0
CALLS = ("new", "trouble")


def conclude(history: History, number: int, results: Path, file: NightFile, progress: Progress) -> Night:
    """What the night leaves, and its end in the history. Errors: OSError."""
    row = history.one("SELECT * FROM night WHERE number = ?", number)
    assert row is not None
    spent = row["spent_s"] + time.time() - row["session"]
    ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    night = night_of(history, number, results, spent, ended)
    folder = results / f"{number:04d}"
    night = call_hooks(history, night, folder, results, file, progress)
    with_status = msgspec.structs.replace(night, exit=status(night))
    write_files(folder, with_status, results, file.origin)
    history.change("night", {"number": number}, ended=ended, spent_s=spent, exit=with_status.exit)
    point_latest(folder)
    write_nights(results, nights_of(history, results))
    return with_status


def write_files(folder: Path, night: Night, results: Path, origin: str) -> None:
    write_pretty(folder / "night.json", night)
    write_ci(folder, night)
    kcidb.write_kcidb(folder, night, origin)
    page = write_night(folder, night, results)
    write_whole(folder / "night.txt", ("\n".join(lines(night, str(page))) + "\n").encode())


def write_pages_again(history: History, results: Path) -> Path:
    """The page of all nights, and each night's own, from the history. Errors: OSError."""
    for row in history.rows("SELECT * FROM night WHERE ended != '' ORDER BY number"):
        folder = results / f"{row['number']:04d}"
        if folder.is_dir():
            kept = formats.read(folder / "night.json", Night)
            write_night(folder, kept, results)
    return write_nights(results, nights_of(history, results))


def status(night: Night) -> int:
    if night.news:
        return EXIT_BROKEN
    return EXIT_UNKNOWN if night.trouble else EXIT_HOLDS


# --- a night -------------------------------------------------------------------------------------


def night_of(history: History, number: int, results: Path, spent: float, ended: str) -> Night:
    row = history.one("SELECT * FROM night WHERE number = ?", number)
    assert row is not None
    kernels = kernels_of(history, number)
    cells = cells_of(history, number)
    made = Night(
        number=number,
        started=row["started"],
        ended=ended,
        budget_s=row["budget_s"],
        spent_s=round(spent, 1),
        seed=row["seed"],
        powercut=row["powercut"],
        exit=EXIT_UNKNOWN,
        kernels=kernels,
        cells=cells,
        experiments=experiments_of(history, number),
        findings=findings_of(history, number, results),
        trouble=tuple(trouble_of(kernels, cells)),
        learnt=tuple(
            f"{row['kernel']}: {row['signature']}: {row['words']}"
            for row in history.rows("SELECT * FROM learnt WHERE night = ? ORDER BY kernel, signature", number)
        ),
    )
    return msgspec.structs.replace(made, exit=status(made))


def trouble_of(kernels: tuple[NightKernel, ...], cells: tuple[NightCell, ...]) -> list[str]:
    told = [f"{one.name}: {one.trouble}" for one in kernels if one.trouble]
    failed = {one.name for one in kernels if one.trouble}
    for cell in cells:
        place = f"{cell.kernel} on {cell.profile}"
        if cell.trouble and cell.kernel not in failed:
            told.append(f"{place}: {cell.trouble}")
        if cell.unknown:
            told.append(
                f"{place}: {cell.unknown} of {cell.experiments} experiments have a verdict of UNKNOWN"
            )
        if cell.run and not cell.experiments:
            told.append(f"{place}: the budget was over before the first experiment")
    return told


def kernels_of(history: History, number: int) -> tuple[NightKernel, ...]:
    rows = history.rows("SELECT * FROM kernel WHERE night = ? ORDER BY rowid", number)
    return tuple(
        NightKernel(
            before=commit_before(history, number, row["name"]),
            **{field: row[field] for field in NightKernel.__struct_fields__ if field != "before"},
        )
        for row in rows
    )


def cells_of(history: History, number: int) -> tuple[NightCell, ...]:
    rows = history.rows("SELECT * FROM cell WHERE night = ? AND done = 1 ORDER BY rowid", number)
    return tuple(cell_of(history, row) for row in rows)


def cell_of(history: History, row: Row) -> NightCell:
    place = (row["night"], row["kernel"], row["profile"])
    where = "night = ? AND kernel = ? AND profile = ?"
    counts = history.rows(
        f"SELECT verdict, count(*) AS count, sum(seconds) AS seconds FROM experiment WHERE {where} "
        "GROUP BY verdict",
        *place,
    )
    by_verdict = {each["verdict"]: each["count"] for each in counts}
    left = history.rows(
        f"SELECT workload FROM chosen WHERE {where} AND workload NOT IN "
        f"(SELECT workload FROM experiment WHERE {where}) ORDER BY place",
        *place,
        *place,
    )
    prefix = f"{row['night']:04d}/"
    rounds = history.rows(f"SELECT * FROM round WHERE {where} ORDER BY round", *place)
    runs = [each["run"].removeprefix(prefix) for each in rounds if each["run"]]
    states, wall_s = sum(each["states"] for each in rounds), sum(each["seconds"] for each in rounds)
    return NightCell(
        kernel=row["kernel"],
        profile=row["profile"],
        run=runs[0] if runs else "",
        further=tuple(runs[1:]),
        experiments=sum(by_verdict.values()),
        broken=by_verdict.get("BROKEN", 0),
        unknown=by_verdict.get("UNKNOWN", 0),
        states=states,
        seconds=round(sum(each["seconds"] for each in counts), 1),
        states_per_s=round(states / wall_s, 1) if wall_s else 0.0,
        left=tuple(each["workload"] for each in left),
        trouble=row["trouble"],
    )


def experiments_of(history: History, number: int) -> tuple[NightExperiment, ...]:
    sightings: dict[tuple[str, str, str], list[str]] = {}
    for row in history.rows("SELECT * FROM sighting WHERE night = ? ORDER BY signature", number):
        sightings.setdefault((row["kernel"], row["profile"], row["workload"]), []).append(row["signature"])
    rows = history.rows(
        "SELECT e.*, c.reason AS reason FROM experiment e "
        "JOIN chosen c USING (night, kernel, profile, workload) WHERE e.night = ? "
        "ORDER BY e.kernel, e.profile, e.number",
        number,
    )
    return tuple(
        NightExperiment(
            kernel=row["kernel"],
            profile=row["profile"],
            workload=row["workload"],
            number=row["number"],
            reason=row["reason"],
            verdict=row["verdict"],
            states=row["states"],
            seconds=round(row["seconds"], 3),
            findings=tuple(sightings.get((row["kernel"], row["profile"], row["workload"]), ())),
        )
        for row in rows
    )


def findings_of(history: History, number: int, results: Path) -> tuple[NightFinding, ...]:
    """Those that the night has a word about."""
    rows = history.rows(
        "SELECT f.*, s.state AS tonight, s.words AS words FROM state s "
        "JOIN finding f USING (kernel, signature) WHERE s.night = ? ORDER BY kernel, signature",
        number,
    )
    found = [finding_of(row, row["tonight"], row["words"], results) for row in rows]
    return tuple(sorted(found, key=lambda one: (STATES.index(one.state), one.kernel, one.signature)))


def finding_of(row: Row, state: str, words: str, results: Path) -> NightFinding:
    return NightFinding(
        state=state,
        words=words,
        known=tuple(filter(None, row["known"].split(", "))),
        program=program_of(results / row["minimal"]) if row["minimal"] else "",
        exports=tuple(msgspec.json.decode(row["exports"])),
        **{
            field: row[field]
            for field in NightFinding.__struct_fields__
            if field not in ("state", "words", "known", "program", "exports")
        },
    )


def program_of(run: Path) -> str:
    """The smallest workload, without its comment; "" when the run is gone."""
    path = run / f"{MINIMAL}{SUFFIX}"
    if not path.is_file():
        return ""
    return text.format(msgspec.structs.replace(read_workload(path), comment=()))


# --- all nights ----------------------------------------------------------------------------------


def nights_of(history: History, results: Path) -> Nights:
    rows = history.rows("SELECT * FROM night WHERE ended != '' ORDER BY number")
    lines_of_nights = tuple(line_of(history, row) for row in rows)
    places: dict[tuple[str, str], None] = {}
    for night in reversed(lines_of_nights):
        places |= dict.fromkeys(night.cells)
    findings = history.rows("SELECT * FROM finding")
    return Nights(
        lines_of_nights,
        tuple(finding_of(row, row["state"], "", results) for row in findings),
        tuple(places),
    )


def line_of(history: History, row: Row) -> NightLine:
    number = row["number"]
    states = history.rows(
        "SELECT s.kernel, s.signature, s.state AS state, f.known AS known, f.profile AS profile FROM state s "
        "JOIN finding f USING (kernel, signature) WHERE s.night = ? AND f.known = ''",
        number,
    )
    counts: dict[str, int] = {}
    news: dict[tuple[str, str], int] = {}
    for each in states:
        counts[each["state"]] = counts.get(each["state"], 0) + 1
        if each["state"] == NEW:
            place = each["kernel"], each["profile"]
            news[place] = news.get(place, 0) + 1
    return NightLine(
        number=number,
        started=row["started"],
        ended=row["ended"],
        exit=row["exit"],
        spent_s=row["spent_s"],
        folder=f"{number:04d}",
        counts=counts,
        kernels={one.name: one for one in kernels_of(history, number)},
        cells={(one.kernel, one.profile): one for one in cells_of(history, number)},
        news=news,
    )


# --- the hook ------------------------------------------------------------------------------------


def call_hooks(
    history: History, night: Night, folder: Path, results: Path, file: NightFile, progress: Progress
) -> Night:
    """Once for new findings and once for trouble; a hook that fails is trouble, too."""
    due = [event for event, it_is in zip(CALLS, (night.news, night.trouble), strict=True) if it_is]
    if not file.hook or not due:
        return night
    write_files(folder, night, results, file.origin)  # a hook may send them
    for event in due:
        if history.one("SELECT 1 FROM told WHERE night = ? AND event = ?", night.number, event):
            continue
        failed = call_hook(file.hook, event, night, folder)
        history.put("told", night=night.number, event=event)
        if failed:
            progress.line(failed)
            night = msgspec.structs.replace(night, trouble=(*night.trouble, failed))
    return night


def call_hook(hook: str, event: str, night: Night, folder: Path) -> str:
    """ "" or what went wrong. The hook's own output goes to standard error."""
    environment: dict[str, Any] = {
        "POWERCUT_EVENT": event,
        "POWERCUT_SUBJECT": subject(night),
        "POWERCUT_NIGHT": str(night.number),
        "POWERCUT_NEW": str(len(night.news)),
        "POWERCUT_FOLDER": str(folder.resolve()),
        "POWERCUT_TEXT": str((folder / "night.txt").resolve()),
        "POWERCUT_PAGE": str((folder / "index.html").resolve()),
    }
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", hook],
            input=formats.pretty("night.json", night),
            stdout=2,
            env=os.environ | environment,
            timeout=HOOK_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"the hook did not end within {HOOK_S:.0f} s"
    except OSError as error:
        return f"the hook could not be called: {error}"
    return f"the hook ended with status {done.returncode}" if done.returncode else ""


def last_lines(night: Night, folder: Path) -> list[str]:
    return lines(night, shown(folder / "index.html"))
