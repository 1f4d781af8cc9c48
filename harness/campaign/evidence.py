"""
The whole evidence of a few experiments of a campaign, as a run.

In:       packed folders of experiments, and the rows of all.
Out:      evidence/, which is a run: its summary, its pages, and what minimize and repro need.
Not here: which experiments are kept (rows.Witnesses).
"""

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness.campaign.batch import run_spec
from harness.campaign.campaign import Kept
from harness.campaign.rows import Row, Witnesses
from harness.evidence.pack import unpack
from harness.evidence.store import PARTIAL, remove_partial, write_question
from harness.evidence.summary import experiment_folders
from harness.guests.kernels import by_key
from harness.runs.run import finish, question_of
from oracles.profiles import profile
from reports.results import Question, Summary

FOLDER = "evidence"


class Evidence:
    """witnesses: with the rows of all batches that are done."""

    def __init__(self, campaign: Path, kept: Kept) -> None:
        self.run = campaign / FOLDER
        self._kept = kept
        self.witnesses = Witnesses(kept.asked.witnesses)
        self.changed = False

    def prepare(self) -> None:
        """What another head left half written goes. Errors: OSError."""
        (self.run / "experiments").mkdir(parents=True, exist_ok=True)
        remove_partial(self.run)

    def take(self, rows: Iterable[Row], packed: dict[int, bytes]) -> None:
        """Keep those that are still among the shortest; let go of those that are no longer. Errors:
        OSError, BadPack."""
        before = self.witnesses.experiments()
        for row in rows:
            self.witnesses.add(row)
        now = self.witnesses.experiments()
        for experiment in sorted(now & packed.keys()):
            place = self.run / "experiments" / f"{experiment:04d}"
            shutil.rmtree(place, ignore_errors=True)
            file = self.run / f"{experiment}.pack{PARTIAL}"
            file.write_bytes(packed[experiment])
            unpack(file, place)
            file.unlink()
            self.changed = True
        for experiment in sorted(before - now):
            shutil.rmtree(self.run / "experiments" / f"{experiment:04d}", ignore_errors=True)

    def tidy(self) -> None:
        """What a head that was killed kept, and no row asks for. Errors: OSError."""
        now = self.witnesses.experiments()
        for folder in experiment_folders(self.run):
            if int(folder.name) not in now:
                shutil.rmtree(folder)
        self.changed = bool(experiment_folders(self.run))

    def sum_up(self, wall_s: float) -> Summary:
        """The summary and the pages of the run. Errors: NoResults, OSError."""
        write_question(self.run, self._question())
        self.changed = False
        return finish(self.run, wall_s, 0)

    def _question(self) -> Question:
        kept = self._kept
        first = kept.batches()[0]
        names = tuple(one.name for one in experiment_folders(self.run))
        asked = msgspec.structs.replace(
            run_spec(first, ()),
            profiles=tuple(profile(name) for name in kept.asked.profiles),
            kernels=kept.asked.kernels,
            command=("powercut", "campaign", "start", kept.file),
        )
        kernels = {(one.kernel, one.config): by_key(kept.guest, one.key) for one in kept.builds}
        return msgspec.structs.replace(question_of(asked, kernels, kept.guest), planned=len(names))
