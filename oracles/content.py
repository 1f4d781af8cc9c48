"""
What a file holds, as extents that name the operation that wrote them.

In:       file operations, one after the other; runs of bytes that were read back.
Out:      Content after Content; the sources a byte may come from; where runs differ from them.
Not here: which moments are allowed (allowed.py), names and attributes (model.py).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from oracles.observation import Run
from workloads.history import CELL_BYTES, stamped


class Source(NamedTuple):
    """Where bytes come from: stamp 0 is zeros, else operation stamp - 1; `moved` bytes away from
    the offset they were written for (fallocate collapse-range and insert-range move content).
    data: of a program's write the bytes themselves, which were written for the offset `at`; else empty,
    and they are stamped()."""

    stamp: int
    moved: int = 0
    data: bytes = b""
    at: int = 0


class Extent(NamedTuple):
    """Bytes [start, end) of one file, all of one source."""

    start: int
    end: int
    source: Source


class Piece(NamedTuple):
    """Bytes [start, end) and the sources any of them may have."""

    start: int
    end: int
    sources: frozenset[Source]


class Difference(NamedTuple):
    """The first byte that no allowed source explains. stamp: of the run found there, -1 for raw bytes."""

    offset: int
    allowed: frozenset[Source]
    stamp: int
    found: str


# A Content covers [0, size) without gaps, in order; its size is the end of its last extent.
Content = tuple[Extent, ...]

ZERO = Source(0)
EMPTY: Content = ()


def size_of(content: Content) -> int:
    return content[-1].end if content else 0


def part(content: Content, start: int, end: int) -> Content:
    """The extents within [start, end), clipped; those that lie in it whole are the same objects."""
    return tuple(
        extent
        if start <= extent.start and extent.end <= end
        else Extent(max(extent.start, start), min(extent.end, end), extent.source)
        for extent in content
        if extent.start < end and extent.end > start
    )


def clipped(pieces: Iterable[Piece], start: int, end: int) -> list[Piece]:
    """The pieces within [start, end)."""
    return [
        Piece(max(piece.start, start), min(piece.end, end), piece.sources)
        for piece in pieces
        if piece.start < end and piece.end > start
    ]


def resized(content: Content, size: int) -> Content:
    old = size_of(content)
    if size <= old:
        return part(content, 0, size)
    return (*content, Extent(old, size, ZERO))


def written(content: Content, start: int, end: int, source: Source) -> Content:
    """[start, end) comes from `source`; a gap behind the old end is zeros."""
    if start >= end:
        return content
    if start > size_of(content):
        content = resized(content, start)
    return (*part(content, 0, start), Extent(start, end, source), *part(content, end, size_of(content)))


def shifted(content: Content, by: int) -> Content:
    return tuple(
        Extent(
            extent.start + by,
            extent.end + by,
            extent.source
            if extent.source == ZERO
            else extent.source._replace(moved=extent.source.moved + by),
        )
        for extent in content
    )


def collapsed(content: Content, offset: int, length: int) -> Content:
    rest = part(content, offset + length, size_of(content))
    return (*part(content, 0, offset), *shifted(rest, -length))


def inserted(content: Content, offset: int, length: int) -> Content:
    rest = part(content, offset, size_of(content))
    return (*part(content, 0, offset), Extent(offset, offset + length, ZERO), *shifted(rest, length))


def same_until(one: Content, other: Content) -> int:
    """The first byte at which they differ, or end."""
    for pieces in merged_pieces((one, other), max(size_of(one), size_of(other))):
        if len(pieces.sources) > 1:
            return pieces.start
    return min(size_of(one), size_of(other))


def explained(runs: Iterable[Run], candidates: Sequence[Content]) -> Content | None:
    """What was read back as a Content, each byte by zeros or by the source that the first of the candidates
    to explain it has there; None where none does."""
    edges = {edge for content in candidates for extent in content for edge in (extent.start, extent.end)}
    found: list[Extent] = []
    for run in runs:
        inside = sorted(edge for edge in edges if run.offset < edge < run.offset + run.length)
        marks = [run.offset, *inside, run.offset + run.length]
        for start, end in pairwise(marks):
            sources = [extent.source for each in candidates for extent in part(each, start, end)]
            source = _explaining(run, start, end, sources)
            if source is None:
                return None
            before = found.pop() if found and found[-1].source == source else Extent(start, start, source)
            found.append(Extent(before.start, end, source))
    return tuple(found)


def _explaining(run: Run, start: int, end: int, sources: list[Source]) -> Source | None:
    if run.kind == "z":
        return ZERO
    written = Source(run.stamp) if run.kind == "w" and run.stamp else None
    if written in sources:
        return written
    found = run_bytes(run, start, end)
    return next((source for source in sources if source_bytes(source, start, end) == found), written)


def merged_pieces(contents: Iterable[Content], zero_from: int) -> tuple[Piece, ...]:
    """Byte by byte, every source that one of `contents` has there; zero too from `zero_from` on.

    Bytes are independent of each other: writeback takes pages in any order, and a page may be on
    disk while its neighbour is not.
    """
    all_contents = list(contents)
    if len(all_contents) == 1 and zero_from >= size_of(all_contents[0]):
        return tuple(Piece(start, end, frozenset((source,))) for start, end, source in all_contents[0])
    # Each once, by identity: a content shares most extents with the one that it was made from.
    extents = {id(extent): extent for content in all_contents for extent in content}.values()
    edges = {0}
    for extent in extents:
        edges.update((extent.start, extent.end))
    if zero_from < max(edges):
        edges.add(zero_from)
    marks = sorted(edges)
    place_of = {mark: place for place, mark in enumerate(marks)}
    sources: list[set[Source]] = [set() for _ in marks]
    for extent in extents:
        for place in range(place_of[extent.start], place_of[extent.end]):
            sources[place].add(extent.source)
    pieces = []
    for place, end in enumerate(marks[1:]):
        if marks[place] >= zero_from:
            sources[place].add(ZERO)
        pieces.append(Piece(marks[place], end, frozenset(sources[place])))
    return tuple(pieces)


def source_bytes(source: Source, start: int, end: int) -> bytes:
    if source.stamp == 0:
        return bytes(end - start)
    if source.data:
        first = start - source.moved - source.at
        return source.data[first : first + end - start]
    return stamped(source.stamp - 1, start - source.moved, end - start)


def run_bytes(run: Run, start: int, end: int) -> bytes:
    if run.kind == "z":
        return bytes(end - start)
    if run.kind == "w":
        return stamped(run.stamp - 1, start, end - start)
    return bytes.fromhex(run.hex)[start - run.offset : end - run.offset]


def first_difference(runs: Sequence[Run], pieces: Sequence[Piece], size: int) -> Difference | None:
    """Where the runs first hold a byte in [0, size) that no piece allows; bytes beyond the last piece
    are not asked about."""
    starts = [piece.start for piece in pieces]
    for run in runs:
        if run.kind == "h":
            continue
        run_end = min(run.offset + run.length, size)
        place = max(bisect_right(starts, run.offset) - 1, 0)
        while place < len(pieces) and pieces[place].start < run_end:
            piece = pieces[place]
            place += 1
            start, end = max(piece.start, run.offset), min(piece.end, run_end)
            if start >= end or explained_at_once(run, piece.sources):
                continue
            difference = difference_in(run, piece.sources, start, end)
            if difference is not None:
                return difference
    return None


def explained_at_once(run: Run, sources: frozenset[Source]) -> bool:
    if run.kind == "w" and not run.stamp:  # a cell of operation 0 whose first byte is zero: by its bytes
        return False
    return (run.kind == "z" and ZERO in sources) or (run.kind == "w" and Source(run.stamp) in sources)


def difference_in(run: Run, sources: frozenset[Source], start: int, end: int) -> Difference | None:
    """Byte by byte: cells of different operations share most of their bytes, and an unaligned write
    leaves cells that two operations made."""
    found = run_bytes(run, start, end)
    wanted = [source_bytes(source, start, end) for source in sources]
    if found in wanted:
        return None
    for index, byte in enumerate(found):
        if all(choice[index] != byte for choice in wanted):
            stamp = {"z": 0, "w": run.stamp}.get(run.kind, -1)
            offset = start + index
            return Difference(offset, sources, stamp, found_text(run, offset))
    return None


def found_text(run: Run, offset: int) -> str:
    if run.kind == "z":
        return "zeros"
    if run.kind == "w":
        return f"bytes of operation {run.stamp - 1}"
    first = offset - run.offset
    shown = bytes.fromhex(run.hex)[first : first + CELL_BYTES]
    return f"bytes {shown.hex(' ')} that no operation wrote there"


def runs_of(content: Content) -> tuple[Run, ...]:
    """The runs an agent reports for a file that holds exactly `content`."""
    size = size_of(content)
    runs: list[Run] = []
    for extent in content:
        inner_start = -(-extent.start // CELL_BYTES) * CELL_BYTES
        inner_end = extent.end // CELL_BYTES * CELL_BYTES
        whole = extent.source.stamp == 0 or (extent.source.moved == 0 and not extent.source.data)
        if not whole or inner_start >= inner_end:
            runs.append(raw_run(extent.source, extent.start, extent.end))
            continue
        if extent.start < inner_start:
            runs.append(raw_run(extent.source, extent.start, inner_start))
        kind = "w" if extent.source.stamp else "z"
        runs.append(Run(inner_start, inner_end - inner_start, kind, extent.source.stamp))
        if inner_end < extent.end:
            runs.append(raw_run(extent.source, inner_end, extent.end))
    assert sum(run.length for run in runs) == size
    return tuple(runs)


def raw_run(source: Source, start: int, end: int) -> Run:
    return Run(start, end - start, "x", 0, source_bytes(source, start, end).hex())
