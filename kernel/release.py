"""
A release from Debian's package linux-source-X.Y.

In:       Source of kind "debian"; the package installed, in the archive, or unpacked in the cache.
Out:      its exact version; its files in a directory of ours.
Not here: the archive (archive.py).
"""

import subprocess
from collections.abc import Callable
from pathlib import Path

from kernel import archive, cache
from kernel.kernel import BadKernel, BuildFailed, KernelError, Source
from kernel.make import environment

Progress = Callable[[str, float], None]

UNPACKED_BYTES = 1_650 << 20  # linux-source-6.12 unpacked: 1.49 GiB of files, 4 KiB blocks
FILE_COUNT = 92_000  # of 6.12, for the progress of unpacking


def exact_version(source: Source, progress: Progress, ask_system: bool = True) -> str:
    """The package's name and version. ask_system: whether what the system's apt knows is believed."""
    return f"{_package(source)} {_package_version(source, progress, ask_system)}"


def _package(source: Source) -> str:
    return f"linux-source-{source.name}"


def _package_version(source: Source, progress: Progress, ask_system: bool) -> str:
    """Of the installed package, else of the one apt would fetch, else of the newest in the cache."""
    package = _package(source)
    if installed := _installed_version(package):
        return installed
    try:
        return archive.offer(source.name, progress, ask_system).version
    except KernelError as error:
        if cached := sorted((cache.root() / "sources").glob(f"{package}_*/linux"), key=_age):
            return cached[-1].parent.name.partition("_")[2]
        if isinstance(error, BadKernel):
            raise
        raise BuildFailed(
            f"{package} is not installed and cannot be downloaded: {error}. Correct that, or name "
            "the folder of a source tree"
        ) from error


def _age(path: Path) -> float:
    return path.parent.stat().st_mtime


def _installed_version(package: str) -> str:
    said = archive.output(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package])
    status, _, package_version = said.partition(" ")
    return package_version if status == "installed" and _installed_archive(package).is_file() else ""


def _installed_archive(package: str) -> Path:
    return Path("/usr/src") / f"{package}.tar.xz"


def needed_bytes(source_version: str) -> int:
    """Of disk in the cache, before it can be compiled."""
    return 0 if release_place(source_version).is_dir() else UNPACKED_BYTES + archive.PACKAGE_BYTES


def release_place(source_version: str) -> Path:
    return cache.root() / "sources" / source_version.replace(" ", "_")


def unpacked(source: Source, source_version: str, progress: Progress) -> Path:
    """The release's files in the cache, fetched and unpacked when they are not there. Not to be changed.
    Errors: Gone when the archive has another version by now; BuildFailed."""
    package, _, package_version = source_version.partition(" ")
    place = release_place(source_version)
    cache.use(place)
    with cache.locked(place, lambda: progress(f"waiting: another build is unpacking {package}", 0.0)):
        if not place.is_dir():
            with cache.appearing(place) as directory:
                _fetch_and_unpack(source.name, package_version, directory, progress)
    return place / "linux"


def _fetch_and_unpack(release: str, package_version: str, directory: Path, progress: Progress) -> None:
    package = f"linux-source-{release}"
    tree = directory / "linux"
    tree.mkdir()
    if _installed_version(package) == package_version:
        _unpack([["cat", str(_installed_archive(package))]], tree, progress)
        return
    wanted = archive.offer_of(release, package_version)
    deb = archive.download(wanted, directory, lambda stage, fraction: progress(stage, fraction / 3))
    member = f"./usr/src/{package}.tar.xz"
    _unpack([["dpkg-deb", "--fsys-tarfile", str(deb)], ["tar", "-xO", member]], tree, progress)
    deb.unlink()


def _unpack(producers: list[list[str]], tree: Path, progress: Progress) -> None:
    """producers | tar -xJ, without a file in between."""
    # xz decompresses with as many threads as blocks and processors allow (xz 5.4).
    unpacker = ["tar", "-x", "-v", "-I", "xz -T0", "--strip-components=1", "--no-same-owner", "-C", str(tree)]
    processes: list[subprocess.Popen[bytes]] = []
    try:
        for command in [*producers, unpacker]:
            previous = processes[-1].stdout if processes else subprocess.DEVNULL
            processes.append(
                subprocess.Popen(
                    ["setpriv", "--pdeathsig", "TERM", *command],
                    env=environment(),
                    stdin=previous,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT if command is unpacker else subprocess.DEVNULL,
                )
            )
            if len(processes) > 1:
                upstream = processes[-2].stdout
                assert upstream is not None
                upstream.close()
        trouble = _count_files(processes[-1], progress)
        statuses = [process.wait() for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    if "No space left" in trouble:
        raise BuildFailed(
            f"{tree}: the disk is full. Free some space, or set POWERCUT_CACHE to a folder on another disk"
        )
    if any(statuses):
        raise BuildFailed(
            f"the source could not be unpacked into {tree}: {trouble or 'the package is damaged'}"
        )


def _count_files(process: "subprocess.Popen[bytes]", progress: Progress) -> str:
    assert process.stdout is not None
    trouble = ""
    for count, line in enumerate(process.stdout):
        if count % 500 == 0:
            progress("unpacking the source", 1 / 3 + min(1.0, count / FILE_COUNT) * 2 / 3)
        if line.startswith((b"tar:", b"xz:")):
            trouble = trouble or line.decode(errors="replace").strip()
    return trouble
