"""
The head of a campaign: batches out, rows in, until all are there.

In:       the folder of a campaign.
Out:      its rows, its evidence and its page; Campaign at the end.
Not here: the engine (engine.py), a batch (batch.py), the command line (harness/commands/campaign.py).

The head holds few batches out at a time, a little more than there are workers: so the order is kept, a head
that is killed loses little, and the scheduler has little to remember. Whatever becomes of a task (its worker
dies, the scheduler starts anew, the result is lost on the way), the batch is given out again unless its rows
are on the disk.
"""

import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import msgspec
from distributed import Client
from distributed.scheduler import KilledWorker

from harness.campaign.batch import Done
from harness.campaign.batches import Batch
from harness.campaign.campaign import BY, STATE, STOP, Kept, State, read, read_state
from harness.campaign.engine import (
    Task,
    connected,
    name_in,
    perform,
    publish,
    publish_refusal,
    submit,
    workers_of,
)
from harness.campaign.evidence import Evidence
from harness.campaign.file import LOCAL, CampaignFile
from harness.campaign.followups import Followups
from harness.campaign.identity import here
from harness.campaign.luggage import Luggage, packed
from harness.campaign.results import campaign, write_page
from harness.campaign.rows import Row
from harness.campaign.table import FOLDER as BATCHES
from harness.campaign.table import Table, keys_done, merge, write_batch
from harness.campaign.trouble import AuditBroken, BatchFailed, Unfit
from harness.evidence.pack import unpack
from harness.evidence.store import PARTIAL, only_one, write_pretty
from harness.evidence.summary import experiment_folders, shown
from harness.local.progress import Progress
from harness.runs.run import AUDIT_FAILED, WorkerFailed, require_room
from oracles.profiles import profile
from reports.campaigns.lines import progress_words
from reports.campaigns.results import Campaign

ROOM_BYTES = 64 << 20
TRIES = 5  # of a batch that fails, or kills its worker
FAILURES = 3  # in a row of one worker, which is then let go
LOOK_S = 0.2
TELL_S = 10.0
SUM_UP_S = 60.0
ALONE_S = 60.0  # without a worker, until that is told
RESULT_S = 60.0
CLOCK_S = 60.0  # a batch may wait for us so long
TROUBLES = 50
Connect = Callable[[CampaignFile], AbstractContextManager[Client]]


def work_through(
    folder: Path, progress: Progress, task: Task = perform, connect: Connect = connected
) -> Campaign:
    """All that is left. task: does a batch; connect: leads to those who work. Tests have others.
    Errors: RunInUse, NoRoom, NoEngine, WorkerFailed, AuditBroken, OSError."""
    kept = read(folder)
    require_room(folder, ROOM_BYTES, BY)
    with only_one(folder):
        (folder / STOP).unlink(missing_ok=True)
        head = Head(folder, kept, progress, task)
        head.prepare()
        try:
            if head.todo:
                with connect(kept.asked) as client:
                    head.go(client)
            head.look_into()
        finally:
            found = head.finish()
        if head.failure:
            raise WorkerFailed(head.failure)
    return found


def on_our_clock(done: Done, now: float) -> tuple[Row, ...]:
    """The rows, their times those of the head where the clock of the worker is another."""
    late_s = now - done.sent
    if abs(late_s) < CLOCK_S:
        return done.rows
    return tuple(
        msgspec.structs.replace(row, ended=round(row.ended + late_s, 3)) if row.ended else row
        for row in done.rows
    )


class Out(msgspec.Struct):
    """A batch that is given out."""

    batch: Batch
    future: Any
    given: float


