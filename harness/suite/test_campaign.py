"""
Campaigns that are killed, and campaigns that find no room: `tox run -e campaign`.

In:       the stock kernel; --kills and --seed: how many kills (20 unless it is said), and the seed of who and
          when.
Out:      that a campaign, gone on with until it is done, has the same table as an undisturbed one, byte for
          byte; that nothing is left behind; a table of what was killed.
Not here: the head with made up tasks (harness/tests/campaign/), what a run does (test_chaos.py).

Four workers, whatever the processors. The table of all verdicts is the same in every campaign of a file. The
numbers of states are, too, but of a few: a log now and then has an entry more or less on a busy machine.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from harness.campaign.campaign import read
from harness.campaign.table import keys_done
from harness.evidence.store import PARTIAL
from harness.local.root import ROOT
from harness.suite.test_chaos import Life, all_gone, command_line, is_checker

pytestmark = pytest.mark.campaign

FILE = """\
bounds = ["ace:1", "random:6"]
sample = 30
kernels = ["{kernel}"]
profiles = ["xfs", "ext4-fast-commit"]
batch = 5
witnesses = 2
slots = 4
follow = []
"""
VICTIMS = ("head", "worker", "experiments", "guest", "checker")
WEIGHTS = (3, 7, 4, 5, 1)
EVERY_S = (1.0, 6.0)  # between two kills: a batch is hardly ever done in the first
OTHER_LOGS = 0.1  # of the rows; 9 of 294 of btrfs on a machine with little to do
HEADS_MAX = 5  # of the kills: each costs all batches under way


def file_in(folder, kernel, **changed):
    path = folder / "kills.toml"
    path.write_text(
        FILE.format(kernel=kernel) + "".join(f"{key} = {value}\n" for key, value in changed.items())
    )
    return path


def tables(folder, campaign):
    """The verdicts of all, and all that is counted, by lines."""
    texts = []
    for name, options in (("verdicts", ("--verdicts-only",)), ("counted", ())):
        target = folder / f"{name}.csv"
        status, said = Life("campaign", "report", str(campaign), "--csv", str(target), *options).end()
        assert status == 0, said
        texts.append(target.read_bytes())
    return texts[0], texts[1].splitlines()


def differing(counted, undisturbed):
    """Rows with other numbers. Their logs were recorded otherwise: the verdicts are the same all the same."""
    assert len(counted) == len(undisturbed)
    return [pair for pair in zip(counted, undisturbed, strict=True) if pair[0] != pair[1]]


@pytest.fixture(scope="session")
def undisturbed_tables(tmp_path_factory, kernel_word, stock_kernel):
    folder = tmp_path_factory.mktemp("undisturbed")
    status, said = Life("campaign", "start", str(file_in(folder, kernel_word)), "--quiet").end()
    assert status == 1, said
    found = tables(folder, folder / "campaigns" / "kills")
    assert found[0].count(b"\n") == 1 + 4 * 30
    return found


def children(pid):
    """Of all its threads: workers are started by the thread that talks to the scheduler."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in task.read_text().split()]
    return found


def drawn(draw, killed):
    """Who is next: it is waited for, or those that are always there would be hit alone."""
    [victim] = draw.choices(VICTIMS, WEIGHTS)
    return "guest" if victim == "head" and killed["head"] >= HEADS_MAX else victim


def find(life, victim, draw):
    """A process of that kind, 0 when there is none."""
    if victim == "head":
        return life.process.pid
    workers = [pid for pid in children(life.process.pid) if b"spawn_main" in command_line(pid)]
    if victim == "worker":
        return draw.choice(workers) if workers else 0
    below = [pid for worker in workers for pid in children(worker) if b"spawn_main" in command_line(pid)]
    if victim == "experiments":
        return draw.choice(below) if below else 0
    found = []
    for pid in (each for one in below for each in children(one)):
        line = command_line(pid)
        if (b"umid=guest" in line) if victim == "guest" else is_checker(line):
            found.append(pid)
    return draw.choice(found) if found else 0


