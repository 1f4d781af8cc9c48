"""The page of the programs: its table has a row for every program on every filesystem."""

import itertools

from harness.book.programs import PAGE, programs
from harness.local.root import ROOT
from workloads.programs import library

FILESYSTEMS = ("ext4", "xfs", "btrfs")


def measured():
    """(program, profile) of each row of the table of measurements."""
    part = (ROOT / PAGE).read_text().partition("## What was measured")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")]
    name = ""
    for cells in rows:
        name = cells[0].strip(" `") or name
        if len(cells) == 6 and cells[1].strip() in FILESYSTEMS:
            yield name, cells[1].strip()


def test_every_program_was_measured_on_three_filesystems():
    """A new program without its rows is not documented; the run is in the page."""
    assert sorted(measured()) == sorted(itertools.product((one.name for one in library()), FILESYSTEMS))


def test_the_page_says_what_each_program_promises():
    text = programs()
    assert all(f"| `{one.name}` | {one.comment[0]} | {one.program.promise} |" in text for one in library())
