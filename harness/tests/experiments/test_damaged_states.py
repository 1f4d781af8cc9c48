"""Which blocks are damaged and how; what a block is called."""

import random
import struct
from collections import Counter

import pytest

from harness.experiments.damaged_states import Damaging, chosen_states, damages
from harness.stages.recover import Recovered, is_mended
from harness.states.block_names import JOURNAL_MAGIC, block_name
from harness.states.crash import parse_spec
from harness.states.disk import BLOCK_BYTES, DiskWrite
from harness.states.rebuild import Rebuilding
from oracles.spec import BadSpec, Damage, State
from reports.results import ReadBlock

MOUNTED, UNTOUCHED = b'{"mount_errno":0,"tree":[]}', b'{"mount_errno":0,"untouched":true}'
FULL = bytes([7]) * BLOCK_BYTES


def blocks(*numbers: int, name: str = "metadata") -> tuple[ReadBlock, ...]:
    return tuple(ReadBlock(number, name) for number in numbers)


def places(damaging: Damaging) -> set[tuple[int, int]]:
    return {(state.prefix, state.damage.block) for state in damaging.states() if state.damage}


def test_a_block_with_one_content_is_damaged_once_in_the_last_state_that_has_it(disks: Rebuilding) -> None:
    reads = {State(0): blocks(0, 1), State(2): blocks(0, 1, 5)}
    damaging = Damaging(disks, reads, budget=100, seed=0)
    assert places(damaging) == {(2, 0), (2, 1), (2, 5), (0, 1)}
    assert damaging.count == len(list(damaging.states())) == 4 * 16
    assert (damaging.coverage.whole, damaging.coverage.places) == (4, 4)


def test_a_budget_goes_to_every_block_before_one_gets_more_and_to_zeros_last(disks: Rebuilding) -> None:
    reads = {State(2): blocks(0, 1, 6, 7)}
    assert places(Damaging(disks, reads, 2, 0)) == {(2, 0), (2, 1)}
    few = Damaging(disks, reads, 33, 0)
    assert (few.count, places(few)) == (33, {(2, 0), (2, 1), (2, 7)})
    assert Damaging(disks, reads, 500, 0).count == 34


def test_the_same_seed_damages_the_same(disks: Rebuilding) -> None:
    reads = {State(2): blocks(0, 1)}
    first, same, other = (
        [state.spec for state in Damaging(disks, reads, 9, seed).states()] for seed in (1, 1, 2)
    )
    assert first == same != other


def test_a_damage_that_is_asked_for_is_done_in_every_state_that_reads_its_block(disks: Rebuilding) -> None:
    """Beside the budget, once, and in the order of the states."""
    reads = {State(0): blocks(0, 1), State(1): blocks(0), State(2): blocks(0, 1, 5)}
    wanted = Damage(1, bit=77)
    damaging = Damaging(disks, reads, 3, 0, (wanted,))
    made = list(damaging.states())
    assert [state.prefix for state in made if state.damage == wanted] == [0, 2]
    assert [state.prefix for state in made] == sorted(state.prefix for state in made)
    assert damaging.count == len(made) == 5
    assert damaging.coverage.examined == 3
    (drawn, *_) = Damaging(disks, reads, 3, 0).states()
    assert drawn.damage is not None
    again = list(Damaging(disks, reads, 3, 0, (drawn.damage,)).states())
    assert len(again) == len(set(again))


def test_every_damage_changes_the_disk_and_none_is_left_behind(disks: Rebuilding) -> None:
    disks.move(State(2))
    whole = disks.disk.identity()
    seen = set()
    for state in Damaging(disks, {State(2): blocks(0, 1, 5, 6)}, 500, 0).states():
        disks.move(state)
        seen.add(disks.disk.identity())
        assert parse_spec(state.spec, disks._log) == state
    assert whole not in seen
    disks.move(State(2))
    assert disks.disk.identity() == whole
    assert disks.damaged is None


