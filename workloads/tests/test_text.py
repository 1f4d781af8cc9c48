"""The text form: what is refused and where, and that nothing is lost in between."""

import random
import re
from pathlib import Path

import msgspec
import pytest

from workloads import text, threads
from workloads.text import BadWorkload, canonical, format_operation, parse
from workloads.workload import Operation, Workload


def run(*operations: str) -> str:
    return "run\n" + "".join(f"  {operation}\n" for operation in operations)


def bad(words: str) -> BadWorkload:
    with pytest.raises(BadWorkload) as caught:
        parse(words, source="x")
    return caught.value


# Words that may stand in run alone, and not beside threads.
IN_RUN = ("fault", "errortag", "crash")


def parallel(*threads: str | tuple[str, ...]) -> str:
    """A run whose threads have these operations."""
    lines = ["run", "  parallel"]
    for operations in threads:
        lines += [
            "    thread",
            *(f"      {each}" for each in ([operations] if isinstance(operations, str) else operations)),
        ]
    return "\n".join(lines) + "\n"


LONG = "n" * 256

ERRORS = {
    "unknown word": ("run\n  sync\n  craet A\n", 3, 3, "did you mean creat?"),
    "unknown word without a near one": (run("qqqqqq A"), 2, 3, "The words are creat, mkdir"),
    "unknown deed": (run("subvol make A"), 2, 10, 'unknown value "make". Use one of create, delete'),
    "unknown way to rename": (
        run("rename A B swap"),
        2,
        14,
        'unknown value "swap". Use one of exchange, noreplace',
    ),
    "missing before an optional one": (run("rename A"), 2, 12, "missing NEW: rename OLD NEW [HOW]"),
    "near another word": (run("snapshoot A"), 2, 3, "did you mean snapshot?"),
    "block as a word": ("run\n  sync\n  run\n", 3, 3, "run begins a block"),
    "missing argument": (run("write A 0"), 2, 13, "missing LENGTH: write PATH OFFSET LENGTH"),
    "missing after a quoted one": (run('link "A B"  # c'), 2, 14, "missing NEW"),
    "extra argument": (run("sync A"), 2, 8, 'extra argument "A": sync'),
    "negative number": (run("write A -1 8"), 2, 11, "negative"),
    "negative number with suffix": (run("write A 0 -8K"), 2, 13, "negative"),
    "unknown suffix": (run("write A 0 8G"), 2, 13, 'unknown suffix "G"'),
    "lower case suffix": (run("truncate A 8k"), 2, 14, 'unknown suffix "k"'),
    "no number": (run("append A 0x10"), 2, 12, "0x"),
    "broken number": (run("append A 1.5K"), 2, 12, "not a decimal number"),
    "foreign digits": (run("append A ٣"), 2, 12, "not a decimal number"),
    "large number": (run("truncate A 1025M"), 2, 14, "more than 1 GiB"),
    "number of 5000 digits": (run("truncate A " + "9" * 5000), 2, 14, "more than 1 GiB"),
    "absolute path": (run("creat /A"), 2, 9, "outside the mount"),
    "parent component": (run("rename A B/../C"), 2, 12, "without .."),
    "empty path": (run('creat ""'), 2, 9, "empty path"),
    "empty component": (run("creat A//B"), 2, 9, "empty or '.'"),
    "trailing slash": (run("mkdir A/"), 2, 9, "empty or '.'"),
    "dot component": (run("creat ./A"), 2, 9, "empty or '.'"),
    "long component": (run(f"creat A/{LONG}"), 2, 9, "256 bytes; at most 255"),
    "component long in bytes": (run("creat " + "ä" * 128), 2, 9, "256 bytes"),
    "long path": (run("creat " + "/".join(["n" * 200] * 21)), 2, 9, "at most 4095"),
    "root where a name is needed": (run("sync", "unlink ."), 3, 10, "needs a path below it"),
    "root as new name": (run("link A ."), 2, 10, "NEW of link"),
    "empty symlink": (run('symlink "" A'), 2, 11, "TARGET of symlink: a symlink must have a target"),
    "attribute of another space": (run("setxattr A security.x 1"), 2, 14, "not an attribute name"),
    "attribute without a name": (run("removexattr A user."), 2, 17, "not an attribute name"),
    "unknown mode": (run("fallocate A punch 0 4K"), 2, 15, 'unknown value "punch". Use one of alloc'),
    "device without a colon": (run("mknod A chr 3"), 2, 15, "is not MAJOR:MINOR"),
    "device number too large": (
        run("mknod A blk 4096:0"),
        2,
        15,
        "at most 4095 is allowed for major and 1048575 for minor",
    ),
    "unknown type of node": (run("mknod A fifo 1:3"), 2, 11, 'unknown value "fifo". Use one of chr, blk'),
    "direct write that is not aligned": (run("pwrite A 0 100 direct"), 2, 14, "needs multiples of 512"),
    "atomic write of an odd length": (run("atomicwrite A 0 12K"), 2, 19, "has 512, 1K, 2K, 4K"),
    "atomic write that is too long": (run("atomicwrite A 0 32M"), 2, 19, "16M at most"),
    "atomic write beside its place": (run("atomicwrite A 4K 8K"), 2, 17, "at a multiple of its length"),
    "unknown flag": (run("open A @a rdonly"), 2, 13, 'unknown value "rdonly". Use one of creat'),
    "flag twice": (run("open A @a sync,sync"), 2, 13, '"sync" is given twice'),
    "descriptor without @": (run("open A a"), 2, 10, "is not a descriptor"),
    "descriptor nobody opened": (run("sync", "fsync @a"), 3, 9, 'no descriptor "@a" is open here'),
    "descriptor closed before": (run("open . @a", "close @a", "fsync @a"), 4, 9, "is open here"),
    "descriptor opened twice": (run("open . @a", "tmpfile . @a"), 3, 13, "is open already"),
    "descriptor where needs a path": (run("open . @a", "unlink @a"), 3, 10, "needs a path"),
    "remount over a descriptor": (run("open . @a", "remount"), 3, 3, "while @a is open"),
    "missing one of two optional": (run("msync A 0"), 2, 13, "missing LENGTH: msync PATH [OFFSET LENGTH]"),
    "permissions of four digits": (run("chmod A 4755"), 2, 11, "not three octal digits"),
    "list without its mask": (run("setfacl A u::rw-,u:7:r--,g::r--,o::---"), 2, 13, "missing: m::"),
    "no owner": (run("chown A root"), 2, 11, "is not UID:GID"),
    "inode flag nobody knows": (run("chattr A +z"), 2, 12, "one of A, C, D, S, a, d, i, j"),
    "time that a clock may show": (run("utimes A 1000000000"), 2, 12, "from 0 to 999999999"),
    "long wait": (run("wait 10001"), 2, 8, "from 0 to 10000"),
    "missing one of three": (
        run("clone A B 0"),
        2,
        15,
        "missing LENGTH: clone SOURCE TARGET [OFFSET LENGTH AT]",
    ),
    "tab as indentation": ("run\n\tsync\n", 2, 1, "tab: use spaces"),
    "tab between words": (run("creat\tA"), 2, 8, "tab: use spaces"),
    "carriage return": ("run\r\n  sync\r\n", 1, 4, "carriage return"),
    "control character in a name": (run("creat A\x07B"), 2, 10, "U+0007"),
    "form feed in a comment": ("# a\x0cb\n" + run("sync"), 1, 4, "U+000C"),
    "line separator": (run('creat "A\u2028B"'), 2, 11, "U+2028"),
    "lone surrogate": (run("creat \udc80"), 2, 9, "U+DC80"),
    "empty text": ("", 1, 1, "empty workload"),
    "comments alone": ("# nothing\n\n", 1, 10, "empty workload"),
    "empty run": ("setup\n  sync\nrun\n", 3, 4, "no operation in run"),
    "setup alone": ("setup\n  sync\n", 2, 7, "no operation in run"),
    "umount before the end": (run("sync", "umount", "sync"), 3, 3, "only as the last word of run"),
    "umount in setup": ("setup\n  umount\n" + run("sync"), 2, 3, "only as the last word of run"),
    "unknown block": ("prepare\n  sync\n", 1, 1, 'unknown block "prepare"'),
    "operation without indentation": ("run\nsync\n", 2, 1, "sync must be indented"),
    "operation before the first block": ("# c\n  sync\n" + run("sync"), 2, 3, "before the first block"),
    "block twice": (run("sync") + "run\n", 3, 1, "block run occurs twice"),
    "setup after run": (run("sync") + "setup\n", 3, 1, "setup must come before run"),
    "words after a block": ("run now\n  sync\n", 1, 5, "after the block's name"),
    "open quote": (run('creat "A'), 2, 9, "a quoted word must start and end"),
    "quote inside a word": (run('creat A"B"'), 2, 10, "a quoted word must start and end"),
    "words that touch": (run('link "A""B"'), 2, 8, "a quoted word must start and end"),
    "unknown escape": (run(r'creat "A\n"'), 2, 11, "unknown escape"),
    "parallel in setup": ("setup\n  parallel\n    thread\n", 2, 3, "parallel is not allowed in setup"),
    "parallel in parallel": ("run\n  parallel\n    parallel\n", 3, 5, "a thread holds only operations"),
    "words after parallel": ("run\n  parallel 2\n", 2, 12, '"2" after parallel'),
    "thread alone": ("run\n  thread\n", 2, 3, "thread must be indented below parallel"),
    "thread beside parallel": ("run\n  parallel\n  thread\n", 2, 3, "needs 2 to 4 threads"),
    "one thread": (parallel("sync") + "  sync\n", 2, 3, "needs 2 to 4 threads"),
    "five threads": (parallel(*["sync"] * 5), 11, 5, "more than 4 threads"),
    "thread without operations": (
        "run\n  parallel\n    thread\n    thread\n      sync\n",
        3,
        5,
        "has no operation",
    ),
    "last thread without operations": (parallel("sync", ()) + "  sync\n", 5, 5, "thread has no operation"),
    "operation beside threads": (parallel("sync", "sync") + "    sync\n", 7, 5, "below one of its threads"),
    "operation before threads": ("run\n  parallel\n    sync\n", 3, 5, "below one of its threads"),
    "threads out of line": (
        "run\n  parallel\n    thread\n      sync\n     thread\n",
        5,
        6,
        "the same indentation",
    ),
    "remount in parallel": (parallel("sync", "remount"), 6, 7, "unmounts the filesystem"),
    "umount in parallel": (parallel("sync", "umount"), 6, 7, "unmounts the filesystem"),
    "fault in parallel": (parallel("fault off", "sync"), 4, 7, "device that the other threads use"),
    "append in parallel": (
        parallel("sync", ("sync", "append A 1")),
        7,
        7,
        "use write, which names the offset",
    ),
    "mmapwrite in parallel": (parallel("mmapwrite A 4095 2", "sync"), 4, 7, "one page of 4K alone"),
    "long write in parallel": (parallel("write A 0 65K", "sync"), 4, 7, "64K at most"),
    "await alone": (run("await 1"), 2, 3, "must be in a thread of a parallel block"),
    "stop alone": (run("stop ext4_link 1"), 2, 3, "must be in a thread of a parallel block"),
    "stop before an entry": (parallel("stop ext4_link 0", "sync"), 4, 22, "entries are counted from 1"),
    "stop at no function": (parallel("stop 4ext 1", "sync"), 4, 12, "not the name of a function in C"),
    "stop of no call": (
        parallel(("sync", "stop ext4_link 1"), "sync"),
        5,
        7,
        "no call of this thread follows",
    ),
    "stop of no call in the last thread": (
        parallel("sync", ("stop ext4_link 1", "await 1")),
        6,
        7,
        "no call of this thread follows",
    ),
    "stop of others": (parallel("stop ext4_link 1 all", "sync"), 4, 24, "Use one of return, workers"),
    "await too much": (parallel("await 1001", "sync"), 4, 13, "from 0 to 1000"),
    "descriptor of another thread": (
        parallel("open A @a", "fsync @a"),
        6,
        13,
        'thread 1 opens "@a", possibly after this operation',
    ),
    "descriptor closed for others": (
        parallel("close @a", "fsync @a").replace("run\n", "run\n  open A @a\n"),
        5,
        13,
        "Close it after the block",
    ),
    "fault beside threads": (
        parallel("sync", "sync") + "  fault off\n",
        7,
        3,
        "fault cannot be combined with parallel blocks",
    ),
    "too many orders": (parallel(["sync"] * 6, ["sync"] * 7), 17, 7, "1716 orders, and at most 1000"),
    "too many orders in two blocks": (
        parallel(["sync"] * 4, ["sync"] * 4) + parallel(["sync"] * 3, ["sync"] * 3)[4:],
        21,
        7,
        "1400 orders",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_every_error_names_its_line_and_column(case):
    """Each kind of bad text is refused at the very character where it goes wrong."""
    words, line, column, message = ERRORS[case]
    error = bad(words)
    assert (error.line, error.column) == (line, column), error
    assert message in error.message


def test_error_text_shows_the_place():
    """An error reads FILE:LINE:COLUMN: and shows the line with a caret below the place."""
    assert str(bad(run("write A 0 8G"))).split("\n") == [
        'x:2:13: LENGTH of write: unknown suffix "G": only K (1024) and M (1024 K)',
        "      write A 0 8G",
        "                ^",
    ]


def test_error_in_a_long_line_shows_what_surrounds_it():
    """The excerpt of a line of a million characters stays short, its caret below the right one."""
    error = bad(run("sync" + " " * 1_000_000 + "ä" + " b" * 1_000_000))
    assert error.column == 1_000_007
    shown, caret = str(error).split("\n")[1:]
    assert len(shown) < 120
    assert shown[caret.index("^")] == "ä"


def test_control_characters_do_not_reach_the_terminal():
    """An escape sequence in the text is shown as a question mark."""
    assert "\x1b" not in str(bad(run("creat \x1b[31mA")))


def test_too_many_operations():
    """A stamp has 16 bits, so the 60,001st operation of setup and run together is refused."""
    setup = "setup\n" + "  sync\n" * 30_000
    parse(setup + "run\n" + "  sync\n" * 30_000)
    error = bad(setup + "run\n" + "  sync\n" * 30_001)
    assert (error.line, error.column) == (60_003, 3)


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [(b"\xff", 1, 1), (b"run\n  creat \xc3\xa4\xe4b\n  sync\n", 2, 10), (b"run\n  sync # \xc3", 2, 10)],
)
def test_bytes_that_are_not_utf8(data, line, column):
    """The first byte that is not UTF-8 is named with its line and column."""
    with pytest.raises(BadWorkload, match="not UTF-8") as caught:
        text.decode(data)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_what_a_parsed_workload_holds():
    """Blocks, arguments, line numbers and the header go where the data says."""
    words = "# One.\n#\n# Two.\nsetup\n  mkdir A # why\n\nrun\n      write A/foo 4K 1M\n  # between\n  sync\n"
    assert parse(words, name="n", theme="t") == Workload(
        name="n",
        theme="t",
        comment=("One.", "", "Two."),
        setup=(Operation("mkdir", path="A", line=5),),
        run=(
            Operation("write", path="A/foo", offset=4096, length=1 << 20, line=8),
            Operation("sync", line=10),
        ),
    )


def test_quoted_names_lose_their_quotes():
    """Spaces, quotes, backslashes and a leading # stand in quoted words; # inside a word is itself."""
    words = run(r'link "a \"b\" \\" "#c" # d', "creat e#f")
    first, second = parse(words).run
    assert (first.path, first.path2, second.path) == ('a "b" \\', "#c", "e#f")


def test_link_and_symlink_name_their_sides():
    """link and rename keep OLD in path; symlink keeps its text in target and its name in path."""
    link, symlink = parse(run("link A B", "symlink /etc/../x S")).run
    assert (link.path, link.path2) == ("A", "B")
    assert (symlink.path, symlink.target) == ("S", "/etc/../x")


def test_the_root_may_be_synced():
    """`.` is the root of the mount for fsync and attributes."""
    assert [operation.path for operation in parse(run("fsync .", "setxattr . user.x 1")).run] == [".", "."]


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [(0, "0"), (1, "1"), (1023, "1023"), (1024, "1K"), (1536, "1536"), (1 << 20, "1M"), (1 << 30, "1024M")],
)
def test_sizes_are_shown_exactly(size_bytes, shown):
    """K and M are used only where nothing is rounded."""
    assert text.format_size(size_bytes) == shown
    assert parse(run(f"append A {shown}")).run[0].length == size_bytes


