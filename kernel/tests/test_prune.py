import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernel import cache, git
from kernel.build import build, built
from kernel.kernel import BadKernel
from kernel.prune import limit_bytes, prune, size_of, things
from kernel.tests.tinytree import make_tree

KIB = 1024


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POWERCUT_CACHE_LIMIT", raising=False)
    monkeypatch.setattr("os.sync", lambda: None)
    return tmp_path / "cache"


def put(place: str, kib: int, age_s: float = 0) -> Path:
    """A thing of this size in the cache, last used so long ago; with a suffix, a file."""
    path = cache.root() / place
    file = path if path.suffix else path / "linux"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(bytes(kib * KIB))
    used = time.time() - age_s
    os.utime(path, (used, used))
    return path


def names(found: list) -> list[str]:
    return [str(Path(thing.path).relative_to(cache.root())) for thing in found]


def test_what_lies_in_the_cache_is_listed_by_its_last_use_with_its_size() -> None:
    put("builds/new", 64)
    put("objects/old", 128, age_s=100)
    put("failed/x.log", 4, age_s=50)
    (cache.root() / "builds/new.lock").touch()
    found = things()
    assert names(found) == ["objects/old", "failed/x.log", "builds/new"]
    assert [thing.size_bytes // KIB for thing in found] == [128, 4, 64]


def test_everything_that_takes_room_is_listed() -> None:
    rooms = ["agents", "apt", "builds", "failed", "objects", "sources", "suite", "trees"]
    for room in rooms:
        put(f"{room}/x", 4)
    assert sorted(thing.room for thing in things()) == rooms


def test_what_is_linked_from_a_source_counts_once() -> None:
    source = put("sources/release", 256)
    tree = put("objects/tree/linux/obj.powercut", 64).parent
    os.link(source / "linux", tree / "file")
    (tree / "own").write_bytes(bytes(32 * KIB))
    sizes = {thing.room: thing.size_bytes // KIB for thing in things()}
    assert sizes == {"sources": 256, "objects": 96}


def test_a_size_is_measured_again_when_the_thing_is_another(own_cache: Path) -> None:
    put("builds/one", 64)
    things()
    other = put("another", 128)
    (own_cache / "builds/one").rename(own_cache / "gone")
    other.rename(own_cache / "builds/one")
    assert things()[0].size_bytes == 128 * KIB


@pytest.mark.parametrize("place", ["apt/sid", "trees/copy"])
def test_what_grew_is_measured_again(place: str) -> None:
    """Lists of packages, and a copy of a git tree, into which every night fetches."""
    put(place, 64)
    things()
    put(place, 128)
    assert things()[0].size_bytes == 128 * KIB


def test_what_a_copy_of_a_git_tree_shares_with_the_users_repository_does_not_count(tmp_path: Path) -> None:
    """Its removal frees nothing of that."""
    os.link(put("trees/copy", 256) / "linux", tmp_path / "theirs")
    (cache.root() / "trees/copy/fetched").write_bytes(bytes(64 * KIB))
    assert things()[0].size_bytes == 64 * KIB


def test_of_things_used_at_once_what_is_made_goes_before_what_it_is_made_of() -> None:
    for name in ("sources/c", "objects/b", "builds/a"):
        os.utime(put(name, 4), (1000, 1000))
    assert names(things()) == ["builds/a", "objects/b", "sources/c"]


def test_the_least_recently_used_goes_first_and_only_until_it_fits() -> None:
    for age, name in enumerate(("builds/a", "objects/b", "sources/c")):
        put(name, 64, age_s=300 - 100 * age)
    gone, left_bytes = prune(keep_bytes=130 * KIB)
    assert (names(gone), left_bytes) == (["builds/a"], 128 * KIB)
    assert names(things()) == ["objects/b", "sources/c"]


def test_what_is_older_goes_whatever_the_size() -> None:
    put("builds/old", 64, age_s=3 * 24 * 3600)
    put("failed/old.log", 4, age_s=4 * 24 * 3600)
    put("builds/new", 64)
    assert names(prune(older_than_s=2 * 24 * 3600)[0]) == ["failed/old.log", "builds/old"]
    assert names(things()) == ["builds/new"]


def test_a_dry_run_says_the_same_and_removes_nothing() -> None:
    put("builds/a", 64)
    half_made = put("builds/b.partial/linux", 64)
    assert names(prune(keep_bytes=0, dry_run=True)[0]) == ["builds/a"]
    assert names(things()) == ["builds/a"]
    assert half_made.exists()


@pytest.mark.parametrize(
    ("taken", "name"),
    [
        ("cache.use(place)", "builds/a"),
        ("held = cache.locked(place, print); held.__enter__()", "builds/a"),
        ("git.run(place, 'status')", "trees/a"),
    ],
)
def test_what_another_process_uses_or_makes_stays(taken: str, name: str) -> None:
    """Also a copy of a git tree of which it has read once: it may have further questions."""
    place = put(name, 64)
    script = (
        "import sys; from pathlib import Path; from kernel import cache, git; "
        f"place = Path({str(place)!r}); {taken}; print('taken', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        assert prune(keep_bytes=0)[0] == []
        assert place.is_dir()
        process.communicate("")
    assert names(prune(keep_bytes=0)[0]) == [name]


def test_a_copy_of_a_git_tree_that_is_read_is_young_again() -> None:
    place = put("trees/a", 64, age_s=3 * 24 * 3600)
    assert names(prune(older_than_s=2 * 24 * 3600, dry_run=True)[0]) == ["trees/a"]
    git.run(place, "status")
    assert prune(older_than_s=2 * 24 * 3600, dry_run=True)[0] == []


@pytest.mark.parametrize("name", ["builds/a", "trees/a", "apt/sid", "suite/a"])
def test_a_prune_that_is_killed_leaves_no_part_of_a_thing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a repository would be taken for the whole. The next prune removes the rest."""
    place = put(name, 64)
    aside = place.with_name(f"{place.name}.old.partial")

    def killed(directory: Path, **_: bool) -> None:
        if directory.exists():
            raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        prune(keep_bytes=0)
    assert (place.exists(), aside.exists()) == (False, True)
    monkeypatch.undo()
    monkeypatch.setenv("POWERCUT_CACHE", str(place.parents[1]))
    prune()
    assert not aside.exists()


def test_a_build_keeps_the_cache_within_its_limit_and_its_own_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("builds/old", 64, age_s=100)
    monkeypatch.setenv("POWERCUT_CACHE_LIMIT", "1K")
    kernel = build(str(make_tree(tmp_path / "linux")))
    assert built() == [kernel]
    assert names(things()) == [f"builds/{kernel.provenance.key}"]
    assert build(str(tmp_path / "linux")) == kernel  # its objects went, and are not needed


def test_a_kernel_that_is_used_again_is_young_again(tmp_path: Path) -> None:
    kernel = build(str(make_tree(tmp_path / "linux")))
    place = Path(kernel.path).parent
    os.utime(place, (0, 0))
    build(str(tmp_path / "linux"))
    assert time.time() - place.stat().st_mtime < 60


def test_limits_have_units_and_nonsense_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limit_bytes() == 20 << 30
    monkeypatch.setenv("POWERCUT_CACHE_LIMIT", "500M")
    assert limit_bytes() == 500 << 20
    assert size_of("0", "--keep") == 0
    for text in ("much", "5X", "-1", "1.5G"):
        with pytest.raises(BadKernel, match=f"--keep: '{text}' is not a size"):
            size_of(text, "--keep")
