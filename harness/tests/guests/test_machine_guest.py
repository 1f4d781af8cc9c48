"""A guest that is a machine: frames to and from the agent there, made up here as a program of its own."""

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harness.guests import machine
from harness.guests.interface import GuestTrouble, LostGuest
from harness.guests.machine import LOST, SILENT, MachineGuest, config_of, last_words_of, put_agent, running
from harness.guests.spec import DISK, INBOX, LOG, GuestSpec
from harness.hosts.claims import Refused
from harness.hosts.deploy import NeverAnswered
from harness.hosts.hosts import BadHost, Claim, Host
from harness.hosts.pstore import Seen
from harness.hosts.ssh import RemoteFailed, Unreachable
from harness.local.workspace import Workspace

AGENT = Path(__file__).parent / "made_agent.py"
CLAIM = Claim("disk", "/dev/disk/by-id/nvme-X", "X", 4 << 20, "id", "machine-id")
SPEC = GuestSpec(Path("/dev/null"), Path("agent"), 1 << 20, 1 << 20, kind="ssh:box")
Start = Callable[..., MachineGuest]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """start(words of the made agent): a guest that has its configuration."""
    with contextlib.ExitStack() as undo:

        def started(*words: str, **more: Any) -> MachineGuest:
            process = subprocess.Popen(
                [sys.executable, AGENT, *words],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            guest = MachineGuest(process, SPEC, Workspace(tmp_path), contextlib.ExitStack(), **more)
            undo.callback(guest.close)
            guest.configure(config_of(SPEC, Host("box", "box", claims=(CLAIM,))))
            return guest

        yield started
        LOST.clear()
        SILENT.clear()


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


def test_what_a_dead_kernel_left_is_its_console(start: Start) -> None:
    """Of what it left, only what it said since the console was forgotten; asked for once."""
    asked = []

    def left() -> tuple[str, ...]:
        asked.append(1)
        return ("WARNING: of the boot", "first", "second", "BUG", "Kernel panic - not syncing")

    guest = start(before=("WARNING: of the boot",), last_words=left)
    guest.hear()
    guest.ask("log")
    guest.forget_console()
    with pytest.raises(LostGuest, match="connection to box ended") as lost:
        guest.ask("leave")
    assert (lost.value.kind, lost.value.console) == ("panic", ("BUG", "Kernel panic - not syncing"))
    assert guest.console(1) == ("Kernel panic - not syncing",)
    with pytest.raises(LostGuest) as again:
        guest.ask("hello")
    assert (again.value.kind, again.value.console) == (lost.value.kind, lost.value.console)
    assert asked == [1]


def test_where_nothing_was_left_the_loss_is_told_as_it_was(start: Start) -> None:
    """And whoever is told again does not wait again."""
    asked: list[int] = []

    def nothing() -> tuple[str, ...]:
        asked.append(1)
        return ()

    guest = start(last_words=nothing)
    guest.hear()
    guest.ask("log")
    for line in ("leave", "hello"):
        with pytest.raises(LostGuest, match="connection to box ended") as lost:
            guest.ask(line)
        assert (lost.value.kind, lost.value.console) == ("exit", ("first", "second"))
    assert asked == [1]


def test_a_kernel_that_has_said_why_is_not_asked(start: Start) -> None:
    guest = start(last_words=lambda: pytest.fail("it was"))
    guest.hear()
    with pytest.raises(LostGuest, match="panic"):
        guest.ask("panic")


def test_who_closes_it_does_not_wait_for_its_last_words(start: Start) -> None:
    guest = start(last_words=lambda: pytest.fail("it did"))
    guest.hear()
    guest.say("leave")
    guest.close()


def test_ctrl_c_while_it_waits_ends_the_wait(start: Start) -> None:
    """And the guest can still be closed."""

    def interrupted() -> tuple[str, ...]:
        raise KeyboardInterrupt

    guest = start(last_words=interrupted)
    guest.hear()
    with pytest.raises(KeyboardInterrupt):
        guest.ask("leave")
    guest.close()


def test_a_machine_that_is_silent_hangs(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    guest = start()
    guest.hear()
    monkeypatch.setattr(machine, "SILENCE_S", 0.2)
    with pytest.raises(LostGuest, match="box is silent") as lost:
        guest.ask("silence")
    assert lost.value.kind == "hang"


BOX = Host("box", "box")
BEFORE = Seen("boot", 0, (), ())


@pytest.mark.parametrize("error", [Unreachable("away again"), RemoteFailed("box", 1, "")])
def test_last_words_that_cannot_be_read_are_none(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """The machine was there, so it is not one that was waited for in vain."""

    def left_since(*_: object) -> tuple[str, ...]:
        raise error

    monkeypatch.setattr(machine, "reached", lambda *_, **__: contextlib.nullcontext("connection"))
    monkeypatch.setattr(machine, "left_since", left_since)
    assert last_words_of(BOX, BEFORE) == ()
    assert SILENT == {}


def test_a_machine_that_never_comes_back_is_not_waited_for_twice(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start asks for a short time, and tells what was tried before."""
    waits = []

    @contextlib.contextmanager
    def reached(*_: object, lost: bool = False) -> Iterator[None]:
        waits.append(lost)
        raise Unreachable("box: no answer. Tried: reset")
        yield

    monkeypatch.setattr(machine, "reached", reached)
    monkeypatch.setattr(machine, "with_kernel", lambda host, _kernel, lost: reached(host, lost=lost))
    guest = start(last_words=lambda: last_words_of(BOX, BEFORE))
    guest.hear()
    with pytest.raises(LostGuest, match="connection to box ended") as told:
        guest.ask("leave")
    assert told.value.kind == "exit"
    with pytest.raises(Unreachable, match="Tried: reset"), running(BOX, None):
        pass
    assert waits == [True, False]


def test_a_machine_that_came_back_is_found_by_the_next_start(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was lost: it may die again before that."""
    asked = []

    @contextlib.contextmanager
    def with_kernel(_host: Host, _kernel: None, lost: bool) -> Iterator[str]:
        asked.append(lost)
        yield "connection"

    monkeypatch.setattr(machine, "with_kernel", with_kernel)
    guest = start(last_words=lambda: ("Kernel panic",))
    guest.hear()
    with pytest.raises(LostGuest):
        guest.ask("leave")
    for _ in range(2):
        with running(BOX, None) as connection:
            assert connection == "connection"
    assert asked == [True, False]


def test_a_boot_that_fails_after_it_came_back_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    def with_kernel(*_: object) -> Any:
        raise NeverAnswered("the kernel under test died")

    monkeypatch.setitem(SILENT, "box", "no answer")
    monkeypatch.setattr(machine, "with_kernel", with_kernel)
    with pytest.raises(NeverAnswered, match="under test died"), running(BOX, None):
        pass


def test_a_command_that_fails_leaves_the_loss_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object, **__: object) -> Any:
        raise BadHost("its command `reset` failed")

    monkeypatch.setattr(machine, "reached", reached)
    assert last_words_of(BOX, BEFORE) == ()
    assert SILENT == {}


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
