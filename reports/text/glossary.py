"""
The terms and marks of a report, each with one explanation.

In:       nothing.
Out:      tables of terms: words of a report, answers, tiers, marks of states, IDs.
Not here: the page (templates/glossary.html), what each oracle checks (oracles/), the letters of the outcomes
          of damage (reports/pages/damage.py).
"""

from typing import NamedTuple

from oracles.spec import MODELS, PRESUMES, disk_words
from oracles.verdict import Answer, Tier


class Term(NamedTuple):
    """example: a mark as it stands in a report; "" for a word."""

    name: str
    meaning: str
    example: str = ""


TIER_WORDS = {
    Tier.POSIX: "what the manual pages promise",
    Tier.SOMC: "tier posix, and strictly ordered metadata consistency",
    Tier.FS: "tier somc, and what the filesystem documents or its own regression tests demand",
}

ANSWERS = (
    Term(Answer.HOLDS, "The oracle found no violation of its promises in this state.", "✓"),
    Term(Answer.BROKEN, "The oracle found at least one violation.", "✕"),
    Term(
        Answer.UNKNOWN,
        "The oracle could not answer, because something failed in Powercut itself. It is neither a pass "
        "nor a finding.",
        "?",
    ),
    Term(
        "HOLDS, nothing to check",
        "Nothing in this state was subject to the promises of the oracle.",
        "\u2713 \u2013",
    ),
)

# One example of each form; the test parses them.
STATES = (
    "O:12",
    "R:12-3,5..7",
    "T:12/3",
    "T:12-5/3",
    "N:O:12/O:4",
    "A:O:12/O:40",
    "M:12/1.late",
    "M:12/0.gone",
    "D:O:12/7680^1234",
    "D:O:12/7680.3=0",
)
FAULTS = (
    Term("fault point", "Every write and FLUSH during operation 3 fails.", "F:error-writes@3"),
    Term("fault point", "The same, only for the 8 sectors from sector 8192 on.", "F:error-writes@3:8192+8"),
    Term("fault point", "Only FLUSH fails during operation 3.", "F:error-writes@3:flush"),
    Term(
        "fault point",
        "From operation 3 to the end of the workload, writes are dropped but reported as done.",
        "F:drop-writes@3-",
    ),
    Term("fault point", "One byte of each write during operation 3 is changed.", "F:corrupt@3"),
    Term("fault point", "Every read during operation 3 fails.", "F:error-reads@3"),
    Term("fault point", "Reads and writes during operation 3 take longer.", "F:delay@3"),
    Term("fault point", "The device fails as the fault lines of the workload say.", "F:script"),
)
LIVE = Term(
    "running kernel",
    "Not a state of the disk: what the kernel did during operation 5 while the workload was recorded.",
    "L:5",
)


def marks() -> tuple[Term, ...]:
    """Every form of a state, a fault point and a place in the recording."""
    return (
        *(Term(state_name(spec), f"On disk: {disk_words(spec)}.", spec) for spec in STATES),
        *FAULTS,
        LIVE,
    )


def state_name(spec: str) -> str:
    return "damage at rest" if spec.startswith("D:") else f"model {spec[0]}"


def models() -> tuple[Term, ...]:
    return tuple(
        Term(words, f"Requires {PRESUMES.get(letter, 'a power failure')}.", letter)
        for letter, words in MODELS.items()
    )


IDS = (
    Term("finding", "A finding of this run. The commands repro, minimize and export take it.", "F1"),
    Term(
        "known finding",
        "A finding with a page in the documentation of Powercut (docs/findings). It keeps this ID.",
        "BTRFS-1",
    ),
    Term(
        "kernels",
        "Of two kernels: A is the reference (--against), B is the kernel under test (--kernel).",
        "A, B",
    ),
    Term(
        "operation", "An operation of the workload by its number, counted from 0 over setup and run.", "op 3"
    ),
    Term("thread", "An operation of thread 2 of a parallel block.", "\u20162"),
)

WORDS = (
    Term("kernel", "A bootable build: source, series, configuration and architecture."),
    Term(
        "series",
        "A named change to a kernel source: a patch of the user, a planted bug, or an upstream improvement "
        "that is taken out.",
    ),
    Term(
        "guest", "The running kernel that executes the workload and the recoveries: User Mode Linux or QEMU."
    ),
    Term("profile", "A filesystem with its mkfs options, mount options, device size, checker and promises."),
    Term(
        "workload",
        "What is done to the filesystem: operations in the sections setup and run. Only run is recorded.",
    ),
    Term("log", "The writes of the run section, as dm-log-writes recorded them. One record is an entry."),
    Term(
        "mark",
        "An entry that Powercut itself wrote into the log, at the begin and at the end of each operation.",
    ),
    Term("FLUSH", "The request to write back the cache of the device. Only FLUSH orders writes."),
    Term("FUA", "A write that is durable when it completes. It makes only itself durable."),
    Term("window", "The entries between two FLUSHes."),
    Term("state", "The content of the disk that a power failure could have left behind."),
    Term(
        "identical",
        "A state with the same bytes as an earlier state. It is recovered once and judged in both places.",
    ),
    Term(
        "proven",
        "A state that differs from an earlier one in no byte that the recovery of that one read. It is not "
        "recovered: the kernel would do the same again. A share is recovered all the same, to audit this.",
    ),
    Term(
        "recovery",
        "Mount of the disk of a state by the kernel under test, with replay of its journal or log.",
    ),
    Term("tree", "All names, attributes and contents that a walk of the recovered filesystem found."),
    Term("oracle", "A check of one kind of promise."),
    Term(
        "promise",
        "What a filesystem guarantees, and its source: a manual page, a kernel document, a commit or a test.",
    ),
    Term("verdict", "The answer of one oracle for one state."),
    Term("finding", "BROKEN verdicts with the same signature, over all states and workloads of the run."),
    Term(
        "signature",
        "What makes two violations one finding: filesystem, oracle, kind of violation, role of the object.",
    ),
    Term(
        "known finding",
        "A finding of a stock kernel that the documentation of Powercut describes. It counts as BROKEN.",
    ),
    Term("planted bug", "A bug that was put into a kernel on purpose, to test whether an oracle finds it."),
    Term("fault point", "One way in which the device fails during one operation of the workload."),
    Term("damage at rest", "One bit flipped or one sector zeroed in a block that recovery reads."),
    Term("coverage", "How many of all possible states of a crash model were examined."),
)
