"""Damage at rest: what recovery made of it, and what of that is a broken promise."""

import errno

import msgspec
import pytest

from oracles.case import prepare
from oracles.faults.damage import Outcome, outcome_of, split, tree_key
from oracles.judge import judge_damage
from oracles.observation import Observation, Room
from oracles.profiles import profile
from oracles.spec import BadSpec, Damage
from oracles.tests.made import Bench, replaced, without
from oracles.verdict import Answer, Tier

WORKLOAD = "setup\n  mkdir A\n  write A/foo 0 8K\nrun\n  write A/bar 0 4K\n  fsync A/bar\n"
SPEC = "D:O:6/9540^1234"
WARNED = ("4 BTRFS warning (device dm-2): checksum verify failed on logical 1 mirror 1",)


def test_a_spec_names_the_state_and_the_damage():
    assert split("D:O:812/7680^1234") == ("O:812", Damage(7680, bit=1234))
    assert split("D:N:O:12/O:4/7680.3=0") == ("N:O:12/O:4", Damage(7680, sector=3))
    assert split("D:O:812/7680!read") == ("O:812", Damage(7680, fails="read"))
    for spec in ("D:O:812/7680^1234", "D:R:12-3,5/0.7=0", "D:O:812/7680!read", "D:N:O:12/O:4/0!write"):
        outer, damage = split(spec)
        assert f"D:{outer}/{damage.spec}" == spec


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("O:12", "is not a damaged state"),
        ("D:O:12/5", "is not a damaged state"),
        ("D:D:O:12/5^1/5^1", "is not a damaged state"),
        ("D:O:12/5!both", "is not a damaged state"),
        ("D:O:12/5^32768", "bits of a block are 0 to 32767"),
        ("D:O:12/5.8=0", "sectors of a block are 0 to 7"),
    ],
)
def test_what_is_no_damage_says_what_one_is(spec, said):
    with pytest.raises(BadSpec, match=said):
        split(spec)


def test_a_bit_is_flipped_and_a_sector_zeroed_and_nothing_else():
    content = bytes(range(1, 251)) * 17
    content = content[:4096]
    flipped = Damage(0, bit=8 * 600 + 3).of(content)
    assert [at for at in range(4096) if flipped[at] != content[at]] == [600]
    assert flipped[600] ^ content[600] == 8
    zeroed = Damage(0, sector=2).of(content)
    assert zeroed == content[:1024] + bytes(512) + content[1536:]


class Scene:
    """One state of a workload with all of it done, on a profile."""

    def __init__(self, name="btrfs"):
        self.bench = Bench(WORKLOAD, name)
        self.prepared = prepare(self.bench.history, profile(name), Tier.FS)
        self.whole = Observation(tree=self.bench.tree())

    def judge(self, seen, older=(), what="log tree leaf", spec=SPEC):
        verdicts, outcome = judge_damage(self.prepared, spec, what, self.whole, frozenset(older), seen)
        broken = {
            v.oracle: [(each.kind, each.role) for each in v.violations] for v in verdicts if v.violations
        }
        return outcome, broken, verdicts


def test_a_refused_mount_and_a_repaired_block_are_in_order():
    scene = Scene()
    assert scene.judge(Observation(mount_errno=errno.EUCLEAN))[:2] == (Outcome.REFUSED, {})
    seen = msgspec.structs.replace(scene.whole, kernel_log=WARNED)
    assert scene.judge(seen)[:2] == (Outcome.REPAIRED, {})
    assert scene.judge(msgspec.structs.replace(scene.whole, mended=True))[0] == Outcome.REPAIRED
    assert scene.judge(scene.whole)[:2] == (Outcome.UNNOTICED, {})


def test_a_line_that_the_state_gives_without_the_damage_tells_of_nothing():
    scene = Scene()
    scene.whole = msgspec.structs.replace(scene.whole, kernel_log=WARNED)
    assert scene.judge(scene.whole)[0] == Outcome.UNNOTICED


