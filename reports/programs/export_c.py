"""
A finding as one C program: `powercut export --to c`.

In:       a Reproducer.
Out:      the program: each operation is the system call itself, so it can say what no shell can (kept
          descriptors, renameat2); losetup, mkfs, dmsetup and the questions afterwards go through a shell.
Not here: the questions (export.py), the log's replay (replay_c.py), compiling and trying it
          (harness/findings/export.py).
"""

import json
import re
import shlex

from reports.programs.export import (
    BUG,
    NotInThisForm,
    Reproducer,
    Shell,
    ask_lines,
    byte_of,
    c_text,
    kept,
    mount_line,
    refuse_in_any_form,
    story,
)
from reports.programs.failing import DEVICES, LOADED, at_the_end, changes, created, may_fail, quoted
from reports.programs.replay_c import replay
from reports.programs.threads_c import BELOW_LOG, FAST, INCLUDES, block_lines, functions, marked
from workloads.faults import OFF
from workloads.text import format_operation
from workloads.workload import Operation

SHELL = Shell("M")

HEAD = """\
// SPDX-License-Identifier: GPL-2.0
/*
{story}
 *
 * gcc -o repro {file} && ./repro     as root, on a machine whose mounted filesystems may be lost
 * Exit status: 0 the promise was kept, 1 it was broken, 2 it could not be tested.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/f2fs.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SIZE {size_bytes}LL
#define unused __attribute__((unused))

static char work[] = "/tmp/powercut.XXXXXX";

/* A line of shell; W is the work folder, M the mount point, N the mapped device, D the disk below it. */
static int shell(const char *line)
{{
	int status = system(line);

	return status == -1 || !WIFEXITED(status) ? 2 : WEXITSTATUS(status);
}}

static void cannot(const char *what)
{{
	fprintf(stderr, "cannot be tested: %s%s%s\\n", what, errno ? ": " : "", errno ? strerror(errno) : "");
	chdir("/");
	shell({clean});
	exit(2);
}}

static void must(const char *line)
{{
	if (shell(line))
		cannot(line);
}}

{check}"""
CHECK = """static void check(int result, const char *what)
{
	if (result < 0)
		cannot(what);
}
"""
# Where the device fails calls do, too. What a call that makes something durable tells is kept in `told`.
CHECK_FAILING = """static int may_fail, failed, told;

static void check(int result, const char *what)
{
	if (result < 0 && !may_fail)
		cannot(what);
	failed |= result < 0;
}
"""
ALIVE = """
static void alive(void)
{{
	if (!shell({bug})) {{
		puts("BROKEN: the kernel reports a bug");
		_exit(1);
	}}
}}
"""

