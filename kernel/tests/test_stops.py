"""The variant stops: our copy alone calls us at the entry of functions, and is another kernel by that."""

from pathlib import Path

import pytest

from kernel import stops
from kernel.stops import FILES, FLAGS, FOLDERS, STOPS, switch_on


def make(place: Path) -> Path:
    for folder in (*FOLDERS, *FILES):
        (place / folder).mkdir(parents=True, exist_ok=True)
        (place / folder / "Makefile").write_text("obj-y := a.o\n")
    return place


def test_switched_on_once_or_again_other_names_of_hard_links_keep_their_content(tmp_path: Path) -> None:
    original, copy = make(tmp_path / "original"), tmp_path / "copy"
    for makefile in original.rglob("Makefile"):
        name = copy / makefile.relative_to(original)
        name.parent.mkdir(parents=True, exist_ok=True)
        name.hardlink_to(makefile)
    switch_on(copy)
    times = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    switch_on(copy)
    assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == times
    assert {path.read_text() for path in original.rglob("Makefile")} == {"obj-y := a.o\n"}


def test_folders_are_switched_on_whole_and_others_by_file(tmp_path: Path) -> None:
    tree = make(tmp_path)
    switch_on(tree)
    for folder in FOLDERS:
        assert (tree / folder / "Makefile").read_text() == f"ccflags-y += {FLAGS}\nobj-y := a.o\n"
    of_mm = (tree / "mm/Makefile").read_text()
    assert [f"CFLAGS_{name}.o += {FLAGS}" in of_mm for name in FILES["mm"]] == [True] * len(FILES["mm"])
    # fs/Makefile begins with obj-y :=, which would forget what stands before it.
    assert (tree / "fs/Makefile").read_text().endswith("\nobj-y += powercut-stops.o\n")
    assert (tree / "fs/powercut-stops.c").read_bytes() == STOPS.source.read_bytes()


def test_a_source_without_a_filesystem_is_left_as_it_is(tmp_path: Path) -> None:
    tree = make(tmp_path)
    (tree / "fs/f2fs/Makefile").unlink()
    switch_on(tree)
    assert not (tree / "fs/f2fs/Makefile").exists()


def test_other_flags_are_another_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    before = stops.digest()
    monkeypatch.setattr(stops, "FLAGS", "-finstrument-functions")
    assert stops.digest() != before
