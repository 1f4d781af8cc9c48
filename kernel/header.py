"""
The header of a series: comment lines for people, some of them for programs.

In:       the text of a .patch or .cocci file.
Out:      Facts. BadKernel for a line that cannot be understood.
Not here: the files a semantic patch is for (patching.py), what is done with the facts (harness/).

    // upstream: 0123456789ab ("btrfs: subject") (in v6.1)
    // absent: 5.10 (log tree has no such thing before v5.12)
    // profiles: ext4
    // caught by: durable, fsck
    // config: debug
    // models: R
    // workloads: rename-over-existing link-fsync-new-name
    // faults: sweep
    // damage: sweep, or failing
    // device: slow
    // orders: 40
    // files: fs/btrfs/tree-log.c

A line may go on in the next one, which then begins with two blanks or more. absent may stand more than once.
"""

import re
from collections.abc import Iterable, Iterator

from kernel.kernel import BadKernel, Facts

_FIELD = re.compile(
    r" ?(upstream|absent|profiles|caught by|config|models|workloads|faults|damage|device|orders|stops): *(.*)"
)
_LISTS = ("profiles", "config", "workloads", "models", "caught by")
_ABSENT = re.compile(r"([\d., ]+?) *\((.+)\)")


def comment(text: str) -> tuple[str, ...]:
    """The comment lines before the change itself, without # or //."""
    lines = []
    for line in text.splitlines():
        if line.startswith(("--- ", "diff ", "@@")):
            break
        if match := re.match(r"#+|//+", line):
            lines.append(line[match.end() :])
    return tuple(lines)


def facts_of(texts: Iterable[str]) -> Facts:
    """Of the files of one series. Errors: BadKernel."""
    absent: dict[str, str] = {}
    lists: dict[str, dict[str, None]] = {name: {} for name in _LISTS}
    upstream, device, faults, damage, failing = "", "", False, False, False
    counts = {"orders": 0, "stops": 0}
    for text in texts:
        for field, value in _fields(comment(text)):
            if field == "upstream":
                upstream = upstream or value
            elif field == "faults":
                faults = _sweep(field, value)
            elif field == "damage":
                failing = value == "failing"
                damage = failing or _sweep(field, value, ", or failing")
            elif field == "device":
                device = _device(value)
            elif field in counts:
                counts[field] = _recordings(field, value)
            elif field == "absent":
                absent |= _absent(value)
            else:
                lists[field] |= dict.fromkeys(value.replace(",", " ").split())
    profiles, config, workloads, models, oracles = (tuple(lists[name]) for name in _LISTS)
    return Facts(
        absent,
        profiles,
        config,
        workloads,
        upstream,
        models,
        oracles,
        faults,
        damage,
        failing,
        device,
        **counts,
    )


def _sweep(field: str, value: str, more: str = "") -> bool:
    if value != "sweep":
        raise BadKernel(
            f"'{field}: {value}' in the header of a series: the only value allowed is sweep{more}"
        )
    return True


def _device(value: str) -> str:
    if value != "slow":
        raise BadKernel(f"'device: {value}' in the header of a series: the only value allowed is slow")
    return value


def _recordings(field: str, value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise BadKernel(
            f"'{field}: {value}' in the header of a series: write a number of recordings, such as 40"
        )
    return int(value)


def _fields(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    field, value = "", ""
    for line in lines:
        match = _FIELD.fullmatch(line.rstrip())
        if match or not line.startswith("  "):
            if field:
                yield field, value
            field, value = (match[1], match[2]) if match else ("", "")
        elif field:
            value = f"{value} {line.strip()}".strip()
    if field:
        yield field, value


def _absent(value: str) -> dict[str, str]:
    match = _ABSENT.fullmatch(value)
    if not match:
        raise BadKernel(
            f"'absent: {value}' in the header of a series: write VERSION (REASON), such as 5.10 (why)"
        )
    return dict.fromkeys(match[1].replace(",", " ").split(), match[2])
