"""
Which known bug a finding is, where known.py does not say it: the one whose fix removes it.

In:       a run; the fixes of known.py.
Out:      Attributions, kept in followups.json. A finding is known when each of its places is.
Not here: the fixes (kernel/series/fix/); findings of workloads that are named (known.py).

Generated workloads are named nowhere. Each that shows something new is recorded again on its own kernel, and
then on that kernel with all fixes of its filesystem: what they leave is new, and no more kernels are built
for it. What they remove is recorded with one fix after the other until none of its signatures is left. What
no single fix removes is two bugs that show alike in one workload; the fewest fixes that remove it name them.
A fix that does not apply to the kernel, or does not compile with it, is told and left out.

What its own kernel does not show again in OWN_MAX recordings is attributed to nothing. What comes and goes
must stay away for longer than it takes to come: with a fix it is recorded FIX_TIMES as often as its own
kernel needed to show it. Some fixes make the kernel commit where the log was wrong, which hides whatever else
that log would show: an attribution therefore names its series, and such fixes come last in FIXES.

`powercut run` does this by itself on stock kernels of Debian, for the first WORKLOADS_MAX workloads. It
leaves out what would take long or go wrong: sweeps and comparisons, emulated guests, machines, and kernels
with other series than fixes, to which those may not apply. `powercut attribute DIR` does any run, all of it.
"""

import contextlib
import functools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from harness.evidence.known import FIXES, Fix
from harness.evidence.named import is_named, own_series
from harness.evidence.store import reading
from harness.evidence.summary import experiment_folders
from harness.evidence.triage import Triages, add_attributed, read_triage, triage_of
from harness.experiments.interestingness import InterestingnessTest, Target, signatures_of
from harness.guests.kernels import build_for
from harness.guests.spec import EMULATED, SSH, family
from harness.local.progress import Progress, kernel_in_short
from harness.local.workspace import workspace
from harness.runs.reruns import spec_of
from harness.states.crash import DEFAULT_MODELS
from kernel.build import series
from kernel.kernel import BadKernel, KernelError, Unbuildable
from kernel.word import RELEASES, source_word
from oracles.profiles import on_device, profile
from oracles.spec import in_order, is_live, model_of
from oracles.verdict import Tier
from reports.results import CRASH, Attribution, Device, Experiment, read_experiment
from reports.text.counting import number
from workloads.ddmin import ddmin
from workloads.workload import Workload

OWN_MAX = 10  # recordings of a workload on its own kernel, until all that it showed came again
FIX_TIMES = 5
WORKLOADS_MAX = 12  # of reruns.WITNESSES_MAX


class Shown(msgspec.Struct, frozen=True):
    """A workload on a profile, and what it shows that no bug explains yet. experiment: its number.
    recordings: how many its own kernel needed to show that again. models: whose states show it. device: under
    the recording. guest: its kind."""

    experiment: int
    kernel: str
    profile: str
    workload: Workload
    signatures: frozenset[str]
    recordings: int = 1
    models: tuple[str, ...] = DEFAULT_MODELS
    device: Device = Device()
    guest: str = ""


# (kernel spec, what to record once) -> of each the signatures that were seen; None where it was not possible.
Examine = Callable[[str, list[Shown]], list[frozenset[str] | None]]
Attributions = dict[tuple[str, str], list[Attribution]]  # by kernel and signature
Tried = list[tuple[Shown | None, Shown | None]]  # of each what fixes take away, and what they leave
Tell = Callable[[str], None]  # one line


def _silent(_line: str) -> None:
    pass


def attribute(run: Path, progress: Progress) -> None:
    """What was found is kept when an error ends it.
    Errors: NoResults, KernelError, NoFilesystemTool, OSError."""
    found: Attributions = {}
    try:
        with Recorder(run, progress) as recorder:
            attributions(unexplained(run), recorder.examine, found, progress.line)
    finally:
        add_attributed(run, found)


def unclaimed(run: Path) -> list[Shown]:
    """What `run` asks about by itself. Errors: NoResults."""
    return [one for one in unexplained(run) if is_for_run(one) and fixes_for(one.kernel, one.profile)]


def attribute_new(run: Path, asked: Sequence[Shown], progress: Progress) -> bool:
    """Of these the first WORKLOADS_MAX; whether anything was attributed. A kernel that cannot be built is
    told, and ends it. Errors: NoResults, NoFilesystemTool, OSError."""
    shown = asked[:WORKLOADS_MAX]
    progress.line(f"which known bugs are these? {number(len(shown), 'workload')} recorded again, with fixes")
    if len(asked) > len(shown):
        progress.line(f"for {len(asked) - len(shown)} more: powercut attribute {run}")
    found: Attributions = {}
    try:
        with Recorder(run, progress) as recorder:
            attributions(shown, recorder.examine, found, progress.line)
    except KernelError as error:
        progress.line(f"the rest is not attributed: {error}")
    finally:
        add_attributed(run, found)
    return bool(found)


