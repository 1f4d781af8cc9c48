"""
What is run tonight on one kernel and profile, and in which order.

In:       the workloads that the file names, what the nights before did with each; bounds of generated ones.
Out:      Chosen after Chosen: first what failed in the last nights, then what was never run, then what
          changed since, then the others, the one longest not run first; then generated ones.
Not here: how far down the list a night comes, which the budget decides (night.py).

"Changed" is the workload's own text, or Powercut. Generated workloads go round: each place of the bounds is
visited once before any is visited again, in steps that lie far apart, since neighbours are alike.
"""

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from harness.nightly.history import Chosen, History, Last
from reports.nights.results import GENERATED
from workloads import library, programs, text
from workloads.generate import space
from workloads.generate.space import Asked, stride
from workloads.program import Program
from workloads.workload import Workload

FAILED, NEVER, CHANGED, ROTATION = "failed", "never run", "changed", "rotation"
NIGHTS = 3  # what failed in the last so many nights comes first
GUESS_S = 0.3  # of an experiment, before one is measured: 320 of the library on btrfs, 49 s on two processors
MARGIN = 1.3  # so much more is planned than the budget is likely to hold
GENERATED_MAX = 1000  # in one run: 100 MiB of results while it goes on


class Candidate(msgspec.Struct, frozen=True):
    """A workload that the file names. word: as the command line of a run takes it."""

    workload: Workload
    word: str

    @property
    def hash(self) -> str:
        return hash_of(self.workload)


class Wanted(msgspec.Struct, frozen=True):
    """How much of generated workloads: as many as fill `seconds` with so many `jobs`."""

    generated: tuple[str, ...]
    seed: int
    seconds: float
    jobs: int


Keep = Callable[[Workload], Path]  # a generated workload as a file, for the command line of a run


def candidates(words: Sequence[str]) -> tuple[Candidate, ...]:
    """Of names, globs and files. Errors: BadSelection, BadProgram, BadWorkload, OSError."""
    plain = tuple(word for word in words if not programs.is_program(word))
    found = programs.select(word for word in words if programs.is_program(word))
    chosen = library.select(plain) if plain else ()
    files = {Path(word).name.partition(".")[0]: word for word in words if Path(word).is_file()}
    return tuple(Candidate(one, files.get(one.name, _word(one))) for one in (*chosen, *found))


def _word(workload: Workload) -> str:
    if workload.program is not None:
        return f"{programs.PREFIX}{workload.name.removeprefix(programs.PREFIX)}"
    return workload.name


def hash_of(workload: Workload) -> str:
    """Of what it does; its comment says nothing to a kernel."""
    program: Program | None = workload.program
    if program is not None:
        content = msgspec.json.encode(program)
    else:
        content = text.format(msgspec.structs.replace(workload, comment=())).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def tonight(
    history: History,
    kernel: str,
    profile: str,
    asked: Sequence[Candidate],
    wanted: Wanted,
    powercut: str,
    keep: Keep,
) -> list[Chosen]:
    """The whole list of a cell's first run."""
    last, failed = history.last_runs(kernel, profile), history.failed_since(kernel, profile, NIGHTS)
    named = [one for group in in_groups(asked, last, failed, powercut, wanted.seed) for one in group]
    again = _failed_generated(history, kernel, profile, failed, {one.workload for one in named}, keep)
    made = further(history, kernel, profile, wanted, keep, len(named) + len(again))
    seen = {one.workload for one in (*named, *again)}
    return [*again, *named, *(one for one in made if one.workload not in seen)]


def further(
    history: History, kernel: str, profile: str, wanted: Wanted, keep: Keep, before: int = 0
) -> list[Chosen]:
    """Generated ones alone: as many as the time is likely to hold beside so many others, and no more than one
    run should have."""
    mean = history.mean_seconds(kernel, profile) or GUESS_S
    count = math.ceil(MARGIN * wanted.seconds * wanted.jobs / mean) - before
    return generated(history.positions(kernel, profile), wanted, max(0, min(GENERATED_MAX, count)), keep)


def in_groups(
    asked: Sequence[Candidate], last: Mapping[str, Last], failed: set[str], powercut: str, seed: int
) -> list[list[Chosen]]:
    """The four groups of named workloads, in order."""
    groups: dict[str, list[tuple[tuple[int, str], Chosen]]] = {
        reason: [] for reason in (FAILED, NEVER, CHANGED, ROTATION)
    }
    for one in asked:
        name = one.workload.name
        reason = reason_of(one, last.get(name), name in failed, powercut)
        night = last[name].night if name in last else 0
        # Workloads of one night in an order of the seed, not of the alphabet: a budget may end among them.
        order = (night, hashlib.sha256(f"{seed} {name}".encode()).hexdigest())
        groups[reason].append((order, Chosen(name, one.word, one.hash, reason)))
    return [[chosen for _, chosen in sorted(group, key=lambda each: each[0])] for group in groups.values()]


def reason_of(one: Candidate, last: Last | None, failed: bool, powercut: str) -> str:
    if failed:
        return FAILED
    if last is None:
        return NEVER
    return CHANGED if last.hash != one.hash or last.powercut != powercut else ROTATION


# --- generated ones ------------------------------------------------------------------------------


def generated(positions: Mapping[str, int], wanted: Wanted, count: int, keep: Keep) -> list[Chosen]:
    """So many, the bounds in turn, from these places of their rotations on."""
    sources = {bounds: rotation(bounds, wanted.seed, positions.get(bounds, 0)) for bounds in wanted.generated}
    made: list[Chosen] = []
    while sources and len(made) < count:
        for bounds in list(sources):
            found = next(sources[bounds], None)
            if found is None:
                del sources[bounds]
                continue
            place, workload = found
            name = str(keep(workload))
            made.append(Chosen(workload.name, name, hash_of(workload), GENERATED, bounds, place))
            if len(made) == count:
                break
    return made


def rotation(bounds: str, seed: int, start: int) -> Iterator[tuple[int, Workload]]:
    """From this place on, without end for random ones, and once round for others."""
    name, length = space.parse_space(bounds)
    if name in space.DRAWN:
        asked = Asked(name, length, sample=1, seed=seed)
        place = start
        while True:
            workload = space.made(asked, place)
            if workload is not None:
                yield place, workload
            place += 1
    asked = Asked(name, length, seed=seed)
    total = space.total(asked)
    step = stride(total)
    for place in range(start, start + total):
        workload = space.made(asked, (seed + place * step) % total)
        if workload is not None:
            yield place, workload


def _failed_generated(
    history: History, kernel: str, profile: str, failed: set[str], named: set[str], keep: Keep
) -> list[Chosen]:
    """Generated workloads that failed, from the text that the history kept."""
    rows = history.rows(
        "SELECT DISTINCT e.workload AS workload, e.bounds AS bounds, g.hash AS hash, g.text AS text "
        "FROM experiment e JOIN generated g ON g.hash = e.hash "
        "WHERE e.kernel = ? AND e.profile = ? AND e.bounds != '' ORDER BY e.workload",
        kernel,
        profile,
    )
    return [
        Chosen(row["workload"], str(keep(text.parse(row["text"], row["workload"]))), row["hash"], FAILED)
        for row in rows
        if row["workload"] in failed and row["workload"] not in named
    ]
