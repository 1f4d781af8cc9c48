"""Which lines of a series ran: hunks, statements, removed lines, files, functions."""

from harness.runs.coverage import Counted, file_coverage, functions, hunks, is_code, patch_files, statement
from harness.stages.gcov import FunctionCounts, SourceCounts
from reports.coverage.lines import coverage_lines, unreached
from reports.coverage.results import RECORDED, RECOVERED, KernelCoverage, patch_ran

FILE = "fs/btrfs/tree-log.c"
SOURCE = """\
static int log_it(struct inode *inode,
                  int mode)
{
        int ret = 0;

        /* why it is done */
        if (mode)
                ret = first(inode,
                            mode);
        second(inode);
        return ret;
}

static int other(void)
{
        return 1;
}
""".splitlines()
# As gcov counts lines: the second line of a call and of a signature is none.
LINES = {1: 5, 4: 5, 7: 5, 8: 0, 10: 5, 11: 5, 14: 0, 16: 0}
FUNCTIONS = {"log_it": FunctionCounts(1, 12, 5), "other": FunctionCounts(14, 17, 0)}


def counts(**changed: int) -> SourceCounts:
    lines = LINES | {int(name.removeprefix("l")): count for name, count in changed.items()}
    return SourceCounts(dict(lines), {("log_it", 7, 0): lines[7], ("log_it", 7, 1): 0}, dict(FUNCTIONS))


def diff(*lines: str, begin: int = 7) -> str:
    old, new = (sum(line[0] != mark for line in lines) for mark in "+-")
    head = [f"--- a/{FILE}", f"+++ b/{FILE}", f"@@ -{begin},{old} +{begin},{new} @@"]
    return "\n".join([*head, *lines]) + "\n"


def patch(text: str, phases=None, each=(), source=SOURCE):
    phases = {RECORDED: {FILE: counts()}} if phases is None else phases
    (file,) = patch_files(text, phases, each, {FILE: source})
    return file


def test_hunks_have_the_lines_of_the_changed_source():
    text = diff(" a", "-b", "+c", " d", begin=7) + diff("+e").replace(FILE, "fs/xfs/a.c")
    assert list(hunks(text)) == [
        (FILE, [(" ", 7, "a"), ("-", 8, "b"), ("+", 8, "c"), (" ", 9, "d")]),
        ("fs/xfs/a.c", [("+", 7, "e")]),
    ]


def test_a_removed_line_may_look_like_the_head_of_a_file():
    """`-- x` removed is `--- x` in a patch."""
    assert list(hunks(diff("--- a", " b"))) == [(FILE, [("-", 7, "-- a"), (" ", 7, "b")])]


def test_what_is_no_code():
    assert not any(map(is_code, ("", "\t}", "\t/* why */", "\t * more", "#ifdef A", "\t};")))
    assert all(map(is_code, ("\treturn 0;", "\t} else {", "\tif (a) {")))


def test_a_statement_has_all_its_lines():
    assert statement(9, SOURCE) == statement(8, SOURCE) == {7, 8, 9}
    assert statement(10, SOURCE) == {10}


def test_an_added_line_says_when_it_ran():
    """In which phases, in how many workloads, and in which function it is."""
    each = [
        Counted("first", {RECORDED: {FILE: counts()}}),
        Counted("first", {RECOVERED: {FILE: counts()}}),
        Counted("idle", {RECORDED: {FILE: counts(l10=0)}}),
    ]
    phases = {RECORDED: {FILE: counts()}, RECOVERED: {FILE: counts(l10=0)}}
    (line,) = patch(diff("+        second(inode);", begin=10), phases, each).lines
    assert (line.phases, line.function, line.workloads, line.shown) == ((RECORDED,), "log_it", 1, ("first",))


