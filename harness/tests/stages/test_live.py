"""A kernel that dies, hangs or complains while it records. The guests are made up."""

import errno
import subprocess
from pathlib import Path

import pytest

from harness.experiments.examination import Setting, record_in
from harness.guests.guest import LostGuest
from harness.guests.symbols import function_at, symbols_of, with_functions
from harness.stages.live import Died, live_of
from harness.tests.fake_guest import CONSOLE
from harness.tests.fake_recorder import PROFILE, STARVED, WORKLOAD, DyingGuestSlot
from oracles.verdict import Tier


def record(folder: Path, *fates: tuple[str, str, tuple[str, ...]]) -> DyingGuestSlot:
    """fates: of one recording after the other, how it ends, in which stage, and what the console says."""
    folder.mkdir(exist_ok=True)
    slot = DyingGuestSlot(folder, fates)
    record_in(Setting(slot, PROFILE, Tier.FS, "6.12", folder / "pristine", folder), WORKLOAD)
    return slot


def test_a_panic_is_the_kernels_and_the_history_ends_with_its_operation(tmp_path: Path) -> None:
    with pytest.raises(Died) as raised:
        record(tmp_path, ("panic", "operation 1", CONSOLE))
    live, history = raised.value.live, raised.value.history
    assert (live.spec, live.seen.death, live.seen.console) == ("L:1", "panic", CONSOLE)
    assert live.seen.death_during == "operation 1 (creat A/foo)"
    steps = [(step.index, step.returned, step.reported) for step in (*history.setup, *history.run)]
    assert steps == [(0, True, False), (1, False, False)]
    assert len(history.setup) == 1


def test_a_panic_where_its_memory_found_no_room_accuses_nobody(tmp_path: Path) -> None:
    """Seen in a /dev/shm of 64 MiB: "btrfs alive: panic (fsync)", a false alarm."""
    fate = (STARVED, "operation 1", CONSOLE)
    with pytest.raises(LostGuest) as raised:
        record(tmp_path / "twice", fate, fate)
    assert not isinstance(raised.value, Died)
    assert record(tmp_path / "once", fate).boots == 2


@pytest.mark.parametrize(
    ("stage", "spec", "during", "steps"),
    [
        ("mount", "L:0", "mount", 0),
        ("operation 0", "L:0", "operation 0 (mkdir A)", 1),
        ("unmount", "L:3", "unmount", 3),
    ],
)
def test_each_stage_has_its_state(tmp_path: Path, stage: str, spec: str, during: str, steps: int) -> None:
    with pytest.raises(Died) as raised:
        record(tmp_path, ("panic", stage, CONSOLE))
    live, history = raised.value.live, raised.value.history
    assert (live.spec, live.seen.death_during) == (spec, during)
    assert len(history.setup) + len(history.run) == steps
    assert all(step.returned == (stage == "unmount") for step in (*history.setup, *history.run))


def test_a_guest_that_ends_without_a_word_is_our_trouble(tmp_path: Path) -> None:
    """It is recorded once more: somebody may have killed the guest."""
    silent = ("exit", "operation 1", ("random: crng init done",))
    assert record(tmp_path / "once", silent).boots == 2
    with pytest.raises(LostGuest) as raised:
        record(tmp_path / "twice", silent, silent)
    assert not isinstance(raised.value, Died)


def test_a_hang_that_does_not_come_again_was_ours(tmp_path: Path) -> None:
    assert record(tmp_path, ("hang", "operation 2", ())).boots == 2


def test_a_hang_that_comes_again_in_the_same_operation_is_the_kernels(tmp_path: Path) -> None:
    hang = ("hang", "operation 2", ())
    with pytest.raises(Died) as raised:
        record(tmp_path, hang, hang)
    assert (raised.value.live.spec, raised.value.live.seen.death) == ("L:2", "hang")


def test_a_hang_that_comes_again_elsewhere_is_our_trouble(tmp_path: Path) -> None:
    with pytest.raises(LostGuest) as raised:
        record(tmp_path, ("hang", "operation 2", ()), ("hang", "operation 1", ()))
    assert not isinstance(raised.value, Died)


def test_a_hang_that_the_kernel_reports_is_believed_at_once(tmp_path: Path) -> None:
    said = ("INFO: task init:1 blocked for more than 61 seconds.",)
    with pytest.raises(Died) as raised:
        record(tmp_path, ("hang", "operation 2", said))
    assert raised.value.live.seen.death == "hang"


LOG = ("6 mounted", "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/file.c:9 f+0x1/0x2", "4 Call Trace:")


@pytest.mark.parametrize(
    ("lines_by_step", "spec"),
    [([(0, 1), (1, 3), (2, 3)], "L:1"), ([(0, 3), (1, 3), (2, 3)], "L:0"), ([(0, 1), (1, 1), (2, 1)], "L:3")],
)
def test_a_report_belongs_to_the_operation_that_was_under_way(lines_by_step: list, spec: str) -> None:
    """Or to the unmount behind the last."""
    live = live_of(LOG, 0, lines_by_step)
    assert live is not None
    assert (live.spec, live.seen.kernel_log) == (spec, LOG)


def test_a_kernel_that_is_content_is_no_state() -> None:
    assert live_of(("6 mounted", "5 EXT4-fs (dm-0): recovery complete"), 0, [(0, 2)]) is None


def test_a_failed_unmount_is_a_state_of_its_own() -> None:
    live = live_of((), errno.EBUSY, [(0, 0), (1, 0)])
    assert live is not None
    assert (live.spec, live.seen.umount_errno) == ("L:2", errno.EBUSY)


def test_an_address_gets_its_function_from_the_kernels_symbols(tmp_path: Path) -> None:
    source, program = tmp_path / "k.c", tmp_path / "k"
    source.write_text(
        "int before(void) { return 1; } int at_fault(void) { return 2; } int main(void) { return 0; }"
    )
    subprocess.run(["gcc", "-O0", "-no-pie", "-o", str(program), str(source)], check=True)
    start = next(address for address, name in symbols_of(program) if name == "at_fault")
    (line,) = with_functions([f"fault at addr 0x108, ip {start + 4:#x}"], program)
    assert line.startswith(f"fault at addr 0x108, ip {start + 4:#x} (at_fault+0x4/0x")
    assert with_functions([line], program) == (line,)


def test_an_address_of_no_known_function_stays_as_it_is(tmp_path: Path) -> None:
    assert with_functions(["ip 0x10"], tmp_path / "nothing") == ("ip 0x10",)
    assert function_at([(16, "f"), (32, "g")], 8) == ""
    assert function_at([(16, "f"), (32, "g")], 20) == "f+0x4/0x10"


def test_what_xfs_says_of_an_error_that_was_asked_for_is_no_report() -> None:
    """A WARNING is one all the same, and stands at its operation."""
    log = (
        "4 XFS (dm-0): Injecting error",
        "1 XFS (dm-0): Corruption of in-memory data detected",
        "4 WARNING: x",
    )
    by_step = ((0, 1), (1, 2), (2, 3))
    assert live_of(log[:2], 0, by_step, injects=True) is None
    assert live_of(log[:2], 0, by_step) is not None
    live = live_of(log, 0, by_step, injects=True)
    assert live is not None
    assert live.spec == "L:2"
