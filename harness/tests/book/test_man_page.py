"""The manual page."""

import re
import shutil
import subprocess
import sys

import pytest

from harness.book import man_page
from harness.commands.main import COMMANDS
from harness.local.root import ROOT

FILE = ROOT / man_page.PAGE
# argparse of another Python may print a usage in another way.
MADE_WITH = (3, 11)


def test_it_is_that_of_the_parser() -> None:
    """If not: .venv/bin/python -m harness.book"""
    if sys.version_info[:2] != MADE_WITH:
        pytest.skip("the file was made with Python " + ".".join(map(str, MADE_WITH)))
    assert FILE.read_text() == man_page.man_page()


def test_every_command_has_its_part() -> None:
    text = FILE.read_text()
    assert set(re.findall(r"^\.SS \\fBpowercut (\w+)\\fR", text, re.MULTILINE)) == set(COMMANDS)
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", *man_page.SECTIONS):
        assert f"\n.SH {heading}\n" in text


def test_man_reads_it_without_a_warning() -> None:
    if not shutil.which("man"):
        pytest.skip("man is not installed: apt-get install man-db")
    command = ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
