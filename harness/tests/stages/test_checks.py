"""An answer of the checker is proven where it reads nothing that differs, and audited."""

import contextlib
import os
import shutil
from pathlib import Path

import msgspec
import pytest

from harness.guests.checker_reads import blocks_read
from harness.guests.filesystem import SYSTEM_PATH, check_filesystem, make_filesystem
from harness.stages import checks
from harness.stages.checks import (
    AUDITED,
    NOW,
    PROVEN,
    RUN,
    THEN,
    THEN_BLOCKS,
    Audit,
    AuditFailed,
    Checks,
    RecoveredDisk,
    in_order,
)
from harness.states.disk import BLOCK_BYTES, DiskWrite, nonzero_blocks
from oracles.observation import Fsck
from oracles.profiles import Profile, profile

COUNT = 8
# It reads the first two blocks, and what it says is what they hold.
FIRST_TWO = Profile(
    "tiny", "ext4", (), "coreutils", ("head", "-c", str(2 * BLOCK_BYTES)), size_bytes=COUNT * BLOCK_BYTES
)
NO_AUDIT = Audit(0)


class Scene:
    """Disks given by some of their blocks, one after another, to the checks of one log."""

    def __init__(self, folder: Path, one: Profile = FIRST_TWO, audit: Audit = NO_AUDIT) -> None:
        self.image = folder / "image"
        self.checks = Checks(one, folder / "reads", audit)
        self.files = 0

    def answer(self, state: dict[int, str], changed: dict[int, str] | None = None) -> Fsck:
        blocks = {n: content(each) for n, each in state.items()}
        changes = [
            DiskWrite(n * BLOCK_BYTES, BLOCK_BYTES, content(each)) for n, each in (changed or {}).items()
        ]
        disk = RecoveredDisk(blocks, changes)
        self.image.write_bytes(b"".join(disk.block(number) for number in range(COUNT)))
        return self.checks.answer(disk, self.as_file)

    def as_file(self) -> contextlib.nullcontext[Path]:
        self.files += 1
        return contextlib.nullcontext(self.image)

    def counts(self) -> tuple[int, int, int]:
        return tuple(self.checks.counts[each] for each in (RUN, PROVEN, AUDITED))  # type: ignore[return-value]


def content(letter: str) -> bytes:
    return letter.encode() * BLOCK_BYTES


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_a_disk_that_differs_in_no_block_that_was_read_is_proven(scene: Scene) -> None:
    first = scene.answer({0: "a", 5: "x"})
    assert scene.answer({0: "a", 5: "y", 7: "z"}) == first
    assert scene.counts() == (1, 1, 0)
    assert scene.files == 1


@pytest.mark.parametrize("state", [{0: "b"}, {0: "a", 1: "b"}, {}], ids=["other", "no hole", "a hole"])
def test_a_change_in_a_block_that_is_read_makes_the_checker_run(scene: Scene, state: dict[int, str]) -> None:
    scene.answer({0: "a"})
    assert scene.answer(state).output[::BLOCK_BYTES] == "".join(
        state.get(number, "\0") for number in range(2)
    )
    assert scene.counts() == (2, 0, 0)


def test_what_recovery_changed_counts_as_the_disk_does(scene: Scene) -> None:
    scene.answer({0: "a"}, {1: "r"})
    assert scene.answer({0: "b", 1: "r"}, {0: "a"}).output[::BLOCK_BYTES] == "ar"
    assert scene.answer({0: "a"}).output[::BLOCK_BYTES] == "a\0"
    assert scene.counts() == (2, 1, 0)


def test_an_older_answer_proves_too(scene: Scene) -> None:
    for letter in "abca":
        scene.answer({0: letter})
    assert scene.counts() == (3, 1, 0)


def test_an_answer_that_is_not_clean_is_never_proven(tmp_path: Path) -> None:
    """The checker says what is wrong about each such disk itself."""
    zero = msgspec.structs.replace(FIRST_TWO, fsck=("cmp", "-n", "4096", "/dev/zero"))
    scene = Scene(tmp_path, zero)
    assert [scene.answer({0: "a"}).exit for _ in range(3)] == [1, 1, 1]
    assert scene.counts() == (3, 0, 0)
    assert [scene.answer({3: each}).exit for each in "ab"] == [0, 0]
    assert scene.counts() == (4, 1, 0)


def test_lines_of_an_error_are_not_clean_whatever_the_status(tmp_path: Path) -> None:
    fsck = Fsck(exit=0, output="ERROR: of some kind\n")
    assert not checks.is_clean(fsck, FIRST_TWO)
    assert checks.is_clean(msgspec.structs.replace(fsck, output="fine\n"), FIRST_TWO)


