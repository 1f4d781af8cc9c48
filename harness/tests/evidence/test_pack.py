"""A folder of results goes to another machine as one file, and nothing else comes in with it."""

import io
import os
import random
import shutil
import tarfile
from pathlib import Path

import msgspec
import pytest
import zstandard

from harness.evidence import pack as subject
from harness.evidence.pack import FORMAT, HEAD, BadPack, Head, pack, unpack
from harness.evidence.store import LEVEL
from harness.tests.made_run import ENTRY_COUNT, keep, seen
from reports.results import read_experiment


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of each thing one."""
    place = tmp_path / "0001"
    (place / "recoveries/empty").mkdir(parents=True)
    (place / "history.json").write_text("{}\n")
    (place / "recoveries/O-3.log.zst").write_bytes(random.Random(1).randbytes(50_000))
    (place / "nothing").touch()
    (place / "repro.sh").write_text("#!/bin/sh\n")
    (place / "repro.sh").chmod(0o755)
    return place


@pytest.fixture
def packed(folder: Path, tmp_path: Path) -> Path:
    pack(folder, tmp_path / "one.pack")
    return tmp_path / "one.pack"


def content(place: Path) -> dict[str, tuple[bool, bytes]]:
    """By name whether it can be run, and its bytes."""
    return {
        path.relative_to(place).as_posix(): (
            os.access(path, os.X_OK),
            b"" if path.is_dir() else path.read_bytes(),
        )
        for path in place.rglob("*")
    }


def refused(packed: Path, message: str, **limits: int) -> None:
    """It says why, and leaves nothing."""
    place = packed.parent / "unpacked"
    with pytest.raises(BadPack, match=message) as error:
        unpack(packed, place, **limits)
    assert str(error.value).startswith(f"{packed}")
    assert [path.name for path in packed.parent.iterdir() if path.name.startswith("unpacked")] == []


# --- there and back -------------------------------------------------------------------------------


def test_what_comes_out_is_what_went_in(folder: Path, packed: Path, tmp_path: Path) -> None:
    unpack(packed, tmp_path / "there")
    assert content(tmp_path / "there") == content(folder)
    assert len(content(folder)) == 6


def test_an_experiment_is_read_from_its_unpacked_folder(tmp_path: Path) -> None:
    (tmp_path / "experiments").mkdir()
    kept = keep(tmp_path)
    pack(kept, tmp_path / "one.pack")
    unpack(tmp_path / "one.pack", tmp_path / "there")
    here, there = read_experiment(kept), read_experiment(tmp_path / "there")
    assert there.facts == here.facts
    assert there.judgement == here.judgement
    assert len(there.judgement.states) == ENTRY_COUNT + 1
    assert there.history is not None
    assert seen(0)


def test_the_same_content_gives_the_same_bytes(folder: Path, packed: Path, tmp_path: Path) -> None:
    """Whenever, in whatever order and by whomever it was made."""
    other = tmp_path / "elsewhere/0007"
    other.parent.mkdir()
    unpack(packed, other)
    (other / "nothing").unlink()
    (other / "nothing").touch()
    (other / "nothing").chmod(0o600)
    os.utime(other / "repro.sh", (1, 1))
    pack(other, tmp_path / "other.pack")
    assert (tmp_path / "other.pack").read_bytes() == packed.read_bytes()
    (other / "history.json").write_text("{ }\n")
    pack(other, tmp_path / "other.pack")
    assert (tmp_path / "other.pack").read_bytes() != packed.read_bytes()


def test_holes_stay_holes(tmp_path: Path) -> None:
    """A base disk of 256 MiB with little in it costs little, in the pack and behind it."""
    (tmp_path / "in").mkdir()
    with (tmp_path / "in/disk").open("wb") as file:
        file.truncate(256 << 20)
        os.pwrite(file.fileno(), b"superblock", 64 << 10)
        os.pwrite(file.fileno(), b"end", (256 << 20) - 3)
    pack(tmp_path / "in", tmp_path / "one.pack")
    assert (tmp_path / "one.pack").stat().st_size < 64 << 10
    unpack(tmp_path / "one.pack", tmp_path / "out")
    with (tmp_path / "out/disk").open("rb") as file:
        assert os.fstat(file.fileno()).st_size == 256 << 20
        assert os.fstat(file.fileno()).st_blocks * 512 <= 64 << 10
        assert os.pread(file.fileno(), 12, (64 << 10) - 1) == b"\0superblock\0"
        assert os.pread(file.fileno(), 9, (256 << 20) - 4) == b"\0end"


def test_what_is_there_stays_as_it_is(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(FileExistsError, match="there already exists"):
        unpack(packed, tmp_path / "there")
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_what_is_no_file_is_not_packed(folder: Path, tmp_path: Path, kind: str) -> None:
    if kind == "link":
        (folder / "odd").symlink_to("/etc/passwd")
    else:
        os.mkfifo(folder / "odd")
    with pytest.raises(BadPack, match="odd is neither a directory nor a regular file"):
        pack(folder, tmp_path / "one.pack")
    assert list(tmp_path.glob("one.pack*")) == []


def test_a_pack_that_could_not_be_written_is_not_there(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(subject, "_add", full)
    with pytest.raises(OSError, match="No space left"):
        pack(folder, tmp_path / "one.pack")
    assert list(tmp_path.glob("one.pack*")) == []


# --- damaged, foreign, evil -----------------------------------------------------------------------


def test_a_pack_that_is_cut_off_is_refused_wherever_it_is(packed: Path) -> None:
    whole = packed.read_bytes()
    for length in [*range(0, 40), *range(40, len(whole), 997), *range(len(whole) - 12, len(whole))]:
        packed.write_bytes(whole[:length])
        refused(packed, "cut off|not an experiment that Powercut packed, or it is damaged")


def test_a_pack_with_another_bit_is_refused_or_the_same(folder: Path, packed: Path, tmp_path: Path) -> None:
    """Most of it is a random file as it is, which nothing but the checksum covers. The same is what a frame
    holds that asks for a larger window."""
    whole = packed.read_bytes()
    draw = random.Random(7)
    places = [*range(0, 200), *(draw.randrange(200, len(whole)) for _ in range(200)), len(whole) - 1]
    same = []
    for at in places:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << draw.randrange(8)
        packed.write_bytes(damaged)
        try:
            unpack(packed, tmp_path / "there")
        except BadPack:
            assert not (tmp_path / "there").exists()
        else:
            assert content(tmp_path / "there") == content(folder)
            shutil.rmtree(tmp_path / "there")
            same.append(at)
    assert set(same) <= {5}  # RFC 8878, 3.1.1.1.2: the window descriptor, behind magic and frame descriptor


def test_what_follows_a_pack_is_refused(packed: Path) -> None:
    whole = packed.read_bytes()
    for more in (b"x", whole):
        packed.write_bytes(whole + more)
        refused(packed, "there is data after its last member")


Member = tuple[str, bytes, dict[str, object]]


def forged(place: Path, *members: Member, head: bytes | None = None) -> Path:
    """A sound frame of sound tar with these members."""
    raw = io.BytesIO()
    head = msgspec.json.encode(Head(FORMAT, len(members))) if head is None else head
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, fields in [*([(HEAD, head, {})] if head else []), *members]:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for field, value in fields.items():
                setattr(member, field, value)
            tar.addfile(member, io.BytesIO(data))
    place.write_bytes(zstandard.ZstdCompressor(level=LEVEL).compress(raw.getvalue()))
    return place


def test_what_is_forged_here_can_be_good(tmp_path: Path) -> None:
    """So the refusals below are for what they say."""
    unpack(forged(tmp_path / "good", ("file", b"here", {})), tmp_path / "there")
    assert (tmp_path / "there/file").read_bytes() == b"here"


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (("../outside", b"evil", {}), "'../outside' points outside the folder"),
        (("a/../../outside", b"evil", {}), "points outside the folder"),
        (("/tmp/outside", b"evil", {}), "'/tmp/outside' points outside the folder"),
        (("./file", b"evil", {}), "points outside the folder"),
        ((".", b"", {"type": tarfile.DIRTYPE}), "'.' points outside the folder"),
        (("link", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc"}), "'link' is neither a directory nor"),
        (("link", b"", {"type": tarfile.LNKTYPE, "linkname": "/etc/passwd"}), "'link' is neither"),
        (("fifo", b"", {"type": tarfile.FIFOTYPE}), "'fifo' is neither"),
        (("device", b"", {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}), "'device' is neither"),
        (("below/none", b"evil", {}), "'below/none' occurs twice, or its directory is missing"),
        ((HEAD, b"evil", {}), f"'{HEAD}' occurs twice"),
    ],
)
def test_a_member_that_would_write_elsewhere_is_refused(tmp_path: Path, member: Member, message: str) -> None:
    refused(forged(tmp_path / "evil", member), message)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evil"]


def test_a_file_is_no_directory_and_nothing_comes_twice(tmp_path: Path) -> None:
    file: Member = ("file", b"here", {})
    refused(forged(tmp_path / "evil", file, ("file/inner", b"evil", {})), "its directory is missing")
    refused(forged(tmp_path / "evil", file, file), "'file' occurs twice")


def test_special_bits_of_a_mode_are_not_taken_over(tmp_path: Path) -> None:
    unpack(forged(tmp_path / "made", ("file", b"", {"mode": 0o6777, "uid": 0})), tmp_path / "there")
    assert (tmp_path / "there/file").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"", "not packed by Powercut|not an experiment that Powercut packed"),
        (b"{}", "not an experiment that Powercut packed, or it is damaged: Object missing required field"),
        (
            b'{"format":%d,"members":1}' % (FORMAT + 1),
            f"it has format {FORMAT + 1}, and this version of Powercut reads",
        ),
        (b'{"format":%d,"members":2}' % FORMAT, "it has 1 of 2 members"),
    ],
    ids=["another tar", "no head", "a later format", "a member is missing"],
)
def test_what_is_no_pack_of_this_format_is_refused(tmp_path: Path, head: bytes, message: str) -> None:
    refused(forged(tmp_path / "other", ("file", b"here", {}), head=head), message)


def test_another_file_is_no_pack(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"PK\3\4" + bytes(1000))
    refused(tmp_path / "other", "not packed by Powercut|is damaged")
    (tmp_path / "other").write_bytes(zstandard.compress(b"a log, perhaps" * 1000))
    refused(tmp_path / "other", "not packed by Powercut|is damaged")


def test_what_holds_more_than_it_may_is_refused_before_it_is_written(tmp_path: Path) -> None:
    small: Member = ("small", bytes(1000), {})
    refused(
        forged(tmp_path / "large", small, ("large", bytes(1 << 20), {})),
        "more than the limit",
        limit_bytes=4096,
    )
