"""
Which blocks fail while states of a log are recovered: one in each state, for reads or for writes.

In:       the blocks that the mounts of some states read, and those that they write; their disks; a budget.
Out:      State after State with a block that fails; Coverage: how many of all those are.
Not here: recovering them (damage.py), what the device does (harness/guests/agent/faults.c), what it means
          (oracles/faults/healed.py).

A block that a mount reads fails to be read once with each content that it has in these states, in the last
state that has it, to which most was promised. A block that recovery writes fails to be written in each state,
since what is written there is another thing each time.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.states.rebuild import Rebuilding
from harness.states.spread import even
from oracles.spec import Damage, State
from reports.results import Coverage, ReadBlock


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
        every: list[tuple[State, Damage]] = []
        for state in reversed(tuple(reads)):
            disks.move(state)
            for block in (one.block for one in reads[state]):
                if (place := (block, disks.disk.block(block))) not in known:
                    known.add(place)
                    every.append((state, Damage(block, fails="read")))
            every += [(state, Damage(one.block, fails="write")) for one in writes[state]]
        every.sort(key=lambda one: (one[0].prefix, one[1].block, one[1].fails))
        chosen = [every[at] for at in even(len(every), budget)]
        by = {"read": reads, "write": writes}
        asked = [
            (state, damage)
            for damage in also
            for state, blocks in by[damage.fails].items()
            if damage.block in {one.block for one in blocks}
        ]
        self._every = sorted(dict.fromkeys((*asked, *chosen)), key=lambda one: one[0].prefix)
        self.coverage = Coverage(
            model="D", places=len(every), whole=len(chosen), examined=len(chosen), space=len(every)
        )
        self.count = len(self._every)

    def states(self) -> Iterator[State]:
        """State after state, so disks go forward."""
        for state, damage in self._every:
            yield msgspec.structs.replace(state, damage=damage)
