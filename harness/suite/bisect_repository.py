"""
A git repository to bisect: a kernel source, then harmless commits with two planted bugs among them.

In:       an unpacked kernel source, two series, an empty place.
Out:      a bare repository there with the branch `main`; equal input makes equal commits.
Not here: bisecting (harness/bisect/bisect.py), what the bug does (the series' header).

Only what a build for User Mode Linux reads is committed: of drivers, sound, documentation and other
architectures the Makefiles and Kconfigs, which name each other.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from kernel.patching import apply, find_series

LEFT_OUT = (
    "Documentation/",
    "drivers/gpu/",
    "drivers/infiniband/",
    "drivers/media/",
    "drivers/net/",
    "drivers/scsi/",
    "drivers/staging/",
    "sound/",
    "tools/perf/",
    "tools/testing/",
)
KEPT_NAMES = ("Kconfig", "Makefile", "Kbuild", "Platform")
TREE_LOG = "fs/btrfs/tree-log.c"
WHO = "A Developer <developer@example.org>"
START = 1_700_000_000  # seconds since 1970, of the first commit

Change = Callable[[str], str]


def comment(words: str) -> Change:
    return lambda text: f"{text}\n/* {words} */\n"


def renamed(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        assert new not in text
        return text.replace(old, new)

    return change


def planted(series: str) -> Change:
    """What a series makes of fs/btrfs/tree-log.c."""

    def change(text: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / TREE_LOG
            path.parent.mkdir(parents=True)
            path.write_text(text)
            apply(find_series(series), Path(folder))
            return path.read_text()

    return change


def commits(loses: str, dies: str) -> tuple[tuple[str, str, Change], ...]:
    """(subject, file, change), oldest first, after the commit of the source itself. Of the first seven git
    looks at the third first, which does not compile; the first bug comes two later, the second is the last.
    loses, dies: series with a bug that a power failure shows, and with one that ends the running kernel."""
    return (
        ("btrfs: say what this file is for", "fs/btrfs/super.c", comment("Mounting and unmounting.")),
        ("btrfs: give a variable a plain name", TREE_LOG, renamed("found_xattrs", "any_xattr")),
        ("btrfs: a half-done clean-up", "fs/btrfs/dir-item.c", comment("*/ int half_done( /*")),
        ("btrfs: end the clean-up", "fs/btrfs/dir-item.c", lambda text: text.rpartition("\n/* ")[0]),
        ("btrfs: log xattrs a little less often", TREE_LOG, planted(loses)),
        ("btrfs: another comment", "fs/btrfs/inode.c", comment("Inodes.")),
        ("btrfs: and one more", "fs/btrfs/file.c", comment("Files.")),
        ("btrfs: take inodes out of a list earlier", TREE_LOG, planted(dies)),
    )


def make_repository(source: Path, place: Path, loses: str, dies: str) -> list[str]:
    """Hashes of the commits, the source's first."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", place], check=True)
    # The objects are read once: speed before size.
    command = ["git", "-C", place, "-c", "core.compression=1", "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        for part in stream(source, loses, dies):
            process.stdin.write(part)
    assert process.returncode == 0
    said = subprocess.run(
        ["git", "-C", place, "rev-list", "--reverse", "main"], capture_output=True, text=True, check=True
    )
    return said.stdout.split()


def stream(source: Path, loses: str, dies: str) -> Iterator[bytes]:
    """For git fast-import."""
    yield head(0, "a kernel")
    for name in sorted(names(source)):
        path = source / name
        if path.is_symlink():
            yield from entry("120000", name, str(path.readlink()).encode())
        else:
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            yield from entry(mode, name, path.read_bytes())
    now: dict[str, str] = {}
    for number, (subject, name, change) in enumerate(commits(loses, dies), 1):
        now[name] = change(now.get(name) or (source / name).read_text())
        yield head(number, subject)
        yield from entry("100644", name, now[name].encode())


def head(number: int, subject: str) -> bytes:
    when = f"{WHO} {START + 3600 * number} +0000"
    text = f"commit refs/heads/main\nauthor {when}\ncommitter {when}\ndata {len(subject)}\n{subject}\n"
    return text.encode()


def entry(mode: str, name: str, content: bytes) -> Iterator[bytes]:
    yield f'M {mode} inline "{name}"\ndata {len(content)}\n'.encode()
    yield content
    yield b"\n"


def names(source: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(source):
        place = "" if folder == str(source) else f"{Path(folder).relative_to(source)}/"
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for file in (*files, *links):
            if file.startswith(KEPT_NAMES) or not left_out(place):
                yield f"{place}{file}"


def left_out(place: str) -> bool:
    if place.startswith("arch/") and place != "arch/":
        return not place.startswith(("arch/um/", "arch/x86/"))
    return place.startswith(LEFT_OUT)
