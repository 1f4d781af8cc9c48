"""
Turn a write log into the moments power could have failed.

In:       a Log, as recorded by dm-log-writes, or the summaries of its entries.
Out:      State after State of model O, earliest crash first; parse_spec() for one of this log by its name;
          the cuts at which writes were volatile, from which the other models are made.
Not here: which of the states of the other models are examined (reorder.py, tear.py, nested.py), building the
          disks (rebuild.py), judging them (oracles/).

What was volatile: Documentation/block/writeback_cache_control.rst has a flush put "previously completed
write requests" on non-volatile storage, and a write with FUA itself, before it completes: FUA orders
nothing. drivers/md/dm-log-writes.c logs a plain write or a discard right before the FLUSH that was submitted
after its completion, when that FLUSH has completed (log_writes_map() splices unflushed_blocks); a write with
FUA at its own completion. So a *window* begins behind a FLUSH and ends before the next; what stands in it
without FUA may have been lost at any moment before its end, in any subset, and what stands before it may not.
A FLUSH with data is logged by a device that takes it whole; dm sends it as a flush and then the write
(drivers/md/dm.c dm_io_complete()). The flush comes first, so that data belongs to the new window.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from oracles.spec import BLOCK_BYTES, GONE, LATE, MODELS, BadSpec, State, parse
from workloads.entries import ALL_DEVICES, EntryFlag, EntrySummary

DEFAULT_MODELS = ("O",)


class Entries(Protocol):
    """A Log, or the summaries of one's entries."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> EntrySummary: ...

    def __iter__(self) -> Iterator[EntrySummary]: ...


def states(entry_count: int) -> Iterator[State]:
    """entry_count + 1 states, from the empty prefix to the whole log."""
    return (State(prefix) for prefix in range(entry_count + 1))


# --- what was volatile ----------------------------------------------------------------------------


class Cut(msgspec.Struct, frozen=True):
    """A prefix at which writes were volatile. start: the first entry of its window."""

    start: int
    prefix: int
    volatile: tuple[int, ...]


def writes(entry: EntrySummary) -> bool:
    """Whether it changes the disk at all; a discard does."""
    return bool(entry.sector_count) and not entry.flags & EntryFlag.MARK


def is_volatile(entry: EntrySummary) -> bool:
    return writes(entry) and not entry.flags & EntryFlag.FUA


def covers(flush: EntrySummary, device: int) -> bool:
    """Whether it is a FLUSH, and one of that device."""
    return bool(flush.flags & EntryFlag.FLUSH) and flush.device in (device, ALL_DEVICES)


def cuts(entries: Iterable[EntrySummary]) -> Iterator[Cut]:
    """
    The fullest prefixes of every window: its end, and wherever a write with FUA or a mark comes between,
    for there the disk or the moment is another one. Any other prefix of the window with some of its writes
    lost is one of these with more of them lost. Of several devices each has windows of its own: a cut has the
    volatile writes of all.

    Behind the last volatile write of a window, too: a write with FUA is there while writes before it are
    lost, or an operation has returned.
    """
    start, volatile, fresh, index = 0, list[tuple[int, int]](), False, -1
    for index, entry in enumerate(entries):
        ends = bool(entry.flags & EntryFlag.FLUSH)
        if fresh and (ends or not is_volatile(entry)):
            yield Cut(start, index, tuple(each for each, _ in volatile))
            fresh = False
        if volatile and not ends and not is_volatile(entry):
            fresh = True  # another disk or another moment, with the same writes volatile
        if ends:
            volatile = [each for each in volatile if not covers(entry, each[1])]
            behind = index if entry.sector_count else index + 1
            start = volatile[0][0] if volatile else behind
        if is_volatile(entry):
            volatile.append((index, entry.device))
            fresh = True
    if fresh:
        yield Cut(start, index + 1, tuple(each for each, _ in volatile))


def window_start(entries: Entries, prefix: int, since: int = 0, device: int | None = None) -> int | None:
    """The first entry behind the last FLUSH before the cut, of this device if one is named; None when there
    is no such FLUSH from `since` on."""
    for index in range(prefix - 1, since - 1, -1):
        entry = entries[index]
        if entry.flags & EntryFlag.FLUSH and (device is None or covers(entry, device)):
            return index if entry.sector_count else index + 1
    return None


