"""
A finding as a program that needs none of this: what every form of it is made from.

In:       a Reproducer: what was done, when the power fails, what is asked afterwards.
Out:      its operations and checks as lines of a shell.
Not here: the forms (export_sh.py, export_c.py, export_fstests.py), trying them on guests
          (harness/findings/export.py).

The power fails in one of three ways. "flakey": dm-flakey drops all writes from the end of an operation on, as
fstests does. What was written before is on the disk then, flushed or not. "log": dm-log-writes keeps what
was flushed, and the disk is built again as it was at a mark, or, for an operation in flight, after every
entry between its two marks. So a script does not depend on the numbers of one log. "fault": the device fails
before that, and what it was told then counts (failing.py). In a fourth, "plain", it does not fail at all: the
workload alone, on a plain device, brings the kernel down or makes it report a bug.
"""

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from oracles.checks import Check
from oracles.faults.damage import NOTHING
from oracles.spec import BLOCK_BYTES, SECTOR_BYTES, Damage
from workloads.faults import FLUSH, SCRIPT, FaultPoint
from workloads.text import format_operation
from workloads.workload import Operation

Way = Literal["flakey", "log", "fault", "plain"]
COMMENT_COLUMNS = 80
FORMS = ("sh", "c", "fstests")


THREADS = "a shell script cannot run threads whose calls overlap; use --to c"


# By word. An exported program ends at a call that fails, and its kernel need not have XFS_DEBUG.
IN_NO_FORM = {
    "errortag": (
        "errortag makes the calls after it fail, and an exported program expects its calls to succeed"
    ),
    "stop": "stop stops a call in the middle of the kernel, which only a kernel built for it does",
    "crash": "crash: the power fails twice, and an exported program shows one power failure",
    "grow": "grow: each filesystem has a request of its own for it",
}


class NotInThisForm(Exception):
    """A form that cannot say this; the message names what can."""


class Reproducer(msgspec.Struct, frozen=True):
    """
    title:   the signature. about: where it comes from, lines for a comment.
    setup:   made durable first. run: up to and with the operation at or in which the power fails.
    returned: whether that one had returned. offsets: of appends, where each began, by index over both.
              What a `fill` took stands in its offset and length.
    model: of the crash, one of oracles.spec.MODELS, or D for damage at rest; all but O by the log.
    atomic_bytes: that no crash tears. damage: of model D; block: what its block is, by name.
    fault: of the way "fault": what fails, and during which operation; calls from there on may fail.
    promising: of these, by index, what makes something durable: when one of them tells of an error,
    nothing is asked.
    begun, ended: of a run with threads, by index: which calls had begun, and which had returned.
    """

    title: str
    about: tuple[str, ...]
    expected: str
    found: str
    filesystem: str
    mkfs: tuple[str, ...]
    mount_options: str
    fsck: tuple[str, ...]
    size_bytes: int
    setup: tuple[Operation, ...]
    run: tuple[Operation, ...]
    way: Way
    returned: bool
    checks: tuple[Check, ...]
    offsets: dict[int, int]
    model: str = "O"
    atomic_bytes: int = 512
    damage: Damage = Damage(0)
    block: str = NOTHING
    fault: FaultPoint | None = None
    promising: tuple[int, ...] = ()
    begun: tuple[int, ...] = ()
    ended: tuple[int, ...] = ()

    @property
    def last(self) -> int:
        """Index of the operation at or in which the power fails."""
        return len(self.setup) + len(self.run) - 1

    @property
    def makers(self) -> frozenset[int]:
        """Operations whose objects the checks ask for."""
        return frozenset(
            int(each) for check in self.checks if check.kind in ("object", "any") for each in check.values
        )

    def asks(self, kind: str) -> bool:
        return any(check.kind == kind for check in self.checks)

    @property
    def parallel(self) -> bool:
        return any(operation.parallel for operation in self.run)

    @property
    def may_refuse(self) -> bool:
        """Whether a mount that is refused is in order: it has noticed what was done to the disk."""
        corrupt = any(operation.word == "fault" and operation.mode == "corrupt" for operation in self.run)
        corrupt |= self.fault is not None and self.fault.kind == "corrupt"
        return self.model == "D" or corrupt or self.asks("survives")


