"""
Powercut as other tools are installed: by pipx, by uv, in a container; its completion and its manual page.

In:       this checkout, its changes included; pipx and uv from Python's package index; the shells, man and
          the container engine of this machine, where they are.
Out:      an ordinary user installs it, and runs an experiment from another folder with the installation
          read-only. What is not on this machine is skipped, with the reason.
Not here: the checkout's own way in (harness/tests/local/), what an experiment shows (the other suites).
"""

import contextlib
import json
import os
import pty
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from harness.local.root import ROOT
from harness.local.version import VERSION

pytestmark = [pytest.mark.install, pytest.mark.timeout(3600)]

NOBODY = 65534  # nobody and nogroup of Debian
LEFT_OUT = ("/tests/", "/harness/suite/", "/harness/book/")  # of the rooms, in a package
ROOMS = ("kernel", "workloads", "oracles", "reports", "harness")
WAYS = ("pipx", "uv")
RUN = ("run", "replace-by-rename", "--fs", "ext4", "--quiet")


class User(msgspec.Struct, frozen=True):
    """An account without privileges. uid: None when the tests are run by such a one.
    folder: its own; home, checkout, work and tools are in it. python: one that it can run."""

    uid: int | None
    folder: Path
    python: str

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def checkout(self) -> Path:
        return self.folder / "checkout"

    def surroundings(self, **more: str) -> dict[str, str]:
        """As after a login: nothing of the environment that runs the tests but the way to the network."""
        ours = ("POWERCUT_", "PYTHON", "PYTEST_", "TOX_", "VIRTUAL_ENV", "XDG_", "COV_", "UV_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = f"{self.folder}/tools/bin:{self.home}/.local/bin:/usr/local/bin:/usr/bin:/bin"
        return kept | {"HOME": str(self.home), "PATH": path, "LC_ALL": "C.UTF-8"} | more

    def do(self, *words: object, check: bool = True, **more: str) -> "subprocess.CompletedProcess[str]":
        """A command in `work`."""
        nobody = {"user": self.uid, "group": self.uid, "extra_groups": []} if self.uid is not None else {}
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.work,
            env=self.surroundings(**more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **nobody,
        )
        assert not check or done.returncode == 0, f"{words}:\n{done.stdout}\n{done.stderr}"
        return done

    def own(self, place: Path) -> None:
        if self.uid is None:
            return
        for path in (place, *place.rglob("*")):
            os.chown(path, self.uid, self.uid, follow_symlinks=False)


@pytest.fixture(scope="module")
def user() -> Iterator[User]:
    """Has a clone of this checkout, with its changes, and pipx and uv."""
    uid = NOBODY if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory(prefix="powercut-install-") as name:
        one = User(uid, Path(name), "/usr/bin/python3" if uid is not None else sys.executable)
        for place in (one.home, one.work):
            place.mkdir()
        clone_with_changes(one.checkout)
        one.own(one.folder)
        one.do(one.python, "-m", "venv", one.folder / "tools")
        one.do(one.folder / "tools/bin/pip", "install", "--quiet", "pipx", "uv")
        yield one
        if uid is None:  # the installations were made read-only, which root need not mind
            for path in one.folder.rglob("*"):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)


def clone_with_changes(place: Path) -> None:
    """A fresh clone, then what is not committed yet."""

    def git(*words: str) -> list[str]:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
        return [name for name in done.stdout.split("\0") if name]

    git("clone", "--quiet", str(ROOT), str(place))
    for name in git("ls-files", "-z", "--modified", "--others", "--deleted", "--exclude-standard"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, place / name)
        else:
            (place / name).unlink(missing_ok=True)


class Installed(msgspec.Struct, frozen=True):
    """way: of WAYS. command: the path of `powercut`. environment: the folder of its Python environment."""

    way: str
    command: Path
    environment: Path


