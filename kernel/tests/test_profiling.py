"""The variant gcov: counting is switched on in our copy only, and the compiler's notes are kept."""

from pathlib import Path

import pytest

from kernel.kernel import BuildFailed
from kernel.make import OBJECTS
from kernel.profiling import COUNTED, LINES, START, keep_notes, switch_on

GCC_BASE = """\
void __gcov_init(struct gcov_info *info)
{
\tmutex_lock(&gcov_lock);
\tif (gcov_version == 0) {
\t\tpr_info("version");
\t}
\tmutex_unlock(&gcov_lock);
}
EXPORT_SYMBOL(__gcov_init);
"""


def make_tree(place: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def test_switching_on_leaves_the_other_names_of_hard_links(tmp_path: Path) -> None:
    """The unpacked source shares its files with every copy of it. Twice is as good as once."""
    makefile = f"{COUNTED[0]}/Makefile"
    original = make_tree(tmp_path / "original", {makefile: "obj-y += a.o\n", START: GCC_BASE})
    copy = tmp_path / "copy"
    for name in (makefile, START):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).hardlink_to(original / name)
    switch_on(copy)
    switch_on(copy)
    assert (copy / makefile).read_bytes() == LINES + b"obj-y += a.o\n"
    assert (copy / START).read_text() == (
        "void __gcov_init(struct gcov_info *info)\n{\n\tgcov_info_link(info);\n}\n"
        "EXPORT_SYMBOL(__gcov_init);\n"
    )
    assert (original / makefile).read_text() == "obj-y += a.o\n"
    assert (original / START).read_text() == GCC_BASE


def test_a_source_that_counts_otherwise_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match="no __gcov_init"):
        switch_on(make_tree(tmp_path / "linux", {START: "int gcov;\n"}))


def test_notes_and_source_are_kept_by_their_place_in_the_tree(tmp_path: Path) -> None:
    objects = [f"{OBJECTS}/{name}" for name in ("fs/btrfs/a.gcno", "fs/btrfs/a.o", "fs/proc/c.gcno")]
    tree = make_tree(tmp_path / "linux", dict.fromkeys([*objects, "fs/btrfs/a.c", "fs/btrfs/b.c"], ""))
    keep_notes(tree, tmp_path / "kept")
    kept = {str(path.relative_to(tmp_path / "kept")) for path in (tmp_path / "kept").rglob("*.*")}
    assert kept == {"gcno/fs/btrfs/a.gcno", "gcno/fs/btrfs/a.c"}
