"""
The file of `powercut nightly`: which kernels are watched, with what, and for how long.

In:       a TOML file.
Out:      NightFile; BadNightFile, which names the line and what may have been meant.
Not here: the command line of one run, which decides whether guests, models and options are any (night.py).
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from harness.local.toml_lines import TomlText, complaint, near
from kernel.fragments import known_variants
from kernel.word import RELEASES, is_release
from oracles.profiles import PROFILES
from reports.programs.export import FORMS
from workloads import library, programs
from workloads.generate import space
from workloads.generate.space import BadBounds

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
ORIGIN = re.compile(r"[a-z0-9_]+")  # as kcidb-io's schema has it
DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?")
LONGEST_S = 7 * 24 * 3600


class BadNightFile(Exception):
    """The file cannot be read as one of ours; the message names file, line and the fix."""


class NightKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A branch that is watched; a table `[[kernel]]`.

    name:     what it is called in the history and on the pages. It must stay the same from night to night.
    tree:     a git repository: a folder, which is only read, or a URL. Relative folders are relative to the
              file.
    branch:   the branch of the tree.
    release:  a kernel of Debian in place of tree and branch, such as "6.12". It moves with Debian's updates.
    series:   changes that are made to the source first: names under kernel/series/, or patch files.
    config:   variants of the configuration, as of `--config`.
    guest:    what the kernel runs in, in place of the file's own `guest`.
    profiles: in place of the file's own `profiles`.
    unmoved:  "skip" leaves the kernel out of a night in which neither its branch nor Powercut has changed.
              "run" goes on with the rotation.
    """

    name: str
    tree: str = ""
    branch: str = ""
    release: str = ""
    series: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    guest: str = ""
    profiles: tuple[str, ...] = ()
    unmoved: str = "skip"


class NightFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is tested each night.

    budget:    how long experiments are begun, such as "6h", "90m" or "1h30m"; a number means hours. Fetching
               and building counts. The experiments that are under way at the end are finished.
    kernel:    the kernels, each a table `[[kernel]]`.
    profiles:  filesystems with their options, as of `--fs`.
    workloads: names or globs of the library, programs/NAME, or files; relative ones are relative to the file.
    generated: bounds and length of generated workloads, such as "ace:2", which fill the rest of the budget.
    models:    crash models.
    guest:     what the kernels run in, as of `--guest`: uml, or the name of a host.
    seed:      of everything that is drawn at random.
    options:   more options of `powercut run`, each word a string, such as ["--no-fsck"].
    after:     how long new findings are repeated, made small, exported and bisected, after the budget. What
               is not reached is done in the next night.
    exports:   forms in which new findings are exported: sh, c, fstests.
    results:   the folder of the history and of all nights; a relative one is relative to the file.
    hook:      a command for /bin/sh, which is called for new findings, and for trouble.
    origin:    what KCIDB knows this machine by: small letters, digits and underscores.
    """

    budget: str | float
    kernel: tuple[NightKernel, ...]
    profiles: tuple[str, ...] = ("btrfs",)
    workloads: tuple[str, ...] = ("*",)
    generated: tuple[str, ...] = ()
    models: tuple[str, ...] = ("O",)
    guest: str = "uml"
    seed: int = 0
    options: tuple[str, ...] = ()
    after: str | float = "2h"
    exports: tuple[str, ...] = FORMS
    results: str = "nights"
    hook: str = ""
    origin: str = "powercut"

    @property
    def budget_s(self) -> float:
        return seconds(self.budget)

    @property
    def after_s(self) -> float:
        return seconds(self.after)

    def profiles_of(self, kernel: NightKernel) -> tuple[str, ...]:
        return kernel.profiles or self.profiles

    def guest_of(self, kernel: NightKernel) -> str:
        return kernel.guest or self.guest


def read(path: Path) -> NightFile:
    """With every place in it absolute. Errors: BadNightFile."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise BadNightFile(f"{path} cannot be read: {error}") from error
    return parse(text, path)


