"""The model, its contents and its profiles."""

import random
import shutil
import subprocess

import pytest

from oracles import content
from oracles.case import prepare
from oracles.content import ZERO, Source
from oracles.profiles import COMMON, PROFILES, UnknownProfile, profile, promise
from oracles.tests.made import Bench, history_of, node_at
from oracles.timeline import Timeline


def test_a_timeline_gives_values_at_and_between_times():
    """Only changes are kept."""
    line = Timeline(0, "a")
    line.change(3, "b")
    line.change(5, "b")
    line.change(7, "c")
    assert [line.at(t) for t in (0, 2, 3, 6, 7, 99)] == ["a", "a", "b", "b", "c", "c"]
    assert line.within(2, 3) == ["a", "b"]
    assert line.within(4, 6) == ["b"]
    assert line.changes(0, 6) == [(3, "a", "b")]


def test_a_write_behind_the_end_leaves_zeros_between():
    """A hole."""
    written = content.written((), 10, 20, Source(1))
    assert [(e.start, e.end, e.source) for e in written] == [(0, 10, ZERO), (10, 20, Source(1))]


def test_collapse_and_insert_move_bytes_with_their_source():
    """collapse after insert of the same range is the same bytes."""
    start = content.written((), 0, 8192, Source(1))
    moved = content.inserted(start, 4096, 4096)
    assert content.size_of(moved) == 12288
    back = content.collapsed(moved, 4096, 4096)
    assert content.merged_pieces([back], 1 << 60) == content.merged_pieces([back], 8192)
    assert [e.source for e in back] == [Source(1), Source(1)]


def test_pieces_join_all_sources_of_each_byte():
    """And zero from where the file could end."""
    one = content.written((), 0, 8, Source(1))
    two = content.written(one, 4, 16, Source(2))
    pieces = content.merged_pieces([one, two], 8)
    assert [(p.start, p.end, set(p.sources)) for p in pieces] == [
        (0, 4, {Source(1)}),
        (4, 8, {Source(1), Source(2)}),
        (8, 16, {Source(2), ZERO}),
    ]


def test_each_byte_has_the_sources_that_a_content_has_there():
    """Of many contents, each made from the one before, as byte by byte."""
    draw = random.Random(1)
    made = [content.EMPTY]
    for stamp in range(1, 60):
        start = draw.randrange(60)
        change = draw.choice((content.written, content.written, content.inserted, content.collapsed))
        source = (Source(stamp),) if change is content.written else ()
        length = draw.randrange(1, 20)
        made.append(change(made[-1], start, start + length if source else length, *source))
    for zero_from in (0, 30, 1000):
        pieces = content.merged_pieces(made, zero_from)
        assert [one.end for one in pieces[:-1]] == [one.start for one in pieces[1:]]
        assert (pieces[0].start, pieces[-1].end) == (0, max(map(content.size_of, made)))
        for piece in pieces:
            for byte in range(piece.start, piece.end):
                there = {one.source for each in made for one in content.part(each, byte, byte + 1)}
                assert piece.sources == (there | {ZERO} if byte >= zero_from else there)


def test_runs_of_a_content_are_explained_by_it():
    """Unaligned edges too."""
    made = content.written(content.written((), 0, 100, Source(1)), 13, 77, Source(2))
    pieces = content.merged_pieces([made], 100)
    assert content.first_difference(content.runs_of(made), pieces, 100) is None


def test_renames_move_whole_directories():
    """What is below goes along."""
    bench = Bench("run\n  mkdir A\n  mkdir A/B\n  creat A/B/f\n  rename A Z\n")
    assert [node.path for node in bench.tree()] == [".", "Z", "Z/B", "Z/B/f"]


def test_rename_between_two_names_of_one_file_does_nothing():
    """rename(2)."""
    bench = Bench("run\n  creat a\n  link a b\n  rename a b\n")
    assert node_at(bench.tree(), "a").nlink == 2


def test_calls_follow_symlinks_as_open_does():
    """A write through a symlink reaches the file."""
    bench = Bench("run\n  mkdir A\n  creat A/f\n  symlink A/f s\n  write s 0 4K\n")
    assert node_at(bench.tree(), "A/f").size == 4096


def test_creat_of_what_is_there_is_not_guessed():
    """The recording says it succeeded; whether it truncated is not known."""
    assert "already exists" in prepare(history_of("run\n  creat a\n  creat a\n"), profile("ext4")).trouble


def test_profiles_are_found_by_name_or_named_in_the_error():
    """All of them."""
    assert profile("btrfs-noholes").filesystem == "btrfs"
    with pytest.raises(UnknownProfile, match=", ".join(one.name for one in PROFILES)):
        profile("zfs")


def test_every_promise_has_a_sentence_and_a_source():
    """And a key that is used once in each profile."""
    for each in PROFILES:
        keys = [p.key for p in (*COMMON, *each.promises)]
        assert len(keys) == len(set(keys))
        assert all(p.sentence.endswith(".") and p.source for p in each.promises)
    assert promise(profile("xfs"), "nothing") is None


@pytest.mark.parametrize("each", [one for one in PROFILES if not one.devices], ids=lambda each: each.name)
def test_mkfs_of_each_profile_works_and_its_checker_finds_it_clean(each, tmp_path):
    """On a sparse file of its size; skipped where a program is not installed. nilfs2 has no checker. Of
    several devices: harness/tests/guests/test_filesystem.py."""
    if not all(shutil.which(command[0]) for command in (each.mkfs, each.fsck) if command):
        pytest.skip(f"{each.package} is not installed: apt-get install {each.package}")
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(each.size_bytes)
    subprocess.run([*each.mkfs, str(image)], check=True, capture_output=True)
    if each.fsck:
        done = subprocess.run([*each.fsck, str(image)], check=False, capture_output=True)
        assert done.returncode in each.fsck_clean
