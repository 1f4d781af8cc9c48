"""
consistent: the recovered tree agrees with itself.

In:       a Case (Observation.tree).
Out:      a Verdict; none where there is no tree.
Not here: what should be in the tree (durable, historical).
"""

from collections import Counter, defaultdict

from oracles.case import Case
from oracles.observation import UNLISTED, Node, Tree, errno_name, noun
from oracles.recovered import is_of_mkfs, split
from oracles.verdict import Tier, Verdict, Violation

NAME = "consistent"
CHECKS = (
    "The link count equals the number of names (of a directory: as the filesystem counts "
    "it). The type in a directory entry is that of its object. All names of an inode "
    "show the same file. The content covers the size, and data has blocks. The size of a "
    "symlink is the length of its target. Every read succeeds, and lost+found is empty. Where quota is kept, "
    "each user and group has as many inodes and as much space by it as the tree shows."
)
NOT_CHECKED = (
    "Blocks beyond those that the data needs; times; free space, which fsck checks; attributes whose names "
    "take more than 64 KiB, which listxattr(2) cannot list."
)

SECTOR_BYTES = 512
BLOCK_BYTES = 4096  # the largest block of these profiles
QUOTA_KINDS = {0: "user", 1: "group"}
# The two of the realtime device, which belong to root (fs/xfs/xfs_qm.c xfs_qm_dqusage_adjust()).
UNSEEN_INODES = {"xfs": 2}
# fs/nilfs2/file.c: llseek is generic_file_llseek(), to which all up to the size is data.
WITHOUT_SEEK_DATA = ("nilfs2",)


def judge(case: Case) -> Verdict | None:
    tree = case.observation.tree
    if tree is None:
        return None
    return case.verdict(NAME, len(tree), violations_of(case, tree))


def violations_of(case: Case, tree: Tree) -> list[Violation]:
    names: dict[int, list[Node]] = defaultdict(list)
    children: dict[str, list[Node]] = defaultdict(list)
    for node in tree:
        names[node.ino].append(node)
        if node.path != ".":
            children[split(node.path)[0]].append(node)
    found: list[Violation] = []
    for node in tree:
        found += [_violation(case, *item) for item in _node(case, node)]
        if node.kind == "dir":
            found += [_violation(case, *item) for item in _directory(case, node, children[node.path])]
    for same in names.values():
        if same[0].kind not in ("unknown", "dir"):
            found += [_violation(case, *item) for item in _names(same)]
        elif same[0].kind == "dir" and len(same) > 1:
            found.append(_violation(case, "directory twice", same[1], "one name", f"also {same[0].path}"))
    # What nobody can see may be counted: a file without a name, or below what cannot be read.
    if not found and not any(node.errors or node.kind == "unknown" for node in tree):
        found += _quota(case, tree)
    return found


def _quota(case: Case, tree: Tree) -> list[Violation]:
    """What each user and group has, against the sums over the tree."""
    told = case.observation.quota
    if told is None:
        return []
    refused = next((one for one in told if one.number < 0), None)
    if refused is not None:
        errno = errno_name(refused.space_bytes)
        return [_violation(case, "quota off", tree[0], "quota that can be asked", f"quotactl: {errno}")]
    had: Counter[tuple[int, int]] = Counter()
    space: Counter[tuple[int, int]] = Counter()
    for node in {node.ino: node for node in tree}.values():
        for owner in enumerate((node.uid, node.gid)):
            had[owner] += 1
            space[owner] += _counted_bytes(node, case.profile.filesystem)
    for kind in QUOTA_KINDS:
        had[kind, 0] += UNSEEN_INODES.get(case.profile.filesystem, 0)
    counted = {(one.kind, one.number): (one.inodes, one.space_bytes) for one in told}
    found = []
    for owner in sorted({*had, *counted}):
        expected, seen = (had[owner], space[owner]), counted.get(owner, (0, 0))
        if expected != seen:
            whose = f"{QUOTA_KINDS[owner[0]]} {owner[1]}"
            words = ["{} inodes and {} bytes of {}".format(*each, whose) for each in (expected, seen)]
            found.append(_violation(case, "quota differs", tree[0], f"{words[0]}, as the tree has", words[1]))
    return found


