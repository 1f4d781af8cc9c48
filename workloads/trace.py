"""
What a program did to the filesystem under test, call by call.

In:       the report of the tracer (harness/guests/agent/tracer.c), JSON.
Out:      Trace with its Calls, plain data; kept as trace.json.zst.
Not here: what the calls mean (traced.py), the log that their marks stand in (harness/states/log.py).

Each call has two marks in the log, "begin-N" and "done-N" with N its number; calls of a setup have none.
Where one ends and the next begins at the same place, the mark is "done-N,begin-M". The caller is stopped
while a mark is made, and only one of these calls runs at a time.
"""

import msgspec


class Call(msgspec.Struct, frozen=True, omit_defaults=True):
    """
    One system call, or "store": what was stored through a shared mapping between two calls.

    call:     its name. result: as it returned; a negative errno when it failed.
    path, path2: in the mount, "." for its root, as the kernel named them before the call; of a descriptor the
              name that its file then had, "" for one that has none. clone and copy_file_range: path2 is
              the source; of a dedupe the target.
    by_file:  path is that of a descriptor.
    before, before_kind, size: of what stood at path before: st_ino, kind, bytes; 0 and "" for nothing.
    flags:    of the call (open, rename, unlink, link), or the status flags of its descriptor;
              of a clone, a dedupe and copy_file_range O_SYNC and O_DSYNC of either descriptor.
    mode:     fallocate: its mode; mknod: type and permissions; ioctl: its request; mmap: 1 where the
              mapping cannot be followed.
    offset, length, at: bytes; length of a write is what was written. at: in the source of a copy; of
              pwritev2 the flags RWF_*; of mknod the device; of utimes 0 where the time of the last change is
              left as it is. utimes: length is seconds since 1970, -1 a clock's. FS_IOC_SETFLAGS: offset the
              new flags, at the old.
    name, value: of an extended attribute, the value in hex.
    target:   of a symlink; of a subvolume its name in the directory `path`.
    data:     where the written bytes are in the data area: start, length.
    inode, kind, blocks, times, permissions, owner, links: of the object afterwards (path2 of names).
    left:     rename: st_ino of what then stands at path.
    file:     of a call that failed half-way: its file, as oracles/observation.py's LeftFile.
    unsure:   a store whose place in the log is not known exactly.
    """

    number: int
    call: str
    result: int
    path: str = ""
    path2: str = ""
    by_file: bool = False
    before: int = 0
    before_kind: str = ""
    size: int = 0
    flags: int = 0
    mode: int = 0
    offset: int = 0
    length: int = 0
    at: int = 0
    name: str = ""
    value: str = ""
    target: str = ""
    data: tuple[int, int] = (0, 0)
    inode: int = 0
    kind: str = ""
    blocks: int = 0
    times: tuple[int, int] = (0, 0)
    permissions: int = 0
    owner: tuple[int, int] = (0, 0)
    links: int = 0
    left: int = 0
    file: msgspec.Raw = msgspec.Raw(b"null")
    unsure: bool = False


class Output(msgspec.Struct, frozen=True):
    """What a program wrote to its standard output and to its standard error, the first MiB of each; bytes
    outside ASCII as Latin-1."""

    status: int = 0
    said: str = ""
    complained: str = ""


class Trace(msgspec.Struct, frozen=True):
    """
    tree:     the mounted filesystem before the program, JSON as of oracles/observation.py's Tree.
    calls:    in the order in which they were done.
    places:   (N, bytes): when the mark "said-N" was made, so many bytes of standard output had been written.
    status:   exit status as a shell tells it, -1 for a program that was ended when its time was over.
    notes:    of NOTES. outside: files outside the mount that it opened or wrote to, at most 20.
    data_bytes: of the data area.
    """

    root_inode: int
    tree: msgspec.Raw
    calls: tuple[Call, ...]
    places: tuple[tuple[int, int], ...]
    status: int
    said: str
    complained: str
    notes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    data_bytes: int = 0


HASHED = "the content of files is not judged, only names, sizes and attributes"
URING, AIO, DATA, CALLS, UNFILTERED = "io_uring", "aio", "data", "calls", "unfiltered"
NOTES = {
    URING: "io_uring_setup was refused with ENOSYS: the tracer does not see what io_uring does",
    AIO: "io_submit was refused with ENOSYS: the tracer does not see asynchronous I/O",
    DATA: "the program wrote more than 47 MiB: the trace ends there",
    CALLS: "the program made more than 60000 calls on the filesystem: the trace ends there",
    UNFILTERED: "the kernel has no seccomp filter: every call was stopped, which is slow",
}
