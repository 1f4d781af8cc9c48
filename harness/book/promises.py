"""
reference/promises.md, from the oracles: a cell is what they say of a tree without the effect of a call.

In:       oracles/promises.py, oracles/profiles.py, and one example of each word.
Out:      generated(): the page.
Not here: judging (oracles/), the perfect recordings that are judged (oracles/tests/made.py).
"""

from functools import cache
from pathlib import Path

import msgspec

from oracles import durable, ordered
from oracles.profiles import PROFILES, Profile, profile, promise, promise_text
from oracles.promises import COMMON, Promise
from oracles.tests.made import Bench
from oracles.verdict import TIERS, Tier

PAGE = Path("docs/reference/promises.md")


class Example(msgspec.Struct, frozen=True):
    """A call, as the page names it. it: what is fsynced afterwards, "" for nothing. source: beside the
    promises' own. only: the filesystems that have it, () for all."""

    call: str
    setup: str
    operation: str
    it: str
    source: str
    only: tuple[str, ...] = ()


BTRFS = ("btrfs",)
REFLINK = ("btrfs", "xfs")
RANGES = ("ext4", "xfs", "f2fs")  # collapse-range and insert-range
ATOMIC = ("xfs", "f2fs")
VERITY = ("btrfs", "ext4", "f2fs")
TWO = "write A/foo 0 8K\nwrite A/bar 0 8K"
FOO = "write A/foo 0 8K"
EXAMPLES = (
    Example("`creat`", "", "creat A/foo", "A/foo", "open(2), O_CREAT; fsync(2); generic/335, generic/520"),
    Example("`open` creat", "", "open A/foo @f creat", "A/foo", "open(2), O_CREAT; fsync(2)"),
    Example("`mkdir`", "", "mkdir A/foo", "A/foo", "mkdir(2); fsync(2); generic/321, generic/335"),
    Example("`mknod`", "", "mknod A/foo chr 1:3", "", "mknod(2); generic/479"),
    Example("`mkfifo`", "", "mkfifo A/foo", "", "mkfifo(3); generic/479"),
    Example("`symlink`", "", "symlink target A/foo", "", "symlink(2); generic/348, generic/779"),
    Example("`link`", FOO, "link A/foo A/bar", "A/bar", "link(2); generic/039, generic/498, generic/520"),
    Example(
        "`tmpfile`, then `link` of it",
        "tmpfile A @t",
        "link @t A/foo",
        "A/foo",
        "open(2), O_TMPFILE; generic/509",
    ),
    Example("`unlink`", FOO, "unlink A/foo", "", "unlink(2); generic/557, generic/764, generic/771"),
    Example("`rmdir`", "mkdir A/foo", "rmdir A/foo", "", "rmdir(2); btrfs/118, btrfs/120"),
    Example(
        "`rename` to a free name", FOO, "rename A/foo A/bar", "A/bar", "rename(2); generic/322, generic/534"
    ),
    Example(
        "`rename` over a file", TWO, "rename A/foo A/bar", "A/bar", "rename(2); generic/335, generic/640"
    ),
    Example(
        "`rename` noreplace", FOO, "rename A/foo A/bar noreplace", "A/bar", "rename(2), RENAME_NOREPLACE"
    ),
    Example("`rename` exchange", TWO, "rename A/foo A/bar exchange", "A/bar", "rename(2), RENAME_EXCHANGE"),
    Example("`rename` whiteout", FOO, "rename A/foo A/bar whiteout", "A/bar", "rename(2), RENAME_WHITEOUT"),
    Example("`write`", FOO, "write A/foo 0 4K", "A/foo", "write(2), NOTES; fsync(2); generic/311"),
    Example("`append`", FOO, "append A/foo 4K", "A/foo", "write(2); generic/090, generic/392"),
    Example("`pwrite` direct", FOO, "pwrite A/foo 0 4K direct", "A/foo", "open(2), O_DIRECT; generic/703"),
    Example("`pwrite` dsync", FOO, "pwrite A/foo 0 4K dsync", "A/foo", "open(2), O_DSYNC; generic/703"),
    Example("`pwrite` sync", FOO, "pwrite A/foo 0 4K sync", "A/foo", "open(2), O_SYNC"),
    Example(
        "`atomicwrite` dsync",
        FOO,
        "atomicwrite A/foo 0 8K dsync",
        "A/foo",
        "pwritev2(2), RWF_ATOMIC and RWF_DSYNC; on f2fs no promise of its own",
        ATOMIC,
    ),
    Example(
        "`defragment`",
        FOO,
        "defragment A/foo",
        "A/foo",
        "e4defrag(8), xfs_fsr(8): the bytes are the same before and after",
    ),
    Example(
        "`verity`",
        FOO,
        "verity A/foo",
        "A/foo",
        "Documentation/filesystems/fsverity.rst, FS_IOC_ENABLE_VERITY",
        VERITY,
    ),
    Example(
        "`mmapwrite`", FOO, "mmapwrite A/foo 0 4K", "A/foo", "mmap(2), MAP_SHARED; msync(2); generic/325"
    ),
    Example("`truncate` to less", FOO, "truncate A/foo 4K", "A/foo", "truncate(2); generic/392, generic/534"),
    Example("`truncate` to more", FOO, "truncate A/foo 16K", "A/foo", "truncate(2); generic/392"),
    Example("`open` trunc", FOO, "open A/foo @f trunc", "A/foo", "open(2), O_TRUNC"),
    Example("`fallocate` alloc", FOO, "fallocate A/foo alloc 8K 8K", "A/foo", "fallocate(2); generic/468"),
    Example(
        "`fallocate` keep-size",
        FOO,
        "fallocate A/foo keep-size 8K 8K",
        "A/foo",
        "fallocate(2); generic/468, generic/677",
    ),
    Example(
        "`fallocate` punch-hole",
        FOO,
        "fallocate A/foo punch-hole 0 4K",
        "A/foo",
        "fallocate(2); generic/177, generic/392",
    ),
    Example(
        "`fallocate` zero-range", FOO, "fallocate A/foo zero-range 0 4K", "A/foo", "fallocate(2); generic/042"
    ),
    Example(
        "`fallocate` zero-range-keep-size",
        FOO,
        "fallocate A/foo zero-range-keep-size 4K 8K",
        "A/foo",
        "fallocate(2); generic/042, generic/468",
    ),
    Example(
        "`fallocate` collapse-range",
        FOO,
        "fallocate A/foo collapse-range 0 4K",
        "A/foo",
        "fallocate(2); generic/042",
        RANGES,
    ),
    Example(
        "`fallocate` insert-range",
        FOO,
        "fallocate A/foo insert-range 0 4K",
        "A/foo",
        "fallocate(2); generic/042",
        RANGES,
    ),
    Example(
        "`clone`", TWO, "clone A/foo A/bar", "A/bar", "ioctl_ficlone(2); generic/501, btrfs/056", REFLINK
    ),
    Example(
        "`dedupe`",
        TWO,
        "dedupe A/foo A/bar 0 8K 0",
        "A/bar",
        "ioctl_fideduperange(2): the bytes are the same before and after",
        REFLINK,
    ),
    Example("`copyrange`", TWO, "copyrange A/foo A/bar 0 8K 0", "A/bar", "copy_file_range(2)"),
    Example("`chmod`", FOO, "chmod A/foo 600", "A/foo", "chmod(2); inode(7); generic/535"),
    Example("`chown`", FOO, "chown A/foo 7:8", "A/foo", "chown(2); inode(7); generic/535"),
    Example(
        "`setfacl`", FOO, "setfacl A/foo u::rw-,u:7:r--,g::r--,m::r--,o::---", "A/foo", "acl(5); generic/535"
    ),
    Example("`utimes`", FOO, "utimes A/foo 1000", "A/foo", "utime(2); inode(7); generic/392"),
    Example("`chattr`", FOO, "chattr A/foo +d", "A/foo", "ioctl_iflags(2); btrfs/236"),
    Example(
        "`setxattr`",
        FOO,
        "setxattr A/foo user.x one",
        "A/foo",
        "setxattr(2); xattr(7); generic/066, generic/489",
    ),
    Example(
        "`removexattr`",
        FOO + "\nsetxattr A/foo user.x one",
        "removexattr A/foo user.x",
        "A/foo",
        "removexattr(2); generic/066",
    ),
    Example("`subvol` create", "", "subvol create A/foo", "A/foo", "btrfs-subvolume(8); btrfs/120", BTRFS),
    Example(
        "`subvol` delete",
        "subvol create A/foo",
        "subvol delete A/foo",
        "",
        "btrfs-subvolume(8); btrfs/118",
        BTRFS,
    ),
    Example(
        "`snapshot`",
        "subvol create A/foo",
        "snapshot A/foo A/bar",
        "A/bar",
        "btrfs-subvolume(8); btrfs/119",
        BTRFS,
    ),
)
# What the words that write out are held to: the promise of each, and the columns that show it.
WRITING_OUT = (
    ("`sync`, `syncfs`, `freeze`, `remount`, `umount`", "sync", "sync(2); syncfs(2); umount(2); fsfreeze(8)"),
    (
        "`fsync` of a file",
        "fsync-data, fsync-attributes; fs: fsync-names",
        "fsync(2); generic/311, generic/392",
    ),
    ("`fsync` of a directory", "fsync-directory, fsync-attributes; fs: fsync-names", "fsync(2); generic/321"),
    ("`fdatasync` of a file", "fdatasync-data; fs: fdatasync-new-name", "fdatasync(2); generic/392"),
    ("`fdatasync` of a directory", "fsync-directory", "fdatasync(2): entries are a directory's data"),
    ("`msync`", "fdatasync-data, for its range", "msync(2), MS_SYNC; generic/325"),
    (
        "`pwrite` dsync, `open` dsync and writes",
        "fdatasync-data, for its range",
        "open(2), O_DSYNC; generic/703",
    ),
    (
        "`fallocate` by a descriptor of `open` dsync or sync",
        "fs, xfs: as a write by it, for the whole blocks of its range; ext4: alloc, for the size",
        "fs/xfs/xfs_file.c xfs_file_fallocate(), fs/ext4/extents.c ext4_do_fallocate()",
    ),
    (
        "`clone` and `copyrange` to a descriptor of `open` dsync or sync",
        "as a write by it, for the range in the target",
        "generic/628, generic/629; fs/splice.c iter_file_splice_write(), fs/xfs/xfs_file.c "
        "xfs_file_remap_range(), fs/btrfs/reflink.c btrfs_remap_file_range()",
    ),
    (
        "`pwrite` sync, `open` sync and writes",
        "fsync-data for its range, fsync-attributes; fs: fsync-names",
        "open(2), O_SYNC",
    ),
    ("`fill`", "what `fallocate` alloc promises, for the bytes that it reserved", "fallocate(2)"),
    ("`sync_file_range`", "nothing", "sync_file_range(2), Warning: no metadata, no disk cache"),
    ("`close`", "nothing", "close(2), NOTES: a successful close does not guarantee that data was saved"),
    (
        "`evict`, `wait`, `await`, `stop`, `thaw`, `grow`, `relocate`, `trim`, `crash`, `fault`, `errortag`",
        "nothing",
        "no calls that write to a file: they concern the cache, time, other threads, the device and its "
        "size, where blocks lie, the code",
    ),
)
COLUMNS = (
    "at its return",
    "after fsync of it",
    "after fdatasync of it",
    "after fsync of its directory",
    "after sync",
    "seen with a later change",
)
BASES = ("btrfs", "ext4", "xfs", "f2fs")


