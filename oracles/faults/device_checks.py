"""
What a program without us can ask where a disk was damaged, or a device failed.

In:       a DamageCase or a FaultCase, and a violation that an oracle of these found in it.
Out:      Check after Check; NoCheck when no program could ask it in a line or two.
Not here: a power failure alone (checks.py), the programs (reports/export*.py).

Of a damaged disk a mount may be refused, a file may be missing, a call may fail: all of that has noticed the
damage. So what the oracle `detected` saw is asked only of what is there. Of a device that fails a
call tells of the error or has to be believed: what `told` saw is asked only where the calls that it believed
succeed again.
"""

import msgspec

from oracles.case import Case
from oracles.checks import Check, NoCheck, checks
from oracles.faults import alive, detected, noticed, told
from oracles.faults.damage import DamageCase
from oracles.faults.faulted import FaultCase
from oracles.verdict import Violation

UNTOLD = " untold"  # of told.py, behind the kind of violation that durable gives
UNDETECTED = " undetected"  # of detected.py, behind the kind of violation that historical gives


def of_damage(case: DamageCase, oracle: str, violation: Violation) -> tuple[Check, ...]:
    """At least one. Errors: NoCheck."""
    if case.damage.fails:
        raise NoCheck("an exported program has no device of which one block fails while it is mounted")
    if oracle == alive.NAME:
        return (Check("survives"),)
    if oracle == noticed.NAME and case.asks_for("log-checked"):
        return (Check("as before"),)
    if oracle == noticed.NAME:
        raise NoCheck(
            "the trees of all earlier times are allowed here, and an exported program cannot know all of them"
        )
    return undetected(case.cases, violation)


def undetected(cases: tuple[Case, ...], violation: Violation) -> tuple[Check, ...]:
    """Of the first tree that shows it. Errors: NoCheck."""
    kind = violation.kind.removesuffix(UNDETECTED)
    if kind == "name leads nowhere":
        return (Check("leads", violation.subject),)
    plain = msgspec.structs.replace(violation, kind=kind)
    reasons = []
    for case in cases:
        try:
            return tuple(map(where_it_is, checks(case, "detected", plain)))
        except NoCheck as error:
            reasons.append(str(error))
    raise NoCheck("; ".join(dict.fromkeys(reasons)))


def where_it_is(check: Check) -> Check:
    """What is missing, or cannot be asked for, is not taken for good."""
    if check.kind == "absent":
        return check
    values = ("", *check.values) if check.kind == "xattr" else check.values
    return msgspec.structs.replace(check, given=check.given or check.path, values=values)


def of_fault(case: FaultCase, oracle: str, violation: Violation) -> tuple[Check, ...]:
    """At least one. Errors: NoCheck."""
    kind = violation.kind
    if oracle == alive.NAME and kind in ("unmount failed", "device busy"):
        raise NoCheck(f"{oracle}: {kind}: after this a program can check nothing more")
    if oracle == alive.NAME:
        return (Check("survives"),)
    if oracle == detected.NAME:
        return undetected((case.before,), violation)
    if kind == "all lost":
        return (Check("mounts"),)
    plain = msgspec.structs.replace(violation, kind=kind.removesuffix(UNTOLD))
    return checks(case.after if oracle == told.NAME else case.before, oracle, plain)


def promising(case: FaultCase) -> tuple[int, ...]:
    """Calls since the fault that made something durable, as they said: what stands or falls with them. sync
    has no way to say more."""
    persists = {persist.step for persist in case.after.model.persists if persist.step >= case.point.operation}
    steps = {step.index: step.operation.word for step in case.history.run}
    return tuple(sorted(index for index in persists if steps.get(index, "sync") != "sync"))
