"""Several devices in one log: whose each FLUSH is, what each may lack, and the states of model M."""

import struct
from pathlib import Path

import pytest

from harness.states.crash import cuts, parse_spec
from harness.states.devices import Places, places_of
from harness.states.disk import BLOCK_BYTES
from harness.states.flushes import is_told, told_apart
from harness.states.log import Entry, Log, open_log, write_log
from harness.states.members import Members
from harness.states.rebuild import Rebuilding
from oracles.spec import BadSpec, disk_words
from workloads.entries import ALL_DEVICES, EntryFlag

SECTORS = (1024, 512)  # two devices, the second behind the first
SECOND = SECTORS[0]
END = sum(SECTORS)
FLUSH = Entry(0, 0, EntryFlag.FLUSH)


def write(sector: int, text: bytes, flags: int = 0) -> Entry:
    return Entry(sector, 8, flags, text.ljust(8 * 512, b"."))


def told(device: int) -> list[Entry]:
    """What the log has of a FLUSH of a slice."""
    return [FLUSH, Entry(END + device, 1, EntryFlag.FUA, bytes(512))]


# 0 is the mark of the kept log; behind it 1 to 7.
RECORDED = [
    write(0, b"first, flushed"),
    write(SECOND, b"second, not flushed"),
    *told(0),
    write(8, b"first, not flushed"),
    write(SECOND + 8, b"second, with FUA", EntryFlag.FUA),
    *told(1),
    write(SECOND + 16, b"second, after its flush"),
]


@pytest.fixture
def log(tmp_path: Path):
    path = tmp_path / "log"
    write_log(path, told_apart(RECORDED, SECTORS, tells=True))
    with open_log(path) as opened:
        yield opened


def test_each_flush_is_one_of_its_device_and_nothing_is_told_of_it(log: Log) -> None:
    assert log.devices is not None
    assert log.devices.starts == (0, SECOND, END)
    kept = [(entry.sector, entry.sector_count, entry.device) for entry in log]
    assert kept == [
        (0, 0, 0),
        (0, 8, 0),
        (SECOND, 8, 1),
        (0, 0, 0),
        (8, 8, 0),
        (SECOND + 8, 8, 1),
        (SECOND, 0, 1),
        (SECOND + 16, 8, 1),
    ]


def test_a_flush_of_which_nothing_is_told_is_one_of_all(tmp_path: Path) -> None:
    plain = [write(0, b"one"), FLUSH, write(SECOND, b"two")]
    write_log(tmp_path / "log", told_apart(plain, SECTORS, tells=False))
    with open_log(tmp_path / "log") as opened:
        assert opened[2].device == ALL_DEVICES
        assert [cut.volatile for cut in cuts(opened)] == [(1,), (3,)]


def test_whether_flushes_are_told(tmp_path: Path) -> None:
    for entries, expected in ((RECORDED, True), ([write(0, b"one"), FLUSH], False)):
        write_log(tmp_path / "log", entries)
        with open_log(tmp_path / "log") as opened:
            assert is_told(opened, SECTORS) == expected


def test_a_flush_empties_the_cache_of_its_own_device_alone(log: Log) -> None:
    assert [(cut.prefix, cut.volatile) for cut in cuts(log)] == [
        (3, (1, 2)),
        (5, (2, 4)),
        (6, (2, 4)),  # behind the write with FUA
        (8, (4, 7)),
    ]


def test_a_log_of_one_device_has_no_member(tmp_path: Path) -> None:
    write_log(tmp_path / "log", [write(0, b"one"), FLUSH])
    with open_log(tmp_path / "log") as opened:
        assert Members(opened, opened.devices, redundant=True, budget=99).count == 0


@pytest.mark.parametrize(
    ("redundant", "specs"),
    [
        (False, [f"M:{at}/{device}.late" for device in (0, 1) for at in (3, 5, 6, 8)]),
        (
            True,
            [
                *(f"M:{at}/{device}.late" for device in (0, 1) for at in (3, 5, 6, 8)),
                *(f"M:{at}/0.gone" for at in (3, 5, 6, 8)),
                *(f"M:{at}/0.gone,1.late" for at in (3, 5, 6, 8)),
                *(f"M:{at}/1.gone" for at in (3, 5, 6, 8)),
                *(f"M:{at}/1.gone,0.late" for at in (3, 5, 6, 8)),
            ],
        ),
    ],
)
def test_the_states_of_a_log_and_each_by_its_name(log: Log, redundant: bool, specs: list[str]) -> None:
    members = Members(log, log.devices, redundant, budget=99)
    found = list(members.states())
    assert [state.spec for state in found] == specs
    assert [parse_spec(spec, log) for spec in specs] == found
    assert members.coverage.examined == members.coverage.space == members.count == len(specs)


def test_a_budget_takes_of_all_evenly(log: Log) -> None:
    members = Members(log, log.devices, redundant=True, budget=4)
    assert len(list(members.states())) == members.count == 4
    assert members.coverage.space == 24
    assert members.coverage.whole == 0


ROOMY = (262144, 262144)  # two devices with room for a superblock of btrfs


def superblock(device: int, generation: int, log_root: int = 0) -> Entry:
    """As fs/btrfs writes it, at 64 KiB of the device."""
    head = bytes(0x40) + b"_BHRfS_M" + struct.pack("<QQQQ", generation, 0, 0, log_root)
    return Entry(ROOMY[0] * device + 128, 8, EntryFlag.FUA, head.ljust(4096, b"\0"))


