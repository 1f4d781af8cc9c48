"""
One night: fetch, build, run what the budget holds, compare with the nights before, look into what is new.

In:       the file of nights; how the words of a run become a RunSpec.
Out:      results/: the history, NUMBER/ with the runs, and what results.py writes of them; the night.
Not here: which experiments (plan.py), states of findings (compare.py), what is learnt of new ones
          (followups.py), files and pages (results.py).

A night that was stopped goes on: its commits stay what they were, experiments that are done are not done
again, and its budget is what was left. Each cell, a kernel on a profile, gets an equal share of the time that
is left when its turn comes; what one does not use goes to the next. Its first run has the named workloads,
and the first generated ones; while there is time, further runs have generated ones alone.
"""

import itertools
import math
import shutil
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import NoResults, only_one
from harness.evidence.summary import EXIT_HOLDS
from harness.guests.words import require_guest
from harness.local import version
from harness.local.processors import processors
from harness.local.progress import Progress
from harness.nightly import trees
from harness.nightly.compare import compare
from harness.nightly.file import NightFile, NightKernel
from harness.nightly.followups import Setting, follow
from harness.nightly.history import NAME, History, Row, open_history, put_all, put_in
from harness.nightly.plan import Candidate, Wanted, candidates, further, tonight
from harness.nightly.results import conclude
from harness.nightly.trouble import TROUBLE
from harness.runs.run import RESULTS_BYTES, RunSpec, require_room, run
from kernel import cache
from kernel.git import revision_source
from kernel.kernel import Unbuildable
from kernel.source import examine
from kernel.word import parse
from oracles.verdict import Answer
from reports.nights.results import ERROR, FAIL, PASS, Night
from reports.results import read_question, read_summary
from reports.text.digest import digests
from workloads import text
from workloads.library import SUFFIX
from workloads.workload import Workload

RunSpecOf = Callable[[list[str]], RunSpec]
KEPT = ".in-history"  # in a run: a run that is not over has it not


class Tonight(msgspec.Struct, frozen=True):
    """What the parts of a night share. folder: of this night. end: when experiments are no longer begun, by
    time.monotonic()."""

    number: int
    file: NightFile
    results: Path
    folder: Path
    powercut: str
    end: float
    run_spec_of: RunSpecOf


def night_folder(results: Path, number: int) -> Path:
    return results / f"{number:04d}"


def do_night(file: NightFile, run_spec_of: RunSpecOf, progress: Progress) -> tuple[Path, Night]:
    """A new night, or the one that was stopped.
    Errors: BadHistory, RunInUse, NoRoom, BadSelection, OSError."""
    results = Path(file.results)
    require_room(results, RESULTS_BYTES)
    results.mkdir(parents=True, exist_ok=True)
    asked = candidates(file.workloads)
    require_words(file, asked, run_spec_of)
    with only_one(results), open_history(results / NAME) as history:
        now = begin(history, file, results, run_spec_of, progress)
        for kernel in file.kernel:
            fetch(history, now, kernel, progress)
        for at, (kernel, profile) in enumerate(cells := cells_of(history, now)):
            do_cell(history, now, kernel, profile, asked, len(cells) - at, progress)
        for row in kernels_of(history, now):
            if not row["skipped"]:
                compare_kernel(history, now, row, progress)
        look_into(history, now, progress)
        return now.folder, conclude(history, now.number, now.results, file, progress)


def require_words(file: NightFile, asked: tuple[Candidate, ...], run_spec_of: RunSpecOf) -> None:
    """Guests, models and options of the file are refused before a night begins. Errors: those of a run's
    command line."""
    words = [one.word for one in asked[:1]]
    for kernel in file.kernel:
        require_guest(file.guest_of(kernel))
        for profile in file.profiles_of(kernel):
            run_spec_of(run_words(file, kernel, "6.12", profile, Path(file.results), words))


# --- beginning, and going on ---------------------------------------------------------------------