def test_a_line_that_never_ran_is_named():
    one = patch(diff("+        return 1;", begin=16))
    kernel = KernelCoverage("6.12+mine", 1, 0, (RECORDED,), (one,), (), ())
    ran = patch_ran(kernel)
    assert (ran.lines, ran.ran, ran.never) == (1, {"any": 0, RECORDED: 0}, (f"{FILE}:16 (other)",))
    assert ran.unreached


def test_the_second_line_of_a_call_is_answered_by_the_call():
    """gcov has no count for it; the condition above belongs to the statement, too."""
    (line,) = patch(diff("+                            mode);", begin=9)).lines
    assert line.counted
    assert line.phases == (RECORDED,)


def test_comments_and_blank_lines_are_not_asked_for():
    lines = patch(diff("+        /* why it is done */", "+", "+        second(inode);", begin=8)).lines
    assert [line.asked for line in lines] == [False, False, True]


def test_a_removed_line_is_answered_by_what_is_behind_it():
    """Or, at the end of a function, by what is before it."""
    removed = "-        third(inode);"
    (behind, _) = patch(diff(removed, "         second(inode);", begin=10)).lines
    assert behind.asked
    assert behind.phases == (RECORDED,)
    (before, _) = patch(diff(removed, " }", begin=12)).lines
    assert before.phases == (RECORDED,)
    (never, _) = patch(diff(removed, "         return 1;", begin=16)).lines
    assert never.asked
    assert never.phases == ()


def test_lines_that_were_removed_together_are_one_place():
    """However many they are: what they did not do is seen, or not, at that place."""
    removed = ["-        /* why */", "-        third(inode);", "-", "-        fourth(inode);"]
    lines = patch(diff(*removed, "         second(inode);", begin=10)).lines
    assert [line.asked for line in lines] == [False, True, False, False, False]


def test_a_replaced_line_is_answered_by_the_one_in_its_place():
    lines = patch(diff("-        zeroth(inode);", "+        second(inode);", begin=10)).lines
    assert [line.asked for line in lines] == [False, True]


def test_a_file_that_is_not_counted_says_so():
    (outside,) = patch_files(diff("+        x();").replace(FILE, "mm/filemap.c"), {}, (), {})
    assert "counts in fs/btrfs" in outside.why
    (left_out,) = patch_files(diff("+        x();"), {RECORDED: {}}, (), {})
    assert "does not compile" in left_out.why
    assert not any(line.asked for line in (*outside.lines, *left_out.lines))


def test_files_and_functions_are_summed_over_the_phases():
    phases = {RECORDED: {FILE: counts()}, RECOVERED: {FILE: counts(l10=0, l16=1)}}
    (file,) = file_coverage(phases)
    assert (file.lines, file.functions, file.branches) == (8, 2, 2)
    assert file.ran["lines"] == {"any": 6, RECORDED: 5, RECOVERED: 5}
    assert file.ran["functions"] == {"any": 2, RECORDED: 1, RECOVERED: 2}
    assert file.ran["branches"] == {"any": 1, RECORDED: 1, RECOVERED: 1}
    log_it, other = functions(phases)
    assert (log_it.lines, log_it.phases) == (6, {RECORDED: 5, RECOVERED: 4})
    assert (other.name, other.lines, other.phases) == ("other", 2, {RECORDED: 0, RECOVERED: 1})


def test_functions_that_never_ran_come_largest_first():
    found = functions({RECORDED: {FILE: counts()}})
    assert [one.name for one in unreached(found)] == ["other"]


def test_the_terminal_shows_folders_files_and_functions():
    phases = {RECORDED: {FILE: counts()}}
    kernel = KernelCoverage("6.12", 2, 1, (RECORDED,), (), file_coverage(phases), functions(phases))
    lines = coverage_lines(kernel)
    assert lines[0] == "6.12: 2 experiments counted, 1 not (no recording)"
    assert any(line.split() == ["fs/btrfs", "8", "62.5", "%", "62.5", "%"] for line in lines)
    assert lines[-1].split() == ["2", "other", f"({FILE}:14)"]
    assert max(map(len, lines)) <= 100
