"""Every state gets its report, whatever becomes of the guests."""

import errno
import random
from pathlib import Path

import msgspec
import pytest

from harness.guests.guest import LostGuest
from harness.stages import checks, recover
from harness.stages.recover import Recovered, Recovery
from harness.stages.session import (
    BATCH_BYTES,
    BATCH_STATES,
    NO_DEVICE,
    WANT_CHANGES,
)
from harness.states.crash import states
from harness.states.disk import BLOCK_BYTES, BadEntry
from harness.states.log import Entry, open_log, write_log
from harness.states.nested import Recoveries, file_name
from harness.tests.fake_guest import FakeGuestSlot, digest, told
from oracles.observation import Fsck, Observation
from oracles.profiles import Profile
from oracles.spec import GONE, LATE, State
from workloads.entries import EntryFlag

SIZE_BYTES = 64 * BLOCK_BYTES
COUNT = 40
PROFILE = Profile("tiny", "tinyfs", ("mkfs.tiny",), "tiny", ("fsck.tiny",), size_bytes=SIZE_BYTES)


def written(sector: int, text: bytes) -> Entry:
    return Entry(sector, 1, 0, text.ljust(512, b"."))


ENTRIES = tuple(written(8 * n % 99, b"entry %d" % n) for n in range(COUNT))


class Scene:
    """A base disk, a log and a guest_slot."""

    def __init__(
        self, folder: Path, entries: tuple[Entry, ...], size_bytes: int = SIZE_BYTES, **fates
    ) -> None:
        self.folder = folder
        self.entries = entries
        self.profile = msgspec.structs.replace(PROFILE, size_bytes=size_bytes)
        self.base = random.Random(1).randbytes(BLOCK_BYTES).ljust(size_bytes, b"\0")
        (folder / "base").write_bytes(self.base)
        write_log(folder / "log.file", entries)
        self.guest_slot = FakeGuestSlot(folder, size_bytes, **fates)
        self.recovery = Recovery(self.guest_slot, self.profile, bool(self.guest_slot.changes), folder)

    def run(self, wanted=None) -> list[Recovered]:
        with open_log(self.folder / "log.file") as log:
            wanted = states(len(log)) if wanted is None else wanted
            return list(self.recovery.run(self.folder / "base", log, wanted))

    def digest_at(self, prefix: int) -> str:
        return digest(self.image_at(prefix))

    def image_at(self, prefix: int) -> bytes:
        """By hand: the disk after so many entries."""
        model = bytearray(self.base)
        for entry in self.entries[:prefix]:
            start, length = entry.sector * 512, entry.sector_count * 512
            if not entry.flags & EntryFlag.MARK:
                model[start : start + length] = entry.data or bytes(length)
        return bytes(model)


def observed(recovered: Recovered) -> Observation:
    return msgspec.json.decode(recovered.observation, type=Observation)


def rest_is_right(scene: Scene, found: list[Recovered], *but: int) -> bool:
    """Every state is there once, in order, and all but these were recovered from the right bytes."""
    return [one.prefix for one in found] == list(range(len(scene.entries) + 1)) and all(
        told(one.observation) == scene.digest_at(one.prefix) for one in found if one.prefix not in but
    )


def nested(scene: Scene, outer: list[State]) -> tuple[list[State], Recoveries, dict[str, bytes]]:
    """The states whose recovery is kept, and what the kernel's recovery of each wrote."""
    recoveries = Recoveries(scene.folder / "recoveries")
    with open_log(scene.folder / "log.file") as log:
        assert not list(scene.recovery.record(scene.folder / "base", log, outer, recoveries))
    written = {}
    for kept in recoveries.kept:
        with open_log(recoveries.folder / file_name(kept.state)) as log:
            written[kept.state.outer.spec] = log.entry(0).data.rstrip(b"!")
    return [kept.state.outer for kept in recoveries.kept], recoveries, written


# --- nested ---------------------------------------------------------------------------------------


