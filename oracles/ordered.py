"""
ordered: metadata changes survive as a prefix, in the order in which they were made.

In:       a Case (the tree, and the model at each time).
Out:      a Verdict; none in tier posix, and where there is no tree.
Not here: sizes and content, which delayed writeback puts on disk in an order of its own, but on ext4 with
          data=journal.

ext4 and xfs have one journal: a transaction is replayed whole and after those before it, so names,
link counts, modes and extended attributes are those of one time. btrfs promises this only for
transaction commits: an fsync writes a log tree with some objects of the running transaction, and
replaying it mixes times; f2fs writes whole checkpoints, and fsync single nodes beside them. So on these
nothing is asked once an fsync or fdatasync has begun since the last completed sync.
"""

from typing import NamedTuple

from oracles.case import Case, best_reading, role
from oracles.content import first_difference
from oracles.model.model import Model
from oracles.observation import Node, Tree
from oracles.recovered import Recovered, is_of_mkfs, is_ours
from oracles.verdict import Tier, Verdict, Violation

NAME = "ordered"
CHECKS = (
    "Names, the objects they lead to, link counts of files, modes, owners, symlink "
    "targets, device numbers and extended attributes all belong to one point in time "
    "between the last completed sync and the power failure. On ext4 with data=journal "
    "sizes and content are no older than that time."
)
NOT_CHECKED = (
    "Sizes, content and blocks; on ext4 with data=journal only bytes written through a "
    "mapping. On btrfs and f2fs nothing is checked after an fsync or fdatasync has begun."
)


class Facts(NamedTuple):
    """What a name shows of an object's metadata. nlink: 0 for directories (consistent counts those)."""

    number: int
    kind: str
    mode: int
    owner: tuple[int, int]
    nlink: int
    target: str
    device: str
    xattrs: tuple[tuple[str, str], ...]


Snapshot = dict[str, Facts]
# Of the latest times, from one cut to the next: each is a whole tree, and a history may have thousands of
# times. A recovered tree is mostly that of one of the last.
FACTS_HELD = 100_000


def _key(case: Case) -> str:
    """The promise: of a journal, or of whole commits alone."""
    return "metadata-order" if "metadata-order" in case.allowed.promises else "metadata-commit"


def judge(case: Case) -> Verdict | None:
    tree = case.observation.tree
    if tree is None or not case.asks_for(_key(case)):
        return None
    if not case.one_time_promised:
        return case.verdict(NAME, 0, ())
    found = found_snapshot(case, tree)
    first, now = case.allowed.all.time, case.allowed.now
    for time in range(now, first - 1, -1):
        if is_of(case, time, found):
            return _with_data(case, len(found))
    return case.verdict(NAME, len(found), [_violation(case, found, first, now)])


def _with_data(case: Case, checked: int) -> Verdict:
    """Metadata is that of one time. Where the journal has the data, too, files are no older than the earliest
    time that it may be."""
    since = shown_since(case) if case.asks_for("journaled-data") else None
    if since is None:
        return case.verdict(NAME, checked, ())

    def behind(case: Case, recovered: Recovered) -> tuple[int, list[Violation]]:
        files = [inode for inode in recovered.nodes if inode >= 0 and case.model.kind(inode) == "file"]
        return checked + len(files), [
            violation for inode in files for violation in _behind(case, inode, recovered.nodes[inode], since)
        ]

    return case.verdict(NAME, *best_reading(case, behind))


def _behind(case: Case, inode: int, node: Node, since: int) -> list[Violation]:
    allowed, model = case.allowed, case.model
    # A large write takes many transactions, and the first has the name that it makes.
    ended = max(since - 1, allowed.all.time)
    mapped = [time for time, of in model.mapped if of == inode and allowed.all.time < time <= since]
    if mapped or model.inodes[inode].born > ended or not allowed.told(inode):
        return []
    sizes = allowed.sizes(inode, ended)
    expected, found = "", ""
    if not sizes.allow(node.size):
        expected = f"{' or '.join(str(size) for size in sorted(sizes.exact))} bytes"
        found = f"{node.size} bytes"
    elif (difference := first_difference(node.content, allowed.pieces(inode, ended), node.size)) is not None:
        writers = [
            f"operation {source.stamp - 1}" if source.stamp else "zeros" for source in difference.allowed
        ]
        expected = f"at offset {difference.offset}: {' or '.join(sorted(writers))}"
        found = difference.found
    if not expected:
        return []
    return [
        Violation(
            "data behind metadata",
            role(case, inode),
            node.path,
            f"{expected}, because the metadata is that after {_step_words(case, since)}",
            found,
            case.promise("journaled-data"),
            Tier.FS,
        )
    ]


def shown_since(case: Case) -> int | None:
    """The earliest time whose metadata is what was found: everything up to it is on disk. None when none is,
    or where metadata does not survive as a prefix."""
    tree = case.observation.tree
    if tree is None or not case.one_time_promised:
        return None
    found = found_snapshot(case, tree)
    times = range(case.allowed.all.time, case.allowed.now + 1)
    return next((time for time in times if is_of(case, time, found)), None)


def found_snapshot(case: Case, tree: Tree) -> Snapshot:
    found: Snapshot = {}
    for node in tree:
        if is_of_mkfs(node.path.partition("/")[0], case.profile.filesystem):
            continue
        xattrs = {key: value for key, value in node.xattrs.items() if is_ours(key)}
        root = node.path == "."
        found[node.path] = Facts(
            node.ino,
            node.kind,
            0 if root else node.mode,  # mkfs chose it
            (node.uid, node.gid),
            0 if node.kind == "dir" else node.nlink,
            node.target,
            node.device,
            _settled_xattrs(case, node.ino, xattrs),
        )
    return found


