"""
The generated parts of reference/profiles.md: how each profile is made, mounted, checked; its promises.

In:       oracles/profiles.py.
Out:      generated(): the page.
Not here: the words of the promises (promises.py).
"""

from collections.abc import Iterator
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from oracles.profiles import PROFILES, Profile
from workloads.text import format_size

PAGE = Path("docs/reference/profiles.md")


def generated(root: Path) -> dict[Path, str]:
    return {PAGE: filled(root / PAGE, {"overview": overview(), "each": "\n".join(each())})}


def overview() -> str:
    return table(
        ("profile", "mkfs", "mount options", "device"),
        [
            (
                f"[{one.name}](#{one.name})",
                code(" ".join(one.mkfs)),
                code(one.mount_options),
                format_size(one.size_bytes),
            )
            for one in PROFILES
        ],
    )


def each() -> Iterator[str]:
    for one in PROFILES:
        yield f"\n### {one.name}\n"
        yield table(("what", "value"), facts(one))


def facts(one: Profile) -> Iterator[tuple[str, str]]:
    yield "mkfs", f"{code(' '.join(one.mkfs))} DEVICE, package {code(one.package)}"
    yield "mount options", code(one.mount_options) or "none"
    if one.overlay:
        yield "overlayfs above it", code(one.overlay)
    yield "checker", f"{code(' '.join(one.fsck))} DEVICE" if one.fsck else "there is none"
    yield "device", format_size(one.size_bytes)
    yield "atomic unit (model T)", f"{one.atomic_bytes} bytes"
    if one.config:
        yield "variants of the kernel's configuration", ", ".join(map(code, one.config))
    if one.log_left:
        unit, module = ("sectors", "xfs_log") if one.filesystem == "xfs" else ("blocks", "ext4_journal")
        yield "log", f"goes on {one.log_left} {unit} before its end (`harness/guests/{module}.py`)"
    if one.setup:
        yield "before the setup of each workload", ", ".join(code(line) for line in one.setup.splitlines())
    if own := [each.key for each in one.promises]:
        yield "promises beyond those of every filesystem", ", ".join(map(code, own))
    if denied := [each.key for each in one.denies]:
        yield "does not promise", ", ".join(map(code, denied))
