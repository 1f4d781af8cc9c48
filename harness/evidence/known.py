"""
How the known bugs of stock kernels show, by the ID of the bug's page in docs/findings/, and what mends them.

In:       nothing.
Out:      KNOWN; FIXES.
Not here: which of them a finding is (named.py); titles and the status upstream, which the page of each bug
          holds (bugs.py); muting. A run reports a known bug as BROKEN, names its ID, and ends with exit
          status 1. The suite requires that a stock kernel shows exactly these findings: it fails when one
          more appears, and when one no longer appears.
"""

from collections.abc import Collection

import msgspec

from oracles.profiles import PROFILES, profile
from reports.results import CRASH, DAMAGE, FAULTS

EVERYWHERE = "*"


class KnownBug(msgspec.Struct, frozen=True):
    """How a bug of stock kernels shows. id: of its page, docs/findings/ID.md. signatures: without the
    filesystem's name. workload: EVERYWHERE if timing decides which workloads show it.
    profiles: those that show it; empty means all profiles of the filesystem. kind: of results.KINDS.
    models: crash models of which one at least has to show it; empty means any.
    maybe: the workload shows it in some recordings only (order of threads), or only with a config variant, as
    every program does (workloads/programs/)."""

    id: str
    kernels: tuple[str, ...]
    filesystem: str
    workload: str
    signatures: tuple[str, ...]
    profiles: tuple[str, ...] = ()
    kind: str = CRASH
    maybe: bool = False
    models: tuple[str, ...] = ()

    def shown_on(self, kernel: str, profile_name: str) -> bool:
        return (
            kernel in self.kernels
            and profile(profile_name).filesystem == self.filesystem
            and (not self.profiles or profile_name in self.profiles)
        )

    def shown_by(self, models: Collection[str]) -> bool:
        """Whether a run of these crash models can show it."""
        return not self.models or not set(self.models).isdisjoint(models)


BOTH = ("6.1", "6.12")  # 6.1.192 and 6.12.117
OLD = ("5.10", *BOTH)  # and 5.10.262
FIRST = ("5.10",)  # in which fast commits are new
LATER = (*BOTH, "7.2")  # 7.2.13
EVERY = (*FIRST, *LATER)
# btrfs-single of 7.2.13 writes nine entries during the rename, and does not show it; why is not known.
WITH_LOG_ON_7_2 = ("btrfs", "btrfs-discard", "btrfs-holes", "btrfs-noholes")
# All that were run but btrfs-single, as above.
REPLACED_ON_7_2 = (
    *WITH_LOG_ON_7_2,
    "btrfs-nodatacow",
    "btrfs-compress",
    "btrfs-quota",
    "btrfs-4k-nodes",
    "btrfs-nearly-full",
)
RESERVED = "BTRFS-7"
RESERVED_SIGNATURES = (
    "durable: preallocation lost (fsynced file)",
    "durable: preallocation lost (synced file)",
)
RESERVED_BEHIND = "BTRFS-8"
LOGGED_BEFORE = "BTRFS-14"
LINKED_TMPFILE = "BTRFS-9"
SYMLINK = "BTRFS-5"
BEFORE_A_NAME = "BTRFS-11"
FIRST_NODE = "F2FS-3"
OVER_WHAT_IT_READS = "F2FS-10"
NO_FSYNC = "F2FS-11"
BESIDE_ANOTHER = "F2FS-12"
SINCE_AN_UNMOUNT = "F2FS-13"
HALF_A_LIST = "F2FS-14"
NO_SEGMENT = "NILFS2-1"
FLUSHED_BY_ANOTHER = "NILFS2-2"
COPIED_UP = "OVERLAY-1"
UNTOLD_BY_SYNCFS = "OVERLAY-2"
CLONED_UP = "OVERLAY-3"
HASHES_NOT_LOGGED = "BTRFS-19"
OUTGROWN = "BTRFS-20"
HASHES_IN_THE_FILE = "F2FS-17"
FROZEN_QUOTA = "F2FS-18"
HASHES_NOT_COMMITTED = "EXT4-27"
VALUES_NOT_DELETED = "EXT4-28"
DROPPED_UNTOLD = "EXT4-29"
# Where all blocks are in one group, or in groups whose bitmaps are read when they are needed.
GROUPS_READ = (
    "ext4-one-group",
    "ext4-journal-device",
    "ext4-journal-device-ordered",
    "ext4-bigalloc",
    "ext4-bigalloc-ordered",
    "ext4-block-map",
)
ZEROS_DROPPED = "F2FS-15"
NEVER_WRITTEN = "F2FS-16"
WAITS_FOR_INTENTS = "XFS-9"
WITHOUT_THE_JOURNAL = "EXT4-24"
FULL_AREA = "EXT4-25"
MOVED = "EXT4-26"
REPLAYED = "BTRFS-15"
REPLAYED_SIGNATURES = ("durable: mtime lost (fsynced directory)",)
STALE = "BTRFS-16"
EQUAL_HASHES = "BTRFS-17"
LOGGED_FIRST = "BTRFS-18"
REMOVED = "BTRFS-10"
REMOVED_SIGNATURES = ("durable: name came back (unlinked fsynced file)",)
NEARLY_FULL = ("btrfs-nearly-full",)
# With little space left the fsync mostly commits, as 7.2.13 does on btrfs-single.
ROOMY = tuple(one.name for one in PROFILES if one.filesystem == "btrfs" and one.name != "btrfs-nearly-full")
ROOMY_ON_7_2 = tuple(one for one in ROOMY if one != "btrfs-single")
REPLACED = "BTRFS-1"
REPLACED_SIGNATURES = ("atomic: replaced name gone (renamed file)", "durable: name lost (fsynced file)")
REPLACED_DIRECTORY_SIGNATURES = (
    "atomic: replaced name gone (renamed directory)",
    "durable: name lost (fsynced directory)",
)
WRONG_OBJECT = ("durable: wrong object (renamed fsynced file)",)
REPLACED_NAME_SIGNATURES = (
    "atomic: replaced name gone (renamed file)",
    "durable: name lost (hard-linked synced file)",
    "durable: name lost (renamed synced file)",
)
TAKEN_OVER_SIGNATURES = ("atomic: replaced name gone (renamed file)", "durable: name lost (synced file)")
REPLACED_NAME = "BTRFS-3"

EXTENDED = "EXT4-9"
UNDER_WAY = "EXT4-10"
ON_ITS_WAY = "BTRFS-2"

STOPPED_EXT4 = "EXT4-11"
STOPPED_BTRFS = "BTRFS-12"
STOPPED = "told: success after the filesystem stopped (filesystem)"
THROWN_AWAY = "EXT4-12"
SYNCFS = "EXT4-13"
REMOVED_BYTES = "EXT4-15"
UNCONVERTED = "EXT4-14"
# oracles/durable.py: way_made(), way_gone().
MADE = ("", "renamed ", "hard-linked ")
GONE = ("renamed ", "replaced ", "unlinked ")


def _however(kind: str, ways: tuple[str, ...], role: str) -> tuple[str, ...]:
    return tuple(f"{kind} ({way}{role})" for way in ways)


CANNOT_BE_OPENED = (
    "consistent: open failed (file)",
    "durable: data unreadable (fsynced file)",
    "usable: open failed (recovered tree)",
)
CANNOT_BE_OPENED_ANY_MORE = (*CANNOT_BE_OPENED, "durable: data unreadable (synced file)")
LARGER_BY_HASHES = (
    *CANNOT_BE_OPENED_ANY_MORE,
    *("durable: size lost (fsynced file)", "durable: size lost (synced file)"),
    *("historical: size that never was (new file)", "historical: size that never was (old file)"),
)
NO_MOUNT = ("mounts: mount refused (filesystem)", "quiet: filesystem error (kernel log)")
UNCLEAN = ("fsck: not clean (filesystem)",)
LENGTH_LOST = ("durable: preallocation lost (fsynced file)", "durable: size lost (fsynced file)")
UNCOUNTED = ("consistent: wrong link count (directory)", "fsck: not clean (filesystem)")
FAST = ("ext4-fast-commit", "ext4-verity-fast-commit", "ext4-fast-commit-short-journal")


def _fast_commit(
    bug: str, workload: str, signatures: tuple[str, ...], kernels: tuple[str, ...] = EVERY
) -> KnownBug:
    return KnownBug(bug, kernels, "ext4", workload, signatures, FAST)


