"""
Near which functions of the kernel calls stop.

In:       what --near says; the kernels of a run, which know what their series change.
Out:      names of functions; BadSelection where a kernel has none of such a name; lines that tell it.
Not here: what is counted in them (harness/stages/entered.py), what is drawn (workloads/stops.py).
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import accumulate
from pathlib import Path

from harness.local.progress import Progress
from kernel.kernel import Kernel
from workloads.library import BadSelection

ANYWHERE = ("anywhere",)  # near no function, whatever a series changes
FUNCTIONS_MAX = 64  # kernel/powercut-stops.c: OUTERS
NAMES_MAX = 4095  # harness/guests/agent/stops.c stops_count(): the names with a comma after each
SHOWN = 8  # workloads that get no stops


def near_of(asked: tuple[str, ...], kernel: Kernel) -> tuple[str, ...]:
    """none where calls stop anywhere; of what the series change as many as the guest can hold."""
    if asked:
        return () if asked == ANYWHERE else asked
    changed = kernel.provenance.changed
    return changed[: _fitting(changed)]


def _fitting(names: Sequence[str]) -> int:
    """How many of them the guest can hold."""
    ends = accumulate(len(name) + 1 for name in names[:FUNCTIONS_MAX])
    return sum(end <= NAMES_MAX for end in ends)


def require_near(asked: tuple[str, ...], kernels: Iterable[Kernel]) -> None:
    """Errors: BadSelection, OSError."""
    if _fitting(asked) < len(asked):
        raise BadSelection(f"--near: {len(asked)} functions; name at most {_fitting(asked)} of them")
    for kernel in kernels if asked != ANYWHERE else ():
        lines = Path(kernel.path).with_name("System.map").read_text().splitlines()
        names = {line.rpartition(" ")[2] for line in lines}
        for name in asked:
            if name not in names:
                close = get_close_matches(name, names, n=1)
                raise BadSelection(
                    f"--near: {kernel.provenance.word} has no function {name}"
                    + (f"; did you mean {close[0]}?" if close else "")
                )


def tell_near(
    asked: tuple[str, ...], kernels: Iterable[Kernel], far: Sequence[str], count: int, progress: Progress
) -> None:
    """far: workloads that get no stops, of so many."""
    near = dict.fromkeys(name for kernel in kernels for name in near_of(asked, kernel))
    if not near:
        return
    progress.line(f"calls stop near {', '.join(near)}" + ("" if asked else ", which the series change"))
    changed = {name for kernel in kernels for name in kernel.provenance.changed}
    if not asked and len(changed) > len(near):
        progress.line(
            f"the series change {len(changed)} functions, of which the first {len(near)} count; "
            "name others with --near"
        )
    if far:
        more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
        progress.line(
            f"{len(far)} of {count} workloads do not come there, and get no recordings with stops: "
            f"{', '.join(far[:SHOWN])}{more}"
        )