def begin(
    history: History, file: NightFile, results: Path, run_spec_of: RunSpecOf, progress: Progress
) -> Tonight:
    """The night that was stopped, else a new one."""
    row = history.one("SELECT * FROM night WHERE ended = '' ORDER BY number DESC LIMIT 1")
    powercut = version.commit()
    if row is None:
        last = history.one("SELECT max(number) AS number FROM night")
        number, spent = (last["number"] or 0) + 1 if last else 1, 0.0
        history.put(
            "night",
            number=number,
            started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            budget_s=file.budget_s,
            seed=file.seed,
            powercut=powercut,
            session=time.time(),
        )
        progress.line(f"night {number}")
    else:
        number = row["number"]
        spent = row["spent_s"] + max(0.0, last_sign(results, number) - row["session"])
        history.change("night", {"number": number}, spent_s=spent, session=time.time())
        progress.line(f"night {number} goes on; {spent:.0f} s of its budget are spent")
    folder = night_folder(results, number)
    folder.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + max(0.0, file.budget_s - spent)
    return Tonight(number, file, results, folder, powercut, end, run_spec_of)


def last_sign(results: Path, number: int) -> float:
    """When something of a night was last written."""
    places = (results / NAME, *night_folder(results, number).glob("*/*/*/experiments/*"))
    return max(path.stat().st_mtime for path in places)


# --- kernels -------------------------------------------------------------------------------------


def fetch(history: History, now: Tonight, kernel: NightKernel, progress: Progress) -> None:
    """The kernel's row of tonight, once."""
    begun = history.one("SELECT folder FROM kernel WHERE night = ? AND name = ?", now.number, kernel.name)
    if begun is not None:
        if begun["folder"]:
            cache.use(Path(begun["folder"]))
        return
    row: dict[str, Any] = {
        "night": now.number,
        "name": kernel.name,
        "tree": kernel.tree,
        "branch": kernel.branch or kernel.release,
        "guest": now.file.guest_of(kernel),
        **dict.fromkeys(("word", "hash", "subject", "author", "date", "folder", "version"), ""),
    }
    try:
        row |= of_release(kernel) if kernel.release else of_branch(kernel, progress)
    except TROUBLE as error:
        history.put("kernel", **row, trouble=str(error))
        progress.line(f"{kernel.name}: {error}")
        return
    skipped = unmoved(history, now, kernel, row["hash"])
    history.put("kernel", **row, skipped=skipped)
    progress.line(f"{kernel.name}: {skipped or row['word']}")


def of_branch(kernel: NightKernel, progress: Progress) -> dict[str, str]:
    """Errors: NotFetched, BadKernel."""
    progress.line(f"{kernel.name}: fetching {kernel.branch} of {kernel.tree}")
    fetched = trees.fetch(kernel.tree, kernel.branch)
    commit = fetched.commit
    return {
        "word": "+".join([f"{fetched.folder}@{commit.hash[:12]}", *kernel.series]),
        "hash": commit.hash,
        "subject": commit.subject,
        "author": commit.author,
        "date": commit.date,
        "folder": str(fetched.folder),
        "version": revision_source(fetched.folder, commit.hash).version,
    }


def of_release(kernel: NightKernel) -> dict[str, str]:
    """Errors: BadKernel, BuildFailed."""
    found = examine(parse(kernel.release).source, lambda _stage, _fraction: None).version
    return {
        "word": "+".join([kernel.release, *kernel.series]),
        "hash": found.split()[-1],  # without the package's name
        "subject": f"Debian's {found}",
        "version": kernel.release,
    }