def test_one_operation_as_one_line():
    """format_operation gives the line as it is written in a workload."""
    operation = Operation("fallocate", path="A b", mode="keep-size", offset=8192, length=100)
    assert format_operation(operation) == 'fallocate "A b" keep-size 8K 100'


def test_format_is_canonical():
    """Indentation, comments between lines and spelled out sizes do not survive; the header does."""
    words = "#  About.\nsetup\n      sync\n\nrun\n # why\n append   A 8192\n"
    assert text.format(parse(words)) == "#  About.\nsetup\n  sync\nrun\n  append A 8K\n"


def draw(random_: random.Random) -> Operation:
    """Any operation the text form can hold."""
    word = random_.choice(
        [
            word
            for word in text.WORDS
            if word not in ("umount", "remount", "open", "tmpfile", "close", "await", "stop")
        ]
    )
    name = lambda: "".join(random_.choices('ab/ "\\#ä.', k=6)).strip("/")  # noqa: E731
    path = lambda: "/".join(f"{part}x" for part in name().split("/"))  # noqa: E731
    values = {
        text.Kind.ANYWHERE: lambda: random_.choice([".", path()]),
        text.Kind.BELOW_ROOT: path,
        text.Kind.FILE: path,
        text.Kind.ANYTHING: lambda: random_.choice([".", path()]),
        text.Kind.DESCRIPTOR: lambda: f"@{random_.randrange(1 << 60)}",
        text.Kind.TARGET: lambda: name() or "t",
        text.Kind.NUMBER: lambda: random_.choice([0, 1, 1 << 30, random_.randrange(1 << 20) * 1024, 4097]),
        text.Kind.DEVICE: lambda: random_.choice(["0:0", "1:3", "4095:1048575"]),
        text.Kind.XATTR: lambda: "user." + (name() or "n"),
        text.Kind.VALUE: name,
        text.Kind.PERMISSIONS: lambda: f"{random_.randrange(0o1000):03o}",
        text.Kind.ACL: lambda: "u::rw-,u:7:r--,g::r--,m::r--,o::---",
        text.Kind.OWNER: lambda: f"{random_.randrange(65536)}:0",
        text.Kind.FLAG: lambda: random_.choice("+-") + random_.choice("ACDSadij"),
        text.Kind.SECONDS: lambda: random_.choice([0, 1024, 999_999_999]),
        text.Kind.MILLISECONDS: lambda: random_.choice([0, 2048, 10_000]),
        text.Kind.MICROSECONDS: lambda: random_.choice([0, 1024, 100_000]),
        text.Kind.PLACE: lambda: random_.choice([1, 4096]),
        text.Kind.TAG: lambda: random_.choice(["larp", "rmap_finish_one"]),
        text.Kind.FUNCTION: lambda: random_.choice(["ext4_link", "f.isra.0"]),
        text.Kind.ENTRY: lambda: random_.choice([1, 1024]),
        text.Kind.BYTE: lambda: random_.choice([0, 255]),
    }
    if word == "fault":
        kind = random_.choice(list(text.FAULTS))
        arguments, optional = text.FAULTS[kind].arguments, text.FAULTS[kind].optional
    else:
        kind = ""
        arguments, optional = text.WORDS[word].arguments, text.WORDS[word].optional
    if optional and random_.random() < 0.5:
        arguments = arguments[:-optional]
    drawn = {
        argument.field: random_.choice(argument.choices) if argument.choices else values[argument.kind]()
        for argument in arguments
    }
    if kind:
        drawn["mode"] = kind
    if "direct" in drawn.get("mode", ""):
        drawn |= {"offset": 4096, "length": 512}
    if word == "atomicwrite":
        drawn |= {"offset": 16384, "length": 8192}
    return Operation(word, **drawn)


