"""
What a search did, as its folder keeps it.

In:       nothing; the search makes these (harness/search/search.py).
Out:      SearchReport: search.json.
Not here: its findings, which are those of any run (reports/results.py), the page (page.py), the lines
          (lines.py).
"""

from pathlib import Path

import msgspec

from reports import formats

FILE = "search.json"
GUIDED, SAMPLED = "guided", "sampled"


class Sample(msgspec.Struct, frozen=True):
    """How far a search was at one time.

    seconds:   of searching.
    workloads: examined so far.
    states:    crash states that were judged so far.
    recorded:  edges of the kernel's code that were taken while recording.
    recovered: edges that were taken while recovering.
    roles:     sequences of blocks that were seen in logs.
    corpus:    workloads of the corpus.
    findings:  signatures that were shown.
    """

    seconds: float
    workloads: int
    states: int
    recorded: int
    recovered: int
    roles: int
    corpus: int
    findings: int


class First(msgspec.Struct, frozen=True):
    """A signature, and what showed it first.

    signature: of the finding.
    workload:  its name.
    number:    of the workload in the search.
    seconds:   of searching, until it was shown.
    made:      how the workload was made, in words.
    """

    signature: str
    workload: str
    number: int
    seconds: float
    made: str


class Kept(msgspec.Struct, frozen=True):
    """A workload of the corpus.

    name:       of its file.
    operations: of setup and run.
    states:     that were examined.
    new:        by kind how much it showed that was new when it came.
    made:       how the workload was made, in words.
    """

    name: str
    operations: int
    states: int
    new: dict[str, int]
    made: str


class SearchReport(msgspec.Struct, frozen=True):
    """search.json: what a search reached, kept and found.

    mode:       guided or sampled.
    kernel:     its kernel spec.
    profile:    its name.
    config:     variants of the kernel that was searched.
    seed:       of the dice.
    seeds:      how many workloads it began with.
    number:     of the last workload that was examined; the search goes on behind it.
    seconds:    of searching, earlier parts of a search that went on included.
    states:     crash states that were judged.
    unknown:    states without an answer.
    undone:     workloads that could not be examined.
    reasons:    why the first of them could not.
    confirmed:  workloads with little news that showed it again in a second recording.
    flaky:      workloads whose news did not come again.
    edge_count: edges that the kernel has.
    samples:    over time.
    first:      by signature what showed it first.
    corpus:     as it is now.
    minimized:  how many workloads the corpus had before it was made small at the end.
    """

    mode: str
    kernel: str
    profile: str
    config: tuple[str, ...]
    seed: int
    seeds: int
    number: int = 0
    seconds: float = 0.0
    states: int = 0
    unknown: int = 0
    undone: int = 0
    reasons: tuple[str, ...] = ()
    confirmed: int = 0
    flaky: int = 0
    edge_count: int = 0
    samples: tuple[Sample, ...] = ()
    first: tuple[First, ...] = ()
    corpus: tuple[Kept, ...] = ()
    minimized: int = 0


def read_search(run: Path) -> SearchReport | None:
    """None of a run that is no search. Errors: UnknownFormat, OSError, msgspec.DecodeError."""
    return formats.read(run / FILE, SearchReport) if (run / FILE).is_file() else None
