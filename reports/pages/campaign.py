"""
The page of a campaign.

In:       a Campaign.
Out:      report/index.html in its folder. It needs no network and no other file, and is as long with a
          million experiments as with a thousand; while the campaign runs, a browser asks for it again by
          itself.
Not here: the reports of the witnesses (html.py), where the data comes from (harness/campaign/results.py).
"""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import markupsafe

from reports.campaigns.results import RUNNING, STOPPED, WHOLE, Campaign, CampaignPart
from reports.pages.html import environment, write_page
from reports.text.counting import about, duration

ANSWERS = {0: "HOLDS", 1: "BROKEN", 3: "UNKNOWN"}
MEANINGS = {RUNNING: "running", STOPPED: "stopped before its end", WHOLE: "complete"}
WIDTH, HEIGHT = 720, 90  # of the drawing, in its own units


def write_campaign(folder: Path, found: Campaign, evidence: str = "", every_s: float = 0.0) -> Path:
    """evidence: where the report of the witnesses lies, "" if there is none. every_s: after so long a browser
    loads the page again; 0 for never. Errors: OSError."""
    page = folder / "report" / "index.html"
    page.parent.mkdir(exist_ok=True)
    aside = page.with_name("index.html.tmp")
    write_page(
        templates(),
        aside,
        "campaign.html",
        found=found,
        findings=sorted(found.findings, key=lambda one: bool(one.known)),  # the new ones first
        evidence=evidence,
        every_s=every_s if found.state == RUNNING else 0,
        answers=ANSWERS,
        meanings=MEANINGS,
        duration=duration,
        about=about,
        drawing=drawing(found.parts),
        share=share,
    )
    return aside.rename(page)


@functools.cache
def templates() -> jinja2.Environment:
    """Compiled once: a head writes the page every few seconds."""
    return environment()


def share(part: float, whole: float) -> float:
    """In percent."""
    return 100 * part / whole if whole else 0.0


def drawing(parts: Sequence[CampaignPart]) -> Any:
    """Experiments over the time, a bar a part."""
    highest = max((one.experiments for one in parts), default=0)
    if not highest:
        return ""
    wide = WIDTH / len(parts)
    bars = "".join(
        f'<rect x="{at * wide:.1f}" y="{HEIGHT - one.experiments / highest * HEIGHT:.1f}" '
        f'width="{max(wide - 1, 0.5):.1f}" height="{one.experiments / highest * HEIGHT:.1f}"/>'
        for at, one in enumerate(parts)
        if one.experiments
    )
    return markupsafe.Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" style="max-height:7rem;fill:var(--k-metadata)" '
        f'preserveAspectRatio="none" aria-hidden="true">{bars}</svg>'
    )
