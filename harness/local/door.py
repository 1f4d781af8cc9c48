"""
The way in: what a command needs is there, or made, or named; then the command runs.

In:       the words of the command line; of a checkout, its root.
Out:      this process becomes harness/commands/main.py in the virtual environment; or a message and status 3.
Not here: the environment (environment.py), the table of packages (packages.py), the commands (main.py).

A checkout starts with enter(), which makes its virtual environment. An installation starts with
enter_installed(): pipx or uv made its environment.

`--yes` is meant for us and is taken out. Everything is said on standard error: standard output belongs
to --json.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from harness.local import environment, packages
from kernel.packages import Requirement

BAD_INPUT = 2
CANNOT = 3  # the exit status of an experiment that could not be done
INTERRUPTED = 130
APT_LISTS = Path("/var/lib/apt/lists")
# By command, what it needs of pyproject.toml's optional dependencies. Each list holds the shorter ones, so
# that an environment grows and is never made back and forth.
EXTRAS = {"campaign": ("campaign",), "test": ("campaign", "dev")}
NO_TESTS = (
    "`powercut test` runs Powercut's own tests. They are part of a checkout and not of an installation.\n"
    "Clone the repository and run ./powercut test in it."
)


class Closed(Exception):
    """The message says what is missing and the fix."""


def enter(root: Path, arguments: Sequence[str]) -> int:
    """Does not return when the way is free. Errors: none; the exit status and a message."""
    arguments, yes = take_yes(arguments)
    try:
        needed = environment.requirements(root, EXTRAS.get(packages.command(arguments), ()))
        place = environment.find(root, needed)
        if place is None and names_only(arguments):
            return CANNOT  # a shell that completes a word makes no environment
        provide(lacking(arguments, place is not None), yes)
        place = place or environment.make(root, needed, say)
    except (Closed, environment.NoEnvironment) as error:
        say(str(error))
        return CANNOT
    except KeyboardInterrupt:
        say("interrupted. Nothing incomplete is left behind")
        return INTERRUPTED
    become(environment.python_of(place), arguments, inside(root))


def enter_installed() -> int:
    """`powercut` where pipx, uv or pip installed it: in the environment that it was installed into."""
    arguments, yes = take_yes(sys.argv[1:])
    if packages.command(arguments) == "test":
        say(NO_TESTS)
        return BAD_INPUT
    try:
        provide(packages.missing(packages.needed_by(arguments)), yes)
    except Closed as error:
        say(str(error))
        return CANNOT
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED
    become(Path(sys.executable), arguments, inside(None))


def become(python: Path, arguments: Sequence[str], surroundings: dict[str, str]) -> NoReturn:
    # -P: a harness/ or a json.py in the folder where the user stands is not ours.
    command = [str(python), "-P", "-m"]
    if names_only(arguments):
        os.execve(python, [*command, "harness.commands.names", *arguments[2:]], surroundings)
    os.execve(python, [*command, "harness.commands.main", *arguments], surroundings)


def names_only(arguments: Sequence[str]) -> bool:
    """`list --names KIND`, which a shell runs each time the tab key is pressed. main.py imports too much."""
    return list(arguments[:2]) == ["list", "--names"]


def say(message: str) -> None:
    sys.stderr.write(f"powercut: {message}\n")
    sys.stderr.flush()


def take_yes(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Without the --yes before a "--", and whether there was one."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    kept = [word for word in arguments[:end] if word != "--yes"]
    return [*kept, *arguments[end:]], len(kept) < end


def inside(root: Path | None) -> dict[str, str]:
    """What the command sees: our modules only, UTF-8, and the folders where Debian has mkfs and fsck.
    root: None in an installation, whose Python finds our modules by itself."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH")
    }
    ours = {} if root is None else {"PYTHONPATH": str(root)}
    return inherited | ours | {"PYTHONUTF8": "1", "PATH": packages.search_path()}


def lacking(arguments: Sequence[str], has_environment: bool) -> tuple[Requirement, ...]:
    """Every missing package at once, python3-venv among them when the environment is still to be made."""
    found = packages.missing(packages.needed_by(arguments))
    if has_environment or environment.can_be_made():
        return found
    return (Requirement("python3-venv", "ensurepip (a module of Python)", "the virtual environment"), *found)


def provide(absent: Sequence[Requirement], yes: bool) -> None:
    """Install them when that is ours to do. Errors: Closed, with the line to type."""
    if not absent:
        return
    debian = packages.is_debian()
    if not debian or not (os.geteuid() == 0 or yes):
        raise Closed(packages.complaint(absent, debian))
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and not packages.find("sudo"):
        raise Closed(packages.complaint(absent, debian) + "\n(sudo is not installed)")
    install(absent, sudo)


def install(absent: Sequence[Requirement], sudo: list[str]) -> None:
    """By apt-get. Its lists are fetched when there are none, or when it fails with those there are."""
    # Another apt-get may be at work: wait for it rather than fail.
    apt = [*sudo, "apt-get", "-o", "DPkg::Lock::Timeout=300"]
    command = [*apt, "install", "-y", "--no-install-recommends", *packages.names(absent)]
    fetch = [*apt, "update"]
    say(f"installing with {' '.join([*sudo, packages.install_line(absent)])}")
    status, said = 0, list[str]()
    for attempt in ([command], [fetch, command]) if has_lists() else ([fetch, command],):
        for words in attempt:
            status, said = environment.watch(words)
        if status == 0:
            return
    heard = environment.last_lines(said)
    raise Closed(f"apt-get failed (status {status}). It said:\n{heard}\n{packages.complaint(absent, True)}")


def has_lists() -> bool:
    return any(APT_LISTS.glob("*_Packages*"))
