"""
`powercut list`: workloads, programs, profiles, oracles, experiments, series, each with one line.

In:       words to choose workloads by.
Out:      lines on standard output.
Not here: the things themselves.
"""

import argparse

from harness.commands.names import KINDS, names
from kernel.build import series
from oracles.judge import EVERY_ORACLE
from oracles.profiles import PROFILES
from workloads import programs
from workloads.library import library, select
from workloads.perf.experiment import library as perf_library


def add_list(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "-k", dest="keyword", metavar="EXPR", help="only workloads chosen by words, like pytest's -k"
    )
    command.add_argument("--names", choices=tuple(KINDS), help="print only the names of one kind, one a line")


def command_list(arguments: argparse.Namespace) -> int:
    if arguments.names:
        print("\n".join(names(arguments.names)))
        return 0
    workloads = select((), arguments.keyword) if arguments.keyword else library()
    print(f"workloads ({len(workloads)}):")
    for workload in workloads:
        print(
            f"  {workload.theme + '/' + workload.name:<58} {workload.comment[0] if workload.comment else ''}"
        )
    if arguments.keyword:
        return 0
    print("programs:")
    for workload in programs.library():
        print(f"  {programs.PREFIX + workload.name:<58} {workload.comment[0]}")
    print("profiles:")
    for one in PROFILES:
        options = f"mount -o {one.mount_options}" if one.mount_options else ""
        print(f"  {one.name:<58} {' '.join(one.mkfs)} {options}".rstrip())
    print("oracles:")
    for oracle in EVERY_ORACLE:
        print(f"  {oracle.NAME:<58} {oracle.CHECKS}")
    print("performance experiments:")
    for experiment in perf_library():
        print(f"  {experiment.name:<58} {experiment.about}")
    print("series:")
    for change in series():
        print(f"  {change.name:<58} {change.about}")
    return 0
