"""
Turn a kernel spec into a kernel, built once and kept.

In:       a kernel spec or its KernelSpec.
Out:      Kernel, from the cache when source, series, config and compiler are those of one already built.
Not here: the word (word.py), the source's files (source.py), series (patching.py), make (make.py),
          locks and partial results (cache.py).

A kernel with series grows from the one without: its compiled tree is copied (source by hard links,
objects for real), the series applied, and make compiles what they touched. So does the next version of
a user's tree from the version before.
"""

import difflib
import hashlib
import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from kernel import cache, dm_target, machine, profiling, stops, uml
from kernel.archive import Gone
from kernel.changes import changed_functions
from kernel.files import TreeFiles
from kernel.fragments import Request, check_granted, digest, fragments, requests
from kernel.kernel import Arch, BuildFailed, Kernel, KernelSpec, Provenance, Series, SeriesRecord, Unbuildable
from kernel.make import IMAGES, OBJECTS, compile_kernel, compiler, configure, environment, image
from kernel.packages import missing_packages
from kernel.patching import apply
from kernel.patching import known_series as series
from kernel.prune import keep_within_limit, limit_bytes
from kernel.release import release_place, unpacked
from kernel.source import Examined, bring, examine, needed_bytes
from kernel.word import parse

__all__ = ["build", "built", "by_key", "key", "parse", "series"]

Progress = Callable[[str, float], None]

RECIPE_VERSION = 3  # raise it when the way of building changes what is built
_COMPILED_AT = re.compile(rf"(/\S+?)/{re.escape(OBJECTS)}/tools/")
OBJECTS_BYTES = 300 << 20  # 6.12 with our config: 120 MiB of objects, hard links, a kernel, and room
# Lines of make for 6.12 with our config; only for progress.
BASE_STEPS: dict[Arch, int] = {"um": 1270, "x86_64": 1900, "arm64": 1800}
SERIES_STEPS = 60  # the same with one file touched: archives and links on the way up


class Recipe(msgspec.Struct, frozen=True):
    """All that decides what a kernel will be."""

    spec: KernelSpec
    source: Examined
    fragments: tuple[Path, ...]
    wanted: tuple[Request, ...]
    compiler: str

    @property
    def key(self) -> str:
        return self._digest({} if self.spec.machine else {"target": dm_target.digest()})

    def _digest(self, more: dict[str, object]) -> str:
        parts: dict[str, object] = {
            "recipe": RECIPE_VERSION,
            "source": self.source.version,
            "series": [series.sha256 for series in self.spec.series],
            "config": digest(self.wanted),
            "compiler": self.compiler,
        }
        if self.spec.arch != "um":
            parts["arch"] = self.spec.arch
        if self.spec.machine:
            parts["machine"] = machine.digest(self.spec.machine)
        if profiling.VARIANT in self.spec.variants:
            parts["counted"] = profiling.digest()
        if stops.VARIANT in self.spec.variants:
            parts["stops"] = stops.digest()
        return hashlib.sha256(msgspec.json.encode(parts | more, order="sorted")).hexdigest()[:20]

    @property
    def base(self) -> "Recipe":
        """The same without series."""
        spec = msgspec.structs.replace(self.spec, word=self.spec.source.name, series=())
        return msgspec.structs.replace(self, spec=spec)

    @property
    def objects(self) -> Path:
        """Where the compiled tree without series is kept: one for each release and version, which moves on
        with our own target, and one for each user's tree or repository, which moves on with it."""
        source = self.spec.source
        if source.kind == "debian":
            return cache.root() / "objects" / self.base._digest({})
        parts = [source.kind, source.name, digest(self.wanted), self.compiler, self.spec.arch]
        if self.spec.machine:
            parts.append(machine.digest(self.spec.machine))
        place = "\0".join(parts)
        return cache.root() / "objects" / f"tree-{hashlib.sha256(place.encode()).hexdigest()[:16]}"

    @property
    def objects_bytes(self) -> int:
        return machine.OBJECTS_BYTES if self.spec.machine else OBJECTS_BYTES

    @property
    def steps(self) -> int:
        """Lines of make from nothing."""
        return machine.STEPS if self.spec.machine else BASE_STEPS[self.spec.arch]

    @property
    def place(self) -> Path:
        return cache.root() / "builds" / self.key


