"""
What one night of `powercut nightly` leaves, as data: night.json.

In:       nothing; harness/nightly/results.py makes it from the history.
Out:      Night and its parts.
Not here: the history (harness/nightly/history.py), the pages (reports/pages/nights.py), the files for CI
          (reports/ci/).
"""

import msgspec

NEW, SAME, FLAKY, GONE = "new", "same", "flaky", "gone"
STATES = (NEW, SAME, FLAKY, GONE)
GENERATED = "generated"  # a reason for which a workload is run
PASS, FAIL, ERROR = "PASS", "FAIL", "ERROR"  # of a build, in KCIDB's words


class NightKernel(msgspec.Struct, frozen=True):
    """A kernel of a night.

    name:     as the file calls it.
    tree:     folder or URL of its git repository; "" of a release.
    branch:   the branch, or the release.
    word:     the kernel spec of the runs.
    hash:     the commit that the branch was at; of a release its version.
    subject:  of the commit.
    author:   of the commit.
    date:     of the commit.
    before:   the commit of the night before, "" in the first one.
    version:  VERSION.PATCHLEVEL of the source, as "6.12".
    guest:    what it ran in.
    skipped:  why it was left out of this night, or "".
    trouble:  why it could not be tested, or "".
    build:    PASS; FAIL when its source does not build; ERROR when it could not be tried; "" before it was.
    arch:     that it was built for, as the kernel calls it: um, x86_64, arm64.
    compiler: that built it.
    build_s:  seconds that its build took, whenever it was built.
    """

    name: str
    tree: str
    branch: str
    word: str
    hash: str
    subject: str
    author: str
    date: str
    before: str
    version: str
    guest: str
    skipped: str
    trouble: str
    build: str
    arch: str
    compiler: str
    build_s: float

    @property
    def short(self) -> str:
        """The commit as the kernel's own messages have it; of a release its version."""
        return self.hash[:12] if self.tree else self.hash


class NightCell(msgspec.Struct, frozen=True):
    """One kernel on one profile in a night.

    kernel:       name of the kernel.
    profile:      the profile.
    run:          folder of its first run, relative to that of the night; "" when there is none.
    further:      those of its further runs, of generated workloads, that showed something.
    experiments:  how many were done.
    broken:       experiments in which a promise was broken.
    unknown:      experiments with a verdict of UNKNOWN.
    states:       states that were planned.
    seconds:      of all experiments together.
    states_per_s: of all its runs.
    left:         names of the workloads that the budget had no room for.
    trouble:      why the run could not be done, or "".
    """

    kernel: str
    profile: str
    run: str
    further: tuple[str, ...]
    experiments: int
    broken: int
    unknown: int
    states: int
    seconds: float
    states_per_s: float
    left: tuple[str, ...]
    trouble: str


class NightExperiment(msgspec.Struct, frozen=True):
    """One workload in a cell.

    kernel:   name of the kernel.
    profile:  the profile.
    workload: its name.
    number:   of the experiment in its run.
    reason:   why it was chosen: failed, never run, changed, rotation or generated.
    verdict:  the worst of its verdicts: HOLDS, BROKEN or UNKNOWN.
    states:   states that were judged.
    seconds:  that it took.
    findings: signatures of what it shows.
    """

    kernel: str
    profile: str
    workload: str
    number: int
    reason: str
    verdict: str
    states: int
    seconds: float
    findings: tuple[str, ...]


class NightFinding(msgspec.Struct, frozen=True):
    """A finding of one kernel that this night has a word about.

    kernel:      name of the kernel.
    signature:   what makes it one finding.
    oracle:      that reports it.
    state:       new, same, flaky or gone.
    words:       why it has this state.
    known:       IDs of known bugs of the kernel's release that explain it.
    first_night: number of the night that first showed it.
    last_night:  number of the last night that showed it.
    profile:     of the witness.
    workload:    of the witness.
    spec:        the state of the witness.
    expected:    what the promise allows.
    found:       what came back.
    run:         folder of the run with the witness, relative to that of all nights.
    id:          of the finding in that run.
    shown:       of how many more recordings showed it; -1 before it was repeated.
    times:       how many more recordings there were.
    minimal:     folder of the run of the smallest workload, relative to that of all nights, or "".
    program:     the smallest workload, as text.
    exports:     files that were exported, relative to the folder of all nights.
    good, bad:   the two commits between which it appeared.
    culprit:     the commit that broke the promise, or "".
    culprit_words: subject and author of that commit.
    bisect:      folder of the bisection, relative to that of all nights, or "".
    note:        what could not be learnt, and why.
    todo:        what is left for the next night, or "".
    """

    kernel: str
    signature: str
    oracle: str
    state: str
    words: str
    known: tuple[str, ...]
    first_night: int
    last_night: int
    profile: str
    workload: str
    spec: str
    expected: str
    found: str
    run: str
    id: str
    shown: int
    times: int
    minimal: str
    program: str
    exports: tuple[str, ...]
    good: str
    bad: str
    culprit: str
    culprit_words: str
    bisect: str
    note: str
    todo: str

    @property
    def is_news(self) -> bool:
        """New, and no known bug of its release."""
        return self.state == NEW and not self.known


class Night(msgspec.Struct, frozen=True):
    """night.json: one night.

    number:   of the night, from 1.
    started:  when, in UTC.
    ended:    when, in UTC; "" while it goes on.
    budget_s: seconds in which experiments were begun.
    spent_s:  seconds that the night took, without the time that it was stopped.
    seed:     of everything that is drawn.
    powercut: the commit of Powercut.
    exit:     0 nothing new, 1 new findings, 3 trouble.
    kernels:  the kernels of the file.
    cells:    one for each kernel and profile that was run.
    experiments: all that were done.
    findings: those of the kernels that were tested, the new ones first.
    trouble:  sentences about what could not be done.
    learnt:   sentences about findings of earlier nights: the commit that was found.
    """

    number: int
    started: str
    ended: str
    budget_s: float
    spent_s: float
    seed: int
    powercut: str
    exit: int
    kernels: tuple[NightKernel, ...]
    cells: tuple[NightCell, ...]
    experiments: tuple[NightExperiment, ...]
    findings: tuple[NightFinding, ...]
    trouble: tuple[str, ...]
    learnt: tuple[str, ...] = ()

    @property
    def news(self) -> tuple[NightFinding, ...]:
        return tuple(one for one in self.findings if one.is_news)


class NightLine(msgspec.Struct, frozen=True):
    """A night in the table of all. folder: of its page, relative to the table's. counts: findings by state
    that the night has a word about, known ones left out. kernels: by name. cells: by kernel and profile."""

    number: int
    started: str
    ended: str
    exit: int
    spent_s: float
    folder: str
    counts: dict[str, int]
    kernels: dict[str, NightKernel]
    cells: dict[tuple[str, str], NightCell]
    news: dict[tuple[str, str], int]


class Nights(msgspec.Struct, frozen=True):
    """All nights, the oldest first, and every finding there was, in its last state. places: kernels and
    profiles that were ever run, in the order of the last night."""

    nights: tuple[NightLine, ...]
    findings: tuple[NightFinding, ...]
    places: tuple[tuple[str, str], ...]