def test_a_recovery_is_recorded_above_the_bytes_of_its_state(tmp_path: Path) -> None:
    """And what one recovery wrote is not there for the next."""
    scene = Scene(tmp_path, ENTRIES)
    outer = [State(3), State(5), State(17)]
    done, _, written = nested(scene, outer)
    assert done == outer
    assert written == {state.spec: scene.digest_at(state.prefix).encode() for state in outer}


def test_a_kernel_that_dies_while_its_recovery_is_recorded_is_replaced(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={-2: ["normal", "panic"]})
    outer = [State(3), State(17), State(20)]
    done, recoveries, written = nested(scene, outer)
    assert done == [outer[0], outer[2]]
    assert written["O:20"] == scene.digest_at(20).encode()
    assert (scene.guest_slot.boots, recoveries.recorded) == (2, 2)


def test_a_nested_state_is_recovered_once_however_it_came_about(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    before = scene.run()
    _, recoveries, _ = nested(scene, [State(9)])
    with open_log(tmp_path / "log.file") as log:
        wanted = [State(9, nested=0), State(9, nested=1)]
        found = list(scene.recovery.go_on(tmp_path / "base", log, wanted, recoveries.folder))
    assert [(one.spec, one.same_as) for one in found] == [("N:O:9/O:0", "O:9"), ("N:O:9/O:1", "")]
    assert found[0].observation == before[9].observation
    model = bytearray(scene.image_at(9))
    model[-512:] = scene.digest_at(9).encode().ljust(512, b"!")
    assert told(found[1].observation) == digest(model)


# --- afterwards -----------------------------------------------------------------------------------


def use(scene: Scene, outer: list[State]) -> tuple[list[Recovered], Recoveries]:
    recoveries = Recoveries(scene.folder / "recoveries", again=True)
    with open_log(scene.folder / "log.file") as log:
        return list(scene.recovery.record(scene.folder / "base", log, outer, recoveries)), recoveries


def test_what_a_recovered_filesystem_was_used_for_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    found, recoveries = use(scene, [State(3), State(17)])
    assert [one.spec for one in found] == ["A:O:3/O:0", "A:O:17/O:0"]
    assert [told(one.observation) for one in found] == [scene.digest_at(3), scene.digest_at(17)]
    assert [kept.state.spec for kept in recoveries.kept] == ["A:O:3/O:5", "A:O:17/O:5"]


def test_a_kernel_that_dies_while_the_filesystem_is_used_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={-2: ["normal", "panic"]})
    found, recoveries = use(scene, [State(3), State(17), State(20)])
    assert [one.spec for one in found] == ["A:O:3/O:0", "A:O:17/O:0", "A:O:20/O:0"]
    assert observed(found[1]).death == "panic"
    assert [kept.state.outer.spec for kept in recoveries.kept] == ["O:3", "O:20"]