# A kernel with our fix of the one f2fs bug that hides others.
F2FS_FIXED = "6.12+fix/f2fs-fsync-waits-for-first-node"
OPENED = "F2FS-4"
READ_ONLY = "f2fs-ro-first"
# Without f2fs-compress: no block of a compressed file is written in place, and a cluster is cut as a whole.
F2FS_PROFILES = (
    *("f2fs", "f2fs-strict", READ_ONLY, "f2fs-verity", "f2fs-encryption", "f2fs-nodiscard", "f2fs-quota"),
    "f2fs-segment-end",
)
UNFLUSHED = "XFS-1"
REALTIME_DEVICE = "XFS-7"
REALTIME_REUSED = "XFS-8"
OWNER_UNREAD = "XFS-10"
OWNER_OF_FREED = "XFS-11"
# A kernel with our fix of the first, which hides the second.
OWNER_READ = "fix/xfs-owner-change-of-a-recovered-inode"
WITHOUT_OWNERS = tuple(
    one.name
    for one in PROFILES
    if one.filesystem == "xfs" and not one.overlay and not any("rmapbt=1" in word for word in one.mkfs)
)
CLONED = "XFS-3"
CLONING = tuple(
    one.name
    for one in PROFILES
    if one.filesystem == "xfs" and not one.overlay and not any("reflink=0" in word for word in one.mkfs)
)
MEETS_FLUSH = "F2FS-2"
F2FS_FIXED_7_2 = "7.2+fix/f2fs-fsync-waits-for-first-node"
# Where an fsync is the first after a checkpoint, a stock kernel may lose its node, and with it what it shows.
F2FS_KERNELS = ((("6.12", "7.2"), True), ((F2FS_FIXED, F2FS_FIXED_7_2), False))
LARGER = "F2FS-1"
STRICT = "F2FS-5"
IN_PLACE = "F2FS-6"
UNORDERED = "F2FS-9"
KEPT = "F2FS-7"
NO_ERROR = "F2FS-8"
STRICT_FDATASYNC = (
    "copyrange-unaligned",
    "direct-dsync-into-reserved",
    "overwrite-fdatasync",
    "overwrite-reserved-fdatasync",
    "ranged-msync-of-both-ends",
    "ranged-msync-then-fsync",
    "ranged-msync-twice",
)


def _strict(workload: str, *signatures: str) -> KnownBug:
    return KnownBug(STRICT, ("6.12", F2FS_FIXED), "f2fs", workload, signatures, ("f2fs-strict",))


NAMELESS = "EXT4-2"
REUSED = "EXT4-4"
COUNTS = "EXT4-5"
FIRST_NAME = "EXT4-6"
ATTRIBUTES = "EXT4-7"
GROWN = "EXT4-17"
FLUSHED = "EXT4-18"
ASYNC = "EXT4-30"
INELIGIBLE = "EXT4-19"
DATA_DEVICE = "EXT4-20"
READS_AS_ZEROS = "EXT4-21"
LEFT_THE_INODE = "EXT4-22"
IN_THE_INODE = "EXT4-23"
BLOCKS = "EXT4-1"
LEFT_OUT = "EXT4-8"
DIRECTORY_LOST = ("durable: object lost (directory above fsynced file)",)

UNDER_WAY_SIGNATURES = ("durable: data lost (fsynced file)", "durable: size lost (fsynced file)")

SPOILT = "EXT4-3"
SPOILT_SIGNATURES = ("fsck: not clean (filesystem)", "quiet: filesystem error (kernel log)")
BIGALLOC = ("ext4-bigalloc", "ext4-bigalloc-ordered")
FAST_INLINE = ("ext4-fast-commit-inline",)
SHOWN_INLINE = (
    BLOCKS,
    UNDER_WAY,
    GROWN,
    FLUSHED,
    INELIGIBLE,
    NAMELESS,
    SPOILT,
    COUNTS,
    FIRST_NAME,
    ATTRIBUTES,
    EXTENDED,
)

# A copy up, which the workloads of XFS-1 make there, forces the log.
XFS_ITSELF = tuple(one.name for one in PROFILES if one.filesystem == "xfs" and not one.overlay)
# Which of them a kernel shows depends on what else made the inode or its data dirty.
NO_SEGMENT_SIGNATURES = (
    "atomic: no name (renamed file)",
    *_however("durable: name came back", GONE, "fsynced file"),
    *_however("durable: name came back", GONE, "fsynced directory"),
    *_however("durable: name lost", MADE, "fsynced file"),
    *_however("durable: object lost", MADE, "fsynced file"),
    *_however("durable: wrong object", MADE, "fsynced file"),
    "durable: object lost (directory above fsynced file)",
    "durable: object lost (renamed directory above fsynced file)",
    *(
        f"durable: {what} lost (fsynced {kind})"
        for what in ("mode", "owner", "mtime", "ctime", "flags")
        for kind in ("file", "directory")
    ),
)
FLUSHED_BY_ANOTHER_SIGNATURES = (
    *(
        f"durable: {what} lost ({how} file)"
        for what in ("data", "size", "preallocation", "name")
        for how in ("synced", "fsynced", "fdatasynced")
    ),
    *_however("durable: name came back", GONE, "entry of fsynced directory"),
    *_however("durable: name lost", MADE, "entry of fsynced directory"),
    "ordered: not a prefix (metadata)",
)
COPIED_UP_WORKLOADS = (
    "copyrange-by-dsync-descriptor",
    "copyrange-unaligned",
    "direct-dsync-over-direct-write",
    "direct-overwrite-then-fdatasync",
    "immutable-root-then-dsync-write",
    "mmapwrite-into-hole",
    "overwrite-fdatasync",
    "overwritten-in-place-evicted-fdatasync",
    "overwritten-while-another-flushes",
    "ranged-msync-of-both-ends",
    "ranged-msync-then-fsync",
    "ranged-msync-twice",
    "small-files-overwritten-in-their-inodes",
    "unaligned-copyrange-by-sync-descriptor",
)

