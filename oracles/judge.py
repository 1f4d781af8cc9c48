"""
All oracles, asked about one state: of a power failure, of a device that fails, of a damaged disk.

In:       a Prepared history and an Observation, with the cut (power failure), the fault point, or the damage.
Out:      Verdicts, in the order of ORACLES, FAULT_ORACLES or DAMAGE_ORACLES; one for each oracle that has
          something to say.
Not here: what each asks (its own file), grouping verdicts into findings (finding.py), which faults and
          damage there are (harness/).

An oracle gives no verdict at all when there is nothing for it to look at: those of the tree when
the mount failed or the kernel died before the walk (mounts reports that), fsck when it was not
run, ordered in tier posix, those that need a history where there is none. Trouble of ours makes them all
UNKNOWN.

After a fault a sound device shows a disk on which all must be in order once it is mounted, so the oracles
that compare a recovered tree with itself, and with all that ever was, are asked, too. Not where the fault
itself spoils the disk: corrupt writes, and dropped ones that others follow.
"""

import traceback
from collections.abc import Collection, Iterable, Iterator
from types import ModuleType
from typing import Protocol

import msgspec

from oracles import (
    application,
    atomic,
    consistent,
    durable,
    fsck,
    historical,
    kept,
    mounts,
    ordered,
    quiet,
    redundant,
    stable,
    usable,
)
from oracles.case import Case, Prepared
from oracles.faults import alive, contained, detected, healed, noticed, told
from oracles.faults.damage import DamageCase, outcome_of, split, tree_key
from oracles.faults.faulted import FaultCase, fault_case
from oracles.faults.told import unsure_paths
from oracles.observation import Observation
from oracles.ordered import found_snapshot, snapshot
from oracles.profiles import Profile, promise
from oracles.spec import place_of
from oracles.unjudged import OF_HISTORY, without_unjudged
from oracles.verdict import TIERS, Answer, Tier, Verdict, Violation
from workloads.history import History

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
    redundant,
)
# Of a recovered filesystem that was used: when it was, and when the power had failed again. The tree is held
# against the one of before; what is held against the model, the state that was recovered first was.
USE_ORACLES: tuple[ModuleType, ...] = (mounts, quiet, kept)
AFTER_ORACLES: tuple[ModuleType, ...] = (mounts, quiet, fsck, usable, stable, consistent, kept)
FAULT_ORACLES: tuple[ModuleType, ...] = (told, contained, detected, alive)
CUT_DATA, STALE = "cut data came back", "stale data"  # of historical
UNREADABLE = "read failed"  # of usable and consistent
ALSO_ASKED: tuple[ModuleType, ...] = (mounts, historical, usable, stable, consistent)
DAMAGE_ORACLES: tuple[ModuleType, ...] = (noticed, healed, detected, alive)
# Of a program that was the workload: asked last, for it looks at what the others said.
PROGRAM_ORACLES: tuple[ModuleType, ...] = (application,)
EVERY_ORACLE = tuple(
    dict.fromkeys((*ORACLES, *AFTER_ORACLES, *PROGRAM_ORACLES, *FAULT_ORACLES, *DAMAGE_ORACLES))
)
_ORACLE = {oracle.NAME: oracle for oracle in ORACLES}
# Those that ask the model, which is another one for each order of operations that overlapped.
BY_ORDER = frozenset(OF_HISTORY)


def judge_observation(
    prepared: Prepared,
    prefix: int,
    observation: Observation,
    anywhere: dict[str, Verdict | None] | None = None,
) -> tuple[Verdict, ...]:
    """Every verdict on the state of that many log entries; last that of a program's own script, where one was
    asked. anywhere: as of judge_state(). Never fails: what goes wrong is UNKNOWN."""
    verdicts = judge_tree(prepared, prefix, observation, anywhere)
    try:
        of_program = application.judge(prepared, prefix, observation, verdicts)
    except Exception as error:
        of_program = Verdict(application.NAME, prepared.tier, Answer.UNKNOWN, reason=describe_error(error))
    return verdicts if of_program is None else (*verdicts, of_program)


def judge_tree(
    prepared: Prepared,
    prefix: int,
    observation: Observation,
    anywhere: dict[str, Verdict | None] | None = None,
) -> tuple[Verdict, ...]:
    """The verdicts of ORACLES. Never fails."""
    known = prepared.history.known
    trouble = observation.trouble or prepared.trouble or quiet.starved(observation)
    if trouble:
        return unknown(prepared.tier, observation, trouble, known)
    try:
        case = prepared.case(prefix, observation)
        verdicts = judge_state(case, anywhere)
        if prepared.orders is not None:
            return judge_in_orders(prepared, prefix, case, verdicts)
        if not prepared.history.unjudged:
            return verdicts
        return tuple(without_unjudged(prepared.history, prefix, verdict) for verdict in verdicts)
    except Exception as error:
        return unknown(prepared.tier, observation, describe_error(error), known)


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
        msgspec.structs.replace(each, expected=f"{each.expected} (by the nearest of {count} orders)")
        for each in verdict.violations
    )
    return msgspec.structs.replace(verdict, violations=violations)