# By model: what happens to the disk beside the power failure.
BESIDE = {
    "O": "",
    "R": ", and the disk loses some of the writes that no flush had followed",
    "T": ", in the middle of a disk write",
    "N": ", and again during the recovery",
    "D": ", {damage} ({block})",
}


def cut_sentence(one: Reproducer) -> str:
    """When the power fails, for a reader."""
    if one.way == "plain":
        return (
            "the power does not fail; the kernel shows the bug during "
            f"'{format_operation(last_operation(one))}'"
        )
    if one.fault is not None:
        return f"{fault_words(one.fault, (*one.setup, *one.run))}; then the power fails"
    if one.parallel:
        every = (*one.setup, *one.run)
        flying = " and ".join(f"'{format_operation(every[at])}'" for at in one.begun if at not in one.ended)
        when = f"during {flying}, after" if flying else "after"
        done = next(at for at in reversed(one.ended))
        return f"threads run in parallel, and the power fails {when} '{format_operation(every[done])}'"
    when = "after" if one.returned else "during"
    beside = BESIDE[one.model].format(damage=one.damage.words, block=one.block)
    return f"the power fails {when} '{format_operation(one.run[-1])}'{beside}"


def last_operation(one: Reproducer) -> Operation:
    return (*one.setup, *one.run)[-1]


FAILING = {
    "drop-writes": "writes{where} are dropped",
    "error-writes": "writes{where} fail",
    "error-reads": "reads{where} fail",
    "corrupt": "a byte of each write{where} is changed",
    "delay": "the device is slow",
}


def fault_words(point: FaultPoint, operations: Sequence[Operation]) -> str:
    if point.kind == SCRIPT:
        return "the device fails as the fault lines say"
    if point.part == FLUSH:
        what = "every FLUSH fails"
    else:
        what = FAILING[point.kind].format(where=f" to sectors {point.part}" if point.part else "")
    when = "from" if point.stays else "during"
    return f"{what} {when} '{format_operation(operations[point.operation])}'{' on' if point.stays else ''}"


def story(one: Reproducer, mark: str) -> str:
    """What it is about, as a comment: a blank line between two paragraphs, each line after `mark`."""
    told = (
        one.title,
        f"In short: {cut_sentence(one)}"
        + ("." if one.way == "plain" else ", and the recovered filesystem breaks a promise."),
        f"Expected: {one.expected}",
        f"Found:    {one.found}",
        *one.about,
    )
    paragraphs = (textwrap.wrap(each.replace("*/", "* /"), COMMENT_COLUMNS - len(mark)) for each in told)
    return f"\n{mark.rstrip()}\n".join("\n".join(mark + line for line in lines) for lines in paragraphs)


def byte_of(index: int) -> int:
    """What fills the writes of this operation: never zero, its own for the first 255."""
    return index % 255 + 1


# --- the shell -----------------------------------------------------------------------------------


FIRST_KEPT, KEPT_MAX = 3, 7  # file descriptors that a POSIX shell keeps: 3 to 9


class Shell(msgspec.Struct, frozen=True):
    """How a shell script calls things. mount: the variable that holds the mount point. kept: names of
    descriptors, which are /proc/$$/fd/3 and so on: to open one gives the same inode, even without a name."""

    mount: str
    xfs_io: str = "xfs_io"
    setfattr: str = "setfattr"
    getfattr: str = "getfattr"
    quiet: str = " >/dev/null"
    sync: str = "sync"
    mark: str = "mark"
    kept: tuple[str, ...] = ()

    def number(self, descriptor: str) -> int:
        return FIRST_KEPT + self.kept.index(descriptor)

    def path(self, path: str) -> str:
        if path in self.kept:
            return f"/proc/$$/fd/{self.number(path)}"
        if path == ".":
            return f"${self.mount}"
        plain = shlex.quote(path) == path
        return f"${self.mount}/{path}" if plain else f'"${self.mount}"/{shlex.quote(path)}'


