import errno
from pathlib import Path

import filelock
import pytest

from kernel import cache
from kernel.kernel import BuildFailed


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.sync", lambda: None)


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.root() == tmp_path / "cache"
    monkeypatch.setenv("POWERCUT_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.root() == tmp_path / "xdg/powercut"


def test_a_directory_appears_when_its_body_ends_well() -> None:
    place = cache.root() / "builds/k"
    with cache.appearing(place) as directory:
        (directory / "linux").touch()
        assert not place.exists()
    assert [path.name for path in place.iterdir()] == ["linux"]


def test_a_directory_whose_body_fails_leaves_nothing() -> None:
    def interrupted() -> None:
        with cache.appearing(cache.root() / "builds/k") as directory:
            (directory / "linux").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list((cache.root() / "builds").iterdir()) == []


def test_a_directory_replaces_an_older_one_whole() -> None:
    place = cache.root() / "objects/k"
    for name in ("old", "new"):
        with cache.appearing(place) as directory:
            (directory / name).touch()
    assert [path.name for path in place.iterdir()] == ["new"]
    assert [path.name for path in place.parent.iterdir()] == ["k"]


def test_what_a_dead_process_left_is_swept_and_what_is_being_made_stays() -> None:
    builds = cache.root() / "builds"
    for name in ("dead.partial", "dead.old.partial", "alive.partial"):
        (builds / name).mkdir(parents=True)
    with filelock.FileLock(builds / "alive.lock"):
        cache.sweep()
    assert {path.name for path in builds.glob("*.partial")} == {"alive.partial"}


def test_who_must_wait_for_a_lock_is_told() -> None:
    told: list[str] = []
    place = cache.root() / "builds/k"
    other = filelock.FileLock(f"{place}.lock")
    place.parent.mkdir(parents=True)
    other.acquire()

    def waiting() -> None:
        told.append("waiting")
        other.release()

    with cache.locked(place, waiting):
        assert told == ["waiting"]


def test_a_disk_too_small_is_told_before_with_what_is_missing() -> None:
    with pytest.raises(BuildFailed, match=r"needs 1073741824\.0 GiB.*POWERCUT_CACHE"):
        cache.require_space(2**60, "the source")


@pytest.mark.parametrize(("number", "message"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "cannot be")])
def test_a_disk_that_refuses_is_explained(number: int, message: str) -> None:
    place = cache.root() / "builds/k"
    with pytest.raises(BuildFailed, match=message), cache.appearing(place):
        raise OSError(number, "refused")
    assert not list(place.parent.iterdir())
