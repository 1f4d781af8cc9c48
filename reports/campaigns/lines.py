"""
A campaign in a few lines: what the terminal shows.

In:       a Campaign.
Out:      lines().
Not here: the page (reports/pages/campaign.py).
"""

from collections.abc import Iterator

from reports.campaigns.results import RUNNING, STOPPED, Campaign, CampaignFinding
from reports.text.counting import about, duration, number
from reports.text.tree_words import visible

SHOWN = 20
ANSWERS = {0: "HOLDS", 1: "BROKEN", 3: "UNKNOWN or not complete"}


def lines(found: Campaign, page: str) -> list[str]:
    """page: as the reader would name it."""
    return [*_lines(found), f"page       {page}", f"exit       {found.exit}: {ANSWERS[found.exit]}"]


def progress_words(found: Campaign) -> str:
    """In one line, while it runs."""
    left = f", about {duration(found.left_s)} left" if found.left_s else ""
    rate = f"{found.rate_per_s:.1f} a second" if found.rate_per_s else "no rate yet"
    return (
        f"{found.done:,} of {number(found.drawn, 'number')} done, {rate}{left}; "
        f"{number(len(found.findings), 'finding')}, {len(found.new)} not known; "
        f"{number(sum(one.here for one in found.workers), 'worker')}"
    )


def _lines(found: Campaign) -> Iterator[str]:
    yield f"campaign   {visible(found.name)}: {found.state}, {found.batches_done:,} of " + number(
        found.batches, "batch", "batches"
    )
    for one in found.cells:
        share = 100 * one.done / max(1, one.drawn)
        of = f" of the {one.total:,}" if one.total and one.total != one.drawn else ""
        yield visible(
            f"{one.bounds:<10} {one.profile} on {one.kernel}: {one.done:,} of {one.drawn:,} drawn{of} "
            f"({share:.1f} %), {one.equal:,} equal to others; {number(one.states, 'state')}, "
            f"{one.recovered:,} recovered, {one.identical:,} identical, {one.proven:,} proven"
        )
    if found.state == RUNNING:
        yield f"now        {progress_words(found)}"
    yield (
        f"kept       {about(found.kept_bytes)} of rows"
        + (f" ({found.kept_bytes / found.done:.0f} bytes an experiment)" if found.done else "")
        + f", {about(found.evidence_bytes)} of whole experiments"
    )
    for each in found.new[:SHOWN]:
        yield from _finding(each)
    if len(found.new) > SHOWN:
        yield f"           and {number(len(found.new) - SHOWN, 'more finding')}: see the page"
    if known := [one for one in found.findings if one.known]:
        ids = sorted({each for one in known for each in one.known})
        yield f"known      {number(len(known), 'finding')}: {', '.join(ids)}"
    for reason, count in found.reasons[:SHOWN]:
        yield visible(f"UNKNOWN    {number(count, 'experiment')}: {reason}")
    for sentence in found.troubles[-SHOWN:]:
        yield visible(f"trouble    {sentence}")
    if found.state == STOPPED:
        yield visible(f"continue   powercut campaign resume {found.folder}")


def _finding(one: CampaignFinding) -> Iterator[str]:
    yield visible(f"{one.id or 'new':<10} {one.signature} on {one.kernel} ({', '.join(one.profiles)})")
    yield visible(
        f"           {number(one.states, 'state')} of {number(one.experiments, 'workload')}, first seen "
        f"{one.first_seen}; shortest {one.workload} {one.state}, {number(one.operations, 'operation')}"
    )
    yield from (visible(f"           {sentence}") for sentence in one.learnt)
