"""
Read a kernel spec: SOURCE[+SERIES...].

In:       "6.12", "6.12+planted/NAME", "path/to/tree+fix.patch", "path/to/repository@v6.12".
Out:      KernelSpec, with the series read; BadKernel that says what is known when something is not.
Not here: the exact version of a source (source.py), how a series is applied (patching.py).
"""

import re
from collections.abc import Callable
from pathlib import Path

from kernel.files import makefile_version, require_kernel
from kernel.fragments import SMP, check_variants
from kernel.git import revision_source
from kernel.kernel import Arch, BadKernel, KernelSpec, Series, Source
from kernel.patching import find_series, is_series

UML_SMP = (6, 19)  # 1e4ee5135d81 ("um: Add initial SMP support")
RELEASES = ("5.10", "6.1", "6.12", "7.2")  # Debian's linux-source packages, by name


def parse(word: str, variants: tuple[str, ...] = (), arch: Arch = "um") -> KernelSpec:
    """Paths are relative to the working directory. A + inside a path is understood when the path exists.
    To the variants asked for come those that a series needs."""
    pieces = word.split("+")
    if "" in pieces:
        raise BadKernel(
            f"kernel {word!r}: a name is missing before or after a '+'. The form is SOURCE[+SERIES...]"
        )
    first, rest = _longest(pieces, _is_source)
    source = _source(first)
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
    return spec


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def source_word(word: str) -> str:
    """The kernel spec of the same source without any series."""
    return _longest(word.split("+"), _is_source)[0]


def _longest(pieces: list[str], known: Callable[[str], bool]) -> tuple[str, list[str]]:
    """The longest beginning of pieces that is known as it stands, else just the first one."""
    for count in range(len(pieces), 1, -1):
        candidate = "+".join(pieces[:count])
        if known(candidate):
            return candidate, pieces[count:]
    return pieces[0], pieces[1:]


def _is_source(text: str) -> bool:
    """Whether it names a directory, or a git revision, as it stands."""
    if Path(text).expanduser().is_dir():
        return True
    repository, revision = _at(text)
    if repository is None:
        return False
    try:
        revision_source(repository, revision)
    except BadKernel:
        return False
    return True


def _at(text: str) -> tuple[Path | None, str]:
    """PATH and REV of PATH@REV; either may hold an @ of its own. PATH is None when no directory is there."""
    end = len(text)
    while (end := text.rfind("@", 0, end)) > 0:
        path = Path(text[:end]).expanduser()
        if path.is_dir():
            return path, text[end + 1 :]
    return None, ""


def _source(text: str) -> Source:
    if re.fullmatch(r"\d+\.\d+", text):
        return _release(text)
    path = Path(text).expanduser()
    if path.is_dir():
        return _tree(path)
    repository, revision = _at(text)
    if repository is not None:
        return revision_source(repository, revision)
    if path.exists():
        raise BadKernel(f"kernel {text!r} is a file. Name the folder of a kernel source tree")
    raise BadKernel(
        f"kernel {text!r} is not a release ({', '.join(RELEASES)}), not the folder of a "
        "kernel source tree, and not PATH@REV, a revision of a git repository"
    )


def _release(text: str) -> Source:
    if text in RELEASES:
        return Source("debian", text, text)
    raise BadKernel(
        f"kernel {text!r} is not known. Name a release ({', '.join(RELEASES)}) or the folder of a source tree"
    )


def _tree(path: Path) -> Source:
    require_kernel(str(path), lambda name: (path / name).is_file())
    version = makefile_version((path / "Makefile").read_text(errors="replace"))
    return Source("tree", str(path.resolve()), ".".join(version.split(".")[:2]))