def then(column: int, example: Example) -> str | None:
    """The operation that makes the column's question; None where there is nothing to do it to."""
    if column in (1, 2) and not example.it:
        return None
    return ("", f"fsync {example.it}", f"fdatasync {example.it}", "fsync A", "sync", "creat later")[column]


@cache
def cell(name: str, example: Example, column: int) -> str:
    """ "posix: fsync-data; fs: fsync-names" of a tree in which everything is to be seen but the call."""
    one = profile(name)
    operation = then(column, example)
    if operation is None:
        return ""
    setup = "".join(f"  {line}\n" for line in f"mkdir A\n{example.setup}".strip().splitlines())
    run = f"  {example.operation}\n" + (f"  {operation}\n" if operation else "")
    asked = broken(one, f"setup\n{setup}run\n{run}", later=column == len(COLUMNS) - 1)
    return "; ".join(
        f"{tier}: {', '.join(key for key in keys_of(one) if asked.get(key) is tier)}"
        for tier in TIERS
        if tier in asked.values()
    )


def broken(one: Profile, text: str, later: bool) -> dict[str, Tier]:
    """The promises that the oracles miss in the tree as it was before run, each with its tier."""
    bench = Bench(text, one.name)
    tree = bench.tree(0)
    if later:
        marker = next(node for node in bench.tree() if node.path == "later")
        tree = tuple(sorted((*tree, marker), key=lambda node: (node.path != ".", node.path.encode())))
    verdict = (ordered if later else durable).judge(bench.case(tree))
    violations = verdict.violations if verdict else ()
    keys = {promise_text(one, key): key for key in keys_of(one)}
    return {keys[each.promise]: each.tier for each in violations}


