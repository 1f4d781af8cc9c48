"""
Which source lines ran in which phase of a run, as data: coverage.json.

In:       a run's folder.
Out:      CoverageReport and its parts; read_coverage().
Not here: how it is found out (harness/runs/coverage.py), the lines and the page (lines.py, page.py).
"""

from pathlib import Path

import msgspec

from reports import formats
from reports.results import PatchRan

RECORDED, RECOVERED, DIFFERING, FAULTS, DAMAGED = "recorded", "recovered", "differing", "faults", "damaged"
# By phase, what a line of it ran in. Of those that a run has not, nothing is shown.
PHASES = {
    RECORDED: "while a workload was recorded",
    RECOVERED: "while a crash state was recovered: mount, walk, unmount",
    DIFFERING: "while a state was recovered that brought back something else than the state before it",
    FAULTS: "while a workload ran on a device that fails",
    DAMAGED: "while a state with damage at rest was recovered",
}
ADDED, REMOVED, CONTEXT = "+", "-", " "
FILE = "coverage.json"


class PatchLine(msgspec.Struct, frozen=True):
    """A line of the series, or one beside it.

    mark:      "+", "-" or " ", as in a patch.
    number:    in the changed source; of a removed line that of the line behind it.
    text:      the line.
    function:  in which it is; "" where nothing is compiled.
    counted:   whether it, or the statement that it is a part of, is code that was compiled. Of a removed
               line: whether the place is inside a function.
    phases:    those in which it ran. Of a removed line those in which the code around its place ran.
    workloads: how many experiments ran it.
    shown:     names of some of these workloads, the first ones.
    """

    mark: str
    number: int
    text: str
    function: str = ""
    counted: bool = False
    phases: tuple[str, ...] = ()
    workloads: int = 0
    shown: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether it says something about the series that this line did not run."""
        return self.counted and self.mark != CONTEXT


class PatchFile(msgspec.Struct, frozen=True):
    """A file that the series changes.

    file:  its path in the source.
    lines: hunk after hunk.
    why:   why none of it can be counted, or "".
    """

    file: str
    lines: tuple[PatchLine, ...]
    why: str = ""


class Function(msgspec.Struct, frozen=True):
    """A function that was compiled.

    name:   its name.
    file:   the file that it is in.
    line:   where it begins.
    lines:  how many it has.
    phases: by phase, how many of them ran.
    """

    name: str
    file: str
    line: int
    lines: int
    phases: dict[str, int]

    @property
    def reached(self) -> bool:
        return any(self.phases.values())


class FileCoverage(msgspec.Struct, frozen=True):
    """A counted file.

    file: its path in the source.
    lines, functions, branches: how many were compiled.
    ran:  of each of the three, by phase and under "any", how many ran.
    """

    file: str
    lines: int
    functions: int
    branches: int
    ran: dict[str, dict[str, int]]


class KernelCoverage(msgspec.Struct, frozen=True):
    """Of one kernel of the run.

    kernel:      its kernel spec.
    experiments: how many of it were counted.
    uncounted:   how many of it were not, as those without a recording.
    phases:      those that the run had.
    patch:       the files that its series changes; empty without series.
    files:       the counted files.
    functions:   all of them.
    """

    kernel: str
    experiments: int
    uncounted: int
    phases: tuple[str, ...]
    patch: tuple[PatchFile, ...]
    files: tuple[FileCoverage, ...]
    functions: tuple[Function, ...]

    @property
    def asked(self) -> tuple[tuple[str, PatchLine], ...]:
        """The lines of its series that are code, with their files."""
        return tuple((one.file, line) for one in self.patch for line in one.lines if line.asked)

    def ran(self, phase: str = "") -> int:
        """How many of them ran, in this phase or in any."""
        return sum(phase in line.phases if phase else bool(line.phases) for _, line in self.asked)


class CoverageReport(msgspec.Struct, frozen=True):
    """coverage.json: which lines ran.

    kernels: each kernel of the run that counts.
    """

    kernels: tuple[KernelCoverage, ...]


NEVER_SHOWN = 6


def patch_ran(one: KernelCoverage) -> PatchRan | None:
    """None of a kernel without series."""
    if not one.patch:
        return None
    asked = one.asked
    never = [f"{file}:{line.number} ({line.function})" for file, line in asked if not line.phases]
    never = list(dict.fromkeys(never))
    ran = {"any": one.ran(), **{phase: one.ran(phase) for phase in one.phases}}
    return PatchRan(one.kernel, len(asked), ran, tuple(never[:NEVER_SHOWN]), max(0, len(never) - NEVER_SHOWN))


def read_coverage(run: Path) -> CoverageReport | None:
    """None where nothing was counted. Errors: UnknownFormat, OSError, msgspec.DecodeError."""
    return formats.read(run / FILE, CoverageReport) if (run / FILE).is_file() else None
