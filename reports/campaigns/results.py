"""
A campaign at one moment, as data.

In:       nothing.
Out:      Campaign and its parts.
Not here: where they come from (harness/campaign/results.py), the page (reports/pages/campaign.py), lines of
          them (lines.py).
"""

import msgspec

RUNNING, STOPPED, WHOLE = "running", "stopped", "whole"


class CampaignCell(msgspec.Struct, frozen=True):
    """Bounds on a profile and a kernel. total: numbers in the bounds, 0 of random ones. drawn: those that the
    campaign looks at. done: of these, and of them equal: workloads that an earlier one equals."""

    kernel: str
    profile: str
    bounds: str
    total: int
    drawn: int
    done: int = 0
    equal: int = 0
    states: int = 0
    recovered: int = 0
    identical: int = 0
    proven: int = 0
    broken: int = 0
    unknown: int = 0

    @property
    def left(self) -> int:
        return self.drawn - self.done


class CampaignFinding(msgspec.Struct, frozen=True):
    """One signature on one kernel. states, experiments: that show it. first_seen: as "2026-11-26 17:05 UTC".
    workload, bounds, number, operations, state: of the shortest witness. id: in the folder of the evidence,
    "" when it is not summed up yet. known: IDs of bugs. learnt: sentences of what was done with it. minimal:
    the page of the smallest workload, as a link."""

    signature: str
    kernel: str
    profiles: tuple[str, ...]
    states: int
    experiments: int
    first_seen: str
    workload: str
    bounds: str
    number: int
    operations: int
    state: str
    id: str = ""
    known: tuple[str, ...] = ()
    learnt: tuple[str, ...] = ()
    minimal: str = ""


class CampaignWorker(msgspec.Struct, frozen=True):
    """busy_s: in experiments. seen: when its last experiment ended. here: whether it is connected now."""

    name: str
    experiments: int
    states: int
    busy_s: float
    seen: str
    here: bool = False


class CampaignPart(msgspec.Struct, frozen=True):
    """What was done in one part of the time. begin_s: from the start of the campaign."""

    begin_s: float
    experiments: int


class Campaign(msgspec.Struct, frozen=True):
    """state: of RUNNING, STOPPED, WHOLE. rate_per_s: experiments, of late. left_s: an estimate, 0 when there
    is none. stages: seconds by stage. reasons: of UNKNOWN, with how many experiments have each.
    checked, unasked: answers of the checker, its own and proven ones.
    troubles: sentences of the head. kept_bytes: of the rows; evidence_bytes: of whole experiments."""

    name: str
    folder: str
    state: str
    updated: str
    started: str
    powercut: str
    spent_s: float
    rate_per_s: float
    left_s: float
    batches: int
    batches_done: int
    cells: tuple[CampaignCell, ...]
    findings: tuple[CampaignFinding, ...]
    workers: tuple[CampaignWorker, ...]
    stages: dict[str, float]
    checked: int
    unasked: int
    reasons: tuple[tuple[str, int], ...]
    troubles: tuple[str, ...]
    kept_bytes: int
    evidence_bytes: int
    parts: tuple[CampaignPart, ...] = ()

    @property
    def drawn(self) -> int:
        return sum(one.drawn for one in self.cells)

    @property
    def done(self) -> int:
        return sum(one.done for one in self.cells)

    @property
    def experiments(self) -> int:
        return sum(one.done - one.equal for one in self.cells)

    @property
    def states(self) -> int:
        return sum(one.states for one in self.cells)

    @property
    def unknown(self) -> int:
        return sum(one.unknown for one in self.cells)

    @property
    def new(self) -> tuple[CampaignFinding, ...]:
        return tuple(one for one in self.findings if not one.known)

    @property
    def exit(self) -> int:
        """0 all was examined and everything HOLDS; 1 something is BROKEN; 3 UNKNOWN, or not all is done."""
        if self.findings:
            return 1
        return 3 if self.unknown or self.state != WHOLE or not self.experiments else 0