@pytest.fixture(scope="module", params=WAYS)
def installed(request: pytest.FixtureRequest, user: User) -> Installed:
    """And made read-only."""
    if request.param == "pipx":
        user.do("pipx", "install", "--python", user.python, user.checkout)
        found = Installed("pipx", user.home / ".local/bin/powercut", pipx_environment(user))
    else:
        tools = {"UV_TOOL_DIR": str(user.folder / "uv"), "UV_TOOL_BIN_DIR": str(user.folder / "uv-bin")}
        user.do("uv", "tool", "install", "--python", user.python, user.checkout, **tools)
        found = Installed("uv", user.folder / "uv-bin/powercut", user.folder / "uv/powercut")
    for path in (found.environment, *found.environment.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~(stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH))
    return found


def pipx_environment(user: User) -> Path:
    return Path(user.do("pipx", "environment", "--value", "PIPX_LOCAL_VENVS").stdout.strip()) / "powercut"


@pytest.fixture(scope="module")
def kernel_of_the_user(user: User, stock_kernel) -> None:
    """The kernel of this machine's cache, so that the user need not build it: minutes."""
    built = Path(stock_kernel.path).parent
    place = user.home / ".cache/powercut/builds" / built.name
    shutil.copytree(built, place)
    user.own(user.home / ".cache")


def everything_in(folder: Path) -> dict[str, tuple[int, int]]:
    """Of each file its size and time."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_size, path.lstat().st_mtime_ns)
        for path in folder.rglob("*")
    }


# --- the package ---


def packed(names: Iterator[str]) -> set[str]:
    """Of these files, those that belong into a package."""
    rooms = {name for name in names if name.partition("/")[0] in ROOMS}
    return {name for name in rooms if not any(left in f"/{name}" for left in LEFT_OUT)}


def test_a_package_has_every_file_of_the_rooms_but_their_tests(user: User) -> None:
    """Built as for a release: the sdist, and the wheel from it. What a room gains later is packed, too."""
    user.do("uv", "build", "--quiet", "--out-dir", user.folder / "dist", user.checkout)
    (wheel,) = (user.folder / "dist").glob(f"powercut-{VERSION}-*.whl")
    assert (user.folder / "dist" / f"powercut-{VERSION}.tar.gz").is_file()
    tracked = user.do("git", "-C", user.checkout, "ls-files", "--cached", "--others", "--exclude-standard")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
        commit = archive.read("harness/local/commit").decode().strip()
    wanted = packed(iter(tracked.stdout.splitlines()))
    assert len(wanted) > 500
    assert wanted - inside == set()
    assert {name for name in inside if name.partition("/")[0] in ROOMS} - wanted == {"harness/local/commit"}
    described = user.do("git", "-C", user.checkout, "describe", "--always", "--dirty=+").stdout.strip()
    assert commit == described


# --- installed ---


def test_it_says_its_version_and_lists_what_it_has(user: User, installed: Installed) -> None:
    said = user.do(installed.command, "--version").stdout
    described = user.do("git", "-C", user.checkout, "describe", "--always", "--dirty=+").stdout.strip()
    assert said == f"powercut {VERSION} ({described})\n"
    here = subprocess.run(
        [sys.executable, "-P", "-m", "harness.commands.main", "list"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert user.do(installed.command, "list").stdout == here


def test_an_experiment_works_from_another_folder_and_writes_nothing_beside_the_code(
    user: User, installed: Installed, kernel_of_the_user: None
) -> None:
    before = everything_in(installed.environment)
    out = user.work / installed.way
    done = user.do(installed.command, *RUN, "--out", out)
    assert "exit       0" in done.stdout
    summary = json.loads((out / "latest/summary.json").read_text())
    question = json.loads((out / "latest/run.json").read_text())
    assert (summary["exit"], summary["states"]["unknown"]) == (0, 0)
    assert question["powercut_version"] == VERSION
    assert (out / "latest/report/index.html").is_file()
    again = user.do("sh", out / "latest/experiments/0001/repro.sh", "O:3")
    assert "durable     HOLDS" in again.stdout
    assert everything_in(installed.environment) == before


def test_what_needs_a_checkout_says_so(user: User, installed: Installed) -> None:
    done = user.do(installed.command, "test", "--fast", check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Clone the repository" in done.stderr


def test_a_missing_debian_package_is_named_with_its_line(user: User, installed: Installed) -> None:
    """As the checkout does. Here /usr/sbin, where mkfs and fsck are, is empty."""
    if user.uid is None:
        pytest.skip("only root can hide /usr/sbin")
    script = (
        "mount -t tmpfs none /usr/sbin &&"
        f' exec setpriv --reuid={user.uid} --regid={user.uid} --clear-groups "$@"'
    )
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", str(installed.command), *RUN],
        cwd=user.work,
        env=user.surroundings(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert "apt-get install --no-install-recommends e2fsprogs" in done.stderr


# --- completion ---


def completion(user: User, installed: Installed, shell: str) -> Path:
    """The program that the installed command prints."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed: apt-get install {shell}")
    name = {"bash": "powercut.bash", "zsh": "_powercut", "fish": "powercut.fish"}[shell]
    place = user.folder / "completion" / installed.way / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(user.do(installed.command, "--print-completion", shell).stdout)
    user.do(shell, "-n", place)
    return place