def returned(entries: list[Entry], folder: Path, checked: bool = True, redundant: bool = True) -> list[str]:
    """The states in which a device came back as it was."""
    path = folder / "log"
    write_log(path, told_apart(entries, ROOMY, tells=False))
    with open_log(path) as opened:
        members = Members(opened, opened.devices, redundant, budget=999, checked=checked)
        return [state.spec for state in members.states() if "old" in state.spec]


# 0 is the mark of the kept log.
COMMITTED = [
    write(0, b"one"),
    write(ROOMY[0], b"two"),
    FLUSH,
    superblock(0, 8),  # entry 4: a commit
    superblock(1, 8),
]


def test_a_device_that_returns_is_of_an_earlier_commit(tmp_path: Path) -> None:
    """Behind the first superblock device 1 has an older one, and behind the second device 0 had it, too. At
    entry 3 both had nothing but the trees."""
    assert returned(COMMITTED, tmp_path) == [
        "M:6/0.old0",
        "M:6/0.old3",
        "M:5/1.old0",
        "M:6/1.old0",
        "M:6/1.old3",
    ]


def test_no_device_returns_that_has_the_same_generation(tmp_path: Path) -> None:
    """An fsync writes a superblock of the transaction before."""
    synced = [*COMMITTED[:3], superblock(0, 7, log_root=4096), superblock(1, 7, log_root=4096)]
    assert returned(synced, tmp_path) == []


@pytest.mark.parametrize(("checked", "redundant"), [(False, True), (True, False)])
def test_none_returns_where_copies_cannot_be_told_apart_or_are_none(
    tmp_path: Path, checked: bool, redundant: bool
) -> None:
    assert returned(COMMITTED, tmp_path, checked, redundant) == []


def test_none_returns_where_a_device_has_no_superblock(tmp_path: Path) -> None:
    assert returned(COMMITTED[:4], tmp_path) == []


def test_a_returned_device_lacks_what_it_was_sent_since(tmp_path: Path) -> None:
    path = tmp_path / "log"
    write_log(path, told_apart(COMMITTED, ROOMY, tells=False))
    with open_log(path) as opened:
        assert parse_spec("M:6/1.old0", opened).lost == (2, 5)
        assert parse_spec("M:6/1.old3", opened).lost == (5,)


def disk_of(spec: str, log: Log, folder: Path) -> dict[str, bytes]:
    """What stands where the entries write, up to the dots."""
    base = folder / "base"
    with base.open("wb") as file:
        file.truncate(END * 512 + BLOCK_BYTES)
    with Rebuilding(base, log) as disks:
        disks.move(parse_spec(spec, log))
        places = {"0": 0, "8": 8, "2nd": SECOND, "2nd 8": SECOND + 8, "2nd 16": SECOND + 16}
        return {name: disks.disk.image[at * 512 : at * 512 + 40].strip(b".\0") for name, at in places.items()}


@pytest.mark.parametrize(
    ("spec", "lacks"),
    [
        ("O:8", set()),
        ("M:5/0.late", {"8", "2nd 8", "2nd 16"}),  # the prefix has no more of the second
        ("M:5/1.late", {"2nd", "2nd 8", "2nd 16"}),
        ("M:8/0.late", {"8"}),
        ("M:8/1.late", {"2nd 16"}),
        ("R:8-4,7", {"8", "2nd 16"}),
        ("M:8/1.old2", {"2nd", "2nd 8", "2nd 16"}),
    ],
)
def test_what_is_on_the_disk_of_a_state(tmp_path: Path, log: Log, spec: str, lacks: set[str]) -> None:
    found = disk_of(spec, log, tmp_path)
    assert {name for name, content in found.items() if not content} == lacks


def test_a_device_that_is_gone_has_no_superblock_and_comes_back_whole(tmp_path: Path) -> None:
    """Its first copy lies at 64 KiB."""
    entry = write(SECOND + 128, b"superblock")
    write_log(tmp_path / "log", told_apart([entry], SECTORS, tells=True))
    base = tmp_path / "base"
    with base.open("wb") as file:
        file.truncate(END * 512 + BLOCK_BYTES)
    with open_log(tmp_path / "log") as log, Rebuilding(base, log) as disks:
        block = (SECOND + 128) * 512 // BLOCK_BYTES
        seen = []
        for spec in ("O:2", "M:2/1.gone", "M:2/0.gone", "O:2"):
            disks.move(parse_spec(spec, log))
            seen.append(disks.disk.block(block).startswith(b"superblock"))
        assert seen == [True, False, True, True]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (
            "M:12/1.late",
            "the first 12 log entries; device 1 without what it was sent since its own last FLUSH",
        ),
        ("M:12/0.gone", "the first 12 log entries; device 0 is gone"),
        ("M:12/1.old7", "the first 12 log entries; device 1 as it was after the first 7 log entries"),
    ],
)
def test_what_a_state_is_in_words(spec: str, words: str) -> None:
    assert disk_words(spec) == words


@pytest.mark.parametrize("spec", ["M:5/1", "M:5/1.lost", "M:5/0.late,0.gone", "M:5/0.old6", "M:9/0.late"])
def test_a_name_that_is_no_state_is_refused(log: Log, spec: str) -> None:
    with pytest.raises(BadSpec, match=spec.replace(".", r"\.")):
        parse_spec(spec, log)


def test_a_sector_is_of_the_device_that_has_it() -> None:
    places = Places(SECTORS)
    assert [places.device_at(sector) for sector in (0, SECOND - 1, SECOND, END - 1, END)] == [0, 0, 1, 1, -1]
    assert places_of("begin-3") is None
