"""What a dead kernel left in pstore: the order of its parts; the script by the real ssh, over our folders."""

import os
import subprocess
import time
import zlib
from pathlib import Path

import msgspec
import pytest

from harness.hosts import pstore
from harness.hosts.pstore import Record, joined, kernel_lines, left_since, lines_since, look, words_of
from harness.hosts.ssh import connect
from harness.tests.hosts import real_sshd

NOW = 1_795_000_000
by_sshd = pytest.mark.skipif(
    real_sshd.SSHD is None or os.geteuid() != 0,
    reason="sshd is not installed (apt-get install openssh-server), or this user is not root behind it",
)


def raw(*lines: str) -> str:
    return "".join(f"<4>[   12.345678][  T123] {line}\n" for line in lines)


def part(number: int, *lines: str, reason: str = "Panic", count: int = 1, time_s: int = NOW) -> Record:
    content = f"{reason}#{count} Part{number}\n{raw(*lines)}".encode()
    return Record(f"dmesg-erst-{time_s}{count}{number}", time_s, len(content), content)


# --- the order ---


def test_part_1_is_the_end_of_the_log() -> None:
    """fs/pstore/platform.c fills part 1 first, with the youngest lines; names may sort in any way."""
    parts = [part(2, "three", "four"), part(3, "one", "two"), part(1, "five", "six")]
    assert words_of(parts) == ("one", "two", "three", "four", "five", "six")


def test_ten_parts_are_in_the_order_of_numbers() -> None:
    assert words_of(part(number, str(number)) for number in range(1, 12)) == tuple(
        str(number) for number in range(11, 0, -1)
    )


def test_parts_that_were_written_in_two_seconds_are_one_dump() -> None:
    """Each part has a time of its own; efi_pstore makes its name of it."""
    assert words_of([part(1, "b", time_s=NOW), part(2, "a", time_s=NOW + 1)]) == ("a", "b")


def test_an_oops_and_its_panic_are_one_log() -> None:
    oops = part(1, "Oops: 0000", "RIP: f", "end trace", reason="Oops")
    panic = part(1, "end trace", "Kernel panic", count=2)
    assert words_of([panic, oops]) == ("Oops: 0000", "RIP: f", "end trace", "Kernel panic")


def test_a_boot_that_died_after_the_first_is_left_out() -> None:
    """Its dumps are numbered from 1 again."""
    later = [part(1, "its own kernel", time_s=NOW + 60), part(2, "boots", time_s=NOW + 60)]
    assert words_of([*later, part(1, "under test")]) == ("under test",)
    assert words_of([*later, part(1, "under test", count=2)]) == ("under test",)


def test_an_orderly_reboot_is_no_death() -> None:
    assert words_of([part(1, "reboot: Restarting system", reason="Shutdown")]) == ()


def test_what_is_no_dump_is_left_out() -> None:
    console = Record("dmesg-odd-1", NOW, 5, b"words")
    assert words_of([console, Record("dmesg-erst-1", NOW, 5)]) == ()


def test_the_line_of_pstore_blk_before_the_header_is_left_out() -> None:
    """fs/pstore/zone.c: psz_kmsg_read()."""
    content = b"Panic: Total 1 times\nPanic#1 Part1\n<0>Kernel panic\n"
    assert words_of([Record("dmesg-pstore_blk-0", NOW, len(content), content)]) == ("Kernel panic",)


def test_a_dump_that_the_kernel_there_could_not_expand_is_expanded() -> None:
    engine = zlib.compressobj(wbits=-15)
    content = engine.compress(f"Panic#1 Part1\n{raw('Kernel panic')}".encode()) + engine.flush()
    assert words_of([Record("dmesg-erst-1.enc.z", NOW, len(content), content)]) == ("Kernel panic",)
    assert words_of([Record("dmesg-erst-1.enc.z", NOW, 4, b"\xff\xff\xff\xff")]) == ()


def test_lines_are_those_that_the_agent_passes() -> None:
    """Without level, time and caller; a program's lines (here of systemd, facility 3) are none."""
    lines = ["<4>[    1.5] a", "<6>[12345.678901][   C1]  b", "<6>c", "<3>[  T9] d", "<30>[  1.5] no", "no"]
    assert kernel_lines(lines) == ("a", " b", "c", "d")


# --- what was known already ---


def test_what_was_said_before_a_moment_is_left_out() -> None:
    left = ("WARNING: of the boot", "mounted", "mounted", "BUG", "Kernel panic")
    assert lines_since(["WARNING: of the boot", "mounted"], [], left) == ("mounted", "BUG", "Kernel panic")
    assert lines_since(["mounted"], ["mounted"], left) == ("mounted", "BUG", "Kernel panic")
    assert lines_since(["lost"], ["mounted", "BUG"], left) == ("mounted", "BUG", "Kernel panic")


def test_all_is_kept_where_the_moment_is_not_found() -> None:
    assert lines_since(["not there"], [], ["a", "b"]) == ("a", "b")
    assert lines_since([], [], ["a", "b"]) == ("a", "b")


