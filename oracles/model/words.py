"""
What each word does to the filesystem when it succeeds.

In:       a Builder, an Operation.
Out:      WORDS: by word, the function that changes the Builder.
Not here: a call that failed (failed.py), the steps of a history (steps.py).
"""

from collections.abc import Callable

from oracles import content as contents
from oracles.content import Content
from oracles.model.builder import Builder
from oracles.model.model import (
    ALL_BYTES,
    CLOCK,
    DRIVEN,
    WHITEOUT_DEVICE,
    WHITEOUT_MODE,
    CutShort,
    union,
    without,
)
from oracles.observation import TREE_SHIFT
from oracles.spec import BLOCK_BYTES
from oracles.timeline import Timeline
from workloads import acl
from workloads.text import format_operation as words
from workloads.workload import VERITY_FLAG, Operation


def _creat(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "file", operation.path)


def _mkdir(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "dir", operation.path)


def _mknod(fs: Builder, operation: Operation) -> None:
    fs.make(operation, operation.mode, operation.path, device=operation.device)


def _mkfifo(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "fifo", operation.path)


def _subvolume(fs: Builder, operation: Operation) -> None:
    if operation.mode == "create":
        inode = fs.make(operation, "dir", operation.path)
        # fs/btrfs/inode.c btrfs_new_subvol_inode(): all that the umask leaves
        fs.model.modes[inode] = Timeline(fs.time, 0o777)
        fs.subvolumes.add(inode)
        return
    slot = fs.parent(operation.path)
    if fs.now.get(slot) not in fs.subvolumes:
        raise fs._wrong(f"{operation.path} is not a subvolume")
    fs.drop_tree(slot)


def _snapshot(fs: Builder, operation: Operation) -> None:
    """All of a subvolume at once, with inode numbers of its own."""
    assert fs.step is not None
    source = fs.named(operation.path)
    if source != fs.model.root and source not in fs.subvolumes:
        raise fs._wrong(f"{operation.path} is not a subvolume")
    tree = fs.step.inode >> TREE_SHIFT
    below = fs.tree(source)
    if fs.subvolumes & {inode for _, inode in below}:
        raise fs._wrong(
            f"{operation.path} contains a subvolume, and the model does not describe what a "
            "snapshot shows for it"
        )
    # fs/btrfs/transaction.c create_pending_snapshot(): the tree is copied before its parent's time is set
    seconds = {inode: line.last for inode, line in fs.model.mtimes.items()}
    copies = {source: fs.copy(operation, source, tree)}
    fs.subvolumes.add(copies[source])
    for _, inode in below:
        if inode not in copies:
            copies[inode] = fs.copy(operation, inode, tree)
    fs.add_name(fs.parent(operation.path2), copies[source])
    for (directory, name), inode in below:
        fs.add_name((copies[directory], name), copies[inode])
    for inode, copy in copies.items():  # after the names, which touch directories
        if inode in seconds:
            fs.model.mtimes[copy] = Timeline(fs.time, seconds[inode])


def _symlink(fs: Builder, operation: Operation) -> None:
    fs.make(operation, "symlink", operation.path, operation.target)


