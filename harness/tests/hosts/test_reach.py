"""A machine that does not answer is asked again, and reset where it was ours."""

import contextlib
from collections.abc import Iterator

import pytest

from harness.hosts import reach
from harness.hosts.hosts import Host
from harness.hosts.reach import reached
from harness.hosts.ssh import Unreachable

BARE = Host("box", "box")
WHOLE = Host("box", "box", power=("pdu",), reset=("button",))


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done, in order; the machine answers after the act that `after` names."""
    done: list[str] = []
    monkeypatch.setattr(reach, "reset", lambda _: done.append("reset"))
    monkeypatch.setattr(reach, "cycle", lambda _: done.append("cycle"))
    monkeypatch.setattr(reach, "AGAIN_S", 0.0)
    monkeypatch.setattr(reach, "FIRST_S", 0.0)
    monkeypatch.setattr(reach, "BOOT_S", 0.0)
    monkeypatch.setattr(reach, "ALONE_S", 0.0)
    return done


def answers_after(act: str, acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    @contextlib.contextmanager
    def connect(_host: Host) -> Iterator[str]:
        if act not in ("", *acts):
            raise Unreachable("box: no answer")
        yield "connection"

    monkeypatch.setattr(reach, "connect", connect)


@pytest.mark.parametrize(("act", "done"), [("", []), ("reset", ["reset"]), ("cycle", ["reset", "cycle"])])
def test_each_means_is_tried_before_the_next(
    acts: list[str], monkeypatch: pytest.MonkeyPatch, act: str, done: list[str]
) -> None:
    answers_after(act, acts, monkeypatch)
    with reached(WHOLE, lost=True) as connection:
        assert connection == "connection"
    assert acts == done


def test_a_machine_that_we_never_had_is_not_reset(acts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    answers_after("reset", acts, monkeypatch)
    with pytest.raises(Unreachable, match=r"no answer$"), reached(WHOLE):
        pass
    assert acts == []


def test_what_was_tried_and_what_could_not_be_is_told(
    acts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers_after("never", acts, monkeypatch)
    with pytest.raises(Unreachable, match=r"Tried: reset, power cycle$"), reached(WHOLE, lost=True):
        pass
    with pytest.raises(Unreachable, match="reset and power: there is no such command"), reached(BARE, True):
        pass


def test_what_fails_inside_is_not_taken_for_a_machine_that_does_not_answer(
    acts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers_after("", acts, monkeypatch)
    with pytest.raises(Unreachable, match="later"), reached(WHOLE, lost=True):
        raise Unreachable("later")
    assert acts == []
