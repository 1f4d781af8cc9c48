"""
historical: nothing is there that never was.

In:       a Case (the tree, and everything the model ever held until now).
Out:      a Verdict; none where there is no tree.
Not here: whether what was promised is still there (durable).
"""

from typing import NamedTuple

from oracles.case import (
    Case,
    allowed_words,
    any_of,
    best_verdict,
    changed_flags,
    describe,
    describe_node,
    role,
    xattr_words,
)
from oracles.content import ZERO, Difference, Piece, clipped, first_difference, size_of
from oracles.filled import unfilled
from oracles.model.model import CLOCK, Slot
from oracles.observation import Node
from oracles.ordered import shown_since
from oracles.recovered import Recovered, is_ours
from oracles.verdict import Tier, Verdict, Violation
from workloads.text import format_operation as words

NAME = "historical"
CHECKS = (
    "Every recovered name led to that object at some time. Every size, mode, owner, "
    "inode flag, time that was set, extended attribute, symlink target and device number "
    "belonged to the object at some time. Every byte was written at that place by an "
    "operation that had begun, or is zero. On ext4 also: bytes that a truncate cut off "
    "do not come back, once names, link counts or attributes show that the truncate is "
    "on disk. On xfs and ext4 with data=journal also: a file that writes made longer has the "
    "data of its end; on btrfs some data; and on xfs a truncate finds that data on disk."
)
NOT_CHECKED = (
    "Whether these values belong to one time (the oracle ordered checks this). Times "
    "that a clock set. A new disk is all zeros, so old content of a block cannot be "
    "distinguished from zeros there; on the profiles btrfs-used, ext4-used and xfs-used "
    "most new data goes to blocks that held something before."
)

ZEROS = frozenset((ZERO,))
# What zeroes the rest of the last block on disk before it makes the file longer.
GROWING = {"xfs": ("truncate", "clone"), "f2fs": ("truncate", "write", "append")}
NO_TIMES = frozenset((CLOCK,))


def judge(case: Case) -> Verdict | None:
    return best_verdict(NAME, case, judge_reading)


def judge_reading(case: Case, recovered: Recovered) -> tuple[int, list[Violation]]:
    violations = [_foreign(case, recovered, node) for node in recovered.foreign]
    checked = len(recovered.entries) + len(recovered.foreign)
    for inode, node in recovered.nodes.items():
        checked += 1
        if inode == case.model.root:
            violations += _xattrs(case, inode, node)
        elif case.allowed.as_before(NAME, inode, node) is None:
            violations += (found := _object(case, inode, node))
            if not found and not _asks_whole_tree(case, inode):
                case.allowed.found_in_order(NAME, inode, node, 1)
    return checked, violations


def _asks_whole_tree(case: Case, inode: int) -> bool:
    """Which shows whether a truncate of the file is on disk."""
    is_file = case.model.kind(inode) == "file"
    return is_file and case.asks_for("ordered-data") and bool(_cuts(case, inode))


def _object(case: Case, inode: int, node: Node) -> list[Violation]:
    violations = [*_xattrs(case, inode, node), *_attributes(case, inode, node)]
    if case.model.kind(inode) == "file" and case.allowed.told(inode):
        violations += _size(case, inode, node)
        violations += (
            _content(case, inode, node) or _cut_off(case, inode, node) or _unfilled(case, inode, node)
        )
    return violations


def _foreign(case: Case, recovered: Recovered, node: Node) -> Violation:
    slot = next((slot for slot, there in recovered.node_at.items() if there is node), None)
    known = [value for value in _history(case, slot) if value is not None]
    found = _found(case, recovered, slot, node)
    if node.kind == "unknown":
        return _violation(case, "name leads nowhere", "unknown object", node.path, "an object", found)
    if not known:
        return _violation(
            case, "name that never was", _role(case, recovered, slot), node.path, "no such name", found
        )
    expected = any_of([describe(case, value) for value in sorted(known)])
    return _violation(case, "object never there", _role(case, recovered, slot), node.path, expected, found)


def _history(case: Case, slot: Slot | None) -> frozenset[int | None]:
    return frozenset() if slot is None else case.allowed.entry_history(slot)


