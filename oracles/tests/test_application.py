"""oracles/application.py: whose fault it is that a program breaks its promise."""

import msgspec
import pytest

from oracles import application, judge
from oracles.case import prepare
from oracles.observation import Asked, Observation
from oracles.profiles import profile
from oracles.tests.made import Bench, history_of, replaced, without
from oracles.verdict import Answer, Tier

REPLACED = "setup\n  write foo 0 8K\nrun\n  write foo.tmp 0 8K\n  rename foo.tmp foo\n"
BROKE = Asked(status=1, text="the file is\nempty\n", promise="the file is a version of it")


def verdict_on(bench, tree, asked, begun=None):
    case = bench.case(tree, begun, application=asked)
    verdicts = judge.judge_observation(bench.prepared, case.prefix, case.observation)
    assert verdicts[-1].oracle == "application"
    return verdicts[-1]


def emptied(bench):
    """What delayed allocation leaves of a file renamed before its data were written."""
    return replaced(bench.tree(), "foo", size=0, blocks=0, content=())


def test_exit_status_0_holds():
    """One thing was checked."""
    bench = Bench(REPLACED)
    verdict = verdict_on(bench, bench.tree(), Asked(status=0))
    assert (verdict.answer, verdict.checked) == (Answer.HOLDS, 1)


def test_no_script_no_verdict():
    """A workload without a program is judged as ever."""
    bench = Bench(REPLACED)
    case = bench.case(bench.tree())
    verdicts = judge.judge_observation(bench.prepared, case.prefix, case.observation)
    assert "application" not in {verdict.oracle for verdict in verdicts}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (Asked(status=3, text="git is not there"), "exit status 3: git is not there"),
        (Asked(status=139), "exit status 139 and printed nothing"),
        (Asked(status=-1, text="waiting"), "within its time limit: waiting"),
        (Asked(trouble="guest lost (hang)"), "guest lost (hang)"),
    ],
)
def test_every_other_end_is_unknown_with_its_text(asked, words):
    """A crash, a hang, a missing tool: never a pass, never a finding."""
    bench = Bench(REPLACED)
    verdict = verdict_on(bench, bench.tree(), asked)
    assert verdict.answer is Answer.UNKNOWN
    assert words in verdict.reason


def test_a_state_that_the_filesystem_may_leave_is_the_applications_fault():
    """xfs may keep a rename and lose the data that was never synced; ext4 promises more, and is named."""
    bench = Bench(REPLACED, "xfs")
    verdict = verdict_on(bench, emptied(bench), BROKE)
    (violation,) = verdict.violations
    assert violation.role == application.OF_APPLICATION
    assert violation.found == "the file is empty"
    assert violation.expected == "the file is a version of it"
    assert "ruled out where replace-via-rename is promised, as by profile ext4" in violation.promise


def test_a_state_that_breaks_a_promise_is_the_filesystems_fault():
    """The same loss after an fsync of the new file: durable is BROKEN, and the finding names it."""
    text = REPLACED.replace("  rename", "  fsync foo.tmp\n  rename")
    bench = Bench(text, "xfs")
    verdict = verdict_on(bench, emptied(bench), BROKE)
    (violation,) = verdict.violations
    assert violation.role == application.OF_FILESYSTEM
    assert violation.promise.startswith("durable")


def test_the_stronger_tier_is_named_where_that_forbids_the_state():
    """By the manual pages names may come back without those made before them; ordered metadata forbids it."""
    bench = Bench("run\n  creat a\n  creat b\n", "ext4", Tier.POSIX)
    verdict = verdict_on(bench, without(bench.tree(), "a"), BROKE)
    assert "The state is ruled out at tier somc" in verdict.violations[0].promise


def test_a_state_that_everybody_allows_names_no_way_out():
    """An acknowledgement before any sync: nothing that is known here promises it."""
    bench = Bench("run\n  creat a\n", "btrfs")
    verdict = verdict_on(bench, bench.tree(0), BROKE)
    assert verdict.violations[0].role == application.OF_APPLICATION
    assert verdict.violations[0].promise.endswith("no promise of another profile forbids it")


def test_without_a_history_nobody_is_accused():
    """A history that the model cannot follow says nothing of what was promised."""
    history = history_of("run\n  creat a\n")
    odd = msgspec.structs.replace(
        history.run[0], operation=msgspec.structs.replace(history.run[0].operation, word="unlink")
    )
    prepared = prepare(msgspec.structs.replace(history, run=(odd,)), profile("btrfs"))
    verdict = judge.judge_observation(prepared, 3, Observation(tree=(), application=BROKE))[-1]
    assert verdict.answer is Answer.BROKEN
    assert verdict.violations[0].role == application.UNDECIDED


def test_the_check_of_a_log_without_a_history_accuses_nobody():
    """As of `explore --check`: no program ran, and the model has nothing that it could forbid."""
    history = msgspec.structs.replace(history_of("run\n  creat a\n"), known=False)
    verdict = judge.judge_observation(
        prepare(history, profile("btrfs")), 0, Observation(tree=(), application=BROKE)
    )[-1]
    (violation,) = verdict.violations
    assert (violation.kind, violation.role) == ("the check of the tree failed", application.UNDECIDED)
    assert "came without a history" in violation.promise


def test_long_texts_are_cut():
    """A finding is one line."""
    assert len(application.shortened("x " * 5000)) == application.TEXT_LENGTH
