"""A CoverageReport as runs make it: a series of which one line never ran, and a kernel without series."""

from pathlib import Path

from reports import formats
from reports.coverage.results import (
    FILE,
    RECORDED,
    RECOVERED,
    CoverageReport,
    FileCoverage,
    Function,
    KernelCoverage,
    PatchFile,
    PatchLine,
)

TREE_LOG = "fs/btrfs/tree-log.c"


def line(mark: str, number: int, text: str, *phases: str, counted: bool = True) -> PatchLine:
    names = tuple(f"workload-{n}" for n in range(3)) if phases else ()
    return PatchLine(mark, number, text, "log_it" if counted else "", counted, phases, 5 * len(phases), names)


LINES = (
    line(" ", 10, "\tint ret;", counted=False),
    line("+", 11, "\tret = first(inode);", RECORDED, RECOVERED),
    line("-", 12, "\tsecond(inode);", RECOVERED),
    line("+", 12, "\tif (ret) /* <b> */", RECORDED),
    line("+", 13, "\t\treturn ret;"),
    line(" ", 40, "\treturn 0;", RECORDED),
)
FILES = (
    FileCoverage(
        TREE_LOG,
        1000,
        40,
        600,
        {
            "lines": {"any": 700, RECORDED: 600, RECOVERED: 300},
            "functions": {"any": 36, RECORDED: 30, RECOVERED: 20},
            "branches": {"any": 300, RECORDED: 200, RECOVERED: 100},
        },
    ),
    FileCoverage(
        "fs/btrfs/zoned.c", 0, 0, 0, {"lines": {"any": 0}, "functions": {"any": 0}, "branches": {"any": 0}}
    ),
)
FUNCTIONS = (
    Function("log_it", TREE_LOG, 9, 30, {RECORDED: 20, RECOVERED: 0}),
    Function("never_called", TREE_LOG, 90, 12, {RECORDED: 0, RECOVERED: 0}),
)


def kernel(word: str, lines: tuple[PatchLine, ...]) -> KernelCoverage:
    patch = (
        PatchFile(TREE_LOG, lines),
        PatchFile("mm/filemap.c", (line("+", 1, "x();", counted=False),), "no"),
    )
    return KernelCoverage(word, 7, 1, (RECORDED, RECOVERED), patch if lines else (), FILES, FUNCTIONS)


def make_coverage(run: Path, *kernels: KernelCoverage) -> CoverageReport:
    """coverage.json in this run."""
    report = CoverageReport(kernels or (kernel("6.12+mine", LINES), kernel("6.12", ())))
    (run / FILE).write_bytes(formats.encode(FILE, report))
    return report
