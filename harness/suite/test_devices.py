"""
A device that fails and a damaged disk on a real guest, as exported programs and minimize have them.

In:       the stock kernel; Reproducers, small workloads.
Out:      that what is done to the disk is there: a question that must fail by it fails, and no other.
Not here: planted bugs (test_minimize.py), what the programs say (reports/tests/test_export_forms.py).
"""

from pathlib import Path

import pytest

from harness.experiments.interestingness import InterestingnessTest, Target, Trigger
from harness.guests.agent_binary import agent_binary
from harness.guests.bare import run_in_guest
from harness.guests.guest import GuestSpec
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES
from harness.stages.record import record
from harness.states.log import open_log
from oracles.checks import Check, Source
from oracles.faults.damage import Outcome
from oracles.profiles import profile
from oracles.spec import Damage
from oracles.verdict import Tier, Violation
from reports.programs import export_sh
from reports.programs.export import Reproducer
from reports.results import DAMAGE, FAULTS
from workloads.faults import FaultPoint
from workloads.history import stamped
from workloads.library import load
from workloads.text import parse

WORKLOAD = parse("setup\n  creat bar\nrun\n  write foo 0 8K\n  fsync foo\n")
WRITTEN = Check("bytes", "foo", sources=(Source(0, 8192, (1,)),))


def made(way, **instead):
    """On ext4, which keeps no checksums of data."""
    one = profile("ext4")
    return Reproducer(
        title="ext4 durable: data lost (fsynced file)",
        about=(),
        expected="the bytes",
        found="others",
        filesystem=one.filesystem,
        mkfs=one.mkfs,
        mount_options=one.mount_options,
        fsck=one.fsck,
        size_bytes=one.size_bytes,
        setup=WORKLOAD.setup,
        run=WORKLOAD.run,
        way=way,
        returned=True,
        checks=(WRITTEN,),
        offsets={},
        **instead,
    )


SAID = ("BROKEN: ", "cannot be tested: ", "an error was reported", "the promise was kept")


def ended(kernel, one):
    """Status and verdict of its script."""
    with workspace() as space:
        folder = space.path / "tried"
        folder.mkdir()
        (folder / "repro.sh").write_text(export_sh.script(one, "repro.sh"))
        ran = run_in_guest(Path(kernel.path), folder, "sh repro.sh", space)
    said = [line for line in ran.lines if line.startswith(SAID)]
    return ran.status, said[0] if said else " / ".join(ran.lines[-9:])


@pytest.mark.smoke
@pytest.mark.parametrize(
    ("promising", "status", "said"),
    [
        ((2,), 0, "an error was reported"),
        # As if the call had said that all is well: then the bytes have to be there, and are not.
        ((), 1, "BROKEN: foo"),
    ],
)
def test_a_device_fails_during_its_operation(stock_kernel, promising, status, said):
    """The fsync tells of it, which keeps the promise."""
    one = made("fault", fault=FaultPoint("error-writes", 2), promising=promising)
    found, line = ended(stock_kernel, one)
    assert found == status
    assert said in line


@pytest.mark.minimize  # not smoke: on a busy machine it failed twice in some 15 runs, which is not understood
def test_a_block_is_damaged_after_the_log_was_replayed(stock_kernel, keeper_for):
    """The block with the file's bytes; another one, of which nothing is there, is no answer."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, WORKLOAD, scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            (sector,) = [
                entry.sector for entry in log.entries() if entry.data.startswith(stamped(1, 0, 8192))
            ]
    block, behind = sector // 8, 8 * (sector % 8 * 512)
    damaged = made("log", model="D", block="data", damage=Damage(block, bit=behind + 3))
    assert ended(stock_kernel, damaged) == (1, "BROKEN: foo has 1 wrong bytes from 0 on")
    empty = made("log", model="D", block="data", damage=Damage(one.size_bytes // 4096 - 9, bit=3))
    status, line = ended(stock_kernel, empty)
    assert status == 2
    assert "holds nothing" in line


STOPPED = "ext4 told: success after the filesystem stopped (filesystem)"  # EXT4-11


def target_of(stock_kernel, name, signature, trigger):
    """What is asked of small workloads."""
    one = profile(name)
    spec = GuestSpec(Path(stock_kernel.path), agent_binary(), one.size_bytes, LOG_BYTES)
    return Target("6.12", spec, one, Tier.FS, (signature,), trigger=trigger)


@pytest.mark.smoke
@pytest.mark.parametrize(("kind", "seen"), [("error-writes", True), ("delay", False)])
def test_a_workload_is_looked_at_at_every_point_of_that_kind_of_fault(stock_kernel, kind, seen):
    """As minimize does, without a run that is kept."""
    trigger = Trigger(FAULTS, fault=kind)
    with (
        workspace() as space,
        InterestingnessTest(target_of(stock_kernel, "ext4", STOPPED, trigger), space) as interesting,
    ):
        result = interesting.examine(load("rename-directory-new-file"))
    assert not result.trouble
    assert [spec.partition("@")[0] for spec in result.first.values()] == (["F:error-writes"] if seen else [])


@pytest.mark.smoke
def test_a_damage_is_done_again_to_a_smaller_workload(stock_kernel, monkeypatch):
    """Without a superblock the mount is refused, which is in order; for an oracle made up here it is not."""
    signature = "btrfs noticed: refused (superblock)"
    trigger = Trigger(DAMAGE, damage=Damage(16, sector=0), block="superblock")
    with (
        workspace() as space,
        InterestingnessTest(target_of(stock_kernel, "btrfs", signature, trigger), space) as interesting,
    ):
        monkeypatch.setattr("harness.experiments.interestingness.DAMAGES", 1)
        sound = interesting.examine(WORKLOAD)
        monkeypatch.setattr("oracles.faults.noticed.judge", refused_is_broken)
        broken = interesting.examine(WORKLOAD)
    assert (sound.first, sound.trouble, broken.trouble) == ({}, "", "")
    assert broken.first[signature].endswith("/16.0=0")


def refused_is_broken(case):
    broken = [Violation("refused", case.what, ".", "", "", "", Tier.FS)]
    return case.verdict("noticed", 1, broken if case.outcome is Outcome.REFUSED else [])
