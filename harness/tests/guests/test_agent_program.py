"""
The agent's program without a guest: its calls and its walk on a filesystem of this machine, its frames.

Those of aarch64 must give what those of x86_64 give, byte by byte. What that shows, and what it cannot show,
agents.py says.
"""

import contextlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from harness.guests.agent_binary import COMPILE, CROSS_COMPILER, OURS, SOURCE
from harness.guests.interface import GuestTrouble
from harness.guests.machine import MachineGuest
from harness.guests.spec import GuestSpec
from harness.hosts.agent import ARCHITECTURES
from harness.local.workspace import Workspace
from harness.stages.record import program
from harness.tests.guests.agents import emulator_of, loops_work, require, words_of
from kernel.kernel import MachineArch
from oracles.profiles import profile
from workloads.text import parse

KIB = 1 << 10
CALLS = """
setup
  mkdir A
  creat A/foo
run
  write A/foo 0 200K
  pwrite A/direct 0 16K direct
  pwrite A/dsync 0 5000 dsync
  pwrite A/sync 0 5000 sync
  append A/foo 70001
  mmapwrite A/foo 20K 4K
  mmapwrite A/foo 100K 3000
  msync A/foo 20K 4K
  msync A/foo
  truncate A/foo 150001
  fallocate A/foo punch-hole 32K 8K
  fallocate A/foo zero-range 64K 8K
  write A/ahead 0 4K
  fallocate A/ahead keep-size 0 64K
  fsync A/foo
  fdatasync A/foo
  sync_file_range A/foo 0 4K
  link A/foo A/link
  symlink foo A/symlink
  mknod A/null chr 1:3
  mkfifo A/fifo
  open A/kept @kept creat
  unlink A/kept
  close @kept
  tmpfile A @unnamed
  write @unnamed 0 4K
  link @unnamed A/named
  close @unnamed
  rename A/direct A/renamed
  rename A/renamed A/dsync exchange
  rename A/foo A/sync noreplace
  mkdir A/empty
  rmdir A/empty
  rmdir A
  setxattr A/foo user.a value
  setxattr A/foo user.b other
  removexattr A/foo user.a
  removexattr A/foo user.a
  chmod A/foo 600
  chown A/foo 1000:1000
  utimes A/foo 999999999
  setfacl A/foo u::rw-,u:1000:r--,g::r--,m::r--,o::---
  chattr A/ahead +A
  creat A/copy
  copyrange A/foo A/copy 0 16K 0
  fill A/full 64K
  syncfs
"""
# Shows the same file whatever the size of a page is; only the offset of the mapping differs.
MAPPED = """
run
  write foo 0 256K
  mmapwrite foo 20K 4K
  mmapwrite foo 200001 5000
  msync foo 20K 4K
  msync foo
"""


@pytest.fixture(scope="module")
def calls_here(tmp_path_factory):
    """Of an architecture the words that start it; compiled once."""
    folder = tmp_path_factory.mktemp("calls")
    known = {}

    def made(architecture: MachineArch) -> list[str]:
        if architecture not in known:
            require(architecture)
            compiler = COMPILE[0] if architecture == OURS else CROSS_COMPILER
            sources = [*sorted(SOURCE.glob("*.c")), Path(__file__).with_name("calls_here.c")]
            wraps = ("-Dmain=agent_main", "-Wl,--wrap=sysconf", "-Wl,--wrap=mmap", f"-I{SOURCE}")
            binary = folder / architecture
            words = [compiler, *COMPILE[1:], "-O0", *wraps, *map(str, sources), "-o", str(binary)]
            subprocess.run(words, check=True)
            known[architecture] = [*emulator_of(architecture), str(binary)]
        return known[architecture]

    return made


def done(words: list[str], text: str, folder: Path, page_bytes: int = 0) -> dict:
    """Results and tree, on a new ext4 of a loop device."""
    image = folder / "image"
    image.unlink(missing_ok=True)
    with image.open("wb") as file:
        file.truncate(32 << 20)
    uuid = "00000000-0000-4000-8000-000000000001"
    subprocess.run(
        ["mkfs.ext4", "-q", "-F", "-U", uuid, "-E", f"hash_seed={uuid},lazy_itable_init=0", image], check=True
    )
    script = 'set -e; mount -o loop "$0" /mnt; status=0; "$@" || status=$?; umount /mnt; exit $status'
    run = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script, str(image), *words],
        input=program(profile("ext4"), parse(text)).encode(),
        env=os.environ | ({"PAGE_BYTES": str(page_bytes)} if page_bytes else {}),
        capture_output=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.skipif(not loops_work(), reason="loop devices need root and /dev/loop-control")
@pytest.mark.parametrize("architecture", [one for one in ARCHITECTURES if one != OURS])
def test_calls_and_walk_are_those_of_x86_64(calls_here, tmp_path, architecture):
    """Every result, and every field of the tree."""
    first, other = (done(calls_here(one), CALLS, tmp_path) for one in (OURS, architecture))
    assert first["results"].count(0) > 30
    assert other["results"] == first["results"]
    assert other["tree"] == first["tree"]


@pytest.mark.skipif(not loops_work(), reason="loop devices need root and /dev/loop-control")
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("page_bytes", [16 * KIB, 64 * KIB])
def test_a_mapping_begins_where_a_page_does(calls_here, tmp_path, architecture, page_bytes):
    """The size of a page is made up: QEMU in user mode has pages of 4 KiB, as the machine below it."""
    words = calls_here(architecture)
    small, large = done(words, MAPPED, tmp_path), done(words, MAPPED, tmp_path, page_bytes)
    assert large["results"] == [0] * 5
    assert large["tree"] == small["tree"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_agent_on_a_machine_speaks_in_frames(tmp_path, architecture):
    """Here it is told nothing to set up, so it ends before it looks for device mapper."""
    process = subprocess.Popen(
        [*words_of(architecture), "machine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    spec = GuestSpec(Path(os.devnull), Path("agent"), 1 << 20, 1 << 20, kind="ssh:box")
    guest = MachineGuest(process, spec, Workspace(tmp_path), contextlib.ExitStack())
    try:
        guest.say("digest 8")
        with pytest.raises(GuestTrouble, match=r"box: the (connection began without|agent must be started)"):
            guest.hear()
    finally:
        guest.close()
