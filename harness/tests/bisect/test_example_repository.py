"""harness/suite/example_repository.py: the repository of the page on bisecting."""

from harness.suite import example_repository


def test_what_is_there_is_refused_and_kept(tmp_path, capsys):
    """Exit status 2, and the way out."""
    (tmp_path / "mine").write_text("x")
    assert example_repository.main([str(tmp_path)]) == 2
    assert "is there already: name another place" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
