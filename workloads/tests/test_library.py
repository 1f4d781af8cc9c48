"""The library: every workload is whole, legal and described; and the choice among them."""

import re
from pathlib import Path

import pytest

from workloads import library as lib
from workloads import text
from workloads.library import BadSelection, library, matches, select
from workloads.workload import Operation, Workload

ALL = pytest.mark.parametrize("workload", library(), ids=lambda workload: workload.name)


# What it is for is a call that fails.
REFUSED = {"whiteout-refused-in-synchronous-directory"}
LONG_TEXT = 1024  # characters of an operation: xfs takes 1,023 bytes of a symlink
RESERVING = ("fill", "fallocate", "truncate")


class Names:
    """A filesystem's names and nothing else: enough to say whether an operation can succeed."""

    def __init__(self):
        self.type = {"root": "directory"}  # by inode
        self.xattrs = {"root": set()}
        self.inode = {".": "root"}  # by path
        self.target = {}  # of symlinks, by inode

    def parent(self, path):
        return path.rpartition("/")[0] or "."

    def below(self, path):
        return [each for each in self.inode if each.startswith(path + "/")]

    def followed(self, path):
        """Where a symlink leads to, in the root as all of the library's that are written through."""
        return self.target.get(self.inode.get(path), path)

    def is_a(self, path, *types):
        return path in self.inode and self.type[self.inode[path]] in types

    def make(self, path, type_):
        assert path not in self.inode
        assert self.is_a(self.parent(path), "directory")
        inode = f"inode {len(self.type)}"
        self.inode[path], self.type[inode], self.xattrs[inode] = inode, type_, set()

    def do(self, operation: Operation):
        path, new = operation.path, operation.path2
        match operation.word:
            case "creat":
                self.make(path, "file")
            case "mkdir":
                self.make(path, "directory")
            case "mknod" | "mkfifo":
                self.make(path, "node")
            case "symlink":
                self.make(path, "symlink")
                self.target[self.inode[path]] = operation.target
            case "subvol":
                if operation.mode == "create":
                    self.make(path, "directory")
                for each in [*self.below(path), path] if operation.mode == "delete" else []:
                    del self.inode[each]
            case "snapshot":
                self.make(new, "directory")
                for each in self.below(path) if path != "." else list(self.inode):
                    if each not in (".", new):
                        copy = each if path == "." else each[len(path) + 1 :]
                        self.make(f"{new}/{copy}", self.type[self.inode[each]])
            case "open":
                if path not in self.inode:
                    assert "creat" in operation.mode
                    self.make(path, "file")
                self.inode[operation.descriptor] = self.inode[path]
            case "tmpfile":
                assert self.is_a(path, "directory")
                self.make(operation.descriptor, "file")
            case "close":
                del self.inode[path]
            case "write" | "append" | "pwrite" | "fill":
                path = self.followed(path)
                if path not in self.inode:
                    self.make(path, "file")
                assert self.is_a(path, "file")
            case "link":
                assert self.is_a(path, "file", "symlink", "node")
                assert new not in self.inode
                assert self.is_a(self.parent(new), "directory")
                self.inode[new] = self.inode[path]
            case "unlink":
                assert self.is_a(path, "file", "symlink", "node")
                del self.inode[path]
            case "rmdir":
                assert self.is_a(path, "directory")
                assert not self.below(path)
                del self.inode[path]
            case "rename":
                self.rename(path, new, operation.mode)
            case "truncate" | "fallocate" | "mmapwrite" | "msync" | "atomicwrite" | "defragment" | "verity":
                assert self.is_a(path, "file")
            case "clone" | "dedupe" | "copyrange":
                assert self.is_a(path, "file")
                assert self.is_a(new, "file")
            case "chmod" | "chown" | "utimes" | "setfacl":
                assert path in self.inode
            case "chattr":
                assert self.is_a(path, "file", "directory")
            case "sync_file_range":
                assert self.is_a(path, "file")
            case "setxattr":
                symlink = ("symlink",) if operation.name.startswith("trusted.") else ()
                assert self.is_a(path, "file", "directory", *symlink)
                self.xattrs[self.inode[path]].add(operation.name)
            case "removexattr":
                self.xattrs[self.inode[path]].remove(operation.name)
            case "fsync" | "fdatasync":
                assert self.is_a(self.followed(path), "file", "directory")
            case "evict":
                assert path in self.inode
            case word:
                assert word in (
                    "sync",
                    "syncfs",
                    "wait",
                    "remount",
                    "umount",
                    "fault",
                    "errortag",
                    "await",
                    "freeze",
                    "thaw",
                    "grow",
                    "relocate",
                    "trim",
                    "crash",
                )

    def rename(self, old, new, mode):
        assert old in self.inode
        assert self.is_a(self.parent(new), "directory")
        assert not new.startswith(old + "/")
        assert mode != "noreplace" or new not in self.inode
        if mode == "exchange":
            assert not old.startswith(new + "/")
            apart = {new: old, old: new}
            moved = {
                apart[side] + each[len(side) :]: self.inode.pop(each)
                for side in (old, new)
                for each in [*self.below(side), side]
            }
            self.inode.update(moved)
            return
        if new in self.inode:
            assert self.is_a(old, "directory") == self.is_a(new, "directory")
            assert self.inode[old] != self.inode[new], "rename between names of one file does nothing"
            assert not self.below(new)
        moved = {new + each[len(old) :]: self.inode.pop(each) for each in [*self.below(old), old]}
        self.inode.update(moved)
        if mode == "whiteout":
            self.make(old, "node")


