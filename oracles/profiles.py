"""
The filesystems under test: how each is made, mounted, checked, and what it promises.

In:       nothing.
Out:      PROFILES, a tuple of Profile; profile(name); promise(), asked(), and the same of all keys at once.
Not here: the promises' own words (promises.py), running mkfs or fsck (harness/), judging (the oracles).
"""

import msgspec

from oracles import promises
from oracles.promises import COMMON, Promise
from oracles.verdict import TIERS, Tier


class UnknownProfile(Exception):
    """No profile has that name; the text lists those there are."""


class Profile(msgspec.Struct, frozen=True):
    """
    mkfs:       command; the image's path is appended. package: the Debian package that has it.
    mount_options: as for mount -o. size_bytes: of the device.
    fsck:       command; the image's path is appended. Exit status in fsck_clean means clean. Empty where
                there is no checker.
    promises:   beyond those of every filesystem (COMMON). denies: those of either that it does not make, each
                with the sentence and the source that say so.
    fsck_noise: lines of the checker with one of these texts in them say nothing.
    config:     variants of the kernel's config that it needs.
    read_only_first: recovery begins with a mount of the device when it cannot be written, and one that must
                not recover and may not write; the mount that recovers is read-only, and only the second
                mount may write.
    log_left: so many basic blocks (512 B) of XFS, or blocks of ext4, before its end the log goes on; 0 for a
                 fresh log.
    room_bytes: at the end of the device, behind what mkfs gets: where the filesystem can grow to.
    devices:    bytes of each, of a filesystem on several. In mkfs and fsck "%0", "%1" stand for their
                images, in mount_options ("logdev=%1") for the devices; device 0 is mounted. They lie one
                behind the other on the disk, and size_bytes has one block more.
    redundant:  any one of the devices may be lost.
    quota:      what users and groups have is counted, and quotactl(2) tells it.
    overlay:    mount options of an overlayfs that is mounted above the filesystem, in which everything
                happens; "" for none. What the setup of a workload made is in a lower layer.
    setup:      operations, as a workload's text has them, that come before the setup of each workload.
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
    denies: tuple[Promise, ...] = ()
    setup: str = ""
    read_only_first: bool = False
    room_bytes: int = 0
    log_left: int = 0
    devices: tuple[int, ...] = ()
    redundant: bool = False
    quota: bool = False
    overlay: str = ""

    @property
    def device_sectors(self) -> tuple[int, ...]:
        """Of each of several devices, 512 B."""
        return tuple(size_bytes // 512 for size_bytes in self.devices)

    @property
    def agent_options(self) -> str:
        """The mount options as the agent reads them (guests/agent/slices.c, layers.c)."""
        if self.overlay:
            return f"overlay={self.overlay}:{self.mount_options}"
        if not self.devices:
            return self.mount_options
        slices = "slices=" + "+".join(map(str, self.device_sectors))
        return f"{slices},{self.mount_options}" if self.mount_options else slices

    @property
    def atomic_bytes(self) -> int:
        """What the filesystem takes a device to write whole or not at all; model T cuts between."""
        return ATOMIC_BYTES.get(self.filesystem, 512)


_BTRFS_CHECK = ("btrfs", "check", "--readonly")

# mkfs.btrfs 6.2 refuses less than 109 MiB with two copies of the metadata.
_BTRFS_SIZE_BYTES = 128 << 20

# Lazy initialisation would write in the background while a workload is recorded.
_EXT4_MKFS = ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0")
_EXT4_CHECK = ("e2fsck", "-f", "-n")
# mke2fs gives a journal of 4 MiB, as for all from 32 to 256 MiB.
_EXT4_SIZE_BYTES = 64 << 20

_F2FS_CHECK = ("fsck.f2fs", "-f", "--dry-run")
# mkfs.f2fs 1.15 fails below 52 MiB; a third is kept for cleaning.
_F2FS_SIZE_BYTES = 64 << 20

# For an image of 300 MiB xfs_repair starts 144 threads by itself: 17 ms of processor time, 3.4 ms with these
# options (xfsprogs 6.1, two processors). What is checked stays the same. -P: repair/prefetch.c only fills the
# buffer cache ahead. phase2_threads=0: workqueue_add() in libfrog/workqueue.c calls the function of each
# allocation group itself, one after another, where the threads of a queue take them in any order.
# bhash=512: buckets of the buffer cache, the least that main() in repair/xfs_repair.c derives from the size
# of the memory; of 24 GiB it derives 140,000, and initialises each.
_XFS_CHECK = ("xfs_repair", "-n", "-P", "-o", "bhash=512", "-o", "phase2_threads=0")
# mkfs.xfs 6.1 refuses a smaller device, and a log of less than 64 MiB (which it zeroes).
_XFS_SIZE_BYTES = 300 << 20

# Behind several devices: where FLUSHes are told to (harness/states/devices.py).
_TOLD_BYTES = 4096
_EXT4_JOURNAL_BYTES = 8 << 20
# It must have 1,024 blocks (JBD2_MIN_JOURNAL_BLOCKS) behind its two superblocks.
_EXT4_SHORT_JOURNAL_BYTES = 5 << 20
_XFS_LOG_BYTES = 64 << 20
_XFS_REALTIME_BYTES = 256 << 20

# More than a block group of ext4 (128 MiB) is not needed: one that was cut off at the end grows, too.
_ROOM_BYTES = 64 << 20

# mkfs leaves zeros, and with them nobody could see that a block shows what it held before. So these begin
# with files of stamped bytes that are on disk and then gone: files of the same sizes get their places.
_FILLERS = dict(enumerate(("4K", "16K", "64K", "4K", "16K", "64K", "1M")))
_USED = "\n".join(
    (
        *(f"write filler{number} 0 {size}" for number, size in _FILLERS.items()),
        "sync",
        *(f"unlink filler{number}" for number in _FILLERS),
        "remount",
    )
)

# Node blocks of files are written one behind the other into a segment of 512 (F2FS_BLKS_PER_SEG()). Each
# sync writes those that changed anew: after these few are left, and a workload goes over the end. Those of
# the last files were written by fsync, whose marks a cleaner must not take along (fs/f2fs/gc.c).
_NODES, _ROUNDS = 19, 26
_MARKED = 8
_SEGMENT_END = "\n".join(
    (
        *(f"creat filler{number}" for number in range(_NODES)),
        *(
            line
            for turn in range(_ROUNDS)
            for line in (*(f"chmod filler{number} {600 + turn % 2 * 40}" for number in range(_NODES)), "sync")
        ),
        *(f"unlink filler{number}" for number in range(_NODES)),
        *(line for number in range(_MARKED) for line in (f"creat kept{number}", f"fsync kept{number}")),
        "sync",
    )
)

# A journal of 1,024 blocks of 1 KiB goes on after a mount where it stood before (JBD2_CYCLE_RECORD).
_LAPPED_BY_ONE = "creat filler\nchattr filler +j\nwrite filler 0 960K\nsync\nunlink filler\nremount"
_LAPPED = "write filler 0 800K\nsync\nunlink filler\nremount"

# What may not be torn, or the mount is refused: the superblock, which one checksum covers and of which the
# mount reads one copy. btrfs: BTRFS_SUPER_INFO_SIZE, fs/btrfs/disk-io.c open_ctree() ("superblock checksum
# mismatch"). ext4: struct ext4_super_block, 1024 B; ext4_superblock_csum_verify() in fs/ext4/super.c comes
# before the journal is replayed; docs/findings/device-assumptions.md says what a device that tears at 512 B
# shows. f2fs: its blocks (F2FS_BLKSIZE), for its nodes have no checksum. XFS takes no more than a sector for
# granted: its log has the cycle number in each (fs/xfs/xfs_log.c xlog_pack_data()).
ATOMIC_BYTES = {"btrfs": 4096, "ext4": 1024, "f2fs": 4096}


# index: hard links stay together when one of them is copied up. redirect_dir: directories of a lower layer
# can be renamed.
_OVERLAY = "index=on,redirect_dir=on"


def _journal_device(
    name: str,
    options: str,
    journal_bytes: int = _EXT4_JOURNAL_BYTES,
    promised: tuple[Promise, ...] = promises.EXT4,
) -> Profile:
    """ext4 with a journal on a device of its own. 4 KiB blocks on both, as they must be equal. options: of
    the mount, behind that device's."""
    return Profile(
        name,
        "ext4",
        (*_EXT4_MKFS, "-b", "4096", "-O", "^has_journal", "%0"),
        "e2fsprogs",
        (*_EXT4_CHECK, "-j", "%1", "%0"),
        mount_options=f"journal_path=%1{options}",
        size_bytes=_EXT4_SIZE_BYTES + journal_bytes + _TOLD_BYTES,
        promises=promised,
        devices=(_EXT4_SIZE_BYTES, journal_bytes),
    )


