"""
redundant: what is kept on two devices is whole on each, once a scrub has mended it.

In:       a Case (Observation.scrub, without).
Out:      a Verdict; none where nothing was scrubbed. has_checksums() of a history.
Not here: the states that ask for it (harness/states/members.py), how a scrub is done
          (harness/guests/agent/scrub.c).
"""

from oracles.case import Case
from oracles.observation import errno_name
from oracles.trees import difference
from oracles.verdict import Tier, Verdict, Violation
from workloads.history import History

NAME = "redundant"
CHECKS = (
    "Of btrfs on several devices that keep everything twice, in states of model M: a scrub succeeds and "
    "mends every wrong copy that it finds, a second one finds none, and without one of the devices (the one "
    "beside that which was not as the others) the filesystem mounts and shows the same tree."
)
NOT_CHECKED = (
    "How many copies were wrong: what a walk reads is mended before. A device that is gone is not replaced. "
    "Copies without a checksum cannot be told apart: in workloads with chattr +C the "
    "trees are not compared."
)


def judge(case: Case) -> Verdict | None:
    seen = case.observation
    if seen.scrub is None:
        return None
    done = seen.scrub
    violations = []
    if done.error:
        violations.append(_violation(case, "scrub failed", "a scrub succeeds", errno_name(done.error)))
    if done.unrepaired:
        found = f"{done.unrepaired} of {done.found} wrong copies were not mended"
        violations.append(_violation(case, "copy not mended", "a scrub mends every copy", found))
    elif done.found_again:
        found = f"a second scrub found {done.found_again} wrong copies; the first one {done.found}"
        violations.append(_violation(case, "copy wrong after a scrub", "a second scrub finds none", found))
    if seen.without >= 0:
        violations += _without(case)
    return case.verdict(NAME, 4 if seen.without >= 0 else 2, violations)


def has_checksums(history: History) -> bool:
    """Whether all that btrfs keeps of it has: not what is written in place."""
    done = (step.operation for step in (*history.setup, *history.run))
    return not any(each.word == "chattr" and each.mode == "+C" for each in done)


def _without(case: Case) -> list[Violation]:
    seen = case.observation
    if seen.without_errno:
        found = f"mount without device {seen.without}: {errno_name(seen.without_errno)}"
        return [_violation(case, "mount refused without a device", "any one device may be lost", found)]
    # What is written in place, and was not synced, may be on one device alone.
    compared = seen.without_tree if has_checksums(case.history) else None
    if compared is not None and (differing := difference(seen.tree, compared)):
        path, expected, found = differing
        found = f"without device {seen.without}: {found}"
        return [_violation(case, "lost with a device", expected, found, path)]
    if seen.returned_errno:
        found = f"mount with all devices again: {errno_name(seen.returned_errno)}"
        return [_violation(case, "mount refused after a scrub", "it succeeds", found)]
    return []


def _violation(case: Case, kind: str, expected: str, found: str, path: str = ".") -> Violation:
    return Violation(kind, "filesystem", path, expected, found, case.promise("redundant"), Tier.POSIX)
