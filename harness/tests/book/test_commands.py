"""Every command that a document shows is found, marked, and read by the real parser."""

import pytest

from harness.book.commands import Command, commands_of, complaints, is_placeholder, split, wrong
from harness.book.documents import document
from harness.local.root import ROOT


def reasons(text, inline=False, made=()):
    return wrong(Command(text, 1, inline=inline), ROOT, made)


def test_a_console_has_commands_and_their_output():
    """A line that begins with $ is a command; one that begins with > goes on with it."""
    text = "$ ./powercut list \\\n>   -k fsync\nworkloads (2):\n  ...\n$ true\n"
    assert commands_of(text, "console", 10) == (
        Command("./powercut list -k fsync", 11, ("workloads (2):", "  ...")),
        Command("true", 15),
    )


def test_every_line_of_a_script_is_a_command():
    """But for comments and empty lines; a backslash joins."""
    text = "# why\n./powercut run a \\\n  --fs xfs\n\n./powercut doctor   # what\n"
    assert [each.text for each in commands_of(text, "sh", 1)] == [
        "./powercut run a --fs xfs",
        "./powercut doctor   # what",
    ]


def test_a_line_may_hold_several_commands():
    """Assignments, sudo, redirections and comments are none of their words."""
    text = "A=1 sudo ./powercut list > out.txt 2>&1; ./powercut run 'a*' | tail -3 && tox run -e unit  # all"
    assert list(split(text)) == [
        ["./powercut", "list"],
        ["./powercut", "run", "a*"],
        ["tail", "-3"],
        ["tox", "run", "-e", "unit"],
    ]


GOOD = (
    "./powercut record --fs xfs --oracle check.sh -- ./counter.sh",
    "./powercut run",
    "./powercut --yes run '*' --fs btrfs,ext4,xfs --jobs 2",
    "./powercut run rename-directory 'link-*' --fs ext4",
    "./powercut run -k 'xattr and not negative'",
    "./powercut run ./mine.workload --kernel 6.12+my-fix.patch",
    "./powercut run --generate ace:1 --shard 2/8 --models O,R,T,N --budget 500",
    "./powercut run --kernel 6.12+planted/old-name-kept-after-rename",
    "./powercut compare results/latest",
    "./powercut compare --kernel 6.12 --against 6.1 --perf 'fsync-fio:sequential*' --scale 0.01",
    "./powercut bisect --tree linux --good v6.11 --bad v6.12 --oracle durable rename-directory",
    "./powercut repro results/latest/experiments/0003 --state N:O:812/O:7",
    "./powercut repro results/latest --state F:error-writes@3:8192+8",
    "./powercut repro results/latest --state L:4",
    "./powercut kernel build ~/linux@v6.15+fix.patch --config debug,small",
    "./powercut test --only lint,types",
    "./powercut test harness/suite/test_docs.py -m docs",
    "tox run -e crash-btrfs-noholes,docs",
    "tox run -e repro -- rename-directory --fs xfs",
    "./powercut run --help",
    "cat workloads/library/rename/whatever",
)
BAD = (
    ("./powercut rum", "invalid choice: 'rum'"),
    ("./powercut run --profile btrfs", "unrecognized arguments: --profile"),
    ("./powercut run --jobs none", "argument --jobs"),
    ("./powercut run no-such-workload", "unknown workload no-such-workload"),
    ("./powercut run 'no-such-*'", "unknown workload no-such-*"),
    ("./powercut run -k 'and and'", "-k: expected a name"),
    ("./powercut run --fs btrfs,zfs", "no profile zfs"),
    ("./powercut run --kernel 6.13", "no kernel 6.13"),
    ("./powercut run --kernel 6.12+planted/no-such-bug", "no series planted/no-such-bug"),
    ("./powercut compare --kernel 6.12 --against 6.12+before/nothing", "no series before/nothing"),
    ("./powercut run --config fast", "config variant 'fast' is not known"),
    ("./powercut run --models O,X", "there is no model 'X'"),
    ("./powercut run --damage --models R", "Leave --models out"),
    ("./powercut run --generate ace:9", "no workloads of length 9"),
    ("./powercut run --generate ace:1 --shard 9/8", "--shard"),
    ("./powercut generate --length 4 --bounds ace", "no workloads of length 4"),
    ("./powercut compare --against 6.1 --perf no-such", "no experiment 'no-such'"),
    ("./powercut bisect --tree t --good a --bad b --oracle sharp rename-directory", "no oracle sharp"),
    ("./powercut repro results/latest --state Q:1", "is not a state"),
    ("./powercut repro results/latest --state F:melt@3", "not a fault point"),
    ("./powercut repro results/latest --state L:x", "is not a state of a recording"),
    ("./powercut export results/latest F1", "arguments are required: --to"),
    ("./powercut test --only speed", "no step speed"),
    ("./powercut test harness/suite/test_nothing.py", "does not exist"),
    ("tox run -e no-such", "no environment no-such"),
    ("tox run -e repro -- no-such-workload", "unknown workload"),
    ("./powercut run 'unclosed", "no shell reads it"),
)


