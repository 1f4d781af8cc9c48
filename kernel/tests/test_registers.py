"""The room for the processor's registers in a User Mode Linux of before AMX."""

from pathlib import Path

from kernel.registers import FILE, SIZE_BYTES, make_room

OLD = "#ifdef FP_XSTATE_MAGIC1\n\tDEFINE_LONGS(HOST_FP_SIZE, 2696);\n#else\n"


def offsets(place: Path, text: str) -> Path:
    (place / FILE).parent.mkdir(parents=True)
    (place / FILE).write_text(text)
    return place


def test_a_fixed_size_grows_and_the_other_names_of_the_file_keep_theirs(tmp_path: Path) -> None:
    """The unpacked source shares its files with every copy of it. Twice is as good as once."""
    original, copy = offsets(tmp_path / "original", OLD), tmp_path / "copy"
    (copy / FILE).parent.mkdir(parents=True)
    (copy / FILE).hardlink_to(original / FILE)
    make_room(copy)
    make_room(copy)
    assert (copy / FILE).read_text() == OLD.replace("2696", str(SIZE_BYTES))
    assert (original / FILE).read_text() == OLD


def test_a_kernel_that_asks_the_host_for_the_size_is_left_alone(tmp_path: Path) -> None:
    tree = offsets(tmp_path, "\tDEFINE_LONGS(HOST_BX, RBX);\n")
    made = (tree / FILE).stat().st_mtime_ns
    make_room(tree)
    assert (tree / FILE).stat().st_mtime_ns == made


def test_a_tree_without_that_file_is_left_alone(tmp_path: Path) -> None:
    make_room(tmp_path)
    assert list(tmp_path.iterdir()) == []
