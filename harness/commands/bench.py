"""
`powercut bench`: the project's own speed.

In:       the arguments.
Out:      the exit status.
Not here: measuring (bench/bench.py).
"""

import argparse
from pathlib import Path


def add_bench(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the figures as JSON")
    command.add_argument(
        "--fs", default="btrfs,ext4,xfs", metavar="P,...", help="profiles to measure (btrfs,ext4,xfs)"
    )
    command.add_argument("--kernel", default="6.12", metavar="K", help="the kernel of the guests (6.12)")
    command.add_argument(
        "--out", type=Path, default=Path("results"), metavar="DIR", help="the folder for runs (results)"
    )
    command.add_argument("--quiet", action="store_true", help="no progress")
    command.add_argument(
        "--history",
        action="store_true",
        help="measure nothing; show the figures of earlier runs, with a plot",
    )


def command_bench(arguments: argparse.Namespace) -> int:
    from harness.bench.bench import bench  # noqa: PLC0415  only this command measures

    return bench(arguments)