def _silent(_stage: str, _fraction: float) -> None:
    pass


def build(
    word: str | KernelSpec,
    progress: Progress = _silent,
    variants: tuple[str, ...] = (),
    arch: Arch = "um",
) -> Kernel:
    """The kernel of a word, built when it is not in the cache yet.

    progress(stage, fraction): fraction is 0 to 1 over the whole build.
    Raises BadKernel for bad input, BuildFailed when it could not be done. Safe when two start at once.
    """
    spec = parse(word, variants, arch, part(progress, 0.0, 0.05)) if isinstance(word, str) else word
    recipe = _recipe(spec, progress)
    cache.use(recipe.place)
    if not recipe.place.is_dir():
        _check_machine(spec.arch)
        cache.sweep()
        try:
            _build_once(recipe, progress)
        except Gone:  # what the lists named has a successor by now: look again, in newer lists
            recipe = _recipe(spec, progress, ask_system=False)
            cache.use(recipe.place)
            _build_once(recipe, progress)
        keep_within_limit()
    cache.touch(recipe.place)
    progress("built", 1.0)
    return _load(recipe.place, spec)


def find(word: str, variants: tuple[str, ...] = (), arch: Arch = "um") -> Kernel | None:
    """The kernel of a word, or of the beginning of a key, if it is built. Errors: as build."""
    if re.fullmatch(r"[0-9a-f]{6,20}", word):
        return next((kernel for kernel in built() if kernel.provenance.key.startswith(word)), None)
    spec = parse(word, variants, arch)
    place = _recipe(spec, _silent).place
    return _load(place, spec) if place.is_dir() else None


def by_key(key: str) -> Kernel:
    """The kernel of a whole key, however it was asked for when it was built; nobody removes it until this
    process ends. Errors: BuildFailed when this cache has none."""
    place = cache.root() / "builds" / key
    if not re.fullmatch(r"[0-9a-f]{20}", key) or not (place / "provenance.json").is_file():
        raise BuildFailed(
            f"{cache.root()} has no kernel with key {key!r}. powercut kernel list shows the "
            "kernels that are built"
        )
    cache.use(place)
    if not place.is_dir():  # prune was just removing it
        raise BuildFailed(f"kernel {key} was removed from {cache.root()}. Build it again")
    cache.touch(place)
    return _load(place)


def key(spec: KernelSpec, progress: Progress = _silent) -> str:
    """What names the kernel in the cache; equal only for equal source, series, config and compiler."""
    return _recipe(spec, progress).key


def built() -> list[Kernel]:
    """Every kernel in the cache, by key."""
    places = sorted((cache.root() / "builds").glob("*/provenance.json"))
    return [_load(path.parent) for path in places if not path.parent.name.endswith(cache.PARTIAL)]


def _load(place: Path, spec: KernelSpec | None = None) -> Kernel:
    """spec: as asked for now; the same kernel may have been built under another word or of another commit."""
    provenance = msgspec.json.decode((place / "provenance.json").read_bytes(), type=Provenance)
    if spec:
        provenance = msgspec.structs.replace(
            provenance, word=spec.word, revision=spec.source.revision, url=spec.source.url
        )
    name = machine.IMAGE if provenance.machine else IMAGES[provenance.arch][0]
    return Kernel(str(place / name), provenance)


def _recipe(spec: KernelSpec, progress: Progress, ask_system: bool = True) -> Recipe:
    source = examine(spec.source, part(progress, 0.0, 0.05), ask_system)
    merged = machine.fragments(spec.variants) if spec.machine else fragments(spec.arch, spec.variants)
    return Recipe(spec, source, merged, requests(merged), compiler(spec.arch))


