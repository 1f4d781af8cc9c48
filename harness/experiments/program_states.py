"""
Crash states of a program: each recovered and judged, and the program's own script asked about each tree.

In:       a Setting, a Recording of a program that has an oracle, its log, a StatePlan.
Out:      crash_states(): ProgramStates, or CrashStates where nobody is to be asked.
Not here: asking (stages/ask.py), judging the answer (oracles/application.py).

The script is asked once for each different tree and lines that the program had printed: most states of a
log come back alike. All states are recovered first, which takes milliseconds each, then the script is asked,
which takes as long as the program takes to start.
"""

import time
from collections.abc import Callable, Iterator

import msgspec

from harness.experiments.crash_states import CrashStates
from harness.experiments.examination import Judged, Setting
from harness.stages.ask import Asker
from harness.stages.explore import StatePlan
from harness.stages.judge import Judge, decode
from harness.stages.record import Recording
from harness.stages.recover import Recovered
from harness.states.log import Log
from oracles.observation import Asked, identity
from oracles.spec import parse


class ProgramStates(CrashStates):
    """Of a recording whose program has an oracle. asked: by tree and number of lines what that said."""

    def __init__(
        self,
        setting: Setting,
        recording: Recording,
        log: Log,
        state_plan: StatePlan,
        judge: Judge | None = None,
        enough: Callable[[], bool] = lambda: False,
    ) -> None:
        super().__init__(setting, recording, log, state_plan, judge, enough)
        self._setting, self._enough = setting, enough
        self._trees: dict[bytes, bytes | None] = {}  # by report
        self.asked: dict[tuple[bytes, int], Asked] = {}
        self._asking_s = 0.0

    def _judged(self, states: Iterator[Recovered]) -> Iterator[Judged]:
        yield from super()._judged(self._with_answers(list(states)))

    def _with_answers(self, recovered: list[Recovered]) -> Iterator[Recovered]:
        setting, recording = self._setting, self._recording
        said, program = recording.history.said, recording.history.workload.program
        assert program is not None
        asker = Asker(
            setting.guest_slot,
            setting.profile,
            program,
            recording.base,
            self._log,
            self._explorer.recoveries,
        )
        with asker:
            for one in recovered:
                if self._enough():
                    return
                tree = self._tree(one.observation)
                if tree is None:  # nothing was mounted: other oracles say so
                    yield one
                    continue
                lines = [line.text for line in said if line.entry < one.prefix]
                before = time.monotonic()
                if (tree, len(lines)) not in self.asked:
                    self.asked[tree, len(lines)] = asker.ask(parse(one.spec), lines)
                self._asking_s += time.monotonic() - before
                yield with_answer(one, self.asked[tree, len(lines)])

    def _tree(self, report: bytes) -> bytes | None:
        """Equal for equal trees; None where there is none."""
        if report not in self._trees:
            seen = decode(report)
            self._trees[report] = None if seen.tree is None or seen.trouble else identity(seen.tree)
        return self._trees[report]

    def seconds(self, elapsed_s: float) -> dict[str, float]:
        seconds = super().seconds(elapsed_s)
        return seconds | {"recover": seconds["recover"] - self._asking_s, "ask": self._asking_s}


def crash_states(
    setting: Setting,
    recording: Recording,
    log: Log,
    state_plan: StatePlan,
    judge: Judge | None = None,
    enough: Callable[[], bool] = lambda: False,
) -> CrashStates:
    """As of CrashStates; of a program with an oracle that is asked, too."""
    program = recording.history.workload.program
    kind = ProgramStates if program is not None and program.oracle else CrashStates
    return kind(setting, recording, log, state_plan, judge, enough)


def with_answer(recovered: Recovered, asked: Asked) -> Recovered:
    """The report, a JSON object, with the script's answer as its last member."""
    report = recovered.observation[:-1] + b',"application":' + msgspec.json.encode(asked) + b"}"
    return msgspec.structs.replace(recovered, observation=report)
