"""A User Mode Linux ticks a thousand times a second, where its Kconfig lets it be told."""

from pathlib import Path

from kernel.ticks import FILE, HZ, make_short

OTHER = "config NR_CPUS\n\tint\n\tdefault 100\n"
OLD = "\nconfig HZ\n\tint\n\tdefault 100\n\n" + OTHER


def kconfig(place: Path, text: str) -> Path:
    (place / FILE).parent.mkdir(parents=True)
    (place / FILE).write_text(text)
    return place


def test_only_that_constant_changes_and_the_other_names_of_the_file_keep_theirs(tmp_path: Path) -> None:
    """The unpacked source shares its files with every copy of it. Twice is as good as once."""
    original, copy = kconfig(tmp_path / "original", OLD), tmp_path / "copy"
    (copy / FILE).parent.mkdir(parents=True)
    (copy / FILE).hardlink_to(original / FILE)
    make_short(copy)
    make_short(copy)
    assert (copy / FILE).read_text() == OLD.replace("100", str(HZ), 1)
    assert (original / FILE).read_text() == OLD


def test_a_tree_that_says_it_otherwise_is_left_alone(tmp_path: Path) -> None:
    tree = kconfig(tmp_path, 'source "kernel/Kconfig.hz"\n')
    made = (tree / FILE).stat().st_mtime_ns
    make_short(tree)
    assert (tree / FILE).stat().st_mtime_ns == made


def test_a_tree_without_that_file_is_left_alone(tmp_path: Path) -> None:
    make_short(tmp_path)
    assert list(tmp_path.iterdir()) == []
