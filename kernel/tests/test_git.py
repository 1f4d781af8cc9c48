from pathlib import Path

import pytest

from kernel.build import build, built
from kernel.kernel import BadKernel, Kernel, Source
from kernel.tests.tinytree import commit, git, make_tree
from kernel.word import parse

PATCH = "# about\n--- a/fs/a.c\n+++ b/fs/a.c\n@@ -1 +1 @@\n-int a;\n+int A;\n"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERCUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("os.sync", lambda: None)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits of the tiny tree, tagged one and two, which differ in fs/b.c."""
    path = make_tree(tmp_path / "linux")
    git(tmp_path, "init", "-q", str(path))
    (path / "fs/link").symlink_to("a.c")
    (path / "run.sh").touch(mode=0o755)
    commit(path, "one")
    git(path, "tag", "one")
    (path / "fs/b.c").write_text("int B;\n")
    commit(path, "two")
    git(path, "tag", "two")
    return path


def program(kernel: Kernel) -> str:
    return Path(kernel.path).read_text()


def test_a_revision_is_known_by_its_commit_and_version(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    for name in ("two", "HEAD", "HEAD~0", "HEAD@{0}", head[:8]):
        assert parse(f"{repository}@{name}").source == Source("git", str(repository), "6.12", head)


def test_the_kernel_is_that_of_the_commit_whatever_is_checked_out(repository: Path) -> None:
    (repository / "fs/a.c").write_text("int dirty;\n")
    (repository / ".config").touch()
    kernel = build(f"{repository}@one")
    assert program(kernel) == "int a;\nint b;\n"
    assert kernel.provenance.revision == git(repository, "rev-parse", "one")
    assert kernel.provenance.source_version.startswith("6.12.99 git tree ")
    assert git(repository, "status", "--porcelain") == "M fs/a.c\n?? .config"


def test_the_next_revision_compiles_only_what_changed(repository: Path) -> None:
    build(f"{repository}@one")
    kernel = build(f"{repository}@two")
    assert (program(kernel), kernel.provenance.step_count) == ("int a;\nint B;\n", 2)
    (objects,) = (repository.parent / "cache/objects").glob("tree-*/linux")
    assert (objects / "fs/link").readlink() == Path("a.c")
    assert (objects / "run.sh").stat().st_mode & 0o100


def test_equal_trees_of_two_commits_are_one_kernel_that_names_the_commit_asked_for(repository: Path) -> None:
    build(f"{repository}@two")
    again = commit(repository, "three, the same files")
    assert build(f"{repository}@HEAD").provenance.revision == again
    assert len(built()) == 1


def test_a_revision_takes_series(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "x.patch").write_text(PATCH)
    build(f"{repository}@two")
    assert program(build(f"{repository}@one+{tmp_path}/x.patch")) == "int A;\nint b;\n"


def test_a_bare_repository_serves_as_well(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), str(tmp_path / "bare.git"))
    assert program(build(f"{tmp_path}/bare.git@one")) == "int a;\nint b;\n"


def test_an_at_or_a_plus_in_names_is_part_of_them(repository: Path) -> None:
    git(repository, "tag", "v6.12+mine", "one")
    moved = repository.rename(repository.with_name("a@b+c"))
    one = git(moved, "rev-parse", "one")
    assert parse(f"{moved}@v6.12+mine").source.revision == one
    assert parse(f"{moved}@one").source.revision == one


@pytest.mark.parametrize(
    ("revision", "message"),
    [("v9.9", "'v9.9' does not name"), ("", "not name exactly one"), ("--help", "not name exactly one")],
)
def test_a_revision_that_is_not_there_is_refused(repository: Path, revision: str, message: str) -> None:
    with pytest.raises(BadKernel, match=message):
        parse(f"{repository}@{revision}")


def test_an_abbreviation_of_several_commits_is_refused(repository: Path) -> None:
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    seen: dict[str, str] = {}
    for number in range(2000):
        made = git(repository, "commit-tree", tree, "-m", str(number))
        if made[:4] in seen:
            break
        seen[made[:4]] = made
    with pytest.raises(BadKernel, match=f"'{made[:4]}' does not name exactly one commit of .*ambiguous"):
        parse(f"{repository}@{made[:4]}")


def test_a_name_of_a_tag_and_a_branch_is_refused(repository: Path) -> None:
    git(repository, "branch", "one", "two")
    with pytest.raises(BadKernel, match=r"'one' does not name exactly one commit of .*ambiguous"):
        parse(f"{repository}@one")


def test_what_is_no_repository_is_refused(tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "linux")
    with pytest.raises(BadKernel, match="not a git repository"):
        parse(f"{tree}@v6.12")


def test_a_folder_of_a_repository_is_refused_with_its_top(repository: Path) -> None:
    with pytest.raises(BadKernel, match=rf"top folder of the repository: {repository}@one"):
        parse(f"{repository}/fs@one")


def test_a_revision_without_user_mode_linux_is_refused(repository: Path) -> None:
    git(repository, "rm", "-q", "arch/um/Kconfig")
    commit(repository, "no um")
    with pytest.raises(BadKernel, match="@HEAD has no arch/um/Kconfig"):
        parse(f"{repository}@HEAD")
