"""
A finding as one shell script: `powercut export --to sh`.

In:       a Reproducer.
Out:      the script: dmsetup, losetup and xfs_io are all it needs beside the filesystem's own tools.
Not here: the lines of its operations and checks (export.py), the log's replay (replay_sh.py), trying it
          (harness/findings/export.py).
"""

import shlex

import msgspec

from reports.programs.export import (
    BUG,
    THREADS,
    NotInThisForm,
    Reproducer,
    Shell,
    ask_lines,
    closing,
    kept,
    mount_line,
    operation_lines,
    operations,
    story,
)
from reports.programs.failing import DEVICES, LOADED, at_the_end, changes, created, may_fail, quoted
from reports.programs.replay_sh import replay
from workloads.faults import OFF

SHELL = Shell("M")

HEAD = """\
#!/bin/sh
{story}
#
# Run as root on a machine whose mounted filesystems may be lost: sh {file}
# Exit status: 0 the promise was kept, 1 it was broken, 2 it could not be tested.
set -u
export PATH=$PATH:/usr/sbin:/sbin LC_ALL=C
umask 022
N=powercut$$
W=$(mktemp -d "${{TMPDIR:-/tmp}}/$N.XXXXXX") || exit 2
M=$W/mnt
broken=0

bad() {{ echo "BROKEN: $*"; broken=1; }}
cannot() {{ echo "cannot be tested: $*" >&2; exit 2; }}
must() {{ "$@" || cannot "$*"; }}
{cleanup}
trap cleanup EXIT
trap 'exit 2' HUP INT TERM

for program in dmsetup losetup xfs_io {tools}; do
\tcommand -v $program >/dev/null || cannot "$program is not installed"
done
modprobe -a loop {module} 2>/dev/null
mkdir "$M"
truncate -s {size_bytes} "$W/disk"
must {mkfs} "$W/disk"{mkfs_quiet}
D=$(losetup -f --show "$W/disk") || cannot "no loop device"
S=$(blockdev --getsz "$D")
"""

CLEANUP_FLAKEY = """\
cleanup() {
\tumount "$M" 2>/dev/null
\tdmsetup remove $N 2>/dev/null
\t[ -z "${D:-}" ] || losetup -d "$D"
\trm -rf "$W"
}"""

CLEANUP_LOG = """\
cleanup() {
\tumount "$M" 2>/dev/null
\tdmsetup remove $N 2>/dev/null
\t[ -z "${D:-}" ] || losetup -d "$D" 2>/dev/null
\t[ -z "${L:-}" ] || losetup -d "$L" 2>/dev/null
\trm -rf "$W"
}"""

CLEANUP = {
    "flakey": CLEANUP_FLAKEY,
    "log": CLEANUP_LOG,
    "fault": CLEANUP_FLAKEY.replace("remove $N", f"remove {DEVICES}"),
    "plain": CLEANUP_FLAKEY.replace("\tdmsetup remove $N 2>/dev/null\n", ""),
}

FLAKEY = """\
ON="0 $S flakey $D 0 180 0"
OFF="0 $S flakey $D 0 0 180 1 drop_writes"
switch() {{
\tmust dmsetup suspend --nolockfs $N
\tmust dmsetup load $N --table "$1"
\tmust dmsetup resume $N
}}
must dmsetup create $N --table "$ON"
must mount -t {filesystem} {options}"/dev/mapper/$N" "$M"

{operations}

# The power fails: writes that are not on the disk yet are lost.
switch "$OFF"
{closing}umount "$M"
switch "$ON"
{recover}"""

LOG = """\
# Every write goes to the disk and, once it is flushed, into the log.
cp --sparse=always "$W/disk" "$W/base"
truncate -s 256M "$W/log"
L=$(losetup -f --show "$W/log") || cannot "no second loop device"
mark() {{ must dmsetup message $N 0 mark "$1"; }}
must dmsetup create $N --table "0 $S log-writes $D $L"
must mount -t {filesystem} {options}"/dev/mapper/$N" "$M"

{operations}

mark end
{closing}umount "$M"
must dmsetup remove $N
losetup -d "$D"
losetup -d "$L"
D= L=

"""

