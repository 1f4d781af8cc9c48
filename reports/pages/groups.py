"""
Hundreds of states as a few groups: what is equal is shown once.

In:       an Experiment.
Out:      Group after Group of consecutive states with equal verdicts, with what recovery found.
Not here: the markup (templates/experiment.html), counting (digest.py).
"""

import itertools
import re
from collections.abc import Iterator, Mapping

import msgspec

from oracles.observation import Observation, Tree
from oracles.spec import is_live, operation_of, prefix_of
from oracles.verdict import Answer, Verdict
from reports.pages.faults import point_words
from reports.results import Experiment, JudgedState
from reports.text.script import errno_words
from reports.text.tree_words import Row, rows
from reports.text.use_words import use_lines
from workloads.history import History, Step

ROWS_SHOWN = 2500  # names over a whole page, at about 250 bytes each: a page stays under 1 MB
SIGHTINGS_SHOWN = 300  # of states that hold, over a whole page
LOG_LINES_SHOWN = 80
OWN_TROUBLE = "trouble in Powercut itself"
FSCK_CHARACTERS_SHOWN = 6000
LOG_LEVELS = ("emerg", "alert", "crit", "err", "warning", "notice", "info", "debug")


class TreeView(msgspec.Struct, frozen=True):
    """
    anchor:   the id of the place where this tree is shown. first: whether that is here.
    of:       the spec of the state it was first seen in. rows: empty unless first.
    left_out: True when the page had no room for it.
    """

    anchor: str
    first: bool
    of: str
    name_count: int
    rows: tuple[Row, ...] = ()
    left_out: bool = False


class LogLine(msgspec.Struct, frozen=True):
    level: str
    text: str
    serious: bool


class Sighting(msgspec.Struct, frozen=True):
    """What recovery found in consecutive states.

    moment:   which operation was in flight, or had returned last.
    problems: each a line, empty when all went well.
    """

    specs: str
    moment: str
    state_count: int
    tree: TreeView | None
    second_tree: TreeView | None
    problems: tuple[str, ...]
    kernel_log: tuple[LogLine, ...]
    kernel_log_left_out: int
    console: tuple[str, ...]
    fsck_exit: int | None
    fsck_output: str
    used: list[str]
    probe_steps: int


class Group(msgspec.Struct, frozen=True):
    """Consecutive states with equal verdicts. anchors: one for each state.

    left_out: how many sightings the page had no room for; only of states that hold.
    """

    specs: str
    states: tuple[JudgedState, ...]
    anchors: tuple[str, ...]
    identical_count: int
    proven_count: int
    answer: Answer
    verdicts: tuple[Verdict, ...]
    sightings: tuple[Sighting, ...]
    left_out: int


class Trees:
    """Which trees a page has shown, and how many rows and sightings it has left.

    The one thing here that changes: a page is written from top to bottom.
    """

    def __init__(
        self, operations: Mapping[int, str], history: History | None, rows_left: int = ROWS_SHOWN
    ) -> None:
        self.operations = operations
        self.history = history
        self.rows_left = rows_left
        self.sightings_left = SIGHTINGS_SHOWN
        self.shown: dict[bytes, TreeView] = {}
        self.last: Tree | None = None

    def view(self, tree: Tree, spec: str, must: bool) -> TreeView:
        """must: show it whatever room is left, because something is wrong with it."""
        key = msgspec.json.encode(tree)
        known = self.shown.get(key)
        if known and not (must and known.left_out):
            return msgspec.structs.replace(known, first=False, rows=())
        left_out = len(tree) > self.rows_left and not must
        table = () if left_out else rows(tree, self.operations, self.last)
        self.rows_left -= len(table)
        if not left_out:
            self.last = tree
        view = TreeView(f"tree-{len(self.shown) + 1}", True, spec, len(tree), table, left_out)
        if known:
            view = msgspec.structs.replace(view, anchor=known.anchor + "-full")
        self.shown[key] = view
        return view


def anchor(spec: str) -> str:
    """The id of a state on its experiment's page: "state-O-12"."""
    return "state-" + re.sub(r"[^A-Za-z0-9]+", "-", spec)


def answer(verdicts: tuple[Verdict, ...]) -> Answer:
    """The worst of them; UNKNOWN when there are none, for then nobody looked."""
    answers = {verdict.answer for verdict in verdicts}
    for each in (Answer.BROKEN, Answer.UNKNOWN):
        if each in answers:
            return each
    return Answer.HOLDS if answers else Answer.UNKNOWN


def span(states: tuple[JudgedState, ...] | list[JudgedState]) -> str:
    if len(states) == 1:
        return states[0].spec
    return f"{states[0].spec} to {states[-1].spec}"


def groups(experiment: Experiment, operations: Mapping[int, str]) -> tuple[Group, ...]:
    trees = Trees(operations, experiment.history)
    found = []
    for number, same in itertools.groupby(experiment.judgement.states, key=lambda state: state.verdict_set):
        states = tuple(same)
        verdicts = experiment.judgement.verdict_sets[number]
        seen, left_out = sightings(states, experiment.observations, trees, answer(verdicts))
        found.append(
            Group(
                specs=span(states),
                states=states,
                anchors=tuple(anchor(state.spec) for state in states),
                identical_count=sum(bool(state.same_as) for state in states),
                proven_count=sum(bool(state.proven_by) for state in states),
                answer=answer(verdicts),
                verdicts=verdicts,
                sightings=seen,
                left_out=left_out,
            )
        )
    return tuple(found)


