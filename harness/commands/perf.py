"""
`powercut compare --perf`: performance experiments beside the verdicts.

In:       the words of the command line; or the folder of such a run.
Out:      perf/ and report/perf.html in the run's folder, commit-message.txt; the last lines; exit status.
Not here: the verdicts (run.py), the boots (measure.py), what the figures say (reports/perf/).
"""

import argparse
import sys
import time
from pathlib import Path

import msgspec

from harness.evidence.bugs import bug_texts
from harness.evidence.store import new_run, point_latest, reading
from harness.evidence.summary import EXIT_UNKNOWN, shown
from harness.guests.spec import SSH, UML, family, host_of
from harness.hosts.hosts import Host, host
from harness.local import packages, version
from harness.local.progress import Progress
from harness.perf.measure import OF_A_MACHINE, OF_UML, PerfWish, keep_noise, measure
from harness.perf.there import lacking
from harness.runs.run import machine_facts
from kernel.packages import Requirement
from oracles.verdict import Tier
from reports.pages.html import write_perf_page, write_report_again
from reports.perf.page import noise_sentences, write_texts
from reports.perf.results import KINDS, PerfRun, perf_folder, read_perf
from reports.perf.terminal import perf_lines
from reports.results import Question
from workloads.perf.experiment import BadExperiment, PerfExperiment, select

OPTIONS = ("scale", "boots", "kinds", "noise", "no_verdicts")


class NoTools(Exception):
    """Programs that the experiments need are missing: all at once, with the line that installs them."""