def kept(one: Reproducer) -> tuple[str, ...]:
    """Every descriptor that it keeps, in the order in which they come."""
    return tuple(dict.fromkeys(op.descriptor for op in (*one.setup, *one.run) if op.descriptor))


def closing(shell: Shell) -> list[str]:
    """Lines before the unmount, which an open file would keep from being done."""
    return [f"exec {shell.number(descriptor)}>&-" for descriptor in shell.kept]


def operations(one: Reproducer, shell: Shell) -> list[str]:
    """All of them; by a log the last one between its marks. Errors: NotInThisForm."""
    lines = []
    for index in range(len(one.setup)):
        lines += operation_lines(one, index, shell)
    lines += [shell.sync, ""]  # as the recording did, without setup, too: where things lie hangs on it
    for index in range(len(one.setup), one.last):
        lines += operation_lines(one, index, shell)
    last = operation_lines(one, one.last, shell)
    if one.way == "log":
        # The inode number is asked for after the mark: nothing may come between the call and its end.
        last = [f"{shell.mark} begin", last[0], f"{shell.mark} done", *last[1:]]
    return lines + last


def operation_lines(one: Reproducer, index: int, shell: Shell) -> list[str]:
    """An operation and, where a check asks for what it made, the inode number of that.
    Errors: NotInThisForm."""
    operation = (*one.setup, *one.run)[index]
    lines = [command(operation, index, one.offsets.get(index, operation.offset), shell)]
    if index in one.makers:
        lines.append(f"made{index}=$(stat -c %i {shell.path(operation.path2 or operation.path)})")
    return lines


def refuse_in_any_form(operation: Operation) -> None:
    """Errors: NotInThisForm."""
    if reason := IN_NO_FORM.get(operation.word):
        raise NotInThisForm(reason)


def command(operation: Operation, index: int, offset: int, shell: Shell) -> str:
    """One line. Errors: NotInThisForm."""
    refuse_in_any_form(operation)
    if operation.word == "tmpfile" or (operation.word == "open" and "sync" in operation.mode):
        raise NotInThisForm(
            f"'{format_operation(operation)}': a shell cannot open a file in this way; use --to c"
        )
    if len(shell.kept) > KEPT_MAX:
        raise NotInThisForm(f"a shell script can keep at most {KEPT_MAX} descriptors; use --to c")
    if operation.word == "rename" and operation.mode:
        raise NotInThisForm(
            f"'{format_operation(operation)}': no common program calls renameat2(2); use --to c"
        )
    line = (
        names(operation, shell)
        or content(operation, index, offset, shell)
        or attributes(operation, shell)
        or persistence(operation, shell)
    )
    if not line:
        raise NotInThisForm(f"'{format_operation(operation)}': no common program makes this call; use --to c")
    return line


def names(operation: Operation, shell: Shell) -> str:
    path, path2 = shell.path(operation.path), shell.path(operation.path2)
    match operation.word:
        case "creat":
            return f": >{path}"
        case "mkdir":
            return f"mkdir {path}"
        case "mkfifo":
            return f"mkfifo {path}"
        case "mknod":
            kind = "b" if operation.mode == "blk" else "c"
            return f"mknod {path} {kind} {operation.device.replace(':', ' ')}"
        case "symlink":
            return f"ln -s {shlex.quote(operation.target)} {path}"
        case "open":
            truncated = f": >{path}; " if "trunc" in operation.mode else ""
            number = shell.number(operation.descriptor)
            return f"{truncated}if [ -d {path} ]; then exec {number}<{path}; else exec {number}<>{path}; fi"
        case "close":
            return f"exec {shell.number(operation.path)}>&-"
        case "link" if operation.path in shell.kept:
            return f"ln -L {path} {path2}"
        case "link":
            return f"ln -P {path} {path2}"
        case "unlink":
            return f"unlink {path}"
        case "rmdir":
            return f"rmdir {path}"
        case "rename":
            return f"mv -fT {path} {path2}"
        case "subvol":
            return f"btrfs subvolume {operation.mode} {path}{shell.quiet}"
        case "snapshot":
            return f"btrfs subvolume snapshot {path} {path2}{shell.quiet}"
    return ""


