"""reports/terminal/programs.py: what became of programs."""

from oracles.observation import Asked, Node, Observation
from oracles.verdict import Answer, Tier, Verdict, Violation
from reports.results import Experiment, ExperimentFacts, JudgedState, Judgement
from reports.terminal.programs import program_lines, rows_of


def node(path, **more):
    return Node(path, more.pop("kind", "file"), 5, 0o644, 1, 0, 0, **more)


def made(asked, trees=("a", "a", "b")):
    """An experiment with a state for each answer."""
    seen = tuple(
        Observation(tree=(node(name),), application=one) for name, one in zip(trees, asked, strict=True)
    )
    sets = tuple((verdict(one),) for one in asked)
    states = tuple(JudgedState(f"O:{n}", "", n, n) for n in range(len(seen)))
    facts = ExperimentFacts(1, "git", "programs", "xfs", "6.12", "fs", (), {}, {})
    return Experiment("0001", facts, "", None, Judgement(states, sets), seen)


def verdict(asked):
    if asked.status == 0:
        return Verdict("application", Tier.FS, Answer.HOLDS, 1)
    if asked.status == 1:
        broke = Violation("git broke its promise", "whose", "git", "", "", "", Tier.FS)
        return Verdict("application", Tier.FS, Answer.BROKEN, 1, (broke,))
    return Verdict("application", Tier.FS, Answer.UNKNOWN, reason="crashed")


def test_a_tree_with_the_same_lines_counts_once():
    """Two states come back alike; the third tree breaks the promise."""
    (row,) = rows_of([made([Asked(said=1), Asked(said=1), Asked(status=1, said=2)])])
    assert row.cells == ("git", "xfs", "3", "2", "2", "1", "0", "whose")


def test_the_same_tree_with_more_lines_is_asked_about_again():
    """More was promised by then."""
    (row,) = rows_of([made([Asked(said=1), Asked(status=9, said=2), Asked(said=2)])])
    assert (row.trees, row.asked, row.broken, row.unknown) == (2, 3, 0, 1)


def test_an_experiment_without_a_script_has_no_row():
    """Workloads have no application."""
    experiment = made([Asked(), Asked(), Asked()])
    plain = tuple(Observation(tree=one.tree) for one in experiment.observations)
    assert rows_of([Experiment("1", experiment.facts, "", None, experiment.judgement, plain)]) == []
    assert program_lines([]) == []


def test_columns_are_aligned():
    """Numbers to the right."""
    lines = program_lines(rows_of([made([Asked(), Asked(), Asked()])]))
    assert lines[0].startswith("program  profile  crash points")
    assert lines[1] == "git      xfs                 3      2      2       0        0"
