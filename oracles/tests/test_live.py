"""What a kernel says of itself while a workload is recorded. The first trace is a guest's, cut short; the
others have the form of the kernel's own messages."""

import errno

import pytest

from oracles.finding import signature
from oracles.live import culprit, first_report, judge_live
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.verdict import Answer, Tier

BTRFS = profile("btrfs")
UML_FAULT = (
    "Kernel panic - not syncing: Kernel mode fault at addr 0x108, "
    "ip 0x6030e5b5 (btrfs_log_inode+0xb95/0x1d70)",
    "CPU: 0 UID: 0 PID: 1 Comm: init Not tainted 6.12.117 #1 ",
    "Call Trace:",
    " [<602a1a20>] ? btrfs_search_slot+0x0/0xff0",
    " [<6002a700>] ? unblock_signals+0xe0/0x110",
    " [<6030fe83>] ? btrfs_log_inode_parent+0x153/0xfb0",
    " [<604f8c20>] ? mutex_lock+0x0/0x30",
)
UML_BUG = (
    "BUG: failure at fs/btrfs/tree-log.c:5030/btrfs_log_changed_extents()!",
    "Kernel panic - not syncing: BUG!",
    "Call Trace:",
    " [<6030fe83>] ? btrfs_log_inode_parent+0x153/0xfb0",
)
X86_OOPS = (
    "BUG: unable to handle page fault for address: dead000000000108",
    "Oops: Oops: 0002 [#1] NOPTI",
    "RIP: 0010:btrfs_log_inode+0x9a4/0x1a30",
    "Call Trace:",
    " ? die_addr+0x36/0x90",
    " btrfs_log_inode_parent+0x2b1/0xe80",
    "Kernel panic - not syncing: Fatal exception",
)
ARM64_OOPS = (
    "Unable to handle kernel NULL pointer dereference at virtual address 0000000000000108",
    "Internal error: Oops: 0000000096000004 [#1] SMP",
    "pc : btrfs_log_inode+0x9a4/0x1a30 [btrfs]",
    "lr : btrfs_log_inode_parent+0x2b1/0xe80 [btrfs]",
    "Call trace:",
    " btrfs_log_inode+0x9a4/0x1a30 [btrfs]",
    "Kernel panic - not syncing: Oops: Fatal exception",
)
ARM64_HUNG = (
    "INFO: task init:1 blocked for more than 61 seconds.",
    "Call trace:",
    " __switch_to+0xf0/0x150",
    " __schedule+0x2b8/0x7e8",
    " do_get_write_access+0xcc/0x5d0",
)
LIST_BUG = (
    "list_del corruption, ffff888003a1 is LIST_POISON1 (dead000000000100)",
    "kernel BUG at lib/list_debug.c:56!",
    "RIP: 0010:__list_del_entry_valid_or_report+0x7a/0xc0",
    "Call Trace:",
    " ? die+0x32/0x80",
    " btrfs_log_inode+0x9a4/0x1a30",
)
WARNING = (
    "6 BTRFS info (device dm-0): using free-space-tree",
    "4 ------------[ cut here ]------------",
    "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/tree-log.c:5081 btrfs_log_changed_extents+0x12/0x34",
    "4 Call Trace:",
    "4  [<602c00ce>] ? btrfs_sync_file+0xee/0x7f0",
)
HUNG = (
    "INFO: task init:1 blocked for more than 61 seconds.",
    "Call Trace:",
    " [<604f8c21>] ? schedule+0x51/0x90",
    " [<602c00ce>] ? wait_current_trans+0xee/0x1f0",
    " [<602c0fce>] ? btrfs_sync_file+0xee/0x7f0",
)


def died(console: tuple[str, ...], death: str = "panic") -> Observation:
    return Observation(death=death, death_during="operation 4 (fsync a/foo)", console=console)