class Head:
    """Holds what one process of the head knows. `todo`: batches that are neither done nor given out."""

    def __init__(self, folder: Path, kept: Kept, progress: Progress, task: Task = perform) -> None:
        self._task = task
        self.folder, self.kept, self.progress = folder, kept, progress
        self.evidence = Evidence(folder, kept)
        self.followups = Followups(folder, kept.asked.follow, progress)
        self.todo: deque[Batch] = deque()
        self.failure = ""
        self._out: dict[str, Out] = {}
        self._tries: Counter[str] = Counter()
        self._failures: Counter[str] = Counter()  # in a row, by worker
        self._refused: dict[str, str] = {}
        self._attempts = 0
        self._began = time.time()
        before = read_state(folder)
        self._spent_s = before.spent_s + max(0.0, before.updated - before.began) if before else 0.0
        self._troubles: list[str] = list(before.troubles) if before else []
        self._workers: tuple[str, ...] = ()
        self._toolless: set[str] = set()
        self._places = 0  # for guests, of all workers
        self._told = self._stated = self._summed = self._had_worker = time.monotonic()
        self._page_s = 0.0

    def prepare(self) -> None:
        """What is there, and what another head left half done. Errors: NoResults, OSError."""
        (self.folder / BATCHES).mkdir(exist_ok=True)
        for left in (self.folder / BATCHES).glob(f"*{PARTIAL}"):
            left.unlink()
        self.evidence.prepare()
        merge(self.folder)
        every = self.kept.batches()
        done = keys_done(self.folder)
        with Table(self.folder) as table:
            for row in table.rows(
                "SELECT * FROM experiments WHERE len(found) > 0 OR answer = 'unknown' OR unknown > 0"
            ):
                self.evidence.witnesses.add(msgspec.convert(row, Row))
        self.evidence.tidy()
        self.todo.extend(one for one in every if one.key not in done)
        if len(self.todo) < len(every):
            self.progress.line(f"{len(every) - len(self.todo):,} of {len(every):,} batches are already done")

    # --- the loop ---

    def go(self, client: Client) -> None:
        """Errors: AuditBroken, NoResults, OSError."""
        publish(client, self._luggage(), here())
        ends = time.monotonic() + self.kept.asked.time_s if self.kept.asked.time_s else float("inf")
        stopping = False
        while self.todo or self._out:
            self._look_at_workers(client)
            if not stopping and (time.monotonic() > ends or (self.folder / STOP).exists()):
                stopping = True
                self.progress.line(f"no more batches are begun; {len(self._out)} are under way")
                self.todo.clear()
            if self.failure:
                return
            self._give(client)
            for key in [key for key, one in self._out.items() if one.future.done()]:
                self._heed(client, self._out.pop(key))
            self._tell()
            time.sleep(LOOK_S)

    def _luggage(self) -> Luggage:
        """Workers of this machine have the same cache."""
        asked = self.kept.asked
        alone = asked.scheduler == LOCAL and not asked.listen
        keys = () if alone else tuple(one.key for one in self.kept.builds)
        return packed(here(), keys, asked.profiles, self.kept.name)

    def _look_at_workers(self, client: Client) -> None:
        try:
            info = workers_of(client)
        except (OSError, TimeoutError):  # a scheduler that is busy, or starts anew
            return
        self._places = sum(one["nthreads"] for one in info.values())
        self._look_at_tools({name for one in info.values() for name in one.get("resources", {})})
        names = tuple(sorted(name_in(one) for one in info.values()))
        for name in names:
            if name not in self._workers:
                self.progress.line(f"worker {name} has come")
        for name in self._workers:
            if name not in names and name not in self._refused:
                self.progress.line(f"worker {name} has gone")
        self._workers = names
        now = time.monotonic()
        if names:
            self._had_worker = now
        elif now - self._had_worker > ALONE_S:
            if self.kept.asked.scheduler == LOCAL and not self.kept.asked.listen:
                self.failure = self._last_words("no worker is left")
            else:
                self._had_worker = now
                self.progress.line("there is no worker. Start some: powercut campaign worker ADDRESS")

    def _look_at_tools(self, offered: set[str]) -> None:
        """Batches that no worker can do would wait for ever, without a word of the scheduler."""
        wanted = {profile(name).filesystem for name in self.kept.asked.profiles}
        if not offered or self._toolless == (lacking := wanted - offered):
            return
        self._toolless = lacking
        for name in sorted(lacking):
            self._trouble(f"no worker has the tools of {name}: its batches wait for one that has")

    def _last_words(self, what: str) -> str:
        return f"{what}. {self._troubles[-1]}" if self._troubles else what

    def _give(self, client: Client) -> None:
        """To each worker one, and a few that wait: none is idle while this loop sleeps."""
        wanted = self._places + -(-self._places // 4)
        while self.todo and len(self._out) < wanted:
            batch = self.todo.popleft()
            self._attempts += 1
            future = submit(client, self._task, batch, f"{int(self._began)}-{self._attempts}")
            self._out[batch.key] = Out(batch, future, time.monotonic())

    def _heed(self, client: Client, out: Out) -> None:
        """Errors: AuditBroken, OSError."""
        try:
            done = msgspec.msgpack.decode(out.future.result(timeout=RESULT_S), type=Done)
        except Unfit as unfit:
            self._refuse(client, unfit.worker, unfit.reason)
            self.todo.appendleft(out.batch)
        except AuditBroken as broken:
            self._keep_disks(broken)
            raise
        except BatchFailed as error:
            self._failed(client, out.batch, str(error).splitlines()[0])
        except KilledWorker:
            self._failed(client, out.batch, f"all workers that had the batch {out.batch.key} died over it")
        except Exception as error:  # cancelled, lost, no scheduler: Dask has many words for it
            self._trouble(f"a batch was lost on the way ({type(error).__name__}); it is given out again")
            self.todo.appendleft(out.batch)
        else:
            self._keep(done)
        finally:
            out.future.release()

    def _keep(self, done: Done) -> None:
        """The evidence first: rows say that all of a batch is there. Errors: OSError."""
        self._failures[done.worker] = 0
        if done.key in keys_done(self.folder):
            return
        rows = on_our_clock(done, time.time())
        self.evidence.take(rows, done.witnesses)
        write_batch(self.folder, done.key, rows)
        merge(self.folder)

    def _failed(self, client: Client, batch: Batch, reason: str) -> None:
        self._trouble(reason)
        self._tries[batch.key] += 1
        if reason.startswith("worker "):
            name = reason.removeprefix("worker ").partition(":")[0]
            self._failures[name] += 1
            if self._failures[name] >= FAILURES:
                self._refuse(client, name, f"{FAILURES} batches in a row failed on it")
        if self._tries[batch.key] < TRIES:
            self.todo.append(batch)
        else:
            self._trouble(
                f"the batch {batch.key} ({batch.bounds} on {batch.profile}, {batch.kernel}) failed {TRIES} "
                "times and is left out; resume tries it again"
            )

    def _refuse(self, client: Client, name: str, reason: str) -> None:
        if name in self._refused:
            return
        self._refused[name] = reason
        self._trouble(f"worker {name} is refused: {reason}")
        publish_refusal(client, name, reason)
        info = workers_of(client)
        addresses = [address for address, one in info.items() if name_in(one) == name]
        client.retire_workers(addresses, close_workers=True, remove=True)

    def _trouble(self, sentence: str) -> None:
        self.progress.line(sentence)
        self._troubles = [*self._troubles, sentence][-TROUBLES:]

    def _keep_disks(self, broken: AuditBroken) -> None:
        place = self.folder / AUDIT_FAILED
        file = self.folder / f"{AUDIT_FAILED}.pack"
        file.write_bytes(broken.disks)
        if not place.exists():
            unpack(file, place)
        file.unlink()
        self._trouble(f"{broken} Both disks are in {shown(place)}")

    # --- what others see ---

    def _tell(self) -> None:
        """The state, by which others know that we are there; and the page now and then: never more than a
        twentieth of our time. What it costs is processor time: on a machine that leaves us little of it the
        page would be an hour old. Errors: OSError."""
        now = time.monotonic()
        if now - self._stated >= TELL_S:
            self.write_state(running=True)
            self._stated = now
        if now - self._told < max(TELL_S, 20 * self._page_s):
            return
        began_s = time.process_time()
        self.followups.look()
        if self.evidence.changed and now - self._summed > max(SUM_UP_S, 20 * self._page_s):
            self._sum_up()
        found = campaign(self.folder, running=True)
        write_page(self.folder, found, TELL_S)
        if self._out:  # else what is looked into was said when it began
            self.progress.line(progress_words(found))
        self._told = time.monotonic()
        self._page_s = time.process_time() - began_s

    def _sum_up(self) -> None:
        self.followups.note(self.evidence.sum_up(self._spent()))
        self._summed = time.monotonic()

    def look_into(self) -> None:
        """What is still to be learnt of new findings when all batches are done; not of a campaign that was
        stopped. Errors: NoResults, OSError."""
        if self.failure or (self.folder / STOP).exists():
            return
        if self.kept.asked.follow and experiment_folders(self.evidence.run):
            self._sum_up()
        while self.followups.busy and not (self.folder / STOP).exists():
            self.followups.look()
            self._tell()
            time.sleep(LOOK_S)

    def _spent(self) -> float:
        return self._spent_s + time.time() - self._began

    def write_state(self, running: bool) -> None:
        write_pretty(
            self.folder / STATE,
            State(
                time.time(), self._began, self._workers, self._spent_s, tuple(self._troubles), running=running
            ),
        )

    def finish(self) -> Campaign:
        """Errors: NoResults, OSError."""
        self.followups.end()
        self._workers = ()
        self.write_state(running=False)
        if self.evidence.changed:
            self.evidence.sum_up(self._spent())
        merge(self.folder, least=2)
        found = campaign(self.folder)
        write_page(self.folder, found)
        return found