# Each is put in when an operation calls it.
HELPERS = {
    "fill": """
static void fill(int file, off_t offset, size_t length, int byte)
{
	static unsigned char buffer[1 << 16] __attribute__((aligned(4096)));

	memset(buffer, byte, sizeof(buffer));
	while (length) {
		ssize_t done = pwrite(file, buffer, length < sizeof(buffer) ? length : sizeof(buffer), offset);

		check(done > 0 ? 0 : -1, "pwrite");
		if (done <= 0)
			return;
		offset += done;
		length -= done;
	}
}
""",
    "mapped": """
static void mapped(int file, off_t offset, size_t length, int byte)
{
	off_t first = offset / 4096 * 4096;
	char *map = mmap(NULL, offset + length - first, PROT_READ | PROT_WRITE, MAP_SHARED, file, first);

	check(map == MAP_FAILED ? -1 : 0, "mmap");
	if (map == MAP_FAILED)
		return;
	if (byte)
		memset(map + (offset - first), byte, length);
	else
		check(msync(map, offset + length - first, MS_SYNC), "msync");
	munmap(map, offset + length - first);
}
""",
    "opened": """
static int opened(const char *path, int flags)
{
	int file = open(path, flags | O_NONBLOCK, 0644);

	check(file, path);
	return file;
}
""",
    "all_or_nothing": """
#define RWF_ATOMIC 0x40 /* include/uapi/linux/fs.h, from 6.11 on */

static void all_or_nothing(int file, off_t offset, size_t length, int byte, int flags)
{
	struct iovec part = { aligned_alloc(4096, length < 4096 ? 4096 : length), length };

	memset(part.iov_base, byte, length);
	check(pwritev2(file, &part, 1, offset, flags) == (ssize_t)length ? 0 : -1, "pwritev2");
	free(part.iov_base);
}
""",
    "copied": """
/* A file without a name with the same content, and holes where this one has some. */
static int copied(int file)
{
	static char buffer[1 << 16];
	off_t end = lseek(file, 0, SEEK_END), hole = 0, at;
	int copy = open(".", O_TMPFILE | O_RDWR, 0600);

	check(copy < 0 ? -1 : ftruncate(copy, end), "O_TMPFILE");
	while ((at = lseek(file, hole, SEEK_DATA)) >= 0) {
		hole = lseek(file, at, SEEK_HOLE);
		while (at < hole) {
			size_t want = hole - at < (off_t)sizeof(buffer) ? hole - at : (off_t)sizeof(buffer);
			ssize_t got = pread(file, buffer, want, at);

			check(got > 0 && pwrite(copy, buffer, got, at) == got ? 0 : -1, "copy");
			at += got > 0 ? got : hole;
		}
	}
	check(fsync(copy), "fsync");
	return copy;
}
""",
    "exchanged_xfs": """
/* fs/xfs/libxfs/xfs_fs.h: struct xfs_bstat, struct xfs_fsop_bulkreq, struct xfs_swapext */
struct about {
	char all[136];
};

struct ask {
	unsigned long long *inode;
	int count;
	struct about *about;
	int *found;
};

struct swap {
	long long version, file, copy, offset, length;
	char pad[16];
	struct about about;
};

static void exchanged_xfs(int file)
{
	struct stat status;
	struct swap swap = { .file = file };
	int found = 0;

	check(fstat(file, &status), "fstat");
	unsigned long long inode = status.st_ino;
	struct ask ask = { &inode, 1, &swap.about, &found };

	check(ioctl(file, _IOWR('X', 102, struct ask), &ask), "XFS_IOC_FSBULKSTAT_SINGLE");
	swap.copy = copied(file);
	swap.length = status.st_size;
	check(ioctl(file, _IOWR('X', 109, struct swap), &swap), "XFS_IOC_SWAPEXT");
	close(swap.copy);
}
""",
    "exchanged_ext4": """
/* fs/ext4/ext4.h: struct move_extent */
struct move {
	unsigned int reserved, copy;
	unsigned long long start, copy_start, blocks, moved;
};

static void exchanged_ext4(int file)
{
	struct stat status;

	check(fstat(file, &status), "fstat");
	struct move move = { .copy = copied(file) };

	move.blocks = (status.st_size + status.st_blksize - 1) / status.st_blksize;
	while (move.blocks) {
		check(ioctl(file, _IOWR('f', 15, struct move), &move), "EXT4_IOC_MOVE_EXT");
		if (!move.moved || move.moved > move.blocks)
			break;
		move.start += move.moved, move.copy_start += move.moved, move.blocks -= move.moved;
		move.moved = 0;
	}
	close(move.copy);
}
""",
    "evict": """
static void evict(void)
{
	for (int round = 0; round < 8; round++)
		must("echo 3 >/proc/sys/vm/drop_caches");
}
""",
    "flags": """
static void flags(int file, int set, int clear)
{
	int now = 0;

	check(ioctl(file, FS_IOC_GETFLAGS, &now), "FS_IOC_GETFLAGS");
	now = (now | set) & ~clear;
	check(ioctl(file, FS_IOC_SETFLAGS, &now), "FS_IOC_SETFLAGS");
}
""",
}

MAIN = """
static int ask(void)
{{
	return shell({ask});
}}

int main(void)
{{
	if (!mkdtemp(work))
		cannot(work);
	umask(0);
	char name[64];

	snprintf(name, sizeof(name), "powercut%d", getpid());
	setenv("W", work, 1);
	setenv("N", name, 1);
	setenv("LC_ALL", "C", 1);
	snprintf(name, sizeof(name), "%s/mnt", work);
	setenv("M", name, 1);
	putenv("PATH=/usr/sbin:/usr/bin:/sbin:/bin");
	must("modprobe -a loop {module} 2>/dev/null; mkdir \\"$M\\"");
	snprintf(name, sizeof(name), "%s/disk", work);
	int disk = open(name, O_RDWR | O_CREAT, 0600);

	check(disk < 0 ? -1 : ftruncate(disk, SIZE), "the disk");
	close(disk);
	must({mkfs});
	must({start});
	check(chdir(getenv("M")), "chdir");
{operations}
{end}
	int broken = {verdict};

	shell({clean});
	puts(broken ? "" : "the promise was kept");
	return broken;
}}
"""