@pytest.mark.parametrize("seed", range(20))
def test_format_then_parse_gives_the_same(seed):
    """Whatever operations are drawn, parse(format(w)) == canonical(w)."""
    random_ = random.Random(seed)
    setup = tuple(drawn for _ in range(random_.randrange(40)) if (drawn := draw(random_)).word not in IN_RUN)
    run_ = [draw(random_) for _ in range(random_.randrange(1, 40))]
    drawn = tuple(each for each in run_ if each.word != "crash") or (Operation("sync"),)
    comment = tuple(random_.choices(["", "One.", "  two ", "# three"], k=seed % 4))
    workload = Workload("n", setup, drawn, comment, "t")
    assert parse(text.format(workload), "n", "t") == canonical(workload)


def draw_threaded(random_: random.Random) -> list[Operation]:
    """Operations with parallel blocks between them, counted in any ascending way."""
    drawn, block = [], 0
    for _ in range(random_.randrange(1, 5)):
        block += random_.randrange(1, 3)
        alone = [draw(random_) for _ in range(random_.randrange(3))]
        drawn += [each for each in alone if each.word not in IN_RUN and not threads.refusal(each)]
        thread = 0
        for _ in range(random_.randrange(1, 4)):
            thread += random_.randrange(1, 3)
            for _ in range(random_.randrange(1, 3)):
                each = msgspec.structs.replace(draw(random_), parallel=block, thread=thread)
                drawn += [] if threads.refusal(each) else [each]
    return drawn


