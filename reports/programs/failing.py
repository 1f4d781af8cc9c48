"""
The device of an exported program that fails: dm-flakey and dm-delay above a loop device.

In:       a Reproducer whose way is the fault.
Out:      lines of a shell that make the device, make it fail, and let it recover; when the power fails.
Not here: the programs around them (export_sh.py, export_c.py), ours in a guest
          (harness/guests/agent/faults.c).

What is mounted, $N, lies on $N-bad, and that on the loop device $D. A FLUSH goes to every target of a table,
and dm-flakey fails it with the writes. So where writes alone fail, $N says that it has no write cache, and no
FLUSH gets through it; where a FLUSH fails as well, it has one. Behind the filesystem $N-bad has a few sectors
more: when these fail, FLUSH alone does.
"""

from collections.abc import Iterator

from reports.programs.export import NotInThisForm, Reproducer
from workloads.faults import FLUSH, OFF, SCRIPT
from workloads.text import format_operation
from workloads.workload import Operation

BEHIND_BYTES = 4096
SECTOR = 512
ALWAYS = "0 180"  # dm-flakey: seconds up, seconds down
LASTING = ("error-writes", "drop-writes")  # harness/stages/fault_points.py
DROP = Operation("fault", mode="drop-writes")
TARGETS = {
    "drop-writes": "flakey $D {at} " + ALWAYS + " 1 drop_writes",
    "error-writes": "flakey $D {at} " + ALWAYS + " 1 error_writes",
    "error-reads": "flakey $D {at} " + ALWAYS + " 1 error_reads",
    "corrupt": "flakey $D {at} " + ALWAYS + " 5 corrupt_bio_byte {fault.offset} w {fault.length} 0",
    "delay": "delay $D {at} {fault.length}",
}
SOUND = "linear $D {at}"


def faults(one: Reproducer) -> list[Operation]:
    """Every change of the device, in no order."""
    assert one.fault is not None
    if one.fault.kind != SCRIPT:
        return [one.fault.on()]
    return [operation for operation in one.run if operation.word == "fault"]


def cache_line(one: Reproducer) -> str:
    """Shell: what $N says of a write cache. Errors: NotInThisForm."""
    failing = [each for each in faults(one) if each.mode == "error-writes"]
    flushed = {each.name in ("all", FLUSH) for each in failing}
    if len(flushed) > 1:
        raise NotInThisForm(
            "writes with a FLUSH and writes without one fail in turn, which a single device cannot do"
        )
    if True in flushed:
        return ":"
    number = "$(dmsetup info -c --noheadings -o major,minor --separator : $N)"
    return f'echo "write through" >"/sys/dev/block/{number}/queue/write_cache"'


def table(fault: Operation, one: Reproducer) -> list[str]:
    """Of a `fault` operation, OFF among them. Errors: NotInThisForm."""
    end, behind = one.size_bytes // SECTOR, BEHIND_BYTES // SECTOR
    flush_alone = fault.name == FLUSH
    if fault.mode != "off" and fault.mode not in TARGETS:
        raise NotInThisForm(f"'{format_operation(fault)}': exported programs do not support this fault")
    bad = TARGETS.get(fault.mode, SOUND)
    lines = [
        f"{start} {length} {(bad if failing else SOUND).format(at=start, fault=fault)}"
        for start, length, failing in _segments(fault, end, flush_alone)
    ]
    last = (bad if flush_alone or fault.name == "all" else SOUND).format(at=end, fault=fault)
    return [*lines, f"{end} {behind} {last}"]


def _segments(fault: Operation, end: int, flush_alone: bool) -> Iterator[tuple[int, int, bool]]:
    """Start, length, and whether that fails; of the filesystem, in ascending order."""
    if flush_alone or not fault.target:
        yield 0, end, not flush_alone
        return
    at = 0
    for part in fault.target.split(","):
        start, count = map(int, part.split("+"))
        if start > at:
            yield at, start - at, False
        if count:
            yield start, count, True
        at = start + count
    if at < end:
        yield at, end - at, False


def quoted(fault: Operation, one: Reproducer) -> str:
    """The table as words of a shell, a line of it a word. Errors: NotInThisForm."""
    return " ".join(f'"{line}"' for line in table(fault, one))


LOADED = (
    "dmsetup suspend --nolockfs $N-bad && printf '%s\\n' {lines} | dmsetup load $N-bad && "
    "dmsetup resume $N-bad"
)
CREATED = "printf '%s\\n' {lines} | dmsetup create $N-bad"
DEVICES = "$N $N-bad"


def created(one: Reproducer) -> str:
    """Shell: the devices, sound, above $D, whose file gets longer. Errors: NotInThisForm."""
    lines = (
        f'truncate -s +{BEHIND_BYTES} "$W/disk" && losetup -c $D',
        CREATED.format(lines=quoted(OFF, one)),
        f'dmsetup create $N --table "0 {one.size_bytes // SECTOR} linear /dev/mapper/$N-bad 0"',
        cache_line(one),
    )
    return " &&\n\t".join(lines)


def changes(one: Reproducer, index: int) -> tuple[list[Operation], list[Operation]]:
    """What becomes of the device before and after this operation of setup and run."""
    assert one.fault is not None
    if one.fault.kind == SCRIPT or index != one.fault.operation:
        return [], []
    return [one.fault.on()], [] if one.fault.stays else [OFF]


def at_the_end(one: Reproducer) -> list[Operation]:
    """The power fails: all writes are dropped. Not where the fault itself lasts until then."""
    assert one.fault is not None
    return [] if one.fault.stays and one.fault.kind in LASTING else [DROP]


def may_fail(one: Reproducer, index: int) -> bool:
    """Whether the device may have failed by the time of this operation."""
    return one.fault is not None and index >= one.fault.operation
