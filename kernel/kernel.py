"""
The data of a kernel: what was asked for, what was built, and what can go wrong.

In:       nothing; word.py and build.py make these.
Out:      Source, Series, KernelSpec, Provenance, Kernel, frozen; the exceptions of this room.
Not here: reading a kernel spec (word.py), building (build.py).
"""

import hashlib
from typing import Literal

import msgspec


class KernelError(Exception):
    """There is no kernel to test. The message names the place and the fix."""


class BadKernel(KernelError):
    """The word, tree or series that was given is wrong: bad input, exit status 2."""


class BuildFailed(KernelError):
    """The input may be right, but the experiment could not be done: exit status 3."""


Arch = Literal["um", "x86_64", "arm64"]  # that a kernel is built for, as its makefiles call it
MachineArch = Literal["x86_64", "aarch64"]  # of a machine, as uname(2) calls it


class Unbuildable(BuildFailed):
    """This source with this config: the compiler, or the configuration, refuses it."""


class Source(msgspec.Struct, frozen=True):
    """
    kind "debian": name is the release, as in the package linux-source-6.12.
    kind "tree":   name is the absolute path of a kernel source tree.
    kind "git":    name is the absolute path of a repository, revision the commit. url: where our copy of the
                   repository was fetched from, "" for one that is read where it is.

    version: VERSION.PATCHLEVEL of its Makefile, "6.12", by which a series' files are chosen.
    """

    kind: Literal["debian", "tree", "git"]
    name: str
    version: str = ""
    revision: str = ""
    url: str = ""


class Facts(msgspec.Struct, frozen=True):
    """What the header of a series says for programs to read.

    absent:    kernel version to the reason why there is nothing to change in it.
    profiles:  where a planted bug is looked for, "" for the default.
    config:    the config variants without which the change has no effect.
    workloads: of the library, those that show it.
    upstream:  the commit it is about: hash ("subject") (in vX.Y).
    models:    the crash models that show a planted bug, where model O does not.
    oracles:   of a planted bug, those it is caught by.
    faults, damage: it shows on a device that fails, or on a damaged disk, and not by a power failure.
    failing:   in place of a damaged disk, with a block that fails during recovery; damage is set, too.
    device:    "slow": it shows in recordings on the slow device, and not on the fast one.
    orders:    it shows in a guest with several processors, in some of so many recordings; 0: one will do.
    stops:     it shows where a call stops in the middle of the kernel, in some of so many; 0: without one.
    """

    absent: dict[str, str] = {}
    profiles: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    upstream: str = ""
    models: tuple[str, ...] = ()
    oracles: tuple[str, ...] = ()
    faults: bool = False
    damage: bool = False
    failing: bool = False
    device: str = ""
    orders: int = 0
    stops: int = 0


class Series(msgspec.Struct, frozen=True):
    """A change to a source, read once, so that what was hashed is what is applied.

    name:    as the user gave it: "planted/NAME", or a path.
    about:   the first line of its comment header (of a mail: its subject).
    facts:   what else its header says; of a folder, the headers of all its files together.
    file:    of a folder, the file that is for the source's version.
    """

    name: str
    suffix: str
    content: bytes
    about: str
    facts: Facts = Facts()
    file: str = ""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def title(self) -> str:
        """For messages."""
        return f"{self.name} ({self.file})" if self.file else self.name


class Machine(msgspec.Struct, frozen=True):
    """What the kernel of a real machine is configured by.

    config:  the text of its own kernel's config.
    modules: the names of those it has loaded, sorted.
    """

    config: str
    modules: tuple[str, ...]


class KernelSpec(msgspec.Struct, frozen=True):
    """A kernel spec, understood. The order of the series is the order of their application.

    variants: names of config fragments, kernel/config/<variant>.config, that are laid over the others.
    machine:  of a kernel for a real machine; None for one that runs in a guest.
    """

    word: str
    source: Source
    series: tuple[Series, ...] = ()
    variants: tuple[str, ...] = ()
    arch: Arch = "um"
    machine: Machine | None = None


class SeriesRecord(msgspec.Struct, frozen=True):
    """What provenance keeps of a series; the change itself is in series.diff beside the kernel."""

    name: str
    sha256: str
    about: str
    file: str = ""


class Provenance(msgspec.Struct, frozen=True):
    """provenance.json: where a kernel came from.

    source_version:  of a Debian package its name and version; of a tree its kernel version,
                     git commit when it has one, and the digest of its files.
    config_sha256:   of the final .config, which lies beside the kernel.
    missing_options: requested, marked optional in the fragment, and not in this kernel.
    compiler:        the first line of gcc --version.
    arch:            that it was built for; of a kernel that runs on a machine, the machine's.
    build_s:         wall-clock seconds of configuring and compiling this kernel, on from the
                     kernel without series when it has series.
    step_count:      lines make printed, one a compiled or linked file.
    revision:        the git commit that was asked for; source_version has its tree, which another
                     commit may share.
    url:             where that commit was fetched from, "" for one of a repository of the user's.
    machine:         of a kernel for a real machine, the digest of its config and modules.
    release:         of such a kernel, what uname -r says of it.
    build_id:        of such a kernel, of the vmlinux in it, in hexadecimal digits.
    changed:         the functions that its series change; none of what older releases built.
    """

    word: str
    key: str
    source_version: str
    series: tuple[SeriesRecord, ...]
    config_sha256: str
    missing_options: tuple[str, ...]
    compiler: str
    build_s: float
    step_count: int
    size_bytes: int
    linux_sha256: str
    variants: tuple[str, ...] = ()
    arch: Arch | MachineArch = "um"
    revision: str = ""
    machine: str = ""
    release: str = ""
    build_id: str = ""
    url: str = ""
    changed: tuple[str, ...] = ()


class Kernel(msgspec.Struct, frozen=True):
    """A bootable build. path: the User Mode Linux program `linux`, of x86_64 `vmlinux`, of arm64 `Image`,
    for a real machine `bzImage` with modules.tar. config, System.map, build.log, series.diff and
    provenance.json lie beside."""

    path: str
    provenance: Provenance
