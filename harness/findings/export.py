"""
A finding as a program that needs none of this, tried before it is shown: `powercut export`.

In:       a run's folder, a finding of it, a form (sh, c, fstests).
Out:      the file, and what it did on the finding's kernel, where it must fail, and on the stock one, where
          it must pass. Nothing is kept that did not reproduce.
Not here: what is tried (reproducers.py), the text (reports/export*.py), the guest that it is tried in
          (bare.py).
"""

import argparse
import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from harness.evidence.store import write_whole
from harness.evidence.summary import EXIT_HOLDS, EXIT_UNKNOWN, shown, status_of
from harness.evidence.triage import find, learnt
from harness.findings.reproducers import NoExport, NotInAnyWay, itself, reproducers
from harness.fstests.check import check_in, require_checkout, stand_ins
from harness.guests.bare import Ran, run_in_guest
from harness.guests.filesystem import find_tool
from harness.host import packages
from harness.host.progress import Progress
from harness.host.workspace import Workspace, workspace
from harness.runs.run import write_pages
from kernel.build import build
from kernel.word import source_word
from reports.programs import export_c, export_fstests, export_sh
from reports.programs.export import FORMS, NotInThisForm, Reproducer
from reports.results import Experiment, Finding

SUFFIX = {"sh": ".sh", "c": ".c", "fstests": ""}
RACES = 3
PANIC = "Kernel panic"
BROKEN, KEPT = 1, 0  # exit statuses of every form; of a test of fstests the output decides


class Seen(msgspec.Struct, frozen=True):
    """How a program did on one kernel. shows: the promise was broken; None when it could not be tried."""

    kernel: str
    shows: bool | None
    said: str


Trial = Callable[[str, Path], Seen]  # of a program on a kernel, by its word and its file


def add_export(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="a run's folder, as results/latest")
    command.add_argument("finding", metavar="FINDING", nargs="?", default="", help="as F1 (the first)")
    command.add_argument("--to", choices=FORMS, required=True, help="shell, C, or a test of fstests")
    command.add_argument("--out", type=Path, metavar="FILE", help="(exports/ in the run's folder)")
    command.add_argument(
        "--fstests", type=Path, metavar="DIR", help="a built checkout: ./check runs the test in the guest"
    )
    command.add_argument("--quiet", action="store_true", help="no progress")


def command_export(arguments: argparse.Namespace) -> int:
    """Errors: NoResults, NoExport, KernelError, NoFilesystemTool, OSError."""
    finding, experiment = find(arguments.run, arguments.finding)
    if arguments.fstests and arguments.to != "fstests":
        raise NoExport(f"--fstests: only a test of fstests is run there: --to fstests, not {arguments.to}")
    if arguments.fstests:
        require_checkout(arguments.fstests)
    require_tools(arguments.to)
    with Progress(arguments.quiet) as progress:
        chosen, seen = verified(finding, experiment, arguments.to, arguments.fstests, arguments.run, progress)
    out = arguments.out or arguments.run / "exports" / default_name(chosen, finding, arguments.to)
    files = files_of(chosen, arguments.to, out.name)
    out.parent.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_whole(out.parent / name, text.encode())
    out.chmod(0o755)
    place = str(out.relative_to(arguments.run)) if out.is_relative_to(arguments.run) else str(out.resolve())
    told = "; ".join(f"{one.kernel}: {'fails' if one.shows else 'passes'}" for one in seen)
    kept = (*(each for each in finding.after.exports if each[0] != place), (place, told))
    learnt(arguments.run, finding, msgspec.structs.replace(finding.after, exports=kept))
    write_pages(arguments.run)
    print(f"{shown(out)}: {finding.signature}")
    for one in seen:
        print(f"  on {one.kernel}: {'fails' if one.shows else 'passes'} ({one.said})")
    if len(seen) == 1:
        print(f"  {seen[0].kernel} is the stock kernel: where it must pass is yours to say")
    return status_of(
        arguments.run, EXIT_HOLDS if all(one.shows is not None for one in seen) else EXIT_UNKNOWN
    )


def default_name(one: Reproducer, finding: Finding, form: str) -> str:
    """F1.sh, F1.c, tests/generic/901."""
    if form == "fstests":
        return f"tests/{export_fstests.folder(one)}/{900 + int(finding.id[1:])}"
    return finding.id + SUFFIX[form]


def require_tools(form: str) -> None:
    """Errors: NoFilesystemTool."""
    for needed in packages.EXPORT:
        find_tool(needed.shown_by, needed.package)
    if form == "c":
        find_tool("gcc", "gcc")


