"""
What a block of a disk is to its filesystem: "log tree leaf", "journal commit block".

In:       the filesystem's name, a way to read blocks of 4 KiB.
Out:      names of blocks, from signatures and from what the superblock says of the layout.
Not here: which blocks are asked about (damaged_states.py).

For a reader of the report, and for the name of a finding; what it decides is how many bits are flipped in a
log (damaged_states.py). A block that says nothing of itself is "metadata". Where the structures are:
Documentation/filesystems/ext4/ and xfs/xfs-self-describing-metadata.rst, include/uapi/linux/btrfs_tree.h,
fs/xfs/libxfs/xfs_format.h, include/linux/jbd2.h, include/linux/f2fs_fs.h,
include/uapi/linux/nilfs2_ondisk.h.
"""

from collections.abc import Callable
from struct import unpack_from

from oracles.faults.damage import NOTHING
from oracles.spec import BLOCK_BYTES, SECTOR_BYTES

Read = Callable[[int], bytes]
OTHER = "metadata"


def block_name(filesystem: str, read: Read, block: int) -> str:
    """read: the bytes of a block by its number."""
    content = read(block)
    name = {"btrfs": _btrfs, "ext4": _ext4, "xfs": _xfs, "f2fs": _f2fs, "nilfs2": _nilfs2}[filesystem](
        read, block, content
    )
    return NOTHING if name == OTHER and not any(content) else name


# --- btrfs -----------------------------------------------------------------------------------------

BTRFS_SUPERBLOCK = 16  # at 64 KiB; its copies begin with the same magic
BTRFS_MAGIC = b"_BHRfS_M"
BTRFS_OWNERS = {
    1: "root tree",
    2: "extent tree",
    3: "chunk tree",
    4: "device tree",
    5: "filesystem tree",
    7: "checksum tree",
    8: "quota tree",
    9: "UUID tree",
    10: "free space tree",
    11: "block group tree",
    2**64 - 6: "log tree",
    2**64 - 9: "data relocation tree",
}