FAST_COMMIT = (
    # These come and go with how threads take turns.
    *(
        KnownBug(bug, kernels, "ext4", EVERYWHERE, signatures, FAST)
        for bug, kernels, signatures in (
            (EXTENDED, EVERY, ("fsck: not clean (filesystem)",)),
            (UNDER_WAY, EVERY, UNDER_WAY_SIGNATURES),
        )
    ),
    *(  # which thread is how far
        KnownBug(bug, ("6.12",), "ext4", workload, signatures, (*FAST, *FAST_INLINE), maybe=True)
        for bug, workload, signatures in (
            (BLOCKS, "two-fsyncs-in-one-record-of-the-log", ("durable: name lost (fsynced file)",)),
            (FLUSHED, "two-fsyncs-in-one-record-of-the-log", ("durable: mode lost (fsynced file)",)),
            (NAMELESS, "defragment-beside-fsync", NO_MOUNT),
            (NAMELESS, "relocated-open-files-without-names", NO_MOUNT),
            (BLOCKS, "garbage-collected-without-a-checkpoint", ("durable: name lost (fsynced file)",)),
        )
    ),
    *(  # what the same workloads show beside inline data, named by the fixes
        KnownBug(bug, ("6.12",), "ext4", workload, signatures, FAST_INLINE, maybe=True)
        for bug, workload, signatures in (
            (BLOCKS, "rename-over-synced-file", ("durable: name lost (fsynced file)",)),
            (FULL_AREA, "many-files-made-then-one-fsynced", NO_MOUNT),
            (COUNTS, "rmdir-recreate-fsync", UNCOUNTED),
            (COUNTS, "snapshot-deleted-fsync-file-below", UNCOUNTED),
        )
    ),
    *(  # named by the fixes, in one run of the library
        KnownBug(bug, ("6.12",), "ext4", workload, signatures, FAST, maybe=True)
        for bug, workload, signatures in (
            ("EXT4-1", "freed-blocks-written-before-the-commit", ("durable: size lost (fsynced file)",)),
            ("EXT4-1", "many-files-made-then-one-fsynced", ("durable: name lost (fsynced file)",)),
            (
                "EXT4-1",
                "name-of-many-removed-and-linked-again",
                ("durable: name lost (renamed fsynced file)",),
            ),
            (
                "EXT4-1",
                "new-files-then-fsync-other",
                LENGTH_LOST,
            ),
            ("EXT4-1", "punch-at-the-edge-of-each-leaf", ("durable: data lost (fsynced file)",)),
            ("EXT4-10", "truncated-while-a-commit-passes", ("durable: data lost (fsynced file)",)),
            ("EXT4-17", "many-files-made-then-one-fsynced", UNCLEAN),
            ("EXT4-17", "one-name-more-in-a-directory-on-disk", UNCLEAN),
            ("EXT4-17", "unlinked-after-its-directory-was-logged", UNCLEAN),
            (
                "EXT4-18",
                "freeze-makes-all-durable",
                LENGTH_LOST,
            ),
            (
                "EXT4-18",
                "frozen-after-fsyncs-into-reserved-blocks",
                LENGTH_LOST,
            ),
            (
                "EXT4-18",
                "grown-between-fsyncs",
                LENGTH_LOST,
            ),
            ("EXT4-18", "read-only-after-checkpointed-pages", ("durable: mtime lost (fsynced file)",)),
            (
                "EXT4-2",
                "tmpfile-and-unlinked-file-at-a-commit",
                NO_MOUNT,
            ),
            (
                "EXT4-3",
                "threads-when-full",
                (
                    "fsck: not clean (filesystem)",
                    "quiet: filesystem error (kernel log)",
                ),
            ),
            (
                "EXT4-5",
                "unlinked-after-its-directory-was-logged",
                (
                    "consistent: wrong link count (directory)",
                    "fsck: not clean (filesystem)",
                ),
            ),
            ("EXT4-7", "large-change-then-small-ones", UNCLEAN),
            ("EXT4-7", "truncated-while-written-back", UNCLEAN),
            ("EXT4-7", "xattrs-over-leaves-then-write", UNCLEAN),
            ("EXT4-9", "fsync-during-extending-direct-write", UNCLEAN),
        )
    ),
    _fast_commit(FULL_AREA, "many-files-made-then-one-fsynced", NO_MOUNT, ("6.12", "7.2")),
    _fast_commit(NAMELESS, "tmpfile-fsynced-then-linked", NO_MOUNT),
    _fast_commit(NAMELESS, "unlinked-open-file-fsync", NO_MOUNT),
    _fast_commit(NAMELESS, "replaced-open-files", NO_MOUNT, ("6.12",)),
    _fast_commit(NAMELESS, "file-without-a-name-that-nobody-changes", NO_MOUNT, ("6.12",)),
    _fast_commit(NAMELESS, "open-removed-file-trimmed", NO_MOUNT, ("6.12",)),
    _fast_commit(NAMELESS, "tmpfiles-linked-and-closed-in-turn", NO_MOUNT, ("6.12",)),
    _fast_commit(
        BLOCKS,
        "freed-blocks-written-before-the-commit",
        ("durable: preallocation lost (fsynced file)",),
        ("6.12",),
    ),
    _fast_commit(NAMELESS, "unlinked-synced-open-file-fsync", NO_MOUNT),
    _fast_commit(NAMELESS, "descriptors-when-full", NO_MOUNT, BOTH),
    _fast_commit(SPOILT, "removed-filler-makes-room", SPOILT_SIGNATURES, BOTH),
    KnownBug(SPOILT, BOTH, "ext4", "threads-when-full", SPOILT_SIGNATURES, FAST, maybe=True),
    _fast_commit(REUSED, "rmdir-recreate-fsync", NO_MOUNT, LATER),
    _fast_commit(REUSED, "snapshot-deleted-fsync-file-below", NO_MOUNT, LATER),
    _fast_commit(LEFT_OUT, "rmdir-recreate-fsync", DIRECTORY_LOST, FIRST),
    _fast_commit(LEFT_OUT, "snapshot-deleted-fsync-file-below", DIRECTORY_LOST, FIRST),
    _fast_commit(
        LEFT_OUT,
        "link-old-file-into-new-directory",
        (
            *DIRECTORY_LOST,
            "atomic: half an unlink (hard-linked file)",
            "consistent: wrong link count (file)",
            "fsck: not clean (filesystem)",
            "ordered: not a prefix (metadata)",
        ),
        FIRST,
    ),
    _fast_commit(LEFT_OUT, "rename-over-synced-file", ("ordered: not a prefix (metadata)",), FIRST),
    _fast_commit(COUNTS, "rmdir-recreate-fsync", UNCOUNTED, FIRST),
    _fast_commit(COUNTS, "snapshot-deleted-fsync-file-below", UNCOUNTED, FIRST),
    _fast_commit(COUNTS, "link-into-new-directory-fsync-root", UNCOUNTED, LATER),
    _fast_commit(COUNTS, "link-old-file-into-new-directory", UNCOUNTED, LATER),
    _fast_commit(COUNTS, "open-directory-removed", UNCOUNTED),
    _fast_commit(COUNTS, "rename-over-synced-file", UNCOUNTED, LATER),
    _fast_commit(COUNTS, "rmdir-file-takes-its-name", UNCOUNTED),
    _fast_commit(COUNTS, "reused-name-beside-many-new-names", UNCOUNTED, LATER),
    _fast_commit(
        ATTRIBUTES,
        "many-xattrs-then-write",
        ("fsck: not clean (filesystem)",),
    ),
    *(
        _fast_commit(GROWN, workload, ("fsck: not clean (filesystem)",), ("6.12",))
        for workload in (
            "link-into-new-directory-fsync-root",
            "link-old-file-into-new-directory",
            "rename-over-synced-file",
            "reused-name-beside-many-new-names",
            "unlink-beside-many-new-names",
        )
    ),
    KnownBug(
        FLUSHED,
        ("6.12", "7.2"),
        "ext4",
        "recovery-frees-an-open-file",
        ("durable: name lost (fsynced file)",),
        (*FAST, *FAST_INLINE),
    ),
    KnownBug(
        ASYNC,
        ("6.12", "7.2"),
        "ext4",
        EVERYWHERE,
        ("mounts: mount refused (filesystem)", "quiet: filesystem error (kernel log)"),
        ("ext4-async-commit",),
        maybe=True,
    ),
    KnownBug(  # where recovery had to delete something, and so committed
        FLUSHED,
        ("6.12", "7.2"),
        "ext4",
        EVERYWHERE,
        ("kept: fsynced file lost (new file)", "kept: size changed (recovered tree)"),
        (*FAST, *FAST_INLINE),
        maybe=True,
        models=("A",),
    ),
    _fast_commit(
        FLUSHED,
        "fsync-after-thaw",
        ("durable: preallocation lost (fsynced file)", "durable: size lost (fsynced file)"),
        ("6.12", "7.2"),
    ),
    _fast_commit(
        FLUSHED,
        "remounted-read-only",
        (
            "durable: name lost (hard-linked fsynced file)",
            "durable: preallocation lost (fsynced file)",
            "durable: size lost (fsynced file)",
        ),
        ("6.12", "7.2"),
    ),
    _fast_commit(
        INELIGIBLE,
        "direct-dsync-beside-new-symlink",
        ("durable: name lost (fdatasynced file)",),
        ("6.12", "7.2"),
    ),
    _fast_commit(
        FIRST_NAME,
        "tmpfile-linked-fsync",
        (
            "atomic: half an unlink (hard-linked file)",
            "consistent: wrong link count (file)",
            "durable: data lost (fsynced file)",
            "durable: name lost (fsynced file)",
            "durable: preallocation lost (fsynced file)",
            "fsck: not clean (filesystem)",
            "ordered: not a prefix (metadata)",
        ),
    ),
    _fast_commit(
        BLOCKS,
        "many-names-fsync",
        ("durable: name came back (unlinked fsynced file)", "durable: name lost (hard-linked fsynced file)"),
        LATER,
    ),
    _fast_commit(BLOCKS, "many-names-fsync", NO_MOUNT, FIRST),
    _fast_commit(
        BLOCKS,
        "unlink-beside-many-new-names",
        ("durable: name came back (unlinked fsynced file)", *NO_MOUNT),
        LATER,
    ),
    _fast_commit(
        BLOCKS,
        "replaced-beside-many-new-names",
        (
            "atomic: no name (renamed file)",
            "durable: name lost (fsynced file)",
            "durable: object lost (renamed fsynced file)",
            *NO_MOUNT,
        ),
        ("6.12",),
    ),
    KnownBug(
        BLOCKS,
        ("6.12",),
        "ext4",
        "directory-of-new-files-fsynced-beside-others",
        ("durable: mode lost (fsynced file)", *NO_MOUNT),
        FAST,
        maybe=True,
    ),
    *(
        KnownBug(bug, LATER, "ext4", "made-and-removed-beside-fsyncs", signatures, FAST, maybe=True)
        for bug, signatures in (
            (BLOCKS, ("durable: mode lost (fsynced file)", *NO_MOUNT)),
            (COUNTS, UNCOUNTED),
        )
    ),
    _fast_commit(
        BLOCKS,
        "link-removed-beside-many-new-names",
        ("durable: name lost (fsynced file)", *NO_MOUNT),
        ("6.12",),
    ),
    _fast_commit(
        BLOCKS,
        "reused-name-beside-many-new-names",
        ("durable: wrong object (fsynced file)", *NO_MOUNT),
        LATER,
    ),
)