def _link(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    slot = fs.parent(operation.path2)
    if slot in fs.now:
        raise fs._wrong(f"{operation.path2} already exists")
    fs.add_name(slot, inode)
    fs.model.linked.append((fs.time, inode, "link"))


def _unlink(fs: Builder, operation: Operation) -> None:
    fs.there(operation.path, follow=False)
    inode = fs.drop_name(fs.parent(operation.path))
    fs.model.linked.append((fs.time, inode, "unlink"))


def _rename(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    old, new = fs.parent(operation.path), fs.parent(operation.path2)
    replaced = fs.now.get(new)
    if replaced == inode:
        return  # rename(2): two names of one file: nothing happens
    if operation.mode == "exchange":
        if replaced is None:
            raise fs._wrong(f"there is no {operation.path2} to exchange with")
        fs.move_names({old: new, new: old})
        return
    if replaced is not None:
        if operation.mode == "noreplace":
            raise fs._wrong(f"{operation.path2} already exists")
        fs.drop_name(new)
    fs.move_names({old: new}, replaced)
    if operation.mode == "whiteout":
        assert fs.step is not None
        left = fs.step.left_inode
        inode = fs.make(operation, "chr", operation.path, device=WHITEOUT_DEVICE, number=left)
        fs.model.modes[inode] = Timeline(fs.time, WHITEOUT_MODE)


def _write(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    fs.model.extending.add(fs.time)
    makes = not operation.parallel and operation.path not in fs.kept  # agent/calls.c: write_stamped()
    slot = fs.opened(operation.path) if makes else None
    if makes and slot not in fs.now:
        inode = fs.make(operation, "file", operation.path, slot=slot)
    else:
        inode = fs.there(operation.path, follow=True)
    if fs.model.kind(inode) in DRIVEN:
        return
    inode = fs.regular(inode, operation)
    old = fs.model.content[inode].last
    start = contents.size_of(old) if operation.word == "append" else operation.offset
    end = start + operation.length
    if operation.parallel:
        fs.refuse_mixture(inode, start, end)
    fs.change(inode, contents.written(old, start, end, fs.source(start)))
    fs.allocate(inode, start, end)
    _written_through(fs, _by_its_flags(fs, inode, fs.how(operation)), inode, start, end)


def _atomicwrite(fs: Builder, operation: Operation) -> None:
    inode = fs.file(operation)
    start, end = operation.offset, operation.offset + operation.length
    if operation.parallel:
        fs.refuse_mixture(inode, start, end)
    fs.model.whole.append((fs.time, inode, start, end))
    fs.change(inode, contents.written(fs.model.content[inode].last, start, end, fs.source(start)))
    fs.allocate(inode, start, end)
    # f2fs keeps the order alone: fs/f2fs/file.c f2fs_do_sync_file(), if (!atomic)
    if fs.filesystem != "f2fs":
        _written_through(fs, operation.mode, inode, start, end)


def _defragment(fs: Builder, operation: Operation) -> None:
    """The same bytes in other blocks, and the same reserved space up to the end of file. With data=writeback
    ext4 gives the old blocks out at once, before the move is on disk, "since writeback mode has weak data
    consistency guarantees" (fs/ext4/mballoc.c ext4_mb_clear_bb()): nobody promises what the file holds."""
    inode = fs.file(operation)
    if fs.gives_blocks_out_at_once:
        fs.model.untold.setdefault(inode, fs.time)
    _frees_behind_end(fs, inode)


def _frees_behind_end(fs: Builder, inode: int) -> None:
    allocated = fs.model.allocated[inode]
    size = contents.size_of(fs.model.content[inode].last)
    allocated.change(fs.time, without(allocated.last, size, ALL_BYTES))


def _written_through(fs: Builder, how: str, inode: int, start: int, end: int, sized: bool = False) -> None:
    """open(2): O_SYNC is an fsync of what was written, O_DSYNC an fdatasync."""
    if "sync" in how and start < end:
        fs.persist("fdatasync" if "dsync" in how else "fsync", inode, start, end, sized)


def _by_its_flags(fs: Builder, inode: int, how: str) -> str:
    """chattr(1): what is written to a file with S is written synchronously. include/linux/fs.h
    iocb_is_dsync() asks for the inode's flag at each write, generic_write_sync() then is an fdatasync of the
    range; btrfs_remap_file_range() and xfs_file_sync_writes() ask for it, too."""
    flags = fs.model.flags.get(inode)
    synchronous = flags is not None and "S" in flags.last
    return "dsync" if synchronous and "sync" not in how else how


def _fill(fs: Builder, operation: Operation) -> None:
    """How much there was to have, the file itself tells."""
    left = fs.left()
    if left is None:
        raise fs._wrong("its size was not recorded")
    missing = operation.path not in fs.kept and fs.parent(operation.path) not in fs.now
    inode = fs.make(operation, "file", operation.path) if missing else fs.file(operation)
    old = fs.model.content[inode].last
    start = contents.size_of(old)
    fs.change(inode, contents.resized(old, left.size))
    fs.allocate(inode, start, left.size)
    # It may have been longer while it was made: what LEAVE gave back.
    fs.model.cut_short[fs.time] = CutShort(inode, min(start, left.size), min(start, left.size), ALL_BYTES)


def _between(fs: Builder, operation: Operation) -> tuple[int, int, int, int]:
    """Source, target, and the source's bytes that clone, dedupe and copyrange are about."""
    source, target = fs.sized(operation.path), fs.sized(operation.path2)
    size = contents.size_of(fs.model.content[source].last)
    end = operation.offset + operation.length if operation.length else size
    if end > size:
        raise fs._wrong(f"{operation.path} has only {size} bytes")
    return source, target, operation.offset, end


def _clone(fs: Builder, operation: Operation) -> None:
    source, target, start, end = _between(fs, operation)
    _copy(fs, source, target, (start, end), operation.at - start)
    _copied_through(fs, operation, target, end - start)


def _copied_through(fs: Builder, operation: Operation, target: int, length: int) -> None:
    """By a descriptor of the target: fs/btrfs/reflink.c btrfs_remap_file_range() fsyncs it, fs/xfs/xfs_file.c
    xfs_file_remap_range() forces the log, and where no blocks are shared fs/splice.c
    iter_file_splice_write() writes with the flags of the descriptor; generic/628, generic/629. Of a program
    the operation itself has them."""
    _, how = fs.kept.get(operation.path2, (0, operation.mode))
    _written_through(fs, _by_its_flags(fs, target, how), target, operation.at, operation.at + length)


def _copyrange(fs: Builder, operation: Operation) -> None:
    """copy_file_range(2) is called until all is copied. Where source and target are one file, by two names,
    the first call may make it longer, and the next one reads what that wrote."""
    source, target = fs.sized(operation.path), fs.sized(operation.path2)
    if not operation.length:
        return  # of no bytes, as dedupe
    if source != target:
        _clone(fs, operation)
        return
    start, end = operation.offset, operation.offset + operation.length
    by = operation.at - start
    while start < end:
        size = contents.size_of(fs.model.content[source].last)
        if start >= size:
            raise fs._wrong(f"{operation.path} has only {size} bytes")
        copied = min(end, size)
        _copy(fs, source, target, (start, copied), by)
        start = copied
    _copied_through(fs, operation, target, operation.length)


def _copy(fs: Builder, source: int, target: int, part: tuple[int, int], by: int) -> None:
    fs.model.extending.add(fs.time)
    new = fs.model.content[target].last
    for extent in contents.shifted(contents.part(fs.model.content[source].last, *part), by):
        new = contents.written(new, extent.start, extent.end, extent.source)
    fs.change(target, new)
    _share_blocks(fs, source, target, part, by)


def _dedupe(fs: Builder, operation: Operation) -> None:
    if not operation.length:  # of no bytes, and not of all (fs/remap_range.c vfs_dedupe_file_range_one())
        return
    source, target, start, end = _between(fs, operation)
    _share_blocks(fs, source, target, (start, end), operation.at - start)


def _share_blocks(fs: Builder, source: int, target: int, part: tuple[int, int], by: int) -> None:
    """The target has blocks where the source has data; its reserved space need not be taken along."""
    start, end = part
    timeline = fs.model.allocated[target]
    kept = without(timeline.last, start + by, end + by)
    written = [each for each in contents.part(fs.model.content[source].last, start, end) if each.source.stamp]
    for low, high in fs.model.allocated[source].last:
        for extent in written:
            kept = union(kept, max(low, extent.start) + by, min(high, extent.end) + by)
    timeline.change(fs.time, kept)


def _chmod(fs: Builder, operation: Operation) -> None:
    inode, mode = fs.there(operation.path, follow=True), int(operation.mode, 8)
    fs.model.modes[inode].change(fs.time, mode)
    line = fs.model.xattrs[inode].get(acl.ACCESS)
    if line is not None and line.last is not None:
        entries = acl.decoded(bytes.fromhex(line.last))
        line.change(fs.time, acl.encoded(acl.with_mode(entries, mode)).hex())


def _setfacl(fs: Builder, operation: Operation) -> None:
    inode, entries = fs.there(operation.path, follow=False), acl.entries(operation.value)
    line = fs.model.xattrs[inode].setdefault(acl.ACCESS, Timeline(0, None))
    line.change(fs.time, acl.encoded(entries).hex())
    fs.model.modes[inode].change(fs.time, acl.mode_of(entries))


def _chown(fs: Builder, operation: Operation) -> None:
    user, group = operation.value.split(":")
    inode = fs.there(operation.path, follow=True)
    fs.model.owners[inode].change(fs.time, (int(user), int(group)))


def _utimes(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=True)
    timeline = fs.model.mtimes.setdefault(inode, Timeline(0, frozenset((CLOCK,))))
    timeline.change(fs.time, frozenset((operation.length,)))


def _chattr(fs: Builder, operation: Operation) -> None:
    sign, letter = operation.mode[0], operation.mode[1]
    _set_flag(fs, fs.there(operation.path, follow=True), letter, sign == "+")


def _verity(fs: Builder, operation: Operation) -> None:
    """Documentation/filesystems/fsverity.rst: all of it or no change at all, also where a crash comes. ext4
    puts the hashes where space was reserved behind the end (fs/ext4/verity.c ext4_begin_enable_verity())."""
    inode = fs.file(operation)
    _frees_behind_end(fs, inode)
    _set_flag(fs, inode, VERITY_FLAG, True)


def _set_flag(fs: Builder, inode: int, letter: str, there: bool) -> None:
    timeline = fs.model.flags.setdefault(inode, Timeline(0, ""))
    fs.model.flags_changed.setdefault(inode, set()).add(letter)
    flags = set(timeline.last) - {letter} | ({letter} if there else set())
    timeline.change(fs.time, "".join(sorted(flags)))


def _mmapwrite(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    inode = fs.file(operation)
    old = fs.model.content[inode].last
    start, end = operation.offset, operation.offset + operation.length
    if end > contents.size_of(old):
        raise fs._wrong("the range reaches beyond the end of the file")
    fs.model.mapped.append((fs.time, inode))
    fs.change(inode, contents.written(old, start, end, fs.source(start)))
    fs.allocate(inode, start, end)


def _msync(fs: Builder, operation: Operation) -> None:
    inode = fs.file(operation)
    end = operation.offset + operation.length
    fs.persist("fdatasync", inode, operation.offset, end or ALL_BYTES)


def _open(fs: Builder, operation: Operation) -> None:
    flags = operation.mode.split(",")
    slot = fs.opened(operation.path) if "creat" in flags and operation.path != "." else None
    if slot is not None and slot not in fs.now:
        inode = fs.make(operation, "file", operation.path, slot=slot)
    else:
        inode = fs.there(operation.path, follow=True)
    if "trunc" in flags and fs.model.kind(inode) == "file":
        _resize(fs, inode, 0)
    fs.kept[operation.descriptor] = (inode, operation.mode)


def _close(fs: Builder, operation: Operation) -> None:
    del fs.kept[operation.path]


def _tmpfile(fs: Builder, operation: Operation) -> None:
    assert fs.step is not None
    inode = fs._new_inode(fs.step.inode, "file", words(operation))
    fs.kept[operation.descriptor] = (inode, "")


def _truncate(fs: Builder, operation: Operation) -> None:
    _resize(fs, fs.file(operation), operation.length)


def _resize(fs: Builder, inode: int, size: int) -> None:
    if size > contents.size_of(fs.model.content[inode].last):
        fs.model.lengthening.add(fs.time)
    fs.change(inode, contents.resized(fs.model.content[inode].last, size))
    allocated = fs.model.allocated[inode]
    # Preallocation behind the end goes with any truncate, or stays: nobody promises which.
    allocated.change(fs.time, without(allocated.last, size, ALL_BYTES))


def _fallocate(fs: Builder, operation: Operation) -> None:
    inode = fs.file(operation)
    start, end = operation.offset, operation.offset + operation.length
    old = fs.model.content[inode].last
    new = _FALLOCATED[operation.mode](old, start, end)
    if operation.mode in ("alloc", "zero-range"):
        fs.model.extending.add(fs.time)  # ext4 commits between two tries (ext4_should_retry_alloc())
    fs.change(inode, new)
    allocated = fs.model.allocated[inode]
    if operation.mode in ("collapse-range", "insert-range"):
        fs.model.moving[fs.time] = (inode, start)
        allocated.change(fs.time, ())
    elif operation.mode == "punch-hole":
        allocated.change(fs.time, without(allocated.last, start, end))
    else:
        fs.allocate(inode, start, end)
    if operation.mode.startswith("zero-range"):
        fs.model.zeroing.append((fs.time, inode))
    _fallocated_through(fs, operation, inode, contents.size_of(old))


def _fallocated_through(fs: Builder, operation: Operation, inode: int, old_size: int) -> None:
    """By a descriptor that is synchronous: what the call itself changed, not what was dirty in its range.
    Parts of blocks at its ends become zeros in memory."""
    if not (fs.synchronous_fallocate or (fs.synchronous_alloc and operation.mode == "alloc")):
        return
    start, end = operation.offset, operation.offset + operation.length
    if operation.mode in ("alloc", "keep-size"):
        start = max(start, -(-old_size // BLOCK_BYTES) * BLOCK_BYTES)
    elif operation.mode in ("collapse-range", "insert-range"):
        end = ALL_BYTES
    else:
        start, end = -(-start // BLOCK_BYTES) * BLOCK_BYTES, end // BLOCK_BYTES * BLOCK_BYTES
    _written_through(fs, fs.how(operation), inode, start, end, sized=operation.mode != "keep-size")


def _zeroed(old: Content, start: int, end: int) -> Content:
    end = min(end, contents.size_of(old))
    return contents.written(old, start, end, contents.ZERO)


def _grown(old: Content, end: int) -> Content:
    return contents.resized(old, max(end, contents.size_of(old)))


_FALLOCATED: dict[str, Callable[[Content, int, int], Content]] = {
    "alloc": lambda old, start, end: _grown(old, end),
    "keep-size": lambda old, start, end: old,
    "punch-hole": _zeroed,
    "zero-range": lambda old, start, end: _zeroed(_grown(old, end), start, end),
    "zero-range-keep-size": _zeroed,
    "collapse-range": lambda old, start, end: contents.collapsed(old, start, end - start),
    "insert-range": lambda old, start, end: contents.inserted(old, start, end - start),
}


def _setxattr(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    timeline = fs.model.xattrs[inode].setdefault(operation.name, Timeline(0, None))
    timeline.change(fs.time, operation.value.encode().hex())


def _removexattr(fs: Builder, operation: Operation) -> None:
    inode = fs.there(operation.path, follow=False)
    timeline = fs.model.xattrs[inode].setdefault(operation.name, Timeline(0, None))
    timeline.change(fs.time, None)


def _fsync(fs: Builder, operation: Operation) -> None:
    fs.persist(operation.word, fs.there(operation.path, follow=True))


def _sync(fs: Builder, operation: Operation) -> None:
    """sync(2) and umount(2) tell of no error (fs/sync.c ksys_sync()): while code of the filesystem is made to
    fail, they promise nothing."""
    if operation.mode == "rw":
        return  # of remount: what is read-only is durable already
    if not fs.errortags or operation.word not in ("sync", "umount"):
        fs.persist("sync", -1)


def _crash(fs: Builder, operation: Operation) -> None:
    """All that was changed is durable already (workloads/crashes.py)."""
    fs.kept.clear()


def _errortag(fs: Builder, operation: Operation) -> None:
    if operation.mode:
        fs.errortags.discard(operation.name)
    else:
        fs.errortags.add(operation.name)


def _nothing(fs: Builder, operation: Operation) -> None:
    """Leaves the disk's meaning as it is."""


WORDS: dict[str, Callable[[Builder, Operation], None]] = {
    "creat": _creat,
    "mkdir": _mkdir,
    "mknod": _mknod,
    "mkfifo": _mkfifo,
    "subvol": _subvolume,
    "snapshot": _snapshot,
    "symlink": _symlink,
    "link": _link,
    "unlink": _unlink,
    "rmdir": _unlink,
    "rename": _rename,
    "write": _write,
    "append": _write,
    "clone": _clone,
    "dedupe": _dedupe,
    "copyrange": _copyrange,
    "atomicwrite": _atomicwrite,
    "defragment": _defragment,
    "verity": _verity,
    "chmod": _chmod,
    "chown": _chown,
    "setfacl": _setfacl,
    "utimes": _utimes,
    "chattr": _chattr,
    "sync_file_range": _nothing,
    "syncfs": _sync,
    "wait": _nothing,
    "pwrite": _write,
    "mmapwrite": _mmapwrite,
    "msync": _msync,
    "open": _open,
    "close": _close,
    "tmpfile": _tmpfile,
    "truncate": _truncate,
    "fallocate": _fallocate,
    "fill": _fill,
    "setxattr": _setxattr,
    "removexattr": _removexattr,
    "fsync": _fsync,
    "fdatasync": _fsync,
    "sync": _sync,
    "await": _nothing,
    "stop": _nothing,
    "freeze": _sync,  # fs/super.c freeze_super(): sync_filesystem()
    "thaw": _nothing,
    "grow": _nothing,
    "relocate": _nothing,
    "trim": _nothing,
    "crash": _crash,
    "remount": _sync,
    "umount": _sync,
    "evict": _nothing,
    "fault": _nothing,
    "errortag": _errortag,
}
