"""The format version of kept files: an unknown one is refused, what an older release wrote is read."""

import json
from pathlib import Path

import msgspec
import pytest

from reports import formats
from reports.formats import FORMATS, NOT_KNOWN, UnknownFormat
from reports.results import read_experiment, read_question, read_summary
from reports.tests.make_run import make_run

KEPT = ("run.json", "summary.json", "experiments/0001/experiment.json", "experiments/0001/history.json")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    make_run(tmp_path, good=True)
    for path in tmp_path.rglob("*.json"):  # the made run is of no release: of this one
        content = json.loads(path.read_bytes())
        content.pop("format", None)
        path.write_text(json.dumps({"format": FORMATS[path.name], **content}))
    return tmp_path


def made_older(run: Path) -> None:
    """As releases before format versions wrote it."""
    for path in run.rglob("*.json"):
        content = json.loads(path.read_bytes())
        del content["format"]
        if path.name == "run.json":
            content.pop("planned", None)
        path.write_text(json.dumps(content))


def everything(run: Path) -> tuple[object, ...]:
    return read_summary(run), *(read_experiment(place) for place in sorted((run / "experiments").iterdir()))


def test_the_version_stands_first() -> None:
    class Empty(msgspec.Struct):
        pass

    class One(msgspec.Struct):
        one: int = 1

    assert formats.encode("run.json", Empty()) == b'{"format":1}'
    assert formats.encode("run.json", One()) == b'{"format":1,"one":1}'
    assert formats.pretty("run.json", One()).startswith(b'{\n  "format": 1,')


def test_a_file_is_read_back(tmp_path: Path, run: Path) -> None:
    question = read_question(run)
    (tmp_path / "run.json").write_bytes(formats.pretty("run.json", question))
    assert read_question(tmp_path) == question


@pytest.mark.parametrize("name", KEPT)
def test_an_unknown_version_is_refused_with_file_and_versions(run: Path, name: str) -> None:
    path = run / name
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "format": 77}))
    with pytest.raises(UnknownFormat) as refused:
        read_question(run), everything(run)
    assert (
        str(refused.value)
        == f"{path}: format 77, written by another release of Powercut; this one reads 0 and 1"
    )


def test_a_run_of_an_older_release_is_read(run: Path) -> None:
    before = everything(run)
    made_older(run)
    assert everything(run) == before
    question = read_question(run)
    assert question.planned == len(question.kernels) * len(question.profiles) * len(question.workloads) > 0


@pytest.mark.parametrize("finished", [True, False])
def test_an_older_sweep_planned_what_it_summed_up(run: Path, finished: bool) -> None:
    """Each planted bug has workloads of its own, so their number cannot be told from the question."""
    made_older(run)
    asked = json.loads((run / "run.json").read_bytes())
    (run / "run.json").write_text(json.dumps({**asked, "command": ["powercut", "run", "--planted"]}))
    if not finished:
        (run / "summary.json").unlink()
        assert read_question(run).planned == NOT_KNOWN
    else:
        assert read_question(run).planned == read_summary(run).experiments
