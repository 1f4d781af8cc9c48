"""Random workloads: each the function of its length, seed and number; every word comes up."""

import hashlib

import pytest

from workloads import text
from workloads.generate import drawn, space
from workloads.generate.space import Asked, BadBounds
from workloads.text import WORDS
from workloads.threads import blocks, order_count, threads_of
from workloads.workload import FALLOCATE_MODES, PWRITE_MODES, RENAME_MODES

MANY = tuple(drawn.workload(30, 5, number) for number in range(150))


def operations(word):
    return [one for workload in MANY for one in (*workload.setup, *workload.run) if one.word == word]


def test_a_workload_is_made_from_its_length_seed_and_number():
    """The same again for the same three, and another one for any other."""
    asked = [(10, 1, 0), (10, 1, 1), (10, 2, 0), (11, 1, 0)]
    assert len({text.format(drawn.workload(*one)) for one in asked}) == len(asked)
    assert [drawn.workload(*one) for one in asked] == [drawn.workload(*one) for one in asked]
    assert drawn.workload(10, 1, 1).name == "random10-1-000001"


def test_the_workloads_of_a_seed_stay_what_they_are():
    """Their names stand in reports, so a change of the generator is a change of each."""
    several = "".join(text.format(drawn.workload(10, 1, number)) for number in range(20))
    assert hashlib.sha256(several.encode()).hexdigest()[:16] == "eee8731c5ed11119"


@pytest.mark.parametrize("length", [1, 10, 60])
def test_run_has_as_many_operations_as_asked(length):
    """And setup a few."""
    for number in range(20):
        workload = drawn.workload(length, 1, number)
        assert len(workload.run) == length
        assert len(workload.setup) <= drawn.SETUP_MAX


def test_every_word_is_drawn_but_faults_threads_and_what_fills_the_disk():
    """With each of its modes."""
    drawn_words = {one.word for workload in MANY for one in (*workload.setup, *workload.run)}
    assert drawn_words == set(WORDS) - {
        "fault",
        "errortag",
        "await",
        "stop",
        "fill",
        "freeze",
        "thaw",
        "grow",
        "relocate",
        "trim",
        "crash",
        "atomicwrite",
        "defragment",
        "verity",
    }
    assert {one.mode for one in operations("rename")} == {"", *RENAME_MODES}
    assert {one.mode for one in operations("fallocate")} == set(FALLOCATE_MODES)
    assert {one.mode for one in operations("pwrite")} == set(PWRITE_MODES) - {"jbd2-magic"}


def test_calls_go_through_symlinks_and_descriptors():
    """Of each kind there are some: a path below a symlink, a symlink as a path, a descriptor."""

    def symlinks(workload):
        return {one.path for one in (*workload.setup, *workload.run) if one.word == "symlink"}

    writes = [
        (one, symlinks(w)) for w in MANY for one in w.run if one.word in ("write", "append", "truncate")
    ]
    assert any(one.path in links for one, links in writes)
    assert any(one.path.startswith(f"{link}/") for one, links in writes for link in links)
    assert any(one.path.startswith("@") for one, _ in writes)


def test_a_random_workload_is_plain_text():
    """It can be written down and read again."""
    for workload in MANY:
        again = text.parse(text.format(workload), workload.name)
        assert (again.setup, again.run) == (
            text.canonical(workload).setup,
            text.canonical(workload).run,
        )


def test_a_sample_begins_with_number_0_and_shards_split_it():
    """So a longer sample of the seed begins with the shorter one."""
    names = [workload.name for workload in space.workloads(Asked("random", 4, sample=5, seed=9))]
    assert names == [f"random4-9-{number:06}" for number in range(5)]
    second = [workload.name for workload in space.workloads(Asked("random", 4, (2, 2), 5, 9))]
    assert second == names[1::2]


def test_a_sample_without_end_is_refused():
    """There is no last random workload."""
    with pytest.raises(BadBounds, match=r"no fixed number of workloads.*--sample N"):
        space.planned(Asked("random", 30))
    with pytest.raises(BadBounds, match="lengths are 1 to 2000"):
        space.parse_space("random:2001")


