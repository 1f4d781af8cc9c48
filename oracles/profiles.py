"""
The filesystems under test: how each is made, mounted, checked, and what it promises.

In:       nothing.
Out:      PROFILES, a tuple of Profile; profile(name).
Not here: running mkfs or fsck (harness/), judging by the promises (the oracles).
"""

import msgspec


class Promise(msgspec.Struct, frozen=True):
    """One thing the filesystem owes, and who says so (kernel document, commit, fstests number)."""

    key: str
    sentence: str
    source: str


class Profile(msgspec.Struct, frozen=True):
    """
    mkfs:       command; the image's path is appended. package: the Debian package that has it.
    mount_options: as for mount -o. size_bytes: of the device.
    fsck:       command; the image's path is appended. Exit status in fsck_clean means clean.
    promises:   beyond those of every filesystem (COMMON).
    """

    name: str
    filesystem: str
    mkfs: tuple[str, ...]
    package: str
    fsck: tuple[str, ...]
    mount_options: str = ""
    size_bytes: int = 256 << 20
    fsck_clean: tuple[int, ...] = (0,)
    promises: tuple[Promise, ...] = ()
    fsck_noise: tuple[str, ...] = ()