ATTACH = 'D=$(losetup -f --show "$W/{image}") && S=$(blockdev --getsz $D)'
FLAKEY_ON = '"0 $S flakey $D 0 180 0"'
FLAKEY_OFF = '"0 $S flakey $D 0 0 180 1 drop_writes"'
# Its own loop devices: others of the host are none of its business.
DETACH = (
    "for i in disk log state recovery; do losetup -n -O NAME -j $W/$i; done 2>/dev/null | xargs -r losetup -d"
)
CLEAN = 'umount "$M" 2>/dev/null; dmsetup remove {devices} 2>/dev/null; ' + DETACH + '; rm -rf "$W"'
BELOW = 'D=$(losetup -n -O NAME -j "$W/disk") && S=$(blockdev --getsz $D)'
SWITCH = "dmsetup suspend --nolockfs $N && dmsetup load $N --table {table} && dmsetup resume $N"


def program(one: Reproducer, file: str) -> str:
    """Errors: NotInThisForm."""
    lines = operations(one)
    body = "\n".join(lines)
    beside = functions(one, lambda operation, index: call(operation, index, one)) if one.parallel else ""
    devices = f"$N {BELOW_LOG}" if one.parallel else "$N" if one.fault is None else DEVICES
    head = HEAD.format(
        story=story(one, " * "),
        file=file,
        size_bytes=one.size_bytes,
        check=CHECK if one.fault is None else CHECK_FAILING,
        clean=c_text(CLEAN.format(devices=devices)),
    )
    log = one.way == "log"
    closing = [f"\tclose({name});" for name in variables(one)]
    if log:
        below = f"/dev/mapper/{BELOW_LOG}" if one.parallel else "$D"
        slow = f'dmsetup create {BELOW_LOG} --table "0 $S {FAST}"'
        start = " && ".join(
            [
                'cp --sparse=always "$W/disk" "$W/base"',
                'truncate -s 256M "$W/log"',
                ATTACH.format(image="disk"),
                'L=$(losetup -f --show "$W/log")',
                *([slow] if one.parallel else []),
                f'dmsetup create $N --table "0 $S log-writes {below} $L"',
                mount_line(one),
            ]
        )
        end = [
            f"\tmust({c_text(mark('end'))});",
            *closing,
            '\tcheck(chdir("/"), "chdir");',
            f"\tmust({c_text(f'umount $M && dmsetup remove {devices} && {DETACH}')});",
        ]
        verdict = "replay()"
    elif one.fault is not None:
        start = f"{ATTACH.format(image='disk')} && {created(one)} && {mount_line(one)}"
        start += " && dmesg -C" if one.asks("survives") else ""
        dropped = "/* The power fails: writes that are not on the disk yet are lost. */"
        end = [
            *(line for fault in at_the_end(one) for line in (f"\t{dropped}", changed(fault, one))),
            *closing,
            '\tcheck(chdir("/"), "chdir");',
            f"\tshell({c_text('umount $M')});",
            *(["\talive();"] if one.asks("survives") else []),
            changed(OFF, one),
            "\tif (told)",
            '\t\tputs("an error was reported, so nothing was promised");',
        ]
        verdict = "told ? 0 : ask()"
    elif one.way == "plain":
        start = f"{ATTACH.format(image='disk')} && dmesg -C && {mount_line(one)}"
        end = [*closing, '\tcheck(chdir("/"), "chdir");']
        verdict = "ask()"
    else:
        start = f"{ATTACH.format(image='disk')} && dmsetup create $N --table {FLAKEY_ON} && {mount_line(one)}"
        end = [
            "\t/* The power fails: writes that are not on the disk yet are lost. */",
            f"\tmust({c_text(f'{BELOW} && ' + SWITCH.format(table=FLAKEY_OFF))});",
            *closing,
            '\tcheck(chdir("/"), "chdir");',
            f"\tmust({c_text('umount $M')});",
            f"\tmust({c_text(f'{BELOW} && ' + SWITCH.format(table=FLAKEY_ON))});",
        ]
        verdict = "ask()"
    used = helpers(body + beside)
    if "FS_IOC_ENABLE_VERITY" in body + beside:
        head = head.replace("#include <linux/fs.h>\n", "#include <linux/fs.h>\n#include <linux/fsverity.h>\n")
    if one.parallel:
        body = f'\tcontrol = open("/dev/mapper/control", O_RDWR);\n\tcheck(control, "device mapper");\n{body}'
        head = head.replace("#include <stdarg.h>\n", f"{INCLUDES}#include <stdarg.h>\n")
        head = head.replace("gcc -o", "gcc -pthread -o")
        used = [text.replace("static unsigned char", "static __thread unsigned char") for text in used]
        used.append("".join(f"static int {name} unused;\n" for name in variables(one)))
    return (
        head
        + "".join(used)
        + (ALIVE.format(bug=c_text(f"dmesg | grep -E '{BUG}'")) if one.asks("survives") and one.fault else "")
        + beside
        + (replay(one) if log else "")
        + MAIN.format(
            ask=c_text("\n".join(asked(one))),
            module={"log": "dm-log-writes", "flakey": "dm-flakey", "fault": "dm-flakey dm-delay"}.get(
                one.way, ""
            ),
            mkfs=c_text(f'{shlex.join(one.mkfs)} "$W/disk" >/dev/null'),
            start=c_text(start),
            operations=body,
            end="\n".join(end),
            verdict=verdict,
            clean=c_text(CLEAN.format(devices=devices)),
        )
    ).replace("#include <sys/xattr.h>\n", "#include <sys/wait.h>\n#include <sys/xattr.h>\n")


