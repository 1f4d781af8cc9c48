"""
Coverage on the terminal.

In:       KernelCoverage.
Out:      plain lines, at most 100 columns.
Not here: the page (page.py), how much of a series ran (reports/text/coverage.py), how it is found out
          (harness/runs/coverage.py).
"""

from collections.abc import Iterable

from reports.coverage.results import FileCoverage, Function, KernelCoverage
from reports.text.counting import number

ANY = "any"
FILES_SHOWN = 15
FUNCTIONS_SHOWN = 20


def coverage_lines(one: KernelCoverage) -> list[str]:
    """Folder by folder, then the files in which most lines never ran, then the largest functions of these."""
    head = f"{one.kernel}: {number(one.experiments, 'experiment')} counted"
    if one.uncounted:
        head += f", {one.uncounted:,} not (no recording)"
    columns = (ANY, *one.phases)
    lines = [head, "", _row("lines that ran", "lines", columns), *folder_rows(one.files, columns)]
    lines += ["", _row("files", "lines", columns)]
    by_left = sorted(one.files, key=lambda file: file.ran["lines"][ANY] - file.lines)
    lines += [file_row(file, columns) for file in by_left[:FILES_SHOWN]]
    missed = unreached(one.functions)
    lines += ["", f"{len(missed):,} of {number(len(one.functions), 'function')} never ran; the largest:"]
    return lines + [
        f"  {each.lines:4}  {each.name} ({each.file}:{each.line})" for each in missed[:FUNCTIONS_SHOWN]
    ]


def unreached(functions: Iterable[Function]) -> list[Function]:
    """Largest first."""
    return sorted((one for one in functions if not one.reached), key=lambda one: (-one.lines, one.name))


def by_folder(files: Iterable[FileCoverage]) -> dict[str, list[FileCoverage]]:
    """By the first two parts of their paths."""
    found: dict[str, list[FileCoverage]] = {}
    for file in files:
        found.setdefault("/".join(file.file.split("/")[:2]), []).append(file)
    return found


def total(files: Iterable[FileCoverage], name: str) -> FileCoverage:
    """All of them as one."""
    files = list(files)
    ran = {
        kind: {
            phase: sum(file.ran[kind].get(phase, 0) for file in files)
            for phase in dict.fromkeys(phase for file in files for phase in file.ran[kind])
        }
        for kind in ("lines", "functions", "branches")
    }
    sizes = [sum(getattr(file, kind) for file in files) for kind in ("lines", "functions", "branches")]
    return FileCoverage(name, sizes[0], sizes[1], sizes[2], ran)


def folder_rows(files: Iterable[FileCoverage], columns: Iterable[str]) -> list[str]:
    return [file_row(total(ones, name), columns) for name, ones in by_folder(files).items()]


def file_row(file: FileCoverage, columns: Iterable[str]) -> str:
    shares = (f"{percent(file.ran['lines'].get(column, 0), file.lines):>9}" for column in columns)
    return f"  {file.file[:40]:40} {file.lines:7,} {' '.join(shares)}"


def _row(name: str, size: str, columns: Iterable[str]) -> str:
    return f"  {name:40} {size:>7} {' '.join(f'{column:>9}' for column in columns)}"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
