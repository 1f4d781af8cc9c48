"""
Show one state again: rebuild its bytes, recover it, print expected and found.

In:       a run or an experiment's folder, and a finding or a state spec.
Out:      text on standard output; the disk, when it is to be kept; a shell in a guest, when asked for.
Not here: the states of a whole log (recover.py).
"""

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import NoResults, base_disk, copy_image, expand_file, reading
from harness.evidence.summary import EXIT_BROKEN, EXIT_HOLDS, EXIT_UNKNOWN, experiment_folders
from harness.experiments.crash_states import is_loud
from harness.experiments.examination import Setting
from harness.experiments.program_states import crash_states
from harness.findings.repro_damage import outcome_lines, recover_damaged
from harness.findings.repro_fault import point_of, run_again, run_lines
from harness.findings.repro_live import live_lines, record_again
from harness.findings.verdict_text import verdict_lines
from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSlot, GuestSpec
from harness.guests.kernels import build_for, kernel_path
from harness.guests.probe import accelerated, prefer
from harness.guests.spec import UML, memory_for, wanted_of
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES
from harness.stages.explore import StatePlan
from harness.stages.record import Recording
from harness.stages.session import block_writes
from harness.states.crash import parse_spec
from harness.states.disk import BLOCK_BYTES, data_blocks
from harness.states.log import open_log
from harness.states.nested import FOLDER, file_name, report_name
from harness.states.rebuild import Rebuilding
from oracles.observation import Observation, Tree
from oracles.profiles import on_device, profile
from oracles.spec import PRESUMES, BadSpec, State, disk_words, is_live
from oracles.verdict import Answer, Tier, Verdict
from reports.results import FAULTS, Experiment, read_experiment, read_summary
from reports.text.device import device_words
from reports.text.use_words import use_lines
from workloads.text import format_operation


class Shown(msgspec.Struct, frozen=True):
    """What there is to show: an experiment, a state of it, what the run said of it (a signature or "")."""

    folder: Path
    state: str
    signature: str


def locate(place: Path, finding: str, state: str) -> Shown:
    """
    place: a run's folder, or one of its experiments/<n>. finding: "F1" or "". state: a spec or "".
    Errors: NoResults.
    """
    if (place / "experiment.json").exists():
        if not state:
            raise NoResults(f"{place} is a single experiment. Name a state of it, such as --state O:12")
        return Shown(place, state, "")
    if not (place / "summary.json").exists():
        raise NoResults(
            f"{place} is neither the folder of a run (no summary.json) nor of an experiment (no "
            "experiment.json)"
        )
    with reading(place):
        findings = {one.id: one for one in read_summary(place).findings}
    if finding:
        if finding not in findings:
            known = ", ".join(findings) or "none"
            raise NoResults(f"{place}: there is no finding {finding}. The findings are {known}")
        one = findings[finding]
        return Shown(place / "experiments" / f"{one.experiment:04d}", state or one.state, one.signature)
    folders = experiment_folders(place)
    if state and len(folders) == 1:
        return Shown(folders[0], state, "")
    if state:
        raise NoResults(
            f"{place} has {len(folders)} experiments. Name one of them, such as {folders[0]} --state {state}"
        )
    if not findings:
        raise NoResults(
            f"{place} has no findings. Name a state, such as {place}/experiments/0001 --state O:12"
        )
    return locate(place, next(iter(findings)), "")


