"""
Which known bug a finding is.

In:       a finding: kernel, signature, the places and crash models that show it; what fixes removed.
Out:      explained(), is_named(); own_series() of a kernel; expected_findings() and found_in() of a run, to
          compare.
Not here: how each bug shows (known.py); trying the fixes (harness/runs/attribution.py).
"""

import functools
import re
from collections.abc import Collection, Iterable

import msgspec

from harness.evidence.known import EVERYWHERE, FIXES, KNOWN, KnownBug
from harness.states.crash import DEFAULT_MODELS
from oracles.finding import IsKnown
from oracles.profiles import profile
from oracles.spec import model_of
from reports.results import CRASH, FAULTS, Attribution, Summary
from workloads.library import library

FIXABLE = frozenset(bug for fix in FIXES for bug in fix.ids)


def found_in(summary: Summary) -> set[tuple[str, str]]:
    """(signature, workload) of a run of one profile, as expected_findings() has them."""
    return {(one.signature, workload) for one in summary.findings for workload in one.workloads}


def expected_findings(
    kernel: str,
    profile_name: str,
    kind: str = CRASH,
    maybe: bool = False,
    models: Collection[str] = DEFAULT_MODELS,
) -> set[tuple[str, str]]:
    """(signature, workload) of every finding that the stock kernel is known for in a run of these models.
    maybe: of those that come and go, which are not among the others."""
    return {
        (f"{profile(profile_name).filesystem} {signature}", known.workload)
        for known in KNOWN
        if known.workload != EVERYWHERE
        and known.shown_on(kernel, profile_name)
        and (known.kind, known.maybe) == (kind, maybe)
        and known.shown_by(models)
        for signature in known.signatures
    }


def expected_of_faulty(kernel: str, profile_name: str) -> set[tuple[str, str]]:
    """Of the workloads whose device fails where they say so, which are part of the library."""
    faulty = {one.name for one in library() if one.faulty}
    return {one for one in expected_findings(kernel, profile_name, FAULTS) if one[1] in faulty}


def signatures_everywhere(kernel: str, profile_name: str, kind: str = CRASH) -> set[str]:
    """Of bugs that may show in any workload: such a finding says nothing of others with its signature."""
    return {
        f"{profile(profile_name).filesystem} {signature}"
        for known in KNOWN
        if known.workload == EVERYWHERE and known.kind == kind and known.shown_on(kernel, profile_name)
        for signature in known.signatures
    }


class Explained(msgspec.Struct, frozen=True):
    """What a finding is. ids: of the bugs, each once; empty if one of its places (profile and workload) is
    not explained by a known bug. by_fix: whether a place has its bug from a fix that removed the finding."""

    ids: tuple[str, ...] = ()
    by_fix: bool = False


def explained(
    kernel: str,
    signature: str,
    places: Iterable[tuple[str, str]],
    attributed: Iterable[Attribution] = (),
    models: Collection[str] = DEFAULT_MODELS,
) -> Explained:
    """kernel: a kernel spec. Of the series on top of a source only those of FIXES remove bugs of the source:
    a bug is removed if all its fixes are there.
    attributed: by fixes that removed it (harness/runs/attribution.py). They say more than an entry of what
    comes and goes, or shows EVERYWHERE, and less than any other entry that names the workload.
    models: of the states that show it."""
    by_fix = {(one.profile, one.workload): one.ids for one in attributed}
    found, asked = [], False
    for place in places:
        entries = _showing(kernel, signature, place[0], models)
        ids = _surely(entries, place[1])
        if not ids and place in by_fix:
            ids, asked = by_fix[place], True
        found.append(ids or _first(entries, kernel, place[1]))
    if not found or not all(found):
        return Explained()
    return Explained(tuple(dict.fromkeys(one for each in found for one in each)), asked)


def is_named(
    kernel: str, signature: str, place: tuple[str, str], models: Collection[str] = DEFAULT_MODELS
) -> bool:
    """Whether KNOWN says by itself which bug this is. An entry of what comes and goes, or shows EVERYWHERE,
    does not where several bugs show the same on the profile."""
    profile_name, workload = place
    entries = _showing(kernel, signature, profile_name, models)
    if _surely(entries, workload):
        return True
    return len({bug.id for bug in entries}) == 1 and bool(_first(entries, kernel, workload))


def knows() -> IsKnown:
    """Whether KNOWN explains what a witness shows, whatever attribution learns later: so a finding keeps the
    witness with which it was repeated."""

    @functools.cache
    def asked(kernel: str, signature: str, place: tuple[str, str], model: str) -> bool:
        return bool(explained(kernel, signature, [place], models=[model]).ids)

    return lambda witness, signature: asked(
        witness.kernel, signature, (witness.profile, witness.workload), model_of(witness.state)
    )


def own_series(kernel: str) -> set[str]:
    """Those of a kernel spec that are no fixes of ours."""
    return {*kernel.split("+")[1:]} - {fix.series for fix in FIXES}


def _showing(kernel: str, signature: str, profile_name: str, models: Collection[str]) -> list[KnownBug]:
    """The entries of bugs that the kernel has, and that show so on the profile."""
    missing = {bug for fix in FIXES for bug in fix.ids if fix.series not in kernel.split("+")}
    fixed = FIXABLE - missing
    source = kernel.partition("+")[0]
    return [
        bug
        for bug in KNOWN
        if bug.id not in fixed
        and bug.shown_on(source, profile_name)
        and bug.shown_by(models)
        and _has(bug, signature)
    ]


def _surely(entries: Iterable[KnownBug], workload: str) -> tuple[str, ...]:
    """Of all that name the workload, but as one that shows it in some recordings only."""
    named = (one.id for one in entries if one.workload == workload and not one.maybe)
    return tuple(dict.fromkeys(named))


def _first(entries: Iterable[KnownBug], kernel: str, workload: str) -> tuple[str, ...]:
    """Of the first one for the workload. A bug that shows EVERYWHERE would hide all that a series of the
    user's does: on a kernel with one it counts only where no fix could tell it."""
    own = own_series(kernel)
    for one in entries:
        anywhere = one.workload == EVERYWHERE and not (own and one.id in FIXABLE)
        if anywhere or one.workload == workload:
            return (one.id,)
    return ()


def _has(bug: KnownBug, signature: str) -> bool:
    named = {f"{bug.filesystem} {one}" for one in bug.signatures}
    asked = {signature, _without_fault(signature)} if bug.kind == CRASH else {signature}
    return not asked.isdisjoint(named)


def _without_fault(signature: str) -> str:
    """What a loss that a sweep of faults shows is called after a power failure: a bug of the second is there
    in the first, too, whether the device fails or is only slow."""
    told, kept = re.subn(r" told: (.*) untold \(", r" durable: \1 (", signature)
    return told if kept else signature.replace(" contained: ", " durable: ")