def is_for_run(one: Shown) -> bool:
    """Whether `run` asks by itself: on a stock kernel, and in a guest that takes a second for a recording."""
    stock = one.kernel.partition("+")[0] in RELEASES and not own_series(one.kernel)
    return stock and one.guest not in EMULATED and family(one.guest) != SSH


def unexplained(run: Path) -> Iterator[Shown]:
    """What power failures showed, and neither KNOWN nor an attribution explains at these places.
    Errors: NoResults."""
    followups = read_triage(run)
    for folder in experiment_folders(run):
        with reading(folder):
            experiment = read_experiment(folder)
        if (one := shown_by(experiment, followups)) is not None:
            yield one


def shown_by(experiment: Experiment, followups: Triages) -> Shown | None:
    """Of one experiment; None where nothing is new. What the kernel showed that recorded is left out."""
    facts, history = experiment.facts, experiment.history
    if facts.kind != CRASH or history is None or not history.known or history.workload.program:
        return None
    place = (facts.profile, facts.workload)
    models: dict[str, set[str]] = {}  # by signature, of the states that show it
    for state in experiment.judgement.states:
        if not is_live(state.spec):
            verdicts = experiment.judgement.verdict_sets[state.verdict_set]
            for name in signatures_of(profile(facts.profile), verdicts):
                models.setdefault(name, set()).add(model_of(state.spec))
    new = [
        name
        for name in models
        if not is_named(facts.kernel, name, place, models[name])
        and place not in _attributed(followups, facts.kernel, name)
    ]
    if not new:
        return None
    return Shown(
        facts.number,
        facts.kernel,
        facts.profile,
        history.workload,
        frozenset(new),
        models=in_order(model for name in new for model in models[name]),
        device=facts.recorded_on,
        guest=facts.guest,
    )


def _attributed(followups: Triages, kernel: str, signature: str) -> set[tuple[str, str]]:
    return {(one.profile, one.workload) for one in triage_of(followups, kernel, signature).attributed}


def attributions(
    shown: Iterable[Shown], examine: Examine, found: Attributions | None = None, tell: Tell = _silent
) -> Attributions:
    """found: what it is added to, of use where examine() raises. tell: hears which fixes fit no kernel."""
    found = {} if found is None else found
    by_guest: dict[tuple[object, ...], list[Shown]] = {}
    for one in shown:
        device = (one.device.kind, one.device.block_ms)
        key = (one.kernel, one.profile, one.models, device, one.workload.config)
        by_guest.setdefault(key, []).append(one)
    for ones in by_guest.values():
        _attribute_alike(ones, fixes_for(ones[0].kernel, ones[0].profile), examine, found, tell)
    return found


def _attribute_alike(
    ones: list[Shown], fixes: list[Fix], examine: Examine, found: Attributions, tell: Tell
) -> None:
    """Of one kernel with one config, profile, device and crash models."""

    def answers(some: Sequence[Fix], asked: list[Shown]) -> Tried | None:
        """None where no kernel can be made with these."""
        try:
            return tried(some, asked, examine)
        except (BadKernel, Unbuildable) as error:
            what = some[0].series if len(some) == 1 else f"{len(some)} fixes together"
            tell(f"{what}: {error}")
            return None

    left = seen_again(ones[0].kernel, ones, examine) if fixes else []
    together = answers(fixes, left) if len(fixes) > 1 else None
    if together is not None:
        left = [gone for gone, _ in together if gone is not None]
    fit = []
    for fix in fixes:
        asked, left = left, []
        if (alone := answers([fix], asked)) is None:
            left = asked
            continue
        fit.append(fix)
        for gone, still in alone:
            if gone is not None:
                _note([fix], gone, found)
            if still is not None:
                left.append(still)
    if together is None:  # what those that fit leave is new, and the others say nothing about it
        together = answers(fit, left) if 1 < len(fit) < len(fixes) else None
        left = [gone for gone, _ in together or () if gone is not None]
        fixes = fit
    for one in left:
        for name in sorted(one.signatures):
            only = msgspec.structs.replace(one, signatures=frozenset((name,)))

            def remove(some: Sequence[Fix], only: Shown = only) -> bool:
                return _removed(answers(some, [only]))

            _note(_fewest(fixes, _beside(fixes, one, found), remove), only, found)


def _removed(answers: Tried | None) -> bool:
    """Of one that was asked about, whether these fixes leave nothing."""
    return answers is not None and all(still is None for _, still in answers)


