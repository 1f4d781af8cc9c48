"""Which blocks fail while states are recovered, and that nothing else of the disk changes."""

from harness.experiments.failing_blocks import Failing
from harness.states.crash import parse_spec
from harness.states.rebuild import Rebuilding
from oracles.spec import Damage, State
from reports.results import ReadBlock


def blocks(*numbers: int) -> tuple[ReadBlock, ...]:
    return tuple(ReadBlock(number, "metadata") for number in numbers)


def specs(failing: Failing) -> list[str]:
    return [state.spec for state in failing.states()]


def test_a_read_fails_once_for_each_content_and_a_write_in_each_state(disks: Rebuilding) -> None:
    reads = {State(0): blocks(0, 1), State(2): blocks(0, 1)}
    writes = {State(0): blocks(4), State(2): blocks(4)}
    failing = Failing(disks, reads, writes, budget=100)
    assert specs(failing) == [
        "D:O:0/1!read",
        "D:O:0/4!write",
        "D:O:2/0!read",
        "D:O:2/1!read",
        "D:O:2/4!write",
    ]
    assert (failing.count, failing.coverage.examined, failing.coverage.space) == (5, 5, 5)


def test_a_budget_is_spread_and_what_is_asked_for_comes_beside_it(disks: Rebuilding) -> None:
    reads = {State(0): blocks(0, 1, 2, 3), State(2): blocks(0, 1, 2, 3)}
    writes = {State(0): blocks(4), State(2): ()}
    failing = Failing(disks, reads, writes, 2, (Damage(4, fails="write"), Damage(9, fails="read")))
    assert specs(failing) == ["D:O:0/4!write", "D:O:0/1!read", "D:O:2/2!read"]
    assert (failing.count, failing.coverage.examined, failing.coverage.space) == (3, 2, 6)


def test_many_blocks_of_one_kind_do_not_use_up_the_budget(disks: Rebuilding) -> None:
    """XFS writes 512 blocks of its log when it recovers. A bug that two reads show was seen by chance."""
    reads = {State(0): (ReadBlock(0, "superblock"), ReadBlock(1, "directory"))}
    writes = {State(0): tuple(ReadBlock(number, "log") for number in range(2, 8))}
    failing = Failing(disks, reads, writes, budget=4)
    assert specs(failing) == ["D:O:0/0!read", "D:O:0/1!read", "D:O:0/2!write", "D:O:0/7!write"]
    assert failing.coverage.space == 8


def test_the_disk_of_a_state_with_a_block_that_fails_is_that_of_the_state(disks: Rebuilding) -> None:
    disks.move(State(2))
    whole = disks.disk.identity()
    disks.dirty.clear()
    disks.move(parse_spec("D:O:2/5!read", disks._log))
    assert (disks.disk.identity(), disks.damaged, disks.dirty) == (whole, None, set())