WHITEOUT = "BTRFS-4"
NOT_SINGLE = tuple(one.name for one in PROFILES if one.filesystem == "btrfs" and one.name != "btrfs-single")
WHITEOUT_SIGNATURES = ("durable: name lost (fsynced chr)", "durable: name lost (fsynced file)")
EXCHANGED = "BTRFS-13"
EXCHANGED_SIGNATURES = ("durable: name lost (fsynced file)", "durable: name lost (renamed fsynced file)")

GROWING = ("grown-between-fsyncs", "grown-and-used-at-once")

# What an fsync of f2fs made durable.
FSYNCED_SIGNATURES = (
    "atomic: no name (renamed file)",
    "atomic: replaced name gone (renamed file)",
    "durable: ctime lost (fsynced file)",
    "durable: data lost (fdatasynced file)",
    "durable: data lost (fsynced file)",
    "durable: flags lost (fsynced file)",
    "durable: mode lost (fsynced file)",
    "durable: mtime lost (fsynced file)",
    *_however("durable: name came back", GONE, "fsynced file"),
    "durable: name lost (fdatasynced file)",
    *_however("durable: name lost", MADE, "fsynced file"),
    *_however("durable: object lost", MADE, "fsynced file"),
    "durable: owner lost (fsynced file)",
    "durable: preallocation lost (fdatasynced file)",
    "durable: preallocation lost (fsynced file)",
    "durable: size lost (fdatasynced file)",
    "durable: size lost (fsynced file)",
    *_however("durable: wrong object", MADE, "fsynced file"),
    "durable: xattr came back (fsynced file)",
    "durable: xattr lost (fsynced file)",
    "durable: xattr value lost (fsynced file)",
)

