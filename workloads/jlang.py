"""
CrashMonkey's J-lang, read as a workload of ours and written from one.

In:       the text of a J-lang file (read), or a Workload (write).
Out:      a Workload that makes the same system calls, or a text; NotJlang, NotMapped or NotExpressed with a
          reason for every line or operation.
Not here: which files (harness/commands/generate.py), the space that ACE makes such files of
          (generate/ace.py).

What a J-lang line does is what ace/cmAdapter.py of utsaslab/crashmonkey makes of it, in C++. A file is
opened once and used through its descriptor, so `open` and `opendir` keep one here, too; `truncate`,
`removexattr`, `rename`, `link` and the like go by name. `dwrite` closes the file and opens it anew with
O_DIRECT and O_SYNC; `mmapwrite` allocates, maps, copies, and syncs the first 8 KiB of the range;
`checkpoint` and `none` do nothing to the disk. A line that cannot succeed ends CrashMonkey's run, and is
not mapped here.

Three things are not carried over. Permissions: CrashMonkey's 0777 is our 644 or 755. The text of a symlink:
there it is an absolute path below CrashMonkey's mount, here the relative path to the same place. O_DIRECT of
a dwrite that is not aligned, as ACE makes some: with it the call fails on one filesystem and goes through the
cache on another (open(2)), so here it goes through the cache on all.
"""

import posixpath
import re
from collections.abc import Callable
from types import MappingProxyType

import msgspec

from workloads.text import SECTOR, BadWorkload, format_operation, parse
from workloads.workload import Operation, Workload

SECTIONS = ("define", "declare", "setup", "run")
ROOT = "test"  # what ACE's files call the mount
XATTR = ("user.xattr1", "val1")  # cmAdapter.py insertFsetxattr(): four bytes of it
MSYNC_BYTES = 8192  # cmAdapter.py insertWrite()
PERMISSIONS = "0777"

# fallocate(2); 0 is the plain call.
_FALLOCATE = MappingProxyType(
    {
        frozenset({"0"}): "alloc",
        frozenset({"FALLOC_FL_KEEP_SIZE"}): "keep-size",
        frozenset({"FALLOC_FL_PUNCH_HOLE", "FALLOC_FL_KEEP_SIZE"}): "punch-hole",
        frozenset({"FALLOC_FL_ZERO_RANGE"}): "zero-range",
        frozenset({"FALLOC_FL_ZERO_RANGE", "FALLOC_FL_KEEP_SIZE"}): "zero-range-keep-size",
        frozenset({"FALLOC_FL_COLLAPSE_RANGE"}): "collapse-range",
        frozenset({"FALLOC_FL_INSERT_RANGE"}): "insert-range",
    }
)
_FALLOCATE_WRITTEN = MappingProxyType(
    {
        "alloc": "0",
        "keep-size": "FALLOC_FL_KEEP_SIZE",
        "punch-hole": "FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE",
        "zero-range": "FALLOC_FL_ZERO_RANGE",
        "zero-range-keep-size": "FALLOC_FL_ZERO_RANGE|FALLOC_FL_KEEP_SIZE",
        "collapse-range": "FALLOC_FL_COLLAPSE_RANGE",
        "insert-range": "FALLOC_FL_INSERT_RANGE",
    }
)
# Ours is always open for reading and writing.
_OPEN_FLAGS = MappingProxyType(
    {
        "O_RDWR": "",
        "O_RDONLY": "",
        "O_WRONLY": "",
        "O_DIRECTORY": "",
        "O_CREAT": "creat",
        "O_TRUNC": "trunc",
        "O_DSYNC": "dsync",
        "O_SYNC": "sync",
    }
)


class NotJlang(Exception):
    """The file is no J-lang at all; the message names it and says what is missing."""


class Reason(msgspec.Struct, frozen=True):
    """Why a line or an operation has no counterpart. place: its line number; text: the line."""

    place: int
    text: str
    reason: str