def _beside(fixes: list[Fix], one: Shown, found: Attributions) -> list[Fix]:
    """The fixes that removed what the workload shows besides."""
    names = {
        name
        for ones in found.values()
        for by in ones
        if (by.profile, by.workload) == (one.profile, one.workload.name)
        for name in by.series.split("+")
    }
    return [fix for fix in fixes if fix.series in names]


def _fewest(fixes: list[Fix], beside: list[Fix], remove: Callable[[Sequence[Fix]], bool]) -> list[Fix]:
    """Of fixes that remove it together, and none alone. Two are enough mostly, and one of them is then often
    a fix of what the workload shows besides: a kernel that must be built costs more than its recordings."""
    for first in beside:
        for other in fixes:
            if other != first and remove(pair := [fix for fix in fixes if fix in (first, other)]):
                return pair
    return ddmin(fixes, remove)


def tried(fixes: Sequence[Fix], ones: list[Shown], examine: Examine) -> Tried:
    """Of each what these fixes take away together, and what they leave: also what could not be examined."""
    if not ones:
        return []
    seen = _still_seen("+".join([ones[0].kernel, *(fix.series for fix in fixes)]), ones, examine)
    found = []
    for one, shown in zip(ones, seen, strict=True):
        still = one.signatures if shown is None else one.signatures & shown
        found.append((_only(one, one.signatures - still), _only(one, still)))
    return found


def _only(one: Shown, signatures: frozenset[str]) -> Shown | None:
    return msgspec.structs.replace(one, signatures=signatures) if signatures else None


def _note(fixes: Sequence[Fix], gone: Shown, found: Attributions) -> None:
    ids = tuple(dict.fromkeys(one for fix in fixes for one in fix.ids))
    by = Attribution(gone.profile, gone.workload.name, ids, "+".join(fix.series for fix in fixes))
    for name in sorted(gone.signatures):
        found.setdefault((gone.kernel, name), []).append(by)


@functools.cache
def _absent() -> dict[str, Container[str]]:
    """By series the sources that do not have what it changes. They are read once: there are hundreds."""
    return {one.name: one.facts.absent for one in series()}


def fixes_for(kernel: str, profile_name: str) -> list[Fix]:
    """Those that are for this source and profile, and not in the kernel yet. Where a series says `absent`,
    the bug is."""
    absent = _absent()
    source, *there = source_word(kernel), *kernel.split("+")[1:]
    filesystem = profile(profile_name).filesystem
    return [
        fix
        for fix in FIXES
        if fix.filesystem == filesystem
        and (not fix.profiles or profile_name in fix.profiles)
        and source not in absent[fix.series]
        and fix.series not in there
    ]


def seen_again(kernel: str, ones: list[Shown], examine: Examine) -> list[Shown]:
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


class Recorder:
    """Records on real guests; one is kept until another kernel is asked for. Use as a context."""

    def __init__(self, run: Path, progress: Progress) -> None:
        self._run, self._progress = run, progress
        self._stack = contextlib.ExitStack()
        self._for: tuple[object, ...] = ()
        self._test: InterestingnessTest | None = None

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def examine(self, kernel: str, ones: list[Shown]) -> list[frozenset[str] | None]:
        """Of one profile, device and crash models. Errors: NoResults, KernelError, NoFilesystemTool."""
        answers = []
        for one in ones:
            test = self._guest(kernel, ones)
            test.target = msgspec.structs.replace(test.target, signatures=tuple(sorted(one.signatures)))
            answers.append(test.examine(one.workload))
        return [None if answer.trouble else frozenset(answer.first) for answer in answers]

    def _guest(self, kernel: str, ones: list[Shown]) -> InterestingnessTest:
        first = ones[0]
        wanted = (kernel, first.profile, first.models, first.device, first.workload.config)
        if self._test is None or self._for != wanted:
            self._stack.close()
            self._test = None  # the kernel that is built now may not compile
            self._progress.line(f"{number(len(ones), 'workload')} on {kernel_in_short(kernel)}")
            space = self._stack.enter_context(workspace())
            test = InterestingnessTest(self._target(kernel, ones), space)
            self._test, self._for = self._stack.enter_context(test), wanted
        return self._test

    def _target(self, kernel: str, ones: list[Shown]) -> Target:
        """With all their signatures, which say whether a checker is needed."""
        with reading(self._run):
            first = read_experiment(self._run / "experiments" / f"{ones[0].experiment:04d}")
        facts = first.facts
        return Target(
            kernel,
            spec_of(build_for(facts.guest, kernel, facts.config, self._progress), first),
            on_device(profile(facts.profile), facts.device_bytes),
            Tier(facts.tier),
            tuple(sorted(frozenset[str]().union(*(one.signatures for one in ones)))),
            ones[0].models,
            device=ones[0].device,
        )