# --- names ----------------------------------------------------------------------------------------


def parse_spec(spec: str, entries: Entries, device_bytes: int = 0) -> State:
    """The state of this log with that name. device_bytes: of the disk, 0 where it is not known. Errors:
    BadSpec."""
    state = parse(spec)
    if state.damage and 0 < device_bytes <= state.damage.block * BLOCK_BYTES:
        raise BadSpec(f"{spec}: the blocks of the disk are 0 to {device_bytes // BLOCK_BYTES - 1}")
    if state.prefix > len(entries):
        raise BadSpec(
            f"{spec}: the log has {len(entries)} entries, so its states are O:0 to O:{len(entries)}"
        )
    if state.members:
        return settled(state, entries)
    if state.lost:
        _check_lost(spec, state, entries)
    if state.torn >= 0:
        _check_torn(spec, state, entries)
    return state


def sent(entries: Entries, device: int, start: int, stop: int) -> tuple[int, ...]:
    """The writes to that device, of the entries from start to before stop."""
    return tuple(
        index for index in range(start, stop) if writes(entries[index]) and entries[index].device == device
    )


def settled(state: State, entries: Entries) -> State:
    """A state of model M with its lost writes, which its name leaves to the log."""
    lost: set[int] = set()
    for device, since in state.members:
        if since == LATE:
            start = window_start(entries, state.prefix, device=device) or 0
            behind = sent(entries, device, start, state.prefix)
            lost.update(index for index in behind if is_volatile(entries[index]))
        elif since != GONE:
            lost.update(sent(entries, device, since, state.prefix))
    return State(state.prefix, lost=tuple(sorted(lost)), members=state.members)


def _check_lost(spec: str, state: State, entries: Entries) -> None:
    starts: dict[int, int] = {}  # of the windows, by device
    for index in state.lost:
        if index >= state.prefix:
            raise BadSpec(f"{spec}: entry {index} is after the end of the prefix, so it is not on the disk")
        device = entries[index].device
        if device not in starts:
            starts[device] = window_start(entries, state.prefix, device=device) or 0
        if index < starts[device]:
            raise BadSpec(f"{spec}: entry {index} was durable, because a later FLUSH had completed")
        if not writes(entries[index]):
            raise BadSpec(f"{spec}: entry {index} writes nothing")
        if not is_volatile(entries[index]):
            raise BadSpec(f"{spec}: entry {index} has FUA, so it was durable when it completed")


def _check_torn(spec: str, state: State, entries: Entries) -> None:
    if state.torn >= state.prefix:
        raise BadSpec(f"{spec}: entry {state.torn} is after the end of the prefix, so it is not on the disk")
    entry = entries[state.torn]
    if not writes(entry) or entry.flags & EntryFlag.DISCARD:
        raise BadSpec(f"{spec}: entry {state.torn} has no data that could be torn")
    if not 0 < state.sectors < entry.sector_count:
        raise BadSpec(
            f"{spec}: entry {state.torn} has {entry.sector_count} sectors, so it can be torn "
            f"after 1 to {entry.sector_count - 1} of them"
        )
    if state.torn == state.prefix - 1:
        return  # it was on its way, FUA or not
    start = window_start(entries, state.prefix, device=entry.device) or 0
    if state.torn < start or not is_volatile(entry):
        raise BadSpec(f"{spec}: entry {state.torn} was durable before the end of the prefix")


def parse_models(text: str) -> tuple[str, ...]:
    """`--models O,R`; in the order O, R, T, N, A, M. Errors: BadSpec."""
    wanted = [part.strip() for part in text.split(",") if part.strip()]
    for model in wanted:
        if model not in MODELS:
            raise BadSpec(f"--models {text}: there is no model {model!r}. The models are {', '.join(MODELS)}")
    if not wanted:
        raise BadSpec("--models: name at least one model, such as --models O")
    return tuple(model for model in MODELS if model in wanted)
