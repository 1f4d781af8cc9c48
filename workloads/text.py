"""
The text form of a workload: one operation a line, its word that of the system call.

In:       text (parse) or a Workload (format).
Out:      a Workload, or text; parse(format(w)) == canonical(w). BadWorkload with line and column.
Not here: reading files (library.py), whether an operation can succeed (the kernel says that).

    # What it is for, in one line.
    setup
      mkdir A
    run
      write A/foo 0 8K     # a comment may follow
      setxattr A/foo user.x "two words"
      fsync A/foo

A block's name starts its line; operations are indented below it. Only spaces separate words.
A word with a space in it, an empty one, or one that starts with # stands in double quotes, in
which \\" and \\\\ mean the character itself. A path that starts with @ is a descriptor, which an
earlier open or tmpfile keeps under that name. Comment lines above the first block are kept as
Workload.comment; all other comments are dropped.

Among the operations of run, `parallel` has two to four `thread` lines indented below it, and each of these
its operations; a line that is indented no deeper than `parallel` ends the block.
"""

import difflib
import re
import unicodedata
from collections.abc import Iterable, Iterator
from enum import Enum
from types import MappingProxyType

import msgspec

from workloads import acl, crashes, threads
from workloads.workload import (
    ATOMIC_MODES,
    ERRORTAG_MODES,
    FALLOCATE_MODES,
    FAULT_PARTS,
    INODE_FLAGS,
    NODE_MODES,
    OPEN_FLAGS,
    PWRITE_MODES,
    REMOUNT_MODES,
    RENAME_MODES,
    STOP_MODES,
    SUBVOLUME_MODES,
    Operation,
    Workload,
)

XATTR_SPACES = ("user.", "trusted.")  # xattr(7): symlinks and nodes have none of the first
NAME_BYTES_MAX = 255  # include/uapi/linux/limits.h: NAME_MAX and XATTR_NAME_MAX
PATH_BYTES_MAX = 4095  # the same file: PATH_MAX without its final zero byte
VALUE_BYTES_MAX = 65536  # the same file: XATTR_SIZE_MAX
NUMBER_MAX = 1 << 30
MAJOR_MAX = 4095  # include/linux/kdev_t.h: 12 and 20 bits
MINOR_MAX = 1048575
# The walk tells a time only when it lies before 2001, so that what a clock set is no fact of a tree.
SECONDS_MAX = 999_999_999
WAIT_MS_MAX = 10_000
WRITES_MAX = 1000  # what await counts
WAIT_US_MAX = 100_000  # and how long it waits then
ID_MAX = 65535
DESCRIPTOR_COUNT_MAX = 64  # harness/guests/agent/calls.c: KEPT_MAX
SECTOR = 512  # of the guest's disks: the unit of O_DIRECT
ATOMIC_BYTES_MAX = 16 << 20
OPERATION_COUNT_MAX = 60_000  # a stamp is a u16 (history.py)
K = 1 << 10
M = 1 << 20


class Kind(Enum):
    """What an argument may be."""

    ANYWHERE = "a path in the mount, . for its root"
    BELOW_ROOT = "a path in the mount, not its root"
    FILE = "a path in the mount, not its root, or a descriptor"
    ANYTHING = "a path in the mount, or a descriptor"
    DESCRIPTOR = "a descriptor: @ and a name"
    TARGET = "the text of a symlink"
    NUMBER = "a number of bytes, K and M allowed"
    PERMISSIONS = "three octal digits"
    OWNER = "UID:GID"
    ACL = "an access control list, such as u::rw-,u:1000:r--,g::r--,m::r--,o::---"
    FLAG = "+ or - and an inode flag"
    SECONDS = "seconds since 1970"
    MILLISECONDS = "milliseconds"
    WRITES = "a number of writes"
    MICROSECONDS = "microseconds"
    MODE = "one of the listed values"
    FLAGS = "one or more of the listed values, joined by commas"
    XATTR = "an attribute's name, user.… or trusted.…"
    DEVICE = "a device's numbers, MAJOR:MINOR"
    VALUE = "an attribute's value, which may be empty"
    TAG = "an error tag of XFS, such as rmap_finish_one"
    PLACE = "the number of a byte, counted from 1"
    BYTE = "0 to 255"
    FUNCTION = "the name of a function of the kernel; OUTER:FUNCTION, where the task is in OUTER, too"
    ENTRY = "which entry of it, or return from it, counted from 1"


FUNCTION_NAME = r"[A-Za-z_][\w.]{0,95}"
# Numbers that are no sizes: 1024 is not 1K.
PLAIN = (Kind.SECONDS, Kind.MILLISECONDS, Kind.MICROSECONDS, Kind.WRITES, Kind.PLACE, Kind.BYTE, Kind.ENTRY)


class Argument(msgspec.Struct, frozen=True):
    """shown: as the README and errors name it. field: where Operation keeps it. choices: of MODE, FLAGS."""

    shown: str
    field: str
    kind: Kind
    choices: tuple[str, ...] = ()


class Word(msgspec.Struct, frozen=True):
    """optional: how many of the last arguments may be left out, all of them or none."""

    arguments: tuple[Argument, ...]
    meaning: str
    optional: int = 0