@pytest.mark.parametrize("seed", range(40))
def test_format_then_parse_gives_the_same_with_threads(seed):
    """The same with parallel blocks; one with a single thread left is none."""
    drawn = draw_threaded(random.Random(seed))
    workload = Workload("n", (), (*drawn, Operation("sync")), ("One.",), "t")
    if threads.order_count(threads.numbered(drawn)) > threads.ORDERS_MAX:
        with pytest.raises(BadWorkload, match=r"take effect in [0-9]+ orders"):
            parse(text.format(workload))
    else:
        assert parse(text.format(workload), "n", "t") == canonical(workload)
        assert text.format(canonical(workload)) == text.format(workload)


def test_threads_are_read_as_they_stand():
    """Blocks and threads are counted from 1, and what is indented less than `parallel` is alone again."""
    words = (
        parallel(("creat A", "sync"), "sync")
        + "  parallel\n    thread\n     sync\n    thread\n     sync\n  sync\n"
    )
    parsed = parse(words)
    assert [(op.word, op.parallel, op.thread) for op in parsed.run] == [
        ("creat", 1, 1),
        ("sync", 1, 1),
        ("sync", 1, 2),
        ("sync", 2, 1),
        ("sync", 2, 2),
        ("sync", 0, 0),
    ]
    assert parsed.parallel
    assert not parse(run("sync")).parallel