def _found(case: Case, recovered: Recovered, slot: Slot | None, node: Node) -> str:
    inode = recovered.entries.get(slot) if slot is not None else None
    return describe(case, inode) if inode is not None and inode >= 0 else describe_node(node)


def _role(case: Case, recovered: Recovered, slot: Slot | None) -> str:
    inode = recovered.entries.get(slot) if slot is not None else None
    return role(case, inode) if inode is not None and inode >= 0 else "unknown object"


def _attributes(case: Case, inode: int, node: Node) -> list[Violation]:
    found = []
    object_, allowed = case.model.inodes[inode], case.allowed
    if node.mode not in (modes := allowed.modes(inode, 0)):
        known = any_of([f"{mode:o}" for mode in modes])
        found.append(("mode that never was", f"mode {known}", f"mode {node.mode:o}"))
    if (node.uid, node.gid) not in (owners := allowed.owners(inode, 0)):
        known = any_of([f"{user}:{group}" for user, group in owners])
        found.append(("owner that never was", f"owner {known}", f"owner {node.uid}:{node.gid}"))
    if node.mtime not in (allowed.mtimes(inode, 0) if inode in case.model.mtimes else NO_TIMES):
        found.append(("time that never was", "a time that was set", f"mtime {node.mtime} s"))
    if inode in case.model.flags and node.told_flags:
        now, flags = changed_flags(case, inode, node), allowed.flags(inode, 0)
        if now not in flags:
            known = any_of([each or "none" for each in flags])
            found.append(("flags that never were", known, now or "none"))
    unread = any(error.startswith("readlink") for error in node.errors)
    if object_.kind == "symlink" and node.target != object_.target and not unread:
        found.append(("target that never was", f"-> {object_.target}", f"-> {node.target}"))
    if node.device != object_.device:
        found.append(("device that never was", f"device {object_.device}", f"device {node.device}"))
    return [_violation(case, kind, role(case, inode), node.path, *texts) for kind, *texts in found]


def _xattrs(case: Case, inode: int, node: Node) -> list[Violation]:
    violations = []
    for name, value in node.xattrs.items():
        if not is_ours(name):
            continue
        known = case.allowed.xattr_values(inode, name, 0)
        if value in known or any(error.startswith("getxattr") for error in node.errors):
            continue
        expected = any_of([xattr_words(each) for each in sorted(known, key=str)])
        violations.append(
            _violation(
                case,
                "xattr that never was",
                role(case, inode),
                node.path,
                f"{name}: {expected}",
                f"{name}: {xattr_words(value)}",
            )
        )
    return violations


def _size(case: Case, inode: int, node: Node) -> list[Violation]:
    sizes = case.allowed.sizes(inode, case.model.inodes[inode].born - 1)
    if sizes.allow(node.size):
        return []
    known = ", ".join(str(size) for size in sorted(sizes.exact))
    expected = f"one of {known} bytes, or a size between two of them while it grew"
    found = f"{node.size} bytes"
    return [_violation(case, "size that never was", role(case, inode), node.path, expected, found)]


def _content(case: Case, inode: int, node: Node) -> list[Violation]:
    if not case.asks_for("no-stale-data"):
        return []
    # Behind the largest size there ever was, only zeros: the pieces end there.
    pieces = case.allowed.pieces(inode, case.model.inodes[inode].born - 1)
    beyond = pieces[-1].end if pieces else 0
    if node.size > beyond:
        pieces = (*pieces, Piece(beyond, node.size, ZEROS))
    difference = first_difference(node.content, pieces, node.size)
    if difference is None:
        return []
    expected = f"at offset {difference.offset}: {allowed_words(difference)}"
    kind = _content_kind(case, difference)
    found = _writer(case, difference)
    return [_violation(case, kind, role(case, inode), node.path, expected, found, "no-stale-data")]


def _cut_off(case: Case, inode: int, node: Node) -> list[Violation]:
    back = cut_back(case, inode, node)
    return [_came_back(case, inode, node, back)] if back is not None else []


