import os
import subprocess
from pathlib import Path

import pytest

from kernel import cache, source
from kernel.files import TreeFiles, files_digest
from kernel.files import mirror as bring
from kernel.kernel import BadKernel, BuildFailed, Source
from kernel.tests.tinytree import make_tree
from kernel.tree import reader, tree_files


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))


def read(tree: Path) -> TreeFiles:
    return tree_files(tree, lambda _stage, _fraction: None)


def mirror(tree: Path, have: TreeFiles, copy: Path) -> set[str]:
    return set(bring(reader(tree), read(tree), have, copy, lambda _stage, _fraction: None))


def test_two_trees_of_equal_files_have_one_digest(tmp_path: Path) -> None:
    one, two = make_tree(tmp_path / "one/linux"), make_tree(tmp_path / "two/linux")
    (two / "Makefile").write_text((one / "Makefile").read_text())
    assert files_digest(read(one)) == files_digest(read(two))


@pytest.mark.parametrize("change", ["content", "name", "executable", "link"])
def test_a_changed_tree_has_another_digest(tmp_path: Path, change: str) -> None:
    tree = make_tree(tmp_path / "linux")
    before = files_digest(read(tree))
    file = tree / "fs/a.c"
    if change == "content":
        file.write_text("int A;\n")
    elif change == "name":
        file.rename(tree / "fs/c.c")
    elif change == "executable":
        file.chmod(0o755)
    else:
        (tree / "fs/link").symlink_to("a.c")
    assert files_digest(read(tree)) != before


def test_what_make_left_in_the_tree_is_no_source(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    before = read(tree).keys()
    (tree / "obj").mkdir()
    (tree / "obj/.config").touch()
    (tree / "obj/source").symlink_to("..")
    assert read(tree).keys() == before


def test_a_tree_built_in_place_is_refused_with_the_fix(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    (tree / ".config").touch()
    with pytest.raises(BadKernel, match="make mrproper"):
        read(tree)


def test_in_git_ignored_files_are_no_source_and_new_ones_are(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".gitignore").write_text("*.o\n")
    (tree / "a.o").touch()
    (tree / ".config.o").touch()
    (tree / "new.c").touch()
    assert {"new.c", "fs/a.c"} <= read(tree).keys()
    assert not {"a.o", ".config.o"} & read(tree).keys()


def test_variables_that_name_another_repository_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a git hook sets them for what it runs."""
    tree, other = make_tree(tmp_path / "linux"), tmp_path / "other"
    for each in (tree, other):
        subprocess.run(["git", "init", "-q", str(each)], check=True)
    (other / ".git/info/exclude").write_text("*.c\n")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert "fs/a.c" in read(tree)


def test_a_mirror_holds_what_the_tree_holds(tmp_path: Path) -> None:
    tree, copy = make_tree(tmp_path / "linux"), tmp_path / "copy"
    (tree / "fs/link").symlink_to("a.c")
    (tree / "run.sh").touch(mode=0o755)
    mirror(tree, {}, copy)
    assert files_digest(read(copy)) == files_digest(read(tree))


def test_a_mirror_is_written_only_where_it_differs_and_not_through_hard_links(tmp_path: Path) -> None:
    tree, copy = make_tree(tmp_path / "linux"), tmp_path / "copy"
    mirror(tree, {}, copy)
    have = read(tree)
    os.link(copy / "fs/a.c", tmp_path / "other")
    (tree / "fs/a.c").write_text("int A;\n")
    (tree / "fs/b.c").unlink()
    assert mirror(tree, have, copy) == {"fs/a.c"}
    assert (copy / "fs/a.c").read_text() == "int A;\n"
    assert not (copy / "fs/b.c").exists()
    assert (tmp_path / "other").read_text() == "int a;\n"


def test_a_tree_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    files = read(tree)
    (tree / "fs/a.c").write_text("int A;\n")
    with pytest.raises(BadKernel, match=r"fs/a\.c changed while"):
        bring(reader(tree), files, {}, tmp_path / "copy", lambda _stage, _fraction: None)


def test_a_package_nobody_knows_is_explained_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel.archive.output", lambda *_: "")
    monkeypatch.setattr("kernel.archive.offer", refuse)
    with pytest.raises(BuildFailed, match=r"linux-source-6\.12 .* cannot be downloaded: nobody knows it"):
        source.examine(Source("debian", "6.12"), lambda _stage, _fraction: None)


def refuse(*_: object) -> None:
    raise BuildFailed("nobody knows it")


def test_without_package_lists_the_source_in_the_cache_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel.archive.output", lambda *_: "")
    monkeypatch.setattr("kernel.archive.offer", refuse)
    (cache.root() / "sources/linux-source-6.12_6.12.9-1/linux").mkdir(parents=True)
    examined = source.examine(Source("debian", "6.12"), lambda _stage, _fraction: None)
    assert examined.version == "linux-source-6.12 6.12.9-1"
