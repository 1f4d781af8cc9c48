"""A link that leads nowhere is found; one that leads somewhere is not."""

import pytest

from harness.book.documents import document
from harness.book.links import complaints, external, joined


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "kernel" / "series").mkdir(parents=True)
    (tmp_path / "docs" / "a.md").write_text("# Title\n\n## Some part\n")
    (tmp_path / "README.md").write_text("# Top\n")
    (tmp_path / "kernel" / "build.py").write_text("")
    (tmp_path / "kernel" / "series" / "fix.cocci").write_text("")
    return tmp_path


def found(root, text):
    """What is wrong with docs/b.md of that text, beside docs/a.md and README.md."""
    others = [document(name, (root / name).read_text()) for name in ("docs/a.md", "README.md")]
    (root / "docs" / "b.md").write_text(text)
    return [said.partition(": ")[2] for said in complaints([*others, document("docs/b.md", text)], root)]


@pytest.mark.parametrize(
    "text",
    [
        "[a](a.md)",
        "[a](a.md#some-part)",
        "[here](#own)\n\n# Own",
        "[top](../README.md#top)",
        "[code](../kernel/build.py)",
        "[out](https://nowhere.invalid/x)",
        "`kernel/build.py` `kernel/` `kernel/*.py`",
        "`kernel/series/fix` `kernel/series/NAME.patch` `fs/btrfs/x.c`",
    ],
)
def test_a_link_that_leads_somewhere(root, text):
    """To a document, a heading, a file; external ones are not asked."""
    assert found(root, text) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](gone.md)", "gone.md: there is no such file"),
        ("[a](a.md#no-part)", "a.md#no-part: docs/a.md has no such heading; it has: some-part, title"),
        ("[here](#own)", "#own: docs/b.md has no such heading; it has: none"),
        ("[code](../kernel/gone.py)", "../kernel/gone.py: there is no such file"),
        ("![p](p.png)", "p.png: there is no such file"),
        ("[out](../../etc/passwd)", "../../etc/passwd: it leaves the repository"),
        ("[abs](/a.md)", "/a.md: an absolute path; write it relative to the document"),
        ("`kernel/gone.py`", "kernel/gone.py: there is no such file"),
        ("`kernel/*.rs`", "kernel/*.rs: there is no such file"),
    ],
)
def test_a_dead_link(root, text, said):
    """With the reason."""
    assert found(root, text) == [said]


def test_external_links_are_listed_once():
    """With the first place that has each."""
    text = "[a](https://x.org/a) [b](a.md)\n\n<https://x.org/a> <mailto:a@x.org>\n"
    assert external([document("docs/b.md", text)]) == {"https://x.org/a": "docs/b.md:1"}


def test_relative_paths_are_joined():
    """None where one leads out of the repository."""
    assert joined("docs/howto/a.md", "../../kernel/build.py") == "kernel/build.py"
    assert joined("README.md", "docs/a.md") == "docs/a.md"
    assert joined("README.md", "../a.md") is None