def test_headers_say_which_operations_may_fail():
    """Only where the filesystem is full, does not know them, has no room for so long a text, or stops; each
    line names operations that there are."""
    for workload in library():
        unknown = all("-range " in line or len(line) > LONG_TEXT for line in workload.may_fail)
        assert workload.theme in ("full", "stopped") or unknown or workload.name in REFUSED
        said = {text.format_operation(operation) for operation in (*workload.setup, *workload.run)}
        assert not [line for line in workload.may_fail if line not in said], workload.name


def test_every_word_meets_a_full_filesystem():
    """Behind a fill, in setup and in run, but for those that may stand in run alone; `fault` has oracles of
    its own, which ask of a device and not of space, `errortag` stops the filesystem, `stop` is drawn, others
    take none."""
    met = {"setup": set(), "run": set()}
    for workload in library():
        filled = False
        for block, operations in (("setup", workload.setup), ("run", workload.run)):
            for operation in operations if workload.theme == "full" else ():
                filled = filled or operation.word == "fill"
                met[block] |= {operation.word} if filled else set()
    needing = set(text.WORDS) - {
        "fault",
        "errortag",
        "stop",
        "freeze",
        "thaw",
        "grow",
        "relocate",
        "trim",
        "crash",
    }
    assert needing - met["run"] == set()
    assert needing - met["setup"] == {"await", "umount"}


@ALL
@pytest.mark.parametrize("room", ["enough", "none"])
def test_every_operation_can_succeed(workload, room):
    """Done in order, each operation finds what it works on and makes nothing twice. So it is, too, when all
    those have failed that may."""
    names = Names()
    for operation in (*workload.setup, *workload.run):
        left_out = room == "none" or workload.name in REFUSED
        if left_out and text.format_operation(operation) in workload.may_fail:
            continue
        try:
            names.do(operation)
        except (AssertionError, KeyError) as error:
            pytest.fail(f"line {operation.line}, {text.format_operation(operation)}: {error}")


def test_the_check_of_names_sees_mistakes():
    """The simulation above refuses what a kernel would refuse."""
    for mistake in [
        "creat A/b",
        "mkdir f",
        "fsync h",
        "rename d d/e",
        "rename f d",
        "rmdir f",
        "link d e",
        "rename f g noreplace",
        "msync d",
    ]:
        workload = text.parse(f"setup\n  mkdir d\n  creat f\n  creat g\nrun\n  {mistake}\n")
        names = Names()
        for operation in workload.setup:
            names.do(operation)
        with pytest.raises(AssertionError):
            names.do(workload.run[0])


@ALL
def test_round_trip(workload):
    """Every file of the library is already in canonical form."""
    path = lib.ROOT / workload.theme / f"{workload.name}{lib.SUFFIX}"
    assert text.format(workload) == path.read_text()
    assert text.canonical(workload) == workload


