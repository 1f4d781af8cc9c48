"""The measuring itself, without a guest: order of boots, counts of a log, stacks of perf, options."""

import argparse
import os
import struct
import time

import msgspec
import pytest

from harness.commands.main import main, parser
from harness.commands.perf import check_options, kinds, scale
from harness.perf.boot import (
    NotMeasured,
    ScriptReport,
    _check,
    processor_s,
    profile_of,
    quietest_processor,
)
from harness.perf.exact import LOG_ROOT_AT, MAGIC, MAGIC_AT, SUPERBLOCK_SECTOR, calls, commits
from harness.perf.measure import (
    PerfWish,
    all_kernels,
    by_wall_clock,
    counting,
    order,
    variants_of,
)
from harness.perf.sampling import stacks
from harness.stages.gcov import Counts, Line, NotCounted
from harness.states.log import Entry
from workloads.entries import EntryFlag
from workloads.perf.experiment import BadExperiment, select


def test_boots_go_a_b_b_a():
    """So that a slow drift of the host falls on both alike."""
    assert "".join(order(4)) == "ABBAABBA"
    assert order(3).count("A") == order(3).count("B") == 3


def superblock(log_root):
    data = bytearray(4096)
    data[MAGIC_AT : MAGIC_AT + 8] = MAGIC
    struct.pack_into("<Q", data, LOG_ROOT_AT, log_root)
    return Entry(SUPERBLOCK_SECTOR, 8, EntryFlag.FUA, bytes(data))


def test_a_superblock_with_a_log_tree_is_a_log_commit():
    """Without one it ends a transaction; other writes are neither."""
    other = Entry(SUPERBLOCK_SECTOR + 8, 8, 0, superblock(5).data)
    assert commits([superblock(4096), other, superblock(0), superblock(8192)]) == (2, 1)
    assert commits([Entry(SUPERBLOCK_SECTOR, 8, EntryFlag.FUA, bytes(4096))]) == (0, 0)


def test_calls_are_asked_for_in_three_ways():
    """Of a function, of one from another, of a line; what the kernel has not is said."""
    lines = (Line("f.c", 1, 7, "ret = g(x);"), Line("f.c", 2, 30, "if (i + 1 < n)"))
    counts = Counts({"f": 3, "g": 9}, {"f": lines})
    assert [calls(counts, wanted) for wanted in ("f", "f > g", "f @ if (i")] == [3, 7, 30]
    for wanted in ("h", "f > h", "f @ while"):
        with pytest.raises(NotCounted):
            calls(counts, wanted)


PERF_SCRIPT = """
      6008c0f2 btrfs_sync_log+0x12 (/cache/linux)
      6008c000 btrfs_rename2+0x9 (/cache/linux)

      7f0011 memcpy (/usr/lib/libc.so.6)
      6008c000 btrfs_rename2+0x9 (/cache/linux)

      6008c0f2 btrfs_sync_log (/cache/linux)
"""


def test_stacks_are_those_taken_in_the_guests_kernel():
    """The innermost function first; a sample elsewhere is not the kernel's."""
    assert list(stacks(PERF_SCRIPT.splitlines(), "linux")) == [
        ["btrfs_sync_log", "btrfs_rename2"],
        ["btrfs_sync_log"],
    ]


def test_processor_time_is_that_of_the_whole_group():
    """It grows while we work, and hardly while we sleep."""
    group = os.getpgrp()
    before = processor_s(group)
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    assert processor_s(group) - before >= 0.15
    assert quietest_processor([0], over_s=0.01) == 0


def report(status=0, said="", complained=""):
    return ScriptReport(status, 1.0, 2.0, said, complained, ())


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (report(-1, complained="writing 7\n"), "deadline of 3 s.*writing 7"),
        (report(1, complained="dd: No space left on device\n"), "device of 1024 MiB is too small"),
        (report(0, said="fio: No space left on device\n"), "too small"),
        (report(127, complained="bash: fio: command not found\n"), "status 127: bash: fio"),
    ],
)
def test_a_script_that_failed_is_no_measurement(told, words):
    """With the reason and what to change."""
    (one,) = select(("link-rename-latency",))
    with pytest.raises(NotMeasured, match=words):
        _check(told, profile_of(one, one.case[0], 1024 << 20), 3)
    _check(report(said="fine"), profile_of(one, one.case[0], 1024 << 20), 3)


