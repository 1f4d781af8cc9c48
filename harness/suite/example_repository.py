"""
The repository that the page on bisecting shows: `python -m harness.suite.example_repository DIR`.

In:       a place where nothing is; Debian's 6.12 source, from the cache or fetched.
Out:      a bare git repository there, whose branch `main` has eight commits after the source's.
Not here: what the commits are (bisect_repository.py), the suite's own copy of it (test_bisect.py).
"""

import argparse
import sys
from pathlib import Path

from harness.suite.bisect_repository import make_repository
from kernel import cache
from kernel.release import unpacked
from kernel.source import examine
from kernel.word import parse

LOSES = "planted/xattr-lost-on-second-fsync"
DIES = "planted/kernel-dies-at-fsync-of-reused-name"


def silent(_stage: str, _fraction: float) -> None:
    pass


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m harness.suite.example_repository",
        description="Make a small git repository of a kernel, one commit of which loses extended attributes.",
    )
    parser.add_argument("place", metavar="DIR", type=Path, help="where it is made; nothing may be there")
    place = parser.parse_args(words).place
    if place.exists():
        print(f"{place} is there already: name another place, or remove it", file=sys.stderr)
        return 2
    source = parse("6.12").source
    files = unpacked(source, examine(source, silent).version, silent)
    with cache.appearing(place) as made:
        commits = make_repository(files, made, LOSES, DIES)
    print(f"{place}: {len(commits)} commits, the branch main is at {commits[-1][:12]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
