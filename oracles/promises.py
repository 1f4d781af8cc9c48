"""
What filesystems promise about a power failure, and who says so.

In:       nothing.
Out:      COMMON, what every filesystem promises; BTRFS, EXT4..., what some promise beyond that;
          F2FS_POSIX_DENIES..., what of COMMON some do not promise.
Not here: which profile promises what (profiles.py), what is asked because of it (allowed.py, the oracles).
          The page reference/promises.md is made from this (harness/book/promises.py).
"""

import msgspec

from oracles.verdict import Tier

# What no fsync is needed for: oracles/model/synchronous.py.
SYNCHRONOUS = "synchronous"
SYNCHRONOUS_NAMES = "synchronous-names"
SYNCHRONOUS_FALLOCATE, SYNCHRONOUS_ALLOC = "synchronous-fallocate", "synchronous-alloc"


class Promise(msgspec.Struct, frozen=True):
    """One thing the filesystem owes, and who says so (manual page, kernel document, commit, fstests number).
    tier: the weakest in which it is asked."""

    key: str
    sentence: str
    source: str
    tier: Tier = Tier.POSIX


COMMON = (
    Promise(
        "mount",
        "After a power failure at any moment the filesystem mounts, and the kernel survives the mount.",
        "Documentation/filesystems/ext4/journal.rst and xfs/xfs-delayed-logging-design.rst (recovery); "
        "fstests generic/455, generic/475, generic/482",
    ),
    Promise(
        "no-recovery",
        "A read-only mount that is told not to recover writes nothing to the disk.",
        "ext4(5), norecovery; xfs(5), norecovery; btrfs(5), rescue=nologreplay; fstests generic/050",
    ),
    Promise(
        "read-only-device",
        "A mount of a device that cannot be written is refused where it would have to recover, and else "
        "shows what recovery shows; it writes nothing.",
        "fs/ext4/super.c ext4_load_journal() and fs/xfs/xfs_log_recover.c xlog_recover() (write access "
        "unavailable), fs/btrfs/disk-io.c btrfs_replay_log() (log replay required on RO media), "
        "fs/f2fs/super.c f2fs_fill_super() (Need to recover fsync data); fstests generic/050",
    ),
    Promise(
        "quiet",
        "Recovery and use of the recovered filesystem leave no warning, oops or filesystem "
        "error in the kernel log.",
        "fstests common/rc _check_dmesg(), run after every test",
    ),
    Promise(
        "live",
        "While a workload runs on a working device the kernel neither dies nor hangs, its "
        "log has no warning, oops or error, and the filesystem unmounts at the end.",
        "Documentation/admin-guide/bug-hunting.rst and reporting-issues.rst (panics, oopses and warnings are "
        "bugs of the kernel); umount(2); fstests common/rc _check_dmesg(), run after every test",
    ),
    Promise(
        "fsck",
        "The checker finds a recovered filesystem clean.",
        "fstests common/rc _check_scratch_fs(), run after every log replay of generic/455 and generic/482",
    ),
    Promise(
        "sync",
        "What happened before a completed sync, syncfs or unmount is on disk.",
        "sync(2), NOTES (Linux waits for the writes; syncfs() does so for one filesystem); umount(2)",
    ),
    Promise(
        "fsync-data",
        "A completed fsync of a file puts its content and size on disk.",
        "fsync(2); POSIX.1-2008 fsync()",
    ),
    Promise(
        "fsync-attributes",
        "A completed fsync puts the object's own metadata on disk: mode, owner, times, inode flags, "
        "extended attributes, device number, preallocation.",
        "fsync(2) (metadata of the inode); inode(7); fstests generic/066, generic/392, generic/468, "
        "generic/535, generic/677, generic/745",
    ),
    Promise(
        "fsync-directory",
        "A completed fsync of a directory puts its entries on disk, and entries that were removed are gone.",
        "fsync(2), DESCRIPTION (entries need an fsync of the directory); fstests generic/321, generic/335",
    ),
    Promise(
        "fdatasync-data",
        "A completed fdatasync of a file puts its content, and the size needed to read it, "
        "on disk. msync with MS_SYNC and a write with O_DSYNC do so for their range, and a "
        "write with O_SYNC does what fsync does for its range; so does a copy or a clone to a "
        "descriptor with these flags.",
        "fdatasync(2); msync(2) (MS_SYNC; mm/msync.c calls vfs_fsync_range() with datasync); open(2), NOTES, "
        "Synchronized I/O (include/linux/fs.h generic_write_sync()); fstests generic/325, generic/628, "
        "generic/629, generic/703",
    ),
    Promise(
        "atomic-write",
        "Of an atomic write all bytes are on disk, or none; where it has RWF_DSYNC, all of them once it has "
        "returned.",
        "pwritev2(2), RWF_ATOMIC (after a power failure all or none of the data); fs/xfs/xfs_reflink.c "
        "xfs_reflink_end_atomic_cow() (one transaction); fs/f2fs/file.c f2fs_do_sync_file() (all or none, "
        "and for atomic writes no wait), commit 88b88a667971 (f2fs: support atomic writes); generic/765",
    ),
    Promise(
        "fdatasync-blocks",
        "A completed fdatasync of a file puts its blocks on disk, also those reserved after its end.",
        "fstests generic/468, which compares st_blocks after fdatasync; not in tier posix, "
        "because fdatasync(2) requires only what is needed to read the data",
        Tier.FS,
    ),
    Promise(
        "rename-over",
        "A durable name onto which something is renamed leads to the old object or to the new one: only the "
        "rename takes the old one away, and it is on disk when the new one has the name.",
        "fsync(2) and sync(2) (the old name was on disk); of a rename and log replay, F. Manana on fstests "
        "generic/335: under the old or the new name, but not lost "
        "(linux-btrfs, Message-ID "
        "CAL3q7H6Sq3upF+r4mfQ8jw7O=V6wTDhpaa0LKJ4aUEukfL6xhA@mail.gmail.com). rename(2) speaks of running "
        "processes, not of a power failure: so not tier posix",
        Tier.SOMC,
    ),
    Promise(
        "rename",
        "A rename or exchange is atomic: an object with a durable name keeps a name, and "
        "does not have both names.",
        "rename(2) (RENAME_EXCHANGE: atomically exchange); not in tier posix, because its "
        "text allows a window with both names; fstests generic/322, generic/335, "
        "generic/336, generic/342, generic/510",
        Tier.SOMC,
    ),
    Promise(
        "links",
        "A link or unlink is atomic: the link count is the number of names.",
        "link(2), unlink(2); fstests generic/039, generic/104, generic/106, generic/107",
    ),
    Promise(
        "history",
        "Every recovered name, size and attribute existed at some time; nothing foreign appears.",
        "rename(2), link(2), stat(2); fstests generic/455 and generic/482 (each replayed "
        "state is a state that existed)",
    ),
    Promise(
        "no-stale-data",
        "A recovered byte was written at that place by an operation that had begun, or is zero.",
        "fstests generic/042 and generic/536 (stale data); Documentation/admin-guide/ext4.rst (data=ordered)",
    ),
    Promise(
        "freed-data",
        "What a file holds stays until its removal is on disk: its blocks are neither used nor discarded "
        "before.",
        "fs/ext4/mballoc.c ext4_mb_free_metadata(), fs/xfs/xfs_extent_busy.c, fs/btrfs/extent-tree.c "
        "btrfs_finish_extent_commit(), fs/f2fs/segment.c (a block that a checkpoint has is not given out)",
    ),
    Promise(
        "usable",
        "In the recovered filesystem everything can be read and removed, and no call fails "
        "except for lack of space.",
        "fstests generic/034, generic/039, generic/059 (directories that cannot be removed after replay)",
    ),
    Promise(
        "room",
        "In the recovered filesystem there is still room for new files.",
        "open(2) and write(2), ERRORS (ENOSPC where there is no room); fstests generic/475 (writes go on "
        "after each recovery)",
    ),
    Promise(
        "stable",
        "Recovery is complete: the next mount shows the same tree.",
        "Documentation/filesystems/ext4/journal.rst; Documentation/filesystems/xfs/"
        "xfs-delayed-logging-design.rst (the log is empty after recovery)",
    ),
    Promise(
        "consistent",
        "Link counts, entry types, sizes and block counts agree with what they describe.",
        "stat(2), readdir(3); fstests generic/039, generic/104",
    ),
    Promise(
        "told",
        "A write that did not reach the disk is reported by the next fsync, fdatasync, msync or syncfs, once "
        "to each descriptor that was open; a write with O_SYNC or O_DSYNC reports it itself.",
        "Documentation/filesystems/vfs.rst, Handling errors during writeback; fsync(2), EIO; syncfs: "
        '735e4ae5ba28 ("vfs: track per-sb writeback errors and report them to syncfs") (in v5.8); '
        "fstests generic/441, generic/442, generic/484, generic/487",
    ),
    Promise(
        "after-error",
        "After an error of the device a filesystem continues, is read-only or has shut down, "
        "as it documents. If no request failed, it continues.",
        "btrfs: fs/btrfs/transaction.c __btrfs_abort_transaction(), fstests btrfs/160; ext4: "
        "Documentation/admin-guide/ext4.rst (errors, data_err), fs/jbd2/journal.c jbd2_journal_abort(); xfs: "
        "Documentation/admin-guide/xfs.rst, Error handling, fs/xfs/xfs_log.c xlog_ioend_work(), "
        "fstests generic/475",
        Tier.FS,
    ),
    Promise(
        "alive",
        "A failing device causes neither a kernel crash or hang nor a failed unmount.",
        "fstests generic/019, generic/388, generic/475 and common/rc _check_dmesg()",
    ),
    Promise(
        "detected",
        "A block whose checksum does not match is not read as valid.",
        "Documentation/filesystems/btrfs.rst (data and metadata checksums); ext4/checksums.rst; "
        "xfs/xfs-self-describing-metadata.rst; fstests btrfs/157, xfs/158",
        Tier.FS,
    ),
    Promise(
        "noticed",
        "If a damaged block of the metadata changes what recovery finds, this is reported: "
        "the mount is refused, a call fails, or the kernel log has a warning. A journal ends "
        "at the first invalid record.",
        "Documentation/filesystems/btrfs.rst; ext4/checksums.rst and ext4/journal.rst; "
        "xfs/xfs-self-describing-metadata.rst. On the end of the journal: fs/jbd2/recovery.c "
        "do_one_pass() (no magic, another sequence), fs/xfs/xfs_log_recover.c "
        "xlog_find_head(), xlog_verify_head() (torn writes)",
        Tier.FS,
    ),
    Promise(
        "healed",
        "A recovery that meets an I/O error leaves the log as it was: when the disk is sound again, it is "
        "recovered as if there had been no error.",
        "btrfs: fs/btrfs/tree-log.c btrfs_recover_log_trees() (one transaction, aborted as a whole); ext4: "
        "fs/jbd2/recovery.c jbd2_journal_recover() and fs/jbd2/journal.c jbd2_journal_load() (the journal is "
        "only reset when all was replayed and written); xfs: fs/xfs/xfs_log.c xfs_log_mount(), "
        'e4c3b72a6ea9 ("xfs: ensure submit buffers on LSN boundaries in error handlers") (in v6.9)',
        Tier.FS,
    ),
)

