"""
Read what a tool said.

In:       its standard output.
Out:      Reading; value() of a Number; Unreadable, which quotes what could not be read.
Not here: running the tool (harness/perf/), what the numbers mean.

Keys of a reader's numbers:
dbench    throughput (MB/sec), max_latency (ms), OPERATION.count, .average, .max (ms)
fio       bw (MiB/s), runtime (ms), sync.p50, sync.p99 (us), from its JSON
json      the last line that is an object: NAME of a number; of a list NAME.median, .mean, .p10, .p99,
          .max
pattern   the first match of the number's own regular expression
any       wall_s, processor_s: of the whole case, with starting the tool

Where the host has other work, a median of many short calls is hardly touched by it; of calls that take
milliseconds the tenth that were quickest are.
"""

import re
import statistics
from collections.abc import Callable, Sequence

import msgspec

from reports.perf.results import CaseRun, Reading, Row
from workloads.perf.experiment import Number

QUOTED_LINES = 4
OF_THE_RUN = ("wall_s", "processor_s")
_ROW = re.compile(r" *([A-Za-z]+) +(\d+) +(\d+\.\d+) +(\d+\.\d+) *$")
_THROUGHPUT = re.compile(
    r"Throughput ([\d.]+) MB/sec(?: \([^)]*\))? +\d+ clients +\d+ procs +max_latency=([\d.]+) ms"
)


class Unreadable(Exception):
    """There is no such number in what the tool said; the message quotes it."""


def quoted(said: str) -> str:
    """The last lines that say something."""
    lines = [line.rstrip() for line in said.splitlines() if line.strip()][-QUOTED_LINES:]
    return " | ".join(f"{line[:120]!r}" for line in lines) or "nothing at all"


def read(reader: str, said: str, numbers: Sequence[Number]) -> Reading:
    """Errors: Unreadable, also when one of the numbers is not there."""
    of_tool = [number for number in numbers if number.key not in OF_THE_RUN]
    reading = READERS[reader](said, of_tool)
    for number in of_tool:
        key = number.name if reader == "pattern" else number.key
        if key not in reading.numbers and not number.may_miss:
            have = ", ".join(sorted(reading.numbers)) or "none"
            raise Unreadable(f"no {number.key} in what the tool said (it has {have}): {quoted(said)}")
    return reading


def has(number: Number, run: CaseRun, reader: str) -> bool:
    key = number.name if reader == "pattern" else number.key
    return number.key in OF_THE_RUN or key in run.reading.numbers


def value(number: Number, run: CaseRun, reader: str) -> float:
    """The number of one boot. By the processor's clock a time is as much shorter, and a rate as much higher,
    as the guest had to wait for a processor."""
    if number.key in OF_THE_RUN:
        return run.wall_s if number.key == "wall_s" else run.processor_s
    found = run.reading.numbers[number.name if reader == "pattern" else number.key]
    if number.clock == "wall":
        return found
    share = run.processor_s / run.wall_s
    return found / share if number.better == "more" else found * share


# --- dbench --------------------------------------------------------------------------------------


def read_dbench(said: str, _numbers: Sequence[Number]) -> Reading:
    throughputs = list(_THROUGHPUT.finditer(said))
    if not throughputs:
        raise Unreadable(f"dbench gave no Throughput line: {quoted(said)}")
    table = said.rpartition("MaxLat")[2]
    rows = tuple(
        Row(match[1], int(match[2]), float(match[3]), float(match[4]))
        for line in table.splitlines()
        if (match := _ROW.match(line))
    )
    if not rows:
        raise Unreadable(f"dbench gave no table of operations: {quoted(said)}")
    last = throughputs[-1]
    numbers = {"throughput": float(last[1]), "max_latency": float(last[2])}
    for row in rows:
        numbers[f"{row.operation}.count"] = row.count
        numbers[f"{row.operation}.average"] = row.average
        numbers[f"{row.operation}.max"] = row.max
    return Reading(numbers, table=rows, line=last[0])


# --- fio -----------------------------------------------------------------------------------------


class _Latency(msgspec.Struct, frozen=True):
    percentile: dict[str, int] = {}


class _Sync(msgspec.Struct, frozen=True):
    lat_ns: _Latency = _Latency()


class _Write(msgspec.Struct, frozen=True):
    io_bytes: int
    bw_bytes: int
    runtime: int


class _Job(msgspec.Struct, frozen=True):
    write: _Write
    error: int = 0
    sync: _Sync = _Sync()