# Names, contents and targets of symbolic links are encrypted, with a key that the kernel makes for tests
# (fs/crypto/keysetup.c).
_ENCRYPTED = "test_dummy_encryption"


def _btrfs_with(name: str, mkfs: tuple[str, ...] = (), options: str = "") -> Profile:
    """Arguments of mkfs.btrfs, mount options."""
    return Profile(
        name,
        "btrfs",
        ("mkfs.btrfs", "-q", "-f", *mkfs),
        "btrfs-progs",
        _BTRFS_CHECK,
        mount_options=options,
        size_bytes=_BTRFS_SIZE_BYTES,
        promises=promises.BTRFS,
    )


def _ext4_with(
    name: str,
    promised: tuple[Promise, ...],
    features: str = "",
    options: str = "",
    variant: str = "",
    denies: tuple[Promise, ...] = (),
    log_left: int = 0,
) -> Profile:
    """Features of mke2fs -O, mount options; the variant of the kernel's config that they need."""
    return Profile(
        name,
        "ext4",
        (*_EXT4_MKFS, "-O", features) if features else _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        mount_options=options,
        size_bytes=_EXT4_SIZE_BYTES,
        config=(variant,) if variant else (),
        promises=promised,
        denies=denies,
        log_left=log_left,
    )


def _f2fs_with(
    name: str,
    features: str,
    variants: tuple[str, ...] = (),
    options: str = "",
    quota: bool = False,
    setup: str = "",
) -> Profile:
    """Features of mkfs.f2fs -O, and the variants of the kernel's config that they need beside f2fs."""
    return Profile(
        name,
        "f2fs",
        ("mkfs.f2fs", "-q", "-f", *(("-O", features) if features else ())),
        "f2fs-tools",
        _F2FS_CHECK,
        mount_options=options,
        size_bytes=_F2FS_SIZE_BYTES,
        config=tuple(sorted(("f2fs", *variants))),
        promises=promises.F2FS,
        denies=promises.F2FS_POSIX_DENIES,
        quota=quota,
        setup=setup,
    )


