"""
healed: an I/O error during recovery costs nothing but that mount.

In:       a DamageCase of a block that failed while the filesystem recovered, and was sound afterwards.
Out:      a Verdict; none where the profile does not promise it, or the kernel died.
Not here: damage at rest, of which it is not asked (judge.py), whether the mount that met the error said so
          (noticed), whether the kernel survives (alive).
"""

import errno

from oracles.faults.damage import DamageCase
from oracles.trees import difference
from oracles.verdict import Tier, Verdict, Violation

NAME = "healed"
CHECKS = (
    "After a mount that could not read or write one block during recovery, refused or "
    "not, the disk is mounted again when the block is sound. This mount succeeds, and "
    "shows the tree that recovery without the error gives."
)
NOT_CHECKED = (
    "Errors of several blocks, or of the walk alone. What the checker says of the disk. "
    "f2fs, which gives up what was rolled forward when it cannot read it."
)


def judge(case: DamageCase) -> Verdict | None:
    if not case.asks_for("healed") or case.observation.death:
        return None
    seen = case.observation
    if seen.umount_errno:
        name = errno.errorcode.get(seen.umount_errno, str(seen.umount_errno))
        return _broken(case, "unmount failed", ".", "the unmount succeeds", f"unmount: {name}")
    if seen.second_mount_errno:
        name = errno.errorcode.get(seen.second_mount_errno, str(seen.second_mount_errno))
        return _broken(case, "mount fails afterwards", ".", "the disk is mounted", f"mount: {name}")
    found = seen.second_tree if seen.second_tree is not None else seen.tree
    if differing := difference(case.undamaged.tree, found):
        path, expected, there = differing
        return _broken(case, "tree changed", path, expected, there)
    return case.verdict(NAME, 1, [])


def _broken(case: DamageCase, kind: str, path: str, expected: str, found: str) -> Verdict:
    found = f"{found}, after {case.damage.words}"
    promise = case.promise("healed")
    return case.verdict(NAME, 1, [Violation(kind, case.what, path, expected, found, promise, Tier.FS)])