def _check_machine(arch: Arch) -> None:
    """All that is in the way, before anything is downloaded."""
    trouble = []
    if arch != "arm64" and platform.machine() != "x86_64":
        what = "User Mode Linux" if arch == "um" else f"a kernel of {arch}"
        trouble.append(f"{what} needs an x86_64 machine, and this machine is {platform.machine()}")
    if missing := missing_packages(arch):
        trouble.append(f"packages are missing (sudo apt-get install {' '.join(missing)})")
    limit_bytes()  # a limit that cannot be read is told before, not after
    if set(" :") & set(str(cache.root())):
        trouble.append(
            f"the path {cache.root()} has a blank or a colon, which the kernel's makefiles do not "
            "support; set POWERCUT_CACHE to another folder"
        )
    if trouble:
        raise BuildFailed("no kernel can be built here: " + "; ".join(trouble))


def part(progress: Progress, begin: float, end: float) -> Progress:
    """A stage's own 0 to 1 as its share of the whole."""
    return lambda stage, fraction: progress(stage, begin + (end - begin) * min(1.0, fraction))


# --- once, and whole ---


def _build_once(recipe: Recipe, progress: Progress) -> None:
    def waiting() -> None:
        progress(f"waiting: another process is building {recipe.spec.word}", 0.0)

    with cache.locked(recipe.place, waiting):
        if recipe.place.is_dir():
            return
        if recipe.spec.series:
            _build_with_series(recipe, progress)
        else:
            _build_base(recipe, progress)


def _build_base(recipe: Recipe, progress: Progress) -> None:
    """Compile the tree without series, keep it, and publish its kernel."""
    with _objects_held(recipe, progress):
        if _objects_key(recipe) != recipe.key:
            _compile_base(recipe, part(progress, 0.05, 0.98))
        progress("keeping the kernel", 0.98)
        with cache.appearing(recipe.place) as directory:
            _publish(recipe, recipe.objects, directory)


def _compile_base(recipe: Recipe, progress: Progress) -> None:
    source = recipe.spec.source
    cache.require_space(recipe.objects_bytes + needed_bytes(source, recipe.source), "this kernel's build")
    release = None
    if source.kind == "debian":
        release = unpacked(source, recipe.source.version, part(progress, 0.0, 0.15))
    with cache.appearing(recipe.objects) as workspace:
        tree = workspace / "linux"
        progress("copying the source", 0.15)
        touched: tuple[str, ...] = ()
        if release and recipe.objects.is_dir():
            _copy_compiled(recipe.objects / "linux", tree)
        elif release:
            _link_tree(release, tree)
        else:
            touched = _follow_tree(recipe, tree, part(progress, 0.15, 0.2))
        _compile(recipe, workspace, touched, recipe.steps, part(progress, 0.2, 1.0))
        (workspace / "key").write_text(recipe.key)
        (workspace / "files.json").write_bytes(msgspec.json.encode(recipe.source.files))


def _follow_tree(recipe: Recipe, tree: Path, progress: Progress) -> tuple[str, ...]:
    """Begin with the version of the user's tree compiled last, if any, and bring it to this one."""
    have: TreeFiles = {}
    if recipe.objects.is_dir():
        _copy_compiled(recipe.objects / "linux", tree)
        have = msgspec.json.decode((recipe.objects / "files.json").read_bytes(), type=TreeFiles)
    else:
        tree.mkdir()
    return bring(recipe.spec.source, recipe.source, have, tree, progress)


def _build_with_series(recipe: Recipe, progress: Progress) -> None:
    begin = 0.05
    if _objects_key(recipe) != recipe.base.key or not recipe.base.place.is_dir():
        _build_once(recipe.base, part(progress, begin, 0.85))
        begin = 0.85
    cache.require_space(recipe.objects_bytes, "this kernel's build")
    with cache.appearing(recipe.place) as directory:
        workspace = directory / "workspace"
        workspace.mkdir()
        tree = workspace / "linux"
        progress("copying the compiled source tree", begin)
        with _objects_held(recipe, progress):
            if _objects_key(recipe) != recipe.base.key:
                _compile_base(recipe.base, part(progress, begin, 0.85))
            _copy_compiled(recipe.objects / "linux", tree)
            # Still held: the difference is to the source as it was copied.
            touched = _apply_all(recipe.spec.series, tree, part(progress, begin, begin + 0.02))
            diff = _difference(recipe.objects / "linux", tree, touched)
            changed = _changed(recipe.objects / "linux", tree, touched)
            _touch_origin(recipe)
        steps = SERIES_STEPS + len(touched)
        _compile(recipe, workspace, touched, steps, part(progress, begin + 0.02, 0.98), changed)
        _publish(recipe, workspace, directory)
        (directory / "series.diff").write_text(diff)
        shutil.rmtree(workspace)


