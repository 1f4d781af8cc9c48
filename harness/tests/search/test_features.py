"""What a log says of a workload: the roles of its blocks in the order of its writes."""

from harness.search.corpus import numbers_of
from harness.search.features import SLOTS, hashed, role_features, roles
from harness.states.log import Entry, open_log, write_log
from workloads.entries import EntryFlag

JOURNAL = b"\xc0\x3b\x39\x98\0\0\0\1"


def log_of(tmp_path, entries):
    base, log = tmp_path / "base", tmp_path / "log"
    with base.open("wb") as file:
        file.truncate(1 << 20)
    write_log(log, entries)
    return base, log


def data(magic: bytes, at: int = 0) -> bytes:
    return (bytes(at) + magic).ljust(4096, b"\1")


def test_roles_are_those_of_the_blocks_as_written(tmp_path):
    """A FLUSH and FUA are told, marks are not."""
    btrfs = data(b"_BHRfS_M", 64)
    entries = [
        Entry(0, 0, EntryFlag.MARK, mark="op 0"),
        Entry(8 * 16, 8, EntryFlag.FUA, btrfs),
        Entry(8 * 20, 8, 0, data(b"x")),
        Entry(0, 0, EntryFlag.FLUSH),
    ]
    base, path = log_of(tmp_path, entries)
    with open_log(path) as log:
        assert list(roles("btrfs", base, log)) == ["superblock+", "metadata", "!"]


def test_neighbours_that_are_alike_are_one(tmp_path):
    """Ten writes of data in a row say what two say."""

    def features(count: int) -> bytes:
        folder = tmp_path / f"{count}"
        folder.mkdir()
        writes = [Entry(8 * (20 + at), 8, 0, data(b"x")) for at in range(count)]
        base, path = log_of(folder, [*writes, Entry(0, 0, EntryFlag.FLUSH), *writes])
        with open_log(path) as log:
            return role_features("xfs", base, log)

    two = features(2)
    assert len(numbers_of(two)) == 1
    assert two == features(10)


def test_hashed_numbers_are_in_order_and_below_the_slots():
    """Each once, whatever the order of the texts."""
    assert hashed(["a", "b", "a"]) == hashed(["b", "a"])
    numbers = numbers_of(hashed(f"{n}" for n in range(1000))).tolist()
    assert numbers == sorted(set(numbers))
    assert max(numbers) < SLOTS
