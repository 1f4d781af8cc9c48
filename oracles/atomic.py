"""
atomic: a rename, link, unlink or atomic write happened entirely or not at all.

In:       a Case (the tree, and the model's links followed through their renames).
Out:      a Verdict; none where there is no tree.
Not here: whether it had to be there already (durable), the order of several (ordered).

Each link of an object is a chain of names: it begins with creat or link, moves with each rename and
ends with unlink. Whatever mixture of times a recovered tree shows, one chain is found under one of
its names: under two, a rename happened by half; under none, though it was durable before and never
ended, a rename lost it. Nothing is said of two chains together, since an fsync on btrfs persists
the one and not the other: link and then unlink of the old name may lose both when only the
directory of the old one was fsynced, as no call promised the new name.

A file under both names is BROKEN on ext4 and xfs, and on btrfs while nothing was fsynced. Once a
btrfs log exists, it is asked only where one of the two names is itself forbidden (the file, or its
old directory, was fsynced after the rename). Seen on a stock 6.12.117 kernel: "mkdir E; mkdir D;
creat E/foo; sync; rename E/foo D/foo; fsync D" recovers with E/foo and D/foo, link count 2, as
log_new_dir_dentries() logs the file with its new parent's reference only. rename(2) itself says
that both names may be seen for a time, and no fstests case asks for more; for a directory, which
can have but one name, btrfs takes care (can_log_conflicting_inode()).
"""

from collections.abc import Iterable

from oracles.case import Case, allowed_words, any_of, best_verdict, describe, role
from oracles.model.index import in_order
from oracles.model.model import Chain, Slot
from oracles.observation import Node
from oracles.recovered import Recovered
from oracles.torn import Torn, torn
from oracles.verdict import TIERS, Tier, Verdict, Violation
from workloads.text import format_operation as words

NAME = "atomic"
CHECKS = (
    "For every object that was renamed, linked or unlinked in run: it has no more names "
    "than it had links; of each durable link that was only renamed it has one of the "
    "names; a name that a rename replaced leads to the old or to the new object; the "
    "link count equals the number of names. Of a file's atomic writes none is there in part."
)
NOT_CHECKED = (
    "Whether two operations belong to one time, even in one directory (the oracle "
    "ordered checks this, where it is promised). In tier posix only link counts are "
    "checked, because rename(2) allows both names to be visible and says nothing of a power failure. On "
    "btrfs, once anything was fsynced, a moved file may have both names until an fsync of that file or of "
    "its old directory has returned after the rename: stock btrfs leaves such states, rename(2) allows a "
    "time with both names, and no case of fstests asks for more."
)


def judge(case: Case) -> Verdict | None:
    return best_verdict(NAME, case, judge_reading)


def judge_reading(case: Case, recovered: Recovered) -> tuple[int, list[Violation]]:
    touched = case.allowed.touched_among(recovered.nodes)
    violations: list[Violation] = []
    for inode in touched:
        violations += _half_links(case, recovered, inode)
    if case.asks_for("rename"):
        for inode in touched:
            violations += _too_many_names(case, recovered, inode)
        violations += _no_name(case, recovered)
    if case.asks_for("rename-over"):
        violations += _replaced_names(case, recovered)
    written = sorted({inode for time, inode, *_ in case.model.whole if time <= case.allowed.now})
    for inode in written:
        node = recovered.nodes.get(inode)
        if node is not None and (found := torn(case, inode, node)) is not None:
            violations.append(_torn(case, inode, node, found))
    return case.allowed.touched_count + len(written), violations


def _torn(case: Case, inode: int, node: Node, found: Torn) -> Violation:
    call = words(case.model.steps[found.time - 1].operation)
    there = f"{found.new.found} at offset {found.new.offset}"
    missing = f"it ends after {node.size} bytes"
    if found.old is not None:
        missing = f"{found.old.found} at offset {found.old.offset}, not {allowed_words(found.old)}"
    return _violation(
        case,
        "torn write",
        inode,
        node.path,
        f"all bytes of '{call}', or none",
        f"{there}, and {missing}",
        "atomic-write",
    )


def _too_many_names(case: Case, recovered: Recovered, inode: int) -> list[Violation]:
    """Each name found needs a link of its own that had it at some time."""
    if len(recovered.paths[inode]) < 2:
        return []
    names = recovered.names_of(inode)
    now = case.allowed.now
    chains = [case.model.chains[index] for index in case.model.chains_of[inode]]
    had = [set(chain.slots_until(now)) for chain in chains if chain.born <= now]
    known = [name for name in names if any(name in slots for slots in had)]
    if most_matched(known, had) == len(known) or not _asked(case, inode, names):
        return []
    paths = [recovered.path(name) for name in names]
    return [
        _violation(
            case,
            "both names",
            inode,
            paths[-1],
            f"{describe(case, inode)} under the name {any_of(paths)}",
            f"under {' and '.join(paths)}",
            "rename",
            Tier.SOMC,
        )
    ]


