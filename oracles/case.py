"""
One question for the oracles: this history, this cut, this is what came back.

In:       a History, a Profile, a Tier (prepare); then a cut and an Observation (Prepared.case).
Out:      Case; the helpers with which the oracles write their answers.
Not here: the answers (one file an oracle), asking all of them (judge.py).
"""

import functools
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from oracles.allowed import AllowedValues
from oracles.content import ZERO, Difference
from oracles.model import steps as models
from oracles.model.model import Disagreement, Model
from oracles.observation import Node, Observation, noun
from oracles.orders import Orders, begun_count
from oracles.profiles import Profile, promise_text
from oracles.recovered import Readings, Recovered
from oracles.verdict import TIERS, Answer, Tier, Verdict, Violation
from workloads.history import History


@dataclass(frozen=True)
class Case:
    """
    prefix:   how many log entries were on disk. allowed: what may be there then.
    readings: of observation.tree; empty when there is no tree.
    """

    history: History
    profile: Profile
    tier: Tier
    prefix: int
    allowed: AllowedValues
    observation: Observation
    readings: Readings

    @property
    def model(self) -> Model:
        return self.allowed.model

    def asks(self, tier: Tier) -> bool:
        """Whether this run asks for promises of that tier."""
        return TIERS.index(tier) <= TIERS.index(self.tier)

    def asks_for(self, key: str) -> bool:
        """Whether the profile makes this promise, and this run asks for it."""
        return self.allowed.asks(key)

    @property
    def one_time_promised(self) -> bool:
        """Whether all metadata is that of one time: ext4 and xfs have one journal; btrfs commits whole
        transactions, and f2fs writes whole checkpoints, but an fsync writes some objects beside them."""
        if "metadata-order" in self.allowed.promises:
            return True
        return not any(
            time > self.allowed.all.time and self.model.steps[time - 1].begin_entry < self.prefix
            for time in self.model.logging
        )

    def promise(self, key: str) -> str:
        return promise_text(self.profile, key)

    def verdict(self, oracle: str, checked: int, violations: Iterable[Violation]) -> Verdict:
        broken = tuple(violations)
        answer = Answer.BROKEN if broken else Answer.HOLDS
        return Verdict(oracle, self.tier, answer, max(checked, len(broken)), broken)


Moment = tuple[frozenset[int], frozenset[int]]  # indexes of what had begun, and of what had returned


@dataclass(frozen=True)
class Prepared:
    """A history worked out once for all its states. trouble: "" or why it cannot be judged.
    orders: of operations that overlapped; then `model` is that of the first of them."""

    history: History
    profile: Profile
    tier: Tier
    model: Model | None
    trouble: str
    orders: Orders | None = None
    # One at most, with its moment(): cuts mostly come in order.
    _latest: list[tuple[int, AllowedValues]] = field(default_factory=list)
    last_order: list[int] = field(default_factory=list)  # the number of the one that explained the last state
    _of_orders: dict[int, tuple[Moment, AllowedValues]] = field(default_factory=dict)  # the same, by order

    @functools.cached_property
    def _turns(self) -> list[int]:
        """The marks in the log behind which states may show something else: of an operation that begins, and
        of one that returns and promises something by that. Of operations that overlapped, each that returns:
        it has had its effect then."""
        run, model = self.history.run, self.model
        promising = run
        if model is not None and self.orders is None:
            kept = {persist.step for persist in model.persists}
            promising = tuple(step for step in run if step.index in kept)
        limits = [one.entry for one in self.history.unjudged]
        return sorted([step.begin_entry for step in run] + [step.end_entry for step in promising] + limits)

    def moment(self, prefix: int) -> int:
        """Equal for cuts at which the same is judged alike."""
        return bisect_left(self._turns, prefix)

    def allowed(self, prefix: int) -> AllowedValues:
        model = self.model
        assert model is not None
        if self.orders is not None:
            return self._allowed_of(0, model, prefix)
        moment = self.moment(prefix)
        known, before = self._latest[0] if self._latest else (None, None)
        if before is None or known != moment:
            begun, completed = self.history.begun_count(prefix), self.history.completed_count(prefix)
            if model.stopped is not None:  # in that call it stays
                completed = min(completed, model.stopped - model.base_time)
            before = before if before and before.done <= model.base_time + completed else None
            before = AllowedValues(model, self.profile, self.tier, begun, completed, before)
            self._latest[:] = [(moment, before)]
        return before

    def _allowed_of(self, number: int, model: Model, prefix: int) -> AllowedValues:
        """By that order: see the top of orders.py."""
        moment = self.history.begun(prefix), self.history.returned(prefix)
        known = self._of_orders.get(number)
        if known is None or known[0] != moment:
            begun, returned = moment
            count = begun_count(model, begun)
            assert returned <= set(model.order[:count]), "what has returned had its effect"
            allowed = AllowedValues(model, self.profile, self.tier, count, count, None, returned)
            known = self._of_orders[number] = (moment, allowed)
        return known[1]

    def case(self, prefix: int, observation: Observation, order: int = 0) -> Case:
        """order: the number of one that there is. Errors: Disagreement when the history itself cannot be
        judged."""
        if self.model is None:
            raise Disagreement(self.trouble)
        if self.orders is None:
            allowed = self.allowed(prefix)
        else:
            model = self.orders.get(order)
            assert model is not None, order
            allowed = self._allowed_of(order, model, prefix)
        found = Readings(observation.tree, allowed)
        return Case(self.history, self.profile, self.tier, prefix, allowed, observation, found)


