"""The evidence is there whole or not at all."""

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.evidence import store
from harness.evidence.store import (
    NoResults,
    RunInUse,
    base_disk,
    compress_file,
    copy_image,
    expand_file,
    experiment_folder,
    keep_base,
    new_run,
    only_one,
    partial_folder,
    point_latest,
    reading,
    remove_partial,
    write_whole,
)
from harness.local.root import ROOT
from harness.states.disk import BLOCK_BYTES
from harness.tests.made_run import asked, keep
from reports.results import read_experiment

SIZE_BYTES = 1024 * BLOCK_BYTES


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return new_run(tmp_path / "results")


def image(folder: Path, *pieces: tuple[int, bytes]) -> Path:
    path = folder / "image"
    with path.open("wb") as file:
        file.truncate(SIZE_BYTES)
        for offset, content in pieces:
            file.seek(offset)
            file.write(content)
    return path


class DiskFull(OSError):
    pass


# --- whole or not at all --------------------------------------------------------------------------


def test_an_experiments_folder_appears_when_it_is_done(run: Path) -> None:
    with experiment_folder(run, 7) as folder:
        (folder / "workload").write_text("x")
        assert not (run / "experiments/0007").exists()
    assert [path.name for path in (run / "experiments").iterdir()] == ["0007"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, DiskFull])
def test_an_experiment_that_fails_leaves_nothing(run: Path, error: type[BaseException]) -> None:
    def fail() -> None:
        with experiment_folder(run, 1) as folder:
            (folder / "workload").write_text("x")
            raise error

    with pytest.raises(error):
        fail()
    assert not list((run / "experiments").iterdir())


def test_an_experiment_that_fails_leaves_the_older_one_of_its_number(run: Path) -> None:
    with experiment_folder(run, 1) as folder:
        (folder / "old").touch()
    with pytest.raises(DiskFull), experiment_folder(run, 1):
        raise DiskFull
    assert [path.name for path in (run / "experiments/0001").iterdir()] == ["old"]


def test_what_a_killed_run_left_half_done_is_not_taken_over(run: Path) -> None:
    (run / "experiments/0001.12345.partial").mkdir()
    (run / "experiments/0001.12345.partial/half").touch()
    (run / "summary.json.partial").touch()
    with experiment_folder(run, 1) as folder:
        assert not list(folder.iterdir())
    remove_partial(run)
    assert [path.name for path in run.iterdir()] == ["experiments"]
    assert [path.name for path in (run / "experiments").iterdir()] == ["0001"]


def test_what_another_process_left_half_done_can_go_while_we_write(run: Path) -> None:
    """The janitor of a killed worker removes its folder when the experiment is done anew already."""
    ours = partial_folder(run, 1)
    asked = f"from harness.evidence.store import *; print(partial_folder(Path('{run}'), 1))"
    killed = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert killed.stdout.strip() not in ("", str(ours))


HOLD = """
from harness.evidence.store import *
with only_one(Path({!r})):
    print('held', flush=True)
    input()
"""