def is_of(case: Case, time: int, found: Snapshot) -> bool:
    """Whether what was found is the metadata of that time; calls that failed may have set attributes."""
    known = snapshot(case, time)
    if known == found or _mode_or_list(case, time, known, found):
        return True
    if not case.model.half_done:
        return False
    return known.keys() == found.keys() and all(
        known[path] == facts or _may_be(case, time, known[path], facts) for path, facts in found.items()
    )


def _mode_or_list(case: Case, time: int, known: Snapshot, found: Snapshot) -> bool:
    """Mode and access control list are set in a transaction each. By chmod the mode is first: the comment in
    front of posix_acl_chmod() in fs/xfs/xfs_iops.c says "Updating the ACL entries is not atomic vs the i_mode
    update. [...] No previous user of the generic Posix ACL code seems to care about this issue either", and
    ext4_setattr() calls it behind mark_inode_dirty(), too. By setfacl on xfs the list is first
    (fs/xfs/xfs_acl.c xfs_set_acl())."""
    step = case.model.steps.get(time - 1) if time else None
    if step is None or known.keys() != found.keys():
        return False
    before = snapshot(case, time - 1)
    if step.operation.word == "chmod":
        halves = {path: facts._replace(xattrs=before[path].xattrs) for path, facts in known.items()}
    elif step.operation.word == "setfacl" and case.profile.filesystem == "xfs":
        halves = {path: facts._replace(mode=before[path].mode) for path, facts in known.items()}
    else:
        return False
    return all(found[path] in (facts, halves[path]) for path, facts in known.items())


def _may_be(case: Case, time: int, known: Facts, found: Facts) -> bool:
    model = case.model
    if known != found._replace(mode=known.mode, owner=known.owner, xattrs=known.xattrs):
        return False
    for inode in model.ids(known.number, known.kind, time)[:1]:
        shown = dict(found.xattrs)
        mode = 0 if inode == model.root else found.mode
        return (
            mode in (known.mode, *model.modes[inode].maybe_within(time, time))
            and found.owner in model.owners[inode].within(time, time)
            and shown.keys() <= model.xattrs[inode].keys()
            and all(
                shown.get(name) in line.within(time, time)
                for name, line in model.xattrs[inode].items()
                if shown.get(name) != dict(known.xattrs).get(name)
            )
        )
    return False


def snapshot(case: Case, time: int) -> Snapshot:
    """The model's metadata at one time, by path."""
    held = case.model.snapshots
    known = held.get(time)
    if known is None:
        known = {}
        _collect(case.model, time, case.model.root, ".", known)
        held[time] = known
        while len(held) > 1 and sum(map(len, held.values())) > FACTS_HELD:
            del held[min(held)]
    if case.profile.filesystem != "xfs":  # _settled_xattrs()
        return known
    return {path: _settled(case, facts) if facts.xattrs else facts for path, facts in known.items()}


def _settled(case: Case, facts: Facts) -> Facts:
    return facts._replace(xattrs=_settled_xattrs(case, facts.number, dict(facts.xattrs)))


def _collect(model: Model, time: int, inode: int, path: str, into: Snapshot) -> None:
    object_ = model.inodes[inode]
    xattrs = {name: line.at(time) for name, line in model.xattrs[inode].items()}
    is_directory = object_.kind == "dir"
    into[path] = Facts(
        object_.number,
        object_.kind,
        0 if inode == model.root else model.modes[inode].at(time),
        model.owners[inode].at(time),
        0 if is_directory else model.nlink[inode].at(time),
        object_.target,
        object_.device,
        tuple(sorted((name, value) for name, value in xattrs.items() if value is not None)),
    )
    if is_directory:
        for name, child in model.names_at(inode, time).items():
            _collect(model, time, child, name if path == "." else f"{path}/{name}", into)


def _settled_xattrs(case: Case, number: int, xattrs: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Without those that xfs replaces in two transactions."""
    if not xattrs:
        return ()
    allowed = case.allowed
    unsettled = {
        name
        for inode in case.model.by_number.get(number, ())
        for name in case.model.xattrs[inode]
        if allowed.xattr_may_vanish(inode, name, allowed.all.time)
    }
    return tuple(sorted((name, value) for name, value in xattrs.items() if name not in unsettled))


def _violation(case: Case, found: Snapshot, first: int, now: int) -> Violation:
    """Tell it by the time that is nearest to what was found."""
    time = min(range(now, first - 1, -1), key=lambda t: len(_differences(snapshot(case, t), found)))
    nearest = snapshot(case, time)
    different = _differences(nearest, found)
    path = different[0]
    after = _step_words(case, time)
    return Violation(
        "not a prefix",
        "metadata",
        path,
        f"the metadata of one point in time; the nearest is after {after}: {_text(nearest.get(path))}",
        f"{_text(found.get(path))}; {len(different)} paths differ: {', '.join(different[:6])}",
        case.promise(_key(case)),
        Tier.SOMC,
    )


def _step_words(case: Case, time: int) -> str:
    """What ended at that time."""
    model = case.model
    return "setup" if time == model.base_time else f"operation {model.steps[time - 1].index}"


def _differences(one: Snapshot, other: Snapshot) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _text(facts: Facts | None) -> str:
    if facts is None:
        return "no such name"
    parts = [f"{facts.kind} {facts.number}", f"mode {facts.mode:o}"]
    if facts.nlink:
        parts.append(f"{facts.nlink} links")
    parts += [f"{name}={value}" for name, value in facts.xattrs]
    return ", ".join(parts)
