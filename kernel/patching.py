"""
Series: find them by name or path, and apply them to a tree that is ours.

In:       a name under kernel/series/ ("planted/NAME"), or a path to a .patch, .diff, mbox or .cocci file.
Out:      Series; the changed tree with the list of files touched; BadKernel with file, hunk and the
          source there when it does not apply.
Not here: copying the tree (build.py), reading the KERNEL word (word.py).

A series begins with a comment: first line what it is, then what it re-creates (kernel commit, fstests
number), what it changes, and why it is silent otherwise. In a .patch the lines begin with "#", in a .cocci
with "//". A .cocci also names the files it is for, relative to the tree, in one such line:

    // files: fs/btrfs/tree-log.c fs/btrfs/inode.c

A patch must apply without fuzz: a change that landed in the wrong place would make every verdict wrong.
"""

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from kernel.kernel import BadKernel, BuildFailed, Series
from kernel.make import environment

FOLDER = Path(__file__).parent / "series"
PATCHES = (".patch", ".diff", ".mbox")
SUFFIXES = (*PATCHES, ".cocci")
SPATCH_LIMIT_S = 120  # a four-line semantic patch takes about 1 s on fs/btrfs/tree-log.c


def known_series() -> tuple[Series, ...]:
    """All under kernel/series/, by name."""
    found = [path for path in FOLDER.glob("*/*") if path.suffix in SUFFIXES]
    return tuple(_read(_name(path), path) for path in sorted(found))


def is_series(name: str) -> bool:
    return _path_of(name) is not None


def find_series(name: str) -> Series:
    path = _path_of(name)
    if path is None:
        names = ", ".join(_name(path) for path in sorted(FOLDER.glob("*/*")) if path.suffix in SUFFIXES)
        raise BadKernel(
            f"series {name!r} is neither a file nor known; known: {names or 'none'}; "
            f"or a path to a {', '.join(SUFFIXES)} file"
        )
    series = _read(name, path)
    if series.suffix == ".cocci":
        files_of(series)
    return series


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _path_of(name: str) -> Path | None:
    if re.fullmatch(r"[\w-]+/[\w.-]+", name):
        for suffix in SUFFIXES:
            if (FOLDER / f"{name}{suffix}").is_file():
                return FOLDER / f"{name}{suffix}"
    path = Path(name).expanduser()
    return path if path.is_file() else None


def _read(name: str, path: Path) -> Series:
    content = path.read_bytes()
    text = content.decode(errors="replace")
    suffix = path.suffix
    if suffix not in SUFFIXES:
        if not re.search(r"^(--- |diff --git )", text, re.MULTILINE):
            raise BadKernel(f"{path} is no series: neither a patch nor a {SUFFIXES[-1]} file")
        suffix = ".mbox"
    return Series(name, suffix, content, _about(text))


