"""
Hold tonight's findings of a kernel against those of the nights before: new, same, flaky, gone.

In:       a kernel of tonight whose runs are in the history.
Out:      rows in `finding` and `state`.
Not here: what is done with new ones (followups.py), what makes violations one finding (oracles/finding.py).

new:   never seen on this kernel; or gone and back; or no longer explained by a known bug.
same:  seen tonight as before.
flaky: seen now and then: fewer than all of its repetitions show it, or it was missed tonight and its witness,
       recorded again, shows it.
gone:  its witness was run tonight, and neither that run nor the repetitions show it.

A finding whose workloads were not run tonight keeps the state that it had.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.named import explained
from harness.experiments.interestingness import Trigger
from harness.local.progress import Progress
from harness.nightly.history import History, Row, put_in
from harness.runs.reruns import TIMES, repeated
from oracles.spec import LIVE, is_live, model_of
from oracles.verdict import Answer
from reports.nights.results import FLAKY, GONE, NEW, SAME
from reports.results import CRASH, Finding, read_experiment, read_summary

STEPS = ("repeat", "minimize", "export", "bisect")


class Shown(msgspec.Struct, frozen=True):
    """A finding as tonight's runs have it: the first witness, every place that shows it, and the crash models
    that show it anywhere."""

    finding: Finding
    run: str
    places: tuple[tuple[str, str], ...]
    models: frozenset[str]


class Verdict(msgspec.Struct, frozen=True):
    """state: of results.STATES. words: why. todo: what is to be done with it, of STEPS."""

    state: str
    words: str
    todo: tuple[str, ...] = ()


def compare(history: History, night: int, kernel: Row, results: Path, progress: Progress) -> None:
    """Once for each kernel of a night. Errors: what repeated() raises."""
    if kernel["compared"]:
        return
    name = kernel["name"]
    shown = shown_tonight(history, night, name, results)
    older = {row["signature"]: row for row in history.rows("SELECT * FROM finding WHERE kernel = ?", name)}
    missed = [row for row in older.values() if row["signature"] not in shown and row["state"] != GONE]
    verdicts = {row["signature"]: asked_again(history, night, row, results, progress) for row in missed}
    good = commit_before(history, night, name)
    with history.at_once() as connection:
        for signature, one in shown.items():
            known = explained(kernel_for_known(kernel), signature, one.places, models=one.models).ids
            verdict = of_shown(older.get(signature), known)
            row = row_of(name, night, one, known, verdict, older.get(signature), good, kernel["hash"])
            put_in(connection, "finding", row)
            _keep_state(connection, night, name, signature, verdict)
        for signature, missed_one in verdicts.items():
            if missed_one is not None:
                connection.execute(
                    "UPDATE finding SET state = ? WHERE kernel = ? AND signature = ?",
                    (missed_one.state, name, signature),
                )
                _keep_state(connection, night, name, signature, missed_one)
        connection.execute("UPDATE kernel SET compared = 1 WHERE night = ? AND name = ?", (night, name))


def _keep_state(connection: Any, night: int, kernel: str, signature: str, verdict: Verdict) -> None:
    put_in(
        connection,
        "state",
        {
            "night": night,
            "kernel": kernel,
            "signature": signature,
            "state": verdict.state,
            "words": verdict.words,
        },
    )


def of_shown(before: Row | None, known: Iterable[str]) -> Verdict:
    """Of a finding that tonight's runs show. before: its row until tonight."""
    ids = tuple(known)
    todo = () if ids else STEPS
    if before is None:
        return Verdict(NEW, "seen for the first time" + (f": {', '.join(ids)}" if ids else ""), todo)
    if before["state"] == GONE:
        return Verdict(NEW, f"it was gone, and is back; last seen in night {before['last_night']}", todo)
    if before["known"] and not ids:
        return Verdict(NEW, f"it was explained by {before['known']}, and no longer is", todo)
    if before["state"] == FLAKY or 0 <= before["shown"] < before["times"]:
        return Verdict(FLAKY, f"seen now and then since night {before['first_night']}")
    return Verdict(SAME, f"since night {before['first_night']}")


def of_missed(count: int, times: int, trouble: str) -> Verdict | None:
    """Of one that its witness did not show tonight: how many more recordings of that show it."""
    if count:
        return Verdict(FLAKY, f"not seen in the run, and in {count} of {times} more recordings")
    if trouble:
        return None
    return Verdict(GONE, f"not seen in the run, nor in {times} more recordings")