@pytest.mark.parametrize(
    ("name", "broken"),
    [("btrfs", [("log left out untold", "log tree leaf")]), ("ext4", []), ("xfs", []), ("f2fs", [])],
)
def test_an_older_tree_is_allowed_where_a_journal_ends_in_what_makes_no_sense(name, broken):
    """Not on btrfs, whose log is found by the superblock and has checksums throughout."""
    scene = Scene(name)
    older = scene.bench.tree(0)
    outcome, found, _ = scene.judge(Observation(tree=older), [tree_key(older)])
    assert (outcome, found.get("noticed", [])) == (Outcome.OLDER, broken)


@pytest.mark.parametrize("name", ["ext4", "xfs"])
def test_a_journal_may_end_before_what_setup_has_synced(name):
    """Such a tree is that of no state of the log; it is found by the model."""
    scene = Scene(name)
    assert scene.judge(Observation(tree=scene.bench.tree(-2)))[:2] == (Outcome.OLDER, {})


@pytest.mark.parametrize(("name", "asked"), [("btrfs", True), ("ext4", True), ("xfs", True), ("f2fs", False)])
def test_a_tree_of_no_time_is_broken_unless_something_told(name, asked):
    scene = Scene(name)
    torn = without(scene.bench.tree(), "A/foo")
    outcome, broken, verdicts = scene.judge(Observation(tree=torn), what="inodes")
    assert outcome == Outcome.CHANGED
    assert broken.get("noticed", []) == ([("changed tree untold", "inodes")] if asked else [])
    assert ("noticed" in [verdict.oracle for verdict in verdicts]) == asked
    told = scene.judge(Observation(tree=torn, kernel_log=("3 something is wrong",)))
    assert told[:2] == (Outcome.TOLD, {})


def test_times_that_replay_gives_are_no_other_tree():
    scene = Scene()
    later = replaced(scene.bench.tree(), "A/bar", times=(5, 6))
    scene.whole = Observation(tree=replaced(scene.bench.tree(), "A/bar", times=(5, 5)))
    assert scene.judge(Observation(tree=later))[0] == Outcome.UNNOTICED


def test_lines_held_back_tell_of_states_before():
    scene = Scene()
    line = "4 btrfs_validate_extent_buffer: 7 callbacks suppressed"
    assert scene.judge(msgspec.structs.replace(scene.whole, kernel_log=(line,)))[0] == Outcome.UNNOTICED


def test_a_call_that_fails_tells_too():
    scene = Scene()
    tree = replaced(without(scene.bench.tree(), "A"), ".", errors=("getdents: EIO",))
    seen = Observation(tree=tree)
    assert scene.judge(seen)[:2] == (Outcome.TOLD, {})


@pytest.mark.parametrize("second", [False, True])
def test_bytes_and_sizes_that_never_were_are_undetected_whoever_told(second):
    """Of the first mount, and of the second, which shows what the first one wrote."""
    scene = Scene("ext4")
    wrong = replaced(scene.bench.tree(), "A/bar", size=4104)
    seen = (
        msgspec.structs.replace(scene.whole, second_tree=wrong)
        if second
        else Observation(tree=wrong, kernel_log=("4 EXT4-fs warning",))
    )
    _, broken, _ = scene.judge(seen, what="inode table")
    assert broken["detected"] == [("size that never was undetected", "inode table")]


def test_the_kernels_end_is_told_by_its_place():
    scene = Scene()
    panic = Observation(death="panic", console=("kernel BUG at fs/btrfs/tree-log.c:99!", "Kernel panic"))
    assert scene.judge(panic)[:2] == (Outcome.DIED, {"alive": [("panic", "tree-log.c")]})
    trace = [f" [<60>] ? {each}" for each in ("show_stack+0x0/0xc0", "panic+0x3/0x5", "btrfs_foo+0x3/0x5")]
    panic = Observation(death="panic", console=("Kernel panic - not syncing: BUG!", "Call Trace:", *trace))
    assert scene.judge(panic)[1] == {"alive": [("panic", "btrfs_foo()")]}
    warning = "4 WARNING: CPU: 0 PID: 1 at fs/btrfs/extent-tree.c:3 f+0x1/0x2"
    seen = msgspec.structs.replace(scene.whole, kernel_log=(warning, "4 Call Trace:"))
    assert scene.judge(seen)[1] == {"alive": [("warning", "extent-tree.c")]}


