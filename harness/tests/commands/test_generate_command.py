"""`generate`, `import` and `run --generate`: what is written, what is counted, what is refused."""

import tarfile
from pathlib import Path

import pytest

from harness.commands import run as run_command
from harness.runs import run
from workloads import jlang, text
from workloads.generate import space
from workloads.generate.space import Asked
from workloads.library import read

GOOD = "# define\nfoo\n\n# run\nopen foo O_RDWR|O_CREAT 0777\nfsync foo\ncheckpoint 1\nclose foo\n"
SKELETON = GOOD.replace("fsync foo", "falloc foo 0 4096\nfrob foo")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


# --- generate ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--length", "1"], 328),
        (["--length", "2", "--bounds", "ace"], 241_720),
        (["--length", "3"], 7_526_274),
        (["--length", "2", "--shard", "1/3"], 80_574),
        (["--length", "3", "--sample", "1000", "--shard", "2/3"], 333),
        (["--length", "1", "--bounds", "link-rename-fsync"], 734),
        (["--length", "1", "--bounds", "full"], 1_800),
    ],
)
def test_count_prints_the_number_and_nothing_else(powercut, words, count):
    assert powercut("generate", *words, "--count") == (0, f"{count}\n", "")


def test_each_is_written_once_under_its_name(powercut, elsewhere):
    """And what was left out is told."""
    exit_status, out, said = powercut("generate", "--length", "1", "--out", "made")
    assert (exit_status, out) == (0, "")
    assert (
        said == "ace:1: 328 workloads; 34 of them are left out, because they equal an earlier one; "
        "294 written to made\n"
    )
    written = sorted((elsewhere / "made").iterdir())
    assert len(written) == 294
    assert written[0].name == "ace1-001-creat-fsync.workload"
    made = [one for one in space.workloads(Asked("ace", 1)) if one is not None]
    assert [text.format(read(path)) for path in written] == [text.format(one) for one in made]


def test_without_a_folder_the_texts_are_printed(powercut):
    """Each below a comment with its name."""
    _, out, _ = powercut("generate", "--length", "2", "--bounds", "full", "--sample", "2", "--seed", "3")
    pieces = out.strip().split("\n\n")
    assert len(pieces) == 2
    for piece in pieces:
        assert piece.startswith("# full2-")
        assert text.parse(piece).run


def test_generated_workloads_are_written_as_jlang(powercut, elsewhere):
    """ACE's are its own files again; of ours some have no counterpart, which is told, and ends 3."""
    assert powercut("generate", "--length", "1", "--to", "jlang", "--out", "ace")[0] == 0
    assert len(list((elsewhere / "ace").iterdir())) == 294
    exit_status, _, said = powercut(
        "generate", "--length", "1", "--bounds", "full", "--to", "jlang", "--out", "own"
    )
    assert exit_status == 3
    assert "J-lang has no word for it" in said
    assert "that J-lang cannot express" in said
    assert all(jlang.read(path.read_text()) for path in (elsewhere / "own").iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--length", "0"], "ace: there are no workloads of length 0. The lengths are 1 to 3"),
        (["--length", "-1"], "lengths are 1 to 3"),
        (["--length", "4"], "lengths are 1 to 3"),
        (["--length", "x"], "invalid int"),
        ([], "--length"),
        (
            ["--length", "1", "--bounds", "acme"],
            "there are no bounds 'acme'. The bounds are ace, link-rename-fsync, full",
        ),
        (["--length", "1", "--bounds", ""], "no bounds ''"),
        (["--length", "1", "--shard", "3/2"], "--shard: 3/2: the first part is 1/2, the last is 2/2"),
        (["--length", "1", "--shard", "0/0"], "--shard: 0/0"),
        (["--length", "1", "--shard", "two"], "--shard: 'two' is not I/N"),
        (["--length", "1", "--shard", "900/1000"], "this part is empty, because there are only 328"),
        (["--length", "1", "--sample", "0"], "'0' is not a number of at least 1"),
        (["--length", "1", "--sample", "329"], "--sample 329: ace:1 has only 328"),
        (["--length", "1", "--sample", "328"], "only 294 of the 328 workloads are different"),
    ],
)
def test_bounds_that_are_empty_or_impossible_are_refused(powercut, words, message):
    exit_status, out, said = powercut("generate", *words)
    assert exit_status == 2
    assert message in said
    assert out == "" or "328" in words


# --- run -----------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[run.RunSpec]:
    """What `run` would have done."""
    run_specs: list[run.RunSpec] = []

    class Enough(Exception):
        pass

    def note(run_spec, *_):
        run_specs.append(run_spec)
        raise run.NoGuest("enough")

    monkeypatch.setattr(run_command, "run", note)
    return run_specs


