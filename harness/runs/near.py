"""
Near which functions of the kernel calls stop.

In:       what --near says; the kernels of a run, which know what their series change.
Out:      names of functions; BadSelection where a kernel has none of such a name; lines that tell it.
Not here: what is counted in them (harness/stages/entered.py), what is drawn (workloads/stops.py).
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

from harness.local.progress import Progress
from kernel.kernel import Kernel
from workloads.library import BadSelection

ANYWHERE = ("anywhere",)  # near no function, whatever a series changes
SHOWN = 8  # workloads that get no stops


def near_of(asked: tuple[str, ...], kernel: Kernel) -> tuple[str, ...]:
    """none where calls stop anywhere."""
    if asked:
        return () if asked == ANYWHERE else asked
    return kernel.provenance.changed


def require_near(asked: tuple[str, ...], kernels: Iterable[Kernel]) -> None:
    """Errors: BadSelection, OSError."""
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
    if far:
        more = f" and {len(far) - SHOWN} more" if len(far) > SHOWN else ""
        progress.line(
            f"{len(far)} of {count} workloads do not come there, and get no recordings with stops: "
            f"{', '.join(far[:SHOWN])}{more}"
        )
