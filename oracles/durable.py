"""
durable: what a completed call promised is there.

In:       a Case (the tree, and the floors of its AllowedValues).
Out:      a Verdict; none where there is no tree.
Not here: things that never were (historical), renames done by half (atomic).
"""

from oracles.allowed import Floor, RangeFloor
from oracles.case import (
    Case,
    allowed_words,
    any_of,
    best_verdict,
    changed_flags,
    describe,
    xattr_words,
)
from oracles.content import Piece, clipped, first_difference, size_of
from oracles.model.model import CLOCK, Chain, Ranges, Slot, union, without
from oracles.observation import UNLISTED, Node, noun
from oracles.recovered import Recovered
from oracles.verdict import TIERS, Tier, Verdict, Violation

NAME = "durable"
CHECKS = (
    "Everything that a completed fsync, fdatasync, msync, sync, remount, unmount, or "
    "write, copy or clone with O_SYNC or O_DSYNC covered is there: names (present, absent, and leading "
    "to the right object), the directories above them, size, bytes, mode, owner, inode "
    "flags, times that were set, extended attributes, symlink targets, device numbers, "
    "link counts and preallocated blocks. For each of them the result of a later "
    "operation is accepted too. A file that is longer than a truncate left it has what it held before. "
    "What a truncate cut off has no blocks any more, but for 256 KiB."
    " On btrfs, xfs and f2fs also mtime and ctime of a directory "
    "that was fsynced itself. On ext4 also the size of a new file that was written and renamed over "
    "another, once the rename is visible."
)
NOT_CHECKED = (
    "Whether holes are still holes (zeros are accepted). Preallocation after the end of "
    "a file that a truncate, collapse-range or insert-range changed. After a rename over "
    "a file, the bytes of the new file: ext4 allocates them unwritten (dioread_nolock), "
    "so they may read as zeros."
)

BLOCK_BYTES = 4096  # the largest block of these profiles: only whole ones count as promised
SECTOR_BYTES = 512
# The largest piece in which these profiles give blocks: an extent that btrfs compresses
# (BTRFS_MAX_UNCOMPRESSED in fs/btrfs/compression.h); a cluster of bigalloc is half as long.
UNIT_BYTES = 128 << 10
CUT_BYTES = 16 << 10  # what is rewritten where a file is cut: a block, or a cluster of f2fs-compress
SPARE_BYTES = 256 << 10  # for the trees of extents and of attributes, which st_blocks counts as well


def judge(case: Case) -> Verdict | None:
    return best_verdict(NAME, case, judge_reading)


def judge_reading(case: Case, recovered: Recovered) -> tuple[int, list[Violation]]:
    names = _Names(case, recovered)
    checked = names.judge()
    violations = names.violations
    for inode, node in recovered.nodes.items():
        if inode == case.model.root or inode < 0:
            count, found = _xattrs(case, inode, node)
        else:
            count, found = _object_once(case, inode, node)
        checked += count
        violations += found
    count, found = _replacements(case, recovered)
    checked, violations = checked + count, violations + found
    # The least of it: whether a lost change shows in a time depends on whether the clock ticked meanwhile.
    if not violations:
        for inode, node in recovered.nodes.items():
            if inode >= 0:
                violations += _clock_times(case, inode, node)
    return checked, violations


# --- names


