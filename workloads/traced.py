"""
The history of a program, from its trace: the same words as those of a workload.

In:       a Trace, the bytes that it wrote, the marks of its log.
Out:      Adapted: Steps, marks, what was said, what is not judged.
Not here: the tracer (harness/guests/agent/tracer.c), recording (harness/stages/trace.py), what a word means
          (oracles/model/).

A call becomes the word that means the same. One that no word can say limits what depends on it: its object is
listed as not judged. A call that failed without a trace is left out.
"""

import errno
import hashlib
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from workloads.acl import ACCESS, GROUP_OBJ, OTHER, USER_OBJ, decoded
from workloads.history import Said, Step, Unjudged, stamped
from workloads.text import XATTR_SPACES
from workloads.trace import NOTES, Call, Trace
from workloads.workload import MADE_BY_MKFS, Operation

BLOCK_BYTES = 4096
ROOT = "."
CLOCK_SECONDS = -1
SECONDS_MAX = 999_999_999  # text.py: a later time is like a clock's

# fcntl.h of x86-64, uapi/linux/fs.h, falloc.h
O_DSYNC, O_DIRECT, O_SYNC, O_TMPFILE = 0o10000, 0o40000, 0o4010000, 0o20200000
O_TRUNC, AT_REMOVEDIR = 0o1000, 0x200
RWF_DSYNC, RWF_SYNC = 2, 4
RENAMES = {0: "", 1: "noreplace", 2: "exchange", 4: "whiteout"}
# xfs alone has 0x40, unshare-range. What is seen of it is an allocation (fs/xfs/xfs_file.c
# xfs_falloc_unshare_range()).
FALLOCATES = {
    0x00: "alloc",
    0x01: "keep-size",
    0x40: "alloc",
    0x41: "keep-size",
    0x03: "punch-hole",
    0x10: "zero-range",
    0x11: "zero-range-keep-size",
    0x08: "collapse-range",
    0x20: "insert-range",
}
INODE_FLAGS = {
    "A": 0x80,
    "C": 0x800000,
    "D": 0x10000,
    "S": 0x8,
    "a": 0x20,
    "d": 0x40,
    "i": 0x10,
    "j": 0x4000,
}
FICLONE, FICLONERANGE, FIDEDUPERANGE = 0x40049409, 0x4020940D, 0xC0189436
SETFLAGS, SYNC, START_SYNC = 0x40086602, 0x9408, 0x80089418
ENABLE_VERITY = 0x40806685
SUBVOL_CREATE, SUBVOL_CREATE_V2 = 0x5000940E, 0x50009418
SNAP_CREATE, SNAP_CREATE_V2 = 0x50009401, 0x50009417
SNAP_DESTROY, SNAP_DESTROY_V2 = 0x5000940F, 0x5000943F
KINDS = {0o020000: "chr", 0o060000: "blk", 0o010000: "fifo", 0o100000: "file", 0: "file"}
# A call that fails with these may have had part of its effect (oracles/model/model.py: CUT_SHORT).
HALF_DONE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EINTR)
PERSISTING = ("fsync", "fdatasync", "syncfs", "sync", "msync")


class Adapted(msgspec.Struct, frozen=True):
    """What workloads.history.history_of() makes a History of. marks: of run, by text, as it wants them.
    blocks: written bytes by their hash."""

    setup: tuple[Step, ...]
    run: tuple[Step, ...]
    marks: dict[str, int]
    blocks: dict[str, bytes]
    said: tuple[Said, ...]
    unjudged: tuple[Unjudged, ...]
    remarks: tuple[str, ...]


def adapted(trace: Trace, data: bytes, marks: Mapping[str, int]) -> Adapted:
    """data: the data area of the trace. marks: of the log of run, by text the entry_index."""
    teller = Teller(data, marks)
    for node in msgspec.json.decode(trace.tree) or ():
        teller.was_there(node)
    for call in trace.calls:
        teller.tell(call)
    return Adapted(
        setup=tuple(teller.setup),
        run=tuple(teller.run),
        marks=teller.marks,
        blocks=teller.blocks,
        said=said_lines(trace, marks),
        unjudged=teller.unjudged(),
        remarks=remarks(trace),
    )