def test_a_run_that_somebody_writes_to_is_refused_with_the_process(run: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD.format(str(run))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    for _ in range(2):  # the refused one does not take the number away
        with pytest.raises(RunInUse, match=f"in use by process {holder.pid}"), only_one(run):
            pass
    holder.kill()
    holder.wait()
    with only_one(run):
        pass
    assert [path.name for path in run.iterdir()] == ["experiments"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    for content in (b"old", b"new"):
        write_whole(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch, step: str) -> None:
    write_whole(tmp_path / "file", b"old")

    def full(path: Path, *_: object) -> None:
        path.touch()
        raise DiskFull

    monkeypatch.setattr(Path, step, full)
    with pytest.raises(DiskFull):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


# --- runs -----------------------------------------------------------------------------------------


def test_latest_leads_to_the_last_run_and_can_be_moved_with_its_folder(tmp_path: Path) -> None:
    runs = [new_run(tmp_path / "results") for _ in range(2)]
    for run in runs:
        point_latest(run)
        assert (tmp_path / "results/latest").resolve() == run
    (tmp_path / "results").rename(tmp_path / "moved")
    assert (tmp_path / "moved/latest").resolve() == tmp_path / "moved" / runs[1].name


BEFORE_IT_DIES = """
import os, signal
from harness.evidence import store
from harness.tests.made_run import asked
folder = store.Path({folder!r})
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize(
    ("lines", "runs"),
    [
        ("store.write_whole = die; store.new_run(folder, asked())", 0),
        ("store.Path.rename = die; store.new_run(folder, asked())", 0),
        ("run = store.new_run(folder, asked()); store.Path.replace = die; store.point_latest(run)", 1),
    ],
)
def test_a_run_appears_with_its_question_and_the_next_one_clears_up_after_a_killed_one(
    tmp_path: Path, lines: str, runs: int
) -> None:
    script = BEFORE_IT_DIES.format(folder=str(tmp_path)) + lines
    killed = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    there = [path for path in tmp_path.iterdir() if not path.name.startswith(".")]
    assert len(there) == runs
    assert all((run / "run.json").exists() for run in there)
    assert len(list(tmp_path.iterdir())) == runs + 1
    mine = new_run(tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted([*there, mine])


def test_what_another_process_prepares_beside_us_stays(tmp_path: Path) -> None:
    for name in (".20260101T000000Z-1234.1.partial", ".of-somebody-else.partial", ".latest.x.partial"):
        (tmp_path / name).mkdir()
    new_run(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_run_whose_question_finds_no_room_is_not_there(tmp_path: Path, monkeypatch) -> None:
    def full(*_: object) -> None:
        raise DiskFull

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DiskFull):
        new_run(tmp_path, asked())
    assert not list(tmp_path.iterdir())


def test_runs_of_the_same_second_have_names_of_their_own(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(store.time, "strftime", lambda *_: "20260101T000000Z")
    assert new_run(tmp_path) != new_run(tmp_path)


def test_an_experiment_is_read_back_as_it_was_kept(run: Path) -> None:
    experiment = read_experiment(keep(run, 3))
    assert (experiment.folder, experiment.facts.workload, len(experiment.judgement.states)) == (
        "0003",
        "made",
        7,
    )
    assert len(experiment.observations) == 2


@pytest.mark.parametrize(
    "name", ["experiment.json", "verdicts.json.zst", "observations.json.zst", "workload"]
)
@pytest.mark.parametrize("damage", ["cut", "changed", "gone"])
def test_a_damaged_experiment_is_told_with_its_folder(run: Path, name: str, damage: str) -> None:
    folder = keep(run)
    whole = (folder / name).read_bytes()
    (folder / name).unlink()
    if damage == "cut" and name != "workload":
        (folder / name).write_bytes(whole[: len(whole) // 2])
    elif damage != "gone":
        (folder / name).write_bytes(b"\xff\xfe" + whole)
    with pytest.raises(NoResults, match="experiments/0001 is "), reading(folder):
        read_experiment(folder)


# --- disks ----------------------------------------------------------------------------------------


def test_a_base_disk_comes_back_byte_for_byte(tmp_path: Path) -> None:
    draw = random.Random(4)
    pieces = [(draw.randrange(SIZE_BYTES // 512) * 512, draw.randbytes(512)) for _ in range(50)]
    pieces += [(100 * BLOCK_BYTES, draw.randbytes(300 * BLOCK_BYTES)), (SIZE_BYTES - 512, b"e" * 512)]
    path = image(tmp_path, *pieces)
    keep_base(path, tmp_path)
    with base_disk(tmp_path, tmp_path, SIZE_BYTES) as disk:
        assert disk.image[:] == path.read_bytes()


def test_a_base_disk_of_zeros_comes_back(tmp_path: Path) -> None:
    keep_base(image(tmp_path), tmp_path)
    with base_disk(tmp_path, tmp_path, SIZE_BYTES) as disk:
        assert disk.identity() == 0
        assert disk.size_bytes == SIZE_BYTES


def test_a_kept_base_disk_takes_no_room_for_what_is_empty(tmp_path: Path) -> None:
    keep_base(image(tmp_path, (BLOCK_BYTES, b"x")), tmp_path)
    assert (tmp_path / "base.log.zst").stat().st_size < 1000
    assert not (tmp_path / "base.log").exists()


def test_a_base_disk_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoResults, match=r"no base\.log\.zst"), base_disk(tmp_path, tmp_path, SIZE_BYTES):
        pass


@pytest.mark.parametrize("damage", [b"no zstd at all", b"\x28\xb5\x2f\xfd\xff\xff\xff\xff"])
def test_a_damaged_zst_is_told_with_its_name(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "log.zst").write_bytes(damage)
    with pytest.raises(NoResults, match=r"log\.zst is damaged"):
        expand_file(tmp_path / "log.zst", tmp_path / "log")


def test_a_zst_that_was_cut_off_is_told_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(random.Random(1).randbytes(300_000))
    compress_file(tmp_path / "plain", tmp_path / "log.zst")
    (tmp_path / "log.zst").write_bytes((tmp_path / "log.zst").read_bytes()[:200_000])
    with pytest.raises(NoResults, match=r"log\.zst is damaged"):
        expand_file(tmp_path / "log.zst", tmp_path / "log")


def test_an_image_is_never_copied_over_a_file_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(FileExistsError):
        copy_image(image(tmp_path), tmp_path / "mine")
    assert (tmp_path / "mine").read_text() == "precious"
