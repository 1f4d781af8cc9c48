"""What an experiment keeps, of a recording made by hand."""

from harness.experiments.experiment import facts_of, keep_evidence
from harness.experiments.plan import Plan
from harness.stages.judge import Ledger
from harness.stages.record import Recording
from harness.states.log import Entry, open_log, write_log
from harness.tests.made_run import BENCH, DEVICE_BYTES, judged
from oracles.profiles import profile
from oracles.verdict import Tier
from workloads.entries import EntryFlag


class Examined:
    """An examination that has come to its end."""

    stage, recoveries = "recovering", None

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    def kernel_log(self) -> list[str]:
        return ["4 afterwards"]


def test_the_kernel_log_of_the_recording_comes_before_that_of_the_states(tmp_path):
    """And the outcome says what the experiment's facts say."""
    base, log = tmp_path / "base", tmp_path / "log"
    base.write_bytes(bytes(DEVICE_BYTES))
    write_log(log, [Entry(0, 1, EntryFlag.FLUSH, bytes(512))])
    recording = Recording(base, log, BENCH.history, {}, ("4 while it ran",))
    plan = Plan(1, "test", "key", "agent", profile("btrfs"), BENCH.history.workload, Tier.FS, False)
    examination = Examined(judged().ledger)
    with open_log(log) as opened:
        facts = facts_of(plan, "recovering: gone", recording, opened)
    outcome = keep_evidence(tmp_path, plan, facts, recording, examination)
    kept = tmp_path / "experiments/0001"
    assert outcome.trouble == "recovering: gone"
    assert (kept / "kernel.log").read_text() == "== while recording ==\n4 while it ran\n4 afterwards\n"
    assert not (kept / "recoveries").exists()
