import os
import re
from pathlib import Path

import msgspec
import pytest

from harness.commands import main
from harness.commands.arguments import with_commits
from harness.commands.kernel import _table
from kernel import archive
from kernel import build as building
from kernel.address import SHORT_NAMES
from kernel.archive import Offer
from kernel.build import build
from kernel.tests.tinytree import git, make_tree


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POWERCUT_CACHE_LIMIT", raising=False)
    monkeypatch.setattr("os.sync", lambda: None)
    monkeypatch.setattr(building, "compiler", lambda _arch: "gcc 99")
    return make_tree(tmp_path / "linux")


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    (tmp_path / "x.patch").write_text("# A fix\n--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-int a;\n+int A;\n")
    return tmp_path / "x.patch"


def said(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    exit_status = main.main(["kernel", *(str(word) for word in words)])
    captured = capsys.readouterr()
    return exit_status, captured.out, captured.err


def test_build_prints_the_program(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit_status, out, _ = said(capsys, "build", tree, "--quiet")
    assert (exit_status, Path(out.strip()).name) == (0, "linux")


def test_show_of_what_is_not_built_builds_nothing_and_says_what_to_type(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_status, out, err = said(capsys, "show", tree, "--config", "small,debug")
    assert (exit_status, out) == (3, "")
    assert f"powercut kernel build {tree} --config small,debug" in err
    assert building.built() == []


def test_show_tells_where_a_kernel_came_from(
    tree: Path, patch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = build(f"{tree}+{patch}", variants=("small",))
    made = kernel.provenance
    text = said(capsys, "show", f"{tree}+{patch}", "--config", "small")[1]
    for part in (
        made.key,
        made.source_version,
        "A fix",
        made.series[0].sha256,
        f"small; sha256 {made.config_sha256}",
        "gcc 99",
        "with 2 steps",
        made.linux_sha256,
        kernel.path,
        "series.diff",
    ):
        assert part in text
    assert said(capsys, "show", made.key[:8])[1] == text


def test_show_as_json_has_the_provenance_and_the_place(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kernel = build(str(tree))
    shown = msgspec.json.decode(said(capsys, "show", tree, "--json")[1])
    assert shown["path"] == kernel.path
    assert shown["missing_options"] == []
    made = msgspec.json.decode(msgspec.json.encode(kernel.provenance))
    assert {name: shown[name] for name in made} == made


def test_list_has_a_line_for_each_kernel_and_the_size_of_the_cache(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no kernel is built" in said(capsys, "list")[1]
    build(str(tree), variants=("small",))
    build(str(tree))
    listed = said(capsys, "list")[1].replace(f"{tree}\n", f"{tree} ")  # long, so it has a line of its own
    lines = listed.splitlines()
    assert lines[0].split()[:4] == ["kernel", "config", "arch", "source"]
    assert [line.split()[:3] for line in lines[1:3]] == [[str(tree), "-", "um"], [str(tree), "small", "um"]]
    assert "limit 20.0 GiB" in lines[-1]
    assert len(msgspec.json.decode(said(capsys, "list", "--json")[1])) == 2


def test_a_long_kernel_has_a_line_of_its_own() -> None:
    """So one with many series does not push the other columns off the screen."""
    long = "6.12+" + "+".join(f"planted/a-long-name-{number}" for number in range(9))
    lines = list(_table([("kernel", "arch"), ("6.12", "um"), (long, "x86_64")]))
    assert lines[1].split() == ["6.12", "um"]
    assert lines[2:] == [long, " " * lines[1].index("um") + "x86_64"]
    assert lines[1].index("um") <= 42


def test_prune_says_what_went_and_what_would(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = Path(build(str(tree)).path).parent.with_name("0" * 20)
    old.mkdir()
    (old / "linux").write_bytes(bytes(1 << 20))
    os.utime(old, (0, 0))
    for dry, word, there in ((["--dry-run"], "would be freed", True), ([], "freed", False)):
        out = said(capsys, "prune", "--older-than", 30, *dry)[1].splitlines()
        assert out[0].split()[:3] == [f"builds/{old.name}", "1", "MiB"]
        assert f"1 of the cache's things, 1 MiB {word}" in out[1]
        assert (old.exists(), len(out)) == (there, 2)
    assert said(capsys, "prune")[1].startswith("0 of the cache's things")
    exit_status, _, err = said(capsys, "prune", "--keep", "lots")
    assert (exit_status, "--keep: 'lots' is not a size" in err) == (2, True)


# --- sources elsewhere ---------------------------------------------------------------------------


@pytest.fixture
def elsewhere(tree: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of a repository with the tiny tree on the branch main."""
    for one in SHORT_NAMES.values():
        monkeypatch.delenv(one.variable, raising=False)
    git(tree.parent, "init", "-q", "-b", "main", str(tree))
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "one")
    return f"file://{tree}"


def test_show_tells_from_where_a_commit_was_fetched(
    elsewhere: str, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "build", f"{elsewhere}@main", "--quiet")
    text = said(capsys, "show", f"{elsewhere}@main")[1]
    assert f"fetched from {elsewhere}\n" in text
    assert git(tree, "rev-parse", "HEAD") in text


def test_sources_are_listed_with_where_they_come_from(
    elsewhere: str, tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    offered = {"7.3": Offer("linux-source-7.3", "7.3~rc7-1~exp1", 1, "/cache/apt/experimental/apt.conf")}
    monkeypatch.setattr(archive, "offers", lambda _progress: (offered, ["Debian sid: no network"]))
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", f"{elsewhere}@main")
    monkeypatch.setenv("POWERCUT_MAINLINE", str(tree))
    monkeypatch.setenv("POWERCUT_STABLE", "/nowhere")
    said(capsys, "build", "linux-next", "--quiet")
    exit_status, table, _ = said(capsys, "sources", "--quiet")
    assert exit_status == 0
    text = re.sub(" +", " ", table)
    for line in (
        "7.3 7.3~rc7-1~exp1 - Debian experimental",
        f"mainline master - {tree}, which is not fetched",
        f"linux-next main 1 commit {elsewhere}",
        f"linux-next@{git(tree, 'rev-parse', 'HEAD')}",
        "POWERCUT_STABLE=/nowhere is neither",
        "not asked: Debian sid: no network",
    ):
        assert line in text
    told = msgspec.json.decode(said(capsys, "sources", "--json")[1])
    assert [one["name"] for one in told["sources"]][-4:] == ["7.3", "mainline", "linux-next", "stable"]


def test_a_run_keeps_the_commit_in_place_of_the_branch(
    elsewhere: str, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in its command line, by which it goes on; what is behind -- is a program's."""
    commit = git(tree, "rev-parse", "HEAD")
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", f"{elsewhere}@main")
    word = f"{elsewhere}@main"
    for given, meant in (
        (("run", "--kernel", "linux-next,6.12"), ("run", "--kernel", f"linux-next@{commit},6.12")),
        (("run", f"--kern={word}+a.patch"), ("run", f"--kern={elsewhere}@{commit}+a.patch")),
        (
            ("compare", "--against", word, "--kernel", "6.1"),
            ("compare", "--against", word, "--kernel", "6.1"),
        ),
        (("run", "linux-next", "--kernel", "6.12"), ("run", "linux-next", "--kernel", "6.12")),
        (
            ("record", "--kernel", "linux-next", "--", "ls", "--kernel", "linux-next"),
            ("record", "--kernel", f"linux-next@{commit}", "--", "ls", "--kernel", "linux-next"),
        ),
    ):
        found = with_commits(main.understood([*given, "--quiet"]))
        assert found.words == [one.replace(word, f"{elsewhere}@{commit}") for one in (*meant, "--quiet")]


def test_a_run_that_goes_on_fetches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_MAINLINE", "/nowhere")
    arguments = main.understood(["run", "--resume", "results/x"])
    assert with_commits(arguments) is arguments
