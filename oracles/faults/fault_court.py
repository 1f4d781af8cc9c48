"""
The oracles of faults, asked about one fault point.

In:       a History on a sound device, a Profile, a Tier, the point's spec, an Observation.
Out:      Verdicts, those of FAULT_ORACLES first; then those oracles of a power failure that hold here.
Not here: what each asks (its own file).

After a fault a sound device shows a disk on which all must be in order once it is mounted, so the oracles
that compare a recovered tree with itself, and with all that ever was, are asked, too. Not where the fault
itself spoils the disk: corrupt writes, and dropped ones that others follow.
"""

from types import ModuleType

from oracles import consistent, historical, mounts, stable, usable
from oracles.court import ask, describe_error
from oracles.faults import alive, contained, detected, told
from oracles.faults.faulted import FaultCase, fault_case
from oracles.faults.told import unsure_paths
from oracles.observation import Observation
from oracles.profiles import Profile
from oracles.verdict import Answer, Tier, Verdict, Violation
from workloads.history import History

FAULT_ORACLES: tuple[ModuleType, ...] = (told, contained, detected, alive)
CUT_DATA, STALE = "cut data came back", "stale data"  # of historical
ALSO_ASKED: tuple[ModuleType, ...] = (mounts, historical, usable, stable, consistent)


def judge_fault(
    history: History, profile: Profile, tier: Tier, spec: str, observation: Observation
) -> tuple[Verdict, ...]:
    """Never fails: what goes wrong is UNKNOWN."""
    if observation.trouble:
        return unknown(tier, observation.trouble)
    if observation.death:
        return (alive.judge_seen(profile, tier, observation),)
    try:
        case = fault_case(history, profile, tier, spec, observation)
    except Exception as error:
        return unknown(tier, describe_error(error))
    verdicts = [ask(oracle, case) for oracle in (told, contained, detected)]
    verdicts.append(alive.judge_seen(profile, tier, observation))
    if not case.disk_undone:
        verdicts += [without_unsure(case, ask(oracle, case.before)) for oracle in ALSO_ASKED]
    return tuple(verdict for verdict in verdicts if verdict is not None)


def without_unsure(case: FaultCase, verdict: Verdict | None) -> Verdict | None:
    """Nothing is asked of the bytes of a file on which a call failed half-way; nor, where writes failed, that
    data is on disk with the metadata: by default ext4 commits all the same (data_err=ignore, ext4.rst). A
    snapshot has the old bytes of what failed to be written when it was taken; fsync of the source tells."""
    if verdict is None or not verdict.violations:
        return verdict
    unsure = unsure_paths(case)
    roots = tuple(f"{path}/" for path in snapshots(case))
    kept: list[Violation] = [
        each
        for each in verdict.violations
        if each.subject not in unsure
        and each.kind != CUT_DATA
        and not (each.kind == STALE and each.subject.startswith(roots))
    ]
    return case.verdict(verdict.oracle, verdict.checked, kept)


def snapshots(case: FaultCase) -> list[str]:
    """The paths of those taken while writes failed."""
    if "error-writes" not in case.kinds:
        return []
    return [
        step.operation.path2
        for step in case.history.run
        if step.operation.word == "snapshot" and step.index >= case.point.operation
    ]


def unknown(tier: Tier, reason: str) -> tuple[Verdict, ...]:
    return tuple(Verdict(oracle.NAME, tier, Answer.UNKNOWN, reason=reason) for oracle in FAULT_ORACLES)