# The first lines of a header, in this order: what each is, and its form.
HEADERS = (
    ("a sentence of 22 to 112 characters that says what the workload is for", r"[A-Z].{20,110}[.]"),
    (
        '"guards: " with a commit and its "subject"; or "no known bug; ...", or a test of fstests',
        r'guards: (([0-9a-f]{12} )?\(?"\w.*"\)?; |no known bug; |fstests |B3-\d|the judge).*',
    ),
    ('"lost: " and a sentence that says what would be lost', r"lost: \S.*\."),
)


def wrong_headers(workload):
    """A line for each of the first three lines of the header that is missing or has another form."""
    file = f"{workload.theme}/{workload.name}{lib.SUFFIX}"
    lines = (*workload.comment, *["(nothing)"] * len(HEADERS))
    return [
        f"{file}: line {number} of the header must be {what}; it is: {line}"
        for number, ((what, form), line) in enumerate(zip(HEADERS, lines, strict=False), 1)
        if not re.fullmatch(form, line)
    ]


@ALL
def test_headers_are_complete(workload):
    """The header says in one sentence what it is for, then what it guards and what was lost."""
    assert not wrong_headers(workload), "\n".join(wrong_headers(workload))


def test_a_missing_header_is_named():
    """With the file and with what should stand there."""
    source = "# One purpose, said in a sentence.\n# guards: no known bug; none\nrun\n  sync\n"
    (wrong,) = wrong_headers(text.parse(source, name="mine", theme="link"))
    assert wrong.startswith('link/mine.workload: line 3 of the header must be "lost: "')
    assert wrong.endswith("it is: (nothing)")
    nothing = wrong_headers(text.parse("run\n  sync\n", name="mine", theme="link"))
    assert [line.split(":")[1][:7] for line in nothing] == [" line 1", " line 2", " line 3"]


# Their headers say why they take so many.
LONG = {
    "unlinked-file-shares-every-second-block": 186,
    "fsynced-files-relocated-before-the-next-fsync": 30,
    "deleted-subvolumes-are-dropped": 20,
    "directory-of-new-files-fsynced-beside-others": 48,
    "made-and-removed-beside-fsyncs": 19,
    "renamed-beside-fsyncs-of-a-neighbour": 19,
    "every-second-name-removed": 63,
    "logs-of-many-subvolumes": 24,
    "files-overwritten-and-fsynced-in-turn": 30,
    "fsync-overtakes-syncfs": 30,
    "inode-chunk-reused": 70,
    "link-removed-beside-many-new-names": 135,
    "attributes-set-then-one-fsynced": 21,
    "many-files-made-then-one-fsynced": 252,
    "merged-extents-block-reused": 85,
    "metadata-blocks-reused": 86,
    "metadata-blocks-reused-twice": 250,
    "orphan-in-the-middle-closed": 30,
    "replaced-open-files": 20,
    "tails-at-several-places-of-one-file": 19,
    "tmpfiles-linked-and-closed-in-turn": 21,
    "replaced-beside-many-new-names": 134,
    "reused-name-beside-many-new-names": 144,
    "truncated-tails-then-grown-in-turn": 32,
    "unlink-beside-many-new-names": 143,
    "very-many-new-names": 141,
    "directory-block-freed-twice": 53,
    "large-change-then-small-ones": 38,
    "large-directory-fsynced-keeps-its-times": 18,
    "names-in-a-directory-of-many-blocks": 49,
    "read-only-after-checkpointed-pages": 25,
    "renamed-files-fsynced-again-and-again": 21,
    "size-then-times-fdatasync": 17,
    "tmpfile-and-unlinked-file-at-a-commit": 27,
    "attributes-of-two-kinds-between-fsyncs": 19,
    "names-with-equal-hashes": 68,
    "young-attributes-of-a-removed-file": 27,
    "fsync-after-a-checkpoint-into-an-empty-list": 52,
    "names-fsynced-while-the-log-is-written": 16,
    "changed-again-and-again-beside-relocation": 17,
}
# Of many extents, so that their items fill several leaves of 4K; of more than one copy; or more than what
# need not be given back, or than a third of a journal.
WIDE = {
    "unlinked-file-shares-every-second-block": text.M,
    "cut-by-a-megabyte-then-fsync": text.M,
    "split-without-the-blocks-for-splits": 512 * text.K,
    "two-direct-writes-to-one-copy": 384 * text.K,
    "write-fails-without-the-blocks-for-splits": 512 * text.K,
    "written-back-then-committed": text.M,
    "freed-blocks-written-before-the-commit": 256 * text.K,
    "many-extents-cut-then-reserved": 2 * text.M,
    "punch-at-the-edge-of-each-leaf": text.M,
    "punch-over-a-whole-leaf": text.M,
    "atomic-write-across-node-blocks": 4 * text.M,
    "defragment-of-many-extents": 256 * text.K,
    "defragment-of-a-new-map": 256 * text.K,
    "checkpoint-while-data-is-written-back": 256 * text.K,
    "relocated-blocks-used-again": text.M,
    "garbage-collected-between-fsyncs": 2 * text.M,
    "garbage-collected-then-synced": 2 * text.M,
    "garbage-collected-without-a-checkpoint": text.M,
    "large-holes-of-a-fsynced-file-used-at-once": 4 * text.M,
}


