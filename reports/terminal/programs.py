"""
What became of programs: a line for each and filesystem.

In:       the Experiments of a run that had programs with a script of their own.
Out:      ProgramRow, and lines for a terminal or a Markdown page.
Not here: the verdicts (oracles/application.py), all other lines of a run (terminal.py).
"""

from collections.abc import Iterable, Sequence

import msgspec

from oracles import application
from oracles.observation import identity
from oracles.verdict import Answer
from reports.results import Experiment

COLUMNS = ("program", "profile", "crash points", "trees", "asked", "broken", "unknown", "whose")


class ProgramRow(msgspec.Struct, frozen=True):
    """
    crash_points: states of the log. trees: different ones that were recovered. asked: how often the script
    was run, once for each tree and lines printed. broken, unknown: of these. whose: roles of the broken ones,
    as in oracles/application.py, each once.
    """

    program: str
    profile: str
    crash_points: int
    trees: int
    asked: int
    broken: int
    unknown: int
    whose: tuple[str, ...] = ()

    @property
    def cells(self) -> tuple[str, ...]:
        numbers = (self.crash_points, self.trees, self.asked, self.broken, self.unknown)
        return (self.program, self.profile, *(f"{number:,}" for number in numbers), "; ".join(self.whose))


def rows_of(experiments: Iterable[Experiment]) -> list[ProgramRow]:
    """Of experiments whose program has a script, in their order."""
    return [row for row in map(_row, experiments) if row is not None]


def _row(experiment: Experiment) -> ProgramRow | None:
    seen = experiment.observations
    if all(one.application is None for one in seen):
        return None
    trees = {number: identity(one.tree) for number, one in enumerate(seen) if one.tree is not None}
    answers: dict[tuple[bytes, int], Answer] = {}
    whose: set[str] = set()
    for state in experiment.judgement.states:
        asked = seen[state.observation].application
        if asked is None:
            continue
        for verdict in experiment.judgement.verdict_sets[state.verdict_set]:
            if verdict.oracle == application.NAME:
                answers[trees[state.observation], asked.said] = verdict.answer
                whose |= {violation.role for violation in verdict.violations}
    given = list(answers.values())
    return ProgramRow(
        experiment.facts.workload,
        experiment.facts.profile,
        len(experiment.judgement.states),
        len({*trees.values()}),
        len(given),
        given.count(Answer.BROKEN),
        given.count(Answer.UNKNOWN),
        tuple(sorted(whose)),
    )


def program_lines(rows: Sequence[ProgramRow]) -> list[str]:
    """Aligned columns under their names; nothing where there are no rows."""
    if not rows:
        return []
    table = [COLUMNS, *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in table) for column in range(len(COLUMNS))]
    return [
        "  ".join(
            cell.rjust(width) if 2 <= column <= 6 else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]
