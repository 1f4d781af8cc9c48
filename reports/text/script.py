"""
A workload's text, each line beside what became of it.

In:       the workload's text and, when it was recorded, its History; a state spec.
Out:      Line after Line, and where the power failed among them.
Not here: parsing (workloads/text.py): a line is matched to its step by its place alone.
"""

import errno

import msgspec

from workloads.history import History, Step
from workloads.text import PARALLEL, THREAD, format_operation


class Line(msgspec.Struct, frozen=True):
    """
    number:  1-based. text: as written, without the newline. section: "", "setup" or "run".
    step:    what happened to the operation on it; None for comments, headings, or if it was not tried.
    moment:  "" or, for a state: "done" (had returned), "cut" (was in flight), "later" (had not begun).
    """

    number: int
    text: str
    section: str
    step: Step | None
    moment: str = ""

    @property
    def result(self) -> str:
        return result_words(self.step) if self.step else ""


def lines(text: str, history: History | None, prefix: int | None = None) -> tuple[Line, ...]:
    """prefix: entries on disk when the power failed; None for no power failure."""
    waiting = {
        "setup": list(history.setup if history else ()),
        "run": sorted(history.run if history else (), key=lambda step: step.index),
    }
    found = []
    section = ""
    for number, content in enumerate(text.splitlines(), start=1):
        word = content.partition("#")[0].strip()
        step = None
        if word in waiting:
            section = word
        elif word in (PARALLEL, THREAD):
            pass  # no operation
        elif word and section:
            step = waiting[section].pop(0) if waiting[section] else None
        found.append(Line(number, content, section, step, moment(step, prefix)))
    return tuple(found)


def moment(step: Step | None, prefix: int | None) -> str:
    if step is None or prefix is None:
        return ""
    if step.end_entry < prefix:
        return "done"
    return "cut" if step.begin_entry < prefix else "later"


def cut_place(script: tuple[Line, ...]) -> int:
    """The number of the line under which the power failed: the last that had begun, or "run" itself."""
    begun = [line.number for line in script if line.moment in ("done", "cut")]
    heading = [line.number for line in script if line.section == "run"][:1]
    return max(begun + heading, default=0)


def cut_words(script: tuple[Line, ...], spec: str) -> str:
    """The moment of the power failure, for a reader."""
    run = [line for line in script if line.section == "run" and line.step]
    cut = [line for line in run if line.moment == "cut"]
    done = [line for line in run if line.moment == "done"]
    if len(cut) > 1:
        numbers = [str(line.step.index) for line in cut if line.step]
        words = f"the power fails while operations {', '.join(numbers[:-1])} and {numbers[-1]} are in flight"
    elif cut:
        words = f"the power fails while {name(cut[-1].step)} is in flight"
    elif done:
        words = f"the power fails after {name(done[-1].step)} had returned"
    else:
        words = "the power fails before the first operation"
    return words + (", and again during recovery" if spec.startswith("N:") else "")


def name(step: Step | None) -> str:
    return f"operation {step.index}" if step else "an operation"


def operation_texts(script: tuple[Line, ...], history: History | None) -> dict[int, str]:
    """Operation number to its line, for those that the text does not have made from its fields."""
    found = {line.step.index: " ".join(line.text.split()) for line in script if line.step}
    for step in (*history.setup, *history.run) if history else ():
        found.setdefault(step.index, format_operation(step.operation))
    return found


def result_words(step: Step) -> str:
    if not step.returned:
        return "never returned"
    if not step.reported:
        return "returned"
    if step.operation.word == "stop":
        return "stopped" if step.blocks else "did not come"
    if step.result >= 0:
        return "ok"
    return errno_words(-step.result)


def errno_words(number: int) -> str:
    return errno.errorcode.get(number, f"errno {number}")
