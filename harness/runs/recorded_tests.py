"""
What a recorded test of fstests left in its log: every filesystem that was on the device, crash by crash.

In:       the folder of the guest's devices, behind a test that was recorded (fstests/recording.py).
Out:      a RecordedLife for each filesystem; log and base disk, and a run of each, in the folder of the run.
Not here: recording (fstests/machine.py), the examination (explored.py).

No history says what the test did, so only the oracles are asked that need none.
"""

from pathlib import Path

import msgspec

from harness.fstests.recording import Life, free_devices, keep_log
from harness.fstests.suite import VARIANT, ExamineLog
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.runs.explored import Asked, explore
from harness.stages.elsewhere import BadSource, Source, open_source
from harness.stages.explore import StatePlan
from harness.states.disk import BadEntry
from harness.states.log import BadLog
from reports.fstests.results import RecordedLife
from reports.results import Summary

FOLDER = "records"


def examiner(
    run: Path, config: tuple[str, ...], prefixes: int, command: tuple[str, ...], progress: Progress
) -> ExamineLog:
    """run: the folder of the run. config: variants beside fstests' own. prefixes: as of StatePlan."""

    def examine(space: Path, word: str, test: str, filesystem: str) -> tuple[RecordedLife, ...]:
        """Errors: as explore()."""
        place = run / FOLDER / f"{filesystem}-{test.replace('/', '-')}"
        try:
            found = keep_log(space, place)
        except BadLog as error:
            return (RecordedLife("", "", 0, trouble=str(error)),)
        free_devices(space)
        if not found:
            return (RecordedLife("", "", 0, trouble="the test made no filesystem on the scratch device"),)
        asked = Asked(word, (VARIANT, *config), state_plan=StatePlan(prefixes=prefixes), command=command)
        return tuple(examine_life(life, place, run, filesystem, asked, progress) for life in found)

    return examine


def examine_life(
    life: Life, place: Path, run: Path, filesystem: str, asked: Asked, progress: Progress
) -> RecordedLife:
    """Errors: as explore()."""
    known = RecordedLife(life.first, life.last, life.entry_count)
    source = Source(place / "log.zst", place / "base.img", None, filesystem, life.first, life.last)
    try:
        with workspace() as space:
            foreign = open_source(source, space.path)
            folder, summary = explore(foreign, asked, space, place, progress)
    except (BadSource, BadLog, BadEntry) as error:
        return msgspec.structs.replace(known, trouble=str(error))
    return msgspec.structs.replace(
        known,
        states=summary.states.judged,
        verdicts={
            name: (counts.holds, counts.broken, counts.unknown) for name, counts in summary.verdicts.items()
        },
        findings=signatures(summary),
        exit=summary.exit,
        folder=str(folder.relative_to(run)),
    )


def signatures(summary: Summary) -> tuple[str, ...]:
    return tuple(
        f"{one.signature} ({', '.join(bug.id for bug in one.known)})" if one.known else one.signature
        for one in summary.findings
    )