def helpers(body: str) -> list[str]:
    """Those that these lines call, and those that these call, in an order in which C takes them."""
    for name, text in reversed(HELPERS.items()):
        if re.search(rf"\b{name}\(", body):
            body += text
    return [text for text in HELPERS.values() if text in body]


def changed(fault: Operation, one: Reproducer) -> str:
    """A line that changes the device. Errors: NotInThisForm."""
    line = f"{BELOW} && {LOADED.format(lines=quoted(fault, one))}"
    return f'\tif (shell({c_text(line)}))\n\t\tcannot("the device\'s table");'


def mark(text: str) -> str:
    return f"dmsetup message $N 0 mark {text}"


def asked(one: Reproducer) -> list[str]:
    """A shell script whose status is 1 when a promise was broken."""
    lines = ["broken=0", 'bad() { echo "BROKEN: $*"; broken=1; }', "cannot() { exit 2; }"]
    if one.way == "log":
        lines += [
            "btrfs device scan --forget >/dev/null 2>&1" if one.filesystem == "btrfs" else ":",
            f"{ATTACH.format(image='state')} || cannot",
            'dmsetup create $N --table "0 $S linear $D 0" || cannot',
        ]
    lines += ask_lines(one, SHELL)
    lines += ["dmsetup remove $N; losetup -d $D"] if one.way == "log" else []
    return [*lines, "exit $broken"]


# --- operations ------------------------------------------------------------------------------------


def operations(one: Reproducer) -> list[str]:
    if one.parallel:
        return parallel_operations(one)
    lines = [f"\tint {name} unused;" for name in variables(one)]
    every = (*one.setup, *one.run)
    for index, operation in enumerate(every):
        lines += ["\tsync();"] if index == len(one.setup) else []
        last = index == one.last and one.way == "log"
        before, after = changes(one, index) if one.fault is not None else ([], [])
        lines += [changed(fault, one) for fault in before]
        lines += [f"\t/* {format_operation(operation).replace('*/', '* /')} */"]
        if one.fault is not None and operation.word == "fault":
            lines += [changed(operation, one), "\tmay_fail = 1;"]
            continue
        lines += ["\tmay_fail = 1;"] if one.fault is not None and index == one.fault.operation else []
        lines += ["\tfailed = 0;"] if index in one.promising else []
        lines += [f"\tmust({c_text(mark('begin'))});"] if last else []
        lines += [f"\t{line}" for line in call(operation, index, one)]
        lines += [f"\tmust({c_text(mark('done'))});"] if last else []
        lines += ["\ttold |= failed;"] if index in one.promising else []
        lines += made(operation, index) if index in one.makers else []
        lines += [changed(fault, one) for fault in after]
        lines += ["\talive();"] if one.asks("survives") and may_fail(one, index) else []
    return lines


