"""
Record a finding's witness again and again, on its own kernel and on the stock one.

In:       a run's new findings, or one of them; how often.
Out:      Repeat after Repeat: "5 of 5 on 6.12+fix.patch, 0 of 5 on 6.12".
Not here: one recording (interestingness.py), what is done with a finding next (minimize.py, export.py).

`powercut run` does this by itself for every finding that no known bug explains: findings with one witness
are repeated together, a recording costs less than a second, and a kernel that is not built is not built for
it. It leaves out what would take long: sweeps and comparisons, which have the stock kernel beside them
anyway, emulated guests, and all but the first WITNESSES_MAX witnesses. `powercut repro DIR F1 --times 5` does
any one, and builds what it needs.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from harness.evidence.store import reading
from harness.evidence.triage import find, keep_triage, learnt, require_workload
from harness.experiments.interestingness import InterestingnessTest, Target, Trigger, trigger_of
from harness.guests.agent_binary import agent_binary
from harness.guests.guest import GuestSpec
from harness.guests.kernels import build_for, kernel_path
from harness.guests.spec import EMULATED, LOG_BYTES, SSH, arch_of, family
from harness.local.progress import Progress
from harness.local.workspace import workspace
from harness.states.crash import DEFAULT_MODELS
from kernel.build import find as find_built
from kernel.kernel import Kernel
from kernel.word import source_word
from oracles.profiles import on_device, profile
from oracles.spec import LIVE, in_order, is_live, model_of
from oracles.verdict import Tier
from reports.results import CRASH, Experiment, Finding, Repeat, Summary, read_experiment
from workloads.workload import Workload

TIMES, TIMES_OF_SEVERAL = 5, 20  # in a guest with several processors no two recordings are the same
WITNESSES_MAX = 12


def rerun_new(run: Path, summary: Summary, progress: Progress) -> Summary:
    """The summary, with repeats of what is new in it; followups.json has them, too."""
    witnesses: dict[int, list[Finding]] = {}
    for finding in summary.findings:
        if not finding.known and not finding.after.repeats:
            witnesses.setdefault(finding.experiment, []).append(finding)
    chosen = list(witnesses.items())[:WITNESSES_MAX]
    if len(witnesses) > len(chosen):
        progress.line(f"the workloads of {len(witnesses) - len(chosen)} more findings are not repeated")
    after: dict[str, Finding] = {}
    for number, ones in chosen:
        with reading(run):
            experiment = read_experiment(run / "experiments" / f"{number:04d}")
        if experiment.facts.guest in EMULATED or experiment.facts.kind != CRASH:
            continue
        live = all(is_live(one.state) for one in ones)
        times = TIMES if experiment.facts.cpus == 1 else TIMES_OF_SEVERAL
        progress.line(f"recording {', '.join(one.id for one in ones)} {times} more times")
        names, models = [one.signature for one in ones], models_of(ones)
        of = Trigger(LIVE) if live else None
        repeats = repeated(experiment, names, times, progress, build_stock=False, models=models, of=of)
        after |= {one.id: _with(one, repeats[one.signature]) for one in ones}
    if not after:
        return summary
    findings = tuple(after.get(one.id, one) for one in summary.findings)
    keep_triage(run, findings)
    return msgspec.structs.replace(summary, findings=findings)


def rerun_one(run: Path, wanted: str, times: int, progress: Progress) -> tuple[Finding, Summary]:
    """Errors: NoResults, KernelError, NoFilesystemTool, LostGuest, OSError."""
    finding, experiment = find(run, wanted)
    require_workload(run, experiment)
    repeats = repeated(
        experiment,
        [finding.signature],
        times,
        progress,
        build_stock=True,
        models=models_of([finding]),
        of=trigger_of(finding, experiment),
    )
    finding = _with(finding, repeats[finding.signature])
    return finding, learnt(run, finding, finding.after)


def models_of(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Those whose states are their witnesses."""
    return in_order(model_of(finding.state) for finding in findings)


def _with(finding: Finding, repeats: tuple[Repeat, ...]) -> Finding:
    after = msgspec.structs.replace(finding.after, repeats=repeats)
    return msgspec.structs.replace(finding, after=after)


def repeated(
    experiment: Experiment,
    signatures: Sequence[str],
    times: int,
    progress: Progress,
    build_stock: bool,
    models: tuple[str, ...] = DEFAULT_MODELS,
    of: Trigger | None = None,
) -> dict[str, tuple[Repeat, ...]]:
    """By signature: its own kernel first, then the stock one, when that is another and is built. of: what
    showed them, where that is no crash state."""
    facts = experiment.facts
    assert experiment.history is not None, "a finding has a recording"
    found: dict[str, tuple[Repeat, ...]] = dict.fromkeys(signatures, ())
    for word in dict.fromkeys((facts.kernel, source_word(facts.kernel))):
        stock = word == source_word(facts.kernel)
        kernel = _kernel(word, facts.config, facts.guest, progress, build_stock or word == facts.kernel)
        if kernel is None:
            continue
        subject = Target(
            word,
            spec_of(kernel, experiment),
            on_device(profile(facts.profile), facts.device_bytes),
            Tier(facts.tier),
            tuple(signatures),
            models,
            of,
            facts.recorded_on,
        )
        seen, trouble = count(subject, experiment.history.workload, times)
        for one in signatures:
            found[one] = (*found[one], Repeat(word, seen[one], times, stock, trouble))
    return found


def _kernel(
    word: str, config: tuple[str, ...], guest: str, progress: Progress, build_it: bool
) -> Kernel | None:
    if not build_it:
        return None if family(guest) == SSH else find_built(word, config, arch_of(guest))
    return build_for(guest, word, config, progress)


def spec_of(kernel: Kernel, experiment: Experiment) -> GuestSpec:
    """The guest that the experiment had, with this kernel."""
    facts = experiment.facts
    return GuestSpec(
        kernel=kernel_path(kernel),
        agent=agent_binary(),
        device_bytes=facts.device_bytes,
        log_bytes=LOG_BYTES,
        kind=facts.guest,
        cpus=facts.cpus,
    )


def count(subject: Target, workload: Workload, times: int) -> tuple[Counter[str], str]:
    """How many of these recordings show each signature; the first trouble."""
    seen: Counter[str] = Counter()
    trouble = ""
    with workspace() as space, InterestingnessTest(subject, space) as interesting:
        for _ in range(times):
            result = interesting.examine(workload)
            seen.update(result.first.keys())
            trouble = trouble or result.trouble
    return seen, trouble