FAULT = """\
told=no
failing() {{ {load} || cannot "the device's table"; }}
{alive}{create} || cannot "the device's table"
must mount -t {filesystem} {options}"/dev/mapper/$N" "$M"

{operations}

{end}{closing}umount "$M"
{check_alive}failing {sound}
if [ $told = yes ]; then
\techo "an error was reported, so nothing was promised"
else
{recover}
fi
"""
PLAIN = """\
dmesg -C
must {mount}

{operations}

{closing}{recover}"""
ALIVE = """\
alive() {{
\tdmesg | grep -E '{bug}' >"$W/loud" || return 0
\techo "BROKEN: the kernel says: $(head -n 1 "$W/loud")"
\ttrap - EXIT # what the kernel holds cannot be released any more
\texit 1
}}
dmesg -C
"""

TAIL = """\
[ $broken -eq 1 ] || echo "the promise was kept"
exit $broken
"""


def script(one: Reproducer, file: str) -> str:
    """Errors: NotInThisForm."""
    if one.parallel:
        raise NotInThisForm(THREADS)
    log = one.way == "log"
    shell = msgspec.structs.replace(SHELL, kept=kept(one))
    head = HEAD.format(
        story=story(one, "# "),
        file=file,
        tools=" ".join(tools(one)),
        module={"log": "dm-log-writes", "flakey": "dm-flakey", "fault": "dm-flakey dm-delay"}.get(
            one.way, ""
        ),
        size_bytes=one.size_bytes,
        mkfs=shlex.join(one.mkfs),
        mkfs_quiet=" >/dev/null",
        cleanup=CLEANUP[one.way],
    )
    fields = {
        "filesystem": one.filesystem,
        "options": f"-o {one.mount_options} " if one.mount_options else "",
        "closing": "".join(f"{line}\n" for line in closing(shell)),
    }
    if one.fault is not None:
        return head + "\n" + failing(one, shell, fields) + "\n" + TAIL
    fields["operations"] = "\n".join(operations(one, shell))
    if log:
        body = LOG.format(**fields) + replay(one, SHELL)
    elif one.way == "plain":
        body = PLAIN.format(**fields, mount=mount_line(one), recover="\n".join(ask_lines(one, SHELL)))
    else:
        body = FLAKEY.format(**fields, recover="\n".join(ask_lines(one, SHELL)))
    return head + "\n" + body + "\n" + TAIL


def failing(one: Reproducer, shell: Shell, fields: dict[str, str]) -> str:
    """Errors: NotInThisForm."""
    dropped = "# The power fails: writes that are not on the disk yet are lost.\n"
    end = [f"{dropped}failing {quoted(fault, one)}\n" for fault in at_the_end(one)]
    return FAULT.format(
        **fields,
        load=LOADED.format(lines='"$@"'),
        alive=ALIVE.format(bug=BUG) if one.asks("survives") else "",
        create=created(one),
        operations="\n".join(failing_operations(one, shell)),
        end="".join(end),
        check_alive="alive\n" if one.asks("survives") else "",
        sound=quoted(OFF, one),
        recover="\n".join(f"\t{line}" for line in ask_lines(one, SHELL)),
    )


def failing_operations(one: Reproducer, shell: Shell) -> list[str]:
    """Errors: NotInThisForm."""
    lines: list[str] = []
    for index, operation in enumerate((*one.setup, *one.run)):
        lines += [shell.sync, ""] if index == len(one.setup) else []
        before, after = changes(one, index)
        lines += [f"failing {quoted(fault, one)}" for fault in before]
        if operation.word == "fault":
            lines.append(f"failing {quoted(operation, one)}")
        else:
            called, *made = operation_lines(one, index, shell)
            lines += [f"{called} || told=yes" if index in one.promising else called, *made]
        lines += [f"failing {quoted(fault, one)}" for fault in after]
        lines += ["alive"] if one.asks("survives") and may_fail(one, index) else []
    return lines


def tools(one: Reproducer) -> list[str]:
    """Programs beside those that every script needs."""
    words = {operation.word for operation in (*one.setup, *one.run)}
    wanted = [one.mkfs[0]]
    wanted += ["setfattr"] if words & {"setxattr", "removexattr"} else []
    wanted += ["getfattr"] if one.asks("xattr") or one.asks("as before") else []
    wanted += ["setfacl"] if "setfacl" in words else []
    wanted += [one.fsck[0]] if one.asks("clean") else []
    wanted += (
        ["btrfs"]
        if one.filesystem == "btrfs" and (one.way == "log" or words & {"subvol", "snapshot"})
        else []
    )
    return list(dict.fromkeys(wanted))
