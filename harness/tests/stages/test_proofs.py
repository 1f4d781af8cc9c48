"""A state of which nothing differs that an earlier recovery read is judged by that, and audited."""

from pathlib import Path

import msgspec
import pytest

from harness.stages.checks import AUDITED, NOW, PROVEN, THEN, Audit, AuditFailed
from harness.stages.proofs import RECOVERED, TIMES, UNSTEADY, Earlier, difference
from harness.stages.recover import Recovery
from harness.states.disk import BLOCK_BYTES, DiskWrite
from harness.tests.fake_guest import told
from harness.tests.stages.test_recover import COUNT, ENTRIES, Scene, observed
from oracles.observation import Fsck, Node, Observation

NEVER, ALWAYS = Audit(0.0), Audit(100.0)
BEGUN_NS = 10**18
# The first request of a log is the first state, and that of each state that is recovered again: 10 times O:9.
AGAIN_OTHERWISE = ["normal", *["otherwise"] * TIMES]
SOME = {4: 3, 5: 3, 9: 7}  # each proven by the earlier one


def scene_of(folder: Path, audit: Audit = NEVER, **fates) -> Scene:
    scene = Scene(folder, ENTRIES, **fates)
    with_fsck = bool(scene.guest_slot.changes)
    scene.recovery = Recovery(scene.guest_slot, scene.profile, with_fsck, folder, audit=audit, proving=True)
    return scene


def counts(scene: Scene) -> tuple[int, ...]:
    return tuple(scene.recovery.proofs.counts[each] for each in (RECOVERED, PROVEN, AUDITED))


def test_a_proven_state_has_the_observation_of_the_one_that_proves_it(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, proves=SOME)
    found = scene.run()
    assert {one.spec: one.proven_by for one in found if one.proven_by} == {
        "O:4": "O:3",
        "O:5": "O:3",
        "O:9": "O:7",
    }
    for state, earlier in SOME.items():
        assert found[state].observation == found[earlier].observation
    others = [one for one in found if not one.proven_by]
    assert all(told(one.observation) == scene.digest_at(one.prefix) for one in others)
    assert counts(scene) == (COUNT + 1 - len(SOME), len(SOME), 0)


def test_an_audited_state_was_recovered_too(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, ALWAYS, proves=SOME)
    found = scene.run()
    assert found[4].observation == found[3].observation
    assert counts(scene) == (COUNT + 1 - len(SOME), len(SOME), len(SOME))


def test_an_audited_state_that_comes_back_otherwise_ends_the_run_with_both_disks(tmp_path: Path) -> None:
    """The states of its log are judged before, so that what is wrong is known of all of them."""
    scene = scene_of(tmp_path, ALWAYS, proves=SOME, fates={9: ["otherwise"], 0: AGAIN_OTHERWISE})
    with pytest.raises(AuditFailed, match=r"O:9 was proven to come back as O:7, .*: probe\. .*EIO") as failed:
        scene.run()
    disks = failed.value.disks
    assert disks is not None
    assert (disks / NOW).read_bytes() == scene.image_at(9)
    assert (disks / THEN).read_bytes() == scene.image_at(7)


def test_what_comes_back_in_more_ways_than_one_is_unsteady_and_no_difference(tmp_path: Path) -> None:
    fates = {9: ["otherwise"], 0: [*AGAIN_OTHERWISE, *["normal"] * (TIMES - 1), "otherwise"]}
    scene = scene_of(tmp_path, ALWAYS, proves=SOME, fates=fates)
    assert len(scene.run()) == COUNT + 1
    assert scene.recovery.proofs.counts[UNSTEADY] == 1


def test_nothing_is_proven_where_nobody_asks_for_it(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, proves=SOME)
    assert not any(one.proven_by for one in scene.run())


def test_each_state_is_recovered_where_each_is_counted(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, proves=SOME)
    counted: dict[str, bytes] = {}
    scene.recovery = Recovery(
        scene.guest_slot,
        scene.profile,
        False,
        tmp_path,
        counted=lambda spec, counters: counted.update({spec: counters}),
        proving=True,
    )
    assert not any(one.proven_by for one in scene.run())
    assert len(counted) == COUNT + 1


