"""Blocks, marks, links and anchors of a document."""

import pytest

from harness.book.documents import BadMark, Mark, document


def blocks(text):
    return document("a.md", text).blocks


def test_a_mark_stands_on_the_line_above_the_fence():
    """Exit status and time limit belong to it."""
    (block,) = blocks("Text.\n\n<!-- run exit=1 timeout=900 -->\n```console\n$ ./powercut run\n```\n")
    assert (block.line, block.language, block.text) == (4, "console", "$ ./powercut run\n")
    assert block.mark == Mark("run", exit=1, timeout_s=900)


@pytest.mark.parametrize(
    ("comment", "mark"),
    [
        ("run", Mark("run")),
        ("long: half an hour", Mark("long", reason="half an hour")),
        ("shown: needs root", Mark("shown", reason="needs root")),
        ("file: mine.workload", Mark("file", file="mine.workload")),
    ],
)
def test_kinds_of_marks(comment, mark):
    """Each as the convention has it."""
    assert blocks(f"<!-- {comment} -->\n```sh\ntrue\n```\n")[0].mark == mark


@pytest.mark.parametrize("comment", ["run exits=1", "long", "long:", "shown", "file: a b", "run fast"])
def test_a_comment_that_is_nearly_a_mark_is_refused(comment):
    """A mistyped mark must not let a command go unrun."""
    with pytest.raises(BadMark, match=r"a\.md:1: .* is no mark"):
        blocks(f"<!-- {comment} -->\n```sh\ntrue\n```\n")


def test_other_comments_are_no_marks():
    """Nor is one that does not stand right above."""
    assert blocks("<!-- a note -->\n```sh\ntrue\n```\n")[0].mark is None
    assert blocks("<!-- run -->\n\n```sh\ntrue\n```\n")[0].mark is None


def test_a_document_may_have_a_default():
    """A mark on a block comes before it; other languages have none."""
    text = (
        "<!-- commands: long: days -->\n\n```sh\na\n```\n\n<!-- run -->\n```sh\nb\n```\n\n```text\nc\n```\n"
    )
    assert [block.mark for block in blocks(text)] == [Mark("long", reason="days"), Mark("run"), None]


def test_a_default_within_a_block_is_text():
    """As where the convention is explained."""
    assert blocks("```text\n<!-- commands: long: days -->\n```\n\n```sh\na\n```\n")[1].mark is None


def test_links_of_every_form():
    """Inline, by reference, pictures, HTML, and not those in code."""
    text = "[a](b.md#c) ![p](d.png) <https://x.org> [e]\n\n[e]: f.md\n\n<a href='g.md'>g</a>\n\n`[h](i.md)`\n"
    assert [link.target for link in document("a.md", text).links] == [
        "b.md#c",
        "d.png",
        "https://x.org",
        "f.md",
        "g.md",
    ]


def test_anchors_are_those_of_headings_and_ids():
    """As GitHub and the site make them; a second heading of the same text has a number."""
    text = (
        '# One `two`: three\n\n## Same\n\n## Same\n\n## Own {#own}\n\n<a id="html"></a>\n\n```sh\n# no\n```\n'
    )
    assert document("a.md", text).anchors == {"one-two-three", "same", "same_1", "own", "html"}


def test_front_matter_is_no_text_but_keeps_the_lines():
    """Lines are counted in the file."""
    (block,) = blocks("---\nid: X-1\ntitle: a\n---\n\n```sh\na\n```\n")
    assert block.line == 6
