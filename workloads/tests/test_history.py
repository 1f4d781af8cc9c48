"""The bytes that tell which operation wrote them."""

import pytest

from workloads.history import CELL_MAGIC, stamped


def test_a_cell_names_its_operation_and_place():
    """A whole cell holds index + 1, the magic and its own number, little endian."""
    assert stamped(6, 16, 8) == (7).to_bytes(2, "little") + CELL_MAGIC.to_bytes(2, "little") + bytes(
        [2, 0, 0, 0]
    )


@pytest.mark.parametrize(("offset", "length"), [(0, 0), (0, 1), (3, 2), (7, 1), (7, 2), (8, 8), (4095, 4098)])
def test_a_range_is_cut_out_of_the_whole(offset, length):
    """What is written at any offset is what a write of the whole file would put there."""
    assert stamped(5, offset, length) == stamped(5, 0, 16384)[offset : offset + length]
    assert len(stamped(5, offset, length)) == length


def test_no_two_operations_and_no_two_places_look_alike():
    """The cells of different operations and offsets differ, and none is zero."""
    cells = {stamped(index, offset, 8) for index in range(50) for offset in range(0, 400, 8)}
    assert len(cells) == 50 * 50
    assert bytes(8) not in cells


def test_the_last_allowed_operation_has_a_stamp():
    """60,000 operations fit in the u16 of a stamp."""
    assert stamped(59_999, 0, 2) == (60_000).to_bytes(2, "little")