def shown_tonight(history: History, night: int, kernel: str, results: Path) -> dict[str, Shown]:
    """By signature."""
    found: dict[str, Shown] = {}
    rounds = history.rows(
        "SELECT * FROM round WHERE night = ? AND kernel = ? AND run != '' ORDER BY profile, round",
        night,
        kernel,
    )
    for each in rounds:
        for one in read_summary(results / each["run"]).findings:
            places = tuple((each["profile"], workload) for workload in one.workloads)
            before = found.get(one.signature)
            if before is None:
                found[one.signature] = Shown(one, each["run"], places, frozenset(one.models))
            else:
                found[one.signature] = msgspec.structs.replace(
                    before, places=(*before.places, *places), models=before.models.union(one.models)
                )
    return found


def asked_again(history: History, night: int, row: Row, results: Path, progress: Progress) -> Verdict | None:
    """None when none of the workloads that showed it was run tonight, or nothing can be said."""
    witness = history.one(
        "SELECT e.profile AS profile, e.workload AS workload, e.number AS number, r.run AS run "
        "FROM experiment e JOIN round r USING (night, kernel, profile, round) "
        "JOIN sighting s ON s.kernel = e.kernel AND s.profile = e.profile AND s.workload = e.workload "
        "WHERE r.run != '' AND e.night = ? AND e.kernel = ? AND s.signature = ? AND s.night = ? "
        "AND e.verdict != ? "
        "ORDER BY e.workload != ?, e.profile, e.workload LIMIT 1",
        night,
        row["kernel"],
        row["signature"],
        row["last_night"],
        str(Answer.UNKNOWN),
        row["workload"],
    )
    if witness is None:
        return None
    experiment = read_experiment(results / witness["run"] / "experiments" / f"{witness['number']:04d}")
    if experiment.history is None:
        return None
    if experiment.facts.kind != CRASH or experiment.history.workload.program is not None:
        return Verdict(GONE, "not seen in the run")  # these are not recorded again by themselves
    progress.line(f"not seen tonight: {row['signature']}; recording {witness['workload']} {TIMES} more times")
    live = is_live(row["spec"])
    (repeat, *_) = repeated(
        experiment,
        [row["signature"]],
        TIMES,
        progress,
        build_stock=False,
        models=(model_of(row["spec"]),),
        of=Trigger(LIVE) if live else None,
    )[row["signature"]]
    return of_missed(repeat.shown, repeat.times, repeat.trouble)


def commit_before(history: History, night: int, kernel: str) -> str:
    """The commit of the last night that tested another one, "" when there is none."""
    row = history.one(
        "SELECT k.hash AS hash FROM kernel k JOIN kernel now ON now.night = ?1 AND now.name = k.name "
        "WHERE k.name = ?2 AND k.night < ?1 AND k.skipped = '' AND k.tree != '' AND k.hash != now.hash "
        "AND EXISTS (SELECT 1 FROM round r WHERE r.night = k.night AND r.kernel = k.name) "
        "ORDER BY k.night DESC LIMIT 1",
        night,
        kernel,
    )
    return row["hash"] if row else ""


def kernel_for_known(kernel: Row) -> str:
    """As known.py names kernels: a branch of 6.12 has 6.12's bugs, as far as its workloads show them."""
    _, *series = kernel["word"].split("+")
    return "+".join([kernel["version"], *series])


def row_of(
    kernel: str,
    night: int,
    one: Shown,
    known: Iterable[str],
    verdict: Verdict,
    before: Row | None,
    good: str,
    bad: str,
) -> dict[str, Any]:
    """The row of `finding` after tonight. What was learnt stays, unless it is new again."""
    found = one.finding
    row: dict[str, Any] = dict(before) if before is not None else {"first_night": night}
    row |= {
        "kernel": kernel,
        "signature": found.signature,
        "oracle": found.oracle,
        "known": ", ".join(known),
        "last_night": night,
        "state": verdict.state,
    }
    if verdict.state != NEW:
        return row
    return row | {
        "profile": found.profile,
        "workload": found.workload,
        "run": one.run,
        "id": found.id,
        "spec": found.state,
        "expected": found.expected,
        "found": found.found,
        "shown": -1,
        "times": 0,
        "minimal": "",
        "minimal_id": "",
        "exports": "[]",
        "bisect": "",
        "culprit": "",
        "culprit_words": "",
        "good": good,
        "bad": bad,
        "note": "",
        "todo": " ".join(verdict.todo),
    }
