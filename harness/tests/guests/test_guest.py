"""How the end of a guest is seen: by its line and its console, with a shell in place of a kernel."""

import contextlib
import os
import subprocess
import time
from pathlib import Path

import msgspec
import pytest

from harness.guests import guest as subject
from harness.guests import local
from harness.guests.guest import GuestSlot
from harness.guests.interface import LostGuest
from harness.guests.local import LocalGuest
from harness.guests.spec import QEMU_TCG, UML, Channel, GuestSpec
from harness.local import workspace


def started(folder: Path, script: str) -> LocalGuest:
    """Its console is standard output, its line descriptor 9."""
    guest_in, to_guest = os.pipe()
    from_guest, guest_out = os.pipe()
    process = subprocess.Popen(
        ["bash", "-c", f"exec 9>&{guest_out} {guest_out}>&-; {script}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=(guest_in, guest_out),
        start_new_session=True,
    )
    os.close(guest_in)
    os.close(guest_out)
    spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20)
    return LocalGuest(process, Channel(to_guest, from_guest, ()), spec, folder, {}, contextlib.ExitStack())


def lost(guest: LocalGuest, timeout_s: float = 20.0) -> LostGuest:
    began = time.monotonic()
    with pytest.raises(LostGuest) as raised:
        guest.hear(timeout_s)
    assert time.monotonic() - began < 10
    guest.close()
    return raised.value


def test_a_guest_that_dies_behind_an_answer_is_lost_at_the_next_question(tmp_path: Path) -> None:
    """The answer counts; whoever asks again must not wait for ever."""
    guest = started(tmp_path, "echo done 1 >&9; kill -9 $$")
    guest._process.wait()
    assert guest.hear() == ["done", "1"]
    assert lost(guest).kind == "exit"


def test_a_guest_whose_line_closes_first_tells_by_its_console_how_it_died(tmp_path: Path) -> None:
    guest = started(tmp_path, "exec 9>&-; sleep 0.3; echo 'Kernel panic - not syncing: x'; kill -9 $$")
    assert lost(guest).kind == "panic"


def test_a_guest_that_was_killed_did_not_hang(tmp_path: Path) -> None:
    """A process that it started holds the console open."""
    guest = started(tmp_path, "(sleep 30) & kill -9 $$")
    death = lost(guest, 0.5)
    assert (death.kind, "ended (-9)" in str(death)) == ("exit", True)


def test_a_guest_that_says_nothing_hangs(tmp_path: Path) -> None:
    assert lost(started(tmp_path, "sleep 30"), 0.5).kind == "hang"


def test_a_death_where_its_files_found_no_room_is_no_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """User Mode Linux panics when its memory, a file, cannot grow."""
    monkeypatch.setattr(workspace, "FULL_BYTES", 1 << 62)
    death = lost(started(tmp_path, "echo 'Kernel panic - not syncing: x'; kill -9 $$"))
    assert (death.kind, "has no space" in str(death)) == ("exit", True)


@pytest.mark.parametrize(("room_mib", "kind"), [(511, "exit"), (512, "panic")])
@pytest.mark.parametrize(
    "said", ["Kernel mode signal 7", "Attempted to kill init! exitcode=0x00000007"], ids=["kernel", "agent"]
)
def test_a_bus_error_where_its_memory_did_not_fit_is_no_panic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, room_mib: int, kind: str
) -> None:
    """The room that its memory took is free again once it is dead."""
    monkeypatch.setattr(local, "room_bytes", lambda _: room_mib << 20)
    assert lost(started(tmp_path, f"echo 'Kernel panic - not syncing: {said}'; kill -9 $$")).kind == kind


@pytest.mark.parametrize(
    ("ends", "boots"), [(["kill -9 $$"], 1), (["kill -9 $$"] * 2, 0), (["echo 'Kernel panic - x'"], 0)]
)
def test_a_guest_that_somebody_kills_while_it_boots_is_booted_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: list[str], boots: int
) -> None:
    scripts = iter([*ends, "echo ready >&9; sleep 30"])
    monkeypatch.setitem(subject.STARTS, UML, lambda _, space: started(space.path, next(scripts)))
    spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20)
    with GuestSlot(spec, workspace.Workspace(tmp_path)) as slot:
        if boots:
            slot.guest()
        else:
            with pytest.raises(LostGuest):
                slot.guest()
        assert slot.boots == boots


def test_what_records_with_several_processors_is_a_guest_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What recovers has one, so that a state comes back the same when it is recovered again."""
    booted: list[tuple[int, Path]] = []

    def start(spec: GuestSpec, space: workspace.Workspace) -> LocalGuest:
        booted.append((spec.cpus, space.path))
        return started(space.path, "echo ready >&9; sleep 30")

    monkeypatch.setitem(subject.STARTS, UML, start)
    spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20, cpus=2)
    with GuestSlot(spec, workspace.Workspace(tmp_path)) as slot:
        assert slot.recorder.guest() is not slot.guest()
        assert slot.boots == 2
        assert booted == [(2, tmp_path / "recorder"), (1, tmp_path)]
        slot.drop()
        slot.recorder.guest()
        assert slot.boots == 3


def test_with_one_processor_the_guest_that_recovers_records() -> None:
    spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20)
    slot = GuestSlot(spec, workspace.Workspace(Path("nowhere")))
    assert slot.recorder is slot


def test_each_kind_is_started_with_the_processors_of_its_spec(tmp_path: Path) -> None:
    """User Mode Linux has several in seccomp mode alone."""
    one = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20)
    two = msgspec.structs.replace(one, cpus=2)
    assert not [word for word in local.BACKENDS[UML].command(one, tmp_path, (0, 1)) if "ncpus" in word]
    assert {"ncpus=2", "seccomp=on"} <= set(local.BACKENDS[UML].command(two, tmp_path, (0, 1)))
    words = local.BACKENDS[QEMU_TCG].command(msgspec.structs.replace(two, kind=QEMU_TCG), tmp_path, (0,))
    assert words[words.index("-smp") + 1] == "2"
