"""
Damage at rest for a reader: the blocks that recovery reads on a map of the device, and what became of each.

In:       an Experiment of kind DAMAGE.
Out:      Map, with a Row for each block; counts by what the blocks are.
Not here: the markup (templates/damage.html), verdicts and trees (groups.py), what an outcome is
          (oracles/faults/damage.py).
"""

from collections import Counter
from collections.abc import Iterator, Mapping

import msgspec

from oracles.faults.damage import OUTCOMES, WORDS, Outcome, notices, split
from oracles.observation import Observation
from oracles.spec import BLOCK_BYTES, Damage, is_live
from oracles.verdict import Answer
from reports.pages.groups import answer
from reports.results import Experiment, JudgedState
from reports.text.digest import blocks_fail

LETTERS = dict(zip(OUTCOMES, "RM~·<!X", strict=True))
UNKNOWN = "not known"
CELLS_A_ROW = 32
REPORT_CHARACTERS = 160


class Done(msgspec.Struct, frozen=True):
    """One damage. words: what was done. report: the first line that reports it, "" for none."""

    spec: str
    anchor: str
    words: str
    outcome: str
    answer: Answer
    report: str


class Row(msgspec.Struct, frozen=True):
    """A block. names: what it is, in one state or another. states: in which it was read. outcomes: how many
    damages came to what, best first. fill: of its cell on the map, a CSS background."""

    block: int
    names: tuple[str, ...]
    states: tuple[str, ...]
    outcomes: tuple[tuple[str, int], ...]
    done: tuple[Done, ...]
    fill: str

    @property
    def holds(self) -> bool:
        """Whether every verdict on every damage to it does."""
        return all(one.answer is Answer.HOLDS for one in self.done)

    @property
    def letter(self) -> str:
        """The worst that came of it."""
        return LETTERS.get(self.outcomes[-1][0], "?") if self.outcomes else ""


class Run(msgspec.Struct, frozen=True):
    """Neighbouring blocks. x, width: of the device, in percent."""

    first: int
    last: int
    x: float
    width: float
    rows: tuple[Row, ...]


class Line(msgspec.Struct, frozen=True):
    """Neighbouring blocks that are the same thing, and came to the same. anchors: one for each block."""

    first: int
    last: int
    anchors: tuple[str, ...]
    names: tuple[str, ...]
    states: tuple[str, ...]
    outcomes: tuple[tuple[str, int], ...]
    done: tuple[Done, ...]


class Map(msgspec.Struct, frozen=True):
    """block_count: of the device. states: that were damaged. failing: blocks failed, and none was damaged."""

    block_count: int
    states: tuple[str, ...]
    runs: tuple[Run, ...]
    lines: tuple[Line, ...]
    failing: bool = False


