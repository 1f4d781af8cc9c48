"""
Ask the checker about recovered states, or prove that it would answer as it did before.

In:       a profile; each recovered disk, as blocks and as a file.
Out:      Fsck after Fsck; Checks.counts, how each was got.
Not here: running the checker (guests/filesystem.py), writing down what it reads (guests/checker_reads.py).

A checker's answer follows from the bytes that it reads. Where each block that it read of an earlier disk has
the same bytes in this one, it takes the same way through this one, and answers the same: the answer is
*proven*. A seeded share of the proven answers is *audited*: the checker runs all the same, and one different
answer ends the run.

Only a clean answer is ever proven, so what a finding shows is the checker's own answer to that very disk. Nor
can a clean answer grow old: e2fsck holds the times in the superblock against the clock, and a time that is
not in the future stays so.
"""

import bisect
import random
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from harness.guests.checker_reads import blocks_read
from harness.guests.filesystem import check_filesystem
from harness.states.disk import BLOCK_BYTES, ZERO_BLOCK, DiskWrite, copy_sparse, write_sparse
from oracles.fsck import ERROR_LINES
from oracles.observation import Fsck
from oracles.profiles import Profile

# xfs_repair reads the end of the log, and XFS puts a random number into each record there
# (xlog_ticket_alloc() in fs/xfs/xfs_log.c): of 500 recovered disks none was for it as one before. What is
# proven of it is of states whose recovery is proven (proofs.py): those have the same numbers.
PROVABLE = ("btrfs", "ext4", "f2fs", "xfs")
KEPT = 4  # answers of a log; of 300 states of each filesystem 32 proved no more than the last 2
AUDIT_PERCENT = 1.0

RUN, PROVEN, AUDITED = "run", "proven", "audited"


NOW, THEN, THEN_BLOCKS = "now", "then", "then.blocks"  # of AuditFailed.disks


class AuditFailed(Exception):
    """The checker answers, or a state comes back, otherwise than it was proven to: nothing that was proven
    can be believed. disks: a folder with the disk that was audited (NOW) and the earlier one (THEN). Of the
    checker THEN is what it read, and zeros elsewhere; the numbers of those blocks, one a line, are in
    THEN_BLOCKS. None where nobody kept them."""

    def __init__(self, message: str, disks: Path | None = None) -> None:
        super().__init__(message)
        self.disks = disks


class Audit(msgspec.Struct, frozen=True):
    """percent: of the proven answers that are audited. seed: text that decides which."""

    percent: float = AUDIT_PERCENT
    seed: str = ""


AUDIT = Audit()


AsFile = Callable[[], AbstractContextManager[Path]]


