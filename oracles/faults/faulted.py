"""
One question about a fault point: this workload, this fault, this is what the calls said and what came back.

In:       the workload's History on a sound device, a Profile, a Tier; then a fault point and an Observation.
Out:      FaultCase: what was acknowledged before the fault, and what was said to be durable all the same.
Not here: the answers (told.py, contained.py, detected.py, alive.py), asking all of them (judge.py).

A workload on a failing device has a history of its own: other results, other inode numbers. A call that
failed may have done part of its work (a write, a truncate); to the model it happened, as something that may
be there, and the files it worked on are `unsure`: nothing is asked of their bytes.
"""

import copy
import errno
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from oracles.allowed import AllowedValues
from oracles.case import Case
from oracles.content import size_of
from oracles.model import steps as models
from oracles.model.model import ALL_BYTES, Disagreement, Model, Persist
from oracles.observation import FaultRun, FaultStep, Observation
from oracles.profiles import Profile
from oracles.recovered import Readings
from oracles.verdict import Answer, Tier, Verdict, Violation
from workloads.faults import FLUSH, SCRIPT, FaultPoint, kinds_of, parse_point
from workloads.history import History, Step
from workloads.workload import Operation

# Calls that may have done part of their work when they fail.
OF_ONE_FILE = ("write", "append", "pwrite", "mmapwrite", "truncate", "fallocate")
OF_TWO_FILES = ("clone", "dedupe", "copyrange")  # the object is the second
HALFWAY = (*OF_ONE_FILE, *OF_TWO_FILES)
RENAMING = ("link", "unlink", "rename", "rmdir", "remount", "umount", "close")
# What forgets an error that nobody was told of: it is kept in the inode's mapping, which goes with the inode
# (Documentation/filesystems/vfs.rst, Handling errors during writeback).
FORGETTING = ("evict", "remount", "umount")


@dataclass(frozen=True)
class FaultCase:
    """
    before:  what came back, held against what was acknowledged before the fault began; all that came later
             may be there. None where nothing was mounted.
    after:   the same, held against every call that then said its work was durable, too.
    unsure:  files, as the model counts them, on which a call failed half-way. met: whether anything came
             past the fault.
    """

    point: FaultPoint
    kinds: frozenset[str]
    run: FaultRun
    profile: Profile
    tier: Tier
    observation: Observation
    history: History
    before: Case
    after: Case
    unsure: frozenset[int]
    met: bool

    @property
    def disk_undone(self) -> bool:
        """Whether the fault itself spoils the disk: corrupt writes, and writes that were dropped while later
        ones were not. Then nothing that was on it is owed."""
        lied = "drop-writes" in self.kinds and not (self.point.stays and self.kinds == {"drop-writes"})
        return "corrupt" in self.kinds or lied

    def before_errors(self) -> Case:
        """`after`, of its calls only those before the first that told of an error."""
        told = [step.index for step in self.run.steps if told_error(step.result, step.index, self.point)]
        if not told:
            return self.after
        model, end = self.after.allowed.model, len(self.history.run)
        early = _with_persists(model, [each for each in model.persists if each.step < min(told)])
        return _case(self.history, self.profile, self.tier, early, (end, end), self.observation)

    def verdict(self, oracle: str, checked: int, violations: Iterable[Violation]) -> Verdict:
        broken = tuple(violations)
        answer = Answer.BROKEN if broken else Answer.HOLDS
        return Verdict(oracle, self.tier, answer, max(checked, len(broken)), broken)

    def promise(self, key: str) -> str:
        return self.before.promise(key)


