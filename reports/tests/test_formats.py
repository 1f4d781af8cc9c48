"""The format version of kept files: an unknown one is refused, what an older release wrote is read."""

import json
from pathlib import Path

import msgspec
import pytest

from reports import formats
from reports.formats import FORMATS, NOT_KNOWN, OLDER, UnknownFormat
from reports.results import KnownAs, read_experiment, read_question, read_summary
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
    newest = FORMATS[path.name]
    assert str(refused.value) == (
        f"{path}: format 77, written by another release of Powercut; this one reads 0 to {newest}"
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


def test_a_version_below_the_first_is_refused(run: Path) -> None:
    path = run / "summary.json"
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "format": -1}))
    with pytest.raises(UnknownFormat, match="format -1"):
        read_summary(run)


def test_every_version_has_its_step() -> None:
    assert {name: len(steps) for name, steps in OLDER.items()} == {name: FORMATS[name] for name in OLDER}
    assert all(version == 1 for name, version in FORMATS.items() if name not in OLDER)


REPLACED = "A fsynced file replaced by rename is lost when another file is fsynced"
WHITEOUT = "A whiteout is lost when the file that left it is fsynced"
STOPPED = "After the filesystem has stopped, an fsync of what was lost says that all is well"
OF_VERSION_1 = {
    "": (),
    REPLACED: (KnownAs("BTRFS-1", REPLACED),),
    f"{REPLACED}; {WHITEOUT}": (KnownAs("BTRFS-1", REPLACED), KnownAs("BTRFS-4", WHITEOUT)),
    STOPPED: (KnownAs("BTRFS-12", STOPPED),),
    "A heading of nobody": (),
}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A run with findings."""
    return make_run(tmp_path)


def with_headings(run: Path, version: int, headings: str, filesystem: str) -> None:
    """The summary as older releases wrote it."""
    content = json.loads((run / "summary.json").read_bytes())
    by_fix = {"profile": f"{filesystem}-single", "workload": "a", "heading": headings, "series": "fix/a"}
    for one in content["findings"]:
        one["signature"] = f"{filesystem} durable: name lost (fsynced file)"
        one["known"], one["after"] = headings, {"attributed": [by_fix]}
    content["format"] = version
    if not version:
        del content["format"]
    (run / "summary.json").write_text(json.dumps(content))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("headings", OF_VERSION_1)
def test_headings_of_older_releases_are_read_as_ids(broken: Path, version: int, headings: str) -> None:
    with_headings(broken, version, headings, "btrfs")
    findings = read_summary(broken).findings
    assert findings
    assert {one.known for one in findings} == {OF_VERSION_1[headings]}
    by_fix = {each.ids for one in findings for each in one.after.attributed}
    assert by_fix == {tuple(one.id for one in OF_VERSION_1[headings])}


def test_one_heading_was_of_two_filesystems(broken: Path) -> None:
    with_headings(broken, 1, STOPPED, "ext4")
    assert {one.known for one in read_summary(broken).findings} == {(KnownAs("EXT4-11", STOPPED),)}


def test_a_summary_that_its_version_does_not_describe_is_damaged(run: Path) -> None:
    (run / "summary.json").write_text('{"format": 1}')
    with pytest.raises(msgspec.DecodeError, match="findings"):
        read_summary(run)