def parallel_operations(one: Reproducer) -> list[str]:
    """Each of run with its marks; a block where its first operation stands. Kept descriptors are everybody's.
    Errors: NotInThisForm."""
    if one.makers:
        raise NotInThisForm("objects are identified by inode numbers, and a thread cannot read them in time")
    lines: list[str] = []
    known: set[int] = set()
    for index, operation in enumerate((*one.setup, *one.run)):
        lines += ["\tsync();"] if index == len(one.setup) else []
        if operation.parallel:
            lines += [] if operation.parallel in known else block_lines(one, operation.parallel, BELOW)
            known.add(operation.parallel)
            continue
        called = [f"\t{line}" for line in call(operation, index, one)]
        lines += [f"\t/* {format_operation(operation).replace('*/', '* /')} */"]
        lines += called if index < len(one.setup) else marked(index, called)
    return lines


def variables(one: Reproducer) -> list[str]:
    """One for each kept descriptor."""
    return [_variable(descriptor) for descriptor in kept(one)]


def _variable(descriptor: str) -> str:
    return "kept_" + descriptor[1:].replace("-", "_")


def made(operation: Operation, index: int) -> list[str]:
    if operation.descriptor:
        stat = f"fstat({_variable(operation.descriptor)}, &made{index})"
    else:
        stat = f"lstat({c_path(operation.path2 or operation.path)}, &made{index})"
    return [
        f"\tstruct stat made{index};",
        f"\tchar number{index}[24];",
        "",
        f'\tcheck({stat}, "stat");',
        f'\tsnprintf(number{index}, 24, "%llu", (unsigned long long)made{index}.st_ino);',
        f'\tsetenv("made{index}", number{index}, 1);',
    ]


def c_path(path: str) -> str:
    return json.dumps(path)


FALLOCATE = {
    "alloc": "0",
    "keep-size": "FALLOC_FL_KEEP_SIZE",
    "punch-hole": "FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE",
    "zero-range": "FALLOC_FL_ZERO_RANGE",
    "zero-range-keep-size": "FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE",
    "collapse-range": "FALLOC_FL_COLLAPSE_RANGE",
    "insert-range": "FALLOC_FL_INSERT_RANGE",
}
RENAME = {
    "": "0",
    "exchange": "RENAME_EXCHANGE",
    "noreplace": "RENAME_NOREPLACE",
    "whiteout": "RENAME_WHITEOUT",
}
FLAGS = {
    "A": "FS_NOATIME_FL",
    "C": "FS_NOCOW_FL",
    "D": "FS_DIRSYNC_FL",
    "S": "FS_SYNC_FL",
    "a": "FS_APPEND_FL",
    "d": "FS_NODUMP_FL",
    "i": "FS_IMMUTABLE_FL",
    "j": "FS_JOURNAL_DATA_FL",
}
OPEN = {"creat": "O_CREAT", "trunc": "O_TRUNC", "dsync": "O_DSYNC", "sync": "O_SYNC"}


def call(operation: Operation, index: int, one: Reproducer) -> list[str]:
    """Lines of C. Errors: NotInThisForm."""
    refuse_in_any_form(operation)
    offset = one.offsets.get(index, operation.offset)
    lines = (
        names(operation)
        or content(operation, index, offset)
        or requests(operation, index, one)
        or attributes(operation)
        or persistence(operation, one)
    )
    if not lines:
        raise NotInThisForm(f"'{format_operation(operation)}' is not available in C programs; use --to sh")
    return lines


def checked(expression: str, operation: Operation) -> str:
    return f"check({expression}, {json.dumps(format_operation(operation))});"