def test_a_later_state_has_what_came_before(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    scene.run()
    _, recoveries = use(scene, [State(9)])
    with open_log(tmp_path / "log.file") as log:
        wanted = [State(9, nested=n, again=True) for n in (3, 4)]
        found = list(scene.recovery.go_on(tmp_path / "base", log, wanted, recoveries.folder))
    assert [one.spec for one in found] == ["A:O:9/O:3", "A:O:9/O:4"]
    assert [observed(one).after.done for one in found] == [0, 1]
    model = bytearray(scene.image_at(9))
    model[-512:] = scene.digest_at(9).encode().ljust(512, b"!")
    assert told(found[0].observation) == digest(model)


# --- the states -----------------------------------------------------------------------------------


def test_every_state_is_recovered_from_the_bytes_of_its_prefix(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    found = scene.run()
    assert rest_is_right(scene, found)
    assert (scene.guest_slot.boots, scene.recovery.deaths) == (1, 0)


def test_random_entries_with_discards_flushes_and_marks_are_recovered_right(tmp_path: Path) -> None:
    draw = random.Random(7)
    kinds = (
        lambda: Entry(draw.randrange(400), 9, EntryFlag.FUA, draw.randbytes(9 * 512)),
        lambda: Entry(draw.randrange(400), 50, EntryFlag.DISCARD),
        lambda: Entry(0, 0, EntryFlag.FLUSH),
        lambda: Entry(0, 0, EntryFlag.MARK, mark="begin-1"),
    )
    scene = Scene(tmp_path, tuple(draw.choice(kinds)() for _ in range(100)))
    assert rest_is_right(scene, scene.run())


@pytest.mark.parametrize("first", [0, 3, 4])
def test_the_first_mount_is_used_where_the_last_write_committed(tmp_path: Path, first: int) -> None:
    """That is behind a write with FUA, a mark between them or not, wherever the way to it began."""
    mark = Entry(0, 0, EntryFlag.MARK, b"", "done-1")
    commit = Entry(8, 1, EntryFlag.FUA, b"super".ljust(512, b"."))
    entries = (written(0, b"one"), mark, commit, mark, written(16, b"two"), written(24, b"three"))
    scene = Scene(tmp_path, entries)
    found = scene.run([State(prefix) for prefix in range(first, 7)])
    specs = [one.spec for one in found if not one.same_as]
    assert [specs[sequence] for sequence in scene.guest_slot.used] == ["O:3" if first < 4 else "O:4"]


def test_an_empty_log_has_one_state(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ())
    assert rest_is_right(scene, scene.run())


def test_equal_disks_are_recovered_once_wherever_they_occur(tmp_path: Path) -> None:
    there, gone = written(100, b"there"), Entry(100, 1, EntryFlag.DISCARD)
    scene = Scene(tmp_path, (there, Entry(0, 0, EntryFlag.FLUSH), gone, there, gone))
    found = scene.run()
    assert [one.same_as for one in found] == ["", "", "O:1", "O:0", "O:1", "O:0"]
    assert len(scene.guest_slot.asked) == 2
    assert rest_is_right(scene, found)


def test_every_entry_is_read_from_the_log_once(tmp_path: Path) -> None:
    """A state costs its own writes, not those before it."""
    scene = Scene(tmp_path, ENTRIES)
    read: list[int] = []
    with open_log(tmp_path / "log.file") as log:
        entry = log.entry
        log.entry = lambda index: (read.append(index), entry(index))[1]
        list(scene.recovery.run(tmp_path / "base", log, states(len(log))))
    assert read == list(range(COUNT))


def test_some_states_alone_can_be_asked_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    found = scene.run([State(3), State(17)])
    assert [told(one.observation) for one in found] == [scene.digest_at(3), scene.digest_at(17)]


def test_going_back_is_possible(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES)
    found = scene.run([State(5), State(2), State(30)])
    assert [told(one.observation) for one in found] == [scene.digest_at(n) for n in (5, 2, 30)]


def test_a_state_far_into_a_large_log_is_reached(tmp_path: Path) -> None:
    """Its writes are more than a request holds."""
    entries = tuple(Entry(2048 * n, 2048, 0, bytes([n + 1]) * (1 << 20)) for n in range(20))
    scene = Scene(tmp_path, entries, 24 << 20)
    found = scene.run([State(1), State(19), State(20)])
    assert [told(one.observation) for one in found] == [scene.digest_at(n) for n in (1, 19, 20)]


def test_a_large_base_reaches_the_guest_whole(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES[:1], 24 << 20)
    scene.base = random.Random(2).randbytes(20 << 20).ljust(24 << 20, b"\0")
    (tmp_path / "base").write_bytes(scene.base)
    assert rest_is_right(scene, scene.run())


def test_an_entry_outside_the_disk_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadEntry, match="outside the disk"):
        Scene(tmp_path, (written(SIZE_BYTES // 512, b"beyond"),)).run()


# --- guests that die --------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 1, BATCH_STATES - 1, BATCH_STATES, 25, COUNT])
def test_a_panic_is_that_states_and_the_states_after_it_are_asked_again(tmp_path: Path, at: int) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={at: ["panic", "panic"]})
    found = scene.run()
    assert rest_is_right(scene, found, at)
    assert observed(found[at]).death == "panic"
    assert observed(found[at]).console
    assert scene.recovery.deaths == 1


def test_the_stage_of_a_death_is_learnt_by_a_second_guest(tmp_path: Path) -> None:
    found = Scene(tmp_path, ENTRIES, fates={9: ["panic", "panic"]}).run()
    assert observed(found[9]).death_during == "mount"


def test_a_panic_that_does_not_happen_again_stays_a_panic(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: ["panic"]})
    found = scene.run()
    assert observed(found[9]).death == "panic"
    assert rest_is_right(scene, found, 9)


@pytest.mark.parametrize("fate", ["hang", "exit"])
def test_a_hang_or_loss_that_does_not_happen_again_was_ours(tmp_path: Path, fate: str) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: [fate]})
    found = scene.run()
    assert observed(found[9]).death == observed(found[9]).trouble == ""
    assert rest_is_right(scene, found)


