"""Fetching, from repositories in a folder that file:// or `git daemon` serve. No network is needed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel import cache, fetching
from kernel.address import SHORT_NAMES, address
from kernel.build import build, built, find
from kernel.fetching import cached, fetched, place
from kernel.git import run
from kernel.kernel import BadKernel, BuildFailed
from kernel.prune import prune
from kernel.tests.tinytree import commit, git, make_tree
from kernel.word import parse, pinned

PATCH = "# about\n--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-int a;\n+int A;\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.sync", lambda: None)
    for one in SHORT_NAMES.values():
        monkeypatch.delenv(one.variable, raising=False)
    another_process()


def another_process() -> None:
    """What follows does not know what this process has fetched."""
    fetching._fetched.clear()


def silent(_stage: str, _fraction: float) -> None:
    pass


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """Two commits of the tiny tree on the branch main, the first tagged one; they differ in fs/b.c."""
    path = make_tree(tmp_path / "theirs/linux")
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    commit(path, "one")
    git(path, "tag", "-a", "one", "-m", "one")
    (path / "fs/b.c").write_text("int B;\n")
    commit(path, "two")
    return path


@pytest.fixture
def url(theirs: Path) -> str:
    return f"file://{theirs}"


@pytest.fixture
def daemon(theirs: Path) -> Iterator[str]:
    """The URL of `theirs`, served on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    served = [
        f"--base-path={theirs.parent}",
        "--export-all",
        "--reuseaddr",
        "--listen=127.0.0.1",
        f"--port={port}",
    ]
    process = subprocess.Popen(["git", "daemon", *served], stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        for _ in range(100):
            with socket.socket() as asked:
                if asked.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"git://127.0.0.1:{port}/linux"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def program(word: str) -> str:
    return Path(build(word).path).read_text()


def test_a_branch_is_a_kernel_with_url_and_commit(theirs: Path, url: str) -> None:
    before = everything(theirs)
    kernel = build(f"{url}@main")
    assert Path(kernel.path).read_text() == "int a;\nint B;\n"
    made = kernel.provenance
    assert (made.url, made.revision) == (url, git(theirs, "rev-parse", "main"))
    assert made.source_version.startswith("6.12.99 git tree ")
    assert everything(theirs) == before
    beside = {path.name for path in place(url).parent.iterdir()}
    assert beside == {place(url).name + end for end in ("", ".lock", ".use")}


def everything(tree: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in tree.rglob("*") if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


def test_only_the_revision_is_fetched(theirs: Path, daemon: str) -> None:
    folder, found = fetched(address(f"{daemon}@main"), silent)
    assert found == git(theirs, "rev-parse", "main")
    assert run(folder, "rev-list", "--count", found).stdout.strip() == "1"
    assert run(folder, "cat-file", "-e", git(theirs, "rev-parse", "one^{commit}")).returncode


def test_a_branch_that_moved_is_followed_by_the_next_process_and_not_by_this_one(
    theirs: Path, url: str
) -> None:
    first = parse(f"{url}@main").source.revision
    (theirs / "fs/a.c").write_text("int AA;\n")
    second = commit(theirs, "three")
    assert parse(f"{url}@main").source.revision == first
    another_process()
    assert parse(f"{url}@main").source.revision == second
    assert {one.commit: one.asked for one in cached(url)} == {second: ("main",), first: ()}


def test_a_commit_that_is_there_is_not_fetched_again(theirs: Path, url: str) -> None:
    whole = parse(f"{url}@main").source.revision
    theirs.rename(theirs.with_name("gone"))
    another_process()
    for name in (whole, whole[:12]):
        assert parse(f"{url}@{name}").source.revision == whole


def test_a_commit_is_fetched_by_its_hash(theirs: Path, daemon: str) -> None:
    older = git(theirs, "rev-parse", "one^{commit}")
    assert program(f"{daemon}@{older}") == "int a;\nint b;\n"


def test_a_tag_and_a_series_on_top(url: str, tmp_path: Path) -> None:
    (tmp_path / "x.patch").write_text(PATCH)
    assert program(f"{url}@one+{tmp_path}/x.patch") == "int A;\nint b;\n"


def test_equal_trees_of_a_url_and_a_clone_are_one_kernel(theirs: Path, url: str) -> None:
    build(f"{theirs}@main")
    kernel = build(f"{url}@main")
    assert len(built()) == 1
    assert kernel.provenance.url == url
    found = find(f"{theirs}@main")
    assert found
    assert found.provenance.url == ""


def test_the_next_commit_of_a_url_compiles_only_what_changed(theirs: Path, url: str) -> None:
    build(f"{url}@one")
    assert build(f"{url}@main").provenance.step_count == 2


def test_an_unreachable_url_names_what_the_cache_has_and_how_to_ask_for_it(theirs: Path, daemon: str) -> None:
    dead = "git://127.0.0.1:9/linux"
    with pytest.raises(BuildFailed, match=r"cannot be fetched: .*The cache has no commit of it"):
        parse(f"{dead}@main")
    assert not list((cache.root() / "trees").glob("*.git*/"))
    folder, found = fetched(address(f"{daemon}@main"), silent)
    folder.rename(place(dead))
    with pytest.raises(BuildFailed, match=rf"{dead}@{found} \(main, .*, two\)"):
        parse(f"{dead}@main+{theirs}/x.patch")
    assert parse(f"{dead}@{found}").source.revision == found


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("nonsense", r"has no revision 'nonsense'. git ls-remote file://"),
        ("0123456789ab", r"has no revision '0123456789ab'. A server gives a commit by its whole hash"),
        ("0123456789" * 4, "has no revision '0123"),
    ],
)
def test_a_revision_that_is_not_there_is_refused_and_leaves_nothing(
    url: str, revision: str, message: str
) -> None:
    with pytest.raises(BadKernel, match=message):
        parse(f"{url}@{revision}")
    assert cached(url) == []
    assert not place(url).exists()


