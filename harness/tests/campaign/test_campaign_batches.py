"""Batches: every number once, what is done at any time spread over the whole, keys by content."""

from collections import Counter
from itertools import pairwise

import msgspec
import pytest

from harness.campaign.batches import (
    batch_size,
    batches,
    experiment_number,
    numbers,
    numbers_of_cells,
    planned,
)
from harness.campaign.file import BadCampaign, CampaignFile

ASKED = CampaignFile(("ace:1", "random:4"), sample=300, profiles=("btrfs", "xfs"), batch=50, seed=7)
BUILDS = {("6.12", name): ("0" * 20, ()) for name in ("btrfs", "xfs")}


def test_every_number_of_every_cell_is_in_one_batch():
    seen = [(one.profile, one.bounds, number) for one in batches(ASKED, BUILDS) for number in numbers(one)]
    assert len(seen) == len(set(seen)) == 4 * 300


def test_the_whole_of_bounds_has_every_number():
    whole = msgspec.structs.replace(ASKED, bounds=("ace:1",), sample=0)
    seen = sorted(number for one in batches(whole, BUILDS) for number in numbers(one) if one.profile == "xfs")
    assert seen == list(range(328))


def test_the_shards_have_each_batch_once_and_each_cell_in_every_one():
    shards = [batches(msgspec.structs.replace(ASKED, shard=f"{number}/5"), BUILDS) for number in range(1, 6)]
    assert [one for shard in shards for one in shard] == batches(ASKED, BUILDS)
    assert all(len({(one.profile, one.bounds) for one in shard}) == 4 for shard in shards)
    counted = sum((numbers_of_cells(shard) for shard in shards), Counter())
    assert counted == numbers_of_cells(batches(ASKED, BUILDS))
    assert set(counted.values()) == {300}


def test_a_shard_without_batches_is_refused():
    with pytest.raises(BadCampaign, match="shard 1/25 is empty: there are only 24 batches to split"):
        planned(msgspec.structs.replace(ASKED, shard="1/25"))


def test_each_cell_has_its_turn():
    first = batches(ASKED, BUILDS)[:4]
    assert len({(one.profile, one.bounds) for one in first}) == 4


def test_the_first_batches_are_spread_over_the_bounds():
    whole = msgspec.structs.replace(ASKED, bounds=("ace:2",), sample=0, batch=1000, profiles=("btrfs",))
    total = 241720
    first = sorted(numbers(batches(whole, BUILDS)[0]))
    gaps = [after - before for before, after in pairwise(first)]
    assert max(gaps) < 3 * total / 1000


def test_each_experiment_has_a_number_of_its_own():
    found = [experiment_number(one, number) for one in batches(ASKED, BUILDS) for number in numbers(one)]
    assert len(found) == len(set(found))
    assert min(found) >= 1


def test_keys_follow_from_the_content_alone():
    keys = [one.key for one in batches(ASKED, BUILDS)]
    assert keys == [one.key for one in batches(ASKED, BUILDS)]
    assert len(set(keys)) == len(keys)
    other = msgspec.structs.replace(ASKED, tier="posix")
    assert not set(keys) & {one.key for one in batches(other, BUILDS)}
    elsewhere = msgspec.structs.replace(ASKED, scheduler="tcp://head:8786", slots=4)
    assert keys == [one.key for one in batches(elsewhere, BUILDS)]


def test_a_batch_takes_about_two_minutes_and_a_small_campaign_has_several():
    asked = msgspec.structs.replace(ASKED, batch=0)
    assert batch_size(asked, "btrfs", 241720) == 600
    assert batch_size(asked, "xfs", 241720) == 200
    assert batch_size(asked, "btrfs", 3280) == 205