def _xfs_with(
    name: str, mkfs: tuple[str, ...] = (), options: str = "", quota: bool = False, log_left: int = 0
) -> Profile:
    """Arguments of mkfs.xfs, mount options."""
    return Profile(
        name,
        "xfs",
        ("mkfs.xfs", "-q", "-f", *mkfs),
        "xfsprogs",
        _XFS_CHECK,
        mount_options=options,
        size_bytes=_XFS_SIZE_BYTES,
        promises=promises.XFS,
        quota=quota,
        log_left=log_left,
    )


PROFILES = (
    Profile(
        "btrfs",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=promises.BTRFS,
    ),
    Profile(
        "btrfs-verity",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        config=("verity",),
        promises=promises.BTRFS,
    ),
    Profile(
        "btrfs-single",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f", "-m", "single", "-d", "single"),
        "btrfs-progs",
        _BTRFS_CHECK,
        mount_options="ssd",
        promises=promises.BTRFS,
        denies=promises.BTRFS_SINGLE_DENIES,
    ),
    Profile(
        "btrfs-noholes",
        "btrfs",
        # Both are the default since btrfs-progs 5.15 (mkfs.btrfs -O list-all, -R list-all); said
        # aloud for older ones.
        ("mkfs.btrfs", "-q", "-f", "-O", "no-holes", "-R", "free-space-tree"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=promises.BTRFS,
    ),
    Profile(
        "btrfs-holes",
        "btrfs",
        # Without no-holes each hole has a file extent item, which fsync has to log and replay to keep:
        # code of its own (fs/btrfs/file.c fill_holes()). The default until btrfs-progs 5.15.
        ("mkfs.btrfs", "-q", "-f", "-O", "^no-holes"),
        "btrfs-progs",
        _BTRFS_CHECK,
        promises=promises.BTRFS,
    ),
    # btrfs(5): data is written in place where it can be, and has no checksums.
    _btrfs_with("btrfs-nodatacow", options="nodatacow"),
    # With compress alone a first block that does not shrink switches it off for the file (btrfs(5)).
    _btrfs_with("btrfs-compress", options="compress-force=zstd"),
    # Quota groups are counted in each commit, and btrfs check counts them again.
    _btrfs_with("btrfs-quota", mkfs=("-R", "quota")),
    # In the commit that frees them, and not in a thread 120 s later (fs/btrfs/discard.c).
    _btrfs_with("btrfs-discard", options="discard=sync"),
    # What is free stands in a file for each block group, and not in a tree; a cache of another generation
    # must not be believed (fs/btrfs/free-space-cache.c). The default before btrfs-progs 5.15.
    _btrfs_with("btrfs-space-cache", mkfs=("-R", "^free-space-tree"), options="space_cache=v1"),
    # A quarter of the default: trees, the log tree too, are higher, and split and merge sooner.
    _btrfs_with("btrfs-4k-nodes", mkfs=("-n", "4096")),
    Profile(
        "btrfs-nearly-full",
        "btrfs",
        # Data and metadata share their block groups, so both are short of space.
        ("mkfs.btrfs", "-q", "-f", "--mixed"),
        "btrfs-progs",
        _BTRFS_CHECK,
        size_bytes=32 << 20,
        promises=promises.BTRFS,
        setup="creat filler\nfallocate filler alloc 0 23M",
        denies=promises.NEARLY_FULL_DENIES,
    ),
    Profile(
        "btrfs-ro-first",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        size_bytes=_BTRFS_SIZE_BYTES,
        promises=promises.BTRFS,
        read_only_first=True,
    ),
    Profile(
        "btrfs-room",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        # btrfs_ioctl_resize() in fs/btrfs/ioctl.c refuses to resize to less than 256 MiB.
        size_bytes=256 << 20,
        promises=promises.BTRFS,
        room_bytes=_ROOM_BYTES,
    ),
    Profile(
        "btrfs-used",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        size_bytes=_BTRFS_SIZE_BYTES,
        promises=promises.BTRFS,
        setup=_USED,
    ),
    Profile(
        "btrfs-raid1",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1", "%0", "%1"),
        "btrfs-progs",
        (*_BTRFS_CHECK, "%0"),
        mount_options="device=%0,device=%1",
        size_bytes=2 * _BTRFS_SIZE_BYTES + _TOLD_BYTES,
        promises=promises.BTRFS_REDUNDANT,
        devices=(_BTRFS_SIZE_BYTES, _BTRFS_SIZE_BYTES),
        redundant=True,
    ),
    Profile(
        "btrfs-raid0",
        "btrfs",
        # Data are spread over both, and nothing of them is there twice.
        ("mkfs.btrfs", "-q", "-f", "-d", "raid0", "-m", "raid1", "%0", "%1"),
        "btrfs-progs",
        (*_BTRFS_CHECK, "%0"),
        mount_options="device=%0,device=%1",
        size_bytes=2 * _BTRFS_SIZE_BYTES + _TOLD_BYTES,
        promises=promises.BTRFS,
        devices=(_BTRFS_SIZE_BYTES, _BTRFS_SIZE_BYTES),
    ),
    Profile(
        "btrfs-raid10",
        "btrfs",
        # Data are spread over pairs of devices that hold the same. Each device has all metadata, for the
        # checker is given one image, and looks for others among block devices only (btrfs-progs,
        # common/device-scan.c btrfs_scan_devices()).
        ("mkfs.btrfs", "-q", "-f", "-d", "raid10", "-m", "raid1c4", "%0", "%1", "%2", "%3"),
        "btrfs-progs",
        (*_BTRFS_CHECK, "%0"),
        mount_options="device=%0,device=%1,device=%2,device=%3",
        size_bytes=4 * _BTRFS_SIZE_BYTES + _TOLD_BYTES,
        promises=promises.BTRFS_REDUNDANT,
        devices=(_BTRFS_SIZE_BYTES,) * 4,
        redundant=True,
    ),
    Profile(
        "ext4",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=128 << 20,
        promises=promises.EXT4,
    ),
    _ext4_with("ext4-data-journal", promises.EXT4_DATA_JOURNAL, options="data=journal"),
    _ext4_with("ext4-fast-commit", promises.EXT4_FAST_COMMIT, "fast_commit"),
    _ext4_with("ext4-verity", promises.EXT4, "verity", variant="verity"),
    _ext4_with("ext4-verity-fast-commit", promises.EXT4_FAST_COMMIT, "verity,fast_commit", variant="verity"),
    _ext4_with("ext4-encryption", promises.EXT4, "encrypt", _ENCRYPTED, "encryption"),
    _ext4_with(
        "ext4-writeback",
        promises.EXT4_WRITEBACK,
        options="data=writeback",
        denies=promises.EXT4_WRITEBACK_DENIES,
    ),
    # The commit record is on its way to the disk together with the blocks that it is about
    # (fs/jbd2/commit.c); not beside data=ordered (fs/ext4/super.c).
    _ext4_with(
        "ext4-async-commit",
        promises.EXT4_WRITEBACK,
        options="data=writeback,journal_async_commit",
        denies=promises.EXT4_WRITEBACK_DENIES,
    ),
    # The journal comes to its end, and the numbers of its transactions go on at 0.
    _ext4_with("ext4-log-end", promises.EXT4, log_left=24),
    _ext4_with("ext4-nodioread-nolock", promises.EXT4, options="nodioread_nolock"),
    # What a commit freed is discarded when it is on disk (fs/ext4/mballoc.c ext4_process_freed_data()).
    _ext4_with("ext4-discard", promises.EXT4, options="discard"),
    # A write gets its blocks at once (ext4_write_begin()), and the data of files with chattr +j go
    # through the journal, which they do not beside delayed allocation (ext4_inode_journal_mode()).
    _ext4_with("ext4-nodelalloc", promises.EXT4, options="nodelalloc"),
    # The values of extended attributes that are too long for the block beside the inode are in inodes of
    # their own (fs/ext4/xattr.c), whose data go through the journal.
    _ext4_with("ext4-ea-inode", promises.EXT4, "ea_inode"),
    Profile(
        "ext4-inline-data",
        "ext4",
        # Files of up to some 150 bytes and small directories are kept inside the inode (fs/ext4/inline.c).
        (*_EXT4_MKFS, "-O", "inline_data", "-I", "256"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4,
    ),
    Profile(
        "ext4-block-map",
        "ext4",
        # Files whose blocks are mapped one by one, as ext3's were (fs/ext4/indirect.c).
        (*_EXT4_MKFS, "-O", "^extent,^64bit,^flex_bg"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4,
    ),
    # Orphans stand in blocks of a file, and not in a list through their inodes (fs/ext4/orphan.c). The
    # default since e2fsprogs 1.47.0 (its release notes); Debian 12 leaves it off.
    _ext4_with("ext4-orphan-file", promises.EXT4, "orphan_file"),
    Profile(
        "ext4-ro-first",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4,
        read_only_first=True,
    ),
    Profile(
        "ext4-room",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES + _ROOM_BYTES,
        promises=promises.EXT4,
        room_bytes=_ROOM_BYTES,
    ),
    _journal_device("ext4-journal-device", ""),
    # New blocks are data that the commit waits for and flushes, and not reserved ones that are converted
    # after the write (ext4_should_dioread_nolock()): the ordering of the two devices is jbd2's.
    _journal_device("ext4-journal-device-ordered", ",dioread_lock"),
    # A small journal, and data=journal fills it: its tail moves (jbd2_update_log_tail()), and what lies
    # before it must be on the other device.
    _journal_device(
        "ext4-journal-device-short",
        ",data=journal",
        _EXT4_SHORT_JOURNAL_BYTES,
        promises.EXT4_DATA_JOURNAL,
    ),
    Profile(
        "ext4-used",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4,
        setup=_USED,
    ),
    Profile(
        "ext4-sync",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        # Each write and each change of names ends with a commit: ext4_handle_sync() in fs/ext4.
        mount_options="sync",
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4_SYNC,
    ),
    Profile(
        "ext4-one-group",
        "ext4",
        # Elsewhere a block group of its own keeps the blocks of directories and symlinks apart from data
        # (flex_bg; fs/ext4/balloc.c ext4_inode_to_goal_block()). Here there is one, and each takes what
        # others have freed. Its blocks are as large as pages, as on every device that is not tiny.
        (*_EXT4_MKFS, "-b", "4096", "-O", "^flex_bg"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4,
    ),
    Profile(
        "ext4-short-journal",
        "ext4",
        # The smallest journal there is, and a setup that leaves its head near the end: a workload's commits
        # pass the end and begin anew, and checkpoints write what they overtake. data=journal fills it.
        (*_EXT4_MKFS, "-J", "size=1"),
        "e2fsprogs",
        _EXT4_CHECK,
        mount_options="data=journal",
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4_DATA_JOURNAL,
        setup=_LAPPED,
    ),
    Profile(
        "ext4-fast-commit-short-journal",
        "ext4",
        # As ext4-short-journal, with fast commits, whose area lies behind the journal's own end. There are
        # none where all data go through the journal; here those of one file do, and it is gone.
        (*_EXT4_MKFS, "-O", "fast_commit", "-J", "size=1"),
        "e2fsprogs",
        _EXT4_CHECK,
        mount_options="nodelalloc",
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4_FAST_COMMIT,
        setup=_LAPPED_BY_ONE,
    ),
    Profile(
        "ext4-bigalloc",
        "ext4",
        # Blocks are given in clusters of 16, data and trees alike. ext4 keeps a fiftieth of them for splits
        # of extents (ext4_set_resv_clusters()): here ten, which a workload can use up.
        (*_EXT4_MKFS, "-b", "4096", "-O", "bigalloc", "-C", "65536"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=32 << 20,
        promises=promises.EXT4,
    ),
    Profile(
        "ext4-bigalloc-ordered",
        "ext4",
        # A write into a reservation converts it when it is sent, and not when it has ended
        # (ext4_should_dioread_nolock()).
        (*_EXT4_MKFS, "-b", "4096", "-O", "bigalloc", "-C", "65536"),
        "e2fsprogs",
        _EXT4_CHECK,
        mount_options="dioread_lock",
        size_bytes=32 << 20,
        promises=promises.EXT4,
    ),
    Profile(
        "ext4-fast-commit-inline",
        "ext4",
        # What an inode holds inside itself, data and small directories, is in a fast commit with the inode
        # (ext4_fc_write_inode() in fs/ext4/fast_commit.c), which takes the whole of it for these alone.
        (*_EXT4_MKFS, "-O", "fast_commit,inline_data", "-I", "256"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        promises=promises.EXT4_FAST_COMMIT,
    ),
    Profile(
        "ext4-quota",
        "ext4",
        # What users and groups have stands in hidden files that are journaled with each change
        # (ext4_mark_dquot_dirty() in fs/ext4/super.c); e2fsck counts it again.
        (*_EXT4_MKFS, "-O", "quota"),
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        config=("quota",),
        quota=True,
        promises=promises.EXT4,
    ),
    _xfs_with("xfs"),
    # Four blocks in a page: a part of a page may be unwritten or shared where the rest is not, and nodes
    # of a tree hold a quarter.
    _xfs_with("xfs-1k-blocks", mkfs=("-b", "size=1024")),
    # The log comes to its end within 5 KiB, and goes on at its begin with the next cycle number: in a fresh
    # log of 64 MiB no workload comes so far (fs/xfs/xfs_log_recover.c xlog_find_head()).
    _xfs_with("xfs-log-end", log_left=10),
    # The same with the largest log buffers. The header of a record then has eight blocks, and may lie across
    # the end: 284f1c2c9beb ("xfs: fix recovery failure when log record header wraps log end") (in v4.14).
    _xfs_with("xfs-log-end-256k", options="logbsize=256k", log_left=24),
    # The largest directory block there is, of 16 file system blocks: 1fea323ff005 ("xfs: reduce debug
    # overhead of dir leaf/node checks") (in v5.13) was measured with it.
    _xfs_with("xfs-64k-dirs", mkfs=("-n", "size=65536")),
    # A tree that says whom each block belongs to. The default since xfsprogs 6.5.0 (there bcd5b1b76,
    # "mkfs: enable reverse mapping by default"); said for older ones.
    _xfs_with("xfs-rmapbt", mkfs=("-m", "rmapbt=1")),
    # No shared blocks and no tree of owners: an unmap or a write is a transaction of its own, without the
    # deferred ones that follow it there.
    _xfs_with("xfs-plain", mkfs=("-m", "reflink=0,rmapbt=0", "-i", "sparse=0")),
    # What users, groups and projects have is logged with each change, and recovered
    # (fs/xfs/xfs_dquot_item_recover.c); after a mount that finds it in doubt it is counted anew.
    _xfs_with("xfs-quota", options="uquota,gquota,pquota", quota=True),
    # What a checkpoint of the log freed, once it is on disk (fs/xfs/xfs_log_cil.c xlog_cil_committed()).
    _xfs_with("xfs-discard", options="discard"),
    Profile(
        "xfs-wsync",
        "xfs",
        # What a call defers (blocks to free, entries of the trees of references and of owners) is in the
        # log before it is done, since the first transaction of the call is waited for: the log holds
        # intents without their done items, which elsewhere only a checkpoint at the right moment shows
        # (fs/xfs/xfs_log_cil.c xlog_cil_process_intents() leaves out those done in the same checkpoint).
        ("mkfs.xfs", "-q", "-f", "-m", "rmapbt=1"),
        "xfsprogs",
        _XFS_CHECK,
        mount_options="wsync",
        size_bytes=_XFS_SIZE_BYTES,
        # Between the transactions of a setxattr that makes the first block of attributes, that block is
        # empty: 7be3bd8856fb ("xfs: empty xattr leaf header blocks are not corruption") (in v5.19).
        # xfs_repair says so and ends with 0.
        fsck_noise=("would clear empty leaf attr block",),
        promises=promises.XFS_WSYNC,
    ),
    Profile(
        "xfs-ro-first",
        "xfs",
        ("mkfs.xfs", "-q", "-f"),
        "xfsprogs",
        _XFS_CHECK,
        size_bytes=_XFS_SIZE_BYTES,
        promises=promises.XFS,
        read_only_first=True,
    ),
    Profile(
        "xfs-room",
        "xfs",
        ("mkfs.xfs", "-q", "-f"),
        "xfsprogs",
        _XFS_CHECK,
        size_bytes=_XFS_SIZE_BYTES + _ROOM_BYTES,
        promises=promises.XFS,
        room_bytes=_ROOM_BYTES,
    ),
    Profile(
        "xfs-log-device",
        "xfs",
        ("mkfs.xfs", "-q", "-f", "-l", "logdev=%1,size=64m", "%0"),
        "xfsprogs",
        (*_XFS_CHECK, "-l", "%1", "%0"),
        mount_options="logdev=%1",
        size_bytes=_XFS_SIZE_BYTES + _XFS_LOG_BYTES + _TOLD_BYTES,
        promises=promises.XFS,
        devices=(_XFS_SIZE_BYTES, _XFS_LOG_BYTES),
    ),
    Profile(
        "xfs-realtime",
        "xfs",
        # Data of files are on a device of their own. A bitmap and a summary, files themselves, say what is
        # free there (fs/xfs/xfs_rtalloc.c). mkfs.xfs 6.1 has no shared blocks and no tree of owners with it.
        (
            *("mkfs.xfs", "-q", "-f", "-m", "reflink=0,rmapbt=0"),
            *("-d", "rtinherit=1", "-r", "rtdev=%1", "%0"),
        ),
        "xfsprogs",
        (*_XFS_CHECK, "-r", "%1", "%0"),
        mount_options="rtdev=%1",
        size_bytes=_XFS_SIZE_BYTES + _XFS_REALTIME_BYTES + _TOLD_BYTES,
        config=("realtime",),
        promises=promises.XFS,
        devices=(_XFS_SIZE_BYTES, _XFS_REALTIME_BYTES),
    ),
    Profile(
        "xfs-used",
        "xfs",
        ("mkfs.xfs", "-q", "-f"),
        "xfsprogs",
        _XFS_CHECK,
        size_bytes=_XFS_SIZE_BYTES,
        promises=promises.XFS,
        setup=_USED,
    ),
    Profile(
        "f2fs",
        "f2fs",
        ("mkfs.f2fs", "-q", "-f"),
        "f2fs-tools",
        _F2FS_CHECK,
        size_bytes=_F2FS_SIZE_BYTES,
        config=("f2fs",),
        promises=promises.F2FS,
        denies=promises.F2FS_POSIX_DENIES,
    ),
    _f2fs_with("f2fs-verity", "extra_attr,verity", ("verity",)),
    _f2fs_with("f2fs-encryption", "encrypt", ("encryption",), _ENCRYPTED),
    Profile(
        "f2fs-strict",
        "f2fs",
        ("mkfs.f2fs", "-q", "-f"),
        "f2fs-tools",
        _F2FS_CHECK,
        mount_options="fsync_mode=strict",
        size_bytes=_F2FS_SIZE_BYTES,
        config=("f2fs",),
        promises=promises.F2FS_STRICT,
        denies=promises.F2FS_DENIES,
    ),
    # What users and groups have stands in hidden files that a checkpoint writes with the rest
    # (f2fs_do_quota_sync() in fs/f2fs/super.c).
    _f2fs_with("f2fs-quota", "extra_attr,quota", ("quota",), quota=True),
    # FITRIM then discards at once, and otherwise leaves it to a thread that waits for idle times
    # (fs/f2fs/segment.c f2fs_trim_fs()).
    _f2fs_with("f2fs-nodiscard", "", options="nodiscard"),
    _f2fs_with("f2fs-segment-end", "", setup=_SEGMENT_END),
    # Two logs in place of six: nodes of files, those of directories and the others go into one
    # (fs/f2fs/segment.c __get_segment_type_2()). Recovery does not look there, so that each fsync writes a
    # checkpoint (CP_SPEC_LOG_NUM in fs/f2fs/file.c).
    _f2fs_with("f2fs-two-logs", "", options="active_logs=2"),
    Profile(
        "f2fs-ro-first",
        "f2fs",
        ("mkfs.f2fs", "-q", "-f"),
        "f2fs-tools",
        _F2FS_CHECK,
        size_bytes=_F2FS_SIZE_BYTES,
        config=("f2fs",),
        promises=promises.F2FS,
        denies=promises.F2FS_POSIX_DENIES,
        read_only_first=True,
    ),
    Profile(
        "f2fs-compress",
        "f2fs",
        # Four blocks of each file are a cluster, which is written at a new place as a whole.
        ("mkfs.f2fs", "-q", "-f", "-O", "extra_attr,compression"),
        "f2fs-tools",
        _F2FS_CHECK,
        mount_options="compress_algorithm=lz4,compress_extension=*",
        size_bytes=_F2FS_SIZE_BYTES,
        config=("f2fs", "compression"),
        promises=promises.F2FS,
        denies=promises.F2FS_POSIX_DENIES,
    ),
    Profile(
        "btrfs-overlay",
        "btrfs",
        ("mkfs.btrfs", "-q", "-f"),
        "btrfs-progs",
        _BTRFS_CHECK,
        size_bytes=_BTRFS_SIZE_BYTES,
        config=("overlay",),
        promises=promises.BTRFS,
        denies=promises.OVERLAY_DENIES,
        overlay=_OVERLAY,
    ),
    Profile(
        "ext4-overlay",
        "ext4",
        _EXT4_MKFS,
        "e2fsprogs",
        _EXT4_CHECK,
        size_bytes=_EXT4_SIZE_BYTES,
        config=("overlay",),
        promises=promises.EXT4_OVERLAY,
        denies=promises.OVERLAY_DENIES,
        overlay=_OVERLAY,
    ),
    Profile(
        "xfs-overlay",
        "xfs",
        ("mkfs.xfs", "-q", "-f"),
        "xfsprogs",
        _XFS_CHECK,
        size_bytes=_XFS_SIZE_BYTES,
        config=("overlay",),
        promises=promises.XFS_OVERLAY,
        denies=promises.OVERLAY_DENIES,
        overlay=_OVERLAY,
    ),
    Profile(
        "nilfs2",
        "nilfs2",
        # Segments of 1 MiB, an eighth of the usual: most logs then go over the end of one.
        ("mkfs.nilfs2", "-q", "-f", "-B", "256"),
        "nilfs-tools",
        (),
        size_bytes=64 << 20,
        config=("nilfs2",),
        promises=promises.NILFS2,
        denies=promises.NILFS2_DENIES,
    ),
    Profile(
        "nilfs2-strict",
        "nilfs2",
        # Data blocks never go to disk alone, as they do with the default, order=relaxed.
        ("mkfs.nilfs2", "-q", "-f", "-B", "256"),
        "nilfs-tools",
        (),
        mount_options="order=strict",
        size_bytes=64 << 20,
        config=("nilfs2",),
        promises=promises.NILFS2_STRICT,
        denies=promises.NILFS2_DENIES,
    ),
)


def profile(name: str) -> Profile:
    """Errors: UnknownProfile, with the names there are."""
    for candidate in PROFILES:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in PROFILES)
    raise UnknownProfile(f"there is no profile {name}. The profiles are {known}")


def on_device(of: Profile, size_bytes: int) -> Profile:
    """The profile on a device of this size, as a log from elsewhere has one; 0: on its own."""
    return msgspec.structs.replace(of, size_bytes=size_bytes) if size_bytes else of


def promises_of(of: Profile) -> dict[str, Promise]:
    """By key: the filesystem's own and every filesystem's, without those that it does not make."""
    denied = {each.key for each in of.denies}
    made = {each.key: each for each in (*reversed(COMMON), *reversed(of.promises))}
    return {key: each for key, each in made.items() if key not in denied}


def promise(of: Profile, key: str) -> Promise | None:
    """The promise of that key; None where it does not make it."""
    return promises_of(of).get(key)


def asked(of: Profile, key: str, tier: Tier) -> bool:
    """Whether a judge of that tier asks for it."""
    found = promise(of, key)
    return found is not None and TIERS.index(found.tier) <= TIERS.index(tier)


def asked_keys(of: Profile, tier: Tier) -> frozenset[str]:
    """Of all promises for which a judge of that tier asks."""
    weakest = TIERS[: TIERS.index(tier) + 1]
    return frozenset(key for key, made in promises_of(of).items() if made.tier in weakest)


def promise_text(of: Profile, key: str) -> str:
    """Sentence and source, for a reader."""
    found = promise(of, key)
    assert found is not None, f"{of.name} has no promise {key}"
    return f"{found.sentence} [{found.source}]"