def test_the_same_of_a_server(daemon: str) -> None:
    fetched(address(f"{daemon}@main"), silent)
    for revision in ("nonsense", "0123456789" * 4):
        with pytest.raises(BadKernel, match="has no revision"):
            parse(f"{daemon}@{revision}")
    with pytest.raises(BadKernel, match="is not a git repository"):
        parse(f"{daemon}/nowhere@main")
    assert [one.asked for one in cached(daemon)] == [("main",)]


def test_what_is_no_repository_or_no_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadKernel, match="is not a git repository"):
        parse(f"file://{tmp_path}/nowhere@main")
    (tmp_path / "book").mkdir()
    git(tmp_path, "init", "-q", "-b", "main", "book")
    (tmp_path / "book/page").touch()
    commit(tmp_path / "book", "a book")
    with pytest.raises(BadKernel, match=rf"file://{tmp_path}/book@\w+ is not a kernel source tree"):
        parse(f"file://{tmp_path}/book@main")


def test_a_tag_of_a_file_is_no_commit(theirs: Path, url: str) -> None:
    git(theirs, "tag", "file", "main:fs/a.c")
    with pytest.raises(BadKernel, match="@file is not a commit"):
        parse(f"{url}@file")
    assert cached(url) == []


def test_a_shallow_clone_that_lacks_the_commit_says_so(theirs: Path, tmp_path: Path, url: str) -> None:
    older = git(theirs, "rev-parse", "one^{commit}")
    git(tmp_path, "clone", "-q", "--depth", "1", url, "shallow")
    with pytest.raises(BadKernel, match=r"shallow clone.*--unshallow.*URL@REV"):
        parse(f"{tmp_path}/shallow@{older}")
    with pytest.raises(BadKernel, match="has no revision"):
        parse(f"file://{tmp_path}/shallow@{older}")