_NAMES = (
    "fsync of a file or directory persists the names that it has at that time, and the directories above it."
)
_NEW_DIRECTORIES = (
    "fsync of a directory persists the entries of new directories below it. If a call in "
    "between may have committed the transaction, this holds for the entries made before "
    "that call."
)
_LIKE_OTHERS = (
    "fs/btrfs/tree-log.c, comment of log_new_dir_dentries(): \"that directory's new entries are logged too "
    '(same behaviour as ext3/4, xfs, f2fs, reiserfs, nilfs2)"; fstests generic/785'
)
_NEW_NAME = "fdatasync of a new file persists the name it was made with."
_ORDER = "Metadata changes (names, link counts, modes, extended attributes) survive as a prefix in order."
_COMMIT = "Without fsync, what survives is a whole {}: all metadata changes up to a moment."

BTRFS = (
    Promise(
        "fsync-directory-times",
        "A completed fsync of a directory puts its mtime and ctime on disk, and replay keeps them. Where the "
        "directory itself got or lost a name since the last commit, its mtime alone.",
        'f022499f24e5 ("btrfs: do not set mtime/ctime to current time when unlinking for log replay") (in '
        "v6.17): a directory keeps the times it had when it was logged; fstests generic/547, where fssum "
        "compares the times of directories. fs/btrfs/inode.c __btrfs_unlink_inode() sets the ctime of what "
        "loses a name, also in replay",
        Tier.FS,
    ),
    Promise(
        "fsync-names",
        _NAMES,
        "fs/btrfs/tree-log.c btrfs_log_inode_parent(), btrfs_log_all_parents(), "
        'log_all_new_ancestors(); d4682ba03ef6 ("Btrfs: sync log after logging new name"); '
        "fstests generic/498, generic/502, generic/510, generic/520, generic/526, "
        "generic/527, generic/547; for a file without names, that its names are gone: "
        "generic/764; btrfs_log_inode_parent() commits where the subvolume is new; of a "
        "deleted snapshot's directory: btrfs/118, btrfs/120",
        Tier.FS,
    ),
    Promise(
        "fsync-new-directories",
        _NEW_DIRECTORIES,
        _LIKE_OTHERS,
        Tier.FS,
    ),
    Promise(
        "fsync-parents",
        "The first fsync after a commit, of a file that was linked, unlinked or renamed "
        "since, persists the entries of the directories that contained it in that commit.",
        'fs/btrfs/tree-log.c btrfs_log_inode_parent(): "we must make sure all our current '
        'and old parent directory inodes are fully logged"; for a link, '
        'btrfs_log_new_name(): "this will force the logging code to walk the dentry chain '
        'up"; fstests generic/104, generic/336, generic/343, generic/376',
        Tier.FS,
    ),
    Promise(
        "fsync-former-owners",
        "The first fsync after a commit, of an object with a name that another object had in "
        "that commit, persists the names that the other object has now.",
        'fs/btrfs/tree-log.c add_conflicting_inode(); 56f23fdbb600 ("Btrfs: fix file/data loss caused by '
        'fsync after rename and new inode"); fstests generic/341, generic/342, generic/502, generic/526, '
        "generic/527, generic/784",
        Tier.FS,
    ),
    Promise(
        "new-name-of-logged",
        "A link or rename of a file that was fsynced before, or out of a directory that was "
        "fsynced before, is on disk after the next fsync of anything, with the file's "
        "attributes at the time of the link or rename.",
        'fs/btrfs/tree-log.c btrfs_log_new_name(); 75b463d2b47a ("btrfs: do not commit logs and transactions '
        'during link and rename operations"); fstests generic/066, btrfs/239',
        Tier.FS,
    ),
    Promise(
        "fdatasync-new-name",
        _NEW_NAME,
        "fs/btrfs/file.c btrfs_sync_file() logs the inode and its names whatever `datasync` says",
        Tier.FS,
    ),
    Promise(
        "metadata-commit",
        _COMMIT.format("transaction"),
        "fs/btrfs/transaction.c btrfs_commit_transaction(): one superblock write switches "
        "all trees; fsync writes a separate log tree, so after an fsync this is not checked",
        Tier.SOMC,
    ),
    Promise(
        "log-checked",
        "What fsync wrote is not skipped without a report: the superblock points to the log "
        "tree, and each of its blocks has a checksum.",
        "fs/btrfs/disk-io.c btrfs_replay_log() (failed to read log tree; the mount is refused), "
        "btrfs_validate_extent_buffer(); btrfs(5), rescue=nologreplay",
        Tier.FS,
    ),
    Promise(
        "size-with-data",
        "A new or empty file that writes made longer has data of one of them.",
        "fs/btrfs/inode.c btrfs_finish_one_ordered(): extents and size are changed when the data is written; "
        "with no-holes by the size in memory, that of later writes, too (fs/btrfs/file-item.c "
        "btrfs_inode_safe_disk_i_size_write()); fstests generic/043, generic/705",
        Tier.FS,
    ),
)

