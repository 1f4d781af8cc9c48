"""
What came back: one recovered state as the agent saw it.

In:       the agent's report of one state (JSON), and fsck's.
Out:      Observation with its Tree, plain data; equal bytes in, equal data out.
Not here: how it was obtained (harness/stages/recover.py), what it means (the oracles).
"""

import errno
import hashlib

import msgspec

TREE_SHIFT = 40
# Of a node whose attributes nobody can list: the kernel gives 64 KiB of names at most (XATTR_LIST_MAX in
# include/uapi/linux/limits.h; listxattr(2), BUGS). fsstress sets more on one directory (generic/753).
UNLISTED = "listxattr: E2BIG"


class Run(msgspec.Struct, frozen=True, array_like=True):
    """A run of equal content in a file.

    kind "h": `hex` is a hash of the bytes, of which no more is known: equal for equal bytes.
    kind "w": whole 8-byte cells (workloads.history.stamped) of operation `stamp` - 1, at the
              offsets they were written for; "z": zeros; "x": `hex` holds the bytes themselves.
    offset, length: bytes.
    """

    offset: int
    length: int
    kind: str
    stamp: int = 0
    hex: str = ""


class Node(msgspec.Struct, frozen=True, omit_defaults=True):
    """One name in the tree.

    path:    relative to the mount, "." for the root; bytes outside printable ASCII as Latin-1.
    kind:    file, dir, symlink, fifo, chr, blk, sock.
    ino:     st_ino; in a btrfs subvolume that is not the mount's root, plus the id of its tree << TREE_SHIFT,
             since each subvolume counts inodes anew.
    dtype:   the kind that the directory entry claimed (d_type), "" where it claimed none.
    mode:    permission bits, 0o7777. size: bytes. blocks: 512 B units.
    xattrs:  name to value in hex; of a history that is not known, "h:HASH:SIZE" for more than 64 bytes.
    content: files: runs that cover [0, size).
    mtime:   seconds, only where it lies before 2001: set by a workload, not by a clock; else -1.
    flags:   inode flags, letters of workloads.workload.INODE_FLAGS and VERITY_FLAG; "" where they were not
             asked for.
    times:   files, directories where a promise asks: mtime and ctime, in ns since 1970; None where they were
             not asked for.
    extents: files: (start, end, reserved) byte ranges that have blocks, behind the end too; reserved is 1
             where they are allocated and not written (fiemap); None where they were not asked for.
    device:  chr and blk: "MAJOR:MINOR".
    data:    files: [start, end) byte ranges that SEEK_DATA and SEEK_HOLE report as data.
    errors:  calls that failed on it, as "read: EIO"; empty when all went well.
    """

    path: str
    kind: str
    ino: int
    mode: int
    nlink: int
    size: int
    blocks: int
    uid: int = 0
    gid: int = 0
    dtype: str = ""
    xattrs: dict[str, str] = {}
    target: str = ""
    device: str = ""
    mtime: int = -1
    flags: str = ""
    content: tuple[Run, ...] = ()
    data: tuple[tuple[int, int], ...] = ()
    times: tuple[int, int] | None = None
    extents: tuple[tuple[int, int, int], ...] | None = None
    errors: tuple[str, ...] = ()

    @property
    def told_flags(self) -> bool:
        """Whether its flags could be asked for, where they were: that needs a descriptor."""
        return not any(error.startswith("open:") for error in self.errors)


Tree = tuple[Node, ...]  # sorted by path bytes, the root first


def identity(tree: Tree) -> bytes:
    """Equal for trees that a program cannot tell apart, but by inode numbers, places on the disk and clocks.
    32 bytes."""
    digest = hashlib.sha256()
    for node in tree:
        alike = msgspec.structs.replace(node, ino=0, blocks=0, mtime=-1, data=(), times=None, extents=None)
        digest.update(msgspec.json.encode(alike))
    return digest.digest()


def errno_name(number: int) -> str:
    """ "EIO" of 5; the number itself where no error has it."""
    return errno.errorcode.get(number, str(number))


def noun(kind: str) -> str:
    """A Node's kind, for a reader."""
    return "directory" if kind == "dir" else kind


