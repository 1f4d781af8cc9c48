"""Bytes that a program wrote, in place of stamped ones: what they explain, and what they do not."""

from oracles.case import prepare
from oracles.content import ZERO, Extent, Source, part, runs_of, shifted, source_bytes
from oracles.judge import judge_observation, without_unjudged
from oracles.observation import Node, Observation, Run
from oracles.profiles import profile
from oracles.verdict import Answer, Tier, Verdict, Violation
from workloads.history import History, Step, Unjudged
from workloads.workload import Operation, Workload

TEXT = b"hello, world"
BLOCKS = {"k": TEXT}


def history(data=("k",), unjudged=()):
    """A program made foo, wrote TEXT to it and fsynced it; entries 0 to 5 are its marks."""
    operations = (
        Operation("creat", "foo"),
        Operation("write", "foo", length=len(TEXT)),
        Operation("fsync", "foo"),
    )
    run = tuple(
        Step(i, one, 0, 2 * i, 2 * i + 1, inode=12, made=(0o600, 0, 0), data=data if i == 1 else ())
        for i, one in enumerate(operations)
    )
    workload = Workload("made", (), operations)
    return History(workload, "ext4", "test", (), run, 7, 2, blocks=BLOCKS, unjudged=unjudged)


def seen(content=TEXT, mode=0o600):
    root = Node(".", "dir", 2, 0o755, 3, 4096, 8)
    runs = (Run(0, len(content), "x", 0, content.hex()),)
    return Observation(tree=(root, Node("foo", "file", 12, mode, 1, len(content), 8, content=runs)))


def broken(observation, one=None):
    made = prepare(one or history(), profile("ext4"), Tier.POSIX)
    verdicts = judge_observation(made, 7, observation)
    assert not [verdict for verdict in verdicts if verdict.answer is Answer.UNKNOWN], verdicts
    return {verdict.oracle for verdict in verdicts if verdict.answer is Answer.BROKEN}


def test_a_source_gives_the_bytes_that_were_written():
    """Of any part of it, and where it was moved to."""
    source = Source(2, 0, TEXT, 100)
    assert source_bytes(source, 105, 109) == TEXT[5:9]
    (moved,) = shifted((Extent(100, 112, source),), 4096)
    assert source_bytes(moved.source, 4196, 4208) == TEXT
    assert source_bytes(part((Extent(100, 112, source),), 103, 104)[0].source, 103, 104) == TEXT[3:4]


def test_runs_of_a_programs_content_are_raw():
    (run,) = runs_of((Extent(0, len(TEXT), Source(1, 0, TEXT, 0)),))
    assert (run.kind, bytes.fromhex(run.hex)) == ("x", TEXT)
    assert runs_of((Extent(0, 8, ZERO),))[0].kind == "z"


def test_what_the_program_wrote_holds():
    assert not broken(seen()) & {"durable", "historical"}


def test_a_byte_that_it_did_not_write_is_broken():
    assert {"durable", "historical"} <= broken(seen(TEXT.replace(b"w", b"W")))


def test_bytes_that_are_gone_are_broken():
    """Zeros may have been there, but not after the fsync."""
    assert "durable" in broken(seen(bytes(len(TEXT))))


def test_the_permissions_are_those_of_the_program():
    assert "historical" in broken(seen(mode=0o644))


def test_what_is_not_judged_breaks_nothing_from_then_on():
    """Only of that path, only after that entry, and only what the history is asked for."""
    violation = Violation("stale data", "file", "foo/bar", "a", "b", "p", Tier.POSIX)
    durable = Verdict("durable", Tier.POSIX, Answer.BROKEN, 3, (violation,))
    stable = Verdict("stable", Tier.POSIX, Answer.BROKEN, 3, (violation,))
    one = history(unjudged=(Unjudged("foo", "ioctl", "no word", 4),))
    assert without_unjudged(one, 4, durable) == durable
    kept = without_unjudged(one, 5, durable)
    assert (kept.answer, kept.violations, kept.checked) == (Answer.HOLDS, (), 3)
    assert without_unjudged(one, 5, stable) == stable
    other_path = history(unjudged=(Unjudged("fo", "ioctl", "no word", 4),))
    assert without_unjudged(other_path, 5, durable) == durable