class NotMapped(Exception):
    """A J-lang file with lines that no operation of ours stands for: all of them."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__("; ".join(f"line {each.place}: {each.text}: {each.reason}" for each in reasons))
        self.reasons = reasons


class NotExpressed(Exception):
    """A workload with operations that J-lang has no words for: all of them."""

    def __init__(self, reasons: tuple[Reason, ...]) -> None:
        super().__init__("; ".join(f"{each.text}: {each.reason}" for each in reasons))
        self.reasons = reasons


# --- reading -------------------------------------------------------------------------------------


class _Line(msgspec.Struct, frozen=True):
    number: int
    text: str
    tokens: tuple[str, ...]


def read(text: str, name: str = "-", source: str = "-") -> Workload:
    """
    The workload that a J-lang text stands for.
    source: the file, for errors. Errors: NotJlang, NotMapped.
    """
    sections = _sections(text, source)
    reader = _Reader([line.text for line in sections.get("define", [])])
    setup = reader.block("setup", sections.get("setup", []))
    run = reader.block("run", sections["run"])
    if reader.reasons:
        raise NotMapped(tuple(reader.reasons))
    return Workload(name=name, setup=setup, run=run, comment=(f"Imported from J-lang, {name}.",))


def _sections(text: str, source: str) -> dict[str, list[_Line]]:
    found: dict[str, list[_Line]] = {}
    section = ""
    for number, raw in enumerate(text.splitlines(), 1):
        words = raw.split()
        if not words:
            continue
        if words[0].startswith("#"):
            section = " ".join(words).lstrip("#").strip()
            if section not in SECTIONS:
                raise NotJlang(f"{source}:{number}: this is not J-lang: {raw.strip()!r} is not a section")
            if section in found:
                raise NotJlang(f"{source}:{number}: this is not J-lang: section {section} occurs twice")
            found[section] = []
        elif not section:
            raise NotJlang(
                f"{source}:{number}: this is not J-lang: a line stands before the first `# define`, "
                "`# setup` or `# run`"
            )
        else:
            found[section].append(_Line(number, raw.strip(), tuple(words)))
    if "run" not in found:
        raise NotJlang(f"{source}: this is not J-lang: there is no line `# run`")
    if not any(line.tokens[0] in (*_READ, *_NOTHING) for line in found["run"]):
        raise NotJlang(f"{source}: this is not J-lang: there is no J-lang operation below `# run`")
    return found


class _Unmapped(Exception):
    """Of one line: why."""


_NOTHING = ("checkpoint", "none")


class _Reader:
    """Goes through the lines in order, with what is open and what is a directory."""

    def __init__(self, defined: list[str]) -> None:
        self._paths = {path.replace("/", ""): path for path in defined}
        # Before September 2018 a file went by the last part of its path.
        self._last_parts: dict[str, list[str]] = {}
        for path in defined:
            self._last_parts.setdefault(path.rsplit("/", 1)[-1], []).append(path)
        self.open: dict[str, str] = {}  # path to the descriptor that J-lang's variable of it holds
        self._kept: set[str] = set()  # these, and those whose variable was given another one
        self.directories: set[str] = {"."}
        self.reasons: list[Reason] = []

    def block(self, name: str, lines: list[_Line]) -> tuple[Operation, ...]:
        # setup() and run() are two functions: what one opened stays open, and the other has no name for it.
        self.open = {}
        operations: list[Operation] = []
        for line in lines:
            try:
                operations += self._line(line)
            except _Unmapped as error:
                self.reasons.append(Reason(line.number, line.text, str(error)))
        if name == "run" and not operations and not self.reasons:
            last = lines[-1]
            self.reasons.append(Reason(last.number, last.text, "the run section does nothing"))
        return tuple(operations)

    def _line(self, line: _Line) -> list[Operation]:
        word, *arguments = line.tokens
        if word in _NOTHING:
            return []
        if word not in _READ:
            raise _Unmapped(f"unknown operation {word}")
        count, handler = _READ[word]
        if len(arguments) != count:
            raise _Unmapped(f"{word} takes {count} arguments, not {len(arguments)}")
        made = handler(self, *arguments)
        for operation in made:
            _check(operation)
        return made

    # --- names

    def path(self, name: str) -> str:
        path = self._path(name)
        return "." if path == ROOT else path

    def _path(self, name: str) -> str:
        if name in self._paths:
            return self._paths[name]
        paths = self._last_parts.get(name, [])
        if len(paths) == 1:
            return paths[0]
        if paths:
            raise _Unmapped(f"{name} can mean {' or '.join(paths)}")
        if name == ROOT or not self._paths or name in self._paths.values():
            return name
        raise _Unmapped(f"{name} is not defined")

    # --- descriptors

    def keep(self, path: str) -> str:
        """A new descriptor for `path`. One that its variable held before is lost: open, and out of reach."""
        base = "@" + (ROOT if path == "." else re.sub("[^A-Za-z0-9_-]", "_", path.replace("/", ""))[:24])
        name, count = base, 1
        while name in self._kept:
            count += 1
            name = f"{base}-{count}"
        self._kept.add(name)
        self.open[path] = name
        return name

    def descriptor(self, name: str) -> str:
        path = self.path(name)
        if path not in self.open:
            raise _Unmapped(f"{name} is not open here")
        return self.open[path]

    def let_go(self, name: str) -> str:
        descriptor = self.descriptor(name)
        del self.open[self.path(name)]
        self._kept.remove(descriptor)
        return descriptor


def _check(operation: Operation) -> None:
    """What our own text would refuse: a length above 1 GiB, a path with a .. in it, an unaligned O_DIRECT."""
    opened = [f"  open x {operation.path}"] if operation.path.startswith("@") else []
    try:
        parse("\n".join(["run", *opened, f"  {format_operation(operation)}"]), source="")
    except BadWorkload as error:
        raise _Unmapped(str(error).splitlines()[0].split(": ", 1)[-1]) from None


def _number(text: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", text):
        raise _Unmapped(f"{text} is not a number of bytes")
    return int(text)


def _open(reader: _Reader, name: str, flags: str, _permissions: str) -> list[Operation]:
    path, words = reader.path(name), flags.split("|")
    if unknown := [word for word in words if word not in _OPEN_FLAGS]:
        raise _Unmapped(f"no workload word corresponds to {'|'.join(unknown)}")
    chosen = [_OPEN_FLAGS[word] for word in words if _OPEN_FLAGS[word]]
    return [Operation("open", path=path, descriptor=reader.keep(path), mode=",".join(chosen))]


def _opendir(reader: _Reader, name: str, _permissions: str) -> list[Operation]:
    path = reader.path(name)
    return [Operation("open", path=path, descriptor=reader.keep(path))]


def _close(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("close", path=reader.let_go(name))]


def _mkdir(reader: _Reader, name: str, _permissions: str) -> list[Operation]:
    path = reader.path(name)
    reader.directories.add(path)
    return [Operation("mkdir", path=path)]


def _rmdir(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("rmdir", path=reader.path(name))]


def _remove(reader: _Reader, name: str) -> list[Operation]:
    """remove(3): rmdir(2) of a directory, unlink(2) of anything else."""
    path = reader.path(name)
    return [Operation("rmdir" if path in reader.directories else "unlink", path=path)]


def _unlink(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("unlink", path=reader.path(name))]


def _mknod(reader: _Reader, name: str, mode: str, device: str) -> list[Operation]:
    # S_IFCHR|S_IFBLK, as ACE wrote it, is S_IFBLK: its bits hold those of S_IFCHR (stat(2)).
    types = set(mode.split("|")) & {"S_IFCHR", "S_IFBLK", "S_IFIFO"}
    if types == {"S_IFIFO"}:
        return [Operation("mkfifo", path=reader.path(name))]
    if not types or "S_IFIFO" in types:
        raise _Unmapped(f"{mode} must have exactly one of S_IFCHR, S_IFBLK and S_IFIFO")
    number = _number(device)  # include/linux/kdev_t.h new_decode_dev()
    major, minor = number >> 8 & 0xFFF, number & 0xFF | number >> 12 & 0xFFF00
    kind = "blk" if "S_IFBLK" in types else "chr"
    return [Operation("mknod", path=reader.path(name), mode=kind, device=f"{major}:{minor}")]


def _link(reader: _Reader, old: str, new: str) -> list[Operation]:
    return [Operation("link", path=reader.path(old), path2=reader.path(new))]


def _symlink(reader: _Reader, old: str, new: str) -> list[Operation]:
    target, path = reader.path(old), reader.path(new)
    return [Operation("symlink", target=posixpath.relpath(target, posixpath.dirname(path) or "."), path=path)]


def _rename(reader: _Reader, old: str, new: str) -> list[Operation]:
    path, path2 = reader.path(old), reader.path(new)
    if path in reader.directories:
        reader.directories = reader.directories - {path} | {path2}
    return [Operation("rename", path=path, path2=path2)]


def _truncate(reader: _Reader, name: str, size: str) -> list[Operation]:
    return [Operation("truncate", path=reader.path(name), length=_number(size))]


def _fsetxattr(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("setxattr", path=reader.descriptor(name), name=XATTR[0], value=XATTR[1])]


def _removexattr(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("removexattr", path=reader.path(name), name=XATTR[0])]


def _write(reader: _Reader, name: str, offset: str, length: str) -> list[Operation]:
    return [Operation("write", path=reader.descriptor(name), offset=_number(offset), length=_number(length))]


def _dwrite(reader: _Reader, name: str, offset: str, length: str) -> list[Operation]:
    path, start, size = reader.path(name), _number(offset), _number(length)
    mode = "direct-sync" if _is_aligned(start, size) else "sync"
    written = Operation("pwrite", path=path, offset=start, length=size, mode=mode)
    return [*(_close(reader, name) if path in reader.open else ()), written]


def _is_aligned(offset: int, length: int) -> bool:
    return offset % SECTOR == 0 == length % SECTOR


def _mmapwrite(reader: _Reader, name: str, offset: str, length: str) -> list[Operation]:
    path, start, size = reader.descriptor(name), _number(offset), _number(length)
    return [
        Operation("fallocate", path=path, mode="alloc", offset=start, length=size),
        Operation("mmapwrite", path=path, offset=start, length=size),
        Operation("msync", path=path, offset=start, length=MSYNC_BYTES),
    ]


def _falloc(reader: _Reader, name: str, flags: str, offset: str, length: str) -> list[Operation]:
    mode = _FALLOCATE.get(frozenset(flags.split("|")))
    if mode is None:
        raise _Unmapped(f"fallocate has no mode {flags}")
    path = reader.descriptor(name)
    return [Operation("fallocate", path=path, mode=mode, offset=_number(offset), length=_number(length))]


def _fsync(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("fsync", path=reader.descriptor(name))]


def _fdatasync(reader: _Reader, name: str) -> list[Operation]:
    return [Operation("fdatasync", path=reader.descriptor(name))]


def _sync(_reader: _Reader) -> list[Operation]:
    return [Operation("sync")]


# How many arguments, and what stands for it.
_READ: MappingProxyType[str, tuple[int, Callable[..., list[Operation]]]] = MappingProxyType(
    {
        "open": (3, _open),
        "opendir": (2, _opendir),
        "close": (1, _close),
        "mkdir": (2, _mkdir),
        "rmdir": (1, _rmdir),
        "mknod": (3, _mknod),
        "unlink": (1, _unlink),
        "remove": (1, _remove),
        "link": (2, _link),
        "symlink": (2, _symlink),
        "rename": (2, _rename),
        "truncate": (2, _truncate),
        "fsetxattr": (1, _fsetxattr),
        "removexattr": (1, _removexattr),
        "write": (3, _write),
        "dwrite": (3, _dwrite),
        "mmapwrite": (3, _mmapwrite),
        "falloc": (4, _falloc),
        "fsync": (1, _fsync),
        "fdatasync": (1, _fdatasync),
        "sync": (0, _sync),
    }
)


# --- writing -------------------------------------------------------------------------------------


class _Inexpressible(Exception):
    """Of one operation: why."""


def write(workload: Workload) -> str:
    """
    The J-lang text of a workload; its header is left out, since J-lang has no comments.
    An operation that opens a file for itself becomes open, call and close. Errors: NotExpressed.
    """
    writer = _Writer()
    setup = writer.block(workload.setup)
    run = writer.block(workload.run)
    if writer.reasons:
        raise NotExpressed(tuple(writer.reasons))
    run = _checkpointed(run)
    defined = [ROOT, *(path for path in writer.names.values() if path != ".")]
    head = ["# define", *defined, "", "# declare", "local_checkpoint", "", "# setup", *setup]
    return "\n".join([*head, "", "# run", *run]) + "\n"


_PERSIST = ("fsync", "fdatasync", "sync", "mmapwrite")


def _checkpointed(lines: list[str]) -> list[str]:
    """ACE's habit: after each call that makes durable, with a 1 after the last."""
    last = max((at for at, line in enumerate(lines) if line.split()[0] in _PERSIST), default=-1)
    made = []
    for at, line in enumerate(lines):
        made.append(line)
        if line.split()[0] in _PERSIST:
            made.append(f"checkpoint {int(at == last)}")
    return made


