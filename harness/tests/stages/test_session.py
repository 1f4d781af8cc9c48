"""What is said to a guest fits its buffers, and asks for what the workload needs."""

import msgspec
import pytest

from harness.local.root import ROOT
from harness.stages.elsewhere import unknown_history
from harness.stages.session import (
    BATCH_BYTES,
    BATCH_STATES,
    BLOCK_FAILS,
    NO_DEVICE,
    PART_SHIFT,
    REQUEST,
    SLOT_BYTES,
    WANT_ATTRIBUTE_HASHES,
    WANT_FLAGS,
    WANT_HASHES,
    WANT_SCRUB,
    WRITE,
    Request,
    pack,
    split_requests,
    walk_flags,
    walk_flags_of_words,
    whole_runs,
    without,
)
from harness.states.disk import DiskWrite
from oracles.profiles import PROFILES
from oracles.spec import State, parse

# --- what the guest is asked for ---------------------------------------------------------------------


def test_contents_that_nobody_knows_come_as_hashes() -> None:
    """Whole, they made 82 of 321 states of generic/547 on btrfs UNKNOWN: fsstress writes 4 MiB and more."""
    unknown = unknown_history("log", PROFILES[0], 40)
    assert walk_flags(unknown) & WANT_HASHES
    assert not walk_flags(msgspec.structs.replace(unknown, known=True)) & WANT_HASHES


def test_attributes_that_nobody_knows_come_as_hashes() -> None:
    """Whole, they made 293 of 343 states of generic/753 on xfs UNKNOWN: fsstress sets up to 64 KiB."""
    unknown = unknown_history("log", PROFILES[0], 40)
    assert walk_flags(unknown) & WANT_ATTRIBUTE_HASHES
    assert not walk_flags(msgspec.structs.replace(unknown, known=True)) & WANT_ATTRIBUTE_HASHES


def test_an_answer_may_be_as_long_as_the_agents_buffer() -> None:
    agent = (ROOT / "harness/guests/agent/agent.c").read_text()
    assert f"#define BUFFER_BYTES ({SLOT_BYTES >> 20} << 20)" in agent


# --- requests ---------------------------------------------------------------------------------------


def request(*sizes: int) -> Request:
    return Request(State(0), 0, tuple(DiskWrite(0, size, bytes(size)) for size in sizes))


@pytest.mark.parametrize(
    ("numbers", "runs"),
    [
        ([], []),
        ([7], [(0, 1)]),
        ([7, 8, 9, 11], [(0, 3), (3, 4)]),
        ([7, 8 | 1 << PART_SHIFT, 9], [(0, 1), (1, 2), (2, 3)]),
        ([7 | 1 << PART_SHIFT, 8 | 1 << PART_SHIFT], [(0, 1), (1, 2)]),
    ],
)
def test_neighbours_in_an_answer_are_one_run_but_parts_stand_alone(
    numbers: list[int], runs: list[tuple[int, int]]
) -> None:
    assert list(whole_runs(numbers)) == runs


def test_a_request_is_headers_in_whole_sectors_and_then_data() -> None:
    packed = pack([DiskWrite(4096, 512, b"d" * 512), DiskWrite(0, 1 << 20, None)], 7, 1, 2)
    assert len(packed) == 1024
    assert REQUEST.unpack_from(packed)[1:] == (7, 1, 2, 2 * SLOT_BYTES, SLOT_BYTES, 0, NO_DEVICE)
    assert WRITE.unpack_from(packed, REQUEST.size) == (4096, 512, 0)
    assert WRITE.unpack_from(packed, REQUEST.size + WRITE.size) == (0, 1 << 20, 1)
    assert packed[512:] == b"d" * 512


def test_a_block_that_fails_stands_in_the_header() -> None:
    assert REQUEST.unpack_from(pack([], 7, BLOCK_FAILS["write"], 2, failing=9541))[-2] == 9541


def test_a_device_that_is_taken_away_stands_in_the_header() -> None:
    assert REQUEST.unpack_from(pack([], 7, WANT_SCRUB, 2, lost=1))[-1] == 1


@pytest.mark.parametrize(
    ("spec", "count", "lost"),
    [
        ("M:9/0.late", 2, 1),
        ("M:9/1.old3", 2, 0),
        ("M:9/2.old3", 4, 3),
        ("M:9/3.late", 4, 2),
        ("M:9/0.gone", 2, NO_DEVICE),
        ("M:9/0.gone,1.late", 4, NO_DEVICE),
        ("M:9/0.late,1.late", 2, NO_DEVICE),
    ],
)
def test_which_device_is_taken_away(spec: str, count: int, lost: int) -> None:
    assert without(parse(spec), count) == lost


def test_batches_hold_a_few_states_each() -> None:
    requests = [request(512)] * (2 * BATCH_STATES + 1)
    assert [len(batch) for batch in split_requests(requests)] == [BATCH_STATES, BATCH_STATES, 1]


def test_batches_hold_no_more_data_than_the_agent_reads() -> None:
    third = BATCH_BYTES // 3
    assert [len(b) for b in split_requests([request(third)] * 5)] == [2, 2, 1]
    assert [len(b) for b in split_requests([request(512), request(BATCH_BYTES), request(512)])] == [1, 1, 1]


def test_no_request_is_no_batch() -> None:
    assert list(split_requests([])) == []


@pytest.mark.parametrize("word", ["chattr", "verity"])
def test_a_walk_tells_inode_flags_behind_each_word_that_changes_them(word):
    assert walk_flags_of_words(["write", word]) & WANT_FLAGS
    assert not walk_flags_of_words(["write", "fsync"]) & WANT_FLAGS
