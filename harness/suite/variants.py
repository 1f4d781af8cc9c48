"""
Known bugs in other clothes: is each variant attributed to the bug of the workload that it was varied from?

In:       a stock kernel, a profile, a seed, how many variants of each workload.
Out:      a Row for each variant that shows something which known.py names nowhere; lines that count them.
Not here: the variants (workloads/generate/varied.py), how they are attributed (runs/attribution.py).

The truth is the workload: the bugs for which known.py names it on this kernel and profile. A variant may show
another known bug by chance; ALSO holds those, each looked at by hand. A bug without a fix, which no recording
could name, is not varied.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import pytest

from harness.evidence.known import EVERYWHERE, KNOWN
from harness.evidence.summary import experiment_folders
from harness.local.progress import Progress
from harness.runs.attribution import Recorder, Shown, attributions, fixes_for, seen_again, shown_by, tried
from harness.runs.run import RunSpec, run
from oracles.profiles import profile
from reports.results import CRASH, read_experiment
from workloads.generate.varied import varied
from workloads.library import load

DRAWN = 4  # variants of each workload, of which the first WANTED that show something are attributed
WANTED = 2
ROWS = pytest.StashKey[list["Row"]]()  # of all profiles
# By workload and profile: IDs of other bugs that its variants show, and why.
ALSO: dict[tuple[str, str], tuple[str, ...]] = {
    # It links a file that O_TMPFILE made.
    ("descriptors-when-full", "ext4-fast-commit"): ("EXT4-6",),
    # Inodes of files beside make a fast commit of a second block; a descriptor keeps the replaced file, which
    # has no name then.
    ("rename-over-synced-file", "ext4-fast-commit"): ("EXT4-1", "EXT4-2"),
}


class Row(msgspec.Struct, frozen=True):
    """A variant. truth: the bugs of the workload it is of. ids, series: by signature, what was attributed;
    none of what is new. also: by signature, each other fix that removes it, too."""

    variant: str
    original: str
    profile: str
    truth: tuple[str, ...]
    signatures: tuple[str, ...]
    ids: dict[str, tuple[str, ...]]
    series: dict[str, str]
    also: dict[str, tuple[str, ...]] = {}

    @property
    def answer(self) -> str:
        if any(not set(ids) <= set(self.truth) for ids in self.ids.values()):
            return "wrong"
        return "right" if set(self.signatures) == self.ids.keys() else "new"


def originals(kernel: str, profile_name: str) -> dict[str, tuple[str, ...]]:
    """By workload, the bugs that it is known for there and that have a fix."""
    fixed = {bug for fix in fixes_for(kernel, profile_name) for bug in fix.ids}
    found: dict[str, dict[str, None]] = {}
    for bug in KNOWN:
        wanted = bug.kind == CRASH and not bug.maybe and bug.workload != EVERYWHERE
        if wanted and bug.id in fixed and bug.shown_on(kernel, profile_name):
            found.setdefault(bug.workload, {})[bug.id] = None
    return {name: tuple(ids) for name, ids in found.items()}


def measure(
    kernel: str,
    profile_name: str,
    out: Path,
    progress: Progress,
    seed: int = 1,
    drawn: int = DRAWN,
    wanted: int = WANTED,
    others: bool = False,
) -> list[Row]:
    """others: whether every other fix is tried, too."""
    truth = originals(kernel, profile_name)
    variants = {varied(load(name), seed, number): name for name in truth for number in range(drawn)}
    made = {one.name: name for one, name in variants.items()}
    spec = RunSpec(tuple(variants), (profile(profile_name),), (kernel,), repeats=False, jobs=1)
    folder, _ = run(spec, out, progress)
    shown: dict[str, list[Shown]] = {}
    for experiment in experiment_folders(folder):
        one = shown_by(read_experiment(experiment), {})
        if one is not None:
            shown.setdefault(made[one.workload.name], []).append(one)
    chosen = [one for ones in shown.values() for one in ones[:wanted]]

    with Recorder(folder, progress) as recorder:
        found = attributions(chosen, recorder.examine)
        again = seen_again(kernel, chosen, recorder.examine) if others else []
        gone: dict[tuple[str, str], list[str]] = {}
        for fix in fixes_for(kernel, profile_name) if others else ():
            for without, _ in tried([fix], again, recorder.examine):
                for name in without.signatures if without is not None else ():
                    gone.setdefault((without.workload.name, name), []).append(fix.series)
    return [row(one, made[one.workload.name], truth, found, gone) for one in chosen]


def row(one, original, truth, found, gone) -> Row:
    variant = one.workload.name
    by = {
        name: attribution
        for (_, name), attributions_of in found.items()
        for attribution in attributions_of
        if attribution.workload == variant
    }
    series = {name: attribution.series for name, attribution in by.items()}
    return Row(
        variant,
        original,
        one.profile,
        (*truth[original], *ALSO.get((original, one.profile), ())),
        tuple(sorted(one.signatures)),
        {name: attribution.ids for name, attribution in by.items()},
        series,
        {
            name: tuple(each for each in gone.get((variant, name), ()) if each != series.get(name))
            for name in one.signatures
        },
    )


def lines(rows: Sequence[Row]) -> Iterable[str]:
    """The count, and what is not right."""
    answers = Counter(one.answer for one in rows)
    yield f"{len(rows)} variants of known bugs: " + ", ".join(
        f"{answers[answer]} {answer}" for answer in ("right", "wrong", "new")
    )
    for one in rows:
        if one.answer != "right":
            yield f"  {one.answer}: {one.variant} on {one.profile}, of {', '.join(one.truth)}"
            for name in one.signatures:
                ids = ", ".join(one.ids.get(name, ())) or "new"
                yield f"    {name}: {ids} {one.series.get(name, '')}"
