"""How long each test took and when it is stopped, by what ./check has printed; what the guest gets."""

from pathlib import Path

import pytest

from harness.fstests import machine
from harness.fstests.machine import START_S, USERS, Watch, choosing, script_for, text_of

TESTS = ("generic/001", "generic/002")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(machine.time, "monotonic", lambda: now[0])
    return now


def test_each_test_has_a_deadline_of_its_own(tmp_path: Path, clock: list[float]) -> None:
    said = tmp_path / "said"
    watch = Watch(said, TESTS, 60)
    clock[0] = START_S + 50
    said.write_text("generic/001   ")
    assert watch() == ""
    clock[0] += 59
    said.write_text("generic/001   59s\ngeneric/002   ")
    assert watch() == ""
    clock[0] += 61
    assert watch() == "it did not end within 60 s"
    assert watch.seconds("generic/001") == START_S + 109
    assert watch.seconds("generic/002") == 61


def test_a_check_that_never_takes_up_a_test_is_stopped(tmp_path: Path, clock: list[float]) -> None:
    watch = Watch(tmp_path / "said", TESTS, 60)
    clock[0] = START_S + 59
    assert watch() == ""
    clock[0] = START_S + 61
    assert "did not end" in watch()


def test_the_guest_has_the_users_of_fstests_and_its_own(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    folder = script_for(TESTS, "xfs", tmp_path / "results", tmp_path)
    users = [line.partition(":")[0] for line in (folder / "passwd").read_text().splitlines()]
    assert users[0] == "root"
    assert all(users.count(name) == 1 for name in USERS)
    script = (folder / "try").read_text()
    assert "FSTYP=xfs" in script
    assert "LVM_SYSTEM_DIR=/tmp/lvm\n" in script  # btrfs/291: lvcreate cannot write to /etc/lvm
    assert "./check --exact-order generic/001 generic/002 >" in script  # else it sorts them


def test_a_test_that_chooses_its_expected_output_finds_a_folder_to_link_it_in(tmp_path: Path) -> None:
    """generic/050 failed: it links 050.out, and the guest cannot write to the checkout."""
    (tmp_path / "results").mkdir()
    (tmp_path / "tests/generic").mkdir(parents=True)
    (tmp_path / "tests/generic/001").write_text("_link_out_file $features\n")
    assert choosing(TESTS, tmp_path) == ("generic",)
    assert choosing(TESTS[1:], tmp_path) == ()
    script = (script_for(TESTS, "ext4", tmp_path / "results", tmp_path) / "try").read_text()
    assert script.index("mount --bind /tmp/tests/generic /mnt/beside/tests/generic") < script.index("./check")


def test_a_file_that_is_not_there_is_empty_text(tmp_path: Path) -> None:
    assert text_of(tmp_path / "nosuch") == ""
    (tmp_path / "bytes").write_bytes(b"a\0\xff")
    assert text_of(tmp_path / "bytes") == "a�"
