"""
Every workload of the library against every oracle: what is legal is silent, what is not is caught.

In:       the library; trees made from the model.
Out:      -
Not here: single behaviours of each oracle (test_durable.py and its neighbours).
"""

import random
import sys

import msgspec
import pytest

from oracles import judge
from oracles.observation import Node, Observation, Run, Tree
from oracles.tests.made import Bench, without
from oracles.verdict import Answer, Tier
from workloads.library import library

LONGEST = 400  # operations: each moment of a longer one takes a tenth of a second, and there are nine sweeps
# One is for a call that the kernel refuses; here all succeed.
REFUSED = {"whiteout-refused-in-synchronous-directory"}
WORKLOADS = tuple(
    one for one in library() if len(one.setup) + len(one.run) <= LONGEST and one.name not in REFUSED
)
PROFILES = ("btrfs", "ext4", "xfs")


AT_MOST = 12  # moments of a run; some workloads have 140, and each is held against each


def some(moments: range) -> list[int]:
    """All of them, or AT_MOST at equal distances, the first and the last among them."""
    if len(moments) <= AT_MOST:
        return list(moments)
    last = len(moments) - 1
    return [moments[last * at // (AT_MOST - 1)] for at in range(AT_MOST)]


def all_cuts(bench: Bench):
    """(operations begun, whether the last has not returned)."""
    yield 0, False
    for begun in some(range(1, len(bench.history.run) + 1)):
        yield begun, True
        yield begun, False


def broken(bench: Bench, tree: Tree, begun: int, flying: bool) -> list[str]:
    case = bench.case(tree, begun, flying)
    verdicts = judge.judge_state(case)
    assert len(verdicts) >= 8
    told = [f"{v.oracle}: {v.reason}" for v in verdicts if v.answer is Answer.UNKNOWN]
    for verdict in verdicts:
        told += [f"{verdict.oracle}: {violation}" for violation in verdict.violations]
    return told


def first_legal_time(bench: Bench, begun: int, flying: bool) -> int:
    """The last completed persistence call: every tree from then on is legal as a whole."""
    done = bench.model.base_time + begun - flying
    times = [persist.time for persist in bench.model.persists if persist.time <= done]
    return max([bench.model.base_time, *times])


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("tier", list(Tier))
def test_a_tree_of_one_legal_time_is_silent(name, tier):
    """At the cuts of every workload each tree since the last persistence call breaks nothing."""
    for workload in WORKLOADS:
        bench = Bench(workload, name, tier)
        for begun, flying in all_cuts(bench):
            legal = range(first_legal_time(bench, begun, flying), bench.model.base_time + begun + 1)
            for moment in some(legal):
                tree = bench.tree(moment - bench.model.base_time)
                told = broken(bench, tree, begun, flying)
                assert not told, (workload.name, begun, flying, moment, told)


@pytest.mark.parametrize("name", PROFILES)
def test_a_tree_from_before_a_sync_is_caught(name):
    """After a completed sync or remount every older tree that differs in its names is BROKEN."""
    seen = 0
    for workload in WORKLOADS:
        bench = Bench(workload, name)
        for persist in bench.model.persists:
            done = persist.time - bench.model.base_time
            if persist.inode >= 0 or done <= 0:
                continue
            now = {node.path for node in bench.tree(done)}
            for older in some(range(done)):
                if {node.path for node in bench.tree(older)} != now:
                    seen += 1
                    assert broken(bench, bench.tree(older), done, False), (workload.name, older)
    assert seen > 5


@pytest.mark.parametrize("name", PROFILES)
def test_a_file_not_as_it_was_fsynced_is_caught(name):
    """Right after an fsync of a file, an older size or content of it is BROKEN."""
    seen = 0
    for workload in WORKLOADS:
        bench = Bench(workload, name)
        for persist in bench.model.persists:
            done = persist.time - bench.model.base_time
            if persist.inode < 0 or done <= 0 or bench.model.kind(persist.inode) != "file":
                continue
            number = bench.model.inodes[persist.inode].number
            tree = bench.tree(done)
            older = [node for node in bench.tree(0) if node.ino == number and node.kind == "file"]
            now = [node for node in tree if node.ino == number]
            if not older or not now or older[0].content == now[0].content:
                continue
            if bench.model.inodes[persist.inode].born > bench.model.base_time:
                continue
            changed = tuple(
                msgspec.structs.replace(node, size=older[0].size, content=older[0].content)
                if node.ino == number
                else node
                for node in tree
            )
            seen += 1
            assert broken(bench, changed, done, False), (workload.name, persist)
    assert seen >= 3


# --- damage: each takes a tree in which everything is durable and returns one that is wrong


def drop_name(tree: Tree, draw: random.Random) -> Tree | None:
    names = [node.path for node in tree if node.path != "."]
    return without(tree, draw.choice(names)) if names else None


def change(tree: Tree, node: Node, **changes: object) -> Tree:
    """Of all names of the node's inode."""
    return tuple(msgspec.structs.replace(n, **changes) if n.ino == node.ino else n for n in tree)


def files(tree: Tree) -> list[Node]:
    return [node for node in tree if node.kind == "file"]


def pick(nodes: list[Node], draw: random.Random) -> Node | None:
    return draw.choice(nodes) if nodes else None


def wrong_size(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in files(tree) if n.size > 8], draw)
    return node and change(tree, node, size=node.size - 3, content=clipped(node.content, node.size - 3))


def clipped(runs: tuple[Run, ...], size: int) -> tuple[Run, ...]:
    kept = []
    for run in runs:
        length = min(run.length, size - run.offset)
        if length > 0:
            kept.append(msgspec.structs.replace(run, length=length, hex=run.hex[: 2 * length]))
    return tuple(kept)


def zeroed(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in files(tree) if any(r.kind == "w" for r in n.content)], draw)
    return node and change(tree, node, content=(Run(0, node.size, "z"),))


