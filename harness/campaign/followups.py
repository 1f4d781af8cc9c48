"""
What is learnt of new findings while the campaign goes on: which bug, how often it shows, how small it gets.

In:       the evidence, summed up.
Out:      followups/EXPERIMENT/, a run of that one experiment, and what the commands attribute,
          repro --times and minimize made of it; learnt(), findings of these runs.
Not here: what these commands do.

One command at a time, as a process of its own with the lowest priority: it has one guest beside those of the
workers of this machine. What is there is not done again when the campaign goes on.
"""

import contextlib
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path

import msgspec

from harness.campaign.evidence import FOLDER as EVIDENCE
from harness.evidence.store import NoResults, reading, write_question, write_summary, write_whole
from harness.evidence.summary import sum_up
from harness.local.progress import Progress
from reports.results import Finding, Summary, read_question, read_summary

FOLDER = "followups"
DONE = "steps-done"  # a file: their names, one a line
BUDGET = 100  # recordings for the smallest workload
TIMES = 5
# Of one campaign; a bug of stock kernels may show in many signatures, and these are looked at by hand.
WITNESSES_MAX = 30


class Followups:
    """steps: of file.FOLLOW, those that are wanted."""

    def __init__(self, campaign: Path, steps: tuple[str, ...], progress: Progress) -> None:
        self._campaign, self._steps, self._progress = campaign, steps, progress
        self._waiting: deque[tuple[Path, str]] = deque()
        self._known: set[int] = set()  # experiments that are in the list, or were
        self._now: tuple[Path, str, subprocess.Popen[bytes]] | None = None

    @property
    def busy(self) -> bool:
        return self._now is not None or bool(self._waiting)

    def note(self, summary: Summary) -> None:
        """New findings of the evidence. Errors: NoResults, OSError."""
        if not self._steps:
            return
        for finding in summary.findings:
            if finding.known or finding.experiment in self._known or len(self._known) >= WITNESSES_MAX:
                continue
            self._known.add(finding.experiment)
            folder = self._prepare(finding.experiment)
            done = done_in(folder)
            self._waiting.extend((folder, step) for step in self._steps if step not in done)

    def _prepare(self, experiment: int) -> Path:
        """A run of that experiment alone."""
        folder, run = self._campaign / FOLDER / f"{experiment}", self._campaign / EVIDENCE
        if (folder / "summary.json").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        name = f"{experiment:04d}"
        shutil.copytree(run / "experiments" / name, folder / "experiments" / name)
        with reading(run):
            write_question(folder, msgspec.structs.replace(read_question(run), planned=1))
        write_summary(folder, sum_up(folder, 0.0))
        return folder

    def look(self) -> bool:
        """Begin the next one when there is none; whether one has ended. Errors: OSError."""
        if self._now is not None:
            folder, step, process = self._now
            if process.poll() is None:
                return False
            self._now = None
            mark_done(folder, step)
            return True
        while self._waiting:
            folder, step = self._waiting.popleft()
            if words := words_of(folder, step):
                self._progress.line(f"looking into {folder.name}: {step}")
                self._now = folder, step, started(words, folder)
                break
            mark_done(folder, step)
        return False

    def end(self) -> None:
        """At once; resume does the rest."""
        if self._now is not None:
            self._now[2].terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._now[2].wait(20)
            self._now[2].kill()
            self._now = None
        self._waiting.clear()


def words_of(folder: Path, step: str) -> list[str]:
    """The command; none where no bug is new any more."""
    new = [one for one in findings_of(folder) if not one.known]
    if not new:
        return []
    return {
        "attribute": ["attribute", f"{folder}", "--quiet"],
        "repeat": ["repro", f"{folder}", new[0].id, "--times", f"{TIMES}"],
        "minimize": [
            *("minimize", f"{folder}", new[0].id, "--budget", f"{BUDGET}"),
            *("--out", f"{folder / 'minimal'}", "--quiet"),
        ],
    }[step]


def started(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """It ends with us."""
    before = ("setpriv", "--pdeathsig", "TERM", "nice", "-n", "19", sys.executable, "-P")
    with (folder / "followups.log").open("ab") as log:
        return subprocess.Popen(
            [*before, "-m", "harness.commands.main", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def done_in(folder: Path) -> set[str]:
    place = folder / DONE
    return set(place.read_text().split()) if place.exists() else set()


def mark_done(folder: Path, step: str) -> None:
    write_whole(folder / DONE, "\n".join(sorted({*done_in(folder), step})).encode() + b"\n")


def findings_of(folder: Path) -> tuple[Finding, ...]:
    """As far as they can be read."""
    try:
        with reading(folder):
            return read_summary(folder).findings
    except NoResults:
        return ()


def learnt(campaign: Path) -> Mapping[tuple[str, str], tuple[Path, Finding]]:
    """By kernel and signature, with the folder: of several runs with the same, what says most."""
    found: dict[tuple[str, str], tuple[Path, Finding]] = {}
    for folder in sorted((campaign / FOLDER).glob("[0-9]*"), key=lambda one: int(one.name)):
        for finding in findings_of(folder):
            key = finding.kernel, finding.signature
            if key not in found or weight(finding) > weight(found[key][1]):
                found[key] = folder, finding
    return found


def weight(finding: Finding) -> tuple[bool, bool, bool]:
    """What is of no known bug says more than what is: then one of the witnesses is new."""
    return not finding.known, bool(finding.after.minimal), bool(finding.after.repeats)