def unmoved(history: History, now: Tonight, kernel: NightKernel, commit: str) -> str:
    """Why the kernel is left out tonight, or ""."""
    if kernel.unmoved == "run":
        return ""
    last = history.one(
        "SELECT k.*, n.powercut AS powercut FROM kernel k JOIN night n ON n.number = k.night "
        "WHERE k.name = ? AND k.night < ? AND k.skipped = '' ORDER BY k.night DESC LIMIT 1",
        kernel.name,
        now.number,
    )
    if last is None or last["trouble"] or (last["hash"], last["powercut"]) != (commit, now.powercut):
        return ""
    cells = history.rows(
        "SELECT profile FROM cell WHERE night = ?1 AND kernel = ?2 AND trouble = '' AND profile NOT IN "
        "(SELECT profile FROM experiment WHERE night = ?1 AND kernel = ?2 AND verdict = 'UNKNOWN')",
        last["night"],
        kernel.name,
    )
    if {row["profile"] for row in cells} < set(now.file.profiles_of(kernel)):
        return ""
    where = kernel.branch or kernel.release
    return f"{where} has not moved since night {last['night']}"


def kernels_of(history: History, now: Tonight) -> list[Row]:
    """Tonight's, in the order of the file."""
    rows = {row["name"]: row for row in history.rows("SELECT * FROM kernel WHERE night = ?", now.number)}
    return [rows[one.name] for one in now.file.kernel if one.name in rows]


# --- cells ---------------------------------------------------------------------------------------


def cells_of(history: History, now: Tonight) -> list[tuple[NightKernel, str]]:
    """Kernels and profiles that are still to be run."""
    open_ones = {row["name"] for row in kernels_of(history, now) if not row["skipped"] and not row["trouble"]}
    done = {
        (row["kernel"], row["profile"])
        for row in history.rows("SELECT * FROM cell WHERE night = ? AND done = 1", now.number)
    }
    return [
        (kernel, profile)
        for kernel in now.file.kernel
        if kernel.name in open_ones
        for profile in now.file.profiles_of(kernel)
        if (kernel.name, profile) not in done
    ]


def do_cell(
    history: History,
    now: Tonight,
    kernel: NightKernel,
    profile: str,
    asked: tuple[Candidate, ...],
    cells_left: int,
    progress: Progress,
) -> None:
    row = history.one("SELECT * FROM kernel WHERE night = ? AND name = ?", now.number, kernel.name)
    assert row is not None
    key = {"night": now.number, "kernel": kernel.name, "profile": profile}
    if row["trouble"]:  # it did not build for another profile
        history.put("cell", **key, done=1, trouble=row["trouble"])
        return
    progress.line(f"{kernel.name} on {profile}")
    more = share(now.end, cells_left)
    try:
        for number in itertools.count(rounds_of(history, now, kernel, profile)):
            if number and not (now.file.generated and more()):
                break
            names = choose(history, now, kernel, profile, asked if number == 0 else None, number, cells_left)
            folder = perform(now, kernel, row["word"], profile, names, more, progress)
            if folder is None:
                break
            keep_round(history, now, kernel.name, profile, number, folder)
        history.put("cell", **key, done=1)
    except TROUBLE as error:
        progress.line(f"{kernel.name} on {profile}: {error}")
        history.put("cell", **key, done=1, trouble=str(error))
        if not built(now.folder / kernel.name):
            failed = FAIL if isinstance(error, Unbuildable) else ERROR
            history.change(
                "kernel", {"night": now.number, "name": kernel.name}, trouble=str(error), build=failed
            )


def built(folder: Path) -> bool:
    """Whether any run of this kernel came to its experiments: run.json is written after the build."""
    return any(folder.glob("*/*/run.json"))


def rounds_of(history: History, now: Tonight, kernel: NightKernel, profile: str) -> int:
    """How many runs of a cell are over."""
    row = history.one(
        "SELECT count(*) AS count FROM round WHERE night = ? AND kernel = ? AND profile = ?",
        now.number,
        kernel.name,
        profile,
    )
    return int(row["count"]) if row else 0


