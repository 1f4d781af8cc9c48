"""
Profiles of A and B: shares of samples by kernel function.

In:       Measured: samples of each boot.
Out:      Shares of the functions that take most; FunctionTime of those that were asked about.
Not here: sampling (harness/perf/sampling.py); times by a clock (answers.py). The same rule decides here:
          the boot is the unit, an interval and a rank test must agree.
"""

import statistics
from collections.abc import Sequence

import msgspec

from reports.perf.answers import ALPHA, LEAST_BOOTS, Answer, holm, interval, leaves_out_one, rank_p
from reports.perf.published import Published, published_for
from reports.perf.results import Measured, Samples

TOP = 12


class Share(msgspec.Struct, frozen=True):
    """Percent of all samples that were taken in the function itself; medians over boots."""

    function: str
    a: float
    b: float


class FunctionTime(msgspec.Struct, frozen=True):
    """Seconds in a function and what it calls, a value a boot: of the processor, by samples; or between entry
    and return, where kprobes measured it."""

    function: str
    a: tuple[float, ...]
    b: tuple[float, ...]
    ratio: float
    low: float
    high: float
    answer: Answer
    published: Published | None

    @property
    def percent(self) -> float:
        return 100 * (self.ratio - 1)


class Profile(msgspec.Struct, frozen=True):
    """One case. boots, samples: of both sides together."""

    case: str
    boots: int
    samples: int
    shares: tuple[Share, ...]
    times: tuple[FunctionTime, ...]


def profiles(measured: Measured) -> tuple[Profile, ...]:
    cases = dict.fromkeys(one.case for one in measured.samples)
    return tuple(
        found
        for case in cases
        if (found := _profile(measured, case, [one for one in measured.samples if one.case == case]))
    )


def _profile(measured: Measured, case: str, samples: Sequence[Samples]) -> Profile | None:
    a, b = ([one for one in samples if one.side == side and one.total] for side in "AB")
    if not a or not b:
        return None
    names = {name for one in (*a, *b) for name in one.own}
    shares = [Share(name, _share(a, name), _share(b, name)) for name in names]
    shares.sort(key=lambda one: (-max(one.a, one.b), one.function))
    return Profile(
        case=case,
        boots=len(a) + len(b),
        samples=sum(one.total for one in samples),
        shares=tuple(shares[:TOP]),
        times=_times(measured, a, b) if min(len(a), len(b)) >= LEAST_BOOTS else (),
    )


def _share(side: Sequence[Samples], name: str) -> float:
    return 100 * statistics.median(one.own.get(name, 0) / one.total for one in side)


def _times(measured: Measured, a: Sequence[Samples], b: Sequence[Samples]) -> tuple[FunctionTime, ...]:
    """Of functions that were seen at all on one side."""
    every = (*a, *b)
    clocked = {name for name in a[0].under if all(name in one.clocked for one in every)}
    seen = [
        name
        for name in a[0].under
        if any(one.clocked[name] if name in clocked else one.under[name] for one in every)
    ]

    def seconds(side: Sequence[Samples], name: str) -> tuple[float, ...]:
        if name in clocked:
            return tuple(one.clocked[name] for one in side)
        return tuple(one.under[name] / one.hertz for one in side)

    sides = [(seconds(a, name), seconds(b, name)) for name in seen]
    shown = holm([rank_p(left, right) for left, right in sides], ALPHA)
    return tuple(_time(measured, name, *sides[index], index in shown) for index, name in enumerate(seen))


def _time(
    measured: Measured, name: str, a: tuple[float, ...], b: tuple[float, ...], shown: bool
) -> FunctionTime:
    ratio, low, high = interval(a, b)
    answer = Answer.NONE
    if shown and leaves_out_one(low, high):
        answer = Answer.WORSE if ratio > 1 else Answer.BETTER
    return FunctionTime(
        function=name,
        a=a,
        b=b,
        ratio=ratio,
        low=low,
        high=high,
        answer=answer,
        published=published_for(measured.experiment.name, "", f"under.{name}"),
    )