def _counted_bytes(node: Node, filesystem: str) -> int:
    """What is counted for it. stat(2) of f2fs adds what is inside the inode (fs/f2fs/file.c f2fs_getattr()),
    and blocks outside it are whole."""
    if filesystem == "f2fs" and node.blocks * SECTOR_BYTES % BLOCK_BYTES:
        return (node.blocks - -(-node.size // SECTOR_BYTES)) * SECTOR_BYTES
    return node.blocks * SECTOR_BYTES


Item = tuple[str, Node, str, str]


def _node(case: Case, node: Node) -> list[Item]:
    found: list[Item] = []
    for error in node.errors:
        if error == UNLISTED:
            continue
        found.append((f"{error.partition(':')[0]} failed", node, "no error", error))
    if node.kind == "unknown":
        return found
    if node.ino == 0:
        found.append(("no inode number", node, "an inode number", "0"))
    if node.dtype and node.dtype != node.kind:
        found.append(("wrong entry type", node, f"an entry of type {node.kind}", node.dtype))
    if is_in_lost_and_found(node.path, case.profile.filesystem):
        found.append(("file without a name", node, "an empty lost+found", node.path))
    if node.kind == "symlink" and node.size != len(node.target.encode("latin-1", "replace")):
        found.append(("symlink size", node, f"{len(node.target)} bytes", f"{node.size} bytes"))
    if node.kind == "file" and not node.errors:
        found += _file(node, case.profile.filesystem)
    return found


def is_in_lost_and_found(path: str, filesystem: str) -> bool:
    return is_of_mkfs(path.partition("/")[0], filesystem) and "/" in path


def _file(node: Node, filesystem: str) -> list[Item]:
    found: list[Item] = []
    end = 0
    for run in node.content:
        if run.offset != end:
            break
        end = run.offset + run.length
    if end != node.size:
        found.append(("content does not cover size", node, f"{node.size} bytes", f"{end} bytes read"))
    # After a fresh mount there are no dirty pages, so what SEEK_DATA calls data has blocks. Only whole
    # blocks are counted: the ends may lie in shared ones.
    data_bytes = sum(
        min(stop, node.size) // BLOCK_BYTES * BLOCK_BYTES - -(-start // BLOCK_BYTES) * BLOCK_BYTES
        for start, stop in node.data
        if min(stop, node.size) // BLOCK_BYTES > -(-start // BLOCK_BYTES)
    )
    if data_bytes > node.blocks * SECTOR_BYTES and filesystem not in WITHOUT_SEEK_DATA:
        expected = f"at least {data_bytes // SECTOR_BYTES} blocks for its data"
        found.append(("too few blocks", node, expected, f"{node.blocks} blocks"))
    return found


def _directory(case: Case, node: Node, children: list[Node]) -> list[Item]:
    found: list[Item] = []
    if any(error.startswith(("open", "getdents64", "walk")) for error in node.errors):
        return found
    subdirectories = sum(child.kind == "dir" for child in children)
    unknown = any(child.kind == "unknown" for child in children)
    if case.profile.filesystem == "btrfs":
        # fs/btrfs/inode.c: directories always have one link; i_size is twice the length of all names,
        # for DIR_ITEM and DIR_INDEX (btrfs_add_link()); the checker calls it "dir isize wrong".
        links = 1
        size = 2 * sum(len(split(child.path)[1]) for child in children)
        # Above it overlayfs shows the size of the directory in the upper layer alone.
        if node.size != size and not case.profile.overlay:
            found.append(
                ("directory size", node, f"{size} bytes, the sum for its names", f"{node.size} bytes")
            )
    else:
        links = 2 + subdirectories
    # fs/overlayfs/inode.c ovl_getattr(): of what several layers have nothing is counted, "nlink=1 seems to
    # pacify find".
    if case.profile.overlay and node.nlink == 1:
        links = 1
    if node.nlink != links and not unknown:
        found.append(("wrong link count", node, f"{links} links", f"{node.nlink} links"))
    return found


def _names(same: list[Node]) -> list[Item]:
    first = same[0]
    found: list[Item] = []
    if first.nlink != len(same):
        paths = ", ".join(node.path for node in same)
        found.append(("wrong link count", first, f"{len(same)} links ({paths})", f"{first.nlink} links"))
    for node in same[1:]:
        if (node.kind, node.size, node.content, node.xattrs, node.mode) != (
            first.kind,
            first.size,
            first.content,
            first.xattrs,
            first.mode,
        ):
            found.append(
                (
                    "names differ",
                    node,
                    f"the same file as {first.path}, as both are one inode",
                    "another file",
                )
            )
    return found


def _violation(case: Case, kind: str, node: Node, expected: str, found: str) -> Violation:
    return Violation(
        kind, noun(node.kind), node.path, expected, found, case.promise("consistent"), Tier.POSIX
    )
