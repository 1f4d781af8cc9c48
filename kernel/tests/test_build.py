import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kernel import build as building
from kernel import cache
from kernel import make as making
from kernel.build import build, built, by_key, key, parse
from kernel.fragments import fragments, requests
from kernel.kernel import Arch, BadKernel, BuildFailed, Kernel
from kernel.make import environment
from kernel.tests.tinytree import hold, make_tree
from kernel.uml import HZ

PATCH = "# about\n--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-int a;\n+int A;\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.sync", lambda: None)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "linux")


@pytest.fixture
def patch(tmp_path: Path) -> Path:
    (tmp_path / "x.patch").write_text(PATCH)
    return tmp_path / "x.patch"


def program(kernel: Kernel) -> str:
    return Path(kernel.path).read_text()


def leftovers() -> list[str]:
    return [str(path) for path in cache.root().glob("*/*.partial")]


def test_a_tree_becomes_a_kernel_with_its_provenance(tree: Path) -> None:
    kernel = build(str(tree))
    assert program(kernel) == "int a;\nint b;\n"
    came_from = kernel.provenance
    assert came_from.source_version.startswith("6.12.99 files sha256:")
    assert came_from.compiler.startswith("gcc")
    assert (came_from.size_bytes, came_from.step_count, came_from.series) == (14, 4, ())
    beside = {path.name for path in Path(kernel.path).parent.iterdir()}
    assert beside == {"linux", "config", "System.map", "build.log", "provenance.json"}


def test_the_users_tree_is_not_touched(tree: Path, patch: Path) -> None:
    def look() -> list[tuple[str, int]]:
        return sorted((str(path), path.stat().st_mtime_ns) for path in tree.rglob("*"))

    before = look()
    build(f"{tree}+{patch}")
    assert look() == before


