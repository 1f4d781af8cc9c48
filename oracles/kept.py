"""
kept: what a recovered filesystem showed, and what was fsynced in it, outlives the next power failure.

In:       a Case of model A (Observation.after: the tree that the first recovery showed, the steps done then).
Out:      a Verdict; none for other models, and where nothing could be mounted.
Not here: whether the first tree is right, which the state that was recovered first is judged by.

What came back is only added to, so it has to be there whatever of that is on the disk. A new file or block is
there as it was written once its fsync returned.
"""

import msgspec

from oracles.case import Case
from oracles.observation import After, Node, Run, UseStep
from oracles.spec import BLOCK_BYTES
from oracles.stable import first_different_field
from oracles.verdict import Tier, Verdict, Violation

NAME = "kept"
CHECKS = (
    "After a recovery the filesystem is used (files are made, written, fsynced and removed; those that came "
    "back get a block more, or are written with the bytes that they have, and are fsynced), and the power "
    "fails again. Then every name, attribute and byte that the first recovery showed is there, and every new "
    "file and block whose fsync had returned."
)
NOT_CHECKED = (
    "Times, size and link count of directories, and which blocks a file has. Of a removed file only that it "
    "is whole or gone. One kind of use, of the first directories and files in the order of their names; none "
    "of files whose time a workload has set."
)

ROOM = "room: "  # a step found none left
NAMES, DATA = "fsync-names", "fsync-data"  # promises
ADDED = 60000  # stamps there: STAMPS
NAME_OF_NEW = ".powercut-after"  # harness/guests/agent/afterwards.c


def judge(case: Case) -> Verdict | None:
    seen = case.observation
    if seen.use is not None:
        failed = [step for step in seen.use.steps if step.failed and not step.failed.startswith(ROOM)]
        return case.verdict(NAME, len(seen.use.steps), [_failed(case, step) for step in failed])
    if seen.after is None or seen.tree is None:
        return None
    violations = [*_changes(case, seen.after, seen.tree), *_lost(case, seen.after, seen.tree)]
    return case.verdict(NAME, len(seen.after.seen.tree), violations[:1])


def is_new(path: str) -> bool:
    return NAME_OF_NEW in path.split("/")


def _changes(case: Case, after: After, tree: tuple[Node, ...]) -> list[Violation]:
    """The first difference to what the recovery before had shown."""
    old = {node.path: node for node in after.seen.tree}
    new = {node.path: node for node in tree if not is_new(node.path)}
    grown = [(old[step.path].ino, step) for step in after.seen.use.steps if step.word == "grow"]
    done = {*after.seen.use.steps[: after.done]}
    growing = {*after.seen.use.steps[after.done : after.done + 1]}
    for path in sorted(old.keys() | new.keys()):
        if path not in new:
            return [_violation(case, "name gone", path, f"a {old[path].kind}", "no such name")]
        if path not in old:
            return [_violation(case, "name appeared", path, "no such name", f"a {new[path].kind}")]
        before, now = _comparable(old[path]), _comparable(new[path])
        steps = [step for ino, step in grown if ino == before.ino]
        for step in steps:
            before = _longer(before, step) if step in done else before
        if growing & {*steps} or (steps and not case.asks_for(DATA)):
            now = msgspec.structs.replace(now, size=before.size, content=before.content)
        elif steps and _is_hashed(now):
            now = msgspec.structs.replace(now, content=before.content)
        if field := first_different_field(case.profile.filesystem, before, now):
            expected, found = (_words(field, getattr(each, field)) for each in (before, now))
            promise = DATA if steps and field in ("size", "content") else "stable"
            return [_violation(case, f"{field} changed", path, expected[-200:], found[-200:], promise)]
    return []


def _comparable(node: Node) -> Node:
    """Without what use may change: size and link count of a directory count its names."""
    plain = msgspec.structs.replace(node, mtime=-1, times=None, blocks=0, extents=None, data=())
    return msgspec.structs.replace(plain, size=0, nlink=0) if node.kind == "dir" else plain


def _words(field: str, value: object) -> str:
    """A field for a reader: of the content where which bytes are whose."""
    if field != "content":
        return repr(value)
    assert isinstance(value, tuple)
    return ", ".join(f"{run.offset}..{run.offset + run.length} {_whose(run)}" for run in value) or "no bytes"


def _whose(run: Run) -> str:
    if run.kind == "w":
        return "added after the recovery" if run.stamp > ADDED else f"of operation {run.stamp - 1}"
    return "zeros" if run.kind == "z" else "other bytes"


def _longer(node: Node, step: UseStep) -> Node:
    """The file with the block that it got. Its size was one of whole cells; zeros go up to the block."""
    start = step.size_bytes - BLOCK_BYTES
    runs = list(node.content)
    if node.size < start:
        zeros = runs.pop() if runs and runs[-1].kind == "z" else Run(node.size, 0, "z")
        runs.append(Run(zeros.offset, start - zeros.offset, "z"))
    runs.append(Run(start, BLOCK_BYTES, "w", step.stamp))
    return msgspec.structs.replace(node, size=step.size_bytes, content=tuple(runs))


def _lost(case: Case, after: After, tree: tuple[Node, ...]) -> list[Violation]:
    """The first new file that is not as it has to be."""
    now = {node.path: node for node in tree}
    steps = after.seen.use.steps
    begun = [step.path for step in steps[: after.done + 1] if step.word == "remove"]
    for step in steps[: after.done]:
        if step.word != "make":
            continue
        node = now.get(step.path)
        if node is None and step.path not in begun and case.asks_for(NAMES):
            return [_violation(case, "fsynced file lost", step.path, "a file", "no such name", NAMES)]
        if node is not None and not _is_whole(node, step) and case.asks_for(DATA):
            expected = f"{step.size_bytes} bytes as they were written"
            return [_violation(case, "fsynced data lost", step.path, expected, repr(node)[:200], DATA)]
    return []


def _is_hashed(node: Node) -> bool:
    """Of a history that is not known: of the content there is a hash alone."""
    return any(run.kind == "h" for run in node.content)


def _is_whole(node: Node, step: UseStep) -> bool:
    if _is_hashed(node):
        return (node.kind, node.size) == ("file", step.size_bytes)
    content = [(run.offset, run.length, run.kind, run.stamp) for run in node.content]
    return (node.kind, node.size) == ("file", step.size_bytes) and content == [
        (0, step.size_bytes, "w", step.stamp)
    ]


def _failed(case: Case, step: UseStep) -> Violation:
    expected = "a sound device takes what is written"
    return _violation(case, "use failed", step.path, expected, f"{step.word}: {step.failed}", "usable")


def _violation(
    case: Case, kind: str, path: str, expected: str, found: str, promise: str = "stable"
) -> Violation:
    role = "new file" if is_new(path) else "recovered tree"
    return Violation(kind, role, path, expected, found, case.promise(promise), Tier.POSIX)