def device_map(experiment: Experiment, anchors: Mapping[str, str]) -> Map:
    """anchors: of states, by spec."""
    facts = experiment.facts
    names: dict[int, dict[str, None]] = {}
    states: dict[int, dict[str, None]] = {}
    for spec, blocks in facts.reads.items():
        for each in blocks:
            names.setdefault(each.block, {})[each.name] = None
            states.setdefault(each.block, {})[spec] = None
    done: dict[int, list[Done]] = {}
    for state in damaged_states(experiment):
        block = split(state.spec)[1].block
        done.setdefault(block, []).append(_done(experiment, state, anchors[state.spec]))
    block_count = max(1, facts.device_bytes // BLOCK_BYTES)
    rows = [
        _row(block, tuple(names.get(block, ())), tuple(states.get(block, ())), tuple(done.get(block, ())))
        for block in sorted({*names, *done})
    ]
    runs, lines = tuple(_runs(rows, block_count)), tuple(_lines(rows))
    return Map(block_count, tuple(facts.reads), runs, lines, blocks_fail(experiment))


def _done(experiment: Experiment, state: JudgedState, anchor: str) -> Done:
    outer, damage = split(state.spec)
    seen = experiment.observations[state.observation]
    whole = experiment.observations[experiment.facts.undamaged[outer]]
    return Done(
        spec=state.spec,
        anchor=anchor,
        words=_words(damage),
        outcome=state.outcome or UNKNOWN,
        answer=answer(experiment.judgement.verdict_sets[state.verdict_set]),
        report=_report(whole, seen),
    )


def _words(damage: Damage) -> str:
    if damage.fails:
        return "could not be read" if damage.fails == "read" else "could not be written"
    return f"bit {damage.bit % 8} of byte {damage.bit // 8}" if damage.bit >= 0 else f"sector {damage.sector}"


def _report(whole: Observation, seen: Observation) -> str:
    first = next(iter(notices(whole, seen)), "")
    text = first[2:] if first[:1].isdigit() else first
    return text[:REPORT_CHARACTERS] + ("…" if len(text) > REPORT_CHARACTERS else "")


def _row(block: int, names: tuple[str, ...], states: tuple[str, ...], done: tuple[Done, ...]) -> Row:
    counts = Counter(each.outcome for each in done)
    outcomes = tuple((name, counts[name]) for name in (*OUTCOMES, UNKNOWN) if counts[name])
    return Row(block, names, states, outcomes, done, _fill(outcomes))


def _fill(outcomes: tuple[tuple[str, int], ...]) -> str:
    """Stripes, each as wide as its share."""
    whole = sum(count for _, count in outcomes)
    stops, at = [], 0.0
    for name, count in outcomes:
        end = at + 100 * count / whole
        stops.append(f"var(--d-{css_name(name)}) {at:.1f}% {end:.1f}%")
        at = end
    return f"linear-gradient(90deg, {', '.join(stops)})" if stops else "transparent"


def css_name(outcome: str) -> str:
    """ "changed-told" of "changed, told"."""
    return outcome.replace(", ", "-").replace(" ", "-")


def _runs(rows: list[Row], block_count: int) -> Iterator[Run]:
    start = 0
    for at, row in enumerate(rows):
        if at + 1 < len(rows) and rows[at + 1].block == row.block + 1 and at - start + 1 < CELLS_A_ROW:
            continue
        first, last = rows[start].block, row.block
        yield Run(
            first,
            last,
            round(100 * first / block_count, 3),
            round(100 * (last - first + 1) / block_count, 3),
            tuple(rows[start : at + 1]),
        )
        start = at + 1


def _lines(rows: list[Row]) -> Iterator[Line]:
    key = {row.block: (row.names, row.states, tuple(name for name, _ in row.outcomes)) for row in rows}
    start = 0
    for at, row in enumerate(rows):
        following = rows[at + 1].block if at + 1 < len(rows) else -1
        if following == row.block + 1 and key[following] == key[row.block]:
            continue
        some = rows[start : at + 1]
        counts: Counter[str] = Counter()
        for one in some:
            counts.update(dict(one.outcomes))
        yield Line(
            some[0].block,
            row.block,
            tuple(f"block-{one.block}" for one in some),
            row.names,
            row.states,
            tuple(counts.items()),
            tuple(done for one in some for done in one.done),
        )
        start = at + 1


def damaged_states(experiment: Experiment) -> Iterator[JudgedState]:
    """Without that of the kernel that recorded."""
    return (state for state in experiment.judgement.states if not is_live(state.spec))


def kinds_of(experiment: Experiment) -> Counter[tuple[str, str]]:
    """How many damages to blocks of a name came to what, of one experiment."""
    names = {
        (spec, each.block): each.name for spec, blocks in experiment.facts.reads.items() for each in blocks
    }
    found: Counter[tuple[str, str]] = Counter()
    for state in damaged_states(experiment):
        outer, damage = split(state.spec)
        found[names.get((outer, damage.block), ""), state.outcome or UNKNOWN] += 1
    return found


def outcome_words() -> list[tuple[str, str, str, str]]:
    """(outcome, letter, css name, what it means), best first."""
    return [(str(one), LETTERS[one], css_name(one), WORDS[one]) for one in Outcome]
