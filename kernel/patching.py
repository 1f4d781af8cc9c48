"""
Series: find them by name or path, and apply them to a tree that is ours.

In:       a name under kernel/series/ ("planted/NAME"), or a path to a .patch, .diff, mbox or .cocci file,
          or to a folder of them, one for each kernel version; the version of the source.
Out:      Series; the changed tree with the list of files touched; BadKernel with file, hunk and the
          source there when it does not apply.
Not here: what its header says (header.py), copying the tree (build.py), the kernel spec (word.py).

A folder holds one file a version, 6.1.patch, 6.12.cocci, and any.cocci where one serves the rest.

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
from difflib import get_close_matches
from pathlib import Path

import msgspec

from kernel.files import replace
from kernel.header import comment, facts_of
from kernel.kernel import BadKernel, BuildFailed, Facts, Series
from kernel.make import environment

FOLDER = Path(__file__).parent / "series"
PATCHES = (".patch", ".diff", ".mbox")
SUFFIXES = (*PATCHES, ".cocci")
SPATCH_LIMIT_S = 120  # a four-line semantic patch takes about 1 s on fs/btrfs/tree-log.c


def known_series() -> tuple[Series, ...]:
    """All under kernel/series/, by name; of a folder the change for the newest version."""
    return tuple(_of_name(name, _newest(_files(name))) for name in names())


def is_series(name: str) -> bool:
    path = Path(name).expanduser()
    return path.is_file() or bool(_files(name))


def find_series(name: str, version: str = "") -> Series:
    """The change for a source of this version, as "6.12". Errors: BadKernel."""
    files = _files(name)
    path = Path(name).expanduser()
    if not files and not path.is_file():
        if path.suffix in SUFFIXES:
            raise BadKernel(f"there is no file {name}")
        raise BadKernel(
            f"there is no series {name!r}{_near(name)} `powercut list --names series` prints all. A "
            f"path to a {', '.join(SUFFIXES)} file is accepted too"
        )
    series = _of_name(name, _chosen(name, files, version)) if files else _read(name, path)
    if version in series.facts.absent:
        raise BadKernel(f"{name} cannot be used with {version}: {series.facts.absent[version]}")
    if series.suffix == ".cocci":
        files_of(series)
    return series


def _near(name: str) -> str:
    """The end of a sentence that names `name`."""
    known = names()
    near = [each for each in known if each.partition("/")[2] == name] or get_close_matches(name, known)
    return f"; did you mean {' or '.join(near)}?" if near else "."


def names() -> tuple[str, ...]:
    """Of every series under kernel/series/, as "planted/NAME"."""
    places = sorted(FOLDER.glob("*/*"))
    found = (f"{path.parent.name}/{path.name if path.is_dir() else path.stem}" for path in places)
    return tuple(dict.fromkeys(name for name in found if _files(name)))


def _files(name: str) -> dict[str, Path]:
    """Of a series of ours, or of a folder of the user's: version, or "any", to file."""
    if re.fullmatch(r"[\w-]+/[\w.-]+", name):
        for suffix in SUFFIXES:
            if (FOLDER / f"{name}{suffix}").is_file():
                return {"any": FOLDER / f"{name}{suffix}"}
        if found := _in_folder(FOLDER / name):
            return found
    return _in_folder(Path(name).expanduser())


def _in_folder(folder: Path) -> dict[str, Path]:
    """What is no version and no series (a README, say) is not looked at."""
    found: dict[str, Path] = {}
    for path in sorted(folder.glob("*")) if folder.is_dir() else []:
        if path.suffix in SUFFIXES and re.fullmatch(r"\d+\.\d+|any", path.stem):
            if path.stem in found:
                both = f"{found[path.stem].name}, {path.name}"
                raise BadKernel(f"{folder} has two files for version {path.stem}: {both}")
            found[path.stem] = path
    return found


