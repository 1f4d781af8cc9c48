"""A kernel for a real machine: what it is made of, and how it is known."""

import struct
import subprocess
import tarfile
from pathlib import Path

import pytest

from kernel import machine
from kernel.build import _recipe
from kernel.fragments import known_variants, requests
from kernel.kernel import BuildFailed, KernelSpec, Machine, Source
from kernel.make import OBJECTS
from kernel.tests.tinytree import make_tree

CONFIG = "CONFIG_SMP=y\n"


def note(name: bytes, kind: int, value: bytes) -> bytes:
    """elf(5): name and value each end at a multiple of four bytes."""
    padded = [part + bytes(-len(part) % 4) for part in (name, value)]
    return struct.pack("<III", len(name), len(value), kind) + b"".join(padded)


def test_the_build_id_is_the_gnu_note_of_type_3() -> None:
    notes = note(b"Linux\0", 257, b"\1\2\3") + note(b"GNU\0", 3, bytes(range(20))) + note(b"Xen\0", 3, b"no")
    assert machine.build_id(notes) == bytes(range(20)).hex()
    assert machine.build_id(note(b"Linux\0", 257, b"x")) == ""
    assert machine.build_id(b"") == ""


def test_the_build_id_of_a_program_is_found_wherever_its_section_lies(tmp_path: Path) -> None:
    """A kernel's notes lie above the first megabytes, behind other sections."""
    objects = tmp_path / OBJECTS
    objects.mkdir()
    (tmp_path / "one.c").write_text("int main(void) { return 0; }")
    build_id = "0123456789abcdef0123456789abcdef01234567"
    place = objects / "vmlinux"
    link = ("-no-pie", "-Wl,-Ttext-segment=0x1000000", f"-Wl,--build-id=0x{build_id}")
    subprocess.run(["gcc", *link, "-o", str(place), str(tmp_path / "one.c")], check=True)
    with pytest.raises(BuildFailed, match="no build id"):
        machine.build_id_of(tmp_path)
    subprocess.run(["objcopy", "--rename-section", ".note.gnu.build-id=.notes", str(place)], check=True)
    assert machine.build_id_of(tmp_path) == build_id
    assert [one.name for one in objects.iterdir()] == ["vmlinux"]


def test_config_and_modules_are_in_the_digest() -> None:
    """And are not taken for one another."""
    made = [
        Machine(CONFIG, ()),
        Machine(CONFIG, ("ext4",)),
        Machine(CONFIG, ("ext4", "nvme")),
        Machine("CONFIG_SMP=n\n", ("ext4",)),
    ]
    assert len({machine.digest(one) for one in made}) == len(made)


def test_the_fragments_are_the_filesystems_ours_and_the_variants() -> None:
    assert [one.stem for one in machine.fragments(("f2fs",))] == ["filesystems", "machine", "f2fs"]
    assert "machine" not in known_variants()


def test_the_suffix_of_the_release_is_that_of_the_fragment() -> None:
    wanted = {one.option: one.value for one in requests(machine.fragments(()))}
    assert wanted["CONFIG_LOCALVERSION"] == f'"{machine.SUFFIX}"'


def test_the_key_covers_the_machine(tmp_path: Path) -> None:
    """Two machines, and none, have three kernels of one source, in three trees of objects."""
    tree = make_tree(tmp_path / "tree")
    source = Source("tree", str(tree), "6.12")
    specs = [
        KernelSpec("tree", source, arch="x86_64", machine=one)
        for one in (None, Machine(CONFIG, ()), Machine(CONFIG, ("ext4",)))
    ]
    recipes = [_recipe(spec, lambda *_: None) for spec in specs]
    assert len({one.key for one in recipes}) == len({one.objects for one in recipes}) == 3


def test_the_archive_has_no_links_to_where_it_was_built() -> None:
    link = tarfile.TarInfo("lib/modules/6.12/build")
    link.type = tarfile.SYMTYPE
    assert machine._of_root(link) is None
    file = tarfile.TarInfo("lib/modules/6.12/modules.order")
    file.uid, file.mtime = 1000, 7
    kept = machine._of_root(file)
    assert kept is not None
    assert (kept.uid, kept.mtime, kept.uname) == (0, 0, "root")