def test_a_descriptor_from_before_serves_all_threads():
    """And one that a thread opened serves what comes after the block."""
    words = parallel("fsync @a", ("open B @b", "fsync @a")).replace("run\n", "run\n  open A @a\n")
    assert parse(words + "  fsync @b\n  close @a\n").run[-1].path == "@a"


def test_canonical_forms_compare_what_is_done():
    """Two texts that do the same in different places have one canonical form, others have not."""
    first, second = parse("run\n\n\n  sync\n"), parse("run\n  sync\n")
    assert first != second
    assert canonical(first) == canonical(second) == second
    assert canonical(parse(run("sync", "sync"))) != canonical(first)


def test_a_workload_names_the_config_it_needs_in_its_header() -> None:
    assert parse("# about\n# config: debug, small\nrun\n  sync\n").config == ("debug", "small")
    assert parse("# about the config: debug\nrun\n  sync\n").config == ()


REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "words.md"


@pytest.mark.parametrize("word", text.WORDS)
def test_the_reference_has_every_word(word):
    """Under a heading of its own."""
    assert f"#### {word}" in REFERENCE.read_text().splitlines()


@pytest.mark.parametrize("kind", text.FAULTS)
def test_the_reference_has_every_fault(kind):
    """In the table of the word `fault`."""
    assert re.search(rf"^\| `fault {re.escape(kind)}\b", REFERENCE.read_text(), re.MULTILINE)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fault", "missing KIND"),
        ("fault smoke", "unknown"),
        ("fault corrupt 0 1", "counted from 1"),
        ("fault corrupt 1", "missing VALUE"),
        ("fault corrupt 1 256", "not a number from 0 to 255"),
        ("fault error-writes some", "unknown"),
        ("fault off now", "extra argument"),
    ],
)
def test_a_fault_that_is_none_is_refused(line, message):
    """With what is wrong, and where."""
    with pytest.raises(BadWorkload, match=message):
        parse(run(line))