def scale(text: str) -> float:
    """Errors: ArgumentTypeError."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 100:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a scale. 1 is the length that the commit message used; write a "
            "number such as 0.01"
        )
    return value


def kinds(text: str) -> tuple[str, ...]:
    """Errors: ArgumentTypeError."""
    wanted = tuple(filter(None, text.split(",")))
    if not wanted or set(wanted) - set(KINDS):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a kind of figure. The kinds are {', '.join(KINDS)}"
        )
    return wanted


def boots(text: str) -> int:
    """Errors: ArgumentTypeError."""
    if not text.isdigit() or not 1 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of boots from 1 to 1000")
    return int(text)


def add_perf(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("performance beside the verdicts")
    group.add_argument(
        "--perf",
        nargs="*",
        metavar="EXPERIMENT",
        help="measure these performance experiments, too: NAME, NAME:CASE or a file NAME.toml (default: all)",
    )
    group.add_argument(
        "--scale",
        type=scale,
        metavar="X",
        help="length of each measurement; 1 is that of the commit message (default: each has its own)",
    )
    group.add_argument("--boots", type=boots, metavar="N", help="boots of each kernel (default: 8)")
    group.add_argument(
        "--kinds", type=kinds, metavar="K,...", help=f"kinds of figures, of {', '.join(KINDS)} (default: all)"
    )
    group.add_argument(
        "--noise",
        action="store_true",
        help="compare --kernel with itself, which shows the noise of this machine",
    )
    group.add_argument(
        "--no-verdicts", action="store_true", help="measure performance only, check no crash states"
    )


def check_options(arguments: argparse.Namespace) -> None:
    """Errors: BadExperiment, NoTools."""
    if arguments.perf is None:
        given = [f"--{name.replace('_', '-')}" for name in OPTIONS if getattr(arguments, name)]
        if given:
            raise BadExperiment(
                f"{given[0]} applies only to performance experiments. Add --perf [EXPERIMENT ...]"
            )
        return
    if arguments.guest != UML and family(arguments.guest) != SSH:
        raise BadExperiment(
            f"--perf: guests of kind {arguments.guest} cannot use the programs of the host. Leave --guest "
            "out, or name a machine"
        )
    if arguments.noise and arguments.against not in ("", arguments.kernel):
        raise BadExperiment("--noise compares --kernel with itself. Leave --against out")
    wanted = arguments.kinds or KINDS
    if family(arguments.guest) == SSH:
        require_tools_there(host(host_of(arguments.guest)), select(arguments.perf), wanted)
    else:
        require_tools(select(arguments.perf), wanted)


def config_variant(guest: str) -> str:
    """What measuring asks of the config of a kernel."""
    return OF_A_MACHINE if family(guest) == SSH else OF_UML


def require_tools(experiments: tuple[PerfExperiment, ...], wanted: tuple[str, ...]) -> None:
    """Errors: NoTools."""
    needed = [
        Requirement(package, program, f"the experiment {one.name}")
        for one in experiments
        for program, package in one.needs.items()
    ]
    if "profile" in wanted and any(one.profile for one in experiments):
        needed.append(packages.PERF)
    if lacking := packages.missing(needed):
        raise NoTools(packages.complaint(lacking, packages.is_debian()))


def require_tools_there(
    machine: Host, experiments: tuple[PerfExperiment, ...], wanted: tuple[str, ...]
) -> None:
    """Errors: NoTools; of the machine BadHost, RemoteFailed, Unreachable."""
    needed = {"bash": "bash"}
    for one in experiments:
        needed |= one.needs
    if "profile" in wanted and any(one.profile for one in experiments):
        needed["bpftrace"] = "bpftrace"
    if lacks := lacking(machine, needed):
        packages = " ".join(sorted(set(lacks.values())))
        raise NoTools(
            f"{machine.name} lacks {', '.join(sorted(lacks))}, which the experiments run there. On Debian, "
            f"there: apt-get install {packages}"
        )


def run_spec_of(arguments: argparse.Namespace) -> PerfWish:
    """Errors: BadExperiment."""
    return PerfWish(
        experiments=select(arguments.perf),
        against=arguments.kernel if arguments.noise else arguments.against,
        kernel=arguments.kernel,
        config=arguments.config,
        scale=arguments.scale,
        boots=arguments.boots,
        kinds=arguments.kinds or KINDS,
        noise=arguments.noise,
        guest=arguments.guest,
        command=("powercut", *arguments.words),
    )


def measure_into(folder: Path, arguments: argparse.Namespace) -> PerfRun:
    """Errors: as measure()."""
    with Progress(arguments.quiet or arguments.json) as progress:
        try:
            found = measure(run_spec_of(arguments), folder, progress)
        except KeyboardInterrupt:
            progress.line(f"the complete boots are kept in {shown(folder)}/perf/perf.json")
            raise
    if found.noise:
        keep_noise(found.guest, noise_sentences(found))
    write_texts(folder, found)
    return found


def alone(arguments: argparse.Namespace) -> int:
    """Performance without verdicts: a run of its own. Errors: as measure()."""
    folder = new_run(arguments.out, question_of(arguments))
    found = measure_into(folder, arguments)
    write_perf_page(folder, found)
    point_latest(folder)
    return tell(folder, found, arguments.json, 0)


def beside(folder: Path, arguments: argparse.Namespace, exit_status: int) -> int:
    """Performance of a run whose verdicts are done. Errors: as measure()."""
    found = measure_into(folder, arguments)
    write_report_again(folder, bug_texts())
    return tell(folder, found, arguments.json, exit_status)


def again(folder: Path, as_json: bool) -> int | None:
    """Of a run that was measured without verdicts, page and lines once more; None when it was not."""
    found = page_again(folder)
    return None if found is None else tell(folder, found, as_json, 0)


def page_again(folder: Path) -> PerfRun | None:
    """The page of such a run, written once more. Errors: NoResults, OSError."""
    with reading(folder):
        found = read_perf(folder)
    if found is None or (folder / "summary.json").exists():
        return None
    write_texts(folder, found)
    write_perf_page(folder, found)
    return found


def tell(folder: Path, found: PerfRun, as_json: bool, exit_status: int) -> int:
    """A figure that is missing is no pass."""
    if as_json:
        verdicts = folder / "compare.json"
        parts = {"perf": msgspec.Raw((perf_folder(folder) / "perf.json").read_bytes())}
        parts |= {"compare": msgspec.Raw(verdicts.read_bytes())} if verdicts.exists() else {}
        sys.stdout.buffer.write(msgspec.json.encode(parts) + b"\n")
    else:
        place = Path(shown(folder))
        lines = perf_lines(found, place / "report" / "perf.html", place / "commit-message.txt")
        print("\n".join(lines))
    missing = any(one.trouble for one in found.measured)
    return exit_status or (EXIT_UNKNOWN if missing else 0)


def question_of(arguments: argparse.Namespace) -> Question:
    """Of a run without workloads. Where the kernels came from is in the cache, under their words."""
    return Question(
        command=("powercut", *arguments.words),
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        powercut_commit=version.commit(),
        powercut_version=version.VERSION,
        seed=arguments.seed,
        tier=Tier(arguments.tier),
        models=(),
        guest=arguments.guest,
        workloads=(),
        kernels={},
        profiles={},
        machine=machine_facts(),
        jobs=1,
        against=arguments.against,
    )
