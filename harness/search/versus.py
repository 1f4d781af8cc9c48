"""
Guided against sampled search: how long each takes to find a planted bug.

In:       names of planted bugs; how many seeds; a limit in seconds; a folder. As a program:
          python -m harness.search.versus BUG... --seeds 3 --limit 120 --out DIR
Out:      versus.json, a Trial for each bug, seed and mode; the table of docs/reference/search.md.
Not here: the search (search.py).

Both modes begin with the same SEEDS workloads of the library, drawn by the seed, without those that show the
bug: the ones that its header names, and what a first pass on the same kernel finds among the rest. Each has
one guest and its own kernel: the guided one counts, the sampled one does not. The bug is found when a
workload shows a signature of one of its oracles that the stock kernel does not show for this workload in
two recordings. These are asked beside the search; the time that takes is of neither.
"""

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec

from harness.evidence.store import write_whole
from harness.evidence.sweep import Bug, planted_bugs
from harness.experiments.interestingness import InterestingnessTest, Target
from harness.guests.agent_binary import agent_binary
from harness.guests.kernels import build_for, kernel_path
from harness.guests.spec import LOG_BYTES, UML, GuestSpec
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.search.examine import Seen, Task
from harness.search.search import GUIDED, SAMPLED, Search, SearchSpec, begin
from oracles.profiles import Profile, profile
from oracles.verdict import Tier
from workloads.generate.mutated import is_seed
from workloads.library import library
from workloads.workload import Workload

SEEDS = 30
KERNEL = "6.12"
STOCK_RECORDINGS = 2
PREFIXES = 40  # states of a workload: most bugs show in many
FILE = "versus.json"


class Trial(msgspec.Struct, frozen=True):
    """One search. found: whether it found the bug, after so many seconds and workloads; else what it did
    until the limit. signature, workload: what showed it."""

    bug: str
    profile: str
    mode: str
    seed: int
    found: bool
    seconds: float
    workloads: int
    states: int
    signature: str = ""
    workload: str = ""


class Trials(msgspec.Struct, frozen=True):
    limit_s: float
    trials: tuple[Trial, ...] = ()


class Judge:
    """Whether what a workload shows is the bug: the stock kernel does not show it. Use as a context."""

    def __init__(self, bug: Bug, one: Profile, progress: Progress) -> None:
        self._bug = bug
        kernel = build_for(UML, KERNEL, one.config, progress)
        spec = GuestSpec(
            kernel=kernel_path(kernel),
            agent=agent_binary(),
            device_bytes=one.size_bytes,
            log_bytes=LOG_BYTES,
            kind=UML,
        )
        self._target = Target(KERNEL, spec, one, Tier.FS, ())
        self._test: InterestingnessTest | None = None

    def __enter__(self) -> "Judge":
        self._space = workspace()
        self._test = InterestingnessTest(self._target, self._space.__enter__()).__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._test is not None
        self._test.__exit__()
        self._space.__exit__(None, None, None)

    def new_in(self, workload: Workload, signatures: Sequence[str]) -> str:
        """The first of them that is the bug's, or ""."""
        asked = [one for one in signatures if any(f" {oracle}: " in one for oracle in self._bug.oracles)]
        for signature in asked:
            if not self._stock_shows(workload, signature):
                return signature
        return ""

    def _stock_shows(self, workload: Workload, signature: str) -> bool:
        assert self._test is not None
        self._test.target = msgspec.structs.replace(self._target, signatures=(signature,))
        return any(signature in self._test.examine(workload).first for _ in range(STOCK_RECORDINGS))


def trials(bugs: Sequence[Bug], seeds: int, limit_s: float, out: Path, progress: Progress) -> Iterator[Trial]:
    for bug in bugs:
        one = profile(bug.profiles[0])
        with Judge(bug, one, progress) as judge:
            shows = set(bug.workloads)
            for seed in range(1, seeds + 1):
                chosen = without_the_bug(bug, one, seed, shows, judge, out, progress)
                for mode in (GUIDED, SAMPLED):
                    yield trial(bug, one, mode, seed, chosen, limit_s, judge, out, progress)