@ALL
def test_runs_are_short(workload):
    """Short runs make short logs: at most 15 operations, no file above 128K but those that only reserve."""
    assert 1 <= len(workload.run) <= LONG.get(workload.name, 15)
    written = [op for op in workload.run if workload.theme != "full" or op.word not in RESERVING]
    most = WIDE.get(workload.name, 128 * text.K)
    assert max(operation.offset + operation.length for operation in written) <= most


@ALL
def test_modes_work_on_every_filesystem(workload):
    """collapse-range and insert-range are not known to btrfs: an operation with them is one that may fail."""
    moving = [one for one in workload.run if one.mode in ("collapse-range", "insert-range")]
    assert not [one for one in moving if text.format_operation(one) not in workload.may_fail]


def test_there_are_enough():
    """At least 40 workloads, with at least three in which nothing is ever synced."""
    assert len(library()) >= 40
    negative = [workload for workload in library() if workload.theme == "negative"]
    assert len(negative) >= 3
    for workload in negative:
        assert not {"fsync", "fdatasync", "sync", "remount", "umount"} & {op.word for op in workload.run}


def test_some_go_on_after_their_last_sync():
    """At least five workloads have changes behind the last fsync, which must not harm what it covered."""
    positive = [workload for workload in library() if workload.theme != "negative"]
    late = [w for w in positive if w.run[-1].word not in ("fsync", "fdatasync", "sync", "umount")]
    assert len([w for w in late if "fsync" in {op.word for op in w.run}]) >= 5


@pytest.mark.parametrize("bug", [f"B3-{n}" for n in range(1, 11)] + ["generic/498"])
def test_known_bugs_have_a_workload(bug):
    """Each of the ten sequences of B3, and generic/498, is in the library."""
    assert any(re.search(rf"{bug}\b", "\n".join(workload.comment)) for workload in library())


@pytest.mark.parametrize("word", [word for word in text.WORDS if word != "stop"])
def test_every_word_is_used(word):
    """Each word occurs in some workload, so that running the library tries them all; but `stop`, which needs
    a kernel of its own and is drawn for any workload (run --stops)."""
    assert any(word in {op.word for op in (*w.setup, *w.run)} for w in library())


def test_names_are_unique_and_plain():
    """A name tells one workload, whatever its theme, and needs no quoting in a shell."""
    assert len(set(lib.names())) == len(lib.names())
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in lib.names())


def test_order_is_fixed():
    """Themes by alphabet, and names within a theme."""
    order = [(workload.theme, workload.name) for workload in library()]
    assert order == sorted(order)


def test_demonstration_shows_variety():
    """The demonstration is about a dozen workloads of at least seven themes."""
    chosen = select(lib.DEMONSTRATION)
    assert 10 <= len(chosen) <= 14
    assert len({workload.theme for workload in chosen}) >= 7


# --- selection ---


def selected(*wanted, keyword=None):
    return [workload.name for workload in select(wanted, keyword)]


def test_load_gives_the_workload_of_that_name():
    """load() finds a workload by its name alone."""
    assert lib.load("replace-by-rename").theme == "replace"


def test_nothing_asked_for_is_everything():
    """Without names the whole library is meant."""
    assert select() == library()


def test_names_come_in_the_order_asked_and_once():
    """The order is the caller's; a workload named twice runs once."""
    assert selected("xattr-on-directory", "new-directory", "xattr/xattr-on-directory") == [
        "xattr-on-directory",
        "new-directory",
    ]


