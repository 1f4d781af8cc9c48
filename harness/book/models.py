"""
The generated parts of reference/models.md: crash models, and a name of each kind with what it says.

In:       oracles/spec.py, oracles/profiles.py.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from collections.abc import Iterator
from pathlib import Path

from harness.book.regions import filled
from harness.book.tables import code, table
from oracles.profiles import ATOMIC_BYTES, PROFILES
from oracles.spec import MODELS, PRESUMES, disk_words, is_live, operation_of, parse

PAGE = Path("docs/reference/models.md")
# What each example shows; each is parsed when the page is made.
STATES = (
    ("O:0", "before the first entry"),
    ("O:812", "a prefix"),
    ("R:812-803", "one volatile write lost"),
    ("R:812-803,805..808", "several volatile writes lost, ranges included"),
    ("T:812/3", "the last write of the prefix torn after 3 sectors"),
    ("T:812-805/3", "another volatile write torn"),
    ("N:O:812/O:7", "the recovery of a state cut"),
    ("N:R:812-803/O:7", "the recovery of a state of another model cut"),
    ("A:O:812/O:40", "what was recovered is used, and that is cut"),
    ("A:O:812/O:0", "what was recovered is used"),
    ("M:812/1.late", "of several devices one is behind"),
    ("M:812/0.gone,1.late", "one is lost, and another is behind"),
    ("M:812/1.old300", "one comes back as it was"),
    ("D:O:812/7680^1234", "a bit flipped"),
    ("D:O:812/7680.3=0", "a sector zeroed"),
)
LIVE = (("L:4", "while the workload was recorded"),)
ORDERED_TAKES = "A power failure."


def generated(root: Path) -> dict[Path, str]:
    parts = {"models": models(), "specs": "\n".join(specs()), "units": units()}
    return {PAGE: filled(root / PAGE, parts)}


def models() -> str:
    rows = []
    for letter, words in MODELS.items():
        name, _, states = words.partition(": ")
        takes = PRESUMES.get(letter, "")
        rows.append(
            (f"{letter}, {name}", states, f"{takes[:1].upper()}{takes[1:]}." if takes else ORDERED_TAKES)
        )
    return table(("model", "states", "what must happen for such a state"), rows)


def specs() -> Iterator[str]:
    rows = []
    for spec, about in STATES:
        assert parse(spec).spec == spec, spec
        rows.append((code(spec), about, disk_words(spec)))
    for spec, about in LIVE:
        assert is_live(spec), spec
        words = f"no power failed; the kernel died or reported during operation {operation_of(spec)}, from 0"
        rows.append((code(spec), about, words))
    yield table(("state spec", "what it is", "what is on the disk"), rows)


def units() -> str:
    filesystems = dict.fromkeys(one.filesystem for one in PROFILES)
    rows = [(name, f"{ATOMIC_BYTES.get(name, 512)} bytes") for name in filesystems]
    return table(("filesystem", "atomic unit"), rows)