BTRFS_SINGLE_DENIES = (
    Promise(
        "room",
        "Metadata has one block group of 8 MiB, most of which is the global reserve. Another "
        "block group needs space that data block groups hold, even empty ones, until the "
        "cleaner has removed them.",
        "fs/btrfs/block-rsv.c btrfs_update_global_block_rsv(); fs/btrfs/block-group.c "
        "btrfs_delete_unused_bgs(), called by cleaner_kthread()",
    ),
)

NEARLY_FULL_DENIES = (
    Promise(
        "room",
        "Little space is left, and a new file may need more than that.",
        "open(2) and write(2), ERRORS: ENOSPC",
    ),
    *(
        Promise(
            key,
            "To find room, any call may commit the transaction. After that no name has changed "
            "since the commit, and nothing is in the log.",
            "fs/btrfs/space-info.c flush_space(), COMMIT_TRANS",
        )
        for key in ("fsync-parents", "fsync-former-owners", "new-name-of-logged")
    ),
    Promise(
        "fsync-new-directories",
        "To find room, any call may commit the transaction. The new directory may then be on "
        "disk already, without later entries.",
        "fs/btrfs/space-info.c flush_space(), COMMIT_TRANS; fs/btrfs/tree-log.c "
        "log_new_dir_dentries() skips directories that an earlier transaction made",
    ),
)

