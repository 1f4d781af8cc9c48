"""The agent is compiled once for each version of its source and each architecture."""

from pathlib import Path

import pytest

from harness.guests import agent_binary as subject
from harness.guests.agent_binary import AgentError, agent_binary, agent_hash, agent_of


@pytest.fixture(autouse=True)
def tiny_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source that compiles at once, and a "compiler" that notes that it was called."""
    (tmp_path / "source").mkdir()
    (tmp_path / "source/agent.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "gcc").write_text(f'#!/bin/sh\necho called >>{tmp_path}/calls\nexec gcc "$@"\n')
    (tmp_path / "gcc").chmod(0o755)
    monkeypatch.setattr(subject, "SOURCE", tmp_path / "source")
    monkeypatch.setattr(subject, "COMPILE", (str(tmp_path / "gcc"), "-O0"))
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def calls(folder: Path) -> int:
    return (folder / "calls").read_text().count("called")


def test_it_is_compiled_once(tiny_agent: Path) -> None:
    assert agent_binary() == agent_binary()
    assert calls(tiny_agent) == 1


@pytest.mark.parametrize("name", ["agent.c", "agent.h"])
def test_another_source_is_another_binary(tiny_agent: Path, name: str) -> None:
    before = agent_binary()
    with (tiny_agent / "source" / name).open("a") as file:
        file.write("/* changed */\n")
    assert agent_binary() != before
    assert before.exists()


def test_what_does_not_compile_is_told_with_the_first_error_and_leaves_nothing(tiny_agent: Path) -> None:
    (tiny_agent / "source/agent.c").write_text("int main(void) { return missing; }\n")
    with pytest.raises(AgentError, match=r"the agent cannot be compiled: .*agent\.c.*missing"):
        agent_binary()
    assert [path.name for path in (tiny_agent / "cache/agents").iterdir() if path.name != "lock"] == []


def test_a_missing_compiler_is_told_with_the_fix(tiny_agent: Path) -> None:
    (tiny_agent / "gcc").unlink()
    with pytest.raises(AgentError, match="apt-get install gcc libc6-dev"):
        agent_binary()


def test_its_hash_names_it_as_long_as_it_is_kept(tiny_agent: Path) -> None:
    """An older one, too; one that was never here is refused with both names."""
    older = agent_binary()
    assert older.name == agent_hash()
    (tiny_agent / "source/agent.c").write_text("int main(void) { return 1; }\n")
    assert agent_of(older.name) == older
    assert agent_of(agent_hash()).exists()
    older.unlink()
    with pytest.raises(AgentError, match=f"agent '{older.name}' is not available.*{agent_hash()}"):
        agent_of(older.name)


@pytest.fixture
def cross(tiny_agent: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Notes its words, and compiles for this machine."""
    compiler = tiny_agent / "cross"
    compiler.write_text(f'#!/bin/sh\necho "$@" >>{tiny_agent}/cross-calls\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(subject, "CROSS_COMPILER", str(compiler))
    monkeypatch.setattr(subject, "missing", lambda requirements: ())
    return tiny_agent / "cross-calls"


def test_the_agent_for_aarch64_has_the_same_hash_and_flags(cross: Path) -> None:
    """So what a run says of its agent holds for every machine."""
    first, other = agent_binary(), agent_binary("aarch64")
    assert (first.name, other.name) == (agent_hash(), f"{agent_hash()}-aarch64")
    assert first.exists()
    assert other == agent_binary("aarch64") == agent_of(first.name, "aarch64")
    (words,) = cross.read_text().splitlines()
    assert words.startswith("-O0 ")


def test_an_older_agent_for_aarch64_is_one_that_was_compiled(tiny_agent: Path, cross: Path) -> None:
    """Its source is gone: where only the one for x86_64 is kept, it cannot be made."""
    older, other = agent_binary(), agent_binary("aarch64")
    (tiny_agent / "source/agent.c").write_text("int main(void) { return 1; }\n")
    assert agent_of(older.name, "aarch64") == other
    other.unlink()
    with pytest.raises(AgentError, match=f"agent '{older.name}' is not available for aarch64"):
        agent_of(older.name, "aarch64")


def test_a_missing_cross_compiler_is_told_with_all_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the machine that needs it is refused."""
    monkeypatch.setattr(subject, "missing", tuple)
    said = r"cannot be compiled for aarch64.*gcc-aarch64-linux-gnu libc6-dev-arm64-cross$"
    with pytest.raises(AgentError, match=said):
        agent_binary("aarch64")
    assert agent_binary().exists()
