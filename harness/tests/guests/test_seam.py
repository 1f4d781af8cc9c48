"""A guest is reached through one interface: nothing else knows where its files lie, or that it has any."""

import ast
import contextlib
import fcntl
import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.guests import guest, local
from harness.guests.interface import Guest
from harness.guests.spec import DISK, INBOX, LOG, OUTBOX, GuestSpec
from harness.local.root import ROOT
from harness.local.workspace import Workspace
from harness.tests.fake_guest import FakeGuest, FakeGuestSlot, MemoryDevices

DEVICES = {DISK, LOG, INBOX, OUTBOX}
CONSTANTS = {"DISK", "LOG", "INBOX", "OUTBOX"}
SEALED = {"_folder", "_files", "_process", "folder", "process"}  # of LocalGuest, and what they were once
MEMBERS = {name for name in vars(Guest) if not name.startswith("_")} | set(Guest.__annotations__)


def is_guest(node: ast.expr) -> bool:
    return ast.unparse(node).removesuffix("()").endswith("guest")


def reaching(source: str) -> set[int]:
    """Lines that make a path of a device's name, or look into a guest of this machine."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            end = node.right
            word = end.value if isinstance(end, ast.Constant) else end.id if isinstance(end, ast.Name) else ""
            if word in DEVICES or word in CONSTANTS:
                lines.add(node.lineno)
        elif isinstance(node, ast.Attribute) and node.attr in SEALED and is_guest(node.value):
            lines.add(node.lineno)
    return lines


def test_no_code_outside_the_guests_knows_a_path_of_theirs() -> None:
    outside = [
        path
        for path in sorted((ROOT / "harness").rglob("*.py"))
        if not {"guests", "tests"} & set(path.relative_to(ROOT).parts)
    ]
    assert len(outside) > 50
    assert [f"{path}:{line}" for path in outside for line in reaching(path.read_text())] == []


@pytest.mark.parametrize(
    "source",
    [
        'open(guest.folder / "log")',
        'space.path / "disk"',
        "space.path / local.FOLDER / INBOX",
        "self._guest._folder",
        "guest_slot.guest().process.pid",
    ],
)
def test_what_is_forbidden_is_seen(source: str) -> None:
    """So the test before this one can fail."""
    assert reaching(source) == {1}


def test_each_guest_has_all_that_a_guest_has(tmp_path: Path) -> None:
    """What is made up for tests, too: else they would show nothing about a guest of another kind."""
    assert {"say", "hear", "ask", "read", "write", "load", "as_file", "console", "close"} <= MEMBERS
    fake = FakeGuest(FakeGuestSlot(tmp_path, 1 << 20))
    assert sorted(name for name in MEMBERS if not hasattr(fake, name)) == []
    methods = {name for name in vars(Guest) if not name.startswith("_")}
    for name in sorted(methods):
        theirs = inspect.signature(getattr(Guest, name))
        ours = inspect.signature(getattr(local.LocalGuest, name))
        assert list(theirs.parameters) == list(ours.parameters), name


# --- devices of a guest on this machine -----------------------------------------------------------


class Sleeping:
    """A local guest that is `sleep`: its devices are there, and nobody answers."""

    def __init__(self, tmp_path: Path) -> None:
        backend = local.BACKENDS["uml"]._replace(
            prepare=lambda spec, folder: None, command=lambda spec, folder, theirs: ["sleep", "60"]
        )
        self.space = Workspace(tmp_path)
        self.spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 2 << 20)
        self.guest = local.start(backend, self.spec, self.space)


@pytest.fixture
def sleeping(tmp_path: Path) -> Iterator[Sleeping]:
    made = Sleeping(tmp_path)
    yield made
    made.guest.close()


def test_a_range_of_a_device_is_written_and_read(sleeping: Sleeping) -> None:
    one = sleeping.guest
    one.write(DISK, 4096, b"here")
    assert one.read(DISK, 4094, 8) == b"\0\0here\0\0"
    assert one.read(DISK, (1 << 20) - 2, 8) == b"\0\0"
    assert [one.size(name) for name in (DISK, LOG)] == [1 << 20, 2 << 20]


def test_what_is_loaded_replaces_what_was_there(sleeping: Sleeping, tmp_path: Path) -> None:
    image = tmp_path / "image"
    image.write_bytes(bytes(8192) + b"new" + bytes((1 << 20) - 8195))
    one = sleeping.guest
    one.write(DISK, 0, b"old" * 4000)
    one.load(DISK, image)
    with one.as_file(DISK) as path:
        assert path.read_bytes() == image.read_bytes()
        assert path.stat().st_blocks * 512 < 64 << 10  # zeros are holes
    assert one.read(DISK, 8192, 3) == b"new"  # by the descriptor that was open before


def test_an_emptied_device_is_zeros_of_the_same_size(sleeping: Sleeping) -> None:
    one = sleeping.guest
    one.write(LOG, 1000, b"entry")
    one.empty(LOG)
    assert (one.size(LOG), one.read(LOG, 990, 20)) == (2 << 20, bytes(20))


def test_a_write_that_is_cut_short_goes_on(sleeping: Sleeping, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = local.os.pwrite
    monkeypatch.setattr(local.os, "pwrite", lambda file, data, at: whole(file, data[:3], at))
    sleeping.guest.write(INBOX, 7, b"all of it")
    assert sleeping.guest.read(INBOX, 6, 11) == b"\0all of it\0"


def test_the_next_guest_has_devices_that_the_last_one_cannot_lock(tmp_path: Path) -> None:
    """It may still be about to die; what it held is freed."""
    last = Sleeping(tmp_path)
    last.guest.write(DISK, 0, b"old")
    with (tmp_path / local.FOLDER / DISK).open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        last.guest.close()
        following = Sleeping(tmp_path)
        with (
            contextlib.closing(following.guest),
            following.guest.as_file(DISK) as path,
            path.open("r+b") as file,
        ):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            assert file.read(3) == bytes(3)
        assert os.fstat(held.fileno()).st_size == 0


def test_its_descriptors_go_with_it(tmp_path: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = descriptors()
    Sleeping(tmp_path).guest.close()
    assert descriptors() == before


def test_a_guest_that_cannot_be_started_leaves_no_descriptor(tmp_path: Path) -> None:
    def prepare(spec: GuestSpec, folder: Path) -> None:
        raise OSError("no room")

    backend = local.BACKENDS["uml"]._replace(prepare=prepare)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(OSError, match="no room"):
        local.start(backend, GuestSpec(Path("linux"), Path("agent"), 4096, 4096), Workspace(tmp_path))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


# --- another kind ---------------------------------------------------------------------------------


class Elsewhere(MemoryDevices):
    """A guest without a file here, of a kind that this test adds."""

    def __init__(self, spec: GuestSpec, space: Workspace) -> None:
        super().__init__(space.path, dict(spec.devices()))

    def hear(self, timeout_s: float) -> list[str]:
        return ["ready"]


def test_a_kind_is_added_by_a_function_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(guest.STARTS, "elsewhere", Elsewhere)
    spec = GuestSpec(Path("linux"), Path("agent"), 1 << 20, 1 << 20, kind="elsewhere")
    with guest.GuestSlot(spec, Workspace(tmp_path)) as guest_slot:
        one = guest_slot.guest()
        one.write(OUTBOX, 0, b"report")
        assert one.read(OUTBOX, 0, 6) == b"report"
        assert guest_slot.boots == 1
    assert one.devices[OUTBOX].closed
    assert list(tmp_path.iterdir()) == []
