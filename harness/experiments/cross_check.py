"""
Our method against another: what dm-flakey keeps of a workload, and the state that its log makes.

In:       a workload, a profile, a guest.
Out:      Crossing after Crossing, one an operation of run.
Not here: the states of a log (crash.py), the command (runs/cross_check.py).

Each operation's end is cut twice in one run. The workload runs above dm-log-writes, and that above a device
which drops every write from the operation's end on (dm-flakey drop_writes), as fstests do it. So the disk
itself holds what had reached it, and the log says what model O makes of that moment: base and prefix up to
the mark. First their bytes are compared, then the trees: that disk mounted as it is, and the state recovered
our way. Both come from the same run, so nothing is left to chance.

The two differ by design in one thing: a write is logged when a FLUSH that was submitted after it completes.
What had reached the disk without one is "unflushed": its bytes stand in the log, behind the mark.
"""

import enum
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.guests.guest import DISK, LOG, OUTBOX, GuestSlot
from harness.stages.record import recorded
from harness.stages.recover import Recovery
from harness.stages.session import walk_flags_of_words
from harness.states.disk import BLOCK_BYTES, Disk, copy_sparse, open_disk, private_disk, writes_of
from harness.states.log import SECTOR_BYTES, Log, open_log, write_log
from oracles.observation import Node, Observation, Tree
from oracles.profiles import Profile
from oracles.spec import State
from workloads.entries import EntryFlag
from workloads.text import format_operation
from workloads.workload import Workload


class Agreement(enum.StrEnum):
    """EQUAL: the same bytes and the same tree. UNFLUSHED: the bytes differ by writes that stand in the log
    behind the mark, before the next FLUSH is over. DIFFERENT: a disagreement."""

    EQUAL = "EQUAL"
    UNFLUSHED = "UNFLUSHED"
    DIFFERENT = "DIFFERENT"


class Crossing(msgspec.Struct, frozen=True):
    """The end of one operation, by both methods.

    workload:  the workload.
    profile:   the profile.
    operation: its index over setup and run, from 0.
    text:      the operation.
    agreement: EQUAL; UNFLUSHED, where the bytes differ by writes that no FLUSH had followed; DIFFERENT,
               which is a disagreement.
    blocks:    how many blocks of 4 KiB differ.
    same_tree: whether both trees are equal.
    detail:    what differs, "" for nothing.
    """

    workload: str
    profile: str
    operation: int
    text: str
    agreement: Agreement
    blocks: int
    same_tree: bool
    detail: str = ""


class DroppedWalk(msgspec.Struct, frozen=True):
    """The agent's answer for a mount of the disk that dropped writes."""

    mount_errno: int
    kernel_log: tuple[str, ...]
    tree: Tree | None = None


def cross_check(
    guest_slot: GuestSlot, profile: Profile, workload: Workload, pristine: Path, scratch: Path
) -> Iterator[Crossing]:
    """Errors: NotRecorded, BadLog; LostGuest and GuestTrouble from the guest."""
    setup_count = len(workload.setup)
    for index, operation in enumerate(workload.run):
        if operation.word == "umount":
            continue  # after it there is nothing mounted whose end could be cut
        short = msgspec.structs.replace(workload, run=workload.run[: index + 1])
        yield _cross(guest_slot, profile, short, pristine, scratch, setup_count + index)


def _cross(
    guest_slot: GuestSlot, profile: Profile, workload: Workload, pristine: Path, scratch: Path, index: int
) -> Crossing:
    guest = guest_slot.guest()
    cut_ns = recorded(guest, "drop", profile, workload, pristine).cut_ns
    with guest.as_file(LOG) as path, open_log(path, until_end_mark=True) as log:
        cut = log.mark_index("cut")
        with (
            guest.as_file(DISK) as left,
            open_disk(scratch / "cross.disk", pristine) as disk,
            private_disk(left) as dropped,
        ):
            for entry in log.entries(0, cut):
                for write in writes_of(entry):
                    disk.apply(write)
            differing = differing_blocks(disk, dropped)
            unexplained = unexplained_blocks(disk, dropped, log, cut, differing)
        base = scratch / "cross.base"
        base.touch()
        copy_sparse(pristine, base)
        write_log(scratch / "cross.log", log.entries(0, cut))
    asks = walk_flags_of_words(op.word for op in (*workload.setup, *workload.run))
    options = profile.agent_options or "-"
    walk = guest.ask(f"dropped {asks} {profile.filesystem} {options}", 60)
    theirs = msgspec.json.decode(guest.read(OUTBOX, 0, int(walk[1])), type=DroppedWalk)
    recovery = Recovery(guest_slot, profile, False, scratch, asks)
    with open_log(scratch / "cross.log") as log:
        (recovered,) = recovery.run(base, log, [State(cut)])
    ours = msgspec.json.decode(recovered.observation, type=Observation)
    return _crossing(workload, profile, index, len(differing), unexplained, ours, theirs, cut_ns)


