"""
What happened: every operation's result and its place in the log.

In:       Steps, and the marks of their log: of a workload that was recorded, or of any other source.
Out:      History, kept as history.json; oracles judge from it without a guest. history_of() makes it.
Not here: the log itself (harness/states/log.py), recording (harness/stages/record.py), what was promised
          (oracles/).
"""

import itertools
from bisect import bisect_left
from collections.abc import Iterable, Mapping

import msgspec

from workloads.workload import Operation, Workload


class Step(msgspec.Struct, frozen=True):
    """One operation as it was done.

    operation:   what was done.
    index:       0-based, counted over setup and then run; index + 1 is the stamp that fills its writes.
    result:      0, or a negative errno.
    begin_entry, end_entry: entry_index of its begin and end marks in the log; -1 in setup.
                 The operation had begun in a prefix of k entries when begin_entry < k and had
                 returned when end_entry < k.
    inode:       st_ino of the object at operation.path (path2 for link and rename) after the
                 operation, or of what a symlink there leads to where the call follows it; 0 where there is
                 none (after unlink, sync ...).
                 In a btrfs subvolume as oracles/observation.py's Node.ino.
    blocks:      st_blocks (512 B units) of that object then; of the word stop, 1 where a task stopped.
    times:       st_mtim and st_ctim of that object then, in nanoseconds since 1970; 0 where it is not there.
    left_inode:  rename: st_ino of what then stands at the old name (exchange, whiteout); 0 for nothing.
    file:        of a call that failed and may have changed a file's content, and of fill: that file as it was
                 right after the call, JSON as of oracles/observation.py's LeftFile; else null, also in the
                 histories of earlier versions.
    made:        permissions, user and group of the object that the operation made, where they are not those
                 that the agent gives; else empty.
    data:        of a program's write: the content hash of each block of 4 KiB that it wrote to, in order, as
                 keys of History.blocks; empty where the bytes are stamped().
    returned:    false for the call in which the kernel died while the workload was recorded.
    reported:    false where the kernel died before the agent could send its report: result is then 0 and
                 says nothing.
    """

    index: int
    operation: Operation
    result: int
    begin_entry: int = -1
    end_entry: int = -1
    inode: int = 0
    blocks: int = 0
    left_inode: int = 0
    times: tuple[int, int] = (0, 0)
    file: msgspec.Raw = msgspec.Raw(b"null")
    made: tuple[int, ...] = ()
    data: tuple[str, ...] = ()
    returned: bool = True
    reported: bool = True


class Said(msgspec.Struct, frozen=True):
    """A line that a program wrote to its standard output.

    text: the line. entry: in a prefix of k entries it had been written when entry < k.
    """

    text: str
    entry: int


class Unjudged(msgspec.Struct, frozen=True):
    """What no oracle judges by the history.

    path: of an object that has or had it, "" for the whole tree. call: the system call that is to blame.
    why: a sentence. entry: from there on, -1 for always.
    """

    path: str
    call: str
    why: str
    entry: int = -1