class CutBack(NamedTuple):
    """time: after the truncate. pieces: what is allowed behind the size that it set."""

    time: int
    pieces: list[Piece]
    difference: Difference


def cut_back(case: Case, inode: int, node: Node) -> CutBack | None:
    """Bytes behind the end that a truncate set, back when the file has grown again: the rest of the block is
    zeroed in memory. data=ordered puts that on disk with the truncate; xfs before it logs that another
    truncate or a clone made the file longer (fs/xfs/xfs_iops.c xfs_setattr_size(), fs/xfs/xfs_reflink.c
    xfs_reflink_remap_prep())."""
    if not case.asks_for("ordered-data"):
        return None
    found = _cuts(case, inode)
    seen = max(shown_since(case) or 0, _size_shown_since(case, inode, node)) if found else 0
    for time, start, end in found:
        if seen < time:
            return None
        pieces = [
            piece._replace(sources=piece.sources | ZEROS)
            for piece in clipped(case.allowed.pieces(inode, time), start, end)
        ]
        difference = first_difference(node.content, pieces, node.size)
        if difference is not None:
            return CutBack(time, pieces, difference)
    return None


def _size_shown_since(case: Case, inode: int, node: Node) -> int:
    """The earliest time at which the file had this size: all metadata up to it are on disk, where metadata
    survive as a prefix; on f2fs those of the file, of which an inode's block has one time. 0 where it never
    had it, or they do not."""
    if not case.one_time_promised and case.profile.filesystem != "f2fs":
        return 0
    content, allowed = case.model.content[inode], case.allowed
    times = range(allowed.all.time, allowed.now + 1)
    return next((time for time in times if size_of(content.at(time)) == node.size), 0)


def _cuts(case: Case, inode: int) -> list[tuple[int, int, int]]:
    """(time, new size, old size) of every truncate to less since all was synced; on xfs, of those behind
    which only truncates and clones made the file longer, on f2fs truncates and writes."""
    model, allowed = case.model, case.allowed
    changes = model.content[inode].changes(allowed.all.time, allowed.now)
    growing = GROWING.get(case.profile.filesystem)
    by_write = [
        time
        for time, old, new in changes
        if growing and size_of(new) > size_of(old) and model.steps[time - 1].operation.word not in growing
    ]
    return [
        (time, size_of(new), size_of(old))
        for time, old, new in changes
        if model.steps[time - 1].operation.word == "truncate"
        and not model.steps[time - 1].result
        and size_of(new) < size_of(old)
        and time > max(by_write, default=-1)
    ]


def _came_back(case: Case, inode: int, node: Node, back: CutBack) -> Violation:
    cut = words(case.model.steps[back.time - 1].operation)
    return Violation(
        "cut data came back",
        role(case, inode),
        node.path,
        f"at offset {back.difference.offset}: {allowed_words(back.difference)}, since {cut}",
        _writer(case, back.difference),
        case.promise("ordered-data"),
        Tier.FS,
    )


def _unfilled(case: Case, inode: int, node: Node) -> list[Violation]:
    missing = unfilled(case, inode, node)
    if missing is None:
        return []
    setter = words(case.model.steps[missing.time - 1].operation)
    return [
        Violation(
            "size without data",
            role(case, inode),
            node.path,
            f"at offset {missing.difference.offset}: {allowed_words(missing.difference)}, "
            f"because the size is that of {setter}",
            f"zeros, in a file of {node.size} bytes",
            case.promise("size-with-data"),
            Tier.FS,
        )
    ]


def _content_kind(case: Case, difference: Difference) -> str:
    step = case.model.numbered.get(difference.stamp - 1) if difference.stamp > 0 else None
    return "foreign bytes" if step is None else "stale data"


def _writer(case: Case, difference: Difference) -> str:
    step = case.model.numbered.get(difference.stamp - 1) if difference.stamp > 0 else None
    if step is None:
        return difference.found
    return f"{difference.found} ({step.operation.word} {step.operation.path})"


def _violation(
    case: Case, kind: str, of: str, path: str, expected: str, found: str, key: str = "history"
) -> Violation:
    return Violation(kind, of, path, expected, found, case.promise(key), Tier.POSIX)