def names(operation: Operation) -> list[str]:
    path, path2 = c_path(operation.path), c_path(operation.path2)
    match operation.word:
        case "creat":
            return [f"close(opened({path}, O_CREAT | O_EXCL | O_WRONLY));"]
        case "mkdir":
            return [checked(f"mkdir({path}, 0755)", operation)]
        case "mkfifo":
            return [checked(f"mkfifo({path}, 0644)", operation)]
        case "mknod":
            kind = "S_IFBLK" if operation.mode == "blk" else "S_IFCHR"
            device = operation.device.replace(":", ", ")
            return [checked(f"mknod({path}, {kind} | 0644, makedev({device}))", operation)]
        case "symlink":
            return [checked(f"symlink({json.dumps(operation.target)}, {path})", operation)]
        case "link" if operation.path.startswith("@"):
            return [
                "{",
                "\tchar open_file[64];",
                "",
                f'\tsnprintf(open_file, sizeof(open_file), "/proc/self/fd/%d", {_variable(operation.path)});',
                "\t"
                + checked(f"linkat(AT_FDCWD, open_file, AT_FDCWD, {path2}, AT_SYMLINK_FOLLOW)", operation),
                "}",
            ]
        case "link":
            return [checked(f"link({path}, {path2})", operation)]
        case "unlink":
            return [checked(f"unlink({path})", operation)]
        case "rmdir":
            return [checked(f"rmdir({path})", operation)]
        case "rename":
            how = RENAME[operation.mode]
            return [checked(f"renameat2(AT_FDCWD, {path}, AT_FDCWD, {path2}, {how})", operation)]
        case "open":
            flags = [OPEN[flag] for flag in operation.mode.split(",") if flag]
            variable = _variable(operation.descriptor)
            opens = f"open({path}, {' | '.join(['O_RDWR', *flags])}, 0644)"
            return [
                f"{variable} = {opens};",
                f"if ({variable} < 0 && errno == EISDIR)",
                f"\t{variable} = open({path}, O_RDONLY | O_DIRECTORY);",
                checked(variable, operation),
            ]
        case "tmpfile":
            variable = _variable(operation.descriptor)
            return [f"{variable} = open({path}, O_TMPFILE | O_RDWR, 0644);", checked(variable, operation)]
        case "close":
            return [f"close({_variable(operation.path)});"]
        case "subvol":
            line = f"btrfs subvolume {operation.mode} {SHELL.path(operation.path)} >/dev/null"
            return [f"must({c_text(line)});"]
        case "snapshot":
            both = f"{SHELL.path(operation.path)} {SHELL.path(operation.path2)}"
            return [f"must({c_text(f'btrfs subvolume snapshot {both} >/dev/null')});"]
    return []


def with_file(path: str, flags: str, lines: list[str]) -> list[str]:
    """The lines with `file` open, the kept one or one of their own."""
    if path.startswith("@"):
        return [line.replace("<file>", _variable(path)) for line in lines]
    opening = f"int file = opened({c_path(path)}, {flags});"
    return [
        "{",
        f"\t{opening}",
        "",
        *("\t" + line.replace("<file>", "file") for line in lines),
        "\tclose(file);",
        "}",
    ]


def content(operation: Operation, index: int, offset: int) -> list[str]:
    path, start, length, byte = operation.path, operation.offset, operation.length, byte_of(index)
    match operation.word:
        case "write" | "append":
            flags = ["O_WRONLY", "O_CREAT", *(["O_APPEND"] if operation.word == "append" else [])]
            return with_file(path, " | ".join(flags), [f"fill(<file>, {offset}, {length}, {byte});"])
        case "pwrite":
            flags = ["O_WRONLY", "O_CREAT", *(["O_DIRECT"] if "direct" in operation.mode else [])]
            flags += (
                ["O_DSYNC"] if "dsync" in operation.mode else ["O_SYNC"] if "sync" in operation.mode else []
            )
            return with_file(path, " | ".join(flags), [f"fill(<file>, {offset}, {length}, {byte});"])
        case "mmapwrite":
            return with_file(path, "O_RDWR", [f"mapped(<file>, {start}, {length}, {byte});"])
        case "msync" if length:
            return with_file(path, "O_RDWR", [f"mapped(<file>, {start}, {length}, 0);"])
        case "msync":
            return with_file(path, "O_RDWR", ["mapped(<file>, 0, lseek(<file>, 0, SEEK_END), 0);"])
        case "truncate":
            return with_file(path, "O_WRONLY", [checked(f"ftruncate(<file>, {length})", operation)])
        case "fallocate":
            mode = FALLOCATE[operation.mode]
            return with_file(
                path, "O_RDWR", [checked(f"fallocate(<file>, {mode}, {start}, {length})", operation)]
            )
        case "fill":
            call = checked(f"fallocate(<file>, 0, {start}, {length})", operation)
            return with_file(path, "O_RDWR | O_CREAT", [call])
        case "clone" | "copyrange" | "dedupe":
            return between(operation)
    return []