def test_a_hang_that_happens_again_is_the_kernels(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: ["hang", "hang"]})
    found = scene.run()
    assert (observed(found[9]).death, observed(found[9]).death_during) == ("hang", "mount")
    assert rest_is_right(scene, found, 9)


def test_a_guest_lost_twice_is_our_trouble(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: ["exit", "exit"]})
    found = scene.run()
    assert observed(found[9]).death == ""
    assert "guest lost (exit)" in observed(found[9]).trouble
    assert rest_is_right(scene, found, 9)


def test_an_unreadable_second_answer_leaves_the_first_one(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: ["hang", "garbage"]})
    found = scene.run()
    assert observed(found[9]).death == "hang"
    assert rest_is_right(scene, found, 9)


def test_trouble_of_the_agent_is_our_trouble_and_the_rest_goes_on(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={9: ["trouble"]})
    found = scene.run()
    assert observed(found[9]) == Observation(trouble="recover: ENOMEM")
    assert rest_is_right(scene, found, 9)
    assert scene.recovery.deaths == 0


def test_a_guest_that_dies_in_every_state_still_gives_every_report(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={n: ["panic", "panic"] for n in range(COUNT + 1)})
    found = scene.run()
    assert [observed(one).death for one in found] == ["panic"] * (COUNT + 1)


def test_after_many_deaths_the_stage_is_no_longer_asked_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={n: ["panic", "panic"] for n in range(20)})
    found = scene.run()
    staged = [one.prefix for one in found if observed(one).death_during]
    assert staged == list(range(recover.STAGED_DEATHS))
    assert scene.guest_slot.boots == 1 + 20 + recover.STAGED_DEATHS


def test_a_state_equal_to_a_dead_one_shares_its_report(tmp_path: Path) -> None:
    entries = (*ENTRIES[:3], Entry(0, 0, EntryFlag.FLUSH), *ENTRIES[3:])
    found = Scene(tmp_path, entries, fates={3: ["panic", "panic"]}).run()
    assert (found[4].same_as, observed(found[4]).death) == ("O:3", "panic")


def test_a_guest_that_never_starts_ends_the_recovery(tmp_path: Path) -> None:
    with pytest.raises(LostGuest, match="no answer in 20 s"):
        Scene(tmp_path, ENTRIES, fates={-1: ["no boot"]}).run()


def test_a_guest_that_does_not_start_again_ends_the_recovery_with_the_states_before_it_told(tmp_path) -> None:
    scene = Scene(tmp_path, ENTRIES, fates={-1: ["normal", "no boot"], 20: ["panic"]})
    found = []
    with open_log(tmp_path / "log.file") as log, pytest.raises(LostGuest):
        found.extend(one.prefix for one in scene.recovery.run(tmp_path / "base", log, states(len(log))))
    assert found[:8] == list(range(8))
    assert 20 not in found


# --- the checker -------------------------------------------------------------------------------------


@pytest.mark.parametrize("fates", [{}, {9: ["exit"]}], ids=["at once", "in a second guest"])
def test_the_checker_sees_the_state_with_what_recovery_changed(tmp_path: Path, monkeypatch, fates) -> None:
    """Also where the first guest was killed, and a second one recovered the state."""
    changes = {60: b"r" * BLOCK_BYTES, 0: b"s" * BLOCK_BYTES}
    scene = Scene(tmp_path, ENTRIES, fates=fates, changes=changes)
    monkeypatch.setattr(
        checks,
        "check_filesystem",
        lambda profile, image, first: Fsck(exit=0, output=digest(image.read_bytes())),
    )
    for one in scene.run():
        expected = bytearray(scene.base)
        for entry in ENTRIES[: one.prefix]:
            expected[entry.sector * 512 : (entry.sector + 1) * 512] = entry.data
        for number, content in changes.items():
            expected[number * BLOCK_BYTES : (number + 1) * BLOCK_BYTES] = content
        assert observed(one).fsck == Fsck(exit=0, output=digest(expected))
        assert told(one.observation) == scene.digest_at(one.prefix)


