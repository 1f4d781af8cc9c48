"""
What a campaign has found so far, from its files.

In:       the folder.
Out:      campaign(), a Campaign; write_page() of it.
Not here: the rows (table.py), the page itself (reports/pages/campaign.py).

Everything is asked of the rows anew: a million of them are added up in less than a second, and no count of
ours can differ from what is on the disk.
"""

import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.campaign.batches import numbers_of_cells
from harness.campaign.campaign import Kept, State, read, read_state
from harness.campaign.evidence import FOLDER
from harness.campaign.followups import learnt
from harness.campaign.rows import EQUAL, UNKNOWN
from harness.campaign.table import FOLDER as BATCHES
from harness.campaign.table import SUFFIX, Table, keys_done
from harness.evidence.store import NoResults, reading
from harness.evidence.summary import shown
from reports.campaigns.results import (
    RUNNING,
    STOPPED,
    WHOLE,
    Campaign,
    CampaignCell,
    CampaignFinding,
    CampaignPart,
    CampaignWorker,
)
from reports.pages.campaign import write_campaign
from reports.results import Finding, read_summary
from reports.text.reruns import rerun_words
from workloads.generate import space
from workloads.generate.space import DRAWN

OF_LATE_S = 600.0  # what the rate is taken from
PARTS = 60  # of the time, for the chart
REASONS = 50
FINDINGS = 500  # on the page; the rows have all
# A head that has said nothing for so long is not there.
SILENT_S = 120.0


def campaign(folder: Path, running: bool = False) -> Campaign:
    """running: whether the caller is its head. Errors: NoResults, OSError."""
    kept, state = read(folder), read_state(folder)
    done = keys_done(folder)
    planned = {one.key for one in kept.batches()}
    now = time.time()
    alive = state is not None and state.running and now - state.updated < SILENT_S
    with Table(folder) as table:
        totals = table.rows(
            "SELECT kernel, profile, bounds, count(*) AS done, count(*) FILTER (answer = ?) AS equal, "
            "sum(states)::BIGINT AS states, sum(recovered)::BIGINT AS recovered, "
            "sum(identical)::BIGINT AS identical, sum(proven)::BIGINT AS proven, "
            "count(*) FILTER (len(found) > 0) AS broken, "
            "count(*) FILTER (answer = ? OR unknown > 0) AS unknown, sum(checked)::BIGINT AS checked, "
            "sum(unasked)::BIGINT AS unasked, sum(record_s) AS record_s, sum(recover_s) AS recover_s, "
            "sum(judge_s) AS judge_s FROM experiments GROUP BY ALL",
            EQUAL,
            UNKNOWN,
        )
        cells = tuple(_cells(kept, totals))
        workers = table.rows(
            "SELECT worker, count(*) AS experiments, sum(states)::BIGINT AS states, "
            "sum(record_s + recover_s) AS busy_s, max(ended) AS seen FROM experiments WHERE ended > 0 "
            "GROUP BY worker ORDER BY experiments DESC"
        )
        late = table.rows("SELECT count(*) AS done FROM experiments WHERE ended > ?", now - OF_LATE_S)[0][
            "done"
        ]
        reasons = table.rows(
            "SELECT CASE WHEN trouble = '' THEN 'some of its states could not be judged' ELSE trouble END "
            "AS reason, count(*) AS count FROM experiments WHERE answer = ? OR unknown > 0 GROUP BY reason "
            "ORDER BY count DESC, reason LIMIT ?",
            UNKNOWN,
            REASONS,
        )
        found = tuple(_findings(folder, table))
        parts = tuple(_parts(table, kept.started))
    spent = state.spent_s + (state.updated - state.began) if state else 0.0
    here = set(state.workers) if state and (running or alive) else set()
    seen = {row["worker"]: row for row in workers}
    drawn, ready = sum(one.drawn for one in cells), sum(one.done for one in cells)
    rate = late / min(OF_LATE_S, max(1.0, now - state.began)) if state and here else 0.0
    # What is equal to others takes no time: the rate counts experiments, and so does what is left.
    equal = sum(one.equal for one in cells)
    share = 1 - equal / ready if ready else 1.0
    return Campaign(
        name=kept.name,
        folder=shown(folder),
        state=WHOLE if planned <= done else RUNNING if running or alive else STOPPED,
        updated=moment(now),
        started=moment(kept.started),
        powercut=str(kept.identities[-1]),
        spent_s=spent,
        rate_per_s=rate,
        left_s=(drawn - ready) * share / rate if rate else 0.0,
        batches=len(planned),
        batches_done=len(done & planned),
        cells=cells,
        findings=found,
        workers=tuple(
            CampaignWorker(
                name,
                seen[name]["experiments"] if name in seen else 0,
                seen[name]["states"] if name in seen else 0,
                round(seen[name]["busy_s"], 1) if name in seen else 0.0,
                moment(seen[name]["seen"]) if name in seen else "",
                name in here,
            )
            for name in (*seen, *sorted(here - seen.keys()))
        ),
        stages={
            stage: round(sum(row[f"{stage}_s"] for row in totals), 1)
            for stage in ("record", "recover", "judge")
        },
        checked=sum(row["checked"] for row in totals),
        unasked=sum(row["unasked"] for row in totals),
        reasons=tuple((row["reason"], row["count"]) for row in reasons),
        troubles=state.troubles if state else (),
        kept_bytes=size_of((folder / BATCHES).glob(f"*{SUFFIX}")),
        evidence_bytes=size_of((folder / FOLDER / "experiments").rglob("*")),
        parts=parts,
    )


