"""
The sweep: every planted bug on the profiles where its harm can show, and the same kernel without it.

In:       the planted series and their headers, a stock kernel spec, the profiles and workloads asked for.
Out:      Bug, one a series; Parts, which are run in their order.
Not here: what was seen (detection.py), running it (run.py), reading headers (kernel/).
"""

from collections.abc import Iterator, Sequence

import msgspec

from kernel.build import series
from kernel.kernel import BadKernel, Series
from kernel.word import parse
from oracles.profiles import PROFILES, Profile
from oracles.spec import in_order
from reports.results import CRASH, DAMAGE, FAST, FAULTS, SLOW
from workloads.workload import Workload

PLANTED = "planted/"
DEFAULT_PROFILES = ("btrfs",)


class NothingToSweep(Exception):
    """No planted bug is for what was asked; the message names where they are."""


class Bug(msgspec.Struct, frozen=True):
    """name: of the series. workloads: of the library, that show it. oracles: one of them must.
    models: the crash models that show it where model O does not. kind: of results.KINDS; one that shows on a
    device that fails, on a damaged disk or in recordings on the slow device is run on these workloads alone,
    for that takes long. device: of results.DEVICES, what it is recorded on. failing, orders, stops: as
    Facts."""

    name: str
    profiles: tuple[str, ...]
    workloads: tuple[str, ...]
    oracles: tuple[str, ...]
    models: tuple[str, ...] = ()
    kind: str = CRASH
    device: str = FAST
    failing: bool = False
    orders: int = 0
    stops: int = 0


class Part(msgspec.Struct, frozen=True):
    """What is run together: these workloads, on one kernel and profile. models: beside those asked for. kind:
    of results.KINDS, "" for that of the run. device: of results.DEVICES. orders: recordings of each workload
    with parallel blocks, in a guest with several processors; 0 for as many as the run has. failing: of
    StatePlan. stops: recordings of each workload with a stop, 0 as above."""

    kernel: str
    profile: Profile
    workloads: tuple[Workload, ...]
    models: tuple[str, ...] = ()
    kind: str = ""
    device: str = FAST
    orders: int = 0
    failing: bool = False
    stops: int = 0


def planted_bugs() -> tuple[Bug, ...]:
    return tuple(bug_of(one) for one in series() if one.name.startswith(PLANTED))


def bug_of(one: Series) -> Bug:
    return Bug(
        name=one.name,
        profiles=one.facts.profiles or DEFAULT_PROFILES,
        workloads=one.facts.workloads,
        oracles=one.facts.oracles,
        models=one.facts.models,
        kind=FAULTS if one.facts.faults else DAMAGE if one.facts.damage else CRASH,
        device=one.facts.device or FAST,
        failing=one.facts.failing,
        orders=one.facts.orders,
        stops=one.facts.stops,
    )


def plantable(kernel: str, bugs: Sequence[Bug]) -> tuple[list[Bug], list[str]]:
    """Those that there is a change for in this kernel's version, and a sentence for each of the others.
    Errors: BadKernel, when the kernel itself cannot be understood."""
    parse(kernel)
    possible, left_out = [], []
    for bug in bugs:
        try:
            parse(f"{kernel}+{bug.name}")
        except BadKernel as error:
            left_out.append(str(error))
        else:
            possible.append(bug)
    return possible, left_out


def sweep_parts(
    kernel: str,
    bugs: Sequence[Bug],
    workloads: tuple[Workload, ...],
    wanted: Sequence[Profile] = PROFILES,
) -> tuple[Part, ...]:
    """The stock kernel before the bugs, on every profile that some bug is swept on; a bug that only other
    models than O show gets these on its own workloads, and so does the stock kernel. What takes minutes for
    one workload, a failing device and a damaged disk, comes first: at the end one guest would work alone.
    What only the slow device shows is recorded on that alone, and so is the stock kernel beside it; so
    it is with what only several processors show, or calls that stop.
    Errors: NothingToSweep."""
    swept = {name for bug in bugs for name in bug.profiles}
    profiles = [one for one in wanted if one.name in swept]
    if not profiles:
        asked = ", ".join(one.name for one in wanted)
        raise NothingToSweep(
            f"--planted: there are no planted bugs for {asked}. There are some for {_list(swept)}"
        )
    racing = [bug for bug in bugs if bug.orders]
    stopping = [bug for bug in bugs if bug.stops]
    apart = (*racing, *stopping)
    quick = [bug for bug in bugs if bug.kind == CRASH and bug.device == FAST and bug not in apart]
    crashing = {name for bug in quick for name in bug.profiles}
    return (
        *(
            part
            for kind, failing in ((FAULTS, False), (DAMAGE, False), (DAMAGE, True))
            for part in _own_parts(
                kernel,
                kind,
                [bug for bug in bugs if (bug.kind, bug.failing) == (kind, failing)],
                workloads,
                profiles,
                failing=failing,
            )
        ),
        *_own_parts(kernel, CRASH, [bug for bug in bugs if bug.device == SLOW], workloads, profiles, SLOW),
        *_own_parts(kernel, CRASH, racing, workloads, profiles),
        *_own_parts(kernel, CRASH, stopping, workloads, profiles),
        *(
            part
            for one in profiles
            if one.name in crashing
            for part in _parts(kernel, one, workloads, [bug for bug in quick if one.name in bug.profiles])
        ),
        *(
            part
            for bug in quick
            for one in profiles
            if one.name in bug.profiles
            for part in _parts(f"{kernel}+{bug.name}", one, workloads, [bug])
        ),
    )


def _parts(kernel: str, one: Profile, workloads: tuple[Workload, ...], bugs: Sequence[Bug]) -> Iterator[Part]:
    """The workloads by the models that these bugs need of them."""
    by_models: dict[tuple[str, ...], list[Workload]] = {}
    for workload in workloads:
        models = in_order(model for bug in bugs if workload.name in bug.workloads for model in bug.models)
        by_models.setdefault(models, []).append(workload)
    for models, some in by_models.items():
        yield Part(kernel, one, tuple(some), models)


def _own_parts(
    kernel: str,
    kind: str,
    bugs: Sequence[Bug],
    workloads: tuple[Workload, ...],
    profiles: Sequence[Profile],
    device: str = FAST,
    failing: bool = False,
) -> Iterator[Part]:
    """The stock kernel on all that some bug names, then each bug on its own workloads, of those asked for."""
    for one in profiles:
        of_profile = [bug for bug in bugs if one.name in bug.profiles]
        named = [
            (
                word,
                {name for bug in chosen for name in bug.workloads},
                max((b.orders for b in chosen), default=0),
                max((b.stops for b in chosen), default=0),
            )
            for word, chosen in [
                (kernel, of_profile),
                *((f"{kernel}+{bug.name}", [bug]) for bug in of_profile),
            ]
        ]
        for word, names, orders, stops in named:
            if own := tuple(each for each in workloads if each.name in names):
                yield Part(
                    word, one, own, kind=kind, device=device, orders=orders, failing=failing, stops=stops
                )


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
