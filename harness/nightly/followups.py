"""
What is learnt of a new finding: it is repeated, made small, exported, and its commit is found.

In:       findings of a kernel with something to do; until when.
Out:      what was learnt, step by step, in the history; what was not reached stays to be done.
Not here: the steps themselves: runs/reruns.py, findings/minimize.py, findings/export.py, bisect/bisect.py.

The longer steps are the project's own commands, each a process of its own with what is left of the time: one
that is stopped leaves nothing behind, and is begun again in the next night.
"""

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from harness.bisect.bisect import Record
from harness.evidence.summary import EXIT_BROKEN
from harness.findings.minimize import NAME as MINIMAL
from harness.local.progress import Progress
from harness.local.root import ROOT
from harness.nightly import trees
from harness.nightly.history import History, Row
from harness.nightly.trouble import TROUBLE
from harness.runs.reruns import TIMES, rerun_one
from harness.runs.run import write_pages
from reports.nights.results import GONE, NEW
from reports.results import read_experiment, read_summary
from workloads.library import SUFFIX

END_S = 60.0  # in which a command that is told to end does so


class Setting(msgspec.Struct, frozen=True):
    """number: of tonight. results: folder of all nights. night: that of tonight. options: of every run of
    this kernel. exports: forms. end: by time.monotonic(), when no step is begun any more."""

    number: int
    results: Path
    night: Path
    options: tuple[str, ...]
    exports: tuple[str, ...]
    end: float


class Ended(msgspec.Struct, frozen=True):
    """How a command ended; status None when its time was up."""

    status: int | None
    out: str
    err: str

    @property
    def why(self) -> str:
        said = [line for line in self.err.splitlines() if line.startswith("powercut: ")]
        return said[-1].removeprefix("powercut: ") if said else f"it ended with status {self.status}"


def follow(history: History, kernel: str, setting: Setting, progress: Progress) -> None:
    """Every finding of the kernel that has something to do, one after the other."""
    for row in history.rows(
        "SELECT * FROM finding WHERE kernel = ? AND todo != '' AND state != ? "
        "ORDER BY first_night DESC, signature",
        kernel,
        GONE,
    ):
        for step in row["todo"].split():
            if time.monotonic() >= setting.end:
                return
            fresh = history.one(
                "SELECT * FROM finding WHERE kernel = ? AND signature = ?", kernel, row["signature"]
            )
            assert fresh is not None
            if not (setting.results / fresh["run"]).is_dir():
                note(history, fresh, "the run that showed it is gone")
                history.change("finding", key_of(fresh), todo="")
                break
            try:
                if not DO[step](history, fresh, setting, progress):
                    return
            except TROUBLE as error:
                note(history, fresh, f"{step}: {error}")
            history.change("finding", key_of(fresh), todo=_without(fresh["todo"], step))


def key_of(row: Row) -> dict[str, str]:
    return {"kernel": row["kernel"], "signature": row["signature"]}


def _without(todo: str, step: str) -> str:
    return " ".join(one for one in todo.split() if one != step)


def note(history: History, row: Row, words: str) -> None:
    """One more sentence of what could not be learnt."""
    now = history.one("SELECT note FROM finding WHERE kernel = ? AND signature = ?", *key_of(row).values())
    before = now["note"] if now else ""
    history.change("finding", key_of(row), note=f"{before}; {words}" if before else words)


# --- the steps: each is told whether it came to an end ---------------------------------------------


def repeat(history: History, row: Row, setting: Setting, progress: Progress) -> bool:
    run = setting.results / row["run"]
    progress.line(f"{row['kernel']}: new: {row['signature']}; recording its witness {TIMES} more times")
    finding, _ = rerun_one(run, row["id"], TIMES, progress)
    write_pages(run)
    own = finding.after.repeats[0]
    history.change("finding", key_of(row), shown=own.shown, times=own.times)
    if own.trouble:
        note(history, row, f"not every repetition could be examined: {own.trouble}")
    return True


def minimize(history: History, row: Row, setting: Setting, progress: Progress) -> bool:
    run, out = setting.results / row["run"], setting.night / "minimal"
    progress.line(f"{row['kernel']}: making {row['workload']} smaller")
    ended = command(["minimize", run, row["id"], "--out", out, "--quiet"], setting.end)
    if ended.status is None:
        return False
    finding = next(one for one in read_summary(run).findings if one.id == row["id"])
    small = Path(finding.after.minimal) if finding.after.minimal else None
    if small is None or not small.is_dir():
        note(history, row, f"not made smaller: {ended.why}")
        return True
    with contextlib.suppress(OSError):
        (out / "latest").unlink()
    of_it = next(one for one in read_summary(small).findings if one.signature == row["signature"])
    place = str(small.resolve().relative_to(setting.results.resolve()))
    history.change("finding", key_of(row), minimal=place, minimal_id=of_it.id)
    return True


