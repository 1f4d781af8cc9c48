"""
Tests of fstests on a kernel: each on each filesystem, a failing one again, and on the baseline.

In:       a FstestsWish: tests by filesystem, the two kernels, deadline, known failures.
Out:      FstestsRun, kept in fstests.json of the run's folder after each test.
Not here: one test (machine.py), which tests there are (checkout.py), pages and CI files (reports/).
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from harness.evidence.store import write_whole
from harness.fstests import machine
from harness.fstests.checkout import version
from harness.fstests.machine import Bench
from harness.local.progress import Progress
from harness.local.workspace import workspace
from kernel.build import build
from kernel.kernel import Kernel
from reports import formats
from reports.fstests.results import (
    DIED,
    ENDED,
    FAIL,
    FILE,
    KNOWN,
    NOTRUN,
    FstestsAttempt,
    FstestsResult,
    FstestsRun,
    RecordedLife,
)
from reports.text.counting import number

VARIANT = "fstests"  # kernel/config/fstests.config
# What ./check does before its first test takes as long as a short test; one that fails is run again alone.
TESTS_OF_A_GUEST = 8


class BadKnown(Exception):
    """The file of known failures cannot be read; the message names the line."""


class BadResume(Exception):
    """The run to be continued is not the one that is asked for; the message says why."""


class FstestsWish(msgspec.Struct, frozen=True):
    """tests: by filesystem. against: "" for no baseline. config: variants beside fstests' own. again: how
    often a test that failed is run again. known: by (test, filesystem), "*" for each filesystem, why its
    failure is known."""

    checkout: Path
    tests: dict[str, tuple[str, ...]]
    kernel: str
    against: str = ""
    groups: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    deadline_s: float = 600.0
    again: int = 1
    jobs: int = 1
    known: dict[tuple[str, str], str] = {}

    @property
    def planned(self) -> tuple[tuple[str, str], ...]:
        """(filesystem, test), in order."""
        return tuple((name, test) for name, tests in self.tests.items() for test in tests)


# The folder of the guest's devices, kernel spec, test, filesystem; what the recorded log holds.
ExamineLog = Callable[[Path, str, str, str], tuple[RecordedLife, ...]]
# Kernel spec, tests, filesystem; an attempt of each test that the guest came to, at least of the first.
Attempts = Callable[[str, tuple[str, ...], str], list[FstestsAttempt]]


def run_suite(
    wish: FstestsWish,
    folder: Path,
    progress: Progress,
    before: FstestsRun | None = None,
    examine_log: ExamineLog | None = None,
) -> FstestsRun:
    """examine_log: records each test, and is asked for what its log holds. before: what was done of the same
    plan, which is not done again. Errors: BadResume; KernelError; machine.NoRoomForDisks, NoFilesystemTool,
    OSError, with what was done until then kept."""
    machine.require_tools(tuple(wish.tests))
    kernels = build_kernels(wish, progress)
    found = FstestsRun(
        kernel=wish.kernel,
        against=wish.against,
        sources={word: kernel.provenance.source_version for word, kernel in kernels.items()},
        groups=wish.groups,
        filesystems=tuple(wish.tests),
        checkout=version(wish.checkout),
        deadline_s=wish.deadline_s,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        planned=len(wish.planned),
    )
    done = done_before(wish, before) if before else {}
    if before:
        found = msgspec.structs.replace(found, started=before.started, results=tuple(done.values()))
    keep(folder, found)
    attempts = in_guests(wish, kernels, examine_log)
    for index, result in results(wish, attempts, frozenset(done)):
        done[index] = result
        found = msgspec.structs.replace(found, results=tuple(done[at] for at in sorted(done)))
        keep(folder, found)
        tell(progress, len(done), found.planned, result)
    return found


def done_before(wish: FstestsWish, before: FstestsRun) -> dict[int, FstestsResult]:
    """By their places in the plan, the results that need no other run. Errors: BadResume."""
    asked = (wish.kernel, wish.against, wish.deadline_s)
    if asked != (before.kernel, before.against, before.deadline_s):
        raise BadResume(
            f"--resume: that run is of --kernel {before.kernel}"
            f"{f' --against {before.against}' if before.against else ''} --deadline {before.deadline_s:g}, "
            "and this command is not. Repeat its options"
        )
    known = {(one.filesystem, one.test): one for one in before.results}
    planned = list(enumerate(wish.planned))
    if left := known.keys() - set(wish.planned):
        name, test = sorted(left)[0]
        raise BadResume(f"--resume: that run has {test} on {name}, and this command does not ask for it")
    return {at: known[one] for at, one in planned if one in known}


def keep(folder: Path, found: FstestsRun) -> None:
    write_whole(folder / FILE, formats.encode(FILE, found) + b"\n")


def tell(progress: Progress, done: int, planned: int, result: FstestsResult) -> None:
    note = f"{result.test} {result.filesystem}"
    progress.steps("fstests", done, planned, note)
    reason = f": {result.reason}" if result.reason else ""
    progress.line(f"{done}/{planned} {note} {result.result} {result.seconds:.0f} s{reason}")


def build_kernels(wish: FstestsWish, progress: Progress) -> dict[str, Kernel]:
    """By their kernel specs. Errors: KernelError."""
    words = dict.fromkeys(word for word in (wish.kernel, wish.against) if word)
    needed = ("f2fs",) if "f2fs" in wish.tests else ()
    variants = (VARIANT, *needed, *wish.config)
    return {word: build(word, progress.building(word, variants), variants) for word in words}


def in_guests(
    wish: FstestsWish, kernels: dict[str, Kernel], examine_log: ExamineLog | None = None
) -> Attempts:
    benches = {
        word: Bench(Path(kernel.path), word, wish.checkout, wish.deadline_s)
        for word, kernel in kernels.items()
    }

    def some(word: str, tests: tuple[str, ...], filesystem: str) -> list[FstestsAttempt]:
        with workspace() as space:
            if examine_log is None:
                return machine.attempts(benches[word], tests, filesystem, space)
            (one,) = machine.attempts(benches[word], tests[:1], filesystem, space, recorded=True)
            lives = examine_log(space.path, word, tests[0], filesystem) if one.result != NOTRUN else ()
            return [msgspec.structs.replace(one, recorded=lives)]

    return some


def results(
    wish: FstestsWish, attempts: Attempts, without: frozenset[int] = frozenset()
) -> Iterator[tuple[int, FstestsResult]]:
    """As they come, with their places in the plan; without those. The first error ends it, when
    what runs then has ended."""
    places = {one: at for at, one in enumerate(wish.planned) if at not in without}
    told: queue.SimpleQueue[FstestsResult | BaseException | None] = queue.SimpleQueue()
    stop = threading.Event()

    def work(filesystem: str, tests: tuple[str, ...]) -> None:
        try:
            for result in examine_all(wish, attempts, tests, filesystem):
                told.put(result)
                if stop.is_set():
                    return
        except BaseException as error:
            told.put(error)
        finally:
            told.put(None)

    with ThreadPoolExecutor(max_workers=wish.jobs) as pool:
        running = [pool.submit(work, *batch) for batch in batches(wish, frozenset(places))]
        left = len(running)
        try:
            while left:
                one = told.get()
                if one is None:
                    left -= 1
                elif isinstance(one, BaseException):
                    raise one
                else:
                    yield places[one.filesystem, one.test], one
        finally:
            stop.set()
            for future in running:
                future.cancel()


def batches(wish: FstestsWish, wanted: frozenset[tuple[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What is wanted of the plan, as filesystem and tests of a guest."""
    for filesystem, tests in wish.tests.items():
        left = [test for test in tests if (filesystem, test) in wanted]
        for start in range(0, len(left), TESTS_OF_A_GUEST):
            yield filesystem, tuple(left[start : start + TESTS_OF_A_GUEST])


