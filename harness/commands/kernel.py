"""
`powercut kernel`: build one, list what is built, show where one came from, list sources, make room.

In:       the arguments of the command.
Out:      lines, or JSON; exit status 0; BadKernel, BuildFailed as the kernel room raises them.
Not here: building (kernel/build.py), what goes when there is too much (kernel/prune.py).
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from harness.local.progress import Progress
from kernel import archive, cache
from kernel.address import SHORT_NAMES, address, setting
from kernel.build import build, built, find
from kernel.fetching import cached
from kernel.fragments import ARCHES, known_variants
from kernel.kernel import BadKernel, BuildFailed, Kernel, Provenance
from kernel.prune import Thing, limit_bytes, prune, size_of, things
from kernel.word import RELEASES, pinned, source_word
from reports.text.counting import about, number

MIB = 1 << 20
DAY_S = 24 * 3600
WORD_COLUMNS = 40  # most words of one series fit
BESIDE = ("config", "System.map", "build.log", "series.diff")


def config_option(command: argparse.ArgumentParser) -> None:
    """--config, of every command that builds a kernel."""
    known = ", ".join(known_variants())
    command.add_argument(
        "--config", type=_names, default=(), metavar="V,...", help=f"variants of the configuration: {known}"
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def add_kernel(command: argparse.ArgumentParser) -> None:
    commands = command.add_subparsers(dest="what", required=True, metavar="build|list|show|sources|prune")
    for name, text in (
        ("build", "build a kernel, unless it is in the cache"),
        ("show", "show what a kernel was built from"),
    ):
        one = commands.add_parser(name, help=text)
        one.add_argument(
            "word", metavar="KERNEL", nargs="?", help="SOURCE[+SERIES...], such as 6.12+planted/NAME"
        )
        config_option(one)
        one.add_argument(
            "--arch",
            choices=list(ARCHES),
            default="um",
            help="architecture (default: um, User Mode Linux)",
        )
        one.add_argument("--json", action="store_true", help="print JSON")
        if name == "build":
            one.add_argument("--quiet", action="store_true", help="do not show progress")
    listing = commands.add_parser("list", help="list the kernels in the cache")
    listing.add_argument("--json", action="store_true", help="print JSON")
    sources = commands.add_parser(
        "sources", help="list the sources that have a name: releases of Debian, branches of kernel.org"
    )
    sources.add_argument("--json", action="store_true", help="print JSON")
    sources.add_argument("--quiet", action="store_true", help="do not show progress")
    pruning = commands.add_parser("prune", help="delete from the cache, least recently used first")
    pruning.add_argument(
        "--older-than", type=float, metavar="DAYS", help="delete what was not used for so many days"
    )
    pruning.add_argument(
        "--keep",
        metavar="SIZE",
        help="delete until the cache has at most this size, such as 5G (default: POWERCUT_CACHE_LIMIT); what "
        "a running process uses stays",
    )
    pruning.add_argument("--dry-run", action="store_true", help="only print what would be deleted")


def command_kernel(arguments: argparse.Namespace) -> int:
    does = {"build": _build, "list": _list, "show": _show, "sources": _sources, "prune": _prune}
    return does[arguments.what](arguments)


def _build(arguments: argparse.Namespace) -> int:
    word = _named(arguments)
    with Progress(arguments.quiet or arguments.json) as progress:
        _fetch(word, progress)
        kernel = build(word, progress.building(word, arguments.config), arguments.config, arguments.arch)
    if arguments.json:
        _print_json(facts(kernel))
    else:
        print(kernel.path)
    return 0


def _fetch(word: str, progress: Progress) -> None:
    """A source elsewhere, with progress of its own: it may take as long as the build."""
    if address(source_word(word)):
        tell = progress.building(word)
        pinned(word, tell)
        tell("built", 1.0)


def _named(arguments: argparse.Namespace) -> str:
    if not arguments.word:
        raise BadKernel(
            f"kernel {arguments.what}: name a kernel, such as: powercut kernel {arguments.what} 6.12"
        )
    return str(arguments.word)


# --- list ---


def _list(arguments: argparse.Namespace) -> int:
    kernels = built()
    if arguments.json:
        _print_json([facts(kernel) for kernel in kernels])
        return 0
    used = {thing.path: thing for thing in things()}
    rows = [_row(kernel, used.get(str(Path(kernel.path).parent))) for kernel in kernels]
    headings = ("kernel", "config", "arch", "source", "size", "built", "last used", "key")
    print(
        "\n".join(_table([headings, *sorted(rows)]))
        if rows
        else "no kernel is built. Build one: powercut kernel build 6.12"
    )
    by_room: dict[str, int] = {}
    for thing in used.values():
        by_room[thing.room] = by_room.get(thing.room, 0) + thing.size_bytes
    parts = ", ".join(f"{room} {about(size)}" for room, size in by_room.items())
    if parts:
        limit = limit_bytes()
        print(
            f"\n{cache.root()}: {about(sum(by_room.values()))} ({parts}); "
            f"limit {about(limit) if limit else 'none'}"
        )
    return 0


def _row(kernel: Kernel, thing: Thing | None) -> tuple[str, ...]:
    made = kernel.provenance
    used_s = thing.used_s if thing else 0.0
    return (
        made.word,
        ",".join(made.variants) or "-",
        made.arch,
        _source(made),
        about(thing.size_bytes if thing else made.size_bytes),
        _ago(Path(kernel.path).stat().st_mtime),
        _ago(used_s),
        made.key,
    )


def _source(made: Provenance) -> str:
    version, _, _hash = made.source_version.partition(" files ")
    version, git, _tree = version.partition(" git tree ")
    return f"{version} git {made.revision[:12]}" if git else version


def _table(rows: Sequence[Sequence[str]]) -> Iterable[str]:
    """A word that is too long for its column, as one with several series, has a line of its own."""
    words, *others = zip(*rows, strict=True)
    widths = [max(map(len, column)) for column in others]
    first = min(WORD_COLUMNS, max(map(len, words)))
    for word, *cells in rows:
        rest = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        fits = len(word) <= first
        if not fits:
            yield word
        yield f"{word if fits else '':<{first}}  {rest}"


def _ago(when_s: float) -> str:
    minutes = max(0.0, time.time() - when_s) / 60
    if minutes < 100:
        return f"{minutes:.0f} min ago"
    return f"{minutes / 60:.0f} h ago" if minutes < 60 * 48 else f"{minutes / 60 / 24:.0f} d ago"


# --- show ---


def _show(arguments: argparse.Namespace) -> int:
    word = _named(arguments)
    with Progress(arguments.json) as progress:
        _fetch(word, progress)
    kernel = find(word, arguments.config, arguments.arch)
    if kernel is None:
        raise BuildFailed(
            f"{word} is not built, or its source has changed since. Build it: {_command(arguments)}"
        )
    if arguments.json:
        _print_json(facts(kernel))
    else:
        print("\n".join(provenance_lines(kernel)))
    return 0


def _command(arguments: argparse.Namespace) -> str:
    words = ["powercut kernel build", arguments.word]
    words += ["--config", ",".join(arguments.config)] if arguments.config else []
    words += ["--arch", arguments.arch] if arguments.arch != "um" else []
    return " ".join(words)


def facts(kernel: Kernel) -> dict[str, Any]:
    """For JSON: the provenance, and where it lies."""
    return {
        **msgspec.to_builtins(kernel.provenance),
        "path": kernel.path,
        "built": _date(kernel),
        "beside": [str(path) for path in _beside(kernel)],
    }


def provenance_lines(kernel: Kernel) -> list[str]:
    made = kernel.provenance
    missing = ", ".join(made.missing_options) or "none"
    rows = [
        ("kernel", f"{made.word}  (key {made.key})"),
        ("source", made.source_version),
        ("commit", made.revision),
        ("fetched from", made.url),
        *(
            ("series", line)
            for one in made.series
            for line in (one.name, f"  {one.about}", f"  {one.sha256}")
        ),
        ("series", "" if made.series else "none"),
        ("config", f"{', '.join(made.variants) or 'no variant'}; sha256 {made.config_sha256}"),
        ("not granted", f"{missing} (requested as optional)"),
        ("runs on", "User Mode Linux" if made.arch == "um" else made.arch),
        ("compiler", made.compiler),
        ("built", f"{_date(kernel)}, {_took(made)}"),
        ("program", f"{kernel.path}, {made.size_bytes / MIB:.1f} MiB, sha256 {made.linux_sha256}"),
        ("beside it", ", ".join(path.name for path in _beside(kernel))),
    ]
    lines, last = [], ""
    for name, value in rows:
        if value:
            lines.append(f"{'' if name == last else name:<12} {value}")
            last = name
    return lines


def _took(made: Provenance) -> str:
    since = ", starting from the compiled kernel without series" if made.series else ""
    return f"in {made.build_s:.0f} s with {made.step_count} steps{since}"


def _date(kernel: Kernel) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(Path(kernel.path).stat().st_mtime))


def _beside(kernel: Kernel) -> list[Path]:
    return [path for name in BESIDE if (path := Path(kernel.path).with_name(name)).exists()]


def _print_json(content: Any) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n")


# --- sources ---


class NamedSource(msgspec.Struct, frozen=True):
    """A source that a kernel spec can name.

    name:    as in a kernel spec.
    version: of a release, the package's; of a short name, the branch that it means.
    origin:  who offers the package; the URL or folder of the repository.
    cached:  whether it can be built without a network: the package is unpacked; or the commits of the
             repository that the cache has, each as in a kernel spec.
    about:   what it is, and how it is set.
    """

    name: str
    version: str
    origin: str
    cached: tuple[str, ...] = ()
    about: str = ""


def _sources(arguments: argparse.Namespace) -> int:
    with Progress(arguments.quiet or arguments.json) as progress:
        found, troubles = archive.offers(progress.building("sources"))
    rows = [*_releases(found), *map(_short_name, SHORT_NAMES)]
    if arguments.json:
        _print_json({"sources": rows, "troubles": troubles})
        return 0
    cells = [(one.name, one.version, _cached_words(one), one.origin) for one in rows]
    print("\n".join(_table([("name", "version or branch", "in the cache", "from"), *cells])))
    print("\n" + "\n".join(f"{one.name:<12} {one.about}" for one in rows if one.about))
    if words := [f"{word}" for one in rows if one.name in SHORT_NAMES for word in one.cached]:
        print("\ncommits in the cache, which need no network:\n" + "\n".join(words))
    for trouble in troubles:
        print(f"not asked: {trouble}")
    return 0


def _releases(found: Mapping[str, archive.Offer]) -> Iterator[NamedSource]:
    """Those that apt offers, and those that lists may offer which were not needed yet."""
    unpacked: dict[str, tuple[str, ...]] = {}
    for path in sorted((cache.root() / "sources").glob("linux-source-*_*/linux")):
        release, _, version = path.parent.name.removeprefix("linux-source-").partition("_")
        unpacked[release] = (*unpacked.get(release, ()), version)
    for release in sorted(
        {*found, *RELEASES, *unpacked}, key=lambda text: [int(part) for part in text.split(".")]
    ):
        if offer := found.get(release):
            suite = archive.suite_of(offer)
            origin = f"Debian {suite}" if suite else "the package lists of this system"
            yield NamedSource(release, offer.version, origin, unpacked.get(release, ()))
        else:
            places = ", ".join(archive.SUITES.get(release, ()))
            origin = f"Debian {places}; asked when it is first needed" if places else "the cache alone"
            yield NamedSource(release, "", origin, unpacked.get(release, ()))


def _short_name(name: str) -> NamedSource:
    known = SHORT_NAMES[name]
    try:
        url, folder, branch = setting(name)
    except BadKernel as error:
        return NamedSource(name, "", str(error), about=f"{known.about}; {known.variable}")
    words = tuple(f"{name}@{one.commit}  {one.date}  {one.subject}" for one in cached(url)) if url else ()
    about = f"{known.about}; {known.variable} names another URL, or a folder"
    return NamedSource(name, branch or "name one", url or f"{folder}, which is not fetched", words, about)


def _cached_words(one: NamedSource) -> str:
    if one.name in SHORT_NAMES:
        return number(len(one.cached), "commit") if one.cached else "-"
    return ", ".join(one.cached) or "-"


# --- prune ---


def _prune(arguments: argparse.Namespace) -> int:
    older_s = None if arguments.older_than is None else arguments.older_than * DAY_S
    if arguments.keep is not None:
        keep_bytes: int | None = size_of(arguments.keep, "--keep")
    elif older_s is None:
        keep_bytes = limit_bytes() or None
    else:
        keep_bytes = None
    gone, left_bytes = prune(older_s, keep_bytes, arguments.dry_run)
    for thing in gone:
        name = str(Path(thing.path).relative_to(cache.root()))
        print(f"{name:<56} {about(thing.size_bytes):>9}  used {_ago(thing.used_s)}")
    freed = about(sum(thing.size_bytes for thing in gone))
    what = "would be freed" if arguments.dry_run else "freed"
    print(f"{len(gone)} of the cache's things, {freed} {what}; {about(left_bytes)} stay in {cache.root()}")
    if keep_bytes is not None and left_bytes > keep_bytes:
        print(f"this is more than {about(keep_bytes)}, because running processes use the rest")
    return 0
