"""
Which past a crash may show: what completed calls promised, and what may have come since.

In:       a Model, a profile, a tier; how many operations had begun and how many had returned.
Out:      AllowedValues: for every name, size, byte range and attribute the values a recovered tree may have.
Not here: the tree that was found (recovered.py), the words of a violation (the oracles).

`now` is the latest time whose effects may be on disk: an operation in flight may have happened or
not. A *floor* is the time at which a completed call last made something durable; what was promised
then may since have been replaced by what came later, so every value of the times floor to now is
allowed, each thing for itself. Nothing is asked of two things together: a btrfs fsync persists the
one file and not its neighbours, so a recovered tree need not be the tree of any one time.
"""

import functools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from oracles.content import Content, Extent, Piece, collapsed, inserted, merged_pieces, size_of
from oracles.model.index import Index, index_of
from oracles.model.model import ALL_BYTES, Chain, CutShort, Model, Persist, Ranges, Rename, Slot, Times
from oracles.observation import TREE_SHIFT, Node, noun
from oracles.profiles import Profile, asked_keys, promises_of
from oracles.promises import Promise
from oracles.timeline import Timeline
from oracles.verdict import Tier
from workloads.text import format_operation as words

# A rename of a file over a file puts the new file's size into the journal first (replace-via-rename). Only
# while blocks are reserved for it: fs/ext4/inode.c ext4_alloc_da_blocks() does nothing for a file whose
# blocks an fsync, a fallocate or the close after a truncate to 0 has allocated. So it is asked only of
# a file that these words alone have touched.
KEEPING_RESERVATION = ("creat", "write", "append", "link", "rename", "unlink", "setxattr", "removexattr")

# fs/xfs/libxfs/xfs_attr.c, xfs_attr_sf_addname(): replacing a value that no longer fits into the
# inode first takes the old one out and adds the new one in a later transaction. An inode of 512 B
# has room for this much beside its other content.
XFS_XATTR_IN_INODE_BYTES = 64

# Nodes, and what was asked of them: of the objects of a tree, from one cut to the next.
InOrder = dict[tuple[str, int], tuple[Node, tuple[Any, ...], int]]
IN_ORDER_HELD = 4096

# fs/btrfs/block-group.c, btrfs_calc_block_group_size_class(): a longer extent has block groups of its own.
# Where there is none yet, btrfs_make_block_group() makes one, and the next fsync commits everything.
BTRFS_SMALL_EXTENT_BYTES = 128 << 10
ALLOCATING = ("write", "append", "pwrite", "mmapwrite", "fallocate", "copyrange")

SUBVOLUME_TOP = 256  # include/uapi/linux/btrfs_tree.h: BTRFS_FIRST_FREE_OBJECTID


class Floor(NamedTuple):
    """time: since when. promise: its key in the profile. tier: the weakest that makes it.
    call: what was done, for a reader. reach: how the object came into it, as a role."""

    time: int
    promise: str
    tier: Tier
    call: str
    reach: str


class RangeFloor(NamedTuple):
    """Bytes [start, end) of a file that a call about a range made durable. sized: as of Persist."""

    start: int
    end: int
    floor: Floor
    sized: bool = False


def _written_in(extent: Extent, part: RangeFloor) -> bool:
    return extent.source.stamp > 0 and extent.start < part.end and part.start < extent.end


class Sizes(NamedTuple):
    """Exact sizes, and [low, high] ranges through which delayed writeback may grow the file."""

    exact: frozenset[int]
    ranges: tuple[tuple[int, int], ...]

    def allow(self, size: int) -> bool:
        return size in self.exact or any(low <= size <= high for low, high in self.ranges)