def _about(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("Subject:"):
            return line.removeprefix("Subject:").strip()
        if line.startswith(("#", "//")) and line.strip("#/ "):
            return line.strip("#/ ")
        if line.startswith(("--- ", "diff ")):
            break
    return ""


def files_of(series: Series) -> tuple[str, ...]:
    """The files a semantic patch names in its header."""
    for line in series.content.decode(errors="replace").splitlines():
        match = re.match(r"//\s*files:\s*(.+)", line)
        if match:
            files = tuple(match[1].split())
            outside = [file for file in files if file.startswith("/") or ".." in file.split("/")]
            if outside:
                raise BadKernel(f"{series.name}: {outside[0]} is not inside the source tree")
            return files
    raise BadKernel(
        f"{series.name} does not say which files it is for; "
        "add a line '// files: fs/btrfs/tree-log.c' to its header"
    )


def apply(series: Series, tree: Path) -> tuple[str, ...]:
    """Change the tree; the files touched, relative to it. Never writes through a hard link."""
    if series.suffix == ".cocci":
        return _apply_semantic(series, tree)
    return _apply_patch(series, tree)


# --- patches ---


def _apply_patch(series: Series, tree: Path) -> tuple[str, ...]:
    """GNU patch writes a new file and renames it, so a hard link's other name keeps its content.

    Without a terminal (start_new_session) it asks nobody for the file it cannot find.
    """
    done = subprocess.run(
        ["patch", "-p1", "--forward", "--fuzz=0", "--no-backup-if-mismatch", "--reject-file=-"],
        cwd=tree,
        input=series.content,
        env=environment(),
        start_new_session=True,
        capture_output=True,
        check=False,
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode != 0:
        raise BadKernel(_why_not(series, tree, said))
    return tuple(dict.fromkeys(_patched(line) for line in said.splitlines() if _patched(line)))


def _patched(line: str) -> str:
    match = re.match(r"patching file '?([^']+?)'?(?: \((?:renamed|copied) from .*\))?$", line)
    return match[1] if match else ""


def _why_not(series: Series, tree: Path, said: str) -> str:
    if "No space left on device" in said:
        raise BuildFailed(f"{tree}: the disk is full; free some, or set POWERCUT_CACHE to another")
    file = ""
    for line in said.splitlines():
        file = _patched(line) or file
        if "previously applied" in line:
            return f"{series.name}: {file} already has this change, or its reverse"
        if "can't find file to patch" in line:
            missing = re.search(r"^\|\+\+\+ (\S+)", said, re.MULTILINE)
            return f"{series.name}: the source has no file {missing[1] if missing else '?'} (patch -p1)"
        if match := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            shown = _lines_around(tree / file, int(match[2]))
            place = f"{file}, hunk {match[1]}, at line {match[2]}"
            return f"{series.name} does not apply: {place}, where the source is\n{shown}"
    return f"{series.name} does not apply: {said.strip()}"


def _lines_around(path: Path, line: int) -> str:
    """What stands there, with line numbers: three before, six after."""
    text = path.read_text(errors="replace").splitlines() if path.is_file() else []
    first = max(0, line - 4)
    shown = text[first : line + 6]
    return (
        "\n".join(f"  {first + index + 1:6} {content}" for index, content in enumerate(shown))
        or "  (nothing)"
    )


# --- semantic patches ---


def _apply_semantic(series: Series, tree: Path) -> tuple[str, ...]:
    files = files_of(series)
    missing = [file for file in files if not (tree / file).is_file()]
    if missing:
        raise BadKernel(f"{series.name}: the source has no file {missing[0]}")
    if shutil.which("spatch", path=environment()["PATH"]) is None:
        raise BuildFailed(f"{series.name} needs spatch: sudo apt-get install coccinelle")
    touched = tuple(file for file in files if _spatch(series, tree / file))
    if not touched:
        raise BadKernel(f"{series.name} changed nothing in {', '.join(files)}: it matches no code there")
    return touched


def _spatch(series: Series, path: Path) -> bool:
    """Rewrite one file, in a copy and by rename; whether it changed."""
    with tempfile.TemporaryDirectory() as scratch:
        rules = Path(scratch) / "series.cocci"
        rules.write_bytes(series.content)
        output = Path(scratch) / path.name
        shutil.copyfile(path, output)
        command = ["spatch", "--very-quiet", "--no-includes", "--timeout", str(SPATCH_LIMIT_S)]
        command += ["--in-place", "--sp-file", rules.name, output.name]
        done = subprocess.run(
            command,
            cwd=scratch,
            env=environment()
            | {"HOME": scratch},  # without HOME it dies; the user's .cocciconfig is not ours
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).replace(scratch + "/", "").strip()
            raise BadKernel(f"{series.name}: spatch cannot apply it to {path.name}: {said[-600:]}")
        if output.read_bytes() == path.read_bytes():
            return False
        return _replace(path, output.read_bytes())


def _replace(path: Path, content: bytes) -> bool:
    """A new file under the old name: the name's other hard links keep the old one."""
    beside = path.with_name(path.name + ".new")
    beside.write_bytes(content)
    shutil.copymode(path, beside)
    beside.replace(path)
    return True
