"""
Turn a write log into the moments power could have failed.

In:       a Log, as recorded by dm-log-writes.
Out:      State after State, earliest crash first; parse_spec() for one by its name.
Not here: building the disks (disk.py), judging them (oracles/).

Model O, ordered: every prefix of the log, entry by entry, from the empty prefix to the whole. Models R, T
and N are not built yet; their specs are refused by name.
"""

import re
from collections.abc import Iterator

import msgspec

MODELS = {
    "O": "ordered: every prefix of the log",
    "R": "reordered: volatile writes of the last window lost",
    "T": "torn: the last write cut at a sector",
    "N": "nested: a crash during recovery",
}
BUILT_MODELS = ("O",)


class BadSpec(Exception):
    """A state spec or model that we do not understand, or cannot build yet."""


class State(msgspec.Struct, frozen=True):
    """A crash after the first `prefix` entries."""

    prefix: int

    @property
    def spec(self) -> str:
        return f"O:{self.prefix}"


def states(entry_count: int) -> Iterator[State]:
    """entry_count + 1 states, from the empty prefix to the whole log."""
    return (State(prefix) for prefix in range(entry_count + 1))


def parse_spec(spec: str, entry_count: int) -> State:
    """Errors: BadSpec."""
    match = re.fullmatch(r"O:(\d+)", spec)
    if match is None:
        model = spec.split(":", maxsplit=1)[0]
        if model in MODELS and model not in BUILT_MODELS:
            raise BadSpec(f"{spec}: model {model} ({MODELS[model]}) is not built yet; built: O")
        raise BadSpec(f"{spec}: no state spec; write O:NUMBER, as in O:12")
    prefix = int(match.group(1))
    if prefix > entry_count:
        raise BadSpec(f"{spec}: the log has {entry_count} entries, so O:0 to O:{entry_count}")
    return State(prefix)


def parse_models(text: str) -> tuple[str, ...]:
    """`--models O`. Errors: BadSpec."""
    models = tuple(part.strip() for part in text.split(",") if part.strip())
    for model in models:
        if model not in MODELS:
            raise BadSpec(f"--models {text}: no model {model!r}; there are {', '.join(MODELS)}")
        if model not in BUILT_MODELS:
            raise BadSpec(f"--models {text}: model {model} ({MODELS[model]}) is not built yet; built: O")
    if not models:
        raise BadSpec("--models: name at least one, as in --models O")
    return models
