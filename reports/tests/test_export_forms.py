"""Exports: what they say is what the workload says, and a shell and a compiler understand it."""

import re
import shutil
import subprocess

import msgspec
import pytest

from oracles.checks import Check, Source
from oracles.spec import Damage
from reports.programs import export_c, export_fstests, export_sh
from reports.programs.export import (
    LISTED,
    NotInThisForm,
    Reproducer,
    Shell,
    ask_lines,
    byte_of,
    check_lines,
    command,
    cut_sentence,
)
from reports.programs.failing import table
from workloads.faults import FaultPoint
from workloads.library import library
from workloads.text import parse

CHECKS = (
    Check("exists", "A/foo"),
    Check("absent", "bar"),
    Check("any", "foo", ("foo", "two words")),
    Check("not all", "foo", ("foo", "it's")),
    Check("object", "foo", values=("0",), optional=True),
    Check("size", "foo", sizes=((0, 0), (4096, 8192))),
    Check("bytes", "foo", sources=(Source(0, 4096, (-1, 3)),)),
    Check("links", "foo"),
    Check("link count", "foo", values=("1",)),
    Check("mode", "foo", values=("600", "644")),
    Check("owner", "foo", values=("0:0",)),
    Check("mtime", "foo", values=("99",)),
    Check("target", "foo", values=("a b",)),
    Check("blocks", "foo", values=("16",)),
    Check("xattr", "foo", values=("", "$x"), name="user.a"),
    Check("usable"),
)
WHOLE = (Check("mounts"), Check("quiet"), Check("clean"))


def made(workload, checks=CHECKS[:1], way="flakey", returned=True, **instead):
    last = workload.run[-1].word == "umount"
    fields = {
        "title": "btrfs durable: name lost (fsynced file)",
        "about": ("Found by a test",),
        "expected": "the file",
        "found": "no such name",
        "filesystem": "btrfs",
        "mkfs": ("mkfs.btrfs", "-q", "-f"),
        "mount_options": "",
        "fsck": ("btrfs", "check", "--readonly"),
        "size_bytes": 256 << 20,
        "setup": workload.setup,
        "run": workload.run[:-1] if last else workload.run,
        "way": way,
        "returned": returned,
        "checks": checks,
        "offsets": {},
    }
    return Reproducer(**(fields | instead))


SMALL = parse("setup\n  creat foo\nrun\n  mkdir A\n  rename foo A/foo\n  fsync A\n")
WAYS = [("flakey", True), ("log", True), ("log", False)]


def understood(shell, text, tmp_path):
    """The shell's own parser, which runs nothing."""
    (tmp_path / "script").write_text(text)
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("way", ["flakey", "log"])
def test_a_program_detaches_its_own_loop_devices_and_no_others(way):
    """The host may have some, too."""
    program = export_c.program(made(SMALL, way=way), "F1.c")
    assert "losetup -D" not in program
    cleanings = [line for line in program.splitlines() if "losetup -n -O NAME -j $W/$i" in line]
    assert len(cleanings) == 2 + (way == "log")  # when it ends, when it cannot go on, and before a replay
    assert all("xargs -r losetup -d" in line for line in cleanings)


RUN = "run\n  creat foo\n  fsync foo\n"
RUN_BESIDE = "run\n  creat foo\n  parallel\n    thread\n      fsync foo\n    thread\n      fdatasync foo\n"


@pytest.mark.parametrize("setup", ["", "setup\n  creat bar\n"], ids=["without setup", "with setup"])
@pytest.mark.parametrize("way", ["flakey", "log", "fault", "threads"])
def test_a_sync_comes_between_setup_and_run_as_in_a_recording(setup, way):
    """Without setup, too: the filesystem lays out what comes after it in another place than before it."""
    if way == "threads":
        at = bool(setup)
        one = made(
            parse(setup + RUN_BESIDE), CHECKS[:1], "log", False, begun=(at + 1, at + 2), ended=(at + 1,)
        )
    else:
        fault = {"fault": FaultPoint("error-writes", 1)} if way == "fault" else {}
        one = made(parse(setup + RUN), way=way, **fault)
    programs = [(export_c.program(one, "F1.c"), "sync();", "/* creat {} */")]
    if way != "threads":
        programs.append((export_sh.script(one, "F1.sh"), "sync", ": >$M/{}"))
    if way in ("flakey", "log"):
        programs.append((export_fstests.test(one, "999")["999"], "_scratch_sync", ": >$SCRATCH_MNT/{}"))
    for program, sync, creat in programs:
        lines = [line.strip() for line in program.splitlines()]
        began = lines.index(creat.format("bar")) if setup else 0
        ran = next(at for at, line in enumerate(lines) if line.startswith(creat.format("foo")))
        assert lines[began:ran].count(sync) == 1, program