class _Names:
    """Entries one by one, then links that a rename may have put under one of several names."""

    def __init__(self, case: Case, recovered: Recovered) -> None:
        self.case = case
        self.recovered = recovered
        self.violations: list[Violation] = []
        self.accused: set[Slot] = set()
        self.lost: set[int] = set()

    def judge(self) -> int:
        checked = 0
        for slot in self.case.model.entries:
            # Without its directory nothing can be asked of an entry; the directory's own chain is.
            if slot[0] in self.recovered.nodes:
                checked += 1
                self.entry(slot)
        missing = [
            (chain, floor)
            for chain, floor in self.case.allowed.living_chains()
            if is_lost(self.case, self.recovered, chain)
        ]
        self.lost = {chain.inode for chain, _ in missing}
        for chain, floor in missing:
            self.chain(chain, floor)
        return checked + len(self.case.allowed.chains)

    def entry(self, slot: Slot) -> None:
        allowed = self.case.allowed
        found = self.recovered.entries.get(slot)
        if allowed.may_lead_to(slot, found):
            return
        values = allowed.entry_values(slot)
        if found is None:
            kind = "name lost"
        elif None in values and found not in allowed.entry_history(slot):
            return  # nothing was promised here; historical speaks of names that never were
        elif None in values and len(values) == 1:
            kind = "name came back"
        else:
            kind = "wrong object"
        self.accused.add(slot)
        expected = any_of([describe(self.case, value) for value in _sorted(values)])
        floor = self.floor_of(slot, found)
        subject = _subject(values, found)
        way = way_gone if kind == "name came back" else way_made
        self.violations.append(
            _violation(
                self.case,
                kind,
                f"{way(self.case, slot, subject)}{_reach(self.case, floor, subject)}",
                self.recovered.path(slot),
                f"{expected} (since {floor.call})",
                describe(self.case, found) if found is not None else "no such name",
                floor,
            )
        )

    def floor_of(self, slot: Slot, found: int | None) -> Floor:
        """The promise that was broken: the name's own, or that its object has only its other names."""
        allowed = self.case.allowed
        floor = allowed.entry_floor(slot)
        settled = allowed.names.get(found) if found is not None and found >= 0 else None
        before = allowed.model.entries[slot].within(floor.time, allowed.now)
        own = found in before or floor.promise == "fsync-parents"  # its own says more than that
        return settled if settled and own else floor

    def chain(self, chain: Chain, floor: Floor) -> None:
        slots = chain.slots_until(self.case.allowed.now)
        # That a rename loses nothing is more than the manual pages say.
        if len(slots) > 1 and not self.case.asks_for("rename"):
            return
        if any(slot in self.accused for slot in slots):
            return
        # A link in a directory that is not there itself: told of the directory when that was promised, and
        # not asked when it never was (tier posix: fsync of a new directory does not promise its name).
        home = chain.slot_at(floor.time)[0]
        if home not in self.recovered.nodes and (home in self.lost or not self.was_promised(home)):
            return
        model = self.case.model
        paths = [model.path(slot, self.case.allowed.now) for slot in slots]
        self.violations.append(
            _violation(
                self.case,
                "object lost",
                f"{way_made(self.case, slots[-1], chain.inode)}{_reach(self.case, floor, chain.inode)}",
                paths[-1],
                f"{describe(self.case, chain.inode)} as {any_of(paths)} (since {floor.call})",
                "under none of these names",
                floor,
                promise="rename" if len(slots) > 1 else floor.promise,
                tier=Tier.SOMC if len(slots) > 1 else floor.tier,
            )
        )

    def was_promised(self, directory: int) -> bool:
        chains = self.case.allowed.chains
        return any(index in chains for index in self.case.model.chains_of[directory])


def is_lost(case: Case, recovered: Recovered, chain: Chain) -> bool:
    """A link that nobody removed, under none of the names it ever had."""
    now = case.allowed.now
    if not chain.lives_at(now):
        return False
    return all(recovered.entries.get(slot) != chain.inode for since, slot in chain.slots if since <= now)


def way_made(case: Case, slot: Slot, inode: int | None) -> str:
    """How the object came by this name: "" with it, "hard-linked " or "renamed ". Renames, links and plain
    fsyncs go by different code, so what loses their names are different bugs."""
    for index, chain in _chains(case, inode):
        if slot in chain.slots_until(case.allowed.now):
            if slot != chain.slots[0][1]:
                return "renamed "
            return "hard-linked " if index else ""
    return ""


def way_gone(case: Case, slot: Slot, inode: int | None) -> str:
    """How it lost the name that came back: "renamed ", "replaced " (by a rename) or "unlinked "."""
    for _, chain in _chains(case, inode):
        if slot not in chain.slots_until(case.allowed.now):
            continue
        if chain.ended is None or slot != chain.slots[-1][1]:
            return "renamed "
        return "replaced " if case.model.steps[chain.ended - 1].operation.word == "rename" else "unlinked "
    return ""


