"""
What a block held before: only where it held something can anybody see that it shows through.

In:       the stock kernel; the profiles whose setup leaves stamped bytes in free blocks.
Out:      that new data goes to such blocks, and that the oracle sees them where ext4 promises no order.
Not here: the library on these profiles (test_crash.py).
"""

import msgspec
import pytest

from harness.runs.run import on_profile
from harness.stages.judge import decode
from harness.stages.record import record
from harness.stages.recover import Recovery
from harness.states.crash import states
from harness.states.disk import BLOCK_BYTES, open_disk
from harness.states.log import SECTOR_BYTES, open_log
from oracles.case import prepare
from oracles.judge import judge_observation
from oracles.profiles import profile
from oracles.verdict import Answer, Tier
from workloads.history import stamped
from workloads.text import parse

pytestmark = pytest.mark.smoke

MADE = parse("# New files.\nrun\n  write foo 0 64K\n  fsync foo\n  write bar 0 1M\n  fsync bar\n", "made")
OTHER = parse(
    "# Two files are written, one is synced.\n"
    "run\n  write foo 0 64K\n  write bar 0 4K\n  fsync bar\n  write foo 64K 64K\n  fsync bar\n",
    "other",
)


def recorded(guest_slot, scratch, one, workload):
    return record(guest_slot.guest(), one, on_profile(workload, one), scratch / "pristine", "6.12")


@pytest.mark.parametrize("name", ["ext4-used", "xfs-used", "btrfs-used"])
def test_new_data_goes_where_old_bytes_are(keeper_for, name):
    """Nine blocks of ten held what a filler left there; ext4 puts small files elsewhere."""
    one = profile(name)
    with keeper_for(one) as (guest_slot, scratch):
        recording = recorded(guest_slot, scratch, one, MADE)
        halves = {stamped(step.index, 0, 8)[:4] for step in recording.history.setup}  # stamp and magic
        held = []
        with open_log(recording.log) as log, open_disk(scratch / "before", recording.base) as disk:
            for entry in log.entries():
                if entry.data and entry.data[2:4] == stamped(0, 0, 8)[2:4]:
                    start = entry.sector * SECTOR_BYTES
                    places = range(start, start + len(entry.data), BLOCK_BYTES)
                    held += [disk.image[at : at + 4] in halves for at in places]
    assert len(held) == (64 + 1024) * 1024 // BLOCK_BYTES
    assert sum(held) * 10 > len(held) * 9


@pytest.mark.parametrize(
    ("options", "broken"), [("", False), ("nodelalloc", False), ("data=writeback,nodelalloc", True)]
)
def test_old_bytes_that_show_through_are_seen(keeper_for, options, broken):
    """ext4(5), data=writeback: old data may appear. So it does, and with ordered data it does not."""
    one = msgspec.structs.replace(profile("ext4-used"), mount_options=options)
    with keeper_for(one) as (guest_slot, scratch):
        recording = recorded(guest_slot, scratch, one, OTHER)
        prepared = prepare(recording.history, one, Tier.FS)
        kinds = set()
        with open_log(recording.log) as log:
            for each in Recovery(guest_slot, one, False, scratch).run(recording.base, log, states(len(log))):
                verdicts = judge_observation(prepared, each.prefix, decode(each.observation))
                kinds |= {
                    violation.kind
                    for verdict in verdicts
                    if verdict.answer is Answer.BROKEN
                    for violation in verdict.violations
                }
    assert kinds == ({"stale data"} if broken else set())
