"""
What a program without us can ask of a recovered filesystem, so that a violation shows.

In:       a Case, and a violation that an oracle found in it.
Out:      Check after Check, each with every value that the promises allow there; NoCheck when no program
          could ask it in a line or two.
Not here: the programs (reports/export*.py), the judging itself: a check is one violation, not all oracles.

The values are those that AllowedValues has at this cut, so that a check is right on any kernel whose power
fails at the same operation, wherever its log has its entries. Objects are named by the operation that made
them, bytes by the one that wrote them: inode numbers and stamps are the program's own.
"""

from typing import Literal

import msgspec

from oracles import durable, fsck, historical, mounts, quiet, usable
from oracles.allowed import Floor
from oracles.case import Case
from oracles.content import Piece, first_difference
from oracles.observation import Node
from oracles.ordered import found_snapshot, snapshot
from oracles.recovered import Recovered, split
from oracles.verdict import Violation
from workloads import text

Kind = Literal[
    "mounts",
    "quiet",
    "clean",
    "usable",
    "exists",
    "absent",
    "object",
    "any",
    "not all",
    "size",
    "bytes",
    "links",
    "link count",
    "mode",
    "owner",
    "mtime",
    "target",
    "blocks",
    "xattr",
    "leads",
    "as before",
    "survives",
]


class NoCheck(Exception):
    """This violation cannot be asked for in a program; the message says what can be done instead."""


class Source(msgspec.Struct, frozen=True):
    """Bytes [start, end) each come from one of these operations, by index; -1 for zeros."""

    start: int
    end: int
    operations: tuple[int, ...]


class Check(msgspec.Struct, frozen=True):
    """
    path:   of the object; paths: of "any" (one of them is there) and "not all".
    values: what is allowed: "mode" octal, "owner" UID:GID, "mtime" seconds, "target", "link count" numbers,
            "blocks" the least, "xattr" values ("" is none: they are never empty there), "object" the indexes
            of the operations that made the objects allowed there, "any" of that which made the one asked for.
    sizes:  of "size", ranges from low to high, both allowed. sources: of "bytes". name: of "xattr".
    "leads": the name, if there is one, leads to an object. "as before":
    the tree is that of the same disk without the damage, or something tells of it. "survives": no BUG, no
    panic.
    optional: of "object": the name may be gone. given: asked only where this path is there, "" for always.
    """

    kind: Kind
    path: str = "."
    paths: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    sizes: tuple[tuple[int, int], ...] = ()
    sources: tuple[Source, ...] = ()
    name: str = ""
    optional: bool = False
    given: str = ""


def checks(case: Case, oracle: str, violation: Violation) -> tuple[Check, ...]:
    """At least one. Errors: NoCheck."""
    kind = violation.kind
    if oracle in WHOLE:
        return (WHOLE[oracle],)
    if kind in ("directory size", "data unreadable") or kind.endswith(" failed"):
        return (Check("usable"),)
    made = NAMES.get(kind)
    if made is not None:
        return tuple(_in_readings(case, violation, made))
    attribute = ATTRIBUTES.get(kind)
    if attribute is not None:
        return tuple(_in_readings(case, violation, attribute))
    raise NoCheck(f"no exported program can check this in a few lines ({oracle}: {kind})")


WHOLE = {
    mounts.NAME: Check("mounts"),
    quiet.NAME: Check("quiet"),
    fsck.NAME: Check("clean"),
    usable.NAME: Check("usable"),
}


def _in_readings(case: Case, violation: Violation, made) -> list[Check]:  # type: ignore[no-untyped-def]
    """Of the first reading in which the violation is about something."""
    for recovered in case.readings:
        found: list[Check] = made(case, recovered, violation)
        if found:
            return found
    raise NoCheck(
        f"{violation.kind} ({violation.role}): it is not clear which object a program would have to check"
    )


# --- names


