"""
application: the program that was the workload finds what it promises its users.

In:       a Prepared history, a cut, an Observation with what the program's own script answered (Asked), and
          what the other oracles said of the same state.
Out:      a Verdict; none where no script was asked.
Not here: running the script (harness/stages/ask.py), the programs (workloads/programs.py).

A program that breaks its promise has one of two reasons, and a finding says which. Either the filesystem
broke a promise of its own in this state, as another oracle says; or every oracle is content, so the state is
one that the filesystem may leave behind, and the program relied on more than it was given. Then the same
state is held against what more would be: the stronger tiers, and what other profiles promise. The first that
forbids the state is named: there it could not be left behind.
"""

import dataclasses
from collections.abc import Iterable, Iterator

import msgspec

from oracles import atomic, durable, historical, ordered
from oracles.case import Prepared
from oracles.observation import Asked, Observation
from oracles.profiles import PROFILES, Profile, promise
from oracles.unjudged import without_unjudged
from oracles.verdict import TIERS, Answer, Tier, Verdict, Violation

NAME = "application"
CHECKS = (
    "The program that was the workload keeps its promise: its own script, run on the recovered tree with the "
    "lines that the program had printed before the power failed, ends with exit status 0. A broken promise "
    "is the filesystem's fault when another oracle is BROKEN in the same state, and the program's when all "
    "of them hold; then the tier or promise that would have forbidden the state is named."
)
NOT_CHECKED = (
    "What the script does not look at. A script that hangs, crashes or ends with another status than 0 and 1 "
    "is UNKNOWN. Equal trees with the same lines are asked about once. On other filesystems than the one "
    "that recovered the state, the promises are held against it, and no kernel is run."
)
OF_FILESYSTEM = "the filesystem broke its promise"
OF_APPLICATION = "the application relied on what is not promised"
UNDECIDED = "whose fault is not known"
ASKED_AGAIN = (durable, atomic, historical, ordered)  # those of unjudged.OF_HISTORY
# What programs rely on, and not every filesystem promises, weakest first. Of the other promises some say when
# a filesystem commits or what its fsync takes along: on a disk of another one those would mean nothing.
RELIED_ON = (
    "replace-via-rename",
    "fsync-names",
    "fdatasync-new-name",
    "ordered-data",
    "metadata-order",
    "journaled-data",
)
TEXT_LENGTH = 400


def judge(
    prepared: Prepared, prefix: int, observation: Observation, verdicts: Iterable[Verdict]
) -> Verdict | None:
    """verdicts: of the other oracles on this state."""
    asked = observation.application
    if asked is None:
        return None
    if asked.trouble or asked.status not in (0, 1):
        return Verdict(NAME, prepared.tier, Answer.UNKNOWN, reason=asked.trouble or why_unknown(asked))
    if asked.status == 0:
        return Verdict(NAME, prepared.tier, Answer.HOLDS, 1)
    role, promise = blame(prepared, prefix, observation, tuple(verdicts))
    workload = prepared.history.workload
    ran = workload.program is not None and workload.program.arguments
    violation = Violation(
        kind=f"{workload.name} broke its promise" if ran else "the check of the tree failed",
        role=role,
        subject=workload.name,
        expected=asked.promise,
        found=shortened(asked.text) or "the script printed nothing",
        promise=promise,
        tier=prepared.tier,
    )
    return Verdict(NAME, prepared.tier, Answer.BROKEN, 1, (violation,))


def why_unknown(asked: Asked) -> str:
    text = f": {shortened(asked.text)}" if asked.text.strip() else " and printed nothing"
    if asked.status < 0:
        return f"the program's script did not end within its time limit{text}"
    return f"the program's script ended with exit status {asked.status}{text}"


def shortened(text: str) -> str:
    """In one line."""
    line = " ".join(text.split())
    return line if len(line) <= TEXT_LENGTH else line[: TEXT_LENGTH - 3] + "..."


def blame(
    prepared: Prepared, prefix: int, observation: Observation, verdicts: tuple[Verdict, ...]
) -> tuple[str, str]:
    """Whose fault it is, and a sentence for the finding."""
    if broken := [verdict for verdict in verdicts if verdict.answer is Answer.BROKEN]:
        names = " and ".join(verdict.oracle for verdict in broken)
        first = broken[0].violations[0]
        told = f"{first.subject}: expected {first.expected}; found {first.found}"
        return OF_FILESYSTEM, f"{names} is BROKEN in the same state: {told}"
    if not prepared.history.known:
        return UNDECIDED, "the log came without a history, so what the filesystem had promised is not known"
    unknown = [verdict for verdict in verdicts if verdict.answer is Answer.UNKNOWN]
    if unknown or prepared.model is None:
        why = prepared.trouble or unknown[0].reason
        return UNDECIDED, f"what the filesystem had promised is not known: {why}"
    unjudged = sorted(
        {one.path or "the whole tree" for one in prepared.history.unjudged if one.entry < prefix}
    )
    aside = f" (not checked: {', '.join(unjudged)})" if unjudged else ""
    where = forbidden_at(prepared, prefix, observation)
    own = f"{prepared.profile.name} may leave this state behind (tier {prepared.tier}){aside}"
    if not where:
        return OF_APPLICATION, f"{own}, and no promise of another profile forbids it"
    return OF_APPLICATION, f"{own}. The state is ruled out {where}"


def forbidden_at(prepared: Prepared, prefix: int, observation: Observation) -> str:
    """The weakest stronger set of promises that forbids the state, "" when none of those known does."""
    if prepared.model is None or prepared.orders is not None:
        return ""
    for place, of, tier in stronger(prepared):
        if forbids(with_promises(prepared, of, tier), prefix, observation):
            return place
    return ""


def stronger(prepared: Prepared) -> Iterator[tuple[str, Profile, Tier]]:
    """What is asked in turn: words for it, a profile, a tier."""
    own = prepared.profile
    for tier in TIERS[TIERS.index(prepared.tier) + 1 :]:
        yield f"at tier {tier}", own, tier
    for key in RELIED_ON:
        other = next(one for one in PROFILES if promise(one, key) is not None)
        added = promise(other, key)
        if added is not None and promise(own, key) is None:
            more = msgspec.structs.replace(own, promises=(*own.promises, added))
            yield f"where {key} is promised, as by profile {other.name}: {added.sentence}", more, Tier.FS


def with_promises(prepared: Prepared, of: Profile, tier: Tier) -> Prepared:
    """The same history, held against the promises of another profile and tier."""
    return dataclasses.replace(prepared, profile=of, tier=tier, _latest=[], last_order=[], _of_orders={})


def forbids(prepared: Prepared, prefix: int, observation: Observation) -> bool:
    case = prepared.case(prefix, observation)
    verdicts = (oracle.judge(case) for oracle in ASKED_AGAIN)
    return any(
        without_unjudged(case.history, prefix, verdict).answer is Answer.BROKEN
        for verdict in verdicts
        if verdict is not None
    )