def keys_of(one: Profile) -> list[str]:
    return [each.key for each in (*COMMON, *one.promises) if promise(one, each.key)]


# --- the text --------------------------------------------------------------------------------------


def generated(_root: Path) -> dict[Path, str]:
    return {PAGE: text()}


def text() -> str:
    parts = [HEAD]
    parts += ["## Promised by every filesystem", "", *promise_rows(COMMON)]
    seen: dict[tuple[Promise, ...], str] = {}
    for one in PROFILES:
        if one.promises in seen or not one.promises:
            continue
        seen[one.promises] = one.name
        also = [other.name for other in PROFILES if other.promises == one.promises]
        parts += ["", f"## Promised beyond that by {one.name}", ""]
        if len(also) > 1:
            parts += [f"And by: {', '.join(also[1:])}.", ""]
        parts += promise_rows(one.promises)
    parts += [
        "",
        "## What is not promised",
        "",
        "These profiles do not make a promise that others make. An oracle does not ask for it there.",
        "",
        "| profile | promise | instead | source |",
        "| --- | --- | --- | --- |",
    ]
    for one in PROFILES:
        parts += [
            f"| {one.name} | {denied.key} | {denied.sentence} | {denied.source} |" for denied in one.denies
        ]
    parts += [
        "",
        "## Calls that write out",
        "",
        "What a completed call promises, by the names of the promises above.",
        "",
    ]
    parts += ["| call | promises | source |", "| --- | --- | --- |"]
    parts += [f"| {call} | {keeps} | {source} |" for call, keeps, source in WRITING_OUT]
    for base in BASES:
        parts += ["", f"## Calls that change something: {base}", "", *matrix(base)]
    parts += ["", "## Where a profile differs from its filesystem", ""]
    parts += [
        "Cells of the tables above that are different on a profile with other options.",
        "",
        *differences(),
    ]
    return "\n".join(parts) + "\n"