# A line of the command line up to the cursor, and words that must be among those that a shell offers.
ASKED = (
    ("ru", ("run",)),
    ("run replace-by-ren", ("replace-by-rename",)),
    ("run --fs xfs replace-by-rename exchange-thr", ("exchange-through-third",)),
    ("run --fs btrfs,ext4-f", ("btrfs,ext4-fast-commit",)),
    ("run --kernel 6.12+planted/xfs-si", ("6.12+planted/xfs-size-logged-as-timestamp",)),
    ("kernel build 5", ("5.10",)),
    ("compare --perf db", ("dbench",)),
    ("bisect --oracle dur", ("durable",)),
)


def test_bash_completes_commands_workloads_profiles_and_kernels(user: User, installed: Installed) -> None:
    place = completion(user, installed, "bash")
    script = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_powercut;'
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    for line, wanted in ASKED:
        said = user.do("bash", "-c", script, "bash", place, installed.command, *line.split(" "))
        assert set(wanted) <= set(said.stdout.splitlines()), line
        assert said.stderr == "", line
    every = user.do("bash", "-c", script, "bash", place, installed.command, "run", "--fs", "")
    assert every.stdout.split() == user.do(installed.command, "list", "--names", "profiles").stdout.split()


def test_fish_completes_them_too(user: User, installed: Installed) -> None:
    place = completion(user, installed, "fish")
    path = f"{installed.command.parent}:/usr/bin:/bin"
    for line, wanted in ASKED:
        script = 'source $argv[1]; complete -C "powercut $argv[2]"'
        said = user.do("fish", "--no-config", "-c", script, place, line, PATH=path)
        assert set(wanted) <= {one.partition("\t")[0] for one in said.stdout.splitlines()}, line


def test_zsh_completes_them_too(user: User, installed: Installed) -> None:
    """In a terminal: zsh completes nowhere else."""
    place = completion(user, installed, "zsh")
    with zsh(user, place.parent, f"{installed.command.parent}:/usr/bin:/bin") as ask:
        for line, wanted in ASKED:
            completed = f"powercut {line}".rpartition(" ")[0] + f" {wanted[0]}"
            assert completed in ask(f"powercut {line}", completed)