@pytest.mark.parametrize(("way", "returned"), WAYS)
@pytest.mark.parametrize("checks", [CHECKS, WHOLE], ids=["tree", "whole"])
def test_a_shell_understands_every_question(tmp_path, way, returned, checks):
    one = made(SMALL, checks, way, returned)
    understood("sh", export_sh.script(one, "F1.sh"), tmp_path)
    if checks is CHECKS:
        understood("bash", export_fstests.test(one, "999")["999"], tmp_path)


@pytest.mark.parametrize(("way", "returned"), WAYS)
@pytest.mark.parametrize("checks", [CHECKS, WHOLE], ids=["tree", "whole"])
def test_a_compiler_understands_every_question(tmp_path, way, returned, checks):
    compiled(tmp_path, export_c.program(made(SMALL, checks, way, returned), "F1.c"))


@pytest.mark.parametrize("way", ["flakey", "log"])
@pytest.mark.parametrize("check", WHOLE, ids=lambda check: check.kind)
def test_the_mount_that_recovered_is_written_to_before_it_ends(way, check):
    """What replay left in memory is gone with the mount: a checker that comes after it alone sees nothing."""
    one = made(SMALL, (check,), way)
    forms = [export_sh.script(one, "F1.sh"), "\n".join(export_c.asked(one))]
    forms += [export_fstests.test(one, "999")["999"]] if check.kind == "clean" else []
    written = r'-T -c "pwrite 0 4k" -c fsync \$\w+ >/dev/null 2>&1'
    for text in forms:
        assert re.search(rf"{written}\s+(umount|_scratch_unmount)", text)


@pytest.mark.parametrize("returned", [True, False])
@pytest.mark.parametrize("model", ["R", "T", "N"])
def test_what_only_another_model_shows_is_said_in_a_shell_and_in_c(tmp_path, model, returned):
    """The replay of fstests applies a log as it is."""
    one = made(SMALL, CHECKS, "log", returned, model=model, atomic_bytes=4096)
    understood("sh", export_sh.script(one, "F1.sh"), tmp_path)
    compiled(tmp_path, export_c.program(one, "F1.c"))
    with pytest.raises(NotInThisForm, match=f"needs model {model}; use --to sh or --to c"):
        export_fstests.test(one, "999")


DAMAGES = (Damage(7680, bit=8 * 154 + 2), Damage(7680, sector=3))


def damaged(damage=DAMAGES[0], checks=CHECKS[:1], returned=True, block="log tree leaf"):
    return made(SMALL, checks, "log", returned, model="D", damage=damage, block=block)


@pytest.mark.parametrize("returned", [True, False])
@pytest.mark.parametrize("damage", DAMAGES, ids=["bit", "sector"])
@pytest.mark.parametrize("checks", [CHECKS, (Check("as before"),), (Check("survives"),)])
def test_what_a_damaged_disk_shows_is_said_in_a_shell_and_in_c(tmp_path, checks, damage, returned):
    """A test of fstests ends where a mount is refused."""
    one = damaged(damage, checks, returned)
    understood("sh", export_sh.script(one, "F1.sh"), tmp_path)
    compiled(tmp_path, export_c.program(one, "F1.c"))
    with pytest.raises(NotInThisForm, match="use --to sh or --to c"):
        export_fstests.test(one, "999")


def test_a_reader_is_told_what_was_damaged():
    assert cut_sentence(damaged()) == (
        "the power fails after 'fsync A', bit 2 of byte 154 of block 7680 flipped (log tree leaf)"
    )


def function_of(script, name):
    """Its lines."""
    return re.search(rf"^(used=.*\n)?{name}\(\) \{{\n.*?^\}}\n", script, re.MULTILINE | re.DOTALL)[0]


@pytest.mark.parametrize("block", ["log tree leaf", "zeros"])
@pytest.mark.parametrize("damage", [Damage(1, bit=8 * 154 + 2), Damage(1, sector=3)], ids=["bit", "sector"])
def test_a_script_damages_a_disk_as_the_state_was(tmp_path, damage, block):
    disk = bytes(12500) if block == "zeros" else bytes(range(1, 251)) * 50
    (tmp_path / "state").write_bytes(disk)
    text = function_of(export_sh.script(damaged(damage, block=block), "F1.sh"), "damage")
    text += "damage; echo $used"
    environment = {"W": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment, check=True)
    expected = disk[:4096] + damage.of(disk[4096:8192]) + disk[8192:]
    assert ((tmp_path / "state").read_bytes(), done.stdout, done.stderr) == (expected, "yes\n", "")


