"""Tonight's list: its four groups in their order, and generated workloads that go round."""

import msgspec
import pytest

from harness.nightly.history import open_history
from harness.nightly.plan import (
    CHANGED,
    FAILED,
    GENERATED,
    NEVER,
    ROTATION,
    Wanted,
    candidates,
    hash_of,
    rotation,
    tonight,
)
from harness.tests.nightly.test_night_history import ran
from workloads import text
from workloads.generate.space import stride
from workloads.library import load

NAMES = ("replace-by-rename", "truncate-then-fsync", "punch-hole-then-fsync", "append-fsync-repeated")
NOTHING = Wanted((), 0, 3600, 2)


@pytest.fixture
def history(tmp_path):
    with open_history(tmp_path / "nightly.db") as made:
        yield made


def keeper(folder):
    def keep(workload):
        path = folder / f"{workload.name}.workload"
        path.write_text(text.format(workload))
        return path

    return keep


def planned(history, tmp_path, wanted=NOTHING, names=NAMES):
    return tonight(history, "next", "btrfs", candidates(names), wanted, "p", keeper(tmp_path))


def done(history, night, name, verdict="HOLDS", powercut="p", changed=False):
    ran(history, night, name, verdict)
    history.change("experiment", {"workload": name}, hash="other" if changed else hash_of(load(name)))
    history.change("experiment", {"workload": name}, powercut=powercut)


def test_the_first_night_runs_everything_that_was_never_run(history, tmp_path):
    chosen = planned(history, tmp_path)
    assert {one.workload for one in chosen} == set(NAMES)
    assert {one.reason for one in chosen} == {NEVER}


def test_what_failed_comes_first_then_what_was_never_run_then_what_changed_then_the_others(history, tmp_path):
    failed, never, changed, old = NAMES
    done(history, 1, failed, "BROKEN")
    done(history, 1, changed, changed=True)
    done(history, 1, old)
    chosen = planned(history, tmp_path)
    assert [(one.workload, one.reason) for one in chosen] == [
        (failed, FAILED),
        (never, NEVER),
        (changed, CHANGED),
        (old, ROTATION),
    ]


def test_another_powercut_is_a_change(history, tmp_path):
    done(history, 1, NAMES[0], powercut="older")
    chosen = planned(history, tmp_path, names=NAMES[:1])
    assert [one.reason for one in chosen] == [CHANGED]


def test_what_was_longest_not_run_comes_first(history, tmp_path):
    for night, name in zip((3, 1, 4, 2), NAMES, strict=True):
        done(history, night, name)
    chosen = planned(history, tmp_path)
    assert [one.workload for one in chosen] == [NAMES[1], NAMES[3], NAMES[0], NAMES[2]]


def test_generated_workloads_fill_the_budget_and_go_on_where_the_last_night_ended(history, tmp_path):
    wanted = Wanted(("ace:1", "random:20"), 7, 1.2, 1)  # of 0.3 s each, and a margin
    first = planned(history, tmp_path, wanted, ())
    assert [one.reason for one in first] == [GENERATED] * 6
    for one in first:
        history.put("position", kernel="next", profile="btrfs", bounds=one.bounds, next=one.position + 1)
    second = planned(history, tmp_path, wanted, ())
    assert not {one.workload for one in first} & {one.workload for one in second}
    assert (tmp_path / f"{second[0].workload}.workload").exists()


def test_a_rotation_meets_every_workload_of_its_bounds_once():
    found = [workload.name for _, workload in rotation("ace:1", 3, 0)]
    assert len(found) == len(set(found))
    half = [workload.name for _, workload in rotation("ace:1", 3, 100)]
    assert sorted(half) == sorted(found)


def test_neighbours_of_a_rotation_lie_far_apart():
    assert stride(328) == 203
    assert stride(1) == 1


def test_a_generated_workload_that_failed_is_run_again(history, tmp_path):
    workload = msgspec.structs.replace(load(NAMES[0]), name="ace1-017-x", comment=(), theme="ace")
    ran(history, 1, workload.name, "BROKEN")
    history.change("experiment", {"workload": workload.name}, bounds="ace:1", hash=hash_of(workload))
    history.put("generated", hash=hash_of(workload), name=workload.name, text=text.format(workload))
    chosen = planned(history, tmp_path, names=())
    assert [(one.workload, one.reason) for one in chosen] == [("ace1-017-x", FAILED)]


def test_a_comment_is_no_change_of_a_workload():
    one = load(NAMES[0])
    assert hash_of(one) == hash_of(msgspec.structs.replace(one, comment=("Other words.",)))
