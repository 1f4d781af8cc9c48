"""
What fstests cases compare, held against what the oracles ask of the library's workloads (guarded.toml).

In:       a workload, a profile, and a fact that a case compares.
Out:      asked(): whether the oracles miss the fact at the end of the workload, however it is untrue.
Not here: the cases and their facts (guarded.toml), the comparison (test_guarded.py).
"""

import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
from msgspec.structs import replace

from oracles import atomic, consistent, durable, historical, ordered
from oracles.observation import Node, Run, Tree
from oracles.tests.made import Bench
from oracles.verdict import Answer
from workloads.library import load

FILE = Path(__file__).with_suffix(".toml")
ORACLES = (durable, atomic, historical, ordered)
TIMES = (0, 0)  # mtime and ctime of everything, as the steps of a made history found them
Paths = dict[str, Node]


@cache
def table() -> dict[str, Any]:
    return tomllib.loads(FILE.read_text())


class Ended(msgspec.Struct, frozen=True):
    """A workload that has ended. before: when run began. seen: the last of each path, from then on."""

    bench: Bench
    before: Paths
    seen: Paths
    final: Paths


@cache
def ended(workload: str, name: str) -> Ended:
    bench = Bench(load(workload), name)
    trees = [paths(bench.tree(count)) for count in range(len(bench.history.run) + 1)]
    return Ended(bench, trees[0], {path: node for tree in trees for path, node in tree.items()}, trees[-1])


def paths(tree: Tree) -> Paths:
    return {node.path: replace(node, times=TIMES) for node in tree}


def asked(workload: str, name: str, fact: str) -> bool:
    """Each tree in which the fact is untrue is BROKEN."""
    end = ended(workload, name)
    trees = list(untrue(end, fact))
    assert trees, f"{workload}: nothing makes '{fact}' untrue"
    # Only there is nothing else in the tree that does not agree with the rest.
    also = (consistent,) if fact.startswith("links") else ()
    return all(is_broken(end, tree, *also) for tree in trees)


def is_broken(end: Ended, tree: Paths, *also: ModuleType) -> bool:
    nodes = sorted(tree.values(), key=lambda node: (node.path != ".", node.path.encode()))
    case = end.bench.case(tuple(nodes))
    verdicts = [oracle.judge(case) for oracle in (*ORACLES, *also)]
    return any(verdict is not None and verdict.answer is Answer.BROKEN for verdict in verdicts)


def facts(workload: str, name: str, words: Sequence[str]) -> list[str]:
    """With "names" written out."""
    end = ended(workload, name)
    every = [f"name {path}" for path in end.final if path != "."]
    every += [f"gone {path}" for path in end.seen if path not in end.final and parent(path) in end.final]
    return list(dict.fromkeys(fact for word in words for fact in (every if word == "names" else [word])))


# --- trees in which a fact is untrue


def untrue(end: Ended, fact: str) -> Iterator[Paths]:
    verb, path, *rest = fact.split()
    match verb:
        case "name":
            yield without(end.final, path)
            yield from moved_back(end, path)
        case "gone":
            node = end.seen[path]
            there = next((each for each in end.final.values() if each.ino == node.ino), node)
            yield with_name(end.final, path, there)
            for new in [each.path for each in end.final.values() if each.ino == node.ino]:
                yield from (tree for tree in moved_back(end, new) if path in tree)
        case "object":
            yield with_name(without(end.final, path), path, end.before[path])
        case _:
            number = end.final[path].ino
            old = next((node for node in end.before.values() if node.ino == number), None)
            for change in changes(end.final[path], old, verb, rest):
                yield {
                    each: replace(node, **change) if node.ino == number else node
                    for each, node in end.final.items()
                }


def changes(node: Node, old: Node | None, verb: str, rest: list[str]) -> list[dict[str, Any]]:
    """old: the same object when run began."""
    match verb:
        case "content":
            zeros = {"content": (Run(0, node.size, "z"),)}
            short = {"size": 0, "content": ()}
            return [
                *([zeros] if is_data(node) else []),
                *([short] if node.size else []),
                {"size": node.size + 1},
            ]
        case "links":
            return [{"nlink": node.nlink + 1}]
        case "mode":
            return [{"mode": old.mode if old and old.mode != node.mode else node.mode ^ 0o100}]
        case "blocks":
            return [{"blocks": 0}]
        case "target":
            return [{"target": "elsewhere"}]
        case "mtime":
            return [{"times": (1, 0)}]
        case "ctime":
            return [{"times": (0, 1)}]
        case "xattr":
            return [{"xattrs": {key: value for key, value in node.xattrs.items() if key != rest[0]}}]
        case "noxattr":
            assert old is not None
            return [{"xattrs": {**node.xattrs, rest[0]: old.xattrs[rest[0]]}}]
    raise AssertionError(verb)


def is_data(node: Node) -> bool:
    return any(run.kind != "z" for run in node.content)


def without(tree: Paths, path: str) -> Paths:
    """The other names of a file have a link less."""
    number = tree[path].ino
    return {
        each: replace(node, nlink=node.nlink - 1) if node.ino == number and node.kind != "dir" else node
        for each, node in tree.items()
        if each != path and not each.startswith(path + "/")
    }


def with_name(tree: Paths, path: str, node: Node) -> Paths:
    """One more name; the others of a file have a link more."""
    others = [each.path for each in tree.values() if each.ino == node.ino]
    nlink = len(others) + 1 if node.kind != "dir" else node.nlink
    linked = {each: replace(tree[each], nlink=nlink) for each in others if node.kind != "dir"}
    return {**tree, **linked, path: replace(node, path=path, nlink=nlink)}


def moved_back(end: Ended, path: str) -> Iterator[Paths]:
    """The name is not there, and its object has one that it had before, with all below."""
    number = end.final[path].ino
    for old in [each.path for each in end.before.values() if each.ino == number]:
        tree = without(end.final, path)
        if old in end.final or parent(old) not in tree:
            continue
        tree = with_name(tree, old, end.final[path])
        below = [each for each in end.final if each.startswith(path + "/")]
        moved = {old + each[len(path) :]: end.final[each] for each in below}
        yield {**tree, **{each: replace(node, path=each) for each, node in moved.items()}}


def parent(path: str) -> str:
    return path.rpartition("/")[0] or "."
