"""Rows of a campaign: made of experiments, kept in a few bytes, asked for all together."""

import pytest

from harness.campaign.batches import batches
from harness.campaign.file import BadCampaign, CampaignFile
from harness.campaign.rows import BROKEN, HOLDS, UNKNOWN, Row, Shown, Witnesses, row_of
from harness.campaign.simulation import made_rows
from harness.campaign.table import FOLDER, Table, keys_done, merge, write_batch
from harness.evidence.store import PARTIAL
from harness.tests.made_run import EMPTY, ENTRY_COUNT, judged, keep, seen

BATCHES = batches(CampaignFile(("random:4",), sample=400, batch=100), {("6.12", "btrfs"): ("0" * 20, ())})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / FOLDER).mkdir()
    return tmp_path


def broken(experiment, operations, signature="a"):
    shown = (Shown(signature, "O:1", 1, 1),)
    return Row("ace:1", experiment, "6.12", "btrfs", "w", BROKEN, experiment, operations, found=shown)


def test_a_row_says_what_the_experiment_said(tmp_path):
    lost = keep(tmp_path, 1, judged({ENTRY_COUNT: seen(ENTRY_COUNT, tree=EMPTY)}))
    row = row_of(BATCHES[0], 7, lost, "w")
    assert (row.answer, row.number, row.states) == (BROKEN, 7, ENTRY_COUNT + 1)
    assert row.recovered + row.identical + row.proven == row.states
    assert [one.state for one in row.found] == [f"O:{ENTRY_COUNT}"] * len(row.found)
    assert (row.checked, row.unasked) == (2, 3)
    assert row_of(BATCHES[0], 8, keep(tmp_path, 2), "w").answer == HOLDS


def test_an_experiment_that_could_not_be_done_is_unknown_and_no_pass(tmp_path):
    row = row_of(BATCHES[0], 1, keep(tmp_path, 1, trouble="the guest is lost", recorded=False), "w")
    assert (row.answer, row.trouble, row.found) == (UNKNOWN, "the guest is lost", ())


def test_rows_come_back_as_they_were_written(folder):
    rows = made_rows(BATCHES[0])
    write_batch(folder, "one", rows)
    with Table(folder) as table:
        counted = table.rows("SELECT count(*) AS n, sum(states)::INTEGER AS states FROM experiments")[0]
        shown = table.rows("SELECT number, found FROM experiments WHERE len(found) > 0 ORDER BY number")
    assert counted == {"n": 100, "states": sum(row.states for row in rows)}
    assert [one["number"] for one in shown] == sorted(row.number for row in rows if row.found)


def test_a_row_takes_less_than_300_bytes(folder):
    size = sum(write_batch(folder, one.key, made_rows(one)).stat().st_size for one in BATCHES)
    assert size < 300 * 400


def test_a_campaign_without_batches_can_be_asked(folder):
    with Table(folder) as table:
        assert table.rows("SELECT count(*) AS n FROM experiments") == [{"n": 0}]


def test_the_text_is_the_same_whoever_did_the_batches_and_in_whatever_order(folder):
    for key, batch in zip("abcd", BATCHES, strict=True):
        write_batch(folder, key, made_rows(batch, "one worker"))
    with Table(folder) as table:
        table.as_text(folder / "first.csv")
    for key, batch in zip("abcd", reversed(BATCHES), strict=True):
        write_batch(folder, key, made_rows(batch, "another"))
    with Table(folder) as table:
        table.as_text(folder / "second.csv")
    assert (folder / "first.csv").read_bytes() == (folder / "second.csv").read_bytes()


def test_the_rows_of_several_campaigns_are_asked_together(folder, tmp_path):
    other = tmp_path / "other"
    (other / FOLDER).mkdir(parents=True)
    write_batch(folder, BATCHES[0].key, made_rows(BATCHES[0]))
    write_batch(other, BATCHES[1].key, made_rows(BATCHES[1]))
    with Table(folder, other) as table:
        assert table.rows("SELECT count(DISTINCT number) AS n FROM experiments") == [{"n": 200}]


def test_a_query_that_is_wrong_is_bad_input(folder):
    with Table(folder) as table, pytest.raises(BadCampaign, match="--sql"):
        table.asked("SELEC")


def test_what_was_half_written_is_no_batch(folder):
    (folder / FOLDER / f"x.parquet{PARTIAL}").write_bytes(b"PAR1")
    assert keys_done(folder) == set()


def test_merged_rows_are_the_same_rows_and_name_their_batches(folder):
    for one in BATCHES:
        write_batch(folder, one.key, made_rows(one))
    with Table(folder) as table:
        table.as_text(folder / "before.csv")
        merge(folder, least=2)
        table.as_text(folder / "meanwhile.csv")
    with Table(folder) as table:
        table.as_text(folder / "after.csv")
    assert len(list((folder / FOLDER).iterdir())) == 1
    assert keys_done(folder) == {one.key for one in BATCHES}
    before = (folder / "before.csv").read_bytes()
    assert before == (folder / "after.csv").read_bytes() == (folder / "meanwhile.csv").read_bytes()


def test_a_merge_that_was_killed_counts_nothing_twice(folder):
    for one in BATCHES:
        write_batch(folder, one.key, made_rows(one))
    merge(folder, least=2)
    write_batch(folder, BATCHES[0].key, made_rows(BATCHES[0]))  # as if it were not yet removed
    with Table(folder) as table:
        assert table.rows("SELECT count(*) AS n FROM experiments") == [{"n": 400}]
    merge(folder)
    assert len(list((folder / FOLDER).iterdir())) == 1


def test_the_shortest_witnesses_are_kept_in_whatever_order_they_come():
    rows = [broken(1, 9), broken(2, 5), broken(3, 7), broken(4, 5), broken(5, 3, "b")]
    forth, back = Witnesses(2), Witnesses(2)
    for row in rows:
        forth.add(row)
    for row in reversed(rows):
        back.add(row)
    assert forth.experiments() == back.experiments() == {2, 4, 5}
