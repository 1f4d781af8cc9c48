"""
Which damage is done to the disks of a log: to which blocks of which states, and what.

In:       what came back of every state, the blocks that the mounts of some of them read, their disks; a
          budget.
Out:      State after State with a damage; Coverage: how many of all those are.
Not here: the disks (rebuild.py), recovering them (damage.py), what it means
          (oracles/faults/damage.py).

A place is a block with one content: most blocks that a mount reads are the same in many states, and are
damaged in the last of them, to which most was promised. Each sector with something in it can be zeroed, and
have a bit flipped in one of its bytes that are not zero; which, is drawn. In the log or the journal, which
only recovery reads, further bits are drawn. A place of zeros gets one bit, when the others have all.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.stages.recover import Recovered
from harness.stages.session import MOUNTED
from harness.states.rebuild import Rebuilding
from harness.states.spread import even, shares
from oracles.spec import BLOCK_BYTES, SECTOR_BYTES, Damage, State
from reports.results import Coverage, ReadBlock

STATES_MAX = 8  # of a log: those between them differ in few of the blocks that are read
LOGS = ("log", "journal")  # how block_name() begins there
LOG_BITS = 8  # of a sector there; of another one is flipped


def chosen_states(recovered: Sequence[Recovered]) -> list[State]:
    """Of those whose disks differ and that mounted; the last one is always among them."""
    mounted = [one for one in recovered if not one.same_as and one.observation.startswith(MOUNTED)]
    replayed = [one for one in mounted[:-1] if b'"untouched":true' not in one.observation]
    few = [replayed[number] for number in even(len(replayed), STATES_MAX - 1)]
    return [State(one.prefix) for one in (*few, *mounted[-1:])]


class Place(msgspec.Struct, frozen=True):
    """A block of a state, and what can be done to it."""

    state: State
    block: int
    damages: tuple[Damage, ...]


class Damaging:
    """states() of a log, and how much of all there are that is. reads: by chosen state, the blocks. also:
    done in any case, and in every state that reads their block; no part of the budget."""

    def __init__(
        self,
        disks: Rebuilding,
        reads: Mapping[State, Sequence[ReadBlock]],
        budget: int,
        seed: int,
        also: Sequence[Damage] = (),
    ) -> None:
        known: set[tuple[int, bytes]] = set()
        self._places: list[Place] = []
        for state in reversed(tuple(reads)):
            disks.move(state)
            for block, name in ((each.block, each.name) for each in reads[state]):
                content = disks.disk.block(block)
                if (block, content) not in known:
                    known.add((block, content))
                    draw = random.Random(f"{seed} {state.spec} {block}")
                    bits = LOG_BITS if name.startswith(LOGS) else 1
                    self._places.append(Place(state, block, tuple(damages(block, content, draw, bits))))
        self._places.sort(key=lambda place: (place.state.prefix, place.block))
        wanted = [len(place.damages) for place in self._places]
        of_zeros = [count == 1 for count in wanted]  # damages(): of all others there are two or more
        given = shares([0 if zeros else count for count, zeros in zip(wanted, of_zeros, strict=True)], budget)
        rest = shares([int(zeros) for zeros in of_zeros], budget - sum(given))
        self._shares = [a + b for a, b in zip(given, rest, strict=True)]
        self.coverage = Coverage(
            model="D",
            places=len(wanted),
            whole=sum(share > 0 for share in self._shares),
            examined=sum(self._shares),
            space=sum(wanted),
        )
        self._also = [
            (state, damage)
            for state in reads
            for damage in also
            if damage.block in {each.block for each in reads[state]}
        ]
        self.count = len(list(self.states()))

    def states(self) -> Iterator[State]:
        """State after state, so disks go forward."""
        drawn = [
            (place.state, damage)
            for place, share in zip(self._places, self._shares, strict=True)
            for damage in place.damages[:share]
        ]
        every = dict.fromkeys((*self._also, *drawn))
        for state, damage in sorted(every, key=lambda one: one[0].prefix):
            yield msgspec.structs.replace(state, damage=damage)


def damages(block: int, content: bytes, draw: random.Random, bits: int) -> Iterator[Damage]:
    """All of a block, the bits of sectors and their zeroes in turn, the sectors in an order that is drawn;
    then the further bits. bits: of a sector."""
    sectors = [
        (at // SECTOR_BYTES, [byte for byte in range(at, at + SECTOR_BYTES) if content[byte]])
        for at in range(0, BLOCK_BYTES, SECTOR_BYTES)
    ]
    used = [(sector, there) for sector, there in sectors if there]
    if not used:
        yield Damage(block, bit=draw.randrange(8 * BLOCK_BYTES))
        return
    draw.shuffle(used)
    done = set()
    for at, (_, there) in enumerate(used):
        done.add(bit := _bit(there, draw))
        yield Damage(block, bit=bit)
        yield Damage(block, sector=used[(at + 1) % len(used)][0])
    for _ in range(bits - 1):
        for _, there in used:
            if (bit := _bit(there, draw)) not in done:
                done.add(bit)
                yield Damage(block, bit=bit)


def _bit(there: Sequence[int], draw: random.Random) -> int:
    return 8 * draw.choice(there) + draw.randrange(8)
