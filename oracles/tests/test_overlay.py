"""What overlayfs above a filesystem may do that the filesystem itself may not."""

import pytest

from oracles import consistent, durable, usable
from oracles.tests.made import Bench, kinds, replaced, without

UNDER = (("ext4", True), ("ext4-overlay", False))  # whether it is told
TREE = "setup\n  mkdir A\n  mkdir A/B\n  write A/foo 0 8K\nrun\n  fsync A/foo\n"
READ_ONLY = (
    "4 overlayfs: failed to create directory /tmp/layers/run.work/work (errno: 28); mounting read-only"
)


@pytest.mark.parametrize(("name", "told"), UNDER)
def test_a_directory_of_several_layers_has_one_link(name, told):
    bench = Bench(TREE, name)
    tree = replaced(bench.tree(), "A", nlink=1)
    assert ("wrong link count" in kinds(consistent.judge(bench.case(tree)))) == told


@pytest.mark.parametrize("name", ["ext4", "ext4-overlay"])
def test_another_count_of_links_is_told(name):
    bench = Bench(TREE, name)
    tree = replaced(bench.tree(), "A", nlink=5)
    assert "wrong link count" in kinds(consistent.judge(bench.case(tree)))


@pytest.mark.parametrize(("name", "told"), UNDER)
def test_removing_takes_room(name, told):
    bench = Bench(TREE, name)
    for more in (
        {"probe": ("unlink A/foo: ENOSPC",)},
        {"probe": ("unlink A/foo: EROFS",), "kernel_log": (READ_ONLY,)},
    ):
        case = bench.case(bench.tree(), **more)
        assert bool(kinds(usable.judge(case))) == told, more


@pytest.mark.parametrize("name", ["ext4", "ext4-overlay"])
def test_an_overlay_that_is_read_only_for_another_reason_is_told(name):
    bench = Bench(TREE, name)
    case = bench.case(bench.tree(), probe=("unlink A/foo: EROFS",))
    assert kinds(usable.judge(case)) == {"unlink failed"}


@pytest.mark.parametrize(("name", "told"), UNDER)
@pytest.mark.parametrize("setup", [True, False])
def test_a_copy_has_no_reservation(name, told, setup):
    """Of what the setup reserved. What is reserved in the copy stays."""
    reserved = "  write foo 0 4K\n  fallocate foo keep-size 4K 64K\n"
    source = f"setup\n{reserved}run\n  chmod foo 600\n" if setup else f"run\n{reserved}"
    bench = Bench(f"{source}  fsync foo\n", name)
    tree = replaced(bench.tree(), "foo", blocks=8, extents=((0, 4096, ""),))
    assert ("preallocation lost" in kinds(durable.judge(bench.case(tree)))) == (told or not setup)


@pytest.mark.parametrize(("name", "told"), UNDER)
def test_what_lost_its_name_in_a_lower_layer_is_not_copied_up_for_its_fsync(name, told):
    bench = Bench("setup\n  mkdir A\n  mkdir A/B\nrun\n  open A/B @d\n  rmdir A/B\n  fsync @d\n", name)
    tree = bench.tree(0)
    assert bool(kinds(durable.judge(bench.case(tree)))) == told


@pytest.mark.parametrize("name", ["ext4", "ext4-overlay"])
def test_data_that_was_synced_is_asked_for(name):
    bench = Bench("setup\n  write foo 0 8K\nrun\n  write foo 0 4K\n  fdatasync foo\n", name)
    assert kinds(durable.judge(bench.case(bench.tree(0)))) == {"data lost"}
    assert kinds(durable.judge(bench.case(without(bench.tree(), "foo")))) == {"name lost"}
