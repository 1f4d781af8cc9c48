"""Our own device mapper target comes into each kernel that we build for a guest, and makes it another one."""

import os
from pathlib import Path

import pytest

from kernel import cache, dm_target
from kernel.build import build
from kernel.kernel import Arch
from kernel.tests.tinytree import make_tree


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    made = make_tree(tmp_path / "tree")
    for one in dm_target.ADDITIONS:
        (made / one.folder).mkdir(parents=True, exist_ok=True)
        (made / one.folder / "Makefile").write_text("obj-y += own.o\n")
    return made


def copy_of(path: str) -> Path:
    (found,) = cache.root().glob(f"objects/*/linux/{path}")
    return found


@pytest.mark.parametrize("arch", ["um", "x86_64"])
def test_what_is_added_is_in_our_copy_alone(tree: Path, arch: Arch) -> None:
    build(str(tree), arch=arch)
    for one in dm_target.ADDITIONS:
        assert copy_of(f"{one.folder}/{one.source.name}").read_bytes() == one.source.read_bytes()
        assert one.line in copy_of(f"{one.folder}/Makefile").read_bytes()
        assert [path.name for path in (tree / one.folder).iterdir()] == ["Makefile"]


def times_below(tree: Path) -> list[tuple[Path, int]]:
    folders = {tree / one.folder for one in dm_target.ADDITIONS}
    return [(path, path.stat().st_mtime_ns) for folder in folders for path in sorted(folder.iterdir())]


def test_put_again_it_stays_as_it_is(tree: Path) -> None:
    """make would compile what has a new time."""
    dm_target.put(tree)
    before = times_below(tree)
    dm_target.put(tree)
    assert times_below(tree) == before


def test_what_shares_its_files_by_hard_links_keeps_them(tree: Path, tmp_path: Path) -> None:
    other = tmp_path / "Makefile of another copy"
    os.link(tree / dm_target.TARGET.folder / "Makefile", other)
    dm_target.put(tree)
    assert other.read_text() == "obj-y += own.o\n"


def test_another_target_is_another_kernel_and_compiles_nothing_else(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build(str(tree))
    monkeypatch.setattr(dm_target, "digest", lambda: "another")
    second = build(str(tree))
    assert first.provenance.key != second.provenance.key
    assert second.provenance.step_count == 1  # the tool, which is in another place


def test_a_source_without_device_mapper_is_left_alone(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "tree")
    dm_target.put(tree)
    assert not (tree / "drivers").exists()