def test_ssh_is_called_so_that_it_asks_nothing_or_as_the_user_has_set_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "ssh"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {tmp_path}/said\nexit 255\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    for command in ("ssh -o BatchMode=yes", f"{script} -i mine"):
        with pytest.raises(BuildFailed, match="cannot be fetched"):
            parse("git@host.invalid:linux.git@master")
        assert f"{command.removeprefix('ssh')} " in (tmp_path / "said").read_text()
        git(tmp_path, "config", "--global", "core.sshCommand", f"{script} -i mine")


def test_without_git_the_package_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(BuildFailed, match="apt-get install git"):
        parse(f"{url}@main")


@pytest.mark.parametrize("first", [True, False])
def test_a_fetch_that_was_killed_leaves_no_commit_and_is_done_anew(
    theirs: Path, url: str, first: bool
) -> None:
    """The upload is held up until the process is killed, by SIGKILL, with files of its own half written."""
    if not first:
        parse(f"{url}@one")
    (theirs.parent / "upload").write_text('#!/bin/sh\ntouch "$0.begun"\nsleep 30\n')
    (theirs.parent / "upload").chmod(0o755)
    program_text = "import sys; from kernel.word import parse; parse(sys.argv[1])"
    held = os.environ | {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.ext::{theirs.parent}/upload .insteadOf",
        "GIT_CONFIG_VALUE_0": url,
        "GIT_ALLOW_PROTOCOL": "ext:file",
    }
    process = subprocess.Popen([sys.executable, "-c", program_text, f"{url}@main"], env=held)
    for _ in range(200):
        if (theirs.parent / "upload.begun").exists():
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert (theirs.parent / "upload.begun").exists()
    assert [one.asked for one in cached(url)] == ([] if first else [("one",)])
    if not first:
        for name in ("shallow.lock", "objects/pack/tmp_pack_x", "refs/asked/main.lock"):
            (place(url) / name).touch()
    assert parse(f"{url}@main").source.revision == git(theirs, "rev-parse", "main")
    assert not [path for path in place(url).rglob("*") if path.name.endswith(".lock") or "tmp_" in path.name]


def test_a_copy_stays_while_it_is_used_and_goes_as_a_whole(url: str) -> None:
    program_text = (
        f"import sys; from kernel.word import parse; parse('{url}@main'); print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program_text], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        process.stdout.readline()
        assert prune(keep_bytes=0)[0] == []
        process.communicate(b"\n")
    (gone,) = prune(keep_bytes=0)[0]
    assert (gone.room, gone.path) == ("trees", str(place(url)))
    assert not place(url).exists()


def test_a_pinned_word_names_the_commit_and_keeps_its_series(
    theirs: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(theirs, "rev-parse", "main")
    assert pinned(f"{url}@main+planted/x") == f"{url}@{head}+planted/x"
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", f"{url}@main")
    assert pinned("linux-next") == f"linux-next@{head}"
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", f"{theirs}@main")
    assert pinned("linux-next+x.patch") == f"linux-next@{head}+x.patch"
    for word in ("6.12+x", f"{theirs}@main", str(theirs)):
        assert pinned(word) == word


def test_a_folder_of_the_users_is_read_as_it_stands(theirs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_MAINLINE", str(theirs))
    git(theirs, "branch", "master", "one")
    source = parse("mainline").source
    assert (source.name, source.url) == (str(theirs), "")
    assert source.revision == git(theirs, "rev-parse", "one^{commit}")
    assert parse("mainline@main~0").source.revision == git(theirs, "rev-parse", "main")
    assert not (cache.root() / "trees").exists()


def test_the_whole_history_is_fetched_where_it_is_asked_for(theirs: Path, url: str) -> None:
    folder, found = fetched(address(f"{url}@main"), silent, history=True)
    assert run(folder, "rev-list", "--count", found).stdout.strip() == "2"
    assert folder != place(url)


def test_fetching_shows_how_far_it_is(daemon: str) -> None:
    seen: list[tuple[str, float]] = []
    fetched(address(f"{daemon}@main"), lambda stage, fraction: seen.append((stage, fraction)))
    assert seen[0] == ("fetching main", 0.0)
    assert {stage for stage, _ in seen} == {"fetching main"}
    assert 0.5 < seen[-1][1] <= 1.0
