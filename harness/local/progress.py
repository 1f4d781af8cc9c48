"""
Show that long work goes on: a bar with an ETA on a terminal, plain lines elsewhere.

In:       what happens, as it happens.
Out:      lines on standard error; nothing when quiet.
Not here: the summary at the end (reports/terminal/terminal.py).
"""

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

PLAIN_EVERY_S = 10.0


class Progress:
    """Use as a context; `quiet` shows nothing."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        self._console = Console(stderr=True)
        self._terminal = self._console.is_terminal and not quiet
        self._stack = contextlib.ExitStack()
        self._bars: Bars | None = None
        self._task: Any = None
        self._build_task: Any = None
        self._steps_task: Any = None
        self._states = self._done = self._total = 0
        self._started = self._last_line = time.monotonic()
        self._last_stage = ""

    def __enter__(self) -> "Progress":
        if self._terminal:
            self._bars = Bars(
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[note]}"),
                console=self._console,
                transient=True,
            )
            self._stack.enter_context(self._bars)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def line(self, text: str) -> None:
        """A plain line, unless quiet."""
        if self._bars is not None:
            self._bars.console.print(text, markup=False, highlight=False)
        elif not self._quiet:
            print(text, file=sys.stderr, flush=True)

    # --- building ---

    def building(self, word: str, variants: Sequence[str] = ()) -> Callable[[str, float], None]:
        """What kernel.build.build wants to be told with. variants: of the configuration; one run may build a
        kernel with some and again without."""

        name = kernel_in_short(word) + (f" ({', '.join(variants)})" if variants else "")

        def tell(stage: str, fraction: float) -> None:
            if self._bars is not None:
                if self._build_task is None:
                    self._build_task = self._bars.add_task(f"kernel {name}", total=100, note="")
                self._bars.update(self._build_task, completed=int(100 * fraction), note=stage)
                if fraction >= 1.0:
                    self._bars.remove_task(self._build_task)
                    self._build_task = None
            elif stage != "built" and self._due(stage):
                self.line(f"kernel {name}: {stage} ({100 * fraction:.0f} %)")
            self._last_stage = stage

        return tell

    def _due(self, stage: str) -> bool:
        """A new stage at once, unless it comes too soon on its like; the same one now and then."""
        now = time.monotonic()
        same = self._last_stage.split()[:1] == stage.split()[:1]
        if now - self._last_line < (
            3 * PLAIN_EVERY_S if stage == self._last_stage else PLAIN_EVERY_S / 5 * same
        ):
            return False
        self._last_line = now
        return True

    # --- steps of one job ---

    def steps(self, name: str, done: int, total: int, note: str) -> None:
        """A bar; without a terminal whoever calls says lines of its own."""
        if self._bars is None:
            return
        if self._steps_task is None:
            self._steps_task = self._bars.add_task(name, total=total, note=note)
        self._bars.update(self._steps_task, completed=done, note=note)

    # --- experiments ---

    def experiments(self, todo: int, total: int) -> None:
        self._total = todo
        self._started = self._last_line = time.monotonic()
        if todo < total:
            self.line(f"{total - todo} of {total} experiments are already done")
        if self._bars is not None:
            self._task = self._bars.add_task("experiments", total=todo, note="")

    def starting(self, plan: Any) -> None:
        if self._bars is not None:
            self._bars.update(self._task, note=self._note(f"{plan.profile.name} {plan.workload.name}"))

    def states(self, count: int) -> None:
        self._states += count
        self._plain()

    def done(self, outcome: Any) -> None:
        self._done += 1
        if outcome.trouble:
            self.line(f"experiment {outcome.number}: {outcome.trouble}")
        if self._bars is not None:
            self._bars.update(self._task, advance=1, note=self._note(""))
        self._plain()

    def _note(self, what: str) -> str:
        elapsed = time.monotonic() - self._started
        return f"{self._states:,} states judged, {self._states / max(elapsed, 0.1):.0f}/s {what}"

    def _plain(self) -> None:
        now = time.monotonic()
        if self._bars is not None or now - self._last_line < PLAIN_EVERY_S:
            return
        self._last_line = now
        left = (now - self._started) / max(self._done, 1) * (self._total - self._done)
        eta = f", about {left:.0f} s left" if self._done else ""
        self.line(f"{self._done} of {self._total} experiments, {self._note('').strip()}{eta}")


def kernel_in_short(kernel: str) -> str:
    """A kernel spec for a line: of many series their number."""
    source, *there = kernel.split("+")
    return kernel if len(there) <= 2 else f"{source} with {len(there)} series"