def _chains(case: Case, inode: int | None) -> list[tuple[int, Chain]]:
    """The object's links, the one that it was made with first."""
    if inode is None or inode < 0:
        return []
    return [(at, case.model.chains[index]) for at, index in enumerate(case.model.chains_of[inode])]


# --- attributes and content


def _object_once(case: Case, inode: int, node: Node) -> tuple[int, list[Violation]]:
    """Once for all cuts between which nothing changes about it."""
    before = case.allowed.as_before(NAME, inode, node)
    if before is not None:
        return before, []
    checked, violations = _object(case, inode, node)
    if not violations:
        case.allowed.found_in_order(NAME, inode, node, checked)
    return checked, violations


def _object(case: Case, inode: int, node: Node) -> tuple[int, list[Violation]]:
    checked, violations = _xattrs(case, inode, node)
    kind = case.model.kind(inode)
    floor = case.allowed.attribute_floor(inode)
    if case.allowed.existed(inode, floor):
        checked += 1
        violations += _mode(case, inode, node, floor)
        violations += _owner(case, inode, node, floor)
        if inode in case.model.mtimes:
            violations += _time(case, inode, node, floor)
        if inode in case.model.flags and node.told_flags:
            violations += _flags(case, inode, node, floor)
        if kind == "symlink":
            violations += _target(case, inode, node, floor)
        if kind in ("chr", "blk"):
            violations += _device(case, inode, node, floor)
        if kind == "file":
            violations += _links(case, inode, node, floor)
            violations += _blocks(case, inode, node, case.allowed.blocks_floor(inode))
            violations += _kept(case, inode, node, case.allowed.blocks_floor(inode))
    if kind == "file" and case.allowed.told(inode):
        floor = case.allowed.data_floor(inode)
        if case.allowed.existed(inode, floor):
            checked += 2
            violations += _size(case, inode, node, floor)
            violations += _bytes(case, inode, node, floor)
        for part in case.allowed.range_floors(inode):
            checked += 1
            violations += _range(case, inode, node, part)
    return checked, violations