def verified(
    finding: Finding, experiment: Experiment, form: str, fstests: Path | None, run: Path, progress: Progress
) -> tuple[Reproducer, list[Seen]]:
    """The first of the ways that shows it here and not there. Errors: NoExport."""
    facts = experiment.facts
    own, stock = facts.kernel, source_word(facts.kernel)
    kernels = {
        word: Path(build(word, progress.building(word), facts.config).path)
        for word in dict.fromkeys((own, stock))
    }
    tried, unsaid = [], []
    for one in reproducers(finding, experiment, run):
        with workspace() as space:
            try:
                trial = partial(try_on, one=one, form=form, fstests=fstests, space=space, progress=progress)
                seen = tried_in_turn(kernels, trial, tries(one))
            except NotInThisForm as error:
                unsaid.append(str(error))
                continue
        if [each.shows for each in seen] == [True, False][: len(kernels)]:
            return one, seen
        tried.append(f"{one.way}, {format_cut(one)}: " + "; ".join(f"{s.kernel}: {s.said}" for s in seen))
    disk = f"or {itself(finding)}"
    reasons = "; ".join(dict.fromkeys(unsaid))
    if not tried:
        raise NotInAnyWay(f"{finding.id} is not exported to {form}: {reasons}; {disk}")
    why = "\n  ".join([*tried, *([reasons] if reasons else [])])
    others = ", ".join(f"--to {other}" for other in FORMS if other != form)
    raise NoExport(
        f"{finding.id} is not exported to {form}: no program shows it on {own} and not elsewhere. Tried:\n"
        f"  {why}\nInstead: {others}; {disk}"
    )


def format_cut(one: Reproducer) -> str:
    return "at its end" if one.returned else "within it"


def tries(one: Reproducer) -> int:
    """Threads do not meet in the same way every time."""
    return RACES if one.parallel else 1


def tried_in_turn(kernels: Mapping[str, Path], trial: Trial, times: int) -> list[Seen]:
    """The finding's kernel first; where that does not show it, the stock one has no say.
    Errors: NotInThisForm, OSError."""
    seen: list[Seen] = []
    for word, path in kernels.items():
        seen.append(tried_on(word, path, trial, times))
        if not seen[-1].shows:
            break
    return seen


def tried_on(word: str, kernel: Path, trial: Trial, times: int) -> Seen:
    """So many tries until it shows, and as many where it must not. Errors: NotInThisForm, OSError."""
    for _ in range(times):
        seen = trial(word, kernel)
        if seen.shows:
            break
    return seen


def try_on(
    word: str,
    kernel: Path,
    one: Reproducer,
    form: str,
    fstests: Path | None,
    space: Workspace,
    progress: Progress,
) -> Seen:
    """Errors: NotInThisForm, OSError."""
    folder = space.path / "tried"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = "999" if form == "fstests" else f"repro{SUFFIX[form]}"
    for file, text in files_of(one, form, name).items():
        (folder / file).write_text(text)
    progress.line(f"{form} by dm-{'log-writes' if one.way == 'log' else 'flakey'} on {word} ...")
    if form == "fstests":
        command = check_in(fstests, folder, one) if fstests else stand_ins(folder, one)
    elif form == "c":
        compile_in(folder, name)
        command = "./repro"
    else:
        command = f"sh {name}"
    return seen_of(word, run_in_guest(kernel, folder, command, space, fstests), one.asks("survives"))


def compile_in(folder: Path, name: str) -> None:
    """Errors: NoExport."""
    command = ["gcc", "-O1", "-Wall", "-pthread", "-o", "repro", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoExport(f"the program does not compile, which is our mistake:\n{done.stderr.strip()[-2000:]}")


def seen_of(word: str, ran: Ran, survives: bool = False) -> Seen:
    """survives: whether it asks that the kernel does; then a panic is an answer, and no trouble of ours."""
    said = [line for line in ran.lines if line.strip()]
    panic = next((line for line in said if PANIC in line), "")
    if survives and ran.status == -1 and panic:
        return Seen(word, True, panic.strip())
    if ran.status not in (BROKEN, KEPT):
        return Seen(word, None, f"status {ran.status}: {' / '.join(said[-4:])}")
    if ran.status == KEPT:
        return Seen(word, False, "the promise was kept")
    telling = [line.partition("BROKEN: ")[2] for line in said if "BROKEN: " in line]
    return Seen(word, True, telling[0].strip() if telling else said[-1].strip())


def files_of(one: Reproducer, form: str, name: str) -> dict[str, str]:
    """Errors: NotInThisForm."""
    if form == "sh":
        return {name: export_sh.script(one, name)}
    if form == "c":
        return {name: export_c.program(one, name)}
    return export_fstests.test(one, name)
