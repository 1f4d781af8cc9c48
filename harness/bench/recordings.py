"""
What a recording costs that sees more: a program under the tracer, a workload on a slow device.

In:       a guest, a profile, an image as mkfs left it.
Out:      traced_ratio(), slow_ratio().
Not here: the tracer (stages/trace.py), the device (guests/agent/device.c), the other figures (bench.py).

Each ratio is taken in one guest, the two kinds in turn. Of a program it is the time that it takes there,
its writes recorded in both cases; of workloads it is the time to record them here.
"""

import statistics
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.guests.guest import Guest
from harness.stages.record import record
from harness.stages.trace import took
from oracles.profiles import Profile
from reports.results import SLOW, Device
from workloads.program import Program, ProgramFile
from workloads.workload import Workload

VARIANT = "programs"  # of kernels, kernel/config/: what a program may need
TURNS = 5
INSERTS = 200
JOURNALS = ("DELETE", "WAL")  # of SQLite: four syncs an insert, and one
SETUP = f"""#!/bin/bash
set -e
sqlite3 app.db >/dev/null 'PRAGMA journal_mode = JOURNAL; CREATE TABLE item (n INTEGER PRIMARY KEY, text);'
{{
    echo "PRAGMA journal_mode = JOURNAL; PRAGMA synchronous = FULL;"
    for n in {{1..{INSERTS}}}; do
        echo "INSERT INTO item VALUES ($n, printf('%0200d', $n));"
    done
}} >/tmp/script.sql
"""


class ProgramFailed(Exception):
    """What was to be measured did not run."""


def inserts(journal: str) -> Program:
    """Each insert its own transaction."""
    setup = SETUP.replace("JOURNAL", journal).encode()
    return Program(
        arguments=("/usr/bin/sqlite3", "app.db", ".read /tmp/script.sql"),
        setup=("/program/setup",),
        files=(ProgramFile("setup", setup),),
        timeout_s=120.0,
    )


def traced_ratio(guest: Guest, one: Profile, pristine: Path, journal: str) -> float:
    """Of the time of SQLite's inserts with the tracer to that without it, median. Errors: ProgramFailed."""
    program = inserts(journal)

    def ms(untraced: bool) -> float:
        done = took(guest, one, program, pristine, untraced)
        if done.status:
            raise ProgramFailed(f"sqlite3 ended with {done.status}: {done.complained}")
        return done.took_ms

    return median_ratio((ms(untraced=False), ms(untraced=True)) for _ in range(TURNS))


def slow_ratio(guest: Guest, one: Profile, pristine: Path, workloads: Sequence[Workload]) -> float:
    """Of the time to record these on a slow device to that on a fast one, median."""

    def seconds(device: Device) -> float:
        began = time.perf_counter()
        for workload in workloads:
            record(guest, one, workload, pristine, "bench", device=device)
        return time.perf_counter() - began

    return median_ratio((seconds(Device(SLOW, seed)), seconds(Device())) for seed in range(TURNS))


def median_ratio(pairs: Iterable[tuple[float, float]]) -> float:
    return round(statistics.median(first / second for first, second in pairs), 2)