def _touch_origin(recipe: Recipe) -> None:
    cache.touch(recipe.objects)
    if recipe.spec.source.kind == "debian":
        cache.touch(release_place(recipe.source.version))


@contextmanager
def _objects_held(recipe: Recipe, progress: Progress) -> Iterator[None]:
    def waiting() -> None:
        progress("waiting: another process is using the compiled source tree", 0.0)

    with cache.locked(recipe.objects, waiting):
        yield


def _objects_key(recipe: Recipe) -> str:
    """Of the kernel whose objects are kept now."""
    path = recipe.objects / "key"
    return path.read_text() if path.is_file() else ""


# --- a workspace: linux/ with its objects inside, build.log, provenance.json ---


def _compile(
    recipe: Recipe,
    workspace: Path,
    touched: tuple[str, ...],
    steps: int,
    progress: Progress,
    changed: tuple[str, ...] = (),
) -> None:
    """Configure when there is no config yet or its rules changed, compile, and write provenance.json."""
    tree, log = workspace / "linux", workspace / "build.log"
    began = time.monotonic()
    done_steps = 0

    def on_step() -> None:
        nonlocal done_steps
        done_steps += 1
        progress("compiling", 0.03 + 0.97 * done_steps / steps)

    with _log_kept(log, recipe):
        if recipe.spec.arch == "um":
            uml.adapt(tree)
        if not recipe.spec.machine:
            dm_target.put(tree)
        if profiling.VARIANT in recipe.spec.variants:
            profiling.switch_on(tree)
        if stops.VARIANT in recipe.spec.variants:
            stops.switch_on(tree)
        if not (tree / OBJECTS / ".config").is_file() or any("Kconfig" in name for name in touched):
            progress("configuring", 0.0)
            _configure(recipe, tree, log)
        config = (tree / OBJECTS / ".config").read_text()
        missing_options = check_granted(recipe.wanted, config)
        if recipe.spec.machine:
            # Kernels that differ in a module alone must not have the same build id.
            compile_kernel(tree, log, on_step, recipe.spec.arch, machine.TARGETS, recipe.key)
        else:
            compile_kernel(tree, log, on_step, recipe.spec.arch)
    linux = _image(recipe, tree).read_bytes()
    provenance = Provenance(
        word=recipe.spec.word,
        key=recipe.key,
        source_version=recipe.source.version,
        series=tuple(SeriesRecord(one.name, one.sha256, one.about, one.file) for one in recipe.spec.series),
        config_sha256=hashlib.sha256(config.encode()).hexdigest(),
        missing_options=missing_options,
        compiler=recipe.compiler,
        build_s=round(time.monotonic() - began, 1),
        step_count=done_steps,
        size_bytes=len(linux),
        linux_sha256=hashlib.sha256(linux).hexdigest(),
        variants=recipe.spec.variants,
        arch=recipe.spec.arch,
        revision=recipe.spec.source.revision,
        url=recipe.spec.source.url,
        machine=machine.digest(recipe.spec.machine) if recipe.spec.machine else "",
        release=machine.release(tree) if recipe.spec.machine else "",
        build_id=machine.build_id_of(tree) if recipe.spec.machine else "",
        changed=changed,
    )
    (workspace / "provenance.json").write_bytes(msgspec.json.format(msgspec.json.encode(provenance)))


def _configure(recipe: Recipe, tree: Path, log: Path) -> None:
    if recipe.spec.machine:
        machine.configure(tree, recipe.spec.machine, recipe.fragments, log)
    else:
        configure(tree, recipe.fragments, log, recipe.spec.arch)