def said_lines(trace: Trace, marks: Mapping[str, int]) -> tuple[Said, ...]:
    """Each whole line of the standard output, with the mark after the call that ended it."""
    lines, end = [], 0
    places = iter(trace.places)
    place = next(places, None)
    for line in trace.said.split("\n")[:-1]:
        end += len(line) + 1
        while place is not None and place[1] < end:
            place = next(places, None)
        if place is None or (entry := marks.get(f"said-{place[0]}")) is None:
            break
        lines.append(Said(line, entry))
    return tuple(lines)


def remarks(trace: Trace) -> tuple[str, ...]:
    notes = [NOTES[note] for note in trace.notes]
    notes += [f"written outside the mount, not judged: {path}" for path in trace.outside]
    if trace.status:
        said = trace.complained.strip().splitlines() or ["it complained of nothing"]
        notes.append(f"what the program would have done after exit status {trace.status}: {said[-1]}")
    return tuple(notes)


class Teller:
    """Tells calls one after the other, and knows which names each object has and had."""

    def __init__(self, data: bytes, marks: Mapping[str, int]) -> None:
        self.setup: list[Step] = []
        self.run: list[Step] = []
        self.marks: dict[str, int] = {}
        self.blocks: dict[str, bytes] = {}
        self._data = data
        self._log = marks
        self._at: dict[str, int] = {}  # path to the object there
        self._had: dict[int, set[str]] = {}  # object to every path it had
        self._nameless: dict[int, str] = {}  # object without a name to its descriptor
        self._born: dict[int, tuple[list[Step], int]] = {}  # file to the step that made it
        self._limits: list[tuple[int, str, str, int]] = []

    # --- what was there before

    def was_there(self, node: dict[str, Any]) -> None:
        """A name of the tree before the program: as if a setup had made it."""
        path, kind = node["path"], node["kind"]
        if path == ROOT or path.partition("/")[0] in MADE_BY_MKFS.values():
            return
        number = node["ino"]
        if number in self._had and kind != "dir":
            self._before(Operation("link", next(iter(self._had[number])), path), node)
            self._name(path, number)
            return
        self._name(path, number)
        made = (node["mode"], node.get("uid", 0), node.get("gid", 0))
        if kind == "sock":
            self._limits.append((number, "bind", "a socket", -1))
            return
        target, device = node.get("target", ""), node.get("device", "")
        word = {"file": "creat", "dir": "mkdir", "fifo": "mkfifo", "symlink": "symlink"}.get(kind, "mknod")
        mode = kind if word == "mknod" else ""
        self._before(Operation(word, path, target=target, mode=mode, device=device), node, made)
        if kind == "file":
            self._content_before(path, node)
        for name, value in node.get("xattrs", {}).items():
            self._attribute(name, bytes.fromhex(value), path, number, lambda one: self._before(one, node))

    def _content_before(self, path: str, node: dict[str, Any]) -> None:
        end = 0
        if any(run[2] == "h" for run in node.get("content", ())):  # nobody knows more, and nobody asks
            self._before(Operation("write", path, length=node["size"]), node)
            return
        for start, content in joined(node.get("content", ())):
            operation = Operation("write", path, offset=start, length=len(content))
            self._before(operation, node, content=content)
            end = start + len(content)
        if end < node["size"]:
            self._before(Operation("truncate", path, length=node["size"]), node)

    def _before(
        self,
        operation: Operation,
        node: dict[str, Any],
        made: tuple[int, ...] = (),
        content: bytes | None = None,
    ) -> None:
        self.setup.append(
            Step(
                index=len(self.setup),
                operation=operation,
                result=0,
                inode=node["ino"],
                blocks=node["blocks"],
                made=made,
                data=() if content is None else self._kept(operation.offset, content),
            )
        )
        if operation.word == "creat":
            self._born[node["ino"]] = (self.setup, len(self.setup) - 1)

    # --- one call

    def tell(self, call: Call) -> None:
        half_done = -call.result in HALF_DONE and (call.file != b"null" or call.call in PERSISTING)
        if call.result < 0 and not half_done:
            return
        TELL.get(call.call, Teller._cannot)(self, call)

    def _add(
        self, call: Call, operation: Operation, made: bool = False, content: bytes | None = None
    ) -> None:
        begin, done = (self._log.get(f"{word}-{call.number}") for word in ("begin", "done"))
        recorded = begin is not None and done is not None
        index = len(self.setup) + len(self.run)
        step = Step(
            index=index,
            operation=operation,
            result=min(call.result, 0),
            inode=0 if operation.word in ("unlink", "rmdir", "sync", "syncfs") else call.inode,
            blocks=call.blocks,
            left_inode=call.left,
            times=call.times,
            file=call.file,
            made=(call.permissions, *call.owner) if made else (),
            data=() if content is None else self._kept(operation.offset, content),
        )
        steps = self.run if recorded else self.setup
        steps.append(step)
        if operation.word == "creat":
            self._born[call.inode] = (steps, len(steps) - 1)
            self._nameless.pop(call.inode, None)
        if not recorded:
            return
        assert begin is not None
        assert done is not None
        self.marks |= {f"begin-{index}": begin, f"done-{index}": done}

    def _kept(self, offset: int, content: bytes) -> tuple[str, ...]:
        """The hashes of the file's blocks that the bytes at this offset belong to."""
        keys = []
        first = BLOCK_BYTES - offset % BLOCK_BYTES
        edges = [0, *range(first, len(content), BLOCK_BYTES), len(content)]
        for start, end in pairwise(edges):
            block = content[start:end]
            key = hashlib.sha256(block).hexdigest()[:32]
            self.blocks[key] = block
            keys.append(key)
        return tuple(keys)

    def _bytes(self, call: Call) -> bytes:
        start, length = call.data
        return self._data[start : start + length]

    # --- names

    def _name(self, path: str, number: int) -> None:
        self._at[path] = number
        self._had.setdefault(number, set()).add(path)

    def _drop(self, path: str) -> None:
        self._at.pop(path, None)

    def _below(self, path: str) -> list[str]:
        return [one for one in self._at if one == path or one.startswith(path + "/")]

    def _move(self, moves: Iterable[tuple[str, str]]) -> None:
        taken: dict[str, int] = {}
        for old, new in moves:
            for path in self._below(old):
                taken[new + path[len(old) :]] = self._at.pop(path)
        for path, number in taken.items():
            self._name(path, number)

    def _path(self, call: Call) -> str:
        """What the call is about: a name that its file has, or its kept descriptor; "" where neither is
        known."""
        if call.path:
            return call.path
        if name := next((path for path, number in self._at.items() if number == call.inode), ""):
            return name
        if call.inode not in self._nameless and call.inode in self._born:
            self._keep_open(call.inode)
        return self._nameless.get(call.inode, "")

    def _keep_open(self, number: int) -> None:
        """The step that made the file keeps its descriptor, too: later calls are about it, and it has no
        name."""
        steps, place = self._born[number]
        made = steps[place]
        descriptor = self._nameless[number] = f"@u{made.index}"
        operation = Operation("open", made.operation.path, descriptor=descriptor, mode="creat")
        steps[place] = msgspec.structs.replace(made, operation=operation)

    def _limit(self, call: Call, why: str, number: int = 0) -> None:
        place = self._log.get(f"begin-{call.number}", -1)
        self._limits.append((number or call.inode or call.before, call.call, why, place))

    def unjudged(self) -> tuple[Unjudged, ...]:
        """Once for each name that the object ever had."""
        found = [
            Unjudged(path, call, why, entry)
            for number, call, why, entry in self._limits
            for path in sorted(self._had.get(number, ()))
        ]
        return tuple(dict.fromkeys(found))

    # --- what each call means

    def _cannot(self, call: Call) -> None:
        self._limit(call, f"no word of a workload says {call.call}")

    def _open(self, call: Call) -> None:
        if call.flags & O_TMPFILE == O_TMPFILE:
            descriptor = self._nameless[call.inode] = f"@t{call.number}"
            self._add(call, Operation("tmpfile", call.path, descriptor=descriptor), made=True)
        elif not call.before_kind:
            self._name(call.path, call.inode)
            self._add(call, Operation("creat", call.path), made=True)
        elif call.flags & O_TRUNC and call.size:
            self._add(call, Operation("truncate", call.path))

    def _mkdir(self, call: Call) -> None:
        self._name(call.path, call.inode)
        self._add(call, Operation("mkdir", call.path), made=True)

    def _mknod(self, call: Call) -> None:
        self._name(call.path, call.inode)
        kind = KINDS.get(call.mode & 0o170000)
        if kind is None:
            self._limit(call, "no word of a workload makes a socket")
            return
        major = call.at >> 8 & 0xFFF | call.at >> 32 & 0xFFFFF000
        minor = call.at & 0xFF | call.at >> 12 & 0xFFFFFF00
        device = f"{major}:{minor}" if kind in ("chr", "blk") else ""
        word = {"fifo": "mkfifo", "file": "creat"}.get(kind, "mknod")
        mode = kind if word == "mknod" else ""
        self._add(call, Operation(word, call.path, mode=mode, device=device), made=True)

    def _bind(self, call: Call) -> None:
        self._name(call.path, call.inode)
        self._limit(call, "no word of a workload makes a socket")

    def _symlink(self, call: Call) -> None:
        self._name(call.path, call.inode)
        self._add(call, Operation("symlink", call.path, target=call.target), made=True)

    def _link(self, call: Call) -> None:
        path = self._path(call)
        self._name(call.path2, call.inode)
        if path:
            self._add(call, Operation("link", path, call.path2))
        else:
            self._limit(call, "the file that was linked has no name known to the trace")

    def _unlink(self, call: Call) -> None:
        word = "rmdir" if call.call == "rmdir" or call.flags & AT_REMOVEDIR else "unlink"
        if call.call == "unlink":
            word = "unlink"
        self._drop(call.path)
        self._add(call, Operation(word, call.path))

    def _rename(self, call: Call) -> None:
        old, new, mode = call.path, call.path2, RENAMES.get(call.flags)
        if mode is None:
            self._limit(call, f"no word of a workload says rename with flags {call.flags:#x}")
            return
        if mode == "exchange":
            self._move(((old, new), (new, old)))
        elif self._at.get(old) != self._at.get(new) or old not in self._at:
            self._drop(new)
            self._move(((old, new),))
        if mode == "whiteout":
            self._name(old, call.left)
        self._add(call, Operation("rename", old, new, mode=mode))

    def _chmod(self, call: Call) -> None:
        self._at_object(call, Operation("chmod", mode=f"{call.permissions:o}"))

    def _chown(self, call: Call) -> None:
        self._at_object(call, Operation("chown", value=f"{call.owner[0]}:{call.owner[1]}"))

    def _utimes(self, call: Call) -> None:
        if call.at:
            told = call.length if 0 <= call.length <= SECONDS_MAX else CLOCK_SECONDS
            self._at_object(call, Operation("utimes", length=told))

    def _at_object(self, call: Call, operation: Operation) -> None:
        if call.kind == "symlink":  # the words follow one, as a call that does so was traced with its target
            self._limit(call, f"no word of a workload says {call.call} of a symbolic link itself")
        elif path := self._path(call):
            self._add(call, msgspec.structs.replace(operation, path=path))

    def _setxattr(self, call: Call) -> None:
        if path := self._path(call):
            value = bytes.fromhex(call.value)
            if call.name == ACCESS and only_permissions(value):
                self._chmod(call)
                return
            self._attribute(call.name, value, path, call.inode, lambda one: self._add(call, one), call.number)

    def _attribute(
        self,
        name: str,
        value: bytes,
        path: str,
        number: int,
        add: Callable[[Operation], None],
        call: int = -1,
    ) -> None:
        """Of ours only; the others no oracle looks at."""
        place = self._log.get(f"begin-{call}", -1)
        if name == ACCESS:
            self._limits.append((number, "setxattr", "an access control list is told as bytes", place))
        if not name.startswith(XATTR_SPACES):
            return
        try:
            add(Operation("setxattr", path, name=name, value=value.decode()))
        except UnicodeDecodeError:
            self._limits.append((number, "setxattr", "the value of an attribute is no text", place))

    def _removexattr(self, call: Call) -> None:
        if call.name.startswith(XATTR_SPACES):
            self._at_object(call, Operation("removexattr", name=call.name))
        elif call.name == ACCESS:
            self._limit(call, "an access control list is told as bytes")

    def _truncate(self, call: Call) -> None:
        self._at_object(call, Operation("truncate", length=call.length))

    def _fallocate(self, call: Call) -> None:
        mode = FALLOCATES.get(call.mode)
        if mode is None:
            self._limit(call, f"no word of a workload says fallocate with mode {call.mode:#x}")
            return
        self._at_object(call, Operation("fallocate", mode=mode, offset=call.offset, length=call.length))

    def _write(self, call: Call) -> None:
        path, content = self._path(call), self._bytes(call)
        if not path or not call.length:
            return
        if call.kind not in ("file", ""):
            return
        if len(content) != call.length:
            self._limit(call, "the bytes that were written could not be read")
            return
        how = [] if not call.flags & O_DIRECT else ["direct"]
        asked = call.at if call.call == "pwritev2" else 0
        if asked & RWF_SYNC:
            how.append("sync")
        elif synced := sync_mode(call.flags) or ("dsync" if asked & RWF_DSYNC else ""):
            how.append(synced)
        word = "pwrite" if how else "write"
        operation = Operation(word, path, offset=call.offset, length=call.length, mode="-".join(how))
        self._add(call, operation, content=content)

    def _copy(self, call: Call) -> None:
        if not call.path2 or call.result <= 0:
            self._write(call)
            return
        if path := self._path(call):
            how = sync_mode(call.flags)
            place = Operation("copyrange", offset=call.at, length=call.length, at=call.offset, mode=how)
            self._add(call, msgspec.structs.replace(place, path=call.path2, path2=path))

    def _store(self, call: Call) -> None:
        if call.unsure:
            self._limit(call, "two files were changed through mappings between two calls")
        if path := self._path(call):
            operation = Operation("mmapwrite", path, offset=call.offset, length=call.length)
            self._add(call, operation, content=self._bytes(call))

    def _mmap(self, call: Call) -> None:
        if call.mode:
            self._limit(call, "it is written through a shared mapping that is too large to follow")

    def _msync(self, call: Call) -> None:
        self._add(call, Operation("msync", call.path, offset=call.offset, length=call.length))

    def _fsync(self, call: Call) -> None:
        self._at_object(call, Operation(call.call))

    def _sync(self, call: Call) -> None:
        self._add(call, Operation(call.call))

    def _sync_file_range(self, call: Call) -> None:
        self._at_object(call, Operation("sync_file_range", offset=call.offset, length=call.length))

    def _ioctl(self, call: Call) -> None:
        request, named = call.mode, bool(call.path and call.path2)
        how = sync_mode(call.flags)
        between = Operation("", offset=call.offset, length=call.length, at=call.at, mode=how)
        if request == FICLONE and named:
            self._add(call, Operation("clone", call.path2, call.path, mode=how))
        elif request == FICLONERANGE and named:
            self._add(call, msgspec.structs.replace(between, word="clone", path=call.path2, path2=call.path))
        elif request == FIDEDUPERANGE and named:
            self._add(call, msgspec.structs.replace(between, word="dedupe", path=call.path, path2=call.path2))
        elif request == SETFLAGS:
            self._set_flags(call)
        elif request == ENABLE_VERITY and (path := self._path(call)):
            self._add(call, Operation("verity", path))
        elif request == SYNC:
            self._add(call, Operation("syncfs"))
        elif request in (SUBVOL_CREATE, SUBVOL_CREATE_V2):
            self._subvolume(call, "create")
        elif request in (SNAP_DESTROY, SNAP_DESTROY_V2):
            self._subvolume(call, "delete")
        elif request in (SNAP_CREATE, SNAP_CREATE_V2) and call.path2:
            path = below(call.path, call.target)
            self._name(path, call.inode)
            self._add(call, Operation("snapshot", call.path2, path))
        elif request != START_SYNC:  # which promises nothing
            self._limit(call, f"no word of a workload says ioctl {request:#x}")

    def _subvolume(self, call: Call, deed: str) -> None:
        path = below(call.path, call.target)
        if deed == "create":
            self._name(path, call.inode)
        else:
            for each in self._below(path):
                self._drop(each)
        self._add(call, Operation("subvol", path, mode=deed))

    def _set_flags(self, call: Call) -> None:
        known = {letter: bit for letter, bit in INODE_FLAGS.items() if (call.offset ^ call.at) & bit}
        if len(known) == 1 and (path := self._path(call)):
            letter, bit = next(iter(known.items()))
            self._add(call, Operation("chattr", path, mode=("+" if call.offset & bit else "-") + letter))
        elif call.offset != call.at:
            self._limit(call, "no word of a workload sets these inode flags at once")


