"""workloads/programs.py: a program and its scripts, from a file."""

import subprocess

import pytest

from workloads import programs
from workloads.programs import BadProgram, library, parse, select

SMALL = 'about = "small"\npromise = "it is kept"\nrun = "echo 1 >a"\noracle = "[ -e a ] || broken gone"\n'


def script(workload, name):
    return next(file.content.decode() for file in workload.program.files if file.name == name)


def test_a_file_is_a_workload_with_a_program():
    """Its first line says what it is for; its scripts are the files of the program."""
    (workload,) = parse(SMALL, "small", "small.toml")
    assert (workload.name, workload.theme, workload.comment) == ("small", "programs", ("small",))
    assert workload.program.arguments == ("/program/run",)
    assert workload.program.setup == ()
    assert workload.program.promise == "it is kept"


def test_every_variant_is_a_program_with_its_values():
    """@journal@ stands for what the variant says, in every script."""
    text = SMALL.replace("echo 1", "echo @journal@") + (
        '[[variant]]\nname = "wal"\nvalues = { journal = "WAL" }\n'
        '[[variant]]\nname = "delete"\npromise = "less"\nvalues = { journal = "DELETE" }\n'
    )
    wal, delete = parse(text, "small", "small.toml")
    assert (wal.name, delete.name) == ("small-wal", "small-delete")
    assert "echo WAL >a" in script(wal, "run")
    assert (wal.program.promise, delete.program.promise) == ("it is kept", "less")


def test_a_program_whose_files_hold_much_leaves_their_content_out():
    """Then a recovered tree is told by hashes, and only the oracle looks into files."""
    (small,) = parse(SMALL, "small", "small.toml")
    (large,) = parse(SMALL + "content = false\n", "large", "large.toml")
    assert small.program.content
    assert not large.program.content


def test_a_program_may_need_more_of_the_kernel():
    (plain,) = parse(SMALL, "small", "small.toml")
    (more,) = parse(SMALL + 'config = ["debug"]\n', "more", "more.toml")
    assert plain.config == ("programs",)
    assert more.config == ("programs", "debug")


@pytest.mark.parametrize(
    ("oracle", "stdin", "status", "said"),
    [
        ("[ -e a ] || broken a is gone", "", 1, "a is gone\n"),
        ("unknown no tool", "", 3, "no tool\n"),
        ("false", "", 0, ""),
        ("while read -r line; do last=$line; done; [ $last = two ] || broken $last", "one\ntwo\n", 0, ""),
    ],
)
def test_an_oracle_accuses_only_by_broken(tmp_path, oracle, stdin, status, said):
    """A command of its own that fails is no broken promise."""
    (workload,) = parse(SMALL.replace("[ -e a ] || broken gone", oracle), "small", "small.toml")
    place = tmp_path / "oracle"
    place.write_text(script(workload, "oracle"))
    ran = subprocess.run(
        ["bash", str(place)], input=stdin, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (status, said)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("about = 3", "about"),
        ("about = ", "p.toml"),
        ('about = "x"', "`run` is missing"),
        ('about = "x"\nrun = "true"\noracle = "true"', "`promise` is missing"),
        (SMALL + "colour = 1", "The fields are about,"),
        (SMALL + "timeout_s = 0", "`timeout_s` must be"),
        (SMALL.replace("echo 1", "echo @journal@"), "@journal@"),
        (SMALL + '[[variant]]\nname = "A b"', "variant"),
    ],
)
def test_a_bad_file_is_told_with_its_place(text, words):
    """One line, with the place."""
    with pytest.raises(BadProgram) as error:
        parse(text, "p", "p.toml")
    assert str(error.value).startswith("p.toml")
    assert words in str(error.value)


def test_the_library_is_chosen_by_name_and_glob():
    """Each once, in the order asked."""
    names = [workload.name for workload in select(("programs/planted-*", "programs/sqlite-wal-full"))]
    assert names == [
        "planted-acknowledge-before-fsync",
        "planted-rename-without-fsync",
        "sqlite-wal-full",
    ]


def test_an_unknown_program_names_similar_ones():
    """The spelling is nearly always what is wrong."""
    with pytest.raises(BadProgram, match=r"programs/sqlite-wal-full"):
        select(("programs/sqlite-wal-ful",))
    with pytest.raises(BadProgram, match="there is no program file"):
        select(("nowhere.toml",))


def test_every_program_of_the_library_has_an_oracle_and_is_valid_shell(tmp_path):
    """bash reads each of its scripts without an error."""
    for workload in library():
        assert workload.program.oracle, workload.name
        assert len(workload.program.promise) > 20, workload.name
        for file in workload.program.files:
            place = tmp_path / file.name
            place.write_bytes(file.content)
            subprocess.run(["bash", "-n", str(place)], check=True)


def test_a_word_is_a_program_by_its_folder_or_its_suffix():
    """Everything else is a workload."""
    assert [programs.is_program(word) for word in ("programs/x", "./my.toml", "rename/x")] == [
        True,
        True,
        False,
    ]
