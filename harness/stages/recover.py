"""
Let the kernel under test recover every state of a log, and write down what came back.

In:       how to boot a guest, a profile, a base disk, a log.
Out:      Recovered after Recovered, one a state in order; equal disks are recovered once.
Not here: which states there are (crash.py), their disks (rebuild.py), judging (oracles/).

The guest holds the disk of the state in memory and moves it forward by the writes between two states;
its recovery works on a snapshot that is dropped afterwards (agent/device.c). Requests go out in batches
while earlier answers are checked and judged here, so guest and host work at the same time. `settled` is
the disk of the last answered state: the checker reads it with the blocks that recovery changed, and a
new guest starts from it after the old one died.
"""

import contextlib
import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import (
    DISK,
    LOG,
    OUTBOX,
    Guest,
    GuestSlot,
    GuestTrouble,
    LostGuest,
)
from harness.stages.checks import AUDIT, AUDITED, NOW, PROVEN, THEN, Audit, AuditFailed, Checks, RecoveredDisk
from harness.stages.proofs import (
    RECOVERED,
    TIMES,
    UNSTEADY,
    Earlier,
    Proofs,
    Suspect,
    difference,
    has_common,
)
from harness.stages.session import (
    BATCH_BYTES,
    BATCH_STATES,
    MOUNTED,
    SECTOR,
    USED_UP,
    WANT_COUNTERS,
    WANT_PROOFS,
    Answer,
    Request,
    Session,
    block_writes,
    held,
    in_chunks,
    split_requests,
)
from harness.states.crash import parse_spec
from harness.states.disk import (
    BLOCK_BYTES,
    DiskWrite,
    data_blocks,
    open_image,
    write_sparse,
    writes_of,
)
from harness.states.log import Log, open_log
from harness.states.nested import USED, Recoveries, Used
from harness.states.rebuild import Rebuilding
from oracles.observation import Fsck, Observation
from oracles.profiles import Profile
from oracles.spec import State, parse

# The stage of a death costs two more boots; after so many deaths the stage is no longer asked for.
STAGED_DEATHS = 5


class Recovered(msgspec.Struct, frozen=True):
    """
    spec, same_as, proven_by: as reports.results.JudgedState. prefix: of the log.
    observation:   what came back, as JSON: equal bytes mean an equal Observation.
    """

    spec: str
    prefix: int
    same_as: str
    observation: bytes
    proven_by: str = ""


