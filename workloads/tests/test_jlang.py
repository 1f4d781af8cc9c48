"""J-lang: each line becomes the system calls that CrashMonkey makes of it, or is told; and the way back."""

import pytest

from workloads import jlang, text
from workloads.generate import ace
from workloads.jlang import NotExpressed, NotJlang, NotMapped
from workloads.library import library
from workloads.workload import Workload

DEFINE = "# define\ntest\nA\nA/C\nfoo\nbar\nA/foo\nA/bar\n\n# declare\nlocal_checkpoint\n\n"


def of(*run: str, define: str = DEFINE, setup: tuple[str, ...] = ()) -> str:
    return define + "# setup\n" + "\n".join(setup) + "\n\n# run\n" + "\n".join(run) + "\n"


def lines(workload: Workload) -> list[str]:
    return [text.format_operation(each) for each in workload.run]


def unmapped(words: str) -> list[tuple[int, str]]:
    with pytest.raises(NotMapped) as caught:
        jlang.read(words)
    return [(each.place, each.reason) for each in caught.value.reasons]


def inexpressible(*run: str, setup: tuple[str, ...] = ()) -> list[str]:
    block = "".join(["setup\n", *(f"  {line}\n" for line in setup)]) if setup else ""
    with pytest.raises(NotExpressed) as caught:
        jlang.write(text.parse(block + "run\n" + "".join(f"  {line}\n" for line in run)))
    return [each.reason for each in caught.value.reasons]


# --- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("open foo O_RDWR|O_CREAT 0777", ["open foo @foo creat"]),
        ("open Afoo O_RDWR|O_CREAT|O_TRUNC|O_SYNC 0777", ["open A/foo @Afoo creat,trunc,sync"]),
        ("opendir test 0777", ["open . @test"]),
        ("opendir AC 0777", ["open A/C @AC"]),
        ("mkdir AC 0777", ["mkdir A/C"]),
        ("rmdir A", ["rmdir A"]),
        ("mknod foo TEST_FILE_PERMS|S_IFCHR|S_IFBLK 0", ["mknod foo blk 0:0"]),
        ("mknod foo TEST_FILE_PERMS|S_IFCHR 259", ["mknod foo chr 1:3"]),
        ("mknod foo S_IFIFO 0", ["mkfifo foo"]),
        ("unlink Abar", ["unlink A/bar"]),
        ("remove Abar", ["unlink A/bar"]),
        ("link foo Abar", ["link foo A/bar"]),
        ("symlink foo Abar", ["symlink ../foo A/bar"]),
        ("rename A B", ["rename A B"]),
        ("truncate foo 2500", ["truncate foo 2500"]),
        ("removexattr foo", ["removexattr foo user.xattr1"]),
        ("dwrite foo 0 8192", ["pwrite foo 0 8K direct-sync"]),
        ("dwrite foo 35768 32768", ["pwrite foo 35768 32K sync"]),
        ("sync", ["sync"]),
    ],
)
def test_a_line_that_goes_by_name(line, calls):
    """J-lang's names are paths without their slashes."""
    define = DEFINE.replace("bar\nA/foo", "bar\nB\nA/foo")
    assert lines(jlang.read(of(line, "checkpoint 1", define=define))) == calls


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("write foo 0 32768", ["write @foo 0 32K"]),
        ("falloc foo 0 0 5000", ["fallocate @foo alloc 0 5000"]),
        (
            "falloc foo FALLOC_FL_KEEP_SIZE|FALLOC_FL_ZERO_RANGE 0 4096",
            ["fallocate @foo zero-range-keep-size 0 4K"],
        ),
        ("falloc foo FALLOC_FL_PUNCH_HOLE|FALLOC_FL_KEEP_SIZE 0 4096", ["fallocate @foo punch-hole 0 4K"]),
        (
            "mmapwrite foo 0 32768",
            ["fallocate @foo alloc 0 32K", "mmapwrite @foo 0 32K", "msync @foo 0 8K"],
        ),
        ("fsetxattr foo", ["setxattr @foo user.xattr1 val1"]),
        ("fsync foo", ["fsync @foo"]),
        ("fdatasync foo", ["fdatasync @foo"]),
        ("dwrite foo 0 4096", ["close @foo", "pwrite foo 0 4K direct-sync"]),
        ("close foo", ["close @foo"]),
    ],
)
def test_a_line_that_goes_through_a_descriptor(line, calls):
    """What was opened before is used, so a rename in between changes nothing; dwrite closes it first."""
    assert lines(jlang.read(of("open foo O_RDWR 0777", line)))[1:] == calls


