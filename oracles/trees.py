"""
Two recovered trees held against each other.

In:       Trees, as the agent saw them.
Out:      settled(), without the times that replay gives; difference(): the first place where they differ.
Not here: what of it is broken (the oracles); one file's bytes held against what was written (content.py).
"""

from collections.abc import Sequence

import msgspec

from oracles.observation import Node, Tree


def settled(tree: Tree | None) -> Tree:
    """Without times: replay gives some of its own (ctime where it changes a link count), by a clock."""
    return tuple(
        node if node.times is None else msgspec.structs.replace(node, times=None) for node in tree or ()
    )


def difference(expected: Tree | None, found: Tree | None) -> tuple[str, str, str] | None:
    """A path, and what is there in each; None where they are the same but for times."""
    there = {node.path: node for node in settled(expected)}
    here = {node.path: node for node in settled(found)}
    for path in sorted({*there, *here}):
        if there.get(path) != here.get(path):
            fields = _differing(there.get(path), here.get(path))
            return path, _words(there.get(path), fields), _words(here.get(path), fields)
    return None


def _differing(one: Node | None, other: Node | None) -> Sequence[str]:
    if one is None or other is None:
        return ("kind", "size")
    return [name for name in Node.__struct_fields__ if getattr(one, name) != getattr(other, name)][:3]


def _words(node: Node | None, fields: Sequence[str]) -> str:
    if node is None:
        return "no such name"
    return ", ".join(f"{name} {getattr(node, name)}"[:60] for name in fields)