class Recovery:
    """The states of one log, recovered in order. `deaths` counts guests that this took; checks, proofs: how
    the checker's answers and the states were got. proving: whether states are proven by earlier ones; not
    where each is counted. asks: of walk_flags(); WANT_READS for which blocks a mount reads, WANT_CHANGES to
    learn what it mended. counted: is told the counters of each recovered state, by its spec."""

    def __init__(
        self,
        guest_slot: GuestSlot,
        profile: Profile,
        with_fsck: bool,
        folder: Path,
        asks: int = 0,
        audit: Audit = AUDIT,
        counted: Callable[[str, bytes], None] | None = None,
        proving: bool = False,
    ) -> None:
        self._guest_slot = guest_slot
        self._profile = profile
        self._with_fsck = with_fsck and bool(profile.fsck)
        self._proving = proving and counted is None
        self._asks = asks | (WANT_COUNTERS if counted else 0) | (WANT_PROOFS if self._proving else 0)
        self.proofs = Proofs(audit)
        self._counted = counted
        self._folder = folder
        self._settled_path = folder / "settled.disk"
        self.checks = Checks(profile, folder / "checker.reads", audit)
        self.deaths = 0
        self._session: Session | None = None
        self._unsent: deque[list[Request]] = deque()  # batches that wait for room in the inbox
        self._known: dict[int, str] = {}  # identity of a disk to the spec that was recovered for it
        self._reports: dict[str, bytes] = {}
        self._proven_by: dict[str, str] = {}
        self._suspects: list[Suspect] = []
        self._begun_ns = time.time_ns()  # states that were left for later come by go_on() alone

    def run(self, base: Path, log: Log, states: Iterable[State]) -> Iterator[Recovered]:
        """Errors: LostGuest and GuestTrouble when a guest cannot even be started."""
        self._known, self._reports, self._proven_by = {}, {}, {}
        self._begun_ns = time.time_ns()
        return self.go_on(base, log, states)

    def go_on(
        self, base: Path, log: Log, states: Iterable[State], recoveries: Path | None = None
    ) -> Iterator[Recovered]:
        """More states of the log that run() had: a disk that was recovered then is not recovered again.
        recoveries: the folder of nested.Recoveries, for nested states. Errors: as run()."""
        self._log, self._base, self._recoveries = log, base, recoveries
        used = None if recoveries is None else Used(recoveries)
        with Rebuilding(base, log, recoveries) as ahead:
            for one in self._from(ahead, base, states):
                yield one if used is None else _with_after(one, used)
        self._resolve()

    def _from(self, ahead: Rebuilding, base: Path, states: Iterable[State]) -> Iterator[Recovered]:
        """ahead: moved on from the base by what is dirty in it."""
        to_check = open_image(self._settled_path, base) if self._with_fsck else contextlib.nullcontext(None)
        with to_check as self._settled_image:
            self._settled = dict(ahead.disk.base)
            try:
                yield from self._work(ahead, states)
            finally:
                self._session = None

    def record(
        self, base: Path, log: Log, states: Iterable[State], recoveries: Recoveries
    ) -> Iterator[Recovered]:
        """
        Let the kernel recover these states above dm-log-writes, on the device that workloads are recorded on,
        for that has a write cache and the disk of a state has none; and, where the recoveries are those of
        model A, let the filesystem be used. What was told of each, in model A; what is only recovered was
        judged before, and one that the kernel does not survive adds nothing. Errors: as run(), BadLog.
        """
        with Rebuilding(base, log) as ahead:
            guest: Guest | None = None
            for state in states:
                ahead.move(state)
                if guest is None:
                    guest = self._guest_slot.guest()
                    guest.load(DISK, base)
                    ahead.dirty.update(ahead.disk.nonzero_blocks(), data_blocks(base))
                try:
                    report = self._record_one(guest, ahead, state, recoveries)
                except LostGuest as death:
                    guest = None
                    self._guest_slot.drop()
                    report = msgspec.json.encode(died(death, death.stage or "use after the recovery"))
                if recoveries.again:
                    use = msgspec.structs.replace(state, nested=0, again=True)
                    yield Recovered(use.spec, state.prefix, "", report)

    def _record_one(self, guest: Guest, ahead: Rebuilding, state: State, recoveries: Recoveries) -> bytes:
        for write in block_writes(ahead.disk.image, sorted(ahead.dirty)):
            assert write.data is not None
            guest.write(DISK, write.offset, write.data)
        ahead.dirty.clear()
        profile = self._profile
        options = profile.agent_options or "-"
        on = f"{profile.size_bytes // SECTOR} {profile.filesystem} {options}"
        words = guest.ask(f"afterwards {self._asks} {on}" if recoveries.again else f"recovery {on}")
        if words[:1] != ["report" if recoveries.again else "recovery"]:
            raise GuestTrouble(f"expected the end of a recovery, got {words}")
        report = guest.read(OUTBOX, 0, int(words[1])) if recoveries.again else b""
        with guest.as_file(LOG) as path, open_log(path) as log:
            end = log.mark_index("dm-log-writes-end")
            if not recoveries.again:
                recoveries.add(state, log, end)
            elif report.startswith(MOUNTED):
                recoveries.add(state, log, log.mark_index(USED) + 1, report)
            for entry in log.entries(0, end):  # what it wrote is not the state's
                for write in writes_of(entry):
                    first = write.offset // BLOCK_BYTES
                    last = (write.offset + write.length + BLOCK_BYTES - 1) // BLOCK_BYTES
                    ahead.dirty.update(range(first, last))
        return report

    def _work(self, ahead: Rebuilding, states: Iterable[State]) -> Iterator[Recovered]:
        known, reports = self._known, self._reports
        order: deque[tuple[State, str, str]] = deque()  # states in order, their specs, those they equal
        outstanding: deque[Request] = deque()
        waiting: list[Request] = []
        dirty = ahead.dirty  # blocks: a long way between two states costs no more than the disk
        sequence = 0
        for state in states:
            ahead.move(state)
            spec = state.spec
            # What comes back where a block fails is no matter of the bytes alone.
            fails = state.damage is not None and state.damage.fails
            same_as = spec if fails else known.setdefault(ahead.disk.identity(), spec)
            order.append((state, spec, same_as))
            if same_as != spec:
                continue
            if len(dirty) * BLOCK_BYTES > BATCH_BYTES:
                self._dispatch(waiting, outstanding)
                waiting = []
                while outstanding:
                    self._collect(outstanding, reports)
                self._leap(block_writes(ahead.disk.image, sorted(dirty)))
                dirty.clear()
            writes = tuple(block_writes(ahead.disk.image, sorted(dirty)))
            audit = self._proving and self.proofs.drawn()
            waiting.append(Request(state, sequence, writes, ahead.committed, ahead.damaged, audit))
            dirty.clear()
            sequence += 1
            if len(waiting) == BATCH_STATES or not outstanding:  # a guest with nothing to do does not wait
                self._dispatch(waiting, outstanding)
                waiting = []
                while len(outstanding) > BATCH_STATES:
                    self._collect(outstanding, reports)
                yield from self._ready(order, reports)
        if waiting:
            self._dispatch(waiting, outstanding)
        while outstanding:
            self._collect(outstanding, reports)
            yield from self._ready(order, reports)
        if self._session is not None:
            self._session.guest.held = held(self._settled)
        yield from self._ready(order, reports)

    def _open_session(self) -> Session:
        if self._session is None:
            guest = self._guest_slot.guest()
            self._session = Session(guest, self._profile, self._with_fsck, self._asks)
            self.proofs.begin()
            self._session.load(self._settled)
        return self._session

    def _end_session(self) -> None:
        """The guest is of no more use."""
        self._session = None
        self._unsent.clear()
        self._guest_slot.drop()

    def _leap(self, writes: Iterable[DiskWrite]) -> None:
        """Move on by more than a request holds, as repro does to a state far into a log.
        Nothing may be under way. Errors: LostGuest, GuestTrouble."""
        for chunk in in_chunks(writes):
            self._settle(chunk)
            if self._session is not None:
                self._session.flush()
                self._session.build(chunk)

    def _dispatch(self, requests: list[Request], outstanding: deque[Request]) -> None:
        outstanding.extend(requests)
        self._ask(requests)

    def _ask(self, requests: list[Request]) -> None:
        """Errors: LostGuest and GuestTrouble when there is no guest and none can be started."""
        self._open_session()
        self._unsent.extend(split_requests(requests))
        self._send_on()

    def _send_on(self) -> None:
        """What there is room for. Errors: as _ask()."""
        session = self._open_session()
        with contextlib.suppress(LostGuest):  # its death is seen, and dealt with, at the next answer
            while self._unsent and session.has_room:
                session.send(self._unsent.popleft())

    def _collect(self, outstanding: deque[Request], reports: dict[str, bytes]) -> None:
        """The oldest outstanding answer, from this guest or, should it die, about its death."""
        request = outstanding[0]
        try:
            answer = self._open_session().receive(request)
        except LostGuest as death:
            report = self._bury(request, death, outstanding)
        except GuestTrouble as trouble:
            report = msgspec.json.encode(Observation(trouble=str(trouble)))
            self._restart(request, outstanding)
        else:
            self._send_on()
            if self._counted:
                self._counted(request.state.spec, answer.counters)
            used_up = answer.report.endswith(USED_UP)
            report = self._answered(request, answer)
            if used_up:
                self._restart(request, outstanding)
        outstanding.popleft()
        reports[request.state.spec] = report

    def _answered(self, request: Request, answer: Answer) -> bytes:
        """The report on a state that the guest recovered, or proved to be as an earlier one. Errors:
        AuditFailed."""
        spec, counts = request.state.spec, self.proofs.counts
        self._settle(request.writes)
        if answer.earlier < 0:
            counts[RECOVERED] += 1
            if self._proving:
                self.proofs.keep(self._as_earlier(request, answer))
            return self._whole(request, answer.report, answer.changes)
        counts[PROVEN] += 1
        earlier = self.proofs.earlier(answer.earlier)
        self._proven_by[spec] = earlier.spec
        proven = self._whole(request, earlier.report, earlier.on(self._settled))
        if answer.report:
            counts[AUDITED] += 1
            found = self._whole(request, answer.report, answer.changes)
            if difference(found, proven, self._begun_ns):
                self._suspects.append(Suspect(spec, earlier.spec, found, proven))
            self.proofs.keep(self._as_earlier(request, answer))
        return proven

    def _as_earlier(self, request: Request, answer: Answer) -> Earlier:
        return Earlier(request.sequence, request.state.spec, answer.report, answer.changes, answer.parts)

    def _resolve(self) -> None:
        """Recover what an audit found to be different again, each state several times: kernel threads may
        do the same work earlier or later, and then two recoveries of one disk differ. Errors:
        AuditFailed."""
        suspects, self._suspects = self._suspects, []
        for one in suspects:
            found, proven = self._several_times(one.spec), self._several_times(one.earlier)
            if has_common({*found, one.found}, {*proven, one.proven}, self._begun_ns):
                self.proofs.counts[UNSTEADY] += 1
                continue
            raise AuditFailed(
                f"{one.spec} was proven to come back as {one.earlier}, and comes back otherwise, also "
                f"{TIMES} times more: {difference(one.found, one.proven, self._begun_ns)}",
                self._both_disks(one.spec, one.earlier),
            )

    def _several_times(self, spec: str) -> set[bytes]:
        folder = self._folder / "again"
        folder.mkdir(exist_ok=True)
        found: set[bytes] = set()
        state = parse_spec(spec, self._log)
        with Rebuilding(self._base, self._log, self._recoveries) as ahead:
            ahead.move(state)  # once: it may stand at the end of a long log
            way = frozenset(ahead.dirty)
            for _ in range(TIMES):
                alone = Recovery(
                    self._guest_slot,
                    self._profile,
                    self._with_fsck,
                    folder,
                    self._asks & ~WANT_PROOFS,
                    Audit(0.0),
                    proving=True,
                )
                ahead.dirty.update(way)
                found.update(one.observation for one in alone._from(ahead, self._base, [state]))
        return found

    def _both_disks(self, spec: str, earlier: str) -> Path:
        """A folder with the disks of these two states, as AuditFailed names them."""
        folder = self._folder / "audit"
        folder.mkdir(exist_ok=True)
        for name, one in ((NOW, spec), (THEN, earlier)):
            with Rebuilding(self._base, self._log, self._recoveries) as disks:
                disks.move(parse_spec(one, self._log))
                disk = disks.disk
                blocks = ((block, disk.block(block)) for block in disk.nonzero_blocks())
                write_sparse(folder / name, disk.size_bytes, blocks)
        return folder

    def _whole(self, request: Request, report: bytes, changes: Sequence[DiskWrite]) -> bytes:
        """The guest's report with what the host adds to it, of the settled disk."""
        # Of a guest that is used up there is no disk that was left clean, to be checked.
        if self._with_fsck and report.startswith(MOUNTED) and not report.endswith(USED_UP):
            fsck = self._check(changes, request.state)
            report = _with_member(report, "fsck", msgspec.json.encode(fsck))
        if request.damaged and is_mended(request.damaged, changes):
            report = _with_member(report, "mended", b"true")
        return report

    def _settle(self, writes: Iterable[DiskWrite]) -> None:
        for write in writes:
            assert write.data is not None, "block_writes() gives the bytes"
            if self._settled_image is not None:
                self._settled_image[write.offset : write.offset + write.length] = write.data
            for at in range(0, write.length, BLOCK_BYTES):
                self._settled[(write.offset + at) // BLOCK_BYTES] = write.data[at : at + BLOCK_BYTES]

    def _check(self, changes: Sequence[DiskWrite], state: State) -> Fsck:
        """The checker on the settled disk as recovery and unmount left it. Of several devices it is given the
        first that is as it should be: without a scrub the others are not."""
        disk = RecoveredDisk(self._settled, changes)
        differing = dict(state.members)
        first = next(device for device in itertools.count() if device not in differing)
        return self.checks.answer(disk, lambda: self._with_changes(changes), first)

    @contextlib.contextmanager
    def _with_changes(self, changes: Sequence[DiskWrite]) -> Iterator[Path]:
        """The file of the settled disk, with these for as long as it is looked at."""
        image = self._settled_image
        assert image is not None
        before = [(write.offset, image[write.offset : write.offset + write.length]) for write in changes]
        for write in changes:
            assert write.data is not None
            image[write.offset : write.offset + write.length] = write.data
        try:
            yield self._settled_path
        finally:
            for offset, content in before:
                image[offset : offset + len(content)] = content

    def _ready(self, order: deque[tuple[State, str, str]], reports: dict[str, bytes]) -> Iterator[Recovered]:
        """States at the head of the order whose report is in."""
        while order and order[0][2] in reports:
            state, spec, same_as = order.popleft()
            yield Recovered(
                spec=spec,
                prefix=state.prefix,
                same_as="" if same_as == spec else same_as,
                observation=reports[same_as],
                proven_by=self._proven_by.get(spec, ""),
            )

    def _bury(self, request: Request, death: LostGuest, outstanding: deque[Request]) -> bytes:
        """The report on a state that took the guest with it; the next guest goes on after it."""
        self.deaths += 1
        observation = died(death, death.stage)
        self._end_session()
        if self.deaths <= STAGED_DEATHS:
            observation = self._again(request, observation)
        self._restart(request, outstanding)
        return msgspec.json.encode(observation)

    def _again(self, request: Request, observation: Observation) -> Observation:
        """The same state alone in a new guest that announces its stages. A second answer overrules a hang
        or a lost guest, which may be ours; a panic stays a panic."""
        session = self._open_session()
        try:
            session.send([request], verbose=True)
            answer = session.receive(request)
            if observation.death != "panic":
                return msgspec.json.decode(self._answered(request, answer), type=Observation)
        except LostGuest as death:
            if death.kind != "exit":
                observation = Observation(death=death.kind, death_during=death.stage, console=death.console)
        except (GuestTrouble, msgspec.DecodeError, UnicodeDecodeError) as trouble:
            observation = msgspec.structs.replace(observation, death_during=str(trouble))
        self._end_session()
        return observation

    def _restart(self, request: Request, outstanding: deque[Request]) -> None:
        """Go on behind `request` with a new guest; what was under way is asked for again."""
        self._end_session()
        self._settle(request.writes)
        if rest := list(outstanding)[1:]:
            self._ask(rest)


def died(death: LostGuest, during: str) -> Observation:
    """What is known of a state that took the guest with it."""
    if death.kind == "exit":  # no panic, no hang: we lost it
        return Observation(trouble=str(death), console=death.console)
    return Observation(death=death.kind, death_during=during, console=death.console)


def _with_after(one: Recovered, used: Used) -> Recovered:
    """Of a state of model A with what came before."""
    state = parse(one.spec)
    if not state.again:
        return one
    return msgspec.structs.replace(one, observation=_with_member(one.observation, "after", used.told(state)))


def _with_member(report: bytes, name: str, value: bytes) -> bytes:
    """The JSON object with one member more."""
    return b'%b,"%b":%b}' % (report[:-1], name.encode(), value)


def is_mended(damaged: tuple[int, bytes], changes: Iterable[DiskWrite]) -> bool:
    """Whether recovery wrote the damaged block as it had been. changes: blocks; none where they were not
    asked for."""
    block, content = damaged
    return RecoveredDisk({block: b""}, changes).block(block) == content
