"""A machine as the place of boots: what it tells of itself, what bpftrace prints, what is missing there."""

import contextlib
import json

import pytest

from harness.commands.perf import NoTools, require_tools_there
from harness.hosts.hosts import Host
from harness.perf import there
from harness.perf.boot import NotMeasured
from harness.perf.there import _running, read_maps, told
from reports.perf.bpftrace import BEGUN, script
from workloads.perf.experiment import select

FACTS = {
    "processor": "Made Up 3000",
    "processors": "12",
    "memory_kib": "65536",
    "host_kernel": "6.12.1",
    "load": "0.10 0.20 0.30",
    "governor": "performance ",
    "no_turbo": "1 ",
    "boost": "",
    "virtual": "none",
    "scheduler": "none",
    "requests": "1023 ",
    "write_cache": "write back ",
    "model": "Fast SSD ",
}


def said(**changed):
    return "\n".join(f"{name}\t{value}" for name, value in {**FACTS, **changed}.items())


@pytest.mark.parametrize(
    ("no_turbo", "boost", "turbo"),
    [("1", "", "off"), ("0", "", "on"), ("", "1", "on"), ("", "0", "off"), ("", "", "not told")],
)
def test_turbo_is_read_of_intels_driver_or_of_the_others(no_turbo, boost, turbo):
    """The one says that there is none, the others that there is."""
    assert told(said(no_turbo=no_turbo, boost=boost))["turbo"] == turbo


def test_facts_are_numbers_where_they_are_numbers():
    """By the names that a run in User Mode Linux has."""
    facts = told(said(governor=""))
    assert (facts["processors"], facts["memory_bytes"], facts["load"]) == (12, 64 << 20, [0.1, 0.2, 0.3])
    assert facts["governor"] == "none"
    assert facts["model"] == "Fast SSD"
    assert not {"no_turbo", "boost", "memory_kib"} & set(facts)


def maps(**data):
    return "\n".join(json.dumps({"type": "map", "data": {f"@{name}": one}}) for name, one in data.items())


STACKS = {
    "\nmemcpy+4\nbtrfs_log_inode+700\nbtrfs_sync_file+20\n": 7,
    "\nbtrfs_log_inode+12\nbtrfs_log_inode+30\n": 2,
    "\\n        worker_thread+1\\n        kthread+3\\n": 30,
    "\ndefault_idle+19\ndo_idle+1\n": 500,
    "": 100,
    "\\n": 20,
}


def test_stacks_are_shares_and_kprobes_are_times():
    """A function counts once for a stack, however often it is on it. A stack of the user's is none, and a
    processor without work is left out. The ends of lines are escaped once or, by bpftrace 0.23, twice."""
    text = maps(stacks=STACKS, btrfs_log_inode_total_time=2_500_000, btrfs_log_inode_calls=40)
    text += '\n{"type": "hist", "data": {"@btrfs_log_inode_time": []}}\nnot JSON\n'
    found = read_maps(text, ("btrfs_log_inode", "gone"), ("btrfs_log_inode",), "A", 3, "one")
    assert found.own == {"memcpy": 7, "btrfs_log_inode": 2, "worker_thread": 30}
    assert (found.total, found.under) == (39, {"btrfs_log_inode": 9, "gone": 0})
    assert (found.clocked, found.calls) == ({"btrfs_log_inode": 2.5}, {"btrfs_log_inode": 40})


def test_no_stacks_are_no_measurement():
    """With bpftrace's last words."""
    with pytest.raises(NotMeasured, match="no stacks: ERROR: no kprobes"):
        read_maps("ERROR: no kprobes\n", (), (), "A", 1, "one")


def test_it_is_measured_from_when_bpftrace_has_begun():
    """What it prints at its end is what counts; one that does not begin is told."""
    heard = []
    with _running(["sh", "-c", f"echo Attaching; echo {BEGUN}; cat >/dev/null; echo end"], heard):
        assert heard == []
    assert heard == ["end\n"]
    with (
        pytest.raises(NotMeasured, match=r"did not begin: .*no BTF"),
        _running(["sh", "-c", "echo ERROR: no BTF"], heard),
    ):
        pass


def test_the_script_says_that_it_has_begun_when_all_else_is_in_place():
    """bpftrace attaches its probes in their order."""
    text = script(("btrfs_log_inode",), 997)
    assert text.index("k:btrfs_log_inode") < text.index("profile:hz:997") < text.index(BEGUN)
    assert BEGUN not in script(("btrfs_log_inode",))
    assert "END" not in script((), 997)


class Connected:
    """Answers what `command -v` did not find."""

    def __init__(self, missing):
        self.missing = missing

    def run(self, script_text, timeout_s=60):
        asked = [line.split()[2] for line in script_text.splitlines() if line.startswith("command -v")]
        return "".join(f"{name}\n" for name in asked if name in self.missing).encode()


@pytest.mark.parametrize(
    ("kinds", "missing", "named"),
    [
        (("time",), ["dbench"], "lacks dbench,.*apt-get install dbench$"),
        (("time", "profile"), ["bpftrace", "dbench"], "lacks bpftrace, dbench,.*install bpftrace dbench$"),
        (("time",), ["bpftrace"], ""),
    ],
)
def test_programs_that_the_machine_lacks_are_named_with_their_packages(monkeypatch, kinds, missing, named):
    """All at once, before anything is built; those that no figure needs are not asked for."""

    @contextlib.contextmanager
    def connect(_host):
        yield Connected(missing)

    monkeypatch.setattr(there, "connect", connect)
    experiments = select(("dbench", "create-rename-fsync"))
    if named:
        with pytest.raises(NoTools, match=named):
            require_tools_there(Host("box", "box"), experiments, kinds)
    else:
        require_tools_there(Host("box", "box"), experiments, kinds)
