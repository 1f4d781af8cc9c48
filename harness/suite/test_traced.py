"""
Proof that a trace tells the same story: a workload as a C program under the tracer, and the workload itself.

In:       the library; pytest options --profile, --kernel, --traced (a glob of workloads).
Out:      the same states of the filesystem in the same order, the same promises, and the same verdicts.
Not here: what a call becomes (workloads/tests/test_traced.py), programs with an oracle of their own.

The two recordings differ in their marks: a word is one operation, and its calls are several. So what is
compared is what each history says the filesystem was, time after time: names, kinds, content (each write by
the byte that fills it), permissions, owners, attributes, link counts; and each promise with the filesystem
that it is about.
"""

import fnmatch
import subprocess

import pytest

from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import Setting
from harness.stages.explore import StatePlan
from harness.stages.record import record
from harness.stages.trace import record_program
from harness.states.log import open_log
from oracles.model.builder import Builder
from oracles.model.model import ALL_BYTES
from oracles.model.steps import do
from oracles.profiles import profile
from oracles.verdict import Answer, Tier
from reports.programs.export import byte_of
from reports.programs.workload_c import reason_against, workload_program
from workloads.library import library
from workloads.program import Program, ProgramFile
from workloads.workload import Workload

pytestmark = [pytest.mark.traced, pytest.mark.timeout(7200)]

# Workloads whose program is not the same, each with the reason. By name.
LONGER = "its file is longer than what is compared byte by byte (1 MiB)"
EXCEPTED = {
    "append-to-long-file-after-link": LONGER,
    "many-extents-cut-then-reserved": LONGER,
    "punch-at-the-edge-of-each-leaf": LONGER,
    "punch-first-extent-of-many": LONGER,
    "punch-over-a-whole-leaf": LONGER,
}


def as_program(workload, history, folder):
    """The workload with the compiled program in place of its words."""
    source, binary = folder / "workload.c", folder / "workload"
    source.write_text(workload_program(workload, append_offsets(history)))
    subprocess.run(["gcc", "-O1", "-w", "-o", binary, source], check=True)
    files = (ProgramFile("workload", binary.read_bytes()),)
    program = Program(("/program/workload",), files=files, within=True)
    return Workload(workload.name, (), (), program=program)


def append_offsets(history):
    """Where each append of the recording began."""
    fs, found = Builder(history), {}
    for step in (*history.setup, *history.run):
        before = fs.fork() if step.operation.word == "append" else None
        do(fs, step)
        if before is not None:
            known = before.model.ids(step.inode, "file", step.index)
            content = before.model.content[known[0]].last if known else ()
            found[step.index] = content[-1].end if content else 0
    return found


# --- what a history says --------------------------------------------------------------------------


def story(history):
    """(views, promises): each view of the filesystem that differs from the one before, from the end of setup
    on; and (what is promised, the view then) for each call that promises."""
    fs = Builder(history)
    views, promises = [], []
    for step in (*history.setup, *history.run):
        do(fs, step)
        if step.index < len(history.setup) - 1:
            continue
        seen = view(fs, history)
        if not views or views[-1] != seen:
            views.append(seen)
        promises += [(told(fs, one), seen) for one in fs.model.persists if one.time == fs.time]
    return views, promises


def view(fs, history):
    found = {}
    for (directory, name), inode in fs.now.items():
        slot = (directory, name)
        found[fs.model.path(slot, fs.time)] = facts(fs, inode, history)
    return found


def facts(fs, inode, history):
    model = fs.model
    last = model.inodes[inode]
    flags = model.flags[inode].last if inode in model.flags else ""
    content = bytes_of(model.content[inode].last, history) if inode in model.content else ()
    xattrs = {name: line.last for name, line in model.xattrs[inode].items() if line.last is not None}
    mtime = model.mtimes[inode].last if inode in model.mtimes else None
    attributes = (model.modes[inode].last, model.owners[inode].last, model.nlink[inode].last, flags, mtime)
    return (last.kind, last.target, last.device, attributes, tuple(sorted(xattrs.items())), content)


def bytes_of(content, history):
    """(start, end, byte) of a content, neighbours of one byte together."""
    runs = []
    for start, end, source in content:
        byte = 0 if not source.stamp else source.data[0] if source.data else byte_of(source.stamp - 1)
        first = runs.pop()[0] if runs and runs[-1][2] == byte else start
        runs.append((first, end, byte))
    return tuple(runs)