def test_globs_over_names_and_themes():
    """A glob is tried on NAME and on THEME/NAME."""
    assert selected("nothing-synced-*") == [n for n in lib.names() if n.startswith("nothing-synced-")]
    assert selected("link/*") == [w.name for w in library() if w.theme == "link"]


def test_a_file_is_taken_as_well(tmp_path):
    """A path of the user's own file gives a workload without a theme, named like the file."""
    path = tmp_path / "mine.workload"
    path.write_text("run\n  sync\n")
    (workload,) = select([str(path)])
    assert (workload.name, workload.theme) == ("mine", "")


def test_a_file_of_the_library_is_the_library_s_workload():
    """Named by its path, a workload of the library keeps its theme."""
    path = lib.ROOT / "replace" / "replace-by-rename.workload"
    assert select([str(path)]) == (lib.load("replace-by-rename"),)


def test_a_bad_file_says_where(tmp_path):
    """An error in the user's file carries the file's name, the line and the column."""
    path = tmp_path / "mine.workload"
    path.write_bytes(b"run\n  creat \xff\n")
    with pytest.raises(text.BadWorkload, match=re.escape(f"{path}:2:9: byte 0xff")):
        select([str(path)])


def test_all_unknown_names_are_listed_with_near_ones():
    """One error tells everything that is wrong, and what was probably meant."""
    with pytest.raises(BadSelection) as caught:
        select(["replace-by-renam", "new-directory", "no/such/file.workload", "link/nope*"])
    first, second, third = str(caught.value).split("\n")
    assert first.startswith("unknown workload replace-by-renam. Similar names: replace-by-rename")
    assert second == "there is no workload or file no/such/file.workload"
    assert third == "there is no workload or file link/nope*"


def test_load_of_an_unknown_name():
    """load() refuses what is not there."""
    with pytest.raises(BadSelection, match="Similar names: exchange-through-third"):
        lib.load("exchange-through-thirt")


HERE = Workload("rename-over-x", (), (Operation("fsync"), Operation("rename")), theme="fsync-file")

EXPRESSIONS = {
    "rename": True,
    "RENAME": True,
    "over-x": True,
    "fsync-file": True,
    "link": False,
    "not link": True,
    "rename and link": False,
    "rename and not link": True,
    "link or fsync": True,
    "link and link or fsync": True,
    "fsync or link and link": True,
    "link and (link or fsync)": False,
    "not (link or fsync)": False,
    "not not fsync": True,
    "not link and fsync": True,
}


@pytest.mark.parametrize("keyword", EXPRESSIONS)
def test_keywords_combine(keyword):
    """and, or, not and parentheses work over pieces of name, theme and words, as in pytest."""
    assert matches(keyword, HERE) is EXPRESSIONS[keyword]


@pytest.mark.parametrize(
    ("keyword", "column"),
    [
        ("", 1),
        ("and", 1),
        ("a and", 6),
        ("a b", 3),
        ("(a", 3),
        ("a)", 2),
        ("not", 4),
        ("a or ;", 6),
        ("()", 2),
    ],
)
def test_bad_keywords_name_the_column(keyword, column):
    """What is no expression is refused at the character where it goes wrong."""
    with pytest.raises(BadSelection, match=f"at column {column}\n"):
        matches(keyword, HERE)


def test_a_keyword_nested_too_deep_is_refused():
    """Thousands of parentheses are an error, not a crash."""
    with pytest.raises(BadSelection, match="nested too deep"):
        matches("(" * 5000 + "a" + ")" * 5000, HERE)


def test_a_keyword_filters_what_was_named():
    """-k narrows the choice and keeps its order."""
    assert selected("xattr-on-directory", "new-directory", keyword="not setxattr") == ["new-directory"]


def test_a_choice_of_nothing_is_an_error():
    """A selection that would examine nothing is refused."""
    with pytest.raises(BadSelection, match="no workload matches -k 'nosuchthing'"):
        select(keyword="nosuchthing")


def test_the_reference_counts_the_library() -> None:
    """How many workloads there are, in how many themes; once."""
    said = (Path(__file__).parents[2] / "docs" / "reference" / "words.md").read_text()
    (counted,) = re.findall(r"has (\d+) workloads in (\d+) themes", said)
    assert counted == (str(len(library())), str(len({workload.theme for workload in library()})))
