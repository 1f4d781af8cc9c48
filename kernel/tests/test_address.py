from pathlib import Path

import pytest

from kernel.address import SHORT_NAMES, Address, address
from kernel.kernel import BadKernel
from kernel.word import is_release, source_word

HASH = "0123456789abcdef0123456789abcdef01234567"
NEXT = SHORT_NAMES["linux-next"].url


@pytest.fixture(autouse=True)
def no_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for one in SHORT_NAMES.values():
        monkeypatch.delenv(one.variable, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "url", "revision"),
    [
        ("https://host/a/linux.git@v6.15", "https://host/a/linux.git", "v6.15"),
        ("git://host/linux@for-next/x", "git://host/linux", "for-next/x"),
        ("ssh://me@host:22/~me/linux@master", "ssh://me@host:22/~me/linux", "master"),
        (f"file:///a@b/linux@{HASH}", "file:///a@b/linux", HASH),
        ("git@host:a/linux.git@master", "git@host:a/linux.git", "master"),
    ],
)
def test_the_revision_of_a_url_is_behind_the_last_at(text: str, url: str, revision: str) -> None:
    assert address(text) == Address(url, url, None, revision)


@pytest.mark.parametrize(
    "text", ["6.12", "linux", "linux@v6.12", "/a/linux@b", "~/linux", "mainlines", "C:x@y"]
)
def test_other_words_are_none(text: str) -> None:
    assert address(text) is None


@pytest.mark.parametrize(
    "text", ["https://host/linux.git", "ssh://me@host/linux", "git@host:linux", "git://x"]
)
def test_a_url_without_a_revision_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(BadKernel, match=r"names no revision. .*@REV"):
        address(text)


def test_a_url_with_a_password_is_refused_before_it_is_kept_anywhere() -> None:
    with pytest.raises(BadKernel, match="holds a password") as refused:
        address("https://me:secret@host/linux.git@master")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("revision", ["v6.12~3", "HEAD^", "a..b", "HEAD:fs", "re*", "a b", "-x", "HEAD@{1}"])
def test_what_git_cannot_ask_a_server_for_is_refused(revision: str) -> None:
    with pytest.raises(BadKernel, match=r"cannot be asked for over a URL.*PATH@REV"):
        address(f"https://host/linux.git@{revision}")


def test_a_short_name_is_a_branch_of_kernel_org() -> None:
    assert address("linux-next") == Address("linux-next", NEXT, None, "master")
    assert address("linux-next@next-20261127") == Address("linux-next", NEXT, None, "next-20261127")
    found = address("mainline@v6.15")
    assert found
    assert (found.url, found.revision) == (SHORT_NAMES["mainline"].url, "v6.15")


def test_stable_needs_a_branch() -> None:
    with pytest.raises(BadKernel, match=r"stable@linux-6\.12\.y"):
        address("stable")
    found = address("stable@linux-6.12.y")
    assert found
    assert found.revision == "linux-6.12.y"


def test_a_setting_names_another_url_and_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", "git@mirror:next.git")
    assert address("linux-next") == Address("linux-next", "git@mirror:next.git", None, "master")
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", "git://mirror/next@pending")
    assert address("linux-next") == Address("linux-next", "git://mirror/next", None, "pending")
    assert address("linux-next@x") == Address("linux-next", "git://mirror/next", None, "x")


def test_a_setting_names_a_folder_which_takes_all_of_gits_revisions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POWERCUT_MAINLINE", str(tmp_path))
    assert address("mainline") == Address("mainline", "", tmp_path, "master")
    assert address("mainline@HEAD~3") == Address("mainline", "", tmp_path, "HEAD~3")
    monkeypatch.setenv("POWERCUT_MAINLINE", f"{tmp_path}@linus/master")
    assert address("mainline") == Address("mainline", "", tmp_path, "linus/master")


def test_a_setting_that_is_neither_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_MAINLINE", "/no/such/folder")
    with pytest.raises(BadKernel, match="POWERCUT_MAINLINE=/no/such/folder is neither"):
        address("mainline")


def test_a_folder_of_a_short_name_is_named_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "mainline").mkdir()
    found = address("mainline")
    assert found
    assert found.url
    assert address("./mainline") is None


def test_a_plus_in_a_url_is_part_of_it_and_one_behind_the_revision_begins_a_series() -> None:
    assert (
        source_word("https://host/c++/linux.git@master+a.patch+b.patch")
        == "https://host/c++/linux.git@master"
    )
    assert source_word("linux-next@x+planted/y") == "linux-next@x"


def test_a_release_is_two_numbers() -> None:
    assert [is_release(text) for text in ("7.3", "6.12", "6.12.1", "v6.12", "6")] == [
        True,
        True,
        False,
        False,
        False,
    ]
