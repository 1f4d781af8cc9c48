"""What a program did, as steps: one test for each rule of the adapter, in plain data."""

import msgspec
import pytest

from workloads import acl
from workloads.history import Said
from workloads.text import format_operation
from workloads.trace import AIO, Call, Trace
from workloads.traced import ENABLE_VERITY, O_DIRECT, O_SYNC, O_TMPFILE, O_TRUNC, SUBVOL_CREATE, adapted

ROOT = {"path": ".", "kind": "dir", "ino": 2, "mode": 0o755, "nlink": 2, "size": 4096, "blocks": 8}
O_CREAT = 0o100
O_DSYNC = 0o10000


def marks_of(calls):
    """Every call begins and returns at places of its own."""
    places = {f"begin-{call.number}": 10 * call.number for call in calls}
    return places | {f"done-{call.number}": 10 * call.number + 5 for call in calls}


def tell(*calls, data=b"", tree=(), marks=None, **fields):
    raw = msgspec.Raw(msgspec.json.encode((ROOT, *tree)))
    status, said, complained = (
        fields.pop(*pair) for pair in (("status", 0), ("said", ""), ("complained", ""))
    )
    trace = Trace(2, raw, calls, fields.pop("places", ()), status, said, complained, **fields)
    return adapted(trace, data, marks_of(calls) if marks is None else marks)


def words(steps):
    return [format_operation(step.operation) for step in steps]


def call(number, name, path="", /, **fields):
    return Call(number, name, fields.pop("result", 0), path, kind=fields.pop("kind", "file"), **fields)


def test_an_open_that_makes_its_file_is_creat():
    """With the permissions that the program asked for."""
    made = tell(call(0, "openat", "a", flags=O_CREAT, inode=7, permissions=0o600, owner=(5, 6)))
    assert words(made.run) == ["creat a"]
    assert made.run[0].made == (0o600, 5, 6)
    assert made.run[0].inode == 7


def test_an_open_that_empties_its_file_is_truncate():
    made = tell(call(0, "open", "a", flags=O_TRUNC, before=7, before_kind="file", size=9, inode=7))
    assert words(made.run) == ["truncate a 0"]


def test_marks_are_those_of_the_calls():
    """Steps are numbered anew; each keeps the places of its call."""
    made = tell(call(3, "mkdir", "d", inode=7), call(8, "rmdir", "d", before=7))
    assert made.marks == {"begin-0": 30, "done-0": 35, "begin-1": 80, "done-1": 85}


def test_calls_without_marks_are_the_setup():
    first, second = call(0, "mkdir", "d", inode=7), call(1, "rmdir", "d", before=7)
    made = tell(first, second, marks=marks_of([second]))
    assert (words(made.setup), words(made.run)) == (["mkdir d"], ["rmdir d"])
    assert made.run[0].index == 1


@pytest.mark.parametrize(
    ("flags", "word"),
    [
        (0, "write a 0 5"),
        (O_SYNC, "pwrite a 0 5 sync"),
        (O_DSYNC, "pwrite a 0 5 dsync"),
        (O_DIRECT | O_DSYNC, "pwrite a 0 5 direct-dsync"),
    ],
)
def test_the_flags_of_its_descriptor_say_how_a_write_goes_out(flags, word):
    made = tell(call(0, "write", "a", result=5, length=5, data=(1, 5), flags=flags), data=b"-hello")
    assert words(made.run) == [word]


def test_written_bytes_are_kept_by_block():
    """A write across the edge of a block of the file: two blocks, and one content is kept once."""
    data = b"x" * 4096 * 3
    made = tell(
        call(0, "pwrite64", "a", result=8, length=8, offset=4092, data=(0, 8), inode=7),
        call(1, "pwrite64", "a", result=8192, length=8192, offset=8192, data=(0, 8192), inode=7),
        data=data,
    )
    first, second = made.run
    assert [made.blocks[key] for key in first.data] == [b"xxxx", b"xxxx"]
    assert b"".join(made.blocks[key] for key in second.data) == data[:8192]
    assert sorted(map(len, made.blocks.values())) == [4, 4096]


def test_a_file_is_called_by_a_name_that_it_still_has():
    """The name by which it was opened is gone; the kernel tells none, the trace knows another."""
    made = tell(
        call(0, "openat", "a", flags=O_CREAT, inode=7),
        call(1, "link", "a", path2="d", inode=7),
        call(2, "unlink", "a", before=7),
        call(3, "fsync", "", inode=7, by_file=True),
    )
    assert words(made.run)[-1] == "fsync d"


