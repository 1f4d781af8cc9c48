"""
The filesystems under test: how each is made, mounted, checked, and what it promises.

In:       nothing.
Out:      PROFILES, a tuple of Profile; profile(name); COMMON, what every filesystem promises.
Not here: running mkfs or fsck (harness/), judging by the promises (the oracles).
"""

import msgspec


class UnknownProfile(Exception):
    """No profile has that name; the text lists those there are."""


class Promise(msgspec.Struct, frozen=True):
    """One thing the filesystem owes, and who says so (kernel document, commit, fstests number)."""

    key: str
    sentence: str
    source: str


class Profile(msgspec.Struct, frozen=True):
    """
    mkfs:       command; the image's path is appended. package: the Debian package that has it.
    mount_options: as for mount -o. size_bytes: of the device.
    fsck:       command; the image's path is appended. Exit status in fsck_clean means clean.
    promises:   beyond those of every filesystem (COMMON).
    fsck_noise: lines of the checker with one of these texts in them say nothing.
    config:     variants of the kernel's config that it needs.
    atomic_bytes: what the filesystem takes a device to write whole or not at all; model T cuts between.
    """

    name: str
    filesystem: str
    mkfs: tuple[str, ...]
    package: str
    fsck: tuple[str, ...]
    mount_options: str = ""
    size_bytes: int = 256 << 20
    fsck_clean: tuple[int, ...] = (0,)
    promises: tuple[Promise, ...] = ()
    fsck_noise: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    atomic_bytes: int = 512