FALLOCATE = {
    "alloc": "falloc",
    "keep-size": "falloc -k",
    "punch-hole": "fpunch",
    "zero-range": "fzero",
    "zero-range-keep-size": "fzero -k",
    "collapse-range": "fcollapse",
    "insert-range": "finsert",
}
PAGE = 4096
# Places at which a program tears one write. To ask one takes a quarter of a second, and xfs writes its log in
# pieces of hundreds of sectors.
TEARS = 32


def content(operation: Operation, index: int, offset: int, shell: Shell) -> str:
    path, path2 = shell.path(operation.path), shell.path(operation.path2)
    start, length = operation.offset, operation.length
    fill = f"-S {byte_of(index)}"
    match operation.word:
        case "write" | "append":
            flags = "-f -a" if operation.word == "append" else "-f"
            return xfs_io(shell, path, f"pwrite -b 64k {fill} {offset} {length}", flags=flags)
        case "pwrite":
            flags = " ".join(
                [
                    "-f",
                    *(["-d"] if "direct" in operation.mode else []),
                    *(["-s"] if "-sync" in f"-{operation.mode}" else []),
                ]
            )
            # Without -V it is pwrite(2), and -D means nothing (xfsprogs 6.1, io/pwrite.c do_pwrite()).
            dsync = " -V 1 -D" if "dsync" in operation.mode else ""
            return xfs_io(shell, path, f"pwrite -b 64k{dsync} {fill} {offset} {length}", flags=flags)
        case "mmapwrite":
            first = start // PAGE * PAGE
            mapped = f"mmap -rw {first} {start + length - first}"
            return xfs_io(shell, path, mapped, f"mwrite {fill} {start} {length}")
        case "msync" if length:
            first = start // PAGE * PAGE
            mapped = f"mmap -rw {first} {start + length - first}"
            return xfs_io(shell, path, mapped, f"msync -s {first} {start + length - first}")
        case "truncate":
            return xfs_io(shell, path, f"truncate {length}")
        case "fallocate":
            return xfs_io(shell, path, f"{FALLOCATE[operation.mode]} {start} {length}")
        case "fill":
            return xfs_io(shell, path, f"falloc {start} {length}", flags="-f")
        case "clone":
            ranges = f" {start} {operation.at} {length}" if length or start or operation.at else ""
            return xfs_io(shell, path2, f"reflink {path}{ranges}")
        case "dedupe":
            return xfs_io(shell, path2, f"dedupe {path} {start} {operation.at} {length}")
        case "copyrange":
            return xfs_io(shell, path2, f"copy_range -s {start} -d {operation.at} -l {length} {path}")
    return ""


def xfs_io(shell: Shell, path: str, *commands: str, flags: str = "") -> str:
    told = "".join(f' -c "{each}"' for each in commands)
    return f"{shell.xfs_io}{' ' if flags else ''}{flags}{told} {path}{shell.quiet}"


def attributes(operation: Operation, shell: Shell) -> str:
    path = shell.path(operation.path)
    itself = "" if operation.path in shell.kept else " -h"
    match operation.word:
        case "setxattr":
            return f"{shell.setfattr}{itself} -n {operation.name} -v {shlex.quote(operation.value)} {path}"
        case "removexattr":
            return f"{shell.setfattr}{itself} -x {operation.name} {path}"
        case "chmod":
            return f"chmod {operation.mode} {path}"
        case "chown":
            return f"chown {operation.value} {path}"
        case "utimes":
            return f"touch -d @{operation.length} {path}"
        case "chattr":
            return f"chattr {operation.mode} {path}"
        case "setfacl":
            return f"setfacl --set {operation.value} {path}"
    return ""