class _Writer:
    def __init__(self) -> None:
        self.names: dict[str, str] = {ROOT: "."}  # J-lang's name to the path
        self.reasons: list[Reason] = []
        self._open: dict[str, str] = {}  # descriptor to path
        self._held: dict[str, str] = {}  # path to the descriptor that J-lang's variable holds
        self._ever: set[str] = set()
        self._directories = {"."}

    def block(self, operations: tuple[Operation, ...]) -> list[str]:
        self._held = {}
        self._ever = set()
        lines: list[str] = []
        rest = list(operations)
        while rest:
            taken = 1
            try:
                made, taken = self._next(rest)
                lines += made
            except _Inexpressible as error:
                self.reasons.append(Reason(rest[0].line, format_operation(rest[0]), str(error)))
            del rest[:taken]
        return lines

    def _next(self, rest: list[Operation]) -> tuple[list[str], int]:
        """The lines of the next operations, and how many these are."""
        operation = rest[0]
        if operation.parallel:
            raise _Inexpressible("J-lang has no threads, so it cannot express a parallel block")
        if _is_mmapwrite(rest[:3]):
            return self._through(operation.path, f"mmapwrite {{}} {operation.offset} {operation.length}"), 3
        if operation.word == "close" and len(rest) > 1 and self._is_dwrite(operation, rest[1]):
            self._let_go(operation.path)  # dwrite closes it
            return self._dwrite(rest[1]), 2
        if operation.word not in _WRITTEN:
            raise _Inexpressible("J-lang has no word for it")
        return _WRITTEN[operation.word](self, operation), 1

    def _is_dwrite(self, closing: Operation, operation: Operation) -> bool:
        return operation.word == "pwrite" and self._open.get(closing.path) == operation.path

    def name(self, path: str) -> str:
        """J-lang's name of a path. Errors: _Inexpressible when another path has it."""
        name = ROOT if path == "." else path.replace("/", "")
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise _Inexpressible(
                f"{path} cannot be used as the name of a C++ variable, which J-lang requires"
            )
        if self.names.setdefault(name, path) != path:
            raise _Inexpressible(f"{path} and {self.names[name]} would have the same name in J-lang")
        return name

    def keep(self, operation: Operation) -> None:
        self._open[operation.descriptor] = operation.path
        self._held[operation.path] = operation.descriptor
        self._ever.add(operation.path)

    def _let_go(self, descriptor: str) -> str:
        path = self._path_of(descriptor)
        del self._open[descriptor], self._held[path]
        return path

    def _path_of(self, descriptor: str) -> str:
        path = self._open.get(descriptor)
        if path is None:
            raise _Inexpressible(f"the operation that opens {descriptor} cannot be expressed")
        if self._held.get(path) != descriptor:
            raise _Inexpressible(
                f"J-lang has only one descriptor for each path, and {path} was opened again after "
                f"{descriptor}"
            )
        return path

    def _through(self, path: str, line: str, create: bool = False) -> list[str]:
        """The line with the file's name for {}, between open and close unless a descriptor is kept."""
        if path.startswith("@"):
            return [line.format(self.name(self._path_of(path)))]
        if path in self._held:
            raise _Inexpressible(
                f"{path} is opened a second time, and J-lang has only one descriptor for each path"
            )
        self._ever.add(path)
        name = self.name(path)
        return [self._opening(path, "creat" if create else ""), line.format(name), f"close {name}"]

    def _opening(self, path: str, mode: str) -> str:
        if path in self._directories:
            return f"opendir {self.name(path)} {PERMISSIONS}"
        flags = [flag for flag, ours in _OPEN_FLAGS.items() if ours and ours in mode.split(",")]
        return f"open {self.name(path)} {'|'.join(['O_RDWR', *flags])} {PERMISSIONS}"

    def _dwrite(self, operation: Operation) -> list[str]:
        aligned = _is_aligned(operation.offset, operation.length)
        if operation.mode != ("direct-sync" if aligned else "sync"):
            raise _Inexpressible("J-lang's dwrite is always direct and synchronous")
        path = operation.path
        if path.startswith("@") or path in self._held:
            raise _Inexpressible("J-lang's dwrite closes the file first")
        name = self.name(path)
        # A variable is declared by the first open; dwrite closes what it held.
        first = [] if path in self._ever else [self._opening(path, "creat")]
        self._ever.add(path)
        return [*first, f"dwrite {name} {operation.offset} {operation.length}"]

    def by_path(self, *paths: str) -> list[str]:
        if any(path.startswith("@") for path in paths):
            raise _Inexpressible("in J-lang this operation takes a name, not a descriptor")
        return [self.name(path) for path in paths]

    # --- words

    def creat(self, operation: Operation) -> list[str]:
        if operation.path in self._held:
            raise _Inexpressible(
                f"{operation.path} is open, and J-lang has only one descriptor for each path"
            )
        self._ever.add(operation.path)
        return [self._opening(operation.path, "creat"), f"close {self.name(operation.path)}"]

    def open(self, operation: Operation) -> list[str]:
        line = self._opening(operation.path, operation.mode)
        self.keep(operation)
        return [line]

    def close(self, operation: Operation) -> list[str]:
        return [f"close {self.name(self._let_go(operation.path))}"]

    def mkdir(self, operation: Operation) -> list[str]:
        self._directories.add(operation.path)
        return [f"mkdir {self.name(operation.path)} {PERMISSIONS}"]

    def mknod(self, operation: Operation) -> list[str]:
        major, minor = map(int, operation.device.split(":"))
        number = minor & 0xFF | major << 8 | (minor & ~0xFF) << 12  # include/linux/kdev_t.h new_encode_dev()
        kind = {"chr": "S_IFCHR", "blk": "S_IFBLK"}[operation.mode]
        return [f"mknod {self.name(operation.path)} TEST_FILE_PERMS|{kind} {number}"]

    def mkfifo(self, operation: Operation) -> list[str]:
        return [f"mknod {self.name(operation.path)} TEST_FILE_PERMS|S_IFIFO 0"]

    def two_names(self, operation: Operation) -> list[str]:
        if operation.mode:
            raise _Inexpressible(f"J-lang's rename has no mode {operation.mode}")
        old, new = self.by_path(operation.path, operation.path2)
        if operation.word == "rename" and operation.path in self._directories:
            self._directories = self._directories - {operation.path} | {operation.path2}
        return [f"{operation.word} {old} {new}"]

    def symlink(self, operation: Operation) -> list[str]:
        directory = posixpath.dirname(operation.path)
        target = posixpath.normpath(posixpath.join(directory, operation.target))
        if posixpath.relpath(target, directory or ".") != operation.target or target.startswith("../"):
            raise _Inexpressible("in J-lang the target of a symlink must be a path in the mount")
        return [f"symlink {self.name(target)} {self.name(operation.path)}"]

    def one_name(self, operation: Operation) -> list[str]:
        return [f"{operation.word} {self.name(operation.path)}"]

    def write(self, operation: Operation) -> list[str]:
        return self._through(operation.path, f"write {{}} {operation.offset} {operation.length}", create=True)

    def pwrite(self, operation: Operation) -> list[str]:
        return self._dwrite(operation)

    def truncate(self, operation: Operation) -> list[str]:
        return [f"truncate {self.by_path(operation.path)[0]} {operation.length}"]

    def fallocate(self, operation: Operation) -> list[str]:
        mode = _FALLOCATE_WRITTEN[operation.mode]
        return self._through(operation.path, f"falloc {{}} {mode} {operation.offset} {operation.length}")

    def setxattr(self, operation: Operation) -> list[str]:
        if (operation.name, operation.value) != XATTR:
            raise _Inexpressible(f"the only attribute of J-lang is {XATTR[0]}, with the value {XATTR[1]}")
        return self._through(operation.path, "fsetxattr {}")

    def removexattr(self, operation: Operation) -> list[str]:
        if operation.name != XATTR[0]:
            raise _Inexpressible(f"the only attribute of J-lang is {XATTR[0]}")
        return [f"removexattr {self.by_path(operation.path)[0]}"]

    def persist(self, operation: Operation) -> list[str]:
        return self._through(operation.path, f"{operation.word} {{}}")

    def sync(self, _operation: Operation) -> list[str]:
        return ["sync"]


