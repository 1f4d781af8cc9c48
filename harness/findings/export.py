"""
A finding as a program that needs none of this, tried before it is shown: `powercut export`.

In:       a run's folder, a finding of it, a form (sh, c, fstests).
Out:      the file, and what it did on the finding's kernel, where it must fail, and on the stock one, where
          it must pass. Nothing is kept that did not reproduce.
Not here: what is tried (reproducers.py), the text (reports/export*.py), the guest that it is tried in
          (bare.py).
"""

import shutil
import subprocess
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from harness.findings.reproducers import NoExport, NotInAnyWay, itself, reproducers
from harness.fstests.check import check_in, stand_ins
from harness.guests.bare import Ran, run_in_guest
from harness.guests.filesystem import find_tool
from harness.local import packages
from harness.local.progress import Progress
from harness.local.workspace import Workspace, workspace
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
        word: Path(build(word, progress.building(word, facts.config), facts.config).path)
        for word in dict.fromkeys((own, stock))
    }
    tried, unsaid = [], []
    for one in reproducers(finding, experiment, run):
        with workspace() as space:
            try:
                trial = partial(
                    try_on,
                    one=one,
                    form=form,
                    fstests=fstests,
                    space=space,
                    progress=progress,
                    dies=finding.kind == "panic",
                )
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
        raise NotInAnyWay(f"{finding.id} cannot be exported to {form}: {reasons}. Use {disk}")
    why = "\n  ".join([*tried, *([reasons] if reasons else [])])
    others = ", ".join(f"--to {other}" for other in FORMS if other != form)
    raise NoExport(
        f"{finding.id} cannot be exported to {form}: no program shows it on {own} and passes "
        f"elsewhere. Tried:\n  {why}\nTry instead: {others}; {disk}"
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
    dies: bool = False,
) -> Seen:
    """dies: the finding is that the kernel panics. Errors: NotInThisForm, OSError."""
    folder = space.path / "tried"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    name = "999" if form == "fstests" else f"repro{SUFFIX[form]}"
    for file, text in files_of(one, form, name).items():
        (folder / file).write_text(text)
    by = {"log": "dm-log-writes", "plain": "the workload alone"}.get(one.way, "dm-flakey")
    progress.line(f"trying {form} with {by} on {word} ...")
    if form == "fstests":
        command = check_in(fstests, folder, one) if fstests else stand_ins(folder, one)
    elif form == "c":
        compile_in(folder, name)
        command = "./repro"
    else:
        command = f"sh {name}"
    ran = run_in_guest(kernel, folder, command, space, fstests)
    return seen_of(word, ran, survives=dies or one.asks("survives"))


def compile_in(folder: Path, name: str) -> None:
    """Errors: NoExport."""
    command = ["gcc", "-O1", "-Wall", "-pthread", "-o", "repro", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NoExport(
            "the exported program does not compile, which is a bug of "
            f"Powercut:\n{done.stderr.strip()[-2000:]}"
        )


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
