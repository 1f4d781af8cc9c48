"""
Nights made by hand, for tests of their pages and of their files for CI.

In:       what shall be different.
Out:      Night, Nights.
Not here: the runs of a night (make_run.py), the nights of a history (harness/tests/nightly/).
"""

import msgspec

from oracles.verdict import Tier, Violation
from reports.nights.results import (
    FLAKY,
    GONE,
    NEW,
    SAME,
    Night,
    NightCell,
    NightExperiment,
    NightFinding,
    NightKernel,
    NightLine,
    Nights,
)
from reports.tests import make_run

HASH = "37ca0b279d47e855c60033bc711bb24d5b79c2c3"
BEFORE = "f8d25f69b0e0b8c3c5b0bd72793dfe000b45a56f"
WITNESS = make_run.finding(  # as the run of a night left it
    1,
    violation=Violation(
        kind="xattr lost",
        role="fsynced file",
        subject="foo",
        expected="user.a = 'x'",
        found="no such attribute",
        promise="fsync of a file makes its extended attributes durable (fsync(2))",
        tier=Tier.FS,
    ),
    oracle="durable",
    workload="xattrs-over-two-fsyncs",
    experiment=1,
    state="O:43",
)
XATTR = WITNESS.signature
NAME = "btrfs durable: name lost (synced file)"
TREE = "https://git.kernel.org/pub/scm/linux/kernel/git/kdave/linux.git"


def kernel(name: str = "next", **other: object) -> NightKernel:
    made = NightKernel(
        name=name,
        tree=TREE,
        branch="for-next",
        word="/cache/trees/1.git@37ca0b279d47",
        hash=HASH,
        subject="btrfs: log xattrs a little less often",
        author="A Developer <developer@example.org>",
        date="2023-11-15 03:13:20 +0000",
        before=BEFORE,
        version="6.12",
        guest="uml",
        skipped="",
        trouble="",
        build="PASS",
        arch="um",
        compiler="gcc (Debian 12.2.0-14) 12.2.0",
        build_s=175.0,
    )
    return msgspec.structs.replace(made, **other)


def cell(kernel_name: str = "next", profile: str = "btrfs", **other: object) -> NightCell:
    made = NightCell(
        kernel=kernel_name,
        profile=profile,
        run=f"{kernel_name}/{profile}/20261125T220000Z-ab12",
        further=(),
        experiments=3,
        broken=1,
        unknown=0,
        states=102,
        seconds=21.0,
        states_per_s=36.5,
        left=("late-one", "late-two"),
        trouble="",
    )
    return msgspec.structs.replace(made, **other)


def experiment(workload: str, verdict: str = "HOLDS", *findings: str, **other: object) -> NightExperiment:
    made = NightExperiment("next", "btrfs", workload, 1, "never run", verdict, 34, 7.25, findings)
    return msgspec.structs.replace(made, **other)


def finding(signature: str = XATTR, state: str = NEW, **other: object) -> NightFinding:
    made = NightFinding(
        kernel="next",
        signature=signature,
        oracle=WITNESS.oracle,
        state=state,
        words="seen for the first time",
        known=(),
        first_night=2,
        last_night=2,
        profile=WITNESS.profile,
        workload=WITNESS.workload,
        spec=WITNESS.state,
        expected=WITNESS.expected,
        found=WITNESS.found,
        run="0002/next/btrfs/20261125T220000Z-ab12",
        id=WITNESS.id,
        shown=5,
        times=5,
        minimal="0002/minimal/20261125T230000Z-cd34",
        program="run\n  creat foo\n  fsync foo\n  setxattr foo user.a x\n  fsync foo\n",
        exports=("0002/minimal/20261125T230000Z-cd34/exports/F1.sh",),
        good=BEFORE,
        bad=HASH,
        culprit=HASH,
        culprit_words="btrfs: log xattrs a little less often (A Developer <developer@example.org>)",
        bisect="0002/bisect/20261125T233000Z-ef56",
        note="",
        todo="",
    )
    return msgspec.structs.replace(made, **other)


def night(**other: object) -> Night:
    """A night with a finding in each state, one of them known."""
    made = Night(
        number=2,
        started="2026-11-25T22:00:00Z",
        ended="2026-11-26T04:01:00Z",
        budget_s=21600.0,
        spent_s=21660.0,
        seed=1,
        powercut="abc1234",
        exit=1,
        kernels=(kernel(),),
        cells=(cell(),),
        experiments=(
            experiment(WITNESS.workload, "BROKEN", XATTR, NAME),
            experiment("old-one", "BROKEN", NAME),
            experiment("good-one"),
        ),
        findings=(
            finding(),
            finding("btrfs atomic: both names (renamed file)", GONE, first_night=1, last_night=1),
            finding("btrfs quiet: filesystem error (kernel log)", FLAKY, shown=3, words="seen now and then"),
            finding(NAME, SAME, known=("BTRFS-1",), first_night=1, words="since night 1"),
        ),
        trouble=(),
    )
    return msgspec.structs.replace(made, **other)


def quiet(**other: object) -> Night:
    """One without anything new."""
    same = night().findings[1:]
    return night(number=3, exit=0, experiments=night().experiments[1:], findings=same, **other)


def line(number: int, **other: object) -> NightLine:
    made = NightLine(
        number=number,
        started=f"2026-11-{20 + number:02}T22:00:00Z",
        ended=f"2026-11-{21 + number:02}T04:00:00Z",
        exit=0,
        spent_s=21600.0,
        folder=f"{number:04}",
        counts={SAME: 3, GONE: number % 2},
        kernels={"next": kernel(), "debian": kernel("debian", tree="", branch="6.12", hash="6.12.117-1")},
        cells={
            ("next", "btrfs"): cell(states=100 + 7 * number, states_per_s=30 + number),
            ("next", "ext4"): cell(profile="ext4", states=140, states_per_s=25 - number),
            ("debian", "btrfs"): cell("debian", states=120, states_per_s=33),
        },
        news={},
    )
    return msgspec.structs.replace(made, **other)


def nights() -> Nights:
    """Five: a quiet one, one with news, one in which a kernel was left out, trouble, news."""
    skipped = kernel("debian", tree="", branch="6.12", skipped="6.12 has not moved since night 1")
    lines = (
        line(1),
        line(2, exit=1, news={("next", "btrfs"): 1}, counts={NEW: 1, SAME: 2, FLAKY: 1}),
        line(3, kernels={"next": kernel(), "debian": skipped}, cells={("next", "btrfs"): cell()}),
        line(
            4,
            exit=3,
            kernels={"next": kernel(hash="", build="", trouble="cannot be fetched"), "debian": skipped},
            cells={},
        ),
        line(5, exit=1, news={("next", "ext4"): 2}, counts={NEW: 2, SAME: 3}),
    )
    found = (*night().findings, finding("ext4 durable: name lost (synced file)", last_night=5, culprit=""))
    return Nights(lines, found, (("next", "btrfs"), ("next", "ext4"), ("debian", "btrfs")))