def sightings(
    states: tuple[JudgedState, ...], observations: tuple[Observation, ...], trees: Trees, worst: Answer
) -> tuple[tuple[Sighting, ...], int]:
    """One sighting for consecutive states whose recoveries saw the same; and how many are left out."""
    encode = msgspec.json.encode
    keys = {state.observation: encode(observations[state.observation]) for state in states}
    found = []
    left_out = 0
    for _, same in itertools.groupby(states, key=lambda state: keys[state.observation]):
        alike = list(same)
        seen = observations[alike[0].observation]
        if worst is Answer.HOLDS and not trees.sightings_left:
            left_out += 1
            continue
        trees.sightings_left -= worst is Answer.HOLDS
        found.append(sighting(alike, seen, trees, worst is not Answer.HOLDS))
    return tuple(found), left_out


def sighting(states: list[JudgedState], seen: Observation, trees: Trees, must: bool) -> Sighting:
    spec = states[0].spec
    log = (*(seen.fault.kernel_log if seen.fault else ()), *seen.kernel_log)
    tree = None if seen.tree is None else trees.view(seen.tree, spec, must)
    second = None if seen.second_tree is None else trees.view(seen.second_tree, spec, must)
    return Sighting(
        specs=span(states),
        moment=moments(states, trees.history, trees.operations),
        state_count=len(states),
        tree=tree,
        second_tree=second,
        problems=tuple(problems(seen)),
        kernel_log=tuple(log_line(line) for line in log[-LOG_LINES_SHOWN:]),
        kernel_log_left_out=max(0, len(log) - LOG_LINES_SHOWN),
        console=seen.console[-LOG_LINES_SHOWN:],
        fsck_exit=seen.fsck.exit if seen.fsck else None,
        fsck_output=seen.fsck.output[:FSCK_CHARACTERS_SHOWN].strip() if seen.fsck else "",
        used=use_lines(seen),
        probe_steps=seen.probe_steps,
    )


def moments(states: list[JudgedState], history: History | None, operations: Mapping[int, str]) -> str:
    """ "during 4 fsync A/foo", or from where to where."""
    if history is None:
        return ""
    first, last = (moment(each.spec, history, operations) for each in (states[0], states[-1]))
    return first if first == last else f"{first} … {last}"


def moment(spec: str, history: History, operations: Mapping[int, str]) -> str:
    if is_live(spec):
        return live_words(spec, operations)
    if spec.startswith("F:"):
        return point_words(spec, history, operations)
    prefix = prefix_of(spec) or 0
    if not history.known:
        return f"after {prefix} entries of the log"
    begun = history.begun_count(prefix)
    if not begun:
        return "before the first operation"
    in_flight = history.in_flight(prefix) if history.parallel else ()
    if len(in_flight) > 1:
        return f"during {' and '.join(_words(step, operations) for step in in_flight)}"
    if in_flight:
        return f"during {_words(in_flight[0], operations)}"
    after = begun == history.completed_count(prefix)
    return f"{'after' if after else 'during'} {_words(history.run[begun - 1], operations)}"


def live_words(spec: str, operations: Mapping[int, str]) -> str:
    """Of a kernel that recorded. operations: all that were tried."""
    at = operation_of(spec)
    if at in operations:
        return f"while the workload was recorded, during {at} {operations[at]}"
    return f"while the workload was recorded, at the {'unmount' if operations else 'mount'}"


def _words(step: Step, operations: Mapping[int, str]) -> str:
    return f"{step.index} {operations.get(step.index, '')}"


def problems(seen: Observation) -> list[str]:
    """What did not go well in one recovery; not yet a verdict."""
    found = []
    if seen.trouble:
        found.append(f"{OWN_TROUBLE}: {seen.trouble}")
    if seen.death:
        found.append(f"the kernel ended ({seen.death}) during {seen.death_during or 'recovery'}")
    for what, number in (
        ("mount", seen.mount_errno),
        ("unmount", seen.umount_errno),
        ("second mount", seen.second_mount_errno),
    ):
        if number:
            found.append(f"{what} failed: {errno_words(number)}")
    if seen.fsck and seen.fsck.timed_out:
        found.append("fsck timed out")
    if seen.fsck and seen.fsck.exit and not seen.fsck.timed_out:
        found.append(f"fsck exit status {seen.fsck.exit}")
    found += _scrub_words(seen)
    found += [f"probe of the first mount: {failed}" for failed in seen.first_probe]
    return found + [f"probe: {failed}" for failed in seen.probe]


def _scrub_words(seen: Observation) -> Iterator[str]:
    done = seen.scrub
    if done is None:
        return
    if done.error:
        yield f"scrub failed: {errno_words(done.error)}"
    if done.found:
        left = max(done.unrepaired, done.found_again)
        yield f"scrub: {done.found} wrong copies; {f'{left} left' if left else 'all mended'}"
    for what, number in (
        (f"mount without device {seen.without}", seen.without_errno),
        ("mount with all devices again", seen.returned_errno),
    ):
        if number:
            yield f"{what} failed: {errno_words(number)}"
    if seen.without_tree is not None:
        yield f"without device {seen.without} there is another tree"


def log_line(line: str) -> LogLine:
    """A line of Observation.kernel_log; err and worse are serious, warnings too."""
    level, _, text = line.partition(" ")
    if not level.isdecimal() or int(level) >= len(LOG_LEVELS):
        return LogLine("", line, False)
    return LogLine(LOG_LEVELS[int(level)], text, int(level) <= 4)
