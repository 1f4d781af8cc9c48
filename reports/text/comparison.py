"""
Two kernels side by side: what one run says of A and of B, workload by workload.

In:       a Question with `against`, its Summary, the Digest of every experiment.
Out:      Comparison, which is compare.json; what it says in a sentence.
Not here: the page (html.py, templates/compare.html), the last lines (reports/terminal/compare.py).

A is the kernel held against (--against), B the kernel in question (--kernel).
"""

import enum
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from oracles.verdict import Answer
from reports import formats
from reports.results import Finding, LogFigures, Question, Summary
from reports.text.counting import number
from reports.text.digest import Digest, worst
from reports.text.figures import FIGURES, LABELS


class Change(enum.StrEnum):
    """From A to B, of one oracle on one workload. The order is that of the page: worst first.

    broken: BROKEN in B, HOLDS in A. fixed: the other way round. different: BROKEN in both, by violations of
    other kinds. both: BROKEN in both alike. unknown: one side or both could not say. silent: one side had
    nothing to look at, as the tree of a mount that failed. same: HOLDS in both.
    """

    BROKEN = "broken"
    FIXED = "fixed"
    DIFFERENT = "different"
    UNKNOWN = "unknown"
    SILENT = "silent"
    BOTH = "both"
    SAME = "same"


ALIKE = (Change.SAME, Change.BOTH)
WORDS = {
    Change.BROKEN: "BROKEN in B only",
    Change.FIXED: "BROKEN in A only",
    Change.DIFFERENT: "BROKEN in both, in different ways",
    Change.UNKNOWN: "UNKNOWN",
    Change.SILENT: "checked on one side only",
    Change.BOTH: "BROKEN in both, in the same way",
    Change.SAME: "HOLDS in both",
}


class Half(msgspec.Struct, frozen=True):
    """One oracle's answer on one kernel.

    answer: the worst one; "" when the oracle was not asked.
    holds, broken, unknown: states with that answer.
    asked: how many things it looked at.
    kinds: kinds of violation, as they stand in signatures.
    state: the first state that is not HOLDS, or "".
    findings: ids of findings.
    """

    answer: str = ""
    holds: int = 0
    broken: int = 0
    unknown: int = 0
    asked: int = 0
    kinds: tuple[str, ...] = ()
    state: str = ""
    findings: tuple[str, ...] = ()


class Cell(msgspec.Struct, frozen=True):
    """One oracle on both kernels.

    oracle: its name.
    change: what differs: broken and fixed are BROKEN in B only and in A only; different is BROKEN in both,
            in different ways; both is BROKEN in both alike; silent means that one side had nothing to look
            at; same is HOLDS in both.
    a, b:   the answer on that kernel.
    """

    oracle: str
    change: Change
    a: Half
    b: Half


class Pair(msgspec.Struct, frozen=True):
    """One workload on one profile, on both kernels.

    profile: the profile.
    workload: the workload.
    theme: its folder in the library, or "".
    a, b: numbers of the experiments, 0 for one that was not done.
    a_states, b_states: states that were judged.
    a_logs, b_logs: what each recording amounted to; the first is the one that was recovered.
    a_trouble, b_trouble: why an experiment examined nothing, or "".
    cells: one for each oracle.
    """

    profile: str
    workload: str
    theme: str
    a: int
    b: int
    a_states: int
    b_states: int
    a_logs: tuple[LogFigures, ...]
    b_logs: tuple[LogFigures, ...]
    cells: tuple[Cell, ...]
    a_trouble: str = ""
    b_trouble: str = ""

    @property
    def change(self) -> Change:
        return worst_change(cell.change for cell in self.cells)

    @property
    def answers(self) -> tuple[Answer, Answer]:
        """Each side's worst."""
        return (
            worst_answer([cell.a for cell in self.cells], self.a_trouble),
            worst_answer([cell.b for cell in self.cells], self.b_trouble),
        )


class FindingPair(msgspec.Struct, frozen=True):
    """The findings of one signature on both kernels.

    signature: as of a finding.
    oracle: that reported it.
    profile: where it was seen first.
    a, b: the id of its finding on that kernel, or "".
    a_count, b_count: states that show it there.
    a_workloads, b_workloads: workloads that show it there.
    """

    signature: str
    oracle: str
    profile: str
    a: str = ""
    b: str = ""
    a_count: int = 0
    b_count: int = 0
    a_workloads: tuple[str, ...] = ()
    b_workloads: tuple[str, ...] = ()

    @property
    def side(self) -> str:
        return "both" if self.a and self.b else "B" if self.b else "A"


class Comparison(msgspec.Struct, frozen=True):
    """compare.json: two kernels, verdict by verdict.

    against:      kernel A, which the other one is compared with.
    kernel:       kernel B, which is in question.
    exit:         1 when something is BROKEN on either kernel; else 3 when something is UNKNOWN or nothing was
                  examined; else 0. `--only-new` does not change this key, only the exit status.
    same_program: whether both are the same kernel, byte for byte.
    changes:      by kind of change, how many cells there are; a cell is one oracle on one workload and
                  profile. broken counts what is BROKEN on B and HOLDS on A, fixed the opposite. The other
                  kinds are explained at Cell.
    findings:     one for each signature.
    pairs:        one for each workload and profile.
    """

    against: str
    kernel: str
    exit: int
    same_program: bool
    changes: dict[str, int]
    findings: tuple[FindingPair, ...]
    pairs: tuple[Pair, ...]