_ANY = Argument("PATH", "path", Kind.ANYWHERE)
_PATH = Argument("PATH", "path", Kind.BELOW_ROOT)
_DIRECTORY = Argument("DIRECTORY", "path", Kind.ANYWHERE)
_FILE = Argument("PATH", "path", Kind.FILE)
_OBJECT = Argument("PATH", "path", Kind.ANYTHING)
_NEW_DESCRIPTOR = Argument("@NAME", "descriptor", Kind.DESCRIPTOR)
_DESCRIPTOR = Argument("@NAME", "path", Kind.DESCRIPTOR)
_OPEN_FLAGS = Argument("FLAGS", "mode", Kind.FLAGS, OPEN_FLAGS)
_ATOMIC_MODE = Argument("dsync", "mode", Kind.MODE, ATOMIC_MODES)
_PWRITE_MODE = Argument("HOW", "mode", Kind.MODE, PWRITE_MODES)
_OLD = Argument("OLD", "path", Kind.BELOW_ROOT)
_LINKED = Argument("OLD", "path", Kind.FILE)
_NEW = Argument("NEW", "path2", Kind.BELOW_ROOT)
_SOURCE = Argument("SOURCE", "path", Kind.FILE)
_TO = Argument("TARGET", "path2", Kind.FILE)
_AT = Argument("AT", "at", Kind.NUMBER)
_DEED = Argument("DEED", "mode", Kind.MODE, SUBVOLUME_MODES)
_SUBVOLUME = Argument("SUBVOLUME", "path", Kind.ANYWHERE)
_PERMISSIONS = Argument("PERMISSIONS", "mode", Kind.PERMISSIONS)
_OWNER = Argument("UID:GID", "value", Kind.OWNER)
_ACL = Argument("ENTRIES", "value", Kind.ACL)
_SECONDS = Argument("SECONDS", "length", Kind.SECONDS)
_MILLISECONDS = Argument("MILLISECONDS", "length", Kind.MILLISECONDS)
_WRITES = Argument("WRITES", "length", Kind.WRITES)
_MICROSECONDS = Argument("MICROSECONDS", "offset", Kind.MICROSECONDS)
_FLAG = Argument("FLAG", "mode", Kind.FLAG)
_TARGET = Argument("TARGET", "target", Kind.TARGET)
_OFFSET = Argument("OFFSET", "offset", Kind.NUMBER)
_LENGTH = Argument("LENGTH", "length", Kind.NUMBER)
_LEAVE = Argument("LEAVE", "length", Kind.NUMBER)
_SIZE = Argument("SIZE", "length", Kind.NUMBER)
_MODE = Argument("MODE", "mode", Kind.MODE, FALLOCATE_MODES)
_HOW = Argument("HOW", "mode", Kind.MODE, RENAME_MODES)
_TYPE = Argument("TYPE", "mode", Kind.MODE, NODE_MODES)
_DEVICE = Argument("MAJOR:MINOR", "device", Kind.DEVICE)
_NAME = Argument("NAME", "name", Kind.XATTR)
_VALUE = Argument("VALUE", "value", Kind.VALUE)
_TAG = Argument("TAG", "name", Kind.TAG)
_WRITABLE = Argument("HOW", "mode", Kind.MODE, REMOUNT_MODES)
_OFF = Argument("off", "mode", Kind.MODE, ERRORTAG_MODES)
_FUNCTION = Argument("FUNCTION", "name", Kind.FUNCTION)
_ENTRY = Argument("ENTRY", "length", Kind.ENTRY)
_STOP_HOW = Argument("HOW", "mode", Kind.FLAGS, STOP_MODES)

