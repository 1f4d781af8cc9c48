from pathlib import Path

import pytest

from kernel.kernel import BadKernel, Source
from kernel.tests.tinytree import make_tree
from kernel.word import RELEASES, parse


@pytest.mark.parametrize("word", RELEASES)
def test_a_release_is_a_debian_source(word: str) -> None:
    assert parse(word).source == Source("debian", word, word)
    assert parse(word).series == ()


def test_series_keep_their_order_and_their_bytes(tmp_path: Path) -> None:
    for name in ("b.patch", "a.patch"):
        (tmp_path / name).write_text(f"# about {name}\n--- a/x\n+++ b/x\n")
    spec = parse(f"6.12+{tmp_path}/b.patch+{tmp_path}/a.patch")
    assert [(one.about, one.suffix) for one in spec.series] == [
        ("about b.patch", ".patch"),
        ("about a.patch", ".patch"),
    ]


def test_a_planted_bug_is_found_by_name() -> None:
    (series,) = parse("6.12+planted/old-name-kept-after-rename").series
    assert series.suffix == ".cocci"
    assert "both names" in series.about


def test_a_tree_is_named_by_its_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tree(tmp_path / "linux")
    monkeypatch.chdir(tmp_path)
    assert parse("linux").source == Source("tree", str(tmp_path / "linux"), "6.12")


def test_a_plus_in_the_path_of_a_tree_or_series_is_part_of_the_path(tmp_path: Path) -> None:
    make_tree(tmp_path / "linux+mine")
    (tmp_path / "one+two.patch").write_text("# one and two\n--- a/x\n+++ b/x\n")
    spec = parse(f"{tmp_path}/linux+mine+{tmp_path}/one+two.patch")
    assert spec.source.name == str(tmp_path / "linux+mine")
    assert [one.about for one in spec.series] == ["one and two"]


def test_a_mail_is_a_series_whose_subject_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("From: a\nSubject: [PATCH] fix it\n\n--- a/x\n+++ b/x\n")
    (series,) = parse(f"6.12+{tmp_path}/mail").series
    assert (series.about, series.suffix) == ("[PATCH] fix it", ".mbox")


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("6.12.1", r"release \(5.10, 6.1, 6.12, 7.2\)"),
        ("6.12+", "a name is missing"),
        ("+x.patch", "a name is missing"),
        ("", "a name is missing"),
        ("/no/such/tree", "is not a release"),
        ("/etc/passwd", "is a file"),
        ("/etc", "not a kernel source tree"),
        ("/no/such/tree@v6.12", "is not a release"),
        ("6.12+planted/nonsense", "list --names series"),
        ("6.12+old-name-kept-after-rename", "did you mean planted/old-name-kept-after-rename"),
        ("6.12+/etc/passwd", "neither a patch"),
    ],
)
def test_a_bad_word_is_refused_with_what_is_known(word: str, message: str) -> None:
    with pytest.raises(BadKernel, match=message):
        parse(word)


def test_a_semantic_patch_must_name_its_files(tmp_path: Path) -> None:
    (tmp_path / "x.cocci").write_text("// about\n@@ @@\n- a();\n")
    with pytest.raises(BadKernel, match=r"// files:"):
        parse(f"6.12+{tmp_path}/x.cocci")
    (tmp_path / "x.cocci").write_text("// about\n// files: ../../etc/x.c\n@@ @@\n- a();\n")
    with pytest.raises(BadKernel, match="not inside"):
        parse(f"6.12+{tmp_path}/x.cocci")


def test_a_folder_of_changes_gives_the_one_for_the_sources_version(tmp_path: Path) -> None:
    make_tree(tmp_path / "linux")
    for version in ("6.1", "6.12", "7.2"):
        (tmp_path / f"fix/{version}.patch").parent.mkdir(exist_ok=True)
        (tmp_path / f"fix/{version}.patch").write_text(f"# for {version}\n--- a/x\n+++ b/x\n")
    for source, about in (("6.1", "for 6.1"), (tmp_path / "linux", "for 6.12"), ("7.2", "for 7.2")):
        (series,) = parse(f"{source}+{tmp_path}/fix").series
        assert (series.name, series.about) == (f"{tmp_path}/fix", about)
    with pytest.raises(BadKernel, match=r"fix has no file for a 5\.10; it has files for 6\.1, 6\.12, 7\.2"):
        parse(f"5.10+{tmp_path}/fix")


def test_the_rest_of_the_versions_may_share_one_change(tmp_path: Path) -> None:
    (tmp_path / "6.1.patch").write_text("# for 6.1\n--- a/x\n+++ b/x\n")
    (tmp_path / "any.cocci").write_text("// for the rest\n// files: x.c\n@@ @@\n- a();\n")
    abouts = [parse(f"{version}+{tmp_path}").series[0].about for version in ("6.1", "6.12", "7.2")]
    assert abouts == ["for 6.1", "for the rest", "for the rest"]


def test_one_version_in_two_files_is_refused(tmp_path: Path) -> None:
    for suffix in (".patch", ".cocci"):
        (tmp_path / f"6.1{suffix}").write_text("# a\n--- a/x\n+++ b/x\n")
    with pytest.raises(BadKernel, match=r"two files for version 6\.1"):
        parse(f"6.1+{tmp_path}")


@pytest.mark.parametrize("folder", [True, False])
def test_where_a_thing_is_absent_its_series_is_refused_with_the_reason(tmp_path: Path, folder: bool) -> None:
    file = tmp_path / "6.12.patch"
    file.write_text("# a\n# absent: 5.10 (added in v5.13)\n--- a/x\n+++ b/x\n")
    name = tmp_path if folder else file
    assert parse(f"6.12+{name}").series[0].facts.absent == {"5.10": "added in v5.13"}
    with pytest.raises(BadKernel, match=r"cannot be used with 5\.10: added in v5\.13"):
        parse(f"5.10+{name}")


def test_variants_come_in_one_order_and_with_those_a_series_needs(tmp_path: Path) -> None:
    (tmp_path / "x.patch").write_text("# a\n# config: debug\n--- a/x\n+++ b/x\n")
    assert parse(f"6.12+{tmp_path}/x.patch").variants == ("debug",)
    both = parse(f"6.12+{tmp_path}/x.patch", ("small",)).variants
    assert both == parse("6.12", ("small", "debug", "small")).variants == ("debug", "small")


def test_an_unknown_variant_is_refused_with_those_that_are_known() -> None:
    for name in ("nonsense", "base", "uml", "x86_64", "arm64"):
        with pytest.raises(BadKernel, match=f"{name}.*variants are bpf, compression"):
            parse("6.12", (name,))


def test_several_processors_need_a_kernel_whose_user_mode_linux_has_them() -> None:
    assert parse("7.2", ("smp",)).variants == ("smp",)
    assert parse("6.12", ("smp",), "x86_64").variants == ("smp",)
    with pytest.raises(BadKernel, match=r"'6\.12'.*from 6\.19 on.*--guest qemu"):
        parse("6.12", ("smp",))


def test_a_race_brings_the_variant_that_it_needs() -> None:
    assert parse("7.2+planted/btrfs-rename-does-not-pin-the-log").variants == ("smp",)


def test_calls_can_stop_where_user_mode_linux_counts_what_forbids_it() -> None:
    assert parse("6.12", ("stops",)).variants == ("stops",)
    for word in ("5.10", "6.1"):
        with pytest.raises(BadKernel, match=f"{word}.*may stop from 6.2 on, and this is {word}"):
            parse(word, ("stops",))