def compare(question: Question, summary: Summary, digests: Iterable[Digest]) -> Comparison:
    """question.against names A; the run's other kernel is B."""
    a_word, b_word = sides(question)
    pairs = paired(question, list(digests), summary.findings)
    counts = Counter(cell.change for pair in pairs for cell in pair.cells)
    programs = [question.kernels[word].get("linux_sha256", word) for word in (a_word, b_word)]
    return Comparison(
        against=a_word,
        kernel=b_word,
        exit=summary.exit,
        same_program=programs[0] == programs[1],
        changes={change.value: counts[change] for change in Change},
        findings=finding_pairs(summary.findings, a_word),
        pairs=pairs,
    )


def sides(question: Question) -> tuple[str, str]:
    """(A, B)."""
    others = [word for word in question.kernels if word != question.against]
    assert question.against in question.kernels
    assert len(others) == 1, question.kernels
    return question.against, others[0]


# --- pairs ---------------------------------------------------------------------------------------


def paired(
    question: Question, digests: Sequence[Digest], findings: Sequence[Finding] = ()
) -> tuple[Pair, ...]:
    """In the order of the run. Experiments are numbered kernel by kernel in one order, so the place in that
    order makes the pair: two files of the user may have one name."""
    a_word, b_word = sides(question)
    size = len(question.profiles) * len(question.workloads)
    places: dict[int, dict[str, Digest]] = {}
    for one in digests:
        places.setdefault((one.number - 1) % size, {})[one.kernel] = one
    return tuple(
        _pair(places[place].get(a_word), places[place].get(b_word), findings) for place in sorted(places)
    )


def _pair(a: Digest | None, b: Digest | None, findings: Sequence[Finding]) -> Pair:
    one = a or b
    assert one is not None
    names = dict.fromkeys(part.oracle for side in (a, b) if side for part in side.parts)
    cells = []
    for name in names:
        halves = half(a, name, findings), half(b, name, findings)
        cells.append(Cell(name, change(*halves), *halves))
    return Pair(
        profile=one.profile,
        workload=one.workload,
        theme=one.theme,
        a=a.number if a else 0,
        b=b.number if b else 0,
        a_states=a.state_count if a else 0,
        b_states=b.state_count if b else 0,
        a_logs=a.figures if a else (),
        b_logs=b.figures if b else (),
        cells=tuple(cells),
        a_trouble=a.reason if a else NOT_DONE,
        b_trouble=b.reason if b else NOT_DONE,
    )


NOT_DONE = "the experiment was not done"


def half(one: Digest | None, oracle: str, findings: Sequence[Finding] = ()) -> Half:
    part = next((part for part in one.parts if part.oracle == oracle), None) if one else None
    troubled = one is None or bool(one.reason)
    if one is None or part is None:
        return Half(Answer.UNKNOWN if troubled else "")
    shown = tuple(
        finding.id
        for finding in findings
        if finding.oracle == oracle
        and finding.seen_on(one.kernel, one.profile)
        and one.workload in finding.workloads
        and f"{finding.kind} ({finding.role})" in part.kinds
    )
    return Half(
        answer=worst(part.broken, part.unknown + troubled),
        holds=part.holds,
        broken=part.broken,
        unknown=part.unknown,
        asked=part.asked,
        kinds=part.kinds,
        state=part.violation_state or part.reason_state,
        findings=shown,
    )


def change(a: Half, b: Half) -> Change:
    if Answer.UNKNOWN in (a.answer, b.answer):
        return Change.UNKNOWN
    if not a.answer or not b.answer:
        return Change.SILENT
    if a.answer == b.answer == Answer.BROKEN:
        return Change.BOTH if a.kinds == b.kinds else Change.DIFFERENT
    if a.answer == b.answer:
        return Change.SAME
    return Change.BROKEN if b.answer == Answer.BROKEN else Change.FIXED


def new_in_b(comparison: Comparison) -> bool:
    """Whether B breaks a promise that A keeps, or breaks one in a way that A does not. Where A is UNKNOWN
    nobody can say."""
    return any(
        cell.b.answer == Answer.BROKEN
        and cell.a.answer != Answer.UNKNOWN
        and not set(cell.b.kinds) <= set(cell.a.kinds)
        for pair in comparison.pairs
        for cell in pair.cells
    )


def exit_only_new(comparison: Comparison) -> int:
    """The exit status for B alone: 1 when it breaks something that A does not, 3 when something is UNKNOWN
    on either side, else 0."""
    if new_in_b(comparison):
        return 1
    troubled = any(pair.a_trouble or pair.b_trouble for pair in comparison.pairs)
    return 3 if comparison.exit == 3 or troubled or comparison.changes[Change.UNKNOWN] else 0


