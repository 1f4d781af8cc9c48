"""The head: whatever becomes of a task, each batch is there at the end, once."""

import contextlib
import time

import msgspec
import pytest
from distributed.scheduler import KilledWorker

from harness.campaign.batch import Done
from harness.campaign.batches import Batch
from harness.campaign.campaign import STOP, read, read_state
from harness.campaign.file import CampaignFile
from harness.campaign.head import FAILURES, TRIES, Head, on_our_clock, work_through
from harness.campaign.luggage import Luggage
from harness.campaign.results import campaign
from harness.campaign.simulation import Pretend, made_campaign, made_rows, of_threads
from harness.campaign.table import keys_done, write_batch
from harness.campaign.trouble import AuditBroken, BatchFailed, Unfit
from harness.evidence.pack import pack
from harness.evidence.store import RunInUse, only_one
from harness.local.progress import Progress
from harness.runs.run import WorkerFailed

ASKED = CampaignFile(("random:4",), sample=60, batch=20)
AT_ONCE = Pretend(0)


class Future:
    def __init__(self, outcome):
        self._outcome = outcome

    def done(self):
        return True

    def result(self, timeout):
        outcome = self._outcome() if callable(self._outcome) else self._outcome
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def release(self):
        pass


class Engine:
    """A client whose tasks go as told. outcomes: of the tasks in order; after them all go well."""

    def __init__(self, *outcomes, workers=("one", "two")):
        self.outcomes, self.workers = list(outcomes), list(workers)
        self.batches, self.keys = [], []
        self.tools = ("guest", "btrfs")

    @contextlib.contextmanager
    def connect(self, _asked):
        yield self

    def submit(self, task, raw, key, **_how):
        batch = msgspec.msgpack.decode(raw, type=Batch)
        self.batches.append(batch.key)
        self.keys.append(key)
        return Future(self.outcomes.pop(0) if self.outcomes else lambda: task(raw))

    @property
    def scheduler(self):
        return self

    def sync(self, asked, **how):
        return asked(**how)

    def identity(self, n_workers):
        known = {"nthreads": 1, "resources": dict.fromkeys(self.tools, 1)}
        return {"workers": {f"tcp://{one}": {"name": one, **known} for one in self.workers}}

    def retire_workers(self, addresses, **_how):
        self.workers = [one for one in self.workers if f"tcp://{one}" not in addresses]

    def register_plugin(self, plugin, name):
        self.luggage = plugin.luggage

    def set_metadata(self, keys, value):
        self.said = keys, value


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.campaign.head.LOOK_S", 0.0)
    monkeypatch.setattr("harness.campaign.head.packed", lambda *_: None)
    monkeypatch.setattr(
        "harness.campaign.engine.Bag", lambda luggage: type("Bag", (), {"luggage": luggage})()
    )
    monkeypatch.setattr("harness.campaign.head.publish", lambda *_: None)
    made_campaign(tmp_path / "made", ASKED)
    return tmp_path / "made"


def go(folder, engine, task=AT_ONCE):
    return work_through(folder, Progress(quiet=True), task, engine.connect)


def test_a_campaign_is_whole_when_all_batches_are_there(folder):
    engine = Engine()
    found = go(folder, engine)
    assert (found.state, found.done, found.drawn) == ("whole", 60, 60)
    assert len(engine.batches) == 3


def test_what_is_there_is_not_asked_for_again(folder):
    kept = made_batches(folder)
    write_batch(folder, kept[1].key, made_rows(kept[1]))
    engine = Engine()
    assert go(folder, engine).done == 60
    assert kept[1].key not in engine.batches


@pytest.mark.parametrize(
    "trouble",
    [
        KilledWorker("task", None, 3),
        BatchFailed("worker one: the scratch folder is full"),
        TimeoutError(),
        RuntimeError("the scheduler has gone"),
        Unfit("one", "it is another Powercut"),
    ],
)
def test_a_batch_that_is_lost_is_given_out_again_under_another_key(folder, trouble):
    engine = Engine(trouble)
    assert go(folder, engine).state == "whole"
    assert len(engine.batches) == 4
    assert len(set(engine.keys)) == 4


def test_a_batch_that_comes_twice_is_kept_once(folder):
    batch = made_batches(folder)[0]
    head = Head(folder, made_kept(folder), Progress(quiet=True))
    head.prepare()
    head._keep(Done(batch.key, made_rows(batch), {}, "one", "", 1.0, time.time()))
    first = (folder / "batches" / f"{batch.key}.parquet").stat()
    head._keep(Done(batch.key, made_rows(batch), {}, "two", "", 1.0, time.time()))
    assert (folder / "batches" / f"{batch.key}.parquet").stat().st_ino == first.st_ino


