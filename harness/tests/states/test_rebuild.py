"""Whatever state comes after whatever state, its disk is what its spec says, and no block more is dirty."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from harness.states.crash import cuts, states
from harness.states.disk import BLOCK_BYTES, MASK, block_hash
from harness.states.log import Entry, open_log, write_log
from harness.states.nested import file_name
from harness.states.rebuild import Rebuilding
from harness.states.reorder import Reordering
from harness.states.tear import Tearing
from oracles.spec import Damage, State
from workloads.entries import EntryFlag, EntrySummary

SIZE_BYTES = 64 * BLOCK_BYTES
BASE = random.Random(1).randbytes(9 * BLOCK_BYTES).ljust(SIZE_BYTES, b"\0")


def drawn_log(seed: int, count: int) -> tuple[Entry, ...]:
    draw = random.Random(seed)

    def data(flags: EntryFlag) -> Entry:
        sectors = draw.randrange(1, 20)
        return Entry(draw.randrange(500 - sectors), sectors, flags, draw.randbytes(512 * sectors))

    kinds = {
        lambda: data(0): 8,
        lambda: data(EntryFlag.FUA): 1,
        lambda: data(EntryFlag.FLUSH): 1,
        lambda: Entry(draw.randrange(100), draw.randrange(1, 400), EntryFlag.DISCARD): 1,
        lambda: Entry(0, 0, EntryFlag.FLUSH): 1,
        lambda: Entry(0, 0, EntryFlag.MARK, mark="begin-1"): 1,
    }
    return tuple(draw.choices(list(kinds), list(kinds.values()))[0]() for _ in range(count))


def by_hand(entries: Sequence[Entry], state: State, recovery: Sequence[Entry] = ()) -> bytes:
    """The disk of a state, write after write."""
    model = bytearray(BASE)
    done = [(entry, index) for index, entry in enumerate(entries[: state.prefix]) if index not in state.lost]
    for entry, index in [*done, *((entry, -2) for entry in recovery[: max(0, state.nested)])]:
        if entry.flags & EntryFlag.MARK:
            continue
        length = 512 * (state.sectors if index == state.torn else entry.sector_count)
        model[512 * entry.sector : 512 * entry.sector + length] = (entry.data or bytes(length))[:length]
    if state.damage is not None:
        start = BLOCK_BYTES * state.damage.block
        model[start : start + BLOCK_BYTES] = state.damage.of(bytes(model[start : start + BLOCK_BYTES]))
    return bytes(model)


class Scene:
    def __init__(self, folder: Path, entries: tuple[Entry, ...]) -> None:
        (folder / "base").write_bytes(BASE)
        write_log(folder / "log", entries)
        self.folder = folder
        self.entries = entries

    def check(self, wanted: Sequence[State], recovery: Sequence[Entry] = ()) -> list[int]:
        """How many blocks were dirty for each."""
        dirty = []
        with (
            open_log(self.folder / "log") as log,
            Rebuilding(self.folder / "base", log, self.folder) as rebuilding,
        ):
            before = BASE
            for state in wanted:
                rebuilding.move(state)
                image = bytes(rebuilding.disk.image)
                assert image == by_hand(self.entries, state, recovery), state.spec
                assert rebuilding.disk.identity() == identity_of(image), state.spec
                assert rebuilding.disk.nonzero_blocks() == sorted(changed(bytes(len(image)), image))
                assert changed(before, image) <= rebuilding.dirty, state.spec
                dirty.append(len(rebuilding.dirty))
                rebuilding.dirty.clear()
                before = image
        return dirty


def identity_of(image: bytes) -> int:
    """As the sum over all blocks that the base has otherwise, without a delta."""
    blocks = {n: image[n * BLOCK_BYTES : (n + 1) * BLOCK_BYTES] for n in changed(BASE, image)}
    return sum(block_hash(n, block) for n, block in blocks.items()) & MASK


def changed(before: bytes, after: bytes) -> set[int]:
    blocks = range(SIZE_BYTES // BLOCK_BYTES)
    return {
        n for n in blocks if before[n * BLOCK_BYTES :][:BLOCK_BYTES] != after[n * BLOCK_BYTES :][:BLOCK_BYTES]
    }


@pytest.mark.parametrize("seed", range(4))
def test_the_states_of_all_models_one_after_the_other(tmp_path: Path, seed: int) -> None:
    entries = drawn_log(seed, 60)
    scene = Scene(tmp_path, entries)
    with open_log(tmp_path / "log") as log:
        reordered = list(Reordering(log, 150, seed).states())
        torn = list(Tearing(log, 1, 150).states())
    assert len(reordered) > 50
    assert len(torn) == 150
    scene.check([*states(len(entries)), *reordered, *torn])


def test_states_in_any_order(tmp_path: Path) -> None:
    entries = drawn_log(9, 60)
    scene = Scene(tmp_path, entries)
    with open_log(tmp_path / "log") as log:
        every = [*states(60), *Reordering(log, 60, 0).states(), *Tearing(log, 1, 60).states()]
    random.Random(3).shuffle(every)
    scene.check(every)


def test_damaged_states_of_all_models_in_any_order(tmp_path: Path) -> None:
    """None leaves its damage to the next, which may be another of the same block."""
    draw = random.Random(4)
    entries = drawn_log(9, 60)
    scene = Scene(tmp_path, entries)
    with open_log(tmp_path / "log") as log:
        every = [*states(60), *Reordering(log, 60, 0).states(), *Tearing(log, 1, 60).states()]
    damages = [Damage(block, bit=draw.randrange(8 * BLOCK_BYTES)) for block in range(12)]
    damages += [Damage(block, sector=draw.randrange(8)) for block in range(12)]
    damaged = [replace(state, damage=draw.choice(damages)) for state in every for _ in range(2)]
    every += damaged
    draw.shuffle(every)
    scene.check(every)


def test_between_two_damages_of_a_state_two_blocks_are_dirty(tmp_path: Path) -> None:
    wanted = [State(9, damage=Damage(block, bit=block)) for block in range(5)]
    assert Scene(tmp_path, drawn_log(1, 9)).check(wanted)[1:] == [2] * 4


def test_between_two_states_of_a_window_only_what_differs_is_dirty(tmp_path: Path) -> None:
    """However many writes the window has."""
    entries = tuple(Entry(8 * n, 8, 0, bytes([n + 1]) * BLOCK_BYTES) for n in range(60))
    dirty = Scene(tmp_path, entries).check([State(60, lost=(n,)) for n in range(60)])
    assert dirty[1:] == [2] * 59


def test_a_write_lost_uncovers_the_one_before_it(tmp_path: Path) -> None:
    entries = tuple(Entry(8, 8, 0, bytes([n + 1]) * BLOCK_BYTES) for n in range(3))
    Scene(tmp_path, entries).check([State(3, lost=(2,)), State(3, lost=(0, 2)), State(3, lost=(0, 1, 2))])


@pytest.mark.parametrize("lost", [(), (3,)])
def test_a_nested_state_has_the_writes_of_its_recovery_on_top(tmp_path: Path, lost: tuple[int, ...]) -> None:
    entries = tuple(Entry(8 * n, 8, 0, bytes([n + 1]) * BLOCK_BYTES) for n in range(9))
    recovery = drawn_log(5, 12)
    outer = State(9, lost=lost)
    write_log(tmp_path / file_name(outer), recovery)
    nested = [State(9, lost=lost, nested=n) for n in (0, 3, 7, 12, 2)]
    Scene(tmp_path, entries).check([State(4), outer, *nested, outer, State(9, lost=(1,))], recovery)


def test_every_cut_of_a_drawn_log_has_its_writes_in_one_window() -> None:
    entries = drawn_log(2, 200)
    for cut in cuts([entry_summary(entry) for entry in entries]):
        between = entries[cut.start + 1 : cut.prefix]
        assert not any(entry.flags & EntryFlag.FLUSH for entry in between)


def entry_summary(entry: Entry) -> EntrySummary:
    return EntrySummary(entry.flags, entry.sector, entry.sector_count, entry.mark)


def test_a_sync_ends_with_a_write_with_fua_or_with_one_that_a_flush_follows(tmp_path: Path) -> None:
    """Not with a FLUSH that belongs to a write with FUA, and not while other writes come before the FLUSH."""
    both = EntryFlag.FLUSH | EntryFlag.FUA
    mark, data = Entry(0, 0, EntryFlag.MARK, mark="done-1"), Entry(8, 8, 0, bytes(BLOCK_BYTES))
    of_fua, fua = Entry(16, 0, both), Entry(16, 8, EntryFlag.FUA, bytes(BLOCK_BYTES))
    flush = Entry(0, 0, EntryFlag.FLUSH)
    write_log(tmp_path / "log", (data, data, mark, flush, data, of_fua, fua, mark, data))
    (tmp_path / "base").write_bytes(BASE)
    with open_log(tmp_path / "log") as log:
        with Rebuilding(tmp_path / "base", log) as rebuilding:
            told = [ends(rebuilding, prefix) for prefix in range(10)]
        for prefix in range(10):
            with Rebuilding(tmp_path / "base", log) as rebuilding:
                assert ends(rebuilding, prefix) == told[prefix]
                rebuilding.move(State(prefix, lost=(0,)))
                assert not rebuilding.committed, "no sync ended where a write is missing"
    assert told == [False, False, True, True, True, False, False, True, True, False]


def ends(rebuilding: Rebuilding, prefix: int) -> bool:
    rebuilding.move(State(prefix))
    return rebuilding.committed
