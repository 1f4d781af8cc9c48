"""
What the figures say of A and B.

In:       Measured: boots of both kernels.
Out:      Difference of each number: ratio, interval, answer, and how many boots the seed's difference needs.
Not here: reading the tools (tools.py), tables (tables.py), counts and shares, of which none is a time.

The boot is the unit: what is measured within one shares its luck (memory, the order of its threads), so
a boot gives one value. The ratio is that of the medians, B to A; its interval is a bootstrap over boots
(Efron and Tibshirani 1993, percentile method). A difference is said only when the interval leaves out 1 and
a rank test (Mann and Whitney 1947, exact) finds it as well, with all numbers that an experiment asks about
taken together as one question (Holm 1979).
"""

import enum
import functools
import math
import statistics
import warnings
from collections.abc import Sequence

import msgspec

from reports.perf.published import Published, published_for
from reports.perf.results import CaseRun, Measured
from reports.perf.tools import has, value
from workloads.perf.experiment import Number, numbers_of

ALPHA = 0.01  # of saying "better" or "worse" of two equal kernels, over all questions of an experiment
CONFIDENCE = 0.95
RESAMPLES = 9999
POWER = 0.9
RANK_EFFICIENCY = 3 / math.pi  # of the rank test against the t test, where both apply
SEED = 1  # of the resampling: same boots, same interval
LEAST_BOOTS = 2


class Answer(enum.StrEnum):
    BETTER = "better"
    WORSE = "worse"
    NONE = "no difference shown"


class Difference(msgspec.Struct, frozen=True):
    """One number of one case. a, b: a value a boot. ratio: of the medians, B to A; low, high: its interval.
    p: of the rank test. boots_needed: of each kernel, to show the seed's difference with this noise; 0 when
    no seed has one. answer: None when the number is told and not asked about."""

    case: str
    number: Number
    a: tuple[float, ...]
    b: tuple[float, ...]
    ratio: float
    low: float
    high: float
    p: float
    noise: float
    answer: Answer | None
    published: Published | None
    boots_needed: int

    @property
    def label(self) -> str:
        return f"{self.case}: {self.number.name}"

    @property
    def percent(self) -> float:
        return 100 * (self.ratio - 1)


def differences(measured: Measured) -> tuple[Difference, ...]:
    """Of every number that both kernels gave in at least two boots, and in each."""
    raw = [
        (case.name, number, *sides)
        for case in measured.experiment.case
        for number in numbers_of(measured.experiment, case)
        if min(map(len, sides := _sides(measured, case.name, number))) >= LEAST_BOOTS
    ]
    ps = [rank_p(a, b) for _, _, a, b in raw]
    asked = [index for index, (_, number, _, _) in enumerate(raw) if number.answer]
    shown = {asked[at] for at in holm([ps[index] for index in asked], ALPHA)}
    return tuple(
        _difference(measured, case, number, a, b, ps[index], index in shown, len(asked))
        for index, (case, number, a, b) in enumerate(raw)
    )


def _sides(measured: Measured, case: str, number: Number) -> tuple[tuple[float, ...], tuple[float, ...]]:
    runs: dict[str, list[CaseRun]] = {"A": [], "B": []}
    for boot in measured.boots:
        runs[boot.side] += [run for run in boot.runs if run.case == case]
    reader = measured.experiment.reader
    if not all(has(number, run, reader) for side in runs.values() for run in side):
        return (), ()
    a, b = (tuple(value(number, run, reader) for run in runs[side]) for side in ("A", "B"))
    return a, b


def _difference(
    measured: Measured,
    case: str,
    number: Number,
    a: tuple[float, ...],
    b: tuple[float, ...],
    p: float,
    shown: bool,
    questions: int,
) -> Difference:
    ratio, low, high = interval(a, b)
    seed = published_for(measured.experiment.name, case, number.key)
    noise = log_spread(a, b)
    return Difference(
        case=case,
        number=number,
        a=a,
        b=b,
        ratio=ratio,
        low=low,
        high=high,
        p=p,
        noise=noise,
        answer=_answer(number, ratio, low, high, shown) if number.answer else None,
        published=seed,
        boots_needed=boots_needed(noise, seed.ratio, questions) if seed else 0,
    )