@contextlib.contextmanager
def zsh(user: User, folder: Path, path: str):
    """ask(line, wanted) -> what the terminal shows after the tab key, up to what is wanted."""
    child, terminal = pty.fork()
    if child == 0:
        if user.uid is not None:
            os.setgroups([])
            os.setgid(user.uid)
            os.setuid(user.uid)
        surroundings = user.surroundings(PATH=path, PS1="READY>", TERM="dumb", COLUMNS="200", LINES="50")
        os.execve("/usr/bin/zsh", ["zsh", "-f", "-i"], surroundings)

    def read(until: str, seconds: float) -> str:
        """Up to that, or for so long."""
        seen, end = b"", time.monotonic() + seconds
        while until.encode() not in seen and (left := end - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0]:
                seen += os.read(terminal, 1 << 16)
        return seen.decode(errors="replace")

    def ask(line: str, wanted: str) -> str:
        os.write(terminal, f"{line}\t".encode())
        seen = read(wanted, 20.0)
        os.write(terminal, b"\x15\n")  # the line is dropped
        read("READY>", 4.0)
        return seen

    try:
        read("READY>", 20.0)
        setup = f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D"
        os.write(terminal, f"{setup}; echo LOA''DED\n".encode())
        assert "LOADED" in read("LOADED", 30.0)
        read("READY>", 4.0)
        yield ask
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)


# --- the manual page ---


def test_the_manual_page_is_installed(user: User, installed: Installed) -> None:
    """pipx links it to where man looks; uv leaves it in the tool's environment."""
    page = installed.environment / "share/man/man1/powercut.1"
    assert page.read_bytes() == (user.checkout / "docs/powercut.1").read_bytes()
    if not shutil.which("man"):
        pytest.skip("man is not installed: apt-get install man-db")
    where = user.home / ".local/share/man" if installed.way == "pipx" else installed.environment / "share/man"
    said = user.do("man", "-M", where, "powercut").stdout
    assert "crash consistency" in said
    assert "--print-completion" in said


# --- the container ---


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The words of a container engine that answers here."""
    chosen = request.config.getoption("--engine")
    tried = [tuple(chosen.split())] if chosen else [("podman",), ("docker",)]
    why = []
    for words in tried:
        if not shutil.which(words[0]):
            why.append(f"{words[0]} is not installed")
            continue
        done = subprocess.run([*words, "info"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return words
        why.append(f"{' '.join(words)} info: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}")
    pytest.skip("no container engine: " + "; ".join(why))


@pytest.fixture(scope="module")
def image(request: pytest.FixtureRequest, engine: tuple[str, ...], user: User) -> Iterator[str]:
    """Built from the clone. --base: another image of Debian 12 than the one of the registry."""
    base = request.config.getoption("--base")
    if not base:
        base = "docker.io/library/debian:12-slim"
        pulled = subprocess.run([*engine, "pull", base], capture_output=True, text=True, check=False)
        if pulled.returncode:
            pytest.skip(f"{base} cannot be had: {pulled.stderr.strip().splitlines()[-1]}; give --base IMAGE")
    name = "localhost/powercut-tried"
    words = ("build", "--file", "Containerfile", "--build-arg", f"BASE={base}", "--tag", name, ".")
    done = subprocess.run([*engine, *words], cwd=user.checkout, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    yield name
    subprocess.run([*engine, "rmi", "--force", name], capture_output=True, check=False)


def test_the_image_runs_an_experiment_as_an_ordinary_user(
    engine: tuple[str, ...], image: str, user: User
) -> None:
    """The kernel is built in it, once a machine: its compiler and its source may be other ones."""
    results = user.work / "container"
    results.mkdir(mode=0o777)
    results.chmod(0o777)
    volumes = ("--volume", "powercut-cache:/cache", "--volume", f"{results}:/work/results")
    inside = [*engine, "run", "--rm", "--tmpfs", "/dev/shm:exec,size=2g", *volumes]
    who = subprocess.run(
        [*inside, "--entrypoint", "id", image, "-un"], capture_output=True, text=True, check=True
    )
    assert who.stdout.strip() == "powercut"
    version = subprocess.run([*inside, image, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.startswith(f"powercut {VERSION} (")
    done = subprocess.run([*inside, image, *RUN], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads((results / "latest/summary.json").read_text())["states"]["unknown"] == 0
