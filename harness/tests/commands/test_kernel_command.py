import os
from pathlib import Path

import msgspec
import pytest

from harness.commands import main
from harness.commands.kernel import _table
from kernel import build as building
from kernel.build import build
from kernel.tests.tinytree import make_tree


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("POWERCUT_CACHE_LIMIT", raising=False)
    monkeypatch.setattr("os.sync", lambda: None)
    monkeypatch.setattr(building, "compiler", lambda: "gcc 99")
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
