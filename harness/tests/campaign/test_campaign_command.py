"""`powercut campaign`: what is refused, and with which words."""

import msgspec
import pytest

from harness.campaign.campaign import FILE, folder_of, read
from harness.campaign.file import parse
from harness.campaign.identity import Identity
from harness.campaign.simulation import made_campaign
from harness.evidence.store import write_pretty
from kernel.tests.tinytree import git, make_tree

TEXT = 'bounds = ["random:4"]\nsample = 60\n'


@pytest.fixture
def week(tmp_path, monkeypatch):
    """The folder of a campaign whose file is beside it; the current folder is theirs."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "week.toml"
    file.write_text(TEXT)
    folder = tmp_path / "campaigns" / "week"
    kept = made_campaign(folder, parse(TEXT, file))
    write_pretty(folder / FILE, msgspec.structs.replace(kept, name="week", file=str(file)))
    return folder


def test_check_says_what_the_file_asks_for(tmp_path, powercut):
    (tmp_path / "a.toml").write_text(TEXT)
    status, out, _ = powercut("campaign", "start", tmp_path / "a.toml", "--check")
    assert status == 0
    assert "random:4: 60 numbers" in out


def test_a_shard_says_how_many_batches_it_has(tmp_path, powercut):
    (tmp_path / "a.toml").write_text(TEXT + 'shard = "2/2"\n')
    status, out, _ = powercut("campaign", "start", tmp_path / "a.toml", "--check")
    assert status == 0
    assert "shard      2/2: 2 batches" in out


def test_a_page_is_of_one_campaign(week, powercut):
    status, _, said = powercut("campaign", "report", "week", "week.toml")
    assert status == 2
    assert "a page is of one campaign" in said
    status, out, _ = powercut("campaign", "report", "week", "week", "--sql", "SELECT 1 AS one")
    assert (status, out) == (0, '[{"one":1}]\n')


def test_a_campaign_is_found_by_its_name_its_file_and_its_folder(week):
    assert folder_of("week").resolve() == folder_of("week.toml") == folder_of(str(week)) == week


def test_a_file_that_changed_is_refused_with_the_difference(week, powercut):
    (week.parent.parent / "week.toml").write_text(TEXT.replace("60", "70"))
    status, _, said = powercut("campaign", "resume", "week", "--quiet")
    assert status == 2
    assert "sample: was 60, is now 70" in said


def test_another_powercut_is_refused_by_name(week, powercut):
    kept = read(week)
    other = (Identity("0.1.0", "abcdef0", "0123456789ab"),)
    write_pretty(week / FILE, msgspec.structs.replace(kept, identities=other))
    status, _, said = powercut("campaign", "resume", "week", "--quiet")
    assert status == 2
    assert "made by powercut 0.1.0 (abcdef0, source 0123456789ab)" in said


def test_a_second_start_says_how_to_go_on(week, powercut):
    status, _, said = powercut("campaign", "start", "week.toml", "--quiet")
    assert status == 2
    assert "powercut campaign resume" in said


def test_a_kernel_that_moves_is_refused_with_the_commit_that_it_is_now(tmp_path, monkeypatch, powercut):
    tree = make_tree(tmp_path / "linux")
    git(tmp_path, "init", "-q", "-b", "master", str(tree))
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "one")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POWERCUT_LINUX_NEXT", str(tree))
    (tmp_path / "a.toml").write_text(TEXT + 'kernels = ["linux-next"]\n')
    status, _, said = powercut("campaign", "start", tmp_path / "a.toml", "--quiet")
    assert (status, f"Name the commit: linux-next@{git(tree, 'rev-parse', 'HEAD')}" in said) == (2, True)


def test_what_does_not_run_cannot_be_stopped(week, powercut):
    status, _, said = powercut("campaign", "stop", "week")
    assert (status, "is not running" in said) == (2, True)


def test_the_status_of_a_campaign_that_never_ran_is_no_pass(week, powercut):
    status, out, _ = powercut("campaign", "status", "week")
    assert status == 3
    assert "0 of 60 drawn" in out


def test_a_word_that_is_no_campaign_is_told(week, powercut):
    status, _, said = powercut("campaign", "status", "month")
    assert (status, "there is no campaign 'month'" in said) == (2, True)