def persistence(operation: Operation, shell: Shell) -> str:
    path = shell.path(operation.path)
    match operation.word:
        case "fsync":
            return xfs_io(shell, path, "fsync")
        case "fdatasync":
            return xfs_io(shell, path, "fdatasync")
        case "msync":
            return xfs_io(shell, path, "fsync")
        case "sync_file_range":
            return xfs_io(shell, path, f"sync_range -a {operation.offset} {operation.length}")
        case "syncfs":
            return xfs_io(shell, f"${shell.mount}", "syncfs")
        case "sync":
            return "sync"
        case "evict":
            return "for i in 1 2 3 4 5 6 7 8; do echo 3 >/proc/sys/vm/drop_caches; done"
        case "freeze":
            return f"fsfreeze -f ${shell.mount}"
        case "thaw":
            return f"fsfreeze -u ${shell.mount}"
        case "remount" if operation.mode:
            return f"mount -o remount,{operation.mode} ${shell.mount}"
        case "wait":
            return f"sleep {operation.length / 1000:g}"
    return ""


# --- checks, as lines that say `bad "..."` -----------------------------------------------------------


def check_lines(checks: Sequence[Check], shell: Shell) -> list[str]:
    """Of those about the mounted tree."""
    lines: list[str] = []
    for check in checks:
        asked = list(check_of(check, shell))
        given = [f"if {is_there(check.given, shell)}; then"] if check.given and asked else []
        lines += [*given, *(f"\t{line}" for line in asked), "fi"] if given else asked
    return lines


def is_there(path: str, shell: Shell) -> str:
    """A symlink that leads nowhere is, too."""
    return f"[ -e {shell.path(path)} ] || [ -L {shell.path(path)} ]"


def check_of(check: Check, shell: Shell) -> Iterator[str]:
    path, name = shell.path(check.path), check.path
    there = is_there(name, shell)
    match check.kind:
        case "exists":
            yield f'{there} || bad "{name} is missing"'
        case "absent":
            yield f'{{ {there}; }} && bad "{name} is back"'
        case "any":
            tests = " || ".join(
                f'[ "$(stat -c %i {shell.path(each)} 2>/dev/null)" = "$made{check.values[0]}" ]'
                if check.values
                else is_there(each, shell)
                for each in check.paths
            )
            yield f'{tests} || bad "nothing is left under {" or ".join(check.paths)}"'
        case "not all":
            tests = " && ".join(f"[ -e {shell.path(each)} ]" for each in check.paths)
            yield f'{tests} && bad "it is under {" and ".join(check.paths)}"'
        case "object":
            allowed = " ".join(f"$made{each}" for each in check.values) + (" none" if check.optional else "")
            yield f"found=$(stat -c %i {path} 2>/dev/null || echo none)"
            other = f'bad "{name} is another file (inode $found)"'
            yield f'case " {allowed} " in *" $found "*) ;; *) {other} ;; esac'
        case "size":
            tests = " || ".join(
                f"[ $found -eq {low} ]"
                if low == high
                else f"{{ [ $found -ge {low} ] && [ $found -le {high} ]; }}"
                for low, high in check.sizes
            )
            yield f"found=$(stat -c %s {path} 2>/dev/null || echo -1)"
            yield f'{tests} || bad "{name} has $found bytes"'
        case "bytes":
            yield from bytes_of(check, path)
        case "links":
            yield f"found=$(stat -c %h {path} 2>/dev/null)"
            yield f"count=$(find ${shell.mount} -samefile {path} 2>/dev/null | wc -l)"
            yield f'[ "$found" = "$count" ] || bad "{name} has link count $found and $count names"'
        case "blocks":
            yield f"found=$(stat -c %b {path} 2>/dev/null || echo -1)"
            least = check.values[0]
            yield f'[ $found -ge {least} ] || bad "{name} has $found blocks, fewer than {least}"'
        case "leads":
            directory, _, last = name.rpartition("/")
            listed = f"ls -A {shell.path(directory or '.')} 2>/dev/null | grep -qxF {shlex.quote(last)}"
            yield f"! {listed} || stat {path} >/dev/null 2>&1 ||"
            yield f'\tbad "{name} is listed, but cannot be looked up"'
        case "usable":
            yield from usable_of(shell)
        case "mounts" | "quiet" | "clean":
            yield written_to(shell)
        case "mode" | "owner" | "mtime" | "link count" | "target" | "xattr":
            yield from value_of(check, path, shell)