def test_a_git_tree_that_was_built_in_place_and_changed_is_built_as_it_stands(tree: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    (tree / ".gitignore").write_text(".*\n*.o\n!.gitignore\n")
    subprocess.run(["git", "-C", str(tree), "add", "-A"], check=True)
    (tree / "fs/a.c").write_text("int changed;\n")
    for leftover in (".config", "fs/a.o"):
        (tree / leftover).write_text("CONFIG_LEFTOVER=y\n")
    kernel = build(str(tree))
    assert program(kernel) == "int changed;\nint b;\n"
    assert "LEFTOVER" not in Path(kernel.path).with_name("config").read_text()
    assert (tree / "fs/a.o").read_text() == "CONFIG_LEFTOVER=y\n"


def test_a_change_of_a_folder_that_does_not_apply_names_the_folders_file(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "fix").mkdir()
    (tmp_path / "fix/6.12.patch").write_text(PATCH.replace("-int a;", "-int z;"))
    with pytest.raises(
        BadKernel, match=r"fix \(6\.12\.patch\) does not apply: fs/a\.c, hunk 1.*\n +1 int a;"
    ):
        build(f"{tree}+{tmp_path}/fix")
    (tmp_path / "fix/6.12.patch").write_text(PATCH)
    kernel = build(f"{tree}+{tmp_path}/fix")
    assert kernel.provenance.series[0].file == "6.12.patch"


def test_two_variants_of_one_source_build_at_once(tree: Path) -> None:
    hold(tree).touch()
    kernels: dict[tuple[str, ...], Kernel] = {}

    def one(variants: tuple[str, ...]) -> None:
        kernels[variants] = build(str(tree), variants=variants)

    threads = [threading.Thread(target=one, args=(variants,)) for variants in ((), ("small",), ("debug",))]
    for thread in threads:
        thread.start()
    wait_for(lambda: len({place.split("/objects/")[1] for place in makes(cache.root())}) == 3)
    hold(tree).unlink()
    for thread in threads:
        thread.join()
    configs = {
        variants: Path(kernel.path).with_name("config").read_text() for variants, kernel in kernels.items()
    }
    assert "CONFIG_XFS_DEBUG=y" in configs["debug",]
    assert "XFS_DEBUG" not in configs[()] + configs["small",]
    assert {program(kernel) for kernel in kernels.values()} == {"int a;\nint b;\n"}


def test_two_series_on_one_source_build_at_once(tree: Path, patch: Path) -> None:
    other = patch.with_name("y.patch")
    other.write_text(PATCH.replace("int A;", "int Y;"))
    build(str(tree))
    programs: dict[str, str] = {}

    def one(name: Path) -> None:
        programs[name.name] = program(build(f"{tree}+{name}"))

    threads = [threading.Thread(target=one, args=(name,)) for name in (patch, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert programs == {"x.patch": "int A;\nint b;\n", "y.patch": "int Y;\nint b;\n"}


def test_a_kernel_is_built_once(tree: Path) -> None:
    first = build(str(tree))
    inode = Path(first.path).stat().st_ino
    assert build(str(tree)) == first
    assert Path(first.path).stat().st_ino == inode
    assert built() == [first]


def test_series_compile_only_what_they_touch(tree: Path, patch: Path) -> None:
    kernel = build(f"{tree}+{patch}")
    assert program(kernel) == "int A;\nint b;\n"
    assert kernel.provenance.step_count == 2  # a.o and linux
    assert [one.name for one in kernel.provenance.series] == [str(patch)]
    assert "+int A;" in (Path(kernel.path).parent / "series.diff").read_text()


def test_a_variant_is_another_kernel_that_tells_what_it_is(tree: Path, patch: Path) -> None:
    plain, small = build(f"{tree}+{patch}"), build(f"{tree}+{patch}", variants=("small",))
    assert small.provenance.variants == ("small",)
    assert small.provenance.config_sha256 != plain.provenance.config_sha256
    assert program(small) == program(plain) == "int A;\nint b;\n"
    assert len(built()) == 4  # each with the one it grew from


def test_a_kernel_for_a_machine_is_vmlinux(tree: Path) -> None:
    kernel = build(str(tree), arch="x86_64")
    assert Path(kernel.path).name == "vmlinux"
    assert (program(kernel), kernel.provenance.arch) == ("int a;\nint b;\n", "x86_64")
    assert built() == [kernel]


def test_a_kernel_for_aarch64_is_compiled_by_the_cross_compiler(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And named by it: another version of that compiler makes another kernel."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "aarch64-linux-gnu-gcc").write_text("#!/bin/sh\necho cross 99\n")
    (tools / "aarch64-linux-gnu-gcc").chmod(0o755)
    monkeypatch.setattr(making, "PATH", f"{tools}:{making.PATH}")
    monkeypatch.setattr(building, "missing_packages", lambda _arch: ())
    kernel = build(str(tree), arch="arm64")
    assert Path(kernel.path).name == "Image"
    assert (program(kernel), kernel.provenance.arch) == ("int a;\nint b;\n", "arm64")
    assert kernel.provenance.compiler == "cross 99"
    assert environment("arm64")["CROSS_COMPILE"] == "aarch64-linux-gnu-"


@pytest.mark.parametrize(("arch", "ticks"), [("um", 1000), ("x86_64", 100)])
def test_the_clock_of_a_user_mode_linux_alone_is_adapted(tree: Path, arch: Arch, ticks: int) -> None:
    """In our copy; the tree of the user keeps its constant."""
    kconfig = "config NR_CPUS\n\tint\n\nconfig HZ\n\tint\n\tdefault 100\n"
    (tree / HZ.file).write_text(kconfig)
    build(str(tree), arch=arch)
    (copy,) = cache.root().glob(f"objects/*/linux/{HZ.file}")
    assert copy.read_text() == kconfig.replace("100", str(ticks))
    assert (tree / HZ.file).read_text() == kconfig


def test_series_leave_the_kernel_without_them_as_it_was(tree: Path, patch: Path) -> None:
    build(f"{tree}+{patch}")
    assert program(build(str(tree))) == "int a;\nint b;\n"
    assert len(built()) == 2


def test_the_next_version_of_a_tree_compiles_only_what_changed(tree: Path) -> None:
    build(str(tree))
    (tree / "fs/b.c").write_text("int B;\n")
    kernel = build(str(tree))
    assert (program(kernel), kernel.provenance.step_count) == ("int a;\nint B;\n", 2)


def test_series_on_an_older_version_of_a_tree_that_moved_on_and_back(tree: Path, patch: Path) -> None:
    build(str(tree))
    (tree / "fs/b.c").write_text("int B;\n")
    build(str(tree))
    (tree / "fs/b.c").write_text("int b;\n")
    assert program(build(f"{tree}+{patch}")) == "int A;\nint b;\n"


def test_the_key_follows_source_series_their_order_config_and_compiler(
    tree: Path, patch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = patch.with_name("y.patch")
    other.write_text(PATCH + "\n")
    words = [str(tree), f"{tree}+{patch}", f"{tree}+{patch}+{other}", f"{tree}+{other}+{patch}"]
    keys = [key(parse(word)) for word in words]
    (tree / "fs/a.c").write_text("int x;\n")
    keys.append(key(parse(words[0])))
    monkeypatch.setattr(building, "compiler", lambda _arch: "gcc 99")
    keys.append(key(parse(words[0])))
    keys += [key(parse(words[0], ("debug",))), key(parse(words[0], ("debug", "small")))]
    keys += [key(parse(words[0], (), arch)) for arch in ("x86_64", "arm64")]
    monkeypatch.setattr(building, "requests", lambda _fragments: requests(fragments())[1:])
    keys.append(key(parse(words[0])))
    assert len(set(keys)) == len(keys)
    assert key(parse(words[0])) == keys[-1]


def test_a_compile_error_names_the_line_and_the_log_and_leaves_no_kernel(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux", a="broken\n")
    with pytest.raises(BuildFailed, match=r"fs/a.c:1:1: error: broken.*failed/.*\.log") as caught:
        build(str(tree))
    log = Path(str(caught.value).rpartition("log: ")[2].rstrip(")"))
    assert "CC      fs/a.o" in log.read_text()
    assert built() == []
    assert leftovers() == []


def test_an_option_that_is_refused_stops_the_build(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.config").write_text("CONFIG_REFUSED=y\n")
    monkeypatch.setattr(building, "fragments", lambda *_: (tmp_path / "f.config",))
    with pytest.raises(BuildFailed, match=r"f\.config line 1: requested CONFIG_REFUSED"):
        build(str(tree))
    assert built() == []


def test_progress_never_goes_back_and_ends_at_one(tree: Path, patch: Path) -> None:
    seen: list[float] = []
    build(f"{tree}+{patch}", lambda _stage, fraction: seen.append(fraction))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_of_two_builds_at_once_one_waits_and_both_get_the_same(tree: Path) -> None:
    hold(tree).touch()
    stages: list[list[str]] = [[], []]
    kernels: list[Kernel] = []

    def one(number: int) -> None:
        kernels.append(build(str(tree), lambda stage, _fraction: stages[number].append(stage)))

    threads = [threading.Thread(target=one, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    wait_for(lambda: any("waiting" in stage for some in stages for stage in some))
    hold(tree).unlink()
    for thread in threads:
        thread.join()
    assert kernels[0] == kernels[1]
    assert len(built()) == 1


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_killed_leaves_no_process_and_the_next_one_works(tree: Path, how: int) -> None:
    hold(tree).touch()
    script = f"from kernel.build import build; build({str(tree)!r})"
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: bool(makes(cache.root())))
        process.send_signal(how)
        process.wait()
    wait_for(lambda: not makes(cache.root()))
    assert built() == []
    if how == signal.SIGINT:
        assert leftovers() == []
    hold(tree).unlink()
    assert program(build(str(tree))) == "int a;\nint b;\n"
    assert leftovers() == []


def makes(directory: Path) -> list[str]:
    """Processes whose working directory is inside."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            cwd = str((process / "cwd").readlink())
            command = (process / "cmdline").read_bytes()
        except OSError:  # it has ended since
            continue
        if cwd.startswith(str(directory)) and b"make" in command:
            found.append(cwd)
    return found


def wait_for(condition: Callable[[], bool], limit_s: float = 20) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def test_the_users_environment_does_not_reach_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ARCH", "CROSS_COMPILE", "KBUILD_OUTPUT", "MAKEFLAGS", "LDFLAGS", "KCFLAGS"):
        monkeypatch.setenv(name, "nonsense")
    assert "nonsense" not in environment().values()


def test_what_is_missing_on_the_machine_is_told_at_once(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "missing_packages", lambda _arch: ("bc", "flex"))
    with pytest.raises(BuildFailed, match="apt-get install bc flex"):
        build(str(tree))


def test_provenance_goes_through_json(tree: Path) -> None:
    kernel = build(str(tree))
    assert msgspec.json.decode(msgspec.json.encode(kernel), type=Kernel) == kernel


def test_a_key_alone_finds_the_kernel(tree: Path, patch: Path) -> None:
    kernel = build(f"{tree}+{patch}")
    assert by_key(kernel.provenance.key) == kernel
    shutil.rmtree(Path(kernel.path).parent)
    with pytest.raises(BuildFailed, match=f"no kernel with key '{kernel.provenance.key}'"):
        by_key(kernel.provenance.key)
