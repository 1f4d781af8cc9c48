"""checks: what a program asks so that a violation shows, with the values that the promises allow."""

import pytest

from oracles.checks import Check, NoCheck, Source, checks
from oracles.judge import judge_state
from oracles.observation import Fsck, Run
from oracles.tests.made import Bench, also, node_at, replaced, without
from oracles.verdict import Answer

FSYNCED = "setup\n  creat old\nrun\n  write foo 0 8K\n  fsync foo\n"


def asked(case, oracle, kind):
    """The checks of the one violation of that kind."""
    found = [
        violation
        for verdict in judge_state(case)
        if verdict.answer is Answer.BROKEN and verdict.oracle == oracle
        for violation in verdict.violations
        if violation.kind == kind
    ]
    return checks(case, oracle, found[0])


def test_a_lost_name_is_asked_for():
    bench = Bench(FSYNCED)
    case = bench.case(without(bench.tree(), "foo"))
    assert asked(case, "durable", "name lost") == (Check("exists", "foo"),)


def test_a_name_that_came_back_must_be_gone():
    bench = Bench("setup\n  creat foo\n  link foo bar\nrun\n  unlink foo\n  fsync bar\n")
    case = bench.case(also(bench.tree(), "foo", node_at(bench.tree(), "bar")))
    assert asked(case, "durable", "name came back") == (Check("absent", "foo"),)


def test_a_wrong_object_is_told_by_the_operations_that_made_the_right_ones():
    """No inode numbers: another mkfs gives others."""
    bench = Bench("setup\n  creat foo\n  creat bar\nrun\n  rename bar foo\n  fsync foo\n")
    old = node_at(bench.tree(0), "foo")
    case = bench.case(also(without(bench.tree(), "foo"), "foo", old))
    (check,) = asked(case, "durable", "wrong object")
    assert (check.kind, check.path, check.values, check.optional) == ("object", "foo", ("1",), False)


def test_a_file_under_two_names_may_have_one_of_them():
    bench = Bench("setup\n  mkdir A\n  creat A/foo\nrun\n  rename A/foo foo\n  fsync foo\n")
    case = bench.case(also(bench.tree(), "A/foo", node_at(bench.tree(), "foo")))
    (check,) = asked(case, "atomic", "both names")
    assert (check.kind, set(check.paths)) == ("not all", {"A/foo", "foo"})


def test_a_renamed_file_may_have_any_of_its_names():
    bench = Bench("setup\n  creat foo\nrun\n  rename foo bar\n  creat new\n  fsync new\n")
    case = bench.case(without(bench.tree(), "bar"))
    (check,) = asked(case, "atomic", "no name")
    assert (check.kind, check.paths, check.values) == ("any", ("foo", "bar"), ("0",))


def test_a_size_may_be_any_that_is_allowed():
    """8K was fsynced; an append may be there in part."""
    bench = Bench(FSYNCED + "  append foo 4K\n")
    case = bench.case(replaced(bench.tree(), "foo", size=0, content=()))
    (check,) = asked(case, "durable", "size lost")
    assert set(check.sizes) == {(8192, 8192), (12288, 12288), (8192, 12288)}


def test_bytes_are_told_by_the_operations_that_wrote_them():
    bench = Bench(FSYNCED)
    case = bench.case(replaced(bench.tree(), "foo", content=(Run(0, 8192, "z"),)))
    (check,) = asked(case, "durable", "data lost")
    assert check.sources == (Source(0, 8192, (1,)),)


def test_what_was_synced_of_a_range_is_asked_for_that_range():
    bench = Bench(
        "setup\n  write foo 0 16K\nrun\n  mmapwrite foo 4K 4K\n  msync foo 4K 4K\n  mmapwrite foo 0 4K\n"
    )
    runs = (Run(0, 16384, "w", 1),)
    case = bench.case(replaced(bench.tree(), "foo", content=runs))
    (check,) = asked(case, "durable", "data lost")
    assert check.sources == (Source(4096, 8192, (1,)),)


@pytest.mark.parametrize(
    ("line", "change", "oracle", "kind", "check"),
    [
        ("chmod foo 600", {"mode": 0o644}, "durable", "mode lost", Check("mode", "foo", values=("600",))),
        ("chown foo 7:8", {"uid": 0}, "durable", "owner lost", Check("owner", "foo", values=("7:8",))),
        ("utimes foo 99", {"mtime": 5}, "durable", "mtime lost", Check("mtime", "foo", values=("99",))),
        (
            "setxattr foo user.a 1",
            {"xattrs": {}},
            "durable",
            "xattr lost",
            Check("xattr", "foo", values=("1",), name="user.a"),
        ),
        (
            "fallocate foo keep-size 8K 8K",
            {"blocks": 16},
            "durable",
            "preallocation lost",
            Check("blocks", "foo", values=("32",)),
        ),
    ],
)
def test_an_attribute_has_the_values_that_are_allowed(line, change, oracle, kind, check):
    bench = Bench(f"run\n  write foo 0 8K\n  {line}\n  fsync foo\n")
    case = bench.case(replaced(bench.tree(), "foo", **change))
    assert asked(case, oracle, kind) == (check,)


def test_of_the_whole_filesystem_the_question_is_the_oracles_own():
    bench = Bench(FSYNCED)
    unclean = bench.case(bench.tree(), fsck=Fsck(1, "errors", False))
    assert asked(unclean, "fsck", "not clean") == (Check("clean"),)
    full = bench.case(bench.tree(), probe=("rmdir A: ENOTEMPTY",))
    assert asked(full, "usable", "rmdir failed") == (Check("usable"),)
    loud = bench.case(bench.tree(), kernel_log=("2 BTRFS critical: x",))
    assert asked(loud, "quiet", "filesystem error") == (Check("quiet"),)
    refused = bench.case(None, mount_errno=5)
    assert asked(refused, "mounts", "mount refused") == (Check("mounts"),)


def test_what_no_program_asks_in_a_few_lines_is_refused():
    bench = Bench("setup\n  creat foo\nrun\n  rename foo bar\n  creat new\n", "ext4")
    case = bench.case(without(bench.tree(), "bar"))
    with pytest.raises(
        NoCheck, match=r"no exported program can check this in a few lines \(ordered: not a prefix\)"
    ):
        asked(case, "ordered", "not a prefix")


def test_what_a_truncate_cut_off_is_asked_for_where_a_later_name_shows_the_truncate():
    """Without marker the file may be as it was before."""
    bench = Bench("setup\n  write a 0 4K\nrun\n  truncate a 1500\n  creat marker\n  truncate a 4K\n", "ext4")
    case = bench.case(replaced(bench.tree(), "a", content=(Run(0, 2048, "w", 1), Run(2048, 2048, "z"))))
    (check,) = asked(case, "historical", "cut data came back")
    assert (check.kind, check.path, check.given) == ("bytes", "a", "marker")
    assert check.sources == (Source(1500, 4096, (-1,)),)