_EXT4_NAMES = (
    Promise(
        "fsync-names",
        _NAMES,
        "fs/ext4/fsync.c ext4_fsync_journal() commits the transaction of i_sync_tid, and link, unlink and "
        "rename mark the inode dirty in theirs (fs/ext4/namei.c ext4_rename(), __ext4_link()); "
        "fstests generic/510, generic/520, generic/547",
        Tier.FS,
    ),
    Promise(
        "fdatasync-new-name",
        _NEW_NAME,
        "fs/ext4/ialloc.c __ext4_new_inode() sets i_datasync_tid by ext4_update_inode_fsync_trans(); the "
        "name is added by the same handle",
        Tier.FS,
    ),
    Promise(
        "fsync-new-directories",
        _NEW_DIRECTORIES,
        "fs/ext4/fsync.c ext4_fsync_journal(): for a directory, ext4_force_commit(), which "
        f"commits everything; {_LIKE_OTHERS}",
        Tier.FS,
    ),
)

_EXT4_ORDER = Promise(
    "metadata-order",
    _ORDER,
    "Documentation/filesystems/ext4/journal.rst: one journal, transactions whole and replayed in order",
    Tier.SOMC,
)

_FILLED = "A file that a write made longer has the data of its end."

_CUT = "Bytes that a truncate cut off do not come back once the truncate is on disk."
_REPLACED_SIZE = "A rename over a file is not on disk before the size of the new file is."

