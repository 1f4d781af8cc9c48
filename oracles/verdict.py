"""
The three answers, and what a BROKEN one says.

In:       nothing; the oracles make these.
Out:      Verdict, Violation.
Not here: grouping verdicts into findings (finding.py).
"""

import enum

import msgspec


class Answer(enum.StrEnum):
    """UNKNOWN is for our own trouble: never a pass, never a finding."""

    HOLDS = "HOLDS"
    BROKEN = "BROKEN"
    UNKNOWN = "UNKNOWN"


class Tier(enum.StrEnum):
    """How much is asked, weakest first: each tier asks all that the ones before it ask.

    posix: what the manual pages promise. somc: strictly ordered metadata consistency.
    fs:    what this filesystem documents or its own regression tests demand.
    """

    POSIX = "posix"
    SOMC = "somc"
    FS = "fs"


TIERS = (Tier.POSIX, Tier.SOMC, Tier.FS)  # weakest first


class Violation(msgspec.Struct, frozen=True):
    """One promise that was not kept.

    kind:     the kind of violation, one of a fixed few per oracle ("name lost", "both names").
    role:     what the object was to the workload, not its name ("renamed file", "fsynced directory").
    subject:  its path. expected, found: one line each, for a reader.
    promise:  the promise's sentence and source. tier: the weakest tier that makes it.
    """

    kind: str
    role: str
    subject: str
    expected: str
    found: str
    promise: str
    tier: Tier


class Verdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One oracle's answer on one state.

    oracle:     its name.
    tier:       of the run.
    answer:     the answer.
    checked:    how many things it looked at; 0 with HOLDS means there was nothing to ask.
    violations: not empty exactly when BROKEN.
    reason:     why UNKNOWN.
    """

    oracle: str
    tier: Tier
    answer: Answer
    checked: int = 0
    violations: tuple[Violation, ...] = ()
    reason: str = ""
