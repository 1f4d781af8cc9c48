"""A recording is cut into base, log and history. The guest is made up; it leaves a log as a kernel would."""

from pathlib import Path

import msgspec
import pytest

from harness.stages.record import NotRecorded, program
from harness.states.log import BadLog, open_log
from harness.tests.fake_recorder import LOG, PROFILE, REPORT, SIZE_BYTES, WORKLOAD, Recorder
from reports.results import SLOW, Device
from workloads.text import parse


def test_the_base_is_the_disk_at_the_end_of_setup(tmp_path: Path) -> None:
    base = Recorder(tmp_path).record().base.read_bytes()
    assert base[:512] == b"s" * 512
    assert base[512:4096] == b"p" * 3584
    assert base[4096:] == b"S" * 512 + bytes(SIZE_BYTES - 4096 - 512)


def test_the_log_is_what_lies_between_the_marks_run_and_end(tmp_path: Path) -> None:
    with open_log(Recorder(tmp_path).record().log) as log:
        assert tuple(log.entries()) == LOG[5:11]


def test_the_history_places_operations_in_the_log_that_is_kept(tmp_path: Path) -> None:
    history = Recorder(tmp_path).record().history
    assert [(step.begin_entry, step.end_entry) for step in history.setup] == [(-1, -1)]
    assert [(step.begin_entry, step.end_entry) for step in history.run] == [(0, 1), (2, 5)]
    assert [step.inode for step in (*history.setup, *history.run)] == [257, 258, 259]
    assert (history.entry_count, history.root_inode, history.kernel) == (6, 256, "6.12")


def test_the_guest_gets_the_pristine_disk_and_an_empty_log(tmp_path: Path) -> None:
    guest = Recorder(tmp_path)
    guest.record()
    assert guest.disk == (tmp_path / "pristine").read_bytes()
    assert guest.log_was_empty


@pytest.mark.parametrize(
    ("device", "request_"),
    [(Device(), ["record"]), (Device(SLOW, 4711), ["late", "4711"])],
    ids=["fast", "slow"],
)
def test_the_agent_is_told_the_device_and_its_seed(
    tmp_path: Path, device: Device, request_: list[str]
) -> None:
    guest = Recorder(tmp_path)
    guest.record(device)
    assert guest.request == request_


def test_the_agent_is_told_the_operations_as_lines_of_fields(tmp_path: Path) -> None:
    guest = Recorder(tmp_path)
    guest.record()
    assert guest.program == program(PROFILE, WORKLOAD)
    assert guest.program.splitlines() == [
        f"btrfs\tssd\t{SIZE_BYTES // 512}\t0\t20\t-",
        "setup\t0\tmkdir\tA\t\t\t\t\t\t\t0\t0\t0\t0\t0\t0\t0",
        "run\t1\tcreat\tA/foo\t\t\t\t\t\t\t0\t0\t0\t0\t0\t0\t0",
        "run\t2\tfsync\tA/foo\t\t\t\t\t\t\t0\t0\t0\t0\t0\t0\t0",
    ]


def test_an_access_control_list_goes_to_the_agent_as_the_attribute_it_is() -> None:
    workload = parse("run\n  setfacl A u::rw-,u:7:r--,g::r--,m::r--,o::---\n")
    fields = program(PROFILE, workload).splitlines()[1].split("\t")
    assert fields[7] == "system.posix_acl_access"
    assert fields[8].startswith("02000000" + "01000600ffffffff" + "0200040007000000")


def test_an_operation_that_failed_keeps_its_errno(tmp_path: Path) -> None:
    steps = [dict(step, result=-17) for step in REPORT["steps"]]
    assert [step.result for step in Recorder(tmp_path, steps=steps).record().history.run] == [-17, -17]


@pytest.mark.parametrize(
    ("instead", "message"),
    [
        (
            {"mount_errno": 22, "kernel_log": ["3 BTRFS error: bad"]},
            r"could not be mounted \(error 22\): 3 BTRFS",
        ),
        (
            {"kernel_log": ["3 device-mapper: Ran out of space"]},
            r"is full. Use a larger one: --log-size \d+M",
        ),
        ({"device": {"write_cache": "write through"}}, "'write through', not 'write back'"),
        ({"device": {}}, "None, not 'write back'"),
        ({"steps": "none"}, "the report of the agent is invalid"),
    ],
    ids=["mount fails", "log overflows", "write through", "no cache told", "senseless"],
)
def test_what_was_not_recorded_is_told(tmp_path: Path, instead: dict, message: str) -> None:
    with pytest.raises(NotRecorded, match=message):
        Recorder(tmp_path, **instead).record()


@pytest.mark.parametrize(
    ("missing", "message"),
    [("run", "is the mark 'run'"), ("end", "entry 13 at byte 9216 is invalid")],  # behind the log are zeros
)
def test_a_log_without_its_marks_is_no_recording(tmp_path: Path, missing: str, message: str) -> None:
    log = tuple(entry for entry in LOG if entry.mark != missing)
    with pytest.raises(BadLog, match=message):
        Recorder(tmp_path, log).record()


@pytest.mark.parametrize("missing", ["begin-2", "done-2"])
def test_an_operation_without_its_marks_is_no_recording(tmp_path: Path, missing: str) -> None:
    """It would count as done before the log began."""
    log = tuple(entry for entry in LOG if entry.mark != missing)
    with pytest.raises(NotRecorded, match=r"no marks of operation 2 \(fsync\)"):
        Recorder(tmp_path, log).record()


def test_one_mark_may_end_an_operation_and_begin_the_next(tmp_path: Path) -> None:
    """The tracer makes such marks: both places are the same entry."""
    both = tuple(
        msgspec.structs.replace(entry, mark="done-1,begin-2") if entry.mark == "done-1" else entry
        for entry in LOG
        if entry.mark != "begin-2"
    )
    first, second = Recorder(tmp_path, both).record().history.run
    assert first.end_entry == second.begin_entry


def test_a_kernel_that_complains_is_kept_with_the_recording_and_not_used_again(tmp_path: Path) -> None:
    said = ["6 BTRFS info: all is well", "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/file.c:9 f+0x1/0x2"]
    steps = [dict(step, log_lines=1 + (step["index"] == 2)) for step in REPORT["steps"]]
    guest = Recorder(tmp_path, kernel_log=said, steps=steps)
    live = guest.record().live
    assert live is not None
    assert (live.spec, live.seen.kernel_log, guest.used_up) == ("L:2", tuple(said), True)


def test_a_kernel_that_is_content_goes_on_recording(tmp_path: Path) -> None:
    guest = Recorder(tmp_path)
    assert (guest.record().live, guest.used_up) == (None, False)
