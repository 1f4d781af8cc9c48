"""
What the long runs share: runs of the main job into a folder that goes with the test, a guest at hand.

In:       pytest options --profile, --kernel, --kills, --seed, --engine, --base, --replay-log, --keep.
Out:      fixtures `machine`, `machine_disks`, `main_job`, `keeper_for`, `profile_names`, `kernel_word`.
Not here: the kernels (built once a machine, kernel/), what is expected (the tests, known.py).
"""

import contextlib
from pathlib import Path

import pytest

from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES, RunSpec, run
from harness.suite.machine import monitor
from harness.suite.machine.machine import Machine
from harness.suite.smallest import KEPT, table
from harness.suite.variants import ROWS, lines
from kernel.build import build
from oracles.profiles import profile
from workloads.library import select


def pytest_addoption(parser):
    parser.addoption("--profile", default="btrfs,ext4,xfs", help="profiles of test_crash.py")
    parser.addoption("--kernel", default="6.12", help="the stock kernel")
    parser.addoption("--kills", type=int, default=100, help="of test_chaos.py")
    parser.addoption("--seed", type=int, default=0, help="of test_chaos.py")
    parser.addoption("--engine", default="", help="of test_install.py: a container engine, as podman")
    parser.addoption(
        "--base", default="", help="of test_install.py: the image that the Containerfile begins with"
    )
    parser.addoption(
        "--replay-log", default="", help="of test_explore.py: src/log-writes/replay-log of a built fstests"
    )
    parser.addoption("--traced", default="*", help="of test_traced.py: workloads, as a glob of THEME/NAME")
    parser.addoption(
        "--machine", default="", help="a folder where `python -m harness.suite.machine start` has started one"
    )
    parser.addoption("--keep", default="", help="folder whose rows test_minimize.py takes as they are")


def pytest_terminal_summary(terminalreporter, config):
    folder = config.stash.get(KEPT, None)
    for line in table(folder) if folder else ():
        terminalreporter.write_line(line)
    if rows := config.stash.get(ROWS, []):
        for line in lines(rows):
            terminalreporter.write_line(line)


def pytest_generate_tests(metafunc):
    if "profile_name" in metafunc.fixturenames:
        names = metafunc.config.getoption("--profile").split(",")
        metafunc.parametrize("profile_name", names)


@pytest.fixture(scope="session")
def machine(request, tmp_path_factory):
    """The machine that is only reached by ssh, for all tests of a run."""
    if folder := request.config.getoption("--machine"):
        yield Machine(Path(folder))
        return
    with workspace() as scratch, Machine(scratch.path / "machine", scratch.path) as started:
        yield started


@pytest.fixture(scope="session")
def machine_disks(machine):
    """The folder with a file for each of its disks, by serial number."""
    said = monitor.ask(machine.folder, "query-block")
    files = [Path(one["inserted"]["file"]) for one in said if one["device"] == "pcvirtio0"]
    return files[0].parent


@pytest.fixture(scope="session")
def kernel_word(request):
    return request.config.getoption("--kernel")


@pytest.fixture(scope="session")
def stock_kernel(kernel_word):
    """Built, when no earlier run on this machine has built it; progress goes to the terminal."""
    with Progress() as progress:
        return build(kernel_word, progress.building(kernel_word))


@pytest.fixture
def main_job(tmp_path):
    """main_job(workload names, profile names, kernel, guest) -> (folder, Summary): what `powercut run`
    does."""

    def do(names, profiles, kernel, guest="uml"):
        with Progress() as progress:
            chosen = tuple(profile(name) for name in profiles)
            run_spec = RunSpec(select(tuple(names)), chosen, (kernel,), guest=guest)
            return run(run_spec, tmp_path / "results", progress)

    return do


@pytest.fixture
def keeper_for(stock_kernel):
    """keeper_for(profile) -> a context with (guest_slot, scratch folder with a pristine image)."""

    @contextlib.contextmanager
    def open_keeper(one):
        spec = GuestSpec(Path(stock_kernel.path), agent_binary(), one.size_bytes, LOG_BYTES)
        with workspace() as space, GuestSlot(spec, space) as guest_slot:
            make_filesystem(one, space.path / "pristine")
            yield guest_slot, space.path

    return open_keeper
