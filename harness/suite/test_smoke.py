"""
The main job on a real guest, small: what CI runs of it.

In:       the stock kernel.
Out:      that every state is reached, judged and silent; that disks are rebuilt byte for byte.
Not here: the whole library (test_crash.py), planted bugs (test_planted.py), doctored logs.
"""

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import msgspec
import pytest

from harness.evidence.pack import unpack
from harness.evidence.store import write_question
from harness.evidence.summary import sum_up
from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import Setting, recorded
from harness.experiments.plan import encoded
from harness.guests.agent_binary import agent_hash
from harness.guests.guest import LOG, GuestTrouble
from harness.local.progress import Progress
from harness.runs.run import RunSpec, plans_of, question_of, run
from harness.stages.explore import StatePlan
from harness.stages.judge import decode
from harness.stages.record import NotRecorded, record
from harness.stages.recover import Recovery
from harness.stages.trace import took
from harness.states.crash import states
from harness.states.disk import open_disk, writes_of
from harness.states.log import open_log
from oracles.profiles import profile
from oracles.spec import State
from oracles.verdict import Answer, Tier
from reports.results import read_experiment
from workloads.entries import EntryFlag
from workloads.library import DEMONSTRATION, load, select
from workloads.program import Program
from workloads.text import parse
from workloads.workload import Operation, Workload

pytestmark = pytest.mark.smoke
ROOT = Path(__file__).parent.parent.parent


def test_demonstration_on_btrfs_holds(main_job, kernel_word):
    """Every prefix of every log of the demonstration set is judged, and every promise holds."""
    folder, summary = main_job(DEMONSTRATION, ["btrfs"], kernel_word)
    assert summary.findings == ()
    assert summary.reasons == ()
    assert summary.exit == 0
    assert summary.experiments == len(DEMONSTRATION)
    assert summary.states.planned == summary.log_entries + summary.experiments
    assert summary.states.judged == summary.states.planned
    assert summary.states.unknown == 0
    assert len(summary.verdicts) == 10
    assert (folder / "report" / "index.html").exists()


