"""
All oracles, asked about one state.

In:       a Prepared history, a cut and an Observation (or a Case).
Out:      Verdicts, in the order of ORACLES; one for each oracle that has something to say.
Not here: what each asks (its own file), grouping verdicts into findings (finding.py).

An oracle gives no verdict at all when there is nothing for it to look at: those of the tree when
the mount failed or the kernel died before the walk (mounts tells of that), fsck when it was not
run, ordered in tier posix. Trouble of ours makes them all UNKNOWN.
"""

import traceback
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Protocol

import msgspec

from oracles import atomic, consistent, durable, fsck, historical, mounts, ordered, quiet, stable, usable
from oracles.case import Case, Prepared
from oracles.observation import Observation
from oracles.verdict import TIERS, Answer, Tier, Verdict

ORACLES: tuple[ModuleType, ...] = (
    mounts,
    quiet,
    fsck,
    durable,
    atomic,
    historical,
    ordered,
    usable,
    stable,
    consistent,
)
_ORACLE = {oracle.NAME: oracle for oracle in ORACLES}
# Those that ask the model, which is another one for each order of operations that overlapped.
BY_ORDER = frozenset(oracle.NAME for oracle in (durable, atomic, historical, ordered))


def judge_observation(
    prepared: Prepared,
    prefix: int,
    observation: Observation,
    anywhere: dict[str, Verdict | None] | None = None,
) -> tuple[Verdict, ...]:
    """Every verdict on the state of that many log entries. anywhere: as of judge_state(). Never fails: what
    goes wrong is UNKNOWN."""
    trouble = observation.trouble or prepared.trouble
    if trouble:
        return unknown(prepared.tier, observation, trouble)
    try:
        case = prepared.case(prefix, observation)
        verdicts = judge_state(case, anywhere)
        return verdicts if prepared.orders is None else judge_in_orders(prepared, prefix, case, verdicts)
    except Exception as error:
        return unknown(prepared.tier, observation, describe_error(error))


def judge_in_orders(
    prepared: Prepared, prefix: int, case: Case, verdicts: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """By the first order of what overlapped that breaks nothing, the same for all oracles; where there is
    none, by the one that breaks least. The order that the last state was judged by is tried first.
    verdicts: by the first order."""
    assert prepared.orders is not None
    best = (_broken(verdicts), 0, verdicts)
    tried = 1
    for number in _numbers(prepared):
        if not best[0]:
            break
        case = prepared.case(prefix, case.observation, number)
        again = tuple(
            ask(_ORACLE[verdict.oracle], case) or verdict if verdict.oracle in BY_ORDER else verdict
            for verdict in verdicts
        )
        best = min(best, (_broken(again), number, again), key=lambda one: one[:2])
        tried += 1
    prepared.last_order[:] = [best[1]]
    return best[2] if not best[0] else tuple(_in_orders(verdict, tried) for verdict in best[2])


def _numbers(prepared: Prepared) -> Iterator[int]:
    """Of every order but the first, which was asked already."""
    assert prepared.orders is not None
    last = prepared.last_order[0] if prepared.last_order else 0
    if last:
        yield last
    number = 1
    while prepared.orders.get(number) is not None:
        if number != last:
            yield number
        number += 1


def _broken(verdicts: Iterable[Verdict]) -> int:
    """How much of what depends on the order is not kept, or not known."""
    return sum(
        len(verdict.violations) or verdict.answer is Answer.UNKNOWN
        for verdict in verdicts
        if verdict.oracle in BY_ORDER
    )


def _in_orders(verdict: Verdict, count: int) -> Verdict:
    """What was expected, with the number of orders by which it was."""
    if verdict.oracle not in BY_ORDER or count == 1:
        return verdict
    violations = tuple(
        msgspec.structs.replace(each, expected=f"{each.expected} (the nearest of {count} orders)")
        for each in verdict.violations
    )
    return msgspec.structs.replace(verdict, violations=violations)


def judge_state(case: Case, anywhere: dict[str, Verdict | None] | None = None) -> tuple[Verdict, ...]:
    """anywhere: what oracles that do not ask the model said of this observation at another cut of this
    history, for they would say it again; filled in here."""
    if case.observation.trouble:
        return unknown(case.tier, case.observation, case.observation.trouble)
    said = {} if anywhere is None else anywhere
    verdicts = []
    for oracle in ORACLES:
        if oracle.NAME in BY_ORDER:
            verdicts.append(ask(oracle, case))
            continue
        if oracle.NAME not in said:
            said[oracle.NAME] = ask(oracle, case)
        verdicts.append(said[oracle.NAME])
    return tuple(verdict for verdict in verdicts if verdict is not None)


class HasTier(Protocol):
    """A Case, or another thing that oracles judge."""

    @property
    def tier(self) -> Tier: ...


def ask(oracle: ModuleType, case: HasTier) -> Verdict | None:
    """An oracle that crashes has found out nothing."""
    try:
        verdict: Verdict | None = oracle.judge(case)
    except Exception as error:
        return Verdict(oracle.NAME, case.tier, Answer.UNKNOWN, reason=describe_error(error))
    return verdict


def unknown(tier: Tier, observation: Observation, reason: str) -> tuple[Verdict, ...]:
    """UNKNOWN of every oracle that would have been asked."""
    names = [
        oracle.NAME
        for oracle in ORACLES
        if (oracle is not fsck or observation.fsck is not None)
        and (oracle is not ordered or TIERS.index(tier) >= TIERS.index(Tier.SOMC))
    ]
    return tuple(Verdict(name, tier, Answer.UNKNOWN, reason=reason) for name in names)


def describe_error(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
