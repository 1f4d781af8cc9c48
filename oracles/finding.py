"""
Many verdicts, few findings.

In:       BROKEN verdicts with the experiment and state that gave them.
Out:      Groups with one signature each, with the earliest state of the shortest workload as witness, of
          model O where there is one.
Not here: the verdicts (the oracles), the pages and the repro command (reports/, harness/).
"""

from collections.abc import Iterable

import msgspec

from oracles.spec import in_order, model_of, place_of_model
from oracles.verdict import Answer, Verdict, Violation


class Witness(msgspec.Struct, frozen=True):
    """One state that was judged.

    experiment: its number. operation_count: of the workload's setup and run: what "shortest" means.
    state: its spec; place: what orders the states of one experiment, earliest crash first.
    """

    experiment: int
    profile: str
    kernel: str
    workload: str
    operation_count: int
    state: str
    place: int


class Group(msgspec.Struct, frozen=True):
    """Violations with one signature on one kernel. count: states that show it.
    workloads: all that do, in order. models: of the states that show it."""

    signature: str
    oracle: str
    witness: Witness
    violation: Violation
    count: int
    workloads: tuple[str, ...]
    models: tuple[str, ...] = ("O",)


def signature(profile: str, oracle: str, violation: Violation) -> str:
    """What makes two violations the same finding: "btrfs durable: name lost (fsynced file)"."""
    return f"{profile} {oracle}: {violation.kind} ({violation.role})"


def group(judged: Iterable[tuple[Witness, Verdict]]) -> tuple[Group, ...]:
    """Groups in order of their signatures, then kernels; the same whatever the order of `judged`."""
    seen: dict[tuple[str, str], list[tuple[Witness, str, Violation]]] = {}
    for witness, verdict in judged:
        if verdict.answer is not Answer.BROKEN:
            continue
        for violation in verdict.violations:
            key = (signature(witness.profile, verdict.oracle, violation), witness.kernel)
            seen.setdefault(key, []).append((witness, verdict.oracle, violation))
    return tuple(_group(key[0], seen[key]) for key in sorted(seen))


def _group(name: str, members: list[tuple[Witness, str, Violation]]) -> Group:
    witness, oracle, violation = min(members, key=lambda member: _rank(member[0], member[2]))
    return Group(
        name,
        oracle,
        witness,
        violation,
        len({(member.experiment, member.state) for member, _, _ in members}),
        tuple(sorted({member.workload for member, _, _ in members})),
        in_order(model_of(member.state) for member, _, _ in members),
    )


def _rank(witness: Witness, violation: Violation) -> tuple[int, int, str, int, int, str, str, str]:
    """A state of model O before all others: it presumes least of the device."""
    return (
        place_of_model(witness.state),
        witness.operation_count,
        witness.workload,
        witness.experiment,
        witness.place,
        witness.state,
        violation.subject,
        violation.found,
    )
