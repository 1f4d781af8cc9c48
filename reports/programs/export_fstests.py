"""
A finding as a test of fstests: `powercut export --to fstests`.

In:       a Reproducer, the test's number.
Out:      the test and its .out file, in the form that fstests has today (common/preamble, _begin_fstest).
Not here: the lines of its operations and checks (export.py), running it (harness/fstests/check.py).

fstests keeps one test a file: in `tests/btrfs`, `tests/ext4` ... when something in it is for that filesystem
alone, else in `tests/generic`.
"""

import shlex

import msgspec

from reports.programs.export import (
    THREADS,
    NotInThisForm,
    Reproducer,
    Shell,
    check_lines,
    closing,
    kept,
    operations,
    story,
)

SHELL = Shell(
    "SCRATCH_MNT",
    xfs_io="$XFS_IO_PROG",
    setfattr="$SETFATTR_PROG",
    getfattr="$GETFATTR_PROG",
    quiet=" >>$seqres.full",
    sync="_scratch_sync",
    mark="_log_writes_mark",
)
BTRFS_ONLY = frozenset(("subvol", "snapshot"))

# By word: what a test that uses it has to require, and the groups it belongs to (doc/group-names.txt).
NEEDS = {
    "setxattr": ("_require_attrs", "attr"),
    "removexattr": ("_require_attrs", "attr"),
    "setfacl": ("_require_acls", "acl"),
    "link": ("_require_hardlinks", "hardlink"),
    "symlink": ("_require_symlinks", "symlink"),
    "rename": ("", "rename"),
    "mknod": ("_require_mknod", ""),
    "mkfifo": ("_require_mknod", ""),
    "chattr": ("_require_chattr {mode}", ""),
    "clone": ("_require_scratch_reflink", "clone"),
    "dedupe": ("_require_scratch_dedupe", "dedupe"),
    "copyrange": ('_require_xfs_io_command "copy_range"', "copy_range"),
    "mmapwrite": ("", "mmap"),
    "fill": ('_require_xfs_io_command "falloc"', "prealloc enospc"),
    "subvol": ("", "subvol"),
    "snapshot": ("", "snapshot"),
}
FALLOCATE_NEEDS = {
    "alloc": ('_require_xfs_io_command "falloc"', "prealloc"),
    "keep-size": ('_require_xfs_io_command "falloc" "-k"', "prealloc"),
    "punch-hole": ('_require_xfs_io_command "fpunch"', "punch"),
    "zero-range": ('_require_xfs_io_command "fzero"', "zero"),
    "zero-range-keep-size": ('_require_xfs_io_command "fzero" "-k"', "zero"),
    "collapse-range": ('_require_xfs_io_command "fcollapse"', "collapse"),
    "insert-range": ('_require_xfs_io_command "finsert"', "insert"),
}
INCLUDES = {"attr": "attr", "acl": "attr", "clone": "reflink", "dedupe": "reflink"}

HEAD = """\
#! /bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# FS QA Test {number}
#
{story}
#
. ./common/preamble
_begin_fstest {groups}

_cleanup()
{{
{cleanup}
	cd /
	rm -r -f $tmp.*
}}

{includes}

{requires}

bad()
{{
	echo "$*"
}}
"""

FLAKEY = """
_scratch_mkfs {mkfs}>>$seqres.full 2>&1 || _fail "mkfs failed"
_require_metadata_journaling $SCRATCH_DEV
_init_flakey
_scratch_mount{options}

{operations}

# The power fails, and the filesystem is mounted again.
{remount}

{checks}

_scratch_unmount
{after}
echo "Silence is golden"
_exit 0
"""

CLEANUP = {
    "log": "\t_log_writes_cleanup &>/dev/null",
    "flakey": "\t_cleanup_flakey",
    "plain": "\t_scratch_unmount &>/dev/null",
}

PLAIN = """
_scratch_mkfs {mkfs}>>$seqres.full 2>&1 || _fail "mkfs failed"
_scratch_mount{options}

{operations}

{closing}_scratch_unmount

# The kernel must survive until here, and _check_dmesg must find nothing after the test.
echo "Silence is golden"
_exit 0
"""

LOG = """
_scratch_mkfs_sized {size_bytes} >>$seqres.full 2>&1 || _fail "mkfs failed"
# The log begins after mkfs: every replay starts from this copy.
dd if=$SCRATCH_DEV of=$tmp.base bs=1M count={size_mib} conv=sparse 2>>$seqres.full
_log_writes_init $SCRATCH_DEV {size_bytes}
_log_writes_mount{options}

{operations}

_log_writes_mark end
{closing}_log_writes_unmount
_log_writes_remove

ask()
{{
	dd if=$tmp.base of=$SCRATCH_DEV bs=1M conv=notrunc,fsync 2>>$seqres.full
	_log_writes_replay_log_range $1 $SCRATCH_DEV
	_scratch_mount{options}
{checks}
	_scratch_unmount
{after}}}

begin=$(_log_writes_mark_to_entry_number begin)
end=$(_log_writes_mark_to_entry_number done)
[ -z "$begin" -o -z "$end" ] && _fail "the log has no marks"
{replay}

echo "Silence is golden"
_exit 0
"""
WITHIN = """\
# The power fails after each entry of the log that the operation wrote.
for entry in $(seq $begin $((end - 1))); do
	ask $entry
done"""
AT_END = """\
# The power fails after the operation has returned. The log contains only what was flushed until then.
ask $end"""