def test_another_log_and_another_guest_begin_without_proofs(tmp_path: Path) -> None:
    scene = scene_of(tmp_path, fates={12: ["panic", "normal"]})
    scene.run()
    assert scene.guest_slot.forgot[0] == 0
    assert set(scene.guest_slot.forgot[1:]) <= {12, 13}
    assert len(scene.guest_slot.forgot) >= 2
    scene.run()
    assert scene.guest_slot.forgot[-1] == 0


# --- what recovery changed, on another disk -----------------------------------------------------------


def test_of_a_block_that_recovery_wrote_in_part_the_other_disk_has_the_rest() -> None:
    ours, theirs = b"r" * BLOCK_BYTES, b"d" * BLOCK_BYTES
    changes = (DiskWrite(0, BLOCK_BYTES, ours), DiskWrite(BLOCK_BYTES, BLOCK_BYTES, ours))
    earlier = Earlier(0, "O:0", b"", changes, {1: 0b10000001})
    whole, part = earlier.on({0: theirs, 1: theirs})
    assert whole == changes[0]
    assert part.data == b"r" * 512 + b"d" * 3072 + b"r" * 512
    assert earlier.on({})[1].data == b"r" * 512 + bytes(3072) + b"r" * 512


# --- what an audit compares ---------------------------------------------------------------------------


def differ(one: Observation, other: Observation) -> str:
    return difference(msgspec.json.encode(one), msgspec.json.encode(other), BEGUN_NS)


def tree(mtime: int, size: int = 0) -> tuple[Node, ...]:
    return (Node("f", "file", 12, 0o644, 1, size, 0, times=(mtime, 5)),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Observation(tree=tree(BEGUN_NS + 1)), Observation(tree=tree(BEGUN_NS + 7))),
        (Observation(kernel_log=("6 info one",)), Observation(kernel_log=("6 info two", "5 notice"))),
        (
            Observation(kernel_log=("3 error", "4 a warning")),
            Observation(kernel_log=("3 error", "3 error", "3 btrfs: 8 callbacks suppressed")),
        ),
        (Observation(fsck=Fsck(0, "time now")), Observation(fsck=Fsck(0, "time then"))),
    ],
    ids=["times of replay", "what is no error", "said once or twice", "words of the checker"],
)
def test_what_two_recoveries_of_one_disk_tell_differently_is_no_difference(
    one: Observation, other: Observation
) -> None:
    assert differ(one, other) == ""


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        (Observation(tree=tree(5)), Observation(tree=tree(6)), "tree. Of tree proven: Node"),
        (Observation(tree=tree(5, 1)), Observation(tree=tree(5, 2)), "size=2"),
        (Observation(tree=()), Observation(tree=tree(5)), "another number of names"),
        (Observation(kernel_log=("3 error",)), Observation(), "kernel_log. Of kernel_log proven"),
        (Observation(fsck=Fsck(4, "")), Observation(fsck=Fsck(0, "")), "exit=4"),
        (Observation(mount_errno=5), Observation(), "mount_errno"),
        (Observation(death="panic"), Observation(), "death"),
    ],
)
def test_any_other_difference_is_one(one: Observation, other: Observation, said: str) -> None:
    assert said in differ(one, other)


def test_the_checker_of_a_proven_state_sees_its_own_disk_with_what_recovery_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = {7: b"c" * BLOCK_BYTES}
    scene = scene_of(tmp_path, proves=SOME, changes=changed)
    images: list[bytes] = []

    def check(_profile, image: Path, *_reads, first: int = 0) -> Fsck:
        images.append(image.read_bytes())
        return Fsck(0, "")

    monkeypatch.setattr("harness.stages.checks.check_filesystem", check)
    found = scene.run()
    expected = bytearray(scene.image_at(5))
    expected[7 * BLOCK_BYTES : 8 * BLOCK_BYTES] = changed[7]
    assert images[5] == bytes(expected)
    assert observed(found[5]).fsck == Fsck(0, "")
