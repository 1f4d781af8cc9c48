"""
POSIX access control lists, as the text of a workload and as the attribute that Linux keeps.

In:       "u::rw-,u:1000:r--,g::r--,m::r--,o::---".
Out:      its bytes as the extended attribute ACCESS; the permission bits that go with it.
Not here: default lists of directories, which new files inherit (nothing of them is modelled).

The form is setfacl(1)'s, with every entry spelled out, in the kernel's order.
"""

import re
import struct

ACCESS = "system.posix_acl_access"  # include/uapi/linux/xattr.h
VERSION = 2  # include/uapi/linux/posix_acl_xattr.h: POSIX_ACL_XATTR_VERSION
# include/uapi/linux/posix_acl.h: the tags, in the order in which posix_acl_valid() wants them
USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
UNDEFINED_ID = 0xFFFFFFFF

_ENTRY = re.compile(r"(?P<who>[ugmo]):(?P<id>0|[1-9][0-9]{0,4})?:(?P<r>[r-])(?P<w>[w-])(?P<x>[x-])")
_TAGS = {("u", False): USER_OBJ, ("u", True): USER, ("g", False): GROUP_OBJ, ("g", True): GROUP}
_TAGS |= {("m", False): MASK, ("o", False): OTHER}

Entry = tuple[int, int, int]  # tag, permissions, id


def entries(text: str) -> list[Entry]:
    """ValueError says what is wrong with it."""
    found = [_entry(part) for part in text.split(",")]
    order = [(tag, id_) for tag, _, id_ in found]
    if order != sorted(set(order)):
        raise ValueError("write each entry once, in the order u:: u:ID g:: g:ID m:: o::")
    missing = [shown for tag, shown in _NEEDED.items() if tag not in {tag for tag, _ in order}]
    if missing:
        raise ValueError(f"missing: {' '.join(missing)}")
    if not {USER, GROUP} & {tag for tag, _ in order}:
        raise ValueError("there is no entry u:ID or g:ID. Such a list is only a mode; use chmod")
    return found


_NEEDED = {USER_OBJ: "u::", GROUP_OBJ: "g::", MASK: "m::", OTHER: "o::"}


def _entry(part: str) -> Entry:
    match = _ENTRY.fullmatch(part)
    tag = _TAGS.get((match["who"], match["id"] is not None)) if match else None
    if match is None or tag is None:
        raise ValueError(f'"{part}" is not an entry such as u:1000:rw-')
    bits = 4 * (match["r"] == "r") + 2 * (match["w"] == "w") + (match["x"] == "x")
    return tag, bits, UNDEFINED_ID if match["id"] is None else int(match["id"])


def encoded(acl: list[Entry]) -> bytes:
    return struct.pack("<I", VERSION) + b"".join(struct.pack("<HHI", *entry) for entry in acl)


def decoded(raw: bytes) -> list[Entry]:
    """The inverse of encoded()."""
    return [(tag, bits, id_) for tag, bits, id_ in struct.iter_unpack("<HHI", raw[4:])]


def mode_of(acl: list[Entry]) -> int:
    """Permissions as stat shows them: the group's are the mask (acl(5))."""
    bits = {tag: bits for tag, bits, _ in acl}
    return bits[USER_OBJ] << 6 | bits[MASK] << 3 | bits[OTHER]


def with_mode(acl: list[Entry], mode: int) -> list[Entry]:
    """What chmod makes of it (fs/posix_acl.c __posix_acl_chmod_masq())."""
    new = {USER_OBJ: mode >> 6 & 7, MASK: mode >> 3 & 7, OTHER: mode & 7}
    return [(tag, new.get(tag, bits), id_) for tag, bits, id_ in acl]