def export(history: History, row: Row, setting: Setting, progress: Progress) -> bool:
    place, finding_id = (row["minimal"], row["minimal_id"]) if row["minimal"] else (row["run"], row["id"])
    run = setting.results / place
    for form in setting.exports:
        progress.line(f"{row['kernel']}: exporting {row['signature']} to {form}")
        ended = command(["export", run, finding_id, "--to", form, "--quiet"], setting.end)
        if ended.status is None:
            return False
        if ended.status:
            note(history, row, f"not exported to {form}: {ended.why}")
    after = next(one for one in read_summary(run).findings if one.id == finding_id).after
    files = [f"{place}/{name}" for name, _ in after.exports if not Path(name).is_absolute()]
    history.change("finding", key_of(row), exports=msgspec.json.encode(files).decode())
    return True


def bisect(history: History, row: Row, setting: Setting, progress: Progress) -> bool:
    kernel = history.one(
        "SELECT * FROM kernel WHERE name = ? AND hash = ? ORDER BY night DESC LIMIT 1",
        row["kernel"],
        row["bad"],
    )
    if kernel is None or not kernel["tree"]:
        return True  # a release has no commits
    if not row["good"]:
        note(history, row, "no earlier night tested another commit, so there is nothing to bisect")
        return True
    tree = Path(kernel["folder"])
    good, bad = row["good"], row["bad"]
    if gone := trees.gone(tree, good, bad):
        note(history, row, f"not bisected: {gone}")
        return True
    if not trees.is_ancestor(tree, good, bad):
        base = trees.merge_base(tree, good, bad)
        if not base or base == bad:
            note(history, row, f"not bisected: {good[:12]} and {bad[:12]} have no commits between them")
            return True
        note(history, row, f"the branch was rebased: bisected from the common ancestor {base[:12]}")
        good = base
    between = trees.count_between(tree, good, bad)
    progress.line(f"{row['kernel']}: bisecting {between} commits, {good[:12]} to {bad[:12]}")
    out = setting.night / "bisect"
    out.mkdir(exist_ok=True)
    before = set(out.iterdir())
    ended = command(
        [
            "bisect",
            *("--tree", tree, "--good", good, "--bad", bad),
            *("--fs", row["profile"], "--oracle", row["oracle"], "--out", out, "--json"),
            *setting.options,
            _workload_of(row, setting),
        ],
        setting.end,
    )
    if ended.status is None:
        return False
    made = sorted(set(out.iterdir()) - before)
    if made:
        place = str(made[-1].resolve().relative_to(setting.results.resolve()))
        history.change("finding", key_of(row), bisect=place)
    if ended.status != EXIT_BROKEN:
        note(history, row, f"not bisected: {ended.why}")
        return True
    record = msgspec.json.decode(ended.out.encode(), type=Record)
    _keep_culprit(history, row, record, setting.number)
    return True


def _keep_culprit(history: History, row: Row, record: Record, night: int) -> None:
    first = record.first_bad
    assert first is not None, "status 1 means that it was found"
    words = f"{first.subject} ({first.author})"
    history.change("finding", key_of(row), culprit=first.hash, culprit_words=words)
    if row["state"] != NEW:  # of an earlier night, whose time was over
        history.put("learnt", night=night, **key_of(row), words=f"commit {first.hash[:12]} {words}")
    (step,) = (one for one in record.steps if one.commit.hash == first.hash)
    if row["signature"] not in [one.signature for one in step.findings]:
        shown = ", ".join(one.signature for one in step.findings)
        note(history, row, f"the commit shows another finding of the same oracle: {shown}")


def _workload_of(row: Row, setting: Setting) -> Path:
    """The smallest file that shows it."""
    if row["minimal"]:
        return setting.results / str(row["minimal"]) / f"{MINIMAL}{SUFFIX}"
    run = setting.results / row["run"]
    number = next(one for one in read_summary(run).findings if one.id == row["id"]).experiment
    folder = run / "experiments" / f"{number:04d}"
    own = read_experiment(folder)
    copy = setting.night / "workloads" / f"{own.facts.workload}{SUFFIX}"
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(own.workload_text)
    return copy


Step = Callable[[History, Row, Setting, Progress], bool]
DO: dict[str, Step] = {"repeat": repeat, "minimize": minimize, "export": export, "bisect": bisect}


def command(words: Sequence[object], end: float) -> Ended:
    """One of our own commands; ended in order when the time is up, or when we are."""
    process = subprocess.Popen(
        [
            *("setpriv", "--pdeathsig", "TERM"),
            *(sys.executable, "-P", "-m", "harness.commands.main"),
            *map(str, words),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    try:
        out, err = process.communicate(timeout=max(1.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        return Ended(None, "", "")
    finally:
        _end(process)
    return Ended(process.returncode, out, err)


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