def test_a_second_open_of_a_name_loses_the_first_descriptor():
    """The C++ variable gets another value: the first file stays open and out of reach."""
    read = jlang.read(of("open foo O_CREAT 0777", "unlink foo", "open foo O_CREAT 0777", "close foo"))
    assert lines(read) == ["open foo @foo creat", "unlink foo", "open foo @foo-2 creat", "close @foo-2"]


def test_setup_is_a_function_of_its_own():
    """What setup opened stays open, and run opens it anew."""
    read = jlang.read(of("open foo O_RDWR 0777", "fsync foo", setup=("open foo O_RDWR|O_CREAT 0777",)))
    assert [text.format_operation(each) for each in read.setup] == ["open foo @foo creat"]
    assert lines(read) == ["open foo @foo-2", "fsync @foo-2"]
    assert unmapped(of("fsync foo", setup=("open foo O_CREAT 0777",))) == [(17, "foo is not open here")]


def test_files_of_before_september_2018_use_the_last_part_of_a_path():
    """`B/foo_link` is foo_link there; a name that two paths end in is told."""
    define = "# define \nA\nB\nA/foo\nB/foo_link\n\n"
    assert lines(jlang.read(of("link foo foo_link", "sync", define=define))) == [
        "link A/foo B/foo_link",
        "sync",
    ]
    both = "# define\nA/foo\nB/foo\n\n"
    assert unmapped(of("unlink foo", define=both)) == [(9, "foo can mean A/foo or B/foo")]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("frobnicate foo", "unknown operation frobnicate"),
        ("fsync", "fsync takes 1 arguments, not 0"),
        ("falloc foo 8000 4096", "falloc takes 4 arguments, not 3"),
        ("fsync bar", "bar is not open here"),
        ("unlink dummy", "dummy is not defined"),
        ("open foo O_RDWR|O_DIRECT 0777", "no workload word corresponds to O_DIRECT"),
        ("falloc foo FALLOC_FL_UNSHARE_RANGE 0 4096", "fallocate has no mode FALLOC_FL_UNSHARE_RANGE"),
        ("write foo -2000 5000", "-2000 is not a number of bytes"),
        ("write foo 0 4294967296", "more than 1 GiB"),
        ("mknod foo TEST_FILE_PERMS 0", "exactly one of S_IFCHR, S_IFBLK and S_IFIFO"),
        ("unlink test", "is the root of the mount"),
    ],
)
def test_a_line_without_a_counterpart_is_told_with_its_number(line, reason):
    """Nothing is left out in silence: the whole file is refused, with every such line."""
    found = unmapped(of("open foo O_CREAT 0777", line, "sync", "close Abar"))
    assert [place for place, _ in found] == [18, 20]
    assert reason in found[0][1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("", "no line `# run`"),
        (DEFINE, "no line `# run`"),
        ("#!/bin/sh\nls\n", "x:1: this is not J-lang: '#!/bin/sh' is not a section"),
        ("run\n  sync\n", "x:1: this is not J-lang: a line stands before"),
        ("# Replace a file.\nrun\n  sync\n", "x:1: this is not J-lang"),
        ("# run\nsync\n# run\nsync\n", "x:3: this is not J-lang: section run occurs twice"),
        ("# run\nhello world\n", "no J-lang operation"),
        ("# run\n", "no J-lang operation"),
    ],
)
def test_what_is_no_jlang_is_refused_as_such(words, message):
    """With the file's name and the line."""
    with pytest.raises(NotJlang, match=r"^x:") as caught:
        jlang.read(words, source="x")
    assert message in str(caught.value)


