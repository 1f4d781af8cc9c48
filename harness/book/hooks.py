"""
What mkdocs is told beside mkdocs.yml.

In:       mkdocs' configuration, when it builds the site.
Out:      the findings' pages in the navigation, by ID: BTRFS-2 before BTRFS-10.
Not here: the pages.
"""

import re
from pathlib import Path
from typing import Any

SECTION = "Findings"
FIRST = "findings/index.md"
_ID = re.compile(r"findings/([A-Z0-9]+)-(\d+)\.md")


def on_config(config: Any) -> Any:
    for item in config["nav"] or ():
        if SECTION in item:
            item[SECTION] = [FIRST, *finding_pages(Path(config["docs_dir"]))]
    return config


def finding_pages(docs: Path) -> list[str | dict[str, str]]:
    """Those with an ID first, by filesystem and number, under their ID; then the others by name."""
    pages = sorted((f"findings/{path.name}" for path in (docs / "findings").glob("*.md")), key=_place)
    return [{Path(page).stem: page} if _ID.fullmatch(page) else page for page in pages if page != FIRST]


def _place(page: str) -> tuple[bool, str, int]:
    match = _ID.fullmatch(page)
    return (False, match[1], int(match[2])) if match else (True, page, 0)