def differing_blocks(ours: Disk, theirs: Disk) -> list[int]:
    """Block numbers, ascending."""
    both = set(ours.nonzero_blocks()) | set(theirs.nonzero_blocks())
    return sorted(block for block in both if ours.block(block) != theirs.block(block))


def unexplained_blocks(ours: Disk, theirs: Disk, log: Log, cut: int, differing: list[int]) -> list[int]:
    """
    Those of `differing` that no write logged behind the mark explains: sector by sector their disk holds what
    ours does or what such a write holds. Only until a FLUSH is logged that was submitted after the device
    dropped writes: what it covers may include what was dropped, and no more is looked at.
    """
    if not differing:
        return []
    later: dict[int, list[bytes]] = {}
    for entry in log.entries(cut, _next_flush(log, log.mark_index("dropped"))):
        for write in writes_of(entry):
            data = bytes(write.length) if write.data is None else write.data
            for at in range(0, write.length, SECTOR_BYTES):
                sector = (write.offset + at) // SECTOR_BYTES
                later.setdefault(sector, []).append(data[at : at + SECTOR_BYTES])
    found = []
    for block in differing:
        mine, other = ours.block(block), theirs.block(block)
        for at in range(0, BLOCK_BYTES, SECTOR_BYTES):
            theirs_there = other[at : at + SECTOR_BYTES]
            sector = (block * BLOCK_BYTES + at) // SECTOR_BYTES
            if theirs_there not in (mine[at : at + SECTOR_BYTES], *later.get(sector, ())):
                found.append(block)
                break
    return found


def _next_flush(log: Log, start: int) -> int:
    for index in range(start, len(log)):
        if log.summary(index).flags & EntryFlag.FLUSH:
            return index + 1
    return len(log)


def _crossing(
    workload: Workload,
    profile: Profile,
    index: int,
    differing: int,
    unexplained: list[int],
    ours: Observation,
    theirs: DroppedWalk,
    cut_ns: int,
) -> Crossing:
    difference = tree_difference(ours, theirs, cut_ns)
    if unexplained:
        agreement = Agreement.DIFFERENT
        blocks = ", ".join(str(block) for block in unexplained[:8])
        difference = f"blocks {blocks} have bytes that no write explains; {difference}".removesuffix("; ")
    elif differing:
        agreement = Agreement.UNFLUSHED
    else:
        agreement = Agreement.DIFFERENT if difference else Agreement.EQUAL
    return Crossing(
        workload.name,
        profile.name,
        index,
        format_operation(workload.run[-1]),
        agreement,
        differing,
        not difference,
        difference,
    )


def tree_difference(ours: Observation, theirs: DroppedWalk, cut_ns: int) -> str:
    """The first thing that differs, "" when nothing does. cut_ns: the clock at the cut."""
    if ours.death or ours.trouble:
        return f"recovery of the disk of model O: {ours.death or ours.trouble}"
    if ours.mount_errno != theirs.mount_errno:
        return f"mount: error {ours.mount_errno} with model O, {theirs.mount_errno} with dm-flakey"
    mine = {node.path: without_recovery_times(node, cut_ns) for node in ours.tree or ()}
    other = {node.path: without_recovery_times(node, cut_ns) for node in theirs.tree or ()}
    for path in sorted(mine.keys() | other.keys()):
        if path not in mine or path not in other:
            return f"{path}: exists only {'with model O' if path in mine else 'with dm-flakey'}"
        if mine[path] != other[path]:
            return f"{path}: {field_difference(mine[path], other[path])}"
    return ""


def without_recovery_times(node: Node, cut_ns: int) -> Node:
    """A time from the cut on is recovery's own, which was done twice: where log replay takes a name away,
    btrfs_unlink_inode() gives the file and its directory the ctime of that moment (fs/btrfs/inode.c)."""
    if node.times is None or max(node.times) < cut_ns:
        return node
    mtime, ctime = (min(time, cut_ns) for time in node.times)
    return msgspec.structs.replace(node, times=(mtime, ctime))


def field_difference(mine: Node, other: Node) -> str:
    for field in msgspec.structs.fields(Node):
        here, there = getattr(mine, field.name), getattr(other, field.name)
        if here != there:
            return f"{field.name} {here!r} with model O, {there!r} with dm-flakey"[:200]
    return "nothing"
