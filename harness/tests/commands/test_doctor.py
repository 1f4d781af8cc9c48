"""Where the default kernel's source would come from, and which kernel is booted, as the doctor says it."""

import os
from pathlib import Path

import pytest

from harness.commands import doctor
from harness.local import packages
from kernel import archive
from kernel.address import SHORT_NAMES
from kernel.archive import Offer
from kernel.kernel import Kernel, Provenance

NAME = "linux-source-6.12"


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """apt-cache is there and says what stands under "said"; no source is installed or unpacked."""
    world = {"said": ""}
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(packages, "find", lambda _program: "/usr/bin/apt-cache")
    monkeypatch.setattr(archive, "output", lambda *_: world["said"])
    monkeypatch.setattr(archive, "KEYRING", tmp_path / "keyring")
    if list(Path("/usr/src").glob(f"{NAME}*")):
        pytest.skip("the package is installed here")
    return world


def test_what_apt_knows_is_there(apt: dict[str, str]) -> None:
    apt["said"] = f"Package: {NAME}\n"
    assert doctor.kernel_source().ok is True


def test_what_apt_does_not_know_may_come_by_lists_of_our_own(apt: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "keyring").touch()
    check = doctor.kernel_source()
    assert (check.ok, check.fix) == (None, "")
    assert "package lists itself" in check.found


def test_without_debians_keyring_it_cannot_come(apt: dict[str, str]) -> None:
    check = doctor.kernel_source()
    assert check.ok is False
    assert "apt-get install debian-archive-keyring" in check.fix


@pytest.mark.parametrize(("made", "there"), [("/linux", True), (".lock", False)])
def test_only_an_unpacked_source_is_one(apt: dict[str, str], tmp_path: Path, made: str, there: bool) -> None:
    """Of one that was removed the lock stays."""
    (tmp_path / f"cache/sources/{NAME}_6.12.9-1{made}").mkdir(parents=True)
    assert (doctor.kernel_source().ok is True) is there


def test_the_default_kernel_is_tried_before_newer_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel built last may be of a foreign tree, and say nothing of this machine."""
    kernels = []
    for age, (word, variants) in enumerate(
        (("~/linux", ()), ("6.12", ("debug",)), ("6.12", ()), ("6.12+x.patch", ()), ("~/linux", ()))
    ):
        made = Provenance(word, f"key{age}", "6.12", (), "", (), "gcc", 1.0, 1, 1, "", variants)
        path = tmp_path / str(age)
        path.touch()
        os.utime(path, (age, age))
        kernels.append(Kernel(str(path), made))
    monkeypatch.setattr(doctor.build, "built", lambda: kernels)
    assert doctor.kernel_to_try("um") is kernels[2]
    del kernels[2]
    assert doctor.kernel_to_try("um") is kernels[-1]
    assert doctor.kernel_to_try("x86_64") is None


def test_places_of_short_names_are_told_and_a_wrong_one_with_its_variable(
    apt: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in SHORT_NAMES.values():
        monkeypatch.delenv(one.variable, raising=False)
    monkeypatch.setenv("POWERCUT_MAINLINE", str(tmp_path))
    check = doctor.other_sources()
    assert check.ok is True
    assert f"mainline from {tmp_path}; linux-next from https://git.kernel.org/" in check.found
    monkeypatch.setenv("POWERCUT_STABLE", "/nowhere")
    check = doctor.other_sources()
    assert (check.ok, "POWERCUT_STABLE=/nowhere" in check.fix) == (None, True)


def test_releases_that_lists_here_know_beside_the_known_ones_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered = {"6.1": Offer("linux-source-6.1", "6.1.9-1", 1, ""), "7.3": Offer("p", "7.3~rc7-1", 1, "")}
    monkeypatch.setattr(archive, "offers", lambda _progress, refresh: (offered, []))
    assert "Debian also has 7.3 (7.3~rc7-1)" in doctor.other_sources().found
