"""
The block for a commit message: script, machine, tables before and after, as the seeds have it.

In:       PerfRun.
Out:      plain text, sentences at most 75 columns wide.
Not here: the tables themselves (tables.py), the page.
"""

import shlex
import textwrap
from collections.abc import Sequence

from reports.perf.answers import Answer, Difference, differences
from reports.perf.counts import counts
from reports.perf.profiles import profiles
from reports.perf.results import CaseFacts, Measured, PerfRun
from reports.perf.tables import (
    answer_words,
    count_table,
    dbench_lines,
    interval_words,
    median_run,
    number_table,
    profile_lines,
    time_table,
)

WIDTH = 75
DEVICE = "/dev/ubda"  # of User Mode Linux


def commit_message(run: PerfRun) -> str:
    parts = [block(run, measured) for measured in run.measured]
    return "\n\n".join(part for part in parts if part).rstrip() + "\n"


def block(run: PerfRun, measured: Measured) -> str:
    """One experiment."""
    found = differences(measured)
    lines: list[str] = []
    if measured.exact_a.recordings and measured.exact_b.recordings:
        lines += exact_part(measured)
    if found:
        lines += time_part(run, measured, found)
    lines += profile_part(run, measured)
    return "\n".join(lines).rstrip()


def paragraph(text: str) -> list[str]:
    return [*textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False), ""]


def indented(lines: Sequence[str], by: int = 2) -> list[str]:
    return [(" " * by + line).rstrip() for line in lines]


# --- exact ---------------------------------------------------------------------------------------


def exact_part(measured: Measured) -> list[str]:
    exact = measured.experiment.exact
    assert exact is not None
    title = exact.workload.strip().splitlines()[0].lstrip("# ").rstrip(".")
    found = counts(measured)
    by = "in the log of its writes" + (" and by a kernel with gcov" if measured.exact_a.calls else "")
    lines = paragraph(f"Counted {by}, the same on each run, of this: {title[0].lower() + title[1:]}.")
    return [*lines, *count_table([one for one in found if any((*one.a, *one.b))]), ""]


# --- time ----------------------------------------------------------------------------------------


def time_part(run: PerfRun, measured: Measured, found: Sequence[Difference]) -> list[str]:
    lines: list[str] = []
    shown_scripts: dict[str, None] = {}
    cases = [facts for facts in measured.cases if any(one.case == facts.name for one in found)]
    together = measured.experiment.reader == "fio"
    for facts in cases[:1] if together else cases:
        text = "\n".join(script_lines(measured, facts, run.machine.get("device", DEVICE)))
        if text not in shown_scripts:
            lines += paragraph(_script_sentence(measured, facts))
            lines += [*text.splitlines(), ""]
        shown_scripts[text] = None
        if not together:
            lines += paragraph(machine_sentence(run, measured, facts)) if facts is cases[0] else []
            lines += results(measured, facts, [one for one in found if one.case == facts.name])
    if together:
        lines += paragraph(machine_sentence(run, measured, cases[0]))
        for facts in cases:
            lines += results(measured, facts, [one for one in found if one.case == facts.name])
    return lines


def _script_sentence(measured: Measured, facts: CaseFacts) -> str:
    tool = {"dbench": " calls dbench", "fio": " calls fio"}.get(measured.experiment.reader, " follows")
    word = "that" + tool + " was used to measure the effect" if tool != " follows" else "was used"
    shortened = "" if facts.script == facts.seed_script else f" (shortened by --scale {measured.scale:g})"
    return (
        f"The following script {word} of this change{shortened}:"
        if "effect" in word
        else (f"The following script {word} to measure the effect of this change{shortened}:")
    )


def script_lines(measured: Measured, facts: CaseFacts, device: str = DEVICE) -> list[str]:
    """As someone else would run it."""
    mkfs, options = facts.mkfs.split(" ", 1) if " " in facts.mkfs else (facts.mkfs, "")
    mount = "".join(f" -o {option}" for option in facts.mount.split(",") if option).strip()
    body = facts.script.replace("$FILES/", "./").rstrip().splitlines()
    head = ["#!/bin/bash", "", f"DEV={device}", "MNT=/mnt"]
    head += [f'MOUNT_OPTIONS="{mount}"'] if mount else []
    options = options.removeprefix("-f").strip()
    head += [f'MKFS_OPTIONS="{options}"'] if options else []
    head += ["", f"{mkfs} -f{' $MKFS_OPTIONS' if options else ''} $DEV"]
    head += [f"mount {'$MOUNT_OPTIONS ' if mount else ''}$DEV $MNT", ""]
    return indented(["$ cat test.sh", *head, *body, "", "umount $MNT"])