@pytest.mark.timeout(3600)
def test_a_campaign_that_is_killed_again_and_again_has_the_table_of_an_undisturbed_one(
    tmp_path, kernel_word, undisturbed_tables, request, capsys
):
    kills = request.config.getoption("--kills") if request.config.getoption("--kills") != 100 else 20
    draw = random.Random(request.config.getoption("--seed"))
    began, killed, wrong, heads = time.monotonic(), Counter(), [], 0
    campaign = tmp_path / "campaigns" / "kills"
    words = ("start", str(file_in(tmp_path, kernel_word)))
    while True:
        life = Life("campaign", *words, "--quiet")
        heads += 1
        due, victim = time.monotonic() + 5, drawn(draw, killed)
        while life.lives():
            time.sleep(0.05)
            life.look()
            if time.monotonic() < due or killed.total() >= kills or not (campaign / "campaign.json").exists():
                continue
            if pid := find(life, victim, draw):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed[victim] += 1
                due, victim = time.monotonic() + draw.uniform(*EVERY_S), drawn(draw, killed)
        status, said = life.end()
        wrong += [f"life {heads}: left behind: {each}" for each in all_gone(life, None)]
        words = ("resume", str(campaign))
        if status != -signal.SIGKILL and len(keys_done(campaign)) == len(read(campaign).batches()):
            break
        assert heads < kills + 10, said
    with capsys.disabled():
        told = ", ".join(f"{victim} {killed[victim]}" for victim in VICTIMS)
        print(f"\ncampaign: {killed.total()} kills ({told}), {heads} heads; {time.monotonic() - began:.0f} s")
    assert status == 1, said
    assert "Traceback" not in said
    verdicts, counted = tables(tmp_path, campaign)
    assert verdicts == undisturbed_tables[0]
    others = differing(counted, undisturbed_tables[1])
    with capsys.disabled():
        print(f"of {len(counted) - 1} rows, {len(others)} with other numbers of states")
        print("".join(f"  {mine.decode()}\n  {theirs.decode()}\n" for mine, theirs in others))
    assert len(others) <= OTHER_LOGS * len(counted)
    assert wrong == []
    assert not list(campaign.rglob(f"*{PARTIAL}"))


@pytest.fixture
def small_disk(tmp_path):
    """A filesystem of its own for the campaign."""
    if os.geteuid():
        pytest.skip("mounting a small tmpfs for results takes root")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600M", "powercut-campaign", place], check=True)
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.timeout(1800)
def test_a_full_disk_ends_a_campaign_that_goes_on_when_there_is_room(
    small_disk, tmp_path, kernel_word, undisturbed_tables
):
    file = file_in(small_disk, kernel_word)
    campaign = small_disk / "campaigns" / "kills"
    life = Life("campaign", "start", str(file), "--quiet")
    while life.lives() and not keys_done(campaign):
        time.sleep(0.05)
    fill = small_disk / "fill"
    with contextlib.suppress(OSError), fill.open("wb", buffering=0) as hole:
        while True:
            hole.write(bytes(1 << 16))
    status, said = life.end()
    assert status == 3, said
    assert "No space left" in said
    assert "Traceback" not in said
    assert all_gone(life, None) == []
    fill.unlink()
    status, said = Life("campaign", "resume", str(campaign), "--quiet").end()
    assert status == 1, said
    verdicts, counted = tables(tmp_path, campaign)
    assert verdicts == undisturbed_tables[0]
    assert len(differing(counted, undisturbed_tables[1])) <= OTHER_LOGS * len(counted)


@pytest.mark.timeout(1800)
def test_a_machine_without_room_for_guests_ends_the_campaign_with_the_reason(tmp_path, kernel_word):
    """The scratch folders of guests are in /dev/shm: no finding comes of one that is full."""
    if os.geteuid():
        pytest.skip("a small /dev/shm of its own takes root")
    script = 'mount -t tmpfs -o size=8M powercut-campaign /dev/shm && exec "$@"'
    file = file_in(tmp_path, kernel_word)
    life = Life("campaign", "start", str(file), "--quiet", prefix=("unshare", "-m", "sh", "-c", script, "sh"))
    status, said = life.end()
    assert status == 3, said
    assert "Traceback" not in said
    assert "no worker is left" in said or "is full" in said or "UNKNOWN" in said, said
    assert all_gone(life, None) == []
    shutil.rmtree(tmp_path / "campaigns")


@pytest.mark.timeout(600)
def test_a_second_head_in_one_folder_is_refused(tmp_path, kernel_word, stock_kernel):
    first = Life("campaign", "start", str(file_in(tmp_path, kernel_word)), "--quiet")
    campaign = tmp_path / "campaigns" / "kills"
    while first.lives() and not (campaign / ".lock").exists():
        time.sleep(0.05)
    status, said = Life("campaign", "resume", str(campaign), "--quiet").end()
    assert (status, f"in use by process {first.process.pid}" in said) == (3, True), said
    status, said = Life("campaign", "stop", str(campaign)).end()
    assert status == 0, said
    assert first.end()[0] in (1, 3)
    assert all_gone(first, None) == []


# --- workers on other machines -------------------------------------------------------------------