def test_a_script_sees_that_a_block_is_empty(tmp_path):
    (tmp_path / "state").write_bytes(bytes(12500))
    text = function_of(export_sh.script(damaged(Damage(1, bit=9)), "F1.sh"), "damage") + "damage; echo $used"
    environment = {"W": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "no\n"


# In place of a mount, its kernel's log, and of what lies on the disks "whole" and "damaged".
STAND_INS = """\
bad() { echo "$*"; }
mount() { [ -d "$W/$disk" ] && M=$W/$disk; }
umount() { :; }
dmesg() { [ "$1" = -C ] || cat "$W/$disk.dmesg" 2>/dev/null; }
"""


def as_before(folder, refused=False, said=""):
    """What the question says of folder/whole and folder/damaged."""
    if refused:
        shutil.rmtree(folder / "damaged")
    (folder / "damaged.dmesg").write_text(said)
    lines = "\n".join(ask_lines(damaged(checks=(Check("as before"),)), Shell("M")))
    text = f"{STAND_INS}for disk in whole damaged; do\n{lines}\ndone"
    environment = {"W": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment, check=False)
    return done.stdout


@pytest.fixture
def two_trees(tmp_path):
    """The same file twice, by link, so that no inode number tells them apart."""
    for name in ("whole", "damaged"):
        (tmp_path / name).mkdir()
    (tmp_path / "whole" / "foo").write_text("foo")
    (tmp_path / "damaged" / "foo").hardlink_to(tmp_path / "whole" / "foo")
    return tmp_path


def without_root(script):
    """The two roots are two directories here, and one on a disk."""
    return script.replace("find . -printf", "find . -mindepth 1 -printf")


def test_a_tree_that_is_another_must_be_told(two_trees, monkeypatch):
    monkeypatch.setattr("reports.programs.export.LISTED", without_root(LISTED))
    assert as_before(two_trees) == ""
    (two_trees / "damaged" / "bar").write_text("bar")
    assert "the tree has changed, and nothing reports it: ./bar f inode" in as_before(two_trees)
    assert as_before(two_trees, said="BTRFS warning: checksum verify failed\n") == ""
    assert as_before(two_trees, refused=True) == ""


def test_a_file_that_is_missing_is_another_tree(two_trees, monkeypatch):
    monkeypatch.setattr("reports.programs.export.LISTED", without_root(LISTED))
    (two_trees / "whole" / "bar").write_text("bar")
    assert "something is missing" in as_before(two_trees)


# --- a device that fails


TWICE = parse("setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n  open foo @a\n  fdatasync @a\n")
POINTS = {
    "F:error-writes@2": FaultPoint("error-writes", 2),
    "F:error-writes@2:8192+8": FaultPoint("error-writes", 2, part="8192+8"),
    "F:error-writes@2:flush": FaultPoint("error-writes", 2, part="flush"),
    "F:error-writes@2-": FaultPoint("error-writes", 2, stays=True),
    "F:corrupt@1:0+16": FaultPoint("corrupt", 1, part="0+16"),
    "F:error-reads@2": FaultPoint("error-reads", 2),
    "F:delay@2": FaultPoint("delay", 2),
}


def failing(point, checks=CHECKS[:1], workload=TWICE, promises=(2, 4), **more):
    fields = {"fault": POINTS.get(point, point), "promising": promises, "size_bytes": 1 << 20, **more}
    return made(workload, checks, "fault", **fields)


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("checks", [CHECKS, (Check("mounts"),), (Check("survives"),)])
def test_what_a_failing_device_shows_is_said_in_a_shell_and_in_c(tmp_path, point, checks):
    """In a test of fstests a call that fails ends in the output."""
    understood("sh", export_sh.script(failing(point, checks), "F1.sh"), tmp_path)
    compiled(tmp_path, export_c.program(failing(point, checks), "F1.c"))
    with pytest.raises(NotInThisForm, match="use --to sh or --to c"):
        export_fstests.test(failing(point, checks), "999")


def test_lines_of_a_fault_are_the_devices_own(tmp_path):
    workload = parse("run\n  write foo 0 4K\n  fault error-writes\n  fsync foo\n  fault off\n  fsync foo\n")
    one = failing(FaultPoint("script", 1, stays=True), workload=workload, promises=(2,))
    script, program = export_sh.script(one, "F1.sh"), export_c.program(one, "F1.c")
    understood("sh", script, tmp_path)
    compiled(tmp_path, program)
    changes = [line for line in script.splitlines() if line.startswith("failing ")]
    assert ["error_writes" in line for line in changes] == [True, False, False, False]
    assert ["drop_writes" in line for line in changes] == [False, False, True, False]
    assert cut_sentence(one) == "the device fails as the fault lines say; then the power fails"


def test_a_mount_that_is_refused_has_noticed_what_was_corrupted():
    lines = "run\n  write foo 0 4K\n  fault {}\n  fsync foo\n"
    for words, refused in (("corrupt 9 7", True), ("error-writes", False)):
        workload = parse(lines.format(words))
        one = failing(FaultPoint("script", 1, stays=True), workload=workload)
        assert ("the filesystem cannot be mounted" not in export_sh.script(one, "F1.sh")) is refused
    assert "the filesystem cannot be mounted" not in export_sh.script(failing("F:corrupt@1:0+16"), "F1.sh")
    assert "the filesystem cannot be mounted" in export_sh.script(failing("F:error-writes@2"), "F1.sh")


END = 2048  # of a filesystem of 1 MiB, in sectors
ERROR = "flakey $D {} 0 180 1 error_writes"


@pytest.mark.parametrize(
    ("point", "lines"),
    [
        ("F:error-writes@2", [f"0 {END} {ERROR.format(0)}", f"{END} 8 {ERROR.format(END)}"]),
        ("F:error-writes@2:flush", [f"0 {END} linear $D 0", f"{END} 8 {ERROR.format(END)}"]),
        ("F:corrupt@1:0+16", ["0 16 flakey $D 0 0 180 5 corrupt_bio_byte 101 w 165 0",
                              f"16 {END - 16} linear $D 16", f"{END} 8 linear $D {END}"]),
        (FaultPoint("error-writes", 2, part="8+8,32+8"), ["0 8 linear $D 0", f"8 8 {ERROR.format(8)}",
            "16 16 linear $D 16", f"32 8 {ERROR.format(32)}", f"40 {END - 40} linear $D 40",
            f"{END} 8 linear $D {END}"]),
        ("F:delay@2", [f"0 {END} delay $D 0 10", f"{END} 8 linear $D {END}"]),
    ],
)  # fmt: skip
def test_a_table_fails_where_the_point_says(point, lines):
    one = failing(point)
    assert table(one.fault.on(), one) == lines


def test_only_where_a_flush_fails_the_mounted_device_has_a_write_cache():
    """Else dm-flakey would fail the FLUSH with the writes of a part."""
    flushed = [point for point in POINTS if "write through" not in export_sh.script(failing(point), "F1.sh")]
    assert flushed == ["F:error-writes@2", "F:error-writes@2:flush", "F:error-writes@2-"]


def test_the_fault_is_there_for_its_operation_and_then_the_power_fails():
    one = failing("F:error-writes@2:8192+8", workload=SMALLER, promises=(2,), size_bytes=64 << 20)
    lines = export_sh.script(one, "F1.sh").splitlines()
    started = lines.index("sync")
    told = [line for line in lines[started:] if line.startswith(("xfs_io", "failing", "umount"))]
    assert [line.split()[0] for line in told] == [
        "xfs_io", "failing", "xfs_io", "failing", "failing", "umount", "failing"
    ]  # fmt: skip
    assert "8192 8 flakey" in told[1]
    assert told[2].endswith("|| told=yes")
    assert "drop_writes" in told[4]
    lasting = export_sh.script(failing("F:error-writes@2-", workload=SMALLER, promises=(2,)), "F1.sh")
    assert "drop_writes" not in lasting


SMALLER = parse("setup\n  write foo 0 8K\nrun\n  write foo 0 8K\n  fsync foo\n")


def test_writes_that_fail_with_a_flush_and_without_one_are_refused():
    workload = parse("run\n  fault error-writes all\n  write foo 0 4K\n  fault error-writes\n  fsync foo\n")
    one = failing(FaultPoint("script", 0, stays=True), workload=workload)
    with pytest.raises(NotInThisForm, match="which a single device cannot do"):
        export_sh.script(one, "F1.sh")


def test_a_reader_is_told_what_fails_and_when():
    assert cut_sentence(failing("F:error-writes@2:8192+8")) == (
        "writes to sectors 8192+8 fail during 'fsync foo'; then the power fails"
    )
    assert cut_sentence(failing("F:error-writes@2-")) == (
        "writes fail from 'fsync foo' on; then the power fails"
    )
    assert cut_sentence(failing("F:error-writes@2:flush")).startswith("every FLUSH fails during")


@pytest.mark.parametrize("form", [export_sh.script, export_c.program, export_fstests.test])
def test_code_that_is_made_to_fail_is_refused(form):
    """The calls after it fail, and each form expects its calls to succeed."""
    one = made(parse("run\n  errortag larp\n  creat foo\n"), CHECKS[:1], "log", True)
    with pytest.raises(NotInThisForm, match="makes the calls after it fail"):
        form(one, "F1")


# --- threads


BESIDE = [workload for workload in library() if workload.parallel]


@pytest.mark.parametrize("workload", BESIDE, ids=[workload.name for workload in BESIDE])
def test_threads_are_said_in_c_alone(tmp_path, workload):
    indexes = range(len(workload.setup), len(workload.setup) + len(workload.run))
    one = made(workload, CHECKS[:1], "log", False, begun=tuple(indexes), ended=tuple(indexes)[:-1])
    compiled(tmp_path, export_c.program(one, "F1.c"))
    for form in (export_sh.script, export_fstests.test):
        with pytest.raises(NotInThisForm, match="use --to c"):
            form(one, "999")


MEETING = parse(
    "setup\n  creat foo\nrun\n  chmod foo 600\n  parallel\n    thread\n      fsync foo\n    thread\n"
    "      await 3\n      fsync foo\n  sync\n"
)
DONE = r"my_turn\(\d\)|await_writes\(\d, \d\)|mark\(.*?\)|fsync\(file\)"


def test_each_thread_does_its_own_and_marks_it():
    """`await` is no call, so it has no mark."""
    one = made(MEETING, CHECKS[:1], "log", False, begun=(1, 2, 4), ended=(1, 4))
    text = export_c.program(one, "F1.c")
    first, second = re.findall(r"static void \*block_1_thread_\d\(.*?^\}", text, re.DOTALL | re.MULTILINE)
    assert re.findall(DONE, first) == [
        "my_turn(1)", 'mark("begin", 2)', "fsync(file)", 'mark("done", 2)'
    ]  # fmt: skip
    assert re.findall(DONE, second) == [
        "my_turn(2)", "await_writes(3, 0)", 'mark("begin", 4)', "fsync(file)", 'mark("done", 4)'
    ]  # fmt: skip
    # Bits of the calls 1, 2 and 4, and the same with the two fsyncs in each other's place.
    assert "moments[] = { { 0x9, 0xb }, { 0x3, 0xb } };" in text
    assert cut_sentence(one) == (
        "threads run in parallel, and the power fails during 'fsync foo', after 'fsync foo'"
    )


@pytest.mark.parametrize("form", [export_sh.script, export_c.program])
def test_a_workload_that_goes_on_after_a_power_failure_has_no_form_yet(form):
    one = made(parse("run\n  creat foo\n  fsync foo\n  crash\n  chmod foo 600\n"), CHECKS[:1], "log", True)
    with pytest.raises(NotInThisForm, match="the power fails twice"):
        form(one, "F1")


def test_an_object_that_a_thread_made_is_not_asked_for_by_its_number():
    one = made(MEETING, (Check("object", "foo", values=("0",)),), "log", False, begun=(1,), ended=(1,))
    with pytest.raises(NotInThisForm, match="inode number"):
        export_c.program(one, "F1.c")


def compiled(tmp_path, text):
    (tmp_path / "F1.c").write_text(text)
    options = ["-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-result"]
    done = subprocess.run(["gcc", *options, tmp_path / "F1.c"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def in_no_form(workload):
    """In every form."""
    refused = any(operation.word == "grow" for operation in workload.run)
    return workload.injects or workload.crashes or refused


def test_every_word_of_the_library_is_c(tmp_path):
    """All workloads in one program would clash in names only: so one of each word, and each that keeps a
    descriptor. But those with faults or threads: their findings are not exported."""
    seen = set()
    for workload in (
        one for one in library() if one.theme != "fault" and not one.parallel and not in_no_form(one)
    ):
        operations = (*workload.setup, *workload.run)
        new = {(op.word, op.mode, op.path[:1] == "@") for op in operations} - seen
        if new:
            seen |= new
            compiled(tmp_path, export_c.program(made(workload), "F1.c"))
    assert len({word for word, _, _ in seen}) >= 34


def test_every_workload_of_the_library_is_a_script_or_says_what_else_can_be_had(tmp_path):
    shell = shutil.which("sh")
    scripts, refused = [], []
    for workload in (one for one in library() if not one.parallel and not in_no_form(one)):
        try:
            scripts.append(export_sh.script(made(workload), "F1.sh"))
        except NotInThisForm as error:
            refused.append(str(error))
    assert all(refusal.endswith("use --to c") for refusal in refused)
    assert len(scripts) >= 180
    understood(shell, "\n".join(f"(\n{script}\n)" for script in scripts), tmp_path)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("creat foo", ": >$M/foo"),
        ("mkdir A", "mkdir $M/A"),
        ("mknod foo blk 7:8", "mknod $M/foo b 7 8"),
        ('symlink "to there" A/foo', "ln -s 'to there' $M/A/foo"),
        ("link foo bar", "ln -P $M/foo $M/bar"),
        ("rename foo bar", "mv -fT $M/foo $M/bar"),
        ('creat "two words"', ": >\"$M\"/'two words'"),
        ("freeze", "fsfreeze -f $M"),
        ("thaw", "fsfreeze -u $M"),
        ("remount ro", "mount -o remount,ro $M"),
        ("fsync .", 'xfs_io -c "fsync" $M >/dev/null'),
        ("write foo 4K 8K", 'xfs_io -f -c "pwrite -b 64k -S 8 4096 8192" $M/foo >/dev/null'),
        (
            "pwrite foo 0 4K direct-dsync",
            'xfs_io -f -d -c "pwrite -b 64k -V 1 -D -S 8 0 4096" $M/foo >/dev/null',
        ),
        ("pwrite foo 0 4K sync", 'xfs_io -f -s -c "pwrite -b 64k -S 8 0 4096" $M/foo >/dev/null'),
        ("fallocate foo punch-hole 0 4K", 'xfs_io -c "fpunch 0 4096" $M/foo >/dev/null'),
        (
            "mmapwrite foo 5000 10",
            'xfs_io -c "mmap -rw 4096 914" -c "mwrite -S 8 5000 10" $M/foo >/dev/null',
        ),
        ("clone foo bar", 'xfs_io -c "reflink $M/foo" $M/bar >/dev/null'),
        ("setxattr foo user.x it's", "setfattr -h -n user.x -v 'it'\"'\"'s' $M/foo"),
        ("subvol create S", "btrfs subvolume create $M/S >/dev/null"),
    ],
)
def test_an_operation_is_a_line_of_shell(line, expected):
    (operation,) = parse(f"run\n  {line}\n").run
    assert command(operation, 7, operation.offset, Shell("M")) == expected


KEPT = parse(
    "setup\n  mkdir A\n  open A @d\n"
    "run\n  open foo @f creat\n  unlink foo\n  setxattr @f user.x 1\n  close @d\n  fsync @f\n"
)


def test_a_kept_descriptor_is_one_of_the_shell():
    """Opened again through /proc it is the same inode; what is still open is closed before the unmount."""
    for text in (
        export_sh.script(made(KEPT), "F1.sh"),
        export_sh.script(made(KEPT, way="log"), "F1.sh"),
        export_fstests.test(made(KEPT), "901")["901"],
    ):
        assert "if [ -d $" in text
        assert "exec 4<>$" in text
        assert "\nexec 3>&-\n" in text
        assert re.search(r'-c "fsync" /proc/\$\$/fd/4 ', text)
        assert re.search(r"(setfattr|SETFATTR_PROG) -n user.x -v 1 /proc/\$\$/fd/4\n", text)
        assert re.search(r"exec 4>&-\n(umount|_scratch_unmount|_log_writes_unmount)", text)


@pytest.mark.parametrize("line", ["open foo @f creat,dsync", "tmpfile . @f", "rename foo bar exchange"])
def test_what_no_shell_can_do_c_can(tmp_path, line):
    workload = parse(f"run\n  {line}\n")
    with pytest.raises(NotInThisForm, match="use --to c"):
        export_sh.script(made(workload), "F1.sh")
    compiled(tmp_path, export_c.program(made(workload), "F1.c"))


def test_a_mount_that_fails_is_nothing_for_fstests():
    with pytest.raises(NotInThisForm, match="use --to sh"):
        export_fstests.test(made(SMALL, WHOLE[:1]), "999")


def test_the_test_has_todays_form():
    """Its preamble, its groups, what it requires, and an .out file."""
    files = export_fstests.test(made(SMALL), "901")
    assert files["901.out"] == "QA output created by 901\nSilence is golden\n"
    for line in (
        "#! /bin/bash",
        "# FS QA Test 901",
        ". ./common/preamble",
        "_begin_fstest auto quick log rename",
        ". ./common/dmflakey",
        "_require_dm_target flakey",
        "_init_flakey",
        "_scratch_sync",
        "_flakey_drop_and_remount",
        "_exit 0",
    ):
        assert line in files["901"].splitlines()
    assert max(map(len, files["901"].expandtabs(8).splitlines())) <= 110


def test_within_an_operation_every_entry_is_asked():
    text = export_fstests.test(made(SMALL, way="log", returned=False), "901")["901"]
    assert "for entry in $(seq $begin $((end - 1)))" in text
    assert (
        text.index("_log_writes_mark begin") < text.index('-c "fsync"') < text.index("_log_writes_mark done")
    )


@pytest.mark.parametrize(
    ("words", "mkfs", "folder"),
    [
        ("rename foo bar", (), "generic"),
        ("subvol create S", (), "btrfs"),
        ("rename foo bar", ("-O", "^no-holes"), "btrfs"),
    ],
)
def test_what_is_for_btrfs_alone_goes_there(words, mkfs, folder):
    one = made(parse(f"run\n  {words}\n"), mkfs=("mkfs.btrfs", "-q", "-f", *mkfs))
    assert export_fstests.folder(one) == folder


# --- checks, on real files --------------------------------------------------------------------------


def said(tmp_path, check, **variables):
    """What a check says of the files in tmp_path."""
    text = 'bad() { echo "$*"; }\n' + "\n".join(check_lines((check,), Shell("M")))
    environment = {"M": str(tmp_path), "PATH": "/usr/bin:/bin", **variables}
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, env=environment, check=False)
    return done.stdout.strip()


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "foo").write_bytes(bytes([byte_of(0)]) * 100 + bytes(28))
    (tmp_path / "link").hardlink_to(tmp_path / "foo")
    (tmp_path / "foo").chmod(0o640)
    (tmp_path / "gone").symlink_to("nowhere")
    return tmp_path


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (Check("exists", "foo"), ""),
        (Check("exists", "gone"), ""),
        (Check("exists", "no"), "no is missing"),
        (Check("absent", "no"), ""),
        (Check("absent", "gone"), "gone is back"),
        (Check("any", "x", ("no", "foo")), ""),
        (Check("any", "x", ("no", "nor")), "nothing is left under no or nor"),
        (Check("not all", "x", ("foo", "no")), ""),
        (Check("not all", "x", ("foo", "link")), "it is under foo and link"),
        (Check("size", "foo", sizes=((0, 0), (100, 200))), ""),
        (Check("size", "foo", sizes=((0, 0), (200, 300))), "foo has 128 bytes"),
        (Check("size", "no", sizes=((0, 9),)), "no has -1 bytes"),
        (Check("bytes", "foo", sources=(Source(0, 100, (0,)), Source(100, 128, (-1,)))), ""),
        (Check("bytes", "foo", sources=(Source(0, 128, (0,)),)), "foo has 28 wrong bytes from 0 on"),
        (Check("bytes", "foo", sources=(Source(96, 104, (-1,)),)), "foo has 4 wrong bytes from 96 on"),
        (Check("links", "foo"), ""),
        (Check("link count", "foo", values=("2",)), ""),
        (Check("link count", "foo", values=("1",)), "foo has link count '2'"),
        (Check("mode", "foo", values=("600", "640")), ""),
        (Check("mode", "foo", values=("600",)), "foo has mode '640'"),
        (Check("target", "gone", values=("nowhere",)), ""),
        (Check("target", "gone", values=("there",)), "gone has target 'nowhere'"),
        (Check("blocks", "foo", values=("0",)), ""),
        (Check("object", "no", values=("3",), optional=True), ""),
        (Check("object", "no", values=("3",)), "no is another file (inode none)"),
        (Check("leads", "foo"), ""),
        (Check("leads", "no"), ""),
        (Check("leads", "gone"), ""),
        (Check("absent", "foo", given="no"), ""),
        (Check("absent", "foo", given="gone"), "foo is back"),
    ],
)
def test_a_check_complains_of_what_it_is_for_and_nothing_else(tree, check, expected):
    assert said(tree, check, made3="1") == expected