def requests(operation: Operation, index: int, one: Reproducer) -> list[str]:
    """What each filesystem has its own request for."""
    path, start, length = operation.path, operation.offset, operation.length
    if operation.word == "defragment":
        return with_file(path, "O_RDWR", defragmented(operation, one.filesystem))
    if operation.word == "verity":
        return with_file(path, "O_RDONLY", verified(operation))
    if operation.word == "relocate":
        return with_file(".", "O_RDONLY", relocated(operation, one.filesystem))
    if operation.word == "trim":
        return with_file(".", "O_RDONLY", trimmed(operation))
    if operation.word != "atomicwrite":
        return []
    if one.filesystem == "f2fs":
        return with_file(
            path,
            "O_WRONLY",
            [
                checked("ioctl(<file>, F2FS_IOC_START_ATOMIC_WRITE)", operation),
                f"all_or_nothing(<file>, {start}, {length}, {byte_of(index)}, 0);",
                checked("ioctl(<file>, F2FS_IOC_COMMIT_ATOMIC_WRITE)", operation),
            ],
        )
    how = "RWF_ATOMIC | RWF_DSYNC" if operation.mode else "RWF_ATOMIC"
    line = f"all_or_nothing(<file>, {start}, {length}, {byte_of(index)}, {how});"
    return with_file(path, "O_WRONLY | O_DIRECT", [line])


def verified(operation: Operation) -> list[str]:
    return [
        "struct fsverity_enable_arg how = { .version = 1, .hash_algorithm = FS_VERITY_HASH_ALG_SHA256 };",
        "struct stat status;",
        "",
        checked("fstat(<file>, &status)", operation),
        "how.block_size = status.st_blksize;",
        checked("ioctl(<file>, FS_IOC_ENABLE_VERITY, &how)", operation),
    ]


def trimmed(operation: Operation) -> list[str]:
    return [
        "struct fstrim_range everything = { .len = UINT64_MAX };",
        "",
        checked("ioctl(<file>, FITRIM, &everything)", operation),
    ]


def relocated(operation: Operation, filesystem: str) -> list[str]:
    """Errors: NotInThisForm."""
    if filesystem == "btrfs":
        return [
            "struct btrfs_ioctl_balance_args all = { 0 };",
            "",
            "all.flags = BTRFS_BALANCE_DATA | BTRFS_BALANCE_SYSTEM | BTRFS_BALANCE_METADATA;",
            checked("ioctl(<file>, BTRFS_IOC_BALANCE_V2, &all)", operation),
        ]
    if filesystem == "f2fs":
        return [
            "unsigned int foreground = 1;",
            "",
            "while (!ioctl(<file>, F2FS_IOC_GARBAGE_COLLECT, &foreground))",
            "\t;",
        ]
    raise NotInThisForm(f"relocate: {filesystem} has no request for it")


def defragmented(operation: Operation, filesystem: str) -> list[str]:
    if filesystem in ("ext4", "xfs"):
        return [f"exchanged_{filesystem}(<file>);"]
    if filesystem == "btrfs":
        return [
            "struct btrfs_ioctl_defrag_range_args all = { .len = -1, .extent_thresh = -1 };",
            "",
            "all.flags = BTRFS_DEFRAG_RANGE_START_IO;",
            checked("ioctl(<file>, BTRFS_IOC_DEFRAG_RANGE, &all)", operation),
        ]
    return [
        "struct f2fs_defragment all = { 0, (lseek(<file>, 0, SEEK_END) + 4095) / 4096 * 4096 };",
        "",
        checked("ioctl(<file>, F2FS_IOC_DEFRAGMENT, &all)", operation),
    ]


