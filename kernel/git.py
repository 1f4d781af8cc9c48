"""
A git revision as a source: read from the repository's objects, never checked out.

In:       a repository, bare or with a work tree; a revision, in any of git's ways to name one. It is the
          user's, or our copy of one elsewhere.
Out:      Source with its commit; the files of that commit, and their contents. BadKernel when there is no
          such repository or revision. The repository is only ever read.
          One in the cache is in use from then on.
Not here: writing the files (source.py), reading PATH@REV out of a word (word.py), fetching (fetching.py).
"""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel import cache
from kernel.files import TreeFile, TreeFiles, makefile_version, require_kernel
from kernel.kernel import BadKernel, Source
from kernel.make import environment

BLOB = "git:"  # a digest that is the name git has for the content
NO_SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def revision_source(repository: Path, revision: str, url: str = "") -> Source:
    """The source of PATH@REV. url: where the repository was fetched from. Errors: BadKernel."""
    path = repository.resolve()
    commit = _commit(path, revision)
    place = f"{url or repository}@{revision}"
    names = _git(path, "ls-tree", "-r", "--name-only", commit, "Makefile", "Kconfig", "arch/um/Kconfig")
    require_kernel(place, lambda name: name in names.splitlines())
    version = makefile_version(_git(path, "cat-file", "blob", f"{commit}:Makefile"))
    return Source("git", str(path), ".".join(version.split(".")[:2]), commit, url)


def exact_version(source: Source) -> str:
    """Equal only for equal files, whatever commit they are of."""
    path, commit = Path(source.name), source.revision
    version = makefile_version(_git(path, "cat-file", "blob", f"{commit}:Makefile"))
    tree = _git(path, "rev-parse", "--verify", f"{commit}^{{tree}}").strip()
    return f"{version} git tree {tree}"


def revision_files(source: Source) -> TreeFiles:
    """What the commit holds; submodules are left out, since no kernel has any."""
    listed = _git(Path(source.name), "ls-tree", "-r", "-z", "-l", "--full-tree", source.revision)
    files: TreeFiles = {}
    with _contents(source) as content:
        for line in listed.split("\0"):
            facts, _, name = line.partition("\t")
            if not name:
                continue
            mode, kind, blob, size = facts.split()
            if mode == "120000":
                files[name] = TreeFile(0, 0, False, f"-> {content(blob).decode(errors='surrogateescape')}")
            elif kind == "blob":
                files[name] = TreeFile(int(size), 0, mode == "100755", BLOB + blob)
    return files


@contextmanager
def reader(source: Source) -> Iterator[Callable[[str, TreeFile], bytes]]:
    """read(name, file) gives the content. One git answers for all."""
    with _contents(source) as content:
        yield lambda _name, file: content(file.digest.removeprefix(BLOB))


@contextmanager
def _contents(source: Source) -> Iterator[Callable[[str], bytes]]:
    _use(Path(source.name))
    with subprocess.Popen(
        [*_command(Path(source.name)), "cat-file", "--batch"],
        env=environment() | NO_SETTINGS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        asked, answers = process.stdin, process.stdout
        assert asked is not None
        assert answers is not None

        def content(blob: str) -> bytes:
            asked.write(f"{blob}\n".encode())
            asked.flush()
            head = answers.readline().split()
            if head[1:2] != [b"blob"]:
                raise BadKernel(
                    f"{source.name}: git cannot read the object {blob}. git fsck shows what is damaged"
                )
            return answers.read(int(head[2]) + 1)[:-1]

        yield content
        asked.close()


def _commit(path: Path, revision: str) -> str:
    asked = run(path, "rev-parse", "--show-prefix")
    if asked.returncode != 0 and "work tree" not in asked.stderr:
        raise BadKernel(f"{path} is not a git repository that can be read: {_said(asked)}")
    if prefix := asked.stdout.strip().rstrip("/"):
        top = str(path).removesuffix(prefix).rstrip("/")
        raise BadKernel(
            f"{path} is a folder inside a git repository. Name the top folder of the repository: "
            f"{top}@{revision}"
        )
    found = run(path, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
    if found.returncode != 0 or "is ambiguous" in found.stderr:
        raise BadKernel(
            f"the revision {revision!r} does not name exactly one commit of {path}: {_said(found)}"
            f"{_shallow(path)}"
        )
    return found.stdout.strip()


def _shallow(path: Path) -> str:
    """What to do in a repository that may lack a commit because it has a part of the history alone."""
    if run(path, "rev-parse", "--is-shallow-repository").stdout.strip() != "true":
        return ""
    return (
        ". The repository is a shallow clone, without older commits. Get them (git fetch --unshallow), or "
        "let Powercut fetch this one: URL@REV"
    )


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    return " ".join(line.removeprefix("fatal: ").strip() for line in lines[:8])


def _git(path: Path, *arguments: str) -> str:
    done = run(path, *arguments)
    if done.returncode != 0:
        raise BadKernel(f"{path}: git {arguments[0]} failed: {_said(done)}")
    return done.stdout


def run(path: Path, *arguments: str, errors: str = "surrogateescape") -> "subprocess.CompletedProcess[str]":
    """git in the repository at path, whoever owns it, without anybody's settings. errors: what is made of
    bytes that are no UTF-8; with surrogateescape they come back. Errors: BadKernel, when there is no git."""
    _use(path)
    try:
        return subprocess.run(
            [*_command(path), *arguments],
            env=environment() | NO_SETTINGS,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors=errors,
            check=False,
        )
    except FileNotFoundError as error:
        raise BadKernel(
            f"{path} cannot be read, because git is not installed. Install it: sudo apt-get install git"
        ) from error


def _use(path: Path) -> None:
    """A copy in the cache (fetching.py, harness/nightly/trees.py) stays there while this process lives."""
    place = path.resolve()
    whole = place.is_dir() and not place.name.endswith(cache.PARTIAL)
    if whole and place.parent == (cache.root() / "trees").resolve():
        cache.use(place)
        cache.touch(place)


def _command(path: Path) -> list[str]:
    """A repository may be somebody else's: what we ask for reads objects, and runs no hook or filter."""
    return ["git", "-c", "safe.directory=*", "-C", str(path)]
