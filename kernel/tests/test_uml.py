"""What is changed in User Mode Linux itself: the room for registers, and how often its clock ticks."""

from pathlib import Path

import pytest

from kernel.uml import HZ, REGISTER_BYTES, Constant, adapt

# Each with the same number in a line that is none of ours.
OLD = (
    (REGISTER_BYTES, "#define OTHER 2696\n\tDEFINE_LONGS(HOST_FP_SIZE, {});\n#else\n", 2696),
    (HZ, "config NR_CPUS\n\tint\n\tdefault 100\n\nconfig HZ\n\tint\n\tdefault {}\n", 100),
)
# A kernel that asks the host for the size; one whose HZ can be chosen.
OTHER = ((REGISTER_BYTES, "\tDEFINE_LONGS(HOST_BX, RBX);\n"), (HZ, 'source "kernel/Kconfig.hz"\n'))


def source(place: Path, constant: Constant, text: str) -> Path:
    (place / constant.file).parent.mkdir(parents=True)
    (place / constant.file).write_text(text)
    return place


@pytest.mark.parametrize(("constant", "text", "old"), OLD, ids=["registers", "ticks"])
def test_the_constant_alone_changes_and_the_other_names_of_the_file_keep_it(
    tmp_path: Path, constant: Constant, text: str, old: int
) -> None:
    """The unpacked source shares its files with every copy of it. Twice is as good as once."""
    original, copy = source(tmp_path / "original", constant, text.format(old)), tmp_path / "copy"
    (copy / constant.file).parent.mkdir(parents=True)
    (copy / constant.file).hardlink_to(original / constant.file)
    adapt(copy)
    adapt(copy)
    assert (copy / constant.file).read_text() == text.format(constant.value)
    assert (original / constant.file).read_text() == text.format(old)


@pytest.mark.parametrize(("constant", "text"), OTHER, ids=["registers", "ticks"])
def test_a_tree_without_that_constant_is_left_alone(tmp_path: Path, constant: Constant, text: str) -> None:
    tree = source(tmp_path, constant, text)
    made = (tree / constant.file).stat().st_mtime_ns
    adapt(tree)
    assert (tree / constant.file).stat().st_mtime_ns == made


def test_a_tree_without_those_files_is_left_alone(tmp_path: Path) -> None:
    adapt(tmp_path)
    assert list(tmp_path.iterdir()) == []
