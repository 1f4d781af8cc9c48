"""The sweep of faults: which points a log has, and what the guest is told to do at one."""

import msgspec

from harness.stages.fault_points import POINTS_MAX, fault_program, joined, points_of, with_sectors
from oracles.profiles import profile
from oracles.tests.made import history_of
from workloads.entries import EntryFlag, EntrySummary
from workloads.faults import FaultPoint
from workloads.text import parse

FLUSH, FUA, META = EntryFlag.FLUSH, EntryFlag.FUA, EntryFlag.METADATA
MARK = EntrySummary(EntryFlag.MARK, 0, 0, "m")
SOURCE = "setup\n  mkdir A\nrun\n  creat A/foo\n  fsync A/foo\n"
# begin and done marks of two operations with one entry between (oracles/tests/made.py)
ENTRIES = [MARK, EntrySummary(0, 64, 8), MARK, MARK, EntrySummary(META, 128, 16), MARK]


def specs(entries=ENTRIES, source=SOURCE):
    points, left_out = points_of(history_of(source), entries)
    return [point.spec for point in points], left_out


def test_each_write_fails_alone_and_the_device_as_a_whole():
    found, left_out = specs()
    assert not left_out
    assert {"F:error-writes@1:64+8", "F:corrupt@1:64+8", "F:error-writes@2:128+16"} <= set(found)
    for index in (1, 2):
        whole = {
            f"F:{kind}@{index}" for kind in ("error-writes", "drop-writes", "corrupt", "error-reads", "delay")
        }
        assert whole | {f"F:error-writes@{index}-", f"F:drop-writes@{index}-"} <= set(found)


def test_a_flush_is_a_point_of_its_own():
    entries = [*ENTRIES]
    entries[4] = EntrySummary(FLUSH, 0, 0)
    found, _ = specs(entries)
    assert "F:error-writes@2:flush" in found
    assert "F:error-writes@2:0+0" not in found


def test_the_points_of_a_long_log_are_spread_and_what_is_left_out_is_counted():
    count = 4 * POINTS_MAX
    entries = [MARK, *(EntrySummary(0, 8 * n, 8) for n in range(count)), MARK]
    history = history_of("run\n  write foo 0 1M\n")
    step = history.run[0]
    history = msgspec.structs.replace(
        history, run=(msgspec.structs.replace(step, begin_entry=0, end_entry=count + 1),)
    )
    points, left_out = points_of(history, entries)
    assert len(points) == POINTS_MAX
    assert left_out == 7 + 2 * count - POINTS_MAX
    assert points[-1].part


def test_a_workload_with_fault_lines_has_one_point():
    assert specs(source="run\n  fault drop-writes\n  creat foo\n  sync\n") == (["F:script"], 0)


def words(program):
    """(phase, word, fault's kind, sectors) a line."""
    rows = [line.split("\t") for line in program.splitlines()[1:]]
    return [(row[0], row[2], row[6], row[5]) for row in rows]


def test_the_device_fails_during_one_operation_and_the_power_at_the_end():
    program = fault_program(profile("btrfs"), parse(SOURCE), FaultPoint("error-writes", 1, part="64+8"), [])
    assert words(program) == [
        ("setup", "mkdir", "", ""),
        ("fault", "fault", "error-writes", "64+8"),
        ("run", "creat", "", ""),
        ("fault", "fault", "off", ""),
        ("run", "fsync", "", ""),
        ("fault", "fault", "drop-writes", ""),
        ("fault", "fault", "probe", ""),
    ]


def test_a_device_that_stays_broken_is_unmounted_so():
    program = fault_program(profile("btrfs"), parse(SOURCE), FaultPoint("error-writes", 2, stays=True), [])
    assert [kind for phase, _, kind, _ in words(program) if phase == "fault"] == ["error-writes"]


def test_log_and_data_are_told_apart_by_the_flags_of_the_same_workload():
    line = parse("run\n  fault error-writes log\n  sync\n").run[0]
    data = parse("run\n  fault error-writes data\n  sync\n").run[0]
    assert with_sectors(line, ENTRIES).target == "128+16"
    assert with_sectors(data, ENTRIES).target == "64+8"
    assert with_sectors(data, [MARK]).target == "0+0"


def test_ranges_are_in_order_and_apart():
    assert joined([(8, 16), (0, 4), (12, 20), (20, 24)]) == [(0, 4), (8, 24)]
