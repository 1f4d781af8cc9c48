"""
`powercut judge`: judge a run again from disk, no guest.

In:       a run's folder, a tier.
Out:      its verdicts, summary and pages anew; the exit status.
Not here: judging one experiment (stages/judge.py).
"""

import argparse
import sys
import time
from pathlib import Path

import msgspec

from harness.commands.arguments import read_question_of, report_page
from harness.evidence.store import NoResults, compress, only_one, reading, write_whole
from harness.evidence.summary import (
    experiment_folders,
    shown,
)
from harness.runs.run import finish
from harness.stages.judge import judge_again
from oracles.profiles import on_device, profile
from oracles.verdict import Tier
from reports import formats
from reports.fstests.results import FILE as FSTESTS
from reports.results import read_experiment, read_summary
from reports.terminal.terminal import summary_lines


def add_judge(command: argparse.ArgumentParser) -> None:
    command.add_argument("run", metavar="DIR", type=Path, help="folder of a run, such as results/latest")
    command.add_argument("--quiet", action="store_true", help="do not print the summary")
    command.add_argument(
        "--tier", choices=[t.value for t in Tier], help="judge at this tier (default: the tier of the run)"
    )


def command_judge(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.run
    question = read_question_of(folder)
    if (folder / FSTESTS).exists():
        raise NoResults(
            f"{folder} is a run of fstests, which has no verdicts. Use powercut report {shown(folder)}"
        )
    tier = Tier(arguments.tier or question.tier)
    with reading(folder):
        before = read_summary(folder) if (folder / "summary.json").exists() else None
    started = time.monotonic()
    with only_one(folder):
        for place in experiment_folders(folder):
            judge_experiment(place, tier)
        wall_s = before.rates.get("wall_s", 0.0) if before else time.monotonic() - started
        summary = finish(folder, wall_s, before.rates.get("guest_boots", 0) if before else 0)
    if not arguments.quiet:
        asked = msgspec.structs.replace(question, tier=tier)
        print("\n".join(summary_lines(summary, asked, report_page(folder))))
    if tier != question.tier:
        note = f"judged at tier {tier} instead of the tier of the run, {question.tier}"
        print(f"{note}. To restore its verdicts: powercut judge {shown(folder)}", file=sys.stderr)
    return summary.exit


def judge_experiment(place: Path, tier: Tier) -> None:
    """Its verdicts, given anew. Errors: NoResults, OSError."""
    with reading(place):
        experiment = read_experiment(place)
    if experiment.history is None:
        return
    one = on_device(profile(experiment.facts.profile), experiment.facts.device_bytes)
    judgement = judge_again(experiment, one, tier)
    write_whole(place / "verdicts.json.zst", compress(msgspec.json.encode(judgement)))
    facts = msgspec.structs.replace(experiment.facts, tier=tier)
    write_whole(place / "experiment.json", formats.encode("experiment.json", facts))
