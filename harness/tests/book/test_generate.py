"""The generated parts: that they are fresh, that a stale one is found, and what is in them."""

import pytest

from harness.book import command_line, generate, kernels, oracles, regions, run_files, words
from harness.book.__main__ import main
from harness.commands.main import parser
from harness.local.root import ROOT
from oracles.spec import parse as parse_spec
from oracles.spec import prefix_of
from workloads.manual import GROUPS, manual
from workloads.text import WORDS
from workloads.text import parse as parse_workload


@pytest.fixture(scope="module")
def pages():
    return generate.generated(ROOT)


def test_every_generated_part_is_fresh(pages):
    """Written again by: .venv/bin/python -m harness.book."""
    assert generate.stale(ROOT) == []


@pytest.fixture
def book(tmp_path, monkeypatch):
    """One document with one generated part."""
    (tmp_path / "a.md").write_text(
        "By hand.\n\n<!-- generated: x -->\n\nold\n\n<!-- end: x -->\n\nBy hand.\n"
    )

    def generated(root):
        return {"a.md": regions.filled(root / "a.md", {"x": "new"})}

    monkeypatch.setattr(generate, "GENERATORS", (generated,))
    return tmp_path


def test_a_stale_part_is_named_with_the_command_that_mends_it(book):
    """And it is mended by that."""
    assert generate.stale(book) == ["a.md is stale; write it again: .venv/bin/python -m harness.book"]
    assert generate.write(book) == ["a.md"]
    assert (
        "By hand.\n\n<!-- generated: x -->\n\nnew\n\n<!-- end: x -->\n\nBy hand."
        in (book / "a.md").read_text()
    )
    assert generate.stale(book) == []
    assert generate.write(book) == []


def test_the_check_fails_and_names_the_file(book, monkeypatch, capsys):
    """Exit status 1, and 0 once it is written."""
    monkeypatch.setattr("harness.book.__main__.ROOT", book)
    assert main(["--check"]) == 1
    assert "a.md is stale" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0


@pytest.mark.parametrize("words", [[], ["--check"]])
def test_an_oracle_without_a_sentence_is_named_with_the_place_for_it(words, monkeypatch, capsys):
    """In place of a traceback; nothing is written."""
    left = {name: said for name, said in oracles.IN_SHORT.items() if name != "stable"}
    monkeypatch.setattr(oracles, "IN_SHORT", left)
    assert main(words) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.strip() == (
        "the oracle stable has no sentence for docs/reference/oracles.md: add one to IN_SHORT in "
        "harness/book/oracles.py"
    )


def test_a_missing_part_is_refused():
    """Else it would silently be left out."""
    with pytest.raises(regions.BadRegions, match="has the generated parts none; its generator makes x"):
        regions.with_parts("text", {"x": "new"})


def test_every_option_of_every_command_has_a_text():
    """In --help and in the reference alike."""

    def without(name, command):
        missing = [
            f"{name} {command_line.shown(action)}"
            for action in command._actions
            if command_line.is_shown(action) and not (action.help or "").strip("() ")
        ]
        for each, about, below in command_line.subcommands(command):
            missing += [f"{name} {each}"] * (not about) + without(f"{name} {each}", below)
        return missing

    assert without("powercut", parser()) == []


def test_the_reference_has_every_command_and_option(pages):
    """Those of subcommands, too."""
    page = pages[command_line.PAGE]
    for name, _, command in command_line.subcommands(parser()):
        assert f"\n## {name}\n" in page
        assert all(
            command_line.shown(action) in page for action in command._actions if command_line.is_shown(action)
        )
    assert "\n### kernel prune\n" in page
    assert "`--step" not in page  # git bisect run calls us with it


def test_every_word_has_its_manual_and_its_place():
    """No more and no less."""
    assert set(manual()) == set(WORDS)
    assert sorted(word for group in GROUPS.values() for word in group) == sorted(WORDS)


@pytest.mark.parametrize("word", WORDS)
def test_the_example_of_a_word_is_a_workload(word):
    """And it uses the word."""
    workload = parse_workload(words.example(word))
    assert word in {operation.word for operation in workload.run}


def test_state_specs_of_the_reference_are_read(pages):
    """Every one that stands in code, in any of its tables or sentences."""
    import re  # noqa: PLC0415

    text = "\n".join(text for text in pages.values())
    found = set(re.findall(r"`([ORTND]:[^`\s]*\d)`", text))
    assert len(found) >= 10
    for spec in found:
        assert parse_spec(spec).spec == spec
        assert prefix_of(spec) is not None


@pytest.mark.parametrize("kind", list(run_files.all_structs()), ids=lambda kind: kind.__name__)
def test_every_key_of_every_file_is_explained(kind):
    """A docstring has a line "key: meaning" for each."""
    about, meanings = run_files.explained(kind)
    assert about
    assert [field.name for field in run_files.fields_of(kind) if not meanings.get(field.name)] == []


def test_a_variant_is_described_by_its_comment_alone(tmp_path):
    """An option that is switched off is no sentence."""
    path = tmp_path / "small.config"
    path.write_text("# Small:\n# for builds in a hurry.\n# CONFIG_XFS_FS is not set\nCONFIG_A=y\n# Later.\n")
    assert kernels.first_sentences(path) == "Small: for builds in a hurry."
