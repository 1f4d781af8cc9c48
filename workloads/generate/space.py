"""
The workloads that somebody asked for, of bounds that are too large to write down.

In:       Asked: bounds, length, and which part: all, one of so many shards, or a sample.
Out:      one Workload after the other, and None for each that an earlier one equals.
Not here: the bounds themselves (ace.py, own.py), random workloads (drawn.py); running them (harness/).

A workload is made from its number alone, so nothing is kept from one to the next but, of a sample, the
numbers drawn. Which number makes which workload is fixed. There is no end of random workloads: of these a
sample is asked for, and holds the numbers from 0 on of its seed.
"""

import math
import random
from collections.abc import Iterator

import msgspec

from workloads.generate import ace, drawn, own
from workloads.workload import Workload

ENUMERATED = ("ace", *own.BOUNDS)
DRAWN = (drawn.BOUNDS, drawn.THREADED)
BOUNDS = (*ENUMERATED, *DRAWN)
LENGTH_MAX = 3  # of those that are enumerated
GOLDEN = (math.sqrt(5) - 1) / 2


class BadBounds(Exception):
    """No such space, or nothing in the part that was asked for; the text says what there is."""


class Asked(msgspec.Struct, frozen=True):
    """shard: the I-th of N parts, from 1. sample: how many are drawn, 0 for all."""

    bounds: str
    length: int
    shard: tuple[int, int] = (1, 1)
    sample: int = 0
    seed: int = 0


def parse_space(text: str) -> tuple[str, int]:
    """`ace:2`: bounds and length. Errors: BadBounds."""
    bounds, colon, length = text.partition(":")
    if not colon or not length.isdecimal() or len(length) > 9:
        raise BadBounds(f"{text!r} is not BOUNDS:LENGTH, such as ace:1")
    return check(bounds, int(length))


def check(bounds: str, length: int) -> tuple[str, int]:
    """Errors: BadBounds."""
    if bounds not in BOUNDS:
        raise BadBounds(f"there are no bounds {bounds!r}. The bounds are {', '.join(BOUNDS)}")
    longest = drawn.LENGTH_MAX if bounds in DRAWN else LENGTH_MAX
    if not 1 <= length <= longest:
        raise BadBounds(
            f"{bounds}: there are no workloads of length {length}. The lengths are 1 to {longest}"
        )
    return bounds, length


def parse_shard(text: str) -> tuple[int, int]:
    """`2/4`: the second of four. Errors: BadBounds."""
    number, slash, parts = text.partition("/")
    if not slash or not number.isdecimal() or not parts.isdecimal() or len(text) > 19:
        raise BadBounds(f"--shard: {text!r} is not I/N, such as 1/4")
    if not 1 <= int(number) <= int(parts):
        raise BadBounds(
            f"--shard: {text}: the first part is 1/{max(int(parts), 1)}, the last is {parts}/{parts}"
        )
    return int(number), int(parts)


def total(asked: Asked) -> int:
    """How many there are in the bounds, equal ones included, whatever part is asked for; of random ones the
    sample. Errors: BadBounds."""
    if asked.bounds in DRAWN:
        if not asked.sample:
            raise BadBounds(
                f"the bounds {asked.bounds} have no fixed number of workloads. Say how many to draw "
                "with --sample N"
            )
        return asked.sample
    return ace.count(asked.length) if asked.bounds == "ace" else own.count(asked.bounds, asked.length)


def planned(asked: Asked) -> int:
    """How many the part holds, equal ones included. Errors: BadBounds when none."""
    whole = asked.sample or total(asked)
    if asked.sample > total(asked):
        raise BadBounds(
            f"--sample {asked.sample}: {asked.bounds}:{asked.length} has only {total(asked)} workloads"
        )
    number, parts = asked.shard
    count = len(range(number - 1, whole, parts))
    if not count:
        raise BadBounds(
            f"--shard {number}/{parts}: this part is empty, because there are only {whole} workloads to split"
        )
    return count


def workloads(asked: Asked) -> Iterator[Workload | None]:
    """In the order of their numbers; of a sample, in the order drawn. Errors: BadBounds."""
    planned(asked)
    number, parts = asked.shard
    if asked.sample and asked.bounds not in DRAWN:
        for place, found in enumerate(_drawn(asked)):
            if place % parts == number - 1:
                yield found
        return
    for each in range(number - 1, total(asked), parts):
        yield made(asked, each)


def made(asked: Asked, number: int) -> Workload | None:
    """The number-th, from 0, of all in the bounds; None when an earlier one equals it."""
    if asked.bounds in DRAWN:
        return drawn.workload(asked.length, asked.seed, number, asked.bounds)
    if asked.bounds == "ace":
        return ace.workload(asked.length, number)
    return own.workload(asked.bounds, asked.length, number)


def stride(total: int) -> int:
    """Far, and with no divisor in common with the total: so every place is met once in `total` steps."""
    step = max(1, round(total * GOLDEN))
    while math.gcd(step, total) != 1:
        step += 1
    return step


def _drawn(asked: Asked) -> Iterator[Workload]:
    """Different ones, each as likely as any other. Errors: BadBounds when there are too few."""
    dice, count, found = random.Random(asked.seed), total(asked), 0
    seen: set[int] = set()
    while found < asked.sample:
        if len(seen) == count:
            raise BadBounds(
                f"--sample {asked.sample}: only {found} of the {count} workloads are different from "
                "each other"
            )
        number = dice.randrange(count)
        if number in seen:
            continue
        seen.add(number)
        one = made(asked, number)
        if one is not None:
            found += 1
            yield one