def _asked(case: Case, inode: int, names: list[Slot]) -> bool:
    """Whether this filesystem promises one name here; see the top of this file."""
    if case.model.kind(inode) == "dir" or case.one_time_promised:
        return True
    return not all(case.allowed.may_lead_to(name, inode) for name in names)


def most_matched(names: list[Slot], had: list[set[Slot]]) -> int:
    """The most names that get a link of their own (bipartite matching by augmenting paths)."""
    holder: dict[int, Slot] = {}

    def place(name: Slot, tried: set[int]) -> bool:
        for index, slots in enumerate(had):
            if name in slots and index not in tried:
                tried.add(index)
                if index not in holder or place(holder[index], tried):
                    holder[index] = name
                    return True
        return False

    return sum(place(name, set()) for name in names)


def _no_name(case: Case, recovered: Recovered) -> list[Violation]:
    violations = []
    now = case.allowed.now
    for chain, floor in case.allowed.living_chains():
        if not _renamed_since(chain, floor.time, now):
            continue
        slots = chain.slots_until(now)
        if any(recovered.entries.get(slot) == chain.inode for slot in slots):
            continue
        # Its home at the time of the promise is not there: then the directory is what was lost.
        if chain.slot_at(floor.time)[0] not in recovered.nodes and not _removed(
            case, chain.slot_at(floor.time)
        ):
            continue
        paths = [case.model.path(slot, now) for slot in slots]
        violations.append(
            _violation(
                case,
                "no name",
                chain.inode,
                paths[-1],
                f"{describe(case, chain.inode)} under the name {any_of(paths)}",
                "under none of these names",
                "rename",
                Tier.SOMC,
            )
        )
    return violations


def _renamed_since(chain: Chain, time: int, now: int) -> bool:
    return any(time < since <= now for since, _ in chain.slots[1:])


def _removed(case: Case, slot: Slot) -> bool:
    """The slot's directory may rightly be gone: it was durable and has been removed since."""
    indexes = case.model.chains_of[slot[0]]
    return any(
        index in case.allowed.chains and not case.model.chains[index].lives_at(case.allowed.now)
        for index in indexes
    )


def _replaced_names(case: Case, recovered: Recovered) -> list[Violation]:
    """A rename onto a durable name: what takes the old object away gives the name to the new one."""
    violations = []
    replaced = case.allowed.index.replacing
    gone = [slot for slot in replaced if slot[0] in recovered.nodes and slot not in recovered.entries]
    for rename in in_order(each for slot in gone for each in replaced[slot]):
        if rename.replaced is None or not case.model.base_time < rename.time <= case.allowed.now:
            continue
        if case.allowed.may_lead_to(rename.new, None):
            continue
        both = any_of([describe(case, rename.replaced), describe(case, rename.inode)])
        path = recovered.path(rename.new)
        violations.append(
            _violation(
                case,
                "replaced name gone",
                rename.inode,
                path,
                both,
                "no such name",
                "rename-over",
                _later(Tier.SOMC, case.allowed.entry_floor(rename.new).tier),
            )
        )
    return violations


def _later(*tiers: Tier) -> Tier:
    """The first tier that asks for all of it: the rename's wholeness, and the name that was durable."""
    return max(tiers, key=TIERS.index)


def _half_links(case: Case, recovered: Recovered, inode: int) -> Iterable[Violation]:
    node = recovered.nodes.get(inode)
    if node is None or node.kind == "dir":
        return
    paths = recovered.paths[inode]
    # A name that could not be read, or leads to a stranger, may be this object's: consistent tells.
    if node.nlink == len(paths):
        return
    kind = "half a link" if node.nlink < len(paths) else "half an unlink"
    yield _violation(
        case,
        kind,
        inode,
        paths[0],
        f"{len(paths)} links, as names",
        f"{node.nlink} links, under {', '.join(paths)}",
        "links",
    )


def _violation(
    case: Case,
    kind: str,
    inode: int,
    path: str,
    expected: str,
    found: str,
    promise: str,
    tier: Tier = Tier.POSIX,
) -> Violation:
    return Violation(kind, role(case, inode), path, expected, found, case.promise(promise), tier)