WORDS = MappingProxyType(
    {
        "creat": Word((_PATH,), "make an empty file"),
        "mkdir": Word((_PATH,), "make a directory"),
        "mknod": Word((_PATH, _TYPE, _DEVICE), "make a device node; TYPE: " + ", ".join(NODE_MODES)),
        "mkfifo": Word((_PATH,), "make a named pipe"),
        "subvol": Word(
            (_DEED, _PATH), "btrfs: make or delete a subvolume; DEED: " + ", ".join(SUBVOLUME_MODES)
        ),
        "snapshot": Word(
            (_SUBVOLUME, _NEW), "btrfs: make a writable snapshot of a subvolume, or of the root"
        ),
        "symlink": Word((_TARGET, _PATH), "make a symlink at PATH that holds TARGET"),
        "open": Word(
            (_ANY, _NEW_DESCRIPTOR, _OPEN_FLAGS),
            "open a file and keep its descriptor; FLAGS, joined by commas: " + ", ".join(OPEN_FLAGS),
            optional=1,
        ),
        "close": Word((_DESCRIPTOR,), "close a kept descriptor"),
        "tmpfile": Word(
            (_DIRECTORY, _NEW_DESCRIPTOR), "make a file without a name (O_TMPFILE), and keep its descriptor"
        ),
        "link": Word((_LINKED, _NEW), "give the file OLD the additional name NEW"),
        "unlink": Word((_PATH,), "remove a name of anything but a directory"),
        "rmdir": Word((_PATH,), "remove an empty directory"),
        "rename": Word(
            (_OLD, _NEW, _HOW),
            "move OLD to NEW, which is replaced if it exists; HOW: " + ", ".join(RENAME_MODES),
            optional=1,
        ),
        "write": Word(
            (_FILE, _OFFSET, _LENGTH),
            "write bytes that carry the number of this operation; the file is made if it is missing",
        ),
        "append": Word((_FILE, _LENGTH), "write at the end; the file is made if it is missing"),
        "pwrite": Word((_FILE, _OFFSET, _LENGTH, _PWRITE_MODE), "write; HOW: " + ", ".join(PWRITE_MODES)),
        "atomicwrite": Word(
            (_PATH, _OFFSET, _LENGTH, _ATOMIC_MODE),
            "write all of it or nothing (xfs: RWF_ATOMIC, f2fs: its atomic writes)",
            optional=1,
        ),
        "mmapwrite": Word(
            (_FILE, _OFFSET, _LENGTH), "write through a shared mapping, not beyond the end of the file"
        ),
        "msync": Word(
            (_FILE, _OFFSET, _LENGTH),
            "make mapped pages durable (MS_SYNC): all of them, or this range",
            optional=2,
        ),
        "truncate": Word((_FILE, _SIZE), "set the size, smaller or larger"),
        "fallocate": Word((_FILE, _MODE, _OFFSET, _LENGTH), "one of: " + ", ".join(FALLOCATE_MODES)),
        "defragment": Word((_FILE,), "move the content of a file to other blocks; no byte changes"),
        "verity": Word((_FILE,), "verify what is read of a file from now on, and refuse changes of it"),
        "fill": Word(
            (_FILE, _LEAVE),
            "reserve all free space after the end of the file, then free LEAVE bytes of it; the "
            "file is made if it is missing",
            optional=1,
        ),
        "clone": Word(
            (_SOURCE, _TO, _OFFSET, _LENGTH, _AT),
            "share all of SOURCE, or this range, with TARGET",
            optional=3,
        ),
        "dedupe": Word(
            (_SOURCE, _TO, _OFFSET, _LENGTH, _AT),
            "share a range of SOURCE with TARGET, which already holds the same bytes",
        ),
        "copyrange": Word(
            (_SOURCE, _TO, _OFFSET, _LENGTH, _AT), "copy a range of SOURCE to TARGET with copy_file_range"
        ),
        "chmod": Word((_OBJECT, _PERMISSIONS), "set the permissions"),
        "chown": Word((_OBJECT, _OWNER), "set owner and group"),
        "setfacl": Word((_OBJECT, _ACL), "set the whole access control list"),
        "utimes": Word((_OBJECT, _SECONDS), "set the time of the last change"),
        "chattr": Word((_OBJECT, _FLAG), "set (+) or clear (-) an inode flag: " + " ".join(INODE_FLAGS)),
        "setxattr": Word((_OBJECT, _NAME, _VALUE), "set the attribute NAME to VALUE"),
        "removexattr": Word((_OBJECT, _NAME), "remove the attribute NAME"),
        "fsync": Word((_OBJECT,), "make a file or directory durable"),
        "fdatasync": Word((_OBJECT,), "make a file's data and size durable"),
        "sync_file_range": Word((_FILE, _OFFSET, _LENGTH), "write pages out; this promises nothing"),
        "syncfs": Word((), "make everything durable"),
        "sync": Word((), "make everything durable"),
        "evict": Word((_ANY,), "drop the inode from the kernel's cache"),
        "wait": Word((_MILLISECONDS,), "let time pass"),
        "await": Word(
            (_WRITES, _MICROSECONDS),
            "in a parallel block: wait until the device has completed this many writes since the "
            "block began, or no other thread can make more, and then for this time",
            optional=1,
        ),
        "stop": Word(
            (_FUNCTION, _ENTRY, _STOP_HOW),
            "in a parallel block: the next call of the thread (workers: a thread of the kernel meanwhile) "
            "stops at this entry of a function of the kernel (return: when it returns from it) until the "
            "other threads have ended or await",
            optional=1,
        ),
        "freeze": Word((), "make everything durable, and hold back what would write until thaw"),
        "thaw": Word((), "let a frozen filesystem write again"),
        "grow": Word((), "make the mounted filesystem as large as its device"),
        "relocate": Word((), "move what the filesystem holds to other blocks (btrfs: balance, f2fs: gc)"),
        "trim": Word((), "tell the device which blocks are free (fstrim)"),
        "remount": Word(
            (_WRITABLE,), "unmount and mount again; ro, rw: change how it is mounted instead", optional=1
        ),
        "crash": Word((), "a power failure after which the workload goes on, with what was fsynced"),
        "umount": Word((), "end without a crash; only as the last word of run"),
        "fault": Word(
            (Argument("KIND", "mode", Kind.MODE),),
            "from here on the device fails; KIND and its arguments: FAULTS",
        ),
        "errortag": Word(
            (_TAG, _OFF),
            "xfs: from here on its code fails at the place of this name, or no more (off)",
            optional=1,
        ),
    }
)

# What `fault KIND` takes. A fault lasts until `fault off`, or until the power fails at the end of run.
FAULTS = MappingProxyType(
    {
        "drop-writes": Word((), "writes report success and are not done (dm-flakey drop_writes)"),
        "error-writes": Word(
            (Argument("PART", "name", Kind.MODE, FAULT_PARTS),),
            "writes fail (dm-flakey error_writes); PART: " + ", ".join(FAULT_PARTS),
            optional=1,
        ),
        "error-reads": Word((), "reads fail (dm-flakey error_reads)"),
        "corrupt": Word(
            (Argument("BYTE", "offset", Kind.PLACE), Argument("VALUE", "length", Kind.BYTE)),
            "this byte of each write is changed to this value (dm-flakey corrupt_bio_byte)",
        ),
        "delay": Word((_MILLISECONDS,), "reads and writes are delayed by this time (dm-delay)"),
        "bad-sector": Word(
            (Argument("SECTOR", "offset", Kind.NUMBER),),
            "this sector cannot be read until it is written (dm-dust)",
        ),
        "off": Word((), "the device works again"),
    }
)
_FAULT = Argument("KIND", "mode", Kind.MODE, tuple(FAULTS))

BLOCKS = ("setup", "run")
PARALLEL, THREAD = "parallel", "thread"


class BadWorkload(Exception):
    """Text that is no workload.

    source: the file's name. line, column: 1-based; columns count characters. text: that line.
    """

    def __init__(self, source: str, line: int, column: int, message: str, text: str = "") -> None:
        super().__init__(source, line, column, message, text)
        self.source = source
        self.line = line
        self.column = column
        self.message = message
        self.text = text

    def __str__(self) -> str:
        return f"{self.source}:{self.line}:{self.column}: {self.message}\n" + excerpt(self.text, self.column)


