"""
Dask, which deals out the batches: a cluster of each kind, and what runs on its workers.

In:       what the file says of the engine; Luggage.
Out:      connected(), a Client whose workers know what they need; perform(), the task.
Not here: which batches and when (head.py), the work of one (batch.py), a worker on another machine
(worker.py).

Dask keeps nothing over a restart, may run a task twice, and loses results with the worker that holds them.
So nothing here is believed but the files of the campaign: what is not there is asked for again.

Each worker has one thread and one place for a guest (the resource `guest`), and says by resources which
filesystems it has the tools for: a batch goes to no other.
"""

import collections
import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import dask
import msgspec
from distributed import Client, LocalCluster, get_worker
from distributed.core import Status
from distributed.diagnostics.plugin import WorkerPlugin

from harness.campaign import luggage as bags
from harness.campaign.batch import examine
from harness.campaign.batches import Batch
from harness.campaign.file import JOBQUEUES, LOCAL, CampaignFile
from harness.campaign.identity import Identity, here
from harness.campaign.luggage import Luggage
from harness.campaign.trouble import BatchFailed, NoEngine, Unfit
from harness.local.packages import FILESYSTEMS, find, install_line, missing, search_path
from harness.local.processors import processors

PLUGIN = "powercut"
Task = Callable[[bytes], bytes]  # a Batch to its Done, both as msgpack
GUEST = "guest"
# A batch that fails costs its worker so long: or one bad machine would have failed all of them in seconds.
BACK_OFF_S = 5.0
SAID_LINES = 8
DEATH_S = 60  # after which a worker that was started for a head that is gone ends
JOB_GIB = 2  # of memory for each worker, where dask-jobqueue is told nothing else: a guest has 512 MiB
CONFIG = {
    "distributed.worker.daemon": False,  # a worker has children: the guests' process
    # By the wall clock: after a laptop slept, no worker would have been heard of for too long. One that dies
    # closes its connection, and one that is cut off loses it (distributed.comm.timeouts.tcp).
    "distributed.scheduler.worker-ttl": None,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.worker.profile.enabled": False,
    "distributed.comm.timeouts.connect": "30s",
    "distributed.logging": {"distributed": "critical"},
}


class Bag(WorkerPlugin):
    """Brings the luggage to each worker once, also to one that joins late."""

    name = PLUGIN

    def __init__(self, luggage: Luggage) -> None:
        self.raw = msgspec.msgpack.encode(luggage)

    def setup(self, worker: Any) -> None:
        """One that ssh or a batch system started may not look where Debian has mkfs and fsck."""
        os.environ["PATH"] = search_path()

    @property
    def luggage(self) -> Luggage:
        return msgspec.msgpack.decode(self.raw, type=Luggage)


# --- the head's side -----------------------------------------------------------------------------


def resources() -> dict[str, float]:
    """Of each worker of this machine."""
    return {GUEST: 1.0} | {filesystem: 1.0 for filesystem in FILESYSTEMS if not lacking(filesystem)}


def lacking(filesystem: str) -> str:
    """The line that installs what this machine has not for guests with it; "" when all is there. The kernel
    is built by the head."""
    needed = FILESYSTEMS[filesystem]
    absent = missing(needed)
    return install_line(absent) if absent else ""


def needed_by(batch: Batch) -> dict[str, float]:
    return {GUEST: 1.0, batch.filesystem: 1.0}


def slots_of(asked: CampaignFile) -> int:
    return len(processors()) if asked.slots is None else asked.slots