BRIDGE, NETWORK = "powercut0", "10.99.7"
OTHERS = """\
bounds = ["ace:1"]
sample = 24
kernels = ["{kernel}"]
profiles = ["btrfs", "xfs"]
batch = 3
slots = 0
follow = []
listen = "10.99.7.1:8786"
"""
HEAD = f"tcp://{NETWORK}.1:8786"


def ip(*words):
    subprocess.run(["ip", *words], check=True)


@pytest.fixture
def networks():
    """Three network namespaces that reach this one, and each other, by a bridge."""
    if os.geteuid():
        pytest.skip("network namespaces take root")
    names = [f"powercut-{number}" for number in (1, 2, 3)]
    try:
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for number, name in enumerate(names, 1):
            ip("netns", "add", name)
            ip("link", "add", f"powercut0v{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"powercut0v{number}", "master", BRIDGE, "up")
            ip("-n", name, "addr", "add", f"{NETWORK}.{10 + number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False, stderr=subprocess.DEVNULL)


def machine(network, home, *options, without=""):
    """A worker in that network, with a home and a cache of its own. without: a program that it has not."""
    home.mkdir()
    hidden = f"mount --bind /dev/null {without} && " if without else ""
    script = f'{hidden}exec env HOME={home} XDG_CACHE_HOME={home}/.cache POWERCUT_CACHE={home}/cache "$@"'
    prefix = ("ip", "netns", "exec", network, "unshare", "-m", "sh", "-c", script, "sh")
    words = ("worker", HEAD, "--slots", "1", "--name", home.name, "--wait", "60", *options)
    return Life("campaign", *words, prefix=prefix)


@pytest.mark.timeout(1800)
def test_three_machines_with_homes_of_their_own_work_for_one_head(
    tmp_path, kernel_word, networks, stock_kernel
):
    """One lacks a tool, one loses its network for a while; the head is killed and started again."""
    file = tmp_path / "others.toml"
    file.write_text(OTHERS.format(kernel=kernel_word))
    campaign = tmp_path / "campaigns" / "others"
    first = Life("campaign", "start", str(file))
    workers = [machine(network, tmp_path / f"m{at}") for at, network in enumerate(networks[:2], 1)]
    workers.append(machine(networks[2], tmp_path / "m3", without="/usr/sbin/mkfs.xfs"))
    until(lambda: len(keys_done(campaign)) >= 2 or not first.lives())
    assert first.lives(), first.end()
    os.kill(first.process.pid, signal.SIGKILL)
    first.end()
    second = Life("campaign", "resume", str(campaign))
    until(lambda: len(keys_done(campaign)) >= 6 or not second.lives())
    ip("link", "set", "powercut0v2", "down")
    time.sleep(60)
    ip("link", "set", "powercut0v2", "up")
    status, said = second.end()
    assert status == 0, said
    text = tmp_path / "text.json"
    query = "SELECT worker, profile, count(*) AS n FROM experiments WHERE ended > 0 GROUP BY ALL"
    status, told = Life("campaign", "report", str(campaign), "--sql", query).end()
    assert status == 0, told
    text.write_text(told)
    found = msgspec.json.decode(told.encode())
    assert {one["worker"] for one in found} == {"m1-0", "m2-0", "m3-0"}
    assert not [one for one in found if one["worker"] == "m3-0" and one["profile"] == "xfs"]
    ended = [worker.end() for worker in workers]
    assert [status for status, _ in ended] == [0, 0, 0], ended
    assert "xfsprogs" in ended[2][1]
    for at in (1, 2, 3):  # the kernel and the agent came by hash
        assert list((tmp_path / f"m{at}" / "cache" / "builds").glob("*/provenance.json"))
    for worker in workers:
        assert all_gone(worker, None) == []


@pytest.mark.timeout(600)
def test_a_worker_of_another_version_is_refused_by_name(tmp_path, kernel_word, stock_kernel):
    file = tmp_path / "others.toml"
    file.write_text(OTHERS.format(kernel=kernel_word).replace(f"{NETWORK}.1", "127.0.0.1"))
    head = Life("campaign", "start", str(file))
    other = tmp_path / "other"
    shutil.copytree(ROOT, other, ignore=shutil.ignore_patterns(".git", ".venv*", "results", ".tox"))
    with (other / "oracles" / "durable.py").open("a") as source:
        source.write("# another\n")
    words = ("campaign", "worker", "tcp://127.0.0.1:8786", "--slots", "1", "--name", "old", "--wait", "60")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness.commands.main", *words],
        env={**os.environ, "PYTHONPATH": str(other)},
        cwd=other,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "worker old is refused: this is powercut" in done.stderr
    head.process.send_signal(signal.SIGTERM)
    head.end()
    assert all_gone(head, None) == []


def until(holds, seconds=600):
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.2)