def test_what_came_by_the_connection_completes_a_short_dump() -> None:
    assert lines_since(["x"], ["WARNING", "a", "b"], ["b", "c"]) == ("WARNING", "a", "b", "c")
    assert joined(["a"], ["b"]) == ("a", "b")


# --- the script ---


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A connection, and the folders of pstore and of systemd-pstore.service, which do not exist yet."""
    store, archive, mounts = tmp_path / "store", tmp_path / "archive", tmp_path / "mounts"
    mounts.write_text(f"proc /proc proc rw 0 0\npstore {store} pstore rw 0 0\n")
    monkeypatch.setattr(pstore, "STORE", str(store))
    monkeypatch.setattr(pstore, "ARCHIVE", str(archive))
    monkeypatch.setattr(pstore, "MOUNTS", str(mounts))
    with connect(real_sshd.machine(tmp_path)) as connection:
        yield connection, store, archive


def write(folder: Path, record: Record) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / record.name
    path.write_bytes(record.content)
    os.utime(path, (record.time_s, record.time_s))
    return path


def of_another_boot(seen: pstore.Seen) -> pstore.Seen:
    return msgspec.structs.replace(seen, boot="the boot that died")


@by_sshd
def test_without_pstore_nothing_was_left(there) -> None:
    connection, *_ = there
    before = look(connection)
    assert before.records == ()
    assert left_since(connection, of_another_boot(before)) == ()


@by_sshd
def test_a_new_record_is_read_and_one_of_before_is_not(there) -> None:
    connection, store, archive = there
    now = int(time.time())
    write(store, part(1, "an old panic", time_s=now))
    write(archive / "7", part(1, "an older panic", time_s=now - 5))
    before = look(connection)
    assert len(before.records) == 2
    assert left_since(connection, of_another_boot(before)) == ()
    write(store, part(2, "BUG", time_s=now + 1))
    write(store, part(1, "Kernel panic", time_s=now + 1))
    assert left_since(connection, of_another_boot(before)) == ("BUG", "Kernel panic")


@by_sshd
def test_a_record_of_before_is_known_again_where_it_was_moved(there) -> None:
    """As systemd-pstore.service does at boot; the new one is read there, too."""
    connection, store, archive = there
    now = int(time.time())
    old = part(1, "an old panic", time_s=now)
    path = write(store, old)
    before = look(connection)
    path.unlink()
    write(archive / "7", old)
    write(archive / "7", msgspec.structs.replace(old, name="dmesg.txt"))
    write(archive / "8", part(1, "Kernel panic", time_s=now + 1))
    assert left_since(connection, of_another_boot(before)) == ("Kernel panic",)


@by_sshd
def test_a_name_that_is_used_again_is_a_new_record(there) -> None:
    """ramoops has few names."""
    connection, store, _ = there
    now = int(time.time())
    write(store, msgspec.structs.replace(part(1, "old"), name="dmesg-ramoops-0", time_s=now - 3))
    before = look(connection)
    write(store, msgspec.structs.replace(part(1, "new"), name="dmesg-ramoops-0", time_s=now))
    assert left_since(connection, of_another_boot(before)) == ("new",)


@by_sshd
def test_a_record_from_long_before_that_was_hidden_is_not_of_this_death(there) -> None:
    """The kernel before had no driver for the store, and so did not list it."""
    connection, store, _ = there
    before = look(connection)
    write(store, part(1, "an old panic", time_s=int(time.time()) - 3600))
    assert left_since(connection, of_another_boot(before)) == ()


@by_sshd
def test_of_a_machine_that_did_not_boot_again_nothing_is_taken(there) -> None:
    """Only its network was away; an oops that it survived is no death."""
    connection, store, _ = there
    before = look(connection)
    write(store, part(1, "Oops", reason="Oops", time_s=int(time.time())))
    assert left_since(connection, before) == ()


@by_sshd
def test_where_nobody_has_mounted_it_nothing_stays_mounted(there) -> None:
    """And nothing is deleted."""
    connection, store, archive = there
    Path(pstore.MOUNTS).write_text("proc /proc proc rw 0 0\n")
    now = int(time.time())
    path = write(store, part(1, "below the mount", time_s=now))
    before = look(connection)
    moved = write(archive, part(1, "Kernel panic", time_s=now + 1))
    assert "Kernel panic" in left_since(connection, of_another_boot(before))
    assert str(store) not in Path("/proc/self/mounts").read_text()
    assert path.exists()
    assert moved.exists()


@by_sshd
def test_the_last_lines_of_the_log_are_seen(there) -> None:
    """By them it is known what a dump has from before."""
    connection, *_ = there
    said = look(connection).lines
    now = subprocess.run(["dmesg", "-r"], capture_output=True, check=False).stdout.decode("latin-1")
    assert bool(said) == bool(now)
    assert set(said) <= set(kernel_lines(now.split("\n")))
