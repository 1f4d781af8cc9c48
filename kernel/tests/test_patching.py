import os
import re
from pathlib import Path

import pytest

from kernel.kernel import BadKernel, Series
from kernel.patching import apply, files_of, find_series, known_series

OLD = "int one;\nint two;\nint three;\n"
PATCH = "# about\n--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1,3 +1,3 @@\n int one;\n-int two;\n+int TWO;\n int three;\n"


def patch(text: str = PATCH) -> Series:
    return Series("x.patch", ".patch", text.encode(), "about")


def cocci(rule: str, files: str = "fs/a.c") -> Series:
    return Series("x.cocci", ".cocci", f"// about\n// files: {files}\n\n{rule}".encode(), "about")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """fs/a.c, with a second hard link outside the tree."""
    (tmp_path / "tree/fs").mkdir(parents=True)
    (tmp_path / "tree/fs/a.c").write_text(OLD)
    os.link(tmp_path / "tree/fs/a.c", tmp_path / "pristine")
    return tmp_path / "tree"


def test_a_patch_changes_the_tree_and_says_which_files(tree: Path) -> None:
    assert apply(patch(), tree) == ("fs/a.c",)
    assert (tree / "fs/a.c").read_text() == OLD.replace("two", "TWO")


def test_a_patch_may_add_and_remove_files(tree: Path) -> None:
    text = "--- /dev/null\n+++ b/fs/new.c\n@@ -0,0 +1 @@\n+int new;\n"
    text += "--- a/fs/a.c\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-int one;\n-int two;\n-int three;\n"
    assert apply(patch(text), tree) == ("fs/new.c", "fs/a.c")
    assert [path.name for path in (tree / "fs").iterdir()] == ["new.c"]


def test_a_patch_that_finds_other_code_names_file_hunk_and_what_stands_there(tree: Path) -> None:
    (tree / "fs/a.c").write_text(OLD.replace("two", "zwei"))
    with pytest.raises(BadKernel, match=r"fs/a.c, hunk 1, at line 1(.|\n)*2 int zwei;"):
        apply(patch(), tree)


def test_a_patch_is_not_applied_with_fuzz(tree: Path) -> None:
    (tree / "fs/a.c").write_text("int eins;\nint two;\nint three;\n")
    with pytest.raises(BadKernel, match="hunk 1"):
        apply(patch(), tree)


def test_a_patch_that_is_there_already_is_refused(tree: Path) -> None:
    apply(patch(), tree)
    with pytest.raises(BadKernel, match="already applied"):
        apply(patch(), tree)


def test_a_patch_for_a_file_that_is_not_there_names_it(tree: Path) -> None:
    with pytest.raises(BadKernel, match=r"no file b/fs/z\.c"):
        apply(patch(PATCH.replace("fs/a.c", "fs/z.c")), tree)


def test_a_patch_cannot_leave_the_tree(tree: Path) -> None:
    with pytest.raises(BadKernel):
        apply(patch(PATCH.replace("a/fs/a.c", "a/../pristine").replace("b/fs/a.c", "b/../pristine")), tree)
    assert (tree.parent / "pristine").read_text() == OLD


def test_a_semantic_patch_changes_the_file_it_names(tree: Path) -> None:
    (tree / "fs/a.c").write_text("void f(void) { g(); h(); }\n")
    assert apply(cocci("@@ @@\n- g();\n"), tree) == ("fs/a.c",)
    assert "g()" not in (tree / "fs/a.c").read_text()
    assert "h()" in (tree / "fs/a.c").read_text()


def test_a_semantic_patch_that_matches_nothing_is_refused(tree: Path) -> None:
    with pytest.raises(BadKernel, match=r"matches no code in fs/a\.c"):
        apply(cocci("@@ @@\n- g();\n"), tree)


def test_a_semantic_patch_with_bad_grammar_is_refused_with_what_spatch_said(tree: Path) -> None:
    with pytest.raises(BadKernel, match=r"spatch(.|\n)*series\.cocci"):
        apply(cocci("@@ @@\n- g(((;\n"), tree)


@pytest.mark.parametrize("series", [patch(), cocci("@@ @@\n- int two;\n+ int zwei;\n")])
def test_the_other_hard_link_of_a_changed_file_keeps_its_content(tree: Path, series: Series) -> None:
    assert apply(series, tree)
    assert (tree / "fs/a.c").read_text() != OLD
    assert (tree.parent / "pristine").read_text() == OLD


def test_every_known_series_says_what_it_is_where_it_is_from_and_which_files() -> None:
    assert {one.name for one in known_series()} >= {
        "planted/old-name-kept-after-rename",
        "planted/xattr-lost-on-second-fsync",
    }
    for one in known_series():
        assert one.about
        told = re.search(rb"FINDINGS.md|\b(BTRFS|EXT4|F2FS|NILFS2|OVERLAY|XFS)-\d", one.content)
        of_our_own = one.name.startswith("fix/") and told
        assert b"re-creates:" in one.content or one.facts.upstream or of_our_own
        if one.suffix == ".cocci":
            assert files_of(one)


def test_a_patch_that_is_not_there_is_a_missing_file_and_no_unknown_series() -> None:
    with pytest.raises(BadKernel, match=r"^there is no file nosuch\.patch$"):
        find_series("nosuch.patch")
    with pytest.raises(BadKernel, match=r"^there is no series 'nosuch'\. `powercut list"):
        find_series("nosuch")


def test_an_unknown_series_is_answered_with_those_of_a_like_name() -> None:
    """Its folder left out, or a letter."""
    for name in ("xfs-zeroed-tail-not-written", "planted/xfs-zeroed-tail-not-writen"):
        with pytest.raises(BadKernel, match="did you mean planted/xfs-zeroed-tail-not-written"):
            find_series(name)