VALUE = {"mode": "%a", "owner": "%u:%g", "mtime": "%Y", "link count": "%h"}


def value_of(check: Check, path: str, shell: Shell) -> Iterator[str]:
    what = check.name or check.kind
    if check.kind == "target":
        yield f"found=$(readlink {path})"
    elif check.kind == "xattr":
        getfattr = f"{shell.getfattr} -h --absolute-names --only-values"
        yield f"found=$({getfattr} -n {check.name} {path} 2>/dev/null)"
    else:
        yield f"found=$(stat -c {VALUE[check.kind]} {path} 2>/dev/null)"
    tests = " || ".join(f'[ "$found" = {shlex.quote(value)} ]' for value in check.values)
    yield f"""{tests} || bad "{check.path} has {what} '$found'\""""


def bytes_of(check: Check, path: str) -> Iterator[str]:
    """Bytes that no operation may have put there, counted range by range up to the end of the file."""
    yield f'[ -r {path} ] || bad "{check.path} cannot be read"'
    for source in check.sources:
        octal = "".join(f"\\{0 if each < 0 else byte_of(each):03o}" for each in source.operations)
        yield (
            f"found=$(tail -c +{source.start + 1} {path} | head -c {source.end - source.start} | "
            f"LC_ALL=C tr -d '{octal}' | wc -c)"
        )
        yield f'[ "$found" = 0 ] || bad "{check.path} has $found wrong bytes from {source.start} on"'


def usable_of(shell: Shell) -> Iterator[str]:
    top = f"${shell.mount}"
    yield f'find {top} -type f -exec cat {{}} + >/dev/null || bad "a file cannot be read"'
    made = f"echo x >{top}/new.file && {shell.xfs_io} -c fsync {top}/new.file{shell.quiet}"
    yield f'{{ {made}; }} || bad "no new file can be made"'
    yield f'find {top} -mindepth 1 ! -name lost+found -delete || bad "not everything can be removed"'


def written_to(shell: Shell) -> str:
    """One new block, synced, in a file without a name. Asks nothing itself: only in the mount that replayed a
    log does a write meet what replay left in memory, and the harm shows later (probe_first_mount() in
    harness/guests/agent/recover.c does the same before a state is judged)."""
    return f'{shell.xfs_io} -T -c "pwrite 0 4k" -c fsync ${shell.mount} >/dev/null 2>&1'


# --- the whole question, for programs that mount by themselves ------------------------------------------

# What a filesystem prints as an error, or the kernel as a bug of its own.
LOUD = "BUG: |WARNING: |Oops|Call Trace|(BTRFS|EXT4-fs|JBD2|XFS).*(error|critical|corrupt|metadata I/O)"


def mount_line(one: Reproducer) -> str:
    """N is the mapped device's name, D the device below it, M the mount point."""
    options = f"-o {one.mount_options} " if one.mount_options else ""
    device = "$D" if one.way == "plain" else '"/dev/mapper/$N"'
    return f'mount -t {one.filesystem} {options}{device} "$M"'


