"""
The numbers that the commit messages published, to stand beside ours as reference.

In:       published.toml.
Out:      Seed and Published; published_for() a number of ours.
Not here: what ours are.
"""

import functools
import tomllib
from pathlib import Path

import msgspec

PLACE = Path(__file__).parent / "published.toml"


class Published(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One number of a seed. experiment, case, key: which of ours it stands beside; case "" for any."""

    experiment: str
    key: str
    name: str
    unit: str
    before: float
    after: float
    case: str = ""

    @property
    def ratio(self) -> float:
        return self.after / self.before

    @property
    def percent(self) -> float:
        return 100 * (self.ratio - 1)


class Seed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A commit with measurements in its message. said: what it claims, in its own figures."""

    commit: str
    subject: str
    machine: str
    said: str
    number: tuple[Published, ...] = ()


@functools.cache
def seeds() -> dict[str, Seed]:
    """By the name that experiments use."""
    return msgspec.convert(tomllib.loads(PLACE.read_text()), dict[str, Seed])


def published_for(experiment: str, case: str, key: str) -> Published | None:
    for seed in seeds().values():
        for number in seed.number:
            if (number.experiment, number.key) == (experiment, key) and number.case in ("", case):
                return number
    return None
