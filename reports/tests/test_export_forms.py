"""Exports: what they say is what the workload says, and a shell and a compiler understand it."""

import re
import shutil
import subprocess

import msgspec
import pytest

from oracles.checks import Check, Source
from reports import export_c, export_fstests, export_sh
from reports.export import NotInThisForm, Reproducer, Shell, byte_of, check_lines, command
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
    with pytest.raises(NotInThisForm, match=f"of model {model}; --to sh and --to c can"):
        export_fstests.test(one, "999")


def compiled(tmp_path, text):
    (tmp_path / "F1.c").write_text(text)
    options = ["-fsyntax-only", "-Wall", "-Werror", "-Wno-unused-result"]
    done = subprocess.run(["gcc", *options, tmp_path / "F1.c"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_word_of_the_library_is_c(tmp_path):
    """All workloads in one program would clash in names only: so one of each word, and each that keeps a
    descriptor. But those with faults or threads: their findings are not exported."""
    seen = set()
    for workload in (one for one in library() if one.theme not in ("fault", "parallel")):
        operations = (*workload.setup, *workload.run)
        new = {(op.word, op.mode, op.path[:1] == "@") for op in operations} - seen
        if new:
            seen |= new
            compiled(tmp_path, export_c.program(made(workload), "F1.c"))
    assert len({word for word, _, _ in seen}) >= 34


def test_every_workload_of_the_library_is_a_script_or_says_what_else_can_be_had(tmp_path):
    shell = shutil.which("sh")
    scripts, refused = [], []
    for workload in (one for one in library() if not one.parallel):
        try:
            scripts.append(export_sh.script(made(workload), "F1.sh"))
        except NotInThisForm as error:
            refused.append(str(error))
    assert all(refusal.endswith("--to c can") for refusal in refused)
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
        ("fsync .", 'xfs_io -c "fsync" $M >/dev/null'),
        ("write foo 4K 8K", 'xfs_io -f -c "pwrite -b 64k -S 8 4096 8192" $M/foo >/dev/null'),
        ("pwrite foo 0 4K direct-dsync", 'xfs_io -f -d -c "pwrite -b 64k -D -S 8 0 4096" $M/foo >/dev/null'),
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
    with pytest.raises(NotInThisForm, match="--to c can"):
        export_sh.script(made(workload), "F1.sh")
    compiled(tmp_path, export_c.program(made(workload), "F1.c"))


def test_a_mount_that_fails_is_nothing_for_fstests():
    with pytest.raises(NotInThisForm, match="--to sh can"):
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
        (Check("absent", "foo", given="no"), ""),
        (Check("absent", "foo", given="gone"), "foo is back"),
    ],
)
def test_a_check_complains_of_what_it_is_for_and_nothing_else(tree, check, expected):
    assert said(tree, check, made3="1") == expected


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