# --- writing -------------------------------------------------------------------------------------


def test_every_workload_of_ace_comes_back():
    """Written as J-lang and read again, the 294 of length 1 and some of length 2 are the same operations."""
    numbers = [(1, number) for number in range(ace.count(1))]
    numbers += [(2, number) for number in range(0, ace.count(2), 1999)]
    for length, number in numbers:
        workload = ace.workload(length, number)
        if workload is None:
            continue
        again = jlang.read(jlang.write(workload))
        assert (again.setup, again.run) == (workload.setup, workload.run)


def test_a_file_of_the_corpus_is_written_as_it_was():
    """Down to the checkpoints; the close before a dwrite is part of it."""
    words = [
        "open foo O_RDWR|O_CREAT 0777",
        "write foo 0 32768",
        "dwrite foo 0 8192",
        "open bar O_RDWR|O_CREAT 0777",
        "fsync bar",
        "checkpoint 0",
        "mmapwrite bar 0 32768",
        "checkpoint 1",
        "close bar",
    ]
    written = jlang.write(jlang.read(of(*words)))
    assert written.partition("# run\n")[2].splitlines() == words


def test_what_the_library_can_say_in_jlang_stays_the_same():
    """A call that opens for itself becomes open, call, close: the same calls; some forty workloads can."""
    written = 0
    for workload in library():
        try:
            words = jlang.write(workload)
        except NotExpressed:
            continue
        written += 1
        again = jlang.read(words)
        assert jlang.write(again) == words
        kept = [each.word for each in again.run if each.word not in ("open", "close", "pwrite")]
        assert kept == [
            each.word for each in workload.run if each.word not in ("open", "close", "creat", "pwrite")
        ]
    assert written > 40


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("chmod foo 600", "J-lang has no word for it"),
        ("append foo 4K", "J-lang has no word for it"),
        ("rename foo bar exchange", "J-lang's rename has no mode exchange"),
        ("setxattr foo user.a 1", "the only attribute of J-lang is user.xattr1"),
        ("removexattr foo user.a", "the only attribute of J-lang is user.xattr1"),
        ("pwrite foo 0 4K dsync", "J-lang's dwrite is always direct and synchronous"),
        ("symlink gone/../x foo", "in J-lang the target of a symlink must be a path in the mount"),
        ("mmapwrite foo 0 4K", "J-lang has no word for it"),
        ("creat a.b", "a.b cannot be used as the name of a C++ variable"),
        ("creat test", "test and . would have the same name in J-lang"),
    ],
)
def test_what_jlang_cannot_say_is_told(operation, reason):
    """Each operation with its reason."""
    (told,) = inexpressible(operation, "sync")
    assert reason in told


def test_two_paths_with_one_name_and_two_descriptors_of_one_file_are_told():
    """J-lang has one variable for a name."""
    assert inexpressible("mkdir A", "creat A/foo", "creat Afoo") == [
        "Afoo and A/foo would have the same name in J-lang"
    ]
    told = inexpressible("open foo @a creat", "open foo @b", "fsync @a", "fsync foo")
    assert told == [
        "J-lang has only one descriptor for each path, and foo was opened again after @a",
        "foo is opened a second time, and J-lang has only one descriptor for each path",
    ]


def test_threads_cannot_be_said():
    """Each operation of a parallel block is told."""
    words = "run\n  parallel\n    thread\n      sync\n    thread\n      sync\n"
    with pytest.raises(NotExpressed) as caught:
        jlang.write(text.parse(words))
    assert ["no threads" in each.reason for each in caught.value.reasons] == [True, True]