def examine_all(
    wish: FstestsWish, attempts: Attempts, tests: tuple[str, ...], filesystem: str
) -> Iterator[FstestsResult]:
    """One guest after another, until all tests are done."""
    while tests:
        found = attempts(wish.kernel, tests, filesystem)
        assert found, "at least the first test has an answer"
        for test, first in zip(tests, found, strict=False):
            yield examine(wish, attempts, test, filesystem, first)
        tests = tests[len(found) :]


def examine(
    wish: FstestsWish, attempts: Attempts, test: str, filesystem: str, first: FstestsAttempt
) -> FstestsResult:
    """One test: again, in a guest of its own, when it failed or its guest was lost without a reason; then on
    the baseline."""
    again = wish.again if first.result == FAIL or first.death == ENDED else 0
    done = [first, *(attempts(wish.kernel, (test,), filesystem)[0] for _ in range(again))]
    baseline = None
    if wish.against and first.result in (FAIL, DIED):
        baseline = attempts(wish.against, (test,), filesystem)[0]
    return concluded(test, filesystem, tuple(done), baseline, wish.known)


def concluded(
    test: str,
    filesystem: str,
    attempts: tuple[FstestsAttempt, ...],
    baseline: FstestsAttempt | None,
    known: dict[tuple[str, str], str],
) -> FstestsResult:
    """What attempts mean together. One that failed once is a failure, for crashes come by chance. A guest
    that ended
    without a word was killed by somebody: what the next one said counts."""
    kept = attempts
    while kept[0].death == ENDED and len(kept) > 1:
        kept = kept[1:]
    result, reason = kept[0].result, kept[0].reason
    if len(kept) > 1 and result == FAIL:
        failed = sum(one.result in (FAIL, DIED) for one in kept)
        reason = f"{reason} (failed {failed} of {number(len(kept), 'time')})"
    if result in (FAIL, DIED):
        why = known.get((test, filesystem)) or known.get((test, "*"), "")
        if baseline is not None and baseline.result == result and result == FAIL:
            why = why or f"{baseline.kernel} fails, too"
        if why:
            result, reason = KNOWN, f"{why}; {reason}"
    return FstestsResult(test, filesystem, result, reason, kept, baseline)


def read_known(path: Path) -> dict[tuple[str, str], str]:
    """A line a test: TEST FILESYSTEM REASON, FILESYSTEM * for each; # begins a comment. Errors: BadKnown."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadKnown(f"--known {path}: {error}") from error
    found = {}
    for at, line in enumerate(lines, start=1):
        words = line.partition("#")[0].strip().split(maxsplit=2)
        if not words:
            continue
        if len(words) < 3 or "/" not in words[0]:
            raise BadKnown(
                f"{path} line {at}: expected TEST FILESYSTEM REASON, as in: generic/475 btrfs aborts on EIO"
            )
        found[words[0], words[1]] = words[2]
    return found
