"""
Tests of fstests on a kernel: each on each filesystem, a failing one again, and on the baseline.

In:       a FstestsWish: tests by filesystem, the two kernels, deadline, known failures.
Out:      FstestsRun, kept in fstests.json of the run's folder after each test.
Not here: one test (machine.py), which tests there are (checkout.py), pages and CI files (reports/).
"""

import os
import queue
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
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
    FstestsAttempt,
    FstestsResult,
    FstestsRun,
)
from reports.text.counting import number

VARIANT = "fstests"  # kernel/config/fstests.config


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


Attempt = Callable[[str, str, str], FstestsAttempt]  # kernel spec, test, filesystem


def run_suite(
    wish: FstestsWish, folder: Path, progress: Progress, before: FstestsRun | None = None
) -> FstestsRun:
    """before: what was done of the same plan, which is not done again. Errors: BadResume; KernelError;
    machine.NoRoomForDisks, NoFilesystemTool, OSError, with what was done until then kept."""
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
    for index, result in results(wish, in_guests(wish, kernels), frozenset(done)):
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


def processors() -> list[int]:
    """Those we may use."""
    return sorted(os.sched_getaffinity(0))


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
    return {word: build(word, progress.building(word), variants) for word in words}


def in_guests(wish: FstestsWish, kernels: dict[str, Kernel]) -> Attempt:
    benches = {
        word: Bench(Path(kernel.path), word, wish.checkout, wish.deadline_s)
        for word, kernel in kernels.items()
    }

    idle: queue.SimpleQueue[int] = queue.SimpleQueue()
    for at in range(wish.jobs):
        idle.put(processors()[-1 - at % len(processors())])

    def one(word: str, test: str, filesystem: str) -> FstestsAttempt:
        processor = idle.get()
        try:
            with workspace() as space:
                return machine.attempt(benches[word], test, filesystem, space, processor)
        finally:
            idle.put(processor)

    return one


def results(
    wish: FstestsWish, attempt: Attempt, without: frozenset[int] = frozenset()
) -> Iterator[tuple[int, FstestsResult]]:
    """As they come, with their places in the plan; without those. The first error ends it; what runs then is
    waited for."""
    waiting = {at: one for at, one in enumerate(wish.planned) if at not in without}
    running: dict[Future[FstestsResult], int] = {}
    with ThreadPoolExecutor(max_workers=wish.jobs) as pool:
        while waiting or running:
            while waiting and len(running) < wish.jobs:
                index = next(iter(waiting))
                filesystem, test = waiting.pop(index)
                running[pool.submit(examine, wish, attempt, test, filesystem)] = index
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                index = running.pop(future)
                yield index, future.result()


def examine(wish: FstestsWish, attempt: Attempt, test: str, filesystem: str) -> FstestsResult:
    """One test: again when it failed or when its guest was lost without a reason; then on the baseline."""
    attempts = [attempt(wish.kernel, test, filesystem)]
    first = attempts[0]
    if first.result == FAIL or first.death == ENDED:
        attempts += [attempt(wish.kernel, test, filesystem) for _ in range(wish.again)]
    baseline = None
    if wish.against and first.result in (FAIL, DIED):
        baseline = attempt(wish.against, test, filesystem)
    return concluded(test, filesystem, tuple(attempts), baseline, wish.known)


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