BTRFS_REDUNDANT = (
    *BTRFS,
    Promise(
        "redundant",
        "Where everything is kept on two devices, a scrub mends every copy that is wrong, and any one device "
        "may be lost.",
        "btrfs-scrub(8): reads all data and metadata, verifies checksums, and repairs a bad copy from a good "
        "one; mkfs.btrfs(8), PROFILES: raid1 and raid10 lose one device at most; fs/btrfs/scrub.c "
        "scrub_verify_one_metadata() (checksum, generation), scrub_one_super(); fstests btrfs/027",
    ),
)

EXT4 = (
    Promise(
        SYNCHRONOUS_ALLOC,
        "A file that fallocate made longer by a descriptor with O_SYNC or O_DSYNC has its size when the call "
        "returns.",
        "fs/ext4/extents.c ext4_do_fallocate(), which commits where the file has O_SYNC",
        Tier.FS,
    ),
    *_EXT4_NAMES,
    _EXT4_ORDER,
    Promise(
        "ordered-data",
        _CUT,
        "Documentation/admin-guide/ext4.rst, data=ordered (the default): data are forced to disk before the "
        "metadata is committed; fs/ext4/inode.c __ext4_block_zero_page_range() orders the zeroed tail by "
        "ext4_jbd2_inode_add_write()",
        Tier.FS,
    ),
    Promise(
        "replace-via-rename",
        _REPLACED_SIZE,
        "Documentation/admin-guide/ext4.rst, auto_da_alloc (the default): data blocks are forced to disk "
        "before the rename is committed; fs/ext4/namei.c ext4_rename() calls ext4_alloc_da_blocks()",
        Tier.FS,
    ),
)

EXT4_SYNC = (
    *EXT4,
    Promise(
        SYNCHRONOUS,
        "A call that made, moved or removed a name, set or removed an extended attribute, made a file "
        "shorter or wrote to it has put on disk what it did when it returns.",
        "mount(8), sync and dirsync (creat, link, unlink, symlink, mkdir, rmdir, mknod and rename are done "
        "synchronously); include/linux/fs.h iocb_flags(), IS_SYNC: a write is one with O_DSYNC; "
        "ext4_handle_sync() in fs/ext4/namei.c, fs/ext4/xattr.c ext4_xattr_set_handle(), "
        "fs/ext4/inode.c ext4_truncate(): the call waits for its transaction",
    ),
)

EXT4_FAST_COMMIT = (
    *_EXT4_NAMES,
    Promise(
        "metadata-order",
        _ORDER,
        "fs/ext4/fast_commit.c, opening comment: a fast commit holds all directory entry updates in the "
        "order in which they were issued and all changed inodes, and is replayed only with its tail; what "
        "it cannot express falls back to a full commit; Documentation/filesystems/ext4/journal.rst (fast "
        "commits)",
        Tier.SOMC,
    ),
    Promise(
        "ordered-data",
        _CUT,
        "Documentation/filesystems/ext4/journal.rst: fast commits are for data=ordered; "
        "fs/ext4/fast_commit.c, opening comment, [2] and [3]: data of the inodes is written first",
        Tier.FS,
    ),
    EXT4[-1],
)

