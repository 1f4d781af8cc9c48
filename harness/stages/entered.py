"""
Which functions of the kernel the calls of a workload enter, and return from.

In:       a guest of a kernel of the config variant stops, a profile, a workload; functions to look into.
Out:      an Entered for each operation of its run.
Not here: what is made of it (workloads/stops.py), how the kernel counts (kernel/powercut-stops.c).

The threads of parallel blocks do their calls one after another here: which functions a call enters hardly
depends on the others, and so each call has a count of its own.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.guests.guest import Guest
from harness.stages.record import NotRecorded, recorded, request_of
from oracles.profiles import Profile
from reports.results import Device
from workloads import threads
from workloads.stops import Entered, Moment
from workloads.workload import Workload


def entered(
    guest: Guest, profile: Profile, workload: Workload, pristine: Path, near: Sequence[str] = ()
) -> tuple[Entered, ...]:
    """By place in run. pristine: as of record(). near: functions within which what is entered is counted once
    more. Errors: NotRecorded; LostGuest and GuestTrouble from the guest."""
    alone = one_after_another(workload)
    report = recorded(guest, request_of(Device()), profile, alone, pristine, near=near)
    steps = {step.index - len(workload.setup): step.entries for step in report.steps}
    calls = [place for place, each in enumerate(workload.run) if each.word not in threads.DELAYING]
    by_place = {
        place: tuple(sorted(map(_moment, steps.get(number, ())), key=msgspec.structs.astuple))
        for number, place in enumerate(calls)
    }
    if not any(not moment.worker for each in by_place.values() for moment in each):
        raise NotRecorded(
            "the kernel counts no entries of functions. Build it with the config variant stops (--config "
            "stops)"
        )
    return tuple(by_place.get(place, ()) for place in range(len(workload.run)))


def _moment(entry: tuple[str, bool, int, bool, int]) -> Moment:
    name, returning, times, worker, called = entry
    outer, _, function = name.rpartition(":")
    return Moment(function, times, returning, worker, outer, called > 0)


def one_after_another(workload: Workload) -> Workload:
    """Its calls without threads, in the order of the text."""
    run = [
        msgspec.structs.replace(each, parallel=0, thread=0)
        for each in workload.run
        if each.word not in threads.DELAYING
    ]
    return msgspec.structs.replace(workload, run=tuple(run))