class RecoveredDisk:
    """The disk as recovery left it. state: what the state had, by block, zeros where nothing is named.
    changes: whole blocks that recovery wrote, none twice; XFS writes 500, of which few are asked for."""

    __slots__ = ("_changes", "_starts", "_state")

    def __init__(self, state: dict[int, bytes], changes: Iterable[DiskWrite]) -> None:
        self._state = state
        self._changes = sorted(changes, key=lambda write: write.offset)
        self._starts = [write.offset // BLOCK_BYTES for write in self._changes]

    def block(self, number: int) -> bytes:
        index = bisect.bisect_right(self._starts, number) - 1
        if index >= 0:
            write, at = self._changes[index], (number - self._starts[index]) * BLOCK_BYTES
            if at < write.length:
                assert write.data is not None
                return write.data[at : at + BLOCK_BYTES]
        return self._state.get(number, ZERO_BLOCK)


class CleanAnswer:
    """A clean answer. content: of the blocks that the checker read for it. suspect: the block that differed
    when it was last compared, for the next disk mostly differs there, too."""

    __slots__ = ("content", "fsck", "suspect")

    def __init__(self, fsck: Fsck, reads: Iterable[int], disk: RecoveredDisk) -> None:
        self.fsck = fsck
        self.content = {block: disk.block(block) for block in reads}
        self.suspect: int | None = None

    def holds_for(self, disk: RecoveredDisk) -> bool:
        """Whether each block that was read has the same bytes on this disk."""
        if self.suspect is not None and disk.block(self.suspect) != self.content[self.suspect]:
            return False
        self.suspect = next(
            (block for block, content in self.content.items() if disk.block(block) != content), None
        )
        return self.suspect is None


class Checks:
    """Of the states of one log. reads: a file for what the checker reads. counts: by RUN, PROVEN, AUDITED;
    an audited answer is among the proven, too."""

    def __init__(self, profile: Profile, reads: Path, audit: Audit) -> None:
        self._profile = profile
        self._reads = reads
        self._percent = audit.percent
        self._random = random.Random(audit.seed)
        self._answers: deque[CleanAnswer] = deque(maxlen=KEPT)
        self.counts: Counter[str] = Counter()

    def answer(self, disk: RecoveredDisk, as_file: AsFile, first: int = 0) -> Fsck:
        """as_file: the same disk, which is made a file only where the checker runs. first: of
        check_filesystem(). Errors: NoFilesystemTool, AuditFailed."""
        proof = next((each for each in reversed(self._answers) if each.holds_for(disk)), None)
        if proof is None:
            with as_file() as image:
                return self._run(disk, image, first)
        self.counts[PROVEN] += 1
        if self._random.random() * 100 < self._percent:
            with as_file() as image:
                self._audit(proof, image)
        return proof.fsck

    def _run(self, disk: RecoveredDisk, image: Path, first: int) -> Fsck:
        self.counts[RUN] += 1
        if self._profile.filesystem not in PROVABLE or self._profile.devices:
            return check_filesystem(self._profile, image, first=first)
        self._reads.unlink(missing_ok=True)
        fsck = check_filesystem(self._profile, image, self._reads)
        reads = blocks_read(self._reads, self._profile.size_bytes)
        if reads is not None and is_clean(fsck, self._profile):
            self._answers.append(CleanAnswer(fsck, reads, disk))
        return fsck

    def _audit(self, proof: CleanAnswer, image: Path) -> None:
        fsck = check_filesystem(self._profile, image)
        if fsck.timed_out or fsck.exit == -signal.SIGKILL:  # it has no answer
            return
        self.counts[AUDITED] += 1
        if in_order(fsck, self._profile) != in_order(proof.fsck, self._profile):
            raise AuditFailed(
                f"{' '.join(self._profile.fsck)} was proven to answer as on an earlier disk, where it read "
                f"{len(proof.content)} blocks, and answers otherwise. Proven: exit {proof.fsck.exit}, "
                f"{proof.fsck.output!r}. Found: exit {fsck.exit}, {fsck.output!r}",
                self._kept(proof, image),
            )

    def _kept(self, proof: CleanAnswer, image: Path) -> Path:
        folder = self._reads.with_name(f"{self._reads.name}.audit")
        folder.mkdir(exist_ok=True)
        (folder / NOW).touch()
        copy_sparse(image, folder / NOW)
        write_sparse(folder / THEN, self._profile.size_bytes, proof.content.items())
        (folder / THEN_BLOCKS).write_text("".join(f"{block}\n" for block in sorted(proof.content)))
        return folder


# xfs_repair looks at allocation groups in several threads, each of which says so when it begins.
UNORDERED = ("xfs",)


def in_order(fsck: Fsck, profile: Profile) -> Fsck:
    """The answer with its lines in an order that does not depend on threads."""
    if profile.filesystem not in UNORDERED:
        return fsck
    return msgspec.structs.replace(fsck, output="\n".join(sorted(fsck.output.splitlines())))


def is_clean(fsck: Fsck, profile: Profile) -> bool:
    """Whether the answer has no word of an error in it."""
    return (
        fsck.exit in profile.fsck_clean
        and not fsck.timed_out
        and not any(ERROR_LINES[profile.filesystem].search(line) for line in fsck.output.splitlines())
    )
