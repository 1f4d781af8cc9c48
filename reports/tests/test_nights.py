"""A night's pages, its lines, and its files for CI, in which only what is new fails."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from kcidb_io.schema import LATEST

from reports.ci import kcidb
from reports.ci.nights import junit_xml, ktap
from reports.nights.lines import lines, subject
from reports.pages.nights import write_night, write_nights
from reports.tests.make_nights import (
    HASH,
    NAME,
    XATTR,
    cell,
    experiment,
    finding,
    kernel,
    night,
    nights,
    quiet,
)
from reports.tests.test_html import Page
from reports.text.counting import duration

BROKEN_BUILD = kernel(trouble="fs/btrfs/super.c:1: error: no", build="FAIL", compiler="", build_s=0.0)
NOT_FETCHED = kernel("other", hash="", word="", build="", trouble="git fetch: no route to host")


# --- lines ---------------------------------------------------------------------------------------


def test_the_lines_name_the_finding_its_commit_and_its_smallest_workload():
    told = "\n".join(lines(night(), "nights/0002/index.html"))
    assert f"new        next: {XATTR}" in told
    assert "commit:   37ca0b279d47 btrfs: log xattrs a little less often" in told
    assert "  setxattr foo user.a x" in told
    assert "program:  nights/0002/minimal/20261125T230000Z-cd34/exports/F1.sh" in told
    assert "exit       1: new findings" in told
    assert "left       2 experiments for the next night: late-one on btrfs" in told


def test_a_known_bug_is_no_news_and_is_counted_by_its_id():
    told = "\n".join(lines(quiet(), "page"))
    assert "known      1 finding: BTRFS-1" in told
    assert "new  " not in told


def test_a_subject_says_the_most_important_thing():
    assert subject(night()) == "powercut: 1 new finding on next (night 2)"
    assert subject(quiet(trouble=("next: no",))) == "powercut: trouble in night 3: next: no"
    assert subject(quiet()) == "powercut: nothing new in night 3"


@pytest.mark.parametrize(
    ("seconds", "words"), [(5, "5 s"), (90, "2 min"), (3600, "1 h 0 min"), (9000, "2 h 30 min")]
)
def test_durations(seconds, words):
    assert duration(seconds) == words


# --- JUnit and KTAP ------------------------------------------------------------------------------


def test_junit_fails_for_what_is_new_and_skips_what_is_not():
    root = ElementTree.fromstring(junit_xml(night()))
    kinds = {case.get("name"): [child.tag for child in case] for case in root.iter("testcase")}
    assert kinds == {"xattrs-over-two-fsyncs": ["failure"], "old-one": ["skipped"], "good-one": []}
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "0", "1"]
    failure = next(root.iter("failure"))
    assert HASH in failure.text
    assert "setxattr foo user.a x" in failure.text


def test_ktap_has_the_same_cases():
    told = ktap(night())
    assert "  not ok 1 xattrs-over-two-fsyncs\n" in told
    assert f"  ok 2 old-one # XFAIL not new: {NAME}\n" in told
    assert "  ok 3 good-one\n" in told
    assert told.endswith("not ok 1 btrfs on kernel next\n")


def test_trouble_is_an_error_in_both():
    bad = night(kernels=(NOT_FETCHED,), cells=(), experiments=(), findings=(), trouble=("other: git fetch",))
    assert ElementTree.fromstring(junit_xml(bad)).get("errors") == "1"
    assert "not ok 1 powercut # ERROR other: git fetch" in ktap(bad)


def test_a_verdict_of_unknown_is_an_error():
    bad = night(experiments=(experiment("odd-one", "UNKNOWN"),), findings=())
    assert ElementTree.fromstring(junit_xml(bad)).get("errors") == "1"
    assert "  not ok 1 odd-one # ERROR a verdict is UNKNOWN\n" in ktap(bad)


def test_a_night_in_which_nothing_moved_is_a_skip():
    still = night(kernels=(kernel(skipped="for-next has not moved"),), cells=(), experiments=(), findings=())
    assert ktap(still).endswith("ok 1 powercut # SKIP next: for-next has not moved\n")


# --- KCIDB ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "one",
    [
        night(),
        quiet(),
        night(kernels=(BROKEN_BUILD, NOT_FETCHED), cells=(), experiments=(), findings=(), trouble=("no",)),
        night(kernels=(kernel(skipped="not moved"),), cells=(), experiments=(), findings=()),
        night(kernels=(kernel(tree="/home/me/linux"), kernel("debian", tree="", hash="6.12.117-1"))),
        night(experiments=(experiment("programs/a b.c", "UNKNOWN"),)),
    ],
)
def test_kcidb_takes_what_is_written(one):
    """Its authors' own library says so, of the newest schema it has."""
    made = kcidb.kcidb(one, "powercut")
    assert LATEST.validate(made) == made
    assert (LATEST.major, LATEST.minor) == (made["version"]["major"], made["version"]["minor"])


