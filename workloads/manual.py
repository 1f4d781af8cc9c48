"""
The manual of the words: what stands in the reference beside each word's syntax.

In:       manual.toml, beside this file.
Out:      manual(), a Page for each word of text.WORDS; GROUPS, the order in which they are explained.
Not here: syntax and the short meaning of each word (text.py), the system calls themselves
          (harness/guests/agent/calls.c), the reference (harness/book/words.py).
"""

from functools import cache
from pathlib import Path
from types import MappingProxyType

import msgspec

FILE = Path(__file__).with_name("manual.toml")

# By heading, the words in the order in which they are explained.
GROUPS = MappingProxyType(
    {
        "Names": ("creat", "mkdir", "mknod", "mkfifo", "symlink", "link", "unlink", "rmdir", "rename"),
        "Content": (
            "write",
            "append",
            "pwrite",
            "mmapwrite",
            "atomicwrite",
            "truncate",
            "fallocate",
            "fill",
            "defragment",
            "verity",
        ),
        "Two files": ("clone", "dedupe", "copyrange"),
        "Attributes": ("chmod", "chown", "setfacl", "utimes", "chattr", "setxattr", "removexattr"),
        "Descriptors": ("open", "close", "tmpfile"),
        "Subvolumes of btrfs": ("subvol", "snapshot"),
        "Durability": ("fsync", "fdatasync", "msync", "syncfs", "sync", "sync_file_range"),
        "Cache, time and mount": (
            *("evict", "wait", "freeze", "thaw", "grow", "relocate", "trim", "remount", "crash", "umount"),
        ),
        "When threads meet": ("await", "stop"),
        "A device or a filesystem that fails": ("fault", "errortag"),
    }
)


class Page(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What manual.toml has of a word, as it explains at its top."""

    calls: str
    does: str
    fails: str
    example: str
    setup: str = ""


@cache
def manual() -> dict[str, Page]:
    """By word. Errors: msgspec.DecodeError."""
    pages = msgspec.toml.decode(FILE.read_bytes(), type=dict[str, Page])
    return {
        word: msgspec.structs.replace(
            page, **{key: " ".join(getattr(page, key).split()) for key in ("calls", "does", "fails")}
        )
        for word, page in pages.items()
    }