def _cells(kept: Kept, totals: list[dict[str, Any]]) -> Iterable[CampaignCell]:
    counted = {(row["kernel"], row["profile"], row["bounds"]): row for row in totals}
    planned = numbers_of_cells(kept.batches())
    for kernel in kept.asked.kernels:
        for profile in kept.asked.profiles:
            for bounds in kept.asked.bounds:
                asked = kept.asked.asked(bounds)
                total = 0 if asked.bounds in DRAWN else space.total(asked)
                row = counted.get((kernel, profile, bounds), {})
                names = ("done", "equal", "states", "recovered", "identical", "proven", "broken", "unknown")
                yield CampaignCell(
                    kernel,
                    profile,
                    bounds,
                    total,
                    planned[kernel, profile, bounds],
                    **{name: row.get(name, 0) for name in names},
                )


def _findings(folder: Path, table: Table) -> Iterable[CampaignFinding]:
    summed, followed = _summed_up(folder), learnt(folder)
    for row in table.rows(
        "SELECT one.signature AS signature, kernel, list_sort(list(DISTINCT profile)) AS profiles, "
        "sum(one.count)::BIGINT AS states, count(*) AS experiments, min(ended) AS first, "
        "arg_min({'workload': workload, 'bounds': bounds, 'number': number, 'operations': operations, "
        "'state': one.state}, (operations, experiment)) AS witness "
        "FROM (SELECT *, unnest(found) AS one FROM experiments WHERE len(found) > 0) "
        "GROUP BY one.signature, kernel ORDER BY one.signature, kernel LIMIT ?",
        FINDINGS,
    ):
        key = row["kernel"], row["signature"]
        finding = summed.get(key)
        place, after = followed.get(key, (folder, finding))
        known = (finding.known if finding else ()) or (after.known if after else ())
        yield CampaignFinding(
            signature=row["signature"],
            kernel=row["kernel"],
            profiles=tuple(row["profiles"]),
            states=row["states"],
            experiments=row["experiments"],
            first_seen=moment(row["first"]),
            **row["witness"],
            id=finding.id if finding else "",
            known=tuple(one.id for one in known),
            learnt=tuple(_learnt(after)) if after else (),
            minimal=_minimal(folder, place, after) if after else "",
        )


def _summed_up(folder: Path) -> Mapping[tuple[str, str], Finding]:
    """The findings of the evidence, as far as it was summed up."""
    run = folder / FOLDER
    if not (run / "summary.json").exists():
        return {}
    try:
        with reading(run):
            return {(one.kernel, one.signature): one for one in read_summary(run).findings}
    except NoResults:
        return {}


def _learnt(finding: Finding) -> Iterable[str]:
    if finding.after.repeats:
        yield rerun_words(finding.after.repeats)
    if finding.after.minimal:
        yield f"made small: {finding.after.minimal}"


def _minimal(folder: Path, place: Path, finding: Finding) -> str:
    """The page of the smallest workload, as the campaign's own page leads there."""
    page = place / "minimal" / "latest" / "report" / "index.html"
    return f"../{page.relative_to(folder)}" if finding.after.minimal and page.exists() else ""


def _parts(table: Table, started: float) -> Iterable[CampaignPart]:
    """Experiments by parts of the time from the first to the last."""
    found = table.rows("SELECT min(ended) AS first, max(ended) AS last FROM experiments WHERE ended > 0")[0]
    if found["first"] is None or found["last"] <= found["first"]:
        return
    width = (found["last"] - found["first"]) / PARTS
    counts = {
        row["part"]: row["done"]
        for row in table.rows(
            "SELECT least(floor((ended - ?) / ?), ?)::INTEGER AS part, count(*) AS done FROM experiments "
            "WHERE ended > 0 GROUP BY part",
            found["first"],
            width,
            PARTS - 1,
        )
    }
    for part in range(PARTS):
        yield CampaignPart(round(found["first"] - started + part * width, 1), counts.get(part, 0))


def size_of(paths: Iterable[Path]) -> int:
    """In bytes, of those that are there still."""
    total = 0
    for path in paths:
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def write_page(folder: Path, found: Campaign, every_s: float = 0.0) -> Path:
    """report/index.html. every_s: how often a browser asks for it again, 0 for never. Errors: OSError."""
    evidence = folder / FOLDER / "report" / "index.html"
    return write_campaign(folder, found, f"../{FOLDER}/report/" if evidence.exists() else "", every_s)


__all__ = ["State", "campaign", "moment", "write_page"]