COMMON = (
    Promise(
        "mount",
        "After a power failure at any moment the filesystem mounts, and the kernel survives it.",
        "Documentation/filesystems/ext4/journal.rst and xfs/xfs-delayed-logging-design.rst (recovery); "
        "fstests generic/455, generic/475, generic/482",
    ),
    Promise(
        "quiet",
        "Recovery and use of the recovered filesystem leave no warning, oops or error in the kernel log.",
        "fstests common/rc _check_dmesg(), run after every test",
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
        "fsync(2) (metadata of the inode); inode(7); fstests generic/066, generic/468, generic/535, "
        "generic/677, "
        "generic/745",
    ),
    Promise(
        "fsync-directory",
        "A completed fsync of a directory puts its entries on disk, those removed as well as those made.",
        "fsync(2), DESCRIPTION (entries need an fsync of the directory); fstests generic/321, generic/335",
    ),
    Promise(
        "fdatasync-data",
        "A completed fdatasync of a file puts its content, and the size needed to read it, on disk; msync "
        "with MS_SYNC and a write with O_DSYNC do so for their range, as a write with O_SYNC does what fsync "
        "does.",
        "fdatasync(2); msync(2) (MS_SYNC; mm/msync.c calls vfs_fsync_range() with datasync); open(2), NOTES, "
        "Synchronized I/O (include/linux/fs.h generic_write_sync()); fstests generic/325, generic/703",
    ),
    Promise(
        "rename",
        "A rename or exchange happens as a whole: what had a durable name keeps one, and does not have both.",
        "rename(2) (atomic replacement; RENAME_EXCHANGE: atomically exchange); fstests generic/322, "
        "generic/335, generic/336, generic/510",
    ),
    Promise(
        "links",
        "A link or unlink happens as a whole: the link count is the number of names.",
        "link(2), unlink(2); fstests generic/039, generic/104, generic/106, generic/107",
    ),
    Promise(
        "history",
        "A recovered name, attribute or byte was once there; nothing stale or foreign appears.",
        "fstests generic/042 (stale data); Documentation/admin-guide/ext4.rst (data=ordered)",
    ),
    Promise(
        "usable",
        "In the recovered filesystem everything can be read, made and removed.",
        "fstests generic/034, generic/039, generic/059 (directories that cannot be removed after replay)",
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
)

_BTRFS = (
    Promise(
        "fsync-names",
        "fsync of a file or directory persists the names it has then, and the directories above it exist.",
        "fs/btrfs/tree-log.c btrfs_log_inode_parent(), btrfs_log_all_parents(), log_all_new_ancestors(); "
        'd4682ba03ef6 ("Btrfs: sync log after logging new name"); '
        "fstests generic/498, generic/502, generic/510, generic/520, generic/526, generic/527, "
        "generic/547; of a file without names, that they are gone: generic/764; btrfs_log_inode_parent() "
        "commits where the "
        "subvolume is new; of a deleted snapshot's directory: btrfs/118, btrfs/120",
    ),
    Promise(
        "fdatasync-new-name",
        "fdatasync of a new file persists the name it was made with.",
        "fs/btrfs/file.c btrfs_sync_file() logs the inode and its names whatever `datasync` says",
    ),
    Promise(
        "metadata-order",
        "Without fsync, what survives is a whole transaction: all metadata changes up to a moment.",
        "fs/btrfs/transaction.c btrfs_commit_transaction(): one superblock write switches all trees; "
        "fsync writes a log tree beside it, so after an fsync nothing is asked",
    ),
)

_EXT4 = (
    Promise(
        "fsync-names",
        "fsync of a file or directory persists the names it has then, and the directories above it exist.",
        "fs/ext4/fsync.c ext4_fsync_journal() commits the transaction of i_sync_tid, and link, unlink and "
        "rename mark the inode dirty in theirs (fs/ext4/namei.c ext4_rename(), __ext4_link()); "
        "fstests generic/510, generic/520, generic/547",
    ),
    Promise(
        "fdatasync-new-name",
        "fdatasync of a new file persists the name it was made with.",
        "fs/ext4/ialloc.c __ext4_new_inode() sets i_datasync_tid by ext4_update_inode_fsync_trans(); the "
        "name is added by the same handle",
    ),
    Promise(
        "metadata-order",
        "Metadata changes (names, link counts, modes, extended attributes) survive as a prefix in order.",
        "Documentation/filesystems/ext4/journal.rst: one journal, transactions whole and replayed in order",
    ),
    Promise(
        "ordered-data",
        "What a truncate cut off does not come back once the truncate is on disk.",
        "Documentation/admin-guide/ext4.rst, data=ordered (the default): data are forced to disk before the "
        "metadata is committed; fs/ext4/inode.c __ext4_block_zero_page_range() orders the zeroed tail by "
        "ext4_jbd2_inode_add_write()",
    ),
    Promise(
        "replace-via-rename",
        "A rename over a file is not on disk before the size of the new file is.",
        "Documentation/admin-guide/ext4.rst, auto_da_alloc (the default): data blocks are forced to disk "
        "before the rename is committed; fs/ext4/namei.c ext4_rename() calls ext4_alloc_da_blocks()",
    ),
)

_XFS = (
    Promise(
        "fsync-names",
        "fsync of a file or directory persists the names it has then, and the directories above it exist.",
        "fs/xfs/xfs_file.c xfs_fsync_seq() forces the log up to the inode's last change, and create, link, "
        "remove and rename log the inode (fs/xfs/libxfs/xfs_dir2.c), while an exchange does not, so "
        "nothing is "
        "asked after one (fs/xfs/xfs_inode.c xfs_cross_rename()); fstests generic/510, generic/520, "
        "generic/547",
    ),
    Promise(
        "fdatasync-new-name",
        "fdatasync of a new file persists the name it was made with.",
        "fs/xfs/xfs_file.c xfs_fsync_seq(): a new inode has more than timestamps in ili_fsync_fields, so the "
        "log is forced up to the transaction that made it and its name",
    ),
    Promise(
        "metadata-order",
        "Metadata changes (names, link counts, modes, extended attributes) survive as a prefix in order.",
        "Documentation/filesystems/xfs/xfs-delayed-logging-design.rst: global ordering, commit records "
        "strictly in sequence",
    ),
)

_BTRFS_CHECK = ("btrfs", "check", "--readonly")

# mkfs.xfs 6.1 refuses a smaller device, and a log of less than 64 MiB (which it zeroes).
_XFS_SIZE_BYTES = 300 << 20

# What may not be torn, or the mount is refused: the superblock, which one checksum covers and of which the
# mount reads one copy. btrfs: BTRFS_SUPER_INFO_SIZE, fs/btrfs/disk-io.c open_ctree() ("superblock checksum
# mismatch"). ext4: struct ext4_super_block, 1024 B; ext4_superblock_csum_verify() in fs/ext4/super.c comes
# before the journal is replayed. FINDINGS.md tells what a device that tears at 512 B shows. XFS takes no more
# than a sector for granted: its log has the cycle number in each (fs/xfs/xfs_log.c xlog_pack_data()).
_BTRFS_ATOMIC_BYTES = 4096
_EXT4_ATOMIC_BYTES = 1024

PROFILES = (
    Profile(
        "btrfs",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=_BTRFS,
        atomic_bytes=_BTRFS_ATOMIC_BYTES,
    ),
    Profile(
        "btrfs-single",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f", "-m", "single", "-d", "single"),
        "btrfs-progs",
        _BTRFS_CHECK,
        mount_options="ssd",
        promises=_BTRFS,
        atomic_bytes=_BTRFS_ATOMIC_BYTES,
    ),
    Profile(
        "btrfs-noholes",
        "btrfs",
        # Both are the default since btrfs-progs 5.15 (mkfs.btrfs -O list-all, -R list-all); said
        # aloud for older ones.
        ("mkfs.btrfs", "-q", "-f", "-O", "no-holes", "-R", "free-space-tree"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=_BTRFS,
        atomic_bytes=_BTRFS_ATOMIC_BYTES,
    ),
    Profile(
        "btrfs-holes",
        "btrfs",
        # Without no-holes each hole has a file extent item, which fsync has to log and replay to keep:
        # code of its own (fs/btrfs/file.c fill_holes()). The default until btrfs-progs 5.15.
        ("mkfs.btrfs", "-q", "-f", "-O", "^no-holes"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=_BTRFS,
        atomic_bytes=_BTRFS_ATOMIC_BYTES,
    ),
    Profile(
        "ext4",
        "ext4",
        # Lazy initialisation would write in the background while a workload is recorded.
        ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"),
        "e2fsprogs",
        ("e2fsck", "-f", "-n"),
        size_bytes=128 << 20,
        promises=_EXT4,
        atomic_bytes=_EXT4_ATOMIC_BYTES,
    ),
    Profile(
        "xfs",
        "xfs",
        ("mkfs.xfs", "-q", "-f"),
        "xfsprogs",
        ("xfs_repair", "-n"),
        size_bytes=_XFS_SIZE_BYTES,
        promises=_XFS,
    ),
)


def profile(name: str) -> Profile:
    """Errors: UnknownProfile, with the names there are."""
    for candidate in PROFILES:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in PROFILES)
    raise UnknownProfile(f"no profile {name}; there are: {known}")


def promise(of: Profile, key: str) -> Promise | None:
    """The promise of that key: the filesystem's own, or every filesystem's."""
    for candidate in (*of.promises, *COMMON):
        if candidate.key == key:
            return candidate
    return None


def promise_text(of: Profile, key: str) -> str:
    """Sentence and source, for a reader."""
    found = promise(of, key)
    assert found is not None, f"{of.name} has no promise {key}"
    return f"{found.sentence} [{found.source}]"
