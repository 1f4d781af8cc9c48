"""
What a kernel of the config variant gcov executed in one experiment, added up by phase.

In:       the counters that a guest tells (agent/counters.c): of the recording, of each recovered state, of a
          whole sweep of faults.
Out:      Executed: by phase the counters of each source file, in the form that gcov reads. Edges: which
          counters are not zero at all.
Not here: reading them (gcov.py), which files of a kernel count (kernel/profiling.py), what is made of them
          (harness/runs/coverage.py).

A counter says how often one edge between two blocks of a function was taken; gcov works out lines, calls
and branches from the edges (kernel/gcov/gcc_4_7.c writes them, gcc/gcov-io.h of GCC describes the file). So
counters of several recoveries add up to counters of all of them together, and gcov has to run but once.
"""

import hashlib
import struct
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import zstandard

from harness.stages.gcov import NotCounted, places_in
from reports.coverage.results import DIFFERING, RECOVERED
from reports.results import JudgedState

if TYPE_CHECKING:
    import numpy

    Values = numpy.ndarray[Any, numpy.dtype[numpy.uint64]]

# gcc/gcov-io.h. A length is in bytes since GCC 12, in words of four bytes before; with GCC 12 came a fourth
# word of the head, too.
FUNCTION, EDGES, END = 0x01000000, 0x01A10000, 0
WORD = struct.Struct("<I")
VALUE_BYTES = 8


FILE = "counters.zst"


class Executed(msgspec.Struct, frozen=True):
    """
    files: each counted file, as fs/btrfs/tree-log.gcda, with its counters zero.
    phases: by phase, of each file that did anything, its counters: little-endian, eight bytes each, in the
    order in which the file has them.
    """

    files: dict[str, bytes]
    phases: dict[str, dict[str, bytes]]

    def counters(self, phase: str, wanted: Container[str] | None = None) -> dict[str, bytes]:
        """Files as gcov reads them, of those that did anything in this phase. wanted: names; None for all."""
        return {
            name: _filled(self.files[name], values)
            for name, values in self.phases[phase].items()
            if wanted is None or name in wanted
        }