# _flakey_drop_and_remount step by step: a file that is kept open is closed in between.
REMOUNT = """\
_load_flakey_table $FLAKEY_DROP_WRITES
{closing}_scratch_unmount
_load_flakey_table $FLAKEY_ALLOW_WRITES
_scratch_mount"""


def folder(one: Reproducer) -> str:
    """Below tests/."""
    words = {operation.word for operation in (*one.setup, *one.run)}
    return one.filesystem if words & BTRFS_ONLY or mkfs_options(one) else "generic"


def mkfs_options(one: Reproducer) -> tuple[str, ...]:
    """Without those that every test has, or that speed alone asks for."""
    plain = ("-q", "-f", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0")
    return tuple(word for word in one.mkfs[1:] if word not in plain)


def test(one: Reproducer, number: str) -> dict[str, str]:
    """The test and its .out file, by name. Errors: NotInThisForm."""
    if one.parallel:
        raise NotInThisForm(THREADS)
    if one.fault is not None:
        raise NotInThisForm(
            "_load_flakey_table of fstests can make only the whole device fail, and a failing "
            "call would appear in the output of the test; use --to sh or --to c"
        )
    if one.model == "D":
        raise NotInThisForm(
            "_scratch_mount ends the test if the mount is refused, which is allowed for a "
            "damaged disk; use --to sh or --to c"
        )
    if one.asks("quiet") or one.asks("mounts"):
        raise NotInThisForm(
            "a test cannot report a failed mount or a line of the kernel log itself, because "
            "_scratch_mount and _check_dmesg end it; use --to sh"
        )
    if one.model != "O":
        raise NotInThisForm(
            "replay-log of fstests writes all entries of a log, whole and in order, and this "
            f"state needs model {one.model}; use --to sh or --to c"
        )
    log = one.way == "log"
    if log and mkfs_options(one):
        raise NotInThisForm(
            f"_scratch_mkfs_sized accepts no options ({' '.join(mkfs_options(one))}); use --to sh"
        )
    needs, groups = requirements(one)
    body = HEAD.format(
        number=number,
        story=story(one, "# "),
        groups=" ".join(groups),
        cleanup=CLEANUP[one.way],
        includes="\n".join(f". ./common/{name}" for name in includes(one, groups)),
        requires="\n".join(needs),
    )
    options = f' "-o {one.mount_options}"' if one.mount_options else ""
    shell = msgspec.structs.replace(SHELL, kept=kept(one))
    closes = "".join(f"{line}\n" for line in closing(shell))
    mkfs = f"{shlex.join(mkfs_options(one))} " if mkfs_options(one) else ""
    checks = check_lines(one.checks, SHELL)
    after = ["_check_scratch_fs"] if one.asks("clean") else []
    if log:
        body += LOG.format(
            size_bytes=one.size_bytes,
            size_mib=one.size_bytes >> 20,
            options=options,
            operations="\n".join(operations(one, shell)),
            closing=closes,
            checks="\n".join(f"\t{line}" for line in checks),
            after="".join(f"\t{line}\n" for line in after),
            replay=AT_END if one.returned else WITHIN,
        )
    elif one.way == "plain":
        body += PLAIN.format(
            mkfs=mkfs,
            options=options,
            operations="\n".join(operations(one, shell)),
            closing=closes,
        )
    else:
        body += FLAKEY.format(
            mkfs=mkfs,
            options=options,
            operations="\n".join(operations(one, shell)),
            remount=REMOUNT.format(closing=closes) if closes else "_flakey_drop_and_remount",
            checks="\n".join(checks),
            after="".join(f"{line}\n" for line in after),
        )
    return {number: body, f"{number}.out": f"QA output created by {number}\nSilence is golden\n"}


def requirements(one: Reproducer) -> tuple[list[str], list[str]]:
    """Lines that require what the test uses, and its groups."""
    needs = ["_require_scratch"]
    needs += {"log": ["_require_log_writes"], "flakey": ["_require_dm_target flakey"]}.get(one.way, [])
    groups = ["auto", "quick", "log"]
    for operation in (*one.setup, *one.run):
        need, group = NEEDS.get(operation.word, ("", ""))
        if operation.word == "fallocate":
            need, group = FALLOCATE_NEEDS[operation.mode]
        needs.append(need.format(mode=operation.mode[1:]))
        groups.append(group)
    if one.asks("xattr"):
        needs.append("_require_attrs")
    if one.asks("clean"):
        needs.append('_require_xfs_io_command "-T"')
    if one.way == "log":
        groups.append("replay")
    return [each for each in dict.fromkeys(needs) if each], [each for each in dict.fromkeys(groups) if each]


def includes(one: Reproducer, groups: list[str]) -> list[str]:
    names = ["filter", *{"log": ["dmlogwrites"], "flakey": ["dmflakey"]}.get(one.way, [])]
    names += [INCLUDES[group] for group in groups if group in INCLUDES]
    names += ["attr"] if one.asks("xattr") else []
    return list(dict.fromkeys(names))
