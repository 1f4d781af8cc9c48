"""Access control lists: the bytes that Linux keeps, and what is refused."""

import pytest

from workloads import acl

TEXT = "u::rw-,u:1000:r--,g::r-x,m::rwx,o::---"


def test_the_attribute_is_what_linux_keeps():
    """Version 2, then tag, permissions and id of each entry, little endian."""
    raw = acl.encoded(acl.entries(TEXT))
    assert raw.hex(" ", 4) == (
        "02000000 01000600 ffffffff 02000400 e8030000 04000500 ffffffff 10000700 ffffffff 20000000 ffffffff"
    )
    assert acl.decoded(raw) == acl.entries(TEXT)


def test_the_mask_is_the_group_of_the_mode():
    """acl(5); and chmod changes the mask, not the group's own entry."""
    entries = acl.entries(TEXT)
    assert acl.mode_of(entries) == 0o670
    assert acl.with_mode(entries, 0o741) == acl.entries("u::rwx,u:1000:r--,g::r-x,m::r--,o::--x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u::rw-", "missing: g:: m:: o::"),
        ("u::rw-,g::r--,m::r--,o::r--", "no entry u:ID or g:ID"),
        ("g::r--,u::rw-,u:1:r--,m::r--,o::r--", "in the order"),
        ("u::rw-,u:1:r--,u:1:rw-,g::r--,m::r--,o::r--", "in the order"),
        ("u::rw,u:1:r--,g::r--,m::r--,o::r--", '"u::rw" is not an entry'),
        ("u::rw-,u:1:r--,g::r--,m:3:r--,o::r--", '"m:3:r--" is not an entry'),
    ],
)
def test_what_no_list_is(text, message):
    """Each entry once, in the kernel's order, and none missing."""
    with pytest.raises(ValueError, match=message):
        acl.entries(text)