class AllowedValues:
    """Floors of one cut, and the values they leave allowed (each worked out once, when asked for).
    before: those of the same model, profile and tier at an earlier cut, whose floors need not be
    worked out again. returned: of operations that overlapped, each Step.index whose call had returned, for an
    operation may have had its effect before another that returned first; None for all up to `completed`."""

    def __init__(
        self,
        model: Model,
        profile: Profile,
        tier: Tier,
        begun: int,
        completed: int,
        before: "AllowedValues | None" = None,
        returned: frozenset[int] | None = None,
    ) -> None:
        assert completed <= begun, (begun, completed)
        self.model = model
        self.profile = profile
        self.index: Index = index_of(model)
        self.filesystem = profile.filesystem
        self.tier = tier
        self.now = model.base_time + begun
        self.done = model.base_time + completed
        self._returned = returned
        self.promises: dict[str, Promise] = before.promises if before else promises_of(profile)
        self._asked: frozenset[str] = before._asked if before else asked_keys(profile, tier)
        self.all = Floor(model.base_time, "sync", Tier.POSIX, "the sync at the end of setup", "synced")
        self.directories: dict[int, Floor] = {}  # every entry of it
        self.entries: dict[Slot, Floor] = {}
        self.names: dict[int, Floor] = {}  # all names of it
        self.attributes: dict[int, Floor] = {}
        self.data: dict[int, Floor] = {}
        self.ranges: dict[int, tuple[RangeFloor, ...]] = {}
        self.blocks: dict[int, Floor] = {}  # all blocks it had
        self.chains: dict[int, Floor] = {}
        self._living: dict[int, Floor] = {}  # of chains, without those that had ended at `done`
        self._entry_values: dict[Slot, frozenset[int | None]] = {}
        self._entry_histories: dict[Slot, frozenset[int | None]] = {}
        self._pieces: dict[tuple[int, int, int], tuple[Piece, ...]] = {}
        self.in_order: InOrder = before.in_order if before else InOrder()
        self._asked_of_objects: dict[int, tuple[Any, ...]] = {}
        if before is None:
            self._promise_chains_of_everything()
        else:
            self._take_over(before)
        self._set_floors(model.base_time if before is None else before.done)
        self._bury()

    def _overlap(self, time: int, earlier: int) -> bool:
        """Whether the call with its effect at `time` had begun when the one of an earlier time returned."""
        if self._returned is None or earlier <= self.model.base_time:
            return False
        steps = self.model.steps
        return steps[time - 1].begin_entry < steps[earlier - 1].end_entry

    # --- floors

    def _take_over(self, before: "AllowedValues") -> None:
        assert before.model is self.model
        assert before.done <= self.done
        assert (before.profile.name, before.tier) == (self.profile.name, self.tier)
        self.all = before.all
        self.directories = dict(before.directories)
        self.entries = dict(before.entries)
        self.names = dict(before.names)
        self.attributes = dict(before.attributes)
        self.data = dict(before.data)
        self.chains = dict(before.chains)
        self._living = dict(before._living)
        self.ranges = dict(before.ranges)
        self.blocks = dict(before.blocks)

    def _set_floors(self, since: int) -> None:
        persists = self.model.persists
        first = bisect_right(persists, since, key=lambda persist: persist.time)
        last = bisect_right(persists, self.done, key=lambda persist: persist.time)
        for persist in persists[first:last]:
            if self._returned is None or persist.step in self._returned:
                self._take(persist)

    def _bury(self) -> None:
        """No later cut asks for a link that was removed before `done`."""
        chains = self.model.chains
        ends = ((index, chains[index].ended) for index in self._living)
        for index in [index for index, ended in ends if ended is not None and ended <= self.done]:
            del self._living[index]

    def _take(self, persist: Persist) -> None:
        if persist.inode >= 0:
            self._take_beside(persist)
        if persist.inode < 0:
            self.all = self._floor(persist, "sync", "synced")
            self.ranges.clear()
            self._promise_chains_of_everything()
        elif self.model.kind(persist.inode) == "dir":
            self._take_directory(persist)
        elif persist.like == "fsync":
            self._take_file(persist)
        else:
            self._take_fdatasync(persist)

    def _take_beside(self, persist: Persist) -> None:
        """What is not about the object itself."""
        if self.asks("fsync-former-owners"):
            self._promise_former_owners(persist)
        if self.asks("new-name-of-logged"):
            self._promise_new_names_of_logged(persist)

    def _promise_chains_of_everything(self) -> None:
        for index, chain in enumerate(self.model.chains):
            if chain.lives_at(self.all.time):
                self._promise_chain(index, self.all)

    def _floor(self, persist: Persist, key: str, reach: str) -> Floor:
        call = f"{persist.call} (operation {persist.step})"
        return Floor(persist.time, key, self._tier_of(key), call, reach)

    def _tier_of(self, key: str) -> Tier:
        made = self.promises.get(key)
        assert made is not None, f"{self.profile.name} does not promise {key}"
        return made.tier

    def _take_directory(self, persist: Persist) -> None:
        """fdatasync of a directory: its entries are its data."""
        directory = persist.inode
        entries = self._floor(persist, "fsync-directory", "entry of fsynced directory")
        self._promise_entries(directory, entries)
        if persist.like == "fsync":
            itself = self._floor(persist, "fsync-attributes", "fsynced")
            self.attributes[directory] = itself
            if self.asks("fsync-names"):
                self._promise_names(persist)
            if self.asks("fsync-new-directories"):
                self._promise_new_directories(persist)

    def _take_file(self, persist: Persist) -> None:
        inode = persist.inode
        self._take_data(persist, self._floor(persist, "fsync-data", "fsynced"))
        self.attributes[inode] = self._floor(persist, "fsync-attributes", "fsynced")
        if self.asks("fsync-names"):
            self._promise_names(persist)
        if self.asks("fsync-parents"):
            self._promise_parents(persist)
        if self.asks("fsync-parent-attributes"):
            self._promise_attributes_of_parent(persist)
        if self.asks("fsync-renamed-directory"):
            self._promise_name_of_renamed_parent(persist)

    def _take_data(self, persist: Persist, floor: Floor) -> None:
        """Of a call about a range, that range alone: neither other bytes nor all the blocks."""
        inode = persist.inode
        if (persist.start, persist.end) != (0, ALL_BYTES):
            part = RangeFloor(persist.start, persist.end, floor, persist.sized)
            self.ranges[inode] = (*self.ranges.get(inode, ()), part)
            return
        self.data[inode] = floor
        self.ranges.pop(inode, None)
        if persist.like == "fsync":
            self.blocks[inode] = self._floor(persist, "fsync-attributes", "fsynced")
        elif self.asks("fdatasync-blocks"):
            self.blocks[inode] = self._floor(persist, "fdatasync-blocks", "fdatasynced")

    def _take_fdatasync(self, persist: Persist) -> None:
        """Of names only the one that a new file was made with: its inode did not exist before, so
        the transaction that makes it is needed to find the data."""
        inode = persist.inode
        self._take_data(persist, self._floor(persist, "fdatasync-data", "fdatasynced"))
        chains = self.model.chains_of[inode]
        if (
            not self.asks("fdatasync-new-name")
            or self.model.inodes[inode].born <= self.all.time
            or not chains
        ):
            return
        floor = self._floor(persist, "fdatasync-new-name", "fdatasynced")
        chain = self.model.chains[chains[0]]
        slot = chain.slots[0][1]
        if chain.born > self.model.inodes[inode].born:
            return  # made without a name (O_TMPFILE): the link touches no data
        if not chain.lives_at(persist.time) or any(since <= persist.time for since, _ in chain.slots[1:]):
            # A rename touches no data: it may be under the one name or the other, in the directories of
            # the one or the other. So may one that has its first name again.
            return
        self._raise_entry(slot, floor)
        self._raise_chain(chains[0], floor)
        self._promise_ancestors(
            slot[0], persist.time, floor._replace(reach="directory above fdatasynced file")
        )

    def asks(self, key: str) -> bool:
        """Whether the profile makes this promise, and this run asks for it."""
        return key in self._asked

    def _promise_names(self, persist: Persist) -> None:
        inode, time = persist.inode, persist.time
        if self._exchanged_unlogged(inode, time) or self._renamed_subvolume(inode, time):
            return
        if self._is_of_lower_layer(inode, time):
            return
        floor = self._floor(persist, "fsync-names", "fsynced")
        above = floor._replace(reach=f"directory above fsynced {noun(self.model.kind(inode))}")
        self._promise_names_of(inode, floor, above)

    def _is_of_lower_layer(self, inode: int, time: int) -> bool:
        """What had its last name removed is not copied up for it, and its fsync does nothing: of a directory
        fs/overlayfs/readdir.c ovl_dir_fsync(), of a file fs/overlayfs/file.c ovl_fsync()."""
        if not self.profile.overlay or self.model.inodes[inode].born > self.model.base_time:
            return False
        return not any(self.model.chains[index].lives_at(time) for index in self.model.chains_of[inode])

    def _promise_names_of(self, inode: int, floor: Floor, above: Floor) -> None:
        time = floor.time
        self.names[inode] = floor
        for index in self.model.chains_of[inode]:
            chain = self.model.chains[index]
            if chain.lives_at(time):
                slot = chain.slot_at(time)
                self._raise_entry(slot, floor)
                self._promise_chain(index, floor)
                self._promise_ancestors(slot[0], time, above)

    def _promise_entries(self, directory: int, floor: Floor) -> None:
        self.directories[directory] = floor
        for name in self.model.names_at(directory, floor.time):
            self._promise_chain_at((directory, name), floor)

    def _promise_parents(self, persist: Persist) -> None:
        """btrfs: the directories that have the file in the last commit, when it got or lost a name since, and
        nothing was logged before. After an earlier fsync a directory may be in the log already, or all may be
        in a commit (fs/btrfs/tree-log.c btrfs_log_inode_parent(), need_log_inode())."""
        model, inode, time = self.model, persist.inode, persist.time
        since = self.all.time
        if _is_between(since, model.may_commit, time - 1):
            return
        links = [model.chains[index] for index in model.chains_of[inode]]
        renamed = ((rename.time, rename.inode) for rename in model.renames if not rename.exchanged)
        changes = [*renamed, *((when, changed) for when, changed, _ in model.linked)]
        if not any(changed == inode and since < when < time for when, changed in changes) or not any(
            link.lives_at(time) for link in links
        ):
            return
        floor = self._floor(persist, "fsync-parents", "entry of a directory that had the fsynced file")
        for link in links:
            if link.lives_at(since):
                directory = link.slot_at(since)[0]
                homes = [model.chains[index] for index in model.chains_of[directory]]
                if directory == model.root or any(home.lives_at(time) for home in homes):
                    self._promise_entries(directory, floor)

    def _promise_attributes_of_parent(self, persist: Persist) -> None:
        """f2fs: of the directory that a new file was made in and still is, what was set before it was made.
        Its first fsync has the inode to write, so it asks whether to write a checkpoint instead; a checkpoint
        that came earlier has those attributes, too."""
        model, inode = self.model, persist.inode
        chains, born = [model.chains[index] for index in model.chains_of[inode]], model.inodes[inode].born
        if born <= self.all.time or len(chains) != 1 or len(chains[0].slots) != 1 or chains[0].born > born:
            return  # on disk already, or with a past of other names or of none
        directory = chains[0].slots[0][1][0]
        changed = [when for line in model.xattrs[directory].values() for when, _, _ in line.changes(0, born)]
        held = self.attributes.get(directory, self.all)
        if changed and max(changed) > held.time:
            floor = self._floor(persist, "fsync-parent-attributes", "directory of a fsynced new file")
            self.attributes[directory] = floor._replace(time=max(changed))

    def _promise_name_of_renamed_parent(self, persist: Persist) -> None:
        """f2fs in strict mode: of the directory in which a new file was made, the name that it got since the
        last commit. As above, the first fsync of the file asks whether to write a checkpoint instead."""
        model, inode, time = self.model, persist.inode, persist.time
        since = self.all.time
        chains, born = [model.chains[index] for index in model.chains_of[inode]], model.inodes[inode].born
        if born <= since or len(chains) != 1 or len(chains[0].slots) != 1 or chains[0].born > born:
            return
        directory = chains[0].slots[0][1][0]
        renames = [one for one in model.renames if one.inode == directory and since < one.time < time]
        if not renames or any(one.exchanged for one in renames):
            return  # fs/f2fs/namei.c f2fs_cross_rename() does not note the two
        floor = self._floor(persist, "fsync-renamed-directory", "directory of a fsynced new file")
        for index in model.chains_of[directory]:
            if model.chains[index].lives_at(time):
                self._raise_entry(model.chains[index].slot_at(time), floor)

    def _promise_former_owners(self, persist: Persist) -> None:
        """btrfs: of those that had, in the last commit, a name that the fsynced object has now, and so on
        (fs/btrfs/tree-log.c btrfs_check_ref_name_override(), add_conflicting_inode()): the names they have.
        Not after an earlier fsync, as above, nor of what lost a name to a rename over it."""
        model, time, since = self.model, persist.time, self.all.time
        if persist.like != "fsync" or _is_between(since, model.may_commit, time - 1):
            return
        floor = self._floor(persist, "fsync-former-owners", "former owner of a fsynced name")
        reached = [persist.inode]
        for inode in reached:
            for slot in self._names_at(inode, time):
                owner = model.entry(slot, since)
                if owner is not None and owner not in reached and self._names_at(owner, time):
                    reached.append(owner)
        replaced = {rename.replaced for rename in model.renames if since < rename.time <= time}
        for owner in reached[1:]:
            if owner not in replaced and model.kind(owner) in ("file", "dir"):
                self._promise_names_of(owner, floor, floor)

    def _promise_new_names_of_logged(self, persist: Persist) -> None:
        """btrfs: of what was fsynced, or left a directory that was, and then got a new name: that name goes
        into the log at once (fs/btrfs/tree-log.c btrfs_log_new_name()), and onto the disk with the next
        fsync. Asked where the first fsync must have logged, and nothing before it makes it commit instead."""
        model, time, since = self.model, persist.time, self.all.time
        earlier = model.may_commit[
            bisect_right(model.may_commit, since) : bisect_left(model.may_commit, time)
        ]
        if len(earlier) != 1:
            return
        logged = [each for each in model.persists if each.time == earlier[0]]
        if not logged or not self._surely_logged(logged[0]):
            return
        first = logged[0]
        together = self._is_at_or_below(persist.inode, first.inode, first.time) or self._is_at_or_below(
            first.inode, persist.inode, first.time
        )  # what is new above and below what is fsynced may be logged with it
        if not self._changed(persist.inode, first.time if together else since, time):
            return  # with nothing to write it writes nothing
        between = [model.steps[each - 1] for each in range(first.time + 1, time)]
        if any(step.operation.word == "evict" for step in between):
            return  # BTRFS-6: a renamed file keeps its old name when its logged directory left the cache
        named = [
            (when, inode) for when, inode, word in model.linked if word == "link" and inode == first.inode
        ]
        named += [
            (rename.time, rename.inode)
            for rename in model.renames
            if first.inode in (rename.inode, rename.old[0])
            and rename.replaced is None
            and not rename.exchanged
        ]
        floor = self._floor(persist, "new-name-of-logged", "logged")
        for when, inode in sorted(named):
            if (
                first.time < when < time
                and model.kind(inode) in ("file", "dir")
                and self._names_at(inode, time)
            ):
                self._promise_names_of(inode, floor, floor)
                if inode == first.inode and model.kind(inode) == "file":
                    self.attributes[inode] = floor._replace(time=when)

    def _surely_logged(self, persist: Persist) -> bool:
        """It had something to write, and no name has gone or come that would make it commit everything, nor
        were so many bytes written."""
        since = self.all.time
        changes = [rename.time for rename in self.model.renames] + [when for when, _, _ in self.model.linked]
        if persist.like != "fsync" or any(since < when < persist.time for when in changes):
            return False
        before = [self.model.steps[each - 1].operation for each in range(since + 1, persist.time)]
        written = sum(operation.length for operation in before if operation.word in ALLOCATING)
        if written > BTRFS_SMALL_EXTENT_BYTES or any(operation.word == "fill" for operation in before):
            return False
        return self._changed(persist.inode, since, persist.time)

    def _changed(self, inode: int, since: int, time: int) -> bool:
        """Whether an fsync of it at that time has something to write."""
        model = self.model
        lines: list[Timeline[Any]] = [model.modes[inode], model.owners[inode], *model.xattrs[inode].values()]
        if model.kind(inode) == "file":
            lines.append(model.content[inode])
        if model.kind(inode) == "dir":
            lines += [line for slot, line in model.entries.items() if slot[0] == inode]
        named = [(rename.time, rename.inode) for rename in model.renames]
        named += [(when, linked) for when, linked, _ in model.linked]
        return (
            model.inodes[inode].born > since
            or any(line.changes(since, time) for line in lines)
            or any(since < when <= time and changed == inode for when, changed in named)
        )

    def _names_at(self, inode: int, time: int) -> list[Slot]:
        chains = (self.model.chains[index] for index in self.model.chains_of[inode])
        return [chain.slot_at(time) for chain in chains if chain.lives_at(time)]

    def _promise_new_directories(self, persist: Persist) -> None:
        """Of the directories below it that are new, and of those that are new in them, the entries."""
        made = self._floor(persist, "fsync-new-directories", "entry of new directory below fsynced one")
        names_at, reached = self.model.names_at, [(persist.inode, persist.time)]
        for above, earlier in reached:
            then = names_at(above, earlier)
            for name, inode in names_at(above, persist.time).items():
                born = self.model.inodes[inode].born
                if self.model.kind(inode) != "dir" or then.get(name) != inode or born <= self.all.time:
                    continue
                floor = made._replace(time=self._entries_taken_along(inode, persist.time))
                held = self.directories.get(inode)
                if held is None or held.time < floor.time:
                    self.directories[inode] = floor
                kept = names_at(inode, persist.time)
                for child, object_ in names_at(inode, floor.time).items():
                    if kept.get(child) == object_:
                        self._promise_chain_at((inode, child), floor)
                reached.append((inode, floor.time))

    def _entries_taken_along(self, directory: int, time: int) -> int:
        """The latest time as of which a new directory has its entries on disk, once the fsync of the one
        above it has returned at `time`. ext4 and f2fs write everything. xfs writes the checkpoint of the
        last change of the directory above. When a call since the new one was made may have ended that, what
        came before the call is on disk already, and what came after it is in the next.

        btrfs logs the new one unless it is in the log (fs/btrfs/tree-log.c need_log_inode()). It may be there
        as it was when the log was last written into. It may also be there without entries, as a directory
        above what was logged. Seen on 6.12.117: "mkdir dir; creat dir/c; creat dir/a; fsync dir/a; fsync ."
        leaves dir/c out."""
        if self.filesystem in ("ext4", "f2fs"):
            return time
        model = self.model
        born = model.inodes[directory].born
        until = next((each for each in model.may_commit if born <= each < time), time)
        if self.filesystem == "btrfs":
            for when, inode in self._logged_between(born, time):
                until = min(until, when)
                if self._is_at_or_below(inode, directory, when):
                    return born
        return until

    def _logged_between(self, since: int, before: int) -> list[tuple[int, int]]:
        """(time, object) that btrfs may have written into its log then: what was fsynced and, once there is a
        log, what got a new name (fs/btrfs/tree-log.c btrfs_log_new_name())."""
        model = self.model
        logged = [(persist.time, persist.inode) for persist in model.persists if persist.inode >= 0]
        if any(self.all.time < each < before for each in model.logging):
            logged += [(rename.time, rename.inode) for rename in model.renames]
            logged += [(time, inode) for time, inode, word in model.linked if word == "link"]
        return [(time, inode) for time, inode in logged if since <= time < before]

    def _is_at_or_below(self, inode: int, directory: int, time: int) -> bool:
        """By any of the names it had at that time."""
        model = self.model
        above = [inode]
        for each in above:
            if each == directory:
                return True
            chains = (model.chains[index] for index in model.chains_of[each])
            above += [chain.slot_at(time)[0] for chain in chains if chain.lives_at(time)]
        return False

    def _exchanged_unlogged(self, inode: int, time: int) -> bool:
        """xfs: fs/xfs/xfs_inode.c xfs_cross_rename() changes the two entries and logs the directories that
        hold them, not the inodes exchanged (but for directories that change parents), so an fsync of one
        of these has nothing to force. Seen on 6.12.117: "rename A/foo B/bar exchange; fsync B/bar"."""
        return self.filesystem == "xfs" and any(
            rename.exchanged and self.all.time < rename.time <= time
            for rename in self.index.renamed.get(inode, ())
        )

    def _renamed_subvolume(self, inode: int, time: int) -> bool:
        """btrfs: the name of a subvolume lies in the tree that holds it. fs/btrfs/inode.c btrfs_rename() and
        btrfs_rename_exchange() leave its top directory's inode as it was, so an fsync of that finds nothing
        to do, and fs/btrfs/tree-log.c log_new_ancestors_fast() ends where `root != inode->root`. The entry is
        promised by an fsync of the directory that has it (fsync(2), DESCRIPTION)."""
        tree, number = divmod(self.model.inodes[inode].number, 1 << TREE_SHIFT)
        return (tree > 0 and number == SUBVOLUME_TOP) and any(
            each.inode == inode and self.all.time < each.time <= time for each in self.model.renames
        )

    def _promise_ancestors(self, directory: int, time: int, floor: Floor) -> None:
        """They must exist, under whichever name: an fsync is not said to move the directories above."""
        while directory != self.model.root:
            index = self.model.chains_of[directory][0]
            chain = self.model.chains[index]
            if not chain.lives_at(time):
                return
            self._raise_chain(index, floor)
            directory = chain.slot_at(time)[0]

    def _promise_chain_at(self, slot: Slot, floor: Floor) -> None:
        inode = self.model.entry(slot, floor.time)
        assert inode is not None
        for index in self.model.chains_of[inode]:
            chain = self.model.chains[index]
            if chain.lives_at(floor.time) and chain.slot_at(floor.time) == slot:
                self._raise_chain(index, floor)

    def _raise_entry(self, slot: Slot, floor: Floor) -> None:
        held = self.entries.get(slot)
        if held is None or held.time <= floor.time:
            self.entries[slot] = floor

    def _raise_chain(self, index: int, floor: Floor) -> None:
        held = self.chains.get(index)
        if held is None or held.time < floor.time:
            self._promise_chain(index, floor)

    def _promise_chain(self, index: int, floor: Floor) -> None:
        self.chains[index] = self._living[index] = floor

    def entry_floor(self, slot: Slot) -> Floor:
        return _latest(self.all, self.directories.get(slot[0]), self.entries.get(slot))

    def attribute_floor(self, inode: int) -> Floor:
        return _latest(self.all, self.attributes.get(inode))

    def blocks_floor(self, inode: int) -> Floor:
        return _latest(self.all, self.blocks.get(inode))

    def data_floor(self, inode: int) -> Floor:
        floor = _latest(self.all, self.data.get(inode))
        failed = self._not_written(inode)
        return floor if floor.time < failed else self._data_floor_before(inode, failed)

    def _not_written(self, inode: int) -> int:
        """When a call that was to write it out found no room; behind now for never."""
        unwritten, never = self.model.unwritten, self.now + 1
        return min(unwritten.get(inode, never), unwritten.get(-1, never))

    def _data_floor_before(self, inode: int, time: int) -> Floor:
        """What such a call did not write may be lost, whatever later calls say: they tell of an error once
        (fsync(2), NOTES)."""
        floor = Floor(self.model.base_time, "sync", Tier.POSIX, "the sync at the end of setup", "synced")
        if self.model.base_time >= time:
            floor = floor._replace(time=0)
        for persist in self.model.persists:
            whole = persist.inode == inode and (persist.start, persist.end) == (0, ALL_BYTES)
            if persist.time < min(time, self.done + 1) and (whole or persist.inode < 0):
                key = "sync" if persist.inode < 0 else f"{persist.like}-data"
                floor = self._floor(persist, key, "synced" if persist.inode < 0 else f"{persist.like}ed")
        return floor

    def range_floors(self, inode: int) -> tuple[RangeFloor, ...]:
        failed = self._not_written(inode)
        return tuple(each for each in self.ranges.get(inode, ()) if each.floor.time < failed)

    def range_size(self, inode: int, part: RangeFloor) -> int:
        """With which what was written in the range can be read; 0 if that is nothing. Of a hole, which a
        write behind it left, no page is dirty (mm/msync.c: vfs_fsync_range(); mm/filemap.c
        file_write_and_wait_range()), so the size waits for that write. Seen on ext4 and xfs, 6.12.117:
        "write foo 124K 64K; msync foo 20K 4K" leaves the file empty."""
        if part.sized:
            return min(min(size_of(content), part.end) for content in self.contents(inode, part.floor.time))
        return min(
            max((min(each.end, part.end) for each in content if _written_in(each, part)), default=0)
            for content in self.contents(inode, part.floor.time)
        )

    def living_chains(self) -> Iterator[tuple[Chain, Floor]]:
        """The links that were promised, and that nothing has removed yet, in the order of `chains`."""
        for index, floor in self._living.items():
            chain = self.model.chains[index]
            if chain.lives_at(self.now):
                yield chain, floor

    def existed(self, inode: int, floor: Floor) -> bool:
        """Whether the promise was made about this object at all."""
        return self.model.inodes[inode].born <= floor.time

    @functools.cached_property
    def touched_count(self) -> int:
        """Of objects whose names run changed so far."""
        return self.index.changed_count(self.now)

    def is_touched(self, inode: int) -> bool:
        """Whether it is one of these."""
        return self.index.changed.get(inode, self.touched_count) < self.touched_count

    def touched_among(self, inodes: Iterable[int]) -> list[int]:
        """Those of these, in the order in which their names first changed."""
        return sorted(filter(self.is_touched, inodes), key=self.index.changed.__getitem__)

    # --- objects that were found in order

    def as_before(self, oracle: str, inode: int, node: Node) -> int | None:
        """How much an oracle checked of the object when it was last found, in order and as it is now; None
        where that was otherwise, or where the oracle may now ask something else of it."""
        known = self.in_order.get((oracle, inode))
        if known is None or known[1] != self._asked_of(inode) or known[0] != node:
            return None
        return known[2]

    def found_in_order(self, oracle: str, inode: int, node: Node, checked: int) -> None:
        """Nothing was wrong with it by itself: what the rest of the tree shows plays no part in that."""
        if self.model.unwritten:
            return
        if len(self.in_order) >= IN_ORDER_HELD:
            self.in_order.clear()
        self.in_order[oracle, inode] = (node, self._asked_of(inode), checked)

    def _asked_of(self, inode: int) -> tuple[Any, ...]:
        """All floors that an oracle asks for an object by itself, and what changed of it until now."""
        known = self._asked_of_objects.get(inode)
        if known is None:
            known = self._asked_of_objects[inode] = (
                self.index.change_count(inode, self.now),
                self.all,
                self.attributes.get(inode),
                self.names.get(inode),
                self.data.get(inode),
                self.blocks.get(inode),
                self.ranges.get(inode),
            )
        return known

    # --- replacing renames

    def replacing_renames(self, shown: Mapping[Slot, int] | None = None) -> list[tuple[Rename, Floor]]:
        """Renames over a file that may be on disk, and the time since which each promises its file's size.
        shown: what names lead to; then those alone that it shows."""
        if not self.asks("replace-via-rename"):
            return []
        renames: Iterable[Rename] = self.model.renames
        if shown is not None:
            renames = self.index.replacing_in(shown)
        return [
            (rename, self._rename_floor(rename))
            for rename in renames
            if self.all.time < rename.time <= self.now and self._flushes(rename)
        ]

    def _rename_floor(self, rename: Rename) -> Floor:
        step = self.model.steps[rename.time - 1]
        call = f"{words(step.operation)} (operation {step.index})"
        key = "replace-via-rename"
        return Floor(rename.time, key, self._tier_of(key), call, "replacing")

    def _flushes(self, rename: Rename) -> bool:
        model, inode = self.model, rename.inode
        if rename.replaced is None or {model.kind(inode), model.kind(rename.replaced)} != {"file"}:
            return False
        if self.data_floor(inode).time >= rename.time:
            return False  # that promise is the stronger one
        if inode in model.entries[rename.new].within(0, rename.time - 1):
            return False  # the name shows the file without showing that this rename was done
        object_ = model.inodes[inode]
        if [id_ for id_ in model.by_number[object_.number] if model.inodes[id_].born <= self.now] != [inode]:
            return False
        return object_.born > self.all.time and all(
            self._keeps_reservation(time, object_.number) for time in range(object_.born, rename.time)
        )

    def _keeps_reservation(self, time: int, number: int) -> bool:
        """A call that failed may have done part of its work; Step.inode of a symlink is not whom the call
        reached through it."""
        step = self.model.steps[time - 1]
        if step.result < 0 or step.operation.word == "wait":
            return False
        if step.operation.word in KEEPING_RESERVATION:
            return True
        return step.inode != number and not self.model.ids(step.inode, "symlink", self.now)

    # --- allowed values

    def entry_values(self, slot: Slot) -> frozenset[int | None]:
        """What the name may lead to. A name that its object had already lost when the object was
        fsynced may not lead there again."""
        if slot not in self._entry_values:
            first = self._shows_since(slot)
            timeline = self.model.entries[slot]
            values = set(timeline.within(first, self.now))
            for value in tuple(values):
                settled = self._names_settled(value) if value is not None else None
                if settled and value not in timeline.within(max(first, settled.time), self.now):
                    values.discard(value)
            self._entry_values[slot] = frozenset(values)
        return self._entry_values[slot]

    def may_lead_to(self, slot: Slot, found: int | None) -> bool:
        """Whether that is one of entry_values(), which are worked out where it is not. A name may have led to
        thousands of objects, and the latest is mostly the one that is found."""
        first, timeline = self._shows_since(slot), self.model.entries[slot]
        if not timeline.had(found, first, self.now):
            return False
        settled = self._names_settled(found) if found is not None else None
        return settled is None or timeline.had(found, max(first, settled.time), self.now)

    def _shows_since(self, slot: Slot) -> int:
        """The earliest time whose value it may show."""
        first = self.entry_floor(slot).time
        if self._may_uncover(slot) and self.model.entries[slot].had(None, first, self.now):
            return _latest(self.all, self.directories.get(slot[0])).time
        return first

    def _names_settled(self, inode: int) -> Floor | None:
        """Since when an object has none of its older names. On btrfs not once all its links were
        removed: that takes it out of the log, which alone knew (as in _may_uncover). Seen on
        6.12.117: "mkdir bar; sync; rename bar c; fsync c; rmdir c; creat foo; fsync foo". An fsync of a file
        that had no link any more is another matter: that its removal is then durable is what fstests
        generic/764 asks."""
        floor, links = self.names.get(inode), self.model.nlink[inode]
        gone = links.at(self.now) == 0 and (floor is None or links.at(floor.time) > 0)
        return None if gone and self.filesystem == "btrfs" else floor

    def _may_uncover(self, slot: Slot) -> bool:
        """btrfs: an fsync of a file, not of its directory, takes the name from whoever had it only by
        replaying the file's own name over it. When that name is removed again it is taken out of the
        log (btrfs_del_dir_entries_in_log()), and the older owner, whose removal nobody fsynced, is
        back. Seen on 6.12.117: "write foo; sync; unlink foo; creat b; rename b foo; fsync foo; unlink
        foo; fsync c"."""
        if self.filesystem != "btrfs" or slot not in self.entries:
            return False
        return self.entries[slot] is self.entry_floor(slot)

    def entry_history(self, slot: Slot) -> frozenset[int | None]:
        """Everything the name ever led to until now."""
        known = self._entry_histories.get(slot)
        if known is None:
            timeline = self.model.entries.get(slot)
            known = frozenset(timeline.within(0, self.now) if timeline else (None,))
            self._entry_histories[slot] = known
        return known

    def has_led_to(self, slot: Slot, inode: int) -> bool:
        """Whether that is one of entry_history()."""
        since = self.index.led(slot).get(inode)
        return since is not None and since <= self.now

    def sizes(self, inode: int, first: int) -> Sizes:
        """Sizes a file may have when it may show any of the times first to now.

        A write or append that makes it longer may have reached the disk in part: ext4 and btrfs move
        the size on disk as writeback gets there (ext4: mpage_map_and_submit_extent(), btrfs:
        btrfs_inode_safe_disk_i_size_write()), xfs when the data is written (xfs_setfilesize()). So does a
        truncate of xfs to a larger size: it writes the zeros behind the old end, and then sets the size.
        """
        timeline = self.model.content[inode]
        exact = {size_of(content) for content in timeline.within(first, self.now)}
        ranges = []
        if timeline.start > first:
            # It may not have been there yet. The operation that made it may be a write.
            exact.add(0)
            if timeline.start in self.model.extending:
                ranges.append((0, size_of(timeline.values[0])))
        for time, old, new in timeline.changes(first, self.now):
            if time in self.model.extending or (self.filesystem == "xfs" and time in self.model.lengthening):
                ranges.append((size_of(old), size_of(new)))
            elif self.filesystem == "btrfs" and size_of(new) < size_of(old):
                # Extent by extent, each with the size reached, in as many transactions as there is room for
                # (fs/btrfs/inode.c btrfs_truncate(), btrfs_truncate_inode_items()).
                ranges.append((size_of(new), size_of(old)))
            elif self.filesystem == "xfs" and size_of(new) < size_of(old) and self._overlap(time, first):
                # A truncate sets the size in memory first (fs/xfs/xfs_iops.c xfs_setattr_size()). A write
                # that ends then leaves the size on disk as it is, if that is larger (xfs_new_eof()), and an
                # fsync waits for the write and not for the truncate.
                ranges.append((size_of(new), size_of(old)))
        ranges += [(each.low, each.high) for each in self._cut_short(inode, first)]
        return Sizes(frozenset(exact), tuple(r for r in ranges if r[0] < r[1]))

    def pieces(self, inode: int, first: int, last: int | None = None) -> tuple[Piece, ...]:
        """For each byte the sources it may have when it may show any of the times first to last, or to now.

        Zero is allowed where some of these times has it, and from the smallest end of file on: the
        size may reach the disk before the data (truncate to a larger size, fallocate, a later write
        further out), and what lies between is a hole.
        """
        end = self.now if last is None else last
        key = (inode, first, end)
        if key not in self._pieces:
            timeline = self.model.content[inode]
            values = timeline.within(first, end)
            zero_from = min(size_of(content) for content in values)
            if timeline.start > first:
                zero_from = 0
            # collapse-range and insert-range punch, then move extent after extent, each in its own
            # transaction (xfs_collapse_file_space()); nobody calls them atomic.
            for time, (moved, offset) in self.model.moving.items():
                if moved == inode and first < time <= end:
                    zero_from = min(zero_from, offset)
            zero_from = min([zero_from, *(each.start for each in self._cut_short(inode, first))])
            self._pieces[key] = merged_pieces([*values, *self._not_moved(inode, first)], zero_from)
        return self._pieces[key]

    def _not_moved(self, inode: int, first: int) -> list[Content]:
        """
        What the file holds where a move is not on disk and a write after it is. collapse-range and
        insert-range change the map of the file, in a transaction that may not be on disk; a later write goes
        in place to the blocks that were moved (fs/ext4/extents.c ext4_insert_range(), fs/xfs/xfs_bmap_util.c
        xfs_insert_file_space(): neither commits), and the old map shows them where they were. Both journals
        are replayed in order: of several moves the last ones are missing, never one before one that is there.
        """
        timeline, found, back_to = self.model.content[inode], dict[Content, None](), self.now
        moves = [
            time
            for time, (moved, _) in self.model.moving.items()
            if moved == inode and first < time <= self.now
        ]
        carried: list[Content] = []  # what there was from the move on, with the later ones taken back
        for time in reversed(moves):
            move = self.model.steps[time - 1].operation
            back = inserted if move.mode == "collapse-range" else collapsed
            since = dict.fromkeys((*timeline.within(time, back_to), *carried))
            carried = [back(each, move.offset, move.length) for each in since]
            found |= dict.fromkeys(carried)
            back_to = time - 1
        return list(found)

    def _cut_short(self, inode: int, first: int) -> list[CutShort]:
        """Calls that wrote to it in pieces after `first`."""
        return [
            each
            for time, each in self.model.cut_short.items()
            if each.inode == inode and first < time <= self.now
        ]

    def told(self, inode: int) -> bool:
        """Whether its size and content are known: a call on it may have ended in the middle, and nobody
        looked."""
        return self.model.untold.get(inode, self.now + 1) > self.now

    def contents(self, inode: int, first: int) -> list[Content]:
        return self.model.content[inode].within(first, self.now)

    def xattr_values(self, inode: int, name: str, first: int) -> frozenset[str | None]:
        timeline = self.model.xattrs[inode].get(name)
        if timeline is None:
            return frozenset((None,))
        values: set[str | None] = set(timeline.within(first, self.now))
        if self.xattr_may_vanish(inode, name, first):
            values.add(None)
        return frozenset(values)

    def modes(self, inode: int, first: int) -> list[int]:
        return self.model.modes[inode].within(first, self.now)

    def owners(self, inode: int, first: int) -> list[tuple[int, int]]:
        return self.model.owners[inode].within(first, self.now)

    def mtimes(self, inode: int, first: int) -> Times:
        """CLOCK among them: any time that a clock gave."""
        return frozenset().union(*self.model.mtimes[inode].within(first, self.now))

    def flags(self, inode: int, first: int) -> list[str]:
        """Of those flags alone that the workload changed."""
        return self.model.flags[inode].within(first, self.now)

    def xattr_may_vanish(self, inode: int, name: str, first: int) -> bool:
        if self.filesystem != "xfs":
            return False
        all_of_inode = self.model.xattrs[inode]
        size = sum(len(key) + len(line.at(self.now) or "") // 2 for key, line in all_of_inode.items())
        replaced = any(old and new for _, old, new in all_of_inode[name].changes(first, self.now))
        return replaced and size > XFS_XATTR_IN_INODE_BYTES

    def clock_times(self, inode: int, floor: Floor) -> tuple[int, int] | None:
        """mtime and ctime as they were at an fsync of it, when no step since can have set them."""
        model = self.model
        step = model.steps.get(floor.time - 1)
        if floor.promise != "fsync-attributes" or step is None or step.inode != model.inodes[inode].number:
            return None
        if any(model.steps[time - 1].inode == step.inode for time in model.failed if time <= self.now):
            # fs/btrfs/file.c update_time_for_write() sets the times in memory, to be written with what is
            # written: a write that then finds no room leaves them there.
            return None
        # Of a thread the times were read when others may have changed them.
        if (
            step.operation.word != "fsync"
            or step.operation.parallel
            or _is_between(floor.time, model.stirred.get(inode, ()), self.now)
            or _is_between(floor.time, model.failed, self.now)
        ):
            return None
        return step.times

    def allocated(self, inode: int, first: int) -> Ranges:
        """The ranges that had blocks at all of these times; () when they changed. For zero-range xfs gives
        blocks back, and then reserves others in a transaction of its own (fs/xfs/xfs_file.c
        xfs_falloc_zero_range()): the hole between the two may reach the disk. ext4 drops pages whose blocks
        are to be allocated later, and then reserves blocks (fs/ext4/extents.c ext4_zero_range()): beside a
        sync, which has not written them before, the hole may reach the disk as well."""
        zeroed = [time for time, of in self.model.zeroing if of == inode and first < time <= self.now]
        if self.filesystem == "ext4":
            zeroed = [time for time in zeroed if self.model.steps[time - 1].operation.parallel]
        if zeroed and self.filesystem in ("xfs", "ext4"):
            return ()
        timeline = self.model.allocated[inode]
        values = timeline.within(first, self.now)
        return values[0] if len(values) == 1 and timeline.start <= first else ()


def _is_between(after: int, times: Sequence[int], last: int) -> bool:
    """Whether one of these times, which ascend, is in (after, last]."""
    place = bisect_right(times, after)
    return place < len(times) and times[place] <= last


def _latest(first: Floor, *others: Floor | None) -> Floor:
    """Of equally late ones the last."""
    latest = first
    for floor in others:
        if floor is not None and floor.time >= latest.time:
            latest = floor
    return latest
