"""
Judge the states of one experiment, each kind of answer once.

In:       a History, a Profile, a Tier, and what came back of every state.
Out:      Judgement with its observations, as the store keeps them.
Not here: the oracles (oracles/), recovery (recover.py).

Most states of a log recover to few different trees: verdicts are kept by what decides them, the
moment of the cut (what had begun, what was promised) and the bytes of the observation.
"""

import functools

import msgspec

from harness.stages.recover import Recovered
from harness.states.block_names import OTHER
from oracles.case import Prepared, prepare
from oracles.court import judge_observation
from oracles.faults.damage import UNTOLD, outcome_of, split, tree_key
from oracles.faults.damage_court import judge_damage
from oracles.faults.fault_court import judge_fault
from oracles.observation import Observation
from oracles.profiles import Profile
from oracles.spec import place_of
from oracles.verdict import Tier, Verdict
from reports.results import DAMAGE, FAULTS, Experiment, Judgement, ReadBlock, State
from workloads.history import History


class Judge:
    """Takes states one by one; `judgement` and `observations` are what the store keeps."""

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self._history = history
        self._profile = profile
        self._tier = tier
        self._states: list[State] = []
        self._sets: list[tuple[Verdict, ...]] = []
        self._set_numbers: dict[tuple[Verdict, ...], int] = {}
        self._known: dict[tuple[int, int], int] = {}
        self._observation_numbers: dict[bytes, int] = {}
        self._raw: list[bytes] = []
        self._decoded: list[Observation] = []
        self._anywhere: list[dict[str, Verdict | None]] = []  # of judge_state(), by observation

    @functools.cached_property
    def _prepared(self) -> Prepared:
        """Made when the first answer is in: until then the guest would wait for it."""
        return prepare(self._history, self._profile, self._tier)

    def add(self, recovered: Recovered) -> tuple[Verdict, ...]:
        """The verdicts on this state."""
        number = self._observation(recovered.observation)
        return self.add_observed(recovered.spec, recovered.prefix, recovered.same_as, number)

    def add_observed(self, spec: str, prefix: int, same_as: str, number: int) -> tuple[Verdict, ...]:
        """The same for an observation that is known by its number."""
        key = (self._prepared.moment(prefix), number)
        if key not in self._known:
            verdicts = judge_observation(
                self._prepared, prefix, self._decoded[number], self._anywhere[number]
            )
            self._known[key] = self._set(verdicts)
        self._states.append(State(spec, same_as, number, self._known[key]))
        return self._sets[self._known[key]]

    def _observation(self, raw: bytes) -> int:
        number = self._observation_numbers.get(raw)
        if number is None:
            observation = decode(raw)
            kept = msgspec.json.encode(observation) if observation.trouble else raw  # the store holds JSON
            number = self.observe(kept, observation)
            self._observation_numbers[raw] = number
        return number

    def observe(self, raw: bytes, observation: Observation) -> int:
        """A new observation's number."""
        self._raw.append(raw)
        self._decoded.append(observation)
        self._anywhere.append({})
        return len(self._raw) - 1

    def _set(self, verdicts: tuple[Verdict, ...]) -> int:
        number = self._set_numbers.setdefault(verdicts, len(self._sets))
        if number == len(self._sets):
            self._sets.append(verdicts)
        return number

    def kernel_log(self, number: int) -> tuple[str, ...]:
        """The kernel log of an observation."""
        return self._decoded[number].kernel_log

    def judgement(self) -> Judgement:
        return Judgement(tuple(self._states), tuple(self._sets))

    def observations(self) -> bytes:
        """A JSON array of them, as the agent and the checker told them."""
        return b"[" + b",".join(self._raw) + b"]"


def decode(raw: bytes) -> Observation:
    """An answer that we cannot read is our own trouble."""
    try:
        return msgspec.json.decode(raw, type=Observation)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Observation(trouble=f"the agent's report makes no sense: {error}")


def judge_again(experiment: Experiment, profile: Profile, tier: Tier) -> Judgement:
    """From the store's files, without a guest. Errors: ValueError when the experiment has no history."""
    if experiment.history is None:
        raise ValueError(f"experiment {experiment.folder} has no history: {experiment.facts.trouble}")
    if experiment.facts.kind == FAULTS:
        return judge_faults(experiment.history, profile, tier, experiment)
    if experiment.facts.kind == DAMAGE:
        return judge_damages(experiment.history, profile, tier, experiment)
    judge = Judge(experiment.history, profile, tier)
    for observation in experiment.observations:
        judge.observe(b"", observation)
    for state in experiment.judgement.states:
        judge.add_observed(state.spec, place_of(state.spec), state.same_as, state.observation)
    return judge.judgement()