def fault_case(
    history: History, profile: Profile, tier: Tier, spec: str, observation: Observation
) -> FaultCase:
    """Errors: ValueError (no such point), Disagreement when it cannot be judged."""
    point = parse_point(spec, history.workload)
    run = observation.fault
    if run is None:
        raise Disagreement("the run on the failing device left no report")
    if run.refused:
        raise Disagreement("this kernel cannot produce this kind of fault")
    if run.mount_errno:
        raise Disagreement(f"the new filesystem could not be mounted: error {run.mount_errno}")
    own = own_history(history, run)
    model = models.build(own)
    results = {step.index: step.result for step in run.steps}
    done = [persist for persist in model.persists if results.get(persist.step) == 0]
    unsure = unsure_inodes(model, own, results)
    completed = sum(step.index < point.operation for step in own.run)
    begun = len(own.run)
    before = _case(own, profile, tier, _with_persists(model, done), (begun, completed), observation)
    promised = told_persists(model, own, run, done, point)
    after = _case(own, profile, tier, _with_persists(model, promised), (begun, begun), observation)
    return FaultCase(
        point,
        kinds_of(point, history.workload),
        run,
        profile,
        tier,
        observation,
        own,
        before,
        after,
        unsure,
        fault_triggered(run, point) or read_failed(run, point, kinds_of(point, history.workload)),
    )


def fault_triggered(run: FaultRun, point: FaultPoint) -> bool:
    """Reads where reads fail, else writes; both where the device is slow, and of a script. A FLUSH is not
    counted, so a point that is about one is taken to have met it."""
    if point.part == FLUSH:
        return True
    steps = [step for step in run.steps if step.index >= point.operation]
    reads, writes = any(step.bad_reads for step in steps), any(step.bad_writes for step in steps)
    return {"error-reads": reads, "delay": reads or writes, SCRIPT: reads or writes}.get(point.kind, writes)


def read_failed(run: FaultRun, point: FaultPoint, kinds: frozenset[str]) -> bool:
    """Whether a call was told that the device failed, where reads fail: dm-flakey ends those before they
    count as requests (DM_MAPIO_KILL in flakey_map(), drivers/md/dm-flakey.c), writes it counts."""
    return "error-reads" in kinds and any(told_error(step.result, step.index, point) for step in run.steps)


def told_error(result: int, index: int, point: FaultPoint) -> bool:
    return index >= point.operation and -result in (errno.EIO, errno.EROFS, errno.ESHUTDOWN)


def own_history(history: History, run: FaultRun) -> History:
    """The history of the workload as it went on the failing device."""
    operations = (*history.workload.setup, *history.workload.run)
    setup_count = len(history.workload.setup)
    steps = tuple(_step(each, run, operations) for each in run.steps)
    return msgspec.structs.replace(
        history,
        setup=steps[:setup_count],
        run=steps[setup_count:],
        entry_count=0,
        root_inode=run.root_inode,
    )


def _step(seen: FaultStep, run: FaultRun, operations: Sequence[Operation]) -> Step:
    operation = operations[seen.index]
    halfway = seen.result < 0 and operation.word in HALFWAY
    inode = seen.inode
    if halfway and not inode and operation.word in OF_ONE_FILE:
        inode = inode_before(seen.index, run, operations)
    return Step(
        index=seen.index,
        operation=operation,
        result=0 if halfway and inode else seen.result,
        inode=inode,
        blocks=seen.blocks,
        left_inode=seen.left,
        times=seen.times,
    )


def inode_before(index: int, run: FaultRun, operations: Sequence[Operation]) -> int:
    """The object of a call that failed, where a filesystem that has shut down shows none: that of the last
    call on the path, if no name was given or taken in between. 0 for unknown."""
    for step in reversed([step for step in run.steps if step.index < index]):
        operation = operations[step.index]
        if operation.word in RENAMING:
            return 0
        if operation.path == operations[index].path and operation.word not in OF_TWO_FILES:
            return step.inode
    return 0


def unsure_inodes(model: Model, own: History, results: dict[int, int]) -> frozenset[int]:
    """Files that a call which failed half-way worked on."""
    found = set()
    for step in (*own.setup, *own.run):
        if step.result == 0 and results[step.index] < 0:
            found.update(model.ids(step.inode, "file", model.end_time))
    return frozenset(found)


def _with_persists(model: Model, persists: list[Persist]) -> Model:
    changed = copy.copy(model)
    changed.persists = persists
    return changed