def stale_cell(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in files(tree) if n.content and n.content[0].length >= 16], draw)
    if not node:
        return None
    first = node.content[0]
    rest = msgspec.structs.replace(first, offset=8, length=first.length - 8, hex=first.hex[16:])
    return change(tree, node, content=(Run(0, 8, "w", 999), rest, *node.content[1:]))


def wrong_nlink(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.path != "."], draw)
    return node and change(tree, node, nlink=node.nlink + 1)


def lost_xattr(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.xattrs], draw)
    return node and change(tree, node, xattrs={})


def wrong_xattr(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.path != "."], draw)
    return node and change(tree, node, xattrs={**node.xattrs, "user.never": "00"})


def wrong_mode(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.path != "."], draw)
    return node and change(tree, node, mode=0)


def wrong_inode(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick(files(tree), draw)
    return node and change(tree, node, ino=99999)


def wrong_kind(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick(files(tree), draw)
    return node and change(tree, node, kind="fifo", dtype="fifo", content=(), size=0)


def second_name(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.path != "."], draw)
    if not node:
        return None
    again = msgspec.structs.replace(node, path="never-was")
    return (*tree, again)


def wrong_target(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick([n for n in tree if n.kind == "symlink"], draw)
    return node and change(tree, node, target="elsewhere", size=9)


def unreadable(tree: Tree, draw: random.Random) -> Tree | None:
    node = pick(list(tree), draw)
    return node and change(tree, node, errors=("read: EIO",))


DAMAGE = (
    drop_name,
    wrong_size,
    zeroed,
    stale_cell,
    wrong_nlink,
    lost_xattr,
    wrong_xattr,
    wrong_mode,
    wrong_inode,
    wrong_kind,
    second_name,
    wrong_target,
    unreadable,
)


@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_damage_to_a_synced_tree_is_caught(name, damage):
    """With a sync after the last operation, one damaged thing makes some oracle say BROKEN."""
    draw = random.Random(f"{name} {damage.__name__}")
    seen = 0
    for workload in WORKLOADS:
        sync = msgspec.structs.replace(workload.run[0], word="sync", path="", path2="", target="")
        run = (*(o for o in workload.run if o.word != "umount"), sync)
        bench = Bench(msgspec.structs.replace(workload, run=run), name)
        tree = bench.tree()
        assert not broken(bench, tree, len(run), False)
        damaged = damage(tree, draw)
        if damaged is None or damaged == tree:
            continue
        seen += 1
        assert broken(bench, damaged, len(run), False), (workload.name, damage.__name__)
    assert seen >= 2


@pytest.mark.parametrize("name", PROFILES)
def test_a_renamed_object_under_both_names_is_caught(name):
    """At the cut in the middle of a rename, both names together are BROKEN by atomic."""
    seen = 0
    for workload in WORKLOADS:
        bench = Bench(workload, name)
        for rename in bench.model.renames:
            done = rename.time - bench.model.base_time
            if done <= 0:
                continue
            tree = bench.tree(done)
            if bench.model.nlink[rename.inode].at(rename.time) != 1:
                continue
            old_path = bench.model.path(rename.old, rename.time - 1)
            number = bench.model.inodes[rename.inode].number
            moved = next(node for node in tree if node.ino == number)
            if any(node.path == old_path for node in tree):
                continue
            parent = old_path.rpartition("/")[0] or "."
            if not any(node.path == parent for node in tree):
                continue
            both = (*tree, msgspec.structs.replace(moved, path=old_path, nlink=2))
            seen += 1
            told = broken(bench, both, done, True)
            assert any(line.startswith("atomic") for line in told), (workload.name, told)
    assert seen > 5


def test_judging_one_state_takes_few_calls():
    """Of a workload of ten to fifteen operations. Seconds grow with the load: bench has them (host_ms)."""
    bench = Bench(max((one for one in WORKLOADS if len(one.run) <= 15), key=lambda one: len(one.run)))
    observation = Observation(tree=bench.tree(), probe_steps=1)
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    prefixes = range(0, bench.history.entry_count + 1)
    before = sys.getprofile()
    sys.setprofile(count)
    try:
        for prefix in prefixes:
            judge.judge_observation(bench.prepared, prefix, observation)
    finally:
        sys.setprofile(before)
    assert calls / len(prefixes) < 15_000  # 8,759 on 2026-11-28
