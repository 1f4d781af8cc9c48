"""
What FINDINGS.md called each bug before bugs had IDs.

In:       the field `known` of a finding, or `heading` of an attribution, as older releases kept them.
Out:      the IDs.
Not here: reading the older files (formats.py), titles of today (docs/findings/).
"""

HEADINGS = {
    "A fsynced file replaced by rename is lost when another file is fsynced": "BTRFS-1",
    "An fsync returns while another task has the file in a log that is not on disk": "BTRFS-2",
    "A replaced name is lost, or comes back, when its file is fsynced by another name": "BTRFS-3",
    "A whiteout is lost when the file that left it is fsynced": "BTRFS-4",
    "A renamed symlink keeps its old name although its directory was fsynced": "BTRFS-5",
    "A renamed file keeps its old name when its logged directory left the cache": "BTRFS-6",
    "Space reserved across the end of a file is lost by fsync": "BTRFS-7",
    "Space reserved across the end of a file is lost by rename and fsync": "BTRFS-7",
    "Space reserved behind the end of a file is lost when its directory is fsynced": "BTRFS-8",
    "A file that had no name is lost when it was linked into a new directory and fsynced": "BTRFS-9",
    "A removed file that is fsynced through its last descriptor comes back": "BTRFS-10",
    "What was fsynced before the file had a name is lost when only its directory is fsynced": "BTRFS-11",
    "sync and syncfs leave data in the disk's cache": "XFS-1",
    "A debug kernel of 6.12 asserts what does not hold for attributes": "XFS-2",
    "A hole punched across the end of a file makes it larger": "F2FS-1",
    "An fdatasync that meets another's flush sends none": "F2FS-2",
    "The first fsync after a checkpoint does not wait for its node": "F2FS-3",
    "Opening a file for reading changes it after a direct write was cut": "F2FS-4",
    "In strict mode f2fs flushes less than in posix mode": "F2FS-5",
    "A fast commit of more than one block is not durable when fsync returns": "EXT4-1",
    "A fast commit with a file without names cannot be mounted": "EXT4-2",
    "A fast commit that removes a large file spoils block bitmaps": "EXT4-3",
    "A fast commit with a new directory in the place of a removed one cannot be mounted": "EXT4-4",
    "A fast commit does not count directories in their parents": "EXT4-5",
    "A fast commit loses the first name of a file that had none": "EXT4-6",
    "A fast commit forgets the block of extended attributes": "EXT4-7",
    "A fast commit of 5.10 leaves new directories out": "EXT4-8",
    "A fast commit has blocks behind the end of a file whose size is changing": "EXT4-9",
    "An fsync that finds a fast commit under way returns with that one": "EXT4-10",
    "After the filesystem has stopped, an fsync of what was lost says that all is well": "EXT4-11",
    "After the journal was aborted, an fsync of what it had held says that all is well": "EXT4-11",
    "An unmount that could not write everything back throws the journal away": "EXT4-12",
    "syncfs says that all is well when its commit failed": "EXT4-13",
    "What is written again after a write error stays behind an unwritten extent": "EXT4-14",
    "Bytes of a removed file show where the write of a new one failed": "EXT4-15",
}
# One heading was of two filesystems. By heading and filesystem:
SHARED = {
    ("After the filesystem has stopped, an fsync of what was lost says that all is well", "btrfs"): "BTRFS-12"
}


def titles_by_id(headings: str, filesystem: str) -> dict[str, str]:
    """Of the headings in one field, which "; " joined. A heading that no release wrote has no ID."""
    found: dict[str, str] = {}
    for one in headings.split("; "):
        if bug_id := SHARED.get((one, filesystem)) or HEADINGS.get(one):
            found.setdefault(bug_id, one)
    return found
