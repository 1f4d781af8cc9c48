"""
The disk of the machine: a Debian made once and kept, from which each start begins.

In:       root/, customize.sh, the packages below; mmdebstrap, a mirror of Debian.
Out:      Image: a folder of the cache with the disk, the keys, what the first start needs.
Not here: running it (machine.py).

It is made again when the recipe changes, not when Debian has newer packages: remove the folder for that.
"""

import hashlib
import os
import shlex
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from kernel import cache

SUITE, MIRROR = "trixie", "http://deb.debian.org/debian"
HERE = Path(__file__).parent
PACKAGES = (
    *(
        "linux-image-amd64",
        "systemd-sysv",
        "udev",
        "kmod",
        "initramfs-tools",
        "zstd",
        "grub-pc",
        "kexec-tools",
    ),
    *("openssh-server", "iproute2", "procps", "util-linux", "fdisk", "dmsetup"),
    *("lvm2", "mdadm", "cryptsetup-bin", "bcache-tools", "btrfs-progs", "e2fsprogs", "xfsprogs"),
    *("bpftrace", "dbench", "python3-minimal"),  # what compare --perf runs there
)
NEEDLESS = ("doc", "man", "locale", "info")  # folders of /usr/share that stay empty
PRIVATE = {"root": 0o700, "root/.ssh": 0o700, "etc/ssh/ssh_host_ed25519_key": 0o600}
TIMEOUT_S = 1800


class NoMachine(Exception):
    """The machine cannot be made or does not start; the message says why, and where the log is."""


class Image(msgspec.Struct, frozen=True):
    """folder: disk.raw, key and key.pub (root's way in), host_key.pub, vmlinuz, initrd.img."""

    folder: Path

    @property
    def disk(self) -> Path:
        return self.folder / "disk.raw"


def recipe_key() -> str:
    """Equal only for an equal recipe."""
    digest = hashlib.sha256(repr((SUITE, PACKAGES, NEEDLESS, sorted(PRIVATE.items()))).encode())
    for path in [HERE / "customize.sh", *sorted((HERE / "root").rglob("*"))]:
        if path.is_file():
            digest.update(f"{path.relative_to(HERE)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def image(first_start: Callable[[Image], None], tell: Callable[[str], None]) -> Image:
    """The image, made when it is not there yet. first_start(image): starts a machine from the kernel beside
    the disk, and lets it complete its disk. Errors: NoMachine."""
    place = cache.root() / "suite" / f"machine-{recipe_key()}"
    cache.use(place)
    with cache.locked(place, lambda: tell("waiting: another process makes the machine")):
        if not place.is_dir():
            tell(f"making the machine: Debian {SUITE} from {MIRROR} (3 minutes)")
            with cache.appearing(place) as folder:
                bootstrap(folder)
                first_start(Image(folder))
                (folder / "disk.raw").chmod(0o444)
    cache.touch(place)
    return Image(place)


def bootstrap(folder: Path) -> None:
    """A disk without a boot loader. As an ordinary user too (mmdebstrap chooses unshare)."""
    for name in ("key", "host_key"):
        run(
            [
                "ssh-keygen",
                "-q",
                "-t",
                "ed25519",
                "-N",
                "",
                "-C",
                "powercut-machine",
                "-f",
                str(folder / name),
            ]
        )
    with tarfile.open(folder / "root.tar", "w") as archive:
        for path in sorted((HERE / "root").rglob("*")):
            add(archive, path, str(path.relative_to(HERE / "root")))
        add(archive, folder, "root", recursive=False)
        add(archive, folder, "root/.ssh", recursive=False)
        add(archive, folder / "key.pub", "root/.ssh/authorized_keys")
        add(archive, folder / "host_key", "etc/ssh/ssh_host_ed25519_key")
        add(archive, folder / "host_key.pub", "etc/ssh/ssh_host_ed25519_key.pub")
    run(
        [
            "mmdebstrap",
            *("--variant=minbase", "--format=null", f"--include={','.join(PACKAGES)}"),
            '--aptopt=APT::Install-Recommends "false"',
            *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in NEEDLESS),
            f"--customize-hook=tar-in {quoted(folder / 'root.tar')} /",
            f'--customize-hook={quoted(HERE / "customize.sh")} "$1"',
            f"--customize-hook=copy-out /out {quoted(folder)}",
            *(SUITE, "/dev/null", MIRROR),
        ],
        log=folder / "mmdebstrap.log",
    )
    for made in sorted((folder / "out").iterdir()):
        made.rename(folder / made.name)
    (folder / "out").rmdir()
    run(["fallocate", "--dig-holes", str(folder / "disk.raw")])


def add(archive: tarfile.TarFile, path: Path, name: str, recursive: bool = False) -> None:
    """Root's, whoever made the file."""
    entry = archive.gettarinfo(path, name)
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = "root"
    entry.mode = PRIVATE.get(name, 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644)
    if entry.isfile():
        with path.open("rb") as content:
            archive.addfile(entry, content)
    else:
        archive.addfile(entry)


def quoted(path: Path) -> str:
    return shlex.quote(str(path))


def run(command: list[str], log: Path | None = None) -> None:
    """Errors: NoMachine with the last line that the program wrote."""
    try:
        done = subprocess.run(
            ["setpriv", "--pdeathsig", "TERM", *command],
            env=os.environ | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoMachine(f"{command[0]} failed: {error}") from error
    if log:
        log.write_text(done.stdout)
    if done.returncode != 0:
        raise NoMachine(f"{command[0]} failed: {' / '.join(done.stdout.strip().splitlines()[-5:])}")
