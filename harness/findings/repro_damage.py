"""
Show one damaged state again: recover the state with and without the damage, print what differs.

In:       an experiment, the spec of a damaged state of it, a guest.
Out:      what came back of both; lines of text.
Not here: states of a power failure, and of what the text is made (repro.py).
"""

from pathlib import Path

from harness.guests.guest import GuestSlot
from harness.stages.judge import DamageJudge, decode
from harness.stages.recover import Recovery
from harness.stages.session import WANT_CHANGES, WANT_EMPTY_ROOM, walk_flags
from harness.states.block_names import block_name
from harness.states.crash import states
from harness.states.log import open_log
from harness.states.nested import FOLDER
from harness.states.rebuild import Rebuilding
from oracles.faults.damage import WORDS, Outcome, notices
from oracles.observation import Observation
from oracles.profiles import profile
from oracles.spec import State
from oracles.verdict import Tier, Verdict
from reports.results import Experiment, ReadBlock


def recover_damaged(
    guest_slot: GuestSlot, experiment: Experiment, scratch: Path, state: State
) -> tuple[Observation, Observation, tuple[Verdict, ...], str, str]:
    """
    scratch: with "base" and "state.log" (repro.py). What came back with the damage and without it, the
    verdicts, the Outcome, the block's name. Errors: LostGuest, GuestTrouble, BadLog.
    """
    history, facts = experiment.history, experiment.facts
    assert history is not None
    assert state.damage is not None
    one, base, recoveries = profile(facts.profile), scratch / "base", scratch / FOLDER
    judge = DamageJudge(history, one, Tier(facts.tier))
    asks = walk_flags(history) | WANT_CHANGES | (WANT_EMPTY_ROOM if state.damage.fails else 0)
    with open_log(scratch / "state.log") as log:
        recovery = Recovery(guest_slot, one, False, scratch, asks)
        earlier = list(recovery.run(base, log, states(state.prefix - 1))) if state.prefix else []
        for each in earlier:
            judge.add_undamaged(each.spec, each.observation)
        (whole,) = recovery.go_on(base, log, [state.undamaged], recoveries)
        # A kernel that keeps some of its words to itself has said much by now (experiments/damage.py).
        guest_slot.drop()
        again = Recovery(guest_slot, one, False, scratch, asks)
        (damaged,) = again.go_on(base, log, [state], recoveries)
        with Rebuilding(base, log, recoveries) as disks:
            disks.move(state.undamaged)
            name = block_name(one.filesystem, disks.disk.block, state.damage.block)
    judge.add_undamaged(whole.spec, whole.observation)
    judge.read = {whole.spec: (ReadBlock(state.damage.block, name),)}
    verdicts = judge.add(state.spec, "", damaged.observation)
    (judged,) = judge.ledger.judgement().states
    return decode(damaged.observation), decode(whole.observation), verdicts, judged.outcome, name


def outcome_lines(state: State, name: str, outcome: str, whole: Observation, seen: Observation) -> list[str]:
    """What was damaged, what recovery made of it, and what tells of it."""
    assert state.damage is not None
    lines = ["", f"damaged: {state.damage.words} ({name})"]
    if outcome:
        lines.append(f"then: {outcome}: {WORDS[Outcome(outcome)]}")
    told = notices(whole, seen)
    lines += ["reported by:", *(f"    {line}" for line in told[:12])] if told else []
    lines += [f"    and {len(told) - 12} more"] if len(told) > 12 else []
    return lines
