"""
mounts: recovery succeeds, and the kernel survives it.

In:       a Case.
Out:      a Verdict; never none.
Not here: whether what was mounted is right (the other oracles).
"""

from oracles.case import Case
from oracles.observation import errno_name
from oracles.profiles import promise
from oracles.trees import difference
from oracles.verdict import Tier, Verdict, Violation

NAME = "mounts"
CHECKS = (
    "The recovered disk mounts, unmounts and mounts again without an error. Meanwhile "
    "the kernel does not panic, hang or exit. On the profiles NAME-ro-first the first of these mounts "
    "is read-only, and a read-only mount without recovery before it writes nothing. A mount of the "
    "device when it cannot be written comes before these: it is refused, or shows the same tree."
)
NOT_CHECKED = (
    "How long recovery takes, if it ends before the deadline. Where the mount and a sync "
    "wrote nothing, a second mount would read the same bytes, so it is left out."
)


def judge(case: Case) -> Verdict:
    seen = case.observation
    violations = []
    if seen.death:
        stage = f" during {seen.death_during}" if seen.death_during else ""
        last = seen.console[-1] if seen.console else "the console is empty"
        violations.append(_violation(case, seen.death, "the kernel survives", f"{seen.death}{stage}: {last}"))
    calls = (
        ("mount refused", "mount", seen.mount_errno),
        ("unmount failed", "unmount", seen.umount_errno),
        ("second mount refused", "second mount", seen.second_mount_errno),
    )
    for kind, call, number in calls:
        if number:
            name = errno_name(number)
            violations.append(_violation(case, kind, f"{call} succeeds", f"{call}: {name}"))
    if seen.norecovery_wrote and promise(case.profile, "no-recovery") is not None:
        found = "a mount with ro and norecovery wrote to the disk"
        violations.append(
            _violation(case, "written without recovery", "nothing is written", found, "no-recovery")
        )
    if seen.device_wrote:
        found = "a mount of the read-only device wrote to the disk"
        violations.append(
            _violation(case, "read-only device written", "nothing is written", found, "read-only-device")
        )
    if seen.device_tree is not None and (differing := difference(seen.tree, seen.device_tree)):
        path, expected, found = differing
        kind, expected = "read-only device shows another tree", f"refused, or as after recovery: {expected}"
        violations.append(
            Violation(kind, "filesystem", path, expected, found, case.promise("read-only-device"), Tier.POSIX)
        )
    asked = 1 if seen.untouched else len(calls)
    return case.verdict(NAME, asked + 1, violations)


def _violation(case: Case, kind: str, expected: str, found: str, promise: str = "mount") -> Violation:
    return Violation(kind, "filesystem", ".", expected, found, case.promise(promise), Tier.POSIX)
