"""
The data of a workload: what is done to a filesystem, one operation after the other.

In:       nothing; the parser (text.py) and the generators make these.
Out:      Workload and Operation, frozen, equal when they do the same.
Not here: the text form (text.py), what happened when it ran (history.py).
"""

import msgspec

from workloads.program import Program

FALLOCATE_MODES = (
    "alloc",
    "keep-size",
    "punch-hole",
    "zero-range",
    "zero-range-keep-size",
    "collapse-range",
    "insert-range",
)
PWRITE_MODES = (
    "direct",
    "dsync",
    "sync",
    "direct-dsync",
    "direct-sync",
    "jbd2-magic",
)  # open(2): O_DIRECT, O_DSYNC, O_SYNC; or what the bytes are
ATOMIC_MODES = ("dsync",)  # pwritev2(2): RWF_DSYNC
OPEN_FLAGS = ("creat", "trunc", "dsync", "sync")  # open(2)
VERITY_FLAG = "V"  # lsattr(1); the word verity sets it
INODE_FLAGS = "ACDSadij"  # chattr(1), those that btrfs, ext4 or xfs keep
SUBVOLUME_MODES = ("create", "delete")
NODE_MODES = ("chr", "blk")  # mknod(2)
FAULT_PARTS = ("log", "data", "flush", "all")
ERRORTAG_MODES = ("off",)
STOP_RETURN, STOP_WORKERS = STOP_MODES = ("return", "workers")  # some of them, joined by commas
# mke2fs makes a directory, into which e2fsck puts what it finds without a name; mkfs.nilfs2 makes a file for
# its cleaner.
MADE_BY_MKFS = {"ext4": "lost+found", "nilfs2": ".nilfs"}
STOPS = "stops"  # the variant of a kernel's config whose tasks can stop: kernel/stops.py
REMOUNT_MODES = ("ro", "rw")  # mount(8): -o remount
MAY_FAIL = "may fail: "  # of a header's line
RENAME_MODES = ("exchange", "noreplace", "whiteout")  # rename(2): renameat2()


class Operation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of a workload.

    word:    the system call's name, as in text.WORDS.
    path:    what it works on, relative to the mount, "." for its root; for link and
             rename the existing name, for symlink the new name; "" for sync, remount, umount.
    path2:   link and rename: the new name.
    target:  symlink: the text the link holds.
    offset, length: bytes; for truncate, `length` is the new size; for append, how much is added;
             for fill, how much is given back in the end;
             for clone, dedupe and copyrange of the source (path), 0 0 being all of it; for utimes `length` is
             seconds since 1970, for wait milliseconds, for await a number of writes, and offset
             the microseconds after them; for stop `length` is which entry or return.
    at:      clone, dedupe, copyrange: the offset in the target (path2).
    mode:    fallocate: one of FALLOCATE_MODES; rename: "" or one of RENAME_MODES;
             mknod: one of NODE_MODES; pwrite: one of PWRITE_MODES; atomicwrite: "" or one of
             ATOMIC_MODES; open: some of OPEN_FLAGS, joined
             by commas; subvol: one of SUBVOLUME_MODES; chmod: octal digits; chattr: + or - and one
             of INODE_FLAGS; fault: what fails, of text.FAULTS, or off; errortag: "" or off;
             remount: "" or one of REMOUNT_MODES; stop: "", or some of STOP_MODES, joined
             by commas.
    descriptor: open and tmpfile: the name, "@x", under which the descriptor is kept; later operations
             may have it as their path.
    device:  mknod: "MAJOR:MINOR".
    name, value: setxattr and removexattr: "user.x" or "trusted.x", and its value; chown: value is "UID:GID";
             setfacl: the entries of the list (acl.py); fault: name is "" or one of FAULT_PARTS, the writes
             flagged as metadata (a log, a journal), all others, FLUSH alone, or everything; errortag: name is
             that of the place in XFS's code; stop: name is the function's, or
             within another one "OUTER:FUNCTION".
    parallel, thread: of an operation in a parallel block of run: which block, and which thread of it, both
             from 1; 0 for what runs alone. In Workload.run they stand thread by thread (threads.py).
    line:    1-based line in the text it came from, 0 when it came from no text.
    """

    word: str
    path: str = ""
    path2: str = ""
    target: str = ""
    offset: int = 0
    length: int = 0
    mode: str = ""
    name: str = ""
    value: str = ""
    device: str = ""
    descriptor: str = ""
    at: int = 0
    parallel: int = 0
    thread: int = 0
    line: int = 0


class Workload(msgspec.Struct, frozen=True):
    """What is done to a filesystem.

    name:    the library's file name without its suffix, or "-" for text without a file.
    theme:   the library folder it lies in ("" outside the library).
    comment: the header's lines without "# ": the first says what it is for.
    setup:   not recorded; an implicit sync ends it, so everything in it is durable,
             while inodes stay cached as the operations left them.
    program: what is run instead of setup and run, which are empty then.
    run:     recorded; at its end the power fails, unless its last word is umount.
    """

    name: str
    setup: tuple[Operation, ...]
    run: tuple[Operation, ...]
    comment: tuple[str, ...] = ()
    theme: str = ""
    program: Program | None = None

    @property
    def faulty(self) -> bool:
        """Whether its device fails where it says so."""
        return any(operation.word == "fault" for operation in self.run)

    @property
    def injects(self) -> bool:
        """Whether it makes the filesystem's own code fail."""
        return any(operation.word == "errortag" for operation in self.run)

    @property
    def crashes(self) -> bool:
        """Whether it goes on after a power failure."""
        return any(operation.word == "crash" for operation in self.run)

    @property
    def parallel(self) -> bool:
        """Whether it has parallel blocks."""
        return any(operation.parallel for operation in self.run)

    @property
    def stops(self) -> bool:
        """Whether calls of it stop in the middle of the kernel."""
        return any(operation.word == "stop" for operation in self.run)

    @property
    def may_fail(self) -> tuple[str, ...]:
        """Operations, as format_operation() writes them, that need not succeed where the filesystem is full:
        its header's lines "may fail: creat foo"."""
        return tuple(line.removeprefix(MAY_FAIL) for line in self.comment if line.startswith(MAY_FAIL))

    @property
    def config(self) -> tuple[str, ...]:
        """Variants of a kernel's config that it needs: of its header's "config: debug", or its program's; and
        what the word `stop` needs."""
        if self.program is not None:
            return ("programs", *self.program.config)
        lines = (line.partition(":") for line in self.comment)
        asked = tuple(
            name for key, _, names in lines if key == "config" for name in names.replace(",", " ").split()
        )
        return (*asked, STOPS) if self.stops else asked
