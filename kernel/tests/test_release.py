import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

import kernel.archive as apt
from kernel import cache, release
from kernel.archive import Gone, Offer
from kernel.build import build, built
from kernel.kernel import BadKernel, BuildFailed
from kernel.tests.tinytree import make_tree

VERSION = "6.12.99-1~deb12u1"


def package(directory: Path, version: str = VERSION) -> Path:
    """A linux-source-6.12 as Debian makes it, with the tiny tree inside."""
    tree = make_tree(directory / "linux-source-6.12")
    archive = directory / "deb/usr/src/linux-source-6.12.tar.xz"
    archive.parent.mkdir(parents=True)
    subprocess.run(["tar", "-cJf", archive, "-C", directory, tree.name], check=True)
    control = directory / "deb/DEBIAN/control"
    control.parent.mkdir()
    fields = {
        "Package": "linux-source-6.12",
        "Version": version,
        "Architecture": "all",
        "Maintainer": "a <a@b>",
    }
    control.write_text("".join(f"{k}: {v}\n" for k, v in fields.items()) + "Description: tiny\n")
    made = directory / "made.deb"
    subprocess.run(["dpkg-deb", "-b", directory / "deb", made], check=True, capture_output=True)
    return made


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """apt knows the package and gives it; it is not installed."""
    made = package(tmp_path / "package")

    def offer(*_: object) -> Offer:
        return Offer("linux-source-6.12", VERSION, 1, "")

    def download(_wanted: Offer, directory: Path, _progress: object) -> Path:
        return made.rename(directory / "downloaded.deb")

    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.sync", lambda: None)
    monkeypatch.setattr(release, "_installed_version", lambda _package: "")
    monkeypatch.setattr(apt, "offer", offer)
    monkeypatch.setattr(apt, "offer_of", offer)
    monkeypatch.setattr(apt, "download", download)
    return made


@pytest.mark.usefixtures("archive")
def test_a_release_is_fetched_once_and_becomes_a_kernel_of_that_version(tmp_path: Path) -> None:
    kernel = build("6.12")
    assert Path(kernel.path).read_text() == "int a;\nint b;\n"
    assert kernel.provenance.source_version == f"linux-source-6.12 {VERSION}"
    (tmp_path / "x.patch").write_text("--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-int a;\n+int A;\n")
    assert Path(build(f"6.12+{tmp_path}/x.patch").path).read_text() == "int A;\nint b;\n"
    pristine = cache.root() / f"sources/linux-source-6.12_{VERSION}/linux/fs/a.c"
    assert pristine.read_text() == "int a;\n"


def test_a_damaged_package_leaves_no_source_and_no_kernel(archive: Path) -> None:
    archive.write_bytes(archive.read_bytes()[:200])
    with pytest.raises(BuildFailed, match="could not be unpacked"):
        build("6.12")
    assert built() == []
    assert {path.suffix for path in (cache.root() / "sources").iterdir()} == {".lock", ".use"}


@pytest.mark.usefixtures("archive")
def test_a_disk_too_small_is_told_before_anything_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=2**29))
    with pytest.raises(
        BuildFailed, match=r"needs 2\.\d GiB, and only 0\.5 GiB are free\. Free another 1\.\d GiB"
    ):
        build("6.12")
    assert not (cache.root() / "sources").exists() or not any((cache.root() / "sources").iterdir())


def test_a_release_that_debian_has_no_more_is_taken_from_the_cache(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build("6.12")

    def offer(*_: object) -> Offer:
        raise BadKernel("nowhere")

    monkeypatch.setattr(apt, "offer", offer)
    assert build("6.12").provenance.source_version == f"linux-source-6.12 {VERSION}"
    with pytest.raises(BadKernel, match="nowhere"):
        build("6.13")


def test_a_version_that_is_gone_gives_way_to_its_successor(
    archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = "6.12.100-1"
    made = package(tmp_path / "newer", newer)

    def offer(_release: str, _progress: object, ask_system: bool = True) -> Offer:
        return Offer("linux-source-6.12", VERSION if ask_system else newer, 1, "")

    def download(wanted: Offer, directory: Path, _progress: object) -> Path:
        if wanted.version == VERSION:
            raise Gone("404")
        return made.rename(directory / "downloaded.deb")

    monkeypatch.setattr("kernel.archive.offer", offer)
    monkeypatch.setattr("kernel.archive.offer_of", lambda _release, version: Offer("p", version, 1, ""))
    monkeypatch.setattr("kernel.archive.download", download)
    assert build("6.12").provenance.source_version == f"linux-source-6.12 {newer}"
