"""
What `powercut fstests` leaves, as data: fstests.json of a run.

In:       nothing; harness/fstests/suite.py fills these.
Out:      FstestsRun and its parts, frozen; read_fstests(); the exit status that they mean.
Not here: reading the output of fstests (harness/fstests/said.py), page and CI files (page.py, reports/ci/).
"""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import msgspec

from reports import formats

FILE = "fstests.json"
PASS, FAIL, NOTRUN, KNOWN, DIED = "pass", "fail", "notrun", "known", "died"
RESULTS = (PASS, FAIL, NOTRUN, KNOWN, DIED)
PANIC, DEADLINE, ENDED, NO_START = "panic", "deadline", "ended", "not started"
DEATHS = (PANIC, DEADLINE, ENDED, NO_START)


class RecordedLife(msgspec.Struct, frozen=True):
    """Of `--record`: one filesystem on the recorded scratch device, from its mkfs to the next one.

    first, last: the marks of the log around it.
    entries:     log entries between them, without marks.
    states:      crash states that were recovered and judged, equal ones included.
    verdicts:    by oracle, how many states HOLD, are BROKEN and UNKNOWN.
    findings:    signatures of what is BROKEN, those of known bugs with their ids.
    exit:        as of `powercut explore`.
    folder:      of the run with its report, relative to the folder of this one; "" when there is none.
    trouble:     why it could not be examined, "" when it was.
    """

    first: str
    last: str
    entries: int
    states: int = 0
    verdicts: dict[str, tuple[int, int, int]] = {}
    findings: tuple[str, ...] = ()
    exit: int = 3
    folder: str = ""
    trouble: str = ""


class FstestsAttempt(msgspec.Struct, frozen=True):
    """One run of one test, in a guest that may have done other tests before.

    kernel:  the kernel, as it was asked for.
    result:  pass, fail, notrun or died.
    reason:  why it is not pass, in a line.
    death:   of died: panic, the kernel ended; deadline, the test did not end in time; ended, the guest ended
             and
             its kernel said nothing; not started, `./check` ended before the test.
    seconds: with the start of the guest.
    output:  the last lines of ./check, and of the console of a guest that died; empty of a test that passed.
    recorded: of `--record`, each filesystem that was on the scratch device.
    """

    kernel: str
    result: str
    reason: str = ""
    death: str = ""
    seconds: float = 0.0
    output: tuple[str, ...] = ()
    recorded: tuple[RecordedLife, ...] = ()


class FstestsResult(msgspec.Struct, frozen=True):
    """One test on one filesystem.

    test:       as "generic/475".
    filesystem: as FSTYP of fstests.
    result:     pass; fail; notrun, fstests' own word that something is missing; known, a failure that the
                baseline kernel or the list of known failures has, too; died, the guest did not outlive it or
                had to be stopped.
    reason:     why it is not pass, in a line.
    attempts:   the first one, then those again of a test that failed or died.
    baseline:   of a test that failed, on the kernel of --against; null when it was not asked.
    """

    test: str
    filesystem: str
    result: str
    reason: str = ""
    attempts: tuple[FstestsAttempt, ...] = ()
    baseline: FstestsAttempt | None = None

    @property
    def seconds(self) -> float:
        return sum(one.seconds for one in self.attempts)

    @property
    def is_broken(self) -> bool:
        """Whether the kernel is to blame: it failed the test, ended, or broke a promise in a recorded log."""
        if any(life.exit == 1 for life in self.recorded):
            return True
        return self.result == FAIL or (self.result == DIED and self.attempts[0].death == PANIC)

    @property
    def is_unknown(self) -> bool:
        open_question = self.result == DIED or any(life.exit == 3 for life in self.recorded)
        return open_question and not self.is_broken

    @property
    def recorded(self) -> tuple[RecordedLife, ...]:
        return tuple(life for one in self.attempts for life in one.recorded)


class FstestsRun(msgspec.Struct, frozen=True):
    """fstests.json, the answer of `powercut fstests`.

    kernel:      the kernel under test.
    against:     the baseline, on which tests that failed were run; "" without one.
    sources:     by kernel, the version of its source.
    groups:      the groups of fstests that were asked for; empty when tests were named.
    filesystems: as FSTYP of fstests.
    checkout:    the version of fstests: its commit, or what its VERSION says.
    deadline_s:  of one test.
    started:     when, in UTC.
    planned:     tests, counted once for each filesystem; a run with fewer results is not whole.
    results:     those that are done, in the order of the plan.
    """

    kernel: str
    against: str
    sources: dict[str, str]
    groups: tuple[str, ...]
    filesystems: tuple[str, ...]
    checkout: str
    deadline_s: float
    started: str
    planned: int
    results: tuple[FstestsResult, ...] = ()

    @property
    def exit(self) -> int:
        """0: every test that ran passed or is known, and one passed. 1: one failed, or the kernel ended.
        3: one gave no answer, none passed, or the run is not whole."""
        if any(one.is_broken for one in self.results):
            return 1
        passed = any(one.result == PASS for one in self.results)
        unknown = any(one.is_unknown for one in self.results)
        return 0 if passed and not unknown and len(self.results) == self.planned else 3


def counts(results: Iterable[FstestsResult]) -> dict[str, int]:
    """By each of RESULTS, how many."""
    found = Counter(one.result for one in results)
    return {result: found[result] for result in RESULTS}


def read_fstests(run: Path) -> FstestsRun | None:
    """None when the run is of another kind. Errors: OSError, msgspec.DecodeError, UnknownFormat."""
    path = run / FILE
    return formats.read(path, FstestsRun) if path.exists() else None
