"""What dbench, fio and others say, read; and what cannot be read, quoted."""

import json

import pytest

from reports.perf.results import CaseRun, Reading
from reports.perf.tables import dbench_lines
from reports.perf.tools import Unreadable, percentile, read, value, write_line
from workloads.perf.experiment import Number

DBENCH = """dbench version 4.00 - Copyright Andrew Tridgell 1999-2004

Running for 2 seconds with load '/usr/share/dbench/client.txt' and minimum warmup 0 secs
   1 of 16 processes prepared for launch   0 sec
  16      1203  1100.21 MB/sec  execute   1 sec  latency 31.002 ms

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 NTCreateX    5761605     0.172   312.057
 Rename        243937     1.406   277.344
 Flush         403792    10.944   359.494

Throughput 908.444 MB/sec (sync dirs)  40 clients  40 procs  max_latency=359.500 ms
"""
FIO = {
    "jobs": [
        {
            "error": 0,
            "write": {"io_bytes": 8 << 30, "bw_bytes": 38377882, "runtime": 223689, "iops": 1.5},
            "sync": {"lat_ns": {"percentile": {"50.000000": 905216, "99.000000": 2000000}}},
        }
    ]
}


def number(key, better="less", clock="wall", name="a number"):
    return Number(name, key, "us", better, clock)


def test_dbench_is_read_and_its_table_is_written_again_as_it_was():
    """Operation, Count, AvgLat, MaxLat and the Throughput line, byte for byte."""
    found = read("dbench", DBENCH, [number("throughput"), number("Rename.average")])
    assert found.numbers["throughput"] == 908.444
    assert found.numbers["max_latency"] == 359.5
    assert (found.numbers["Rename.average"], found.numbers["Rename.max"]) == (1.406, 277.344)
    again = "\n".join(dbench_lines(found.table, found.line))
    assert again == DBENCH[DBENCH.index(" Operation") :].rstrip("\n")


def test_fio_is_read_from_its_json_also_behind_a_note():
    """Throughput in MiB a second, runtime, latency of its fsyncs."""
    found = read("fio", "note: both iodepth >= 1\n" + json.dumps(FIO), [number("bw"), number("sync.p50")])
    assert found.numbers["bw"] == pytest.approx(36.6, abs=0.01)
    assert found.numbers["runtime"] == 223689
    assert found.numbers["sync.p50"] == pytest.approx(905.2, abs=0.1)
    assert found.line == (
        "WRITE: bw=36.6MiB/s (38.4MB/s), 36.6MiB/s-36.6MiB/s (38.4MB/s-38.4MB/s), io=8192MiB (8590MB), "
        "run=223689-223689msec"
    )


def test_the_write_line_is_that_of_fio_for_large_and_small_amounts():
    """107MiB/s and 16.0GiB, as the seed's table has them."""
    assert "bw=107MiB/s (112MB/s)" in write_line(107 * (1 << 20), 16 << 30, 10)
    assert "io=16.0GiB (17.2GB)" in write_line(107 * (1 << 20), 16 << 30, 10)
    assert write_line(2000 * 1024, 4 << 20, 2048).startswith("WRITE: bw=2000KiB/s (2048kB/s)")


def test_lists_become_a_median_a_mean_and_the_slowest_of_100():
    """Of the last line that is an object."""
    said = 'starting\n{"old": [1]}\n{"rename": [' + ", ".join(map(str, range(1, 101))) + '], "rate": 7}\n'
    found = read("json", said, [number("rename.median"), number("rate")])
    assert found.numbers == {
        "rename.median": 50.5,
        "rename.mean": 50.5,
        "rename.p10": 10,
        "rename.p99": 99,
        "rename.max": 100,
        "rate": 7,
    }
    assert len(found.samples["rename"]) == 100
    assert percentile([5], 99) == 5


def test_a_pattern_reads_its_group():
    """The first match of each number's own."""
    found = read("pattern", "made 10\ntook 12.5 us\n", [number(r"took ([\d.]+) us", name="time")])
    assert found.numbers == {"time": 12.5}


@pytest.mark.parametrize(
    ("reader", "said", "quoted"),
    [
        ("dbench", "Failed to open /mnt/x: No such file\n", "Failed to open"),
        ("dbench", "Throughput 9.1 MB/sec  4 clients  4 procs  max_latency=3.5 ms\n", "no table"),
        ("fio", "fio: failed parsing\n", "failed parsing"),
        ("fio", json.dumps({"jobs": []}), "0 groups"),
        ("json", "Traceback: it broke\n", "it broke"),
        ("json", '{"rate": "fast"}\n', "fast"),
        ("pattern", "took ages\n", "took ages"),
    ],
)
def test_what_cannot_be_read_is_quoted(reader, said, quoted):
    """Never a number out of thin air."""
    with pytest.raises(Unreadable, match=quoted):
        read(reader, said, [number(r"took ([\d.]+) us")])


def test_a_number_that_is_not_there_is_named_with_those_that_are():
    """A short run of dbench may have no Flush."""
    with pytest.raises(Unreadable, match=r"no Deltree\.max .*NTCreateX\.average"):
        read("dbench", DBENCH, [number("Deltree.max")])


def test_a_number_that_may_miss_is_not_asked_for():
    """dbench of a few seconds may have no Rename; the rest of its table is read."""
    rename = Number("rename", "Nothing.max", "ms", "less", may_miss=True)
    assert "Nothing.max" not in read("dbench", DBENCH, [rename]).numbers


def test_by_the_processor_waiting_for_one_does_not_count():
    """Half of the time there was no processor: half the latency, twice the rate."""
    run = CaseRun("one", 4.0, 2.0, Reading({"x": 100.0}))
    assert value(number("x"), run, "json") == 100
    assert value(number("x", clock="processor"), run, "json") == 50
    assert value(number("x", "more", "processor"), run, "json") == 200
    assert [value(number(key), run, "json") for key in ("wall_s", "processor_s")] == [4, 2]