class LeftFile(msgspec.Struct, frozen=True):
    """A file in the mounted filesystem, right after an operation: its size in bytes, its content as Node has
    it. errors: calls that failed on it; then the content is not whole."""

    size: int
    content: tuple[Run, ...] = ()
    errors: tuple[str, ...] = ()


class Room(msgspec.Struct, frozen=True):
    """statfs(2) of the recovered filesystem, before the probe: all of it, what is free, and what of that
    ordinary users may have; in bytes."""

    total_bytes: int
    free_bytes: int
    available_bytes: int


class Fsck(msgspec.Struct, frozen=True):
    """The checker's answer on the disk as recovery and a clean unmount left it."""

    exit: int
    output: str
    timed_out: bool = False


class FaultStep(msgspec.Struct, frozen=True):
    """One operation on a device that fails: as workloads.history.Step, and how many reads and writes went
    through the part of the device that a fault is about while it ran."""

    index: int
    result: int
    inode: int
    blocks: int
    left: int
    bad_reads: int
    bad_writes: int
    times: tuple[int, int] = (0, 0)


class FaultRun(msgspec.Struct, frozen=True, omit_defaults=True):
    """A workload on a device that failed, up to and with the unmount; what a sound device then showed is in
    the Observation around it.

    mount_errno:  of the fresh filesystem. refused: the kernel has no such fault.
    readonly, after_call, after_errno: how the filesystem was afterwards: mounted read only, and the call of
                  "create", "write", "fsync" of a file without a name that failed, "" for none; None where
                  that was not asked.
    umount_errno: EINVAL where the workload had unmounted it. open_count: who still held the device then.
    kernel_log:   as Observation's, until then.
    """

    mount_errno: int = 0
    root_inode: int = 0
    device: dict[str, str] = {}
    steps: tuple[FaultStep, ...] = ()
    readonly: bool = False
    after_call: str | None = None
    after_errno: int = 0
    refused: bool = False
    umount_errno: int = 0
    open_count: int = 0
    kernel_log: tuple[str, ...] = ()


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the script of a program said of the recovered tree.

    status:  its exit status; 128 and the signal's number where one ended it, -1 where its time was up.
    text:    what it printed, or the end of it.
    said:    how many lines the program had printed before the power failed.
    promise: what the program promises, in one line.
    trouble: "" or why the script could not be asked.
    """

    status: int = 0
    text: str = ""
    said: int = 0
    promise: str = ""
    trouble: str = ""


class Scrub(msgspec.Struct, frozen=True, omit_defaults=True):
    """Of a filesystem that keeps everything twice: all copies were read, and those that were wrong mended.

    error:       the errno of a scrub that failed, else 0.
    found:       wrong copies, of blocks and of superblocks. unrepaired: those that stayed so.
    found_again: what a second scrub found wrong, after the first.
    """

    error: int = 0
    found: int = 0
    unrepaired: int = 0
    found_again: int = 0


class Quota(msgspec.Struct, frozen=True, array_like=True):
    """What a user (kind 0) or a group (1) has, as the filesystem counts it (quotactl(2) Q_GETNEXTQUOTA):
    bytes on the disk, inodes. number -1: it could not be asked, and `space_bytes` is the errno."""

    kind: int
    number: int
    space_bytes: int
    inodes: int


class UseStep(msgspec.Struct, frozen=True, array_like=True):
    """One thing that a recovered filesystem was used for, in model A.

    word:   "make", a file of size_bytes with the content of operation `stamp` - 1, fsynced; "again", the
            first size_bytes of a file written once more as they are, fsynced; "grow", a block of that content
            added to a file, which then has size_bytes, fsynced; "remove", of a file that was made, and its
            directory fsynced.
    failed: "" or what did: "room: ENOSPC" where there was none left, "fsync: EIO".
    """

    word: str
    path: str
    size_bytes: int = 0
    stamp: int = 0
    failed: str = ""


class Use(msgspec.Struct, frozen=True):
    """All of that, in its order."""

    steps: tuple[UseStep, ...] = ()


class Seen(msgspec.Struct, frozen=True):
    """What the recovery before showed, and what the filesystem was used for then."""

    tree: Tree
    use: Use = Use()


class After(msgspec.Struct, frozen=True):
    """Of a state of model A: what had been seen before the power failed again. done: so many steps had
    returned."""

    done: int
    seen: Seen


class Observation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One state, recovered.

    mount_errno:  0, or the positive errno with which recovery refused.
    tree:         the first walk, after recovery and before anything was changed; None if not mounted.
    norecovery_errno, norecovery_wrote: of a read-only mount that was told not to recover, before all others:
                  whether it was refused, and whether it wrote to the disk. Where the profile asks for it.
    device_errno, device_wrote, device_tree: as these, of a mount of the device when it cannot be written,
                  before that one; device_tree is what it showed where that is not `tree`.
    umount_errno: of the unmount after the first walk; untouched: `probe` tells of that one.
    second_mount_errno, second_tree: the second mount; second_tree is None when it equals `tree`. Where a
                  block failed during recovery (oracles/spec.py Damage.fails), the disk is sound by then, and
                  this mount is tried also after a first one that was refused.
    untouched:    the mount wrote nothing, and after a sync still nothing, so a second mount would have got
                  the very bytes that the first one got: it was left out, and the probe used the first mount.
    first_probe:  what failed while a file without a name was made, filled with one block and fsynced, after
                  the first walk in the same mount; empty when all of it succeeded. Only done in states whose
                  last write committed something (FUA), and where that mount had something to replay.
    probe:        what failed after the second mount (untouched: in the first) while a file was created,
                  written and removed in every directory (and fsynced in the root) and everything was
                  deleted, each as "unlink A/foo: EIO"; empty when all of it succeeded. Where a call found no
                  room (ENOSPC), a file was then made in the empty root, a quarter of the device reserved for
                  it, and removed: calls named "create-again" and so on. probe_steps: how many calls it made.
    room:         before the probe; None where nothing was mounted, and in the evidence of earlier versions.
    empty_room:   when the probe had removed everything, where a block failed during recovery, and of the same
                  state without that; else None.
    scrub:        before the probe, where the profile keeps everything on several devices and one of them was
                  not as the others; else None. Behind it, if all devices were there, `without` was taken
                  away, -1 for none: without_errno is of the read-only mount of the others, and without_tree
                  what it showed where that is not `tree`; returned_errno of the mount with all of them again.
    quota:        after the first walk, where the profile keeps it; else None.
    kernel_log:   the guest kernel's log lines of this state as "LEVEL text", LEVEL 0 to 7, no times.
    fsck:         None when it did not run.
    death:        "" or how the kernel ended while it had this state: "panic", "exit", "hang";
                  death_during: the stage it was in. console: the last lines of its console.
    trouble:      "" or our own trouble, for which every verdict is UNKNOWN.
    fault:        of a fault point: the run on the device that failed; all else is what came back after it.
    reads:        runs (first, count) of blocks of 4 KiB that the first mount read, before the walk; empty
                  where that was not asked. writes: the same of those that were written until it ended.
    mended:       of a damaged state: the damaged block was on the disk as it had been before the damage when
                  the first mount had ended.
    used_up:      an unmount failed: the report ends there, and the guest was replaced.
    application:  of a program that has a script of its own: what that said of `tree`.
    use:          of a state of model A whose power does not fail again: what was done after the walk.
    after:        of another state of model A: what came before.
    """

    mount_errno: int = 0
    norecovery_errno: int = 0
    norecovery_wrote: bool = False
    device_errno: int = 0
    device_wrote: bool = False
    device_tree: Tree | None = None
    tree: Tree | None = None
    umount_errno: int = 0
    second_mount_errno: int = 0
    second_tree: Tree | None = None
    untouched: bool = False
    first_probe: tuple[str, ...] = ()
    probe: tuple[str, ...] = ()
    probe_steps: int = 0
    room: Room | None = None
    empty_room: Room | None = None
    quota: tuple[Quota, ...] | None = None
    scrub: Scrub | None = None
    without: int = -1
    without_errno: int = 0
    without_tree: Tree | None = None
    returned_errno: int = 0
    kernel_log: tuple[str, ...] = ()
    fsck: Fsck | None = None
    death: str = ""
    death_during: str = ""
    console: tuple[str, ...] = ()
    trouble: str = ""
    fault: FaultRun | None = None
    reads: tuple[tuple[int, int], ...] = ()
    writes: tuple[tuple[int, int], ...] = ()
    mended: bool = False
    used_up: bool = False
    application: Asked | None = None
    use: Use | None = None
    after: After | None = None
