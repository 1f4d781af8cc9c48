"""A guest that is a machine: frames to and from the agent there, made up here as a program of its own."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from harness.guests import machine
from harness.guests.interface import GuestTrouble, LostGuest
from harness.guests.machine import LOST, MachineGuest, config_of, put_agent
from harness.guests.spec import DISK, INBOX, LOG, GuestSpec
from harness.hosts.claims import Refused
from harness.hosts.hosts import BadHost, Claim, Host
from harness.local.workspace import Workspace

AGENT = Path(__file__).parent / "made_agent.py"
CLAIM = Claim("disk", "/dev/disk/by-id/nvme-X", "X", 4 << 20, "id", "machine-id")
SPEC = GuestSpec(Path("/dev/null"), Path("agent"), 1 << 20, 1 << 20, kind="ssh:box")
Start = Callable[..., MachineGuest]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start(words of the made agent): a guest that has its configuration."""
    with contextlib.ExitStack() as undo:

        def started(*words: str) -> MachineGuest:
            process = subprocess.Popen(
                [sys.executable, AGENT, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            guest = MachineGuest(process, SPEC, Workspace(tmp_path), contextlib.ExitStack())
            undo.callback(guest.close)
            guest.configure(config_of(SPEC, Host("box", "box", claims=(CLAIM,))))
            return guest

        yield started
        LOST.clear()


def test_a_script_and_its_files_are_asked_for_where_they_are_wanted(tmp_path: Path) -> None:
    """As agent/set_up.c reads it; too much is refused by name."""
    host = Host("box", "box", claims=(CLAIM,))
    assert "programs" not in config_of(SPEC, host)
    file = tmp_path / "one.py"
    file.write_text("hi")
    asking = msgspec.structs.replace(SPEC, programs=True, files=(file,))
    assert config_of(asking, host).endswith("programs\nfile\tone.py\t6869\n")
    file.write_bytes(bytes(40_000))
    with pytest.raises(GuestTrouble, match=r"one\.py: more than 32 KiB"):
        config_of(asking, host)


def test_it_is_ready_behind_what_a_login_shell_prints(start: Start) -> None:
    assert start().hear() == ["ready"]


def test_lines_are_answered(start: Start) -> None:
    guest = start()
    guest.hear()
    assert guest.ask("hello") == ["said", "hello"]


def test_stages_are_kept_and_a_line_may_come_in_pieces(start: Start) -> None:
    guest = start()
    guest.hear()
    assert guest.ask("stages") == ["done", "1", "2"]
    assert guest.stage == "walk"


def test_a_range_of_a_device_is_written_and_read(start: Start) -> None:
    guest = start()
    guest.hear()
    guest.write(DISK, 4096, b"here")
    assert guest.read(DISK, 4094, 8) == b"\0\0here\0\0"
    assert guest.read(DISK, (1 << 20) - 2, 8) == b"\0\0"


def test_much_is_sent_while_answers_come(start: Start) -> None:
    """Else both ends would wait: more than the pipes hold goes each way."""
    guest = start()
    guest.hear()
    for number in range(4000):
        guest.say(f"line-{number}")
        guest.write(INBOX, 0, b"x" * 1000)
    assert [guest.hear()[1] for _ in range(4000)] == [f"line-{number}" for number in range(4000)]


def test_what_is_loaded_replaces_what_was_there(start: Start, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(8192) + b"new" + bytes((1 << 20) - 8195))
    guest = start()
    guest.hear()
    guest.write(DISK, 0, b"old" * 4000)
    guest.load(DISK, image)
    with guest.as_file(DISK) as path:
        assert path.read_bytes() == image.read_bytes()
        assert path.stat().st_blocks * 512 < 64 << 10  # zeros are holes
    assert not path.exists()


def test_an_emptied_device_is_zeros(start: Start) -> None:
    guest = start()
    guest.hear()
    guest.write(LOG, 1000, b"entry")
    guest.empty(LOG)
    assert guest.read(LOG, 990, 20) == bytes(20)


def test_the_console_is_that_of_its_kernel(start: Start) -> None:
    guest = start()
    guest.hear()
    guest.ask("log")
    assert guest.console() == ("first", "second")
    guest.forget_console()
    assert guest.console() == ()


def test_a_refusal_is_bad_input(start: Start) -> None:
    with pytest.raises(Refused, match="box: nvme0: it is mounted on /"):
        start("refuse").hear()


def test_trouble_of_the_agent_is_told(start: Start) -> None:
    guest = start()
    guest.hear()
    with pytest.raises(GuestTrouble, match="mount: EINVAL"):
        guest.ask("trouble")


@pytest.mark.parametrize(
    ("word", "kind", "said"),
    [("die", "exit", "agent on box ended"), ("panic", "panic", "connection to box ended")],
)
def test_its_end_is_told_and_the_machine_counts_as_lost(
    start: Start, word: str, kind: str, said: str
) -> None:
    guest = start()
    guest.hear()
    with pytest.raises(LostGuest, match=said) as lost:
        guest.ask(word)
    assert lost.value.kind == kind
    assert {"box"} == LOST


def test_a_machine_that_is_silent_hangs(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = start()
    guest.hear()
    monkeypatch.setattr(machine, "SILENCE_S", 0.2)
    with pytest.raises(LostGuest, match="box is silent") as lost:
        guest.ask("silence")
    assert lost.value.kind == "hang"


def test_what_is_no_frame_is_trouble(start: Start) -> None:
    guest = start()
    guest.hear()
    with pytest.raises(GuestTrouble, match="no frame in what box sent"):
        guest.ask("garbage")


@pytest.mark.parametrize(("words", "left"), [((), ""), (("busy",), "powercut-disk stays busy")])
def test_what_could_not_be_undone_there_is_known(start: Start, words: tuple[str, ...], left: str) -> None:
    guest = start(*words)
    guest.hear()
    guest.close()
    assert guest.left == left


class Told:
    """A connection to a machine of this architecture."""

    host = Host("box", "box")

    def __init__(self, architecture: str) -> None:
        self.architecture = architecture

    def run(self, script: str) -> bytes:
        assert script == "uname -m\n"
        return f"{self.architecture}\n".encode()


def test_a_machine_gets_the_agent_of_its_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same hash; another architecture has none."""
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path))
    monkeypatch.setattr(machine, "put", lambda _, binary: binary.name)
    agent = tmp_path / "agents/0123456789abcdef"
    agent.parent.mkdir()
    for name in (agent.name, f"{agent.name}-aarch64"):
        agent.with_name(name).touch()
    assert put_agent(Told("x86_64"), agent) == agent.name  # type: ignore[arg-type]
    assert put_agent(Told("aarch64"), agent) == f"{agent.name}-aarch64"  # type: ignore[arg-type]
    with pytest.raises(BadHost, match="box: its architecture is riscv64"):
        put_agent(Told("riscv64"), agent)  # type: ignore[arg-type]


def test_without_a_claimed_disk_nothing_is_started() -> None:
    with pytest.raises(Refused, match=r"box has no claimed disk.*powercut host claim box"):
        config_of(SPEC, Host("box", "box"))


def test_the_log_is_in_memory_where_no_device_is_claimed_for_it() -> None:
    lines = config_of(SPEC, Host("box", "box", claims=(CLAIM,))).splitlines()
    assert lines[0].startswith("device\tdisk\t1048576\tclaim\tidentity id\t")
    assert lines[1:] == [
        "device\tlog\t1048576\tmemory",
        f"device\tinbox\t{32 << 20}\tmemory",
        f"device\toutbox\t{256 << 20}\tmemory",
        "ram\t1048576",
    ]
