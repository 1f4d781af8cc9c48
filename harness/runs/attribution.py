"""
Which known bug a finding is, where known.py does not name its workload: the one whose fix removes it.

In:       a run; the fixes of known.py.
Out:      Attributions, kept in followups.json. A finding is known when each of its places is.
Not here: the fixes (kernel/series/fix/); findings of workloads that are named (known.py).

Generated workloads are named nowhere. Each that shows something new is recorded again on its own kernel, then
on that kernel with one fix after the other until none of its signatures is left, and at last with all fixes
together, for bugs that show alike in one workload. What stays is new. What its own kernel does not show again
in OWN_MAX recordings is attributed to nothing. What comes and goes must stay away for longer than it takes to
come: with a fix it is recorded FIX_TIMES as often as its own kernel needed to show it. Some fixes make the
kernel commit where the log was wrong, which hides whatever else that log would show: an attribution therefore
names its series.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from harness.evidence.known import FIXES, Fix, known_ids
from harness.evidence.store import reading
from harness.evidence.summary import experiment_folders
from harness.evidence.triage import add_attributed
from harness.experiments.interestingness import InterestingnessTest, Target, signatures_of
from harness.guests.kernels import build_for
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.reruns import spec_of
from kernel.build import series
from kernel.word import source_word
from oracles.profiles import profile
from oracles.verdict import Tier
from reports.results import CRASH, Attribution, Experiment, read_experiment
from reports.text.counting import number
from workloads.workload import Workload

OWN_MAX = 10  # recordings of a workload on its own kernel, until all that it showed came again
FIX_TIMES = 5


class Shown(msgspec.Struct, frozen=True):
    """A workload on a profile, and what it shows that no bug explains yet. experiment: its number.
    recordings: how many its own kernel needed to show that again."""

    experiment: int
    kernel: str
    profile: str
    workload: Workload
    signatures: frozenset[str]
    recordings: int = 1


# (kernel spec, what to record once) -> of each the signatures that were seen; None where it was not possible.
Examine = Callable[[str, list[Shown]], list[frozenset[str] | None]]
Attributions = dict[tuple[str, str], list[Attribution]]  # by kernel and signature


def attribute(run: Path, progress: Progress) -> None:
    """Errors: NoResults, KernelError, NoFilesystemTool, OSError."""

    def examine(kernel: str, ones: list[Shown]) -> list[frozenset[str] | None]:
        progress.line(f"{number(len(ones), 'workload')} on {kernel}")
        return examined(run, kernel, ones, progress)

    add_attributed(run, attributions(unexplained(run), examine))


def unexplained(run: Path) -> Iterator[Shown]:
    """What power failures showed and KNOWN does not explain at these places. Errors: NoResults."""
    for folder in experiment_folders(run):
        with reading(folder):
            experiment = read_experiment(folder)
        facts, history = experiment.facts, experiment.history
        if facts.kind != CRASH or history is None or not history.known:
            continue
        if history.workload.program:
            continue
        place = (facts.profile, facts.workload)
        verdicts = [verdict for each in experiment.judgement.verdict_sets for verdict in each]
        new = {
            name
            for name in signatures_of(profile(facts.profile), verdicts)
            if not known_ids(facts.kernel, name, [place])
        }
        if new:
            yield Shown(facts.number, facts.kernel, facts.profile, history.workload, frozenset(new))


def attributions(shown: Iterable[Shown], examine: Examine) -> Attributions:
    found: Attributions = {}
    by_guest: dict[tuple[str, str], list[Shown]] = {}
    for one in shown:
        by_guest.setdefault((one.kernel, one.profile), []).append(one)
    for (kernel, profile_name), ones in by_guest.items():
        fixes = fixes_for(kernel, profile(profile_name).filesystem)
        if not fixes:
            continue
        left = _seen_again(kernel, ones, examine)
        together = [tuple(fixes)] if len(fixes) > 1 else []
        for tried in [*((fix,) for fix in fixes), *together]:
            if left:
                seen = _still_seen("+".join([kernel, *(fix.series for fix in tried)]), left, examine)
                left = _without(tried, left, seen, found)
    return found


def fixes_for(kernel: str, filesystem: str) -> list[Fix]:
    """Those that are for this source: where a series says `absent`, the bug is."""
    absent = {one.name: one.facts.absent for one in series()}
    source = source_word(kernel)
    return [fix for fix in FIXES if fix.filesystem == filesystem and source not in absent[fix.series]]


def _seen_again(kernel: str, ones: list[Shown], examine: Examine) -> list[Shown]:
    """A workload stands there more than once when one of its signatures took longer than another."""
    again: list[Shown] = []
    left = ones
    for recordings in range(1, OWN_MAX + 1):
        missed = []
        for one, seen in zip(left, examine(kernel, left) if left else [], strict=True):
            if seen is None:
                continue
            if came := one.signatures & seen:
                again.append(msgspec.structs.replace(one, signatures=came, recordings=recordings))
            if one.signatures - seen:
                missed.append(msgspec.structs.replace(one, signatures=one.signatures - seen))
        left = missed
    return again


def _still_seen(kernel: str, ones: list[Shown], examine: Examine) -> list[frozenset[str] | None]:
    """In all recordings of each; one that shows everything again needs no more."""
    seen: list[frozenset[str] | None] = [frozenset() for _ in ones]

    def unsure(index: int, recordings: int) -> bool:
        so_far, one = seen[index], ones[index]
        return so_far is not None and not one.signatures <= so_far and recordings < FIX_TIMES * one.recordings

    for recordings in range(FIX_TIMES * OWN_MAX):
        asked = [index for index in range(len(ones)) if unsure(index, recordings)]
        answers = examine(kernel, [ones[index] for index in asked]) if asked else []
        for index, answer in zip(asked, answers, strict=True):
            so_far = seen[index]
            seen[index] = None if answer is None or so_far is None else so_far | answer
    return seen


def _without(
    tried: tuple[Fix, ...], left: list[Shown], seen: list[frozenset[str] | None], found: Attributions
) -> list[Shown]:
    """What these fixes did not take away; what they did is put into found."""
    ids = tuple(dict.fromkeys(one for fix in tried for one in fix.ids))
    series = "+".join(fix.series for fix in tried)
    still = []
    for one, shown in zip(left, seen, strict=True):
        gone = frozenset[str]() if shown is None else one.signatures - shown
        for name in sorted(gone):
            by = Attribution(one.profile, one.workload.name, ids, series)
            found.setdefault((one.kernel, name), []).append(by)
        if gone < one.signatures:
            still.append(msgspec.structs.replace(one, signatures=one.signatures - gone))
    return still


def examined(run: Path, kernel: str, ones: list[Shown], progress: Progress) -> list[frozenset[str] | None]:
    """One guest for all of them, which have one profile. Errors: NoResults, KernelError, NoFilesystemTool."""
    with reading(run):
        first: Experiment = read_experiment(run / "experiments" / f"{ones[0].experiment:04d}")
    facts = first.facts
    built = build_for(facts.guest, kernel, facts.config, progress)
    signatures = tuple(sorted(frozenset[str]().union(*(one.signatures for one in ones))))
    one = profile(facts.profile)
    target = Target(kernel, spec_of(built, first), one, Tier(facts.tier), signatures)
    with workspace() as space, InterestingnessTest(target, space) as test:
        answers = [test.examine(each.workload) for each in ones]
    return [None if answer.trouble else frozenset(answer.first) for answer in answers]