def edges_in(file: bytes, name: str) -> list[tuple[int, int]]:
    """(offset, length in bytes) of the counters of each function. Errors: NotCounted."""
    words = [*WORD.iter_unpack(file[: len(file) // 4 * 4])]
    at = 3 if len(words) > 3 and words[3][0] == FUNCTION else 4
    found = []
    unit = 4 if words[at + 1 : at + 2] == [(3,)] else 1  # a function's own record has three words
    while at + 1 < len(words):
        (tag,), (length,) = words[at : at + 2]
        if tag == EDGES:
            found.append(((at + 2) * 4, length * unit))
        elif tag == END:
            break
        elif tag != FUNCTION:
            raise NotCounted(f"the counters of {name} have a record {tag:#x}, which is not known here")
        at += 2 + length * unit // 4
    return found


def _filled(file: bytes, values: bytes) -> bytes:
    made, done = bytearray(file), 0
    for offset, length in edges_in(file, "a kept file"):
        made[offset : offset + length] = values[done : done + length]
        done += length
    return bytes(made)


class _Layout:
    """Where in what a guest tells the counters are; the same for all that one guest tells."""

    def __init__(self, told: bytes) -> None:
        import numpy  # noqa: PLC0415  takes 0.1 s: only who counts pays for it

        self.files: dict[str, bytes] = {}
        self.counts: dict[str, int] = {}
        places = []
        for name, begin, end in sorted(places_in(told)):
            zeroed = bytearray(told[begin:end])
            self.counts[name] = 0
            for offset, length in edges_in(told[begin:end], name):
                zeroed[offset : offset + length] = bytes(length)
                places.append(numpy.arange(begin + offset, begin + offset + length, dtype=numpy.int64))
                self.counts[name] += length // VALUE_BYTES
            self.files[name] = bytes(zeroed)
        self._places = numpy.concatenate(places) if places else numpy.zeros(0, dtype=numpy.int64)
        self._fixed = self._without_counters(told)

    def _without_counters(self, told: bytes) -> bytes:
        import numpy  # noqa: PLC0415

        rest = numpy.frombuffer(told, dtype=numpy.uint8).copy()
        rest[self._places] = 0
        return rest.tobytes()

    def fits(self, told: bytes) -> bool:
        return len(told) == len(self._fixed) and self._without_counters(told) == self._fixed

    def values(self, told: bytes) -> "Values":
        import numpy  # noqa: PLC0415

        found: Values = numpy.frombuffer(told, dtype=numpy.uint8)[self._places].view("<u8")
        return found


class Tally:
    """The counters of one experiment, told as they come."""

    def __init__(self) -> None:
        self._layout: _Layout | None = None
        self._phases: dict[str, Values] = {}
        self._states: dict[str, Values] = {}

    def add(self, phase: str, told: bytes) -> None:
        """Errors: NotCounted."""
        values = self._values(told)
        before = self._phases.get(phase)
        self._phases[phase] = values if before is None else before + values

    def add_state(self, spec: str, told: bytes) -> None:
        """A recovered state; nothing is told of one that the guest did not survive. Errors: NotCounted."""
        if told:
            self._states[spec] = self._values(told)

    def executed(self, states: Sequence[JudgedState]) -> Executed | None:
        """states: in their order, as judged. None where nothing was counted."""
        if self._layout is None:
            return None
        phases = dict(self._phases)
        for phase, specs in ((RECOVERED, list(self._states)), (DIFFERING, [*differing(states)])):
            counted = [self._states[spec] for spec in specs if spec in self._states]
            if counted:
                phases[phase] = sum(counted[1:], start=counted[0])
        kept = {phase: self._by_file(values) for phase, values in phases.items()}
        return Executed(self._layout.files, kept)

    def _by_file(self, values: "Values") -> dict[str, bytes]:
        assert self._layout is not None
        found, at = {}, 0
        for name, count in self._layout.counts.items():
            own = values[at : at + count]
            if own.any():
                found[name] = own.tobytes()
            at += count
        return found

    def _values(self, told: bytes) -> "Values":
        if self._layout is None or not self._layout.fits(told):
            layout = _Layout(told)
            if self._layout is not None and layout.files != self._layout.files:
                raise NotCounted("two guests of one kernel told counters of different files")
            self._layout = layout
        return self._layout.values(told)


class Edges:
    """Which counters are not zero, for who asks only that: told by one guest after the other of one kernel.
    count: how many there are. layout: equal for equal files with as many counters each; both after
    taken()."""

    def __init__(self) -> None:
        self._layout: _Layout | None = None
        self._bytes = 0
        self.count = 0
        self.layout = ""

    def taken(self, told: bytes) -> bytes:
        """The numbers of those that are not zero, in ascending order, each four bytes. Errors: NotCounted."""
        import numpy  # noqa: PLC0415

        if self._layout is None or len(told) != self._bytes:
            layout = _Layout(told)
            digest = hashlib.sha256(msgspec.json.encode(list(layout.counts.items()))).hexdigest()[:16]
            if self.layout not in ("", digest):
                raise NotCounted("two guests of one kernel told counters of different files")
            self._layout, self._bytes, self.layout = layout, len(told), digest
            self.count = sum(layout.counts.values())
        return numpy.flatnonzero(self._layout.values(told)).astype("<u4").tobytes()


def differing(states: Sequence[JudgedState]) -> Iterator[str]:
    """Of each state that brought back something else than the one before it, the state that was recovered
    for it: what an oracle had to judge anew. Each once."""
    seen = set()
    before = -1
    for state in states:
        recovered = state.same_as or state.spec
        if state.observation != before and recovered not in seen:
            seen.add(recovered)
            yield recovered
        before = state.observation


class _Kept(msgspec.Struct, frozen=True):
    kernel_key: str
    executed: Executed


def keep_executed(folder: Path, kernel_key: str, executed: Executed) -> None:
    """counters.zst, MessagePack. kernel_key: of the kernel whose notes gcov needs. Errors: OSError."""
    content = msgspec.msgpack.encode(_Kept(kernel_key, executed))
    (folder / FILE).write_bytes(zstandard.ZstdCompressor().compress(content))


def read_executed(folder: Path) -> tuple[str, Executed] | None:
    """(the kernel's key, what it executed); None where nothing was counted. Errors: NotCounted, OSError."""
    try:
        content = zstandard.ZstdDecompressor().decompress((folder / FILE).read_bytes())
        kept = msgspec.msgpack.decode(content, type=_Kept)
    except FileNotFoundError:
        return None
    except (zstandard.ZstdError, msgspec.DecodeError) as error:
        raise NotCounted(f"{folder / FILE} is damaged: {error}") from error
    return kept.kernel_key, kept.executed


def added(one: Executed, other: Executed) -> Executed:
    """Both together; they may have different files. Errors: NotCounted."""
    import numpy  # noqa: PLC0415

    phases = {phase: dict(files) for phase, files in one.phases.items()}
    for phase, files in other.phases.items():
        into = phases.setdefault(phase, {})
        for name, values in files.items():
            if name not in into:
                into[name] = values
                continue
            if len(into[name]) != len(values):
                raise NotCounted(f"{name} has counters of two kernels")
            total = numpy.frombuffer(into[name], "<u8") + numpy.frombuffer(values, "<u8")
            into[name] = total.tobytes()
    return Executed(one.files | other.files, phases)


__all__ = ["Edges", "Executed", "Tally", "added", "differing", "edges_in", "keep_executed", "read_executed"]
