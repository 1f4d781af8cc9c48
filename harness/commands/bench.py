"""
`powercut bench`: the project's own speed.

In:       the arguments.
Out:      the exit status.
Not here: measuring (bench/bench.py).
"""

import argparse
from pathlib import Path


def add_bench(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--json", action="store_true", help="print bench.json on standard output and nothing else"
    )
    command.add_argument(
        "--fs", default="btrfs,ext4,xfs", metavar="P,...", help="profiles (default: btrfs,ext4,xfs)"
    )
    command.add_argument(
        "--kernel", default="6.12", metavar="K", help="kernel, SOURCE[+SERIES...] (default: 6.12)"
    )
    command.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="DIR",
        help="where the result is stored (default: results)",
    )
    command.add_argument("--quiet", action="store_true", help="do not show progress")
    command.add_argument(
        "--history", action="store_true", help="measure nothing; show earlier results with a plot"
    )


def command_bench(arguments: argparse.Namespace) -> int:
    from harness.bench.bench import bench  # noqa: PLC0415  only this command measures

    return bench(arguments)