def test_the_call_trace_of_an_xfs_report_is_no_oops():
    scene = Scene("xfs")
    report = ("1 XFS (dm-2): Internal error x at line 2 of file fs/xfs/xfs_log_recover.c.", "4 Call Trace:")
    seen = Observation(mount_errno=errno.EUCLEAN, kernel_log=report)
    assert scene.judge(seen)[1] == {}
    assert scene.judge(Observation(mount_errno=5, kernel_log=report[1:]))[1] == {
        "alive": [("call trace", "kernel")]
    }


def test_trouble_of_ours_is_unknown():
    verdicts = Scene().judge(Observation(trouble="lost"))[2]
    assert {verdict.answer for verdict in verdicts} == {Answer.UNKNOWN}


def test_whether_a_tree_is_older_is_asked_only_where_nothing_told():
    scene = Scene()

    def never():
        raise AssertionError

    assert outcome_of(scene.whole, Observation(mount_errno=5), never) is Outcome.REFUSED
    assert outcome_of(scene.whole, scene.whole, never) is Outcome.UNNOTICED


FAILS = "D:O:6/9540!read"
REFUSED = Observation(mount_errno=errno.EIO)


def test_a_block_that_only_fails_keeps_its_bytes():
    content = bytes(range(256)) * 16
    assert Damage(3, fails="write").of(content) == content


@pytest.mark.parametrize(("name", "asked"), [("btrfs", True), ("ext4", True), ("xfs", True), ("f2fs", False)])
def test_after_an_error_in_recovery_the_sound_disk_gives_what_it_would_have_given(name, asked):
    scene = Scene(name)
    whole = msgspec.structs.replace(REFUSED, second_tree=scene.whole.tree)
    outcome, broken, verdicts = scene.judge(whole, spec=FAILS)
    assert (outcome, broken) == (Outcome.REFUSED, {})
    assert ("healed" in [verdict.oracle for verdict in verdicts]) == asked
    lost = msgspec.structs.replace(REFUSED, second_tree=without(scene.bench.tree(), "A/bar"))
    expected = [("tree changed", "log tree leaf")] if asked else []
    assert scene.judge(lost, spec=FAILS)[1].get("healed", []) == expected


def test_a_disk_that_cannot_be_mounted_when_it_is_sound_again_is_lost():
    scene = Scene()
    seen = msgspec.structs.replace(REFUSED, second_mount_errno=errno.EUCLEAN)
    assert scene.judge(seen, spec=FAILS)[1] == {"healed": [("mount fails afterwards", "log tree leaf")]}
    busy = msgspec.structs.replace(scene.whole, umount_errno=errno.EBUSY)
    assert scene.judge(busy, spec=FAILS)[1] == {"healed": [("unmount failed", "log tree leaf")]}


def test_room_that_there_is_without_the_error_is_there_after_it():
    """Seen on 7.2 with a fix taken out: a deleted subvolume was forgotten, and its blocks were never free."""
    scene = Scene()
    mib = 1 << 20
    scene.whole = msgspec.structs.replace(scene.whole, empty_room=Room(300 * mib, 250 * mib, 240 * mib))
    seen = msgspec.structs.replace(REFUSED, second_tree=scene.whole.tree)
    for free, broken in ((250, {}), (240, {}), (200, {"healed": [("room lost", "log tree leaf")]})):
        there = msgspec.structs.replace(seen, empty_room=Room(300 * mib, free * mib, 0))
        assert scene.judge(there, spec=FAILS)[1] == broken
    assert scene.judge(seen, spec=FAILS)[1] == {}


def test_after_an_error_the_filesystem_can_be_used():
    """Room for a new file is another thing: of a full one btrfs reserves more or less from mount to mount."""
    scene = Scene()
    seen = msgspec.structs.replace(REFUSED, second_tree=scene.whole.tree)
    full = msgspec.structs.replace(seen, probe=("write .powercut-probe: ENOSPC",))
    assert scene.judge(full, spec=FAILS)[1] == {}
    kept = msgspec.structs.replace(seen, probe=("unlink A/bar: EIO",))
    assert scene.judge(kept, spec=FAILS)[1] == {"healed": [("cannot be used afterwards", "log tree leaf")]}
    scene.whole = msgspec.structs.replace(scene.whole, probe=kept.probe)
    assert scene.judge(kept, spec=FAILS)[1] == {}


