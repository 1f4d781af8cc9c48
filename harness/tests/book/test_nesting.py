"""A block of a list item that the site would have behind the list."""

import pytest

from harness.book.__main__ import main
from harness.book.nesting import complaints, complaints_about


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("1. one\n   goes on\n2. two\n", []),
        ("1. one\n\n    more of it\n", []),
        ("1. one\n\n    ```\n    code\n    ```\n2. two\n", []),
        ("- one\n    - within\n        - deeper\n", []),
        ("- one\n\nbehind it\n", []),
        ("1. one\n\n   more of it\n", [3]),
        ("1. one\n   ```\n   code\n   ```\n", [2]),
        ("- one\n  - within\n", [2]),
        ("- one\n    - within\n      - deeper\n", [3]),
        ("- one\n\n  | a | b |\n  | --- | --- |\n  | 1 | 2 |\n", [3]),
    ],
)
def test_the_first_line_that_is_indented_too_little(text, lines):
    told = sorted({int(one.split(":")[1]) for one in complaints_about("a.md", text)})
    assert told[:1] == lines


def test_only_documents_of_the_site_are_asked(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("1. one\n\n   more of it\n")
    (tmp_path / "README.md").write_text("1. one\n\n   more of it\n")
    assert list(complaints(tmp_path)) == [
        "docs/a.md:3: indent this by 4 blanks, or the site has it behind the list"
    ]


def test_the_check_of_the_documents_names_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("1. one\n\n   more of it\n")
    monkeypatch.setattr("harness.book.__main__.ROOT", tmp_path)
    monkeypatch.setattr("harness.book.generate.GENERATORS", ())
    assert main(["--check"]) == 1
    assert "docs/a.md:3: indent this by 4 blanks" in capsys.readouterr().err