@pytest.mark.parametrize("text", GOOD)
def test_a_command_that_exists_is_taken(text):
    """With what a user names: files, patches, trees, runs."""
    assert reasons(text) == []


@pytest.mark.parametrize(("text", "reason"), BAD)
def test_a_command_that_does_not_exist_is_refused(text, reason):
    """And the reason names what there is not."""
    assert reason in " ".join(reasons(text))


@pytest.mark.parametrize(
    "text",
    [
        "powercut minimize",
        "powercut run --budget N",
        "./powercut minimize DIR F1 [--budget N]",
        "powercut COMMAND [OPTION ...]",
        "./powercut export DIR F1 --to sh|c|fstests".replace("sh|c|fstests", "FORM"),
        "powercut kernel show --json",
        "./powercut run --kernel 6.12+planted/NAME",
        "./powercut run --generate BOUNDS:LENGTH",
    ],
)
def test_in_prose_a_command_may_be_abstract(text):
    """Placeholders, brackets, missing arguments."""
    assert reasons(text, inline=True) == []


@pytest.mark.parametrize("text", ["powercut minimise", "./powercut run --budgets N", "powercut run --fs zfs"])
def test_in_prose_options_exist_as_well(text):
    """A name that changed is found there, too."""
    assert reasons(text, inline=True) != []


def test_words_in_capitals_are_placeholders():
    """And dots; not a name, nor a glob."""
    assert all(map(is_placeholder, ("WORKLOAD", "N", "K,...", "...")))
    assert not any(map(is_placeholder, ("F1s", "btrfs", "*", "O:12", "6.12")))


def test_a_block_without_a_mark_is_refused():
    """It would be run by nobody."""
    (said,) = complaints(document("a.md", "\n```sh\n./powercut list\n```\n"), ROOT)
    assert said.startswith("a.md:2: a block of commands without a mark")


def test_a_command_in_an_indented_block_is_refused():
    """It cannot carry a mark."""
    (said,) = complaints(document("a.md", "Text\n\n    ./powercut list\n    output\n"), ROOT)
    assert said == "a.md:3: a command in an indented block: make it a fenced one"


def test_a_block_without_a_language_is_refused():
    """It could hold commands that nobody looks at."""
    (said,) = complaints(document("a.md", "```\n./powercut list\n```\n"), ROOT)
    assert "without a language" in said


def test_commands_that_are_not_run_are_read():
    """Long ones and shown ones, too."""
    for mark in ("run", "long: days", "shown: root"):
        (said,) = complaints(document("a.md", f"<!-- {mark} -->\n```sh\n./powercut rum\n```\n"), ROOT)
        assert said.startswith("a.md:3: ./powercut rum: ")


def test_a_file_that_the_document_makes_is_known():
    """Others must be named as files are."""
    text = "<!-- file: odd -->\n```text\nrun\n  sync\n```\n\n<!-- run -->\n```sh\n./powercut run odd\n```\n"
    assert complaints(document("a.md", text), ROOT) == ()
    assert complaints(document("a.md", text.replace("file: odd", "file: other")), ROOT) != ()


def test_a_workload_in_a_document_is_parsed():
    """With the line of the document."""
    good = "```workload\nrun\n  creat foo\n```\n"
    assert complaints(document("a.md", good), ROOT) == ()
    (said,) = complaints(document("a.md", good.replace("creat", "create")), ROOT)
    assert said.startswith("a.md:3: unknown word")