def test_a_name_whose_object_cannot_be_reached_leads_nowhere(tree, tmp_path_factory):
    """As on a disk whose inode is not what it was: the directory has it, stat(2) fails."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "stat").write_text("#!/bin/sh\nexit 1\n")
    (programs / "stat").chmod(0o755)
    path = f"{programs}:/usr/bin:/bin"
    assert said(tree, Check("leads", "foo"), PATH=path) == "foo is listed, but cannot be looked up"
    assert said(tree, Check("leads", "no"), PATH=path) == ""


def test_an_object_is_known_by_its_inode_number(tree):
    check = Check("object", "foo", values=("3",))
    number = (tree / "foo").stat().st_ino
    assert said(tree, check, made3=str(number)) == ""
    assert said(tree, check, made3=str(number + 1)) == f"foo is another file (inode {number})"


def test_any_of_its_names_is_one_of_that_object(tree):
    """Another file may have taken its name."""
    check = Check("any", "foo", ("no", "foo"), ("3",))
    number = (tree / "foo").stat().st_ino
    assert said(tree, check, made3=str(number)) == ""
    assert said(tree, check, made3=str(number + 1)) == "nothing is left under no or foo"


def test_reproducers_are_plain_data():
    one = made(SMALL, CHECKS)
    assert msgspec.json.decode(msgspec.json.encode(one), type=Reproducer) == one


def test_what_the_running_kernel_does_is_said_in_every_form_without_a_power_failure(tmp_path):
    one = made(SMALL, (Check("survives"),), "plain", True)
    assert cut_sentence(one) == "the power does not fail; the kernel shows the bug during 'fsync A'"
    shell, program = export_sh.script(one, "F1.sh"), export_c.program(one, "F1.c")
    understood("sh", shell, tmp_path)
    compiled(tmp_path, program)
    test = export_fstests.test(one, "999")["999"]
    understood("bash", test, tmp_path)
    for text in (shell, program, test):
        assert "flakey" not in text
        assert "log-writes" not in text
    assert "dmesg -C\nmust mount -t btrfs" in shell
    assert "_scratch_unmount" in test


def test_a_program_that_enables_verity_compiles_and_others_need_no_header_of_it(tmp_path):
    one = made(parse("setup\n  write foo 0 8K\nrun\n  verity foo\n  fsync foo\n"))
    text = export_c.program(one, "F1.c")
    assert "FS_IOC_ENABLE_VERITY" in text
    compiled(tmp_path, text)
    other = export_c.program(made(parse("setup\n  write foo 0 8K\nrun\n  fsync foo\n")), "F1.c")
    assert "fsverity.h" not in other


@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "f2fs", "btrfs"])
def test_requests_of_a_filesystem_are_those_of_that_one(tmp_path, filesystem):
    """C programs alone have them, each with what it calls and nothing more, and compile."""
    moved = made(
        parse("setup\n  write foo 0 8K\nrun\n  defragment foo\n  fsync foo\n"), filesystem=filesystem
    )
    whole = made(parse("setup\n  write foo 0 8K\nrun\n  atomicwrite foo 0 8K dsync\n"), filesystem=filesystem)
    text = export_c.program(moved, "F1.c")
    assert (f"\texchanged_{filesystem}(file);" in text) == (filesystem in ("ext4", "xfs"))
    assert ("static int copied" in text) == (filesystem in ("ext4", "xfs"))
    assert ("BTRFS_IOC_DEFRAG_RANGE" in text) == (filesystem == "btrfs")
    assert "all_or_nothing" not in text
    compiled(tmp_path, text)
    text = export_c.program(whole, "F1.c")
    assert ("F2FS_IOC_COMMIT_ATOMIC_WRITE" in text) == (filesystem == "f2fs")
    assert ("RWF_ATOMIC | RWF_DSYNC" in text) == (filesystem != "f2fs")
    compiled(tmp_path, text)
    for one in (moved, whole):
        with pytest.raises(NotInThisForm, match="use --to c"):
            export_sh.script(one, "F1.sh")


@pytest.mark.parametrize(
    ("filesystem", "request_"), [("btrfs", "BTRFS_IOC_BALANCE_V2"), ("f2fs", "F2FS_IOC_GARBAGE_COLLECT")]
)
def test_relocate_is_the_request_of_its_filesystem(tmp_path, filesystem, request_):
    relocated = made(parse("setup\n  write foo 0 8K\nrun\n  relocate\n"), filesystem=filesystem)
    text = export_c.program(relocated, "F1.c")
    assert re.findall(r"BTRFS_IOC_BALANCE\w*|F2FS_IOC_GARBAGE\w*", text) == [request_]
    compiled(tmp_path, text)


def test_trim_asks_for_all_that_is_free(tmp_path):
    trimmed = made(parse("setup\n  write foo 0 8K\nrun\n  unlink foo\n  trim\n"), filesystem="xfs")
    text = export_c.program(trimmed, "F1.c")
    assert "struct fstrim_range everything = { .len = UINT64_MAX };" in text
    assert "ioctl(file, FITRIM, &everything)" in text
    compiled(tmp_path, text)


@pytest.mark.parametrize("filesystem", ["ext4", "xfs"])
def test_relocate_is_refused_where_there_is_no_request_for_it(filesystem):
    relocated = made(parse("setup\n  write foo 0 8K\nrun\n  relocate\n"), filesystem=filesystem)
    with pytest.raises(NotInThisForm, match=f"relocate: {filesystem} has no request for it"):
        export_c.program(relocated, "F1.c")