def _chosen(name: str, files: dict[str, Path], version: str) -> Path:
    path = files.get(version) or files.get("any")
    if path is None:
        absent = _facts(files).absent
        if version in absent:
            raise BadKernel(f"{name} cannot be used with {version}: {absent[version]}")
        raise BadKernel(
            f"{name} has no file for a {version or 'source without version'}; it has files for "
            f"{', '.join(sorted(files, key=_by_number))}"
        )
    return path


def _newest(files: dict[str, Path]) -> Path:
    return files[max(files, key=_by_number)]


def _by_number(version: str) -> tuple[int, ...]:
    """ "any" before all."""
    return () if version == "any" else tuple(int(number) for number in version.split("."))


def _of_name(name: str, path: Path) -> Series:
    files = _files(name)
    file = path.name if path.parent.name == Path(name).name else ""
    return msgspec.structs.replace(_read(name, path), facts=_facts(files), file=file)


def _facts(files: dict[str, Path]) -> Facts:
    """Of all files together: what one of them says holds for the folder."""
    return facts_of([path.read_text(errors="replace") for path in files.values()])


def _read(name: str, path: Path) -> Series:
    content = path.read_bytes()
    text = content.decode(errors="replace")
    suffix = path.suffix
    if suffix not in SUFFIXES:
        if not re.search(r"^(--- |diff --git )", text, re.MULTILINE):
            raise BadKernel(f"{path} is not a series: it is neither a patch nor a {SUFFIXES[-1]} file")
        suffix = ".mbox"
    return Series(name, suffix, content, _about(text), facts_of([text]))


def _about(text: str) -> str:
    for line in text.splitlines():
        if line.startswith("Subject:"):
            return line.removeprefix("Subject:").strip()
        if line.startswith(("--- ", "diff ")):
            break
    return next((line.strip() for line in comment(text) if line.strip()), "")


def files_of(series: Series) -> tuple[str, ...]:
    """The files a semantic patch names in its header."""
    for line in series.content.decode(errors="replace").splitlines():
        match = re.match(r"//\s*files:\s*(.+)", line)
        if match:
            files = tuple(match[1].split())
            outside = [file for file in files if file.startswith("/") or ".." in file.split("/")]
            if outside:
                raise BadKernel(f"{series.title}: {outside[0]} is not inside the source tree")
            return files
    raise BadKernel(
        f"the header of {series.title} does not name the files that it changes. Add a line "
        "such as '// files: fs/btrfs/tree-log.c'"
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
        raise BuildFailed(
            f"{tree}: the disk is full. Free some space, or set POWERCUT_CACHE to a folder on another disk"
        )
    file = ""
    for line in said.splitlines():
        file = _patched(line) or file
        if "previously applied" in line:
            return f"{series.title}: the patch is already applied to {file}, or is reversed"
        if "can't find file to patch" in line:
            missing = re.search(r"^\|\+\+\+ (\S+)", said, re.MULTILINE)
            return f"{series.title}: the source tree has no file {missing[1] if missing else '?'} (patch -p1)"
        if match := re.match(r"Hunk #(\d+) FAILED at (\d+)", line):
            shown = _lines_around(tree / file, int(match[2]))
            place = f"{file}, hunk {match[1]}, at line {match[2]}"
            return f"{series.title} does not apply: {place}. The source there is\n{shown}"
    return f"{series.title} does not apply: {said.strip()}"


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
        raise BadKernel(f"{series.title}: the source tree has no file {missing[0]}")
    if shutil.which("spatch", path=environment()["PATH"]) is None:
        raise BuildFailed(
            f"{series.title} needs spatch, which is not installed. Install it: sudo apt-get "
            "install coccinelle"
        )
    touched = tuple(file for file in files if _spatch(series, tree / file))
    if not touched:
        raise BadKernel(f"{series.title} matches no code in {', '.join(files)}, so it would change nothing")
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
            raise BadKernel(f"{series.title}: spatch cannot apply it to {path.name}: {said[-600:]}")
        if output.read_bytes() == path.read_bytes():
            return False
        replace(path, output.read_bytes())
        return True