def between(operation: Operation) -> list[str]:
    start, length, at = operation.offset, operation.length, operation.at
    if operation.word == "clone":
        lines = [
            f"struct file_clone_range range = {{ from, {start}, {length}, {at} }};",
            "",
            checked("ioctl(<file>, FICLONERANGE, &range)", operation),
        ]
    elif operation.word == "dedupe":
        lines = [
            "char space[sizeof(struct file_dedupe_range) + sizeof(struct file_dedupe_range_info)] = { 0 };",
            "struct file_dedupe_range *range = (void *)space;",
            "",
            f"range->src_offset = {start}, range->src_length = {length}, range->dest_count = 1;",
            f"range->info[0].dest_fd = <file>, range->info[0].dest_offset = {at};",
            checked("ioctl(from, FIDEDUPERANGE, range)", operation),
        ]
    else:
        lines = [
            f"off_t source = {start}, target = {at};",
            "",
            checked(f"copy_file_range(from, &source, <file>, &target, {length}, 0)", operation),
        ]
    source = f"opened({c_path(operation.path)}, O_RDONLY)"
    if operation.path.startswith("@"):
        source = f"dup({_variable(operation.path)})"
    inner = with_file(operation.path2, "O_RDWR", lines)
    return ["{", f"\tint from = {source};", "", *("\t" + line for line in inner), "\tclose(from);", "}"]


def attributes(operation: Operation) -> list[str]:
    path = operation.path
    named = not path.startswith("@")
    where = c_path(path) if named else _variable(path)
    value, size = json.dumps(operation.value), len(operation.value.encode())
    match operation.word:
        case "setxattr":
            function = "lsetxattr" if named else "fsetxattr"
            return [checked(f'{function}({where}, "{operation.name}", {value}, {size}, 0)', operation)]
        case "removexattr":
            function = "lremovexattr" if named else "fremovexattr"
            return [checked(f'{function}({where}, "{operation.name}")', operation)]
        case "chmod":
            return [checked(f"{'chmod' if named else 'fchmod'}({where}, 0{operation.mode})", operation)]
        case "chown":
            owner = operation.value.replace(":", ", ")
            return [checked(f"{'chown' if named else 'fchown'}({where}, {owner})", operation)]
        case "utimes":
            time = f"{{ .tv_sec = {operation.length} }}"
            times = f"(struct timespec[2]){{ {time}, {time} }}"
            function = f"utimensat(AT_FDCWD, {where}, {times}, 0)" if named else f"futimens({where}, {times})"
            return [checked(function, operation)]
        case "chattr":
            flag = FLAGS[operation.mode[1]]
            both = f"{flag}, 0" if operation.mode[0] == "+" else f"0, {flag}"
            return with_file(path, "O_RDONLY", [f"flags(<file>, {both});"])
        case "setfacl" if named:
            return [f"must({c_text(f'setfacl --set {operation.value} {SHELL.path(path)}')});"]
    return []


def persistence(operation: Operation, one: Reproducer) -> list[str]:
    path = operation.path
    match operation.word:
        case "fsync" | "fdatasync":
            return with_file(path, "O_RDONLY", [checked(f"{operation.word}(<file>)", operation)])
        case "sync_file_range":
            every = "SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER"
            line = f"sync_file_range(<file>, {operation.offset}, {operation.length}, {every})"
            return with_file(path, "O_RDONLY", [checked(line, operation)])
        case "syncfs":
            return with_file(".", "O_RDONLY", [checked("syncfs(<file>)", operation)])
        case "sync":
            return ["sync();"]
        case "evict":
            return ["evict();"]
        case "wait":
            return [f"usleep({operation.length * 1000});"]
        case "freeze" | "thaw":
            request = "FIFREEZE" if operation.word == "freeze" else "FITHAW"
            return with_file(".", "O_RDONLY", [checked(f"ioctl(<file>, {request}, 0)", operation)])
        case "remount" if operation.mode:
            return [f"must({c_text(f'mount -o remount,{operation.mode} $M')});"]
        case "remount":
            again = f'cd / && umount "$M" && {mount_line(one)}'
            return [
                'check(chdir("/"), "chdir");',
                f"must({c_text(again)});",
                'check(chdir(getenv("M")), "chdir");',
            ]
    return []
