"""
What mkdocs is told beside mkdocs.yml.

In:       mkdocs' configuration, when it builds the site.
Out:      the findings' pages in the navigation, one after the other: BTRFS-2 before BTRFS-10.
Not here: the pages.
"""

import re
from pathlib import Path
from typing import Any

SECTION = "Findings"
FIRST = "findings/index.md"


def on_config(config: Any) -> Any:
    for item in config["nav"] or ():
        if SECTION in item:
            item[SECTION] = [FIRST, *finding_pages(Path(config["docs_dir"]))]
    return config


def finding_pages(docs: Path) -> list[str]:
    """Those with an ID first, by filesystem and number; then the others."""
    pages = [f"findings/{path.name}" for path in (docs / "findings").glob("*.md")]
    return sorted((page for page in pages if page != FIRST), key=_place)


def _place(page: str) -> tuple[bool, str, int]:
    match = re.fullmatch(r"findings/([A-Z0-9]+)-(\d+)\.md", page)
    return (False, match[1], int(match[2])) if match else (True, page, 0)