def quiet() -> None:
    """What goes wrong is told by the head; Dask's own log of it says the same at length."""
    dask.config.set(CONFIG)
    for name in ("distributed", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


@contextlib.contextmanager
def connected(asked: CampaignFile) -> Iterator[Client]:
    """Errors: NoEngine, OSError."""
    quiet()
    with contextlib.ExitStack() as stack:
        try:
            address = _address(asked, stack)
            client = Client(address, set_as_default=False, timeout="30s")  # type: ignore[no-untyped-call]
            yield stack.enter_context(client)
        except (OSError, TimeoutError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise NoEngine(f"there is no Dask scheduler at {asked.scheduler}: {error}") from error


def _address(asked: CampaignFile, stack: contextlib.ExitStack) -> Any:
    if asked.scheduler == LOCAL:
        return stack.enter_context(_local(asked))
    if asked.scheduler.startswith("ssh://"):
        return stack.enter_context(_by_ssh(asked))
    if asked.scheduler in JOBQUEUES:
        return stack.enter_context(_jobqueue(asked))
    return asked.scheduler


def _local(asked: CampaignFile) -> LocalCluster:
    host, _, port = asked.listen.rpartition(":")
    slots = slots_of(asked)
    return LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=slots,
        threads_per_worker=1,
        processes=True,
        host=host or "127.0.0.1",
        scheduler_port=int(port or 0),
        dashboard_address="127.0.0.1:0",
        scheduler_kwargs={"dashboard": False},
        memory_limit=0,
        resources=resources(),
        silence_logs=logging.CRITICAL,
    )


def _by_ssh(asked: CampaignFile) -> Any:
    """The first host has the scheduler, as SSHCluster wants it: this machine."""
    from distributed import SSHCluster  # noqa: PLC0415  it takes asyncssh

    hosts = asked.scheduler.removeprefix("ssh://").split(",")
    # Dask knows that a process on another machine has started by what its log says.
    spoken = dask.config.set({"distributed.logging": {"distributed": "info"}})
    with spoken, _heard("distributed.deploy.ssh") as said:
        try:
            return SSHCluster(
                [hosts[0], *hosts],
                worker_options={
                    "nthreads": 1,
                    "n_workers": slots_of(asked),
                    "memory_limit": "0",
                    "resources": resources(),
                    "death_timeout": DEATH_S,
                },
                scheduler_options={"dashboard": False},
                remote_python=asked.remote_python or None,
            )
        except Exception as error:  # of asyncssh, of Dask, or a bare Exception where a worker did not start
            last = "\n".join(f"  {line}" for line in said)
            raise NoEngine(
                f"no workers by {asked.scheduler}: {str(error) or type(error).__name__}. It needs a key "
                f"that ssh takes without a question, hosts that reach each other, and Powercut's environment "
                f"on each (remote_python). What was said last:\n{last}"
            ) from error


@contextlib.contextmanager
def _heard(logger_name: str) -> Iterator[collections.deque[str]]:
    """The last lines that a logger was given, which nobody else hears."""
    logger = logging.getLogger(logger_name)
    lines: collections.deque[str] = collections.deque(maxlen=SAID_LINES)
    before = logger.level, logger.propagate
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def _jobqueue(asked: CampaignFile) -> Any:
    """As dask-jobqueue's own configuration file says, but that a worker has one processor. Where it says
    nothing of them, a job is one worker."""
    import dask_jobqueue  # noqa: PLC0415

    kinds = {"htcondor": "HTCondorCluster", "oar": "OARCluster"}
    kind = getattr(dask_jobqueue, kinds.get(asked.scheduler, f"{asked.scheduler.upper()}Cluster"))
    if not find(command := kind.job_cls.submit_command.split()[0]):
        raise NoEngine(f'scheduler = "{asked.scheduler}": this machine has no {command}, which hands jobs in')
    own = f"jobqueue.{asked.scheduler}"
    cores = dask.config.get(f"{own}.cores", None) or 1
    memory = dask.config.get(f"{own}.memory", None) or f"{cores * JOB_GIB}GiB"
    offered = " ".join(f"{name}={value:g}" for name, value in resources().items())
    logs = dask.config.get(f"{own}.log-directory", None) or f"{asked.results}/jobs"
    before = dask.config.get(f"{own}.job-script-prologue", None) or []
    inherited = f"export DASK_INTERNAL_INHERIT_CONFIG={dask.config.serialize(CONFIG)}"  # as SSHCluster does
    try:
        cluster = kind(
            cores=cores,
            processes=cores,
            memory=memory,
            log_directory=logs,
            job_script_prologue=[*before, inherited],
            death_timeout=DEATH_S,
            worker_extra_args=["--no-dashboard", "--memory-limit", "0", "--resources", f'"{offered}"'],
            scheduler_options={"dashboard": False},
        )
        cluster.scale(slots_of(asked))
    except Exception as error:  # of Dask, or of the command that hands a job in
        raise NoEngine(f"no workers by {asked.scheduler}: {error}") from error
    return cluster


def publish(client: Client, luggage: Luggage, identity: Identity) -> None:
    """What each worker gets, and what one asks before it comes."""
    client.register_plugin(Bag(luggage), name=PLUGIN)
    known = {"identity": msgspec.to_builtins(identity), "profiles": list(luggage.profiles), "refused": {}}
    client.set_metadata([PLUGIN], known)  # type: ignore[no-untyped-call]


def publish_refusal(client: Client, name: str, reason: str) -> None:
    client.set_metadata([PLUGIN, "refused", name], reason)  # type: ignore[no-untyped-call]


def workers_of(client: Client) -> dict[str, Any]:
    """By address what the scheduler knows of each. Client.scheduler_info() asks, and then gives the answer
    that came last: now and then that of a timer of Dask, which asks for none of the workers.
    Errors: OSError, TimeoutError."""
    if client.scheduler is None:
        raise OSError("the connection to the scheduler is closed")
    return dict(client.sync(client.scheduler.identity, n_workers=-1)["workers"])  # type: ignore[no-untyped-call]


def name_in(info: Any) -> str:
    """Of a worker, from what the scheduler knows of it."""
    return named(info["name"])


def named(name: Any) -> str:
    """Dask numbers the workers that it starts."""
    return f"worker-{name}" if f"{name}".isdecimal() else f"{name}"


def submit(client: Client, task: Task, batch: Batch, attempt: str) -> Any:
    """Each attempt has a key of its own: a task that failed is remembered as failed."""
    return client.submit(
        task,
        msgspec.msgpack.encode(batch),
        key=f"{batch.key}-{attempt}",
        resources=needed_by(batch),
        retries=0,
        pure=False,
    )


# --- the worker's side ---------------------------------------------------------------------------


def perform(raw: bytes) -> bytes:
    """A batch to its Done, both as msgpack. Errors: Unfit, BatchFailed, AuditBroken."""
    batch = msgspec.msgpack.decode(raw, type=Batch)
    worker = get_worker()
    name = named(worker.name)
    require_fit(worker, name, batch)
    try:
        done = examine(batch, name, lambda: worker.status in (Status.running, Status.paused))
    except BatchFailed as error:
        time.sleep(BACK_OFF_S)
        raise BatchFailed(f"worker {name}: {error}") from None
    return msgspec.msgpack.encode(done)


def require_fit(worker: Any, name: str, batch: Batch) -> None:
    """Errors: Unfit."""
    bag = worker.plugins.get(PLUGIN)
    if bag is None:
        raise Unfit(name, "it did not get what the head sends to each worker")
    luggage = bag.luggage
    if here() != luggage.identity:
        raise Unfit(name, f"it is {here()}, and the head is {luggage.identity}")
    if line := lacking(batch.filesystem):
        raise Unfit(name, f"it has no tools for {batch.profile}: {line}")
    try:
        bags.unpacked(luggage)
    except OSError as error:
        raise Unfit(name, f"the kernels have no place in its cache: {error}") from None