def _slot(recovered: Recovered, path: str) -> tuple[int, str] | None:
    directory, name = split(path)
    inode = next((inode for inode, node in recovered.nodes.items() if node.path == directory), None)
    return None if inode is None else (inode, name)


def _is_there(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    return [Check("exists", violation.subject)]


def _is_gone(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    return [Check("absent", violation.subject)]


def _object(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    slot = _slot(recovered, violation.subject)
    if slot is None:
        return []
    allowed = case.allowed.entry_values(slot)
    made = sorted(case.model.inodes[inode].born - 1 for inode in allowed if inode is not None)
    return [Check("object", violation.subject, values=tuple(map(str, made)), optional=None in allowed)]


def _one_of_its_names(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    now = case.allowed.now
    for index in case.allowed.chains:
        slots = case.model.chains[index].slots_until(now)
        paths = [case.model.path(slot, now) for slot in slots]
        if paths[-1] == violation.subject and durable.is_lost(case, recovered, case.model.chains[index]):
            made = str(case.model.inodes[case.model.chains[index].inode].born - 1)
            return [Check("any", violation.subject, tuple(paths), (made,))]
    return []


def _not_all_names(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    slot = _slot(recovered, violation.subject)
    inode = recovered.entries.get(slot, -1) if slot else -1
    paths = [recovered.path(name) for name in recovered.names_of(inode)]
    return [Check("not all", violation.subject, tuple(paths))] if len(paths) > 1 else []


NAMES = {
    "name lost": _is_there,
    "replaced name gone": _is_there,
    "name came back": _is_gone,
    "name that never was": _is_gone,
    "wrong object": _object,
    "object never there": _object,
    "object lost": _one_of_its_names,
    "no name": _one_of_its_names,
    "both names": _not_all_names,
}


# --- attributes and content


def _inode(recovered: Recovered, path: str) -> int:
    found = (inode for inode, paths in recovered.paths.items() if path in paths and inode >= 0)
    return next(found, -1)


def _floor(case: Case, violation: Violation, floor: Floor) -> int:
    """Since when values are allowed: since the promise, or ever, for what never was."""
    return 0 if "never" in violation.kind else floor.time


def _links(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    node = _node(recovered, violation.subject)
    return [Check("links", violation.subject)] if node is not None and node.kind != "dir" else []


def _node(recovered: Recovered, path: str) -> Node | None:
    return next((node for node in recovered.node_at.values() if node.path == path), None)


def _simple(kind: Kind, field: str):  # type: ignore[no-untyped-def]
    """Of a value that AllowedValues lists by a method of its own."""

    def made(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
        inode = _inode(recovered, violation.subject)
        if inode < 0:
            return []
        since = _floor(case, violation, case.allowed.attribute_floor(inode))
        allowed = getattr(case.allowed, field)(inode, since)
        return [Check(kind, violation.subject, values=tuple(sorted(map(_text, allowed))))]

    return made


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return ":".join(map(str, value))
    return str(value)


def _mode(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    (check,) = _simple("mode", "modes")(case, recovered, violation) or [None]
    if check is None:
        return []
    return [msgspec.structs.replace(check, values=tuple(f"{int(mode):o}" for mode in check.values))]


def _mtime(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    if _inode(recovered, violation.subject) not in case.model.mtimes:
        return []  # a time that a clock gave: no program knows which
    (check,) = _simple("mtime", "mtimes")(case, recovered, violation) or [None]
    return [] if check is None or "-1" in check.values else [check]


def _target(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    return (
        [] if inode < 0 else [Check("target", violation.subject, values=(case.model.inodes[inode].target,))]
    )


def _link_count(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    if inode < 0:
        return []
    now = case.model.nlink[inode].at(case.allowed.now)
    return [Check("link count", violation.subject, values=(str(now),))]


def _blocks(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    if inode < 0:
        return []
    least = durable.promised_blocks(case.allowed.allocated(inode, case.allowed.blocks_floor(inode).time))
    return [Check("blocks", violation.subject, values=(str(least),))]


def _xattrs(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    if inode < 0:
        return []
    since = _floor(case, violation, case.allowed.attribute_floor(inode))
    node = recovered.nodes[inode]
    found = []
    for name in sorted(case.model.xattrs[inode]):
        allowed = case.allowed.xattr_values(inode, name, since)
        if node.xattrs.get(name) not in allowed and name.startswith(text.XATTR_SPACES):
            values = ["" if value is None else bytes.fromhex(value).decode("latin-1") for value in allowed]
            found.append(Check("xattr", violation.subject, values=tuple(sorted(values)), name=name))
    return found


def _size(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    if inode < 0:
        return []
    allowed, node = case.allowed, recovered.nodes[inode]
    floors = [_data_since(case, violation, inode)]
    floors += [floor.time for rename, floor in allowed.replacing_renames() if rename.inode == inode]
    for since in floors:
        sizes = allowed.sizes(inode, since)
        if not sizes.allow(node.size):
            ranges = (*((size, size) for size in sorted(sizes.exact)), *sizes.ranges)
            return [Check("size", violation.subject, sizes=ranges)]
    for part in allowed.range_floors(inode):
        least = allowed.range_size(inode, part)
        if node.size < least:
            return [Check("size", violation.subject, sizes=((least, 1 << 62),))]
    return []


def _data_since(case: Case, violation: Violation, inode: int) -> int:
    if violation.kind in ("data lost", "size lost"):
        return case.allowed.data_floor(inode).time
    return case.model.inodes[inode].born - 1


def _bytes(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    inode = _inode(recovered, violation.subject)
    if inode < 0:
        return []
    allowed, node = case.allowed, recovered.nodes[inode]
    parts = [(0, 1 << 62, _data_since(case, violation, inode))]
    if violation.kind == "data lost":
        parts += [(part.start, part.end, part.floor.time) for part in allowed.range_floors(inode)]
    for start, end, since in parts:
        pieces = [
            Piece(max(piece.start, start), min(piece.end, end), piece.sources)
            for piece in allowed.pieces(inode, since)
            if piece.start < end and piece.end > start
        ]
        if first_difference(node.content, pieces, node.size) is not None:
            return [Check("bytes", violation.subject, sources=tuple(map(_source, pieces)))]
    return []


def _cut(case: Case, recovered: Recovered, violation: Violation) -> list[Check]:
    """Asked where a name shows that the truncate is on disk, one that there was not before it."""
    inode = _inode(recovered, violation.subject)
    back = historical.cut_back(case, inode, recovered.nodes[inode]) if inode >= 0 else None
    if back is None or case.observation.tree is None:
        return []
    before = {path for time in range(case.allowed.all.time, back.time) for path in snapshot(case, time)}
    telling = sorted(found_snapshot(case, case.observation.tree).keys() - before)
    return [
        Check("bytes", violation.subject, sources=tuple(map(_source, back.pieces)), given=path)
        for path in telling[:1]
    ]


def _source(piece: Piece) -> Source:
    return Source(piece.start, piece.end, tuple(sorted(source.stamp - 1 for source in piece.sources)))


ATTRIBUTES = {
    "half a link": _links,
    "half an unlink": _links,
    "wrong link count": _links,
    "link count lost": _link_count,
    "mode lost": _mode,
    "mode that never was": _mode,
    "owner lost": _simple("owner", "owners"),
    "owner that never was": _simple("owner", "owners"),
    "mtime lost": _mtime,
    "target lost": _target,
    "target that never was": _target,
    "preallocation lost": _blocks,
    "xattr lost": _xattrs,
    "xattr came back": _xattrs,
    "xattr value lost": _xattrs,
    "xattr that never was": _xattrs,
    "size lost": _size,
    "size that never was": _size,
    "data lost": _bytes,
    "cut data came back": _cut,
    "stale data": _bytes,
    "foreign bytes": _bytes,
}