def prepare(history: History, profile: Profile, tier: Tier = Tier.FS) -> Prepared:
    """Never fails: what is wrong with the history is kept as `trouble`."""
    orders = Orders(history, profile) if history.parallel else None
    try:
        model = orders.get(0) if orders else models.build(history)
        return Prepared(history, profile, tier, model, "", orders)
    except Disagreement as error:
        return Prepared(history, profile, tier, None, str(error))


def best_reading(
    case: Case, judge: Callable[[Case, Recovered], tuple[int, list[Violation]]]
) -> tuple[int, list[Violation]]:
    """(checked, violations) of the reading with the fewest: a reused inode number must not accuse."""
    best: tuple[int, list[Violation]] | None = None
    for recovered in case.readings:
        answer = judge(case, recovered)
        if best is None or len(answer[1]) < len(best[1]):
            best = answer
        if not best[1]:
            break
    assert best is not None, "a tree has at least one reading"
    return best


def best_verdict(
    oracle: str, case: Case, judge: Callable[[Case, Recovered], tuple[int, list[Violation]]]
) -> Verdict | None:
    """The oracle's verdict on its best reading; none where there is no tree."""
    if not case.readings:
        return None
    checked, violations = best_reading(case, judge)
    return case.verdict(oracle, checked, violations)


def describe(case: Case, inode: int | None) -> str:
    """An object for a reader of the report."""
    if inode is None:
        return "nothing"
    if inode < 0:
        return "something unknown"
    object_ = case.model.inodes[inode]
    return f"the {noun(object_.kind)} made by '{object_.made_by}' (inode {object_.number})"


def any_of(parts: Sequence[str]) -> str:
    return " or ".join(parts)


def allowed_words(difference: Difference) -> str:
    """What the bytes might have been."""
    return any_of(
        [
            "zeros" if source == ZERO else f"bytes of operation {source.stamp - 1}"
            for source in sorted(difference.allowed)
        ]
    )


def xattr_words(value: str | None) -> str:
    return "nothing" if value is None else bytes.fromhex(value).decode("latin-1")


def changed_flags(case: Case, inode: int, node: Node) -> str:
    """The node's flags, of those that the workload changed."""
    changed = case.model.flags_changed[inode]
    return "".join(sorted(letter for letter in node.flags if letter in changed))


def describe_node(node: Node | None) -> str:
    if node is None:
        return "no such name"
    if node.kind == "unknown":
        return f"a name that leads nowhere ({', '.join(node.errors)})"
    return f"a {node.kind} with inode {node.ino}"


def role(case: Case, inode: int) -> str:
    """What the object was to the workload: what became of it in run, most telling first."""
    model, allowed = case.model, case.allowed
    if inode == model.root:
        return "the root"
    since = model.base_time
    happened = [
        ("renamed", any(r.inode == inode and since < r.time <= allowed.now for r in model.renames)),
        ("replaced", any(r.replaced == inode and since < r.time <= allowed.now for r in model.renames)),
        ("hard-linked", _linked(model, inode, "link", since, allowed.now)),
        ("unlinked", _linked(model, inode, "unlink", since, allowed.now)),
        ("new", model.inodes[inode].born > since),
    ]
    done = [word for word, true in happened if true]
    return f"{done[0] if done else 'old'} {noun(model.kind(inode))}"


def _linked(model: Model, inode: int, word: str, since: int, now: int) -> bool:
    return any(i == inode and w == word and since < t <= now for t, i, w in model.linked)
