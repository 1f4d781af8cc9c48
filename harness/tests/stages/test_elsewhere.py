"""A log from elsewhere: what can be read, what fits, and what is refused with the place and the fix."""

import msgspec
import pytest
import zstandard

from harness.evidence.pack import BadPack
from harness.evidence.store import NoResults
from harness.stages.elsewhere import BadSource, Source, is_pack, open_source, pack_experiment
from harness.states.log import BadLog, Entry, open_log, write_log
from harness.tests.made_log import (
    OTHER_UUID,
    SIZE_BYTES,
    make_base,
    mark,
    superblock_entry,
    superblock_of,
    written,
)
from oracles.profiles import UnknownProfile
from oracles.tests.made import Bench
from reports import formats
from reports.results import ExperimentFacts
from workloads.entries import EntryFlag
from workloads.text import format as format_workload

ENTRIES = (written(512), mark("half"), written(520, b"y"), Entry(0, 0, EntryFlag.FLUSH))
BENCH = Bench("run\n  creat foo\n  fsync foo\n")


@pytest.fixture
def scratch(tmp_path):
    (folder := tmp_path / "scratch").mkdir()
    return folder


@pytest.fixture
def source(tmp_path):
    write_log(tmp_path / "some.log", ENTRIES)
    return Source(tmp_path / "some.log", make_base(tmp_path / "base.img"))


