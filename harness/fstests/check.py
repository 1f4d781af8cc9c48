"""
Run one test of fstests in a guest: by a checkout's own ./check, or by stand-ins for its functions.

In:       a folder with the test and its .out file; a checkout, when there is one.
Out:      the command that runs it, and in the folder what it needs; its status is 1 when the test fails.
Not here: the test (reports/programs/export_fstests.py), the guest (bare.py).

The stand-ins are for trying an export where nobody has a checkout. They do what the functions of the same
name in common/rc, common/dmflakey and common/dmlogwrites do for one scratch device, in words of our own;
requirements pass, since a lack of something shows in the output.
"""

from pathlib import Path

from reports.programs.export import BUG, Reproducer
from reports.programs.export_fstests import folder as test_folder

NUMBER = "999"
GROUPS = "group.list"  # made by make

# A disk, a second one for log-writes, and where they are mounted; all in the guest's memory. dmsetup says on
# every call that the kernel has no semaphores, which a test would take for output of its own.
DEVICES = """\
mkdir -p /tmp/test /tmp/scratch /tmp/results
truncate -s {size_bytes} /tmp/scratch.img
truncate -s {size_bytes} /tmp/test.img
truncate -s 256M /tmp/log.img
export SCRATCH_DEV=$(losetup -f --show /tmp/scratch.img) SCRATCH_MNT=/tmp/scratch
export TEST_DEV=$(losetup -f --show /tmp/test.img) TEST_DIR=/tmp/test
export LOGWRITES_DEV=$(losetup -f --show /tmp/log.img)
export FSTYP={filesystem}
mkdir /tmp/bin
cat >/tmp/bin/dmsetup <<'END'
#!/bin/sh
/usr/sbin/dmsetup "$@" 2>/tmp/dmsetup.said
status=$?
grep -v 'Kernel not configured for semaphores' /tmp/dmsetup.said >&2
exit $status
END
chmod +x /tmp/bin/dmsetup
export PATH=/tmp/bin:$PATH
"""

PREAMBLE = r"""
_begin_fstest()
{
	seq=$(basename $0) tmp=/tmp/$$ here=$PWD status=1
	seqres=/tmp/results/$seq
	: >$seqres.full
	echo "QA output created by $seq"
	trap '_cleanup; exit $status' EXIT
}
_exit() { status=$1; exit $1; }
_fail() { echo "$*"; _exit 1; }
_scratch_mkfs() { mkfs.$FSTYP $MKFS_FORCE "$@" $SCRATCH_DEV; }
_scratch_mkfs_sized()
{
	case $FSTYP in
	btrfs) mkfs.btrfs -f -b $1 $SCRATCH_DEV ;;
	xfs) mkfs.xfs -f -d size=$1 $SCRATCH_DEV ;;
	*) mkfs.$FSTYP -F $SCRATCH_DEV $(($1 / 1024))k ;;
	esac
}
_scratch_mount() { mount -t $FSTYP "$@" $SCRATCH_DEV $SCRATCH_MNT || _fail "mount failed"; }
_scratch_unmount() { umount $SCRATCH_MNT; }
_scratch_sync() { sync; }
_check_scratch_fs() { $FSCK $SCRATCH_DEV >>$seqres.full 2>&1 || _fail "$SCRATCH_DEV: inconsistent"; }
for name in scratch dm_target attrs acls hardlinks symlinks mknod chattr scratch_reflink scratch_dedupe \
	xfs_io_command log_writes metadata_journaling; do
	eval "_require_$name() { :; }"
done
XFS_IO_PROG=xfs_io SETFATTR_PROG=setfattr GETFATTR_PROG=getfattr
"""

DMFLAKEY = r"""
_init_flakey()
{
	backing=$SCRATCH_DEV sectors=$(blockdev --getsz $SCRATCH_DEV)
	dmsetup create flakey-test --table "0 $sectors flakey $backing 0 180 0" || _fail "dmsetup"
	SCRATCH_DEV=/dev/mapper/flakey-test
}
_switch()
{
	dmsetup suspend --nolockfs flakey-test
	dmsetup load flakey-test --table "0 $sectors flakey $backing $1"
	dmsetup resume flakey-test
}
FLAKEY_ALLOW_WRITES=0 FLAKEY_DROP_WRITES=1
_load_flakey_table()
{
	case $1 in
	0) _switch "0 180 0" ;;
	1) _switch "0 0 180 1 drop_writes" ;;
	esac
}
_flakey_drop_and_remount()
{
	_load_flakey_table $FLAKEY_DROP_WRITES
	_scratch_unmount
	_load_flakey_table $FLAKEY_ALLOW_WRITES
	_scratch_mount
}
_cleanup_flakey() { umount $SCRATCH_MNT 2>/dev/null; dmsetup remove flakey-test; }
"""