class _Fio(msgspec.Struct, frozen=True):
    """The part of fio's JSON that we read; fio(1), --output-format=json."""

    jobs: list[_Job]


def read_fio(said: str, _numbers: Sequence[Number]) -> Reading:
    start = said.find("{")  # notes may stand before
    try:
        told = msgspec.json.decode(said[start:] if start >= 0 else "", type=_Fio)
    except msgspec.DecodeError as error:
        raise Unreadable(f"fio's JSON cannot be read ({error}): {quoted(said)}") from error
    if len(told.jobs) != 1 or told.jobs[0].error or not told.jobs[0].write.runtime:
        raise Unreadable(f"fio told of {len(told.jobs)} groups of jobs, or of an error: {quoted(said)}")
    job = told.jobs[0]
    numbers = {"bw": job.write.bw_bytes / (1 << 20), "runtime": float(job.write.runtime)}
    for key, percentile in (("p50", "50.000000"), ("p99", "99.000000")):
        if percentile in job.sync.lat_ns.percentile:
            numbers[f"sync.{key}"] = job.sync.lat_ns.percentile[percentile] / 1000
    return Reading(numbers, line=write_line(job.write.bw_bytes, job.write.io_bytes, job.write.runtime))


def write_line(bw_bytes: float, io_bytes: int, runtime_ms: float) -> str:
    """As fio prints it for a group of jobs; of the group's own least and most its JSON tells nothing, and
    with group_reporting they are the same."""
    speed = f"{binary(bw_bytes)}/s"
    decimal = f"{decimal_words(bw_bytes)}/s"
    return (
        f"WRITE: bw={speed} ({decimal}), {speed}-{speed} ({decimal}-{decimal}), "
        f"io={binary(io_bytes)} ({decimal_words(io_bytes)}), run={runtime_ms:.0f}-{runtime_ms:.0f}msec"
    )


def binary(amount: float) -> str:
    return _words(amount, 1024, ("B", "KiB", "MiB", "GiB", "TiB"))


def decimal_words(amount: float) -> str:
    return _words(amount, 1000, ("B", "kB", "MB", "GB", "TB"))


def _words(amount: float, step: int, units: Sequence[str]) -> str:
    """The next unit only from 10,000 on, and three digits then: as fio has them."""
    at = 0
    while amount >= 10_000 and at < len(units) - 1:
        amount /= step
        at += 1
    digits = 0 if amount >= 100 or not at else 1 if amount >= 10 else 2
    return f"{amount:.{digits}f}{units[at]}"


# --- lists and patterns --------------------------------------------------------------------------


def read_json(said: str, _numbers: Sequence[Number]) -> Reading:
    lines = [line for line in said.splitlines() if line.startswith("{")]
    try:
        told = msgspec.json.decode(lines[-1] if lines else "", type=dict[str, float | list[float]])
    except msgspec.DecodeError as error:
        raise Unreadable(f"the last line is no JSON object of numbers ({error}): {quoted(said)}") from error
    numbers: dict[str, float] = {}
    samples: dict[str, tuple[float, ...]] = {}
    for name, found in told.items():
        if not isinstance(found, list):
            numbers[name] = found
        elif found:
            samples[name] = tuple(found)
            numbers[f"{name}.median"] = statistics.median(found)
            numbers[f"{name}.mean"] = statistics.fmean(found)
            numbers[f"{name}.p10"] = percentile(found, 10)
            numbers[f"{name}.p99"] = percentile(found, 99)
            numbers[f"{name}.max"] = max(found)
    return Reading(numbers, samples)


def percentile(sample: Sequence[float], percent: int) -> float:
    """The smallest value that so many of 100 do not exceed."""
    ordered = sorted(sample)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


def read_pattern(said: str, numbers: Sequence[Number]) -> Reading:
    found: dict[str, float] = {}
    for number in numbers:
        match = re.search(number.key, said, re.MULTILINE)
        if not match:
            raise Unreadable(f"{number.name}: no match of {number.key!r} in: {quoted(said)}")
        try:
            found[number.name] = float(match[1])
        except (ValueError, TypeError) as error:
            raise Unreadable(f"{number.name}: {match[1]!r} is no number, in {match[0]!r}") from error
    return Reading(found)


READERS: dict[str, Callable[[str, Sequence[Number]], Reading]] = {
    "dbench": read_dbench,
    "fio": read_fio,
    "json": read_json,
    "pattern": read_pattern,
}