def excerpt(text: str, column: int, width: int = 100) -> str:
    """The line with a caret below `column`; of a long line only what surrounds it."""
    start = max(0, column - 1 - width // 2)
    shown = "".join(c if c.isprintable() else "?" for c in text[start : start + width])
    return f"    {shown}\n    {' ' * (column - 1 - start)}^"


# --- from text ---


def parse(text: str, name: str = "-", theme: str = "", source: str = "<text>") -> Workload:
    """The workload that `text` says. Raises BadWorkload at the first thing that is wrong."""
    lines = text.split("\n")  # not splitlines(), which also splits at form feeds and U+2028
    place = _Place(source, lines)
    for line, line_text in enumerate(lines, start=1):
        place.refuse_control_characters(line, line_text)
    blocks = _blocks(place)
    setup, run = (blocks.get(block, ()) for block in BLOCKS)
    if not run:
        raise place.error(*place.end(), "empty workload: no operation in run")
    _refuse_umount_inside(place, setup, run)
    _refuse_fault(place, setup, run)
    _refuse_crash(place, setup, run)
    if len(setup) + len(run) > OPERATION_COUNT_MAX:
        extra = (*setup, *run)[OPERATION_COUNT_MAX].line
        raise place.error(extra, place.indent(extra), f"more than {OPERATION_COUNT_MAX} operations")
    return Workload(name=name, setup=setup, run=run, comment=_header(lines), theme=theme)


def decode(data: bytes, source: str = "<text>") -> str:
    """A file's bytes as text; BadWorkload at the first byte that is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        line = before.count("\n") + 1
        column = len(before) - (before.rfind("\n") + 1) + 1
        rest_of_line = data[error.start :].split(b"\n", 1)[0].decode("utf-8", "replace")
        text = before.rpartition("\n")[2] + rest_of_line
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise BadWorkload(source, line, column, message, text) from None


class _Token(msgspec.Struct, frozen=True):
    text: str
    column: int


class _Place:
    """Where we are in the text, to say so in errors."""

    def __init__(self, source: str, lines: list[str]) -> None:
        self.source = source
        self.lines = lines

    def error(self, line: int, column: int, message: str) -> BadWorkload:
        return BadWorkload(self.source, line, column, message, self.lines[line - 1])

    def indent(self, line: int) -> int:
        """Column of the first character of `line` that is no space."""
        text = self.lines[line - 1]
        return len(text) - len(text.lstrip(" ")) + 1

    def end(self) -> tuple[int, int]:
        """Line and column just after the last character that is no space or line end."""
        line = max((n for n, text in enumerate(self.lines, 1) if text.strip(" ")), default=1)
        return line, len(self.lines[line - 1].rstrip(" ")) + 1

    def refuse_control_characters(self, line: int, text: str) -> None:
        for column, character in enumerate(text, start=1):
            # Cc: control, among them tab and \r; Cs: half of a pair, has no UTF-8;
            # Zl, Zp: line separators that editors show as a new line.
            if unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp"):
                what = {"\t": "tab: use spaces", "\r": "carriage return: lines end with \\n alone"}
                default = f"control character U+{ord(character):04X}"
                raise self.error(line, column, what.get(character, default))


def _header(lines: Iterable[str]) -> tuple[str, ...]:
    comment = []
    for line in lines:
        if line.lstrip(" ").startswith("#"):
            comment.append(line.lstrip(" ")[1:].removeprefix(" "))
        elif line.strip(" "):
            break
    return tuple(comment)


def _blocks(place: _Place) -> dict[str, tuple[Operation, ...]]:
    """Operations by block, with each block at most once and setup before run."""
    found: dict[str, list[Operation]] = {}
    descriptors: set[str] = set()
    threads_of_run = _Threads(place)
    block = ""
    for line, text in enumerate(place.lines, start=1):
        tokens = list(_tokens(place, line, text))
        if not tokens:
            continue
        if text.startswith(" "):
            if not block:
                raise place.error(
                    line,
                    tokens[0].column,
                    "an operation stands before the first block. Write setup or run above it",
                )
            if threads_of_run.opens(line, tokens, block):
                continue
            operation = threads_of_run.placed(_operation(place, line, tokens), tokens)
            _keep_descriptors(place, tokens, operation, descriptors)
            threads_of_run.check_descriptors(tokens, operation)
            found[block].append(operation)
        else:
            threads_of_run.end()
            block = _block(place, line, tokens, found)
            found[block] = []
    threads_of_run.end()
    threads_of_run.check_orders(found.get("run", ()))
    return {block: tuple(operations) for block, operations in found.items()}


class _Threads:
    """The parallel block that is being read, and what was read of it."""

    def __init__(self, place: _Place) -> None:
        self._place = place
        self._block = 0  # how many there were
        self._open: tuple[int, int] | None = None  # line and column of the `parallel` that is open
        self._threads: list[tuple[int, int]] = []  # of each `thread` of it
        self._empty = False  # the last thread has no operation yet
        self._stop: tuple[int, int] | None = None  # of a `stop` behind which the thread has made no call
        self._owners: dict[str, int] = {}  # descriptors that a thread of it has opened

    def opens(self, line: int, tokens: list[_Token], block: str) -> bool:
        """Whether the line is `parallel` or `thread`. Ends a block that it is not indented below."""
        head = tokens[0]
        if self._open and head.column <= self._open[1]:
            self.end()
        if head.text not in (PARALLEL, THREAD):
            return False
        if len(tokens) > 1:
            raise self._error(
                line, tokens[1].column, f"unexpected {_shown(tokens[1].text)} after {head.text}"
            )
        if head.text == PARALLEL:
            self._open_block(line, head.column, block)
        else:
            self._open_thread(line, head.column)
        return True

    def _open_block(self, line: int, column: int, block: str) -> None:
        if block != "run":
            raise self._error(
                line,
                column,
                "parallel is not allowed in setup, whose operations run one after the other. Move it to run",
            )
        if self._open:
            raise self._error(
                line, column, "a parallel block cannot be inside another one: a thread holds only operations"
            )
        self._block += 1
        self._open, self._threads, self._owners = (line, column), [], {}

    def _open_thread(self, line: int, column: int) -> None:
        if not self._open:
            raise self._error(line, column, "thread must be indented below parallel")
        if self._threads and column != self._threads[0][1]:
            raise self._error(line, column, "this thread must have the same indentation as the first one")
        self._end_thread()
        if len(self._threads) == threads.THREADS_MAX:
            raise self._error(line, column, f"more than {threads.THREADS_MAX} threads")
        self._threads.append((line, column))
        self._empty = True

    def placed(self, operation: Operation, tokens: list[_Token]) -> Operation:
        """With its block and thread. Refuses what may not stand there."""
        if self._open:
            if not self._threads or tokens[0].column <= self._threads[0][1]:
                message = "an operation of a parallel block must be indented below one of its threads"
                raise self._error(operation.line, tokens[0].column, message)
            self._empty = False
            if operation.word == "stop":
                self._stop = (operation.line, tokens[0].column)
            elif operation.word not in threads.DELAYING:
                self._stop = None
            operation = msgspec.structs.replace(operation, parallel=self._block, thread=len(self._threads))
        if why := threads.refusal(operation):
            raise self._error(operation.line, tokens[0].column, why)
        return operation

    def check_descriptors(self, tokens: list[_Token], operation: Operation) -> None:
        """Who opens one in a block has it for himself until the block ends; nobody closes another's."""
        if not self._open:
            return
        for token in tokens[1:]:
            name, owner = token.text, self._owners.get(token.text, 0)
            if not _is_descriptor(name) or name == operation.descriptor:
                continue
            if owner and owner != operation.thread:
                message = (
                    f"thread {owner} opens {_shown(name)}, possibly after this operation. Only that "
                    "thread may use it in this block"
                )
                raise self._error(operation.line, token.column, message)
            if operation.word == "close" and not owner:
                message = f"{_shown(name)} was opened before the block. Close it after the block"
                raise self._error(operation.line, token.column, message)
        if operation.descriptor:
            self._owners[operation.descriptor] = operation.thread

    def end(self) -> None:
        if not self._open:
            return
        self._end_thread()
        if len(self._threads) < threads.THREADS_MIN:
            message = f"a parallel block needs {threads.THREADS_MIN} to {threads.THREADS_MAX} threads"
            raise self._error(*self._open, message)
        self._open = None

    def _end_thread(self) -> None:
        if self._empty:
            raise self._error(*self._threads[-1], "this thread has no operation")
        if self._stop:
            raise self._error(*self._stop, "no call of this thread follows, so none would stop")

    def check_orders(self, run: Iterable[Operation]) -> None:
        """Of all blocks together: each order is a history to judge by."""
        read: list[Operation] = []
        for operation in run:
            read.append(operation)
            if operation.parallel and (count := threads.order_count(read)) > threads.ORDERS_MAX:
                message = (
                    f"the parallel operations can take effect in {count} orders, and at most "
                    f"{threads.ORDERS_MAX} are allowed. Use fewer operations or threads"
                )
                raise self._error(operation.line, self._place.indent(operation.line), message)

    def _error(self, line: int, column: int, message: str) -> BadWorkload:
        return self._place.error(line, column, message)


def _keep_descriptors(place: _Place, tokens: list[_Token], operation: Operation, kept: set[str]) -> None:
    """Refuse what no kernel could do: `kept` are the descriptors that are open before this operation."""
    for token in tokens[1:]:
        if token.text not in (operation.path, operation.path2) or not _is_descriptor(token.text):
            continue
        if token.text not in kept:
            raise place.error(
                operation.line, token.column, f"no descriptor {_shown(token.text)} is open here"
            )
    new = operation.descriptor
    if new in kept:
        raise place.error(operation.line, tokens[2].column, f"descriptor {_shown(new)} is open already")
    if new and len(kept) == DESCRIPTOR_COUNT_MAX:
        raise place.error(operation.line, tokens[2].column, f"more than {DESCRIPTOR_COUNT_MAX} descriptors")
    if operation.word == crashes.CRASH:
        kept.clear()
    if operation.word in ("remount", "umount") and kept:
        still = ", ".join(sorted(kept))
        message = f"{operation.word} cannot succeed while {still} is open. Close it first"
        raise place.error(operation.line, tokens[0].column, message)
    if new:
        kept.add(new)
    if operation.word == "close":
        kept.remove(operation.path)


def _is_descriptor(text: str) -> bool:
    return text.startswith("@")


def _block(place: _Place, line: int, tokens: list[_Token], found: Iterable[str]) -> str:
    name = tokens[0].text
    if name in WORDS:
        raise place.error(line, 1, f"operation {name} must be indented below setup or run")
    if name not in BLOCKS:
        raise place.error(line, 1, f"unknown block {_shown(name)}. The blocks are setup and run")
    if len(tokens) > 1:
        raise place.error(
            line, tokens[1].column, f"unexpected {_shown(tokens[1].text)} after the block's name"
        )
    if name in found:
        raise place.error(line, 1, f"block {name} occurs twice")
    if name == "setup" and "run" in found:
        raise place.error(line, 1, "setup must come before run")
    return name


# A token is a quoted word or a bare one; a quote inside a bare word would be read in two ways.
_TOKEN = re.compile(r' *(?:(?P<comment>#.*)|"(?P<quoted>(?:[^"\\]|\\.)*)"(?= |$)|(?P<bare>[^ "]+)(?= |$))')
_REST_EMPTY = re.compile(r" *$")
_ESCAPE = re.compile(r"\\(.)")


def _tokens(place: _Place, line: int, text: str) -> Iterator[_Token]:
    position = 0
    while not _REST_EMPTY.match(text, position):
        match = _TOKEN.match(text, position)
        if match is None:
            quote = text.index('"', position)
            raise place.error(
                line,
                quote + 1,
                'a quoted word must start and end with ", and have a space before and after it',
            )
        if match["comment"] is not None:
            return
        if match["bare"] is not None:
            yield _Token(match["bare"], match.start("bare") + 1)
        else:
            for escape in _ESCAPE.finditer(match["quoted"]):
                if escape[1] not in '"\\':
                    column = match.start("quoted") + escape.start() + 1
                    raise place.error(line, column, r"unknown escape: only \" and \\ in quotes")
            yield _Token(_ESCAPE.sub(r"\1", match["quoted"]), match.start("quoted"))
        position = match.end()


def _operation(place: _Place, line: int, tokens: list[_Token]) -> Operation:
    head, given = tokens[0], tokens[1:]
    if head.text not in WORDS:
        raise place.error(line, head.column, _unknown_word(head.text))
    wanted, optional = _wanted(head.text, given[0].text if given else "")
    fields: dict[str, str | int] = {}
    for argument, token in zip(wanted, given, strict=False):
        try:
            fields[argument.field] = _value(argument, token.text)
        except ValueError as error:
            raise place.error(line, token.column, f"{argument.shown} of {head.text}: {error}") from None
    if len(given) > len(wanted):
        extra = given[len(wanted)]
        raise place.error(line, extra.column, f"extra argument {_shown(extra.text)}: {usage(head.text)}")
    if len(given) < len(wanted) and len(given) != len(wanted) - optional:
        missing = wanted[len(given)].shown
        raise place.error(
            line, _after(place.lines[line - 1], tokens), f"missing {missing}: {usage(head.text)}"
        )
    operation = msgspec.convert({"word": head.text, "line": line, **fields}, Operation)
    _refuse_unaligned(place, tokens, operation)
    return operation


def _wanted(word: str, first: str) -> tuple[tuple[Argument, ...], int]:
    """The arguments of a word, and how many may be left out; those of `fault` depend on its first."""
    if word != "fault":
        return WORDS[word].arguments, WORDS[word].optional
    kind = FAULTS.get(first)
    return ((_FAULT, *kind.arguments), kind.optional) if kind else ((_FAULT,), 0)


def _refuse_unaligned(place: _Place, tokens: list[_Token], operation: Operation) -> None:
    """open(2), O_DIRECT: what is not aligned fails, or is quietly written through the cache. pwritev2(2),
    RWF_ATOMIC: its length is a power of two, and its offset a multiple of that."""
    length = operation.length
    if operation.word == "atomicwrite":
        if not SECTOR <= length <= ATOMIC_BYTES_MAX or length & (length - 1):
            message = (
                f"an atomic write has 512, 1K, 2K, 4K ... bytes, 16M at most, not {_shown(tokens[3].text)}"
            )
            raise place.error(operation.line, tokens[3].column, message)
        if operation.offset % length:
            message = f"an atomic write begins at a multiple of its length, not {_shown(tokens[2].text)}"
            raise place.error(operation.line, tokens[2].column, message)
    if "direct" not in operation.mode:
        return
    for token, number in zip(tokens[2:4], (operation.offset, operation.length), strict=True):
        if number % SECTOR:
            message = f"{operation.mode} needs multiples of {SECTOR}, not {_shown(token.text)}"
            raise place.error(operation.line, token.column, message)


def _after(text: str, tokens: list[_Token]) -> int:
    """The column where a further argument would have stood: one space after the last token."""
    match = _TOKEN.match(text, tokens[-1].column - 1)
    assert match is not None
    return match.end() + 2


def usage(word: str) -> str:
    """`rename OLD NEW [HOW]`, for errors and the README."""
    if word == "fault":
        kinds = (" ".join([kind, *(each.shown for each in FAULTS[kind].arguments)]) for kind in FAULTS)
        return f"fault {' | '.join(kinds)}"
    shown = [argument.shown for argument in WORDS[word].arguments]
    if optional := WORDS[word].optional:
        shown[-optional:] = [f"[{' '.join(shown[-optional:])}]"]
    return " ".join([word, *shown])


def _unknown_word(word: str) -> str:
    if word in BLOCKS:
        return f"{word} begins a block, so it must not be indented"
    near = difflib.get_close_matches(word.lower(), WORDS, n=1)
    return f"unknown word {_shown(word)}" + (
        f"; did you mean {near[0]}?" if near else f". The words are {', '.join(WORDS)}"
    )


def _value(argument: Argument, text: str) -> str | int:
    """The argument as Operation keeps it; ValueError says what is wrong with it."""
    match argument.kind:
        case Kind.NUMBER:
            return _number(text)
        case Kind.MODE:
            return _choice(argument, text)
        case Kind.FLAGS:
            return _flags(argument, text)
        case Kind.DESCRIPTOR:
            return _descriptor(text)
        case Kind.FILE | Kind.ANYTHING if _is_descriptor(text):
            return _descriptor(text)
        case Kind.PERMISSIONS:
            if not re.fullmatch("[0-7]{3}", text):
                raise ValueError(f"{_shown(text)} is not three octal digits, such as 640")
            return text
        case Kind.OWNER:
            return _owner(text)
        case Kind.ACL:
            acl.entries(text)
            return text
        case Kind.FLAG:
            if text[:1] not in ("+", "-") or len(text) != 2 or text[1] not in INODE_FLAGS:
                raise ValueError(f"{_shown(text)} is not + or - and one of {', '.join(INODE_FLAGS)}")
            return text
        case Kind.SECONDS:
            return _small(text, SECONDS_MAX)
        case Kind.MILLISECONDS:
            return _small(text, WAIT_MS_MAX)
        case Kind.WRITES:
            return _small(text, WRITES_MAX)
        case Kind.MICROSECONDS:
            return _small(text, WAIT_US_MAX)
        case Kind.PLACE:
            if not _small(text, NUMBER_MAX):
                raise ValueError("bytes are counted from 1")
            return _small(text, NUMBER_MAX)
        case Kind.ENTRY:
            if not _small(text, NUMBER_MAX):
                raise ValueError("entries are counted from 1")
            return _small(text, NUMBER_MAX)
        case Kind.FUNCTION:
            if not re.fullmatch(rf"({FUNCTION_NAME}:)?{FUNCTION_NAME}", text):
                raise ValueError(
                    f"{_shown(text)} is not the name of a function in C, or two with a colon between them"
                )
            return text
        case Kind.BYTE:
            return _small(text, 255)
        case Kind.DEVICE:
            return _device(text)
        case Kind.TAG:
            if not re.fullmatch("[a-z][a-z0-9_]{0,63}", text):
                raise ValueError(f"{_shown(text)} is not a name of small letters, digits and _")
            return text
        case Kind.XATTR:
            return _xattr_name(text)
        case Kind.VALUE:
            return _bounded(text, VALUE_BYTES_MAX, "value")
        case Kind.TARGET:
            if not text:
                raise ValueError("a symlink must have a target that is not empty")
            return _bounded(text, PATH_BYTES_MAX, "target")
        case Kind.ANYWHERE | Kind.ANYTHING:
            return "." if text == "." else _path(text)
        case Kind.BELOW_ROOT | Kind.FILE:
            if text == ".":
                raise ValueError(". is the root of the mount, and this word needs a path below it")
            return _path(text)


def _number(text: str) -> int:
    if re.fullmatch(r"-[0-9]+[A-Za-z]*", text):
        raise ValueError(f"{_shown(text)} is negative")
    match = re.fullmatch(r"([0-9]+)([A-Za-z]*)", text)
    if match is None:
        raise ValueError(f"{_shown(text)} is not a decimal number")
    digits, suffix = match.groups()
    if suffix not in ("", "K", "M"):
        raise ValueError(f"unknown suffix {_shown(suffix)}: only K (1024) and M (1024 K)")
    significant = digits.lstrip("0") or "0"
    # Looked at before int(), which takes no more than 4,300 digits.
    too_long = len(significant) > len(str(NUMBER_MAX))
    number = 0 if too_long else int(significant) * {"": 1, "K": K, "M": M}[suffix]
    if too_long or number > NUMBER_MAX:
        raise ValueError(f"{_shown(text)} is more than 1 GiB")
    return number


def _choice(argument: Argument, text: str) -> str:
    if text not in argument.choices:
        raise ValueError(f"unknown value {_shown(text)}. Use one of {', '.join(argument.choices)}")
    return text


def _flags(argument: Argument, text: str) -> str:
    flags = text.split(",")
    for flag in flags:
        _choice(argument, flag)
        if flags.count(flag) > 1:
            raise ValueError(f"{_shown(flag)} is given twice")
    return text


def _descriptor(text: str) -> str:
    if not re.fullmatch(r"@[A-Za-z0-9_-]{1,32}", text):
        raise ValueError(
            f"{_shown(text)} is not a descriptor: write @ and a name of letters, digits, _ and -"
        )
    return text


def _owner(text: str) -> str:
    match = re.fullmatch(r"(0|[1-9][0-9]{0,4}):(0|[1-9][0-9]{0,4})", text)
    if match is None or max(int(match[1]), int(match[2])) > ID_MAX:
        raise ValueError(f"{_shown(text)} is not UID:GID, with numbers from 0 to {ID_MAX}")
    return text


def _small(text: str, largest: int) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) > largest:
        raise ValueError(f"{_shown(text)} is not a number from 0 to {largest}")
    return int(text)