def perform(
    now: Tonight,
    kernel: NightKernel,
    word: str,
    profile: str,
    names: Callable[[], list[str]],
    more: Callable[[], bool],
    progress: Progress,
) -> Path | None:
    """The folder of a cell's next run, done to its end; None if there is nothing left to run. names: chooses
    the workloads, where no run was begun. Errors: TROUBLE."""
    out = now.folder / kernel.name / profile
    out.mkdir(parents=True, exist_ok=True)
    begun = next((path for path in sorted(out.iterdir()) if is_open(path)), None)
    if begun is not None and (begun / "summary.json").exists():
        return begun
    if begun is not None:
        words = list(read_question(begun).command[1:])
        try:
            folder, _ = run(now.run_spec_of(words), out, progress, begun, more)
            return folder
        except NoResults as error:  # a workload has changed meanwhile: what was done is of no use
            progress.line(f"{kernel.name} on {profile}: begun again: {error}")
            shutil.rmtree(begun)
    chosen = names()
    if not chosen:
        return None
    words = run_words(now.file, kernel, word, profile, out, list(dict.fromkeys(chosen)))
    folder, _ = run(now.run_spec_of(words), out, progress, more=more)
    return folder


def is_open(path: Path) -> bool:
    """Whether it is a run that the history does not have yet."""
    return (path / "run.json").is_file() and not path.is_symlink() and not (path / KEPT).exists()


def share(end: float, cells_left: int) -> Callable[[], bool]:
    """Whether a further experiment may begin: until this cell's part of the time that is left is over. It is
    reckoned when the first one is to begin, so that building a kernel is at the cost of all."""
    until = math.nan

    def more() -> bool:
        nonlocal until
        now = time.monotonic()
        if math.isnan(until):
            until = now + max(0.0, end - now) / cells_left
        return now < until

    return more


def run_words(
    file: NightFile, kernel: NightKernel, word: str, profile: str, out: Path, names: list[str]
) -> list[str]:
    """The command line of a cell's run."""
    return [
        *("run", "--fs", profile, "--kernel", word, "--out", str(out), "--quiet"),
        *options_of(file, kernel),
        *names,
    ]


def options_of(file: NightFile, kernel: NightKernel) -> list[str]:
    """Of every run and bisection of this kernel."""
    config = ("--config", ",".join(kernel.config)) if kernel.config else ()
    return [
        *("--models", ",".join(file.models), "--guest", file.guest_of(kernel), "--seed", str(file.seed)),
        *config,
        *file.options,
    ]


def choose(
    history: History,
    now: Tonight,
    kernel: NightKernel,
    profile: str,
    asked: tuple[Candidate, ...] | None,
    number: int,
    cells_left: int,
) -> Callable[[], list[str]]:
    """What chooses the list of a cell's run, and keeps it in the history. asked: of the first run; the others
    take generated workloads alone."""

    def keep(workload: Workload) -> Path:
        folder = now.folder / "workloads"
        folder.mkdir(exist_ok=True)
        path = folder / f"{workload.name}{SUFFIX}"
        path.write_text(text.format(workload))
        return path

    def names() -> list[str]:
        seconds = max(0.0, now.end - time.monotonic()) / cells_left
        wanted = Wanted(now.file.generated, now.file.seed, seconds, len(processors()))
        if asked is None:
            done = done_tonight(
                history, now, kernel.name, profile
            )  # the rotation of small bounds comes round
            made = further(history, kernel.name, profile, wanted, keep)
            chosen = [one for one in made if one.workload not in done]
        else:
            chosen = tonight(history, kernel.name, profile, asked, wanted, now.powercut, keep)
        key = {"night": now.number, "kernel": kernel.name, "profile": profile, "round": number}
        with history.at_once() as connection:
            connection.execute(
                "DELETE FROM chosen WHERE night = ? AND kernel = ? AND profile = ? AND round = ?",
                [*key.values()],
            )
            rows = ({**key, "place": at, **msgspec.structs.asdict(one)} for at, one in enumerate(chosen))
            put_all(connection, "chosen", rows)
        return [one.word for one in chosen]

    return names