def repro(shown: Shown, keep: Path | None, shell: bool, config: tuple[str, ...] = (), guest: str = "") -> int:
    """
    config: variants of the kernel, in place of the run's own. guest: of words.WANTED, "" for what the run
    had, with or without KVM.
    Exit status: 1 when it is BROKEN again, 0 when every verdict holds, 3 when UNKNOWN.
    Errors: NoResults, BadSpec, BadLog, UnknownProfile, KernelError, NoGuest, LostGuest, GuestTrouble,
    OSError.
    """
    with reading(shown.folder):
        experiment = read_experiment(shown.folder)
    if experiment.history is None:
        raise NoResults(f"{shown.folder} has no recording: {experiment.facts.trouble}")
    of_live = is_live(shown.state)
    if of_live and (shell or keep is not None):
        raise NoResults(
            "--keep and --shell cannot be used here: the kernel showed this while the workload "
            "was recorded, so there is no disk to recover"
        )
    of_fault = experiment.facts.kind == FAULTS and not of_live
    if of_fault and (shell or keep is not None):
        raise NoResults(
            "--keep and --shell cannot be used here: a fault point is a run of the workload, so "
            "there is no disk to recover"
        )
    facts = experiment.facts
    state = State(0) if of_fault or of_live else parse_spec(shown.state, facts.entries, facts.device_bytes)
    if of_fault:
        point_of(experiment, shown.state)
    if shell and not sys.stdin.isatty():
        raise NoResults("--shell: standard input is not a terminal")
    if keep is not None and keep.exists():
        raise NoResults(f"--keep {keep}: this file already exists and was not changed")
    word, config = experiment.facts.kernel, config or experiment.facts.config
    wanted = guest or wanted_of(experiment.facts.guest)
    if shell and wanted != UML:
        raise NoResults("--shell works only in a guest of kind uml. Add --guest uml")
    with Progress(quiet=True) as progress:
        wanted = prefer(wanted, word, config, progress)
        kernel = build_for(wanted, word, config, progress)
    with workspace() as space:
        spec = GuestSpec(
            kernel=kernel_path(kernel),
            agent=agent_binary(),
            device_bytes=experiment.facts.device_bytes,
            log_bytes=LOG_BYTES,
            kind=accelerated(wanted, kernel),
            cpus=experiment.facts.cpus,
        )
        if of_live:
            with GuestSlot(spec, space) as guest_slot:
                live, judged = record_again(guest_slot, experiment, space.path)
            print("\n".join(live_lines(experiment, shown.signature, live, judged)))
            return status(judged)
        if of_fault:
            with GuestSlot(spec, space) as guest_slot:
                seen, judged = run_again(guest_slot, experiment, shown.state, space.path)
            print("\n".join(describe_fault(experiment, shown, seen, judged)))
            return status(judged)
        image = _rebuild(shown.folder, state, experiment, space.path)
        held_bytes = BLOCK_BYTES * sum(1 for _ in data_blocks(image))
        spec = msgspec.structs.replace(spec, memory_mib=memory_for(held_bytes))
        if keep is not None:
            copy_image(image, keep)
        if shell:
            return open_shell(Path(kernel.path), image, experiment)
        if state.damage is not None:
            with GuestSlot(spec, space) as guest_slot:
                seen, whole, judged, outcome, name = recover_damaged(
                    guest_slot, experiment, space.path, state
                )
            told = outcome_lines(state, name, outcome, whole, seen)
            print("\n".join(describe(experiment, state, shown.signature, seen, judged, keep, told)))
            return status(judged)
        with GuestSlot(spec, space) as guest_slot:
            observation, verdicts = _examine(guest_slot, experiment, space.path, state)
    print("\n".join(describe(experiment, state, shown.signature, observation, verdicts, keep)))
    return status(verdicts)


def status(verdicts: tuple[Verdict, ...]) -> int:
    answers = {verdict.answer for verdict in verdicts}
    if Answer.BROKEN in answers:
        return EXIT_BROKEN
    return EXIT_UNKNOWN if Answer.UNKNOWN in answers or not verdicts else EXIT_HOLDS


def _rebuild(folder: Path, state: State, experiment: Experiment, scratch: Path) -> Path:
    """The state's disk, and beside it its base ("base"), log ("state.log") and, nested, the log of the
    recovery that was cut."""
    expand_file(folder / "log.zst", scratch / "state.log")
    if state.nested >= 0 and not state.is_use:
        _expand_recovery(folder, state, scratch)
    image = scratch / "state.disk"
    with base_disk(folder, scratch, experiment.facts.device_bytes) as disk:
        copy_image(disk.path, scratch / "base")
    copy_image(scratch / "base", image)
    with (
        open_log(scratch / "state.log") as log,
        Rebuilding(scratch / "base", log, scratch / FOLDER) as rebuilding,
        image.open("r+b") as file,
    ):
        rebuilding.move(state)
        for write in block_writes(rebuilding.disk.image, sorted(rebuilding.dirty)):
            assert write.data is not None
            file.seek(write.offset)
            file.write(write.data)
    return image


