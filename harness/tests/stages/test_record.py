"""A recording is cut into base, log and history. The guest is made up; it leaves a log as a kernel would."""

import json
from pathlib import Path

import msgspec
import pytest

from harness.stages.record import NotRecorded, Recording, program, record
from harness.states.disk import BLOCK_BYTES
from harness.states.log import BadLog, Entry, open_log, write_log
from oracles.profiles import profile
from workloads.entries import EntryFlag
from workloads.text import parse

SIZE_BYTES = 64 * BLOCK_BYTES
PROFILE = msgspec.structs.replace(profile("btrfs-single"), size_bytes=SIZE_BYTES)
WORKLOAD = parse("setup\n  mkdir A\nrun\n  creat A/foo\n  fsync A/foo\n")


def mark(text: str) -> Entry:
    return Entry(0, 0, EntryFlag.MARK, mark=text)


def written(sector: int, letter: bytes) -> Entry:
    return Entry(sector, 1, 0, letter * 512)


LOG = (
    *(mark("begin-0"), written(0, b"s"), mark("done-0"), written(8, b"S"), mark("run")),
    *(mark("begin-1"), mark("done-1"), mark("begin-2"), written(0, b"r"), Entry(0, 0, EntryFlag.FLUSH)),
    *(mark("done-2"), mark("end"), written(16, b"e"), mark("dm-log-writes-end")),
)
REPORT = {
    "mount_errno": 0,
    "root_inode": 256,
    "device": {"write_cache": "write back", "fua": "0"},
    "steps": [{"index": n, "result": 0, "inode": 257 + n, "blocks": 0, "left": 0} for n in range(3)],
    "kernel_log": ["6 BTRFS info: all is well"],
}


class Recorder:
    """Answers `record` with this log and report."""

    def __init__(self, folder: Path, log: tuple[Entry, ...] = LOG, **instead: object) -> None:
        self.folder = folder
        self.log = log
        self.report = json.dumps({**REPORT, **instead}).encode()
        (folder / "pristine").write_bytes(b"p" * BLOCK_BYTES + bytes(SIZE_BYTES - BLOCK_BYTES))
        for name in ("disk", "log", "inbox", "outbox"):
            (folder / name).write_bytes(b"left over" * 9000)

    def ask(self, command: str, timeout_s: float) -> list[str]:
        word, size_bytes = command.split()
        assert word == "record"
        self.program = (self.folder / "inbox").read_bytes()[: int(size_bytes)].decode()
        self.disk = (self.folder / "disk").read_bytes()
        self.log_was_empty = not (self.folder / "log").read_bytes().strip(b"\0")
        write_log(self.folder / "log", self.log)
        (self.folder / "outbox").write_bytes(self.report)
        return ["report", str(len(self.report))]

    def record(self) -> Recording:
        return record(self, PROFILE, WORKLOAD, self.folder / "pristine", "6.12")


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


def test_the_agent_is_told_the_operations_as_lines_of_fields(tmp_path: Path) -> None:
    guest = Recorder(tmp_path)
    guest.record()
    assert guest.program == program(PROFILE, WORKLOAD)
    assert guest.program.splitlines() == [
        f"btrfs\tssd\t{SIZE_BYTES // 512}\t0",
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
            r"fresh filesystem failed \(22\): 3 BTRFS",
        ),
        ({"kernel_log": ["3 device-mapper: Ran out of space"]}, r"overflowed: ask for more, --log-size \d+M"),
        ({"device": {"write_cache": "write through"}}, "'write through', not 'write back'"),
        ({"device": {}}, "None, not 'write back'"),
        ({"steps": "none"}, "the agent's report makes no sense"),
    ],
    ids=["mount fails", "log overflows", "write through", "no cache told", "senseless"],
)
def test_what_was_not_recorded_is_told(tmp_path: Path, instead: dict, message: str) -> None:
    with pytest.raises(NotRecorded, match=message):
        Recorder(tmp_path, **instead).record()


@pytest.mark.parametrize("missing", ["run", "end"])
def test_a_log_without_its_marks_is_no_recording(tmp_path: Path, missing: str) -> None:
    log = tuple(entry for entry in LOG if entry.mark != missing)
    with pytest.raises(BadLog, match=f"no mark '{missing}'"):
        Recorder(tmp_path, log).record()


@pytest.mark.parametrize("missing", ["begin-2", "done-2"])
def test_an_operation_without_its_marks_is_no_recording(tmp_path: Path, missing: str) -> None:
    """It would count as done before the log began."""
    log = tuple(entry for entry in LOG if entry.mark != missing)
    with pytest.raises(NotRecorded, match=r"no marks of operation 2 \(fsync\)"):
        Recorder(tmp_path, log).record()