KNOWN = (
    *(
        KnownBug(DATA_DEVICE, ("6.12",), "ext4", workload, (signature,), ("ext4-journal-device",), maybe=True)
        for workload, signature in (
            ("append-fsync-repeated", "durable: data lost (fsynced file)"),
            ("append-fdatasync-repeated", "durable: data lost (fdatasynced file)"),
            ("overwritten-between-syncs", "durable: data lost (synced file)"),
        )
    ),
    # Only where xfs_repair of this machine is older than 7.0.0.
    KnownBug("XFS-5", ("6.12", "7.2"), "xfs", "large-attribute-set-beside-an-fsync", UNCLEAN, maybe=True),
    *(
        KnownBug("XFS-5", ("6.12", "7.2"), "xfs", workload, UNCLEAN, ("xfs-wsync",), maybe=True)
        for workload in (
            "attributes-of-two-kinds-between-fsyncs",
            "fsync-after-a-checkpoint-into-an-empty-list",
        )
    ),
    # Only where xfs_repair of this machine has not the check of v6.10.
    KnownBug("XFS-6", ("6.12", "7.2"), "xfs", "long-symlink-loses-its-attribute", UNCLEAN, maybe=True),
    *(
        KnownBug(bug, ("6.12", "7.2"), filesystem, workload, UNCLEAN, (f"{filesystem}-room",))
        for bug, filesystem in (("EXT4-16", "ext4"), ("XFS-4", "xfs"))
        for workload in GROWING
    ),
    KnownBug("XFS-4", ("6.12", "7.2"), "xfs", "grown-and-used-in-each-group", UNCLEAN, ("xfs-room",)),
    KnownBug(
        "EXT4-16",
        ("6.12", "7.2"),
        "ext4",
        "grown-and-used-in-each-group",
        (*UNCLEAN, "mounts: mount refused (filesystem)", "quiet: filesystem error (kernel log)"),
        ("ext4-room",),
    ),
    KnownBug(WHITEOUT, OLD, "btrfs", "fsynced-file-leaves-whiteout", WHITEOUT_SIGNATURES),
    KnownBug(WHITEOUT, ("7.2",), "btrfs", "fsynced-file-leaves-whiteout", WHITEOUT_SIGNATURES, NOT_SINGLE),
    *(
        KnownBug(
            EXCHANGED, kernels, "btrfs", "exchange-fsynced-with-new-file", EXCHANGED_SIGNATURES, profiles
        )
        # btrfs-nearly-full of 6.12 and 7.2 mostly has no space for this rename.
        for kernels, profiles in ((("6.1",), ()), (("6.12",), ROOMY), (("7.2",), ROOMY_ON_7_2))
    ),
    KnownBug(
        CLONED,
        EVERY,
        "xfs",
        "clone-overwrites-truncated-block",
        ("durable: data lost (synced file)", "historical: stale data (old file)"),
        CLONING,
    ),
    *FAST_COMMIT,
    # Small directories and files have no blocks there: not every workload shows what it shows with blocks.
    *(
        msgspec.structs.replace(bug, kernels=("6.12",), profiles=FAST_INLINE, maybe=True)
        for bug in FAST_COMMIT
        if bug.id in SHOWN_INLINE and "6.12" in bug.kernels
    ),
    *(
        KnownBug(LEFT_THE_INODE, LATER, "ext4", workload, NO_MOUNT, FAST_INLINE)
        for workload in ("append-few-bytes-fdatasync", "small-files-on-disk-outgrow-their-inodes")
    ),
    KnownBug(LEFT_THE_INODE, LATER, "ext4", "small-file-grows", NO_MOUNT, FAST_INLINE, maybe=True),
    KnownBug(
        IN_THE_INODE,
        LATER,
        "ext4",
        "small-files-overwritten-in-their-inodes",
        ("durable: data lost (fdatasynced file)",),
        ("ext4-inline-data", *FAST_INLINE),
    ),
    KnownBug(
        UNORDERED,
        ("6.12", "7.2"),
        "f2fs",
        "small-files-on-disk-outgrow-their-inodes",
        ("durable: data lost (synced file)",),
        ("f2fs", "f2fs-strict"),
        maybe=True,  # in model R
    ),
    KnownBug(
        READS_AS_ZEROS,
        ("6.12",),
        "ext4",
        "holes-punched-when-full",
        ("durable: data lost (fsynced file)",),
        BIGALLOC,
    ),
    KnownBug(
        READS_AS_ZEROS,
        ("6.12",),
        "ext4",
        "reservations-that-do-not-fit",
        ("durable: data lost (fsynced file)",),
        ("ext4",),
        maybe=True,  # where a page has several blocks: with pages of 64 KiB
    ),
    *(_strict(workload, "durable: data lost (fdatasynced file)") for workload in STRICT_FDATASYNC),
    _strict("punch-hole-across-end-fsync", "durable: data lost (fsynced file)"),
    _strict(
        "fsync-after-sync",
        "durable: preallocation lost (fsynced file)",
        "durable: size lost (fsynced file)",
    ),
    *(
        KnownBug(
            LARGER,
            kernels,
            "f2fs",
            "punch-hole-ends-behind-the-end",
            (
                "durable: size lost (fsynced file)",
                "durable: size lost (synced file)",
                "historical: size that never was (old file)",
            ),
            F2FS_PROFILES,
            maybe=maybe,
        )
        for kernels, maybe in F2FS_KERNELS
    ),
    KnownBug(
        NO_FSYNC,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        "direct-dsync-beside-new-symlink",
        ("durable: name lost (fdatasynced file)",),
    ),
    *(
        KnownBug(
            WITHOUT_THE_JOURNAL,
            ("6.12", "7.2"),
            "ext4",
            workload,
            (
                "fsck: not clean (filesystem)",
                "mounts: written without recovery (filesystem)",
                "quiet: filesystem error (kernel log)",
            ),
            ("ext4-ro-first",),
        )
        for workload in ("orphan-in-the-middle-closed", "tmpfile-and-unlinked-file-at-a-commit")
    ),
    KnownBug(
        BESIDE_ANOTHER,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        "same-file-fsynced-by-two-at-once",
        ("durable: xattr lost (fsynced file)",),
    ),
    *(  # where the second fsync begins before the first has written, or after
        KnownBug(
            BESIDE_ANOTHER,
            ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
            "f2fs",
            workload,
            signatures,
            maybe=True,
        )
        for workload, signatures in (
            (
                "same-file-fsynced-by-two-at-once",
                tuple(
                    f"durable: {what} lost ({how} file)"
                    for what in ("preallocation", "size")
                    for how in ("fsynced", "fdatasynced")
                ),
            ),
            ("same-file-fsynced-twice-at-once", ("durable: xattr lost (fsynced file)",)),
            (
                "truncated-while-written-back",
                ("durable: data lost (fsynced file)", "durable: size lost (fsynced file)"),
            ),
        )
    ),
    KnownBug(
        HALF_A_LIST,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        "attribute-replaced-beside-others-in-a-node",
        ("durable: xattr lost (synced file)",),
        models=("T",),
    ),
    KnownBug(
        HALF_A_LIST,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        "attributes-fsynced-with-their-first-node",
        ("consistent: listxattr failed (file)", "quiet: filesystem error (kernel log)"),
        models=("T",),
    ),
    KnownBug(
        ZEROS_DROPPED,
        ("6.12", F2FS_FIXED),
        "f2fs",
        "truncate-down-and-up",
        ("durable: data lost (fsynced file)",),
        ("f2fs-compress",),
    ),
    KnownBug(
        NEVER_WRITTEN,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        "direct-write-to-shared-fails",
        ("consistent: read failed (file)", "usable: read failed (recovered tree)"),
        ("f2fs-compress",),
        kind=FAULTS,
    ),
    KnownBug(
        NEVER_WRITTEN,
        ("6.12", F2FS_FIXED),
        "f2fs",
        "write-error-told-by-syncfs",
        ("contained: data lost (synced file)",),
        ("f2fs-compress",),
        kind=FAULTS,
    ),
    KnownBug(
        WAITS_FOR_INTENTS, ("6.12", "7.2"), "xfs", EVERYWHERE, ("alive: hang (xfs_read_agf())",), kind=DAMAGE
    ),
    KnownBug(
        SINCE_AN_UNMOUNT,
        ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
        "f2fs",
        EVERYWHERE,
        (
            *FSYNCED_SIGNATURES,
            "quiet: filesystem error (kernel log)",
            "stable: mode changed (recovered tree)",
            "stable: name appeared (recovered tree)",
            "stable: size changed (recovered tree)",
            "stable: times changed (recovered tree)",
        ),
        (READ_ONLY,),
    ),
    *(  # what a first mount that may write does at the open
        KnownBug(
            OPENED,
            ("6.12", F2FS_FIXED),
            "f2fs",
            workload,
            (
                "consistent: open failed (file)",
                "stable: content changed (recovered tree)",
                "usable: open failed (recovered tree)",
                *also,
            ),
            (READ_ONLY,),
        )
        for workload, also in (
            ("direct-dsync-write-extends", ("durable: data unreadable (synced file)",)),
            ("synchronous-writes-when-full", ()),
        )
    ),
    KnownBug(NO_SEGMENT, ("6.12", "7.2"), "nilfs2", EVERYWHERE, NO_SEGMENT_SIGNATURES),
    *(
        KnownBug(NO_SEGMENT, ("6.12", "7.2"), "nilfs2", workload, signatures)
        for workload, signatures in (
            ("chmod-fsync", ("durable: mode lost (fsynced directory)", "durable: mode lost (fsynced file)")),
            ("unlink-one-of-two-names", ("durable: name came back (unlinked fsynced file)",)),
        )
    ),
    KnownBug(
        NO_SEGMENT,
        ("6.12", "7.2"),
        "nilfs2",
        "reads-fail-after-eviction",
        ("told: name lost untold (fsynced file)",),
        kind=FAULTS,
    ),
    KnownBug(FLUSHED_BY_ANOTHER, ("6.12", "7.2"), "nilfs2", EVERYWHERE, FLUSHED_BY_ANOTHER_SIGNATURES),
    *(
        KnownBug(
            COPIED_UP,
            ("6.12", "7.2"),
            "ext4",
            workload,
            ("durable: data lost (fdatasynced file)",),
            ("ext4-overlay",),
        )
        for workload in COPIED_UP_WORKLOADS
    ),
    KnownBug(
        CLONED_UP,
        ("6.12", "7.2"),
        "btrfs",
        EVERYWHERE,
        ("durable: size lost (synced file)",),
        ("btrfs-overlay",),
    ),
    *(
        KnownBug(
            UNTOLD_BY_SYNCFS,
            ("6.12", "7.2"),
            "xfs",
            workload,
            ("told: size lost untold (synced file)",),
            ("xfs-overlay",),
            FAULTS,
        )
        for workload in ("syncfs-cannot-read-free-space", "syncfs-cannot-read-where-nodes-lie")
    ),
    *(
        KnownBug(
            HASHES_NOT_LOGGED, ("6.12", "7.2"), "btrfs", workload, signatures, ("btrfs-verity",), maybe=maybe
        )
        for workload, signatures, maybe in (
            ("verified-file-fsynced", CANNOT_BE_OPENED_ANY_MORE, False),
            ("verified-file-renamed-into-place", CANNOT_BE_OPENED, False),
            ("verified-file-with-holes", CANNOT_BE_OPENED_ANY_MORE, False),
            ("verified-file-with-two-levels", CANNOT_BE_OPENED_ANY_MORE, False),
            ("verified-new-file-fsynced", CANNOT_BE_OPENED, False),
            ("verity-when-full", CANNOT_BE_OPENED_ANY_MORE, False),
            ("verity-beside-fsync", CANNOT_BE_OPENED_ANY_MORE, True),
            ("verity-beside-its-fsync", CANNOT_BE_OPENED_ANY_MORE, True),
        )
    ),
    KnownBug(
        HASHES_NOT_COMMITTED,
        ("6.12",),
        "ext4",
        "verified-file-with-holes",
        CANNOT_BE_OPENED_ANY_MORE,
        ("ext4-verity-fast-commit",),
    ),
    *(
        KnownBug(
            VALUES_NOT_DELETED,
            ("6.12", "7.2"),
            "ext4",
            workload,
            ("fsck: not clean (filesystem)", "quiet: filesystem error (kernel log)"),
            ("ext4-ea-inode",),
        )
        for workload in ("removed-synchronous-file-with-a-long-value", "young-attributes-of-a-removed-file")
    ),
    *(
        KnownBug(
            DROPPED_UNTOLD,
            ("6.12", "7.2"),
            "ext4",
            workload,
            (f"told: preallocation lost untold ({file})", f"told: size lost untold ({file})"),
            profiles,
            FAULTS,
        )
        for workload, file, profiles in (
            ("syncfs-cannot-read-free-space", "synced file", GROUPS_READ),
            ("syncfs-cannot-read-where-nodes-lie", "synced file", ("ext4-block-map",)),
            ("data-dropped-before-the-fsync", "fsynced file", GROUPS_READ),
        )
    ),
    KnownBug(
        OUTGROWN,
        ("6.12", "7.2"),
        "btrfs",
        "item-of-names-outgrows-its-leaf",
        ("mounts: panic (filesystem)",),
        maybe=True,  # where the leaf has room for it still, or nodes have another size
    ),
    *(
        KnownBug(
            FROZEN_QUOTA,
            ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
            "f2fs",
            workload,
            ("consistent: quota differs (directory)",),
            ("f2fs-quota",),
        )
        for workload in (
            "freeze-makes-all-durable",
            "long-symlinks-removed-beside-fsyncs",
            "two-fsyncs-in-one-record-of-the-log",
        )
    ),
    KnownBug(HASHES_IN_THE_FILE, ("6.12", "7.2"), "f2fs", EVERYWHERE, LARGER_BY_HASHES, ("f2fs-verity",)),
    KnownBug(FIRST_NODE, ("6.12", "7.2"), "f2fs", EVERYWHERE, FSYNCED_SIGNATURES, models=("O", "R", "T")),
    KnownBug(OVER_WHAT_IT_READS, ("6.12", "7.2"), "f2fs", EVERYWHERE, FSYNCED_SIGNATURES, models=("N",)),
    KnownBug(REPLACED, BOTH, "btrfs", "replace-synced-fsync-other", REPLACED_SIGNATURES, ROOMY),
    KnownBug(REPLACED, BOTH, "btrfs", "rename-over-synced-file", REPLACED_SIGNATURES, ROOMY),
    # Space decides whether the fsync commits, and whether there is room for the exchange.
    *(
        KnownBug(bug, ("6.12",), "btrfs", workload, signatures, NEARLY_FULL, maybe=True)
        for bug, workload, signatures in (
            (REPLACED, "replace-synced-fsync-other", REPLACED_SIGNATURES),
            (REPLACED, "rename-over-synced-file", REPLACED_SIGNATURES),
            (EXCHANGED, "exchange-fsynced-with-new-file", EXCHANGED_SIGNATURES),
        )
    ),
    # Lack of space, or a worker, decides when delayed items go into the tree.
    KnownBug(REPLAYED, ("6.12",), "btrfs", EVERYWHERE, REPLAYED_SIGNATURES, NEARLY_FULL),
    KnownBug(REPLAYED, ("6.12",), "btrfs", "replaced-beside-many-new-names", REPLAYED_SIGNATURES, ROOMY),
    *(
        KnownBug(REPLAYED, ("6.12",), "btrfs", program, REPLAYED_SIGNATURES, ("btrfs",), maybe=True)
        for program in ("postgresql-fdatasync", "postgresql-open-datasync")
    ),
    KnownBug(
        STALE,
        ("6.12", "7.2"),
        "btrfs",
        "link-removed-beside-many-new-names",
        ("durable: name came back (unlinked entry of fsynced directory)",),
    ),
    KnownBug(REPLACED, ("7.2",), "btrfs", "replace-synced-fsync-other", REPLACED_SIGNATURES, WITH_LOG_ON_7_2),
    KnownBug(REPLACED, ("7.2",), "btrfs", "rename-over-synced-file", REPLACED_SIGNATURES, WITH_LOG_ON_7_2),
    KnownBug(
        id="BTRFS-6",
        kernels=("6.1",),
        filesystem="btrfs",
        workload="rename-evicted-file",
        signatures=("atomic: both names (renamed file)", "durable: name came back (renamed fsynced file)"),
    ),
    KnownBug(
        id=SYMLINK,
        kernels=BOTH,
        filesystem="btrfs",
        workload="synced-symlink-renamed",
        signatures=(
            "durable: name came back (renamed entry of fsynced directory)",
            "durable: name lost (renamed entry of fsynced directory)",
        ),
    ),
    KnownBug(
        ON_ITS_WAY,
        EVERY,
        "btrfs",
        "same-file-fsynced-at-once-in-first-log",
        ("durable: data lost (fsynced file)",),
    ),
    KnownBug(RESERVED, BOTH, "btrfs", "reserved-tail-then-rename", RESERVED_SIGNATURES),
    KnownBug(RESERVED, LATER, "btrfs", "reserved-tail-then-grown", RESERVED_SIGNATURES),
    KnownBug(
        RESERVED,
        ("6.12",),
        "btrfs",
        "reserved-across-end-and-behind",
        ("told: preallocation lost untold (fsynced file)",),
        kind=FAULTS,
    ),
    KnownBug(
        OPENED,
        ("6.12", "7.2", F2FS_FIXED),
        "f2fs",
        EVERYWHERE,
        ("stable: blocks changed (recovered tree)", "stable: times changed (recovered tree)"),
    ),
    *(
        KnownBug(UNFLUSHED, EVERY, "xfs", workload, ("durable: data lost (synced file)",), XFS_ITSELF)
        for workload in ("sync-after-log-was-forced", "syncfs-after-log-was-forced")
    ),
    *(  # where two writes fall into one tick of the clock, or threads meet so
        KnownBug(UNFLUSHED, EVERY, "xfs", workload, ("durable: data lost (synced file)",), maybe=True)
        for workload in ("overwritten-between-syncs", "changed-again-and-again-beside-relocation")
    ),
    KnownBug(
        MOVED,
        ("6.12",),
        "ext4",
        "overwritten-after-defragment",
        ("durable: data lost (fdatasynced file)", "durable: data lost (fsynced file)"),
        (*FAST, *FAST_INLINE),
    ),
    *(
        KnownBug(OWNER_UNREAD, LATER, "xfs", workload, NO_MOUNT, WITHOUT_OWNERS)
        for workload in ("defragment-of-a-new-map", "defragment-of-many-extents")
    ),
    KnownBug(
        OWNER_OF_FREED,
        (f"6.12+{OWNER_READ}", f"7.2+{OWNER_READ}"),
        "xfs",
        "defragment-of-a-new-map",
        NO_MOUNT,
        WITHOUT_OWNERS,
        maybe=True,
    ),
    KnownBug(
        OWNER_OF_FREED,
        (f"6.12+{OWNER_READ}",),
        "xfs",
        "defragment-of-many-extents",
        NO_MOUNT,
        WITHOUT_OWNERS,
        maybe=True,
    ),
    KnownBug(
        REALTIME_DEVICE,
        ("6.12", "7.2"),
        "xfs",
        EVERYWHERE,
        (
            "durable: data lost (synced file)",
            "historical: cut data came back (old file)",
            "historical: size without data (hard-linked file)",
            "historical: size without data (new file)",
            "historical: size without data (renamed file)",
            "historical: stale data (new file)",
        ),
        ("xfs-realtime",),
        models=("R", "M"),  # the device has to lose what no FLUSH followed
    ),
    *(
        KnownBug(
            REALTIME_REUSED,
            ("6.12", "7.2"),
            "xfs",
            workload,
            (
                "durable: data lost (synced file)",
                "historical: foreign bytes (old file)",
                "historical: foreign bytes (unlinked file)",
                "historical: stale data (old file)",
                "historical: stale data (unlinked file)",
            ),
            ("xfs-realtime",),
            maybe=True,
        )
        for workload in (
            "clone-overwrites-truncated-block",
            "defragment-of-a-new-map",
            "defragment-of-dirty-pages",
            "defragment-of-many-extents",
            "defragmented-blocks-used-again",
            "freed-blocks-written-before-the-commit",
            "last-block-over-removed-data",
            "tails-at-several-places-of-one-file",
            "truncated-blocks-taken-by-other-file",
            "unlink-rename-reuse-names",
        )
    ),
    *(  # a call forced the log that elsewhere the sync forces
        KnownBug(UNFLUSHED, EVERY, "xfs", workload, ("durable: data lost (synced file)",), ("xfs-wsync",))
        for workload in ("sync-after-checkpoint-took-inode", "syncfs-after-checkpoint-took-inode")
    ),
    *(
        KnownBug(
            IN_PLACE,
            ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
            "f2fs",
            workload,
            ("durable: data lost (synced file)",),
            # With quota that checkpoint has nodes to write, and flushes.
            (*(one for one in F2FS_PROFILES if one != "f2fs-quota"), "f2fs-two-logs"),
        )
        for workload in (
            "sync-after-checkpoint-took-inode",
            "syncfs-after-checkpoint-took-inode",
            "freeze-after-checkpoint-took-inode",
        )
    ),
    *(
        KnownBug(
            MEETS_FLUSH,
            ("6.12", F2FS_FIXED, "7.2", F2FS_FIXED_7_2),
            "f2fs",
            workload,
            ("durable: data lost (fdatasynced file)",),
            maybe=True,
        )
        for workload in ("overwritten-while-another-flushes", "two-descriptors-write-and-fsync")
    ),
    KnownBug(
        "XFS-2",
        ("6.12",),
        "xfs",
        "attribute-block-reused",
        ("quiet: assertion failed (kernel log)", "quiet: warning (kernel log, xfs_message.c)"),
        maybe=True,  # with XFS_DEBUG
    ),
    KnownBug(
        "XFS-2",
        ("6.12",),
        "xfs",
        "removed-attributes-stop-at-extent-free",
        (
            "quiet: assertion failed (kernel log)",
            "quiet: assertion failed (xfs_itruncate_extents_flags())",
            "quiet: warning (kernel log, xfs_message.c)",
            "quiet: warning (xfs_itruncate_extents_flags())",
        ),
        maybe=True,  # with XFS_DEBUG
    ),
    KnownBug(
        "XFS-2",
        ("6.12",),
        "xfs",
        "removed-attributes-stop-at-extent-free",
        ("alive: assertion failed (xfs_message.c)", "alive: warning (xfs_message.c)"),
        kind=DAMAGE,
        maybe=True,  # with XFS_DEBUG
    ),
    *(
        KnownBug(
            LARGER,
            (kernel,),
            "f2fs",
            "punch-hole-across-end-fsync",
            (
                "durable: size lost (fsynced file)",
                "durable: size lost (synced file)",
                "historical: size that never was (old file)",
            ),
            profiles,
            maybe=maybe,
        )
        # This fsync is the first after a checkpoint: where its node comes too late, the size does, too.
        for kernel, profiles, maybe in (
            ("6.12", F2FS_PROFILES, True),
            (F2FS_FIXED, tuple(one for one in F2FS_PROFILES if one != "f2fs-strict"), False),
        )
    ),
    KnownBug(RESERVED, ("7.2",), "btrfs", "reserved-tail-then-rename", RESERVED_SIGNATURES, WITH_LOG_ON_7_2),
    *(
        KnownBug(RESERVED_BEHIND, LATER, "btrfs", workload, ("durable: preallocation lost (synced file)",))
        for workload in ("linked-file-keeps-reservation", "renamed-file-keeps-reservation")
    ),
    KnownBug(
        RESERVED_BEHIND,
        ("6.12", "7.2"),
        "btrfs",
        "twice-linked-file-keeps-reservation",
        ("durable: preallocation lost (synced file)",),
    ),
    KnownBug(
        LINKED_TMPFILE,
        LATER,
        "btrfs",
        "tmpfile-linked-into-new-directory",
        ("durable: object lost (directory above fsynced file)",),
    ),
    KnownBug(LOGGED_BEFORE, LATER, "btrfs", "unlinked-after-its-directory-was-logged", REMOVED_SIGNATURES),
    *(
        KnownBug(
            KEPT,
            kernels,
            "f2fs",
            workload,
            ("durable: blocks kept behind the end (fsynced file)",),
            F2FS_PROFILES,
            maybe=maybe,
        )
        for workload in ("cut-by-a-megabyte-then-fsync", "truncated-filler-makes-room")
        for kernels, maybe in F2FS_KERNELS
    ),
    *(
        KnownBug(
            NO_ERROR,
            ("6.12", F2FS_FIXED),
            "f2fs",
            workload,
            ("told: preallocation lost untold (synced file)", "told: size lost untold (synced file)"),
            kind=FAULTS,
        )
        for workload in ("syncfs-cannot-read-free-space", "syncfs-cannot-read-where-nodes-lie")
    ),
    KnownBug(
        EQUAL_HASHES,
        ("6.12", "7.2"),
        "btrfs",
        "names-with-equal-hashes",
        (
            "atomic: half an unlink (hard-linked file)",
            "consistent: wrong link count (file)",
            "fsck: not clean (filesystem)",
        ),
    ),
    KnownBug(
        LOGGED_FIRST,
        ("7.2",),
        "btrfs",
        "renamed-beside-fsyncs-of-a-neighbour",
        (
            "atomic: no name (renamed file)",
            "durable: name lost (entry of a directory that had the fsynced file)",
            "durable: name lost (renamed entry of a directory that had the fsynced file)",
            "durable: object lost (renamed entry of a directory that had the fsynced file)",
            "durable: object lost (renamed synced file)",
        ),
        ("btrfs",),
        maybe=True,
    ),
    KnownBug(REMOVED, OLD, "btrfs", "unlinked-open-file-fsync", REMOVED_SIGNATURES),
    KnownBug(REMOVED, OLD, "btrfs", "unlinked-synced-open-file-fsync", REMOVED_SIGNATURES),
    KnownBug(
        REMOVED,
        OLD,
        "btrfs",
        "removed-directory-fsynced-by-descriptor",
        ("durable: name came back (unlinked fsynced directory)",),
    ),
    KnownBug(
        id=BEFORE_A_NAME,
        kernels=BOTH,
        filesystem="btrfs",
        workload="tmpfile-fsynced-then-linked",
        signatures=(
            "durable: preallocation lost (fsynced file)",
            "durable: size lost (fsynced file)",
        ),
    ),
    *(
        KnownBug(bug, kernels, filesystem, workload, (STOPPED,), kind=FAULTS)
        for bug, kernels, filesystem, workload in (
            (STOPPED_EXT4, ("6.12", "7.2"), "ext4", "rename-directory-new-file"),
            (STOPPED_EXT4, ("6.12", "7.2"), "ext4", EVERYWHERE),
            (STOPPED_BTRFS, ("6.12",), "btrfs", EVERYWHERE),
        )
    ),
    KnownBug(
        THROWN_AWAY,
        BOTH,
        "ext4",
        "umount-makes-all-durable",
        (
            "consistent: getdents64 failed (directory)",
            "consistent: stat failed (unknown)",
            "consistent: wrong link count (directory)",
            "historical: name leads nowhere (unknown object)",
            "usable: create failed (recovered tree)",
            "usable: empty failed (recovered tree)",
            "usable: rmdir failed (recovered tree)",
        ),
        kind=FAULTS,
    ),
    KnownBug(
        SYNCFS,
        ("6.12",),
        "ext4",
        "syncfs-makes-all-durable",
        (
            "told: name came back untold (renamed synced directory)",
            "told: name lost untold (renamed synced directory)",
            "told: name lost untold (synced file)",
            "told: name lost untold (synced symlink)",
        ),
        kind=FAULTS,
    ),
    KnownBug(
        REMOVED_BYTES,
        BOTH,
        "ext4",
        "extent-tree-block-reused",
        ("historical: foreign bytes (new file)",),
        ("ext4", "ext4-used"),
        FAULTS,
    ),
    KnownBug(
        REMOVED_BYTES,
        BOTH,
        "ext4",
        "extent-tree-block-reused",
        ("historical: stale data (new file)",),
        ("ext4-used",),
        FAULTS,
    ),
    KnownBug(
        UNCONVERTED,
        ("6.12", "7.2"),
        "ext4",
        "append-within-block-fdatasync",
        ("told: data lost untold (fdatasynced file)",),
        kind=FAULTS,
    ),
    *(
        KnownBug(bug, (kernel,), "btrfs", workload, signatures, profiles)
        for kernel, profiles in (("6.1", ()), ("6.12", ()), ("7.2", REPLACED_ON_7_2))
        for bug, workload, signatures in (
            (REPLACED, "replace-synced-directory-fsync-other", REPLACED_DIRECTORY_SIGNATURES),
            (
                REPLACED_NAME,
                "replaced-name-fsync-other-name",
                ("durable: wrong object (renamed fsynced file)",),
            ),
            (REPLACED_NAME, "replaced-name-fsync-name-beside", REPLACED_NAME_SIGNATURES),
        )
    ),
    *(
        KnownBug(
            REPLACED_NAME,
            kernels,
            "btrfs",
            "replaced-name-fsync-name-taken-over",
            TAKEN_OVER_SIGNATURES,
            profiles,
        )
        for kernels, profiles in ((BOTH, ()), (("7.2",), NOT_SINGLE))
    ),
)


