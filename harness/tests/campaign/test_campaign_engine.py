"""Workers by ssh and by a batch system: what they are started with, and what is said when none comes."""

import logging

import dask
import dask_jobqueue
import distributed
import pytest

from harness.campaign import engine
from harness.campaign.engine import connected, workers_of
from harness.campaign.file import CampaignFile
from harness.campaign.trouble import NoEngine


def asked(scheduler: str, tmp_path) -> CampaignFile:
    return CampaignFile(("random:4",), sample=4, slots=3, scheduler=scheduler, results=str(tmp_path))


def refused(wish: CampaignFile) -> str:
    with pytest.raises(NoEngine) as told, connected(wish):
        pass
    return str(told.value)


@pytest.fixture(autouse=True)
def _unchanged():
    """connected() sets Dask's configuration for the whole process."""
    with dask.config.set({}):
        yield


def test_what_a_host_said_last_is_told_where_no_worker_starts(monkeypatch, tmp_path):
    seen = {}

    def cluster(hosts, **options):
        # Dask waits for a line of the scheduler's own log, at the level INFO.
        seen.update(options, hosts=hosts, level=dask.config.get("distributed.logging.distributed"))
        logging.getLogger("distributed.deploy.ssh").info("no module named distributed")
        raise Exception("Worker failed to start")

    monkeypatch.setattr(distributed, "SSHCluster", cluster)
    said = refused(asked("ssh://one,two", tmp_path))
    assert "Worker failed to start" in said
    assert "  no module named distributed" in said
    assert seen["level"] == "info"
    assert seen["hosts"] == ["one", "one", "two"]
    assert seen["worker_options"]["n_workers"] == 3


def test_a_batch_system_that_is_not_here_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(engine, "find", lambda program: "")
    assert "this machine has no sbatch" in refused(asked("slurm", tmp_path))


def test_a_job_is_one_worker_that_may_have_children(monkeypatch, tmp_path):
    scripts = []
    monkeypatch.setattr(engine, "find", lambda program: program)
    monkeypatch.setattr(
        dask_jobqueue.SLURMCluster, "scale", lambda self, count: scripts.append((count, self.job_script()))
    )
    with connected(asked("slurm", tmp_path)):
        pass
    count, script = scripts[0]
    assert count == 3
    assert "--cpus-per-task=1" in script
    assert "--mem=2G" in script
    assert "--nthreads 1" in script
    assert "guest=1" in script
    assert f"{tmp_path}/jobs" in script
    prologue = next(line for line in script.splitlines() if "DASK_INTERNAL_INHERIT_CONFIG" in line)
    settings = dask.config.deserialize(prologue.partition("=")[2])
    assert settings["distributed.worker.daemon"] is False


def test_the_workers_are_those_that_the_scheduler_has(monkeypatch):
    """Though a timer of Dask has put an answer without workers in the place of ours."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.wait_for_workers(2)
        empty = client.sync(client.scheduler.identity, n_workers=0)
        monkeypatch.setattr(
            distributed.Client,
            "_scheduler_identity",
            property(lambda _: empty, lambda *_: None),
            raising=False,
        )
        assert not client.scheduler_info(n_workers=-1)["workers"]
        assert sorted(one["name"] for one in workers_of(client).values()) == [0, 1]
