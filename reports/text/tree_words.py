"""
A recovered tree in words: one row a name.

In:       a Tree, the text of each operation, and the tree shown before it.
Out:      Row after Row for a table.
Not here: whether the tree is right (oracles/).
"""

from collections.abc import Mapping

import msgspec

from oracles.observation import Node, Run, Tree

RUNS_SHOWN = 8
XATTR_HEX_SHOWN = 64


class Row(msgspec.Struct, frozen=True):
    """change: against the tree shown before: "" none, "new", "changed", "gone". notes: one a line."""

    path: str
    kind: str
    ino: int
    links: int
    size: str
    mode: str
    notes: tuple[str, ...]
    errors: tuple[str, ...]
    change: str = ""


def rows(tree: Tree, operations: Mapping[int, str], before: Tree | None = None) -> tuple[Row, ...]:
    """before: the tree to compare with; then names that it had and `tree` lacks are rows too."""
    if before is None:
        return tuple(row(node, operations) for node in tree)
    old = {node.path: node for node in before}
    new = {node.path: node for node in tree}
    return tuple(
        row(new.get(path) or old[path], operations, change(old.get(path), new.get(path)))
        for path in sorted(old.keys() | new.keys())
    )


def change(old: Node | None, new: Node | None) -> str:
    if old is None:
        return "new"
    if new is None:
        return "gone"
    return "" if old == new else "changed"


def row(node: Node, operations: Mapping[int, str], changed: str = "") -> Row:
    return Row(
        path=visible(node.path),
        kind=node.kind,
        ino=node.ino,
        links=node.nlink,
        size=size_words(node.size),
        mode=f"{node.mode:04o}",
        notes=tuple(notes(node, operations)),
        errors=node.errors,
        change=changed,
    )


def notes(node: Node, operations: Mapping[int, str]) -> list[str]:
    """What the columns have no room for, in the order in which a reader asks for it."""
    found = [run_words(run, operations) for run in node.content[:RUNS_SHOWN]]
    if len(node.content) > RUNS_SHOWN:
        found.append(f"and {len(node.content) - RUNS_SHOWN} more runs")
    if node.kind == "file" and not node.size:
        found.append("empty")
    if node.kind == "file" and node.blocks * 512 < node.size:
        found.append(f"{size_words(node.blocks * 512)} allocated")
    if node.target:
        found.append(f"leads to {visible(node.target)}")
    if (node.uid, node.gid) != (0, 0):
        found.append(f"owner {node.uid}:{node.gid}")
    if node.mtime >= 0:
        found.append(f"mtime {node.mtime} s")
    if node.flags:
        found.append(f"inode flags {node.flags}")
    if node.device:
        found.append(f"device {node.device}")
    if node.dtype and node.dtype != node.kind:
        found.append(f"its directory entry says {node.dtype}")
    for name, value in sorted(node.xattrs.items()):
        found.append(f"{visible(name)} = {xattr_words(value)}")
    return found


def run_words(run: Run, operations: Mapping[int, str]) -> str:
    """ "0..8K by op 3 (write A/foo 0 8K)"."""
    place = f"{size_words(run.offset)}..{size_words(run.offset + run.length)}"
    if run.kind == "z":
        return f"{place} zeros"
    if run.kind == "x":
        return f"{place} bytes {run.hex[:XATTR_HEX_SHOWN]}"
    index = run.stamp - 1
    return f"{place} by op {index} ({operations.get(index, 'no operation of this workload')})"


def xattr_words(value: str) -> str:
    """As text in quotes when it is printable, else as hex."""
    try:
        text = bytes.fromhex(value).decode("ascii")
    except ValueError:
        return value[:XATTR_HEX_SHOWN]
    return f'"{text}"' if text.isprintable() else value[:XATTR_HEX_SHOWN]


def size_words(size_bytes: int) -> str:
    """Exact: 8192 is "8K", 8193 is "8193"."""
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{name}"
    return str(size_bytes)


def visible(text: str) -> str:
    r"""What a terminal, XML or a page would not show is written as \xNN."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
