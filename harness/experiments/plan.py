"""
What an experiment is, told so that any machine can do it.

In:       what a run asks for.
Out:      Plan, and its bytes: encoded(), decoded().
Not here: doing it (experiment.py); what it needs of the machine that does it, found by name there
          (kernel.build.by_key(), guests.agent_binary.agent_of()).

A plan names nothing by a path. The kernel is named by its key in the cache, which is equal only for equal
source, series, config and compiler; the agent by the hash of its source. `kernel` is the kernel spec as the
user gave it, for people and for the results; a spec may name a tree of the user's machine, and nothing here
opens it.
"""

import msgspec

from harness.guests.spec import LOG_BYTES, UML
from harness.stages.checks import AUDIT_PERCENT, Audit
from harness.stages.explore import StatePlan
from oracles.profiles import Profile
from oracles.verdict import Tier
from reports.results import CRASH, Device
from workloads.workload import Workload

FORMAT = 4  # raise it when an older reader would do something else than what is asked
# A plan of format 1 has no device, one of 2 no processors: the fast one, one; in one of 3 no block fails.
READ = (1, 2, 3, FORMAT)


class BadPlan(Exception):
    """The bytes are no plan of ours, or of another format."""


class Plan(msgspec.Struct, frozen=True):
    """number: from 1. kernel: its kernel spec. kernel_key: that kernel's, built with the variants config.
    agent: the agent's hash. recordings: how often the log is recorded; the last one is recovered, the others
    are only counted. guest: of spec.KINDS. state_plan: crash models, and how many states of each. kind: of
    results.KINDS. log_bytes: of the log device. device: under the recording. audit_percent: of Audit.
    sparing: of an experiment in which everything HOLDS the log and the disks are not kept. cpus: of the guest
    that records. order: of a workload with parallel blocks whose threads were delayed, which draw of delays
    it has, from 1; 0 of one as it is written."""

    number: int
    kernel: str
    kernel_key: str
    agent: str
    profile: Profile
    workload: Workload
    tier: Tier
    with_fsck: bool
    config: tuple[str, ...] = ()
    recordings: int = 1
    guest: str = UML
    state_plan: StatePlan = StatePlan()
    kind: str = CRASH
    log_bytes: int = LOG_BYTES
    device: Device = Device()
    audit_percent: float = AUDIT_PERCENT
    sparing: bool = False
    cpus: int = 1
    order: int = 0

    @property
    def audit(self) -> Audit:
        """Each experiment has a seed of its own, or all would audit the same places of their logs."""
        return Audit(self.audit_percent, f"{self.state_plan.seed} {self.profile.name} {self.workload.name}")


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    powercut_plan: int  # the format
    plan: msgspec.Raw


def encoded(plan: Plan) -> bytes:
    """JSON. Equal plans have equal bytes."""
    return msgspec.json.encode(_Envelope(FORMAT, msgspec.Raw(msgspec.json.encode(plan))))


def decoded(raw: bytes) -> Plan:
    """The plan that was encoded. Errors: BadPlan."""
    try:
        envelope = msgspec.json.decode(raw, type=_Envelope)
        if envelope.powercut_plan not in READ:
            raise BadPlan(
                f"the plan has format {envelope.powercut_plan}, and this version of Powercut reads "
                f"formats {READ[0]} to {FORMAT}"
            )
        return msgspec.json.decode(envelope.plan, type=Plan)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadPlan(f"no plan: {error}") from error