def test_kcidb_refuses_what_is_not_of_its_schema():
    """Else the test above would say nothing."""
    made = kcidb.kcidb(night(), "powercut")
    made["tests"][0]["status"] = "BROKEN"
    assert not LATEST.is_valid(made)


def test_every_object_of_kcidb_leads_to_one_that_is_there():
    made = kcidb.kcidb(night(), "powercut")
    ids = {kind: {one["id"] for one in made[kind]} for kind in ("checkouts", "builds", "tests", "issues")}
    assert {one["checkout_id"] for one in made["builds"]} <= ids["checkouts"]
    assert {one["build_id"] for one in made["tests"]} <= ids["builds"]
    assert {one["test_id"] for one in made["incidents"]} <= ids["tests"]
    assert {one["issue_id"] for one in made["incidents"]} <= ids["issues"]
    assert len(ids["tests"]) == len(made["tests"]) == 3


def test_kcidb_has_the_commit_of_the_checkout_and_of_the_finding():
    made = kcidb.kcidb(night(), "powercut")
    assert made["checkouts"][0]["git_commit_hash"] == HASH
    assert [one["status"] for one in made["tests"]] == ["FAIL", "FAIL", "PASS"]
    issue = next(one for one in made["issues"] if one["report_subject"] == XATTR)
    assert issue["misc"]["commit"] == HASH
    assert len(made["incidents"]) == 3  # the new one in one experiment, the known one in two


def test_an_issue_keeps_its_id_from_night_to_night():
    first, later = finding(), finding(state="same", last_night=9)
    assert kcidb.issue_id("powercut", first) == kcidb.issue_id("powercut", later)


# --- pages ---------------------------------------------------------------------------------------


def test_the_page_of_nights_leads_to_each_night_and_each_run_and_needs_nothing_else(tmp_path: Path):
    page = Page(write_nights(tmp_path, nights()))
    assert {"0005/index.html", "0002/next/btrfs/20261125T220000Z-ab12/report/index.html"} <= set(page.links)
    assert [each for each in page.resources if not each.startswith("#")] == ["data:,"]
    assert not [link for link in page.links if link.startswith(("http", "/"))]
    assert len(page.ids) == len(set(page.ids))


def test_the_page_of_nights_says_what_each_night_was(tmp_path: Path):
    text = write_nights(tmp_path, nights()).read_text()
    assert "Night 5: new findings" in text
    assert "✕ 2 new" in text
    assert "6.12 has not moved since night 1" in text
    assert text.count("<svg") == 3
    assert "known: BTRFS-1" in text


def test_the_page_of_a_night_shows_the_commit_and_the_smallest_workload(tmp_path: Path):
    folder = tmp_path / "0002"
    folder.mkdir()
    path = write_night(folder, night(), tmp_path)
    text, page = path.read_text(), Page(path)
    assert HASH in text
    assert "setxattr foo user.a x" in text
    assert "late-one, late-two" in text
    assert {"../index.html", "next/btrfs/20261125T220000Z-ab12/report/index.html"} <= set(page.links)
    assert "../0002/next/btrfs/20261125T220000Z-ab12/report/finding-F1.html" in page.links


def test_what_a_kernel_says_cannot_leave_its_place(tmp_path: Path):
    folder = tmp_path / "0002"
    folder.mkdir()
    odd = night(kernels=(kernel(subject="<script>alert(1)</script>\x1b[31m"),), trouble=("<b>",))
    text = write_night(folder, odd, tmp_path).read_text()
    assert "<script>alert" not in text
    assert "\x1b" not in text
    assert "&lt;b&gt;" in text


def test_a_night_without_any_run_has_a_page(tmp_path: Path):
    folder = tmp_path / "0004"
    folder.mkdir()
    still = night(
        kernels=(NOT_FETCHED,), cells=(cell(run="", trouble="no"),), experiments=(), findings=(), exit=3
    )
    assert "trouble" in write_night(folder, still, tmp_path).read_text()


def test_a_page_lists_no_generated_workload_that_holds(tmp_path: Path):
    """A night has tens of thousands of them."""
    folder = tmp_path / "0002"
    folder.mkdir()
    made = [experiment(f"ace2-{n}", reason="generated") for n in range(3)]
    failing = experiment("ace2-9", "BROKEN", XATTR, reason="generated")
    text = write_night(
        folder, night(experiments=(*night().experiments, *made, failing)), tmp_path
    ).read_text()
    assert (
        "4 experiments, and why each was run; 3 generated workloads without a finding are not listed" in text
    )
    assert "ace2-9" in text
    assert "ace2-1" not in text
