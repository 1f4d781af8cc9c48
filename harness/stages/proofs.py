"""
Which states need no recovery: on their disk is the same what an earlier recovery read of its own.

In:       what the guest answered; it proves (guests/agent/proofs.c), for it knows what was read
          (kernel/dm-powercut.c).
Out:      Proofs: what earlier recoveries gave, and how states were done (counts); difference(), what an audit
          asks.
Not here: sending and receiving (session.py), the checker's answers (checks.py).

Recovery follows from the bytes that it reads: mounts, walks and probe take the same way where they read the
same. What they read of their own writes follows from that. So the state is *proven* to come back as the
earlier one. A seeded share of proven states is *audited*: recovered all the same, and one difference ends
the run. Compared is all that is observed and that two recoveries of the same disk have in common
(comparable())."""

import random
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from harness.stages.checks import Audit
from harness.states.disk import BLOCK_BYTES, ZERO_BLOCK, DiskWrite
from harness.states.log import SECTOR_BYTES
from oracles.observation import Observation, Tree

RECOVERED, UNSTEADY = "recovered", "unsteady"
TIMES = 10  # of 12 recoveries of one disk of btrfs 2 were otherwise: a thread had cleaned up before the walk
KEPT = 8  # guests/agent/proofs.c: the guest proves by no earlier one
# jbd2 reads 128 KiB of the journal ahead of each block that it wants, and so all that was written to it;
# failing that, as any device may, only what it looks at counts. btrfs takes a failed read for a bad mirror.
NO_READAHEAD = ("ext4",)


class Earlier(NamedTuple):
    """A recovery that may prove others. report: as the guest told it. changes, parts: of session.Answer."""

    sequence: int
    spec: str
    report: bytes
    changes: tuple[DiskWrite, ...]
    parts: Mapping[int, int]

    def on(self, disk: Mapping[int, bytes]) -> tuple[DiskWrite, ...]:
        """The changes as the same recovery would have made them of another disk, by block: of a block that it
        wrote in part, that disk has the rest."""
        return tuple(
            self._merged(write, disk) if write.offset // BLOCK_BYTES in self.parts else write
            for write in self.changes
        )

    def _merged(self, write: DiskWrite, disk: Mapping[int, bytes]) -> DiskWrite:
        block = write.offset // BLOCK_BYTES
        content, sectors = bytearray(disk.get(block, ZERO_BLOCK)), self.parts[block]
        for at in range(0, BLOCK_BYTES, SECTOR_BYTES):
            if sectors >> at // SECTOR_BYTES & 1:
                assert write.data is not None
                content[at : at + SECTOR_BYTES] = write.data[at : at + SECTOR_BYTES]
        return DiskWrite(write.offset, write.length, bytes(content))


class Suspect(NamedTuple):
    """A state that came back otherwise than it was proven to. found, proven: observations."""

    spec: str
    earlier: str
    found: bytes
    proven: bytes


class Proofs:
    """Of the states of one log. counts: by RECOVERED, PROVEN and AUDITED (of checks.py); an audited state
    is among the proven, too. UNSTEADY: audited ones that came back otherwise, though the two disks come back
    alike when they are recovered several times."""

    def __init__(self, audit: Audit) -> None:
        self.counts: Counter[str] = Counter()
        self._percent = audit.percent
        self._random = random.Random(f"{audit.seed} of recoveries")
        self._kept: deque[Earlier] = deque(maxlen=KEPT)

    def begin(self) -> None:
        """With a guest that knows of no earlier recovery."""
        self._kept.clear()

    def drawn(self) -> bool:
        """Whether the next state is audited, should it be proven."""
        return self._random.random() * 100 < self._percent

    def keep(self, earlier: Earlier) -> None:
        self._kept.append(earlier)

    def earlier(self, sequence: int) -> Earlier:
        return next(each for each in reversed(self._kept) if each.sequence == sequence)


def difference(found: bytes, proven: bytes, begun_ns: int) -> str:
    """In words, between two observations that should be equal; "" where they are. begun_ns: since 1970,
    when the first state of this log was recovered."""
    one, other = (comparable(msgspec.json.decode(raw, type=Observation), begun_ns) for raw in (found, proven))
    names = [name for name in Observation.__struct_fields__ if getattr(one, name) != getattr(other, name)]
    if not names:
        return ""
    if names[0] in ("tree", "second_tree"):
        trees = zip(getattr(other, names[0]) or (), getattr(one, names[0]) or (), strict=False)
        pair = next((pair for pair in trees if pair[0] != pair[1]), ("another number of names", ""))
    else:
        pair = getattr(other, names[0]), getattr(one, names[0])
    return f"{', '.join(names)}. Of {names[0]} proven: {pair[0]!r:.500}. Found: {pair[1]!r:.500}"


def has_common(found: Iterable[bytes], proven: Iterable[bytes], begun_ns: int) -> bool:
    """Whether some observation of the one is one of the other, too."""
    one, other = (
        {
            msgspec.json.encode(comparable(msgspec.json.decode(raw, type=Observation), begun_ns))
            for raw in raws
        }
        for raws in (found, proven)
    )
    return not one.isdisjoint(other)


def comparable(seen: Observation, begun_ns: int) -> Observation:
    """What two recoveries of one disk have in common. Replay gives times of its own to what has none in the
    log, and the checker reads what recovery wrote, times and random numbers among it, and tells some."""
    return msgspec.structs.replace(
        seen,
        tree=_at_most(seen.tree, begun_ns),
        second_tree=_at_most(seen.second_tree, begun_ns),
        kernel_log=loud(seen.kernel_log),
        fsck=seen.fsck and msgspec.structs.replace(seen.fsck, output=""),
    )


def _at_most(tree: Tree | None, begun_ns: int) -> Tree | None:
    """With times of recovery as one time."""
    return tree and tuple(
        msgspec.structs.replace(node, times=(min(node.times[0], begun_ns), min(node.times[1], begun_ns)))
        if node.times
        else node
        for node in tree
    )


LOUD = 4  # warnings and worse
# Of each message of btrfs at most ten in 5 s are printed (btrfs_printk_ratelimited() in
# fs/btrfs/messages.h), and WARN_ON_ONCE() and its kin speak once in the life of a guest: what the kernel
# says of two equal recoveries differs.
ONCE = ("callbacks suppressed",)


def loud(lines: tuple[str, ...]) -> tuple[str, ...]:
    """Errors and worse, each once."""
    found = {
        line for line in lines if line[:1].isdecimal() and int(line[0]) < LOUD and not line.endswith(ONCE)
    }
    return tuple(sorted(found))