def _device(text: str) -> str:
    match = re.fullmatch(r"(0|[1-9][0-9]{0,6}):(0|[1-9][0-9]{0,6})", text)
    if match is None:
        raise ValueError(f"{_shown(text)} is not MAJOR:MINOR")
    if int(match[1]) > MAJOR_MAX or int(match[2]) > MINOR_MAX:
        raise ValueError(
            f"{_shown(text)} is too large: at most {MAJOR_MAX} is allowed for major and {MINOR_MAX} for minor"
        )
    return text


def _xattr_name(text: str) -> str:
    if not text.startswith(XATTR_SPACES) or text in XATTR_SPACES:
        raise ValueError(f"{_shown(text)} is not an attribute name of the form user.NAME or trusted.NAME")
    return _bounded(text, NAME_BYTES_MAX, "name")


def _path(text: str) -> str:
    """One spelling for one path, so that paths can be compared as text."""
    if not text:
        raise ValueError("empty path")
    if _is_descriptor(text):
        raise ValueError(f"{_shown(text)} is a descriptor, and this word needs a path")
    if text.startswith("/"):
        raise ValueError(
            f"{_shown(text)} is outside the mount. Write a path relative to the root of the mount"
        )
    for component in text.split("/"):
        if component == "..":
            raise ValueError(f"{_shown(text)} may lead outside the mount. Write the path without ..")
        if component in ("", "."):
            raise ValueError(f"{_shown(text)} has a component that is empty or '.'. Leave it out")
        _bounded(component, NAME_BYTES_MAX, "component")
    return _bounded(text, PATH_BYTES_MAX, "path")