def ask_lines(one: Reproducer, shell: Shell) -> list[str]:
    """Mount, ask, unmount, and ask what is asked of a disk that is not mounted. W is a folder of our own.
    Of the plain way: unmount, and ask the kernel's log; one that died was shown before."""
    if one.way == "plain":
        return ['umount "$M" || bad "the filesystem cannot be unmounted"', *alive_lines()]
    if one.asks("as before"):
        return as_before_lines(one, shell)
    if one.may_refuse:
        return damaged_lines(one, shell)
    mount = mount_line(one)
    lines = ["dmesg -C"] if one.asks("quiet") else []
    lines += [f"if ! {mount}; then", '\tbad "the filesystem cannot be mounted"', "else"]
    lines += [f"\t{line}" for line in check_lines(one.checks, shell)]
    lines += ['\tumount "$M" || bad "the filesystem cannot be unmounted"', "fi"]
    if one.asks("mounts"):
        lines.append(f'{{ {mount} && umount "$M"; }} || bad "the filesystem cannot be mounted a second time"')
    if one.asks("clean"):
        lines.append(f'{shlex.join(one.fsck)} "/dev/mapper/$N" >"$W/fsck" 2>&1 ||')
        lines.append('\tbad "the checker reports: $(tail -n 3 "$W/fsck")"')
    if one.asks("quiet"):
        lines.append(f"dmesg | grep -E '{LOUD}' >\"$W/loud\" &&")
        lines.append('\tbad "the kernel says: $(head -n 1 "$W/loud")"')
    return lines


# Words of the kernel that are a bug of its own, whatever the disk may be like.
BUG = "BUG|WARNING: |Oops|blocked for more than|soft lockup|[Aa]ssertion failed"


def damaged_lines(one: Reproducer, shell: Shell) -> list[str]:
    """The same of a damaged disk: the mount may be refused. Asked twice, for what the first mount took for
    good must not get onto the disk either."""
    return [
        "dmesg -C",
        "for mount in first second; do",
        f"\t{mount_line(one)} 2>/dev/null || break # refused: the damage was noticed",
        *(f"\t{line}" for line in check_lines(one.checks, shell)),
        '\tumount "$M"',
        "done",
        *(alive_lines() if one.asks("survives") else []),
    ]


def alive_lines() -> list[str]:
    return [
        f"dmesg | grep -E '{BUG}' >\"$W/loud\" &&",
        '\tbad "the kernel says: $(head -n 1 "$W/loud")"',
    ]


# The tree in lines, without times; what the mount and the calls say goes beside it.
LISTED = (
    "find . -printf '%p %y inode %i size %s blocks %b links %n mode %m %U:%G %l\\n' | sort; "
    "find . -type f -exec cksum {} + | sort; getfattr -R -h -d . 2>/dev/null"
)


def as_before_lines(one: Reproducer, shell: Shell) -> list[str]:
    """What the disk shows, as $W/$disk.tree, and what is said about it. When disk is "damaged", both are held
    against those of the same disk whole."""
    return [
        "dmesg -C",
        'rm -f "$W/$disk.tree" && : >"$W/$disk.said"',
        f"if {mount_line(one)} 2>/dev/null; then",
        f'\t(cd "$M" && {{ {LISTED}; }}) >"$W/$disk.tree" 2>"$W/$disk.said"',
        '\tumount "$M"',
        "fi",
        'dmesg -t -l emerg,alert,crit,err,warn >>"$W/$disk.said"',
        'if [ $disk = damaged ] && [ -e "$W/damaged.tree" ] &&',
        '\t! cmp -s "$W/whole.tree" "$W/damaged.tree" &&',
        '\t! grep -qvxFf "$W/whole.said" "$W/damaged.said"; then',
        '\tother=$(grep -vxFf "$W/whole.tree" "$W/damaged.tree" | head -n 1)',
        ('\tbad "the tree has changed, and nothing reports it: ${other:-something is missing}"'),
        "fi",
    ]


def damage_place(one: Reproducer) -> tuple[int, int]:
    """The byte of the disk and the bit that is flipped, or the byte where the sector begins that is zeroed,
    and -1."""
    start = one.damage.block * BLOCK_BYTES
    if one.damage.bit >= 0:
        return start + one.damage.bit // 8, one.damage.bit % 8
    return start + one.damage.sector * SECTOR_BYTES, -1


def c_text(text: str) -> str:
    """A string literal, a line of it a line."""
    parts = text.split("\n")
    return "\n\t\t".join(
        json.dumps(part + ("\n" if at < len(parts) - 1 else ""), ensure_ascii=True)
        for at, part in enumerate(parts)
    )