def test_only_bytes_that_are_there_are_damaged() -> None:
    content = bytes(512) + bytes([1, 0] * 256) + bytes(BLOCK_BYTES - 1024)
    found = list(damages(3, content, random.Random(0), 1))
    assert [damage.sector for damage in found if damage.bit < 0] == [1]
    (flipped,) = [damage.bit for damage in found if damage.bit >= 0]
    assert content[flipped // 8] == 1


def test_a_log_gets_further_bits_when_all_else_has_what_it_wants(disks: Rebuilding) -> None:
    reads = {State(2): (*blocks(0), *blocks(1, name="log tree leaf"), *blocks(2, name="journal blocks"))}
    counts = Counter(state.damage.block for state in Damaging(disks, reads, 5000, 0).states() if state.damage)
    assert counts[0] == 16
    assert min(counts[1], counts[2]) > 64  # 8 sectors: 8 zeroes, and nearly 8 bits each
    few = Counter(state.damage.block for state in Damaging(disks, reads, 48, 0).states() if state.damage)
    assert set(few.values()) == {16}


def recovered(*reports: bytes) -> list[Recovered]:
    return [Recovered(f"O:{prefix}", prefix, "", report) for prefix, report in enumerate(reports)]


def test_states_that_replayed_something_are_chosen_and_the_last_in_any_case() -> None:
    refused = b'{"mount_errno":5}'
    assert chosen_states(recovered(UNTOUCHED, MOUNTED, refused, UNTOUCHED)) == [State(1), State(3)]
    many = chosen_states(recovered(*[MOUNTED] * 100))
    assert len(many) == 8
    assert many[-1] == State(99)


def test_a_block_outside_the_disk_is_told(disks: Rebuilding) -> None:
    with pytest.raises(BadSpec, match="the blocks of the disk are 0 to 7"):
        parse_spec("D:O:1/8^1", disks._log, 8 * BLOCK_BYTES)
    with pytest.raises(BadSpec, match="is not a damaged state"):
        parse_spec("D:O:1/8", disks._log)
    with pytest.raises(BadSpec, match="O:0 to O:2"):
        parse_spec("D:O:3/1^1", disks._log)


def test_a_block_is_mended_when_it_is_on_the_disk_as_it_was() -> None:
    wrong = DiskWrite(8192, BLOCK_BYTES, bytes(BLOCK_BYTES))
    assert is_mended((2, FULL), [wrong, DiskWrite(8192, BLOCK_BYTES, FULL)])
    assert not is_mended((2, FULL), [wrong, DiskWrite(4096, BLOCK_BYTES, FULL)])


# --- names ---------------------------------------------------------------------------------------


def name_in(filesystem: str, blocks: dict[int, bytes], block: int) -> str:
    return block_name(filesystem, lambda number: blocks.get(number, b"").ljust(BLOCK_BYTES, b"\0"), block)


def test_the_blocks_of_a_btrfs_node_are_all_named_by_its_header() -> None:
    superblock = bytes(32) + b"f" * 16 + bytes(16) + b"_BHRfS_M" + bytes(148 - 72) + struct.pack("<I", 16384)
    log = bytes(32) + b"f" * 16 + bytes(40) + struct.pack("<Q", 2**64 - 6) + bytes(5)
    blocks = {16: superblock, 20: log, 23: b"end"}
    assert name_in("btrfs", blocks, 16) == "superblock"
    assert {name_in("btrfs", blocks, block) for block in (20, 21, 23)} == {"log tree leaf"}
    assert (name_in("btrfs", blocks, 24), name_in("btrfs", {**blocks, 24: b"x"}, 24)) == ("zeros", "metadata")


def test_the_journal_of_ext4_is_found_by_the_superblock() -> None:
    superblock = bytearray(BLOCK_BYTES)
    struct.pack_into("<IIIII", superblock, 1024 + 4, 32768, 0, 0, 0, 1)  # blocks, first data block 1
    struct.pack_into("<I", superblock, 1024 + 24, 0)  # 1 KiB
    struct.pack_into("<H", superblock, 1024 + 0x10C, 0xF30A)
    struct.pack_into("<H", superblock, 1024 + 0x10C + 2, 1)
    struct.pack_into("<IHHI", superblock, 1024 + 0x10C + 12, 0, 8, 0, 402)  # 8 blocks from 402 on

    def header(kind: int) -> bytes:
        return (JOURNAL_MAGIC + struct.pack(">I", kind)).ljust(1024, b"\0")

    blocks = {
        0: bytes(superblock),
        100: b"x" * 2048 + header(1) + header(1),
        101: header(2) + b"copy".ljust(1024, b"\0"),
        102: b"copy",
        103: b"behind",
    }
    assert [name_in("ext4", blocks, block) for block in (0, 100, 101, 102, 103)] == [
        "superblock and group descriptors",
        "journal descriptor",
        "journal blocks",
        "journal copy of a block",
        "metadata",
    ]


def test_the_log_of_xfs_is_found_by_the_superblock() -> None:
    superblock = bytearray(BLOCK_BYTES)
    superblock[:4] = b"XFSB"
    struct.pack_into(">I", superblock, 4, 4096)
    struct.pack_into(">Q", superblock, 48, 2 << 10 | 6)  # block 6 of group 2
    struct.pack_into(">II", superblock, 84, 1000, 0)
    struct.pack_into(">I", superblock, 96, 4)
    superblock[124] = 10
    blocks = {0: bytes(superblock), 1: b"AB3B", 2: b"IN", 2006: b"x", 2010: b"x"}
    named = [name_in("xfs", blocks, block) for block in (0, 1, 2, 2006, 2009, 2010)]
    assert named == ["superblock and group headers", "free space tree", "inodes", "log", "log", "metadata"]


def test_the_areas_of_f2fs_are_found_by_the_superblock() -> None:
    superblock = bytearray(BLOCK_BYTES)
    superblock[1024:1028] = b"\x10\x20\xf5\xf2"
    struct.pack_into("<IIIII", superblock, 1024 + 76, 512, 1536, 2560, 3584, 4096)
    blocks = {0: bytes(superblock), **dict.fromkeys((512, 1600, 3000, 3584, 5000), b"x")}
    assert [name_in("f2fs", blocks, block) for block in sorted(blocks)] == [
        "superblock",
        "checkpoint",
        "segment table",
        "node address table",
        "summary",
        "node or directory",
    ]


def test_logs_of_nilfs2_are_named_by_their_summary() -> None:
    magic = b"\x34\x34"
    first, second = bytes(1024 + 6) + magic, bytes(6) + magic
    blocks = {0: first, 256: bytes(8) + b"\x11\xfa\xea\x1e", 257: b"x", 16382: second}
    assert [name_in("nilfs2", blocks, block) for block in sorted(blocks)] == [
        "superblock",
        "segment summary",
        "metadata",
        "superblock",
    ]
