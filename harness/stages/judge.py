"""
Judge the states of one experiment, each kind of answer once.

In:       a History, a Profile, a Tier, and what came back of every state.
Out:      Judgement with its observations, as the store keeps them.
Not here: the oracles (oracles/), recovery (recover.py).

Most states of a log recover to few different trees: verdicts are kept by what decides them, the
moment of the cut (what had begun, what was promised) and the bytes of the observation. There are three
kinds of judge, one for each kind of experiment; a Ledger numbers and stores for all of them.
"""

import functools

import msgspec

from harness.stages.recover import Recovered
from harness.states.block_names import OTHER
from oracles.case import Prepared, prepare
from oracles.faults.damage import UNTOLD, outcome_of, split, tree_key
from oracles.judge import judge_damage, judge_fault, judge_observation
from oracles.live import judge_live
from oracles.observation import Observation
from oracles.profiles import Profile
from oracles.spec import is_live, place_of
from oracles.verdict import Tier, Verdict
from reports.results import DAMAGE, FAULTS, Experiment, JudgedState, Judgement, ReadBlock
from workloads.history import History


class Ledger:
    """Numbers observations and verdict sets, each once, and keeps every state with its numbers.

    seen: the observations by number.
    """

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self._raw: list[bytes] = []
        self._numbers: dict[bytes, int] = {}
        self._states: list[JudgedState] = []
        self._sets: list[tuple[Verdict, ...]] = []
        self._set_numbers: dict[tuple[Verdict, ...], int] = {}

    def observe(self, raw: bytes) -> int:
        """The number of what came back, as the agent and the checker reported it."""
        number = self._numbers.get(raw)
        if number is None:
            observation = decode(raw)
            kept = msgspec.json.encode(observation) if observation.trouble else raw  # the store holds JSON
            number = self._numbers[raw] = self.observe_again(kept, observation)
        return number

    def observe_again(self, raw: bytes, observation: Observation) -> int:
        """The number of an observation that is decoded already, taken for a new one."""
        self._raw.append(raw)
        self.seen.append(observation)
        return len(self.seen) - 1

    def set_number(self, verdicts: tuple[Verdict, ...]) -> int:
        number = self._set_numbers.setdefault(verdicts, len(self._sets))
        if number == len(self._sets):
            self._sets.append(verdicts)
        return number

    def verdicts(self, set_number: int) -> tuple[Verdict, ...]:
        return self._sets[set_number]

    def add(
        self,
        spec: str,
        same_as: str,
        number: int,
        set_number: int,
        outcome: str = "",
        proven_by: str = "",
    ) -> None:
        self._states.append(JudgedState(spec, same_as, number, set_number, outcome, proven_by))

    @property
    def last(self) -> JudgedState:
        """The state that was added last."""
        return self._states[-1]

    def add_live(self, spec: str, number: int, profile: Profile, tier: Tier) -> tuple[Verdict, ...]:
        """The verdicts on the kernel that recorded the workload, by what was observed under that number."""
        verdicts = judge_live(profile, tier, self.seen[number])
        self.add(spec, "", number, self.set_number(verdicts))
        return verdicts

    def kernel_log(self, number: int) -> tuple[str, ...]:
        """The kernel log of an observation."""
        return self.seen[number].kernel_log

    def judgement(self) -> Judgement:
        return Judgement(tuple(self._states), tuple(self._sets))

    def observations(self) -> bytes:
        """A JSON array of them."""
        return b"[" + b",".join(self._raw) + b"]"


class Judge:
    """Of power failures: takes states one by one; `ledger` is what the store keeps."""

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self.ledger = Ledger()
        self._history, self._profile, self._tier = history, profile, tier
        self._known: dict[tuple[int, int], int] = {}
        self._anywhere: dict[int, dict[str, Verdict | None]] = {}  # of judge_state(), by observation

    @functools.cached_property
    def _prepared(self) -> Prepared:
        """Made when the first answer is in: until then the guest would wait for it."""
        return prepare(self._history, self._profile, self._tier)

    def add(self, recovered: Recovered) -> tuple[Verdict, ...]:
        """The verdicts on this state."""
        number = self.ledger.observe(recovered.observation)
        return self.add_observed(
            recovered.spec, recovered.prefix, recovered.same_as, number, recovered.proven_by
        )

    def add_observed(
        self, spec: str, prefix: int, same_as: str, number: int, proven_by: str = ""
    ) -> tuple[Verdict, ...]:
        """The same for an observation that is known by its number."""
        ledger, key = self.ledger, (self._prepared.moment(prefix), number)
        if key not in self._known:
            anywhere = self._anywhere.setdefault(number, {})
            verdicts = judge_observation(self._prepared, prefix, ledger.seen[number], anywhere)
            self._known[key] = ledger.set_number(verdicts)
        ledger.add(spec, same_as, number, self._known[key], proven_by=proven_by)
        return ledger.verdicts(self._known[key])


