"""The commands of a document are run in order; what goes otherwise than the document says is found."""

import subprocess

import pytest

from harness.book.documents import document
from harness.book.runner import missing_line, plain, run_document


@pytest.fixture
def root(tmp_path):
    """A checkout with one program, which prints its words and ends with the number among them."""
    program = tmp_path / "powercut"
    program.write_text('#!/bin/sh\necho "did $*"\ncase "$*" in *fail*) exit 1;; *sleep*) sleep 60;; esac\n')
    program.chmod(0o755)
    (tmp_path / "tracked.txt").write_text("here\n")
    (tmp_path / ".gitignore").write_text("/results/\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "old").write_text("")
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def wrong(root, text):
    return run_document(document("a.md", text), root, tell=lambda line: None)


def test_a_command_that_does_what_the_document_says(root):
    """As ./powercut and as powercut; with its output."""
    text = "<!-- run -->\n```console\n$ ./powercut run\ndid run\n$ powercut list\ndid list\n```\n"
    assert wrong(root, text) == []


def test_a_command_that_fails_is_found(root):
    """With its place, its status and its output."""
    (said,) = wrong(root, "<!-- run -->\n```sh\n./powercut run\n./powercut fail\n```\n")
    assert said.startswith("a.md:4: ./powercut fail\n  it ended 1; the document says 0\n")
    assert "did fail" in said


def test_an_exit_status_that_the_document_announces(root):
    """Of the last command of the block."""
    assert wrong(root, "<!-- run exit=1 -->\n```sh\n./powercut run\n./powercut fail\n```\n") == []
    (said,) = wrong(root, "<!-- run exit=1 -->\n```sh\n./powercut run\n```\n")
    assert "it ended 0; the document says 1" in said


def test_output_that_is_not_printed_is_found(root):
    """The line that is missing is named."""
    (said,) = wrong(root, "<!-- run -->\n```console\n$ ./powercut run\ndid something else\n```\n")
    assert "it did not print, in this place: did something else" in said


def test_a_command_that_does_not_end_is_found(root):
    """And ended, with what it started."""
    (said,) = wrong(root, "<!-- run timeout=1 -->\n```sh\n./powercut sleep\n```\n")
    assert "it did not end in time" in said


def test_blocks_without_the_mark_are_not_run(root):
    """Long and shown ones."""
    assert (
        wrong(root, "<!-- long: x -->\n```sh\n./powercut fail\n```\n\n<!-- run -->\n```sh\ntrue\n```\n") == []
    )


def test_blocks_share_a_scratch_checkout(root):
    """Files that are tracked are there, ignored ones are not; what a block makes, the next one finds."""
    text = (
        "<!-- file: sub/mine.txt -->\n```text\nhello\n```\n\n"
        "<!-- run -->\n```console\n$ cat sub/mine.txt tracked.txt; ls results\nhello\nhere\n```\n"
    )
    (said,) = wrong(root, text)
    assert "it ended 2" in said  # ls: no results
    assert wrong(root, text.replace("; ls results", " > made; cat made")) == []
    assert not (root / "made").exists()
    assert not (root / "sub").exists()


@pytest.mark.parametrize(
    ("shown", "missing"),
    [
        (["a 1", "c"], ""),
        (["a 2"], "a 2"),
        (["c", "a 1"], "a 1"),
        (["...", "c"], ""),
        (["b ... end"], ""),
        (["b ... START"], "b ... START"),
        (["  took   3 s"], ""),
        (["wrote results/20200101T000000Z-0000/report"], ""),
    ],
)
def test_shown_lines_stand_in_order(shown, missing):
    """Blanks, times and the names of runs may differ; dots stand for anything."""
    printed = "a 1\nb start middle end\nc\ntook 12.5 s\nwrote results/20261121T112212Z-bcaf/report\n"
    assert missing_line(shown, printed) == missing


def test_what_varies_is_made_equal():
    """Times, rates, shares and sizes, and no other number."""
    assert plain("412 s,  3.1 states/s, 12 %, 1.2 GiB") == plain("9 s, 44 states/s, 3 %, 800 GiB")
    assert plain("412 states") != plain("413 states")