def done_tonight(history: History, now: Tonight, kernel: str, profile: str) -> set[str]:
    rows = history.rows(
        "SELECT workload FROM experiment WHERE night = ? AND kernel = ? AND profile = ?",
        now.number,
        kernel,
        profile,
    )
    return {row["workload"] for row in rows}


def keep_round(history: History, now: Tonight, kernel: str, profile: str, number: int, folder: Path) -> None:
    """A run that is over, into the history: its experiments, what they showed, where the rotation stands. A
    further run that showed nothing leaves no folder."""
    summary, question = read_summary(folder), read_question(folder)
    key = {"night": now.number, "kernel": kernel, "profile": profile}
    chosen = {
        row["workload"]: row
        for row in history.rows(
            "SELECT * FROM chosen WHERE night = ? AND kernel = ? AND profile = ?", *key.values()
        )
    }
    made = next(iter(question.kernels.values()))
    empty = number > 0 and summary.exit == EXIT_HOLDS
    with history.at_once() as connection:
        for one in digests(folder):
            row = chosen[one.workload]
            put_in(
                connection,
                "experiment",
                {
                    **key,
                    "workload": one.workload,
                    "round": number,
                    "number": one.number,
                    "hash": row["hash"],
                    "powercut": now.powercut,
                    "bounds": row["bounds"],
                    "seconds": one.seconds,
                    "states": one.state_count,
                    "verdict": str(one.answer),
                },
            )
            if row["bounds"]:
                _keep_generated(connection, key, row, failed=one.answer != Answer.HOLDS)
        for finding in summary.findings:
            for workload in finding.workloads:
                put_in(connection, "sighting", {**key, "signature": finding.signature, "workload": workload})
        place = str(folder.resolve().relative_to(now.results.resolve()))
        put_in(
            connection,
            "round",
            {
                **key,
                "round": number,
                "run": "" if empty else place,
                "states": summary.states.planned,
                "seconds": summary.rates["wall_s"],
            },
        )
        connection.execute(
            "UPDATE kernel SET arch = ?, compiler = ?, build_s = ?, build = ? WHERE night = ? AND name = ?",
            (made["arch"], made["compiler"], made["build_s"], PASS, now.number, kernel),
        )
    (folder / KEPT).touch()
    if empty:
        shutil.rmtree(folder)


def _keep_generated(connection: sqlite3.Connection, key: Mapping[str, Any], row: Row, failed: bool) -> None:
    """Its text, when it failed; and that the rotation stands behind it."""
    if failed:
        put_in(
            connection,
            "generated",
            {"hash": row["hash"], "name": row["workload"], "text": Path(row["word"]).read_text()},
        )
    place = {"kernel": key["kernel"], "profile": key["profile"], "bounds": row["bounds"]}
    before = connection.execute(
        "SELECT next FROM position WHERE kernel = ? AND profile = ? AND bounds = ?", list(place.values())
    ).fetchone()
    after = max(row["position"] + 1, before["next"] if before else 0)
    put_in(connection, "position", {**place, "next": after})


# --- afterwards ----------------------------------------------------------------------------------


def compare_kernel(history: History, now: Tonight, row: Row, progress: Progress) -> None:
    try:
        compare(history, now.number, row, now.results, progress)
    except TROUBLE as error:
        progress.line(f"{row['name']}: not compared: {error}")
        history.change("kernel", {"night": now.number, "name": row["name"]}, trouble=f"not compared: {error}")


def look_into(history: History, now: Tonight, progress: Progress) -> None:
    """What is new, and what earlier nights left to be done, in a time of its own."""
    end = time.monotonic() + now.file.after_s
    for kernel in now.file.kernel:
        options = tuple(options_of(now.file, kernel))
        follow(
            history,
            kernel.name,
            Setting(now.number, now.results, now.folder, options, now.file.exports, end),
            progress,
        )
