"""
Which blocks fail while states of a log are recovered: one in each state, for reads or for writes.

In:       the blocks that the mounts of some states read, and those that they write; their disks; a budget.
Out:      State after State with a block that fails; Coverage: how many of all those are.
Not here: recovering them (damage.py), what the device does (harness/guests/agent/faults.c), what it means
          (oracles/faults/healed.py).

A block that a mount reads fails to be read once with each content that it has in these states, in the last
state that has it, to which most was promised. A block that recovery writes fails to be written in each state,
since what is written there is another thing each time. Of a budget each kind of block gets as much as any
other.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.states.rebuild import Rebuilding
from harness.states.spread import even, shares
from oracles.spec import Damage, State
from reports.results import Coverage, ReadBlock

_Place = tuple[State, Damage]


class Failing:
    """states() of a log, and how much of all there are that is. reads, writes: by chosen state, the blocks.
    also: done in any case, in every state that reads, or writes, their block; no part of the budget."""

    def __init__(
        self,
        disks: Rebuilding,
        reads: Mapping[State, Sequence[ReadBlock]],
        writes: Mapping[State, Sequence[ReadBlock]],
        budget: int,
        also: Sequence[Damage] = (),
    ) -> None:
        known: set[tuple[int, bytes]] = set()
        kinds: dict[tuple[int, str, str], list[_Place]] = {}
        for state in reversed(tuple(reads)):
            disks.move(state)
            for one in reads[state]:
                if (content := (one.block, disks.disk.block(one.block))) not in known:
                    known.add(content)
                    kinds.setdefault((state.prefix, "read", one.name), []).append(
                        (state, Damage(one.block, fails="read"))
                    )
            for one in writes[state]:
                kinds.setdefault((state.prefix, "write", one.name), []).append(
                    (state, Damage(one.block, fails="write"))
                )
        count = sum(map(len, kinds.values()))
        chosen = _spread(kinds, budget)
        by = {"read": reads, "write": writes}
        asked = [
            (state, damage)
            for damage in also
            for state, blocks in by[damage.fails].items()
            if damage.block in {one.block for one in blocks}
        ]
        self._every = sorted(dict.fromkeys((*asked, *chosen)), key=lambda one: one[0].prefix)
        self.coverage = Coverage(
            model="D", places=count, whole=len(chosen), examined=len(chosen), space=count
        )
        self.count = len(self._every)

    def states(self) -> Iterator[State]:
        """State after state, so disks go forward."""
        for state, damage in self._every:
            yield msgspec.structs.replace(state, damage=damage)


def _spread(kinds: Mapping[tuple[int, str, str], Sequence[_Place]], budget: int) -> list[_Place]:
    """Of each kind of block in each state as many as of any other: XFS writes 512 blocks of its log when it
    recovers, and one of a directory. kinds: by prefix, "read" or "write", and name; places in any order."""
    every = [sorted(kinds[kind], key=lambda one: one[1].block) for kind in sorted(kinds)]
    given = shares([len(places) for places in every], budget)
    chosen = [
        places[at] for places, wanted in zip(every, given, strict=True) for at in even(len(places), wanted)
    ]
    return sorted(chosen, key=lambda one: (one[0].prefix, one[1].block, one[1].fails))