def test_no_umount_replaces_the_close_that_it_needs():
    assert drawn.workload(10, 101, 712).run[-1].word == "close"


def test_no_snapshot_is_taken_for_empty():
    """Its rmdir fails, and a later snapshot of the root would hold a subvolume, which the model refuses."""
    snapshots = [one.path for one in drawn.workload(15, 103, 282).run if one.word == "snapshot"]
    assert snapshots.count(".") == 1


# --- long histories ------------------------------------------------------------------------------

LONG = tuple(drawn.workload(300, 5, number) for number in range(16))


def test_a_long_history_has_the_length_asked_for():
    for length in (drawn.LONG, 300, drawn.LENGTH_MAX):
        assert len(drawn.workload(length, 1, 0).run) == length


def test_its_offsets_and_sizes_stand_at_boundaries_and_beside_them():
    """Each boundary, one less and one more: as an offset or the end of a write."""
    numbers = {
        number
        for workload in LONG
        for op in workload.run
        if op.word in ("write", "pwrite", "truncate", "fallocate", "append")
        for number in (op.offset, op.length, op.offset + op.length)
    }
    for boundary in drawn.BOUNDARIES:
        assert {boundary - 1, boundary, boundary + 1} <= numbers, boundary


def test_its_tree_grows():
    """Names of all lengths that there may be, in more directories than a short one has."""
    paths = {op.path for workload in LONG for op in (*workload.setup, *workload.run)}
    assert any(len(path.rpartition("/")[2]) == 250 for path in paths)
    assert {path for path in paths if path in drawn.LONG_DIRECTORIES} == set(drawn.LONG_DIRECTORIES)


def test_every_word_comes_up_and_evict_and_fsync_often():
    words = [op.word for workload in LONG for op in workload.run]
    assert set(words) >= set(drawn.WORDS)
    assert words.count("evict") > len(words) // 50
    assert words.count("fsync") > len(words) // 12


def test_most_of_its_operations_have_something_to_work_on():
    """What is there is followed, so a history does not die out."""
    for workload in LONG:
        late = workload.run[200:]
        assert len({op.path for op in late}) > 20


def test_a_long_history_is_plain_text():
    for workload in LONG[:2]:
        again = text.parse(text.format(workload), workload.name)
        assert again.run == text.canonical(workload).run


# --- with threads -----------------------------------------------------------------------------------

BESIDE = tuple(drawn.workload(30, 5, number, drawn.THREADED) for number in range(60))


def test_threaded_ones_have_blocks_whose_orders_can_be_judged() -> None:
    """And a text that gives them again."""
    for workload in BESIDE:
        assert len(workload.run) == 30
        assert order_count(workload.run) <= drawn.ORDERS
        assert text.parse(text.format(workload), workload.name).run == workload.run
    assert sum(bool(blocks(workload.run)) for workload in BESIDE) > 50
    assert {len(threads_of(block)) for one in BESIDE for block in blocks(one.run)} == {2, 3}
    assert BESIDE[0].name == "random-threads30-5-000000"


def test_the_blocks_of_a_long_one_are_spread_over_it() -> None:
    workload = drawn.workload(500, 5, 1, drawn.THREADED)
    places = [number for number, operation in enumerate(workload.run) if operation.parallel]
    assert places[0] < 250 < places[-1]


def test_threads_change_nothing_of_the_others() -> None:
    """Reports name them by seed and number."""
    assert not any(blocks(workload.run) for workload in MANY)
    asked = space.Asked(drawn.THREADED, 12, sample=2, seed=5)
    assert [one.name for one in space.workloads(asked) if one] == [
        "random-threads12-5-000000",
        "random-threads12-5-000001",
    ]


def test_no_direct_write_stands_beside_another_write() -> None:
    """No order tells what two of them to the same bytes leave (oracles/model/builder.py)."""
    found = [block for workload in BESIDE for block in blocks(workload.run)]
    for block in found:
        writes = [one for one in block if one.word in drawn.WRITING]
        assert len(writes) <= 1 or not any("direct" in one.mode for one in writes)
    assert any("direct" in one.mode for block in found for one in block)