def test_what_recovery_changed_is_not_on_the_disk_of_the_next_state(tmp_path: Path, monkeypatch) -> None:
    last = SIZE_BYTES // BLOCK_BYTES - 1
    scene = Scene(tmp_path, ENTRIES, changes={last: b"r" * BLOCK_BYTES})
    seen: list[bytes] = []

    def check(profile: Profile, image: Path, first: int) -> Fsck:
        seen.append(image.read_bytes()[last * BLOCK_BYTES :])
        scene.guest_slot.changes.clear()  # the recovery of the states after the first changes nothing
        return Fsck(exit=0, output="")

    monkeypatch.setattr(checks, "check_filesystem", check)
    scene.run()
    assert seen[0] == b"r" * BLOCK_BYTES
    assert set(seen[1:]) == {bytes(BLOCK_BYTES)}


def test_a_state_that_killed_the_guest_is_not_checked(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checks, "check_filesystem", lambda *_, first: Fsck(exit=0, output=""))
    fates = {9: ["panic", "panic"]}
    found = Scene(tmp_path, ENTRIES, changes={1: bytes(BLOCK_BYTES)}, fates=fates).run()
    assert [one.prefix for one in found if observed(one).fsck is None] == [9]


def test_an_answer_that_lacks_a_changed_block_is_our_trouble_and_is_not_checked(
    tmp_path: Path, monkeypatch
) -> None:
    """Before, the checker saw the disk with some of what recovery wrote, and not all of it."""
    checked: list[str] = []

    def check(profile: Profile, image: Path, first: int) -> Fsck:
        checked.append(digest(image.read_bytes()))
        return Fsck(exit=0, output="")

    monkeypatch.setattr(checks, "check_filesystem", check)
    changes = {60: b"r" * BLOCK_BYTES, 0: b"s" * BLOCK_BYTES}
    scene = Scene(tmp_path, ENTRIES, fates={9: ["short"]}, changes=changes)
    found = scene.run()
    assert "too few for a report of" in observed(found[9]).trouble
    assert len(checked) == len(found) - 1
    assert rest_is_right(scene, found, 9)


@pytest.mark.parametrize("at", [0, 9, COUNT])
def test_a_failed_unmount_is_reported_and_the_guest_replaced(tmp_path: Path, monkeypatch, at: int) -> None:
    monkeypatch.setattr(checks, "check_filesystem", lambda *_, first: Fsck(exit=0, output=""))
    scene = Scene(tmp_path, ENTRIES, fates={at: ["busy"]})
    found = scene.run()
    seen = observed(found[at])
    assert (seen.umount_errno, seen.used_up, seen.trouble, seen.fsck) == (errno.EBUSY, True, "", None)
    assert rest_is_right(scene, found, at)
    assert scene.guest_slot.boots == (2 if at < COUNT else 1)
    assert scene.recovery.deaths == 0


# --- one log after another in one guest -------------------------------------------------------------


@pytest.mark.parametrize("last", [COUNT, 3])
def test_the_next_log_starts_from_its_own_base(tmp_path: Path, last: int) -> None:
    """The guest still holds the disk of the log before; what differs is sent, whatever was there."""
    scene = Scene(tmp_path, ENTRIES)
    scene.run([State(0), State(last)])
    scene.base = random.Random(5).randbytes(3 * BLOCK_BYTES).rjust(SIZE_BYTES, b"\0")
    (tmp_path / "base").write_bytes(scene.base)
    assert rest_is_right(scene, scene.run())
    assert scene.guest_slot.boots == 1