def _expand_recovery(folder: Path, state: State, scratch: Path) -> None:
    """Errors: BadSpec, when the recovery of that state was not recorded."""
    name = file_name(state)
    kept = folder / FOLDER / f"{name}.zst"
    if not kept.exists():
        names = (path.name.removesuffix(".log.zst") for path in folder.glob(f"{FOLDER}/*.log.zst"))
        known = sorted(each for each in names if each.startswith("A-") == state.again)
        raise BadSpec(
            f"{state.spec}: the recovery of {state.outer.spec} was not recorded. Recorded: "
            f"{', '.join(known) or f'none (use powercut run --models O,{state.model})'}"
        )
    (scratch / FOLDER).mkdir()
    expand_file(kept, scratch / FOLDER / name)
    if state.again:
        expand_file(kept.with_name(f"{report_name(state)}.zst"), scratch / FOLDER / report_name(state))
    with open_log(scratch / FOLDER / name) as log:
        if state.nested > len(log):
            raise BadSpec(
                f"{state.spec}: this recovery has {len(log)} entries, so its states are O:0 to O:{len(log)}"
            )


def _examine(
    guest_slot: GuestSlot, experiment: Experiment, scratch: Path, state: State
) -> tuple[Observation, tuple[Verdict, ...]]:
    """The state recovered and judged once more, from what _rebuild() left in `scratch`."""
    facts, history = experiment.facts, experiment.history
    assert history is not None
    with_fsck = any(seen.fsck is not None for seen in experiment.observations)
    one = on_device(profile(facts.profile), facts.device_bytes)
    setting = Setting(guest_slot, one, Tier(facts.tier), facts.kernel, scratch, scratch, with_fsck)
    recording = Recording(scratch / "base", scratch / "state.log", history, {}, ())
    with open_log(recording.log) as log:
        examination = crash_states(setting, recording, log, StatePlan())
        alone = examination.judged_use(state) if state.is_use else examination.judged_alone([state])
        (judged,) = alone
    (observation,) = examination.ledger.seen
    return observation, judged.verdicts


def describe(
    experiment: Experiment,
    state: State,
    signature: str,
    observation: Observation,
    verdicts: tuple[Verdict, ...],
    keep: Path | None,
    told: Sequence[str] = (),
) -> list[str]:
    """What a reader needs: where the power failed, what was expected and found, every verdict. told: of
    damage."""
    facts, history = experiment.facts, experiment.history
    assert history is not None
    device = device_words(facts.recorded_on.kind)
    lines = [f"{facts.workload} on {facts.profile}, kernel {facts.kernel}{device}, state {state.spec}"]
    if state.model != "O":
        lines.append(f"on the disk: {disk_words(state.spec)}")
        lines.append(
            f"requires: {PRESUMES.get(state.model, 'a disk that loses or changes what was written to it')}"
        )
    lines += [f"finding: {signature}"] if signature else []
    lines += ["", "setup"] if history.setup else [""]
    lines += [f"    {format_operation(step.operation)}" for step in history.setup]
    lines.append("run")
    cut_shown = False
    for step in history.run:
        begun, returned = step.begin_entry < state.prefix, step.end_entry < state.prefix
        if not (begun if history.parallel else returned) and not cut_shown:
            lines.append("  ---- power fails " + ("during the next operation ----" if begun else "here ----"))
            cut_shown = True
        failed = f"   # failed: {os.strerror(-step.result)}" if step.result < 0 else ""
        failed += "   # in flight" if history.parallel and begun and not returned else ""
        thread = f"thread {step.operation.thread}: " if step.operation.parallel else ""
        lines.append(f"    {thread}{format_operation(step.operation)}{failed}")
    lines += [] if cut_shown else ["  ---- power fails here ----"]
    if used := use_lines(observation):
        lines += ["", "recovered, and then", *(f"    {line}" for line in used)]
    lines += [
        *told,
        "",
        "recovered:",
        *tree_lines(observation),
        *verdict_and_log_lines(observation, verdicts),
    ]
    lines += ["", f"the disk, before recovery: {keep}"] if keep is not None else []
    return lines


