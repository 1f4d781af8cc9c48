"""The agent is compiled once for each version of its source."""

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