def test_setup_is_made_on_a_sound_device():
    with pytest.raises(BadWorkload, match="fault is not allowed in setup"):
        parse("setup\n  fault off\nrun\n  sync\n")


def test_a_workload_with_fault_lines_is_faulty():
    assert parse(run("fault drop-writes", "sync")).faulty
    assert not parse(run("sync")).faulty


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (run("errortag"), "missing TAG"),
        (run("errortag Rmap"), "small letters"),
        (run("errortag ../x"), "small letters"),
        (run("errortag rmap_finish_one 3"), "unknown value"),
        ("setup\n  errortag larp\nrun\n  sync\n", "errortag is not allowed in setup, .* filesystem"),
        (parallel("errortag larp", "sync"), "not allowed in a parallel block"),
        (parallel("sync", "sync") + "  errortag larp\n", "cannot be combined with parallel blocks"),
        (run("errortag larp", "remount"), "not allowed while errortag larp is on"),
    ],
)
def test_an_error_tag_that_cannot_be_is_refused(text, message):
    """With what is wrong; a remount would hide what the unmount could not write."""
    with pytest.raises(BadWorkload, match=message):
        parse(text)


MADE = ("write foo 0 4K", "fsync foo")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("setup\n  crash\nrun\n  sync\n", "crash is not allowed in setup"),
        (parallel("crash", "sync"), "crash is not allowed in a parallel block"),
        (parallel("sync", "sync") + "  crash\n", "parallel blocks and crash cannot stand in one"),
        (run("fault error-writes", "crash"), "fault and crash cannot stand in one"),
        (run("write foo 0 4K", "crash"), "Put fsync foo, or sync, between the two"),
        (run(*MADE, "append foo 4K", "crash"), "Put fsync foo, or sync"),
        (run(*MADE, "crash", "append foo 4K", "crash"), "Put fsync foo, or sync"),
        (run("open foo @a creat", "crash"), "Put fsync foo, or sync"),
        (run("open foo @a trunc", "crash"), "Put fsync foo, or sync"),
        (run("link foo A/bar", "crash"), "Put fsync . and fsync A, or sync"),
        (run("rename foo bar exchange", "fsync .", "crash"), "what rename did. Put sync"),
        (run("symlink foo bar", "fsync .", "crash"), "what symlink did. Put sync"),
        *((run(*MADE, "crash", word), f"{word} is not allowed behind crash") for word in ("sync", "umount")),
        (run("open foo @a", "sync", "crash", "fsync @a"), "no descriptor"),
    ],
)
def test_a_crash_that_may_take_what_nobody_knows_of_is_refused(text, message):
    """The oracles take it that all before it was durable."""
    with pytest.raises(BadWorkload, match=message):
        parse(text)


@pytest.mark.parametrize(
    "before",
    [
        (*MADE, "crash"),
        ("open foo @a creat", "write @a 0 4K", "fsync @a"),
        ("symlink foo bar", "sync"),
        ("link foo A/bar", "fsync A", "fsync ."),
        ("open foo @a", "unlink foo", "freeze", "thaw"),
        ("evict .", "fdatasync foo"),
    ],
)
def test_a_crash_may_follow_what_is_durable(before):
    assert parse(run(*before, "crash", "open bar @a creat")).crashes
    assert not parse(run("sync")).crashes


def test_an_error_tag_that_is_off_again_lets_remount():
    assert parse(run("errortag larp", "errortag larp off", "remount")).injects
    assert not parse(run("sync")).injects
