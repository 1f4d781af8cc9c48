"""
`powercut campaign`: whole bounds of generated workloads, on many machines, for as long as it takes.

In:       the arguments.
Out:      the last lines, or the same as JSON; exit status 0 all was examined and everything HOLDS, 1
          something is BROKEN, 2 bad input, 3 UNKNOWN, or not all is done.
Not here: the campaign (harness/campaign/). It is imported only here: Dask and DuckDB take a second.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import msgspec

from harness.evidence.store import NoResults
from harness.evidence.summary import EXIT_HOLDS, EXIT_UNKNOWN, shown
from harness.local.progress import Progress

PARTS = {
    "start": "begin the campaign of a file",
    "status": "say how far a campaign is",
    "stop": "end the head of a campaign when the batches under way are done",
    "resume": "go on with a campaign",
    "report": "write the page of a campaign again; ask its rows",
    "worker": "work for the head of a campaign on another machine",
}
STOP_LOOK_S = 0.5


def add_campaign(command: argparse.ArgumentParser) -> None:
    parts = command.add_subparsers(dest="part", required=True, metavar="WHAT")

    def add(name: str) -> argparse.ArgumentParser:
        return parts.add_parser(name, help=PARTS[name], description=f"{PARTS[name].capitalize()}.")

    start = add("start")
    start.add_argument("file", metavar="FILE", type=Path, help="what is examined, such as ace2.toml")
    start.add_argument(
        "--check", action="store_true", help="only read the file and say what it asks for; nothing is run"
    )
    for name in ("status", "stop", "resume", "report"):
        part = add(name)
        several: dict[str, Any] = {"nargs": "+"} if name == "report" else {}
        also = "; with --sql or --csv the rows of several together" if several else ""
        part.add_argument(
            "campaign",
            metavar="CAMPAIGN",
            help=f"its folder, its file, or its name below campaigns/{also}",
            **several,
        )
        if name == "resume":
            part.add_argument(
                "--other-version",
                action="store_true",
                help="go on with another Powercut than the one that began; the campaign names both",
            )
        if name == "stop":
            part.add_argument("--no-wait", action="store_true", help="do not wait until the head has ended")
        if name == "report":
            part.add_argument(
                "--csv",
                type=Path,
                metavar="FILE",
                help="write all rows as CSV, without what tells of time and machines",
            )
            part.add_argument(
                "--verdicts-only",
                action="store_true",
                help="with --csv: without the numbers of states, which differ where a log is recorded "
                "otherwise the next time",
            )
            part.add_argument(
                "--sql",
                metavar="QUERY",
                help="print what this query of the table `experiments` gives, as JSON",
            )
    worker = add("worker")
    worker.add_argument("address", metavar="ADDRESS", help="of the head, such as tcp://head:8786")
    worker.add_argument(
        "--slots", type=int, default=0, metavar="N", help="guests at once (default: one for each processor)"
    )
    worker.add_argument(
        "--name", default="", metavar="TEXT", help="what the head calls this machine (default: its host name)"
    )
    worker.add_argument(
        "--wait",
        type=int,
        default=600,
        metavar="SECONDS",
        help="how long a head that does not answer is waited for (default: 600)",
    )
    for name in ("start", "resume", "status", "worker"):
        parts.choices[name].add_argument("--quiet", action="store_true", help="do not show progress")
    for name in ("start", "resume", "status"):
        parts.choices[name].add_argument(
            "--json",
            action="store_true",
            help="print the campaign as JSON on standard output and nothing else",
        )


def command_campaign(arguments: argparse.Namespace) -> int:
    """Errors: BadCampaign, NoResults, RunInUse, NoRoom, NoEngine, WorkerFailed, KernelError, OSError."""
    return {
        "start": start,
        "status": status,
        "stop": stop,
        "resume": resume,
        "report": report,
        "worker": work,
    }[arguments.part](arguments)


def start(arguments: argparse.Namespace) -> int:
    from harness.campaign.campaign import create  # noqa: PLC0415
    from harness.campaign.file import read  # noqa: PLC0415

    asked = read(arguments.file)
    if arguments.check:
        return check(asked)
    with Progress(arguments.quiet or arguments.json) as progress:
        folder = create(asked, arguments.file, progress)
    return go(folder, arguments)


def check(asked) -> int:  # type: ignore[no-untyped-def]
    from harness.campaign.batches import batch_size, planned, wanted  # noqa: PLC0415
    from reports.text.counting import number  # noqa: PLC0415

    count = len(planned(asked))
    for bounds in asked.bounds:
        drawn = wanted(asked.asked(bounds))
        print(f"bounds     {bounds}: {number(drawn, 'number')}")
        for name in asked.profiles:
            size = batch_size(asked, name, drawn)
            print(f"profile    {name}: batches of {size}, on {', '.join(asked.kernels)}")
    if asked.shard != "1/1":
        print(f"shard      {asked.shard}: {number(count, 'batch', 'batches')}")
    print(f"scheduler  {asked.scheduler}")
    print(f"results    {shown(Path(asked.results))}")
    return EXIT_HOLDS


def resume(arguments: argparse.Namespace) -> int:
    from harness.campaign.campaign import (  # noqa: PLC0415
        folder_of,
        read,
        require_kernels,
        require_same,
        with_identity,
        write,
    )
    from harness.campaign.file import read as read_file  # noqa: PLC0415

    folder = folder_of(arguments.campaign)
    kept = read(folder)
    if Path(kept.file).exists():
        asked = read_file(Path(kept.file))
        require_same(folder, kept, asked)
        kept = msgspec.structs.replace(kept, asked=asked)
    kept = with_identity(kept, folder, arguments.other_version)
    with Progress(arguments.quiet or arguments.json) as progress:
        require_kernels(folder, kept, progress)
    write(folder, kept)
    return go(folder, arguments)


def go(folder: Path, arguments: argparse.Namespace) -> int:
    from harness.campaign.head import work_through  # noqa: PLC0415

    with Progress(arguments.quiet or arguments.json) as progress:
        try:
            found = work_through(folder, progress)
        except BaseException:
            progress.line(f"continue with: powercut campaign resume {shown(folder)}")
            raise
    return tell(found, folder, arguments.json)


def status(arguments: argparse.Namespace) -> int:
    from harness.campaign.campaign import folder_of  # noqa: PLC0415
    from harness.campaign.results import campaign  # noqa: PLC0415

    folder = folder_of(arguments.campaign)
    return tell(campaign(folder), folder, arguments.json)


def tell(found, folder: Path, as_json: bool) -> int:  # type: ignore[no-untyped-def]
    from reports.campaigns.lines import lines  # noqa: PLC0415

    if as_json:
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    else:
        print("\n".join(lines(found, shown(folder / "report" / "index.html"))))
    exit_status: int = found.exit
    return exit_status


def stop(arguments: argparse.Namespace) -> int:
    """By a file: a head may run on another machine with the same folder."""
    from harness.campaign.campaign import STOP, folder_of, read_state  # noqa: PLC0415

    folder = folder_of(arguments.campaign)
    state = read_state(folder)
    if state is None or not state.running:
        raise NoResults(f"{shown(folder)} is not running")
    (folder / STOP).touch()
    print("no more batches are begun; those under way are done first, which takes minutes", file=sys.stderr)
    while not arguments.no_wait:
        now = read_state(folder)
        if now is None or not now.running:
            return EXIT_HOLDS
        if time.time() - now.updated > 300:
            print(f"{shown(folder)}: its head has said nothing for 5 minutes; it was killed", file=sys.stderr)
            return EXIT_UNKNOWN
        time.sleep(STOP_LOOK_S)
    return EXIT_HOLDS


def report(arguments: argparse.Namespace) -> int:
    from harness.campaign.campaign import folder_of, read  # noqa: PLC0415
    from harness.campaign.file import BadCampaign  # noqa: PLC0415
    from harness.campaign.results import campaign, write_page  # noqa: PLC0415
    from harness.campaign.table import Table  # noqa: PLC0415

    folders = [folder_of(word) for word in arguments.campaign]
    if arguments.csv or arguments.sql:
        for folder in folders:
            read(folder)
        with Table(*folders) as table:
            if arguments.csv:
                table.as_text(arguments.csv, counted=not arguments.verdicts_only)
            if arguments.sql:
                sys.stdout.buffer.write(msgspec.json.encode(table.asked(arguments.sql)) + b"\n")
        return EXIT_HOLDS
    if len(folders) > 1:
        raise BadCampaign("report: a page is of one campaign. Name one, or ask the rows of all by --sql")
    [folder] = folders
    found = campaign(folder)
    page = write_page(folder, found)
    print(shown(page))
    exit_status: int = found.exit
    return exit_status


def work(arguments: argparse.Namespace) -> int:
    from harness.campaign.worker import work_for  # noqa: PLC0415

    with Progress(arguments.quiet) as progress:
        exit_status: int = work_for(
            arguments.address, arguments.slots, arguments.name, arguments.wait, progress
        )
        return exit_status