class FaultJudge:
    """Of fault points: what decides is the point and all that was seen. refused: points that the kernel
    has no target or feature for."""

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self.ledger = Ledger()
        self.refused: list[str] = []
        self._history, self._profile, self._tier = history, profile, tier

    def add(self, spec: str, raw: bytes) -> tuple[Verdict, ...]:
        return self.add_observed(spec, self.ledger.observe(raw))

    def add_observed(self, spec: str, number: int) -> tuple[Verdict, ...]:
        """The same for an observation that is known by its number."""
        observation = self.ledger.seen[number]
        if observation.fault and observation.fault.refused:
            self.refused.append(spec)
        verdicts = judge_fault(self._history, self._profile, self._tier, spec, observation)
        self.ledger.add(spec, "", number, self.ledger.set_number(verdicts))
        return verdicts


class DamageJudge:
    """
    Of damaged states. First all states of model O without damage, in their order; then `read`, the
    blocks that their mounts read; then the damaged ones.
    """

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self.ledger = Ledger()
        self.undamaged: dict[str, int] = {}
        self.read: dict[str, tuple[ReadBlock, ...]] = {}
        self._history, self._profile, self._tier = history, profile, tier
        self._older: dict[str, frozenset[bytes]] = {}
        self._trees: frozenset[bytes] = frozenset()

    @functools.cached_property
    def _prepared(self) -> Prepared:
        """As Judge's."""
        return prepare(self._history, self._profile, self._tier)

    def add_undamaged(self, spec: str, raw: bytes) -> Observation:
        """What came back of a state of model O."""
        return self.add_undamaged_observed(spec, self.ledger.observe(raw))

    def add_undamaged_observed(self, spec: str, number: int) -> Observation:
        """The same for an observation that is known by its number."""
        seen = self.ledger.seen[number]
        self.undamaged[spec] = number
        self._older[spec] = self._trees
        if seen.tree is not None and (key := tree_key(seen.tree)) not in self._trees:
            self._trees |= {key}
        return seen

    def add(self, spec: str, same_as: str, raw: bytes) -> tuple[Verdict, ...]:
        """The verdicts on a damaged state."""
        return self.add_observed(spec, same_as, self.ledger.observe(raw))

    def add_observed(self, spec: str, same_as: str, number: int) -> tuple[Verdict, ...]:
        """The same for an observation that is known by its number."""
        ledger = self.ledger
        outer, damage = split(spec)
        name = next((each.name for each in self.read.get(outer, ()) if each.block == damage.block), OTHER)
        whole = ledger.seen[self.undamaged[outer]]
        seen = ledger.seen[number]
        verdicts, outcome = judge_damage(self._prepared, spec, name, whole, self._older[outer], seen)
        ledger.add(spec, same_as, number, ledger.set_number(verdicts), outcome)
        return verdicts

    def is_untold(self, spec: str, raw: bytes) -> bool:
        """Whether recovery made something of a damaged state, which is not added yet, and did not say so."""
        outer, _ = split(spec)
        seen = decode(raw)
        whole = self.ledger.seen[self.undamaged[outer]]
        return not seen.trouble and outcome_of(whole, seen, bool) in UNTOLD


def decode(raw: bytes) -> Observation:
    """An answer that we cannot read is our own trouble."""
    try:
        return msgspec.json.decode(raw, type=Observation)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Observation(trouble=f"the report of the agent is invalid: {error}")


def judge_again(experiment: Experiment, profile: Profile, tier: Tier) -> Judgement:
    """From the store's files, without a guest. Errors: ValueError when the experiment has no history."""
    history, facts = experiment.history, experiment.facts
    if history is None:
        raise ValueError(f"experiment {experiment.folder} has no recording: {facts.trouble}")
    judge: Judge | FaultJudge | DamageJudge
    if facts.kind == FAULTS:
        judge = FaultJudge(history, profile, tier)
    elif facts.kind == DAMAGE:
        judge = DamageJudge(history, profile, tier)
    else:
        judge = Judge(history, profile, tier)
    for observation in experiment.observations:
        judge.ledger.observe_again(b"", observation)
    if isinstance(judge, DamageJudge):
        for spec, number in facts.undamaged.items():
            judge.add_undamaged_observed(spec, number)
        judge.read = facts.reads
    for state in experiment.judgement.states:
        if is_live(state.spec):
            judge.ledger.add_live(state.spec, state.observation, profile, tier)
            continue
        match judge:
            case Judge():
                judge.add_observed(
                    state.spec, place_of(state.spec), state.same_as, state.observation, state.proven_by
                )
            case FaultJudge():
                judge.add_observed(state.spec, state.observation)
            case DamageJudge():
                judge.add_observed(state.spec, state.same_as, state.observation)
    return judge.ledger.judgement()