@pytest.mark.parametrize("name", ["ext4", "xfs", "btrfs-single", "btrfs-noholes", "btrfs-holes"])
def test_other_profiles_hold(main_job, kernel_word, name):
    """A few workloads on each other profile: all hold, none is UNKNOWN."""
    chosen = [
        "replace-by-rename",
        "link-into-new-directory",
        "append-fsync-repeated",
        "append-fdatasync-repeated",
        "nothing-synced-tree",
    ]
    _, summary = main_job(chosen, [name], kernel_word)
    assert (summary.exit, summary.findings, summary.reasons) == (0, (), ())
    assert summary.states.judged == summary.states.planned


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_guest_sees_the_bytes_that_the_log_says(keeper_for, name):
    """At the first, a middle and the last state the guest's disk has the CRC of the host's."""
    one = profile(name)
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, load("replace-by-rename"), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            for prefix in (0, len(log) // 2, len(log)):
                recovery = Recovery(guest_slot, one, False, scratch)
                assert len(list(recovery.run(recording.base, log, [State(prefix)]))) == 1
                answer = guest_slot.guest().ask(f"digest {one.size_bytes // 512}", timeout_s=60)
                with open_disk(scratch / "expected", recording.base) as disk:
                    for entry in log.entries(0, prefix):
                        for write in writes_of(entry):
                            disk.apply(write)
                    assert answer == ["digest", str(zlib.crc32(disk.image))]


def test_recovery_leaves_no_trace_in_later_states(keeper_for):
    """Each state's report is the same whether the states before it were recovered or not."""
    one = profile("btrfs")
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, load("replace-by-rename"), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            recovery = Recovery(guest_slot, one, False, scratch)
            together = list(recovery.run(recording.base, log, states(len(log))))
            for recovered in together[:: len(together) // 4]:
                state = State(recovered.prefix)
                (alone,) = Recovery(guest_slot, one, False, scratch).run(recording.base, log, [state])
                assert tree_part(alone.observation) == tree_part(recovered.observation)


GROWING = """
# xfs reserves space behind the end of a file that grows, and gives it back when the inode is dropped.
run
  write log 0 256K
  append log 64K
  append log 64K
  append log 64K
  fsync log
"""


def test_the_second_mount_is_walked_too(keeper_for):
    """Recovery is looked at twice: on xfs the space behind the end goes with the first unmount."""
    one = profile("xfs")
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, parse(GROWING.lstrip()), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            (last,) = Recovery(guest_slot, one, False, scratch).run(recording.base, log, [State(len(log))])
    seen = decode(last.observation)
    assert seen.tree is not None
    assert seen.second_tree is not None
    (first,), (second,) = (
        [node for node in tree if node.path == "log"] for tree in (seen.tree, seen.second_tree)
    )
    assert first.data == ((0, 448 << 10),)
    assert second.blocks < first.blocks
    assert msgspec.structs.replace(second, blocks=first.blocks) == first


ORPHAN = """
# A file that is open loses its name: the next mount has to remove what is left of it.
setup
  mkdir A
  sync
run
  write a 0 4K
  open a @f
  unlink a
  sync
"""


def test_only_where_nothing_is_left_to_write_there_is_no_second_mount(keeper_for):
    """btrfs removes orphans at mount and commits that later: a state with one is looked at twice, although
    its mount wrote nothing by the end of the walk. The disk before the workload is not."""
    one = profile("btrfs")
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, parse(ORPHAN.lstrip()), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            recovered = list(
                Recovery(guest_slot, one, False, scratch).run(
                    recording.base, log, [State(0), State(len(log))]
                )
            )
    base, orphan = (decode(state.observation) for state in recovered)
    assert (base.untouched, orphan.untouched) == (True, False)
    for seen in (base, orphan):
        assert (seen.probe, seen.death, [node.path for node in seen.tree]) == ((), "", [".", "A"])
        assert seen.probe_steps > len(seen.tree)


@pytest.mark.parametrize(("between", "commits"), [("evict a", True), ("setxattr b user.x 1", False)])
def test_evict_drops_an_inode_that_has_cached_pages(keeper_for, between, commits):
    """ext4 knows of an inode in memory that nothing of it is uncommitted. Of one that it has just read it
    does not (ext4_iget(): i_sync_tid), so an fsync commits the transaction that others made."""
    one = profile("ext4")
    text = f"setup\n  write a 0 4K\nrun\n  creat b\n  {between}\n  fsync a\n"
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, parse(text), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            (last,) = Recovery(guest_slot, one, False, scratch).run(recording.base, log, [State(len(log))])
    assert ("b" in {node.path for node in decode(last.observation).tree}) is commits


@pytest.mark.parametrize("word", ["fsync a", "fdatasync a", "sync", "remount", "umount"])
def test_what_makes_durable_reaches_the_log(keeper_for, word):
    """The call is made, and the power fails right after it: the file is there, and nothing comes later."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        text = f"run\n  write a 0 4K\n  {word}\n"
        recording = record(guest_slot.guest(), one, parse(text), scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            (last,) = Recovery(guest_slot, one, False, scratch).run(recording.base, log, [State(len(log))])
    assert {node.path: node.size for node in decode(last.observation).tree}.get("a") == 4096
    assert recording.history.run[-1].end_entry == recording.history.entry_count - 1


@pytest.mark.parametrize(("word", "left"), [("crash", {"a"}), ("remount", {"a", "b"})])
def test_a_crash_in_a_recording_loses_what_is_in_memory_alone(keeper_for, word, left):
    """Unlike an unmount. The parser would refuse it where something may be lost, so it is put in here."""
    one = profile("ext4")
    durable = parse(f"run\n  write a 0 4K\n  fsync a\n  {word}\n  write c 0 4K\n  fsync c\n")
    run = (*durable.run[:2], Operation("creat", path="b", line=1), *durable.run[2:])
    workload = msgspec.structs.replace(durable, run=run)
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, workload, scratch / "pristine", "6.12")
        with open_log(recording.log) as log:
            (last,) = Recovery(guest_slot, one, False, scratch).run(recording.base, log, [State(len(log))])
    there = {node.path for node in decode(last.observation).tree} - {".", "lost+found"}
    assert there == left | {"c"}


def tree_part(report):
    """The report without the kernel's log, whose info lines are rate limited."""
    content = json.loads(report)
    content.pop("kernel_log")
    return content


def test_small_log_device_is_refused_with_the_size_to_ask_for(keeper_for, monkeypatch):
    """A log that does not fit is no experiment, and the message says what to ask for."""
    monkeypatch.setattr("harness.suite.conftest.LOG_BYTES", 1 << 20)
    one = profile("btrfs")
    text = "run\n  write foo 0 4M\n  fsync foo\n"
    with keeper_for(one) as (guest_slot, scratch), pytest.raises(NotRecorded, match=r"--log-size 4M"):
        record(guest_slot.guest(), one, parse(text), scratch / "pristine", "6.12")


def test_agent_refuses_what_it_does_not_know(keeper_for):
    """An unknown command is trouble of ours, with the reason."""
    with (
        keeper_for(profile("btrfs")) as (guest_slot, _),
        pytest.raises(GuestTrouble, match="unknown command"),
    ):
        guest_slot.guest().ask("make coffee")


def test_the_command_ends_as_it_promises(tmp_path, kernel_word):
    """`powercut run --json` gives the summary and nothing else on standard output, and its exit status."""
    program = [sys.executable, "-m", "harness.commands.main"]
    command = [*program, "run", "replace-by-rename", "--kernel", kernel_word]
    done = subprocess.run(
        [*command, "--json", "--out", str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == json.loads(done.stdout)["exit"] == 0, done.stderr
    folder = next(path for path in tmp_path.iterdir() if path.name != "latest")
    again = subprocess.run(
        [sys.executable, "-m", "harness.commands.main", "repro", str(folder), "--state", "O:1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert "durable     HOLDS" in again.stdout


def test_library_is_selected_by_words():
    """The smoke set's names exist."""
    assert len(select(DEMONSTRATION)) == len(DEMONSTRATION)


def test_a_guest_that_swept_faults_recovers_states_afterwards(tmp_path, kernel_word):
    """One guest does both: the failing device lets go of the disk that states are recovered on."""
    chosen = (load("writes-dropped-behind-a-fsync"), load("fsync-new-file"))
    run_spec = RunSpec(chosen, (profile("btrfs"),), (kernel_word,), jobs=1)
    with Progress() as progress:
        _, summary = run(run_spec, tmp_path / "results", progress)
    assert (summary.exit, summary.findings, summary.states.unknown) == (0, (), 0)
    assert summary.rates["guest_boots"] == 1


# What another machine does with a plan: its words, its folder, nothing else from us.
ELSEWHERE = """
import sys
from pathlib import Path
from harness.evidence.pack import pack
from harness.experiments.plan import decoded
from harness.local.workspace import workspace
from harness.runs.run import Worker, Workbench
plan, run = decoded(sys.stdin.buffer.read()), Path.cwd()
with workspace() as space, Workbench(Worker(str(run)), space) as bench:
    outcome = bench.do(plan, lambda count: None)
pack(run / "experiments" / f"{outcome.number:04d}", run / "pack")
print(outcome.trouble, end="")
"""


def test_an_experiment_goes_out_as_bytes_and_comes_back_as_a_pack(tmp_path, stock_kernel, kernel_word):
    """Done in another process and folder, it sums up as what is done here."""
    run_spec = RunSpec((load("replace-by-rename"),), (profile("btrfs"),), (kernel_word,))
    kernels = {(kernel_word, ()): stock_kernel}
    (plan,) = plans_of(run_spec, kernels, agent=agent_hash())
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        (folder / "experiments").mkdir(parents=True)
        write_question(folder, question_of(run_spec, kernels))
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        input=encoded(plan),
        capture_output=True,
        check=False,
        cwd=there,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert (done.stdout, done.stderr) == (b"", b"")
    unpack(there / "pack", here / "experiments/0001")
    summary = sum_up(here, 0.0)
    assert (summary.exit, summary.experiments, summary.reasons) == (0, 1, ())
    assert summary.states.planned == summary.log_entries + 1 > 10
    assert summary == sum_up(there, 0.0)


KEPT = """
run
  creat foo
  write bar 0 8K
  open foo @first
  open bar @second
  close @first
  clone foo @second 0 4K 0
  fsync @second
"""


def test_a_call_that_fails_leaves_kept_descriptors_open(keeper_for):
    """What it left of a file is read by a descriptor of its own, whose number may be below theirs."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        recording = record(guest_slot.guest(), one, parse(KEPT.lstrip()), scratch / "pristine", "6.12")
    clone, fsync = recording.history.run[-2:]
    assert clone.result < 0  # ext4 has no shared blocks
    assert fsync.result == 0


def test_a_program_is_recorded_and_judged(keeper_for, kernel_word):
    """By a kernel without seccomp filters: every call is stopped, and only those of interest are told. A line
    of output has its place after the fsync that it tells of."""
    program = Program(("/bin/sh", "-c", "echo hello >a; sync a; echo done; mv a b; mkdir d"))
    workload = Workload("shell", (), (), program=program)
    with keeper_for(profile("ext4")) as (guest_slot, scratch):
        setting = Setting(guest_slot, profile("ext4"), Tier.FS, kernel_word, scratch / "pristine", scratch)
        with recorded(setting, workload) as (recording, log):
            history = recording.history
            states = list(CrashStates(setting, recording, log, StatePlan()).judged())
    assert [step.operation.word for step in history.run] == ["creat", "write", "fsync", "rename", "mkdir"]
    assert history.written(history.run[1]) == b"hello\n"
    (said,) = history.said
    assert said.text == "done"
    assert history.run[2].end_entry < said.entry < history.run[3].begin_entry
    assert len(states) == history.entry_count + 1
    answers = {verdict.answer for state in states for verdict in state.verdicts}
    assert answers == {Answer.HOLDS}


OVERTAKEN = """
setup
  write log 0 8K
run
  pwrite log 0 4K direct
  pwrite log 0 4K direct-dsync
  fsync log
"""


def test_a_write_that_one_with_fua_overtook_is_put_back_in_front_of_it(keeper_for, kernel_word):
    """dm-log-writes logs the second first; taken as it stands, the log ends with the older bytes."""
    one = profile("ext4")
    with keeper_for(one) as (guest_slot, scratch):
        setting = Setting(guest_slot, one, Tier.FS, kernel_word, scratch / "pristine", scratch)
        with recorded(setting, parse(OVERTAKEN.lstrip())) as (recording, log):
            assert any(entry.flags & EntryFlag.FUA for entry in log)
            states = list(CrashStates(setting, recording, log, StatePlan()).judged())
    answers = {verdict.answer for state in states for verdict in state.verdicts}
    assert answers == {Answer.HOLDS}


def test_what_the_tracer_costs_is_measured_with_it_and_without(keeper_for):
    """The same program on the same disk; only the tracer puts the marks of calls into the log."""
    program = Program(("/bin/sh", "-c", ">a; mv a b; sync; exit 3"), timeout_s=20)
    with keeper_for(profile("ext4")) as (guest_slot, scratch):
        guest = guest_slot.guest()
        for untraced in (False, True):
            done = took(guest, profile("ext4"), program, scratch / "pristine", untraced)
            assert done.status == 3
            assert done.took_ms > 0
            with guest.as_file(LOG) as path, open_log(path, until_end_mark=True) as log:
                assert len(log) > 3
                assert any("begin-" in mark for mark in log.marks.values()) is not untraced


def test_threads_before_an_unmount_are_judged(tmp_path, kernel_word):
    """The tree at the end, which tells their order, is not that of the empty mount point."""
    lines = ["run", "  parallel", "    thread", "      creat A", "    thread", "      mkdir B", "  umount"]
    workload = parse("\n".join(lines) + "\n", "threads-then-umount")
    with Progress() as progress:
        _, summary = run(
            RunSpec((workload,), (profile("ext4"),), (kernel_word,)), tmp_path / "results", progress
        )
    assert (summary.reasons, summary.findings, summary.states.unknown) == ((), (), 0)
    assert summary.states.checked


def test_what_was_recovered_is_used_and_cut_again(tmp_path, kernel_word):
    """Model A in a real guest: each use has steps that succeed, and the states behind it are held to them."""
    run_spec = RunSpec(
        workloads=select(["replace-by-rename"]),
        profiles=(profile("ext4"),),
        kernels=(kernel_word,),
        models=("O", "A"),
        budget=10,
    )
    with Progress() as progress:
        folder, summary = run(run_spec, tmp_path / "results", progress)
    assert (summary.exit, summary.reasons) == (0, ())
    counts = summary.models["A"]
    assert counts.planned == counts.judged > 0
    seen = read_experiment(folder / "experiments/0001").observations
    used = [one.use.steps for one in seen if one.use is not None]
    assert {step.word for steps in used for step in steps} >= {"make", "again", "remove"}
    assert not [step for steps in used for step in steps if step.failed]
    assert any(one.after.done for one in seen if one.after is not None)
