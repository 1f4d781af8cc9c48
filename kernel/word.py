"""
Read a kernel spec: SOURCE[+SERIES...].

In:       "6.12", "6.12+planted/NAME", "path/to/tree+fix.patch", "path/to/repository@v6.12",
          "https://host/linux.git@master", "linux-next".
Out:      KernelSpec, with the series read; BadKernel that says what is known when something is not. A source
          that is elsewhere is fetched for it.
Not here: the exact version of a source (source.py), URLs and short names (address.py), how a series is
          applied (patching.py).
"""

import re
from collections.abc import Callable
from pathlib import Path

from kernel.address import SHORT_NAMES, Address, address, folder_at, is_url, split_url
from kernel.fetching import fetched
from kernel.files import makefile_version, require_kernel
from kernel.fragments import SMP, check_variants
from kernel.git import revision_source
from kernel.kernel import Arch, BadKernel, KernelSpec, Series, Source
from kernel.patching import find_series, is_series
from kernel.stops import VARIANT as STOPS

UML_SMP = (6, 19)  # 1e4ee5135d81 ("um: Add initial SMP support")
UML_PREEMPT_COUNT = (6, 2)  # from there on its Kconfig no longer selects ARCH_NO_PREEMPT
# Debian's linux-source packages, by name, that Powercut is tried with. Others are looked for (archive.py).
RELEASES = ("5.10", "6.1", "6.12", "7.2")
Progress = Callable[[str, float], None]


def _silent(_stage: str, _fraction: float) -> None:
    pass


def parse(
    word: str, variants: tuple[str, ...] = (), arch: Arch = "um", progress: Progress = _silent
) -> KernelSpec:
    """Paths are relative to the working directory. A + inside a path is understood when the path exists.
    To the variants asked for come those that a series needs. progress: of fetching.
    Errors: BadKernel; BuildFailed when a source cannot be fetched."""
    first, rest = _split(word)
    if not first or "" in rest:
        raise BadKernel(
            f"kernel {word!r}: a name is missing before or after a '+'. The form is SOURCE[+SERIES...]"
        )
    source = _source(first, progress)
    series: list[Series] = []
    while rest:
        name, rest = _longest(rest, is_series)
        series.append(find_series(name, source.version))
    needed = tuple(variant for one in series for variant in one.facts.config)
    needed += tuple(SMP for one in series if one.facts.orders)
    spec = KernelSpec(word, source, tuple(series), check_variants((*variants, *needed)), arch)
    if SMP in spec.variants and arch == "um" and _number(source.version) < UML_SMP:
        first = ".".join(map(str, UML_SMP))
        raise BadKernel(
            f"kernel {word!r}: User Mode Linux has several processors from {first} on, and this is "
            f"{source.version}. Use a newer kernel, or a guest in QEMU (--guest qemu)"
        )
    if STOPS in spec.variants and arch == "um" and _number(source.version) < UML_PREEMPT_COUNT:
        first = ".".join(map(str, UML_PREEMPT_COUNT))
        raise BadKernel(
            f"kernel {word!r}: User Mode Linux can tell where a task may stop from {first} on, and this is "
            f"{source.version}. Use a newer kernel, or leave --stops and the word stop out"
        )
    return spec


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def source_word(word: str) -> str:
    """The kernel spec of the same source without any series."""
    return _split(word)[0]


def pinned(word: str, progress: Progress = _silent) -> str:
    """The same kernel spec with the commit in place of the branch, tag or nothing, where the source has a URL
    or a short name: so that what comes after a run, on another day, is about the same kernel. Other words as
    they are. Errors: as parse()."""
    first, rest = _split(word)
    if (where := address(first)) is None:
        return word
    return "+".join([f"{where.name}@{_addressed(where, progress).revision}", *rest])


def is_release(text: str) -> bool:
    """Whether it is the name of one of Debian's linux-source packages, known or not."""
    return re.fullmatch(r"\d+\.\d+", text) is not None


def _split(word: str) -> tuple[str, list[str]]:
    """The source, and the names of the series in pieces: a + may be part of a path. A URL ends with its
    revision."""
    pieces = word.split("+")
    if not is_url(word):
        return _longest(pieces, _is_source)
    for count in range(1, len(pieces) + 1):
        candidate = "+".join(pieces[:count])
        if is_url(candidate) and split_url(candidate)[1]:
            return candidate, pieces[count:]
    return pieces[0], pieces[1:]


def _longest(pieces: list[str], known: Callable[[str], bool]) -> tuple[str, list[str]]:
    """The longest beginning of pieces that is known as it stands, else just the first one."""
    for count in range(len(pieces), 1, -1):
        candidate = "+".join(pieces[:count])
        if known(candidate):
            return candidate, pieces[count:]
    return pieces[0], pieces[1:]


def _is_source(text: str) -> bool:
    """Whether it names a directory, or a git revision on this machine, as it stands."""
    if Path(text).expanduser().is_dir():
        return True
    try:
        where = address(text)
        repository, revision = (where.folder, where.revision) if where else folder_at(text)
        if repository is None:
            return False
        revision_source(repository, revision)
    except BadKernel:
        return False
    return True


def _source(text: str, progress: Progress) -> Source:
    if is_release(text):
        return Source("debian", text, text)
    if (where := address(text)) is not None:
        return _addressed(where, progress)
    path = Path(text).expanduser()
    if path.is_dir():
        return _tree(path)
    repository, revision = folder_at(text)
    if repository is not None:
        return revision_source(repository, revision)
    if path.exists():
        raise BadKernel(f"kernel {text!r} is a file. Name the folder of a kernel source tree")
    raise BadKernel(
        f"kernel {text!r} is not a release ({', '.join(RELEASES)}), not the folder of a "
        "kernel source tree, not PATH@REV or URL@REV, a revision of a git repository, and not a short name "
        f"({', '.join(SHORT_NAMES)})"
    )


def _addressed(where: Address, progress: Progress) -> Source:
    if where.folder is not None:
        return revision_source(where.folder, where.revision)
    folder, commit = fetched(where, progress)
    return revision_source(folder, commit, where.url)


def _tree(path: Path) -> Source:
    require_kernel(str(path), lambda name: (path / name).is_file())
    version = makefile_version((path / "Makefile").read_text(errors="replace"))
    return Source("tree", str(path.resolve()), ".".join(version.split(".")[:2]))