def without_the_bug(
    bug: Bug, one: Profile, seed: int, shows: set[str], judge: Judge, out: Path, progress: Progress
) -> tuple[Workload, ...]:
    """Workloads to begin with. shows: those of the library that show the bug; what is found is added."""
    fitting = [each for each in library() if is_seed(each, one.filesystem) and each.name not in shows]
    chosen = tuple(random.Random(f"versus {seed}").sample(fitting, SEEDS))
    spec = spec_of(bug, one, SAMPLED, seed, chosen)
    search = begin(msgspec.structs.replace(spec, workloads=len(chosen)), out, progress)

    def each(task: Task, seen: Seen) -> bool:
        if judge.new_in(task.workload, seen.signatures):
            shows.add(task.workload.name)
        return True

    search.go_on(progress, each)
    return tuple(workload for workload in chosen if workload.name not in shows)


def spec_of(
    bug: Bug, one: Profile, mode: str, seed: int, chosen: tuple[Workload, ...], limit_s: float = 0.0
) -> SearchSpec:
    return SearchSpec(
        kernel=f"{KERNEL}+{bug.name}",
        profile=one,
        seeds=chosen,
        mode=mode,
        seed=seed,
        seconds=limit_s,
        jobs=1,
        prefixes=PREFIXES,
        with_fsck="fsck" in bug.oracles,
        attribute=False,
    )


def trial(
    bug: Bug,
    one: Profile,
    mode: str,
    seed: int,
    chosen: tuple[Workload, ...],
    limit_s: float,
    judge: Judge,
    out: Path,
    progress: Progress,
) -> Trial:
    search = begin(spec_of(bug, one, mode, seed, chosen, limit_s), out, progress)
    found: list[Trial] = []

    def each(task: Task, seen: Seen) -> bool:
        after = search.seconds
        before = time.monotonic()
        signature = judge.new_in(task.workload, seen.signatures) if not found else ""
        search.without(time.monotonic() - before)
        if signature:
            found.append(
                _trial(search, bug, one, seed, after, task.plan.number, signature, task.workload.name)
            )
        return not found

    search.go_on(progress, each)
    search.save()
    return found[0] if found else _trial(search, bug, one, seed, search.seconds, search.number)


def _trial(
    search: Search,
    bug: Bug,
    one: Profile,
    seed: int,
    seconds: float,
    workloads: int,
    signature: str = "",
    workload: str = "",
) -> Trial:
    return Trial(
        bug.name,
        one.name,
        search.spec.mode,
        seed,
        bool(signature),
        round(seconds, 1),
        workloads,
        search.report.states,
        signature,
        workload,
    )


def table(found: Trials) -> list[str]:
    """Markdown: a row for each bug. What was not found counts as the limit."""
    lines = [
        "| planted bug | profile | guided: found | median s | workloads | sampled: found | median s | "
        "workloads |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for bug in dict.fromkeys(one.bug for one in found.trials):
        cells = []
        name = ""
        for mode in (GUIDED, SAMPLED):
            own = [one for one in found.trials if (one.bug, one.mode) == (bug, mode)]
            times = [one.seconds if one.found else found.limit_s for one in own]
            count = median(one.workloads for one in own) if own else 0
            middle = median(times) if times else 0.0
            shown = f"{middle:.0f}" if middle < found.limit_s else f"over {found.limit_s:.0f}"
            cells.append(f"{sum(one.found for one in own)} of {len(own)} | {shown} | {count:.0f}")
            name = own[0].profile if own else name
        lines.append(f"| {bug.removeprefix('planted/')} | {name} | {' | '.join(cells)} |")
    return lines


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m harness.search.versus", description=__doc__)
    parser.add_argument("bugs", nargs="+", help="planted bugs, by name")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of each search")
    parser.add_argument("--out", type=Path, required=True, help="folder for the searches and versus.json")
    arguments = parser.parse_args(words)
    names = {one.name: one for one in planted_bugs()}
    unknown = [name for name in arguments.bugs if f"planted/{name}" not in names]
    if unknown:
        parser.error(f"no planted bug is called {', '.join(unknown)}; powercut list names them")
    bugs = [names[f"planted/{name}"] for name in arguments.bugs]
    path = arguments.out / FILE
    done = msgspec.json.decode(path.read_bytes(), type=Trials).trials if path.is_file() else ()
    with Progress() as progress:
        for one in trials(bugs, arguments.seeds, arguments.limit, arguments.out, progress):
            done = (*done, one)
            write_whole(path, msgspec.json.encode(Trials(arguments.limit, done)))
            print(
                f"{one.bug} {one.mode} seed {one.seed}: {'found' if one.found else 'not found'} after "
                f"{one.seconds:.0f} s, {one.workloads} workloads {one.signature}",
                file=sys.stderr,
            )
    print("\n".join(table(Trials(arguments.limit, done))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
