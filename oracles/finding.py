"""
Many verdicts, few findings.

In:       BROKEN verdicts with the experiment and state that gave them.
Out:      Groups with one signature each, with the earliest state of the shortest workload as witness, of
          model O where there is one, and of what is not known where there is such.
Not here: the verdicts (the oracles), the pages and the repro command (reports/, harness/).
"""

from collections.abc import Callable, Iterable

import msgspec

from oracles.profiles import profile
from oracles.spec import in_order, model_of, place_of_model
from oracles.verdict import Answer, Verdict, Violation


class Witness(msgspec.Struct, frozen=True):
    """One state that was judged.

    experiment: its number. operation_count: of the workload's setup and run: what "shortest" means.
    state: its spec; place: what orders the states of one experiment, earliest crash first.
    device: what it was recorded on, "fast" or "slow".
    """

    experiment: int
    profile: str
    kernel: str
    workload: str
    operation_count: int
    state: str
    place: int
    device: str = "fast"


class Group(msgspec.Struct, frozen=True):
    """Violations with one signature on one kernel and device. count: states that show it.
    places: every profile and workload that does, in order. models: of the states that show it."""

    signature: str
    oracle: str
    witness: Witness
    violation: Violation
    count: int
    places: tuple[tuple[str, str], ...]
    models: tuple[str, ...] = ("O",)

    @property
    def profiles(self) -> tuple[str, ...]:
        return tuple(sorted({name for name, _ in self.places}))

    @property
    def workloads(self) -> tuple[str, ...]:
        return tuple(sorted({workload for _, workload in self.places}))


def signature(profile_name: str, oracle: str, violation: Violation) -> str:
    """What makes two violations the same finding: "btrfs durable: name lost (renamed fsynced file)". Of the
    profile its filesystem alone: mkfs and mount options rarely make another bug, and a finding tells on which
    profiles it was seen. Errors: UnknownProfile."""
    return f"{profile(profile_name).filesystem} {oracle}: {violation.kind} ({violation.role})"


# Whether a known bug explains that a witness shows a signature.
IsKnown = Callable[[Witness, str], bool]


def group(
    judged: Iterable[tuple[Witness, Verdict]], is_known: IsKnown = lambda witness, signature: False
) -> tuple[Group, ...]:
    """Groups in order of signatures, kernels and devices; the same whatever the order of `judged`. is_known:
    a witness that a known bug explains would hide the others with its signature."""
    seen: dict[tuple[str, str, str], list[tuple[Witness, str, Violation]]] = {}
    for witness, verdict in judged:
        if verdict.answer is not Answer.BROKEN:
            continue
        for violation in verdict.violations:
            name = signature(witness.profile, verdict.oracle, violation)
            key = (name, witness.kernel, witness.device)
            seen.setdefault(key, []).append((witness, verdict.oracle, violation))
    return tuple(_group(key[0], seen[key], is_known) for key in sorted(seen))


def _group(name: str, members: list[tuple[Witness, str, Violation]], is_known: IsKnown) -> Group:
    witness, oracle, violation = min(
        members, key=lambda member: (is_known(member[0], name), *_rank(member[0], member[2]))
    )
    return Group(
        name,
        oracle,
        witness,
        violation,
        len({(member.experiment, member.state) for member, _, _ in members}),
        tuple(sorted({(member.profile, member.workload) for member, _, _ in members})),
        in_order(model_of(member.state) for member, _, _ in members),
    )


def _rank(witness: Witness, violation: Violation) -> tuple[int, int, int, str, int, int, str, str, str]:
    """A state of model O before all others, for it presumes least of the device; then fewest operations, the
    earliest state, the shortest spec (least is lost, the cut is the first); the rest only to be the same on
    every run."""
    return (
        place_of_model(witness.state),
        witness.operation_count,
        witness.place,
        witness.workload,
        witness.experiment,
        len(witness.state),
        witness.state,
        violation.subject,
        violation.found,
    )
