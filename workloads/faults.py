"""
A fault point: what fails, during which operation, and where on the device.

In:       nothing (FaultPoint), or a spec (parse_point).
Out:      FaultPoint and its spec; the operations that make the device fail there.
Not here: which points a workload has (harness/stages/fault_points.py), the device itself
          (harness/guests/agent/faults.c).

    F:error-writes@3          every write and FLUSH during operation 3 fails
    F:error-writes@3:8192+8   only those of 8 sectors from 8192 on
    F:error-writes@3:flush    FLUSH alone
    F:drop-writes@3-          from operation 3 on, until the workload has ended
    F:script                  as the workload's own `fault` lines say
"""

import re

import msgspec

from workloads.workload import Operation, Workload

KINDS = ("error-writes", "drop-writes", "corrupt", "error-reads", "delay")
SCRIPT = "script"
FLUSH = "flush"
# One byte of each write: any does, since a checksum covers all of a block. Behind the first sector of none.
CORRUPT_BYTE, CORRUPT_VALUE = 101, 165
DELAY_MS = 10
OFF = Operation("fault", mode="off")


class FaultPoint(msgspec.Struct, frozen=True):
    """
    kind:      of KINDS, or SCRIPT. operation: Step.index; of a script that of its first fault line.
    stays:     from there on, and not during that operation alone.
    part:      "" for the whole device, FLUSH, or "START+COUNT,..." in sectors of 512 B.
    """

    kind: str
    operation: int
    stays: bool = False
    part: str = ""

    @property
    def spec(self) -> str:
        if self.kind == SCRIPT:
            return f"F:{SCRIPT}"
        return f"F:{self.kind}@{self.operation}{'-' if self.stays else ''}" + (
            f":{self.part}" if self.part else ""
        )

    def on(self) -> Operation:
        """The operation that makes the device fail. Not of a script, which has its own."""
        name = {"": "all", FLUSH: FLUSH}.get(self.part, "") if self.kind == "error-writes" else ""
        numbers = {"corrupt": (CORRUPT_BYTE, CORRUPT_VALUE), "delay": (0, DELAY_MS)}
        offset, length = numbers.get(self.kind, (0, 0))
        target = "" if self.part == FLUSH else self.part
        return Operation("fault", mode=self.kind, name=name, target=target, offset=offset, length=length)


def parse_point(spec: str, workload: Workload) -> FaultPoint:
    """Errors: ValueError, which says what is wrong."""
    if spec == f"F:{SCRIPT}":
        return script_point(workload)
    match = re.fullmatch(r"F:([a-z-]+)@(\d+)(-?)(?::(flush|\d+\+\d+(?:,\d+\+\d+)*))?", spec)
    if match is None or match[1] not in KINDS:
        raise ValueError(
            f"{spec} is not a fault point. Write one such as F:error-writes@3; the kinds are "
            f"{', '.join(KINDS)}"
        )
    count = len(workload.setup) + len(workload.run)
    if not len(workload.setup) <= int(match[2]) < count:
        raise ValueError(
            f"{spec}: the operations of run have the numbers {len(workload.setup)} to {count - 1}"
        )
    return FaultPoint(match[1], int(match[2]), bool(match[3]), match[4] or "")


def script_point(workload: Workload) -> FaultPoint:
    """Errors: ValueError when the workload has no fault line."""
    for index, operation in enumerate(workload.run, len(workload.setup)):
        if operation.word == "fault":
            return FaultPoint(SCRIPT, index, stays=True)
    raise ValueError(f"F:{SCRIPT}: {workload.name} has no fault line")


def kinds_of(point: FaultPoint, workload: Workload) -> frozenset[str]:
    """Every kind of fault that the device has at this point."""
    if point.kind != SCRIPT:
        return frozenset((point.kind,))
    return frozenset(each.mode for each in workload.run if each.word == "fault") - {"off"}
