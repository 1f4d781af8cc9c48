"""
The name of a crash state, as far as a reader of results needs it: its model, and how much of the log it saw.

In:       a state spec: "O:812", "R:812-803,805", "T:812/3", "T:812-805/3", "N:O:812/O:7"; of a damaged state
          "D:O:812/7680^1234".
Out:      its model, the length of its prefix; what each model is, and what it presumes of a device.
Not here: the whole grammar, and what a spec means for the disk (harness/states/crash.py).
"""

import re
from collections.abc import Iterable

MODELS = {
    "O": "ordered: every prefix of the log, entry by entry",
    "R": "reordered: volatile writes of the last window lost in any subset",
    "T": "torn: one write cut at sector boundaries",
    "N": "nested: another power failure during recovery",
}

# What a device must do for a state of that model alone to come about; of O every device is capable.
PRESUMES = {
    "R": "a volatile write cache that is written back in any order; FLUSH and FUA are honoured",
    "T": "a write of several sectors that the power failure cuts between two of them",
    "N": "a second power failure while the filesystem recovers from the first",
}


def model_of(spec: str) -> str:
    """ "N" of "N:O:812/O:7"."""
    return spec[:1]


def place_of_model(spec: str) -> int:
    """What orders models: O first; a fault point (workloads/faults.py) and a damaged state (damage.py) are of
    none, and come last."""
    return [*MODELS, model_of(spec)].index(model_of(spec))


def prefix_of(spec: str) -> int | None:
    """How many entries a state's disk was built from: 812 of "O:812", "R:812-803", "N:O:812/O:7"."""
    found = re.match(r"(?:[A-Z]:)+(\d+)", spec)
    return int(found[1]) if found else None


def place_of(spec: str) -> int:
    """The same of a spec that a run of ours has written."""
    prefix = prefix_of(spec)
    assert prefix is not None, spec
    return prefix


def disk_words(spec: str) -> str:
    """What was on the disk when the power failed: "the first 12 log entries without 3, 5..7"."""
    if spec.startswith("D:"):
        state, _, damage = spec[2:].rpartition("/")
        return f"{disk_words(state)}; then {damage_words(damage)}"
    if spec.startswith("N:"):
        outer, _, inner = spec[2:].rpartition("/O:")
        return f"{disk_words(outer)}; then {_entries(inner)} of what its recovery wrote"
    found = re.fullmatch(r"([ORT]):(\d+)(?:-([\d,.]+))?(?:/(\d+))?", spec)
    if not found:
        return ""
    model, prefix, entries, sectors = found.groups()
    words = _entries(prefix, "log ")
    if model == "R":
        words += f" without {entries.replace(',', ', ')}"
    if model == "T":
        torn = f"entry {entries}" if entries else "the last one"
        words += f", of {torn} only {_counted('the first {} sector', sectors)}"
    return words


def damage_words(text: str) -> str:
    """ "sector 3 of block 7680 zeroed" of "7680.3=0"."""
    if found := re.fullmatch(r"(\d+)\^(\d+)", text):
        byte, bit = divmod(int(found[2]), 8)
        return f"bit {bit} of byte {byte} of block {found[1]} flipped"
    block, _, sector = text.removesuffix("=0").partition(".")
    return f"sector {sector} of block {block} zeroed"


def _entries(count: str, kind: str = "") -> str:
    return f"no {kind}entry" if count == "0" else _counted("the first {} " + f"{kind}entry", count)


def _counted(text: str, count: str) -> str:
    plural = text.replace("entry", "entries") if text.endswith("entry") else f"{text}s"
    return (text if count == "1" else plural).format(count).replace("first 1 ", "first ")


def in_order(models: Iterable[str]) -> tuple[str, ...]:
    """Each once, O first: the model that presumes least."""
    wanted = set(models)
    return tuple(model for model in MODELS if model in wanted)


def presumed(models: Iterable[str]) -> str:
    """What a device must do for something seen in these models alone; "" when O is among them."""
    found = in_order(models)
    return "" if "O" in found else "; or ".join(PRESUMES[model] for model in found)
