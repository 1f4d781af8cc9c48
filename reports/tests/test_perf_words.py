"""The block for the commit message, the last lines, the page and the bpftrace scripts."""

import re
from pathlib import Path

from msgspec.structs import replace

from reports.pages.html import write_perf_page
from reports.perf.bpftrace import script
from reports.perf.commit import block, commit_message
from reports.perf.page import headline, noise_sentences, write_texts
from reports.perf.results import ExactSide
from reports.perf.terminal import perf_lines
from reports.tests.make_perf import make_perf, make_perf_there


def test_the_block_has_what_a_commit_message_has():
    """Script, mkfs and mount options, machine, tables before and after, percentages with their intervals."""
    text = commit_message(make_perf())
    for words in (
        "$ cat test.sh",
        '  MOUNT_OPTIONS="-o ssd -o space_cache=v2"',
        '  MKFS_OPTIONS="-m single -d single"',
        "  mkfs.btrfs -f $MKFS_OPTIONS $DEV",
        "  dbench -t 150 -D $MNT 16",
        "(shortened by --scale 0.5)",
        "User Mode Linux with one processor",
        "using a non-debug kernel",
        " Operation      Count    AvgLat    MaxLat",
        "==== sequential, 64 jobs ====",
        "WRITE: bw=",
        " log commits by rename              20            0   1.00 -> 0.00",
        "% throughput by processor time [+",
    ):
        assert words in text, words
    assert "transaction commits" not in text, "nothing to tell: none on either side"
    prose = [line for line in text.splitlines() if line[:1].isalpha() and "WRITE" not in line]
    assert max(map(len, prose)) <= 90


def test_of_a_machine_the_block_tells_what_was_measured():
    """Bare metal or not, processors, turbo, the disk and its scheduler; times of functions by kprobes."""
    text = re.sub(r"\s+", " ", commit_message(make_perf_there()))
    for words in (
        "was run on bare metal (Made Up 3000, 12 processors, governor performance, turbo off, 64 GiB",
        "of its Fast SSD, scheduler none, using a non-debug kernel",
        "DEV=/dev/disk/by-id/nvme-Fast_SSD_1",
        "load average of the machine from",
        "shares of the kernel's samples (bpftrace, profile:hz)",
        "f() 603.5 ms 353.5 ms -41.4%",
    ):
        assert words in text, words
    assert "User Mode Linux" not in text
    assert "on a virtual machine (qemu; Made Up" in commit_message(make_perf_there("qemu")).replace("\n", " ")


def test_of_a_machine_the_last_lines_name_it():
    """And that its times are a hint where it is virtual."""
    for virtual, words in (("none", "scheduler none"), ("qemu", "scheduler none, qemu: a time is a hint")):
        lines = perf_lines(make_perf_there(virtual), Path("perf.html"), Path("message"))
        (clock,) = [line for line in lines if line.startswith("clock")]
        assert clock.endswith(f"nuc1, 12 processors, governor performance, {words}"), clock


def test_of_a_machine_the_page_tells_the_same(tmp_path):
    """Not that it were User Mode Linux."""
    write_perf_page(tmp_path, make_perf_there("qemu"))
    page = (tmp_path / "report" / "perf.html").read_text()
    for words in (
        "Measured on nuc1: 12 processors",
        "That machine is virtual (qemu)",
        "timed by kprobes",
        "603.5 ms",
    ):
        assert words in page, words
    assert "The guest is User Mode Linux" not in page
    assert "ubda" not in page


def test_the_script_of_many_cases_is_told_once():
    """fio's fourteen cases differ in their numbers alone."""
    text = block(make_perf(), make_perf().measured[2])
    assert text.count("$ cat test.sh") == 1
    assert text.count("WRITE: bw=") == 28


def test_what_was_not_shown_is_not_claimed():
    """Two equal kernels: every question says so, on the terminal and in the block."""
    run = make_perf(factor=1.0, noise=0.2)
    text = block(run, run.measured[0])
    assert "no difference shown in rename latency, median" in text
    assert "23 with no difference shown" in headline(run)


def test_the_headline_does_not_speak_of_counts_that_nobody_made():
    """--kinds time: no count is no difference of none."""
    run = make_perf()
    assert re.search(r"; [1-9]\d* of \d+ exact counts differ$", headline(run))
    uncounted = [replace(one, exact_a=ExactSide(), exact_b=ExactSide()) for one in run.measured]
    assert headline(replace(run, measured=tuple(uncounted))).endswith("; nothing was counted")


def test_the_last_lines_name_trouble_and_where_to_read_on(tmp_path):
    """Exact, profile and time each by its own word."""
    lines = perf_lines(make_perf(), tmp_path / "perf.html", tmp_path / "commit-message.txt")
    text = "\n".join(lines)
    assert "  exact    log commits by rename: 20 -> 0" in text
    assert "  profile  time in f(): better" in text
    assert "  TROUBLE  boots: made up" in text
    assert str(tmp_path / "commit-message.txt") in text


def test_the_page_and_the_texts_are_written(tmp_path):
    """One page without a network, the block, and a bpftrace script of each experiment with functions."""
    run = make_perf()
    write_texts(tmp_path, run)
    page = (write_perf_page(tmp_path, run) / "perf.html").read_text()
    assert page.count("<figure") == 5
    assert "No figure here is a benchmark" in page
    assert "-75.8 %" in page
    assert (tmp_path / "commit-message.txt").read_text().startswith("Counted in the log")
    assert sorted(path.name for path in (tmp_path / "perf" / "bpftrace").iterdir()) == [
        "dbench.bt",
        "fsync-fio.bt",
        "link-rename-latency.bt",
    ]


def test_a_bpftrace_script_is_as_the_seeds_have_it():
    """Entry and return of each function, the sum in microseconds."""
    text = script(["btrfs_log_inode", "btrfs_sync_log"])
    assert text.startswith("#!/usr/bin/bpftrace\n")
    assert "k:btrfs_log_inode\n{\n        @start_btrfs_log_inode[tid] = nsecs;\n}" in text
    assert "kr:btrfs_sync_log\n/@start_btrfs_sync_log[tid]/" in text
    assert "clear(@start_btrfs_log_inode);" in text


def test_the_noise_of_this_machine_is_kept_in_a_sentence():
    """What two equal kernels differed by, experiment by experiment."""
    sentences = noise_sentences(make_perf(factor=1.0, noise=0.1))
    assert "no difference shown; the widest interval" in sentences["dbench"]
