"""What is asked of a model by name is what a look at all of it would find."""

import msgspec
import pytest

from oracles.allowed import AllowedValues
from oracles.case import prepare
from oracles.judge import judge_observation
from oracles.model import steps
from oracles.model.index import index_of
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.recovered import Readings
from oracles.tests.made import ENTRIES_PER_STEP, Bench, history_of, node_at
from oracles.timeline import Timeline
from oracles.verdict import Tier

# Names come again, objects are replaced and removed, and ext4 gives their numbers out again.
ROUND = """  write A/tmp{n} 0 8K
  fsync A/tmp{n}
  rename A/tmp{n} A/file{n}
  link A/file{n} B/link{n}
  fsync A
  rename B/link{n} B/moved
  unlink B/moved
"""
SOURCE = "run\n  mkdir A\n  mkdir B\n" + "".join(ROUND.format(n=number % 2) for number in range(6))
JOURNALS = ["btrfs", "ext4", "xfs"]


def cuts(name):
    """AllowedValues at every cut, each taking over from the one before."""
    model = steps.build(history_of(SOURCE, name))
    before = None
    for begun in range(model.end_time - model.base_time + 1):
        before = AllowedValues(model, profile(name), Tier.FS, begun, max(begun - 1, 0), before)
        yield before


@pytest.mark.parametrize("name", JOURNALS)
def test_what_a_name_may_lead_to_is_one_of_its_values(name):
    for allowed in cuts(name):
        for slot in allowed.model.entries:
            for inode in (None, -1, *range(len(allowed.model.inodes))):
                asked = allowed.may_lead_to(slot, inode)
                assert asked == (inode in allowed.entry_values(slot))


@pytest.mark.parametrize("name", JOURNALS)
def test_what_a_name_has_led_to_is_in_its_history(name):
    for allowed in cuts(name):
        for slot in allowed.model.entries:
            for inode in range(len(allowed.model.inodes)):
                assert allowed.has_led_to(slot, inode) == (inode in allowed.entry_history(slot))


@pytest.mark.parametrize("name", JOURNALS)
def test_living_links_are_the_promised_ones_that_nothing_removed(name):
    for allowed in cuts(name):
        chains = [(allowed.model.chains[index], floor) for index, floor in allowed.chains.items()]
        assert list(allowed.living_chains()) == [each for each in chains if each[0].lives_at(allowed.now)]


@pytest.mark.parametrize("name", JOURNALS)
def test_objects_whose_names_changed_come_in_the_order_of_the_changes(name):
    for allowed in cuts(name):
        model = allowed.model
        changes = [(time, inode) for time, inode, _ in model.linked]
        changes += [(each.time, each.inode) for each in model.renames]
        changes += [(each.time, each.replaced) for each in model.renames if each.replaced is not None]
        order = [inode for time, inode in sorted(changes) if model.base_time < time <= allowed.now]
        assert allowed.touched_among(range(len(model.inodes))) == list(dict.fromkeys(order))
        assert allowed.touched_count == len(set(order))


def test_renames_are_asked_of_the_names_that_show_them():
    *_, allowed = cuts("ext4")
    shown = {slot: allowed.model.entry(slot, allowed.now) for slot in allowed.model.entries}
    assert allowed.index.renamed
    assert list(allowed.index.replacing_in(shown)) == [
        each for each in allowed.model.renames if each.replaced is not None and shown[each.new] == each.inode
    ]


def test_an_index_is_made_once_a_model():
    model = steps.build(history_of(SOURCE))
    assert index_of(model) is index_of(model)


def test_a_value_that_was_had_is_one_of_those_within():
    """Those beside, which a call that failed may have left, among them."""
    line = Timeline(0, "a")
    line.change(3, "b")
    line.maybe(5, "c")
    line.change(8, "d")
    for first in range(10):
        for last in range(first, 10):
            for value in "abcde":
                assert line.had(value, first, last) == (value in line.within(first, last))


def test_readings_are_made_when_they_are_asked_for():
    """Two who ask at once get all of them."""
    bench = Bench(SOURCE, "ext4")
    case = bench.case(bench.tree())
    one, other = iter(case.readings), iter(case.readings)
    together = [pair for pair in zip(one, other, strict=True) if pair[0] is pair[1]]
    assert len(together) == len(list(case.readings)) >= 1
    assert not Readings(None, case.allowed)


@pytest.mark.parametrize("name", JOURNALS)
def test_an_object_that_is_as_before_is_judged_as_before(name):
    """Cuts in order, where it is not looked at again, and each cut by itself, where it is."""
    bench = Bench(SOURCE, name)
    trees = [bench.tree(done) for done in range(len(bench.history.run) + 1)]
    for prefix in range(bench.history.entry_count + 1):
        alone = prepare(bench.history, profile(name), Tier.FS)
        for done in (0, prefix // ENTRIES_PER_STEP, len(trees) - 1):
            seen = Observation(tree=trees[done], probe_steps=1)
            in_order = judge_observation(bench.prepared, prefix, seen)
            assert in_order == judge_observation(alone, prefix, seen)
            alone = prepare(bench.history, profile(name), Tier.FS)


def test_what_was_found_in_order_is_asked_again_where_something_changed():
    bench = Bench("run\n  creat foo\n  fsync foo\n  chmod foo 600\n  fsync foo\n", "ext4")
    inode, node = 1, node_at(bench.tree(2), "foo")
    before, promised, after = (bench.case(bench.tree(2), begun).allowed for begun in (1, 2, 3))
    before.found_in_order("durable", inode, node, 3)
    assert before.as_before("durable", inode, node) == 3
    assert before.as_before("historical", inode, node) is None
    assert before.as_before("durable", inode, msgspec.structs.replace(node, size=1)) is None
    assert promised.as_before("durable", inode, node) is None
    promised.found_in_order("durable", inode, node, 3)
    assert after.as_before("durable", inode, node) is None