def parse(text: str, path: Path) -> NightFile:
    """path: for messages, and what relative places are relative to. Errors: BadNightFile."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadNightFile(f"{path}: {error}") from error
    where = TomlText(path, text)
    _known_keys(found, where)
    try:
        asked = msgspec.convert(found, NightFile)
    except msgspec.ValidationError as error:
        said, keys = complaint(error)
        raise BadNightFile(f"{where.at(*keys)}: {said}") from error
    _check(asked, where)
    return _absolute(asked, path.resolve().parent)


def seconds(duration: str | float) -> float:
    """Errors: ValueError."""
    if isinstance(duration, str):
        match = DURATION.fullmatch(duration.strip())
        if match is None or not match[0]:
            raise ValueError(f'{duration!r} is not a time such as "6h", "90m" or "1h30m"')
        value = 3600.0 * int(match[1] or 0) + 60.0 * int(match[2] or 0)
    else:
        value = 3600.0 * duration
    if not 0 < value <= LONGEST_S:
        raise ValueError(f"{duration!r} is not more than nothing and at most {LONGEST_S // 3600}h")
    return value


# --- what may be in it ---------------------------------------------------------------------------


def _known_keys(found: Mapping[str, Any], where: TomlText) -> None:
    """Errors: BadNightFile."""
    _require_known(found, NightFile, where, ())
    tables = found.get("kernel", [])
    if isinstance(tables, dict):
        raise BadNightFile(f"{where.at('kernel')}: write [[kernel]], with two brackets, for each kernel")
    for number, table in enumerate(tables if isinstance(tables, list) else []):
        if isinstance(table, dict):
            _require_known(table, NightKernel, where, ("kernel", number))


def _require_known(
    found: Mapping[str, Any], kind: type[msgspec.Struct], where: TomlText, table: tuple[str | int, ...]
) -> None:
    names = [field.name for field in msgspec.structs.fields(kind)]
    for key in found:
        if key not in names:
            other = NightFile if kind is NightKernel else NightKernel
            hint = near(key, names)
            if key in [field.name for field in msgspec.structs.fields(other)]:
                hint = (
                    "It belongs above the first [[kernel]]"
                    if other is NightFile
                    else "It belongs into a table [[kernel]]"
                )
            raise BadNightFile(f"{where.at(*table, key)}: there is no key {key!r}. {hint}")


def _check(asked: NightFile, where: TomlText) -> None:
    """Errors: BadNightFile."""
    for key in ("budget", "after"):
        try:
            seconds(getattr(asked, key))
        except ValueError as error:
            raise BadNightFile(f"{where.at(key)}: {key}: {error}") from error
    if not asked.kernel:
        raise BadNightFile(f"{where.path}: there is no table [[kernel]], so there is nothing to test")
    profiles = [one.name for one in PROFILES]
    _each(asked.profiles, profiles, "profile", where, "profiles")
    _each(asked.exports, FORMS, "form of export", where, "exports")
    for key in ("profiles", "models"):
        if not getattr(asked, key):
            raise BadNightFile(f"{where.at(key)}: {key} is empty")
    if not ORIGIN.fullmatch(asked.origin):
        raise BadNightFile(
            f"{where.at('origin')}: {asked.origin!r} is not of small letters, digits and underscores"
        )
    for bounds in asked.generated:
        _check_bounds(bounds, where)
    if not asked.workloads and not asked.generated:
        raise BadNightFile(f"{where.at('workloads')}: there are neither workloads nor generated ones")
    for number, kernel in enumerate(asked.kernel):
        _check_kernel(kernel, number, where)
        if kernel.name in [other.name for other in asked.kernel[:number]]:
            raise BadNightFile(
                f"{where.at('kernel', number, 'name')}: there are two kernels {kernel.name!r}. The name "
                "is what the nights are compared by"
            )


def _check_kernel(kernel: NightKernel, number: int, where: TomlText) -> None:
    """Errors: BadNightFile."""
    if not NAME.fullmatch(kernel.name):
        raise BadNightFile(
            f"{where.at('kernel', number, 'name')}: {kernel.name!r} is not a name of letters, digits, dots "
            "and dashes"
        )
    if bool(kernel.tree) == bool(kernel.release) or bool(kernel.tree) != bool(kernel.branch):
        raise BadNightFile(
            f"{where.at('kernel', number)}: {kernel.name} needs tree and branch, or release alone"
        )
    if kernel.release and not is_release(kernel.release):
        _each((kernel.release,), RELEASES, "release", where, "kernel", number, "release")
    _each(kernel.profiles, [one.name for one in PROFILES], "profile", where, "kernel", number, "profiles")
    _each(kernel.config, known_variants(), "config variant", where, "kernel", number, "config")
    _each((kernel.unmoved,), ("skip", "run"), "value of unmoved", where, "kernel", number, "unmoved")
    if kernel.branch.startswith("-") or ".." in kernel.branch or re.search(r"[\s~^:?*\[\\]", kernel.branch):
        raise BadNightFile(
            f"{where.at('kernel', number, 'branch')}: {kernel.branch!r} is not the name of a branch"
        )
    if kernel.tree.startswith("-"):
        raise BadNightFile(
            f"{where.at('kernel', number, 'tree')}: {kernel.tree!r} is neither a folder nor a URL"
        )


def _each(words: Iterable[str], known: Iterable[str], what: str, where: TomlText, *keys: str | int) -> None:
    """Errors: BadNightFile."""
    names = list(known)
    for word in words:
        if word not in names:
            raise BadNightFile(f"{where.at(*keys)}: there is no {what} {word!r}. {near(word, names)}")


def _check_bounds(text: str, where: TomlText) -> None:
    """Errors: BadNightFile."""
    try:
        space.parse_space(text)
    except BadBounds as error:
        raise BadNightFile(f"{where.at('generated')}: generated: {error}") from error


# --- places --------------------------------------------------------------------------------------


def is_url(tree: str) -> bool:
    """As git reads it: a scheme, or HOST:PATH where no slash comes before the colon."""
    return "://" in tree or bool(re.match(r"[^/]+:", tree))


def _absolute(asked: NightFile, folder: Path) -> NightFile:
    """Relative folders and files are the file's neighbours, wherever the command is given."""

    def place(text: str) -> str:
        return str((folder / Path(text).expanduser()).resolve())

    def workload(text: str) -> str:
        own = folder / Path(text).expanduser()
        return (
            str(own.resolve()) if text.endswith((library.SUFFIX, programs.SUFFIX)) and own.exists() else text
        )

    def series(text: str) -> str:
        own = folder / Path(text).expanduser()
        return str(own.resolve()) if own.is_file() else text

    kernels = tuple(
        msgspec.structs.replace(
            one,
            tree=one.tree if not one.tree or is_url(one.tree) else place(one.tree),
            series=tuple(map(series, one.series)),
        )
        for one in asked.kernel
    )
    return msgspec.structs.replace(
        asked,
        kernel=kernels,
        workloads=tuple(map(workload, asked.workloads)),
        results=place(asked.results),
    )