def test_both_kernels_have_the_variants_that_one_of_them_needs():
    """The kernel without the series is built with the same checks; counts need a kernel of their own."""
    (xfs,) = select(("xfs-large-dirs",))
    run_spec = PerfWish((xfs,), "6.12+before/full-hash-order-checks", "6.12")
    assert set(variants_of(run_spec, xfs)) == {"perf", "xfs-debug"}
    assert counting(variants_of(run_spec, xfs)) == ("xfs-debug", "gcov")
    (latency,) = select(("link-rename-latency",))
    plain = PerfWish((latency,), "6.12+before/log-commit-on-rename-and-link", "6.12", kinds=("time",))
    assert all_kernels(plain) == (("uml", ("perf",)),)


def test_on_a_machine_boots_have_its_kernels_and_counts_those_of_user_mode_linux():
    """Counts are the same everywhere; what helps to measure differs."""
    (latency,) = select(("link-rename-latency",))
    plain = PerfWish((latency,), "6.12+before/log-commit-on-rename-and-link", "6.12", guest="ssh:box")
    assert all_kernels(plain)[:2] == (("ssh:box", ("bpf",)), ("uml", ("perf",)))
    timed = msgspec.structs.replace(plain, kinds=("time",))
    assert all_kernels(timed) == (("ssh:box", ("bpf",)),)
    counted = msgspec.structs.replace(plain, kinds=("exact",))
    assert {guest for guest, _ in all_kernels(counted)} == {"uml"}


def test_on_a_machine_every_time_is_by_the_wall_clock():
    """The processor's share is that of one guest on one processor."""
    (dbench,) = select(("dbench",))
    assert {number.clock for number in dbench.number} == {"wall", "processor"}
    assert {number.clock for number in by_wall_clock(dbench).number} == {"wall"}


def options(*words):
    arguments = parser().parse_args(["compare", *words])
    arguments.words = ["compare", *words]
    return arguments


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--scale", "0.5"], "--scale applies only to performance"),
        (["--noise"], "--noise applies only to performance"),
        (["--perf", "--guest", "qemu"], "guests of kind qemu"),
        (["--perf", "--noise", "--against", "6.1"], "Leave --against out"),
        (["--perf", "dbnch"], "no experiment 'dbnch'"),
    ],
)
def test_options_that_make_no_sense_are_refused(words, said):
    """Before anything is built."""
    with pytest.raises(BadExperiment, match=said):
        check_options(options("--kernel", "6.12", *words))


def test_missing_tools_are_named_all_at_once(monkeypatch, capsys):
    """With the line that installs them; status 3."""
    monkeypatch.setattr("harness.local.packages.search_path", lambda: "/nowhere")
    monkeypatch.setattr("harness.local.packages.is_debian", lambda: True)
    words = ["compare", "--kernel", "6.12", "--against", "6.1", "--perf", "dbench", "fsync-fio"]
    assert main(words) == 3
    assert "install --no-install-recommends dbench fio linux-perf" in capsys.readouterr().err


def test_the_same_kernel_twice_offers_the_noise_run(capsys, monkeypatch):
    """Status 2, and what to type."""
    monkeypatch.setattr("harness.commands.compare.key", lambda *_: "one key")
    words = [
        "compare",
        "--kernel",
        "6.12",
        "--against",
        "6.12",
        "--perf",
        "link-rename-latency",
        "--kinds",
        "time",
    ]
    assert main([*words, "--quiet"]) == 2
    assert "powercut compare --kernel 6.12 --noise --perf" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "x", "-1", "101"])
def test_a_scale_is_a_number(text):
    """More than none."""
    with pytest.raises(argparse.ArgumentTypeError):
        scale(text)


def test_kinds_are_those_three():
    """In any number."""
    assert kinds("exact,time") == ("exact", "time")
    with pytest.raises(argparse.ArgumentTypeError, match="exact, profile, time"):
        kinds("speed")
