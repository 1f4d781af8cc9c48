"""
Which planted bugs were seen, and by what first.

In:       BROKEN verdicts of a stock kernel and of the same kernel with planted bugs, on the same workloads.
Out:      Detection, one a planted bug; a table.
Not here: the bugs (kernel/series/planted/), whether a verdict is right (oracles/).

What the stock kernel gives too, the same violation on the same workload and profile, detects nothing.
"""

from collections.abc import Iterable, Iterator

from oracles.finding import Witness
from oracles.verdict import Verdict
from reports.results import Detection

Judged = tuple[Witness, Verdict]
Sighting = tuple[str, str, str, str, str]


def sightings(witness: Witness, verdict: Verdict) -> Iterator[Sighting]:
    """What makes two violations of two kernels the same one."""
    for violation in verdict.violations:
        yield (witness.profile, witness.workload, verdict.oracle, violation.kind, violation.role)


def detect(judged: list[Judged], seconds: dict[str, dict[int, float]]) -> list[Detection]:
    """
    seconds: by KERNEL word and experiment number. A word with planted bugs is held against the same word
    without them, when that was run, too.
    Detection.seconds: spent on that kernel's experiments up to and with the one that saw it.
    """
    known: dict[str, set[Sighting]] = {}
    for witness, verdict in judged:
        known.setdefault(witness.kernel, set()).update(sightings(witness, verdict))
    return [
        _detection(word, judged, known.get(stock_of(word), set()), seconds[word])
        for word in seconds
        if stock_of(word) != word and stock_of(word) in seconds
    ]


def stock_of(word: str) -> str:
    """The KERNEL word without its planted bugs."""
    return "+".join(part for part in word.split("+") if not part.startswith("planted/"))


def _detection(word: str, judged: list[Judged], known: set[Sighting], seconds: dict[int, float]) -> Detection:
    own = [(witness, verdict) for witness, verdict in judged if witness.kernel == word]
    new = [
        (witness.experiment, witness.place, witness, verdict)
        for witness, verdict in own
        if not known.issuperset(sightings(witness, verdict))
    ]
    name = "+".join(part for part in word.split("+") if part.startswith("planted/"))
    if not new:
        return Detection(name, False, "", "", "", 0.0)
    number, place, witness, _ = min(new, key=lambda one: one[:2])
    oracles = ", ".join(verdict.oracle for *where, _, verdict in new if where == [number, place])
    spent = sum(value for experiment, value in seconds.items() if experiment <= number)
    return Detection(name, True, oracles, witness.workload, witness.state, round(spent, 2))


def table(detections: Iterable[Detection]) -> list[str]:
    """The detection matrix: bug, oracle, first workload and state, seconds; the share found."""
    rows = list(detections)
    lines = [f"{'planted bug':<42}{'oracle':<22}{'workload':<36}{'state':<8}{'seconds':>8}"]
    for row in rows:
        found = (row.oracle, row.workload, row.state) if row.found else ("NOT FOUND", "", "")
        lines.append(f"{row.planted:<42}{found[0]:<22}{found[1]:<36}{found[2]:<8}{row.seconds:>8.1f}")
    lines.append(f"found {sum(row.found for row in rows)} of {len(rows)}")
    return lines
