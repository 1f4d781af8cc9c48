"""What is done with new findings: a run of the witness alone, one command after the other."""

import shutil

import pytest

from harness.campaign.followups import DONE, Followups, learnt, words_of
from harness.local.progress import Progress
from reports.results import read_summary

ALL = ("attribute", "repeat", "minimize")


@pytest.fixture
def campaign(run, tmp_path):
    """A campaign whose evidence is this run."""
    folder = tmp_path / "campaign"
    shutil.copytree(run, folder / "evidence")
    return folder


class Ended:
    def poll(self):
        return 0

    def terminate(self):
        pass

    def kill(self):
        pass

    def wait(self, _seconds):
        return 0


def test_a_new_finding_is_looked_into_step_by_step(campaign, monkeypatch):
    begun = []
    monkeypatch.setattr(
        "harness.campaign.followups.started", lambda words, folder: begun.append(words[0]) or Ended()
    )
    followups = Followups(campaign, ALL, Progress(quiet=True))
    followups.note(read_summary(campaign / "evidence"))
    while followups.busy:
        followups.look()
    assert begun == ["attribute", "repro", "minimize"]
    assert set((campaign / "followups" / "1" / DONE).read_text().split()) == set(ALL)


def test_what_was_done_is_not_done_again_and_what_was_not_is(campaign, monkeypatch):
    begun = []
    monkeypatch.setattr(
        "harness.campaign.followups.started", lambda words, folder: begun.append(words[0]) or Ended()
    )
    first = Followups(campaign, ALL[:1], Progress(quiet=True))
    first.note(read_summary(campaign / "evidence"))
    first.look()
    first.look()
    second = Followups(campaign, ALL, Progress(quiet=True))
    second.note(read_summary(campaign / "evidence"))
    while second.busy:
        second.look()
    assert begun == ["attribute", "repro", "minimize"]


def test_nothing_is_done_when_nothing_is_asked_for(campaign):
    followups = Followups(campaign, (), Progress(quiet=True))
    followups.note(read_summary(campaign / "evidence"))
    assert not followups.busy
    assert not (campaign / "followups").exists()


def test_the_run_of_a_witness_has_its_finding(campaign):
    followups = Followups(campaign, ALL, Progress(quiet=True))
    followups.note(read_summary(campaign / "evidence"))
    found = learnt(campaign)
    assert {signature for _, signature in found} == {
        one.signature for one in read_summary(campaign / "evidence").findings
    }
    folder, finding = next(iter(found.values()))
    assert words_of(folder, "repeat")[:2] == ["repro", str(folder)]
    assert not finding.known