def compressed(path):
    packed = path.with_name(path.name + ".zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    return packed


def with_(source, **instead):
    return msgspec.structs.replace(source, **instead)


def entries_of(foreign):
    with open_log(foreign.recording.log) as log:
        return tuple(log.entries())


def test_a_raw_log_and_image_become_a_recording(source, scratch):
    """Nothing is known of what was done, and the profile is that of the filesystem on the base."""
    foreign = open_source(source, scratch)
    assert entries_of(foreign) == ENTRIES
    assert foreign.recording.base.read_bytes() == source.base.read_bytes()
    assert (foreign.profile.name, foreign.profile.size_bytes, foreign.name) == ("ext4", SIZE_BYTES, "some")
    assert not foreign.recording.history.known
    assert foreign.recording.history.entry_count == len(ENTRIES)


def test_a_guest_is_asked_to_hold_the_base_and_what_the_log_writes(source, scratch):
    """Its memory is made after that: with generic/475 a guest for an empty base ran out of memory."""
    foreign = open_source(source, scratch)
    assert foreign.held_bytes == foreign.data_bytes + 2 * 4096  # sectors 512 and 520, a block each


def test_both_may_be_compressed(source, scratch):
    foreign = open_source(Source(compressed(source.log), compressed(source.base)), scratch)
    assert entries_of(foreign) == ENTRIES
    assert foreign.recording.base.read_bytes() == source.base.read_bytes()
    assert foreign.recording.base.stat().st_blocks * 512 < SIZE_BYTES // 2  # zeros became holes


def test_a_compressed_file_may_have_several_frames(source, scratch):
    """As parallel compressors write it."""
    packed, content = source.log.with_name("frames.zst"), source.log.read_bytes()
    packed.write_bytes(zstandard.compress(content[:1000]) + zstandard.compress(content[1000:]))
    assert entries_of(open_source(with_(source, log=packed), scratch)) == ENTRIES


def test_a_base_may_be_the_log_that_makes_it(source, scratch, tmp_path):
    """As an experiment keeps it; its size is that of the profile."""
    write_log(tmp_path / "base.log", [superblock_entry("ext4")])
    foreign = open_source(with_(source, base=tmp_path / "base.log", profile="ext4"), scratch)
    assert foreign.recording.base.read_bytes()[1024:2048] == superblock_of("ext4")
    with pytest.raises(BadSource, match="Name the profile with --fs"):
        open_source(with_(source, base=tmp_path / "base.log"), scratch)


def test_a_disk_that_ends_between_two_blocks_is_filled_up(source, scratch, tmp_path):
    base = tmp_path / "odd.img"
    base.write_bytes(source.base.read_bytes() + bytes(512))
    assert open_source(with_(source, base=base), scratch).profile.size_bytes == SIZE_BYTES + 4096


def test_what_stands_before_a_mark_belongs_to_the_base(source, scratch):
    foreign = open_source(with_(source, first="half"), scratch)
    assert entries_of(foreign) == ENTRIES[2:]
    assert foreign.recording.base.read_bytes()[512 * 512 :][:4096] == b"x" * 4096


def test_the_end_may_be_a_mark_too(source, scratch):
    assert entries_of(open_source(with_(source, last="half"), scratch)) == ENTRIES[:1]


def test_a_log_that_begins_before_mkfs_is_examined_from_a_mark_behind_it(tmp_path, scratch):
    """The base is then what mkfs made of a disk without a filesystem."""
    (tmp_path / "empty.img").write_bytes(bytes(SIZE_BYTES))
    write_log(tmp_path / "log", [superblock_entry("xfs"), mark("mkfs"), *ENTRIES])
    source = Source(tmp_path / "log", tmp_path / "empty.img")
    with pytest.raises(
        BadSource, match=r"holds no filesystem .* --from MARK. The marks of the log are: mkfs, half"
    ):
        open_source(source, scratch)
    foreign = open_source(with_(source, first="mkfs"), scratch)
    assert foreign.profile.name == "xfs"
    assert entries_of(foreign) == ENTRIES


def test_a_log_without_marks_says_so(tmp_path, scratch):
    (tmp_path / "empty.img").write_bytes(bytes(SIZE_BYTES))
    write_log(tmp_path / "log", [written(0)])
    with pytest.raises(BadSource, match="The log has no marks"):
        open_source(Source(tmp_path / "log", tmp_path / "empty.img"), scratch)


# --- what is refused -----------------------------------------------------------------------------


def test_a_missing_file_is_named(source, scratch, tmp_path):
    with pytest.raises(BadSource, match="none: there is no such file"):
        open_source(with_(source, base=tmp_path / "none"), scratch)


def test_a_log_needs_its_base(source, scratch):
    with pytest.raises(BadSource, match="--base IMAGE"):
        open_source(Source(source.log), scratch)


@pytest.mark.parametrize("cut", [3, 40, 513, 700, -100])
def test_a_log_that_is_cut_off_is_refused(source, scratch, cut):
    """In its superblock, in a header, in data; its end is checked before anything is built."""
    source.log.write_bytes(source.log.read_bytes()[:cut])
    with pytest.raises(BadLog, match=r"(too small|cut off|ends after)"):
        open_source(source, scratch)


@pytest.mark.parametrize("at", [0, 8, 512 + 16])
def test_a_damaged_log_is_refused(source, scratch, at):
    """Magic number, version, the flags of an entry."""
    content = bytearray(source.log.read_bytes())
    content[at : at + 4] = b"\xff" * 4
    source.log.write_bytes(content)
    with pytest.raises(BadLog, match=r"(is not a dm-log-writes log|version|is invalid)"):
        open_source(source, scratch)


def test_another_kind_of_file_is_no_log(source, scratch):
    source.log.write_bytes(b"a capture of something else, and long enough to be one" * 20)
    with pytest.raises(BadLog, match="is not a dm-log-writes log"):
        open_source(source, scratch)


@pytest.mark.parametrize("which", ["log", "base"])
def test_a_compressed_file_that_is_cut_off_is_refused(source, scratch, which):
    packed = compressed(getattr(source, which))
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises((BadLog, BadSource), match="is damaged"):
        open_source(with_(source, **{which: packed}), scratch)


def test_a_base_of_another_disk_is_refused(source, scratch):
    write_log(source.log, [*ENTRIES, superblock_entry("ext4", uuid=OTHER_UUID)])
    with pytest.raises(BadSource, match=r"some.log does not continue .*base.img: entry 4 .*UUID"):
        open_source(source, scratch)


def test_a_base_that_is_smaller_than_its_filesystem_is_refused(source, scratch):
    with source.base.open("r+b") as file:
        file.truncate(SIZE_BYTES // 2)
    with pytest.raises(BadSource, match="is cut off: its filesystem has 1048576 bytes"):
        open_source(source, scratch)


def test_a_base_that_is_smaller_than_the_log_writes_is_refused(source, scratch):
    write_log(source.log, [written(SIZE_BYTES // 512)])
    with pytest.raises(BadSource, match="entry 0 writes up to byte"):
        open_source(source, scratch)


def test_an_entry_before_the_mark_that_lies_outside_is_refused(source, scratch):
    write_log(source.log, [written(SIZE_BYTES // 512), *ENTRIES])
    with pytest.raises(BadSource, match="entry 0: a write of bytes"):
        open_source(with_(source, first="half"), scratch)


def test_a_profile_of_another_filesystem_is_refused(source, scratch):
    with pytest.raises(BadSource, match="holds ext4, and --fs xfs is a profile of xfs"):
        open_source(with_(source, profile="xfs"), scratch)
    with pytest.raises(UnknownProfile):
        open_source(with_(source, profile="zfs"), scratch)


def test_a_mark_that_is_not_there_is_refused_with_those_that_are(source, scratch):
    with pytest.raises(BadSource, match=r"has no mark 'mkfs' there. Its marks are: half"):
        open_source(with_(source, first="mkfs"), scratch)


def test_a_log_of_nothing_is_refused(source, scratch):
    write_log(source.log, [])
    with pytest.raises(BadSource, match="no entry to examine"):
        open_source(source, scratch)


# --- history and pack ----------------------------------------------------------------------------


def bench_log(path):
    """The bench's marks, where its history says that they stand."""
    marks = {
        index: f"{word}-{step.index}"
        for step in BENCH.history.run
        for word, index in (("begin", step.begin_entry), ("done", step.end_entry))
    }
    count = BENCH.history.entry_count
    write_log(path, [mark(marks[at]) if at in marks else written(512 + 8 * at) for at in range(count)])
    return path


@pytest.fixture
def known(tmp_path):
    """A log with its history."""
    history = tmp_path / "what-was-done.json"
    history.write_bytes(formats.pretty("history.json", BENCH.history))
    return Source(bench_log(tmp_path / "log"), make_base(tmp_path / "base.img", "btrfs"), history)


def test_a_history_makes_all_oracles_possible(known, scratch):
    history = open_source(known, scratch).recording.history
    assert history.known
    assert history.run == BENCH.history.run


def test_a_history_of_another_log_is_refused(known, scratch):
    write_log(known.log, [*ENTRIES])
    with pytest.raises(BadSource, match=r"is not the history of .*log: it is of a log of"):
        open_source(known, scratch)
    count = BENCH.history.entry_count
    write_log(known.log, [written(512)] * count)
    with pytest.raises(BadSource, match=r"entry \d+ is not the mark begin-0"):
        open_source(known, scratch)


@pytest.mark.parametrize("content", [b"", b"{}", b"no json", b'{"format":99}'])
def test_a_file_that_is_no_history_is_refused(known, scratch, content):
    known.history.write_bytes(content)
    with pytest.raises((BadSource, NoResults)):
        open_source(known, scratch)


@pytest.fixture
def experiment(known, tmp_path):
    """As a run keeps it."""
    (folder := tmp_path / "0001").mkdir()
    (folder / "log.zst").write_bytes(zstandard.compress(known.log.read_bytes()))
    write_log(tmp_path / "plain", [superblock_entry("btrfs")])
    (folder / "base.log.zst").write_bytes(zstandard.compress((tmp_path / "plain").read_bytes()))
    facts = ExperimentFacts(1, "made", "", "btrfs", "6.1", "fs", (), {}, {}, device_bytes=SIZE_BYTES)
    (folder / "experiment.json").write_bytes(formats.encode("experiment.json", facts))
    (folder / "history.json").write_bytes(known.history.read_bytes())
    (folder / "workload").write_text(format_workload(BENCH.history.workload))
    (folder / "verdicts.json.zst").write_bytes(b"what was found is not packed")
    return folder


def test_a_pack_has_all_that_is_needed(experiment, known, scratch, tmp_path):
    """Log, base and history, with the profile and the kernel of the experiment."""
    (aside := tmp_path / "aside").mkdir()
    pack_experiment(experiment, tmp_path / "one", aside)
    assert is_pack(tmp_path / "one")
    foreign = open_source(Source(tmp_path / "one"), scratch)
    assert foreign.recording.log.read_bytes() == known.log.read_bytes()
    assert foreign.recording.base.stat().st_size == SIZE_BYTES
    assert foreign.recording.history.run == BENCH.history.run
    assert (foreign.name, foreign.profile.name, foreign.facts.kernel) == ("made", "btrfs", "6.1")


def test_a_pack_is_not_packed_over_a_file_nor_from_half_an_experiment(experiment, tmp_path):
    (aside := tmp_path / "aside").mkdir()
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(BadSource, match="--out"):
        pack_experiment(experiment, tmp_path / "mine", aside)
    (experiment / "log.zst").unlink()
    with pytest.raises(NoResults, match=r"it has no log.zst"):
        pack_experiment(experiment, tmp_path / "one", aside)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "one").exists()


def test_what_a_pack_has_need_not_be_named(experiment, known, scratch, tmp_path):
    (aside := tmp_path / "aside").mkdir()
    pack_experiment(experiment, tmp_path / "one", aside)
    with pytest.raises(BadSource, match="leave out --base, --from"):
        open_source(Source(tmp_path / "one", base=known.base, first="half"), scratch)


def test_a_damaged_pack_is_refused(experiment, scratch, tmp_path):
    (aside := tmp_path / "aside").mkdir()
    pack_experiment(experiment, tmp_path / "one", aside)
    whole = (tmp_path / "one").read_bytes()
    (tmp_path / "one").write_bytes(whole[:-20])
    with pytest.raises(BadSource, match=r"neither a dm-log-writes log nor a file of powercut pack"):
        open_source(Source(tmp_path / "one"), scratch)
    (tmp_path / "one").write_bytes(whole + b"more")
    with pytest.raises(BadPack):
        open_source(Source(tmp_path / "one"), scratch)
    assert list(scratch.iterdir()) == []