def told(fs, one):
    if one.inode < 0:
        return (one.like, "", 0, 0)
    names = sorted(fs.model.path(slot, fs.time) for slot, inode in fs.now.items() if inode == one.inode)
    size = (
        content[-1].end
        if (content := fs.model.content[one.inode].last if one.inode in fs.model.content else ())
        else 0
    )
    end = ALL_BYTES if one.end >= size else one.end
    return (one.like, names[0] if names else ".", one.start, end)


def is_part(shorter, longer):
    """The first view of the list that the other does not have in its turn; None when all are there."""
    rest = iter(longer)
    return next((one for one in shorter if not any(one == other for other in rest)), None)


def differences(ours, traced):
    """Sentences."""
    views, promises = story(ours)
    traced_views, traced_promises = story(traced)
    found = []
    if (missing := is_part(views, traced_views)) is not None:
        found.append(f"the trace never shows {missing}")
    if views[-1:] != traced_views[-1:]:
        found.append(f"at the end {views[-1:]}, and in the trace {traced_views[-1:]}")
    if promises != traced_promises:
        odd = [one[0] for one in promises if one not in traced_promises]
        new = [one[0] for one in traced_promises if one not in promises]
        found.append(f"promises: missing {odd}, more {new}, {len(promises)} and {len(traced_promises)}")
    return found


# --- verdicts -------------------------------------------------------------------------------------


def verdicts(setting, recording):
    """What the oracles said of any state: answers and, of what is broken, which promise of what. A trace has
    no stamps, so bytes that were there once and bytes that never were are one kind to it."""
    said = set()
    with open_log(recording.log) as log:
        examination = CrashStates(setting, recording, log, StatePlan())
        for state in examination.judged():
            for verdict in state.verdicts:
                said.add((verdict.oracle, verdict.answer, verdict.reason))
                said |= {
                    (verdict.oracle, one.kind.replace("stale data", "foreign bytes"), one.subject)
                    for one in verdict.violations
                }
    return said


def compared(workload, one, guest_slot, scratch, kernel):
    """Sentences that say where the program's history or verdicts are others."""
    setting = Setting(guest_slot, one, Tier.FS, kernel, scratch / "pristine", scratch, with_fsck=False)
    ours = record(guest_slot.guest(), one, workload, setting.pristine, kernel)
    history, our_verdicts = ours.history, verdicts(setting, ours)
    traced = record_program(
        guest_slot.guest(), one, as_program(workload, history, scratch), setting.pristine, kernel
    )
    found = differences(history, traced.history)
    if traced.history.unjudged:
        found.append(f"not judged: {traced.history.unjudged}")
    if (their_verdicts := verdicts(setting, traced)) != our_verdicts:
        found.append(f"verdicts: {sorted(map(str, our_verdicts ^ their_verdicts))}")
    if any(Answer.UNKNOWN in verdict for verdict in our_verdicts | their_verdicts):
        found.append("a verdict is UNKNOWN")
    return found


def chosen(pattern):
    return [one for one in library() if fnmatch.fnmatch(f"{one.theme}/{one.name}", pattern)]


def test_a_workload_and_its_program_have_the_same_history(keeper_for, kernel_word, profile_name, request):
    one = profile(profile_name)
    same, different, left_out = [], {}, {}
    with keeper_for(one) as (guest_slot, scratch):
        for workload in chosen(request.config.getoption("--traced")):
            why = reason_against(workload) or EXCEPTED.get(workload.name, "")
            words = {operation.word for operation in (*workload.setup, *workload.run)}
            if words & {"subvol", "snapshot"} and one.filesystem != "btrfs":
                why = "only btrfs has subvolumes"
            if why:
                left_out[workload.name] = why
                continue
            try:
                found = compared(workload, one, guest_slot, scratch, kernel_word)
            except Exception as error:  # the next one all the same
                guest_slot.drop()
                found = [f"{type(error).__name__}: {error}"]
            print(workload.name, found or "same", flush=True)
            if found:
                different[workload.name] = found
            else:
                same.append(workload.name)
    print(f"{profile_name}: {len(same)} same, {len(different)} different, {len(left_out)} left out")
    assert not different
    assert same
