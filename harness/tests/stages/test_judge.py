"""States are judged, each kind of answer once."""

import msgspec
import pytest
from msgspec.structs import replace

from harness.stages import judge as judging
from harness.stages.judge import Judge, judge_again
from harness.tests.made_run import BENCH, ENTRY_COUNT, FLUSHED, judged, seen
from oracles.case import prepare
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.tests.made import Bench
from oracles.verdict import Answer, Tier
from reports.results import Experiment, ExperimentFacts


def count_broken(verdict_sets):
    """How many of these sets hold a BROKEN verdict."""
    return sum(any(verdict.answer == "BROKEN" for verdict in verdicts) for verdicts in verdict_sets)


def kept(judge: Judge) -> Experiment:
    """As it would be read back."""
    facts = ExperimentFacts(1, "made", "", "btrfs", "test", "fs", FLUSHED, {}, {})
    observations = msgspec.json.decode(judge.ledger.observations(), type=tuple[Observation, ...])
    return Experiment("0001", facts, "", BENCH.history, judge.ledger.judgement(), observations)


def answers(judge: Judge, prefix: int) -> dict[str, Answer]:
    judgement = judge.ledger.judgement()
    verdicts = judgement.verdict_sets[judgement.states[prefix].verdict_set]
    return {verdict.oracle: verdict.answer for verdict in verdicts}


def test_every_state_has_its_verdicts_in_order() -> None:
    judgement = judged().ledger.judgement()
    assert [state.spec for state in judgement.states] == [f"O:{n}" for n in range(ENTRY_COUNT + 1)]
    assert not count_broken(judgement.verdict_sets)


def test_a_promise_not_kept_is_broken_in_its_own_state_only() -> None:
    judge = judged({ENTRY_COUNT: seen(0)})
    assert answers(judge, ENTRY_COUNT)["durable"] is Answer.BROKEN
    assert Answer.BROKEN not in answers(judge, ENTRY_COUNT - 1).values()
    assert count_broken(judge.ledger.judgement().verdict_sets) == 1


def test_equal_observations_at_equal_moments_are_judged_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    unwatched = judging.judge_observation
    monkeypatch.setattr(judging, "judge_observation", lambda *a: (asked.append(a[1]), unwatched(*a))[1])
    judged()
    # creat begins with entry 0 and returns with 2, which promises nothing; fsync begins with 3 and returns
    # with 5.
    assert asked == [0, 1, 4, 6]


def test_an_equal_observation_at_another_moment_is_judged_by_that_moment() -> None:
    judge = judged({prefix: seen(0) for prefix in range(ENTRY_COUNT + 1)})
    assert len({state.observation for state in judge.ledger.judgement().states}) == 1
    assert answers(judge, 0)["durable"] is Answer.HOLDS
    assert answers(judge, ENTRY_COUNT)["durable"] is Answer.BROKEN


# What promises something when it returns, each in its way, and what does not.
PROMISING = """setup
  write old 0 8K
run
  pwrite log 0 4K sync
  rename old moved
  pwrite log 4K 4K dsync
  write new 0 4K
  rename new log
  mmapwrite moved 0 8K
  msync moved 4K 4K
  sync_file_range moved 0 4K
  fsync log
  setxattr moved user.a one
  fdatasync moved
  mkdir A
  link moved A/linked
  fsync A
  remount
  unlink moved
  umount
"""
FAILED = 9  # fsync log


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
@pytest.mark.parametrize("backwards", [False, True])
def test_verdicts_are_those_of_each_cut_judged_alone(name: str, backwards: bool) -> None:
    """Whatever was judged before."""
    bench, one = Bench(PROMISING, name), profile(name)
    run = [replace(step, result=-5 if step.index == FAILED else 0) for step in bench.history.run]
    history = replace(bench.history, run=tuple(run))
    trees = [Observation(tree=bench.tree(done), probe_steps=1) for done in range(0, len(run), 3)]
    judge = Judge(history, one, Tier.FS)
    for number, tree in enumerate(trees):
        assert judge.ledger.observe_again(b"", tree) == number
    cuts = sorted(range(history.entry_count + 1), reverse=backwards)
    broken = 0
    for prefix in cuts:
        for number, tree in enumerate(trees):
            alone = judging.judge_observation(prepare(history, one, Tier.FS), prefix, tree)
            assert judge.add_observed(f"O:{prefix}", prefix, "", number) == alone
            broken += Answer.BROKEN in [verdict.answer for verdict in alone]
    assert 0 < broken < len(cuts) * len(trees)


def test_equal_observations_are_kept_once() -> None:
    assert [len(one.tree or ()) for one in kept(judged()).observations] == [1, 2]


BAD_REPORTS = (b"", b"{", b'{"mount_errno":"x"}', b"[]", b'{"probe":["\xff"]}', b"null")


@pytest.mark.parametrize("report", BAD_REPORTS)
def test_an_unreadable_report_is_unknown_for_every_oracle(report: bytes) -> None:
    judge = judged({2: report})
    assert set(answers(judge, 2).values()) == {Answer.UNKNOWN}
    assert Answer.UNKNOWN not in answers(judge, 3).values()


@pytest.mark.parametrize("report", BAD_REPORTS)
def test_what_is_kept_of_an_unreadable_report_can_be_read(report: bytes) -> None:
    assert "is invalid" in kept(judged({2: report})).observations[1].trouble


@pytest.mark.parametrize(
    "report", [seen(0), b"{", seen(2, death="panic", tree=None), seen(0, probe=("rm: EIO",))]
)
def test_judging_again_gives_the_same_judgement(report: bytes) -> None:
    judge = judged({2: report, ENTRY_COUNT: seen(0)}, same=(1, 4))
    assert judge_again(kept(judge), profile("btrfs"), Tier.FS) == judge.ledger.judgement()


def test_judging_again_may_ask_for_less() -> None:
    again = judge_again(kept(judged()), profile("btrfs"), Tier.POSIX)
    tiers = {verdict.tier for verdicts in again.verdict_sets for verdict in verdicts}
    assert tiers == {Tier.POSIX}


def test_an_experiment_that_was_not_recorded_cannot_be_judged() -> None:
    experiment = msgspec.structs.replace(kept(judged()), history=None)
    with pytest.raises(ValueError, match="has no recording"):
        judge_again(experiment, profile("btrfs"), Tier.FS)


def test_the_kernel_log_of_a_state_is_that_of_its_observation() -> None:
    judge = judged({1: seen(1, kernel_log=("4 loud",))})
    states = judge.ledger.judgement().states
    assert judge.ledger.kernel_log(states[1].observation) == ("4 loud",)
    assert judge.ledger.kernel_log(states[2].observation) == ()
