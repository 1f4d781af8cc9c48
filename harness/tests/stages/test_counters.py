"""Counters of one experiment are added up by phase, and gcov reads the sums."""

import struct
from pathlib import Path

import msgspec
import pytest

from harness.stages.counters import Edges, Tally, added, differing, edges_in, keep_executed, read_executed
from harness.stages.gcov import NotCounted, source_counts
from harness.tests.stages.counted_program import compiled, counters_after
from kernel.make import OBJECTS
from reports.coverage.results import DIFFERING, RECORDED, RECOVERED
from reports.results import JudgedState

# Each function is called: GCC's own runtime leaves out the counters of others, and the kernel's does not.
PROGRAM = """\
#include <stdlib.h>
static int twice(int n)
{
    if (n > 2)
        return 2 * n;
    return n;
}
int main(int count, char **words)
{
    int sum = 0;
    for (int i = 0; i < atoi(words[count - 1]); i++)
        sum += twice(i);
    return sum == 1;
}
"""


@pytest.fixture(scope="module")
def notes(tmp_path_factory) -> Path:
    """The notes and the source of a small program, as fs/a.gcno and fs/a.c."""
    return compiled(tmp_path_factory.mktemp("notes"), PROGRAM)


def told(notes: Path, times: int) -> bytes:
    """As a guest tells the counters of one run of it."""
    counters = counters_after(notes, str(times))
    assert counters[16:24] == b"\0\0\0\xa1\x08\0\0\0"
    counters = counters[:16] + counters[32:]  # a summary of the whole program, which the kernel has not
    return f"/x/{OBJECTS}/fs/a.gcda {len(counters)}\n".encode() + counters


def lines(executed, phase: str, notes: Path, scratch: Path) -> dict[int, int]:
    scratch.mkdir()
    return source_counts(executed.counters(phase), notes, scratch)["fs/a.c"].lines


def state(spec: str, observation: int, same_as: str = "") -> JudgedState:
    return JudgedState(spec, same_as, observation, 0)


def test_recoveries_add_up(notes, tmp_path):
    """And the recording stays apart."""
    tally = Tally()
    tally.add(RECORDED, told(notes, 1))
    tally.add_state("O:0", told(notes, 2))
    tally.add_state("O:1", told(notes, 5))
    executed = tally.executed([state("O:0", 0), state("O:1", 0)])
    assert lines(executed, RECORDED, notes, tmp_path / "a")[12] == 1
    assert lines(executed, RECOVERED, notes, tmp_path / "b")[12] == 7
    assert lines(executed, RECOVERED, notes, tmp_path / "c")[5] == 2  # twice(3), twice(4)


def test_what_came_back_alike_is_not_differing(notes, tmp_path):
    """The first state is; one that equals an earlier disk is answered by that one's recovery."""
    states = [state("O:0", 0), state("O:1", 0), state("O:2", 1), state("O:3", 0, "O:0"), state("O:4", 0)]
    assert list(differing(states)) == ["O:0", "O:2"]
    tally = Tally()
    for spec, times in (("O:0", 1), ("O:1", 10), ("O:2", 2)):
        tally.add_state(spec, told(notes, times))
    executed = tally.executed(states)
    assert lines(executed, DIFFERING, notes, tmp_path / "a")[12] == 3


def test_counters_of_two_experiments_are_added(notes, tmp_path):
    """Each may have phases of its own."""
    one, other = Tally(), Tally()
    one.add(RECORDED, told(notes, 1))
    other.add(RECORDED, told(notes, 4))
    other.add_state("O:0", told(notes, 3))
    both = added(one.executed([]), other.executed([state("O:0", 0)]))
    assert lines(both, RECORDED, notes, tmp_path / "a")[12] == 5
    assert lines(both, RECOVERED, notes, tmp_path / "b")[12] == 3


def test_what_was_counted_is_kept(notes, tmp_path):
    tally = Tally()
    tally.add(RECORDED, told(notes, 1))
    executed = tally.executed([])
    keep_executed(tmp_path, "key", executed)
    assert read_executed(tmp_path) == ("key", executed)
    (tmp_path / "counters.zst").write_bytes(b"no")
    with pytest.raises(NotCounted, match=r"counters\.zst is damaged"):
        read_executed(tmp_path)


def test_an_experiment_without_counters_has_none(tmp_path):
    """As on a kernel that does not count, or where nothing was recorded."""
    assert Tally().executed([]) is None
    assert read_executed(tmp_path) is None


def test_a_state_that_the_guest_did_not_survive_counts_nothing(notes):
    tally = Tally()
    tally.add_state("O:0", b"")
    assert tally.executed([state("O:0", 0)]) is None


def test_files_of_another_kernel_are_refused(notes):
    tally = Tally()
    first = told(notes, 1)
    tally.add(RECORDED, first)
    with pytest.raises(NotCounted, match="different files"):
        tally.add(RECORDED, first.replace(b"fs/a.gcda", b"fs/b.gcda"))


def test_a_record_that_is_not_known_is_refused(notes):
    """Rather than counted as nothing."""
    content = told(notes, 1).split(b"\n", 1)[1]
    ((offset, _), *_) = edges_in(content, "fs/a.gcda")
    broken = content[: offset - 8] + b"\0\0\0\x7f" + content[offset - 4 :]
    with pytest.raises(NotCounted, match="a record 0x7f000000"):
        edges_in(broken, "fs/a.gcda")


def test_kept_counters_are_small_where_little_ran(notes):
    """A file that did nothing is in no phase."""
    tally = Tally()
    zeros = told(notes, 1)
    for offset, length in edges_in(zeros.split(b"\n", 1)[1], "fs/a.gcda"):
        at = zeros.index(b"\n") + 1 + offset
        zeros = zeros[:at] + bytes(length) + zeros[at + length :]
    tally.add(RECORDED, zeros)
    executed = tally.executed([])
    assert executed.phases == {RECORDED: {}}
    assert msgspec.msgpack.encode(executed)


def test_edges_are_the_counters_that_are_not_zero(notes):
    """In the order in which the files have them; another kernel's are refused."""
    edges = Edges()
    few, some = (
        struct.unpack(f"<{len(raw) // 4}I", raw) for raw in map(edges.taken, (told(notes, 1), told(notes, 5)))
    )
    assert set(few) < set(some)
    assert list(some) == sorted(some)
    assert max(some) < edges.count
    again = Edges()
    assert again.taken(told(notes, 5)) == struct.pack(f"<{len(some)}I", *some)
    assert again.layout == edges.layout
    with pytest.raises(NotCounted, match="two guests"):
        edges.taken(told(notes, 5).replace(b"fs/a.gcda", b"fs/abc.gcda", 1))
