"""
healed: an I/O error during recovery costs nothing but that mount.

In:       a DamageCase of a block that failed while the filesystem recovered, and was sound afterwards.
Out:      a Verdict; none where the profile does not promise it, or the kernel died.
Not here: damage at rest, of which it is not asked (judge.py), whether the mount that met the error said so
          (noticed), whether the kernel survives (alive).
"""

import re

import msgspec

from oracles.faults.damage import DamageCase
from oracles.observation import Observation, Tree, errno_name
from oracles.trees import difference
from oracles.usable import AGAIN, LITTLE, key_of
from oracles.verdict import Tier, Verdict, Violation

NAME = "healed"
CHECKS = (
    "After a mount that could not read or write one block during recovery, refused or "
    "not, the disk is mounted again when the block is sound. This mount succeeds, "
    "shows the tree that recovery without the error gives, and can be used as that one. "
    "When everything was deleted then, as much is free as without the error, but for a "
    "sixteenth of the device."
)
NOT_CHECKED = (
    "Errors of several blocks, or of the walk alone. What the checker says of the disk. The "
    "blocks of files where ext4 says that it needs a check. f2fs, which gives up what was "
    "rolled forward when it cannot read it."
)

# Then ext4 does not go through its list of orphans, and blocks behind the ends of files stay:
# fs/ext4/orphan.c ext4_orphan_cleanup(), "Errors on filesystem, clearing orphan list".
NEEDS_CHECK = re.compile(r"EXT4-fs .*(Marked fs in need of filesystem check|mounting fs with errors)")


def judge(case: DamageCase) -> Verdict | None:
    if not case.asks_for("healed") or case.observation.death:
        return None
    seen = case.observation
    if seen.umount_errno:
        name = errno_name(seen.umount_errno)
        return _broken(case, "unmount failed", ".", "the unmount succeeds", f"unmount: {name}")
    if seen.second_mount_errno:
        name = errno_name(seen.second_mount_errno)
        return _broken(case, "mount fails afterwards", ".", "the disk is mounted", f"mount: {name}")
    found = seen.second_tree if seen.second_tree is not None else seen.tree
    needs_check = any(map(NEEDS_CHECK.search, seen.kernel_log))
    if differing := _difference(case.undamaged, found, needs_check):
        path, expected, there = differing
        return _broken(case, "tree changed", path, expected, there)
    calls = [failure for failure in seen.probe if key_of(failure) != "room" and AGAIN not in failure]
    if worse := [failure for failure in calls if failure not in case.undamaged.probe]:
        call, _, rest = worse[0].partition(" ")
        path, _, error = rest.rpartition(": ")
        return _broken(case, "cannot be used afterwards", path, f"{call} succeeds", f"{call}: {error}")
    if lost := 0 if needs_check else _lost_bytes(case):
        return _broken(
            case, "room lost", ".", "as much is free as without the error", f"{lost >> 10} KiB less"
        )
    return case.verdict(NAME, 1, [])


def _difference(whole: Observation, found: Tree | None, needs_check: bool) -> tuple[str, str, str] | None:
    """The mount that met the error may have been the first or the second one of that recovery: blocks behind
    the end of a file are freed when the first one ends."""
    expected: list[Tree | None] = [tree for tree in (whole.tree, whole.second_tree) if tree is not None] or [
        None
    ]
    if needs_check:
        expected, found = [_without_blocks(tree) for tree in expected], _without_blocks(found)
    differing = [difference(tree, found) for tree in expected]
    return None if None in differing else differing[0]


def _lost_bytes(case: DamageCase) -> int:
    """Of what is free without the error, when all is deleted; 0 where that is little."""
    whole, here = case.undamaged.empty_room, case.observation.empty_room
    if whole is None or here is None:
        return 0
    lost = whole.free_bytes - here.free_bytes
    return lost if lost > case.profile.size_bytes * LITTLE else 0


def _without_blocks(tree: Tree | None) -> Tree:
    return tuple(msgspec.structs.replace(node, blocks=0) for node in tree or ())


def _broken(case: DamageCase, kind: str, path: str, expected: str, found: str) -> Verdict:
    found = f"{found}, after {case.damage.words}"
    promise = case.promise("healed")
    return case.verdict(NAME, 1, [Violation(kind, case.what, path, expected, found, promise, Tier.FS)])
