"""
The generated parts of reference/oracles.md: what each oracle promises to check, and what it does not check.

In:       the oracles; the planted bugs, whose headers name the oracles that detect them.
Out:      generated(): the page. NoSentence for an oracle that IN_SHORT does not have.
Not here: the promises (promises.py), the rest of the page, which is written by hand.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from harness.book.regions import filled
from harness.book.tables import code, table
from kernel.build import series
from oracles.judge import (
    AFTER_ORACLES,
    ALSO_ASKED,
    DAMAGE_ORACLES,
    EVERY_ORACLE,
    FAULT_ORACLES,
    ORACLES,
    PROGRAM_ORACLES,
)

PAGE = Path("docs/reference/oracles.md")
IN_SHORT = MappingProxyType(
    {
        "mounts": "Recovery succeeds, in bounded time, and the kernel survives it.",
        "quiet": "The kernel log has no BUG, WARNING or Oops, and no error line of the filesystem.",
        "fsck": "The checker finds nothing after recovery.",
        "durable": "What a completed fsync, fdatasync or sync promised is there.",
        "atomic": "A rename, link or unlink happened entirely or not at all.",
        "historical": "Nothing appears that never existed: no foreign name, byte, size or attribute.",
        "ordered": "Metadata changes survive as a prefix, where the filesystem promises that.",
        "usable": "Every file can be read. In every directory a file can be made and removed. Everything can "
        "be deleted, and a full filesystem has room again after that.",
        "stable": "A second mount and a second walk find the same tree.",
        "consistent": "Link counts, types, sizes and blocks agree with the names and the content.",
        "kept": "What a recovery showed, and what was fsynced after it, outlives the next power failure.",
        "redundant": "On two devices, a scrub mends every copy, and then any one device may be lost.",
        "application": "The program that was the workload finds what it promises its users.",
        "told": "A call that makes data durable succeeds only if it is durable. An error is reported to each "
        "descriptor.",
        "contained": "What was acknowledged before the error stays. Then the filesystem continues, is "
        "read-only or has shut down.",
        "detected": "A block that was corrupted on its way to the disk, or at rest, is never read as valid.",
        "alive": "No BUG, panic, hang or busy device, and the unmount ends.",
        "healed": "An I/O error during recovery costs nothing but that mount.",
        "noticed": "Damage changes the recovered tree only if it is reported.",
    }
)


class NoSentence(Exception):
    """An oracle is registered and has no sentence here; the message says where to write it."""


def generated(root: Path) -> dict[Path, str]:
    """Errors: NoSentence, BadRegions."""
    parts = {
        "power-failure": overview(ORACLES),
        "afterwards": overview(tuple(oracle for oracle in AFTER_ORACLES if oracle not in ORACLES)),
        "programs": overview(PROGRAM_ORACLES),
        "faults": overview(FAULT_ORACLES),
        "also": ", ".join(code(oracle.NAME) for oracle in ALSO_ASKED),
        "damage": overview(DAMAGE_ORACLES),
        "each": "\n".join(each()),
    }
    return {PAGE: filled(root / PAGE, parts)}


def overview(oracles: tuple) -> str:  # type: ignore[type-arg]
    names = [oracle.NAME for oracle in oracles]
    return table(("oracle", "promise"), [(f"[{name}](#{name})", in_short(name)) for name in names])


def in_short(name: str) -> str:
    """What the oracle asks, in one sentence. Errors: NoSentence."""
    if name not in IN_SHORT:
        raise NoSentence(
            f"the oracle {name} has no sentence for docs/reference/oracles.md: add one to IN_SHORT in "
            "harness/book/oracles.py"
        )
    return IN_SHORT[name]


def each() -> Iterator[str]:
    bugs = Counter(
        oracle for one in series() if one.name.startswith("planted/") for oracle in one.facts.oracles
    )
    for oracle in EVERY_ORACLE:
        name = oracle.NAME
        yield f"\n### {name}\n"
        yield f"{in_short(name)}\n"
        yield f"Checked: {oracle.CHECKS}\n"
        yield f"Not checked: {oracle.NOT_CHECKED}\n"
        place = oracle.__name__.replace(".", "/") + ".py"
        caught = (
            f"{bugs[name]} planted bugs name it as an oracle that detects them"
            if bugs[name] != 1
            else ("1 planted bug names it as an oracle that detects it")
        )
        yield f"Source: [`{place}`](../../{place}). {caught}."
