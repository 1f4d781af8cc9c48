"""When a difference is said to be one, and when not."""

import random
import warnings

import pytest

from reports.perf.answers import (
    Answer,
    boots_needed,
    differences,
    holm,
    interval,
    leaves_out_one,
    log_spread,
    rank_p,
)
from reports.perf.counts import counts
from reports.perf.profiles import profiles
from reports.perf.published import published_for, seeds
from reports.perf.results import Measured
from reports.perf.tables import interval_words, percent_words
from reports.tests.make_perf import boots, exact, facts, make_perf
from workloads.perf.experiment import library, select


def asked(measured):
    return [one for one in differences(measured) if one.answer is not None]


def latency(factor, noise, count=8):
    (one,) = select(("link-rename-latency",))
    return Measured(one, 1.0, count, ("perf",), facts(one, 1.0), boots(one, count, factor, noise))


def test_a_large_difference_is_better_and_its_reverse_worse():
    """A quarter of the time; four times the time."""
    assert {one.answer for one in asked(latency(0.25, 0.1))} == {Answer.BETTER}
    assert {one.answer for one in asked(latency(4.0, 0.1))} == {Answer.WORSE}


def test_more_is_better_of_a_throughput():
    """The direction is the number's own."""
    found = make_perf(factor=0.25).measured[1]
    assert {one.answer for one in asked(found)} == {Answer.BETTER}
    assert next(one for one in asked(found) if "throughput" in one.number.name).ratio > 1


def test_equal_kernels_show_no_difference_in_nearly_every_run():
    """Of 200 comparisons of noise with noise at most a few show one, whatever the noise."""
    wrong = 0
    for seed in range(200):
        draw = random.Random(seed)
        ps = []
        for _ in range(3):
            a = [draw.lognormvariate(0, 0.3) for _ in range(8)]
            b = [draw.lognormvariate(0, 0.3) for _ in range(8)]
            ps.append(rank_p(a, b))
        wrong += bool(holm(ps, 0.01))
    assert wrong <= 6


def test_two_boots_are_never_enough():
    """Whatever they say: the rank test cannot."""
    assert {one.answer for one in asked(latency(0.1, 0.01, count=2))} == {Answer.NONE}


def test_an_interval_holds_its_ratio_and_narrows_with_boots():
    """And is the same for the same boots."""
    draw = random.Random(1)
    few = [tuple(draw.lognormvariate(0, 0.2) for _ in range(5)) for _ in range(2)]
    many = [tuple(draw.lognormvariate(0, 0.2) for _ in range(80)) for _ in range(2)]
    ratio, low, high = interval(*few)
    assert low <= ratio <= high
    assert interval(*few) == (ratio, low, high)
    _, low_many, high_many = interval(*many)
    assert high_many - low_many < high - low


def test_what_cannot_be_told_is_no_difference():
    """Zeros on A's side: no ratio, no answer, and words for it."""
    _, low, high = interval((0.0, 0.0, 0.0, 0.0, 0.0, 1.0), (0.0,) * 6)
    assert not leaves_out_one(low, high)
    assert interval_words(low, high) == "not defined"
    assert percent_words(float("nan")) == "zero on both sides"
    assert percent_words(-12.34) == "-12.3%"
    assert leaves_out_one(0.2, 0.9)
    assert leaves_out_one(1.1, 1.2)
    assert not leaves_out_one(0.9, 1.1)


def test_questions_are_answered_together():
    """Holm: the smallest must pass a third, the next a half, the last the whole."""
    assert holm([0.004, 0.003, 0.5], 0.01) == {0, 1}
    assert holm([0.006, 0.004, 0.5], 0.01) == set()
    assert holm([], 0.01) == set()


def test_a_small_difference_needs_many_boots_and_noise_more():
    """And never fewer than the rank test needs."""
    assert boots_needed(0.05, 1.065) > boots_needed(0.02, 1.065)
    assert boots_needed(0.0001, 2.0) == 5
    assert boots_needed(0.0001, 2.0, questions=3) == 6
    assert boots_needed(0.05, 1.065, questions=3) > 20
    assert boots_needed(0.05, 1.065) == 20
    assert boots_needed(0.05, 1.0) == 0


def test_the_noise_of_a_boot_is_measured_within_each_side():
    """A difference between the sides is none."""
    assert log_spread([100, 101, 99], [200, 202, 198]) == pytest.approx(0.0148, abs=0.001)


def test_the_seeds_numbers_stand_beside_ours():
    """Each experiment's seeds are published, and their claims are what the numbers give."""
    for one in library():
        for name in one.seeds:
            assert name in seeds()
    renames = published_for("dbench", "16 clients", "Rename.max")
    assert renames is not None
    assert f"{renames.percent:+.1f}" == "-75.8"
    inside = published_for("create-rename-fsync", "its system calls alone", "under.btrfs_log_inode")
    assert inside is not None
    assert f"{inside.percent:+.1f}" == "-43.1"
    assert published_for("dbench", "17 clients", "throughput") is None
    every = [(n.experiment, n.case) for seed in seeds().values() for n in seed.number]
    known = {(one.name, case.name) for one in library() for case in one.case}
    assert {pair for pair in every if pair[1]} <= known


def test_exact_figures_differ_or_do_not():
    """One more log commit a rename is a difference; the same count is none."""
    (one,) = select(("link-rename-latency",))
    measured = Measured(one, 1.0, 8, (), (), exact_a=exact(20), exact_b=exact(0))
    differing = {each.name: (each.a, each.b) for each in counts(measured) if each.differs}
    assert differing["log commits by rename"] == ((20, 20), (0, 0))
    assert differing["btrfs_sync_log()"] == ((22, 22), (2, 2))
    assert "log commits by fsync" not in differing
    assert not any(
        each.differs for each in counts(Measured(one, 1.0, 8, (), (), exact_a=exact(3), exact_b=exact(3)))
    )


def test_a_profile_tells_shares_and_the_time_in_functions():
    """Medians over boots; the function that has nearly gone is better."""
    (found,) = profiles(make_perf().measured[0])
    assert found.shares[0].function == "sync"
    assert found.shares[0].a > 40
    assert found.shares[0].b == 1
    (time,) = found.times
    assert (time.function, time.answer) == ("f", Answer.BETTER)
    assert time.percent < -85


def test_an_interval_that_zeros_leave_untold_is_told_without_a_warning() -> None:
    """Half of A's boots gave zero: some resamples have a median of zero."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ratio, low, high = interval((0.0, 2.0), (0.0, 7.0))
    assert ratio == 3.5
    assert not leaves_out_one(low, high)