def test_a_head_whose_pages_cost_much_says_all_the_same_that_it_is_there(folder):
    """Seen on a machine that left it little of the processor: the state was an hour old."""
    head = Head(folder, made_kept(folder), Progress(quiet=True))
    head.prepare()
    head._page_s, head._stated = 1000.0, time.monotonic() - 60
    head._told = time.monotonic() - 60
    head._tell()
    state = read_state(folder)
    assert state is not None
    assert time.time() - state.updated < 30
    assert not (folder / "report" / "index.html").exists()


def test_a_worker_that_is_refused_is_sent_away_and_named(folder):
    engine = Engine(Unfit("one", "it is powercut 0.1"))
    found = go(folder, engine)
    assert engine.workers == ["two"]
    assert "worker one is refused: it is powercut 0.1" in found.troubles


def test_a_worker_on_which_several_batches_fail_is_sent_away(folder):
    engine = Engine(*[BatchFailed("worker one: disk full")] * FAILURES)
    assert go(folder, engine).state == "whole"
    assert engine.workers == ["two"]


def test_a_batch_that_always_fails_is_left_out_and_the_campaign_is_not_whole(folder, monkeypatch):
    monkeypatch.setattr("harness.campaign.head.FAILURES", 100)
    poison = made_batches(folder)[0].key

    def task(raw):
        if msgspec.msgpack.decode(raw, type=Batch).key == poison:
            raise KilledWorker("task", None, 3)
        return AT_ONCE(raw)

    engine = Engine()
    found = go(folder, engine, task)
    assert engine.batches.count(poison) == TRIES
    assert (found.state, found.done, found.exit != 0) == ("stopped", 40, True)
    assert "left out" in found.troubles[-1]


def test_batches_that_no_worker_has_tools_for_are_told(folder):
    engine = Engine()
    engine.tools = ("guest", "xfs")
    assert any("no worker has the tools of btrfs" in one for one in go(folder, engine).troubles)


def test_without_workers_on_this_machine_the_campaign_ends_with_the_reason(folder, monkeypatch):
    monkeypatch.setattr("harness.campaign.head.ALONE_S", -1.0)
    with pytest.raises(WorkerFailed, match="no worker is left"):
        go(folder, Engine(workers=()))


def test_a_stop_lets_what_is_under_way_end(folder):
    def task(raw):
        (folder / STOP).touch()
        return AT_ONCE(raw)

    found = go(folder, Engine(workers=("one",)), task)
    assert found.state == "stopped"
    assert 20 <= found.done < 60
    assert not read_state(folder).running


def test_a_proven_answer_that_was_wrong_ends_the_campaign_and_both_disks_are_kept(folder, tmp_path):
    disks = tmp_path / "disks"
    disks.mkdir()
    (disks / "now").write_bytes(b"now")
    pack(disks, tmp_path / "disks.pack")
    engine = Engine(AuditBroken("it answers otherwise.", (tmp_path / "disks.pack").read_bytes()))
    with pytest.raises(AuditBroken):
        go(folder, engine)
    assert (folder / "audit-failed" / "now").read_bytes() == b"now"
    assert campaign(folder).state == "stopped"


def test_a_worker_whose_clock_is_wrong_is_put_right(folder):
    rows = made_rows(made_batches(folder)[0])
    done = Done("key", rows, {}, "one", "", 1.0, sent=time.time() - 7200)
    moved = [new.ended - old.ended for new, old in zip(on_our_clock(done, time.time()), rows, strict=True)]
    assert all(7190 < one < 7210 or one == 0 for one in moved)
    assert on_our_clock(msgspec.structs.replace(done, sent=time.time()), time.time()) == rows


def test_two_heads_on_one_folder_are_refused(folder):
    with only_one(folder), pytest.raises(RunInUse, match="in use by process"):
        go(folder, Engine())


def test_the_real_scheduler_does_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.campaign.head.packed", no_luggage)
    made_campaign(tmp_path / "made", ASKED)
    found = work_through(tmp_path / "made", Progress(quiet=True), AT_ONCE, of_threads(2))
    assert (found.state, found.done) == ("whole", 60)
    assert len(keys_done(tmp_path / "made")) == 3


def no_luggage(identity, keys, profiles, name):
    return Luggage(identity, {}, "", b"", profiles, name)


def made_kept(folder):
    return read(folder)


def made_batches(folder):
    return made_kept(folder).batches()