HEAD = """# What must survive a power failure

This page lists every promise that an oracle holds a filesystem to, and where the promise comes from: a manual
page, a document of the kernel, a commit, or a test of fstests. The profiles are described in
[Profiles](profiles.md), the oracles in [Oracles](oracles.md).

A promise belongs to one of three tiers. Each tier asks for everything that the tiers before it ask for.

- **posix**: what the manual pages promise.
- **somc**: strictly ordered metadata. A later metadata change is not on disk without the earlier ones.
- **fs**: what the filesystem documents, or what its own regression tests demand. This is the default.

Where sources disagree, each is named, and the stricter one stands in the higher tier.

The tables *Calls that change something* are computed from the oracles. For a cell, the call is made, then the
call that the column names; the recovered tree shows everything except the effect of the first call. The cell
names the promises that the oracles then report as BROKEN, each with the lowest tier that reports it. In an
empty cell no promise is broken: nothing requires the effect to be there.
"""


def promise_rows(promises: tuple[Promise, ...]) -> list[str]:
    rows = ["| promise | tier | what | source |", "| --- | --- | --- | --- |"]
    return rows + [f"| {each.key} | {each.tier} | {each.sentence} | {each.source} |" for each in promises]


def matrix(base: str) -> list[str]:
    rows = [f"| call | {' | '.join(COLUMNS)} | source |", f"| --- |{' --- |' * (len(COLUMNS) + 1)}"]
    for example in EXAMPLES:
        if not example.only or base in example.only:
            cells = [cell(base, example, column) for column in range(len(COLUMNS))]
            rows.append(f"| {example.call} | {' | '.join(cells)} | {example.source} |")
    return rows


def differences() -> list[str]:
    rows = [
        "| profile | call | column | promised there | promised by the filesystem |",
        "| --- | --- | --- | --- | --- |",
    ]
    seen: list[tuple[object, ...]] = [(base, profile(base).promises, profile(base).denies) for base in BASES]
    for one in PROFILES:
        if (one.filesystem, one.promises, one.denies) in seen:
            continue
        seen.append((one.filesystem, one.promises, one.denies))
        for example in EXAMPLES:
            if example.only and one.filesystem not in example.only:
                continue
            for column, title in enumerate(COLUMNS):
                own, usual = (cell(name, example, column) for name in (one.name, one.filesystem))
                if own != usual:
                    cells = (one.name, example.call, title, own or "nothing", usual or "nothing")
                    rows.append(f"| {' | '.join(cells)} |")
    return rows