def test_a_checker_whose_reads_are_not_known_always_runs(tmp_path: Path) -> None:
    scene = Scene(tmp_path, msgspec.structs.replace(FIRST_TWO, fsck=("sh", "-c", "head -c 1 $0; true")))
    assert {scene.answer({0: "a"}).exit for _ in range(2)} == {0}
    assert scene.counts() == (2, 0, 0)


@pytest.mark.parametrize(("filesystem", "same"), [("xfs", True), ("ext4", False)])
def test_the_threads_of_xfs_repair_may_say_their_lines_in_any_order(filesystem: str, same: bool) -> None:
    one = msgspec.structs.replace(FIRST_TWO, filesystem=filesystem)
    found = [in_order(Fsck(0, output), one) for output in ("agno 0\nagno 1", "agno 1\nagno 0")]
    assert (found[0] == found[1]) == same


def test_the_audit_lets_the_checker_run_for_its_share(tmp_path: Path) -> None:
    counts = {}
    for percent in (0, 50, 100):
        scene = Scene(tmp_path, audit=Audit(percent, "a seed"))
        for _ in range(31):
            scene.answer({0: "a"})
        counts[percent] = scene.counts()[2]
    assert (counts[0], counts[100]) == (0, 30)
    assert 5 < counts[50] < 25


def test_an_answer_that_the_audit_does_not_find_again_ends_the_run(tmp_path: Path) -> None:
    """As of a checker that asks for more than what it reads: here for the time of the file."""
    scene = Scene(tmp_path, msgspec.structs.replace(FIRST_TWO, fsck=("date", "+%s", "-r")), Audit(100))
    scene.answer({})
    os.utime(scene.image, (1, 1))
    with pytest.raises(AuditFailed, match=r"date \+%s -r was proven .*Found: exit 0, '1\\n'"):
        scene.checks.answer(RecoveredDisk({}, []), scene.as_file)


def test_both_disks_of_an_audit_that_failed_can_be_looked_at(tmp_path: Path) -> None:
    """The one that was asked about, and of the earlier one what the checker read; each is as large."""
    scene = Scene(tmp_path, FIRST_TWO, Audit(100))
    scene.answer({0: "a", 1: "b", 5: "x"})
    scene.checks._profile = msgspec.structs.replace(FIRST_TWO, fsck=("false",))
    with pytest.raises(AuditFailed) as failed:
        scene.answer({0: "a", 1: "b", 6: "y"})
    disks = failed.value.disks
    assert disks is not None
    assert (disks / NOW).read_bytes() == scene.image.read_bytes()
    zeros = bytes((COUNT - 2) * BLOCK_BYTES)
    assert (disks / THEN).read_bytes() == content("a") + content("b") + zeros
    assert (disks / THEN_BLOCKS).read_text() == "0\n1\n"


def test_of_several_devices_the_checker_is_given_the_one_that_is_asked_for(tmp_path: Path, monkeypatch):
    asked = []

    def check(_profile: Profile, _image: Path, first: int) -> Fsck:
        asked.append(first)
        return Fsck(exit=0, output="")

    monkeypatch.setattr(checks, "check_filesystem", check)
    several = Checks(profile("btrfs-raid1"), tmp_path / "reads", Audit(0))
    for first in (1, 0):
        several.answer(RecoveredDisk({}, ()), lambda: contextlib.nullcontext(tmp_path), first)
    assert asked == [1, 0]


def test_a_checker_that_is_killed_in_an_audit_says_nothing_against_the_proof(
    scene: Scene, tmp_path, monkeypatch
):
    scene = Scene(tmp_path, audit=Audit(100))
    first = scene.answer({0: "a"})
    monkeypatch.setattr(checks, "check_filesystem", lambda *_: Fsck(exit=-9, output=""))
    assert scene.answer({0: "a"}) == first
    assert scene.counts() == (1, 1, 0)


@pytest.mark.parametrize("name", ["btrfs", "ext4", "f2fs"])
def test_the_checker_answers_the_same_whatever_is_in_blocks_that_it_did_not_read(name: str, tmp_path: Path):
    """So it reads by no way that is not written down."""
    one = profile(name)
    if not all(shutil.which(tool, path=SYSTEM_PATH) for tool in (one.mkfs[0], one.fsck[0])):
        pytest.skip(f"needs {one.package}")
    image, reads = tmp_path / "image", tmp_path / "reads"
    make_filesystem(one, image)
    answer = check_filesystem(one, image, reads)
    read = blocks_read(reads, one.size_bytes)
    assert checks.is_clean(answer, one)
    assert read
    with image.open("r+b") as file:
        for block in {*nonzero_blocks(image), *range(0, one.size_bytes // BLOCK_BYTES, 16)} - {*read}:
            file.seek(block * BLOCK_BYTES)
            file.write(b"\xa5" * BLOCK_BYTES)
    reads.unlink()
    assert check_filesystem(one, image, reads) == answer
    assert blocks_read(reads, one.size_bytes) == read
