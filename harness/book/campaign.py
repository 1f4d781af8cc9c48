"""
The generated parts of reference/campaign.md: the keys of the file of a campaign, and the columns of its rows.

In:       CampaignFile and Row, with their docstrings; the columns of the table.
Out:      generated(): the page.
Not here: the rest of the page, which is written by hand.
"""

from pathlib import Path

from harness.book.nightly import keys
from harness.book.regions import filled
from harness.book.run_files import explained
from harness.book.tables import code, table
from harness.campaign.file import FREE, CampaignFile
from harness.campaign.rows import Row
from harness.campaign.table import COLUMNS, COUNTED, VERDICTS

PAGE = Path("docs/reference/campaign.md")


def generated(root: Path) -> dict[Path, str]:
    parts = {"file": keys(CampaignFile), "free": ", ".join(map(code, FREE)), "columns": columns()}
    return {PAGE: filled(root / PAGE, parts)}


def columns() -> str:
    _, meanings = explained(Row)
    kinds = dict.fromkeys(VERDICTS, "verdicts") | dict.fromkeys(COUNTED, "counts") | {"found": "verdicts"}
    rows = [
        (code(name), kind.partition("(")[0].lower(), kinds.get(name, "time and machine"), meanings[name])
        for name, kind in COLUMNS.items()
    ]
    return table(("column", "type", "part", "meaning"), rows)