def test_after_an_error_blocks_behind_the_end_of_a_file_may_be_freed():
    """Seen on 6.12, xfs: the first unmount frees them, and the mount after the error is behind it."""
    scene = Scene("xfs")
    tree = scene.whole.tree
    freed = tuple(msgspec.structs.replace(node, blocks=0) for node in tree)
    kept = tuple(msgspec.structs.replace(node, blocks=64) for node in tree)
    scene.whole = msgspec.structs.replace(scene.whole, tree=kept, second_tree=freed)
    for once in (kept, freed):
        seen = msgspec.structs.replace(REFUSED, second_tree=once)
        assert scene.judge(seen, spec=FAILS)[1] == {}
    seen = msgspec.structs.replace(REFUSED, second_tree=without(freed, "A/bar"))
    assert scene.judge(seen, spec=FAILS)[1] == {"healed": [("tree changed", "log tree leaf")]}


def test_ext4_that_needs_a_check_keeps_blocks_behind_ends():
    """Seen on 6.12, ext4: the block of the journal failed that the removal of orphans needed."""
    scene = Scene("ext4")
    more = tuple(msgspec.structs.replace(node, blocks=node.blocks + 16) for node in scene.whole.tree)
    told = (
        "4 EXT4-fs warning (device dm-2): ext4_clear_journal_err: Marked fs in need of filesystem check.",
    )
    seen = msgspec.structs.replace(REFUSED, second_tree=more)
    assert scene.judge(seen, spec=FAILS)[1] == {"healed": [("tree changed", "log tree leaf")]}
    seen = msgspec.structs.replace(seen, kernel_log=told)
    assert scene.judge(seen, spec=FAILS)[1] == {}
    lost = msgspec.structs.replace(seen, second_tree=without(more, "A/bar"))
    assert scene.judge(lost, spec=FAILS)[1] == {"healed": [("tree changed", "log tree leaf")]}


def test_a_mount_that_went_on_must_not_have_used_the_log_up():
    """Whoever told of it: the second mount shows what is on the disk."""
    scene = Scene()
    torn = without(scene.bench.tree(), "A/bar")
    told = Observation(tree=torn, kernel_log=WARNED)
    assert scene.judge(told, spec=FAILS)[:2] == (
        Outcome.TOLD,
        {"healed": [("tree changed", "log tree leaf")]},
    )
    healed = msgspec.structs.replace(told, second_tree=scene.whole.tree)
    assert scene.judge(healed, spec=FAILS)[:2] == (Outcome.TOLD, {})


def test_damage_at_rest_is_not_asked_to_heal():
    scene = Scene()
    assert "healed" not in [one.oracle for one in scene.judge(REFUSED)[2]]
    trouble = Observation(trouble="ours")
    assert "healed" not in [one.oracle for one in scene.judge(trouble)[2]]
    assert "healed" in [one.oracle for one in scene.judge(trouble, spec=FAILS)[2]]


@pytest.mark.parametrize("name", ["btrfs", "ext4", "xfs"])
def test_a_journal_must_not_seem_to_end_where_it_cannot_be_read(name):
    scene = Scene(name)
    older = scene.bench.tree(0)
    seen = Observation(tree=older, second_tree=scene.whole.tree)
    outcome, broken, _ = scene.judge(seen, [tree_key(older)], spec=FAILS)
    assert (outcome, broken) == (Outcome.OLDER, {"noticed": [("log left out untold", "log tree leaf")]})


def test_what_the_block_layer_says_is_no_report_of_the_filesystem():
    scene = Scene()
    line = "3 Buffer I/O error on dev dm-2, logical block 9540, async page read"
    seen = Observation(
        tree=without(scene.bench.tree(), "A/bar"), second_tree=scene.whole.tree, kernel_log=(line,)
    )
    assert scene.judge(seen, spec=FAILS)[0] in (Outcome.OLDER, Outcome.CHANGED)
