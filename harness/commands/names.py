"""
The names that a command line can contain, without anything else: for a shell that completes a word.

In:       a kind, of KINDS.
Out:      names(); `python -m harness.commands.names KIND` prints them, one a line.
Not here: what the names mean (list.py), the shells' programs (completion.py).

It imports as little as it can, since a shell waits for it (0.1 s): harness/local/door.py starts this module
in place of main.py for `powercut list --names KIND`.
"""

import sys
from collections.abc import Callable, Iterable

from harness.hosts import hosts
from kernel.address import SHORT_NAMES
from kernel.patching import names as series
from kernel.word import RELEASES
from oracles.profiles import PROFILES
from workloads import library
from workloads.perf import experiment

BAD_INPUT = 2


def workloads() -> Iterable[str]:
    """From the names of the files: reading them takes longer."""
    return sorted(
        path.name.removesuffix(library.SUFFIX) for path in library.ROOT.glob(f"*/*{library.SUFFIX}")
    )


def profiles() -> Iterable[str]:
    return (profile.name for profile in PROFILES)


def kernels() -> Iterable[str]:
    return (*RELEASES, *(name for name, one in SHORT_NAMES.items() if one.branch))


def guests() -> Iterable[str]:
    return (*hosts.GUEST_KINDS, *machines())


def machines() -> Iterable[str]:
    """Of hosts.toml; none where it cannot be read."""
    try:
        return hosts.hosts()
    except hosts.BadHost:
        return ()


KINDS: dict[str, Callable[[], Iterable[str]]] = {
    "workloads": workloads,
    "profiles": profiles,
    "kernels": kernels,
    "series": series,
    "guests": guests,
    "experiments": experiment.names,
    "hosts": machines,
}


def names(kind: str) -> tuple[str, ...]:
    return tuple(KINDS[kind]())


def main(words: list[str]) -> int:
    if len(words) != 1 or words[0] not in KINDS:
        print(f"powercut list --names: one of {', '.join(KINDS)}", file=sys.stderr)
        return BAD_INPUT
    print("\n".join(names(words[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
