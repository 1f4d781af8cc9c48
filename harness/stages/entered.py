"""
Which functions of the kernel the calls of a workload enter.

In:       a guest of a kernel of the config variant stops, a profile, a workload.
Out:      an Entered for each operation of its run.
Not here: what is made of it (workloads/stops.py), how the kernel counts (kernel/powercut-stops.c).

The threads of parallel blocks do their calls one after another here: which functions a call enters hardly
depends on the others, and so each call has a count of its own.
"""

from pathlib import Path

import msgspec

from harness.guests.guest import Guest
from harness.stages.record import NotRecorded, recorded, request_of
from oracles.profiles import Profile
from reports.results import Device
from workloads import threads
from workloads.stops import Entered
from workloads.workload import Workload


def entered(guest: Guest, profile: Profile, workload: Workload, pristine: Path) -> tuple[Entered, ...]:
    """By place in run. pristine: as of record(). Errors: NotRecorded; LostGuest and GuestTrouble from the
    guest."""
    alone = one_after_another(workload)
    report = recorded(guest, request_of(Device()), profile, alone, pristine, counts=True)
    steps = {step.index - len(workload.setup): step.entries for step in report.steps}
    calls = [place for place, each in enumerate(workload.run) if each.word not in threads.DELAYING]
    by_place = {
        place: Entered(
            {name: count for name, count, of_worker in steps.get(number, ()) if not of_worker},
            {name: count for name, count, of_worker in steps.get(number, ()) if of_worker},
        )
        for number, place in enumerate(calls)
    }
    if not any(each.own for each in by_place.values()):
        raise NotRecorded(
            "the kernel counts no entries of functions. Build it with the config variant stops (--config "
            "stops)"
        )
    return tuple(by_place.get(place, Entered()) for place in range(len(workload.run)))


def one_after_another(workload: Workload) -> Workload:
    """Its calls without threads, in the order of the text."""
    run = [
        msgspec.structs.replace(each, parallel=0, thread=0)
        for each in workload.run
        if each.word not in threads.DELAYING
    ]
    return msgspec.structs.replace(workload, run=tuple(run))