def _bounded(text: str, bytes_max: int, what: str) -> str:
    size_bytes = len(text.encode())
    if size_bytes > bytes_max:
        raise ValueError(f"{what} {_shown(text)} has {size_bytes} bytes; at most {bytes_max} are allowed")
    return text


def _shown(text: str) -> str:
    return f'"{text}"' if len(text) <= 40 else f'"{text[:37]}…"'


def _refuse_umount_inside(place: _Place, setup: tuple[Operation, ...], run: tuple[Operation, ...]) -> None:
    for operation in (*setup, *run[:-1]):
        if operation.word == "umount":
            message = "umount is allowed only as the last word of run"
            raise place.error(operation.line, place.indent(operation.line), message)


def _refuse_fault(place: _Place, setup: tuple[Operation, ...], run: tuple[Operation, ...]) -> None:
    """Also errortag. Both stand in run alone, and not beside threads."""
    for operation in (*setup, *run):
        word = operation.word
        if word not in ("fault", "errortag"):
            continue
        if operation in setup:
            works = "device" if word == "fault" else "filesystem"
            message = f"{word} is not allowed in setup, which runs on a working {works}. Move it to run"
        elif any(each.parallel for each in run):
            message = (
                f"{word} cannot be combined with parallel blocks: their calls interleave differently "
                "in each run"
            )
        else:
            continue
        raise place.error(operation.line, place.indent(operation.line), message)
    _refuse_remount_with_errors(place, run)


