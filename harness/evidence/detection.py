"""
Which planted bugs were seen, and by what.

In:       BROKEN verdicts of a stock kernel and of the same kernel with planted bugs, on the same workloads;
          the findings made of them.
Out:      Detection, one a planted bug; Silence, one a profile of the stock kernel; the sweep's exit status;
          the detection matrix as text.
Not here: the bugs (kernel/series/planted/), which are swept where (sweep.py), whether a verdict is right
          (oracles/).

What the stock kernel gives too, the same violation on the same workload and profile, detects nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from harness.evidence.sweep import PLANTED
from oracles.finding import Witness, signature
from oracles.spec import in_order, model_of
from oracles.verdict import Verdict, Violation
from reports.results import Detection, Finding, OracleSight, Silence

Judged = tuple[Witness, Verdict]
Key = tuple[str, str, str, str, str, str]
Seconds = Mapping[str, Mapping[int, float]]


class Sighting(NamedTuple):
    witness: Witness
    oracle: str
    violation: Violation

    @property
    def place(self) -> tuple[int, int]:
        return self.witness.experiment, self.witness.place

    @property
    def key(self) -> Key:
        """What makes two violations of two kernels the same one."""
        witness, violation = self.witness, self.violation
        return witness.device, witness.profile, witness.workload, self.oracle, violation.kind, violation.role


def sightings(judged: Iterable[Judged]) -> Iterator[Sighting]:
    for witness, verdict in judged:
        for violation in verdict.violations:
            yield Sighting(witness, verdict.oracle, violation)


def stock_of(word: str) -> str:
    """The kernel spec without its planted bugs."""
    return "+".join(part for part in word.split("+") if not part.startswith(PLANTED))


def swept(kernels: Iterable[str]) -> list[str]:
    """The kernel specs with planted bugs whose stock kernel was run, too, in the order of their names."""
    words = set(kernels)
    return sorted(word for word in words if stock_of(word) != word and stock_of(word) in words)


def detect(judged: Iterable[Judged], seconds: Seconds, findings: Sequence[Finding]) -> list[Detection]:
    """seconds: by kernel spec and experiment number."""
    words = swept(seconds)
    if not words:
        return []
    by_kernel: dict[str, list[Sighting]] = {word: [] for word in seconds}
    for sighting in sightings(judged):
        by_kernel[sighting.witness.kernel].append(sighting)
    known = {word: {each.key for each in by_kernel[word]} for word in {stock_of(word) for word in words}}
    ids = {(finding.kernel, finding.signature): finding.id for finding in findings}
    return [
        _detection(
            word,
            [each for each in by_kernel[word] if each.key not in known[stock_of(word)]],
            seconds[word],
            ids,
        )
        for word in words
    ]


def _detection(
    word: str, new: list[Sighting], seconds: Mapping[int, float], ids: Mapping[tuple[str, str], str]
) -> Detection:
    name = "+".join(part for part in word.split("+") if part.startswith(PLANTED))
    whole = round(sum(seconds.values()), 2)
    if not new:
        return Detection(name, False, "", "", "", whole, kernel=word, swept_seconds=whole)
    first = min(new, key=lambda each: each.place)
    seen_first = dict.fromkeys(each.oracle for each in new if each.place == first.place)
    until = sum(value for number, value in seconds.items() if number <= first.witness.experiment)
    return Detection(
        planted=name,
        found=True,
        oracle=", ".join(seen_first),
        workload=first.witness.workload,
        state=first.witness.state,
        seconds=round(until, 2),
        models=in_order(model_of(each.witness.state) for each in new),
        kernel=word,
        profiles=tuple(dict.fromkeys(each.witness.profile for each in new)),
        swept_seconds=whole,
        device=first.witness.device,
        by_oracle=tuple(
            _sight(oracle, [each for each in new if each.oracle == oracle], ids)
            for oracle in dict.fromkeys(each.oracle for each in new)
        ),
    )


def _sight(oracle: str, seen: list[Sighting], ids: Mapping[tuple[str, str], str]) -> OracleSight:
    first = min(seen, key=lambda each: each.place)
    witness = first.witness
    return OracleSight(
        oracle=oracle,
        states=len({(each.witness.experiment, each.witness.state) for each in seen}),
        workloads=len({(each.witness.profile, each.witness.workload) for each in seen}),
        workload=witness.workload,
        state=witness.state,
        experiment=witness.experiment,
        finding=ids.get((witness.kernel, signature(witness.profile, oracle, first.violation)), ""),
    )


def silence(
    examined: Mapping[tuple[str, str], tuple[int, int]], findings: Sequence[Finding]
) -> list[Silence]:
    """Of the stock kernels of a sweep. examined: experiments and states by kernel spec and profile."""
    stock = {stock_of(word) for word in swept(dict.fromkeys(kernel for kernel, _ in examined))}
    return [
        Silence(
            kernel,
            profile,
            *counts,
            known=tuple(one.id for one in findings if one.known and one.seen_on(kernel, profile)),
            false=tuple(one.id for one in findings if not one.known and one.seen_on(kernel, profile)),
        )
        for (kernel, profile), counts in examined.items()
        if kernel in stock
    ]


def sweep_failed(detections: Iterable[Detection], stock: Iterable[Silence]) -> bool:
    """A bug was missed, or the stock kernel shows something that no known bug explains."""
    return not all(one.found for one in detections) or any(one.false for one in stock)


# --- as text -------------------------------------------------------------------------------------

NAME, ORACLE, WORKLOAD, STATE, CELL = 40, 22, 40, 10, 6


def table(detections: Iterable[Detection], stock: Iterable[Silence], oracles: Sequence[str]) -> list[str]:
    """The detection matrix: first who saw each bug first and where, then in how many workloads each oracle
    saw it; the share found, and what the stock kernel gave."""
    rows, silences = list(detections), list(stock)
    lines = [
        f"{'planted bug':<{NAME}}{'oracle':<{ORACLE}}{'first workload':<{WORKLOAD}}{'state':<{STATE}}seconds"
    ]
    lines += [_first(row) for row in rows]
    lines += [
        "",
        f"{'workloads, by oracle':<{NAME}}" + "".join(f"{name[: CELL - 1]:>{CELL}}" for name in oracles),
    ]
    lines += [_cells(row, oracles) for row in rows]
    false = sum(len(one.false) for one in silences)
    known = sum(len(one.known) for one in silences)
    profiles = ", ".join(one.profile for one in silences)
    lines += ["", f"detected {sum(row.found for row in rows)} of {len(rows)}"]
    lines += [
        (f"findings on the stock kernel that are no known bug: {false} ({profiles}; known bugs: {known})")
    ]
    return lines


def short(planted: str) -> str:
    return planted.replace(PLANTED, "")


def _first(row: Detection) -> str:
    found = (row.oracle, row.workload, row.state) if row.found else ("NOT FOUND", "", "")
    name = f"{short(row.planted):<{NAME - 1}} "
    state = f"{found[2][: STATE - 1]:<{STATE}}"
    return f"{name}{found[0]:<{ORACLE - 1}} {found[1]:<{WORKLOAD}}{state}{row.seconds:>7.1f}"


def _cells(row: Detection, oracles: Sequence[str]) -> str:
    counts = {sight.oracle: sight.workloads for sight in row.by_oracle}
    return f"{short(row.planted):<{NAME}}" + "".join(f"{counts.get(name, '.'):>{CELL}}" for name in oracles)
