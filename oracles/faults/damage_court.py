"""
The oracles of damage, asked about one damaged state.

In:       a Prepared history, the state's spec, what its damaged block is, and what came back with and without
          the damage.
Out:      Verdicts, those of DAMAGE_ORACLES; what recovery made of it.
Not here: what each asks (its own file), which damage is done (harness/experiments/damaged_states.py).
"""

from collections.abc import Collection
from types import ModuleType

import msgspec

from oracles.case import Case, Prepared
from oracles.court import ORACLES, describe_error
from oracles.faults import alive, detected, noticed
from oracles.faults.damage import DamageCase, outcome_of, split, tree_key
from oracles.faults.fault_court import FAULT_ORACLES
from oracles.observation import Observation
from oracles.ordered import found_snapshot, snapshot
from oracles.profiles import promise
from oracles.spec import place_of
from oracles.verdict import Answer, Tier, Verdict

DAMAGE_ORACLES: tuple[ModuleType, ...] = (noticed, detected, alive)
EVERY_ORACLE = tuple(dict.fromkeys((*ORACLES, *FAULT_ORACLES, *DAMAGE_ORACLES)))


def judge_damage(
    prepared: Prepared,
    spec: str,
    what: str,
    undamaged: Observation,
    older: Collection[bytes],
    seen: Observation,
) -> tuple[tuple[Verdict, ...], str]:
    """And the Outcome, "" where nobody could look. older: damage.tree_key() of the trees of all states before
    it. Never fails: what goes wrong is UNKNOWN."""
    trouble = seen.trouble or undamaged.trouble or prepared.trouble
    if trouble:
        return unknown(prepared.tier, trouble), ""
    try:
        case = damage_case(prepared, spec, what, undamaged, older, seen)
        verdicts = (noticed.judge(case), detected.judge_damaged(case), alive.judge_damaged(case))
    except Exception as error:
        return unknown(prepared.tier, describe_error(error)), ""
    return tuple(verdict for verdict in verdicts if verdict is not None), str(case.outcome)


def damage_case(
    prepared: Prepared,
    spec: str,
    what: str,
    undamaged: Observation,
    older: Collection[bytes],
    seen: Observation,
) -> DamageCase:
    """Errors: ValueError (no such state), Disagreement when the history cannot be judged."""
    prefix = place_of(spec)
    trees = [seen.tree] if seen.tree is not None else []
    trees += [seen.second_tree] if seen.second_tree is not None else []
    cases = [prepared.case(prefix, msgspec.structs.replace(seen, tree=tree)) for tree in trees]
    outcome = outcome_of(undamaged, seen, lambda: tree_key(seen.tree) in older or of_one_time(cases[0]))
    _, damage = split(spec)
    return DamageCase(prepared.profile, prepared.tier, damage, what, undamaged, seen, outcome, tuple(cases))


def of_one_time(case: Case) -> bool:
    """Whether names and attributes are together those of one time since mkfs: a journal that ends early gives
    that, for what setup had synced may have been in it alone."""
    assert case.observation.tree is not None
    found = found_snapshot(case, case.observation.tree)
    return promise(case.profile, "metadata-order") is not None and any(
        snapshot(case, time) == found for time in range(case.window.now + 1)
    )


def unknown(tier: Tier, reason: str) -> tuple[Verdict, ...]:
    return tuple(Verdict(oracle.NAME, tier, Answer.UNKNOWN, reason=reason) for oracle in DAMAGE_ORACLES)