EXT4_DATA_JOURNAL = (
    *_EXT4_NAMES,
    _EXT4_ORDER,
    Promise(
        "ordered-data",
        _CUT,
        "Documentation/admin-guide/ext4.rst, data=journal: all data are committed into the journal before "
        "they are written into the main file system; the zeroed tail as well "
        "(fs/ext4/inode.c __ext4_block_zero_page_range(), ext4_should_journal_data())",
        Tier.FS,
    ),
    Promise(
        "journaled-data",
        "A write is on disk if later metadata changes are: data and metadata belong to one point in time.",
        "Documentation/admin-guide/ext4.rst, Data Mode: in the event of a crash, the journal "
        "can be replayed, bringing both data and metadata into a consistent state; "
        "fs/ext4/inode.c ext4_journalled_write_end() puts the data into the handle that has "
        "the new size. Writes through a mapping are not mentioned",
        Tier.FS,
    ),
    Promise(
        "size-with-data",
        _FILLED,
        "Documentation/admin-guide/ext4.rst, data=journal; fs/ext4/inode.c ext4_journalled_write_end() puts "
        "data and size into one handle; fstests generic/043, generic/705",
        Tier.FS,
    ),
    Promise(
        "replace-via-rename",
        _REPLACED_SIZE,
        "Documentation/admin-guide/ext4.rst, data=journal disables delayed allocation: the size is in the "
        "journal with the write",
        Tier.FS,
    ),
)

EXT4_WRITEBACK = (
    *_EXT4_NAMES,
    _EXT4_ORDER,
    Promise(
        "replace-via-rename",
        _REPLACED_SIZE,
        "fs/ext4/namei.c ext4_rename() calls ext4_alloc_da_blocks() in every data mode; "
        "Documentation/admin-guide/ext4.rst, auto_da_alloc, promises the data too, but for data=ordered only",
        Tier.FS,
    ),
)

EXT4_WRITEBACK_DENIES = (
    Promise(
        "no-stale-data",
        "A file written shortly before the crash may hold anything.",
        "Documentation/admin-guide/ext4.rst, Data Mode, writeback mode: a crash can cause incorrect data to "
        "appear in files which were written shortly before it; ext4(5), data=writeback: old data may appear",
    ),
    Promise(
        "freed-data",
        "The blocks of a removed file may be used or discarded at once, before the removal is on disk.",
        'fs/ext4/mballoc.c ext4_mb_clear_bb(): "We make an exception if the inode is to be written in '
        'writeback mode since writeback mode has weak data consistency guarantees."',
    ),
)

_TIMES = "A completed fsync of a directory puts its mtime and ctime on disk."

XFS = (
    Promise(
        SYNCHRONOUS_FALLOCATE,
        "What fallocate does by a descriptor with O_SYNC or O_DSYNC is on disk when it returns, in whole "
        "blocks of its range.",
        "fs/xfs/xfs_file.c xfs_file_fallocate(), xfs_file_sync_writes(); "
        'cea267c235e1 ("xfs: ensure log flush at the end of a synchronous fallocate call")',
        Tier.FS,
    ),
    Promise(
        "fsync-directory-times",
        _TIMES,
        "fs/xfs/libxfs/xfs_dir2.c xfs_dir_create_child() and its like log the inode of a directory with its "
        "times in the transaction that changes a name; fs/xfs/xfs_file.c xfs_dir_fsync() forces the log up "
        "to that",
        Tier.FS,
    ),
    Promise(
        "fsync-names",
        _NAMES,
        "fs/xfs/xfs_file.c xfs_fsync_seq() forces the log up to the inode's last change, and "
        "create, link, remove and rename log the inode (fs/xfs/libxfs/xfs_dir2.c), while an "
        "exchange does not, so this is not checked after an exchange (fs/xfs/xfs_inode.c "
        "xfs_cross_rename()); fstests generic/510, generic/520, generic/547",
        Tier.FS,
    ),
    Promise(
        "fdatasync-new-name",
        _NEW_NAME,
        "fs/xfs/xfs_file.c xfs_fsync_seq(): a new inode has more than timestamps in ili_fsync_fields, so the "
        "log is forced up to the transaction that made it and its name",
        Tier.FS,
    ),
    Promise(
        "fsync-new-directories",
        _NEW_DIRECTORIES,
        "fs/xfs/xfs_file.c xfs_dir_fsync() forces the log up to the checkpoint that has the directory's last "
        "change, which holds all changes since the one before (xfs-delayed-logging-design.rst); "
        f"{_LIKE_OTHERS}",
        Tier.FS,
    ),
    Promise(
        "metadata-order",
        _ORDER,
        "Documentation/filesystems/xfs/xfs-delayed-logging-design.rst: global ordering, commit records "
        "strictly in sequence",
        Tier.SOMC,
    ),
    Promise(
        "size-with-data",
        f"{_FILLED} Where a truncate set the size, it has all that earlier writes added to it.",
        "fs/xfs/xfs_aops.c xfs_setfilesize(): the size on disk grows when the data is written; "
        "fs/xfs/xfs_iops.c xfs_setattr_size() writes the data before it logs a size, and "
        "fs/xfs/xfs_bmap_util.c xfs_free_eofblocks() logs none (both speak of the NULL files problem); "
        "fstests generic/043, generic/044, generic/045, generic/046, generic/705. Parts of a file that were "
        "written out by themselves (msync, sync_file_range) may be there before others",
        Tier.FS,
    ),
    Promise(
        "ordered-data",
        "Bytes that a truncate cut off do not come back when another truncate has made the file longer.",
        'fs/xfs/xfs_iops.c xfs_setattr_size(): 5885ebda878b ("xfs: ensure truncate forces zeroed blocks to '
        'disk") (in v4.0): the zeroed rest of the last block is written before the larger size is logged. '
        "Where a write made the file longer this is not asked: the rest is written with the data",
        Tier.FS,
    ),
)

