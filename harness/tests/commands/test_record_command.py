"""`powercut record`: what of its words becomes the program, and what is refused in one line."""

from pathlib import Path

import msgspec
import pytest

from harness.commands import record
from harness.commands.main import understood
from harness.guests.spec import QEMU_TCG
from harness.runs.run import RunSpec, require_for_programs
from harness.stages.trace import content_bytes, last_words, program_text
from harness.tests.conftest import Powercut
from oracles.profiles import profile
from reports.results import DAMAGE
from workloads.library import BadSelection
from workloads.program import Program, ProgramFile, environment_of
from workloads.trace import Call, Output, Trace
from workloads.workload import Workload


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def made(*words: str, stdin: bytes = b"") -> Workload:
    return record.workload_of(understood(["record", *words]), stdin)


def test_what_follows_the_two_dashes_is_the_program() -> None:
    """Its own options are its own."""
    workload = made("--fs", "ext4", "--", "sh", "-c", "echo --fs", stdin=b"in")
    assert workload.program == Program(("sh", "-c", "echo --fs"), stdin=b"in")
    assert (workload.name, workload.comment) == ("sh", ("sh -c 'echo --fs'",))
    assert workload.config == ("programs",)


def test_a_file_of_ones_own_goes_along(elsewhere: Path) -> None:
    (elsewhere / "mine").write_bytes(b"#!/bin/sh\n")
    (elsewhere / "mine").chmod(0o755)
    (elsewhere / "data").write_bytes(b"d")
    workload = made("--file", "data", "--setup", "mkdir d", "--", "./mine", "x")
    assert workload.program is not None
    assert workload.program.arguments == ("/program/mine", "x")
    assert workload.program.setup == ("/bin/sh", "-ec", "mkdir d")
    assert workload.program.files == (
        ProgramFile("data", b"d", False),
        ProgramFile("mine", b"#!/bin/sh\n", True),
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--", "no-such-program-here"), "there is no program 'no-such-program-here'"),
        (("--", "./missing"), "missing is no file"),
        (("--", "./plain"), "is not executable: chmod +x plain"),
        (("--file", "missing", "--", "sh"), "missing is no file"),
        (("--file", "large", "--", "sh"), "have 7 MiB"),
        (("--fs", "nofs", "--", "sh"), "nofs"),
    ],
)
def test_bad_input_ends_with_one_line(
    elsewhere: Path, powercut: Powercut, words: tuple[str, ...], sentence: str
) -> None:
    """Nothing is built, and nothing is left."""
    (elsewhere / "plain").write_text("x")
    (elsewhere / "plain").chmod(0o644)
    (elsewhere / "large").write_bytes(bytes(7 << 20))
    exit_status, _, said = powercut("record", *words)
    assert exit_status == 2
    assert sentence in said
    assert len(said.strip().splitlines()) == 1
    assert not (elsewhere / "results").exists()


def test_the_agent_is_told_in_lines_of_hex() -> None:
    """Tabs and line ends in a word do no harm; of our surroundings a program may change each."""
    program = Program(
        ("a\tb\nc",),
        setup=("s",),
        files=(ProgramFile("f", b"\0"),),
        environment=(("HOME", "/mnt"),),
        timeout_s=3,
        content=False,
        within=True,
    )
    lines = program_text(profile("ext4"), program).splitlines()
    assert lines[0].split("\t") == ["mount", "ext4", "", str(profile("ext4").size_bytes // 512)]
    assert {"seconds\t3", "within\t1", "hashes\t1", "file\tf\t755\t00", "setup\t73"} <= set(lines)
    assert "argument\t6109620a63" in lines
    assert set(program_text(profile("ext4"), program, untraced=True).splitlines()) - set(lines) == {
        "untraced\t1"
    }
    assert environment_of(program)["HOME"] == "/mnt"
    assert f"environment\t{b'HOME=/mnt'.hex()}" in lines


def test_a_large_tree_is_noticed() -> None:
    """The files that were there, and what was written behind their ends."""
    tree = msgspec.Raw(
        b'[{"path":".","kind":"dir","ino":2,"size":1},{"path":"a","kind":"file","ino":3,"size":100}]'
    )
    calls = (
        Call(0, "write", 50, "a", offset=80, length=50, data=(0, 50), inode=3),
        Call(1, "write", 9, "b", offset=0, length=9, data=(50, 9), inode=4),
    )
    assert content_bytes(Trace(2, tree, calls, (), 0, "", "")) == 139


@pytest.mark.parametrize(
    ("fields", "sentence"), [({"guest": QEMU_TCG}, "--guest"), ({"kind": DAMAGE}, "--damage")]
)
def test_only_a_power_failure_under_user_mode_linux_is_asked_about(
    fields: dict[str, str], sentence: str
) -> None:
    run_spec = RunSpec((made("--", "sh"),), (profile("ext4"),), ("6.12",))
    require_for_programs(run_spec)
    with pytest.raises(BadSelection, match=sentence):
        require_for_programs(msgspec.structs.replace(run_spec, **fields))


def test_what_a_program_said_last_is_shown() -> None:
    assert last_words(Output(1, "out", "a\nb\n")) == "a; b"
    assert last_words(Output()) == "it said nothing"
