"""
One workload of a search: recorded, its crash states recovered and judged, and what it showed.

In:       Tasks, one after the other, in a worker process with one guest.
Out:      Seen of each; the folder of the experiment where it showed a signature that nobody had seen.
Not here: which workloads (search.py), what is kept of one (experiments/experiment.py).

The counters are read twice for a workload and not once for each state: after the recording, and after the
last state. Reading them takes as long as recovering eight states. What the probes of a recovered state
execute is among what is counted as recovered: it is the same for all.
"""

import contextlib
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from harness.evidence.store import partial_folder
from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import UNEXAMINED, UNRECORDED, Setting, record_in
from harness.experiments.experiment import add_live, keep_evidence, not_recorded, whole_facts
from harness.experiments.interestingness import failed_in, signatures_of
from harness.experiments.plan import Plan
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot
from harness.hosts.hosts import BadHost
from harness.hosts.ssh import Unreachable
from harness.local.workspace import workspace
from harness.runs.pool import Said, begin_worker
from harness.runs.run import guest_spec, require_scratch
from harness.search.features import FINDINGS, RECORDED, RECOVERED, ROLES, Features, hashed, role_features
from harness.stages.counters import Edges
from harness.stages.gcov import COUNT, OF_RECORDING, since_count, told
from harness.stages.live import Died
from harness.stages.record import Recording
from harness.states.log import open_log
from kernel.profiling import VARIANT
from oracles.live import judge_live
from oracles.verdict import Answer, Verdict
from workloads.workload import Workload


class Task(msgspec.Struct, frozen=True):
    """plan: the workload, and all that is asked of its states; its number is that of the workload in the
    search. seen: signatures that need no further experiment. keep: whether it is kept in any case."""

    plan: Plan
    seen: frozenset[str] = frozenset()
    keep: bool = False

    @property
    def workload(self) -> Workload:
        return self.plan.workload


class Seen(msgspec.Struct, frozen=True):
    """What a workload showed. layout, edge_count: of Edges. states: judged. unknown: of them without an
    answer. failed: operations. kept: whether it is an experiment of the run. trouble: "" or why it was not
    examined."""

    features: Features = {}
    signatures: tuple[str, ...] = ()
    layout: str = ""
    edge_count: int = 0
    states: int = 0
    unknown: int = 0
    failed: int = 0
    kept: bool = False
    trouble: str = ""


class Examiner:
    """A worker's place: one guest, one kernel and profile. Use as a context."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._stack = contextlib.ExitStack()
        self._setting: Setting | None = None
        self._edges: Edges | None = None

    def __enter__(self) -> "Examiner":
        self._space = self._stack.enter_context(workspace())
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def examine(self, task: Task) -> Seen:
        """A mistake of ours is that workload's trouble. Errors: OSError."""
        setting = self._setting_for(task.plan)
        self._space.half_written(partial_folder(self._run, task.plan.number))
        require_scratch(self._space.path)
        try:
            return self._examined(task, setting)
        except (OSError, BadHost, Unreachable):
            raise
        except Exception as mistake:
            setting.guest_slot.drop()
            where = traceback.format_exc().strip().splitlines()[-3].strip()
            return Seen(trouble=f"a bug of Powercut: {type(mistake).__name__}: {mistake} ({where})")

    def _setting_for(self, plan: Plan) -> Setting:
        if self._setting is None:
            make_filesystem(plan.profile, self._space.path / "pristine")
            slot = self._stack.enter_context(GuestSlot(guest_spec(plan), self._space))
            self._setting = Setting(
                slot,
                plan.profile,
                plan.tier,
                plan.kernel,
                self._space.path / "pristine",
                self._space.path,
                plan.with_fsck,
                plan.device,
                plan.audit,
            )
            self._edges = Edges() if VARIANT in plan.config else None
        return self._setting

    def _examined(self, task: Task, setting: Setting) -> Seen:
        started = time.monotonic()
        try:
            recording = record_in(setting, task.workload)
        except UNRECORDED as error:
            return self._unrecorded(task, setting, error)
        features: Features = {}
        if self._edges is not None:
            features[RECORDED] = self._edges.taken(told(setting.guest_slot.guest(), OF_RECORDING))
        return self._states_of(task, setting, recording, features, time.monotonic() - started)

    def _unrecorded(self, task: Task, setting: Setting, error: Exception) -> Seen:
        """A kernel that died is a finding; everything else is trouble."""
        if not isinstance(error, Died):
            setting.guest_slot.drop()
            return Seen(trouble=f"recording: {error}")
        verdicts = judge_live(setting.profile, setting.tier, error.live.seen)
        signatures = signatures_of(setting.profile, verdicts)
        if new := signatures - task.seen:
            not_recorded(task.plan, setting.guest_slot, self._run, error)
        else:
            setting.guest_slot.drop()
        return Seen({FINDINGS: hashed(signatures)}, tuple(sorted(signatures)), states=1, kept=bool(new))

    def _states_of(
        self, task: Task, setting: Setting, recording: Recording, features: Features, recorded_s: float
    ) -> Seen:
        plan, slot, edges = task.plan, setting.guest_slot, self._edges
        verdicts: list[Verdict] = []
        states = unknown = 0
        trouble = ""
        with open_log(recording.log) as log:
            features[ROLES] = role_features(setting.profile.filesystem, recording.base, log)
            examination = CrashStates(setting, recording, log, plan.state_plan)
            if recording.live is not None:
                add_live(examination.ledger, recording.live, plan)
                verdicts += judge_live(setting.profile, setting.tier, recording.live.seen)
                states += 1
            started = time.monotonic()
            try:
                if edges is not None:
                    slot.guest().ask(COUNT)
                for judged in examination.judged():
                    states += 1
                    verdicts += [one for one in judged.verdicts if one.answer is Answer.BROKEN]
                    unknown += any(one.answer is Answer.UNKNOWN for one in judged.verdicts)
                if edges is not None:
                    counted = told(slot.guest(), since_count(setting.profile.filesystem))
                    features[RECOVERED] = edges.taken(counted)
            except UNEXAMINED as error:
                slot.drop()
                trouble = f"{examination.stage}: {error}"
            signatures = signatures_of(setting.profile, verdicts)
            features[FINDINGS] = hashed(signatures)
            kept = task.keep or bool(signatures - task.seen)
            if kept:
                seconds = {"record": recorded_s} | examination.seconds(time.monotonic() - started)
                facts = whole_facts(plan, trouble, recording, log, examination, seconds)
        if kept:
            keep_evidence(self._run, plan, facts, recording, examination)
        return Seen(
            features,
            tuple(sorted(signatures)),
            edges.layout if edges else "",
            edges.count if edges else 0,
            states,
            unknown,
            failed_in(recording),
            kept,
            trouble,
        )


def work(run: str, line: Connection) -> None:
    """A worker process: tasks until there are no more."""
    begin_worker()
    try:
        with Examiner(Path(run)) as examiner:
            while True:
                task = line.recv()
                line.send(Said("done", examiner.examine(task)))
    except EOFError:
        return
    except (OSError, BadHost, Unreachable) as error:
        with contextlib.suppress(OSError):
            line.send(Said("failed", f"{error}"))
