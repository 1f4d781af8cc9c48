"""
What a scheduler and a head can do at most: a campaign whose experiments are sleep.

In:       how many numbers, workers and seconds.
Out:      rows as of a campaign; how many batches a second, and what the head itself needed for each.
Not here: experiments.

    python -m harness.campaign.simulation [--places 40] [--batches 4000] [--rows 600] [--seconds 0.5]

The scheduler, the head, its files and its page are the real ones; a batch makes its rows up and sleeps. A
worker is a process with ten places.
"""

import argparse
import contextlib
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
from distributed import Client, LocalCluster

from harness.campaign.batch import Done
from harness.campaign.batches import Batch, experiment_number, numbers
from harness.campaign.campaign import FILE, Build, Kept
from harness.campaign.engine import quiet, resources
from harness.campaign.file import CampaignFile
from harness.campaign.head import work_through
from harness.campaign.identity import here
from harness.campaign.results import campaign
from harness.campaign.rows import BROKEN, EQUAL, HOLDS, Row, Shown
from harness.campaign.table import FOLDER, Table
from harness.evidence.store import write_pretty
from harness.local.progress import Progress

BROKEN_PERCENT = 3
PLACES = 10  # of a process
EQUAL_PERCENT = 20  # of ACE's numbers of length 2


def made_rows(batch: Batch, worker: str = "made") -> tuple[Row, ...]:
    """Of every number one, the same each time but for the clock."""
    return tuple(_row(batch, number, worker) for number in numbers(batch))


def _row(batch: Batch, number: int, worker: str) -> Row:
    dice = random.Random(number)
    experiment = experiment_number(batch, number)
    row = Row(batch.bounds, number, batch.kernel, batch.profile, "", EQUAL, experiment)
    if dice.random() * 100 < EQUAL_PERCENT:
        return row
    states = dice.randrange(5, 60)
    found: tuple[Shown, ...] = ()
    if dice.random() * 100 < BROKEN_PERCENT:
        name = f"{batch.filesystem} durable: made up {dice.randrange(20)} (fsynced file)"
        found = (Shown(name, f"O:{states - 1}", states - 1, dice.randrange(1, 9)),)
    recovered = dice.randrange(1, states)
    return msgspec.structs.replace(
        row,
        workload=f"{batch.bounds.replace(':', '')}-{number:07d}",
        answer=BROKEN if found else HOLDS,
        operations=dice.randrange(4, 12),
        entries=states - 1,
        states=states,
        recovered=recovered,
        identical=(states - recovered) // 2,
        proven=states - recovered - (states - recovered) // 2,
        judged_holds=states * 10,
        judged_broken=len(found),
        found=found,
        checked=recovered // 2,
        unasked=recovered - recovered // 2,
        record_s=round(dice.uniform(0.01, 0.05), 4),
        recover_s=round(dice.uniform(0.05, 0.3), 4),
        judge_s=round(dice.uniform(0.001, 0.02), 4),
        ended=round(time.time(), 3),
        worker=worker,
    )


class Pretend:
    """The task. seconds: of sleep."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, raw: bytes) -> bytes:
        batch = msgspec.msgpack.decode(raw, type=Batch)
        time.sleep(self._seconds)
        return msgspec.msgpack.encode(
            Done(batch.key, made_rows(batch), {}, "made", "", self._seconds, time.time())
        )


def made_campaign(folder: Path, asked: CampaignFile) -> Kept:
    """Without kernels: only for tasks that need none."""
    (folder / FOLDER).mkdir(parents=True)
    builds = tuple(Build(one, each, "0" * 20, ()) for one in asked.kernels for each in asked.profiles)
    kept = Kept("made", str(folder / "made.toml"), asked, asked.guest, builds, (here(),), time.time())
    write_pretty(folder / FILE, kept)
    return kept


def of_threads(
    places: int, processes: bool = False
) -> Callable[[CampaignFile], contextlib.AbstractContextManager[Client]]:
    """A cluster with so many places, in this process, or in some of its own."""

    @contextlib.contextmanager
    def connect(_asked: CampaignFile) -> Iterator[Client]:
        quiet()
        threads = PLACES if processes else 1
        offered = {name: float(threads) for name in resources()}
        with (
            LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=-(-places // threads),
                threads_per_worker=threads,
                processes=processes,
                protocol="tcp",
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                memory_limit=0,
                resources=offered,
            ) as cluster,
            Client(cluster, set_as_default=False) as client,  # type: ignore[no-untyped-call]
        ):
            yield client

    return connect


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.campaign.simulation", description=__doc__)
    parser.add_argument("--places", type=int, default=40, help="for guests")
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=600, help="numbers of a batch")
    parser.add_argument("--seconds", type=float, default=0.0, help="of sleep of a batch")
    asked = parser.parse_args(words)
    with tempfile.TemporaryDirectory() as place, Progress() as progress:
        file = CampaignFile(("random:4",), sample=asked.batches * asked.rows, batch=asked.rows)
        folder = Path(place) / "made"
        made_campaign(folder, file)
        began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
        work_through(folder, progress, Pretend(asked.seconds), of_threads(asked.places, processes=True))
        spent, cpu = time.monotonic() - began, resource.getrusage(resource.RUSAGE_SELF).ru_utime - before
        begun = time.monotonic()
        found = campaign(folder)
        asked_s = time.monotonic() - begun
        begun = time.monotonic()
        with Table(folder) as table:
            table.rows("SELECT bounds, answer, count(*), sum(states) FROM experiments GROUP BY ALL")
        print(
            f"{asked.batches / spent:.1f} batches and {found.done / spent:.0f} numbers a second with "
            f"{asked.places} places; {1000 * cpu / asked.batches:.1f} ms of processor a batch; "
            f"{found.kept_bytes / found.done:.1f} bytes a number; all figures of {found.done:,} in "
            f"{asked_s:.2f} s, one query in {time.monotonic() - begun:.2f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
