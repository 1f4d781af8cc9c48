"""The page of a campaign and its lines: what they show, and that they stay small."""

import msgspec
import pytest

from reports.campaigns.lines import lines, progress_words
from reports.campaigns.results import (
    RUNNING,
    STOPPED,
    WHOLE,
    Campaign,
    CampaignCell,
    CampaignFinding,
    CampaignPart,
    CampaignWorker,
)
from reports.pages.campaign import write_campaign

CELL = CampaignCell("6.12", "btrfs", "ace:2", 241720, 24172, 12000, 2000, 250000, 90000, 160000, 7, 0)
NEW = CampaignFinding(
    *("btrfs durable: <name> lost (fsynced file)", "6.12", ("btrfs",), 40, 7, "2026-11-26 17:05 UTC"),
    *("ace2-0012345", "ace:2", 12345, 5, "O:12", "F1"),
    learnt=("5 of 5 on 6.12, which is the stock kernel",),
)
KNOWN = msgspec.structs.replace(NEW, signature="btrfs atomic: gone", id="F2", known=("BTRFS-1",))
CAMPAIGN = Campaign(
    name="ace2",
    folder="campaigns/ace2",
    state=RUNNING,
    updated="2026-11-26 18:00 UTC",
    started="2026-11-26 17:00 UTC",
    powercut="powercut 0.2.0",
    spent_s=3600.0,
    rate_per_s=12.5,
    left_s=5400.0,
    batches=41,
    batches_done=20,
    cells=(CELL,),
    findings=(KNOWN, NEW),
    workers=(CampaignWorker("laptop-0", 5000, 100000, 3000.0, "2026-11-26 18:00 UTC", True),),
    stages={"record": 300.0, "recover": 2500.0, "judge": 200.0},
    checked=40000,
    unasked=50000,
    reasons=(),
    troubles=("worker old is refused: it is powercut 0.1",),
    kept_bytes=360000,
    evidence_bytes=900000,
    parts=(CampaignPart(0.0, 5000), CampaignPart(1800.0, 5000)),
)


def page(tmp_path, found=CAMPAIGN, **how):
    return write_campaign(tmp_path, found, **how).read_text()


def test_the_page_says_what_was_done_drawn_and_left(tmp_path):
    text = page(tmp_path)
    for said in ("12,000 of 24,172", "241,720", "12,172", "2,000", "1 h 30 min left", "12.5/s"):
        assert said in text


def test_it_loads_itself_again_only_while_the_campaign_runs(tmp_path):
    assert 'http-equiv="refresh" content="10"' in page(tmp_path, every_s=10)
    whole = msgspec.structs.replace(CAMPAIGN, state=WHOLE)
    assert 'http-equiv="refresh"' not in page(tmp_path, whole, every_s=10)


def test_new_findings_come_first_with_a_link_to_their_evidence(tmp_path):
    text = page(tmp_path, evidence="../evidence/report/")
    assert text.index("finding-F1.html") < text.index("finding-F2.html")
    assert "known: BTRFS-1" in text
    assert "&lt;name&gt; lost" in text


def test_a_hundred_times_as_many_experiments_make_no_longer_page(tmp_path):
    short = len(page(tmp_path))
    more = msgspec.structs.replace(CELL, done=1200000, drawn=2417200, states=25000000)
    assert len(page(tmp_path, msgspec.structs.replace(CAMPAIGN, cells=(more,)))) < short + 100


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, 1),
        ({"findings": ()}, 3),
        ({"findings": (), "state": WHOLE}, 0),
        ({"findings": (), "state": WHOLE, "cells": (msgspec.structs.replace(CELL, unknown=1),)}, 3),
        ({"findings": (), "state": WHOLE, "cells": (msgspec.structs.replace(CELL, done=0, equal=0),)}, 3),
    ],
)
def test_only_a_whole_campaign_in_which_everything_holds_ends_with_0(changed, expected):
    assert msgspec.structs.replace(CAMPAIGN, **changed).exit == expected


def test_the_lines_name_new_findings_and_count_known_ones():
    said = lines(CAMPAIGN, "campaigns/ace2/report/index.html")
    assert any(line.startswith("F1") for line in said)
    assert "known      1 finding: BTRFS-1" in said
    assert said[-1] == "exit       1: BROKEN"
    stopped = msgspec.structs.replace(CAMPAIGN, state=STOPPED)
    assert "continue   powercut campaign resume campaigns/ace2" in lines(stopped, "page")


def test_one_line_says_how_far_it_is():
    assert progress_words(CAMPAIGN) == (
        "12,000 of 24,172 numbers done, 12.5 a second, about 1 h 30 min left; "
        "2 findings, 1 not known; 1 worker"
    )