DMLOGWRITES = r"""
_log_writes_init()
{
	dmsetup create logwrites-test --table "0 $(($2 / 512)) log-writes $1 $LOGWRITES_DEV" || _fail "dmsetup"
}
_log_writes_mark() { dmsetup message logwrites-test 0 mark $1; }
_log_writes_mount() { mount -t $FSTYP "$@" /dev/mapper/logwrites-test $SCRATCH_MNT || _fail "mount failed"; }
_log_writes_unmount() { umount $SCRATCH_MNT; }
_log_writes_remove() { dmsetup remove logwrites-test; }
_log_writes_cleanup() { umount $SCRATCH_MNT 2>/dev/null; _log_writes_remove 2>/dev/null; }
_number() { od -An -v -t u$2 -j $1 -N $2 /tmp/log.img | tr -d ' '; }
# Calls "$@" with index, place, length, flags, where its data is, the length of its text.
_each_entry()
{
	local at=$(_number 24 4) unit=$(_number 24 4) index
	for index in $(seq 0 $(($(_number 16 8) - 1))); do
		set -- "$1" $(od -An -v -t u8 -w32 -j $at -N 32 /tmp/log.img)
		$1 $index $2 $3 $4 $((at + unit)) $5 || return 0
		at=$((at + unit))
		[ $(($4 & 12)) -ne 0 ] || at=$((at + $3 * unit))
	done
}
_find()
{
	[ $(($4 & 8)) -eq 0 ] && return 0
	[ "$(tail -c +$(($5 - unit + 33)) /tmp/log.img | head -c $6)" != $wanted ] || echo $1
}
_log_writes_mark_to_entry_number() { wanted=$1; _each_entry _find; }
_apply()
{
	[ $1 -le $limit ] || return 1
	[ $(($4 & 8)) -eq 0 ] && [ $3 -ne 0 ] || return 0
	local from="if=/tmp/log.img iflag=skip_bytes skip=$5"
	[ $(($4 & 4)) -eq 0 ] || from="if=/dev/zero"
	dd $from of=$device bs=$unit seek=$2 count=$3 conv=notrunc 2>/dev/null
}
_log_writes_replay_log_range() { limit=$1 device=$2; _each_entry _apply; sync; }
"""

CHECK_DMESG = f"dmesg | grep -E '{BUG}' | head -n 1 >>/tmp/out"
# {dmesg}: what fstests' _check_dmesg looks for behind every test, of what our programs look for.
TRY = """\
{devices}export FSCK="{fsck}" MKFS_FORCE={force}
dmesg -C
bash ./{number} >/tmp/out 2>&1
{dmesg}
diff {number}.out /tmp/out && exit 0
sed 's/^/BROKEN: /' /tmp/out | grep -v 'QA output\\|Silence is golden'
exit 1
"""

CHECK = """\
{devices}mkfs.{filesystem} {force} $TEST_DEV >/dev/null 2>&1
export RESULT_BASE=/tmp/results HOST_OPTIONS=/dev/null
cd /mnt/farm || exit 2
./check {folder}/{number} >/tmp/said 2>&1
status=$?
cat /tmp/said | tail -n 25
grep -q 'Passed all 1 tests\\|Failed 1 of 1' /tmp/said || exit 2
bad=/tmp/results/{folder}/{number}.out.bad
[ -f $bad ] && diff /mnt/{number}.out $bad | sed -n 's/^> /BROKEN: /p'
exit $status
"""


class NoCheckout(Exception):
    """The folder is no checkout of fstests that was built."""


def require_checkout(folder: Path) -> None:
    """Errors: NoCheckout."""
    for file, lack in (
        ("check", "it is not a checkout of fstests"),
        (f"tests/generic/{GROUPS}", "run make in it"),
    ):
        if not (folder / file).is_file():
            raise NoCheckout(f"--fstests {folder}: {lack}: {file} is missing")


def stand_ins(folder: Path, one: Reproducer) -> str:
    """Errors: OSError."""
    common = folder / "common"
    common.mkdir()
    (common / "preamble").write_text(PREAMBLE)
    (common / "dmflakey").write_text(DMFLAKEY)
    (common / "dmlogwrites").write_text(DMLOGWRITES)
    for name in ("filter", "attr", "reflink"):
        (common / name).touch()
    (folder / "try").write_text(
        TRY.format(
            devices=devices(one),
            fsck=" ".join(one.fsck),
            force=force(one),
            number=NUMBER,
            dmesg=CHECK_DMESG if one.way == "plain" else ":",
        )
    )
    return "bash ./try"


def check_in(checkout: Path, folder: Path, one: Reproducer) -> str:
    """A tree of links into the checkout, with the test among its own; the checkout, which the guest has as
    /mnt/beside, stays as it is. Errors: OSError."""
    group = test_folder(one)
    farm, there = folder / "farm", Path("/mnt/beside")
    link_all(checkout, farm, there, but=("tests",))
    link_all(checkout / "tests", farm / "tests", there / "tests", but=(group,))
    own = (NUMBER, f"{NUMBER}.out", GROUPS)
    link_all(checkout / "tests" / group, farm / "tests" / group, there / "tests" / group, but=own)
    known = (checkout / "tests" / group / GROUPS).read_text()  # ./check ignores a test that is not in it
    (farm / "tests" / group / GROUPS).write_text(f"{known}{NUMBER} auto quick\n")
    for name in (NUMBER, f"{NUMBER}.out"):
        (farm / "tests" / group / name).write_text((folder / name).read_text())
    (farm / "tests" / group / NUMBER).chmod(0o755)
    text = CHECK.format(
        devices=devices(one), filesystem=one.filesystem, force=force(one), folder=group, number=NUMBER
    )
    (folder / "try").write_text(text)
    return "bash ./try"


def link_all(source: Path, target: Path, there: Path, but: tuple[str, ...]) -> None:
    """Links in `target` to all that is in `source`, which the guest has as `there`."""
    target.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.name not in but and path.name != ".git":
            (target / path.name).symlink_to(there / path.name)


def devices(one: Reproducer) -> str:
    return DEVICES.format(size_bytes=max(one.size_bytes, 300 << 20), filesystem=one.filesystem)


def force(one: Reproducer) -> str:
    return "-F" if one.filesystem == "ext4" else "-f"