def _mode(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    modes = case.allowed.modes(inode, floor.time)
    if node.mode in modes:
        return []
    expected = f"mode {any_of([f'{mode:o}' for mode in modes])}"
    return [_attribute(case, "mode lost", inode, node, expected, f"mode {node.mode:o}", floor)]


def _owner(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    owners = case.allowed.owners(inode, floor.time)
    if (node.uid, node.gid) in owners:
        return []
    expected = f"owner {any_of([f'{user}:{group}' for user, group in owners])}"
    return [_attribute(case, "owner lost", inode, node, expected, f"owner {node.uid}:{node.gid}", floor)]


def _time(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    times = case.allowed.mtimes(inode, floor.time)
    if node.mtime in times:
        return []
    expected = f"mtime {any_of([time_words(time) for time in sorted(times)])}"
    return [_attribute(case, "mtime lost", inode, node, expected, f"mtime {time_words(node.mtime)}", floor)]


def _clock_times(case: Case, inode: int, node: Node) -> list[Violation]:
    """To the nanosecond, as fsync found them: fstests generic/392 compares them so, of a file whose names
    stay, and btrfs/236 to the second, after a link or rename. Both sides are what stat(2) reported of the
    inode, so no clock's granularity comes between them. Of directories those that were fsynced themselves,
    where a promise says so. Not the ctime of what got or lost a name: btrfs's replay links and unlinks, which
    sets that anew. Seen on 6.12.117: "mkdir A; sync; rename A B; creat B/foo; fsync B/foo; fsync B" and, on
    btrfs-nearly-full, the workload replace-keeping-backup."""
    kind, key = case.model.kind(inode), "fsync-directory-times"
    if kind != "file" and not (kind == "dir" and case.asks_for(key)):
        return []
    floor = case.allowed.attribute_floor(inode)
    times = case.allowed.clock_times(inode, floor)
    if times is None or node.times is None:
        return []
    asked = ("mtime",) if case.allowed.is_touched(inode) else ("mtime", "ctime")
    different = [
        (name, *pair)
        for name, *pair in zip(asked, times, node.times, strict=False)  # what is not asked is left out
        if pair[0] != pair[1]
    ]
    if not different:
        return []
    name, expected, found = different[0]
    if kind == "dir":
        floor = floor._replace(promise=key, tier=Tier.FS)
    return [
        _attribute(case, f"{name} lost", inode, node, f"{name} {expected} ns", f"{name} {found} ns", floor)
    ]


def time_words(seconds: int) -> str:
    return "of a clock" if seconds == CLOCK else f"{seconds} s"


def _flags(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    flags, found = case.allowed.flags(inode, floor.time), changed_flags(case, inode, node)
    if found in flags:
        return []
    expected = f"inode flags {any_of([each or 'none' for each in flags])}"
    return [_attribute(case, "flags lost", inode, node, expected, found or "none", floor)]


def _target(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    target = case.model.inodes[inode].target
    if node.target == target or any(error.startswith("readlink") for error in node.errors):
        return []
    return [_attribute(case, "target lost", inode, node, f"-> {target}", f"-> {node.target}", floor)]


def _device(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    device = case.model.inodes[inode].device
    if node.device == device:
        return []
    return [_attribute(case, "device lost", inode, node, f"device {device}", f"device {node.device}", floor)]


def _xattrs(case: Case, inode: int, node: Node) -> tuple[int, list[Violation]]:
    floor = case.allowed.attribute_floor(inode)
    known = case.model.xattrs[inode]
    if not known or not case.allowed.existed(inode, floor) or UNLISTED in node.errors:
        return 0, []
    violations = []
    for name in known:
        allowed = case.allowed.xattr_values(inode, name, floor.time)
        value = node.xattrs.get(name)
        if value in allowed:
            continue
        if value is None:
            kind = "xattr lost"
        elif allowed == frozenset((None,)):
            kind = "xattr came back"
        else:
            kind = "xattr value lost"
        expected = any_of([f"{name}={xattr_words(each)}" for each in sorted(allowed, key=str)])
        violations.append(
            _attribute(case, kind, inode, node, expected, f"{name}={xattr_words(value)}", floor)
        )
    return len(known), violations


def _links(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    """Only when run touched none of its names since everything was synced or its names were promised:
    otherwise the count may be that of any mixture, and consistent compares it with the names."""
    allowed = case.allowed
    settled = max(allowed.all.time, allowed.names[inode].time if inode in allowed.names else 0)
    counts = allowed.model.nlink[inode].within(settled, allowed.now)
    if not allowed.existed(inode, allowed.all) and inode not in allowed.names:
        return []
    if len(counts) != 1 or node.nlink == counts[0]:
        return []
    if case.allowed.is_touched(inode):
        return []
    expected, found = f"{counts[0]} links", f"{node.nlink} links"
    return [_attribute(case, "link count lost", inode, node, expected, found, floor)]


def _blocks(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    # fs/overlayfs/copy_up.c ovl_copy_up_file() copies data, and leaves holes out (SEEK_DATA).
    if case.profile.overlay and case.model.inodes[inode].born <= case.model.base_time:
        return []
    ranges = case.allowed.allocated(inode, floor.time)
    if node.extents is not None and not any(error.startswith("fiemap") for error in node.errors):
        return _extents(case, inode, node, floor, ranges)
    promised = promised_blocks(ranges)
    if node.blocks >= promised:
        return []
    expected, found = f"at least {promised} blocks", f"{node.blocks} blocks"
    return [_attribute(case, "preallocation lost", inode, node, expected, found, floor)]


def _kept(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    """Where the last that was done to its content is a truncate to less, and that is durable: the blocks
    behind the new end are given back (fsync(2) names the metadata of inode(7), st_blocks among them)."""
    if not case.allowed.told(inode) or inode not in case.model.content:
        return []
    changes = case.model.content[inode].changes(0, case.allowed.now)
    if not changes or changes[-1][0] > floor.time:
        return []
    time, old, new = changes[-1]
    step = case.model.steps[time - 1]
    if step.operation.word != "truncate" or step.result or size_of(new) >= size_of(old):
        return []
    if case.model.allocated[inode].changes(time, case.allowed.now):
        return []
    most = (-(-size_of(new) // UNIT_BYTES) * UNIT_BYTES + SPARE_BYTES) // SECTOR_BYTES
    if node.blocks <= most:
        return []
    expected, found = f"at most {most} blocks", f"{node.blocks} blocks"
    return [_attribute(case, "blocks kept behind the end", inode, node, expected, found, floor)]


def promised_blocks(ranges: Ranges) -> int:
    """The least st_blocks of a file with these ranges: whole blocks alone."""
    return sum(
        max(end // BLOCK_BYTES - -(-start // BLOCK_BYTES), 0) * (BLOCK_BYTES // SECTOR_BYTES)
        for start, end in ranges
    )


def _extents(case: Case, inode: int, node: Node, floor: Floor, promised: Ranges) -> list[Violation]:
    """Each at its place: fstests generic/677 compares fiemap's answers."""
    assert node.extents is not None
    had: Ranges = ()
    for start, end, _ in node.extents:
        had = union(had, start, end)
    for start, end in promised:
        first, last = -(-start // BLOCK_BYTES) * BLOCK_BYTES, end // BLOCK_BYTES * BLOCK_BYTES
        if first < last and (gone := gaps(had, first, last)):
            expected = f"blocks for bytes {first} to {last}"
            found = f"no blocks for bytes {gone[0][0]} to {gone[0][1]}"
            return [_attribute(case, "preallocation lost", inode, node, expected, found, floor)]
    return []


def gaps(ranges: Ranges, start: int, end: int) -> Ranges:
    """What of [start, end) lies in none of the ranges."""
    missing: Ranges = ((start, end),)
    for low, high in ranges:
        missing = without(missing, low, high)
    return missing


def _size(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    sizes = case.allowed.sizes(inode, floor.time)
    if sizes.allow(node.size):
        return []
    exact = [str(size) for size in sorted(sizes.exact)]
    between = [f"{low} to {high}" for low, high in sizes.ranges]
    expected = f"{any_of(exact + between)} bytes"
    return [_attribute(case, "size lost", inode, node, expected, f"{node.size} bytes", floor)]


def _replacements(case: Case, recovered: Recovered) -> tuple[int, list[Violation]]:
    """Files that a rename put over others: only where the name shows that the rename was done."""
    violations = []
    seen = [
        (rename.inode, floor)
        for rename, floor in case.allowed.replacing_renames(recovered.entries)
        if case.allowed.told(rename.inode)
    ]
    for inode, floor in seen:
        violations += _size(case, inode, recovered.nodes[inode], floor)
    return len(seen), violations


def _bytes(case: Case, inode: int, node: Node, floor: Floor) -> list[Violation]:
    pieces = _pieces(case, inode, floor)
    read_end = node.content[-1].offset + node.content[-1].length if node.content else 0
    ends = [size_of(content) for content in case.allowed.contents(inode, floor.time)]
    promised_end = min(node.size, *ends)
    if read_end < promised_end and node.errors:
        expected, found = f"{promised_end} bytes that can be read", ", ".join(node.errors)
        return [_attribute(case, "data unreadable", inode, node, expected, found, floor)]
    difference = first_difference(node.content, pieces, node.size)
    if difference is None:
        difference = first_difference(node.content, _before_a_cut(case, inode, node, floor), node.size)
    if difference is None or _is_freed(case, inode):
        return []
    expected = f"at offset {difference.offset}: {allowed_words(difference)}"
    return [_attribute(case, "data lost", inode, node, expected, difference.found, floor)]


def _is_freed(case: Case, inode: int) -> bool:
    """Whether its last name is being removed, where its blocks may then be used at once."""
    chains = [case.model.chains[index] for index in case.model.chains_of[inode]]
    removed = all(chain.ended is not None and chain.ended <= case.allowed.now for chain in chains)
    return removed and not case.asks_for("freed-data")


def _before_a_cut(case: Case, inode: int, node: Node, floor: Floor) -> list[Piece]:
    """What the file holds behind the end that a truncate sets, while its size shows that this truncate is not
    on disk: what it held before. The blocks behind the new end go with the size, in one transaction or later
    ones (fs/ext4/inode.c ext4_setattr(), fs/xfs/xfs_iops.c xfs_setattr_size(), fs/btrfs/inode.c
    btrfs_truncate_inode_items(), fs/f2fs/file.c f2fs_setattr()), and must not be used for anything else, nor
    be discarded, until these are on disk. The piece that holds the new end may be written before: the rest of
    it is zeroed in memory. A file that others change meanwhile is not asked."""
    allowed = case.allowed
    if not case.asks_for("no-stale-data") or any(
        each.inode == inode for each in case.model.cut_short.values()
    ):
        return []
    timeline = case.model.content[inode]
    for time, old, new in timeline.changes(floor.time, allowed.now):
        step = case.model.steps[time - 1]
        if size_of(new) >= size_of(old) or step.result or step.operation.parallel:
            continue
        if node.size > max(size_of(content) for content in timeline.within(time, allowed.now)):
            start = -(-size_of(new) // CUT_BYTES) * CUT_BYTES
            return clipped(allowed.pieces(inode, floor.time, time - 1), start, node.size)
    return []


def _range(case: Case, inode: int, node: Node, part: RangeFloor) -> list[Violation]:
    """The bytes of the range, and a size with which they can be read."""
    start, end, floor = part.start, part.end, part.floor
    needed = case.allowed.range_size(inode, part)
    if not needed:
        return []  # nothing was written there
    if node.size < needed:
        expected = f"at least {needed} bytes"
        return [_attribute(case, "size lost", inode, node, expected, f"{node.size} bytes", floor)]
    pieces = clipped(_pieces(case, inode, floor), start, end)
    difference = first_difference(node.content, pieces, node.size) if pieces else None
    if difference is None or _is_freed(case, inode):
        return []
    expected = f"at offset {difference.offset}: {allowed_words(difference)}"
    return [_attribute(case, "data lost", inode, node, expected, difference.found, floor)]


def _pieces(case: Case, inode: int, floor: Floor) -> list[Piece]:
    """Where stale bytes may show in what was written since, only what was not."""
    pieces = case.allowed.pieces(inode, floor.time)
    if case.asks_for("no-stale-data"):
        return list(pieces)
    settled = min(size_of(content) for content in case.allowed.contents(inode, floor.time))
    return [
        Piece(piece.start, min(piece.end, settled), piece.sources)
        for piece in pieces
        if len(piece.sources) == 1 and piece.start < settled
    ]


# --- words


def _attribute(
    case: Case, kind: str, inode: int, node: Node, expected: str, found: str, floor: Floor
) -> Violation:
    role = _reach(case, floor, inode)
    return _violation(case, kind, role, node.path, f"{expected} (since {floor.call})", found, floor)


def _violation(
    case: Case,
    kind: str,
    role: str,
    path: str,
    expected: str,
    found: str,
    floor: Floor,
    promise: str = "",
    tier: Tier | None = None,
) -> Violation:
    """`floor` is the promise that was broken, unless `promise` and `tier` name another."""
    text = case.promise(promise or floor.promise)
    return Violation(kind, role, path, expected, found, text, _stronger(floor.tier, tier))


def _stronger(one: Tier, other: Tier | None) -> Tier:
    return max((one, other or one), key=TIERS.index)


def _reach(case: Case, floor: Floor, inode: int | None) -> str:
    """The role: "fsynced file", "entry of fsynced directory", "directory above fsynced file"."""
    if " " in floor.reach:
        return floor.reach
    if inode is None or inode < 0:
        return f"{floor.reach} name"
    return f"{floor.reach} {noun(case.model.kind(inode))}"


def _subject(allowed: frozenset[int | None], found: int | None) -> int | None:
    """Whom an entry's violation is about: who should be there, else who is."""
    there = [value for value in _sorted(allowed) if value is not None]
    return there[0] if there else found


def _sorted(values: frozenset[int | None]) -> list[int | None]:
    return sorted(values, key=lambda value: (value is None, value or 0))
