"""The host's tools make and check filesystems."""

import shutil
from pathlib import Path

import msgspec
import pytest

from harness.guests import filesystem
from harness.guests.filesystem import (
    SYSTEM_PATH,
    NoFilesystemTool,
    check_filesystem,
    find_tool,
    make_filesystem,
    tool_version,
)
from harness.states.disk import data_blocks
from oracles.observation import Fsck
from oracles.profiles import PROFILES, Profile


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is searched first."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setattr(filesystem, "SYSTEM_PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    return tmp_path / "bin"


PROFILE = Profile("tiny", "tinyfs", ("mkfs.tiny", "-q"), "tinyprogs", ("fsck.tiny", "-n"), size_bytes=1 << 20)


def script(folder: Path, name: str, body: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{body}\n")
    (folder / name).chmod(0o755)


def test_a_missing_tool_is_named_with_the_package_that_has_it(tools: Path) -> None:
    with pytest.raises(NoFilesystemTool, match=r"mkfs\.tiny is not installed: apt-get install tinyprogs"):
        find_tool("mkfs.tiny", "tinyprogs")


def test_a_filesystem_is_made_in_an_image_of_the_profiles_size(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"old" * 1_000_000)
    script(tools, "mkfs.tiny", 'stat -c "$1 %s" "$2" >"$2.args"')
    make_filesystem(PROFILE, tmp_path / "image")
    assert (tmp_path / "image.args").read_text() == f"-q {1 << 20}\n"
    assert (tmp_path / "image").read_bytes() == bytes(1 << 20)


def test_zeros_that_mkfs_wrote_are_holes(tools: Path, tmp_path: Path) -> None:
    """xfs writes its log as 64 MiB of zeros."""
    image = tmp_path / "image"
    script(tools, "mkfs.tiny", 'head -c 900K /dev/zero >"$2"; printf end >>"$2"; truncate -s 1M "$2"')
    make_filesystem(PROFILE, image)
    assert image.read_bytes() == bytes(900 << 10) + b"end" + bytes((124 << 10) - 3)
    assert list(data_blocks(image)) == [225]
    assert not image.with_name("image.sparse").exists()


def test_mkfs_that_fails_is_quoted(tools: Path, tmp_path: Path) -> None:
    script(tools, "mkfs.tiny", "echo some; echo device too small >&2; exit 1")
    with pytest.raises(NoFilesystemTool, match=r"mkfs\.tiny -q .*image failed: device too small"):
        make_filesystem(PROFILE, tmp_path / "image")


def test_mkfs_that_fails_without_a_word_gives_its_status(tools: Path, tmp_path: Path) -> None:
    script(tools, "mkfs.tiny", "exit 9")
    with pytest.raises(NoFilesystemTool, match="failed: 9"):
        make_filesystem(PROFILE, tmp_path / "image")


@pytest.mark.parametrize("status", [0, 4])
def test_the_checker_answers_with_status_and_output(tools: Path, tmp_path: Path, status: int) -> None:
    script(tools, "fsck.tiny", f"echo on $2; echo also on errors >&2; exit {status}")
    assert check_filesystem(PROFILE, tmp_path / "x") == Fsck(status, "on IMAGE\nalso on errors\n")


def test_the_checker_speaks_english_and_reads_no_input(tools: Path, tmp_path: Path) -> None:
    script(tools, "fsck.tiny", "read answer || echo $LC_ALL")
    assert check_filesystem(PROFILE, tmp_path / "x").output == "C\n"


def test_a_checker_without_end_is_stopped(tools: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(filesystem, "FSCK_TIMEOUT_S", 0.1)
    script(tools, "fsck.tiny", "exec sleep 30")
    answer = check_filesystem(PROFILE, tmp_path / "x")
    assert (answer.exit, answer.timed_out) == (-1, True)


def test_a_checker_that_is_killed_has_a_negative_status(tools: Path, tmp_path: Path) -> None:
    script(tools, "fsck.tiny", "kill -SEGV $$")
    assert check_filesystem(PROFILE, tmp_path / "x").exit == -11


def test_bytes_that_are_no_text_are_kept_as_latin_1(tools: Path, tmp_path: Path) -> None:
    script(tools, "fsck.tiny", r"printf 'bad name \377'")
    assert check_filesystem(PROFILE, tmp_path / "x").output == "bad name \xff"


def test_the_seconds_that_it_took_are_no_part_of_the_answer(tools: Path, tmp_path: Path) -> None:
    """fsck.f2fs ends with them."""
    script(tools, "fsck.tiny", r"printf '[Ok..]\n\nDone: 0.013482 secs\n'")
    assert check_filesystem(PROFILE, tmp_path / "x").output == "[Ok..]\n\nDone: SECONDS secs\n"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_version_is_read_from_either_stream(tools: Path, stream: str) -> None:
    script(tools, "mkfs.tiny", f"echo tiny 1.2 >&{stream}")
    assert tool_version(PROFILE) == "tiny 1.2"


def test_a_tool_without_version_is_unknown(tools: Path) -> None:
    script(tools, "mkfs.tiny", "exit 1")
    assert tool_version(msgspec.structs.replace(PROFILE, name="other")) == "unknown"


def test_a_checker_that_somebody_kills_is_run_once_more(tools: Path, tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"")
    script(tools, "fsck.tiny", '[ -e "$2.seen" ] && exit 0; touch "$2.seen"; kill -9 $$')
    assert check_filesystem(PROFILE, tmp_path / "image") == Fsck(exit=0, output="")
    script(tools, "fsck.tiny", "kill -9 $$")
    assert check_filesystem(PROFILE, tmp_path / "image").exit == -9


TWO = msgspec.structs.replace(
    PROFILE,
    mkfs=("mkfs.tiny", "--other", "%1", "%0"),
    fsck=("fsck.tiny", "%1", "%0"),
    size_bytes=12288,
    devices=(4096, 4096),
)


def test_devices_lie_one_behind_the_other_on_the_disk(tools: Path, tmp_path: Path) -> None:
    script(tools, "mkfs.tiny", 'printf one | dd of="$2" conv=notrunc; printf zero | dd of="$3" conv=notrunc')
    image = tmp_path / "image"
    make_filesystem(TWO, image)
    content = image.read_bytes()
    assert (content[:4], content[4096:4099], len(content)) == (b"zero", b"one", 12288)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("image")] == ["image"]


def test_the_checker_sees_each_device_and_names_it(tools: Path, tmp_path: Path) -> None:
    script(tools, "fsck.tiny", r'echo "$1 $(head -c 3 "$1")"; echo "$2 $(head -c 4 "$2")"')
    image = tmp_path / "image"
    image.write_bytes(b"zero".ljust(4096, b"\0") + b"one".ljust(4096, b"\0") + bytes(4096))
    assert check_filesystem(TWO, image).output == "IMAGE.1 one\nIMAGE.0 zero\n"


@pytest.mark.parametrize("one", [one for one in PROFILES if one.devices], ids=lambda one: one.name)
def test_a_new_filesystem_on_several_devices_is_clean(tmp_path: Path, one: Profile) -> None:
    """Skipped where its programs are not installed."""
    for program in (one.mkfs[0], one.fsck[0]):
        if not shutil.which(program, path=SYSTEM_PATH):
            pytest.skip(f"{program} is not installed: apt-get install {one.package}")
    image = tmp_path / "disk"
    make_filesystem(one, image)
    answer = check_filesystem(one, image)
    assert answer.exit in one.fsck_clean, answer.output
    assert image.stat().st_size == one.size_bytes


def test_a_checker_is_given_a_device_that_is_there(tools: Path, tmp_path: Path) -> None:
    script(tools, "fsck.tiny", 'echo "$2"')
    size_bytes = 128 << 10
    profile = msgspec.structs.replace(
        TWO, devices=(size_bytes, size_bytes), size_bytes=2 * size_bytes + 4096, redundant=True
    )
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(profile.size_bytes)
        file.seek(size_bytes + (64 << 10))
        file.write(b"superblock")
        assert check_filesystem(profile, image).output == "IMAGE.0\n"  # of none
        file.flush()
        assert check_filesystem(profile, image).output == "IMAGE.1\n"
        file.seek(64 << 10)
        file.write(b"superblock")
    assert [check_filesystem(profile, image, first=at).output for at in (0, 1)] == ["IMAGE.0\n", "IMAGE.1\n"]