class History(msgspec.Struct, frozen=True):
    """history.json: everything that was done, and where it stands in the log.

    workload:     what was done.
    profile:      the profile's name.
    kernel:       the kernel, as it was asked for.
    setup, run:   every operation that was tried, in the order in which they began. One that failed
                  (result < 0) may have had part of its effect: oracles/model/, Builder.half_done().
    entry_count:  entries of the log; prefixes run from 0 to entry_count, so there are entry_count + 1.
    root_inode:   st_ino of the mount's root.
    parallel:     run has parallel blocks: an operation may begin before another one has returned, and may
                  have had its effect before or after that one.
    live:         then the mounted filesystem as a walk saw it after the last operation, JSON as of
                  oracles/observation.py's Tree; else null.
    known:        false of a log that was recorded elsewhere and came without a history: setup and run are
                  empty then, and say nothing of what was done.
    blocks:       of a program: the bytes that it wrote, by content hash (Step.data).
    said:         of a program: the lines of its output.
    unjudged:     of a program: what is not judged.
    remarks:      of a program: what a reader should know.
    """

    workload: Workload
    profile: str
    kernel: str
    setup: tuple[Step, ...]
    run: tuple[Step, ...]
    entry_count: int
    root_inode: int
    parallel: bool = False
    live: msgspec.Raw = msgspec.Raw(b"null")
    known: bool = True
    blocks: dict[str, bytes] = {}
    said: tuple[Said, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    remarks: tuple[str, ...] = ()

    def written(self, step: Step) -> bytes:
        """What a program's write wrote; empty where the bytes are stamped()."""
        return b"".join(self.blocks[key] for key in step.data)

    def begun_count(self, prefix: int) -> int:
        """How many run operations had begun when the first `prefix` entries were on disk."""
        return bisect_left(self.run, prefix, key=lambda step: step.begin_entry)

    def completed_count(self, prefix: int) -> int:
        """How many run operations had returned when the first `prefix` entries were on disk."""
        if self.parallel:
            return len(self.returned(prefix))
        return bisect_left(self.run, prefix, key=lambda step: step.end_entry)

    def begun(self, prefix: int) -> frozenset[int]:
        """Indexes of the run operations that had begun then."""
        return frozenset(step.index for step in self.run[: self.begun_count(prefix)])

    def returned(self, prefix: int) -> frozenset[int]:
        """Indexes of the run operations that had returned then."""
        return frozenset(step.index for step in self.run if step.end_entry < prefix)

    def in_flight(self, prefix: int) -> tuple[Step, ...]:
        """The operations that had begun and not returned: several at most while threads run."""
        return tuple(step for step in self.run if step.begin_entry < prefix <= step.end_entry)


# --- steps and marks make a history ---------------------------------------------------------------

BEGIN, DONE = "begin", "done"  # a mark's text is one of these, "-" and Step.index


class NoHistory(Exception):
    """Steps and marks do not fit together; the message names the step."""


def history_of(
    setup: Iterable[Step],
    run: Iterable[Step],
    marks: Mapping[str, int],
    entry_count: int,
    *,
    profile: str,
    kernel: str,
    root_inode: int,
    name: str = "-",
    workload: Workload | None = None,
    live: msgspec.Raw | None = None,
) -> History:
    """
    The history of anything that was done to a filesystem while its writes were logged.

    setup, run: steps that have no place in the log yet; those of setup were durable before it began.
    marks:      by their text the entry_index of a log of entry_count entries.
    workload:   what was done, where it was written down before; else it is made of the steps, with this name.
    Errors: NoHistory.
    """
    before = tuple(sorted(setup, key=lambda step: step.index))
    placed = tuple(sorted((_placed(step, marks) for step in run), key=lambda step: step.begin_entry))
    _check_order(before, placed, entry_count)
    if workload is None:
        done = sorted(placed, key=lambda step: step.index)
        workload = Workload(name, tuple(s.operation for s in before), tuple(s.operation for s in done))
    return History(
        workload=workload,
        profile=profile,
        kernel=kernel,
        setup=before,
        run=placed,
        entry_count=entry_count,
        root_inode=root_inode,
        parallel=workload.parallel,
        live=live or msgspec.Raw(b"null"),
    )


def _placed(step: Step, marks: Mapping[str, int]) -> Step:
    begin, end = (marks.get(f"{word}-{step.index}", -1) for word in (BEGIN, DONE))
    if begin < 0 or end < 0:  # it would count as done before the log began
        raise NoHistory(f"the log has no marks of operation {step.index} ({step.operation.word})")
    if begin >= end:
        raise NoHistory(f"operation {step.index} ({step.operation.word}) ends before it begins")
    return msgspec.structs.replace(step, begin_entry=begin, end_entry=end)


def _check_order(setup: tuple[Step, ...], run: tuple[Step, ...], entry_count: int) -> None:
    """What the oracles take for granted: indexes that count, and places in the log; operations that overlap
    stand in parallel blocks."""
    found = sorted(step.index for step in (*setup, *run))
    if found != list(range(len(found))) or [step.index for step in setup] != found[: len(setup)]:
        raise NoHistory(
            "the operations of setup and run must be numbered from 0 without a gap, and the "
            f"numbers are {found[:20]}"
        )
    for step, following in itertools.pairwise(run):
        in_turn = step.index < following.index and step.end_entry <= following.begin_entry
        if not in_turn and not (step.operation.parallel and following.operation.parallel):
            raise NoHistory(f"operation {following.index} begins before operation {step.index} has ended")
    if late := next((step for step in run if step.end_entry >= entry_count), None):
        raise NoHistory(f"operation {late.index} ends after the last of the {entry_count} entries of the log")


# --- what a write fills its range with ------------------------------------------------------------

CELL_BYTES = 8
CELL_MAGIC = 0xC5B7
JBD2_MAGIC = b"\xc0\x3b\x39\x98"  # include/linux/jbd2.h: JBD2_MAGIC_NUMBER
MAGIC_EVERY = 1024  # the smallest block of ext4


def with_magic(data: bytes, offset: int) -> bytes:
    """`data`, which is written at `offset`, with the first bytes of each block those of jbd2's own."""
    marked = bytearray(data)
    for place, byte in enumerate(JBD2_MAGIC):
        first = (place - offset) % MAGIC_EVERY
        for at in range(first, len(data), MAGIC_EVERY):
            marked[at] = byte
    return bytes(marked)


def stamped(index: int, offset: int, length: int) -> bytes:
    """The bytes that operation `index` writes at `offset`, `length` of them.

    A file is seen as cells of 8 bytes at multiples of 8; a cell holds, little endian, the
    stamp (index + 1, u16), CELL_MAGIC (u16) and the cell's number in the file (u32), so any
    whole cell names the operation that wrote it and the place it was written for.
    """
    first = offset // CELL_BYTES
    last = (offset + length + CELL_BYTES - 1) // CELL_BYTES
    stamp = (index + 1).to_bytes(2, "little") + CELL_MAGIC.to_bytes(2, "little")
    cells = b"".join(stamp + (cell & 0xFFFFFFFF).to_bytes(4, "little") for cell in range(first, last))
    return cells[offset - first * CELL_BYTES :][:length]