def sync_mode(flags: int) -> str:
    """As of a word of a workload. flags: of a descriptor."""
    if flags & O_SYNC == O_SYNC:
        return "sync"
    return "dsync" if flags & O_DSYNC else ""


def only_permissions(acl: bytes) -> bool:
    """Whether an access control list says no more than the permissions of user, group and others. Linux
    changes these then, and keeps no attribute: posix_acl_equiv_mode()."""
    return len(acl) == 4 + 3 * 8 and {tag for tag, _, _ in decoded(acl)} == {USER_OBJ, GROUP_OBJ, OTHER}


def below(directory: str, name: str) -> str:
    return name if directory == ROOT else f"{directory}/{name}"


def joined(runs: Iterable[list[Any]]) -> Iterable[tuple[int, bytes]]:
    """(offset, bytes) of what a walk found in a file, without its zeros, neighbours together."""
    start, content = 0, b""
    for offset, length, kind, *rest in runs:
        if kind == "z":
            continue
        found = stamped(rest[0] - 1, offset, length) if kind == "w" else bytes.fromhex(rest[1])
        if content and start + len(content) != offset:
            yield start, content
            content = b""
        if not content:
            start = offset
        content += found
    if content:
        yield start, content


TELL: dict[str, Callable[[Teller, Call], None]] = {
    **dict.fromkeys(("open", "openat", "openat2", "creat"), Teller._open),
    **dict.fromkeys(("mkdir", "mkdirat"), Teller._mkdir),
    **dict.fromkeys(("mknod", "mknodat"), Teller._mknod),
    **dict.fromkeys(("symlink", "symlinkat"), Teller._symlink),
    **dict.fromkeys(("link", "linkat"), Teller._link),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), Teller._unlink),
    **dict.fromkeys(("rename", "renameat", "renameat2"), Teller._rename),
    **dict.fromkeys(("chmod", "fchmod", "fchmodat", "fchmodat2"), Teller._chmod),
    **dict.fromkeys(("chown", "lchown", "fchown", "fchownat"), Teller._chown),
    **dict.fromkeys(("utime", "utimes", "futimesat", "utimensat"), Teller._utimes),
    **dict.fromkeys(("setxattr", "lsetxattr", "fsetxattr"), Teller._setxattr),
    **dict.fromkeys(("removexattr", "lremovexattr", "fremovexattr"), Teller._removexattr),
    **dict.fromkeys(("truncate", "ftruncate"), Teller._truncate),
    **dict.fromkeys(("write", "pwrite64", "writev", "pwritev", "pwritev2"), Teller._write),
    **dict.fromkeys(("sendfile", "copy_file_range", "splice"), Teller._copy),
    **dict.fromkeys(("fsync", "fdatasync"), Teller._fsync),
    **dict.fromkeys(("sync", "syncfs"), Teller._sync),
    "bind": Teller._bind,
    "fallocate": Teller._fallocate,
    "store": Teller._store,
    "mmap": Teller._mmap,
    "msync": Teller._msync,
    "sync_file_range": Teller._sync_file_range,
    "ioctl": Teller._ioctl,
}
