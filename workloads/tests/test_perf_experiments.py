"""Performance experiments as data: each file of the library, scaling, and what is wrong with a file."""

import pytest

from workloads.perf.experiment import (
    BadExperiment,
    expanded,
    library,
    load,
    mkfs_of,
    numbers_of,
    script_at,
    select,
    values_at,
)
from workloads.text import parse

SMALL = """
about = "Files made"
filesystem = "btrfs"
mkfs = "mkfs.btrfs -f"
reader = "pattern"
script = "echo took @files@ us in $MNT"
scaled.files = { least = 10, step = 5 }
[[case]]
name = "one"
values.files = 1000
[[number]]
name = "time"
key = 'took (\\d+) us'
unit = "us"
better = "less"
answer = true
"""


def written(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return path


def test_the_library_has_the_six_experiments_of_the_seeds():
    """By the names that the command line takes, each with a question and the seed it is from."""
    names = [one.name for one in library()]
    assert names == [
        "create-rename-fsync",
        "dbench",
        "fsync-fio",
        "link-rename-latency",
        "xattr-fsync",
        "xfs-large-dirs",
    ]
    for one in library():
        assert one.seeds
        for case in one.case:
            assert any(number.answer for number in numbers_of(one, case)), (one.name, case.name)
            assert "@" not in script_at(one, case, 1)


def test_the_scripts_are_those_of_the_seeds_at_their_own_length():
    """Clients, seconds and options as the commit messages have them."""
    (dbench,) = select(("dbench",))
    scripts = [script_at(dbench, case, 1) for case in dbench.case]
    assert scripts == [
        "dbench -D $MNT -t 200 40",
        "dbench -D $MNT --skip-cleanup -t 120 -S $(nproc --all)",
        "dbench -t 300 -D $MNT 16",
    ]
    assert mkfs_of(dbench, dbench.case[1]) == "mkfs.btrfs -f -O no-holes -R free-space-tree"
    (fio,) = select(("fsync-fio",))
    assert [(case.values["jobs"], case.values["kib"]) for case in fio.case[:7]] == [
        (1, 8 << 20),
        (2, 4 << 20),
        (4, 2 << 20),
        (8, 1 << 20),
        (16, 512 << 10),
        (32, 512 << 10),
        (64, 512 << 10),
    ]


def test_the_exact_workloads_can_be_parsed():
    """Every library experiment's own small workload; a range stands for its lines."""
    for one in library():
        if one.exact:
            assert parse(expanded(one.exact.workload), one.name).run
    assert expanded("  creat A/{8..10:3}\n  sync") == "  creat A/008\n  creat A/009\n  creat A/010\n  sync\n"


def test_a_scale_shrinks_only_what_may_shrink(tmp_path):
    """Not below the least, and to a multiple of the step; 1 is the seed's own."""
    one = load(written(tmp_path, SMALL))
    assert values_at(one, one.case[0], 1) == {"files": 1000}
    assert values_at(one, one.case[0], 0.0512) == {"files": 50}
    assert values_at(one, one.case[0], 0.0001) == {"files": 10}
    assert script_at(one, one.case[0], 0.0512) == "echo took 50 us in $MNT"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("@files@", "@fils@"), "case 'one' has no value for @fils@"),
        (("(\\d+)", "\\d+"), "exactly one group"),
        (("(\\d+)", "(\\d+"), "unterminated"),
        (('reader = "pattern"', 'reader = "fo"'), "Invalid enum value 'fo'"),
        (("about =", "abut ="), "abut"),
        (("[[case]]", "[[case"), "line 8"),
        (('unit = "us"', 'unit = "us"\ncases = ["two"]'), "there is no case 'two'"),
        (('about = "Files made"', 'about = "x"\nfiles = ["not-there.py"]'), "not-there.py does not exist"),
    ],
)
def test_a_bad_file_is_refused_with_its_place(tmp_path, change, said):
    """One sentence that names the file and what to change."""
    assert change[0] in SMALL
    path = written(tmp_path, SMALL.replace(*change))
    with pytest.raises(BadExperiment, match=r"mine\.toml") as caught:
        load(path)
    assert said in str(caught.value)


def test_an_unknown_name_lists_those_there_are(tmp_path):
    """And an unknown case of a known one lists its cases."""
    with pytest.raises(BadExperiment, match="dbench, fsync-fio"):
        select(("dbnch",))
    with pytest.raises(BadExperiment, match="'16 clients'"):
        select(("dbench:17 clients",))
    assert [case.name for case in select(("dbench:16 clients",))[0].case] == ["16 clients"]
    with pytest.raises(BadExperiment, match="no such file"):
        select((str(tmp_path / "gone.toml"),))