def _image(recipe: Recipe, tree: Path) -> Path:
    return tree / OBJECTS / machine.MADE if recipe.spec.machine else image(tree, recipe.spec.arch)


@contextmanager
def _log_kept(log: Path, recipe: Recipe) -> Iterator[None]:
    """When it fails, the partial tree goes but the log stays, and the message says where."""
    try:
        yield
    except BuildFailed as error:
        if not log.is_file():
            raise
        kept = cache.root() / "failed" / f"{recipe.key}.log"
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, kept)
        told = f"the build of kernel {recipe.spec.word} failed: {error} (log: {kept})"
        kind = BuildFailed if "No space left" in str(error) else Unbuildable
        raise kind(told) from error


def _publish(recipe: Recipe, workspace: Path, directory: Path) -> None:
    arch = recipe.spec.arch
    objects = workspace / "linux" / OBJECTS
    if recipe.spec.machine:
        with _log_kept(workspace / "build.log", recipe):
            machine.publish(workspace / "linux", directory, workspace / "build.log", lambda: None)
    else:
        shutil.copy2(image(workspace / "linux", arch), directory / IMAGES[arch][0])
    shutil.copyfile(objects / "System.map", directory / "System.map")
    shutil.copyfile(objects / ".config", directory / "config")
    shutil.copyfile(workspace / "build.log", directory / "build.log")
    shutil.copyfile(workspace / "provenance.json", directory / "provenance.json")
    if profiling.VARIANT in recipe.spec.variants:
        profiling.keep_notes(workspace / "linux", directory)


def _apply_all(all_series: tuple[Series, ...], tree: Path, progress: Progress) -> tuple[str, ...]:
    touched: dict[str, None] = {}
    for one in all_series:
        progress(f"applying {one.name}", 0.0)
        touched |= dict.fromkeys(apply(one, tree))
    return tuple(touched)


def _difference(before: Path, after: Path, touched: tuple[str, ...]) -> str:
    """What the series really changed, as one patch: kept with the kernel, shown in reports."""
    lines: list[str] = []
    for name in touched:
        lines += difflib.unified_diff(_lines(before / name), _lines(after / name), f"a/{name}", f"b/{name}")
    return "".join(lines)


def _changed(before: Path, after: Path, touched: tuple[str, ...]) -> tuple[str, ...]:
    """The functions that the series changed."""
    sources = (name for name in touched if name.endswith((".c", ".h")))
    return tuple(
        dict.fromkeys(
            function
            for name in sources
            for function in changed_functions(_lines(before / name), _lines(after / name))
        )
    )


def _lines(path: Path) -> list[str]:
    return path.read_text(errors="replace").splitlines(keepends=True) if path.is_file() else []


def _copy_compiled(origin: Path, copy: Path) -> None:
    """Source files by hard link, objects for real (make and the compiler may write into them), with their
    times, which make compares."""
    _link_tree(origin, copy)
    _cp(["-a", "--reflink=auto", str(origin / OBJECTS), str(copy)])
    _tell_tools_their_place(copy)


def _tell_tools_their_place(tree: Path) -> None:
    """tools/ notes its commands with absolute paths. In another place they are other commands: objtool would
    be built anew, and with it, since they depend on it, every object of x86_64."""
    for note in (tree / OBJECTS / "tools").rglob(".*.cmd"):
        text = note.read_text()
        if where := _COMPILED_AT.search(text):
            times = note.stat()
            note.write_text(text.replace(f"{where[1]}/", f"{tree}/"))
            os.utime(note, ns=(times.st_atime_ns, times.st_mtime_ns))


def _link_tree(origin: Path, copy: Path) -> None:
    copy.mkdir()
    entries = [str(path) for path in sorted(origin.iterdir()) if path.name != OBJECTS]
    _cp(["-a", "-l", "-t", str(copy), *entries])


def _cp(arguments: list[str]) -> None:
    done = subprocess.run(["cp", *arguments], env=environment(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise BuildFailed(f"the source tree could not be copied: {done.stderr.strip().splitlines()[-1]}")