XFS_WSYNC = (
    *XFS,
    Promise(
        SYNCHRONOUS_NAMES,
        "A call that made, moved or removed a name has put on disk what it did when it returns.",
        "Documentation/admin-guide/xfs.rst, wsync: when the namespace operation (create, unlink, etc) "
        "completes, the change to the namespace is on stable storage; xfs_trans_set_sync() in "
        "fs/xfs/xfs_inode.c xfs_create(), xfs_link(), xfs_remove() and xfs_rename(), and in "
        "fs/xfs/xfs_symlink.c. What is deferred behind the change of names, the freeing of blocks above all, "
        "follows in later transactions, which wait for nothing",
    ),
)

F2FS = (
    Promise(
        "fsync-directory-times",
        _TIMES,
        "fs/f2fs/file.c need_do_checkpoint(): an fsync of what is no regular file writes a checkpoint "
        "(CP_NON_REGULAR); fs/f2fs/checkpoint.c f2fs_sync_inode_meta() writes all dirty inodes before it",
        Tier.FS,
    ),
    Promise(
        "fsync-names",
        _NAMES,
        "fs/f2fs/file.c need_do_checkpoint(): an fsync of a directory, of a file with other "
        "than one link, renamed since the last checkpoint or in a new directory writes a "
        "checkpoint, which is everything; for only a new file its node is written with its "
        "name (fs/f2fs/recovery.c recover_dentry())",
        Tier.FS,
    ),
    Promise(
        "fdatasync-new-name",
        _NEW_NAME,
        "fs/f2fs/file.c f2fs_do_sync_file(): both of fdatasync() and fsync() are able to be recovered from "
        "sudden-power-off; recover_dentry() as for fsync",
        Tier.FS,
    ),
    Promise(
        "fsync-new-directories",
        _NEW_DIRECTORIES,
        f"fs/f2fs/file.c need_do_checkpoint(), CP_NON_REGULAR: everything is written; {_LIKE_OTHERS}",
        Tier.FS,
    ),
    Promise(
        "fsync-parent-attributes",
        "The first fsync of a new file persists the extended attributes that its directory had when the file "
        "was made.",
        'bbf156f7afa7 ("f2fs: fix lost xattrs of directories") (in v4.9); fs/f2fs/xattr.c __f2fs_setxattr(): '
        '"it triggers checkpoint when parent\'s xattr metadata was updated"; fs/f2fs/file.c '
        "need_do_checkpoint(), CP_XATTR_DIR",
        Tier.FS,
    ),
    Promise(
        "metadata-commit",
        _COMMIT.format("checkpoint"),
        "Documentation/filesystems/f2fs.rst, Metadata Structure (checkpoints maintain file "
        "system consistency, the last valid one counts); what fsync wrote since is rolled "
        "forward file by file (fs/f2fs/recovery.c), so after an fsync this is not checked",
        Tier.SOMC,
    ),
)