def worst_change(changes: Iterable[Change]) -> Change:
    order = list(Change)
    return min(changes, key=order.index, default=Change.UNKNOWN)


def worst_answer(halves: Sequence[Half], trouble: str) -> Answer:
    answers = {half.answer for half in halves}
    if Answer.BROKEN in answers:
        return Answer.BROKEN
    return Answer.UNKNOWN if trouble or Answer.UNKNOWN in answers else Answer.HOLDS


def finding_pairs(findings: Iterable[Finding], against: str) -> tuple[FindingPair, ...]:
    """Those of B only come first, then of A only, then of both."""
    found: dict[str, FindingPair] = {}
    for one in findings:
        before = found.get(one.signature, FindingPair(one.signature, one.oracle, one.profile))
        side = "a" if one.kernel == against else "b"
        fields = {side: one.id, f"{side}_count": one.count, f"{side}_workloads": one.workloads}
        found[one.signature] = msgspec.structs.replace(before, **fields)
    order = ("B", "A", "both")
    return tuple(sorted(found.values(), key=lambda pair: (order.index(pair.side), pair.signature)))


def write_compare(run: Path, comparison: Comparison) -> Path:
    """run/compare.json, whole. Errors: OSError."""
    aside = run / "compare.json.tmp"
    aside.write_bytes(formats.pretty("compare.json", comparison))
    return aside.rename(run / "compare.json")


def differences(comparison: Comparison) -> list[tuple[Pair, Cell]]:
    """The cells that differ, worst first."""
    order = list(Change)
    found = [(pair, cell) for pair in comparison.pairs for cell in pair.cells if cell.change not in ALIKE]
    return sorted(found, key=lambda one: order.index(one[1].change))


# --- words ---------------------------------------------------------------------------------------


def verdict_words(comparison: Comparison) -> str:
    """What differs between the verdicts, or that nothing does, in one sentence."""
    counts = comparison.changes
    all_cells = sum(counts.values())
    if not all_cells:
        return "nothing was examined"
    parts = [
        f"{counts[change]:,} {WORDS[change]}" for change in Change if counts[change] and change not in ALIKE
    ]
    alike = f"{counts[Change.BOTH]:,} {WORDS[Change.BOTH]}" if counts[Change.BOTH] else ""
    cells = f"{number(all_cells, 'verdict')} per kernel"
    if not parts:
        return f"no difference in {cells}" + (f"; {alike}" if alike else ", all HOLD")
    return f"of {cells}: " + "; ".join([*parts, *([alike] if alike else [])])


def headline(comparison: Comparison) -> str:
    """The reviewer's question: is B worse than A?"""
    counts = comparison.changes
    if counts[Change.BROKEN]:
        return "B breaks promises that A keeps."
    if counts[Change.DIFFERENT]:
        return "A and B break promises differently."
    if counts[Change.UNKNOWN] or counts[Change.SILENT] or comparison.exit == 3:
        return "No promise is broken by B only, but some verdicts could not be compared."
    if counts[Change.FIXED]:
        rest = "; other promises are broken in both" if counts[Change.BOTH] else ""
        return f"B keeps promises that A breaks{rest}."
    if counts[Change.BOTH]:
        return "No difference: A and B break the same promises."
    return "No difference: A and B keep every promise."


class Spread(msgspec.Struct, frozen=True):
    """The least and the most of one figure over all recordings of one side."""

    least: int
    most: int

    def __str__(self) -> str:
        return f"{self.least:,}" if self.least == self.most else f"{self.least:,} to {self.most:,}"


def spread(logs: Sequence[LogFigures], name: str) -> Spread:
    values = [getattr(log, name) for log in logs]
    return Spread(min(values), max(values))


def apart(pair: Pair, name: str) -> bool:
    """Whether every recording of A has less of it than every one of B, or more."""
    a, b = spread(pair.a_logs, name), spread(pair.b_logs, name)
    return a.most < b.least or b.most < a.least


def log_differences(comparison: Comparison) -> list[Pair]:
    """Pairs whose logs differ, whatever the recording: the largest difference in FLUSH and FUA first, then in
    bytes."""

    def size(pair: Pair) -> tuple[int, int, int]:
        a, b = pair.a_logs[0], pair.b_logs[0]
        commits = abs(a.flush - b.flush) + abs(a.fua - b.fua)
        return (-commits, -abs(a.bytes - b.bytes), -abs(a.entries - b.entries))

    return sorted(
        (pair for pair in recorded(comparison) if any(apart(pair, name) for name in FIGURES)), key=size
    )


def recorded(comparison: Comparison) -> list[Pair]:
    """Those with a log on both sides."""
    return [pair for pair in comparison.pairs if pair.a_logs and pair.b_logs]


def differing(pair: Pair) -> list[str]:
    """ "FLUSH 5 -> 4" for each figure that differs; "5 to 6 -> 4" where recordings of one side do."""
    return [
        f"{label} {spread(pair.a_logs, name)} -> {spread(pair.b_logs, name)}"
        for name, label in zip(FIGURES, LABELS, strict=True)
        if apart(pair, name)
    ]
