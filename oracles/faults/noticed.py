"""
noticed: damage that changes what is found is told.

In:       a DamageCase.
Out:      a Verdict; none where the profile does not promise it.
Not here: bytes and names that never were (detected), whether the kernel survives (alive).
"""

from collections.abc import Sequence

from oracles.faults.damage import DamageCase, Outcome, settled
from oracles.observation import Node, Tree
from oracles.verdict import Tier, Verdict, Violation

NAME = "noticed"
CHECKS = (
    "A flipped bit or a zeroed sector in a block that recovery reads either does not "
    "change the recovered tree or is reported: the mount is refused, a call fails, or "
    "the kernel log has a line at level warning or worse that it does not have without "
    "the damage. On btrfs also: the log tree of fsync is not skipped without a report."
)
NOT_CHECKED = (
    "Whether a second copy could have repaired what was lost. The end of an ext4 journal "
    "or an xfs log: a power failure can leave an invalid record there too, so the tree "
    "of an earlier state is allowed. f2fs is not checked, because its nodes have no "
    "checksum."
)


def judge(case: DamageCase) -> Verdict | None:
    if not case.asks_for("noticed"):
        return None
    if case.outcome is Outcome.CHANGED:
        kind, key = "changed tree untold", "noticed"
    elif case.outcome is Outcome.OLDER and case.asks_for("log-checked"):
        kind, key = "log left out untold", "log-checked"
    else:
        return case.verdict(NAME, 1, [])
    path, expected, found = first_difference(settled(case.undamaged.tree), settled(case.observation.tree))
    violation = Violation(
        kind, case.what, path, expected, f"{found}, after {case.damage.words}", case.promise(key), Tier.FS
    )
    return case.verdict(NAME, 1, [violation])


def first_difference(expected: Tree, found: Tree) -> tuple[str, str, str]:
    """A path, and what is there in each."""
    there, here = {node.path: node for node in expected}, {node.path: node for node in found}
    for path in sorted({*there, *here}):
        if there.get(path) != here.get(path):
            fields = _differing(there.get(path), here.get(path))
            return path, _words(there.get(path), fields), _words(here.get(path), fields)
    return ".", "the tree without the damage", "another one"


def _differing(one: Node | None, other: Node | None) -> Sequence[str]:
    if one is None or other is None:
        return ("kind", "size")
    return [name for name in Node.__struct_fields__ if getattr(one, name) != getattr(other, name)][:3]


def _words(node: Node | None, fields: Sequence[str]) -> str:
    if node is None:
        return "no such name"
    return ", ".join(f"{name} {getattr(node, name)}"[:60] for name in fields)