def describe_fault(
    experiment: Experiment, shown: Shown, observation: Observation, verdicts: tuple[Verdict, ...]
) -> list[str]:
    """The same of a fault point: what each call said, and what a sound device then showed."""
    facts = experiment.facts
    lines = [f"{facts.workload} on {facts.profile}, kernel {facts.kernel}, fault point {shown.state}"]
    lines += [f"finding: {shown.signature}"] if shown.signature else []
    lines += ["", *run_lines(experiment, shown.state, observation.fault)]
    lines += [
        "",
        "on a working device:",
        *tree_lines(observation),
        *verdict_and_log_lines(observation, verdicts),
    ]
    return lines


def verdict_and_log_lines(observation: Observation, verdicts: tuple[Verdict, ...]) -> list[str]:
    """Every verdict, and what the kernel said that is worth reading."""
    before = observation.fault.kernel_log if observation.fault else ()
    loud = [line for line in (*before, *observation.kernel_log) if is_loud(line, 4)]
    lines = [
        *verdict_lines(verdicts),
        *(["", "kernel log:"] if loud else []),
        *(f"    {line[2:]}" for line in loud),
    ]
    return [*lines, *(f"    {line}" for line in observation.console[-30:])]


def tree_lines(observation: Observation) -> list[str]:
    """The recovered tree, a line a name."""
    if observation.trouble:
        return [f"    Powercut itself failed: {observation.trouble}"]
    if observation.death:
        return [
            f"    the kernel did not survive: {observation.death} during {observation.death_during or '?'}"
        ]
    if observation.tree is None:
        return [f"    mount failed: {os.strerror(observation.mount_errno)}"]
    tree: Tree = observation.tree
    return [
        f"    {node.path:<24} {node.kind:<8} size {node.size:<8} links {node.nlink:<3} inode {node.ino}"
        + (f"  {node.xattrs}" if node.xattrs else "")
        for node in tree
    ]


# What the guest's shell starts with: the devices, the state's disk mounted nowhere yet.
SHELL_INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mount -t tmpfs tmp /mnt
mkdir /mnt/state
echo
echo "The state is on /dev/ubda, as the power failure left it. It has not been mounted yet."
echo "The rest is the file system of this machine, read-only."
echo "Recover it:   mount -t {filesystem} {options}/dev/ubda /mnt/state      Leave: exit"
cd /mnt; setsid -c /bin/bash -i </dev/tty0 >/dev/tty0 2>&1 || /bin/sh
sync; poweroff -f 2>/dev/null || halt -f
"""


def open_shell(kernel: Path, image: Path, experiment: Experiment) -> int:
    """A guest with the host's programs and the state's disk on /dev/ubda, its console ours."""
    one = profile(experiment.facts.profile)
    options = f"-o {one.mount_options} " if one.mount_options else ""
    if one.devices:  # for the reader to cut: losetup has an offset and a size
        sizes = ", ".join(f"%{number} {size >> 20} MiB" for number, size in enumerate(one.devices))
        options = f"(its devices lie one behind the other: {sizes}) {options}"
    init = image.parent / "shell-init"
    init.write_text(SHELL_INIT.format(filesystem=one.filesystem, options=options))
    init.chmod(0o755)
    command = [
        str(kernel),
        "mem=512M",
        "quiet",
        "rootfstype=hostfs",
        "root=/dev/root",
        "rootflags=/",
        "ro",
        f"init={init}",
        f"ubd0={image}",
        "con=null",
        "con0=fd:0,fd:1",
        f"uml_dir={image.parent}/",
    ]
    with contextlib.suppress(KeyboardInterrupt):
        subprocess.run(command, check=False, env={**os.environ, "TMPDIR": str(image.parent)})
    subprocess.run(["stty", "sane"], check=False, stderr=subprocess.DEVNULL)
    return EXIT_HOLDS


def is_finding(word: str) -> bool:
    """F1, F2 ..."""
    return re.fullmatch(r"F\d+", word) is not None
