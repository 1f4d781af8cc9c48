"""
The series under kernel/series/before/: what an upstream patch improved really goes back, and nothing else.

In:       the sources 6.1, 6.12 and 7.2 by name, with and without each series.
Out:      what the recorded log and the counted calls of kernel functions say of a workload, never a time;
          the library's findings with the series, held against those of the stock kernel.
Not here: what a series takes out and why it is sound (its header).
"""

import contextlib
from pathlib import Path

import msgspec
import pytest

from harness.evidence.named import expected_findings, found_in
from harness.guests.agent_binary import agent_binary
from harness.guests.filesystem import make_filesystem
from harness.guests.guest import GuestSlot, GuestSpec
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.run import LOG_BYTES
from harness.stages.gcov import calls_from, count
from harness.stages.record import record
from harness.states.log import open_log
from kernel.build import build
from oracles.profiles import profile
from workloads.entries import EntryFlag
from workloads.library import load, names
from workloads.text import parse

pytestmark = [pytest.mark.before, pytest.mark.timeout(3600)]

WARNING = 4  # KERN_WARNING
VERSIONS = pytest.mark.parametrize("version", ["6.1", "6.12", "7.2"])
BTRFS = (
    "xattr-search-per-fsync",
    "delayed-items-flushed-for-directory-log",
    "fsync-waits-for-ordered-extents",
    "log-commit-on-rename-and-link",
)
SERIES = (*((name, "btrfs") for name in BTRFS), ("full-hash-order-checks", "xfs"))

# The stock kernel does not log a whiteout with its rename (BTRFS-4). There an fsync has to write the log
# before that can be seen; where the rename itself writes it, one workload more shows it.
SEEN_EARLIER = {
    "log-commit-on-rename-and-link": {
        ("btrfs durable: name lost (fsynced file)", "whiteout-over-synced-file"),
    },
}

DIRECTORY_FSYNCS = """
# Three fsyncs of a directory without xattrs, a new file before each.
setup
  mkdir A
run
  creat A/1
  fsync A
  creat A/2
  fsync A
  creat A/3
  fsync A
"""

FAST_FSYNCS = """
# Three fsyncs of a file whose inode needs no full one: it was fsynced before and is still cached.
setup
  write foo 0 64K
  fsync foo
run
  write foo 0 4K
  fsync foo
  write foo 16K 4K
  fsync foo
  write foo 32K 4K
  fsync foo
"""

# 64 KiB directory blocks, as in the seed. A name of 250 bytes has a data entry of 264, so 300 of them fill
# more than one block, and the directory has a leaf block of its own (fs/xfs/libxfs/xfs_dir2_priv.h).
LARGE_DIRECTORY_BLOCKS = ("-n", "size=65536")
NAMES = tuple(f"A/{number:0250}" for number in range(300))
LARGE_DIRECTORY = "\n".join(
    (
        "# Two names made and two removed in a directory of 300 long ones.",
        "setup",
        "  mkdir A",
        *(f"  creat {name}" for name in NAMES),
        "run",
        "  creat A/one",
        "  creat A/two",
        f"  unlink {NAMES[0]}",
        f"  unlink {NAMES[150]}",
        "",
    )
)


@contextlib.contextmanager
def guest_of(word, one, variants=()):
    """(kernel, guest, pristine image of the profile)"""
    with Progress() as progress:
        kernel = build(word, progress.building(word), variants)
    spec = GuestSpec(Path(kernel.path), agent_binary(), one.size_bytes, LOG_BYTES)
    with workspace() as space, GuestSlot(spec, space) as guest_slot:
        make_filesystem(one, space.path / "pristine")
        yield kernel, guest_slot.guest(), space.path / "pristine"


def superblocks(word, workload):
    """(word, FUA writes) of each operation that was recorded on btrfs. A log commit and a transaction commit
    end with the superblock, the one write with FUA (to its
    first place, write_dev_supers() in fs/btrfs/disk-io.c)."""
    one = profile("btrfs")
    with guest_of(word, one) as (_, guest, pristine):
        recording = record(guest, one, workload, pristine, word)
        with open_log(recording.log) as log:
            return [(step.operation.word, fua_count(log, step)) for step in recording.history.run]


def fua_count(log, step):
    entries = range(step.begin_entry, step.end_entry)
    return sum(bool(log.summary(index).flags & EntryFlag.FUA) for index in entries)


@VERSIONS
def test_every_link_and_rename_commits_the_log(version):
    """After an fsync of their directory: one superblock each with the series, none without."""
    workload = load("renames-and-links-after-directory-fsync")
    asked = [("creat", 0), ("creat", 0), ("fsync", 1)]
    names = ["rename", "link", "rename", "link"]
    assert superblocks(version, workload) == asked + [(name, 0) for name in names]
    series = f"{version}+before/log-commit-on-rename-and-link"
    assert superblocks(series, workload) == asked + [(name, 1) for name in names]