def test_a_file_whose_last_name_is_gone_is_kept_open():
    """An fsync of it promises that the name does not come back. What made it keeps its descriptor."""
    made = tell(
        call(0, "openat", "a", flags=O_CREAT, inode=7, permissions=0o600),
        call(1, "unlink", "a", before=7),
        call(2, "fsync", "", inode=7, by_file=True),
    )
    assert words(made.run) == ["open a @u0 creat", "unlink a", "fsync @u0"]
    assert made.run[0].made == (0o600, 0, 0)


def test_a_file_that_was_there_before_is_kept_open_too():
    node = {"path": "a", "kind": "file", "ino": 7, "mode": 0o644, "nlink": 1, "size": 0, "blocks": 0}
    made = tell(call(0, "unlink", "a", before=7), call(1, "fsync", "", inode=7), tree=(node,))
    assert words(made.setup + made.run) == ["open a @u0 creat", "unlink a", "fsync @u0"]


def test_a_file_without_a_name_gets_one():
    made = tell(
        call(0, "openat", ".", flags=O_TMPFILE, inode=7),
        call(1, "write", "", inode=7, result=1, length=1, data=(0, 1)),
        call(2, "linkat", "", path2="b", inode=7),
        call(3, "fsync", "b", inode=7),
        data=b"x",
    )
    assert words(made.run) == ["tmpfile . @t0", "write @t0 0 1", "link @t0 b", "fsync b"]


def test_a_renamed_directory_takes_its_files_along():
    made = tell(
        call(0, "mkdir", "d", inode=6, kind="dir"),
        call(1, "openat", "d/a", flags=O_CREAT, inode=7),
        call(2, "rename", "d", path2="e", inode=6, kind="dir"),
        call(3, "fsync", "", inode=7, by_file=True),
    )
    assert words(made.run)[-1] == "fsync e/a"


def test_a_store_through_a_mapping_is_mmapwrite():
    made = tell(call(0, "store", "a", offset=3, length=2, data=(0, 2), inode=7), data=b"hi")
    assert words(made.run) == ["mmapwrite a 3 2"]
    assert made.blocks[made.run[0].data[0]] == b"hi"


def test_a_time_that_a_clock_could_have_set_is_like_a_clocks():
    """Only seconds before 2001 can be told from those of a clock."""
    made = tell(
        call(0, "utimensat", "a", at=1, length=1_800_000_000),
        call(1, "utimensat", "a", at=1, length=77),
        call(2, "utimensat", "a", at=0, length=5),
    )
    assert [step.operation.length for step in made.run] == [-1, 77]


def test_a_call_that_failed_without_a_trace_is_left_out():
    made = tell(call(0, "mkdir", "d", result=-17), call(1, "fsync", "d", result=-5))
    assert words(made.run) == ["fsync d"]
    assert made.run[0].result == -5


def test_what_no_word_says_is_not_judged():
    """For every name that the object ever had, from the call on; all others are judged."""
    made = tell(
        call(0, "openat", "a", flags=O_CREAT, inode=7),
        call(1, "ioctl", "a", mode=0x401C5820, inode=7),
        call(2, "rename", "a", path2="b", inode=7),
        call(3, "mkdir", "d", inode=8),
    )
    assert [(one.path, one.call, one.entry) for one in made.unjudged] == [
        ("a", "ioctl", 10),
        ("b", "ioctl", 10),
    ]
    assert words(made.run) == ["creat a", "rename a b", "mkdir d"]


def test_a_program_may_have_a_file_verified():
    made = tell(
        call(0, "openat", "a", flags=O_CREAT, inode=7), call(1, "ioctl", "a", mode=ENABLE_VERITY, inode=7)
    )
    assert words(made.run) == ["creat a", "verity a"]
    assert not made.unjudged


def test_a_subvolume_is_named_below_its_directory():
    made = tell(call(0, "ioctl", "d", mode=SUBVOL_CREATE, target="s", inode=9, kind="dir"))
    assert words(made.run) == ["subvol create d/s"]