def test_run_takes_generated_workloads(powercut, asked):
    """All of them, a shard, or a sample that --seed decides."""
    powercut("run", "--generate", "ace:1")
    powercut("run", "--generate", "ace:1", "--shard", "2/2")
    powercut("run", "--generate", "full:2", "--sample", "5", "--seed", "9")
    powercut("run", "--generate", "full:2", "--sample", "5", "--seed", "9")
    assert len(asked[0].workloads) == 294
    assert [one.name for one in asked[1].workloads] == [
        one.name for one in space.workloads(Asked("ace", 1, (2, 2))) if one
    ]
    assert len(asked[2].workloads) == 5
    assert asked[2].workloads == asked[3].workloads


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--generate", "ace"], "'ace' is not BOUNDS:LENGTH, such as ace:1"),
        (["--generate", "acme:1"], "no bounds 'acme'"),
        (["--generate", "ace:9"], "lengths are 1 to 3"),
        (["--generate", ""], "is not BOUNDS:LENGTH"),
        (["--generate", "ace:1", "rename-*"], "no workloads and no -k may be given"),
        (["--generate", "ace:1", "-k", "fsync"], "no workloads and no -k may be given"),
        (["--sample", "5"], "--generate ace:2"),
        (["--shard", "1/2"], "--generate ace:2"),
    ],
)
def test_run_refuses_what_makes_no_sense(powercut, asked, words, message):
    exit_status, _, said = powercut("run", *words)
    assert exit_status == 2
    assert message in said
    assert not asked


# --- import --------------------------------------------------------------------------------------


def test_files_folders_and_archives_are_read(powercut, elsewhere):
    """In the order of their numbers, each under its own name."""
    folder = elsewhere / "lang"
    folder.mkdir()
    for number in (10, 9):
        (folder / f"j-lang{number}").write_text(GOOD)
    (elsewhere / "alone").write_text(GOOD.replace("fsync", "fdatasync"))
    with tarfile.open(elsewhere / "more.tar.gz", "w:gz") as archive:
        archive.add(elsewhere / "alone", "deep/packed")
    exit_status, out, said = powercut("import", "--jlang", "lang", "alone", "more.tar.gz", "--out", "made")
    assert (exit_status, out) == (0, "")
    assert said == "4 files: 4 workloads, 2 of them equal another one; 4 written to made\n"
    assert {path.name for path in (elsewhere / "made").iterdir()} == {
        "j-lang9.workload",
        "j-lang10.workload",
        "alone.workload",
        "packed.workload",
    }
    assert text.format(read(elsewhere / "made" / "j-lang9.workload")) == (
        "# Imported from J-lang, j-lang9.\nrun\n  open foo @foo creat\n  fsync @foo\n  close @foo\n"
    )
    assert powercut("import", "--jlang", "lang")[1].index("# j-lang9\n") == 0


def test_what_is_not_mapped_is_told_by_line_and_counted(powercut, elsewhere):
    """The rest is written all the same; status 3."""
    (elsewhere / "good").write_text(GOOD)
    (elsewhere / "bad").write_text(SKELETON)
    exit_status, _, said = powercut("import", "--jlang", "good", "bad", "--out", "made")
    assert exit_status == 3
    assert said.splitlines() == [
        "bad:6: not mapped: falloc foo 0 4096: falloc takes 4 arguments, not 3",
        "bad:7: not mapped: frob foo: unknown operation frob",
        "2 files: 1 workload; 1 file not mapped for 2 lines; 1 written to made",
    ]
    assert [path.name for path in (elsewhere / "made").iterdir()] == ["good.workload"]


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"run\n  sync\n", b"#!/bin/sh\n", b"# run\n"])
def test_what_is_no_jlang_is_bad_input(powercut, elsewhere, content):
    (elsewhere / "it").write_bytes(content)
    exit_status, _, said = powercut("import", "--jlang", "it", "--out", "made")
    assert exit_status == 2
    assert said.startswith("it")
    assert "1 file: 0 workloads; not J-lang: 1 file" in said
    assert not list((elsewhere / "made").iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "name J-lang files to read"),
        (["--jlang"], "expected at least one argument"),
        (["--jlang", "nowhere"], "no file or folder nowhere"),
        (["--jlang", "empty"], "no file in empty"),
        (["--jlang", "a/x", "b/x"], "b/x: a/x has the same name"),
        (["--jlang", "a/x", "--to", "jlang"], "one of them"),
        (["--to", "jlang", "no-such-workload"], "unknown workload"),
        (["--to", "html"], "invalid choice"),
    ],
)
def test_an_import_of_nothing_is_refused(powercut, elsewhere, words, message):
    for folder in ("a", "b", "empty"):
        (elsewhere / folder).mkdir()
    for folder in ("a", "b"):
        (elsewhere / folder / "x").write_text(GOOD)
    exit_status, _, said = powercut("import", *words)
    assert exit_status == 2
    assert message in said


def test_workloads_are_written_as_jlang_and_come_back(powercut, elsewhere):
    """By name; what J-lang cannot say is told, and ends 3."""
    exit_status, out, said = powercut(
        "import", "--to", "jlang", "nothing-synced-tree", "exchange-*", "--out", "to"
    )
    assert (exit_status, out) == (3, "")
    assert "J-lang's rename has no mode exchange" in said
    assert powercut("import", "--jlang", "to", "--out", "back")[0] == 0
    assert len(list((elsewhere / "back").iterdir())) == len(list((elsewhere / "to").iterdir())) > 0