def _refuse_crash(place: _Place, setup: tuple[Operation, ...], run: tuple[Operation, ...]) -> None:
    for operation in setup:
        if operation.word == crashes.CRASH:
            message = "crash is not allowed in setup, which is durable as a whole. Move it to run"
            raise place.error(operation.line, place.indent(operation.line), message)
    if found := crashes.refused(run):
        operation, message = found
        raise place.error(operation.line, place.indent(operation.line), message)


def _refuse_remount_with_errors(place: _Place, run: tuple[Operation, ...]) -> None:
    """What an unmount writes may fail then, and nothing says so."""
    tags: set[str] = set()
    for operation in run:
        if operation.word == "errortag":
            (tags.discard if operation.mode else tags.add)(operation.name)
        if operation.word == "remount" and tags:
            message = (
                f"remount is not allowed while errortag {min(tags)} is on. Write errortag {min(tags)} off"
            )
            raise place.error(operation.line, place.indent(operation.line), message)


# --- to text ---


def format(workload: Workload) -> str:
    """The canonical text: two spaces of indentation, sizes in K and M where exact."""
    lines = ["#" + (f" {line}" if line else "") for line in workload.comment]
    for block, operations in (("setup", workload.setup), ("run", threads.numbered(workload.run))):
        if operations:
            lines.append(block)
            lines.extend(_lines(operations))
    return "\n".join(lines) + "\n"