def _answer(number: Number, ratio: float, low: float, high: float, shown: bool) -> Answer:
    if not shown or not leaves_out_one(low, high):
        return Answer.NONE
    return Answer.BETTER if (ratio > 1) == (number.better == "more") else Answer.WORSE


def leaves_out_one(low: float, high: float) -> bool:
    """An interval that cannot be told (nan: half of A's boots gave zero) leaves nothing out."""
    return high < 1 or low > 1


# --- statistics ----------------------------------------------------------------------------------


@functools.cache
def interval(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float]:
    """(ratio, low, high) of the medians, B to A. Zeros in A's median give nan."""
    import numpy  # noqa: PLC0415  takes 0.1 s, scipy 0.5 s: only who compares times pays for them
    from scipy import stats  # noqa: PLC0415

    middle = statistics.median(a)
    if not middle or not all(map(math.isfinite, (*a, *b))):
        return math.nan, math.nan, math.nan
    ratio = statistics.median(b) / middle
    if len({*a}) == 1 and len({*b}) == 1:
        return ratio, ratio, ratio

    def of_medians(left: numpy.ndarray, right: numpy.ndarray, axis: int) -> numpy.ndarray:
        quotient: numpy.ndarray = numpy.median(right, axis=axis) / numpy.median(left, axis=axis)
        return quotient

    with numpy.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        # Where a median of zeros is divided by there is no interval: it is not a number, and shown so.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        found = stats.bootstrap(
            (numpy.asarray(a), numpy.asarray(b)),
            of_medians,
            n_resamples=RESAMPLES,
            confidence_level=CONFIDENCE,
            method="percentile",
            vectorized=True,
            rng=numpy.random.default_rng(SEED),
        ).confidence_interval
    return ratio, float(found.low), float(found.high)


def rank_p(a: Sequence[float], b: Sequence[float]) -> float:
    from scipy import stats  # noqa: PLC0415

    method = "exact" if len({*a, *b}) == len(a) + len(b) else "asymptotic"  # with ties there is no exact one
    if len({*a, *b}) == 1:
        return 1.0
    return float(stats.mannwhitneyu(a, b, alternative="two-sided", method=method).pvalue)


def holm(ps: Sequence[float], alpha: float) -> set[int]:
    """Which of them are shown when all are one question."""
    shown: set[int] = set()
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda at: ps[at])):
        if ps[index] > alpha / (len(ps) - rank):
            break
        shown.add(index)
    return shown


def log_spread(a: Sequence[float], b: Sequence[float]) -> float:
    """How much a boot differs from another of the same kernel: the standard deviation of the logarithms, by
    the median deviation, so that one boot that was disturbed does not decide it."""
    deviations = [
        abs(math.log(one / middle))
        for side in (a, b)
        if (middle := statistics.median(side)) > 0
        for one in side
        if one > 0
    ]
    return 1.4826 * statistics.median(deviations) if deviations else 0.0


def boots_needed(noise: float, ratio: float, questions: int = 1) -> int:
    """Of each kernel, to show this ratio nine times in ten, asked with so many others; the normal
    approximation, and never fewer than the rank test can use at all."""
    from scipy import stats  # noqa: PLC0415

    if ratio <= 0 or ratio == 1:
        return 0
    alpha = ALPHA / questions
    reach = stats.norm.ppf(1 - alpha / 2) + stats.norm.ppf(POWER)
    needed = float(2 * (reach * noise / math.log(ratio)) ** 2 / RANK_EFFICIENCY)
    return max(least_boots(alpha), math.ceil(needed))


def least_boots(alpha: float) -> int:
    """With fewer even a complete separation is not below alpha: 2 of C(2n, n) orders are that."""
    boots = 2
    while 2 / math.comb(2 * boots, boots) > alpha:
        boots += 1
    return boots