def _case(
    own: History,
    profile: Profile,
    tier: Tier,
    model: Model,
    moment: tuple[int, int],
    observation: Observation,
) -> Case:
    allowed = AllowedValues(model, profile, tier, *moment)
    found = Readings(observation.tree, allowed)
    return Case(own, profile, tier, own.entry_count + 1, allowed, observation, found)


# --- which promises stand although the device failed


def told_persists(
    model: Model, own: History, run: FaultRun, done: list[Persist], point: FaultPoint
) -> list[Persist]:
    """
    Calls that succeeded, as far as what they said has to be true.

    An error is told once to each descriptor that was open when it happened, and to the first that is opened
    after it if nobody had been told (Documentation/filesystems/vfs.rst; fsync(2)): so a success after that
    speaks of what was written since. sync(2) has no way to tell of an error, nor has an unmount.
    """
    ledger = _Ledger(model, own, run, point)
    kept: list[Persist] = []
    for persist in done:
        kept += [persist] if persist.step < point.operation else ledger.promises(persist)
    return kept


class _Ledger:
    """Who was told of which error, and when."""

    def __init__(self, model: Model, own: History, run: FaultRun, point: FaultPoint) -> None:
        self.model = model
        self.steps = {step.index: step for step in (*own.setup, *own.run)}
        self.results = {step.index: step.result for step in run.steps}
        self.point = point
        self.bad_writes = {step.index: step.bad_writes for step in run.steps}

    def promises(self, persist: Persist) -> list[Persist]:
        word = self.steps[persist.step].operation.word
        if persist.inode < 0 and word != "syncfs":
            return [] if self.met_until(persist.step) else [persist]
        told = self.told_before(persist)
        if told is None:
            return [] if self.forgotten(persist) else [persist]
        if persist.inode >= 0 and self.untold_descriptor(persist):
            return [persist]
        return self.since(persist, told)

    def met_until(self, step: int) -> bool:
        """A FLUSH is not counted: a point about one is taken to have met it. A call that failed shows it."""
        return self.point.part == FLUSH or any(
            count or self.results[index] < 0
            for index, count in self.bad_writes.items()
            if self.point.operation <= index <= step
        )

    def told_before(self, persist: Persist) -> int | None:
        """The time of the last error that somebody was told about this object, or about everything."""
        times = [
            index + 1
            for index, result in self.results.items()
            if result < 0
            and self.point.operation <= index < persist.step
            and (persist.inode < 0 or self.is_about(self.steps[index], persist.inode))
        ]
        return max(times, default=None)

    def is_about(self, step: Step, inode: int) -> bool:
        if step.operation.word == "syncfs":
            return True
        return bool(step.inode) and self.model.inodes[inode].number == step.inode

    def forgotten(self, persist: Persist) -> bool:
        return any(
            self.steps[index].operation.word in FORGETTING
            for index in self.results
            if self.point.operation < index < persist.step
        )

    def untold_descriptor(self, persist: Persist) -> bool:
        """A kept descriptor, open since before the fault, through which no error was told yet."""
        name = self.steps[persist.step].operation.path
        if not name.startswith("@"):
            return False
        opened = [
            index
            for index, step in self.steps.items()
            if step.operation.descriptor == name and index < persist.step
        ]
        told = [
            index
            for index, result in self.results.items()
            if result < 0 and self.steps[index].operation.path == name and index < persist.step
        ]
        return bool(opened) and max(opened) < self.point.operation and not told

    def since(self, persist: Persist, told: int) -> list[Persist]:
        """Of a file, the ranges that were written after the error was told; of all else, nothing."""
        timeline = self.model.content.get(persist.inode)
        if timeline is None:
            return []
        found = []
        for time, _, new in timeline.changes(told, persist.time):
            operation = self.steps[time - 1].operation
            if operation.word not in ("write", "append", "pwrite", "mmapwrite"):
                return []
            start = size_of(new) - operation.length if operation.word == "append" else operation.offset
            end = min(start + operation.length, persist.end)
            start = max(start, persist.start)
            if start < end < ALL_BYTES:
                found.append(msgspec.structs.replace(persist, start=start, end=end))
        return found