def judge_state(case: Case, anywhere: dict[str, Verdict | None] | None = None) -> tuple[Verdict, ...]:
    """anywhere: what oracles that do not ask the model said of this observation at another cut of this
    history, for they would say it again; filled in here."""
    known = case.history.known
    if trouble := case.observation.trouble or quiet.starved(case.observation):
        return unknown(case.tier, case.observation, trouble, known)
    said = {} if anywhere is None else anywhere
    verdicts = []
    for oracle in oracles_of(case.observation, known):
        if oracle.NAME in BY_ORDER:
            verdicts.append(ask(oracle, case))
            continue
        if oracle.NAME not in said:
            said[oracle.NAME] = ask(oracle, case)
        verdicts.append(said[oracle.NAME])
    return tuple(verdict for verdict in verdicts if verdict is not None)


def oracles_of(observation: Observation, known: bool) -> tuple[ModuleType, ...]:
    """Those that are asked of what came back. known: of oracles_for()."""
    if observation.use is not None:
        return USE_ORACLES
    return oracles_for(known) if observation.after is None else AFTER_ORACLES


def oracles_for(known: bool) -> tuple[ModuleType, ...]:
    """Those that are asked of a power failure. known: of History; what was done is not known of a log that
    came without a history, and then nobody can say what had to be there."""
    return ORACLES if known else tuple(oracle for oracle in ORACLES if oracle.NAME not in BY_ORDER)


# --- a device that fails --------------------------------------------------------------------------


def judge_fault(
    history: History, profile: Profile, tier: Tier, spec: str, observation: Observation
) -> tuple[Verdict, ...]:
    """Never fails: what goes wrong is UNKNOWN."""
    if observation.trouble:
        return unknown_of(FAULT_ORACLES, tier, observation.trouble)
    if observation.death:
        return (alive.judge_seen(profile, tier, observation),)
    try:
        case = fault_case(history, profile, tier, spec, observation)
    except Exception as error:
        return unknown_of(FAULT_ORACLES, tier, describe_error(error))
    verdicts = [ask(oracle, case) for oracle in (told, contained, detected)]
    verdicts.append(alive.judge_seen(profile, tier, observation))
    if not case.disk_undone:
        verdicts += [without_unsure(case, ask(oracle, case.before)) for oracle in ALSO_ASKED]
    return tuple(verdict for verdict in verdicts if verdict is not None)


def without_unsure(case: FaultCase, verdict: Verdict | None) -> Verdict | None:
    """Of the bytes of a file on which a call failed half-way only that they can be read; nor, where writes
    failed, that data is on disk with the metadata: by default ext4 commits all the same (data_err=ignore,
    ext4.rst). A snapshot has the old bytes of what failed to be written when it was taken; fsync of the
    source tells."""
    if verdict is None or not verdict.violations:
        return verdict
    unsure = unsure_paths(case)
    roots = tuple(f"{path}/" for path in snapshots(case))
    kept: list[Violation] = [
        each
        for each in verdict.violations
        if (each.subject not in unsure or unreadable(case, each))
        and each.kind != CUT_DATA
        and not (each.kind == STALE and each.subject.startswith(roots))
    ]
    return case.verdict(verdict.oracle, verdict.checked, kept)


def unreadable(case: FaultCase, violation: Violation) -> bool:
    """A write that fails leaves the old bytes, the new ones or zeros: each can be read."""
    return violation.kind == UNREADABLE and not case.kinds & told.LYING


def snapshots(case: FaultCase) -> list[str]:
    """The paths of those taken while writes failed."""
    if "error-writes" not in case.kinds:
        return []
    return [
        step.operation.path2
        for step in case.history.run
        if step.operation.word == "snapshot" and step.index >= case.point.operation
    ]


# --- damage at rest -------------------------------------------------------------------------------


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
    fails = split(spec)[1].fails
    # A block that fails has no wrong bytes: what cannot be read the failing call tells.
    without = detected if fails else healed
    asked = tuple(oracle for oracle in DAMAGE_ORACLES if oracle is not without)
    if trouble:
        return unknown_of(asked, prepared.tier, trouble), ""
    try:
        case = damage_case(prepared, spec, what, undamaged, older, seen)
        verdicts = (
            noticed.judge(case),
            healed.judge(case) if fails else detected.judge_damaged(case),
            alive.judge_damaged(case),
        )
    except Exception as error:
        return unknown_of(asked, prepared.tier, describe_error(error)), ""
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
        snapshot(case, time) == found for time in range(case.allowed.now + 1)
    )


# --- all of them ----------------------------------------------------------------------------------


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


def unknown(tier: Tier, observation: Observation, reason: str, known: bool = True) -> tuple[Verdict, ...]:
    """UNKNOWN of every oracle that would have been asked. known: of oracles_for()."""
    names = [
        oracle.NAME
        for oracle in oracles_of(observation, known)
        if (oracle is not fsck or observation.fsck is not None)
        and (oracle is not redundant or observation.scrub is not None)
        and (oracle is not ordered or TIERS.index(tier) >= TIERS.index(Tier.SOMC))
    ]
    return tuple(Verdict(name, tier, Answer.UNKNOWN, reason=reason) for name in names)


def unknown_of(oracles: Iterable[ModuleType], tier: Tier, reason: str) -> tuple[Verdict, ...]:
    """UNKNOWN of each of these."""
    return tuple(Verdict(oracle.NAME, tier, Answer.UNKNOWN, reason=reason) for oracle in oracles)


def describe_error(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"
