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
from types import ModuleType
from typing import Protocol

from oracles import (
    atomic,
    consistent,
    durable,
    fsck,
    historical,
    mounts,
    ordered,
    quiet,
    stable,
    usable,
)
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


def judge_observation(prepared: Prepared, prefix: int, observation: Observation) -> tuple[Verdict, ...]:
    """Every verdict on the state of that many log entries. Never fails: what goes wrong is UNKNOWN."""
    trouble = observation.trouble or prepared.trouble
    if trouble:
        return unknown(prepared.tier, observation, trouble)
    try:
        case = prepared.case(prefix, observation)
    except Exception as error:
        return unknown(prepared.tier, observation, describe_error(error))
    return judge_state(case)


def judge_state(case: Case) -> tuple[Verdict, ...]:
    if case.observation.trouble:
        return unknown(case.tier, case.observation, case.observation.trouble)
    verdicts = (ask(oracle, case) for oracle in ORACLES)
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