def _is_mmapwrite(operations: list[Operation]) -> bool:
    if [operation.word for operation in operations] != ["fallocate", "mmapwrite", "msync"]:
        return False
    allocated, mapped, synced = operations
    return (
        allocated.mode == "alloc"
        and allocated.path == mapped.path == synced.path
        and allocated.path.startswith("@")
        and allocated.offset == mapped.offset == synced.offset
        and allocated.length == mapped.length
        and synced.length == MSYNC_BYTES
    )


_WRITTEN: MappingProxyType[str, Callable[[_Writer, Operation], list[str]]] = MappingProxyType(
    {
        "creat": _Writer.creat,
        "open": _Writer.open,
        "close": _Writer.close,
        "mkdir": _Writer.mkdir,
        "mknod": _Writer.mknod,
        "mkfifo": _Writer.mkfifo,
        "link": _Writer.two_names,
        "rename": _Writer.two_names,
        "symlink": _Writer.symlink,
        "unlink": _Writer.one_name,
        "rmdir": _Writer.one_name,
        "write": _Writer.write,
        "pwrite": _Writer.pwrite,
        "truncate": _Writer.truncate,
        "fallocate": _Writer.fallocate,
        "setxattr": _Writer.setxattr,
        "removexattr": _Writer.removexattr,
        "fsync": _Writer.persist,
        "fdatasync": _Writer.persist,
        "sync": _Writer.sync,
    }
)
