"""
Proof that it sees, without a kernel bug: a log that a lying disk could have left, and the oracle it wakes.

In:       a recorded log, and an edit of one of its states with debugfs or by bytes.
Out:      each oracle BROKEN on the doctored state, and silent on the same state before.
Not here: planted kernel bugs (test_planted.py).

ext4 is doctored, because debugfs can edit it and keeps its checksums right. The state chosen is that after
`umount`: its journal is clean, so recovery does not undo the edit.
"""

import shutil
import subprocess

import msgspec
import pytest

from harness.guests.filesystem import SYSTEM_PATH
from harness.stages.judge import decode
from harness.stages.record import record
from harness.stages.recover import Recovery
from harness.states.disk import BLOCK_BYTES, open_disk, writes_of
from harness.states.log import SECTOR_BYTES, Entry, open_log, write_log
from oracles.case import prepare
from oracles.judge import judge_observation
from oracles.profiles import profile
from oracles.spec import State
from oracles.verdict import Answer, Tier
from workloads.history import stamped
from workloads.text import parse

pytestmark = pytest.mark.smoke

WORKLOAD = """
# Two directories, a file and its link, unmounted in order.
setup
  mkdir S
  write S/old 0 8K
run
  mkdir A
  mkdir B
  write A/foo 0 8K
  setxattr A/foo user.x one
  rename S/old S/new
  fsync A/foo
  umount
"""


def debugfs(*commands):
    """An edit of an image by debugfs(8)."""

    def edit(image):
        tool = shutil.which("debugfs", path=SYSTEM_PATH)
        for command in commands:
            subprocess.run([tool, "-w", "-R", command, str(image)], check=True, capture_output=True)

    return edit


def overwrite(find, replace):
    """An edit that replaces bytes wherever they stand in the image."""

    def edit(image):
        content = image.read_bytes()
        assert find in content
        image.write_bytes(content.replace(find, replace))

    return edit


def zero_superblock(image):
    with image.open("r+b") as file:
        file.seek(1024)  # Documentation/filesystems/ext4/super.rst
        file.write(bytes(1024))


STALE = stamped(1, 0, 4096)  # what `write S/old` put there
NEVER = b"\xc3" * 4096

# oracle, edit, whether the umount has returned at the cut
DOCTORED = (
    ("mounts", zero_superblock, True),
    ("fsck", debugfs("seti <40>"), True),
    ("historical", overwrite(stamped(4, 0, 4096), NEVER), True),
    ("historical", debugfs("link A/foo A/never"), True),
    ("durable", debugfs("unlink A/foo"), True),
    ("durable", debugfs("ea_rm A/foo user.x"), True),
    ("durable", overwrite(stamped(4, 0, 4096), bytes(4096)), True),
    ("atomic", debugfs("link S/new S/old"), True),
    ("ordered", debugfs("unlink A/foo", "rmdir A"), False),
    ("consistent", debugfs("set_inode_field A/foo links_count 5"), True),
    ("usable", debugfs("set_inode_field A/foo flags 0x80010"), True),
    ("quiet", debugfs("set_inode_field A block[1] 99999999"), True),
)


def doctor(recording, prefix, edit, scratch):
    """The recording with entries after `prefix` that turn that state into the edited one."""
    image = scratch / "doctored.img"
    image.touch()
    with open_log(recording.log) as log:
        entries = list(log.entries())
    with open_disk(image, recording.base) as disk:
        for entry in entries[:prefix]:
            for write in writes_of(entry):
                disk.apply(write)
    before = image.read_bytes()
    edit(image)
    after = image.read_bytes()
    starts = range(0, len(before), BLOCK_BYTES)
    blocks = [at for at in starts if before[at : at + BLOCK_BYTES] != after[at : at + BLOCK_BYTES]]
    assert blocks, "the edit changed nothing"
    count = BLOCK_BYTES // SECTOR_BYTES
    added = [Entry(at // SECTOR_BYTES, count, 0, after[at : at + BLOCK_BYTES]) for at in blocks]
    write_log(scratch / "doctored.log", [*entries[:prefix], *added, *entries[prefix:]])
    image.unlink()
    return len(added)


def shift(history, prefix, added):
    """The history with the marks behind `prefix` moved by the added entries."""
    run = tuple(
        msgspec.structs.replace(
            step,
            begin_entry=step.begin_entry + added * (step.begin_entry >= prefix),
            end_entry=step.end_entry + added * (step.end_entry >= prefix),
        )
        for step in history.run
    )
    return msgspec.structs.replace(history, run=run, entry_count=history.entry_count + added)


def answers(history, one, recovered):
    prepared = prepare(history, one, Tier.FS)
    verdicts = judge_observation(prepared, recovered.prefix, decode(recovered.observation))
    return {verdict.oracle: verdict.answer for verdict in verdicts}


def doctored_state(guest_slot, scratch, one, edit, returned=True):
    """The history, and what came back of the state at the umount: as recorded, and doctored."""
    recording = record(guest_slot.guest(), one, parse(WORKLOAD.lstrip()), scratch / "pristine", "6.12")
    history = recording.history
    prefix = history.run[-1].end_entry + returned
    with open_log(recording.log) as log:
        (clean,) = Recovery(guest_slot, one, True, scratch).run(recording.base, log, [State(prefix)])
    added = doctor(recording, prefix, edit, scratch)
    with open_log(scratch / "doctored.log") as log:
        (doctored,) = Recovery(guest_slot, one, True, scratch).run(
            recording.base, log, [State(prefix + added)]
        )
    return (history, clean), (shift(history, prefix, added), doctored)


@pytest.mark.parametrize(("oracle", "edit", "returned"), DOCTORED)
def test_oracle_wakes_at_the_doctored_state_only(keeper_for, oracle, edit, returned):
    """BROKEN on the doctored state; every oracle HOLDS on the same state as it was recorded."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        (history, clean), (shifted, doctored) = doctored_state(guest_slot, scratch, one, edit, returned)
    assert set(answers(history, one, clean).values()) == {Answer.HOLDS}
    found = answers(shifted, one, doctored)
    assert found[oracle] is Answer.BROKEN, (found, decode(doctored.observation))


def test_the_probe_tells_every_call_that_failed(keeper_for):
    """In an immutable directory (FS_IMMUTABLE_FL) nothing can be made; it stays, so the root is not empty."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        edit = debugfs("set_inode_field B flags 0x80010")
        (_, clean), (_, doctored) = doctored_state(guest_slot, scratch, one, edit)
    assert decode(clean.observation).probe == ()
    assert decode(doctored.observation).probe == (
        "create B/.powercut-probe: EPERM",
        "rmdir B: EPERM",
        "empty .: ENOTEMPTY",
    )