def judge_faults(history: History, profile: Profile, tier: Tier, experiment: Experiment) -> Judgement:
    """The points of a sweep, from what was seen at each."""
    judge = FaultJudge(history, profile, tier)
    for state in experiment.judgement.states:
        judge.add(state.spec, msgspec.json.encode(experiment.observations[state.observation]))
    return judge.judgement()


class FaultJudge:
    """As Judge, of fault points: what decides is the point and all that was seen."""

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self._history, self._profile, self._tier = history, profile, tier
        self._states: list[State] = []
        self._sets: dict[tuple[Verdict, ...], int] = {}
        self._raw: dict[bytes, int] = {}
        self.refused: list[str] = []

    def add(self, spec: str, raw: bytes) -> tuple[Verdict, ...]:
        observation = decode(raw)
        if observation.fault and observation.fault.refused:
            self.refused.append(spec)
        verdicts = judge_fault(self._history, self._profile, self._tier, spec, observation)
        kept = msgspec.json.encode(observation) if observation.trouble else raw  # the store holds JSON
        number = self._raw.setdefault(kept, len(self._raw))
        self._states.append(State(spec, "", number, self._sets.setdefault(verdicts, len(self._sets))))
        return verdicts

    def judgement(self) -> Judgement:
        return Judgement(tuple(self._states), tuple(self._sets))

    def observations(self) -> bytes:
        """As Judge's."""
        return b"[" + b",".join(self._raw) + b"]"


def judge_damages(history: History, profile: Profile, tier: Tier, experiment: Experiment) -> Judgement:
    """The damaged states, from what came back of them and of the states without the damage."""
    judge = DamageJudge(history, profile, tier)
    for spec, number in experiment.facts.undamaged.items():
        judge.add_undamaged(spec, msgspec.json.encode(experiment.observations[number]))
    judge.read = experiment.facts.reads
    for state in experiment.judgement.states:
        judge.add(state.spec, state.same_as, msgspec.json.encode(experiment.observations[state.observation]))
    return judge.judgement()


class DamageJudge:
    """
    As Judge, of damaged states. First all states of model O without damage, in their order; then `read`, the
    blocks that their mounts read; then the damaged ones.
    """

    def __init__(self, history: History, profile: Profile, tier: Tier) -> None:
        self._history, self._profile, self._tier = history, profile, tier
        self._states: list[State] = []
        self._sets: dict[tuple[Verdict, ...], int] = {}
        self._raw: dict[bytes, int] = {}
        self._seen: list[Observation] = []
        self._older: dict[str, frozenset[bytes]] = {}
        self._trees: frozenset[bytes] = frozenset()
        self.undamaged: dict[str, int] = {}
        self.read: dict[str, tuple[ReadBlock, ...]] = {}

    @functools.cached_property
    def _prepared(self) -> Prepared:
        """As Judge's."""
        return prepare(self._history, self._profile, self._tier)

    def add_undamaged(self, spec: str, raw: bytes) -> Observation:
        """What came back of a state of model O."""
        number = self._observe(raw)
        self.undamaged[spec] = number
        self._older[spec] = self._trees
        tree = self._seen[number].tree
        if tree is not None and (key := tree_key(tree)) not in self._trees:
            self._trees |= {key}
        return self._seen[number]

    def add(self, spec: str, same_as: str, raw: bytes) -> tuple[Verdict, ...]:
        """The verdicts on a damaged state."""
        number = self._observe(raw)
        outer, damage = split(spec)
        name = next((each.name for each in self.read.get(outer, ()) if each.block == damage.block), OTHER)
        verdicts, outcome = judge_damage(
            self._prepared,
            spec,
            name,
            self._seen[self.undamaged[outer]],
            self._older[outer],
            self._seen[number],
        )
        verdict_set = self._sets.setdefault(verdicts, len(self._sets))
        self._states.append(State(spec, same_as, number, verdict_set, outcome))
        return verdicts

    def is_untold(self, spec: str, raw: bytes) -> bool:
        """Whether recovery made something of a damaged state, which is not added yet, and did not say so."""
        outer, _ = split(spec)
        seen = decode(raw)
        return not seen.trouble and outcome_of(self._seen[self.undamaged[outer]], seen, bool) in UNTOLD

    def _observe(self, raw: bytes) -> int:
        number = self._raw.get(raw)
        if number is None:
            observation = decode(raw)
            kept = msgspec.json.encode(observation) if observation.trouble else raw  # the store holds JSON
            number = self._raw.setdefault(kept, len(self._raw))
            self._seen[number:] = [observation]
        return number

    def judgement(self) -> Judgement:
        return Judgement(tuple(self._states), tuple(self._sets))

    def observations(self) -> bytes:
        """As Judge's."""
        return b"[" + b",".join(self._raw) + b"]"

    def kernel_log(self, number: int) -> tuple[str, ...]:
        """As Judge's."""
        return self._seen[number].kernel_log