def figures(word, one, text, *read):
    """What each of `read` finds in the counts of the workload, the same in two runs. The kernel has its
    debugging checks, which find nothing."""
    workload = parse(text.lstrip())
    with guest_of(word, one, ("debug", "gcov")) as (kernel, guest, pristine):
        runs = [count(guest, kernel, one, workload, pristine) for _ in range(2)]
        loud = record(guest, one, workload, pristine, word).kernel_log
    assert [line for line in loud if int(line[0]) <= WARNING] == []
    first, second = ([figure(counts) for figure in read] for counts in runs)
    assert first == second
    return first


def calls(function):
    return lambda counts: counts.calls[function]


def searches_for_xattrs(counts):
    return calls_from(counts, "btrfs_log_all_xattrs", "btrfs_search_slot")


@VERSIONS
def test_every_logging_of_an_inode_searches_for_xattrs(version):
    """Three times the directory and once each new file: the second and third time without the series not."""
    read = (calls("btrfs_log_all_xattrs"), searches_for_xattrs)
    series = f"{version}+before/xattr-search-per-fsync"
    assert figures(version, profile("btrfs"), DIRECTORY_FSYNCS, *read) == [6, 4]
    assert figures(series, profile("btrfs"), DIRECTORY_FSYNCS, *read) == [6, 6]


@VERSIONS
@pytest.mark.parametrize(
    ("name", "text", "function"),
    [
        ("delayed-items-flushed-for-directory-log", DIRECTORY_FSYNCS, "btrfs_commit_inode_delayed_items"),
        ("fsync-waits-for-ordered-extents", FAST_FSYNCS, "btrfs_wait_ordered_range"),
    ],
)
def test_every_fsync_calls_it_again(version, name, text, function):
    """Three fsyncs: three calls with the series, none without."""
    read = calls(function)
    assert figures(version, profile("btrfs"), text, read) == [0]
    assert figures(f"{version}+before/{name}", profile("btrfs"), text, read) == [3]


@VERSIONS
def test_every_debug_check_of_a_leaf_compares_all_hash_values(version):
    """Each time that the debug callers ask, all of the more than 300 entries, and none without the series."""
    xfs = profile("xfs")
    large = msgspec.structs.replace(xfs, mkfs=(*xfs.mkfs, *LARGE_DIRECTORY_BLOCKS))
    read = (calls("xfs_dir3_leaf1_check"), entries_looked_at)
    series = f"{version}+before/full-hash-order-checks"
    asked, looked_at = figures(version, large, LARGE_DIRECTORY, *read)
    asked_with, looked_at_with = figures(series, large, LARGE_DIRECTORY, *read)
    assert (asked, looked_at) == (asked_with, 0)
    assert looked_at_with > asked * 300 > 0


def entries_looked_at(counts):
    """Rounds of the loop that compares each entry's hash value with the next one's. The line that compares
    is no measure: it holds several blocks, and gcov adds them up."""
    lines = counts.lines["xfs_dir3_leaf_check_int"]
    (rounds,) = (line.count for line in lines if line.text.startswith("if (i + 1 < hdr->count)"))
    return rounds


@pytest.mark.parametrize("word", ["6.12", "6.12+before/log-commit-on-rename-and-link"])
def test_the_steps_of_generic_498_keep_their_promises(main_job, word):
    """The test that the log commits had been put in for: on both sides of their removal."""
    steps = [name for name in names() if "generic/498" in " ".join(load(name).comment)]
    _, summary = main_job(steps, ["btrfs"], word)
    assert len(steps) >= 2
    assert (summary.exit, summary.findings, summary.reasons) == (0, (), ())


@VERSIONS
@pytest.mark.parametrize(("name", "on"), SERIES)
def test_a_kernel_with_it_boots_and_keeps_a_few_promises(main_job, version, name, on):
    """On each of the three sources."""
    few = ["replace-by-rename", "append-fsync-repeated", "link-into-new-directory"]
    _, summary = main_job(few, [on], f"{version}+before/{name}")
    assert (summary.exit, summary.findings, summary.reasons) == (0, (), ())


@pytest.mark.parametrize(("name", "on"), SERIES)
def test_library_finds_what_it_finds_on_the_stock_kernel(main_job, name, on):
    """Not a promise is lost, and not a known bug of 6.12 is hidden."""
    _, summary = main_job(names(), [on], f"6.12+before/{name}")
    assert summary.reasons == ()
    assert summary.states.unknown == 0
    found = found_in(summary)
    surely = expected_findings("6.12", on) | SEEN_EARLIER.get(name, set())
    assert surely <= found <= surely | expected_findings("6.12", on, maybe=True)