def machine_sentence(run: PerfRun, measured: Measured, facts: CaseFacts) -> str:
    boots = {side: sum(boot.side == side for boot in measured.boots) for side in "AB"}
    loads = sorted(boot.load for boot in measured.boots)
    debug = [name for name in run.debug if name != "XFS_DEBUG" or measured.experiment.filesystem == "xfs"]
    config = f"a kernel with {', '.join(debug)}" if debug else "a non-debug kernel"
    by_processor = any(number.clock == "processor" for number in measured.experiment.number)
    waiting = '; times "by processor time" leave out what the guest waited for a processor'
    waiting = waiting if by_processor else ""
    before, after = ("before", "after") if not run.noise else ("first", "second")
    machine = run.machine
    name = (
        f"{machine.get('processor', 'unknown')}, {machine.get('processors', '?')} processors, governor "
        f"{machine.get('governor', 'unknown')}"
    )
    if run.on_a_machine:
        where = (
            f"{_a_machine(run)}{name}, turbo {machine['turbo']}, "
            f"{machine['memory_bytes'] / (1 << 30):.0f} GiB of ram) on "
            f"{measured.experiment.device_mib} MiB of its {_disk(run)}"
        )
        whose = "the machine"
    else:
        where = (
            f"User Mode Linux with one processor, {measured.experiment.memory_mib} MiB of ram and a disk of "
            f"{measured.experiment.device_mib} MiB that is a file in the memory of the host ({name})"
        )
        whose = "the host"
    return (
        f"The test was run {'on' if run.on_a_machine else 'in'} {where}, using {config} ({before}: "
        f"{run.against}; {after}: {run.kernel}). Each was booted {boots['A']} times, in turn, with a load "
        f"average of {whose} from {loads[0]:.1f} to {loads[-1]:.1f}. Percentages are of the medians over "
        f"boots, with 95% intervals{waiting}."
    )


def _a_machine(run: PerfRun) -> str:
    return f"a virtual machine ({run.machine['virtual']}; " if run.is_virtual else "bare metal ("


def _disk(run: PerfRun) -> str:
    model = run.machine.get("model") or "disk"
    return f"{model}, scheduler {run.machine.get('scheduler') or 'none'}"


def results(measured: Measured, facts: CaseFacts, found: Sequence[Difference]) -> list[str]:
    """One case, before and after."""
    reader = measured.experiment.reader
    a, b = median_run(measured, "A", facts.name), median_run(measured, "B", facts.name)
    if not a or not b:
        return []
    title = f" ({facts.name})" if len(measured.cases) > 1 else ""
    if reader == "dbench":
        return [
            f"The results before this change{title}:",
            "",
            *dbench_lines(a.reading.table, a.reading.line),
            "",
            f"The results after this change{title}:",
            "",
            *dbench_lines(b.reading.table, b.reading.line),
            "",
            *verdict_lines(found),
        ]
    if reader == "fio":
        return [
            f"==== {facts.name} ====",
            "",
            "Before this change:",
            "",
            a.reading.line,
            "",
            "After this change:",
            "",
            b.reading.line,
            *verdict_lines(found),
        ]
    return [f"The results{title}:", "", *number_table(found), "", *verdict_lines(found)]


def verdict_lines(found: Sequence[Difference]) -> list[str]:
    """(+6.5% throughput, ...) of what was asked; what was not shown says so."""
    parts = []
    for one in (one for one in found if one.answer is not None):
        within = f"[{interval_words(one.low, one.high)}]"
        if one.answer is Answer.NONE:
            parts.append(f"no difference shown in {one.number.name}: {one.percent:+.1f}% {within}")
        else:
            parts.append(f"{one.percent:+.1f}% {one.number.name} {within}")
    return paragraph(f"({', '.join(parts)})") if parts else [""]


# --- profile -------------------------------------------------------------------------------------


def _samples(run: PerfRun) -> str:
    return (
        "kernel's samples (bpftrace, profile:hz)"
        if run.on_a_machine
        else "guest kernel's own samples (cpu-clock)"
    )


def profile_part(run: PerfRun, measured: Measured) -> list[str]:
    lines: list[str] = []
    for profile in profiles(measured):
        where = f" of {profile.case}" if len(measured.cases) > 1 else ""
        lines += paragraph(
            f"Profile{where}, shares of the {_samples(run)}, medians of {profile.boots} boots:"
        )
        lines += [*profile_lines(profile), ""]
        if profile.times:
            lines += [*time_table(profile.times), ""]
    return lines


def summary_sentences(measured: Measured) -> list[str]:
    """Each question's answer, for the terminal and the page."""
    return [f"{one.label}: {answer_words(one)}" for one in differences(measured) if one.answer is not None]


def command_line(run: PerfRun) -> str:
    return shlex.join(run.command)
