"""
stable: a second mount and a second walk find the same tree.

In:       a Case (Observation.tree, second_tree).
Out:      a Verdict; none where there was no second walk.
Not here: whether the first tree is right.
"""

import msgspec

from oracles.case import Case
from oracles.observation import Node
from oracles.verdict import Tier, Verdict, Violation

Extents = tuple[tuple[int, int, int], ...] | None

NAME = "stable"
CHECKS = "After an unmount and a second mount, every name, attribute and byte of the tree is the same."
NOT_CHECKED = (
    "Times. On xfs, blocks after the end of a file, which xfs frees by itself. On ext4 and xfs, "
    "which of the bytes that are the same SEEK_DATA calls data: reserved blocks count as data "
    "while the page cache has them. Where the "
    "mount and a sync wrote nothing, a second mount would read the same bytes, so "
    "nothing is compared."
)


def judge(case: Case) -> Verdict | None:
    seen = case.observation
    if seen.tree is None or seen.second_mount_errno or seen.umount_errno or seen.death:
        return None
    violation = None if seen.second_tree is None else first_change(case, seen.tree, seen.second_tree)
    compared = 0 if seen.untouched else len(seen.tree)
    return case.verdict(NAME, compared, [violation] if violation else [])


def first_change(case: Case, before: tuple[Node, ...], after: tuple[Node, ...]) -> Violation | None:
    old = {node.path: node for node in before}
    new = {node.path: node for node in after}
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            return _violation(case, "name gone", path, f"a {old[path].kind}", "no such name")
        if path not in old:
            return _violation(case, "name appeared", path, "no such name", f"a {new[path].kind}")
        field = first_different_field(case.profile.filesystem, old[path], new[path])
        if field:
            expected, found = repr(getattr(old[path], field)), repr(getattr(new[path], field))
            return _violation(case, f"{field} changed", path, expected[:200], found[:200])
    return None


def first_different_field(filesystem: str, before: Node, after: Node) -> str:
    for field in msgspec.structs.fields(Node):
        old, new = getattr(before, field.name), getattr(after, field.name)
        if old == new:
            continue
        # fs/xfs/xfs_inode.c xfs_inactive() and xfs_bmap_util.c xfs_free_eofblocks(): blocks that
        # delayed allocation put behind the end of file go when the inode leaves the cache.
        if field.name == "blocks" and filesystem == "xfs" and new < old:
            continue
        # fs/iomap/seek.c: of unwritten blocks what the page cache has is data, until memory runs short. The
        # content is the same: it would have been named before.
        if field.name == "data" and filesystem in ("ext4", "xfs"):
            continue
        if field.name == "extents" and filesystem == "xfs" and holds(old, new, before.size):
            continue
        return field.name
    return ""


def holds(old: Extents, new: Extents, size: int) -> bool:
    """Whether they differ only behind the end of the file, where there are fewer now."""
    old_end, new_end = (max((end for _, end, _ in each or ()), default=0) for each in (old, new))
    inside = [
        [(start, min(end, size), reserved) for start, end, reserved in each or () if start < size]
        for each in (old, new)
    ]
    return inside[0] == inside[1] and new_end <= old_end


def _violation(case: Case, kind: str, path: str, expected: str, found: str) -> Violation:
    return Violation(kind, "recovered tree", path, expected, found, case.promise("stable"), Tier.POSIX)