def _btrfs(read: Read, block: int, content: bytes) -> str:
    if content[64:72] == BTRFS_MAGIC:
        return "superblock"
    superblock = read(BTRFS_SUPERBLOCK)
    (node_bytes,) = unpack_from("<I", superblock, 148)
    if node_bytes < BLOCK_BYTES or node_bytes % BLOCK_BYTES:
        return OTHER
    head = read(block - block % (node_bytes // BLOCK_BYTES))
    if head[32:48] != superblock[32:48]:
        return OTHER
    (owner,) = unpack_from("<Q", head, 88)
    tree = BTRFS_OWNERS.get(owner, "subvolume tree" if 256 <= owner < 2**63 else "tree")
    return f"{tree} {'node' if head[100] else 'leaf'}"


# --- ext4 ------------------------------------------------------------------------------------------

EXT4_SUPERBLOCK = 1024  # bytes
EXTENTS = b"\x0a\xf3"
JOURNAL_MAGIC = b"\xc0\x3b\x39\x98"
JOURNAL_BLOCKS = {1: "descriptor", 2: "commit block", 3: "superblock", 4: "superblock", 5: "revoke block"}


def _ext4(read: Read, block: int, content: bytes) -> str:
    """Its blocks may be smaller than ours, so that several stand in one."""
    if block == 0:
        return "superblock and group descriptors"
    superblock = read(0)[EXT4_SUPERBLOCK:]
    unit_bytes = 1024 << unpack_from("<I", superblock, 24)[0]
    if unit_bytes > BLOCK_BYTES:
        return OTHER
    count = BLOCK_BYTES // unit_bytes
    units = range(block * count, (block + 1) * count)
    journal = journal_extents(superblock)
    pieces = [
        content[at * unit_bytes : (at + 1) * unit_bytes]
        for at, unit in enumerate(units)
        if any(start <= unit < start + length for start, length in journal)
    ]
    names = {_journal_block(piece) for piece in pieces if any(piece)}
    if names:
        return names.pop() if len(names) == 1 else "journal blocks"
    if any(
        start <= unit < stop for start, stop in inode_tables(read, superblock, unit_bytes) for unit in units
    ):
        return "inode table"
    return OTHER


def _journal_block(piece: bytes) -> str:
    if piece[:4] != JOURNAL_MAGIC:
        return "journal copy of a block"
    return f"journal {JOURNAL_BLOCKS.get(int.from_bytes(piece[4:8]), 'block')}"


def inode_tables(read: Read, superblock: bytes, unit_bytes: int) -> list[tuple[int, int]]:
    """(first block, behind the last) of each group; blocks as the filesystem has them."""
    (block_count,), (first,) = unpack_from("<I", superblock, 4), unpack_from("<I", superblock, 20)
    blocks_a_group, inodes_a_group = (unpack_from("<I", superblock, at)[0] for at in (32, 40))
    inode_bytes, descriptor_bytes = (unpack_from("<H", superblock, at)[0] for at in (88, 254))
    if not blocks_a_group or not inode_bytes:
        return []
    length = -(-inodes_a_group * inode_bytes // unit_bytes)
    found = []
    for group in range(-(-(block_count - first) // blocks_a_group)):
        at = (first + 1) * unit_bytes + group * (descriptor_bytes or 32) + 8
        (start,) = unpack_from("<I", read(at // BLOCK_BYTES), at % BLOCK_BYTES)
        found.append((start, start + length))
    return found


def journal_extents(superblock: bytes) -> list[tuple[int, int]]:
    """(first block, count), from the copy of the journal's inode that mke2fs leaves in s_jnl_blocks."""
    inode = superblock[0x10C : 0x10C + 60]
    if inode[:2] != EXTENTS or inode[6:8] != b"\0\0":  # another mapping, or a tree of extents
        return []
    found = []
    for at in range(12, 12 + 12 * unpack_from("<H", inode, 2)[0], 12):
        _, count, high, low = unpack_from("<IHHI", inode, at)
        found.append((high << 32 | low, count))
    return found


# --- xfs -------------------------------------------------------------------------------------------

XFS_MAGICS = {
    b"XFSB": "superblock and group headers",
    b"XAGF": "free space header",
    b"XAGI": "inode header",
    b"XAFL": "free list",
    b"\xfe\xed\xba\xbe": "log record",
    b"AB3B": "free space tree",
    b"AB3C": "free space tree",
    b"IAB3": "inode tree",
    b"FIB3": "inode tree",
    b"RMB3": "reverse mapping tree",
    b"R3FC": "reference count tree",
    b"BMA3": "extent tree",
    b"XDB3": "directory",
    b"XDD3": "directory",
}


def _xfs(read: Read, block: int, content: bytes) -> str:
    if block_in_log(read(0), block):
        return "log"
    if content[:2] == b"IN":
        return "inodes"
    names = [XFS_MAGICS.get(content[at : at + 4], "") for at in range(0, BLOCK_BYTES, SECTOR_BYTES)]
    return next((name for name in names if name), OTHER)


def block_in_log(superblock: bytes, block: int) -> bool:
    """The log lies in one piece in one allocation group: sb_logstart is group << sb_agblklog | block."""
    block_bytes, group_blocks, log_blocks = (unpack_from(">I", superblock, at)[0] for at in (4, 84, 96))
    (start,) = unpack_from(">Q", superblock, 48)
    if superblock[:4] != b"XFSB" or block_bytes != BLOCK_BYTES:
        return False
    shift = superblock[124]
    first = (start >> shift) * group_blocks + (start & (1 << shift) - 1)
    return bool(first <= block < first + log_blocks)


# --- f2fs ------------------------------------------------------------------------------------------

F2FS_AREAS = (
    (76, "checkpoint"),
    (80, "segment table"),
    (84, "node address table"),
    (88, "summary"),
    (92, "node or directory"),
)


def _f2fs(read: Read, block: int, content: bytes) -> str:
    if content[1024:1028] == b"\x10\x20\xf5\xf2":
        return "superblock"
    superblock = read(0)
    areas = [(unpack_from("<I", superblock, 1024 + at)[0], name) for at, name in F2FS_AREAS]
    return next((name for start, name in reversed(areas) if block >= start), OTHER)


# --- nilfs2 ----------------------------------------------------------------------------------------

NILFS2_SUMMARY = b"\x11\xfa\xea\x1e"


def _nilfs2(_read: Read, _block: int, content: bytes) -> str:
    """A log is written behind the one before it; only its summary names itself."""
    if content[1030:1032] == b"\x34\x34" or content[6:8] == b"\x34\x34":  # the second is at its block's start
        return "superblock"
    return "segment summary" if content[8:12] == NILFS2_SUMMARY else OTHER