def test_the_tree_before_is_the_setup():
    """Parents first, content with its holes, a second name as a link; what mkfs made is not the program's."""
    tree = (
        {"path": ".nilfs", "kind": "file", "ino": 14, "mode": 0o600, "nlink": 1, "size": 16, "blocks": 0},
        {**ROOT, "path": "d", "ino": 11},
        {"path": "d/a", "kind": "file", "ino": 12, "mode": 0o640, "nlink": 2, "size": 9000, "blocks": 8}
        | {"content": [[0, 4, "x", 0, "61626364"], [4, 8996, "z"]], "xattrs": {"user.k": "76"}},
        {"path": "d/b", "kind": "file", "ino": 12, "mode": 0o640, "nlink": 2, "size": 9000, "blocks": 8},
        {
            "path": "lost+found",
            "kind": "dir",
            "ino": 13,
            "mode": 0o700,
            "nlink": 2,
            "size": 4096,
            "blocks": 8,
        },
    )
    made = tell(tree=tree)
    assert words(made.setup) == [
        *(
            "mkdir d",
            "creat d/a",
            "write d/a 0 4",
            "truncate d/a 9000",
            "setxattr d/a user.k v",
            "link d/a d/b",
        ),
    ]
    assert made.setup[1].made == (0o640, 0, 0)


def test_a_line_is_said_when_the_call_that_ended_it_has_returned():
    """Two calls for the first line; what never ended is no line."""
    marks = {"said-0": 3, "said-1": 8, "said-2": 20}
    made = tell(said="one\ntwo\nthr", places=((0, 2), (1, 4), (2, 11)), marks=marks)
    assert made.said == (Said("one", 8), Said("two", 20))


def test_unshare_range_is_what_can_be_seen_of_it():
    """It makes a file longer, as fsstress asks for, and allocates."""
    made = tell(
        call(0, "fallocate", "a", mode=0x40, offset=4096, length=8192, inode=7),
        call(1, "fallocate", "a", mode=0x41, offset=0, length=4096, inode=7),
    )
    assert words(made.run) == ["fallocate a alloc 4K 8K", "fallocate a keep-size 0 4K"]
    assert not made.unjudged


def test_a_symlink_that_changes_its_owner_is_not_judged():
    """As a word it would be the owner of the target, which fsstress has not made."""
    made = tell(
        call(0, "symlink", "l", target="nosuch", inode=7, kind="symlink"),
        call(1, "lchown", "l", inode=7, kind="symlink", owner=(5, 6)),
        call(2, "lchown", "f", inode=8, owner=(5, 6)),
    )
    assert words(made.run)[1:] == ["chown f 5:6"]
    (one,) = made.unjudged
    assert (one.path, one.why) == ("l", "no word of a workload says lchown of a symbolic link itself")


def test_what_a_reader_should_know_is_told():
    made = tell(notes=(AIO,), outside=("/tmp/x",))
    assert any("asynchronous" in each for each in made.remarks)
    assert any("/tmp/x" in each for each in made.remarks)


USER, GROUP, OTHERS = (
    (acl.USER_OBJ, 6, acl.UNDEFINED_ID),
    (acl.GROUP_OBJ, 4, acl.UNDEFINED_ID),
    (acl.OTHER, 4, acl.UNDEFINED_ID),
)
NAMED, MASK = (acl.USER, 4, 1000), (acl.MASK, 4, acl.UNDEFINED_ID)


def with_acl(*entries):
    there = {"path": "a", "kind": "file", "ino": 7, "mode": 0o644, "nlink": 1, "size": 0, "blocks": 0}
    set_it = call(
        0, "fsetxattr", "a", inode=7, name=acl.ACCESS, value=acl.encoded(entries).hex(), permissions=0o640
    )
    return tell(set_it, tree=(there,))


def test_an_access_control_list_of_no_more_than_permissions_is_chmod():
    """As editors copy it from the file that they replace; nothing is left unjudged."""
    assert words(with_acl(USER, GROUP, OTHERS).run) == ["chmod a 640"]
    assert with_acl(USER, GROUP, OTHERS).unjudged == ()


def test_an_access_control_list_with_a_named_user_is_not_judged():
    assert with_acl(USER, NAMED, GROUP, MASK, OTHERS).run == ()
    assert [one.path for one in with_acl(USER, NAMED, GROUP, MASK, OTHERS).unjudged] == ["a"]


def test_how_a_program_failed_is_remarked():
    """A device that the guest has not, say: what it did until then is judged, and a reader knows the rest."""
    (remark,) = tell(status=1, complained="reading\ncat: /dev/kvm: No such file or directory\n").remarks
    assert "exit status 1" in remark
    assert "/dev/kvm" in remark