F2FS_STRICT = (
    *F2FS,
    Promise(
        "ordered-data",
        "Bytes that a truncate cut off do not come back when a write or another truncate has made the file "
        "longer.",
        "fs/f2fs/file.c f2fs_zero_post_eof_page(): in fsync_mode=strict the rest of the last block is zeroed "
        'and written at once, to "avoid exposing stale data after metadata flush and POR"; "f2fs: fix to '
        'zero post-EOF data when extending file size" (in 6.12.117)',
        Tier.FS,
    ),
    Promise(
        "fsync-renamed-directory",
        "The first fsync of a new file persists the name that its directory got in a rename since the last "
        "checkpoint.",
        "Documentation/filesystems/f2fs.rst, fsync_mode=strict (in line with xfs, ext4 and btrfs); "
        "fs/f2fs/namei.c f2fs_rename() notes a renamed directory (TRANS_DIR_INO), fs/f2fs/file.c "
        "need_do_checkpoint(), CP_RECOVER_DIR",
        Tier.FS,
    ),
)

F2FS_DENIES = (
    Promise(
        "noticed",
        "A damaged node or table of addresses may be read as valid.",
        "mkfs.f2fs(8), -O inode_checksum, which is not the default and covers only inodes; "
        "fs/f2fs/node.c read_node_page(); of a checkpoint, which has a checksum, the older "
        "of two copies is used without a report (fs/f2fs/checkpoint.c "
        "f2fs_get_valid_checkpoint())",
    ),
    Promise(
        "no-recovery",
        "A read-only mount with norecovery leaves out the roll-forward alone: it removes orphans.",
        "Documentation/filesystems/f2fs.rst, norecovery (the same as -o ro,disable_roll_forward); "
        "fs/f2fs/super.c f2fs_fill_super(), f2fs_recover_orphan_inodes()",
    ),
    Promise(
        "healed",
        "After an I/O error while fsynced data is rolled forward, the mount goes on without it.",
        'fs/f2fs/super.c f2fs_fill_super(): "Cannot recover all fsync data", then a second try with '
        "skip_recovery",
    ),
)

F2FS_POSIX_DENIES = (
    *F2FS_DENIES,
    Promise(
        "rename",
        "A renamed file may be lost when a new file with its old name is fsynced.",
        "Documentation/filesystems/f2fs.rst, fsync_mode: generic/342 passes in strict mode only; "
        "fs/f2fs/file.c need_do_checkpoint(), CP_RECOVER_DIR",
    ),
)

_SEGMENT = (
    "fs/nilfs2/file.c nilfs_sync_file(), fs/nilfs2/segment.c nilfs_construct_segment(): an fsync of what has "
    "changed writes everything that has"
)

NILFS2 = (
    Promise("fsync-directory-times", _TIMES, _SEGMENT, Tier.FS),
    Promise("fsync-names", _NAMES, _SEGMENT, Tier.FS),
    Promise("fsync-new-directories", _NEW_DIRECTORIES, f"{_SEGMENT}; {_LIKE_OTHERS}", Tier.FS),
    Promise(
        "metadata-order",
        _ORDER,
        "Documentation/filesystems/nilfs2.rst, order=relaxed (the default): modified data blocks alone may "
        "be written without a checkpoint; fs/nilfs2/recovery.c: the last valid checkpoint counts; only such "
        "data blocks are rolled forward (nilfs_recover_dsync_blocks())",
        Tier.SOMC,
    ),
    Promise(
        "ordered-data",
        _CUT,
        "Documentation/filesystems/nilfs2.rst, order=relaxed: equivalent to the ordered data mode of ext3",
        Tier.FS,
    ),
)

NILFS2_STRICT = (
    *NILFS2,
    Promise(
        "journaled-data",
        "A write is on disk if later metadata changes are: data and metadata belong to one point in time.",
        "Documentation/filesystems/nilfs2.rst, order=strict: preserves the sequence of all file operations, "
        "including overwriting of data blocks; no overtaking of events occurs in the recovered file system",
        Tier.FS,
    ),
)

NILFS2_DENIES = (
    Promise(
        "noticed",
        "Damaged metadata or data may be read as valid.",
        "fs/nilfs2/recovery.c nilfs_validate_log(): the checksums of a log are looked at when the last one "
        "is searched for, and not when its blocks are read",
    ),
)

# Without what holds only where the calls of a workload reach the filesystem as they are.
EXT4_OVERLAY = tuple(promise for promise in EXT4 if promise.key != "replace-via-rename")
# When a child is copied up, overlayfs restores the mtime of its directory, and not the ctime.
XFS_OVERLAY = tuple(promise for promise in XFS if promise.key != "fsync-directory-times")

OVERLAY_DENIES = (
    Promise(
        "room",
        "To remove what a lower layer has takes room in the upper one.",
        "Documentation/filesystems/overlayfs.rst, whiteouts and opaque directories; fs/overlayfs/dir.c "
        "ovl_remove_and_whiteout()",
    ),
)
