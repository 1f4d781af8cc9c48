"""Which packages a command line needs, and what is said of those that are missing."""

import pytest

from harness.local import packages
from harness.local.packages import complaint, for_guests, for_tests, install_line, missing, names, needed_by
from harness.local.root import ROOT
from kernel.packages import REQUIRED_PACKAGES, Requirement
from oracles.profiles import PROFILES

FLEX = Requirement("flex", "no-such-flex", "parses")
MKFS = Requirement("xfsprogs", "no-such-mkfs", "makes xfs")
REPAIR = Requirement("xfsprogs", "no-such-repair", "checks xfs")


def test_all_missing_packages_are_in_one_line_each_once() -> None:
    assert install_line([FLEX, MKFS, REPAIR]) == "apt-get install --no-install-recommends flex xfsprogs"


def test_on_debian_the_complaint_ends_with_the_line_to_type() -> None:
    said = complaint([FLEX, MKFS, REPAIR], debian=True)
    assert said.splitlines()[-1].strip() == install_line([FLEX, MKFS, REPAIR])
    assert "makes xfs" in said


def test_elsewhere_the_programs_themselves_are_named() -> None:
    said = complaint([FLEX, MKFS], debian=False)
    assert "no-such-flex" in said
    assert "no-such-mkfs" in said
    assert "apt-get" not in said


def test_only_what_is_not_there_is_missing() -> None:
    here = Requirement("coreutils", "/bin/sh", "a shell")
    assert missing([here, FLEX]) == (FLEX,)


@pytest.mark.parametrize(
    "words",
    ["judge results/latest", "report results/latest", "list", "doctor", "kernel list", "run --help", ""],
)
def test_what_needs_no_guest_needs_no_package(words: str) -> None:
    assert needed_by(words.split()) == ()


@pytest.mark.parametrize(
    ("words", "tools"),
    [
        ("run", {"btrfs-progs"}),
        ("run --fs btrfs-single", {"btrfs-progs"}),
        ("run replace --fs=xfs,ext4", {"xfsprogs", "e2fsprogs"}),
        ("bench", {"btrfs-progs", "xfsprogs", "e2fsprogs"}),
        ("--quiet run", {"btrfs-progs"}),
        ("run --fs nosuch", set()),
    ],
)
def test_a_run_needs_the_tools_of_its_filesystems(words: str, tools: set[str]) -> None:
    every_tool = {"btrfs-progs", "xfsprogs", "e2fsprogs"}
    needed = set(names(needed_by(words.split())))
    assert needed & every_tool == tools
    assert {needed.package for needed in REQUIRED_PACKAGES} <= needed


def test_the_tests_need_every_filesystem_and_a_browser() -> None:
    needed = needed_by(["test", "-k", "disk"])
    assert set(for_guests(["btrfs", "ext4", "xfs"])) < set(needed)
    assert "chromium-driver" in names(needed)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("run", False),
        ("run --guest auto", False),
        ("run --guest qemu", True),
        ("repro DIR --guest=qemu", True),
        ("kernel build 6.12", False),
        ("kernel build 6.12 --arch x86_64", True),
        ("test", False),
        ("test harness/suite/test_qemu.py -m qemu", True),
    ],
)
def test_qemu_is_needed_only_where_it_is_asked_for(words: str, wanted: bool) -> None:
    assert ("qemu-system-x86" in names(needed_by(words.split()))) is wanted


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("run --guest qemu", False),
        ("run --guest qemu-aarch64", True),
        ("kernel build 6.12 --arch x86_64", False),
        ("kernel build 6.12 --arch arm64", True),
        ("test harness/suite/test_aarch64.py -m aarch64", False),  # it skips, and names them
    ],
)
def test_a_guest_of_aarch64_asks_for_qemu_the_cross_compiler_and_its_library(
    words: str, wanted: bool
) -> None:
    needed = names(needed_by(words.split()))
    own = ("qemu-system-arm", "gcc-aarch64-linux-gnu", "binutils-aarch64-linux-gnu", "libc6-dev-arm64-cross")
    assert [name in needed for name in own] == [wanted] * len(own)
    if wanted:
        assert "qemu-system-x86" not in needed


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("export DIR F1 --to c", True),
        ("minimize DIR F1", False),
        ("run", False),
        ("test", False),
        ("test harness/suite/test_minimize.py -m minimize", True),
    ],
)
def test_what_exported_programs_need_is_needed_only_there(words: str, wanted: bool) -> None:
    assert ({"dmsetup", "attr", "acl"} <= set(names(needed_by(words.split())))) is wanted


def test_lint_and_types_need_no_package() -> None:
    assert needed_by(["test", "--only", "lint,types"]) == ()
    assert needed_by(["test", "--only", "lint,unit"]) == for_tests()


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_the_table_has_the_package_and_the_programs_of_every_profile(profile) -> None:
    needed = set(for_guests([profile.name])) - set(for_guests([]))
    assert names(needed) == (profile.package,)
    assert {requirement.shown_by for requirement in needed} == {
        command[0] for command in (profile.mkfs, profile.fsck) if command
    }


def test_the_folders_of_mkfs_are_searched_though_the_user_has_them_not(monkeypatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/sbin")
    assert packages.search_path() == "/usr/bin:/sbin:/usr/sbin"


def test_the_container_has_what_a_run_on_every_profile_needs() -> None:
    """And nothing else but Python and the certificates of the network."""
    lines = (ROOT / "Containerfile").read_text().replace("\\\n", " ").splitlines()
    (installed,) = (line for line in lines if line.startswith("RUN apt-get") and "btrfs-progs" in line)
    words = installed.partition("--no-install-recommends")[2].partition("&&")[0].split()
    assert set(words) == {*names(for_guests(packages.FILESYSTEMS)), "python3", "ca-certificates"}


@pytest.mark.parametrize(
    ("words", "packages_"),
    [
        ("run programs/sqlite-wal-full", {"sqlite3"}),
        ("run programs/sqlite-*", {"sqlite3"}),
        ("run programs/*", {"sqlite3"}),
        ("run programs/append-log", set()),
        ("run no-such.toml", set()),
    ],
)
def test_a_program_needs_what_its_scripts_run(words: str, packages_: set[str]) -> None:
    needed = set(names(needed_by(words.split())))
    assert needed & {"sqlite3"} == packages_