def test_a_log_that_was_given_up_leaves_nothing_to_the_next(tmp_path: Path) -> None:
    """What the guest holds is not known then."""
    scene = Scene(tmp_path, ENTRIES)
    with open_log(tmp_path / "log.file") as log:
        next(scene.recovery.run(tmp_path / "base", log, states(len(log))))
    scene.guest_slot.drop()  # as run_experiment() does after a LostGuest
    assert rest_is_right(scene, scene.run())


def test_states_that_equal_earlier_ones_at_the_end_do_not_confuse_the_next_log(tmp_path: Path) -> None:
    there, gone = written(100, b"there"), Entry(100, 1, EntryFlag.DISCARD)
    scene = Scene(tmp_path, (there, gone, there))
    scene.run()
    assert rest_is_right(scene, scene.run())


def test_states_far_apart_do_not_overwrite_each_other_in_the_inbox(tmp_path: Path) -> None:
    """Each fills a batch of its own, and the inbox holds two. Of 88 states of generic/475 on ext4, whose log
    has 187,871 entries, eight were lost."""
    blocks = BATCH_BYTES // BLOCK_BYTES * 3 // 4
    entries = tuple(
        Entry(8 * block, 8, 0, bytes([1 + number]) * BLOCK_BYTES)
        for number in range(12)
        for block in range(blocks)
    )
    scene = Scene(tmp_path, entries, (blocks + 8) * BLOCK_BYTES)
    wanted = [State(number * blocks) for number in range(1, 13)]
    found = scene.run(wanted)
    assert [observed(one).trouble for one in found] == [""] * 12
    assert scene.guest_slot.boots == 1


# --- counters -------------------------------------------------------------------------------------


def test_the_counters_of_each_recovered_state_are_told_by_its_spec(tmp_path: Path) -> None:
    """One of a guest that died counted nothing."""
    scene = Scene(tmp_path, ENTRIES[:4], fates={2: ["panic", "panic"]})
    told_of: dict[str, bytes] = {}
    scene.recovery = Recovery(scene.guest_slot, scene.profile, False, tmp_path, counted=told_of.__setitem__)
    found = scene.run()
    recovered = [one.spec for one in found if not one.same_as]
    assert list(told_of) == [spec for spec in recovered if spec != "O:2"]
    assert all(counters.startswith(b"counted ") for counters in told_of.values())


def test_counters_come_behind_the_changed_blocks(tmp_path: Path) -> None:
    told_of: dict[str, bytes] = {}
    scene = Scene(tmp_path, ENTRIES[:2], changes={3: b"c" * BLOCK_BYTES})
    scene.recovery = Recovery(
        scene.guest_slot, scene.profile, False, tmp_path, WANT_CHANGES, counted=told_of.__setitem__
    )
    assert rest_is_right(scene, scene.run())
    assert set(told_of.values()) == {b"counted 0", b"counted 1", b"counted 2"}


@pytest.mark.parametrize(("redundant", "asked"), [(True, [(1, 0), (2, NO_DEVICE)]), (False, [])])
def test_what_is_kept_twice_is_scrubbed_where_a_device_was_not_as_the_others(
    tmp_path: Path, redundant: bool, asked: list[tuple[int, int]]
) -> None:
    scene = Scene(tmp_path, ENTRIES)
    profile = msgspec.structs.replace(scene.profile, devices=(BLOCK_BYTES, BLOCK_BYTES), redundant=redundant)
    scene.recovery = Recovery(scene.guest_slot, profile, False, tmp_path)
    alike, late, gone = State(3), State(4, members=((1, LATE),)), State(5, members=((0, GONE),))
    scene.run([alike, late, gone])
    assert scene.guest_slot.scrubbed == asked


@pytest.mark.parametrize("quota", [True, False])
def test_what_users_have_is_asked_for_where_it_is_counted(tmp_path: Path, quota: bool) -> None:
    scene = Scene(tmp_path, ENTRIES)
    profile = msgspec.structs.replace(scene.profile, quota=quota)
    scene.recovery = Recovery(scene.guest_slot, profile, False, tmp_path)
    scene.run([State(3), State(4)])
    assert len(scene.guest_slot.counted) == (2 if quota else 0)