@pytest.mark.parametrize(
    ("console", "function"),
    [
        (UML_FAULT, "btrfs_log_inode()"),
        (UML_BUG, "btrfs_log_changed_extents()"),
        (X86_OOPS, "btrfs_log_inode()"),
        (ARM64_OOPS, "btrfs_log_inode()"),
        (ARM64_HUNG, "do_get_write_access()"),
        (LIST_BUG, "btrfs_log_inode()"),
        (WARNING, "btrfs_log_changed_extents()"),
        (HUNG, "btrfs_sync_file()"),
        (("Kernel panic - not syncing: out of luck",), ""),
    ],
)
def test_the_function_that_was_under_way_is_named(console: tuple[str, ...], function: str) -> None:
    """Not the check that found the damage: many callers share that."""
    assert culprit(console) == function


@pytest.mark.parametrize("console", [UML_FAULT, UML_BUG, X86_OOPS, ARM64_OOPS, LIST_BUG])
def test_a_kernel_that_dies_is_broken_with_its_first_report(console: tuple[str, ...]) -> None:
    (verdict,) = judge_live(BTRFS, Tier.FS, died(console))
    (violation,) = verdict.violations
    assert (verdict.oracle, verdict.answer, violation.kind) == ("alive", Answer.BROKEN, "panic")
    reported = console[first_report(console)]
    assert violation.found == f"during operation 4 (fsync a/foo): {reported.strip()}"
    assert "unmounts at the end" in violation.promise


def test_a_hang_without_a_word_is_told_by_its_operation() -> None:
    (verdict,) = judge_live(BTRFS, Tier.FS, died((), "hang"))
    assert signature("btrfs", verdict.oracle, verdict.violations[0]) == "btrfs alive: hang (fsync)"


def test_a_warning_is_broken_quiet_and_the_kernel_alive() -> None:
    alive, quiet = judge_live(BTRFS, Tier.FS, Observation(kernel_log=WARNING))
    assert (alive.oracle, alive.answer) == ("alive", Answer.HOLDS)
    (violation,) = quiet.violations
    assert signature("btrfs", quiet.oracle, violation) == "btrfs quiet: warning (btrfs_log_changed_extents())"
    assert violation.found.startswith("WARNING: CPU: 0 PID: 1 at fs/btrfs/tree-log.c:5081")


def test_a_failed_unmount_is_broken_alive() -> None:
    alive, quiet = judge_live(BTRFS, Tier.FS, Observation(umount_errno=errno.EBUSY))
    assert [each.found for each in alive.violations] == ["unmount: EBUSY"]
    assert quiet.answer is Answer.HOLDS


def test_busy_inodes_are_reported_where_the_kernel_does_not_warn() -> None:
    line = "0 VFS: Busy inodes after unmount of dm-0. Self-destruct in 5 seconds.  Have a nice day..."
    _, quiet = judge_live(BTRFS, Tier.FS, Observation(kernel_log=(line,)))
    assert [each.kind for each in quiet.violations] == ["busy inodes"]


@pytest.mark.parametrize(
    "console",
    [
        (),
        ("random: crng init done",),
        ("Kernel panic - not syncing: Attempted to kill init! exitcode=0x0000000b",),
        (
            "init invoked oom-killer: gfp_mask=0x0",
            "Kernel panic - not syncing: System is deadlocked on memory",
        ),
    ],
    ids=["nothing", "no report", "the agent died", "too little memory"],
)
def test_what_our_guest_or_agent_did_accuses_no_kernel(console: tuple[str, ...]) -> None:
    assert first_report(console) == -1


def test_an_oops_that_kills_the_agent_is_the_kernels() -> None:
    console = (*X86_OOPS[:3], "Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009")
    assert first_report(console) == 0


def test_a_call_that_is_refused_may_say_why() -> None:
    """ext4 has a line at the level of an error for it; another one at that level is trouble."""
    for text, answer in (
        ("EXT4-fs (dm-1): Online defrag not supported with data journaling", Answer.HOLDS),
        ("EXT4-fs error (device dm-1): ext4_lookup:1: inode #2: bad", Answer.BROKEN),
    ):
        _, quiet = judge_live(BTRFS, Tier.FS, Observation(kernel_log=(f"3 {text}",)))
        assert quiet.answer is answer