class Fix(msgspec.Struct, frozen=True):
    """A series that fixes bugs of a stock kernel. ids: of these bugs. A finding of any workload that does not
    appear with the series is one of them (harness/runs/attribution.py). profiles: those that show the bugs;
    empty means all profiles of the filesystem."""

    series: str
    filesystem: str
    ids: tuple[str, ...]
    profiles: tuple[str, ...] = ()


# In the order in which they are tried: those first that mend what the log holds, then those that commit in
# its place, and so hide what else it may hold.
FIXES = (
    Fix("fix/nilfs2-fsync-writes-a-changed-inode", "nilfs2", (NO_SEGMENT,)),
    Fix("fix/nilfs2-fsync-flushes-the-device-itself", "nilfs2", (FLUSHED_BY_ANOTHER,)),
    Fix("fix/btrfs-replayed-item-moves-where-it-has-room", "btrfs", (OUTGROWN,)),
    Fix("fix/btrfs-verity-is-not-logged-in-part", "btrfs", (HASHES_NOT_LOGGED,), ("btrfs-verity",)),
    Fix("fix/f2fs-freeze-writes-changed-quota", "f2fs", (FROZEN_QUOTA,), ("f2fs-quota",)),
    Fix(
        "fix/f2fs-recovery-keeps-the-size-of-a-verified-file",
        "f2fs",
        (HASHES_IN_THE_FILE,),
        ("f2fs-verity",),
    ),
    Fix(
        "fix/ext4-verified-file-is-committed-whole",
        "ext4",
        (HASHES_NOT_COMMITTED,),
        ("ext4-verity-fast-commit",),
    ),
    Fix(
        "fix/ext4-orphaned-value-inodes-are-deleted",
        "ext4",
        (VALUES_NOT_DELETED,),
        ("ext4-ea-inode",),
    ),
    Fix("fix/ext4-dropped-data-is-told", "ext4", (DROPPED_UNTOLD,), GROUPS_READ),
    Fix("fix/overlayfs-copy-up-syncs-a-clone", "btrfs", (CLONED_UP,), ("btrfs-overlay",)),
    Fix("fix/overlayfs-copy-up-syncs-the-new-name", "ext4", (COPIED_UP,), ("ext4-overlay",)),
    Fix(
        "fix/jbd2-fsync-flushes-the-data-device",
        "ext4",
        (DATA_DEVICE,),
        ("ext4-journal-device",),
    ),
    Fix("fix/btrfs-rename-logs-the-name-that-replaces-a-logged-one", "btrfs", (REPLACED,)),
    Fix("fix/btrfs-rename-notes-the-replaced-name", "btrfs", (REPLACED_NAME,)),
    Fix("fix/btrfs-conflicting-inode-logs-its-directories", "btrfs", (REPLACED_NAME,)),
    Fix("fix/btrfs-log-reservation-across-the-end", "btrfs", (RESERVED,)),
    Fix("fix/btrfs-logged-name-keeps-the-reservation", "btrfs", (RESERVED_BEHIND,)),
    Fix("fix/btrfs-symlink-is-logged-whole-with-its-new-name", "btrfs", (SYMLINK,)),
    Fix("fix/btrfs-linked-tmpfile-logs-its-new-directories", "btrfs", (LINKED_TMPFILE,)),
    Fix("fix/btrfs-no-log-is-not-the-first-log", "btrfs", (ON_ITS_WAY,)),
    Fix("fix/btrfs-whiteout-is-not-logged-in-part", "btrfs", (WHITEOUT,)),
    Fix("fix/btrfs-parent-is-logged-again-after-a-removal", "btrfs", (LOGGED_BEFORE,)),
    Fix("fix/btrfs-exchange-is-not-logged-in-part", "btrfs", (EXCHANGED,)),
    Fix("fix/btrfs-replayed-removal-keeps-the-times-of-its-directory", "btrfs", (REPLAYED,)),
    Fix("fix/btrfs-log-forgets-names-that-wait-for-removal", "btrfs", (STALE,)),
    Fix("fix/btrfs-fsync-of-a-tmpfile-commits", "btrfs", (BEFORE_A_NAME,)),
    Fix("fix/btrfs-fsync-of-a-removed-file-commits", "btrfs", (REMOVED,)),
    Fix(
        "fix/ext4-mount-without-the-journal-leaves-orphans",
        "ext4",
        (WITHOUT_THE_JOURNAL,),
        ("ext4-ro-first",),
    ),
    Fix("fix/ext4-replay-counts-the-block-of-attributes", "ext4", (ATTRIBUTES,), FAST),
    Fix("fix/ext4-replay-counts-directories-and-their-blocks", "ext4", (GROWN,), FAST),
    Fix("fix/ext4-replay-frees-blocks-group-by-group", "ext4", (SPOILT,), FAST),
    Fix("fix/ext4-replay-frees-a-removed-directory", "ext4", (REUSED,), FAST),
    Fix("fix/ext4-replay-counts-directories-in-their-parents", "ext4", (COUNTS,), FAST),
    Fix("fix/ext4-first-name-of-a-file-is-a-creation", "ext4", (FIRST_NAME,), FAST),
    Fix("fix/ext4-replay-leaves-out-a-file-without-names", "ext4", (NAMELESS,), FAST),
    Fix("fix/ext4-no-fast-commit-of-moved-blocks", "ext4", (MOVED,), (*FAST, *FAST_INLINE)),
    Fix("fix/jbd2-fast-commit-replay-ends-with-its-area", "ext4", (FULL_AREA,), FAST),
    Fix("fix/ext4-fast-commit-waits-for-its-blocks", "ext4", (BLOCKS,), FAST),
    Fix("fix/ext4-fsync-makes-a-fast-commit-of-its-own", "ext4", (UNDER_WAY,), FAST),
    Fix("fix/jbd2-no-fast-commit-into-an-empty-journal", "ext4", (FLUSHED,), FAST),
    Fix("fix/ext4-async-commit-needs-a-checksum-of-all", "ext4", (ASYNC,), ("ext4-async-commit",)),
    Fix("fix/ext4-ineligible-means-not-synced", "ext4", (INELIGIBLE,), FAST),
    Fix("fix/ext4-failed-zero-range-leaves-no-zeros", "ext4", (READS_AS_ZEROS,), BIGALLOC),
    Fix("fix/ext4-no-fast-commit-of-blocks-behind-the-end", "ext4", (EXTENDED,), FAST),
    Fix("fix/ext4-no-fast-commit-of-data-that-left-the-inode", "ext4", (LEFT_THE_INODE,), FAST_INLINE),
    Fix(
        "fix/ext4-fdatasync-knows-data-in-the-inode",
        "ext4",
        (IN_THE_INODE,),
        ("ext4-inline-data", *FAST_INLINE),
    ),
    Fix("fix/xfs-sync-flushes-the-data-device", "xfs", (UNFLUSHED,)),
    Fix("fix/xfs-log-write-flushes-the-realtime-device", "xfs", (REALTIME_DEVICE,), ("xfs-realtime",)),
    Fix("fix/xfs-log-is-forced-before-a-block-is-no-longer-shared", "xfs", (CLONED,), CLONING),
    Fix(OWNER_READ, "xfs", (OWNER_UNREAD,), WITHOUT_OWNERS),
    Fix("fix/xfs-owner-of-freed-blocks-stays", "xfs", (OWNER_OF_FREED,), WITHOUT_OWNERS),
    Fix("fix/xfs-failed-mount-cancels-intents", "xfs", (WAITS_FOR_INTENTS,)),
    Fix("fix/f2fs-fsync-waits-for-first-node", "f2fs", (FIRST_NODE,)),
    Fix("fix/f2fs-recovery-spares-what-it-reads", "f2fs", (OVER_WHAT_IT_READS,)),
    Fix("fix/f2fs-synchronous-direct-write-syncs", "f2fs", (NO_FSYNC,)),
    Fix("fix/f2fs-fsync-waits-for-another-of-its-file", "f2fs", (BESIDE_ANOTHER,)),
    Fix("fix/f2fs-read-only-mount-recovers-after-an-unmount", "f2fs", (SINCE_AN_UNMOUNT,)),
    Fix("fix/f2fs-attributes-are-recovered-whole", "f2fs", (HALF_A_LIST,)),
    Fix("fix/f2fs-zeros-of-a-cluster-are-kept", "f2fs", (ZEROS_DROPPED,), ("f2fs-compress",)),
    Fix("fix/f2fs-note-of-a-write-in-place-is-kept", "f2fs", (MEETS_FLUSH,)),
    Fix("fix/f2fs-punched-hole-ends-at-the-end", "f2fs", (LARGER,)),
    Fix("fix/f2fs-sync-flushes-what-was-written-in-place", "f2fs", (IN_PLACE,)),
    Fix("fix/f2fs-recovery-cuts-behind-the-end", "f2fs", (KEPT,)),
    Fix("fix/f2fs-strict-fsync-orders-a-dirty-inode", "f2fs", (UNORDERED,), ("f2fs-strict",)),
    Fix("fix/f2fs-strict-fsync-waits-and-flushes", "f2fs", (STRICT,), ("f2fs-strict",)),
)
