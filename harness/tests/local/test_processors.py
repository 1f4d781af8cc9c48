import contextlib
import os
from pathlib import Path

import pytest

from harness.guests import local
from harness.guests.bare import run_in_guest
from harness.guests.spec import GuestSpec
from harness.local import processors as module
from harness.local.processors import claimed, pinned, processors
from harness.local.workspace import Workspace


@pytest.fixture(autouse=True)
def of_this_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other runs of this machine hold is not seen."""
    monkeypatch.setattr(module, "NAME", f"powercut-test-{os.getpid()}")


def test_two_claims_at_once_hold_different_processors_while_there_are_any() -> None:
    with claimed() as first, claimed() as second:
        assert len({first, second}) == min(2, len(processors()))


def test_each_is_held_once_before_one_is_held_twice() -> None:
    every = processors()
    with contextlib.ExitStack() as claims:
        held = [claims.enter_context(claimed()) for _ in range(len(every) + 1)]
    assert sorted(held[:-1]) == every
    assert held[-1] == every[-1]


def test_a_claim_ends_with_its_block() -> None:
    with claimed() as before:
        pass
    with claimed() as after:
        assert after == before


def test_a_processor_that_is_named_is_taken_and_not_claimed() -> None:
    with pinned(["true"], processors()[-1]) as command, claimed() as next_one:
        assert command == ["taskset", "-c", str(processors()[-1]), "true"]
        assert next_one == processors()[-1]


def test_several_are_those_beside_the_claimed_one() -> None:
    every = processors()
    with pinned(["true"], count=2) as command, claimed() as other:
        assert command[2].split(",") == [str(one) for one in every[::-1][:2]]
        assert other == every[-2 if len(every) > 1 else -1]


def guest(folder: Path) -> local.LocalGuest:
    """That is `sleep`."""
    folder.mkdir()
    backend = local.BACKENDS["uml"]._replace(
        prepare=lambda spec, folder: None, command=lambda spec, folder, theirs: ["sleep", "60"]
    )
    return local.start(backend, GuestSpec(Path("linux"), Path("agent"), 4096, 4096), Workspace(folder))


def where(pid: int) -> int:
    """The processor that taskset has put it on."""
    while len(allowed := os.sched_getaffinity(pid)) > 1:
        pass
    return allowed.pop()


@pytest.mark.skipif(len(processors()) < 2, reason="one processor")
def test_guests_at_once_are_on_different_processors_until_they_are_closed(tmp_path: Path) -> None:
    first, second = guest(tmp_path / "1"), guest(tmp_path / "2")
    with contextlib.closing(second), contextlib.closing(first):
        assert where(first.pid) != where(second.pid)
    third = guest(tmp_path / "3")
    with contextlib.closing(third):
        assert where(third.pid) == processors()[-1]


def test_a_guest_without_our_agent_is_on_one_that_no_other_has(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel"
    kernel.write_text("#!/bin/sh\ntaskset -cp $$\necho powercut-status 0\n")
    kernel.chmod(0o755)
    with claimed():
        ran = run_in_guest(kernel, tmp_path, "true", Workspace(tmp_path))
    expected = processors()[::-1][1 % len(processors())]
    assert [line.split(": ")[-1] for line in ran.lines] == [str(expected)]