def _lines(operations: Iterable[Operation]) -> Iterator[str]:
    """Those of a block, with the lines that open parallel blocks and threads."""
    before = (0, 0)
    for operation in operations:
        yield from _opening(before, here := threads.place_of(operation))
        yield f"  {'    ' if operation.parallel else ''}{format_operation(operation)}"
        before = here


def _opening(before: threads.Place, here: threads.Place) -> list[str]:
    """The lines between two operations at these places."""
    block, thread = here
    opened = [f"  {PARALLEL}"] if block and block != before[0] else []
    return [*opened, f"    {THREAD}"] if thread and here != before else opened


def format_operation(operation: Operation) -> str:
    """One line without indentation, as in the text: `write A/foo 0 8K`."""
    arguments, optional = _wanted(operation.word, operation.mode)
    if optional and not any(getattr(operation, a.field) for a in arguments[-optional:]):
        arguments = arguments[:-optional]
    return " ".join([operation.word, *(_shown_value(operation, argument) for argument in arguments)])


def _shown_value(operation: Operation, argument: Argument) -> str:
    value = getattr(operation, argument.field)
    return str(value) if argument.kind in PLAIN else _argument(value)


def _argument(value: str | int) -> str:
    if isinstance(value, int):
        return format_size(value)
    if not value or value.startswith("#") or " " in value or '"' in value:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    return value


def format_size(size_bytes: int) -> str:
    """8192 is `8K`; what is no whole K is written in bytes."""
    for unit, suffix in ((M, "M"), (K, "K")):
        if size_bytes and size_bytes % unit == 0:
            return f"{size_bytes // unit}{suffix}"
    return str(size_bytes)


def canonical(workload: Workload) -> Workload:
    """The same workload with each operation's `line` where format() puts it, its blocks and threads counted
    from 1.

    Operations compare with their lines, which tell where they came from; two workloads do the
    same when their canonical forms are equal.
    """
    line = len(workload.comment)
    placed: list[tuple[Operation, ...]] = []
    for operations in (workload.setup, threads.numbered(workload.run)):
        line += bool(operations)  # the block's own line
        before, made = (0, 0), list[Operation]()
        for operation in operations:
            line += len(_opening(before, here := threads.place_of(operation))) + 1
            made.append(msgspec.structs.replace(operation, line=line))
            before = here
        placed.append(tuple(made))
    return msgspec.structs.replace(workload, setup=placed[0], run=placed[1])
